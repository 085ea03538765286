/* test_attribution.c - who launched what: hand-made traces for each rule, and what must be refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attribution_maker.h"
#include "random_trace.h"

#define NO_STATE void **state __attribute__((unused))

enum { PID = 100, US = 1000, MS = 1000000 };

static const int64_t UNIX = 1700000000000000000;

/* The stack of the work with an id, and the rule, as "rule main;f;cudaLaunchKernel". */
static void assert_work(const hd_attribution *a, int64_t id, hd_stack_rule rule, const char *stack)
{
    for (size_t i = 0; i < a->launches->work_count; i++) {
        if (a->launches->works[i].id != id) continue;
        char *text = maker_text(a->stacks, a->work_stack[i]);
        if (a->work_rule[i] != rule || strcmp(text, stack) != 0)
            fail_msg("work %d: %s \"%s\", expected %s \"%s\"", (int)id, hd_stack_rule_name(a->work_rule[i]), text,
                     hd_stack_rule_name(rule), stack);
        free(text);
        return;
    }
    fail_msg("there is no work %d", (int)id);
}

/* No sample is its: what is known of it are slices at most. */
static void assert_no_sample(const hd_attribution *a, int64_t id)
{
    for (size_t i = 0; i < a->launches->work_count; i++) {
        if (a->launches->works[i].id == id)
            assert_true(a->work_rule[i] == HD_RULE_NONE || a->work_rule[i] == HD_RULE_SLICES);
    }
}

/* What must hold for any attribution. */
static void assert_sums(const hd_attribution *a)
{
    uint64_t works = 0, launches = 0, with_sample = 0;
    int64_t ns = 0;
    for (int i = 0; i < HD_RULES; i++) {
        works += a->works_by[i];
        launches += a->launches_by[i];
        ns += a->work_ns_by[i];
    }
    assert_int_equal(works, a->launches->work_count);
    assert_int_equal(launches, a->launches->launch_count);
    assert_true(ns == a->launches->work_ns);
    for (size_t i = 0; i < a->launches->launch_count; i++) {
        if (a->launch_sample[i] == UINT64_MAX) continue;
        with_sample++;
        for (size_t k = 0; k < i && i < 2000; k++) assert_true(a->launch_sample[i] != a->launch_sample[k]);
    }
    assert_true(with_sample + a->pending_count + a->not_launches <= a->sample_count + a->without_stack);
}

static hd_status attribute(hd_attribution **out, maker *gpu, maker *cpu, const hd_attribution_options *options,
                           hd_error *err)
{
    hd_trace *gpu_trace = maker_finish(gpu), *cpu_trace = cpu ? maker_finish(cpu) : NULL;
    hd_status status = hd_attribute(out, gpu_trace, cpu_trace, options, err);
    hd_trace_free(gpu_trace);
    hd_trace_free(cpu_trace);
    if (status == HD_OK) assert_sums(*out);
    return status;
}

static void attribute_well(hd_attribution **out, maker *gpu, maker *cpu, const hd_attribution_options *options)
{
    hd_error err = {0};
    if (attribute(out, gpu, cpu, options, &err) != HD_OK) fail_msg("%s", err.message);
}

/* Uneven times, so that a rhythm can be told: call i of a thread. */
static int64_t time_of(unsigned thread, unsigned i)
{
    uint64_t seed = (uint64_t)thread << 32 | i;
    (void)random_next(&seed);
    return (int64_t)i * 50 * US + random_next(&seed) % 30000;
}

/* `count` launches of a thread, each with a kernel; ids from first_id on. */
static void make_thread(maker *gpu, int64_t pid, int64_t tid, unsigned seed, unsigned count, int64_t first_id)
{
    for (unsigned i = 0; i < count; i++) {
        int64_t at = UNIX + time_of(seed, i);
        maker_call(gpu, "cudaLaunchKernel", pid, tid, at, first_id + i);
        maker_kernel(gpu, "k", at + 20 * US, first_id + i);
    }
}

static void make_samples(maker *cpu, int64_t pid, int64_t tid, unsigned seed, unsigned count, int64_t offset,
                         const char *who)
{
    for (unsigned i = 0; i < count; i++) {
        char frames[64];
        snprintf(frames, sizeof frames, "%s;f%u;cudaLaunchKernel", who, i);
        maker_sample(cpu, pid, tid, UNIX + time_of(seed, i) - offset - 800, frames, 0);
    }
}

static void assert_thread(const hd_attribution *a, int64_t first_id, unsigned count, hd_stack_rule rule,
                          const char *who)
{
    for (unsigned i = 0; i < count; i++) {
        char frames[64];
        snprintf(frames, sizeof frames, "%s;f%u;cudaLaunchKernel", who, i);
        assert_work(a, first_id + i, rule, frames);
    }
}

