/* json.h - a strict JSON scanner over text in memory, for readers that keep their own position
 *
 * Text must be followed by HD_JSON_PADDING zero bytes: the scanner reads ahead without checking the end, and a zero
 * byte stops it everywhere, since it is never valid. The caller checks that the result ends within the text. Everything
 * but RFC 8259 JSON is rejected; format/repair repairs it. UTF-8 is checked when a string is decoded.
 *
 * In: text. Out: tokens, strings decoded. Begin with json.c; write.h writes JSON, valid.c is the oracle of tests.
 */
#ifndef HD_BASE_JSON_JSON_H
#define HD_BASE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

enum { HD_JSON_PADDING = 64, HD_JSON_DEPTH_LIMIT = 1024 };

/* A copy of a text with the padding; the caller frees it. NULL: no memory. */
char *hd_json_copy(const char *text, size_t size);

#define HD_LIKELY(x) __builtin_expect(!!(x), 1)
#define HD_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- white space ---- */

static inline bool hd_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

const char *hd_json_skip_long_space(const char *p);

static inline const char *hd_json_skip_space(const char *p)
{
    if (HD_LIKELY((unsigned char)*p > ' ')) return p;
    if (HD_LIKELY((unsigned char)p[1] > ' ')) return p + (*p ? hd_json_is_space(*p) : 0);
    return hd_json_skip_long_space(p);
}

/* ---- strings ---- */

/* The position of a string's text in the input, and its properties. */
typedef struct hd_json_text {
    const char *data; /* after the opening quote */
    size_t size;      /* up to the closing quote */
    bool escaped;     /* contains backslashes (all valid) */
    bool wide;        /* contains bytes above 0x7f (not checked) */
} hd_json_text;

/* The first byte from p on that is a quote, a backslash or a control character. */
static inline const char *hd_json_find_special(bool *wide, const char *p)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    for (;; p += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
                                    _mm_cmpeq_epi8(_mm_min_epu8(block, control), block));
        unsigned stops = (unsigned)_mm_movemask_epi8(stop), high = (unsigned)_mm_movemask_epi8(block);
        if (HD_LIKELY(stops)) {
            *wide |= (high & (stops ^ (stops - 1)) & ~stops) != 0;
            return p + __builtin_ctz(stops);
        }
        *wide |= high != 0;
    }
#elif defined(__ARM_NEON) && defined(__aarch64__)
    for (;; p += 16) {
        uint8x16_t block = vld1q_u8((const uint8_t *)p);
        uint8x16_t stop = vorrq_u8(vorrq_u8(vceqq_u8(block, vdupq_n_u8('"')), vceqq_u8(block, vdupq_n_u8('\\'))),
                                   vcltq_u8(block, vdupq_n_u8(0x20)));
        uint64_t stops = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(stop), 4)), 0);
        uint64_t high = vget_lane_u64(
            vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(vcgeq_u8(block, vdupq_n_u8(0x80))), 4)), 0);
        if (stops) {
            *wide |= (high & (stops ^ (stops - 1)) & ~stops) != 0;
            return p + (__builtin_ctzll(stops) >> 2);
        }
        *wide |= high != 0;
    }
#elif defined(__wasm_simd128__)
    for (;; p += 16) {
        v128_t block = wasm_v128_load(p);
        v128_t ends =
            wasm_v128_or(wasm_i8x16_eq(block, wasm_i8x16_splat('"')), wasm_i8x16_eq(block, wasm_i8x16_splat('\\')));
        unsigned stops = wasm_i8x16_bitmask(wasm_v128_or(ends, wasm_u8x16_lt(block, wasm_u8x16_splat(0x20))));
        unsigned high = wasm_i8x16_bitmask(block);
        if (HD_LIKELY(stops)) {
            *wide |= (high & (stops ^ (stops - 1)) & ~stops) != 0;
            return p + __builtin_ctz(stops);
        }
        *wide |= high != 0;
    }
