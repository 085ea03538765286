/* args.c - one event with its arguments, put together key by key */
#include "format/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text/decimal.h"
#include "base/text/hex.h"
#include "format/numbers.h"
#include "format/stack_text.h"
#include "trace/lazy.h"

hd_status hd_args_init(hd_args *args, hd_builder *builder, const hd_read_options *options, hd_error *err)
{
    *args = (hd_args){.builder = builder, .wanted = options->args == HD_ARGS_ALL};
    return hd_rows_out_init(&args->rows, builder, options->threads, err);
}

void hd_args_deinit(hd_args *args)
{
    hd_rows_out_deinit(&args->rows);
    hd_bytes_deinit(&args->text);
}

void hd_args_add(hd_args *args, uint32_t key, hd_arg_type type, int64_t bits, hd_arg_scope scope)
{
    const hd_arg_key whole = {.key = key, .type = (uint8_t)type, .scope = (uint8_t)scope};
    const uint64_t bit = UINT64_C(1) << (key & 63);
    if (!args->wanted || (args->seen & bit && hd_args_has(args->keys, args->values, args->count, whole, bits))) return;
    if (args->count == HD_ARGS_LIMIT) {
        args->lost++;
        return;
    }
    args->seen |= bit;
    args->values[args->count] = bits;
    args->keys[args->count++] = whole;
}

/* ---- texts ---- */

uint32_t hd_args_intern(hd_args *args, const char *data, size_t size)
{
    if (hd_utf8_valid(data, size, false)) return hd_builder_intern(args->builder, data, size);
    args->text.size = 0;
    args->text_repairs += hd_text_put_utf8(&args->text, data, size) > 0;
    if (args->text.failed) {
        hd_builder_fail(args->builder);
        return HD_STRING_NONE;
    }
    return hd_builder_intern(args->builder, (char *)args->text.data, args->text.size);
}

static uint32_t intern_string(hd_args *args, const hd_json_text *text)
{
    if (!text->escaped) return hd_args_intern(args, text->data, text->size);
    size_t size;
    char *out = malloc(text->size + 1);
    uint32_t id = HD_STRING_NONE;
    if (!out)
        hd_builder_fail(args->builder);
    else if (hd_json_decode(out, &size, text))
        id = hd_builder_intern(args->builder, out, size);
    else
        id = hd_args_intern(args, text->data, text->size); /* its escapes stay */
    free(out);
    return id;
}

uint32_t hd_args_text(hd_args *args, hd_json_span value)
{
    hd_json_text text;
    if (value.size && *value.data == '"' && hd_json_string(&text, value.data + 1)) return intern_string(args, &text);
    return hd_json_span_is(value, "null") ? HD_STRING_NONE : hd_args_intern(args, value.data, value.size);
}

void hd_intern_texts(hd_builder *builder, const hd_named_text *list)
{
    for (; list->text; list++) *list->out = hd_builder_intern_text(builder, list->text);
}

uint32_t hd_intern_format(hd_builder *builder, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    size = size < 0 ? 0 : (size_t)size >= sizeof text ? (int)sizeof text - 1 : size;
    while (size && !hd_utf8_valid(text, (size_t)size, false)) size--; /* cut within a character */
    return hd_builder_intern(builder, text, (size_t)size);
}

hd_ident hd_ident_number(hd_builder *builder, int64_t value)
{
    return (hd_ident){HD_IDENT_NUMBER, hd_intern_format(builder, "%lld", (long long)value)};
}

/* ---- numbers ---- */

bool hd_json_span_int(int64_t *out, hd_json_span value)
{
    if (value.size >= 2 && *value.data == '"') value = (hd_json_span){value.data + 1, value.size - 2};
    if (value.size < 3 || value.data[0] != '0' || value.data[1] != 'x')
        return hd_fixed_parse_whole(out, value.data, value.size);
    uint64_t sum = 0;
    for (size_t i = 2; i < value.size; i++) {
        int digit = hd_hex_digit(value.data[i]);
        if (digit < 0 || sum >> 60) return false;
        sum = sum << 4 | (uint64_t)digit;
    }
    *out = (int64_t)sum;
    return sum <= INT64_MAX;
}

