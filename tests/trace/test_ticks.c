/* test_ticks.c - exact times as ticks, against 128-bit sums of their parts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/ticks.h"

__extension__ typedef __int128 i128;

enum { TIMES = 200, ROUNDS = 60 };

static uint64_t noise = 88172645463325252u;

static uint64_t below(uint64_t limit)
{
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    return noise % limit;
}

/* In 10^-15 ps, told from the columns without the helpers of trace.h. */
static i128 value_of(hd_exact time)
{
    return (i128)time.ns * 1000000000000000000 + (i128)(time.below % 1000) * 1000000000000000 + time.below / 1000;
}

/* Few values, so that many are alike or next to each other. */
static hd_exact draw(int64_t base, uint64_t finest)
{
    static const int64_t finer[] = {0, 1, 2, 3, 499999999999999, 500000000000000, 999999999999998, 999999999999999};
    int64_t fraction = finest > 1 ? finer[below(8)] : 0;
    return (hd_exact){base + (int64_t)below(5), finest ? (int64_t)below(3) * 499 + 1000 * fraction : 0};
}

static void test_ticks__keep_the_order_of_exact_times(void **state)
{
    (void)state;
    static const int64_t bases[] = {0, -3, 1736408883688177930, INT64_MAX - 5, INT64_MIN + 1};
    for (unsigned round = 0; round < ROUNDS; round++) {
        hd_ticks ticks = {0};
        hd_exact times[TIMES];
        int64_t base = bases[below(5)];
        uint64_t finest = below(3), seen = 1 + below(TIMES);
        for (unsigned i = 0; i < TIMES; i++) times[i] = draw(base, finest);
        for (unsigned i = 0; i < seen; i++) assert_true(hd_ticks_see(&ticks, times[i].ns, times[i].below));
        hd_ticks_settle(&ticks);
        for (unsigned i = 0; i < seen; i++) {
            int64_t tick = hd_ticks_of(&ticks, times[i].ns, times[i].below);
            hd_exact again = hd_ticks_time(&ticks, tick);
            assert_true(again.ns == times[i].ns && again.below == times[i].below);
            for (unsigned k = 0; k < seen; k++) {
                int64_t other = hd_ticks_of(&ticks, times[k].ns, times[k].below);
                i128 a = value_of(times[i]), b = value_of(times[k]);
                assert_int_equal((tick > other) - (tick < other), (a > b) - (a < b));
                i128 length = tick > other ? (i128)tick - other : (i128)other - tick, exact = a > b ? a - b : b - a;
                i128 units = length * (1000000000000000000 / ticks.per_ns) / ticks.ranks;
                assert_true((units > exact ? units - exact : exact - units) < 2000000000000000000 / ticks.per_ns);
            }
            /* between two neighbours there is a time, and it is between them */
            if (ticks.ranks == 1) continue;
            i128 next = value_of(hd_ticks_time(&ticks, tick + 1)), last = value_of(hd_ticks_time(&ticks, tick - 1));
            assert_true(last <= value_of(times[i]) && value_of(times[i]) <= next);
            assert_true(next - last <= (i128)2 * 1000000000000000);
        }
        /* what was not seen is at its place, too */
        for (unsigned i = (unsigned)seen; i < TIMES && ticks.ranks > 1; i++) {
            int64_t tick = hd_ticks_of(&ticks, times[i].ns, times[i].below);
            for (unsigned k = 0; k < seen; k++) {
                int64_t other = hd_ticks_of(&ticks, times[k].ns, times[k].below);
                i128 a = value_of(times[i]), b = value_of(times[k]);
                assert_int_equal((tick > other) - (tick < other), (a > b) - (a < b));
            }
        }
        hd_ticks_deinit(&ticks);
    }
}

static void test_ticks__what_does_not_fit_is_told_in_nanoseconds(void **state)
{
    (void)state;
    hd_ticks ticks = {0};
    assert_true(hd_ticks_see(&ticks, INT64_MIN + 1, 7) && hd_ticks_see(&ticks, INT64_MAX, 1500) &&
                hd_ticks_see(&ticks, HD_NO_TIME, 0));
    hd_ticks_settle(&ticks);
    assert_int_equal(hd_ticks_per_ns(&ticks), 1);
    assert_int_equal(hd_ticks_of(&ticks, INT64_MAX, 1500), INT64_MAX);
    assert_int_equal(hd_ticks_of(&ticks, INT64_MIN + 1, 7), INT64_MIN + 1);
    assert_int_equal(hd_ticks_time(&ticks, 12).ns, 12);
    hd_ticks_deinit(&ticks);
}

static void test_ticks__all_times_there_are_stay_in_order(void **state)
{
    (void)state;
    for (int64_t low = -1; low <= 1; low++) { /* spans of 2^63 ns, one less, and two less */
        hd_ticks ticks = {0};
        assert_true(hd_ticks_see(&ticks, low, 1) && hd_ticks_see(&ticks, INT64_MAX, 0));
        hd_ticks_settle(&ticks);
        assert_true(hd_ticks_of(&ticks, low, 1) < hd_ticks_of(&ticks, INT64_MAX, 0));
        hd_ticks_deinit(&ticks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ticks__keep_the_order_of_exact_times),
        cmocka_unit_test(test_ticks__all_times_there_are_stay_in_order),
        cmocka_unit_test(test_ticks__what_does_not_fit_is_told_in_nanoseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
