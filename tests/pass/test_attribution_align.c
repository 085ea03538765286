/* test_attribution_align.c - two sequences of marks, paired in order */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "attribution_model.h"
#include "growth.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))

static const hd_align_options defaults = {.tolerance_ns = 10000000};

/* Pairs are in order, each launch once, none too far, none that cannot be. Returns how many. */
static size_t assert_pairs(const uint32_t *out, const hd_mark *samples, size_t count, const hd_mark *launches,
                           size_t launch_count, int64_t tolerance)
{
    size_t pairs = 0;
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++) {
        if (out[i] == HD_MARK_NONE) continue;
        assert_true(out[i] < launch_count && out[i] >= next);
        next = out[i] + 1;
        int64_t off = launches[out[i]].time_ns - samples[i].time_ns;
        assert_true((off < 0 ? -off : off) <= tolerance);
        assert_true(hd_marks_fit(&samples[i], &launches[out[i]]) != HD_MARKS_APART);
        pairs++;
    }
    return pairs;
}

static model_score align(const model *m, const hd_align_options *options, hd_align_result *result)
{
    hd_align_result own;
    if (!result) result = &own;
    uint32_t *out = malloc((m->sample_count + 1) * sizeof *out);
    assert_int_equal(
        hd_marks_align(out, result, m->samples, m->sample_count, m->launches, m->launch_count, options, NULL), HD_OK);
    size_t pairs = assert_pairs(out, m->samples, m->sample_count, m->launches, m->launch_count, options->tolerance_ns);
    assert_int_equal(pairs, result->pairs);
    model_score score = model_check(m, out);
    free(out);
    return score;
}

/* The same, once the samples were put on the clock of the launches. */
static model_score align_timed(model *m, const hd_align_options *options)
{
    const hd_mark_pair pair = {m->samples, m->launches, m->sample_count, m->launch_count};
    const int64_t same = 0;
    hd_clock clock;
    assert_int_equal(hd_clock_find(&clock, &pair, 1, options->tolerance_ns, &same, 1, NULL), HD_OK);
    for (size_t i = 0; i < m->sample_count; i++) m->samples[i].time_ns = hd_clock_apply(&clock, m->samples[i].time_ns);
    return align(m, options, NULL);
}

/* Marks from times; names a digit each, '-' none. Both are then on one clock. */
static size_t marks_of(hd_mark *out, const int64_t *times, const char *names)
{
    size_t count = strlen(names);
    for (size_t i = 0; i < count; i++) {
        uint32_t name = names[i] == '-' ? 0 : (uint32_t)(names[i] - '0');
        out[i] = (hd_mark){.time_ns = times[i] * 1000, .short_name = name, .full_name = name};
    }
    return count;
}

static void expect(const int64_t *samples, const char *sample_names, const int64_t *launches, const char *launch_names,
                   const char *expected)
{
    hd_mark s[32] = {0}, l[32] = {0};
    uint32_t out[32];
    hd_align_result result;
    char got[33] = "";
    size_t count = marks_of(s, samples, sample_names), launch_count = marks_of(l, launches, launch_names);
    assert_int_equal(hd_marks_align(out, &result, s, count, l, launch_count, &defaults, NULL), HD_OK);
    for (size_t i = 0; i < count; i++) got[i] = out[i] == HD_MARK_NONE ? '-' : (char)('0' + out[i]);
    assert_string_equal(got, expected);
}

static void test_align__equal_counts_are_paired_in_order(NO_STATE)
{
    expect((int64_t[]){0, 10, 20, 30}, "----", (int64_t[]){1, 11, 21, 31}, "----", "0123");
    expect((int64_t[]){5, 5, 5}, "---", (int64_t[]){5, 5, 5}, "---", "012");
}

static void test_align__a_lost_sample_leaves_its_launch_alone(NO_STATE)
{
    expect((int64_t[]){0, 100, 300, 400, 500}, "-----", (int64_t[]){1, 101, 201, 301, 401, 501}, "------", "01345");
}

static void test_align__a_lost_launch_leaves_its_sample_alone(NO_STATE)
{
    expect((int64_t[]){0, 100, 200, 300, 400, 500}, "------", (int64_t[]){1, 101, 301, 401, 501}, "-----", "01-234");
}

