/* test_attribution_clock.c - the offset between two clocks, from marks alone */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "attribution_model.h"
#include "growth.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))

static const int64_t TOLERANCE = 10000000, SAME = 0;

static const model_options training = {.launches = 20000,
                                       .per_step = 500,
                                       .gap_ns = 8000,
                                       .pause_ns = 300000,
                                       .step_noise_ns = 2000,
                                       .jitter_ns = 2000,
                                       .start_ns = 1700000000000000000};

static hd_clock find(const model *m)
{
    const hd_mark_pair pair = {m->samples, m->launches, m->sample_count, m->launch_count};
    hd_clock clock;
    assert_int_equal(hd_clock_find(&clock, &pair, 1, TOLERANCE, &SAME, 1, NULL), HD_OK);
    return clock;
}

/* The offset as it was at clock->since_ns, and what the pairs are worth after it. */
static void assert_found(const model_options *o, uint64_t seed, int64_t within)
{
    model m = model_make(o, seed);
    hd_clock clock = find(&m);
    int64_t drifted = (int64_t)(o->drift * (double)(clock.since_ns + o->offset_ns - o->start_ns));
    int64_t off = clock.offset_ns - o->offset_ns - drifted;
    if (off > within || off < -within || !clock.fits || clock.ambiguous)
        fail_msg("offset %lld is off by %lld ns (fits: %d, ambiguous: %d)", (long long)o->offset_ns, (long long)off,
                 clock.fits, clock.ambiguous);
    model_free(&m);
}

static void test_clock__any_offset_is_found(NO_STATE)
{
    static const int64_t offsets[] = {0, -3200000000, 5000000, 1700000000000000000, -86400000000000, 1};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        model_options o = training;
        o.offset_ns = offsets[i];
        assert_found(&o, 10 + i, 3000);
    }
}

static void test_clock__losses_on_both_sides_do_not_move_it(NO_STATE)
{
    for (uint64_t seed = 20; seed < 30; seed++) {
        model_options o = training;
        o.offset_ns = -3200000000;
        o.lost_samples = 100;
        o.lost_launches = 100;
        assert_found(&o, seed, 3000);
    }
}

static void test_clock__a_part_of_a_loop_is_found_by_its_small_differences(NO_STATE)
{
    for (uint64_t seed = 30; seed < 40; seed++) {
        model_options o = training;
        o.offset_ns = 123456789012;
        o.first = 4000 + seed * 37;
        o.last = 12000;
        o.lost_samples = seed % 2 * 100;
        assert_found(&o, seed, 3000);
    }
}

static void test_clock__a_step_shorter_than_the_tolerance_is_no_other_offset(NO_STATE)
{
    for (uint64_t seed = 40; seed < 50; seed++) {
        model_options o = training; /* steps of 2 ms, tolerance 10 ms */
        o.per_step = 200;
        o.offset_ns = seed % 2 ? 77000000000 : 0;
        o.lost_samples = 100;
        assert_found(&o, seed, 3000);
    }
}

static void test_clock__an_exact_loop_in_part_is_ambiguous(NO_STATE)
{
    model_options o = training;
    o.step_noise_ns = 0;
    o.jitter_ns = 0;
    o.first = 4000;
    o.last = 12000;
    o.offset_ns = 123456789012;
    model m = model_make(&o, 50);
    hd_clock clock = find(&m);
    assert_true(clock.fits && clock.ambiguous);
    assert_true(clock.other_ns != clock.offset_ns);
    model_free(&m);
}

static void test_clock__an_exact_loop_on_one_clock_is_not(NO_STATE)
{
    model_options o = training;
    o.step_noise_ns = 0;
    o.first = 4000;
    o.last = 12000;
    assert_found(&o, 51, 3000);
}

static void test_clock__drift_is_followed(NO_STATE)
{
    for (unsigned lost = 0; lost <= 100; lost += 100) {
        model_options o = training;
        o.gap_ns = 1000000; /* a minute, in which 50 ppm are 3 ms, three launches */
        o.launches = 60000;
        o.drift = 50e-6;
        o.offset_ns = 1000000000;
        o.lost_samples = lost;
        model m = model_make(&o, 60 + lost);
        hd_clock clock = find(&m);
        assert_true(clock.fits && !clock.ambiguous);
        assert_true(clock.drift > 49e-6 && clock.drift < 51e-6);
        for (size_t i = 0, at = 0; i < m.sample_count; i++) {
            while (m.launches[at].index < m.samples[i].index) at++;
            int64_t off = m.launches[at].time_ns - hd_clock_apply(&clock, m.samples[i].time_ns);
            assert_true(off > -100000 && off < 100000);
        }
        model_free(&m);
    }
}

static void test_clock__several_threads_share_one_clock(NO_STATE)
{
    model threads[5];
    hd_mark_pair pairs[5];
    for (unsigned i = 0; i < 5; i++) {
        model_options o = training;
        o.launches = 300 * (i + 1);
        o.offset_ns = 9876543210;
        o.lost_samples = 200;
        o.start_ns += i * 12345678;
        threads[i] = model_make(&o, 70 + i);
        pairs[i] =
            (hd_mark_pair){threads[i].samples, threads[i].launches, threads[i].sample_count, threads[i].launch_count};
    }
    hd_clock clock;
    assert_int_equal(hd_clock_find(&clock, pairs, 5, TOLERANCE, NULL, 0, NULL), HD_OK);
    assert_true(clock.fits && !clock.ambiguous);
    assert_true(clock.offset_ns > 9876543210 - 3000 && clock.offset_ns < 9876543210 + 3000);
    for (unsigned i = 0; i < 5; i++) model_free(&threads[i]);
}

