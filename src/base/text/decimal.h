/* decimal.h - the text of a decimal number -> an exact fixed-point number
 *
 * The only parser of decimal times and sizes: every reader uses it, so that none cuts digits before it applies the
 * exponent, or rounds through a double.
 */
#ifndef HD_BASE_TEXT_DECIMAL_H
#define HD_BASE_TEXT_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_FIXED_DIGITS = 18 };
#define HD_FIXED_ONE INT64_C(1000000000000000000) /* 10 ^ HD_FIXED_DIGITS */

/* whole + part / HD_FIXED_ONE, rounded down. */
typedef struct hd_fixed {
    int64_t whole;
    int64_t part; /* 0 … HD_FIXED_ONE - 1 */
    bool rest;    /* digits were left over: the number is a little more */
} hd_fixed;

/* Parses all of text[0 … size): an optional sign, digits with at most one point (at least one digit), an optional
 * exponent. *out is that number times 10 ^ shift. false: not such a text, or its whole part does not fit. */
bool hd_fixed_parse(hd_fixed *out, const char *text, size_t size, int shift);

/* The same for a whole number; false: not a whole number, or it does not fit. */
static inline bool hd_fixed_parse_whole(int64_t *out, const char *text, size_t size)
{
    hd_fixed number;
    if (!hd_fixed_parse(&number, text, size, 0) || number.part || number.rest) return false;
    *out = number.whole;
    return true;
}

/* 10 ^ n for n of 0 … 18. */
int64_t hd_power_of_ten(unsigned n);

/* negative ? -mantissa : mantissa, with `decimals` (0 … HD_FIXED_DIGITS) digits after the point; false: the whole part
 * does not fit. */
static inline bool hd_fixed_of(hd_fixed *out, bool negative, uint64_t mantissa, unsigned decimals)
{
    uint64_t unit = (uint64_t)hd_power_of_ten(decimals), whole = mantissa / unit, below = mantissa % unit;
    if (whole > INT64_MAX) return false;
    int64_t part = (int64_t)below * hd_power_of_ten(HD_FIXED_DIGITS - decimals);
    *out = (hd_fixed){(int64_t)whole, part, false};
    if (negative) *out = (hd_fixed){-(int64_t)whole - (part > 0), part ? HD_FIXED_ONE - part : 0, false};
    return true;
}

#endif