/* ---- each rule ---- */

static void test_attribution__a_correlation_id_beats_time(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 1; i <= 4; i++) {
        maker_call(&gpu, "cudaLaunchKernel", PID, 1, UNIX + i * MS, i);
        maker_kernel(&gpu, "k", UNIX + i * MS + 100 * US, i);
    }
    maker_sample(&cpu, PID, 1, 1 * MS, "main;d;cudaLaunchKernel", 4);
    maker_sample(&cpu, PID, 1, 2 * MS, "main;c;cudaLaunchKernel", 3);
    maker_sample(&cpu, PID, 1, 3 * MS, "main;b;cudaLaunchKernel", 2);
    maker_sample(&cpu, PID, 9, 4 * MS, "main;a;cudaLaunchKernel", 1);
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_work(a, 1, HD_RULE_ID, "main;a;cudaLaunchKernel");
    assert_work(a, 2, HD_RULE_ID, "main;b;cudaLaunchKernel");
    assert_work(a, 3, HD_RULE_ID, "main;c;cudaLaunchKernel");
    assert_work(a, 4, HD_RULE_ID, "main;d;cudaLaunchKernel");
    assert_int_equal(a->pending_count, 0);
    assert_int_equal(a->sample_count, 4);
    assert_int_equal(a->works_by[HD_RULE_ID], 4);
    hd_attribution_free(a);
}

static void test_attribution__equal_ids_of_two_processes_stay_apart(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    maker_call(&gpu, "cudaLaunchKernel", PID, 1, UNIX, 5);
    maker_kernel(&gpu, "k", UNIX + 10 * US, 5);
    maker_sample(&cpu, PID + 1, 1, 77, "other;cudaLaunchKernel", 5);
    maker_sample(&cpu, PID, 1, 99, "main;cudaLaunchKernel", 5);
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_work(a, 5, HD_RULE_ID, "main;cudaLaunchKernel");
    assert_int_equal(a->pending_count, 1);
    assert_int_equal(a->pending[0].row, 0);
    hd_attribution_free(a);
}

static void test_attribution__an_id_finds_work_without_a_call(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    maker_kernel(&gpu, "k", UNIX, 5);
    maker_kernel(&gpu, "k", UNIX + 10 * US, 6);
    maker_sample(&cpu, PID, 1, 99, "main;g;cudaGraphLaunch", 6);
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_work(a, 5, HD_RULE_NONE, "");
    assert_work(a, 6, HD_RULE_ID, "main;g;cudaGraphLaunch");
    assert_int_equal(a->pending_count, 0);
    hd_attribution_free(a);
}

static void test_attribution__a_thread_is_joined_in_order_over_any_clock_offset(NO_STATE)
{
    static const int64_t offsets[] = {0, -3200000000, 5000000, 1700000000000000000, -86400000000000};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        make_thread(&gpu, PID, 1, 1, 200, 1000);
        make_samples(&cpu, PID, 1, 1, 200, offsets[i], "main");
        attribute_well(&a, &gpu, &cpu, NULL);
        assert_thread(a, 1000, 200, HD_RULE_THREAD, "main");
        assert_true(a->clock.known && !a->clock.ambiguous);
        assert_true(a->clock.offset_ns == offsets[i] + 800);
        assert_true(a->clock.spread_ns == 0 && a->clock.worst_ns == 0);
        assert_int_equal(a->clock.pairs, 200);
        assert_int_equal(a->threads_by_id, 1);
        hd_attribution_free(a);
    }
}

static void test_attribution__two_threads_keep_their_own_launches(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 1, 1, 100, 1000);
    make_thread(&gpu, PID, 2, 2, 100, 2000);
    make_samples(&cpu, PID, 2, 2, 100, 3 * MS, "two");
    make_samples(&cpu, PID, 1, 1, 100, 3 * MS, "one");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 100, HD_RULE_THREAD, "one");
    assert_thread(a, 2000, 100, HD_RULE_THREAD, "two");
    assert_int_equal(a->threads_by_id, 2);
    hd_attribution_free(a);
}

static void test_attribution__threads_with_strange_ids_are_told_by_their_rhythm(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 2147479552, 1, 150, 1000);
    make_thread(&gpu, PID, 2147471360, 2, 150, 2000);
    make_samples(&cpu, PID, 42, 2, 150, -3200000000, "two");
    make_samples(&cpu, PID, 41, 1, 150, -3200000000, "one");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 150, HD_RULE_SEQUENCE, "one");
    assert_thread(a, 2000, 150, HD_RULE_SEQUENCE, "two");
    assert_int_equal(a->threads_by_sequence, 2);
    hd_attribution_free(a);
}