static void test_clock__what_has_nothing_in_common_does_not_fit(NO_STATE)
{
    model_options o = training;
    o.launches = 1000;
    model a = model_make(&o, 80);
    for (size_t i = 0; i < a.sample_count; i++) a.samples[i].time_ns = (int64_t)i * 1000000000;
    hd_clock clock = find(&a);
    assert_false(clock.fits);
    assert_true(clock.pairs < 500);
    model_free(&a);
}

static void test_clock__few_marks_are_enough(NO_STATE)
{
    hd_mark samples[2] = {{.time_ns = 100}, {.time_ns = 5000100}};
    hd_mark launches[3] = {{.time_ns = 900}, {.time_ns = 5000900}, {.time_ns = 90000000}};
    for (size_t n = 1; n <= 2; n++) {
        hd_mark_pair pair = {samples, launches, n, n};
        hd_clock clock;
        assert_int_equal(hd_clock_find(&clock, &pair, 1, TOLERANCE, &SAME, 1, NULL), HD_OK);
        assert_true(clock.fits);
        assert_int_equal(clock.offset_ns, 800);
        pair.launch_count = 0;
        assert_int_equal(hd_clock_find(&clock, &pair, 1, TOLERANCE, &SAME, 1, NULL), HD_OK);
        assert_false(clock.fits);
    }
    hd_clock none;
    assert_int_equal(hd_clock_find(&none, NULL, 0, TOLERANCE, &SAME, 1, NULL), HD_OK);
    assert_false(none.fits);
}

static void test_clock__hostile_times_do_not_overflow(NO_STATE)
{
    uint64_t seed = hd_test_seed(3);
    for (int round = 0; round < 200; round++) {
        hd_mark samples[40], launches[40];
        size_t n = 1 + random_next(&seed) % 40, m = 1 + random_next(&seed) % 40;
        for (size_t i = 0; i < 40; i++) {
            int64_t a = (int64_t)((uint64_t)random_next(&seed) << 33),
                    b = (int64_t)((uint64_t)random_next(&seed) << 33);
            samples[i] = (hd_mark){.time_ns = hd_mark_shift(random_next(&seed) % 3 ? a : INT64_MIN, 0)};
            launches[i] = (hd_mark){.time_ns = hd_mark_shift(random_next(&seed) % 3 ? b : INT64_MAX, 0)};
        }
        assert_int_equal(hd_marks_sort(samples, n, UINT64_MAX, NULL), HD_OK);
        assert_int_equal(hd_marks_sort(launches, m, UINT64_MAX, NULL), HD_OK);
        const hd_mark_pair pair = {samples, launches, n, m};
        const int64_t likely[] = {INT64_MIN, INT64_MAX};
        hd_clock clock;
        assert_int_equal(hd_clock_find(&clock, &pair, 1, INT64_MAX, likely, 2, NULL), HD_OK);
        for (size_t i = 0; i < n; i++) {
            int64_t at = hd_clock_apply(&clock, samples[i].time_ns);
            assert_true(at <= HD_MARK_TIME_LIMIT && at >= -HD_MARK_TIME_LIMIT);
        }
    }
}

static double find_of_many(void *context, size_t launches)
{
    model_options o = training;
    (void)context;
    o.launches = (unsigned)launches;
    o.lost_samples = 100;
    o.offset_ns = 1700000000000000000;
    model m = model_make(&o, 90);
    double from = hd_test_cpu_seconds();
    hd_clock clock = find(&m);
    double seconds = hd_test_cpu_seconds() - from;
    assert_true(clock.fits);
    model_free(&m);
    return seconds;
}

static void test_clock__many_marks_take_no_quadratic_time(NO_STATE)
{
    hd_test_assert_linear("launches, one of a hundred samples lost", find_of_many, NULL, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock__any_offset_is_found),
        cmocka_unit_test(test_clock__losses_on_both_sides_do_not_move_it),
        cmocka_unit_test(test_clock__a_part_of_a_loop_is_found_by_its_small_differences),
        cmocka_unit_test(test_clock__a_step_shorter_than_the_tolerance_is_no_other_offset),
        cmocka_unit_test(test_clock__an_exact_loop_in_part_is_ambiguous),
        cmocka_unit_test(test_clock__an_exact_loop_on_one_clock_is_not),
        cmocka_unit_test(test_clock__drift_is_followed),
        cmocka_unit_test(test_clock__several_threads_share_one_clock),
        cmocka_unit_test(test_clock__what_has_nothing_in_common_does_not_fit),
        cmocka_unit_test(test_clock__few_marks_are_enough),
        cmocka_unit_test(test_clock__hostile_times_do_not_overflow),
        cmocka_unit_test(test_clock__many_marks_take_no_quadratic_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
