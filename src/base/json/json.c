/* json.c - the parts of the strict JSON scanner that are not on every path */
#include "base/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/hex.h"
#include "base/text/utf8.h"

char *hd_json_copy(const char *text, size_t size)
{
    char *copy = calloc(1, size + HD_JSON_PADDING);
    if (copy && size) memcpy(copy, text, size);
    return copy;
}

const char *hd_json_skip_long_space(const char *p)
{
#if defined(__SSE2__)
    for (;; p += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i space = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\n'))),
            _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\r')), _mm_cmpeq_epi8(block, _mm_set1_epi8('\t'))));
        unsigned others = ~(unsigned)_mm_movemask_epi8(space) & 0xffff;
        if (others) return p + __builtin_ctz(others);
    }
#else
    while (hd_json_is_space(*p)) p++;
    return p;
#endif
}

/* ---- strings ---- */

/* p is after \u; -1: not four hex digits. */
static int hex_four(const char *p)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hd_hex_digit(p[i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

const char *hd_json_string_rest(hd_json_text *out, const char *p)
{
    while (*p == '\\') {
        out->escaped = true;
        switch (p[1]) {
        case '"':
        case '\\':
        case '/':
        case 'b':
        case 'f':
        case 'n':
        case 'r':
        case 't': p += 2; break;
        case 'u':
            if (hex_four(p + 2) < 0) return NULL;
            p += 6;
            break;
        default: return NULL;
        }
        p = hd_json_find_special(&out->wide, p);
    }
    if (*p != '"') return NULL;
    out->size = (size_t)(p - out->data);
    return p + 1;
}

static char plain_escape(char c)
{
    switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return c;
    }
}

bool hd_json_decode(char *out, size_t *out_size, const hd_json_text *text)
{
    char *const begin = out;
    const char *p = text->data, *end = p + text->size;
    if (text->wide && !hd_utf8_valid(text->data, text->size, false)) return false;
    while (p < end) {
        const char *backslash = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((backslash ? backslash : end) - p);
        memcpy(out, p, plain);
        out += plain;
        p += plain;
        if (p == end) break;
        if (p[1] != 'u') {
            *out++ = plain_escape(p[1]);
            p += 2;
            continue;
        }
        uint32_t c = (uint32_t)hex_four(p + 2);
        p += 6;
        if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
            uint32_t low = (uint32_t)hex_four(p + 2);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                p += 6;
            }
        }
        out += hd_utf8_put_any(out, c);
    }
    *out_size = (size_t)(out - begin);
    return true;
}

static size_t utf8_sequence(const unsigned char *p, const unsigned char *end, bool surrogates)
{
    unsigned char lead = *p;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || (size_t)(end - p) < length) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
    }
    if (lead == 0xe0 && p[1] < 0xa0) return 0;
    if (lead == 0xed && p[1] >= 0xa0 && !surrogates) return 0;
    if (lead == 0xf0 && p[1] < 0x90) return 0;
    if (lead == 0xf4 && p[1] >= 0x90) return 0;
    return length;
}

bool hd_utf8_valid(const char *data, size_t size, bool surrogates)
{
    const unsigned char *p = (const unsigned char *)data, *end = p + size;
    while (p < end) {
        if (end - p >= 8 && (hd_load64(p) & 0x8080808080808080u) == 0) {
            p += 8;
        } else if (*p < 0x80) {
            p++;
        } else {
            size_t length = utf8_sequence(p, end, surrogates);
            if (length == 0) return false;
            p += length;
        }
    }
    return true;
}

/* ---- numbers ---- */

const char *hd_json_number_rest(hd_json_number *out, const char *start)
{
    const char *p = start + (*start == '-');
    uint64_t mantissa = 0;
    unsigned digits = 0;
    bool fits = true;
    out->negative = *start == '-';
    out->scale = 0;
    for (bool fraction = false;; p++) {
        if (*p == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!hd_json_is_digit(*p)) break;
        digits += digits || *p != '0';
        fits = fits && digits <= 19 && !__builtin_mul_overflow(mantissa, 10, &mantissa) &&
               !__builtin_add_overflow(mantissa, (uint64_t)(*p - '0'), &mantissa);
        out->scale += fraction;
    }
    out->exact = fits;
    out->mantissa = mantissa;
    if ((*p | 0x20) != 'e') return p;
    out->exact = false;
    p++;
    if (*p == '+' || *p == '-') p++;
    if (!hd_json_is_digit(*p)) return NULL;
    while (hd_json_is_digit(*p)) p++;
    return p;
}

/* ---- values ---- */

const char *hd_json_skip_literal(const char *p)
{
    switch (*p) {
    case 't': return hd_load32(p) == hd_load32("true") ? p + 4 : NULL;
    case 'n': return hd_load32(p) == hd_load32("null") ? p + 4 : NULL;
    case 'f': return hd_load32(p + 1) == hd_load32("alse") ? p + 5 : NULL;
    default: return NULL;
    }
}

