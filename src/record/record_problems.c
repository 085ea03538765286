/* record_problems.c - what the tracers say that they could not do, in words: `problems` of "heddle.capture" */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "heddle/trace.h"
#include "record/record_impl.h"

/* The same of several processes is said once. */
static bool is_said(recording *r, const char *message)
{
    for (size_t i = 0; i < r->said_count; i++) {
        if (strcmp(r->said[i], message) == 0) return true;
    }
    if (r->said_count == RECORD_SAID) return true;
    if ((r->said[r->said_count] = strdup(message))) r->said_count++;
    return false;
}

static void say_one(recording *r, const char *problem)
{
    const char *value;
    size_t size;
    hd_json_text text;
    if (!hd_json_find(&value, &size, problem, "message") || *value != '"' || !hd_json_string(&text, value + 1)) return;
    char *message = malloc(text.size + 1);
    if (message && hd_json_decode(message, &size, &text)) {
        message[size] = '\0';
        if (!is_said(r, message)) record_say(r, "%s", message);
    }
    free(message);
}

hd_status record_problems(recording *r, const hd_trace *trace, hd_error *err)
{
    hd_string json = hd_trace_metadata_find(trace, "heddle.capture");
    const char *p;
    size_t size;
    if (json.size == 0) return HD_OK;
    char *text = calloc(1, json.size + HD_JSON_PADDING);
    if (!text) return HD_NOMEM(err);
    memcpy(text, json.data, json.size);
    if (*text == '{' && hd_json_skip_value(text) && hd_json_find(&p, &size, text, "problems") && *p == '[') {
        p = hd_json_skip_space(p + 1);
        while (*p == '{') {
            say_one(r, p);
            p = hd_json_skip_space(hd_json_skip_value(p));
            if (*p == ',') p = hd_json_skip_space(p + 1);
        }
    }
    free(text);
    return HD_OK;
}
