/* chrome_value.c - one value of Chrome JSON: argument values as columns hold them, microseconds as times */
#include <stdlib.h>

#include "base/vector.h"
#include "format/chrome/chrome.h"

uint32_t chrome_intern(chrome_parser *parser, const hd_json_text *text)
{
    if (HD_LIKELY(!text->escaped && !text->wide)) return hd_builder_intern(parser->builder, text->data, text->size);
    size_t size;
    if (!hd_reserve(&parser->scratch, &parser->scratch_capacity, text->size)) return HD_STRING_NONE;
    if (!hd_json_decode(parser->scratch, &size, text)) return HD_STRING_NONE;
    return hd_builder_intern(parser->builder, parser->scratch, size);
}

static uint32_t intern_raw(chrome_parser *parser, const char *from, const char *end)
{
    return hd_builder_intern(parser->builder, from, (size_t)(end - from));
}

static inline const char *parse_number(chrome_value *out, chrome_parser *parser, const char *p)
{
    hd_json_number n;
    const char *start = p;
    p = hd_json_scan_number(&n, p);
    if (HD_UNLIKELY(!p)) return NULL;
    if (HD_LIKELY(n.exact && n.mantissa < (uint64_t)1 << 63 && !(n.negative && n.mantissa == 0))) {
        int64_t mantissa = n.negative ? -(int64_t)n.mantissa : (int64_t)n.mantissa;
        if (n.scale == 0) {
            *out = (chrome_value){HD_ARG_INT, mantissa};
            return p;
        }
        if (n.mantissa < (uint64_t)1 << 58 && n.scale < 32) {
            *out = (chrome_value){HD_ARG_DECIMAL, hd_decimal_pack(mantissa, n.scale)};
            return p;
        }
    }
    *out = (chrome_value){HD_ARG_NUMBER, intern_raw(parser, start, p)};
    return out->bits ? p : NULL;
}

const char *chrome_parse_value(chrome_value *out, chrome_parser *parser, const char *p)
{
    const char *start = p;
    switch (*p) {
    case '"': {
        hd_json_text text;
        p = hd_json_string(&text, p + 1);
        if (HD_UNLIKELY(!p)) return NULL;
        *out = (chrome_value){HD_ARG_STRING, chrome_intern(parser, &text)};
        return out->bits ? p : NULL;
    }
    case '{':
    case '[':
        p = hd_json_skip_value(p);
        if (HD_UNLIKELY(!p)) return NULL;
        *out = (chrome_value){HD_ARG_JSON, intern_raw(parser, start, p)};
        return out->bits ? p : NULL;
    case 't':
    case 'f': *out = (chrome_value){HD_ARG_BOOL, *p == 't'}; return hd_json_skip_literal(p);
    case 'n': *out = (chrome_value){HD_ARG_NULL, 0}; return hd_json_skip_literal(p);
    default: return parse_number(out, parser, p);
    }
}

/* Decimal microseconds to nanoseconds and picoseconds below; false: does not fit. *inexact: digits are left over. */
static inline bool micros(int64_t *ns, uint32_t *ps, bool *inexact, const hd_json_number *number)
{
    static const uint64_t powers[] = {1,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000};
    __extension__ typedef __int128 i128;
    *ps = 0;
    *inexact = false;
    if (!number->exact || number->scale > 19) return false;
    if (HD_LIKELY(number->scale <= 3)) {
        uint64_t v;
        if (__builtin_mul_overflow(number->mantissa, powers[3 - number->scale], &v) || v > INT64_MAX) return false;
        *ns = number->negative ? -(int64_t)v : (int64_t)v;
        return true;
    }
    i128 unit = powers[number->scale - 3], v = number->negative ? -(i128)number->mantissa : (i128)number->mantissa;
    i128 whole = v / unit;
    if (whole * unit > v) whole--; /* floor */
    i128 rest = (v - whole * unit) * 1000;
    *ns = (int64_t)whole;
    *ps = (uint32_t)(rest / unit);
    *inexact = rest % unit != 0;
    return true;
}

const char *chrome_parse_plain_time(int64_t *ns, uint32_t *ps, const char *p)
{
    hd_json_number n;
    bool inexact;
    const char *end = hd_json_is_digit(*p) || *p == '-' ? hd_json_scan_number(&n, p) : NULL;
    return HD_LIKELY(end && micros(ns, ps, &inexact, &n) && !inexact) ? end : NULL;
}

bool chrome_micros_of_text(int64_t *ns, uint32_t *ps, const char *p, const char *end)
{
    __extension__ typedef __int128 i128;
    bool negative = *p == '-', rest = false;
    i128 total = 0; /* ps */
    int decimals = -1;
    for (p += negative; p < end && (*p | 0x20) != 'e'; p++) {
        if (*p == '.')
            decimals = 0;
        else if (decimals == 6)
            rest |= *p != '0';
        else
            total = total * 10 + (*p - '0'), decimals += decimals >= 0;
        if (total >= (i128)INT64_MAX * 1000) return false;
    }
    for (decimals = decimals < 0 ? 0 : decimals; decimals < 6; decimals++) total *= 10;
    if (p < end) { /* an exponent shifts the point */
        long power = strtol(p + 1, NULL, 10);
        for (; power > 0 && total && total <= (i128)INT64_MAX * 1000; power--) total *= 10;
        for (; power < 0 && total; power++) total /= 10;
    }
    if (total >= (i128)INT64_MAX * 1000) return false;
    if (negative) total = -total - rest; /* floor */
    i128 whole = total / 1000 - (total % 1000 < 0);
    *ns = (int64_t)whole;
    *ps = (uint32_t)(total - whole * 1000);
    return true;
}
