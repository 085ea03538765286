/* value.c - parses one value of Chrome JSON: argument values for columns, microseconds as times */
#include "base/memory/vector.h"
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
    bool is_lowest = n.exact && n.negative && n.scale == 0 && n.mantissa == (uint64_t)1 << 63;
    if (HD_LIKELY((n.exact && n.mantissa < (uint64_t)1 << 63 && !(n.negative && n.mantissa == 0)) || is_lowest)) {
        int64_t mantissa = (int64_t)(n.negative ? 0 - n.mantissa : n.mantissa);
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

const char *chrome_parse_micros(hd_fixed *ns, bool *plain, const char *p)
{
    hd_json_number n;
    const char *start = p, *end = hd_json_is_digit(*p) || *p == '-' ? hd_json_scan_number(&n, p) : NULL;
    *plain = end && n.exact && n.scale <= 6;
    if (HD_UNLIKELY(!end)) return NULL;
    if (HD_LIKELY(n.exact && n.scale <= 3)) {
        uint64_t v;
        if (__builtin_mul_overflow(n.mantissa, (uint64_t)hd_power_of_ten(3 - n.scale), &v) || v > INT64_MAX)
            return NULL;
        *ns = (hd_fixed){.whole = n.negative ? -(int64_t)v : (int64_t)v};
        return end;
    }
    if (n.exact && n.scale <= 3 + HD_FIXED_DIGITS)
        return hd_fixed_of(ns, n.negative, n.mantissa, n.scale - 3) ? end : NULL;
    return hd_fixed_parse(ns, start, (size_t)(end - start), 3) ? end : NULL;
}

bool chrome_micros_of_text(hd_fixed *ns, const char *data, size_t size)
{
    while (size && hd_json_is_space(*data)) data++, size--;
    while (size && hd_json_is_space(data[size - 1])) size--;
    return hd_fixed_parse(ns, data, size, 3);
}
