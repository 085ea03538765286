/* values.c - arguments of events: values, shapes */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "format/perfetto/read/reader.h"

enum { KEY_LIMIT = 256 };

/* ---- numbers ---- */

/* The shortest decimal that is the double, if it has at most 15 digits behind the point. */
static bool short_decimal(int64_t *mantissa, unsigned *scale, double value)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    for (unsigned s = 1; s < sizeof powers / sizeof *powers; s++) {
        double scaled = value * powers[s];
        if (!(fabs(scaled) < 9007199254740992.0)) return false;
        double whole = nearbyint(scaled);
        if (whole / powers[s] != value || (whole == 0 && signbit(value))) continue; /* -0.0 has no mantissa */
        *mantissa = (int64_t)whole;
        *scale = s;
        return true;
    }
    return false;
}

/* Any other finite double with the fewest digits that give it back. */
static void shortest(char text[40], double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
}

void perfetto_put_double(hd_json_out *out, double value)
{
    int64_t mantissa;
    unsigned scale;
    char text[40];
    if (isnan(value)) {
        hd_json_put_text(out, "\"NaN\"");
    } else if (isinf(value)) {
        hd_json_put_text(out, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else if (short_decimal(&mantissa, &scale, value)) {
        hd_json_put_decimal(out, mantissa, scale);
    } else {
        shortest(text, value);
        hd_json_put_text(out, text);
    }
}

hd_arg_type perfetto_double_value(int64_t *out_bits, perfetto_reader *reader, double value)
{
    int64_t mantissa;
    unsigned scale;
    char text[40];
    if (isnan(value) || isinf(value)) { /* JSON has no number for these */
        *out_bits = hd_builder_intern_text(reader->builder, isnan(value) ? "NaN"
                                                            : value < 0  ? "-Infinity"
                                                                         : "Infinity");
        return HD_ARG_STRING;
    }
    if (short_decimal(&mantissa, &scale, value)) {
        *out_bits = hd_decimal_pack(mantissa, scale);
        return HD_ARG_DECIMAL;
    }
    shortest(text, value);
    *out_bits = hd_builder_intern_text(reader->builder, text);
    return HD_ARG_NUMBER;
}

void perfetto_put_unsigned(hd_json_out *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    hd_json_put_text(out, text);
}

hd_arg_type perfetto_unsigned_value(int64_t *out_bits, perfetto_reader *reader, uint64_t value)
{
    char text[24];
    *out_bits = (int64_t)value;
    if (value <= INT64_MAX) return HD_ARG_INT;
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    *out_bits = hd_builder_intern_text(reader->builder, text);
    return HD_ARG_NUMBER;
}

/* ---- lists ---- */

hd_status perfetto_add_arg(perfetto_reader *reader, perfetto_args *args, uint32_t key, hd_arg_type type,
                           hd_arg_scope scope, int64_t bits)
{
    if (!reader->want_args) return HD_OK;
    if (args->count == args->capacity)
        HD_TRY(perfetto_grow(reader, (void **)&args->list, &args->capacity, args->count, sizeof *args->list));
    args->list[args->count++] = (perfetto_arg){
        .key = {.key = key, .type = (uint8_t)type, .scope = (uint8_t)scope},
        .bits = bits,
    };
    return HD_OK;
}

static uint32_t key_of(perfetto_reader *reader, const char *key)
{
    return hd_builder_intern_text(reader->builder, key);
}

hd_status perfetto_add_text_arg(perfetto_reader *reader, const char *key, uint32_t text)
{
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), HD_ARG_STRING, HD_SCOPE_ARGS, text);
}

hd_status perfetto_add_int_arg(perfetto_reader *reader, const char *key, int64_t value)
{
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), HD_ARG_INT, HD_SCOPE_ARGS, value);
}

hd_status perfetto_add_unsigned_arg(perfetto_reader *reader, const char *key, uint64_t value)
{
    int64_t bits;
    hd_arg_type type = perfetto_unsigned_value(&bits, reader, value);
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), type, HD_SCOPE_ARGS, bits);
}

