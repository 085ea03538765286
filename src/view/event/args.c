/* args.c - the arguments of an event, and facts about copies and kernels in them */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/shape_names.h"
#include "view/event/event.h"

/* ---- as the input had them ---- */

static void put_value(hd_json_out *json, const hd_trace *trace, hd_arg_type type, int64_t bits)
{
    hd_string text = {"", 0};
    if (type >= HD_ARG_NUMBER) text = hd_trace_string(trace, (uint32_t)bits);
    switch (type) {
    case HD_ARG_NULL: hd_json_put_text(json, "null"); break;
    case HD_ARG_BOOL: hd_json_put_text(json, bits ? "true" : "false"); break;
    case HD_ARG_INT: hd_json_put_int(json, bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(json, hd_decimal_mantissa(bits), hd_decimal_scale(bits)); break;
    case HD_ARG_STRING: hd_json_put_string(json, text.data ? text.data : "", text.size); break;
    default:
        if (text.size)
            hd_json_put(json, text.data, text.size);
        else
            hd_json_put_text(json, "null"); /* of a damaged store */
        break;
    }
}

/* Whether a number loses digits as a double. */
static bool loses_digits(hd_arg_type type, int64_t bits)
{
    const int64_t exact = (int64_t)1 << 53;
    if (type == HD_ARG_INT) return bits > exact || bits < -exact;
    if (type == HD_ARG_DECIMAL) {
        int64_t mantissa = hd_decimal_mantissa(bits);
        return mantissa > 999999999999999 || mantissa < -999999999999999;
    }
    return type == HD_ARG_NUMBER;
}

static int64_t bits_of(const view_event *e, const hd_shape *shape, uint32_t key)
{
    bool there = e->event.args && shape->keys[key].type != HD_ARG_NULL;
    return there ? hd_column_at(&e->event.args->columns[key], e->event.args_row) : 0;
}

/* Members of a scope; `exact` takes only numbers that need their digits, as texts. */
static void put_members(hd_json_out *json, const view_event *e, hd_arg_scope scope, bool exact)
{
    const hd_shape *shape = hd_trace_shape_at(e->trace, e->event.shape);
    hd_shape_name *names = malloc((size_t)shape->key_count * sizeof *names + 1);
    hd_error err; /* no memory: the answer says so */
    json->failed |= !names || hd_shape_names(names, e->trace, shape, &err) != HD_OK;
    if (json->failed) {
        free(names);
        return;
    }
    hd_json_put_text(json, "{");
    for (uint32_t k = 0; k < shape->key_count; k++) {
        hd_arg_type type = (hd_arg_type)shape->keys[k].type;
        int64_t bits = bits_of(e, shape, k);
        if (shape->keys[k].scope != scope || (exact && !loses_digits(type, bits))) continue;
        if (json->size && json->data[json->size - 1] != '{') hd_json_put_text(json, ",");
        hd_shape_put_key(json, e->trace, shape->keys[k].key, names[k].number);
        hd_json_put_text(json, exact ? ":\"" : ":");
        put_value(json, e->trace, type, bits);
        if (exact) hd_json_put_text(json, "\"");
    }
    hd_json_put_text(json, "}");
    free(names);
}

static bool has_scope(const view_event *e, hd_arg_scope scope, bool exact)
{
    const hd_shape *shape = hd_trace_shape_at(e->trace, e->event.shape);
    for (uint32_t k = 0; k < shape->key_count; k++) {
        if (shape->keys[k].scope != scope) continue;
        if (!exact || loses_digits((hd_arg_type)shape->keys[k].type, bits_of(e, shape, k))) return true;
    }
    return false;
}

void view_event_args(hd_json_out *json, const view_event *e)
{
    if (e->event.shape >= hd_trace_shape_count(e->trace)) return;
    view_json_key(json, "args");
    put_members(json, e, HD_SCOPE_ARGS, false);
    if (has_scope(e, HD_SCOPE_ARGS, true)) {
        view_json_key(json, "digits");
        put_members(json, e, HD_SCOPE_ARGS, true);
    }
    if (!has_scope(e, HD_SCOPE_EVENT, false)) return;
    view_json_key(json, "members");
    put_members(json, e, HD_SCOPE_EVENT, false);
}

/* ---- what they say ---- */

static bool number_of(double *out, const view_event *e, const char *key)
{
    hd_value value;
    uint32_t id = hd_trace_find_string(e->trace, key, strlen(key));
    return hd_event_arg(&value, e->trace, &e->event, id) && hd_value_double(out, e->trace, value);
}

void view_event_numbers(hd_json_out *json, const view_event *e)
{
    static const char *const bytes_keys[] = {"bytes", "Bytes", "size", NULL};
    double value, bytes = 0;
    bool has_bytes = false;
    if (number_of(&value, e, "est. achieved occupancy %")) view_json_double(json, "occupancy", value);
    for (int i = 0; bytes_keys[i] && !has_bytes && e->work; i++) has_bytes = number_of(&bytes, e, bytes_keys[i]);
    has_bytes = has_bytes && bytes >= 0 && bytes < 9e18;
    if (has_bytes) view_json_int(json, "bytes", (int64_t)bytes);
    if (number_of(&value, e, "memory bandwidth (GB/s)"))
        view_json_double(json, "bandwidth", value * 1e9);
    else if (has_bytes && e->event.duration_ns > 0)
        view_json_double(json, "bandwidth", bytes / (double)e->event.duration_ns * 1e9);
}
