/* params.c - parameters of requests: found, parsed, refused in words */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "view/route/route.h"

const char *view_param_text(const view_request *request, const char *name)
{
    for (size_t i = 0; i < request->param_count; i++) {
        if (strcmp(request->params[i].name, name) == 0) return request->params[i].value;
    }
    return NULL;
}

static hd_status refuse(hd_error *err, const char *name, const char *value, const char *wanted)
{
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "parameter %s is %s%.40s%s; it must be %s", name,
                        value ? "'" : "", value ? value : "missing", value ? "'" : "", wanted);
}

/* A decimal integer at *text; moves *text after it. */
static bool take_int(int64_t *out, const char **text)
{
    char *end;
    const char *digits = **text == '-' ? *text + 1 : *text;
    if (*digits < '0' || *digits > '9') return false;
    errno = 0;
    long long value = strtoll(*text, &end, 10);
    if (errno) return false;
    *out = value;
    *text = end;
    return true;
}

hd_status view_param_int(int64_t *out, const view_request *request, const char *name, int64_t min, int64_t max,
                         hd_error *err)
{
    const char *text = view_param_text(request, name), *at = text;
    if (!text || !take_int(out, &at) || *at) return refuse(err, name, text, "an integer");
    if (*out >= min && *out <= max) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "parameter %s is %lld; it must be from %lld to %lld", name, (long long)*out, (long long)min,
                        (long long)max);
}

hd_status view_param_int_or(int64_t *out, const view_request *request, const char *name, int64_t min, int64_t max,
                            int64_t otherwise, hd_error *err)
{
    *out = otherwise;
    return view_param_text(request, name) ? view_param_int(out, request, name, min, max, err) : HD_OK;
}

/* One "4" or "9-12" of a list. */
static bool take_range(uint32_t *out_first, uint32_t *out_last, const char **text, uint32_t end)
{
    int64_t first, last;
    if (**text == '-' || !take_int(&first, text)) return false;
    last = first;
    if (**text == '-') {
        ++*text;
        if (**text == '-' || !take_int(&last, text)) return false;
    }
    if (last < first || last >= end) return false;
    *out_first = (uint32_t)first;
    *out_last = (uint32_t)last;
    return true;
}

/* Counts the numbers, and fills them in where `out` is not NULL. */
static hd_status read_list(size_t *out_count, uint32_t *out, const char *text, const char *name, uint32_t end,
                           size_t limit, hd_error *err)
{
    const char *at = text;
    size_t count = 0;
    for (;;) {
        uint32_t first, last;
        if (!take_range(&first, &last, &at, end) || (*at && *at != ','))
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "parameter %s is '%.40s'; it must be a list such as 4,5,9-12 of numbers below %u", name,
                                text, end);
        if ((size_t)(last - first) >= limit - count)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "parameter %s has more than %zu numbers: ask in several requests", name, limit);
        for (uint32_t n = first; out && n <= last; n++) out[count + (n - first)] = n;
        count += (size_t)(last - first) + 1;
        if (!*at++) break;
    }
    *out_count = count;
    return HD_OK;
}

hd_status view_param_list(uint32_t **out, size_t *out_count, const view_request *request, const char *name,
                          uint32_t end, size_t limit, hd_error *err)
{
    const char *text = view_param_text(request, name);
    *out = NULL;
    *out_count = 0;
    if (!text) return HD_OK;
    HD_TRY(read_list(out_count, NULL, text, name, end, limit, err));
    *out = malloc((*out_count + 1) * sizeof **out);
    if (!*out) return HD_NOMEM(err);
    return read_list(out_count, *out, text, name, end, limit, err);
}

hd_status view_param_times(int64_t *out, size_t *out_count, const view_request *request, const char *name,
                           const view_scene *scene, size_t limit, hd_error *err)
{
    const char *text = view_param_text(request, name), *at = text;
    *out_count = 0;
    for (bool more = text != NULL; more; more = *at && *at++ == ',') {
        int64_t time;
        if (*out_count == limit || !take_int(&time, &at) || (*at && *at != ',') ||
            __builtin_add_overflow(time, view_scene_start(scene), &out[*out_count]))
            return refuse(err, name, text, "a short list of integers, separated by commas");
        ++*out_count;
    }
    return HD_OK;
}

hd_status view_param_range(int64_t *out_from, int64_t *out_until, const view_request *request, const view_scene *scene,
                           hd_error *err)
{
    int64_t start = view_scene_start(scene), from, until;
    HD_TRY(view_param_int_or(&from, request, "from", INT64_MIN, INT64_MAX, INT64_MIN, err));
    HD_TRY(view_param_int_or(&until, request, "until", INT64_MIN, INT64_MAX, INT64_MAX, err));
    if (from > until) return refuse(err, "until", view_param_text(request, "until"), "at or after parameter from");
    /* the whole range is any data; INT64_MIN means no time */
    if (!view_param_text(request, "from") || __builtin_add_overflow(from, start, out_from))
        *out_from = from < 0 ? INT64_MIN + 1 : INT64_MAX;
    if (!view_param_text(request, "until") || __builtin_add_overflow(until, start, out_until))
        *out_until = until < 0 ? INT64_MIN + 1 : INT64_MAX;
    if (*out_from == INT64_MIN) ++*out_from;
    if (*out_until == INT64_MIN) ++*out_until;
    return HD_OK;
}

/* ---- answers ---- */

void view_reply_deinit(view_reply *reply)
{
    if (reply->file) close(reply->file - 1);
    hd_bytes_deinit(&reply->bytes);
    free(reply->json.data);
    free(reply->file_name);
    *reply = (view_reply){0};
}
