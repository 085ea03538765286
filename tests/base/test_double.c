/* test_double.c - the shortest text of a double, against printf and strtod */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text/double.h"
#include "rounds.h"

static void expect(double value)
{
    char expected[40], text[HD_DOUBLE_BYTES];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(expected, sizeof expected, "%.*g", digits, value);
        if (strtod(expected, NULL) == value) break;
    }
    assert_string_equal(hd_double_text(text, value), expected);
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Of all bits, quotients, cents, powers of two and their neighbours, and sizes from 1e-6 to 1e20. */
static double number(uint64_t *state)
{
    uint64_t r = next(state), k = next(state);
    double value;
    switch (k % 6) {
    case 0: memcpy(&value, &r, sizeof value); return isnan(value) ? 0 : value;
    case 1: return (double)(r % 1000000) / (double)(k % 999983 + 1);
    case 2: return (double)((int64_t)r / 1000) / 100;
    case 3: return ldexp(1, (int)(r % 90) - 30);
    case 4: return nextafter(ldexp(1, (int)(r % 90) - 30), r & 128 ? 0 : HUGE_VAL);
    default: return pow(10, (double)(r % 26000) / 1000 - 6);
    }
}

static void test_double__is_the_first_of_15_to_17_digits_that_reads_back(void **state)
{
    static const double edges[] = {0,
                                   -0.0,
                                   0.1,
                                   0.01,
                                   0.001,
                                   1e-4,
                                   9.9999999999999991e-5,
                                   0.99999999999999989,
                                   1e14,
                                   1e15,
                                   1e22,
                                   4.9406564584124654e-324,
                                   999999999999999.9,
                                   99999999999999.98,
                                   0.5,
                                   123456789012345,
                                   HUGE_VAL,
                                   -HUGE_VAL};
    uint64_t random = 88172645463325252;
    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) expect(edges[i]);
    for (unsigned i = 0; i < hd_test_rounds(200000); i++) expect(number(&random) * (i & 1 ? -1 : 1));
    char text[HD_DOUBLE_BYTES];
    assert_string_equal(hd_double_text(text, 250 / 1000.0), "0.25");
    assert_string_equal(hd_double_text(text, -1 / 3.0), "-0.3333333333333333");
}

static void test_double__has_a_point_in_every_locale(void **state)
{
    char text[HD_DOUBLE_BYTES];
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE")) skip();
    assert_string_equal(hd_double_text(text, 1.5e-7), "1.5e-07");
    assert_string_equal(hd_double_text(text, 1e300), "1e+300");
    assert_string_equal(hd_double_text(text, 1.5), "1.5");
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_double__is_the_first_of_15_to_17_digits_that_reads_back),
        cmocka_unit_test(test_double__has_a_point_in_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