static void add_number(hd_args *args, uint32_t key, hd_json_span value)
{
    hd_json_number n;
    bool is_number = hd_json_scan_number(&n, value.data) != NULL;
    int64_t mantissa = 0;
    bool is_whole = is_number && hd_json_number_whole(&mantissa, &n);
    bool is_plain = is_number && n.exact && !(n.negative && n.mantissa == 0);
    if (is_plain && is_whole)
        hd_args_add(args, key, HD_ARG_INT, mantissa, HD_SCOPE_ARGS);
    else if (is_plain && n.scale > 0 && n.scale < 32 && n.mantissa < (uint64_t)1 << 58)
        hd_args_add(args, key, HD_ARG_DECIMAL, hd_decimal_pack(mantissa, n.scale), HD_SCOPE_ARGS);
    else
        hd_args_add(args, key, HD_ARG_NUMBER, hd_builder_intern(args->builder, value.data, value.size), HD_SCOPE_ARGS);
}

void hd_args_json(hd_args *args, uint32_t key, hd_json_span value)
{
    if (!args->wanted) return;
    switch (*value.data) {
    case '"': hd_args_add(args, key, HD_ARG_STRING, hd_args_text(args, value), HD_SCOPE_ARGS); break;
    case 't':
    case 'f': hd_args_add(args, key, HD_ARG_BOOL, *value.data == 't', HD_SCOPE_ARGS); break;
    case 'n': hd_args_add(args, key, HD_ARG_NULL, 0, HD_SCOPE_ARGS); break;
    case '{':
    case '[':
        hd_args_add(args, key, HD_ARG_JSON, hd_builder_intern(args->builder, value.data, value.size), HD_SCOPE_ARGS);
        break;
    default: add_number(args, key, value); break;
    }
}

void hd_args_plain(hd_args *args, uint32_t key, hd_json_span text)
{
    hd_json_number n;
    if (!args->wanted || text.size == 0) return;
    if (hd_json_scan_number(&n, text.data) == text.data + text.size)
        add_number(args, key, text);
    else
        hd_args_add(args, key, HD_ARG_STRING, hd_args_intern(args, text.data, text.size), HD_SCOPE_ARGS);
}

/* ---- rows ---- */

uint32_t hd_args_as_text(hd_builder *builder, const hd_arg_key *keys, const int64_t *values, uint32_t count)
{
    hd_json_out json = {0};
    hd_json_put_text(&json, "{\"args\":{");
    for (int scope = HD_SCOPE_ARGS; scope <= HD_SCOPE_EVENT; scope++) {
        bool is_first = scope == HD_SCOPE_ARGS;
        for (uint32_t i = 0; i < count; i++) {
            if (keys[i].scope != scope) continue;
            hd_string key = hd_builder_string(builder, keys[i].key);
            if (!is_first) hd_json_put_text(&json, ",");
            is_first = false;
            hd_json_put_string(&json, key.data, key.size);
            hd_json_put_text(&json, ":");
            hd_json_put_value(&json, builder, (hd_value){(hd_arg_type)keys[i].type, values[i]});
        }
        hd_json_put_text(&json, "}");
    }
    uint32_t id = json.failed ? HD_STRING_NONE : hd_builder_intern(builder, json.data, json.size);
    free(json.data);
    return id;
}

hd_status hd_args_add_row(hd_args *args, hd_row *row, hd_error *err)
{
    const int64_t *values = args->values;
    int64_t raw;
    row->shape = args->count ? hd_builder_shape(args->builder, args->keys, args->count, true) : 0;
    if (row->shape == HD_NONE) {
        row->shape = hd_builder_raw_shape(args->builder);
        raw = hd_args_as_text(args->builder, args->keys, args->values, args->count);
        if (raw == HD_STRING_NONE) return HD_NOMEM(err);
        values = &raw;
    }
    args->count = 0;
    args->seen = 0;
    return hd_rows_out_add(&args->rows, row, values, err);
}

hd_status hd_args_finish(hd_args *args, hd_error *err)
{
    return hd_rows_out_flush(&args->rows, err);
}
