/* test_decimal.c - the parser of decimals, against digits laid out by hand in a row of 200 places */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/decimal.h"
#include "rounds.h"

/* ---- the oracle: no running value, only digits at their places; complement for the floor of a negative ---- */

enum { PLACES = 400, POINT = 200 }; /* place POINT is 10^0, POINT - 1 is 10^-1 */

typedef struct spelling {
    char text[128];
    bool negative;
    char digits[64]; /* without the point */
    int decimals, exponent;
} spelling;

/* The digits of the floor at 10^-18, as a row; false: whole does not fit 64 bits. */
static bool expect(hd_fixed *out, const spelling *s, int shift)
{
    int row[PLACES] = {0}, count = (int)strlen(s->digits);
    for (int i = 0; i < count; i++)
        row[POINT + (count - 1 - i) - s->decimals + s->exponent + shift] = s->digits[i] - '0';
    out->rest = false;
    for (int i = 0; i < POINT - HD_FIXED_DIGITS; i++) out->rest |= row[i] != 0;
    if (s->negative) { /* ten's complement: the row of 10^n - number, which is floored by dropping digits */
        int carry = 1;
        for (int i = 0; i < PLACES; i++) {
            int digit = 9 - row[i] + carry;
            row[i] = digit % 10;
            carry = digit / 10;
        }
    }
    /* a negative number is the row less 10^PLACES: read it from its own complement */
    bool below_zero = row[PLACES - 1] == 9;
    char whole[64], part[HD_FIXED_DIGITS + 1];
    for (int i = 0; i < HD_FIXED_DIGITS; i++) part[i] = (char)('0' + row[POINT - 1 - i]);
    part[HD_FIXED_DIGITS] = '\0';
    int carry = 1, top = POINT;
    for (int i = POINT; below_zero && i < PLACES; i++) {
        int digit = 9 - row[i] + carry;
        row[i] = digit % 10;
        carry = digit / 10;
    }
    for (int i = POINT; i < PLACES; i++) top = row[i] ? i : top;
    if (top - POINT >= 20) return false;
    snprintf(whole, sizeof whole, "%s", "");
    size_t length = 0;
    for (int i = top; i >= POINT; i--) whole[length++] = (char)('0' + row[i]);
    whole[length] = '\0';
    if (length > 19 || (length == 19 && strcmp(whole, "9223372036854775807") > 0)) return false;
    out->whole = strtoll(whole, NULL, 10) * (below_zero ? -1 : 1);
    out->part = strtoll(part, NULL, 10);
    return true;
}

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}

static void draw(spelling *s)
{
    int whole = (int)below(41), fraction = (int)below(41 - (unsigned)whole), used = 0;
    if (whole + fraction == 0) whole = 1;
    int zeros = (int)below(4) ? 0 : (int)below((unsigned)(whole + fraction) + 1);
    char *p = s->text;
    s->negative = below(2);
    s->decimals = fraction;
    s->exponent = below(2) ? (int)below(81) - 40 : 0;
    if (s->negative)
        *p++ = '-';
    else if (!below(4))
        *p++ = '+';
    for (int i = 0; i < whole + fraction; i++) {
        char digit = (char)(i < zeros ? '0' : below(3) ? '0' + (int)below(10) : below(2) ? '0' : '9');
        if (i == whole) *p++ = '.';
        s->digits[used++] = *p++ = digit;
    }
    s->digits[used] = '\0';
    if (fraction == 0 && !below(4)) *p++ = '.';
    if (s->exponent || !below(8))
        p += sprintf(p, below(2) ? "e%s%0*d" : "E%s%0*d",
                     s->exponent < 0 ? "-"
                     : below(2)      ? "+"
                                     : "",
                     1 + (int)below(4), abs(s->exponent));
    *p = '\0';
}

static void test_decimal__a_million_spellings_are_exact(void **test_state)
{
    (void)test_state;
    static const int shifts[] = {0, 3, 9, -3, 12};
    unsigned fitted = 0, rounds = hd_test_rounds(HD_TEST_BY_BUILD(1000000, 100000));
    for (unsigned i = 0; i < rounds; i++) {
        spelling s;
        hd_fixed want, got;
        draw(&s);
        int shift = shifts[below(5)];
        /* what stands behind the size is not read */
        size_t size = strlen(s.text);
        memcpy(s.text + size, "7\"", 3);
        bool fits = expect(&want, &s, shift), fine = hd_fixed_parse(&got, s.text, size, shift);
        fitted += fits;
        if (fits != fine || (fits && (want.whole != got.whole || want.part != got.part || want.rest != got.rest)))
            fail_msg("%.*s shift %d: %d %lld %018lld %d, should be %d %lld %018lld %d", (int)size, s.text, shift, fine,
                     (long long)got.whole, (long long)got.part, got.rest, fits, (long long)want.whole,
                     (long long)want.part, want.rest);
    }
    assert_in_range(fitted, rounds / 4, rounds - rounds / 10);
}

static void test_decimal__mantissa_and_decimals_are_the_same_number(void **test_state)
{
    (void)test_state;
    for (unsigned i = 0; i < 100000; i++) {
        char text[64];
        hd_fixed want, got;
        uint64_t mantissa = ((uint64_t)below(1u << 31) << 33 ^ (uint64_t)below(1u << 31)) >> below(60);
        unsigned decimals = below(19);
        bool negative = below(2);
        int size = sprintf(text, "%s%llue-%u", negative ? "-" : "", (unsigned long long)mantissa, decimals);
        bool fits = hd_fixed_parse(&want, text, (size_t)size, 0);
        assert_int_equal(hd_fixed_of(&got, negative, mantissa, decimals), fits);
        if (!fits) continue;
        assert_true(got.whole == want.whole && got.part == want.part && !got.rest && !want.rest);
    }
}

static void test_decimal__what_is_no_decimal_is_refused(void **test_state)
{
    (void)test_state;
    static const char *const bad[] = {"",      "-",
                                      "+",     ".",
                                      "-.",    "e5",
                                      "1e",    "1e+",
                                      "1e-",   "1.2.3",
                                      "1 ",    " 1",
                                      "0x10",  "1_000",
                                      "nan",   "inf",
                                      "1e1.5", "--1",
                                      "1e5e5", "1,5",
                                      "1\"",   "9223372036854775808",
                                      "1e19",  "1e999999999999999999999"};
    static const char *const good[] = {"0",
                                       "-0",
                                       ".5",
                                       "5.",
                                       "+5",
                                       "007",
                                       "1E5",
                                       "0e999999999999999999999",
                                       "1e-999999999999999999999",
                                       "9223372036854775807",
                                       "-9223372036854775807"};
    hd_fixed out;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (hd_fixed_parse(&out, bad[i], strlen(bad[i]), 0)) fail_msg("'%s' is taken", bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!hd_fixed_parse(&out, good[i], strlen(good[i]), 0)) fail_msg("'%s' is refused", good[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimal__a_million_spellings_are_exact),
        cmocka_unit_test(test_decimal__mantissa_and_decimals_are_the_same_number),
        cmocka_unit_test(test_decimal__what_is_no_decimal_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
