/* growth.h - that a work grows as its size does: by the ratio of two times of one run, never by a time itself
 *
 * Sanitizers change no algorithm and make ten works take eight times as long: with them the smaller work runs once, for
 * its memory. A test that is judged by growth is in `plain_tests` of tests/meson.build: a build without them judges it.
 */
#ifndef HD_TESTS_GROWTH_H
#define HD_TESTS_GROWTH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "rounds.h"

static inline double hd_test_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Does the work at a size, and returns the CPU time of the part that is under test. */
typedef double hd_test_work(void *context, size_t size);

/* A work of size SMALL and one of 8 * SMALL. Work that grows as its size takes 8 times as long, or 10 with a logarithm;
 * that of its square, 64 times: 24 is between. Others who use the machine lengthen times: the least of several in turn
 * are compared, until the ratio is small enough or ROUNDS are done. A work that is too short to be measured is none. */
static inline void hd_test_assert_linear(const char *what, hd_test_work *work, void *context, size_t small)
{
    enum { FACTOR = 8, MOST = 24, ROUNDS = 6 };
    const double floor = 20e-6; /* of the clock, and of what first use costs */
    double least[2] = {1e9, 1e9};
    if (HD_TEST_BY_BUILD(0, 1)) {
        work(context, small);
        return;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 3; i++) {
            double taken = work(context, i == 1 ? small * FACTOR : small);
            if (taken < least[i == 1]) least[i == 1] = taken;
        }
        if (least[1] <= MOST * (least[0] + floor)) return;
    }
    fail_msg("%s: %.3g s of size %zu, %.3g s of size %zu", what, least[0], small, least[1], small * FACTOR);
}

#endif