static void test_align__one_lost_on_either_side_is_no_shift_of_all_between(NO_STATE)
{
    expect((int64_t[]){0, 100, 300, 400, 500, 600}, "------", (int64_t[]){1, 101, 201, 301, 401, 601}, "------",
           "0134-5");
}

static void test_align__names_decide_where_time_does_not(NO_STATE)
{
    expect((int64_t[]){5, 5, 5, 5}, "1323", (int64_t[]){5, 5, 5, 5, 5}, "12323", "0234");
    expect((int64_t[]){0, 10, 20}, "123", (int64_t[]){0, 10, 20}, "134", "0-1");
}

static void test_align__unknown_names_fit_all(NO_STATE)
{
    expect((int64_t[]){0, 10, 20}, "1-3", (int64_t[]){1, 11, 21}, "-2-", "012");
}

static void test_align__a_late_launch_is_still_its_samples(NO_STATE)
{
    /* the third launch is 5 ms behind its sample: the thread did not run */
    expect((int64_t[]){0, 100, 200, 5300, 5400, 5500}, "------", (int64_t[]){1, 101, 5200, 5301, 5401, 5501}, "------",
           "012345");
    /* the same where one launch is lost, so that there is no order of all */
    expect((int64_t[]){0, 100, 200, 5300, 5400, 5500}, "------", (int64_t[]){1, 101, 5200, 5301, 5501}, "-----",
           "0123-4");
}

static void test_align__nothing_beyond_the_tolerance_is_paired(NO_STATE)
{
    expect((int64_t[]){0, 40000}, "--", (int64_t[]){10000, 50001}, "--", "0-");
    expect((int64_t[]){0}, "-", (int64_t[]){10001}, "-", "-");
}

static void test_align__sorts_that_differ_are_apart(NO_STATE)
{
    hd_mark s[3] = {{.time_ns = 0, .sort = 1}, {.time_ns = 1000, .sort = 2}, {.time_ns = 2000, .sort = 1}};
    hd_mark l[3] = {{.time_ns = 1, .sort = 1}, {.time_ns = 1001, .sort = 1}, {.time_ns = 2001, .sort = 0}};
    uint32_t out[3];
    hd_align_result result;
    assert_int_equal(hd_marks_align(out, &result, s, 3, l, 3, &defaults, NULL), HD_OK);
    assert_true(out[0] == 0 && out[1] != 1);
    assert_pairs(out, s, 3, l, 3, defaults.tolerance_ns);
}

static void test_align__sorting_keeps_the_order_of_equal_times(NO_STATE)
{
    enum { COUNT = 5000 };
    hd_mark marks[COUNT];
    uint64_t seed = hd_test_seed(7);
    for (uint32_t i = 0; i < COUNT; i++) marks[i] = (hd_mark){.time_ns = random_next(&seed) % 300, .index = i};
    assert_int_equal(hd_marks_sort(marks, COUNT, UINT64_MAX, NULL), HD_OK);
    for (uint32_t i = 1; i < COUNT; i++) {
        assert_true(marks[i - 1].time_ns <= marks[i].time_ns);
        assert_true(marks[i - 1].time_ns < marks[i].time_ns || marks[i - 1].index < marks[i].index);
    }
}

/* ---- against every alignment there is ---- */

/* The most pairs that any order-preserving alignment has. */
static size_t most_pairs(const model *m, int64_t tolerance)
{
    size_t width = m->launch_count + 1, *best = calloc((m->sample_count + 1) * width, sizeof *best);
    for (size_t i = 1; i <= m->sample_count; i++) {
        for (size_t k = 1; k < width; k++) {
            const hd_mark *s = &m->samples[i - 1], *l = &m->launches[k - 1];
            int64_t off = l->time_ns - s->time_ns;
            bool can = (off < 0 ? -off : off) <= tolerance && hd_marks_fit(s, l) != HD_MARKS_APART;
            size_t most = best[(i - 1) * width + k], left = best[i * width + k - 1];
            if (left > most) most = left;
            if (can && best[(i - 1) * width + k - 1] + 1 > most) most = best[(i - 1) * width + k - 1] + 1;
            best[i * width + k] = most;
        }
    }
    size_t most = best[m->sample_count * width + m->launch_count];
    free(best);
    return most;
}

