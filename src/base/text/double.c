/* double.c - a double -> the shortest text that reads back as the same double
 *
 * A double is mantissa * 2 ^ -shift. Of one that %g writes without an exponent, mantissa * 10 ^ decimals fits 128 bits,
 * so its digits and the distance from them to the double are whole numbers. The others are printed and read.
 */
#include "base/text/double.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/decimal.h"

enum { LEAST_DIGITS = 15, MOST_DIGITS = 17, MANTISSA_BITS = 52, EXPONENT_BIAS = 1023 };
#define HIDDEN_BIT (UINT64_C(1) << MANTISSA_BITS)

__extension__ typedef unsigned __int128 wide;

static wide power_of_ten(unsigned n)
{
    return n <= HD_FIXED_DIGITS ? (wide)hd_power_of_ten(n)
                                : (wide)hd_power_of_ten(HD_FIXED_DIGITS) * (wide)hd_power_of_ten(n - HD_FIXED_DIGITS);
}

/* Digits before the point; of 0.01 it is -1. The doubles nearest to 0.1, 0.01, … are all above these. */
static int point_of(double value)
{
    static const double powers[] = {1e-3, 1e-2, 1e-1, 1e0, 1e1,  1e2,  1e3,  1e4,  1e5,
                                    1e6,  1e7,  1e8,  1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    int point = -3;
    for (size_t i = 0; i < sizeof powers / sizeof *powers && value >= powers[i]; i++) point++;
    return point;
}

/* mantissa * 2 ^ -shift, rounded half to even to so many decimals; whether it is the same double. */
static bool round_to(uint64_t *out, uint64_t mantissa, unsigned shift, unsigned decimals)
{
    const wide unit = power_of_ten(decimals), exact = mantissa * unit, half = (wide)1 << (shift - 1);
    const wide rest = exact & (2 * half - 1);
    uint64_t digits = (uint64_t)(exact >> shift);
    digits += rest > half || (rest == half && digits & 1);
    const wide rounded = (wide)digits << shift;
    /* To a neighbour it is `unit`, in these terms, and to the one below a power of two half of it. */
    wide distance = rounded > exact ? 2 * (rounded - exact) : 2 * (exact - rounded);
    if (rounded < exact && mantissa == HIDDEN_BIT) distance *= 2;
    *out = digits;
    return distance < unit || (distance == unit && !(mantissa & 1));
}

static void write(char *out, bool is_negative, uint64_t digits, unsigned decimals)
{
    char text[HD_DOUBLE_BYTES];
    char *end = text + sizeof text - 1, *p = end;
    *p = '\0';
    for (unsigned i = 0; i <= decimals || digits; i++) {
        if (i == decimals && p < end) *--p = '.';
        char digit = (char)('0' + digits % 10);
        digits /= 10;
        if (i >= decimals || p < end || digit != '0') *--p = digit;
    }
    if (is_negative) *--p = '-';
    memcpy(out, p, (size_t)(end + 1 - p));
}

static bool write_exactly(char *out, double value)
{
    uint64_t bits, digits = 0;
    double size = fabs(value);
    if (!(size >= 1e-4 && size < 1e15)) return false;
    memcpy(&bits, &size, sizeof bits);
    const uint64_t mantissa = (bits & (HIDDEN_BIT - 1)) | HIDDEN_BIT;
    const unsigned shift = EXPONENT_BIAS + MANTISSA_BITS - (unsigned)(bits >> MANTISSA_BITS);
    const int point = point_of(size);
    int count = LEAST_DIGITS;
    while (!round_to(&digits, mantissa, shift, (unsigned)(count - point)) && count < MOST_DIGITS) count++;
    write(out, value < 0, digits, (unsigned)(count - point));
    return true;
}

const char *hd_double_text(char out[HD_DOUBLE_BYTES], double value)
{
    if (write_exactly(out, value)) return out;
    for (int count = LEAST_DIGITS; count <= MOST_DIGITS; count++) {
        snprintf(out, HD_DOUBLE_BYTES, "%.*g", count, value);
        if (strtod(out, NULL) == value) break;
    }
    char *point = out + strspn(out, "-0123456789"); /* the locale's may be another character, of several bytes */
    if (*point && *point != 'e' && isfinite(value)) {
        const char *digits = point + strcspn(point, "0123456789");
        *point = '.';
        memmove(point + 1, digits, strlen(digits) + 1);
    }
    return out;
}
