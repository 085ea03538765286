/* args.c - the arguments of one event: typed values under keys, then a row */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/json.h"
#include "base/text/double.h"
#include "format/args.h"
#include "format/otf2/read/read.h"

void otf2_args_clear(otf2_reader *r)
{
    r->args.count = 0;
    if (r->is_own) r->own = (own_event){0};
}

void otf2_arg(otf2_reader *r, uint32_t key, hd_arg_type type, int64_t bits)
{
    otf2_args *args = &r->args;
    if (!r->wants_args) return;
    if (!hd_grow((void **)&args->keys, &args->key_capacity, args->count, sizeof *args->keys) ||
        !hd_grow((void **)&args->values, &args->value_capacity, args->count, sizeof *args->values)) {
        otf2_stop(r, HD_NOMEM(r->err));
        return;
    }
    args->keys[args->count] = (hd_arg_key){.key = key, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    args->values[args->count++] = type == HD_ARG_NULL ? 0 : bits;
}

void otf2_arg_late(otf2_reader *r, const late_arg *late)
{
    size_t before = r->args.count;
    otf2_arg(r, late->key.key, (hd_arg_type)late->key.type, late->value);
    if (r->args.count > before) r->args.keys[before].scope = late->key.scope;
}

void otf2_arg_uint(otf2_reader *r, uint32_t key, uint64_t value)
{
    char text[24];
    if (value <= INT64_MAX) {
        otf2_arg(r, key, HD_ARG_INT, (int64_t)value);
        return;
    }
    snprintf(text, sizeof text, "%" PRIu64, value);
    otf2_arg(r, key, HD_ARG_NUMBER, hd_builder_intern_text(r->builder, text));
}

/* Digits, maybe with a point and a negative exponent, as mantissa and scale; false if they do not fit. */
static bool pack_digits(int64_t *out, const char *text)
{
    const int64_t most = INT64_C(1) << 58;
    bool negative = *text == '-', point = false;
    int64_t mantissa = 0;
    long scale = 0;
    const char *p = text + negative;
    for (; *p && *p != 'e'; p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9' || mantissa > most / 10) return false;
        mantissa = mantissa * 10 + (*p - '0');
        scale += point;
    }
    if (*p && p[1] != '-') return false;
    if (*p) scale += strtol(p + 2, NULL, 10);
    if (!point && !*p) { /* 5 is an integer, 5.0 a double */
        if (mantissa > most / 10) return false;
        mantissa *= 10;
        scale = 1;
    }
    if (scale < 0 || scale > 31 || mantissa >= most) return false;
    *out = hd_decimal_pack(negative ? -mantissa : mantissa, (unsigned)scale);
    return true;
}

void otf2_arg_double(otf2_reader *r, uint32_t key, double value)
{
    char text[40];
    int64_t packed;
    if (!isfinite(value)) { /* no number of JSON */
        const char *name = isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
        otf2_arg(r, key, HD_ARG_STRING, hd_builder_intern_text(r->builder, name));
        return;
    }
    if (fabs(value) < 1e15 && value == floor(value) && !(value == 0 && signbit(value))) {
        otf2_arg(r, key, HD_ARG_DECIMAL, hd_decimal_pack((int64_t)value * 10, 1));
        return;
    }
    hd_double_text(text, value);
    if (!(value == 0) && pack_digits(&packed, text))
        otf2_arg(r, key, HD_ARG_DECIMAL, packed);
    else
        otf2_arg(r, key, HD_ARG_NUMBER, hd_builder_intern_text(r->builder, value == 0 ? "-0.0" : text));
}

static void arg_ref(otf2_reader *r, uint32_t key, def_kind kind, uint64_t ref)
{
    uint32_t name = otf2_ref_name(r, kind, ref);
    otf2_arg(r, key, name == HD_STRING_NONE ? HD_ARG_NULL : HD_ARG_STRING, name);
}

/* A value as the union's member of its type says; the others may not be looked at. */
void otf2_arg_value(otf2_reader *r, uint32_t key, OTF2_Type type, OTF2_AttributeValue value)
{
    switch (type) {
    case OTF2_TYPE_NONE: otf2_arg(r, key, HD_ARG_NULL, 0); return;
    case OTF2_TYPE_UINT8: otf2_arg_uint(r, key, value.uint8); return;
    case OTF2_TYPE_UINT16: otf2_arg_uint(r, key, value.uint16); return;
    case OTF2_TYPE_UINT32: otf2_arg_uint(r, key, value.uint32); return;
    case OTF2_TYPE_UINT64: otf2_arg_uint(r, key, value.uint64); return;
    case OTF2_TYPE_INT8: otf2_arg(r, key, HD_ARG_INT, value.int8); return;
    case OTF2_TYPE_INT16: otf2_arg(r, key, HD_ARG_INT, value.int16); return;
    case OTF2_TYPE_INT32: otf2_arg(r, key, HD_ARG_INT, value.int32); return;
    case OTF2_TYPE_INT64: otf2_arg(r, key, HD_ARG_INT, value.int64); return;
    case OTF2_TYPE_FLOAT: otf2_arg_double(r, key, value.float32); return;
    case OTF2_TYPE_DOUBLE: otf2_arg_double(r, key, value.float64); return;
    case OTF2_TYPE_LOCATION: arg_ref(r, key, DEF_LOCATION, value.locationRef); return;
    default: break;
    }
    if (type >= OTF2_TYPE_STRING && type <= OTF2_TYPE_LOCATION_GROUP)
        arg_ref(r, key, (def_kind)(type - OTF2_TYPE_STRING), value.stringRef); /* all others have 32 bits */
    else
        otf2_arg_uint(r, key, value.uint64);
}

/* The rank at which a collective operation begins or ends, if it has one. */
static void arg_root(otf2_reader *r, uint32_t key, uint64_t value)
{
    const char *name = NULL;
    if (value == OTF2_COLLECTIVE_ROOT_NONE) name = "NONE";
    if (value == OTF2_COLLECTIVE_ROOT_SELF) name = "SELF";
    if (value == OTF2_COLLECTIVE_ROOT_THIS_GROUP) name = "THIS_GROUP";
    if (name)
        otf2_arg(r, key, HD_ARG_STRING, hd_builder_intern_text(r->builder, name));
    else
        otf2_arg_uint(r, key, value);
}

void otf2_arg_field(otf2_reader *r, const otf2_field *field, const uint64_t *values, unsigned index)
{
    if (!r->wants_args) return;
    uint32_t key = hd_builder_intern_text(r->builder, field->name);
    uint64_t value = values[index];
    const char *name;
    switch (field->type) {
    case FIELD_INT: otf2_arg(r, key, HD_ARG_INT, (int64_t)value); break;
    case FIELD_REF: arg_ref(r, key, field->kind, value); break;
    case FIELD_ROOT: arg_root(r, key, value); break;
    case FIELD_ENUM:
        name = otf2_enum_name(field, value);
        if (name)
            otf2_arg(r, key, HD_ARG_STRING, hd_builder_intern_text(r->builder, name));
        else
            otf2_arg_uint(r, key, value);
        break;
    case FIELD_VALUE:
        otf2_arg_value(r, key, (OTF2_Type)values[index - 1], (OTF2_AttributeValue){.uint64 = value});
        break;
    default: otf2_arg_uint(r, key, value);
    }
}

/* ---- attributes of our own writer ---- */

void otf2_know_own_attribute(otf2_reader *r, otf2_def *attribute)
{
    static const char *const names[] = {
        [HD_ARG_NULL] = "null",     [HD_ARG_BOOL] = "bool",     [HD_ARG_INT] = "int",  [HD_ARG_DECIMAL] = "decimal",
        [HD_ARG_NUMBER] = "number", [HD_ARG_STRING] = "string", [HD_ARG_JSON] = "json"};
    hd_string text = hd_builder_string(r->builder, otf2_ref_name(r, DEF_STRING, attribute->values[1]));
    char word[24], scope[8], type[12], form[8] = "";
    if (text.size >= sizeof word) return;
    memcpy(word, text.data, text.size);
    word[text.size] = '\0';
    int words = sscanf(word, "%7s %11s %7s", scope, type, form);
    bool event = words >= 2 && strcmp(scope, "event") == 0;
    if (words < 2 || (!event && strcmp(scope, "args") != 0) || (words == 3 && strcmp(form, "text") != 0)) return;
    for (uint8_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], type) != 0) continue;
        attribute->own_type = (uint8_t)(i + 1);
        attribute->own_scope = event ? HD_SCOPE_EVENT : HD_SCOPE_ARGS;
    }
}

