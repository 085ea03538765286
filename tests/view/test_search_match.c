/* test_search_match.c - integers match as their decimal texts do */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random_trace.h"
#include "rounds.h"
#include "view/search/match.h"

static const int64_t edges[] = {0,          1,          9,           10,          99,        100,         101, 1000000,
                                4294967294, 4294967295, 4294967296,  42949672960, INT64_MAX, INT64_MIN,   -1,  -10,
                                -100200300, 1000000000, 10000000000, 100000001,   120012,    999999999999};
enum { EDGES = sizeof edges / sizeof *edges, ROUNDS = 4000 };

/* A number of any length. */
static int64_t any_number(uint64_t *seed)
{
    if (random_next(seed) % 8 == 0) return edges[random_next(seed) % EDGES];
    uint64_t bits = (uint64_t)random_next(seed) << 32 ^ random_next(seed);
    return (int64_t)(bits >> random_next(seed) % 64);
}

static void compare(const char *pattern, int64_t number)
{
    char text[32];
    view_matcher matcher;
    int size = snprintf(text, sizeof text, "%" PRId64, number);
    assert_int_equal(view_matcher_init(&matcher, pattern, VIEW_SEARCH_TEXT, false, NULL), HD_OK);
    bool expected = strstr(text, pattern) != NULL;
    if (view_matches_int(&matcher, number) != expected) fail_msg("%s in %s: not %d", pattern, text, expected);
    assert_int_equal(view_matches(&matcher, text, (size_t)size), expected);
    view_matcher_deinit(&matcher);
}

static void test_search__digits_are_found_in_integers_as_in_their_texts(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(11);
    for (int i = 0; i < ROUNDS; i++) {
        char text[32], pattern[32] = "";
        int64_t number = any_number(&seed), other = any_number(&seed);
        size_t size = (size_t)snprintf(text, sizeof text, "%" PRId64, random_next(&seed) % 4 ? number : other);
        size_t first = random_next(&seed) % size, length = 1 + random_next(&seed) % (size - first);
        memcpy(pattern, text + first, length);
        pattern[length] = '\0';
        compare(pattern, number);
    }
}

static void test_search__zeros_in_front_signs_and_points_match_what_is_written(void **state)
{
    (void)state;
    static const char *const patterns[] = {"0",
                                           "00",
                                           "000",
                                           "01",
                                           "001",
                                           "10",
                                           "010",
                                           "-",
                                           "-1",
                                           "-10",
                                           "1-",
                                           "1.",
                                           ".",
                                           "e",
                                           "1e",
                                           "+1",
                                           "9",
                                           "99",
                                           "42",
                                           "29",
                                           "1234567890123456789",
                                           "000000000000",
                                           "9223372036854775807",
                                           "012345678901"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (size_t i = 0; i < EDGES; i++) compare(patterns[p], edges[i]);
        for (int64_t n = -130; n < 1300; n++) compare(patterns[p], n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search__digits_are_found_in_integers_as_in_their_texts),
        cmocka_unit_test(test_search__zeros_in_front_signs_and_points_match_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