#else
    for (; (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\'; p++) *wide |= (unsigned char)*p >= 0x80;
    return p;
#endif
}

/* The slow part of hd_json_string: p is at the first byte that is neither plain nor a quote. */
const char *hd_json_string_rest(hd_json_text *out, const char *p);

/* p is after the opening quote. Returns the position after the closing one, or NULL: a control character, a bad escape,
 * or no end.
 */
static inline const char *hd_json_string(hd_json_text *out, const char *p)
{
    out->data = p;
    out->escaped = false;
    out->wide = false;
    p = hd_json_find_special(&out->wide, p);
    if (HD_UNLIKELY(*p != '"')) return hd_json_string_rest(out, p);
    out->size = (size_t)(p - out->data);
    return p + 1;
}

/* Writes the decoded text, at most text->size bytes, to out (which has room for them); false: invalid UTF-8. A lone
 * surrogate escape becomes its three bytes, which hd_json_write_string converts back to the escape. */
bool hd_json_decode(char *out, size_t *out_size, const hd_json_text *text);

/* Whether bytes are UTF-8; lone surrogates pass if `surrogates` is true. */
bool hd_utf8_valid(const char *data, size_t size, bool surrogates);

/* ---- numbers ---- */

typedef struct hd_json_number {
    bool negative;
    bool exact;        /* digits and scale are exact: no exponent, at most 19 digits that fit */
    unsigned scale;    /* digits after the point */
    uint64_t mantissa; /* all digits without the point */
} hd_json_number;

static inline bool hd_json_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* How many of the eight bytes from p on are digits before the first that is none. */
static inline unsigned hd_json_digit_run(uint64_t eight)
{
    uint64_t t = eight ^ 0x3030303030303030u;
    uint64_t others = ((t + 0x7676767676767676u) | t) & 0x8080808080808080u;
    return others ? (unsigned)__builtin_ctzll(others) >> 3 : 8;
}

/* The value of eight digits 0…9 (not characters), the first in the lowest byte. */
static inline uint32_t hd_json_eight_value(uint64_t v)
{
    v = v * 10 + (v >> 8);
    return (uint32_t)(((v & 0x000000ff000000ffu) * 0x000f424000000064u +
                       ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >>
                      32);
}

/* Appends digits to *value; returns the position after them. */
static inline const char *hd_json_digits(uint64_t *value, const char *p)
{
    static const uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (;;) {
        uint64_t eight = hd_load64(p);
        unsigned run = hd_json_digit_run(eight);
        if (run == 0) return p;
        *value = *value * powers[run] + hd_json_eight_value((eight ^ 0x3030303030303030u) << (64 - 8 * run));
        p += run;
        if (run < 8) return p;
    }
}

static inline const char *hd_json_skip_digits(const char *p)
{
    for (;; p += 8) {
        unsigned run = hd_json_digit_run(hd_load64(p));
        if (run < 8) return p + run;
    }
}

/* Returns the position after a number, NULL: invalid. p is at any byte. */
static inline const char *hd_json_skip_number(const char *p)
{
    p += *p == '-';
    const char *whole = p;
    p = hd_json_skip_digits(p);
    if (HD_UNLIKELY(p == whole || (*whole == '0' && p - whole > 1))) return NULL;
    if (*p == '.') {
        const char *fraction = ++p;
        p = hd_json_skip_digits(p);
        if (HD_UNLIKELY(p == fraction)) return NULL;
    }
    if (HD_UNLIKELY((*p | 0x20) == 'e')) {
        p++;
        p += *p == '+' || *p == '-';
        if (!hd_json_is_digit(*p)) return NULL;
        p = hd_json_skip_digits(p);
    }
    return p;
}

/* For numbers that the fast path does not handle: exponents and many digits. Returns the position after the number,
 * NULL: invalid. */
const char *hd_json_number_rest(hd_json_number *out, const char *start);

/* p is at a digit or minus. Returns the position after the number or NULL. */
static inline const char *hd_json_scan_number(hd_json_number *out, const char *p)
{
    const char *start = p;
    out->negative = *p == '-';
    p += out->negative;
    const char *whole = p;
    uint64_t mantissa = 0;
    if (HD_UNLIKELY(!hd_json_is_digit(*p))) return NULL;
    p = hd_json_digits(&mantissa, p);
    size_t digits = (size_t)(p - whole);
    if (HD_UNLIKELY(*whole == '0' && digits > 1)) return NULL;
    out->scale = 0;
    if (*p == '.') {
        const char *fraction = ++p;
        p = hd_json_digits(&mantissa, p);
        if (HD_UNLIKELY(p == fraction)) return NULL;
        digits += (size_t)(p - fraction);
        out->scale = (unsigned)(p - fraction);
    }
    if (HD_UNLIKELY(digits > 19 || (*p | 0x20) == 'e')) return hd_json_number_rest(out, start);
    out->exact = true;
    out->mantissa = mantissa;
    return p;
}

/* Whether it is a whole number of int64, all of -2^63 to 2^63 - 1; -0 is 0. */
static inline bool hd_json_number_whole(int64_t *out, const hd_json_number *n)
{
    *out = (int64_t)(n->negative ? 0 - n->mantissa : n->mantissa);
    return n->exact && n->scale == 0 && n->mantissa <= (uint64_t)INT64_MAX + n->negative;
}

/* ---- values ---- */

/* p is at the first byte of a value. Returns the position after it; NULL: invalid JSON, nested deeper than
 * HD_JSON_DEPTH_LIMIT, or without an end. Its strings are valid UTF-8. */
const char *hd_json_skip_value(const char *p);

/* For a value that hd_json_skip_value refuses: may that be only because the text ends at `end`? */
bool hd_json_is_cut(const char *p, const char *end);

/* p is at a letter. Returns the position after true, false or null; else NULL. */
const char *hd_json_skip_literal(const char *p);

/* The value of a key in the text of an object (padded, valid); false: no such key. */
bool hd_json_find(const char **out, size_t *out_size, const char *object, const char *key);
/* The same of a whole number, also in quotes; false: there is none. */
bool hd_json_find_whole(int64_t *out, const char *object, const char *key);

/* Whether the text is one JSON value in the strict sense of RFC 8259, in valid UTF-8, nested at most max_depth (<=
 * 65536) deep. Simple rather than fast: the oracle of tests and fuzzers. Lone surrogates as \u escapes are allowed, as
 * in the RFC.
 */
bool hd_json_valid(const char *text, size_t size, size_t max_depth);

#endif
