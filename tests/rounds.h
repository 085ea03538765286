/* rounds.h - how many rounds a random test makes: as usual, times HEDDLE_TEST_ROUNDS, or else what its build allows;
 * and which seed it begins with */
#ifndef HD_TESTS_ROUNDS_H
#define HD_TESTS_ROUNDS_H

#include <stdio.h>
#include <stdlib.h>

/* As much work as `plain`, or, under a sanitizer, which makes it take some eight times as long, `sanitized`. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HD_TEST_BY_BUILD(plain, sanitized) (sanitized)
#else
#define HD_TEST_BY_BUILD(plain, sanitized) (plain)
#endif

/* `usual`, times the environment variable HEDDLE_TEST_ROUNDS where that is a number above 0, else times
 * HEDDLE_TEST_BUILD_ROUNDS, which tests/meson.build sets for builds with sanitizers. At least 1. */
static inline unsigned hd_test_rounds(unsigned usual)
{
    const char *text = getenv("HEDDLE_TEST_ROUNDS");
    if (!text || !*text) text = getenv("HEDDLE_TEST_BUILD_ROUNDS");
    double factor = text ? strtod(text, NULL) : 1;
    double rounds = usual * (factor > 0 ? factor : 1);
    return rounds < 1 ? 1 : rounds > 4e9 ? 4000000000u : (unsigned)rounds;
}

/* The environment variable HEDDLE_TEST_SEED where it is set, else `default_seed`. It is printed: a failure can be had
 * again. */
static inline unsigned hd_test_seed(unsigned default_seed)
{
    const char *text = getenv("HEDDLE_TEST_SEED");
    unsigned seed = text && *text ? (unsigned)strtoul(text, NULL, 10) : default_seed;
    printf("seed: %u (HEDDLE_TEST_SEED=%u)\n", seed, seed);
    fflush(stdout);
    return seed;
}

#endif
