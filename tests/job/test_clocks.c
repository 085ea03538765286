/* test_clocks.c - clocks of two hosts that are known: what times on them are, and who waited for whom */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heddle/analysis/clocks.h"

enum { COUNT = 40, AHEAD_NS = 5000000, MS = 1000000 };

/* Host 1 is 5 ms ahead of host 0, and nobody knows host 2. */
static hd_clocks *solved(void)
{
    hd_clock_event events[2 * COUNT];
    hd_clocks *clocks;
    for (int i = 0; i < 2 * COUNT; i++) {
        int64_t start = i / 2 * MS + (i % 2) * AHEAD_NS;
        events[i] = (hd_clock_event){
            .host = i % 2, .member = i % 2, .sequence = i / 2, .size = 2, .start_ns = start, .end_ns = start + 300000};
    }
    assert_int_equal(hd_clocks_new(&clocks, 3, events, 2 * COUNT, NULL, 0, NULL, NULL), HD_OK);
    return clocks;
}

static void test_wait__is_known_only_beyond_both_bars(void **state)
{
    (void)state;
    int64_t wait, bar, offset, own;
    hd_clocks *clocks = solved();
    assert_true(hd_clocks_at(&offset, &own, clocks, 1, 20 * MS + AHEAD_NS));
    assert_int_equal(offset, -AHEAD_NS);
    assert_true(hd_clocks_wait(&wait, &bar, clocks, 0, 20 * MS, 1, 20 * MS + AHEAD_NS + own + 1));
    assert_int_equal(wait, own + 1);
    assert_int_equal(bar, own);
    assert_false(hd_clocks_wait(&wait, &bar, clocks, 0, 20 * MS, 1, 20 * MS + AHEAD_NS));
    /* The other way round, and between what nobody knows */
    assert_true(hd_clocks_wait(&wait, &bar, clocks, 1, 20 * MS + AHEAD_NS, 0, 10 * MS));
    assert_int_equal(wait, -10 * MS);
    assert_false(hd_clocks_wait(&wait, &bar, clocks, 0, 0, 2, 3600 * (int64_t)1000 * MS));
    assert_false(hd_clocks_wait(&wait, &bar, clocks, 2, 0, 1, 3600 * (int64_t)1000 * MS));
    hd_clocks_free(clocks);
}

static void test_wait__on_one_host_needs_no_clock(void **state)
{
    (void)state;
    int64_t wait, bar;
    hd_clocks *clocks = solved();
    assert_true(hd_clocks_wait(&wait, &bar, clocks, 2, 100, 2, 101));
    assert_int_equal(wait, 1);
    assert_int_equal(bar, 0);
    assert_true(hd_clocks_wait(&wait, &bar, clocks, 1, INT64_MIN, 1, INT64_MAX));
    assert_int_equal(wait, INT64_MAX);
    hd_clocks_free(clocks);
}

static void test_events__of_more_members_than_the_group_has_are_left_out(void **state)
{
    (void)state;
    hd_clock_event events[3 * COUNT];
    hd_clocks *clocks;
    for (int i = 0; i < 3 * COUNT; i++)
        events[i] =
            (hd_clock_event){.host = i % 3, .member = i % 3, .sequence = i / 3, .size = i < 3 ? 3 : 2, .end_ns = 1};
    assert_int_equal(hd_clocks_new(&clocks, 3, events, 3 * COUNT, NULL, 0, NULL, NULL), HD_OK);
    assert_int_equal(hd_clocks_left_out(clocks), 3 * COUNT - 3);
    hd_clocks_free(clocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wait__is_known_only_beyond_both_bars),
        cmocka_unit_test(test_wait__on_one_host_needs_no_clock),
        cmocka_unit_test(test_events__of_more_members_than_the_group_has_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