static void test_attribution__one_known_thread_and_one_strange(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 1, 1, 100, 1000);
    make_thread(&gpu, PID, 2147471360, 2, 60, 2000);
    make_samples(&cpu, PID, 1, 1, 100, 7 * MS, "one");
    make_samples(&cpu, PID, 42, 2, 60, 7 * MS, "two");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 100, HD_RULE_THREAD, "one");
    assert_thread(a, 2000, 60, HD_RULE_SEQUENCE, "two");
    hd_attribution_free(a);
}

static void test_attribution__a_process_in_a_namespace_has_another_pid(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, 1, 1, 1, 100, 1000);
    make_samples(&cpu, 31337, 31337, 1, 100, 2000000000, "one");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 100, HD_RULE_SEQUENCE, "one");
    hd_attribution_free(a);
}

static void test_attribution__threads_that_are_alike_are_left_alone(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int thread = 0; thread < 2; thread++) { /* in step to the nanosecond */
        make_thread(&gpu, PID, 9000 + thread, 1, 50, 1000 * (thread + 1));
        make_samples(&cpu, PID, 41 + thread, 1, 50, 0, thread ? "two" : "one");
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_SEQUENCE], 0);
    assert_int_equal(a->threads_unmatched, 2);
    assert_int_equal(a->pending_count, 100);
    hd_attribution_free(a);
}

static void test_attribution__kernels_without_calls_are_joined_in_the_order_of_ids(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    maker_kernel(&gpu, "k", UNIX + 5 * MS, 30); /* streams may run them in another order */
    maker_kernel(&gpu, "k", UNIX + 6 * MS, 10);
    maker_kernel(&gpu, "k", UNIX + 7 * MS, 20);
    maker_sample(&cpu, PID, 1, 1, "main;a;cudaLaunchKernel", 0);
    maker_sample(&cpu, PID, 2, 2, "main;b;cudaLaunchKernel", 0);
    maker_sample(&cpu, PID, 1, 3, "main;c;cudaLaunchKernel", 0);
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_work(a, 10, HD_RULE_ORDER, "main;a;cudaLaunchKernel");
    assert_work(a, 20, HD_RULE_ORDER, "main;b;cudaLaunchKernel");
    assert_work(a, 30, HD_RULE_ORDER, "main;c;cudaLaunchKernel");
    hd_attribution_free(a);
}

static void test_attribution__order_is_not_trusted_where_counts_differ(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 1; i <= 5; i++) maker_kernel(&gpu, "k", UNIX + i * MS, i);
    for (int i = 1; i <= 4; i++) maker_sample(&cpu, PID, 1, i, "main;a;cudaLaunchKernel", 0);
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_NONE], 5);
    assert_int_equal(a->pending_count, 4);
    hd_attribution_free(a);
}

static void test_attribution__order_with_names_finds_its_way_round_gaps(NO_STATE)
{
    static const char *const kernels[] = {"_Z1aPf", "_Z1bPf", "_Z1cPf", "_Z1dPf"};
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 1; i <= 40; i++) {
        char frames[64];
        const char *name = kernels[(i * 7 + i / 5) % 4];
        maker_kernel(&gpu, name, UNIX + i * MS, i);
        snprintf(frames, sizeof frames, "f%d;__device_stub_%s;cudaLaunchKernel", i, name);
        if (i != 20) maker_sample(&cpu, PID, 1, i, frames, 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_ORDER], 39);
    assert_work(a, 1, HD_RULE_ORDER, "f1;__device_stub__Z1dPf;cudaLaunchKernel");
    assert_int_equal(a->works_by[HD_RULE_NONE], 1);
    for (int i = 30; i <= 40; i++) {
        char frames[64];
        snprintf(frames, sizeof frames, "f%d;__device_stub_%s;cudaLaunchKernel", i, kernels[(i * 7 + i / 5) % 4]);
        assert_work(a, i, HD_RULE_ORDER, frames);
    }
    hd_attribution_free(a);
}

/* ---- counts that differ ---- */

