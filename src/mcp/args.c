/* args.c - arguments of tools: one table for the JSON Schema and for the check */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/names.h"
#include "heddle/options.h"
#include "mcp/impl.h"

enum { LIST_MOST = 64, NAME_BYTES = 64 };

static const mcp_arg trace_arg = {"trace",
                                  MCP_INT,
                                  false,
                                  0,
                                  MCP_TRACES - 1,
                                  NULL,
                                  "number of the trace, as open gave it; default: the last one used"};
static const mcp_arg common_args[] = {
    {"max_bytes", MCP_INT, false, MCP_ANSWER_LEAST, MCP_ANSWER_MOST, NULL, "size of the answer; default: 4000"},
    {"cursor", MCP_TEXT, false, 0, 0, NULL, "that of the answer before, for what follows it"},
    {0},
};

/* The arguments of a tool by number, its own first; NULL beyond the last. */
static const mcp_arg *arg_at(const mcp_tool *tool, size_t index)
{
    for (const mcp_arg *a = tool->args; a && a->name; a++)
        if (index-- == 0) return a;
    if (tool->of_trace && index-- == 0) return &trace_arg;
    return index < 2 ? &common_args[index] : NULL;
}

/* ---- the schema ---- */

static void put_type(hd_json_out *out, const mcp_arg *a)
{
    static const char *const types[] = {
        [MCP_TEXT] = "{\"type\":\"string\"",
        [MCP_INT] = "{\"type\":\"integer\"",
        [MCP_TIME] = "{\"type\":[\"integer\",\"string\"]",
        [MCP_TEXTS] = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}",
        [MCP_INTS] = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}",
        [MCP_OBJECT] = "{\"type\":\"object\"",
    };
    hd_json_put_text(out, types[a->kind]);
    mcp_put_text(out, "description", a->about);
    if (a->kind == MCP_INT) {
        mcp_put_int(out, "minimum", a->least);
        mcp_put_int(out, "maximum", a->most);
    }
    if (a->choices) mcp_put_key(out, "enum");
    for (size_t i = 0; a->choices && a->choices[i]; i++) {
        hd_json_put(out, i ? "," : "[", 1);
        hd_json_put_string(out, a->choices[i], strlen(a->choices[i]));
    }
    hd_json_put_text(out, a->choices ? "]}" : "}");
}

void mcp_put_schema(hd_json_out *out, const mcp_tool *tool)
{
    const mcp_arg *a;
    bool has_required = false;
    hd_json_put_text(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; (a = arg_at(tool, i)); i++) {
        mcp_put_key(out, a->name);
        put_type(out, a);
    }
    hd_json_put_text(out, "}");
    for (size_t i = 0; (a = arg_at(tool, i)); i++) {
        if (!a->required) continue;
        hd_json_put_text(out, has_required ? "," : ",\"required\":[");
        hd_json_put_string(out, a->name, strlen(a->name));
        has_required = true;
    }
    hd_json_put_text(out, has_required ? "],\"additionalProperties\":false}" : ",\"additionalProperties\":false}");
}

/* ---- the check ---- */

static bool is_whole(const char *value)
{
    hd_json_number number;
    int64_t whole;
    return hd_json_scan_number(&number, value) && hd_json_number_whole(&whole, &number);
}

/* Of an array whether all items are of a kind. */
static bool is_list(const char *p, mcp_kind of)
{
    size_t count = 0;
    if (*p != '[') return false;
    p = hd_json_skip_space(p + 1);
    while (*p != ']' && ++count <= LIST_MOST) {
        if (of == MCP_TEXT ? *p != '"' : !is_whole(p)) return false;
        p = hd_json_skip_space(hd_json_skip_value(p));
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    return count <= LIST_MOST;
}

static bool is_kind(mcp_kind kind, const char *value)
{
    switch (kind) {
    case MCP_TEXT: return *value == '"';
    case MCP_INT: return is_whole(value);
    case MCP_TIME: return *value == '"' || is_whole(value);
    case MCP_TEXTS: return is_list(value, MCP_TEXT);
    case MCP_INTS: return is_list(value, MCP_INT);
    case MCP_OBJECT: return *value == '{';
    }
    return false;
}

static hd_status check_choice(const mcp_arg *a, const char *value, hd_error *err)
{
    hd_json_text text;
    if (!a->choices) return HD_OK;
    hd_json_string(&text, value + 1);
    for (size_t i = 0; a->choices[i]; i++)
        if (strlen(a->choices[i]) == text.size && memcmp(a->choices[i], text.data, text.size) == 0) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: '%.*s' is none of its values (%s, %s …)",
                        a->name, text.size < 40 ? (int)text.size : 40, text.data, a->choices[0], a->choices[1]);
}