static void test_align__random_sequences_lose_few_pairs_to_likeliness(NO_STATE)
{
    uint64_t seed = hd_test_seed(11);
    for (unsigned round = 0, rounds = hd_test_rounds(400); round < rounds; round++) {
        model_options o = {.launches = 1 + random_next(&seed) % 60,
                           .gap_ns = 1 + random_next(&seed) % 4000000,
                           .jitter_ns = random_next(&seed) % 100000,
                           .lost_samples = random_next(&seed) % 4000,
                           .lost_launches = random_next(&seed) % 4000,
                           .names = random_next(&seed) % 4};
        model m = model_make(&o, seed);
        hd_align_result result;
        model_score score = align(&m, &defaults, &result);
        size_t most = most_pairs(&m, defaults.tolerance_ns);
        assert_true(result.pairs <= most);
        assert_true(result.pairs * 2 >= most);
        if (o.gap_ns > 8 * o.jitter_ns && o.lost_samples + o.lost_launches < 1500 && score.possible > 10)
            assert_true(score.right * 4 >= score.possible * 3);
        model_free(&m);
    }
}

/* ---- what must hold ---- */

static void test_align__sequences_with_jitter_are_right(NO_STATE)
{
    uint64_t seed = hd_test_seed(1);
    size_t right = 0, possible = 0;
    unsigned rounds = hd_test_rounds(80);
    for (unsigned round = 0; round < rounds; round++) {
        model_options o = {.launches = 20 + random_next(&seed) % 2000,
                           .per_step = random_next(&seed) % 2 ? 50 + random_next(&seed) % 200 : 0,
                           .gap_ns = 2000 + random_next(&seed) % 60000,
                           .pause_ns = random_next(&seed) % 3000000,
                           .step_noise_ns = random_next(&seed) % 4000,
                           .jitter_ns = 100000};
        model m = model_make(&o, seed);
        model_score score = align_timed(&m, &defaults);
        right += score.right;
        possible += score.possible;
        model_free(&m);
    }
    assert_true(possible > rounds * (size_t)800);
    assert_true((double)right >= 0.999 * (double)possible);
}

static double share_right(unsigned lost, unsigned names, int64_t jitter)
{
    uint64_t seed = 5;
    size_t right = 0, possible = 0;
    unsigned rounds = hd_test_rounds(15);
    if (rounds < 5) rounds = 5; /* of fewer the share says little */
    for (unsigned round = 0; round < rounds; round++) {
        model_options o = {.launches = 2000,
                           .per_step = 400,
                           .gap_ns = 20000,
                           .pause_ns = 500000,
                           .step_noise_ns = 2000,
                           .jitter_ns = jitter,
                           .lost_samples = lost,
                           .names = names};
        model m = model_make(&o, seed + round);
        model_score score = align_timed(&m, &defaults);
        right += score.right;
        possible += score.possible;
        model_free(&m);
    }
    double share = (double)right / (double)possible;
    print_message("%u of 10,000 samples lost, jitter %d us, %u kernels by name: %.3f %% right\n", lost,
                  (int)(jitter / 1000), names, share * 100);
    return share;
}

static void test_align__a_lost_hundredth_costs_little(NO_STATE)
{
    assert_true(share_right(100, 0, 2000) > 0.999);
    assert_true(share_right(100, 12, 2000) > 0.9999);
    assert_true(share_right(100, 12, 100000) > 0.999);
    assert_true(share_right(100, 0, 100000) > 0.5); /* five launches late, and nothing but the rhythm to go by */
    assert_true(share_right(1000, 0, 2000) > 0.99);
}

/* ---- what must be fast ---- */

/* A tolerable number of cells, which are what cannot depend on the machine. */
static double align_seconds(const model *m)
{
    hd_align_result result;
    double start = hd_test_cpu_seconds();
    (void)align(m, &defaults, &result);
    double seconds = hd_test_cpu_seconds() - start;
    assert_true(result.cells <= 3 * 256 * (uint64_t)m->sample_count);
    return seconds;
}