static void test_attribution__samples_and_launches_may_be_missing(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    unsigned joined = 0, lost = 0;
    for (unsigned i = 0; i < 300; i++) {
        char frames[64];
        int64_t at = UNIX + time_of(1, i);
        snprintf(frames, sizeof frames, "f%u;cudaLaunchKernel", i);
        if (i % 40 != 11 && (i < 100 || i >= 120)) { /* some here and there, and twenty in the middle */
            maker_call(&gpu, "cudaLaunchKernel", PID, 1, at, 1000 + i);
            maker_kernel(&gpu, "k", at + 20 * US, 1000 + i);
        }
        if (i % 50 != 33) maker_sample(&cpu, PID, 1, at - 3200000000, frames, 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    for (unsigned i = 0; i < 300; i++) {
        char frames[64];
        snprintf(frames, sizeof frames, "f%u;cudaLaunchKernel", i);
        if (i % 40 == 11 || (i >= 100 && i < 120)) continue;
        if (i % 50 == 33) {
            assert_no_sample(a, 1000 + i);
            lost++;
        } else {
            assert_work(a, 1000 + i, HD_RULE_THREAD, frames);
            joined++;
        }
    }
    assert_int_equal(a->pending_count, a->sample_count - joined);
    /* the call alone is no stack where stacks were recorded */
    assert_int_equal(a->works_by[HD_RULE_NONE], lost);
    assert_int_equal(a->works_by[HD_RULE_SLICES], 0);
    hd_attribution_free(a);
}

static void test_attribution__names_of_kernels_beat_nearness(NO_STATE)
{
    static const char *const kernels[] = {"void soft<float>(float*)", "void norm<float>(float*)", "void mul(int)"};
    static const char *const stubs[] = {"_Z4softIfEvPT_", "_Z4normIfEvPT_", "_Z3muli"};
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (unsigned i = 0; i < 60; i++) {
        char frames[80];
        int64_t at = UNIX + i * 2000; /* a steady row: time alone cannot tell where one is missing */
        snprintf(frames, sizeof frames, "f%u;__device_stub_%s;cudaLaunchKernel", i, stubs[i % 3]);
        maker_call(&gpu, "cudaLaunchKernel", PID, 1, at, 1000 + i);
        maker_kernel(&gpu, kernels[i % 3], at + 20 * US, 1000 + i);
        if (i != 30) maker_sample(&cpu, PID, 1, at + (i < 30 ? 0 : -1500), frames, 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    for (unsigned i = 0; i < 60; i++) {
        char frames[80];
        snprintf(frames, sizeof frames, "f%u;__device_stub_%s;cudaLaunchKernel", i, stubs[i % 3]);
        if (i == 30)
            assert_no_sample(a, 1030);
        else
            assert_work(a, 1000 + i, HD_RULE_THREAD, frames);
    }
    hd_attribution_free(a);
}

static void test_attribution__copies_are_no_launches_of_kernel_stacks(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (unsigned i = 0; i < 50; i++) {
        char frames[64];
        int64_t at = UNIX + time_of(1, i);
        maker_call(&gpu, "cudaMemcpyAsync", PID, 1, at, 5000 + i);
        maker_slice(&gpu, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, at + 10 * US, 1000, 5000 + i, 0);
        maker_call(&gpu, "cudaLaunchKernel", PID, 1, at + 5 * US, 1000 + i);
        maker_kernel(&gpu, "k", at + 20 * US, 1000 + i);
        snprintf(frames, sizeof frames, "f%u;cudaLaunchKernel+0x10", i);
        maker_sample(&cpu, PID, 1, at + 4 * US, frames, 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_THREAD], 50);
    for (unsigned i = 0; i < 50; i++) {
        char frames[64];
        snprintf(frames, sizeof frames, "f%u;cudaLaunchKernel+0x10", i);
        assert_work(a, 1000 + i, HD_RULE_THREAD, frames);
        assert_no_sample(a, 5000 + i);
    }
    hd_attribution_free(a);
}

static void test_attribution__ticks_and_waits_launch_nothing(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 1, 1, 40, 1000);
    make_samples(&cpu, PID, 1, 1, 40, 0, "main");
    for (int i = 0; i < 30; i++) {
        maker_event(&cpu, "cycles:u", PID, 1, UNIX + i * 40 * US, "main;cudaLaunchKernel", 0);
        maker_sample(&cpu, PID, 1, UNIX + i * 30 * US, "main;cudaStreamSynchronize;libcudart.so.13", 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 40, HD_RULE_THREAD, "main");
    assert_int_equal(a->not_launches, 60);
    assert_int_equal(a->sample_count, 100);
    assert_int_equal(a->pending_count, 0);
    hd_attribution_free(a);
}

/* ---- graphs ---- */

static void test_attribution__all_kernels_of_a_graph_belong_to_its_launch(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < 3; i++) { /* captured once … */
        char frames[64];
        snprintf(frames, sizeof frames, "main;capture%d;cudaLaunchKernel", i);
        maker_call(&gpu, "cudaLaunchKernel", PID, 1, UNIX + time_of(1, (unsigned)i), 10 + i);
        maker_sample(&cpu, PID, 1, UNIX + time_of(1, (unsigned)i) - 500, frames, 0);
    }
    for (int run = 0; run < 4; run++) { /* … and run four times */
        int64_t at = UNIX + time_of(1, 10 + (unsigned)run);
        char frames[64];
        snprintf(frames, sizeof frames, "main;replay%d;cudaGraphLaunch", run);
        maker_call(&gpu, "cudaGraphLaunch", PID, 1, at, 100 + run);
        maker_sample(&cpu, PID, 1, at - 500, frames, 0);
        for (int i = 0; i < 3; i++)
            maker_slice(&gpu, "kernel", "k", 0, 7, at + (i + 1) * 10 * US, 1000 + i, 100 + run, i < 2 ? 10 + i : 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->kernels_of_graphs, 12);
    assert_int_equal(a->works_by[HD_RULE_THREAD], 12);
    for (size_t i = 0; i < a->launches->work_count; i++) {
        const hd_work *work = &a->launches->works[i];
        char expected[128], *text = maker_text(a->stacks, a->work_stack[i]);
        int node = (int)(work->duration_ns - 1000), run = (int)(work->id - 100);
        snprintf(expected, sizeof expected, "main;replay%d;cudaGraphLaunch", run);
        if (node < 2) snprintf(expected + strlen(expected), 64, ";[graph node];main;capture%d;cudaLaunchKernel", node);
        assert_string_equal(text, expected);
        free(text);
    }
    assert_int_equal(a->pending_count, 0);
    hd_attribution_free(a);
}

/* ---- clocks that fit nowhere ---- */

static void test_attribution__a_clock_that_fits_nowhere_is_refused_and_forced(NO_STATE)
{
    for (int force = 0; force < 2; force++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        hd_error err = {0};
        hd_attribution_options options = {.force = force};
        make_thread(&gpu, PID, 1, 1, 100, 1000); /* five milliseconds … */
        for (int i = 0; i < 100; i++) maker_sample(&cpu, PID, 1, (int64_t)i * 1000 * MS, "main;cudaLaunchKernel", 0);
        hd_status status = attribute(&a, &gpu, &cpu, &options, &err); /* … against a hundred seconds */
        assert_int_equal(status, force ? HD_OK : HD_ERR_DAMAGED);
        assert_true(a->clock.pairs < 50);
        if (!force) {
            assert_non_null(strstr(err.message, "--force"));
            assert_non_null(strstr(err.message, "--tolerance"));
            assert_non_null(strstr(err.message, "100 samples"));
        }
        hd_attribution_free(a);
    }
}

static void test_attribution__a_loop_recorded_in_part_is_ambiguous(NO_STATE)
{
    for (int how = 0; how < 3; how++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        hd_error err = {0};
        hd_attribution_options options = {.force = how == 1, .has_offset = how == 2, .clock_offset_ns = 9000000000};
        for (unsigned step = 0; step < 20; step++) {
            for (unsigned i = 0; i < 10; i++) {
                int64_t at = UNIX + step * 50 * (int64_t)MS + time_of(3, i);
                char frames[64];
                maker_call(&gpu, "cudaLaunchKernel", PID, 1, at, 1000 + step * 10 + i);
                maker_kernel(&gpu, "k", at + 20 * US, 1000 + step * 10 + i);
                snprintf(frames, sizeof frames, "step%u;f%u;cudaLaunchKernel", step, i);
                if (step >= 5 && step < 10) maker_sample(&cpu, PID, 1, at - 9000000000, frames, 0);
            }
        }
        hd_status status = attribute(&a, &gpu, &cpu, &options, &err);
        assert_int_equal(status, how == 0 ? HD_ERR_DAMAGED : HD_OK);
        assert_int_equal(a->clock.ambiguous, how != 2);
        if (how == 0) assert_non_null(strstr(err.message, "--force"));
        if (how > 0) assert_int_equal(a->works_by[HD_RULE_THREAD], 50);
        if (how == 2) assert_work(a, 1057, HD_RULE_THREAD, "step5;f7;cudaLaunchKernel");
        hd_attribution_free(a);
    }
}

static void test_attribution__the_clocks_zeros_settle_what_the_rhythm_cannot(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    gpu.base_ns = 0;
    cpu.base_ns = 9000000000;
    for (unsigned i = 0; i < 100; i++) {
        int64_t at = UNIX + i * 100 * (int64_t)US;
        char frames[64];
        maker_call(&gpu, "cudaLaunchKernel", PID, 1, at, 1000 + i);
        maker_kernel(&gpu, "k", at + 20 * US, 1000 + i);
        snprintf(frames, sizeof frames, "f%u;cudaLaunchKernel", i);
        if (i >= 30 && i < 60) maker_sample(&cpu, PID, 1, at - 9000000000, frames, 0);
    }
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_work(a, 1030, HD_RULE_THREAD, "f30;cudaLaunchKernel");
    assert_work(a, 1059, HD_RULE_THREAD, "f59;cudaLaunchKernel");
    assert_no_sample(a, 1060);
    hd_attribution_free(a);
}

/* ---- threads without a process ---- */

/* Samples of make_samples, of a thread whose process is not told. */
static void make_lone_samples(maker *cpu, const char *tid, unsigned seed, unsigned count, int64_t offset,
                              const char *who)
{
    for (unsigned i = 0; i < count; i++) {
        char frames[64];
        snprintf(frames, sizeof frames, "%s;f%u;cudaLaunchKernel", who, i);
        maker_event_on(cpu, "probe:cudaLaunchKernel", maker_lone_thread(cpu, tid),
                       UNIX + time_of(seed, i) - offset - 800, frames, 0);
    }
}

/* `perf script` as it is by default. The threads are alike, so that nothing but their ids tells them apart. */
static void test_attribution__a_tid_without_a_pid_is_a_thread_where_only_one_has_it(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 11, 1, 20, 1000);
    make_thread(&gpu, PID, 12, 1, 20, 2000);
    make_thread(&gpu, PID + 1, 13, 1, 20, 3000);
    make_lone_samples(&cpu, "13", 1, 20, 5 * (int64_t)MS, "third");
    make_lone_samples(&cpu, "12", 1, 20, 5 * (int64_t)MS, "second");
    make_lone_samples(&cpu, "11", 1, 20, 5 * (int64_t)MS, "first");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 20, HD_RULE_THREAD, "first");
    assert_thread(a, 2000, 20, HD_RULE_THREAD, "second");
    assert_thread(a, 3000, 20, HD_RULE_THREAD, "third");
    assert_int_equal(a->threads_by_id, 3);
    assert_int_equal(a->threads_unmatched, 0);
    hd_attribution_free(a);
}

static void test_attribution__a_tid_without_a_pid_says_nothing_where_two_processes_have_it(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 11, 1, 20, 1000);
    make_thread(&gpu, PID + 1, 11, 1, 20, 2000);
    make_lone_samples(&cpu, "11", 1, 20, 0, "first");
    attribute_well(&a, &gpu, &cpu, NULL);
    for (int i = 0; i < 20; i++) {
        assert_no_sample(a, 1000 + i);
        assert_no_sample(a, 2000 + i);
    }
    assert_int_equal(a->threads_by_id, 0);
    assert_int_equal(a->threads_unmatched, 1);
    hd_attribution_free(a);
}

/* The thread with the pid is the one. */
static void test_attribution__a_tid_without_a_pid_does_not_displace_one_with_it(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 11, 1, 20, 1000);
    make_lone_samples(&cpu, "11", 7, 20, 0, "lone");
    make_samples(&cpu, PID, 11, 1, 20, 0, "main");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 20, HD_RULE_THREAD, "main");
    assert_int_equal(a->threads_by_id, 1);
    assert_int_equal(a->threads_unmatched, 1);
    assert_int_equal(a->pending_count, 20);
    hd_attribution_free(a);
}