static inline const char *skip_string(const char *p)
{
    hd_json_text text;
    p = hd_json_string(&text, p);
    if (p && text.wide && !hd_utf8_valid(text.data, text.size, false)) return NULL;
    return p;
}

/* p is at a quote. Returns the position of the value, after the key and its colon. */
static inline const char *skip_key(const char *p)
{
    if (*p != '"') return NULL;
    p = skip_string(p + 1);
    if (!p) return NULL;
    p = hd_json_skip_space(p);
    return *p == ':' ? hd_json_skip_space(p + 1) : NULL;
}

/* The levels open around the current value: one bit each, set for objects. */
typedef struct nesting {
    uint64_t is_object[HD_JSON_DEPTH_LIMIT / 64];
    unsigned depth;
} nesting;

static inline bool nesting_push(nesting *n, bool object)
{
    if (n->depth == HD_JSON_DEPTH_LIMIT) return false;
    uint64_t bit = (uint64_t)1 << (n->depth & 63), *word = &n->is_object[n->depth >> 6];
    *word = object ? *word | bit : *word & ~bit;
    n->depth++;
    return true;
}

static inline bool nesting_top(const nesting *n)
{
    return n->is_object[(n->depth - 1) >> 6] >> ((n->depth - 1) & 63) & 1;
}

/* p is after a value. Returns the next value's first byte, or the position after the outermost one (depth 0); NULL:
 * invalid. */
static inline const char *skip_after_value(nesting *n, const char *p, const char **out_at)
{
    while (n->depth) {
        p = hd_json_skip_space(p);
        *out_at = p;
        bool object = nesting_top(n);
        if (*p == ',') {
            p = hd_json_skip_space(p + 1);
            return object ? skip_key(p) : p;
        }
        if (*p != (object ? '}' : ']')) return NULL;
        p++;
        n->depth--;
    }
    return p;
}

/* *out_at: the token at or after which an invalid value is wrong. */
static inline const char *skip_value(const char *p, const char **out_at)
{
    nesting n;
    n.depth = 0;
    for (;;) {
        *out_at = p;
        switch (*p) {
        case '{':
        case '[': {
            bool object = *p == '{';
            p = hd_json_skip_space(p + 1);
            if (*p == (object ? '}' : ']')) {
                p++;
                break;
            }
            if (!nesting_push(&n, object)) return NULL;
            if (object && !(p = skip_key(p))) return NULL;
            continue;
        }
        case '"': p = skip_string(p + 1); break;
        case 't':
        case 'f':
        case 'n': p = hd_json_skip_literal(p); break;
        default: p = hd_json_skip_number(p);
        }
        if (!p || !(p = skip_after_value(&n, p, out_at))) return NULL;
        if (n.depth == 0) return p;
    }
}

const char *hd_json_skip_value(const char *p)
{
    const char *at;
    return skip_value(p, &at);
}

/* p is after the opening quote. Returns the closing one, or the position where the string is invalid or ends. */
static const char *string_stop(const char *p, const char *end)
{
    bool wide = false;
    for (p = hd_json_find_special(&wide, p); *p == '\\'; p = hd_json_find_special(&wide, p + 2)) {
        if (end - p < 6) return end; /* within an escape */
    }
    return p;
}

bool hd_json_is_cut(const char *p, const char *end)
{
    const char *at;
    if (skip_value(p, &at)) return false;
    if (*at == ',' || *at == '{' || *at == '[') at = hd_json_skip_space(at + 1);
    if (*at == '"') { /* a string, or a key without a colon */
        at = string_stop(at + 1, end);
        if (*at == '"') at = hd_json_skip_space(at + 1);
    } else {
        while (*at == '-' || *at == '+' || *at == '.' || hd_json_is_digit(*at) ||
               ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'))
            at++;
    }
    return at >= end;
}

bool hd_json_find(const char **out, size_t *out_size, const char *object, const char *key)
{
    size_t key_size = strlen(key);
    const char *p = hd_json_skip_space(object);
    if (*p != '{') return false;
    p = hd_json_skip_space(p + 1);
    while (*p == '"') {
        hd_json_text name;
        p = hd_json_string(&name, p + 1);
        if (!p) return false;
        p = hd_json_skip_space(p);
        if (*p != ':') return false;
        const char *value = hd_json_skip_space(p + 1);
        p = hd_json_skip_value(value);
        if (!p) return false;
        if (name.size == key_size && memcmp(name.data, key, key_size) == 0) {
            *out = value;
            *out_size = (size_t)(p - value);
            return true;
        }
        p = hd_json_skip_space(p);
        if (*p != ',') return false;
        p = hd_json_skip_space(p + 1);
    }
    return false;
}

bool hd_json_find_whole(int64_t *out, const char *object, const char *key)
{
    const char *value;
    size_t size;
    hd_json_number number;
    if (!hd_json_find(&value, &size, object, key)) return false;
    if (*value == '"') value++;
    bool is_number = (*value == '-' || hd_json_is_digit(*value)) && hd_json_scan_number(&number, value);
    int64_t whole;
    if (!is_number || !hd_json_number_whole(&whole, &number)) return false;
    *out = whole;
    return true;
}
