/* value.c - walking the text of a memory profile, and its values as arguments
 *
 * Damage costs what it is in: an object that is no valid JSON is mended by repair/repair.h; of what cannot be mended,
 * the bytes up to the next comma or bracket of the same level.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "format/tfmemory/tfmemory.h"

#define LONG_DECIMAL ((int64_t)1 << 58) /* beyond what a decimal holds */

/* Where p stands in the file; within a mended snapshot that is where the snapshot begins. */
static size_t offset_of(const tfmemory_reader *r, const char *p)
{
    return p >= r->text && p <= r->text + r->size ? (size_t)(p - r->text) : r->snapshot_offset;
}

/* An error at p. */
static hd_status damaged(const tfmemory_reader *r, const char *p, const char *what)
{
    size_t offset = offset_of(r, p);
    if (offset == r->size || hd_json_is_cut(p, r->text + r->size)) what = "the memory profile ends in the middle";
    return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, offset, "%s", what);
}

static hd_status intern(tfmemory_reader *r, uint32_t *out, const hd_json_text *text)
{
    const char *data = text->data;
    size_t size = text->size;
    if (text->escaped || text->wide) {
        if (!hd_reserve(&r->scratch, &r->scratch_capacity, size)) return HD_NOMEM(r->err);
        if (!hd_json_decode(r->scratch, &size, text)) return damaged(r, data, "a string is not UTF-8");
        data = r->scratch;
    }
    *out = hd_builder_intern(r->builder, data, size);
    return *out == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

hd_status tfmemory_lose(tfmemory_reader *r, const char *p, const char *what)
{
    if (r->options->strict) return damaged(r, p, what);
    r->lost = true;
    hd_builder_ledger(r->builder, TFMEMORY_STAGE, "tfmemory.value-damaged", HD_LEDGER_LOSS, 1, offset_of(r, p));
    return HD_OK;
}

bool tfmemory_is(const tfmemory_reader *r, uint32_t string, const char *text)
{
    hd_string s = hd_builder_string(r->builder, string);
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

/* ---- objects and arrays ---- */

/* To the next comma, or the bracket that closes what p is in. */
static const char *skip_junk(const tfmemory_reader *r, const char *p)
{
    const char *end = r->text + r->size;
    hd_json_text text;
    for (size_t depth = 0; p < end; p++) {
        if (*p == '"') {
            const char *behind = hd_json_string(&text, p + 1), *then = hd_json_skip_space(p + 1);
            bool closes = *then == ':' || *then == ',' || *then == '}' || *then == ']'; /* its own begin is lost */
            if (behind && !closes) p = behind - 1;
            continue;
        }
        if (depth == 0 && (*p == ',' || *p == '}' || *p == ']')) return p;
        if (*p == '{' || *p == '[') depth++;
        if (*p == '}' || *p == ']') depth--;
    }
    return end;
}

/* To the next element of what `close` ends. */
static hd_status next(tfmemory_reader *r, const char **at, bool *first, char close)
{
    for (;; *at = skip_junk(r, *at)) {
        const char *p = *at = hd_json_skip_space(*at);
        if (*p == close) {
            *at = p + 1;
            return HD_END;
        }
        if (p >= r->text + r->size) {
            if (r->cut) return HD_END;
            r->cut = r->lost = true;
            if (r->options->strict) return damaged(r, p, "");
            hd_builder_ledger(r->builder, TFMEMORY_STAGE, "tfmemory.truncated", HD_LEDGER_LOSS, 1, r->size);
            return HD_END;
        }
        if (*first || *p == ',') {
            *at = *first ? p : hd_json_skip_space(p + 1);
            *first = false;
            return HD_OK;
        }
        HD_TRY(tfmemory_lose(r, p, "no comma, and no end of the list, behind a value"));
        const char *then = p;
        while (*then == '}') then = hd_json_skip_space(then + 1);
        bool stray = *then == ']' || (*then == ',' && *hd_json_skip_space(then + 1) == '{');
        if (*p == '}' && !stray) return HD_END; /* of a list without its bracket */
        *at += *p == ']' || *p == '}';
    }
}

hd_status tfmemory_next_item(tfmemory_reader *r, const char **at, bool *first)
{
    return next(r, at, first, ']');
}

/* The key at *at, and to its value. */
static hd_status read_key(tfmemory_reader *r, const char **at, uint32_t *key)
{
    hd_json_text text;
    if (**at != '"') return damaged(r, *at, "no key where one must be");
    const char *p = hd_json_string(&text, *at + 1);
    if (!p) return damaged(r, *at, "a key is no valid string");
    HD_TRY(intern(r, key, &text));
    p = hd_json_skip_space(p);
    if (*p != ':') return damaged(r, p, "no colon behind a key");
    *at = hd_json_skip_space(p + 1);
    return HD_OK;
}

hd_status tfmemory_pass(tfmemory_reader *r, hd_status status)
{
    if (status != HD_ERR_DAMAGED || r->options->strict) return status;
    uint64_t offset = r->err->offset;
    *r->err = (hd_error){0};
    return tfmemory_lose(r, r->text + offset, "");
}

hd_status tfmemory_next_member(tfmemory_reader *r, const char **at, bool *first, uint32_t *key)
{
    for (;;) {
        HD_TRY(next(r, at, first, '}'));
        hd_status status = read_key(r, at, key);
        if (status == HD_OK) return HD_OK;
        HD_TRY(tfmemory_pass(r, status));
        *at = skip_junk(r, *at);
    }
}

/* How much text there is up to the bracket that ends the list p is in, if that is near. */
static size_t size_in_list(const tfmemory_reader *r, const char *p)
{
    enum { NEAR = 64 << 10 };
    size_t left = (size_t)(r->text + r->size - p), open = 0;
    for (size_t i = 0; i < left && i < NEAR; i++) {
        if (p[i] == '[') open++;
        if (p[i] != ']') continue;
        const char *then = hd_json_skip_space(p + i + 1);
        bool goes_on = *then == ',' && *hd_json_skip_space(then + 1) == '{'; /* it stands for a brace */
        if (open == 0 && !goes_on) return i;
        open -= open > 0;
    }
    return left;
}

/* The value at *at is no valid JSON: mended, if it is an object, else null stands for it. */
static hd_status mend(tfmemory_reader *r, tfmemory_span *out, const char **at)
{
    hd_repair_outcome outcome;
    size_t used;
    const char *start = *at;
    *out = (tfmemory_span){"null", 4};
    if (*start != '{') {
        *at = skip_junk(r, start);
        return tfmemory_lose(r, start, "a value that is no valid JSON");
    }
    HD_TRY(hd_json_repair_object(&outcome, &used, &r->repair, start, size_in_list(r, start), true, r->err));
    *at = start + used;
    for (size_t i = 0; i < r->repair.issue_count; i++)
        hd_builder_ledger(r->builder, TFMEMORY_STAGE, r->repair.issues[i].code, HD_LEDGER_REPAIR,
                          r->repair.issues[i].count, offset_of(r, start) + r->repair.issues[i].offset);
    if (outcome != HD_REPAIR_DONE) return tfmemory_lose(r, start, "");
    char *copy = hd_arena_alloc(&r->mended, r->repair.size + HD_JSON_PADDING);
    if (!copy) return HD_NOMEM(r->err);
    memcpy(copy, r->repair.text, r->repair.size);
    memset(copy + r->repair.size, 0, HD_JSON_PADDING);
    *out = (tfmemory_span){copy, r->repair.size};
    return HD_OK;
}

hd_status tfmemory_skip(tfmemory_reader *r, tfmemory_span *out, const char **at)
{
    const char *p = hd_json_skip_value(*at);
    if (!p) return r->options->strict ? damaged(r, *at, "a value that is no valid JSON") : mend(r, out, at);
    *out = (tfmemory_span){*at, (size_t)(p - *at)};
    *at = p;
    return HD_OK;
}

hd_status tfmemory_enter(tfmemory_reader *r, const char **at, char open, bool *is_null)
{
    tfmemory_span span;
    *is_null = **at == 'n';
    if (*is_null) return tfmemory_skip(r, &span, at);
    if (**at != open) return damaged(r, *at, open == '{' ? "no object where one must be" : "no list where one must be");
    ++*at;
    return HD_OK;
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

static hd_status keep_text(tfmemory_reader *r, hd_value *out, hd_arg_type type, tfmemory_span span)
{
    uint32_t id = hd_builder_intern(r->builder, span.data, span.size);
    *out = (hd_value){type, id};
    return id == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status take_number(tfmemory_reader *r, hd_value *out, tfmemory_span span)
{
    hd_json_number number;
    if (!hd_json_scan_number(&number, span.data)) return damaged(r, span.data, "a number that is none");
    return number_value(out, &number) ? HD_OK : keep_text(r, out, HD_ARG_NUMBER, span);
}

/* span: what says the same in JSON as the value. */
static hd_status take_value(tfmemory_reader *r, hd_value *out, tfmemory_span *span, const char **at, bool integer)
{
    HD_TRY(tfmemory_skip(r, span, at));
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
            *span = (tfmemory_span){text.data, text.size};
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
    tfmemory_span span;
    const char *start = *at;
    HD_TRY(take_value(r, &value, &span, at, true));
    *out = value.bits;
    if (value.type == HD_ARG_INT || hd_fixed_parse_whole(out, span.data, span.size))
        return HD_OK; /* 1.5e3 is one, too */
    return damaged(r, start, "a time that is no 64-bit integer");
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