static void test_attribution__launches_without_a_pid_find_their_samples_too(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.category = hd_builder_intern_text(gpu.builder, "cuda_runtime");
    row.name = hd_builder_intern_text(gpu.builder, "cudaLaunchKernel");
    row.duration_ns = 2000;
    for (int i = 0; i < 20; i++) {
        static const char *const names[] = {"correlation"};
        static const hd_arg_scope scopes[] = {HD_SCOPE_ARGS};
        const int64_t id = 1000 + i;
        row.track = maker_lone_thread(&gpu, "11");
        row.start_ns = UNIX + time_of(1, (unsigned)i);
        maker_add(&gpu, &row, names, scopes, &id, 1);
        maker_kernel(&gpu, "k", row.start_ns + 20 * US, id);
    }
    make_thread(&gpu, PID, 12, 1, 20, 2000);
    make_samples(&cpu, PID, 12, 1, 20, 0, "second");
    make_samples(&cpu, PID, 11, 1, 20, 0, "first");
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_thread(a, 1000, 20, HD_RULE_THREAD, "first");
    assert_thread(a, 2000, 20, HD_RULE_THREAD, "second");
    hd_attribution_free(a);
}

/* ---- ranks ---- */

static void set_rank(maker *m, int64_t pid, int64_t tid, int64_t rank)
{
    hd_builder_set_rank(m->builder, hd_builder_thread(m->builder, pid, tid), rank);
}