typedef struct one_time {
    unsigned fewer_launches, fewer_samples; /* so many hundredths */
    bool launches_in_a_row, no_name_fits;
} one_time;

static double align_at_one_time(void *context, size_t count)
{
    const one_time *c = context;
    model_options o = {.launches = (unsigned)count};
    model m = model_make(&o, 1);
    for (size_t i = 0; i < count; i++) {
        m.samples[i].time_ns = 77;
        m.launches[i].time_ns = 77 + (c->launches_in_a_row ? (int64_t)i : 0);
        m.samples[i].short_name = c->no_name_fits ? 1 : m.samples[i].short_name;
        m.launches[i].short_name = c->no_name_fits ? 2 : m.launches[i].short_name;
    }
    m.launch_count = count - count * c->fewer_launches / 100;
    m.sample_count = count - count * c->fewer_samples / 100;
    double seconds = align_seconds(&m);
    model_free(&m);
    return seconds;
}

static void test_align__all_at_one_time_is_not_quadratic(NO_STATE)
{
    one_time cases[] = {{.fewer_launches = 1},
                        {.fewer_launches = 50},
                        {.fewer_samples = 1},
                        {.fewer_samples = 1, .launches_in_a_row = true},
                        {.fewer_samples = 1, .launches_in_a_row = true, .no_name_fits = true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char what[64];
        snprintf(what, sizeof what, "case %zu of all at one time", i);
        hd_test_assert_linear(what, align_at_one_time, &cases[i], 2500);
    }
}

static double align_with_losses(void *context, size_t count)
{
    model_options o = {.launches = (unsigned)count,
                       .per_step = 500,
                       .gap_ns = 8000,
                       .pause_ns = 300000,
                       .step_noise_ns = 2000,
                       .jitter_ns = 2000,
                       .lost_samples = 100};
    (void)context;
    model m = model_make(&o, 3);
    double seconds = align_seconds(&m);
    model_free(&m);
    return seconds;
}

static void test_align__many_with_losses_are_fast(NO_STATE)
{
    hd_test_assert_linear("one of a hundred samples lost", align_with_losses, NULL, 10000);
}

static void test_align__empty_sides_have_no_pairs(NO_STATE)
{
    hd_mark mark = {.time_ns = 1};
    hd_align_result result;
    uint32_t out[1] = {0};
    assert_int_equal(hd_marks_align(out, &result, &mark, 1, &mark, 0, &defaults, NULL), HD_OK);
    assert_int_equal(out[0], HD_MARK_NONE);
    assert_int_equal(hd_marks_align(out, &result, &mark, 0, &mark, 1, &defaults, NULL), HD_OK);
    assert_int_equal(result.pairs, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_align__equal_counts_are_paired_in_order),
        cmocka_unit_test(test_align__a_lost_sample_leaves_its_launch_alone),
        cmocka_unit_test(test_align__a_lost_launch_leaves_its_sample_alone),
        cmocka_unit_test(test_align__one_lost_on_either_side_is_no_shift_of_all_between),
        cmocka_unit_test(test_align__names_decide_where_time_does_not),
        cmocka_unit_test(test_align__unknown_names_fit_all),
        cmocka_unit_test(test_align__a_late_launch_is_still_its_samples),
        cmocka_unit_test(test_align__nothing_beyond_the_tolerance_is_paired),
        cmocka_unit_test(test_align__sorts_that_differ_are_apart),
        cmocka_unit_test(test_align__sorting_keeps_the_order_of_equal_times),
        cmocka_unit_test(test_align__random_sequences_lose_few_pairs_to_likeliness),
        cmocka_unit_test(test_align__sequences_with_jitter_are_right),
        cmocka_unit_test(test_align__a_lost_hundredth_costs_little),
        cmocka_unit_test(test_align__all_at_one_time_is_not_quadratic),
        cmocka_unit_test(test_align__many_with_losses_are_fast),
        cmocka_unit_test(test_align__empty_sides_have_no_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
