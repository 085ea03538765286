/* value.c - values of a memory profile as arguments */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/tfmemory/tfmemory.h"

#define LONG_DECIMAL ((int64_t)1 << 58) /* beyond what a decimal holds */

static hd_status intern(tfmemory_reader *r, uint32_t *out, const hd_json_text *text)
{
    hd_string s;
    HD_TRY(hd_walk_decode(&s, &r->walk, text));
    *out = hd_builder_intern(r->builder, s.data, s.size);
    return *out == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

hd_status tfmemory_next_member(tfmemory_reader *r, const char **at, bool *first, uint32_t *key)
{
    hd_string text;
    HD_TRY(hd_walk_member(&text, &r->walk, at, first));
    *key = hd_builder_intern(r->builder, text.data, text.size);
    return *key == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

bool tfmemory_is(const tfmemory_reader *r, uint32_t string, const char *text)
{
    hd_string s = hd_builder_string(r->builder, string);
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

/* ---- values ---- */

/* The members of the messages that are 64-bit integers, which JSON of protobuf writes as strings. */
static bool is_integer(const tfmemory_reader *r, uint32_t key)
{
    static const char *const names[] = {"requestedBytes",  "allocationBytes",    "address",
                                        "stepId",          "stackReservedBytes", "heapAllocatedBytes",
                                        "freeMemoryBytes", "peakBytesInUse",     "timeOffsetPs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (tfmemory_is(r, key, names[i])) return true;
    }
    return false;
}

/* The number that a string holds, if it is written as JSON writes integers. */
static bool is_digits(const hd_json_text *text)
{
    const char *p = text->data, *end = p + text->size;
    if (p < end && *p == '-') p++;
    if (p == end || (*p == '0' && (end - p > 1 || p != text->data))) return false;
    while (p < end && hd_json_is_digit(*p)) p++;
    return p == end;
}

/* Integers and decimals that fit; false: neither. */
static bool number_value(hd_value *out, const hd_json_number *n)
{
    if (!n->exact || n->mantissa > INT64_MAX || (n->negative && n->mantissa == 0)) return false;
    int64_t mantissa = n->negative ? -(int64_t)n->mantissa : (int64_t)n->mantissa;
    if (n->scale == 0)
        *out = (hd_value){HD_ARG_INT, mantissa};
    else if (n->mantissa < (uint64_t)LONG_DECIMAL && n->scale < 32)
        *out = (hd_value){HD_ARG_DECIMAL, hd_decimal_pack(mantissa, n->scale)};
    else
        return false;
    return true;
}

static hd_status keep_text(tfmemory_reader *r, hd_value *out, hd_arg_type type, hd_walk_span span)
{
    uint32_t id = hd_builder_intern(r->builder, span.data, span.size);
    *out = (hd_value){type, id};
    return id == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status take_number(tfmemory_reader *r, hd_value *out, hd_walk_span span)
{
    hd_json_number number;
    if (!hd_json_scan_number(&number, span.data)) return hd_walk_damaged(&r->walk, span.data, "a number that is none");
    return number_value(out, &number) ? HD_OK : keep_text(r, out, HD_ARG_NUMBER, span);
}

/* span: what says the same in JSON as the value. */
static hd_status take_value(tfmemory_reader *r, hd_value *out, hd_walk_span *span, const char **at, bool integer)
{
    HD_TRY(hd_walk_skip(span, &r->walk, at));
    switch (*span->data) {
    case '{':
    case '[': return keep_text(r, out, HD_ARG_JSON, *span);
    case 't':
    case 'f': *out = (hd_value){HD_ARG_BOOL, *span->data == 't'}; return HD_OK;
    case 'n': *out = (hd_value){HD_ARG_NULL, 0}; return HD_OK;
    case '"': {
        hd_json_text text;
        uint32_t id;
        hd_json_string(&text, span->data + 1);
        if (integer && is_digits(&text)) {
            *span = (hd_walk_span){text.data, text.size};
            return take_number(r, out, *span);
        }
        HD_TRY(intern(r, &id, &text));
        *out = (hd_value){HD_ARG_STRING, id};
        return HD_OK;
    }
    default: return take_number(r, out, *span);
    }
}

hd_status tfmemory_int(tfmemory_reader *r, int64_t *out, const char **at)
{
    hd_value value;
    hd_walk_span span;
    const char *start = *at;
    HD_TRY(take_value(r, &value, &span, at, true));
    *out = value.bits;
    if (value.type == HD_ARG_INT || hd_fixed_parse_whole(out, span.data, span.size))
        return HD_OK; /* 1.5e3 is one, too */
    return hd_walk_damaged(&r->walk, start, "a time that is no 64-bit integer");
}

/* ---- arguments ---- */

hd_status tfmemory_add_arg(tfmemory_reader *r, const char **at, uint32_t key)
{
    hd_value value;
    size_t n = r->arg_count;
    if (!hd_grow((void **)&r->keys, &r->key_capacity, n, sizeof *r->keys) ||
        !hd_grow((void **)&r->values, &r->value_capacity, n, sizeof *r->values) ||
        !hd_grow((void **)&r->spans, &r->span_capacity, n, sizeof *r->spans))
        return HD_NOMEM(r->err);
    HD_TRY(take_value(r, &value, &r->spans[n], at, is_integer(r, key)));
    /* 0 is written without a point: one type for the whole series */
    if (value.type == HD_ARG_INT && value.bits > -LONG_DECIMAL && value.bits < LONG_DECIMAL &&
        tfmemory_is(r, key, "fragmentation"))
        value = (hd_value){HD_ARG_DECIMAL, hd_decimal_pack(value.bits, 0)};
    r->keys[n] = (hd_arg_key){.key = key, .type = (uint8_t)value.type, .scope = HD_SCOPE_ARGS};
    r->values[n] = value.bits;
    r->arg_count++;
    return HD_OK;
}

/* All arguments as one text, where there are too many shapes. */
static hd_status raw_args(tfmemory_reader *r, int64_t *out)
{
    hd_json_out text = {0};
    hd_json_put_text(&text, "{\"args\":{");
    for (size_t i = 0; i < r->arg_count; i++) {
        hd_string key = hd_builder_string(r->builder, r->keys[i].key);
        if (i) hd_json_put_text(&text, ",");
        hd_json_put_string(&text, key.data, key.size);
        hd_json_put_text(&text, ":");
        hd_json_put(&text, r->spans[i].data, r->spans[i].size);
    }
    hd_json_put_text(&text, "}}");
    uint32_t id = text.failed ? HD_STRING_NONE : hd_builder_intern(r->builder, text.data, text.size);
    free(text.data);
    *out = id;
    return id == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

hd_status tfmemory_add_row(tfmemory_reader *r, hd_row *row)
{
    int64_t raw;
    const int64_t *values = r->values;
    row->shape =
        r->arg_count > UINT16_MAX ? HD_NONE : hd_builder_shape(r->builder, r->keys, (uint32_t)r->arg_count, true);
    if (row->shape == HD_NONE) {
        row->shape = hd_builder_raw_shape(r->builder);
        HD_TRY(raw_args(r, &raw));
        values = &raw;
    }
    r->arg_count = 0;
    return hd_rows_out_add(&r->rows, row, values, r->err);
}