/* Two containers with the same pid, merged: which of them a sample is of nothing tells. */
static void test_attribution__equal_ids_and_pids_of_two_ranks_are_left_alone(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int rank = 0; rank < 2; rank++) {
        maker_slice(&gpu, "cuda_runtime", "cudaLaunchKernel", PID, 1 + rank, UNIX, 2000, 5, 0);
        maker_slice(&gpu, "kernel", "k", rank, 7, UNIX + 10 * US, 1000, 5, 0);
        set_rank(&gpu, PID, 1 + rank, rank);
        set_rank(&gpu, rank, 7, rank);
    }
    maker_sample(&cpu, PID, 9, HD_NO_TIME, "main;cudaLaunchKernel", 5);
    attribute_well(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_ID], 0);
    assert_int_equal(a->pending_count, 1);
    hd_attribution_free(a);
}

static void test_attribution__work_without_calls_of_two_ranks_is_no_graph(NO_STATE)
{
    for (int by_id = 0; by_id < 2; by_id++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        for (int i = 1; i <= 4; i++) {
            for (int rank = 0; rank < 2; rank++) {
                maker_slice(&gpu, "kernel", "k", rank, 7, UNIX + i * MS, 1000, i, 0);
                set_rank(&gpu, rank, 7, rank);
            }
            maker_sample(&cpu, PID, 1, UNIX + i * MS, "main;unknown", by_id ? i : 0);
        }
        attribute_well(&a, &gpu, &cpu, NULL);
        assert_int_equal(a->works_by[HD_RULE_NONE], 8);
        assert_int_equal(a->pending_count, 4);
        hd_attribution_free(a);
    }
}

