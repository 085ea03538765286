/* args.c - arguments as typed attributes
 *
 * One attribute per (key, type, scope); its description contains scope and type, so that a reader can restore the
 * argument:
 *
 *   "args int" INT64          "args bool" UINT8         "args decimal" DOUBLE      "args number" UINT64
 *   "args string" STRING      "args json" STRING        "args decimal text" STRING "args number text" STRING
 *   "args null" STRING        and "event …" for keys of the event itself
 *
 * A decimal is a DOUBLE if the shortest text of that double has its digits, else its own text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"
#include "format/otf2/write/write.h"

/* The library looks at all attributes of a record whenever one is added, and a record must fit its buffer. */
enum { ARGS_MAX = 512 };

bool ow_is_series(const hd_arg_key *key)
{
    return key->scope == HD_SCOPE_ARGS &&
           (key->type == HD_ARG_INT || key->type == HD_ARG_DECIMAL || key->type == HD_ARG_NUMBER);
}

/* ---- shapes ---- */

typedef struct arg_class {
    OTF2_Type type;
    const char *descriptions[2]; /* by scope; NULL: there is none */
} arg_class;

static const arg_class classes[2][HD_ARG_JSON + 1] = {
    {[HD_ARG_NULL] = {OTF2_TYPE_STRING, {"args null", "event null"}},
     [HD_ARG_BOOL] = {OTF2_TYPE_UINT8, {"args bool", "event bool"}},
     [HD_ARG_INT] = {OTF2_TYPE_INT64, {"args int", "event int"}},
     [HD_ARG_DECIMAL] = {OTF2_TYPE_DOUBLE, {"args decimal", "event decimal"}},
     [HD_ARG_NUMBER] = {OTF2_TYPE_UINT64, {"args number", "event number"}},
     [HD_ARG_STRING] = {OTF2_TYPE_STRING, {"args string", "event string"}},
     [HD_ARG_JSON] = {OTF2_TYPE_STRING, {"args json", "event json"}}},
    {[HD_ARG_DECIMAL] = {OTF2_TYPE_STRING, {"args decimal text", "event decimal text"}},
     [HD_ARG_NUMBER] = {OTF2_TYPE_STRING, {"args number text", "event number text"}}},
};

/* The attribute of a key, plus 1. */
static hd_status attribute_of(uint32_t *out, ow_writer *w, const hd_arg_key *key, int form)
{
    const arg_class *class = &classes[form][key->type];
    bool created;
    uint64_t variant = (uint64_t)key->type << 8 | (uint64_t)(key->scope == HD_SCOPE_EVENT) << 1 | (uint64_t)form;
    uint32_t *slot = ow_map_get(&w->attribute_of, key->key, variant, &created);
    if (!slot) return HD_NOMEM(w->err);
    if (created) {
        *slot = UINT32_MAX;
        bool unnamed = hd_trace_string(w->trace, key->key).size == 0;
        uint32_t ref = ow_attribute_ref(w, unnamed ? "(event)" : NULL, key->key, class->type,
                                        class->descriptions[key->scope == HD_SCOPE_EVENT]);
        if (ref == HD_NONE) return w->err->status;
        *slot = ref + 1;
    }
    *out = *slot;
    return HD_OK;
}

static hd_status prepare(ow_writer *w, ow_shape *out, const hd_shape *shape)
{
    out->count = shape->key_count < ARGS_MAX ? shape->key_count : ARGS_MAX;
    out->args = hd_arena_alloc(&w->arena, ((size_t)out->count + 1) * sizeof *out->args);
    if (!out->args) return HD_NOMEM(w->err);
    for (uint32_t i = 0; i < out->count; i++) {
        ow_arg *arg = &out->args[i];
        *arg = (ow_arg){0};
        HD_TRY(attribute_of(&arg->main, w, &shape->keys[i], 0));
        if (classes[1][shape->keys[i].type].type) HD_TRY(attribute_of(&arg->text, w, &shape->keys[i], 1));
        for (uint32_t k = 0; k < i; k++) out->args[k].twice |= out->args[k].main == arg->main;
    }
    out->seen = true;
    return HD_OK;
}

/* ---- values ---- */

