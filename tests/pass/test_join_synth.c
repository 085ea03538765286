/* test_join_synth.c - the join on synthetic runs that know who launched what: right by id, and nearly always
 * by time, whatever the clocks and the ids of the threads say */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>

#include "pass/join_truth.h"
#include "rounds.h"

/* HEDDLE_TEST_ROUNDS=5 makes the thousand runs of which docs give the figures. */
enum { CASES = HD_TEST_BY_BUILD(200, 40), FEWER_CASES = HD_TEST_BY_BUILD(50, 16) };

typedef void change(hd_synth_options *how, uint64_t seed);

static join_score score_of(change *changed, uint32_t usual, bool with_ids, const hd_attribution_options *options)
{
    join_score score = {0};
    uint32_t cases = hd_test_rounds(usual);
    for (uint64_t seed = 1; seed <= cases; seed++) {
        hd_synth_options how = join_options(seed);
        if (changed) changed(&how, seed);
        join_case c = join_case_make(&how, with_ids);
        join_case_score(&score, &c, options);
        join_case_free(&c);
    }
    return score;
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 100.0;
}

static void print_score(const char *what, const join_score *s)
{
    print_message("  %-34s %7" PRIu64 " kernels: %.4f %% right, %.4f %% from the very sample, %" PRIu64
                  " wrong, %" PRIu64 " without; %" PRIu64 " of %" PRIu64 " refused\n",
                  what, s->kernels, percent(s->right, s->kernels), percent(s->exact, s->kernels), s->wrong, s->absent,
                  s->refused, s->cases);
    if (s->lost)
        print_message("  %-34s %7" PRIu64 " kernels lost their sample: %.2f %% have another's stack\n", "", s->lost,
                      percent(s->lost_wrong, s->lost));
}

/* At least 99.9 % of the kernels of all runs together. */
static void assert_right(const char *what, change *changed, uint32_t cases)
{
    join_score score = score_of(changed, cases, false, NULL);
    print_score(what, &score);
    assert_true(score.kernels > score.cases * 50);
    assert_true(score.right * 1000 >= score.kernels * 999);
}

/* ---- by id ---- */

static void anything(hd_synth_options *how, uint64_t seed)
{
    how->stack_jitter_us = seed % 5 * 1000;
    how->stack_ids = seed % 2;
    how->stack_lost = seed % 3 * 4;
    how->stack_offset_ns = seed % 4 ? (int64_t)(seed % 7) * INT64_C(31557600000000000) : 0;
}

static void test_join__by_id_all_are_right_whatever_the_clocks_say(void **state)
{
    (void)state;
    join_score score = score_of(anything, CASES, true, NULL);
    print_score("by id", &score);
    assert_true(score.kernels > score.cases * 50);
    assert_int_equal(score.right, score.kernels);
    assert_int_equal(score.exact, score.kernels);
    assert_int_equal(score.refused, 0);
    assert_int_equal(score.lost_wrong, 0);
}

/* ---- by time ---- */

static void jitter(hd_synth_options *how, uint64_t seed)
{
    (void)seed;
    how->stack_jitter_us = 100;
}

static void test_join__by_time_with_100_us_of_jitter(void **state)
{
    (void)state;
    assert_right("by time, 100 us of jitter", jitter, CASES);
}

static void unknown_ids(hd_synth_options *how, uint64_t seed)
{
    jitter(how, seed);
    how->stack_ids = true;
}

static void test_join__by_time_where_the_ids_of_threads_are_unknown(void **state)
{
    (void)state;
    assert_right("unknown thread ids", unknown_ids, CASES);
}

static void seconds(hd_synth_options *how, uint64_t seed)
{
    jitter(how, seed);
    how->stack_offset_ns = (seed % 2 ? 1 : -1) * (int64_t)(seed % 1000 * 7919 + 1) * 1000003;
}

static void test_join__by_time_where_clocks_are_seconds_apart(void **state)
{
    (void)state;
    assert_right("clocks seconds apart", seconds, FEWER_CASES);
}

static void decades(hd_synth_options *how, uint64_t seed)
{
    jitter(how, seed);
    how->stack_offset_ns = (int64_t)(10 + seed % 60) * INT64_C(31557600000000000) + (int64_t)seed * 104729;
    if (how->cupti) how->stack_offset_ns = -INT64_C(1700000000000000000) + (int64_t)seed * 15485863;
}

static void test_join__by_time_where_clocks_are_decades_apart(void **state)
{
    (void)state;
    assert_right("clocks decades apart", decades, FEWER_CASES);
}

static void decades_and_unknown_ids(hd_synth_options *how, uint64_t seed)
{
    decades(how, seed);
    how->stack_ids = true;
}

static void test_join__by_time_where_neither_clocks_nor_ids_agree(void **state)
{
    (void)state;
    assert_right("decades apart and unknown ids", decades_and_unknown_ids, FEWER_CASES);
}

static void exact_times(hd_synth_options *how, uint64_t seed)
{
    (void)seed;
    how->stack_jitter_us = 0;
}

static void test_join__by_time_with_exact_times_nothing_is_wrong(void **state)
{
    (void)state;
    join_score score = score_of(exact_times, FEWER_CASES, false, NULL);
    print_score("exact times", &score);
    assert_int_equal(score.right, score.kernels);
}

static void test_join__a_known_offset_is_used(void **state)
{
    (void)state;
    join_score score = {0};
    uint32_t cases = hd_test_rounds(FEWER_CASES);
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + cases; seed++) {
        hd_synth_options how = join_options(seed);
        decades(&how, seed);
        join_case c = join_case_make(&how, false);
        hd_attribution_options options = {.has_offset = true, .clock_offset_ns = -how.stack_offset_ns};
        join_case_score(&score, &c, &options);
        join_case_free(&c);
    }
    print_score("offset given", &score);
    assert_true(score.right * 1000 >= score.kernels * 999);
}

/* ---- lost samples: counted, and sane ---- */

/* About one in a hundred; runs are longer, so that it comes to more than none. */
static void lost(hd_synth_options *how, uint64_t seed)
{
    jitter(how, seed);
    how->steps += 2;
    how->stack_lost = how->steps * how->layers * 30 / 100;
}

static void lost_without_jitter(hd_synth_options *how, uint64_t seed)
{
    lost(how, seed);
    how->stack_jitter_us = 0;
}

static void test_join__lost_samples_do_not_spoil_the_others(void **state)
{
    (void)state;
    join_score exact = score_of(lost_without_jitter, FEWER_CASES, false, NULL);
    print_score("1 % lost, exact times", &exact);
    join_score score = score_of(lost, FEWER_CASES, false, NULL);
    print_score("1 % lost, 100 us of jitter", &score);
    assert_true(exact.lost > exact.cases && score.lost > score.cases);
    assert_true(exact.right * 100 >= exact.kernels * 99);
    assert_true(score.right * 100 >= score.kernels * 98);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join__by_id_all_are_right_whatever_the_clocks_say),
        cmocka_unit_test(test_join__by_time_with_100_us_of_jitter),
        cmocka_unit_test(test_join__by_time_where_the_ids_of_threads_are_unknown),
        cmocka_unit_test(test_join__by_time_where_clocks_are_seconds_apart),
        cmocka_unit_test(test_join__by_time_where_clocks_are_decades_apart),
        cmocka_unit_test(test_join__by_time_where_neither_clocks_nor_ids_agree),
        cmocka_unit_test(test_join__by_time_with_exact_times_nothing_is_wrong),
        cmocka_unit_test(test_join__a_known_offset_is_used),
        cmocka_unit_test(test_join__lost_samples_do_not_spoil_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