/* ---- nothing there ---- */

static void test_attribution__empty_sides_are_no_errors(NO_STATE)
{
    for (int sides = 0; sides < 4; sides++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        if (sides & 1) make_thread(&gpu, PID, 1, 1, 3, 1);
        if (sides & 2) make_samples(&cpu, sides == 3 ? PID : 1, 1, 1, 3, 0, "main");
        attribute_well(&a, &gpu, sides == 1 ? NULL : &cpu, NULL);
        if (sides == 1) {
            hd_trace *unused = maker_finish(&cpu);
            hd_trace_free(unused);
        }
        assert_int_equal(a->launches->work_count, sides & 1 ? 3 : 0);
        assert_int_equal(a->pending_count, sides == 2 ? 3 : 0);
        hd_attribution_free(a);
    }
}

static void test_attribution__samples_of_the_trace_itself_never_refuse(NO_STATE)
{
    maker gpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 1, 1, 50, 1000);
    for (int i = 0; i < 100; i++) maker_event(&gpu, "cycles", PID, 1, i * 1000 * (int64_t)MS, "main;f", 0);
    for (int i = 0; i < 9; i++) maker_sample(&gpu, PID, 1, i * 1000 * (int64_t)MS, "main;cudaLaunchKernel", 0);
    attribute_well(&a, &gpu, NULL, NULL);
    assert_int_equal(a->works_by[HD_RULE_THREAD], 0);
    assert_int_equal(a->pending_count, 0);
    hd_attribution_free(a);
}

/* stackFrames that cannot be read are no reason to do without the slices. */
static void test_attribution__samples_of_the_trace_itself_may_have_lost_their_frames(NO_STATE)
{
    maker gpu = maker_new();
    hd_attribution *a;
    make_thread(&gpu, PID, 1, 1, 3, 1000);
    for (int i = 0; i < 5; i++) maker_sample(&gpu, PID, 1, UNIX + i, "", 1000 + i);
    hd_builder_metadata(gpu.builder, hd_builder_intern_text(gpu.builder, "stackFrames"),
                        hd_builder_intern_text(gpu.builder, "[1]"), true);
    attribute_well(&a, &gpu, NULL, NULL);
    assert_int_equal(a->works_by[HD_RULE_SLICES], 3);
    assert_int_equal(a->without_stack, 5);
    assert_int_equal(a->sample_count, 0);
    hd_attribution_free(a);
}

/* Of a file of samples that is all there is. */
static void test_attribution__samples_of_another_trace_must_have_frames_that_can_be_read(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_error err = {0};
    make_thread(&gpu, PID, 1, 1, 3, 1000);
    maker_sample(&cpu, PID, 1, UNIX, "", 1000);
    hd_builder_metadata(cpu.builder, hd_builder_intern_text(cpu.builder, "stackFrames"),
                        hd_builder_intern_text(cpu.builder, "[1]"), true);
    assert_int_equal(attribute(&a, &gpu, &cpu, NULL, &err), HD_ERR_DAMAGED);
    hd_attribution_free(a);
}