/* The double whose shortest text has the digits of a decimal; false: none. */
static bool exact_double(double *out, int64_t packed)
{
    int64_t mantissa = hd_decimal_mantissa(packed);
    unsigned scale = hd_decimal_scale(packed);
    *out = hd_decimal_double(packed);
    if (mantissa > -1000000000000000 && mantissa < 1000000000000000 && scale <= 22) return true; /* 15 digits always */
    char text[48], shortest[48];
    snprintf(text, sizeof text, "%llde-%u", (long long)mantissa, scale);
    *out = strtod(text, NULL);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(shortest, sizeof shortest, "%.*e", digits - 1, *out);
        if (strtod(shortest, NULL) == *out) break;
    }
    /* d.ddd…e±x, compared with mantissa e-scale: the same digits, except trailing zeros */
    char digits[48];
    size_t n = 0, m = 0;
    for (const char *p = shortest; *p && *p != 'e'; p++) {
        if (*p >= '0' && *p <= '9') digits[n++] = *p;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    const char *own = text + (text[0] == '-');
    while (own[m] != 'e') m++;
    while (m > 1 && own[m - 1] == '0') m--;
    return n == m && memcmp(digits, own, n) == 0;
}

static hd_status add_attribute(ow_writer *w, uint32_t ref, OTF2_Type type, OTF2_AttributeValue value)
{
    OW_TRY(w, OTF2_AttributeList_AddAttribute(w->attributes, ref - 1, type, value));
    return HD_OK;
}

static hd_status add_string(ow_writer *w, uint32_t ref, uint32_t string)
{
    if (string == HD_NONE) return w->err->status;
    return add_attribute(w, ref, OTF2_TYPE_STRING, (OTF2_AttributeValue){.stringRef = string});
}

static hd_status add_decimal(ow_writer *w, const ow_arg *arg, int64_t bits)
{
    OTF2_AttributeValue value;
    if (exact_double(&value.float64, bits)) return add_attribute(w, arg->main, OTF2_TYPE_DOUBLE, value);
    hd_json_out out = {0};
    hd_json_put_decimal(&out, hd_decimal_mantissa(bits), hd_decimal_scale(bits));
    hd_status status = out.failed ? HD_NOMEM(w->err) : add_string(w, arg->text, ow_bytes(w, out.data, out.size));
    free(out.data);
    return status;
}

/* Whole numbers beyond int64. */
static bool parse_uint64(uint64_t *out, hd_string text)
{
    *out = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)(text.data[i] - '0');
        if (digit > 9 || (i == 0 && digit == 0) || __builtin_mul_overflow(*out, UINT64_C(10), out) ||
            __builtin_add_overflow(*out, (uint64_t)digit, out))
            return false;
    }
    return text.size > 0;
}

static hd_status add_value(ow_writer *w, const ow_arg *arg, unsigned type, int64_t bits)
{
    OTF2_AttributeValue value;
    switch (type) {
    case HD_ARG_NULL: return add_string(w, arg->main, ow_text(w, "null"));
    case HD_ARG_BOOL: return add_attribute(w, arg->main, OTF2_TYPE_UINT8, (OTF2_AttributeValue){.uint8 = bits != 0});
    case HD_ARG_INT: return add_attribute(w, arg->main, OTF2_TYPE_INT64, (OTF2_AttributeValue){.int64 = bits});
    case HD_ARG_DECIMAL: return add_decimal(w, arg, bits);
    case HD_ARG_NUMBER:
        if (parse_uint64(&value.uint64, hd_trace_string(w->trace, (uint32_t)bits)))
            return add_attribute(w, arg->main, OTF2_TYPE_UINT64, value);
        return add_string(w, arg->text, ow_string(w, (uint32_t)bits));
    default: return add_string(w, arg->main, ow_string(w, (uint32_t)bits));
    }
}

hd_status ow_add_args(ow_writer *w, const hd_event *event)
{
    if (!event->args) return HD_OK;
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    ow_shape *own = &w->shapes[event->shape];
    if (!own->seen) HD_TRY(prepare(w, own, shape));
    w->notes[OW_ARGS_LOST] += shape->key_count - own->count;
    uint32_t series = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        if (event->kind == HD_KIND_COUNTER && ow_is_series(&shape->keys[i]) && series++ < OW_SERIES_MAX) continue;
        if (own->args[i].twice)
            w->notes[OW_ARG_TWICE]++;
        else
            HD_TRY(add_value(w, &own->args[i], shape->keys[i].type,
                             hd_column_at(&event->args->columns[i], event->args_row)));
    }
    return HD_OK;
}

/* ---- what columns hold ---- */

/* The reference plus 1 of an attribute of ours. */
static hd_status own_attribute(uint32_t *ref, ow_writer *w, const char *name, OTF2_Type type, const char *description)
{
    if (*ref) return HD_OK;
    *ref = ow_attribute_ref(w, name, 0, type, description) + 1;
    return *ref ? HD_OK : w->err->status;
}