static hd_status check_value(const mcp_arg *a, const char *args, const char *value, hd_error *err)
{
    static const char *const kinds[] = {
        [MCP_TEXT] = "a string",
        [MCP_INT] = "an integer",
        [MCP_TIME] = "an integer of ns, or a string such as \"1.5s\" or \"10%\"",
        [MCP_TEXTS] = "an array of at most 64 strings",
        [MCP_INTS] = "an array of at most 64 integers",
        [MCP_OBJECT] = "an object",
    };
    int64_t number = 0;
    if (!is_kind(a->kind, value))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: expected %s", a->name, kinds[a->kind]);
    if (a->kind != MCP_INT) return check_choice(a, value, err);
    if (hd_json_find_whole(&number, args, a->name) && number >= a->least && number <= a->most) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "%s: expected an integer from %" PRId64 " to %" PRId64, a->name, a->least, a->most);
}

static hd_status refuse_unknown(const mcp_tool *tool, const hd_json_text *name, hd_error *err)
{
    char typed[NAME_BYTES];
    const char *best = NULL;
    unsigned distance = UINT32_MAX;
    const mcp_arg *a;
    int size = name->size < NAME_BYTES - 1 ? (int)name->size : NAME_BYTES - 1;
    snprintf(typed, sizeof typed, "%.*s", size, name->data);
    for (size_t i = 0; (a = arg_at(tool, i)); i++) hd_name_suggest(typed, a->name, &best, &distance);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s has no argument '%s'%s%s", tool->name, typed,
                        best ? "; did you mean " : "", best ? best : "");
}

hd_status mcp_check_args(const mcp_tool *tool, const char *args, hd_error *err)
{
    const mcp_arg *a;
    const char *value;
    size_t size;
    const char *p = hd_json_skip_space(args + 1);
    while (*p == '"') {
        hd_json_text name;
        p = hd_json_skip_space(hd_json_string(&name, p + 1));
        p = hd_json_skip_space(p + 1);
        size_t i = 0;
        while ((a = arg_at(tool, i)) && (strlen(a->name) != name.size || memcmp(a->name, name.data, name.size) != 0))
            i++;
        if (!a) return refuse_unknown(tool, &name, err);
        if (*p != 'n') HD_TRY(check_value(a, args, p, err)); /* null: not given */
        p = hd_json_skip_space(hd_json_skip_value(p));
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    for (size_t i = 0; (a = arg_at(tool, i)); i++) {
        bool is_given = hd_json_find(&value, &size, args, a->name) && *value != 'n';
        if (a->required && !is_given)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s is missing: %s", a->name, a->about);
    }
    return HD_OK;
}

/* ---- values ---- */

char *mcp_text(mcp_call *call, const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, list);
    char *text = size < 0 ? NULL : hd_arena_alloc(&call->arena, (size_t)size + 1);
    if (text) vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    va_end(list);
    return text;
}

char *mcp_decode(mcp_call *call, const char *value)
{
    hd_json_text text;
    size_t size = 0;
    hd_json_string(&text, value + 1);
    char *out = hd_arena_alloc(&call->arena, text.size + 1);
    if (!out || !hd_json_decode(out, &size, &text)) return NULL;
    out[size] = '\0'; /* text after a NUL is ignored */
    return out;
}

static const char *find(const mcp_call *call, const char *name)
{
    const char *value;
    size_t size;
    return hd_json_find(&value, &size, call->args, name) && *value != 'n' ? value : NULL;
}

const char *mcp_arg_text(mcp_call *call, const char *name)
{
    const char *value = find(call, name);
    return value ? mcp_decode(call, value) : NULL;
}

int64_t mcp_arg_int(const mcp_call *call, const char *name, int64_t fallback)
{
    int64_t number;
    return find(call, name) && hd_json_find_whole(&number, call->args, name) ? number : fallback;
}

hd_status mcp_arg_time(bool *out_is, int64_t *out, mcp_call *call, const char *name, hd_error *err)
{
    const char *value = find(call, name);
    hd_convert_time time;
    *out_is = value != NULL;
    if (!value) return HD_OK;
    if (*value != '"') {
        *out = mcp_arg_int(call, name, 0);
        return HD_OK;
    }
    const char *text = mcp_decode(call, value);
    HD_TRY(hd_convert_time_parse(&time, text ? text : "", err));
    const hd_trace_facts *facts = hd_trace_facts_of(call->trace->trace);
    int64_t start = mcp_trace_start(call->trace), span = facts->end_ns == HD_NO_TIME ? 0 : facts->end_ns - start;
    int64_t after = time.unit == HD_CONVERT_PERCENT ? (int64_t)((double)span * (double)time.value / 1e6) : time.value;
    if (!__builtin_add_overflow(start, after, out)) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s is beyond all times", name);
}

const char **mcp_arg_list(mcp_call *call, const char *name)
{
    const char *p = find(call, name);
    size_t count = 0;
    const char **list = p ? hd_arena_alloc(&call->arena, (LIST_MOST + 1) * sizeof *list) : NULL;
    if (!list) return NULL;
    p = hd_json_skip_space(p + 1);
    while (*p != ']') {
        const char *end = hd_json_skip_value(p);
        list[count] = *p == '"' ? mcp_decode(call, p) : mcp_text(call, "%.*s", (int)(end - p), p);
        if (!list[count++]) return NULL;
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    list[count] = NULL;
    return list;
}