/* Also where no sample needs it. */
static void test_attribution__a_clock_offset_that_was_given_is_known(NO_STATE)
{
    for (int ticks = 0; ticks < 2; ticks++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        const hd_attribution_options options = {.has_offset = true, .clock_offset_ns = 77};
        make_thread(&gpu, PID, 1, 1, 3, 1000);
        if (ticks)
            maker_event(&cpu, "cycles", PID, 1, UNIX, "main", 0);
        else
            maker_sample(&cpu, PID, 1, UNIX, "main;cudaLaunchKernel", 1000);
        attribute_well(&a, &gpu, &cpu, &options);
        assert_int_equal(a->launches_by[HD_RULE_ID], !ticks);
        assert_true(a->clock.known);
        assert_int_equal(a->clock.offset_ns, 77);
        hd_attribution_free(a);
    }
}

static void test_attribution__times_at_the_ends_of_the_range_are_safe(NO_STATE)
{
    static const int64_t times[] = {INT64_MIN + 1, -1, 0, 1, INT64_MAX};
    for (int force = 0; force < 2; force++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        hd_attribution_options options = {.force = force, .tolerance_ns = INT64_MAX};
        for (int i = 0; i < 25; i++) {
            maker_call(&gpu, "cudaLaunchKernel", PID, i % 2, times[i % 5], 1 + i);
            maker_kernel(&gpu, "k", times[(i + 2) % 5], 1 + i);
            maker_sample(&cpu, PID, i % 2, times[(i * 3 + 1) % 5], "main;cudaLaunchKernel", 0);
        }
        (void)attribute(&a, &gpu, &cpu, &options, NULL);
        hd_attribution_free(a);
    }
}

static void test_attribution__rules_have_names(NO_STATE)
{
    assert_string_equal(hd_stack_rule_name(HD_RULE_NONE), "none");
    assert_string_equal(hd_stack_rule_name(HD_RULE_SEQUENCE), "sequence");
    assert_string_equal(hd_stack_rule_name(HD_RULES), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attribution__a_correlation_id_beats_time),
        cmocka_unit_test(test_attribution__equal_ids_of_two_processes_stay_apart),
        cmocka_unit_test(test_attribution__an_id_finds_work_without_a_call),
        cmocka_unit_test(test_attribution__a_thread_is_joined_in_order_over_any_clock_offset),
        cmocka_unit_test(test_attribution__two_threads_keep_their_own_launches),
        cmocka_unit_test(test_attribution__threads_with_strange_ids_are_told_by_their_rhythm),
        cmocka_unit_test(test_attribution__one_known_thread_and_one_strange),
        cmocka_unit_test(test_attribution__a_process_in_a_namespace_has_another_pid),
        cmocka_unit_test(test_attribution__threads_that_are_alike_are_left_alone),
        cmocka_unit_test(test_attribution__kernels_without_calls_are_joined_in_the_order_of_ids),
        cmocka_unit_test(test_attribution__order_is_not_trusted_where_counts_differ),
        cmocka_unit_test(test_attribution__order_with_names_finds_its_way_round_gaps),
        cmocka_unit_test(test_attribution__samples_and_launches_may_be_missing),
        cmocka_unit_test(test_attribution__names_of_kernels_beat_nearness),
        cmocka_unit_test(test_attribution__copies_are_no_launches_of_kernel_stacks),
        cmocka_unit_test(test_attribution__ticks_and_waits_launch_nothing),
        cmocka_unit_test(test_attribution__all_kernels_of_a_graph_belong_to_its_launch),
        cmocka_unit_test(test_attribution__a_clock_that_fits_nowhere_is_refused_and_forced),
        cmocka_unit_test(test_attribution__a_loop_recorded_in_part_is_ambiguous),
        cmocka_unit_test(test_attribution__the_clocks_zeros_settle_what_the_rhythm_cannot),
        cmocka_unit_test(test_attribution__a_tid_without_a_pid_is_a_thread_where_only_one_has_it),
        cmocka_unit_test(test_attribution__a_tid_without_a_pid_says_nothing_where_two_processes_have_it),
        cmocka_unit_test(test_attribution__a_tid_without_a_pid_does_not_displace_one_with_it),
        cmocka_unit_test(test_attribution__launches_without_a_pid_find_their_samples_too),
        cmocka_unit_test(test_attribution__equal_ids_and_pids_of_two_ranks_are_left_alone),
        cmocka_unit_test(test_attribution__work_without_calls_of_two_ranks_is_no_graph),
        cmocka_unit_test(test_attribution__empty_sides_are_no_errors),
        cmocka_unit_test(test_attribution__samples_of_the_trace_itself_never_refuse),
        cmocka_unit_test(test_attribution__samples_of_the_trace_itself_may_have_lost_their_frames),
        cmocka_unit_test(test_attribution__samples_of_another_trace_must_have_frames_that_can_be_read),
        cmocka_unit_test(test_attribution__a_clock_offset_that_was_given_is_known),
        cmocka_unit_test(test_attribution__times_at_the_ends_of_the_range_are_safe),
        cmocka_unit_test(test_attribution__rules_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