hd_status ow_add_id(ow_writer *w, const hd_event *event)
{
    static const char *const descriptions[3][3] = {
        {"event id int", "event id string", "event id number"},
        {"event id2.local int", "event id2.local string", "event id2.local number"},
        {"event id2.global int", "event id2.global string", "event id2.global number"}};
    const uint64_t id_key = UINT64_MAX; /* no key of the trace */
    bool created, is_int = (event->id_type & HD_ID_VALUE_MASK) == HD_ID_INT;
    if ((event->id_type & HD_ID_VALUE_MASK) == HD_ID_NONE) return HD_OK;
    int place = event->id_type & HD_ID_LOCAL ? 1 : event->id_type & HD_ID_GLOBAL ? 2 : 0;
    int type = is_int ? 0 : (event->id_type & HD_ID_VALUE_MASK) == HD_ID_STRING ? 1 : 2;
    uint32_t *slot = ow_map_get(&w->attribute_of, id_key, (uint64_t)(place * 3 + type), &created);
    if (!slot) return HD_NOMEM(w->err);
    uint32_t ref = created ? 0 : *slot;
    HD_TRY(own_attribute(&ref, w, "id", is_int ? OTF2_TYPE_INT64 : OTF2_TYPE_STRING, descriptions[place][type]));
    *slot = ref;
    if (is_int) return add_attribute(w, ref, OTF2_TYPE_INT64, (OTF2_AttributeValue){.int64 = event->id});
    return add_string(w, ref, ow_string(w, (uint32_t)event->id));
}

hd_status ow_add_time(ow_writer *w, int64_t ns)
{
    HD_TRY(own_attribute(&w->time_attribute, w, "heddle.time", OTF2_TYPE_INT64,
                         "event time in ns, of an event far outside the trace"));
    return add_attribute(w, w->time_attribute, OTF2_TYPE_INT64, (OTF2_AttributeValue){.int64 = ns});
}

hd_status ow_add_duration(ow_writer *w, int64_t ns)
{
    HD_TRY(own_attribute(&w->duration_attribute, w, "heddle.duration", OTF2_TYPE_INT64,
                         "duration in ns, of a slice that begins far outside the trace"));
    return add_attribute(w, w->duration_attribute, OTF2_TYPE_INT64, (OTF2_AttributeValue){.int64 = ns});
}

hd_status ow_add_category(ow_writer *w, uint32_t category)
{
    if (category == HD_STRING_NONE) return HD_OK;
    HD_TRY(own_attribute(&w->category_attribute, w, "heddle.category", OTF2_TYPE_STRING, "event category"));
    return add_string(w, w->category_attribute, ow_string(w, category));
}

hd_status ow_add_name(ow_writer *w, uint32_t name)
{
    HD_TRY(own_attribute(&w->name_attribute, w, "heddle.name", OTF2_TYPE_STRING, "event name, where it differs"));
    return add_string(w, w->name_attribute, ow_string(w, name));
}

hd_status ow_add_track(ow_writer *w, uint32_t track)
{
    uint32_t place = ow_place_of(w, OW_PLACE_ROW, track, HD_STRING_NONE);
    if (place == HD_NONE) return HD_NOMEM(w->err);
    HD_TRY(own_attribute(&w->track_attribute, w, "heddle.track", OTF2_TYPE_LOCATION, "where an async slice ends"));
    return add_attribute(w, w->track_attribute, OTF2_TYPE_LOCATION,
                         (OTF2_AttributeValue){.locationRef = w->places[place].first_location});
}

hd_status ow_add_kind(ow_writer *w, const char *kind, char phase)
{
    HD_TRY(
        own_attribute(&w->kind_attribute, w, "heddle.kind", OTF2_TYPE_STRING, "event kind, where it is not a slice"));
    HD_TRY(add_string(w, w->kind_attribute, ow_text(w, kind)));
    return phase ? ow_add_phase(w, phase) : HD_OK;
}

hd_status ow_add_phase(ow_writer *w, char phase)
{
    char text[2] = {phase, '\0'};
    HD_TRY(own_attribute(&w->phase_attribute, w, "heddle.phase", OTF2_TYPE_STRING, "event phase"));
    uint32_t *ref = &w->phase_texts[(unsigned char)phase];
    if (!*ref) *ref = ow_bytes(w, text, 1) + 1;
    return add_string(w, w->phase_attribute, *ref - 1);
}

/* ---- asking ---- */

uint64_t ow_arg_count(const ow_writer *w, const hd_event *event, uint32_t key, uint64_t fallback)
{
    int64_t value;
    if (!hd_event_arg_int(&value, w->trace, event, key) || value < 0) return fallback;
    return (uint64_t)value;
}

hd_string ow_arg_text(const ow_writer *w, const hd_event *event, uint32_t key)
{
    hd_value value;
    if (!hd_event_arg(&value, w->trace, event, key)) return (hd_string){"", 0};
    if (value.type != HD_ARG_STRING && value.type != HD_ARG_JSON) return (hd_string){"", 0};
    return hd_trace_string(w->trace, (uint32_t)value.bits);
}
