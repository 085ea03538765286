/* decimal.c - the text of a decimal number -> an exact fixed-point number */
#include "base/text/decimal.h"

enum { EXPONENT_LIMIT = 1 << 30 }; /* farther than any number of digits reaches */

int64_t hd_power_of_ten(unsigned n)
{
    static const int64_t powers[] = {1,
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
                                     10000000000000000,
                                     100000000000000000,
                                     1000000000000000000};
    return powers[n];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "e-12" up to the end; text is at the e. Too large exponents saturate. */
static bool parse_exponent(int64_t *out, const char *text, const char *end)
{
    int64_t value = 0;
    bool negative = text + 1 < end && text[1] == '-';
    const char *digits = text + 1 + (text + 1 < end && (text[1] == '-' || text[1] == '+'));
    if (digits == end) return false;
    for (const char *p = digits; p < end; p++) {
        if (!is_digit(*p)) return false;
        value = value < EXPONENT_LIMIT ? value * 10 + (*p - '0') : EXPONENT_LIMIT;
    }
    *out = negative ? -value : value;
    return true;
}

/* Digits with at most one point: text[0 … size). point: number of digits before it. */
typedef struct digits {
    const char *text;
    size_t size;
    int64_t point;
} digits;

/* The position after the digits, or NULL: none. */
static const char *scan_digits(digits *out, const char *text, const char *end)
{
    const char *p = text, *dot = NULL;
    for (; p < end && (is_digit(*p) || (*p == '.' && !dot)); p++) dot = *p == '.' ? p : dot;
    *out = (digits){text, (size_t)(p - text), (dot ? dot : p) - text};
    return p - text > (dot != NULL) ? p : NULL;
}

/* |number| times 10 ^ shift; false: it does not fit. */
static bool collect(hd_fixed *out, const digits *d, int64_t shift)
{
    __extension__ typedef __int128 i128;
    i128 whole = 0;
    *out = (hd_fixed){0};
    int64_t place = d->point + shift - 1, last = -1; /* the power of ten of the digit at hand */
    for (size_t i = 0; i < d->size; i++) {
        if (d->text[i] == '.') continue;
        int digit = d->text[i] - '0';
        if (place >= 0) {
            whole = whole * 10 + digit;
            last = place;
            if (whole > INT64_MAX) return false;
        } else if (place >= -HD_FIXED_DIGITS) {
            out->part += digit * hd_power_of_ten((unsigned)(HD_FIXED_DIGITS + place));
        } else {
            out->rest |= digit != 0;
        }
        place--;
    }
    for (; whole && last > 0; last--) {
        whole *= 10;
        if (whole > INT64_MAX) return false;
    }
    out->whole = (int64_t)whole;
    return true;
}

bool hd_fixed_parse(hd_fixed *out, const char *text, size_t size, int shift)
{
    digits d;
    int64_t exponent = 0;
    const char *end = text + size;
    bool negative = size && *text == '-';
    const char *p = scan_digits(&d, text + (size && (*text == '-' || *text == '+')), end);
    if (!p || (p < end && ((*p | 0x20) != 'e' || !parse_exponent(&exponent, p, end)))) return false;
    if (!collect(out, &d, exponent + shift)) return false;
    if (!negative) return true;
    bool below = out->part || out->rest; /* the floor is farther from zero */
    out->whole = -out->whole - below;
    if (below) out->part = HD_FIXED_ONE - out->part - out->rest;
    return true;
}
