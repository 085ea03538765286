/* test_attribution_threads.c - which thread is which, told by what they did */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "attribution_model.h"
#include "growth.h"

#define NO_STATE void **state __attribute__((unused))

enum { MOST = 100 };

static const int64_t TOLERANCE = 10000000;

typedef struct team {
    model models[MOST];
    hd_mark_pair samples[MOST], launches[MOST];
    uint32_t out[MOST];
    unsigned shift; /* launches[(i + shift) % count] are those of samples[i] */
} team;

static team *team_make(const model_options *o, unsigned count, uint64_t seed, bool alike)
{
    team *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->shift = 3 % count;
    for (unsigned i = 0; i < count; i++) {
        model_options own = *o;
        if (!alike) own.launches += i * 7 % 50;
        t->models[i] = model_make(&own, alike ? seed : seed + i);
        const model *m = &t->models[i];
        t->samples[i] = (hd_mark_pair){.samples = m->samples, .sample_count = m->sample_count};
        t->launches[(i + t->shift) % count] = (hd_mark_pair){.launches = m->launches, .launch_count = m->launch_count};
    }
    return t;
}

static void team_free(team *t)
{
    for (unsigned i = 0; i < MOST; i++) model_free(&t->models[i]);
    free(t);
}

static void assign(team *t, unsigned samples, unsigned launches)
{
    assert_int_equal(hd_marks_assign(t->out, t->samples, samples, t->launches, launches, TOLERANCE, NULL), HD_OK);
}

static const model_options worker = {
    .launches = 2000, .per_step = 200, .gap_ns = 20000, .pause_ns = 400000, .step_noise_ns = 3000, .jitter_ns = 3000};

static void test_threads__each_finds_its_own(NO_STATE)
{
    for (unsigned lost = 0; lost <= 200; lost += 100) {
        model_options o = worker;
        o.lost_samples = lost;
        o.lost_launches = lost / 2;
        team *t = team_make(&o, 8, 100 + lost, false);
        assign(t, 8, 8);
        for (unsigned i = 0; i < 8; i++) assert_int_equal(t->out[i], (i + t->shift) % 8);
        team_free(t);
    }
}

static void test_threads__one_without_launches_gets_none(NO_STATE)
{
    team *t = team_make(&worker, 6, 7, false);
    t->launches[4] = t->launches[5]; /* five threads of launches, six of samples */
    assign(t, 6, 5);
    for (unsigned i = 0; i < 6; i++) {
        unsigned own = (i + t->shift) % 6;
        if (own < 4) assert_int_equal(t->out[i], own);
        if (own == 4) assert_int_equal(t->out[i], HD_MARK_NONE);
        if (own == 5) assert_int_equal(t->out[i], 4);
    }
    team_free(t);
}

static void test_threads__twins_are_told_by_their_counts_only(NO_STATE)
{
    model_options o = worker;
    o.jitter_ns = 0;
    team *t = team_make(&o, 2, 9, true);
    assign(t, 2, 2);
    assert_int_equal(t->out[0], HD_MARK_NONE);
    assert_int_equal(t->out[1], HD_MARK_NONE);
    t->samples[0].sample_count = t->launches[1].launch_count = 1500; /* one ended earlier */
    assign(t, 2, 2);
    assert_int_equal(t->out[0], 1);
    assert_int_equal(t->out[1], 0);
    team_free(t);
}

static void test_threads__twins_are_told_by_their_names(NO_STATE)
{
    model_options o = worker;
    o.jitter_ns = 0;
    o.names = 5;
    team *t = team_make(&o, 2, 10, true);
    for (size_t i = 0; i < t->models[1].sample_count; i++) {
        t->models[1].samples[i].short_name += 100;
        t->models[1].launches[i].short_name += 100;
    }
    t->shift = 1;
    assign(t, 2, 2);
    assert_int_equal(t->out[0], 1);
    assert_int_equal(t->out[1], 0);
    team_free(t);
}

static void test_threads__strangers_get_nothing(NO_STATE)
{
    team *t = team_make(&worker, 2, 11, false);
    for (size_t i = 0; i < t->models[0].sample_count; i++) t->models[0].samples[i].time_ns += 3600000000000;
    assign(t, 1, 2);
    assert_int_equal(t->out[0], HD_MARK_NONE);
    assign(t, 0, 2);
    assign(t, 1, 0);
    assert_int_equal(t->out[0], HD_MARK_NONE);
    team_free(t);
}

static double assign_all(void *context, size_t launches)
{
    model_options o = worker;
    unsigned right = 0;
    (void)context;
    o.launches = (unsigned)launches;
    team *t = team_make(&o, MOST, 12, false);
    double from = hd_test_cpu_seconds();
    assign(t, MOST, MOST);
    double seconds = hd_test_cpu_seconds() - from;
    for (unsigned i = 0; i < MOST; i++) right += t->out[i] == (i + t->shift) % MOST;
    assert_int_equal(right, MOST);
    team_free(t);
    return seconds;
}

static void test_threads__a_hundred_by_a_hundred_take_no_quadratic_time(NO_STATE)
{
    hd_test_assert_linear("samples of each thread", assign_all, NULL, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads__each_finds_its_own),
        cmocka_unit_test(test_threads__one_without_launches_gets_none),
        cmocka_unit_test(test_threads__twins_are_told_by_their_counts_only),
        cmocka_unit_test(test_threads__twins_are_told_by_their_names),
        cmocka_unit_test(test_threads__strangers_get_nothing),
        cmocka_unit_test(test_threads__a_hundred_by_a_hundred_take_no_quadratic_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
