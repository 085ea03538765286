/* value.c - values of a memory profile as arguments */
#include "base/error.h"
#include "base/text/decimal.h"
#include "format/tfmemory/tfmemory.h"
#include "trace/text.h"

#define LONG_DECIMAL ((int64_t)1 << 58) /* beyond the range of a decimal */

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
    return hd_string_is(s, text);
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

/* The text within the quotes of a string with a JSON integer; for any other value the value itself. */
static hd_json_span without_quotes(hd_json_span value)
{
    const char *p = value.data + 1, *end = value.data + value.size - 1;
    if (value.size < 3 || *value.data != '"') return value;
    if (*p == '-') p++;
    if (p == end || (*p == '0' && end - value.data > 2)) return value;
    for (const char *digit = p; digit < end; digit++) {
        if (!hd_json_is_digit(*digit)) return value;
    }
    return (hd_json_span){value.data + 1, value.size - 2};
}

static hd_status take_value(tfmemory_reader *r, hd_json_span *out, const char **at)
{
    hd_walk_span span;
    HD_TRY(hd_walk_skip(&span, &r->walk, at));
    *out = (hd_json_span){span.data, span.size};
    return HD_OK;
}

hd_status tfmemory_int(tfmemory_reader *r, int64_t *out, const char **at)
{
    hd_json_span value;
    const char *start = *at;
    HD_TRY(take_value(r, &value, at));
    value = without_quotes(value);
    if (hd_fixed_parse_whole(out, value.data, value.size)) return HD_OK; /* 1.5e3 is one, too */
    return hd_walk_damaged(&r->walk, start, "a time that is not a 64-bit integer");
}

/* ---- arguments ---- */

hd_status tfmemory_add_arg(tfmemory_reader *r, hd_json_span *out, const char **at, uint32_t key)
{
    hd_args *args = &r->args;
    const char *start = *at;
    uint64_t repairs = args->text_repairs;
    HD_TRY(take_value(r, out, at));
    if (args->count == HD_ARGS_LIMIT) return hd_walk_lose(&r->walk, start, "more members than are kept");
    hd_args_json(args, key, is_integer(r, key) ? without_quotes(*out) : *out);
    if (args->text_repairs > repairs) return hd_walk_damaged(&r->walk, start, "a string is not UTF-8");
    if (!args->count || !tfmemory_is(r, key, "fragmentation")) return HD_OK;
    /* 0 is written without a point: one type for the whole series */
    int64_t *bits = &args->values[args->count - 1];
    if (args->keys[args->count - 1].type != HD_ARG_INT || *bits <= -LONG_DECIMAL || *bits >= LONG_DECIMAL) return HD_OK;
    args->keys[args->count - 1].type = HD_ARG_DECIMAL;
    *bits = hd_decimal_pack(*bits, 0);
    return HD_OK;
}