/* 12.500, with all its digits. */
static bool parse_decimal(int64_t *out, hd_string text)
{
    char copy[48];
    if (!text.size || text.size >= sizeof copy || !memchr(text.data, '.', text.size)) return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return hd_json_valid(copy, text.size, 1) && pack_digits(out, copy);
}

static bool is_number(hd_string text)
{
    return text.size && (text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9')) &&
           hd_json_valid(text.data, text.size, 1);
}

/* Restores the type that the last argument had before it was written; if it does not parse as that, it is unchanged. */
static void restore_type(otf2_reader *r, const otf2_def *attribute)
{
    hd_arg_key *key = &r->args.keys[r->args.count - 1];
    int64_t *value = &r->args.values[r->args.count - 1];
    bool is_text = key->type == HD_ARG_STRING;
    hd_string text = is_text ? hd_builder_string(r->builder, (uint32_t)*value) : (hd_string){"", 0};
    key->scope = attribute->own_scope;
    switch (attribute->own_type - 1) {
    case HD_ARG_NULL:
        key->type = HD_ARG_NULL;
        *value = 0;
        break;
    case HD_ARG_BOOL:
        if (key->type != HD_ARG_INT) break;
        key->type = HD_ARG_BOOL;
        *value = *value != 0;
        break;
    case HD_ARG_DECIMAL:
        if (is_text && parse_decimal(value, text)) key->type = HD_ARG_DECIMAL;
        break;
    case HD_ARG_NUMBER:
        if (is_text && is_number(text)) key->type = HD_ARG_NUMBER;
        break;
    case HD_ARG_JSON:
        if (is_text && hd_json_valid(text.data, text.size, HD_JSON_DEPTH_LIMIT)) key->type = HD_ARG_JSON;
        break;
    default: break;
    }
}

void otf2_arg_attributes(otf2_reader *r, OTF2_AttributeList *attributes)
{
    uint32_t count = attributes ? OTF2_AttributeList_GetNumberOfElements(attributes) : 0;
    for (uint32_t i = 0; i < count; i++) {
        OTF2_AttributeRef ref;
        OTF2_Type type;
        OTF2_AttributeValue value;
        if (OTF2_AttributeList_GetAttributeByIndex(attributes, i, &ref, &type, &value) != OTF2_SUCCESS) break;
        const otf2_def *attribute = otf2_get(r, DEF_ATTRIBUTE, ref);
        if (attribute && attribute->own_role != OWN_NONE) {
            otf2_own_take(r, attribute, type, value);
            continue;
        }
        bool is_argument = r->is_own && attribute && attribute->own_type;
        uint32_t key = is_argument ? attribute->name : otf2_ref_name(r, DEF_ATTRIBUTE, ref); /* it may be "" */
        size_t before = r->args.count;
        otf2_arg_value(r, key == HD_STRING_NONE ? hd_builder_intern_text(r->builder, "attribute") : key, type, value);
        if (attribute && attribute->own_type && r->args.count > before) restore_type(r, attribute);
    }
}

/* ---- rows ---- */

/* Beyond the limit of shapes: the arguments as one JSON text. */
static hd_status add_raw_row(otf2_reader *r, hd_row *row)
{
    int64_t text = hd_args_as_text(r->builder, r->args.keys, r->args.values, (uint32_t)r->args.count);
    if (text == HD_STRING_NONE) return HD_NOMEM(r->err);
    row->shape = hd_builder_raw_shape(r->builder);
    return hd_batch_add(r->batch, row, &text, r->err);
}

hd_status otf2_add_row(otf2_reader *r, hd_row *row)
{
    if (!r->args.count) return hd_batch_add(r->batch, row, NULL, r->err);
    bool has_args = !r->is_own;
    for (size_t i = 0; i < r->args.count && !has_args; i++) has_args = r->args.keys[i].scope == HD_SCOPE_ARGS;
    row->shape = hd_builder_shape(r->builder, r->args.keys, (uint32_t)r->args.count, has_args);
    if (row->shape == HD_NONE) return add_raw_row(r, row);
    return hd_batch_add(r->batch, row, r->args.values, r->err);
}