hd_status perfetto_add_member(perfetto_reader *reader, const char *key, hd_arg_type type, int64_t bits)
{
    return perfetto_add_arg(reader, &reader->args, key_of(reader, key), type, HD_SCOPE_EVENT, bits);
}

/* ---- shapes ---- */

static void put_value(perfetto_reader *reader, hd_json_out *out, const perfetto_arg *arg)
{
    hd_string s =
        arg->key.type >= HD_ARG_NUMBER ? hd_builder_string(reader->builder, (uint32_t)arg->bits) : (hd_string){"", 0};
    switch (arg->key.type) {
    case HD_ARG_NULL: hd_json_put_text(out, "null"); break;
    case HD_ARG_BOOL: hd_json_put_text(out, arg->bits ? "true" : "false"); break;
    case HD_ARG_INT: hd_json_put_int(out, arg->bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(out, hd_decimal_mantissa(arg->bits), hd_decimal_scale(arg->bits)); break;
    case HD_ARG_STRING: hd_json_put_string(out, s.data, s.size); break;
    default: hd_json_put(out, s.data, s.size); break;
    }
}

static void put_members(perfetto_reader *reader, const perfetto_args *args, unsigned scope, bool *first)
{
    for (size_t i = 0; i < args->count; i++) {
        const perfetto_arg *arg = &args->list[i];
        if (arg->key.scope != scope) continue;
        hd_string key = hd_builder_string(reader->builder, arg->key.key);
        if (!*first) hd_json_put_text(&reader->json, ",");
        *first = false;
        hd_json_put_string(&reader->json, key.data, key.size);
        hd_json_put_text(&reader->json, ":");
        put_value(reader, &reader->json, arg);
    }
}

/* There are too many shapes or keys: all values as one text. */
static hd_status raw_shape(perfetto_reader *reader, hd_row *row, const perfetto_args *args)
{
    bool first = true;
    reader->json.size = 0;
    hd_json_put_text(&reader->json, "{");
    put_members(reader, args, HD_SCOPE_EVENT, &first);
    hd_json_put_text(&reader->json, first ? "\"args\":{" : ",\"args\":{");
    first = true;
    put_members(reader, args, HD_SCOPE_ARGS, &first);
    hd_json_put_text(&reader->json, "}}");
    if (reader->json.failed) return HD_NOMEM(reader->err);
    reader->values[0] = hd_builder_intern(reader->builder, reader->json.data, reader->json.size);
    row->shape = hd_builder_raw_shape(reader->builder);
    perfetto_note(reader, "perfetto.raw-arguments", HD_LEDGER_NOTE, 1);
    return HD_OK;
}

hd_status perfetto_shape(perfetto_reader *reader, hd_row *row, const perfetto_args *args)
{
    size_t count = args ? args->count : 0, capacity = reader->key_capacity;
    while (reader->key_capacity <= count || !reader->keys) {
        HD_TRY(perfetto_grow(reader, (void **)&reader->keys, &capacity, capacity, sizeof *reader->keys));
        HD_TRY(perfetto_grow(reader, (void **)&reader->values, &reader->value_capacity, reader->value_capacity,
                             sizeof *reader->values));
        reader->key_capacity = capacity < reader->value_capacity ? capacity : reader->value_capacity;
    }
    bool has_args = false;
    for (size_t i = 0; i < count; i++) {
        reader->keys[i] = args->list[i].key;
        reader->values[i] = args->list[i].bits;
        has_args |= args->list[i].key.scope == HD_SCOPE_ARGS;
    }
    row->shape =
        count > KEY_LIMIT ? HD_NONE : hd_builder_shape(reader->builder, reader->keys, (uint32_t)count, has_args);
    if (row->shape != HD_NONE && (count == 0 || row->shape != hd_builder_raw_shape(reader->builder))) return HD_OK;
    return raw_shape(reader, row, args);
}
