/* test_attribution_hostile.c - traces made to cost much, or to break sums: time and memory grow as they do, not more */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "attribution_maker.h"
#include "growth.h"
#include "pass/attribution/annotate.h"
#include "random_trace.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))

enum { PID = 100, US = 1000, MS = 1000000, FEW = 2500 }; /* of FEW and of 8 * FEW: growth.h */

static const int64_t UNIX = 1700000000000000000, DAY = 86400000000000;

/* No sample on two launches, and nothing counted twice. */
static void assert_sums(const hd_attribution *a, uint64_t samples)
{
    uint64_t works = 0, launches = 0;
    uint8_t *seen = calloc(samples + 1, 1);
    for (int i = 0; i < HD_RULES; i++) {
        works += a->works_by[i];
        launches += a->launches_by[i];
    }
    assert_int_equal(works, a->launches->work_count);
    assert_int_equal(launches, a->launches->launch_count);
    for (size_t i = 0; i < a->launches->launch_count; i++) {
        if (a->launch_sample[i] == UINT64_MAX) continue;
        assert_true(a->launch_sample[i] < samples && !seen[a->launch_sample[i]]);
        seen[a->launch_sample[i]] = 1;
    }
    for (size_t i = 0; i < a->pending_count; i++) assert_false(seen[a->pending[i].row]);
    free(seen);
}

/* The CPU time of it. */
static double attribute(hd_attribution **out, maker *gpu, maker *cpu, const hd_attribution_options *options)
{
    hd_error err = {0};
    hd_trace *gpu_trace = maker_finish(gpu), *cpu_trace = cpu ? maker_finish(cpu) : NULL;
    double from = hd_test_cpu_seconds();
    hd_status status = hd_attribute(out, gpu_trace, cpu_trace, options, &err);
    double seconds = hd_test_cpu_seconds() - from;
    if (status != HD_OK && status != HD_ERR_DAMAGED) fail_msg("%s", err.message);
    if (status == HD_OK) assert_sums(*out, cpu_trace ? hd_trace_row_count(cpu_trace, HD_KIND_SAMPLE) : 0);
    hd_trace_free(gpu_trace);
    hd_trace_free(cpu_trace);
    return seconds;
}

static void make_launch(maker *gpu, int64_t tid, int64_t at, int64_t id)
{
    maker_call(gpu, "cudaLaunchKernel", PID, tid, at, id);
    maker_kernel(gpu, "k", at + 10 * US, id);
}

/* ---- many ---- */

static double one_time(void *context, size_t many)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    size_t samples = context ? many - many / 150 : many; /* fewer, or as many */
    for (size_t i = 0; i < many; i++) make_launch(&gpu, 1, UNIX, (int64_t)i + 1);
    for (size_t i = 0; i < samples; i++) maker_sample(&cpu, PID, 1, UNIX, "main;cudaLaunchKernel", 0);
    double seconds = attribute(&a, &gpu, &cpu, &options);
    assert_int_equal(a->launches_by[HD_RULE_THREAD], samples);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__all_at_one_time(NO_STATE)
{
    hd_test_assert_linear("one time", one_time, NULL, FEW);
    hd_test_assert_linear("one time, and a few without samples", one_time, &(int){1}, FEW);
}

static double one_id(void *context, size_t many)
{
    int pids = *(int *)context;
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < (int)many; i++) {
        maker_call(&gpu, "cudaLaunchKernel", PID + i % pids, 1, UNIX + i * (int64_t)US * 10, 7);
        maker_kernel(&gpu, "k", UNIX + i * (int64_t)US * 10 + 5 * US, 7);
        maker_sample(&cpu, PID + i % pids, 1, UNIX + i * (int64_t)US * 10, "main;cudaLaunchKernel", 7);
    }
    double seconds = attribute(&a, &gpu, &cpu, NULL);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__all_with_one_id(NO_STATE)
{
    hd_test_assert_linear("one id", one_id, &(int){1}, FEW);
    hd_test_assert_linear("one id in two processes", one_id, &(int){2}, FEW);
}

static double thread_for_each(void *context, size_t threads)
{
    int strange = *(int *)context;
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    for (int i = 0; i < (int)threads; i++) {
        int64_t at = UNIX + i * (int64_t)US * 50;
        make_launch(&gpu, i, at, i + 1);
        maker_sample(&cpu, PID, i + strange, at, "main;cudaLaunchKernel", 0);
    }
    double seconds = attribute(&a, &gpu, &cpu, &options);
    if (!strange) assert_int_equal(a->launches_by[HD_RULE_THREAD], threads);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__a_thread_for_every_sample(NO_STATE)
{
    hd_test_assert_linear("threads", thread_for_each, &(int){0}, FEW);
    hd_test_assert_linear("strange threads", thread_for_each, &(int){1000000}, FEW);
}

/* Pairs of threads, of which so many are compared and no more: 200 have more than that. */
static double strange_threads(void *context, size_t threads)
{
    enum { MARKS = 200, STEP = 50 * US };
    bool alike = *(bool *)context;
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    uint64_t seed = 5;
    for (int t = 0; t < (int)threads; t++) {
        for (int i = 0; i < MARKS; i++) {
            int64_t at = UNIX + i * (int64_t)STEP + (alike ? 0 : random_next(&seed) % (2 * STEP));
            make_launch(&gpu, t, at, t * MARKS + i + 1);
            maker_sample(&cpu, PID, 5000000 + t, at - 3 * US, "main;cudaLaunchKernel", 0);
        }
    }
    double seconds = attribute(&a, &gpu, &cpu, &options);
    if (!alike) assert_true(a->launches_by[HD_RULE_SEQUENCE] > threads * MARKS * 3 / 4);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__hundreds_of_strange_threads(NO_STATE)
{
    hd_test_assert_linear("strange threads", strange_threads, &(bool){false}, 25);
    hd_test_assert_linear("strange threads alike", strange_threads, &(bool){true}, 25);
}

static double days_apart(void *context, size_t many)
{
    (void)context;
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < (int)many; i++) {
        make_launch(&gpu, 1, i * DAY, i + 1);
        maker_sample(&cpu, PID, 1, i * DAY - 5 * US, "main;cudaLaunchKernel", 0);
    }
    double seconds = attribute(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->launches_by[HD_RULE_THREAD], many);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__samples_days_apart(NO_STATE)
{
    hd_test_assert_linear("days apart", days_apart, NULL, FEW);
}

static double noise(void *context, size_t many)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    uint64_t seed = *(unsigned *)context;
    int64_t range = (int64_t)many * 7000;
    for (size_t i = 0; i < many; i++) make_launch(&gpu, 1, UNIX + random_next(&seed) % range, (int64_t)i + 1);
    for (size_t i = 0; i < many * 4 / 5; i++)
        maker_sample(&cpu, PID, 1, UNIX + random_next(&seed) % range, "main;cudaLaunchKernel", 0);
    double seconds = attribute(&a, &gpu, &cpu, &options);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__no_rhythm_at_all(NO_STATE)
{
    unsigned seed = hd_test_seed(9);
    hd_test_assert_linear("noise", noise, &seed, FEW);
}

/* Gaps that shrink from launch to launch: each place is a little better than all before it. */
static double shrinking_gaps(void *context, size_t many)
{
    (void)context;
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    int64_t at = UNIX;
    for (int i = 0; i < (int)many; i++) make_launch(&gpu, 1, at += 2 * ((int)many - i), i + 1);
    for (int i = 0; i < 1000; i++) maker_sample(&cpu, PID, 1, i * 1, "main;cudaLaunchKernel", 0);
    double seconds = attribute(&a, &gpu, &cpu, &options);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__ever_better_places(NO_STATE)
{
    hd_test_assert_linear("shrinking gaps", shrinking_gaps, NULL, FEW);
}

/* ---- deep ---- */

static uint32_t push_deep(maker *m, uint32_t node, unsigned frames, const char *who)
{
    for (unsigned i = 0; i < frames; i++) {
        char name[32];
        int size = snprintf(name, sizeof name, "%s%u", who, i);
        node = hd_stacks_push(m->stacks, node, hd_stacks_name(m->stacks, name, (size_t)size), HD_FRAME_NATIVE);
    }
    return node;
}

static void add_stack(maker *cpu, int64_t at, uint32_t node, int64_t id)
{
    static const char *const names[] = {"sf", "correlation"};
    static const hd_arg_scope scopes[] = {HD_SCOPE_EVENT, HD_SCOPE_ARGS};
    const int64_t values[] = {node, id};
    hd_row row = hd_row_of(HD_KIND_SAMPLE, 'P');
    row.name = hd_builder_intern_text(cpu->builder, "stack");
    row.track = hd_builder_thread(cpu->builder, PID, 1);
    row.start_ns = at;
    maker_add(cpu, &row, names, scopes, values, 2);
}

/* Every launch of a graph has a stack of its own, and nodes that were made under a very deep one. */
static void test_attribution_hostile__deep_creation_stacks_under_many_launches(NO_STATE)
{
    enum { LAUNCHES = 2000, DEPTH = 10000 };
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    maker_call(&gpu, "cudaGraphKernelNode", PID, 1, UNIX - MS, 1);
    add_stack(&cpu, UNIX - MS, push_deep(&cpu, HD_STACK_NONE, DEPTH, "deep"), 1);
    for (int i = 0; i < LAUNCHES; i++) {
        int64_t at = UNIX + i * (int64_t)MS, id = i + 2;
        maker_call(&gpu, "cudaGraphLaunch", PID, 1, at, id);
        maker_slice(&gpu, "kernel", "k", 0, 7, at + 10 * US, 1000, id, 1);
        char name[32];
        snprintf(name, sizeof name, "main;step%d;cudaGraphLaunch", i);
        add_stack(&cpu, at, maker_stack(&cpu, name), id);
    }
    (void)attribute(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_ID], LAUNCHES);
    assert_true(hd_stacks_count(a->stacks) < LAUNCHES * DEPTH / 2);
    assert_true(hd_stacks_at(a->stacks, a->work_stack[0]).depth == DEPTH + 4);
    assert_true(hd_stacks_at(a->stacks, a->work_stack[LAUNCHES - 1]).depth == 3);
    hd_attribution_free(a);
}

static double works_of_one(void *context, size_t works)
{
    (void)context;
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    maker_call(&gpu, "cudaGraphLaunch", PID, 1, UNIX, 5);
    for (int64_t i = 0; i < (int64_t)works; i++) maker_kernel(&gpu, "k", UNIX + i * 7919 % (int64_t)works * US, 5);
    maker_sample(&cpu, PID, 1, UNIX, "main;cudaGraphLaunch", 5);
    double seconds = attribute(&a, &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_ID], works);
    assert_int_equal(a->kernels_of_graphs, works);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__one_launch_of_very_many_works(NO_STATE)
{
    hd_test_assert_linear("works of one launch", works_of_one, NULL, FEW);
}

static double annotate_as_well(hd_attribution **out, maker *gpu)
{
    hd_trace *trace = maker_finish(gpu), *made;
    const hd_attribution_options options = {.forward = true};
    double from = hd_test_cpu_seconds();
    assert_int_equal(hd_attribute(out, trace, NULL, &options, NULL), HD_OK);
    assert_int_equal(annotate_within(&made, *out, trace, NULL, 1 << 20, NULL), HD_OK); /* not the 256 MB of text */
    double seconds = hd_test_cpu_seconds() - from;
    hd_trace_free(trace);
    hd_trace_free(made);
    return seconds;
}

/* Each slice begins within the last one and ends within it, or behind it, and has a launch in it. */
static double nested(void *context, size_t many)
{
    bool crossing = *(bool *)context;
    int depth = (int)many;
    maker gpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < depth; i++) {
        int64_t at = i * 10LL, end = crossing ? depth * 10LL + i : depth * 30LL - i;
        char name[32];
        snprintf(name, sizeof name, "f%d", crossing ? i : i % 7);
        maker_slice(&gpu, "python_function", name, PID, 1, at, end - at, 0, 0);
        maker_slice(&gpu, "cuda_runtime", "cudaLaunchKernel", PID, 1, at + 3, 1, i + 1, 0);
        maker_slice(&gpu, "kernel", "k", 0, 7, at + 5, 1, i + 1, 0);
    }
    double seconds = annotate_as_well(&a, &gpu);
    assert_int_equal(a->works_by[HD_RULE_SLICES], depth);
    if (!crossing) assert_int_equal(hd_stacks_at(a->stacks, a->work_stack[depth - 1]).depth, depth + 1);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__a_launch_at_every_depth(NO_STATE)
{
    hd_test_assert_linear("launches at every depth", nested, &(bool){false}, FEW);
    hd_test_assert_linear("crossing slices", nested, &(bool){true}, FEW);
}

/* Flows only, all of one id, and ends before starts. */
static double flows_of_one_id(void *context, size_t many)
{
    (void)context;
    maker gpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < (int)many; i++) {
        maker_slice(&gpu, "cuda_runtime", "cudaLaunchKernel", PID, 1, i * 10LL, 5, 0, 0);
        maker_slice(&gpu, "kernel", "k", 0, 7, i * 10LL + 2 - i % 3 * 1000, 5, 0, 0);
        for (int end = 0; end < 2; end++) {
            hd_row row = hd_row_of(HD_KIND_FLOW, end ? 'f' : 's');
            row.phase |= HD_FLAG_BIND_ENCLOSING;
            row.track = end ? hd_builder_thread(gpu.builder, 0, 7) : hd_builder_thread(gpu.builder, PID, 1);
            row.start_ns = end ? i * 10LL + 2 - i % 3 * 1000 : i * 10LL;
            row.id_type = HD_ID_INT;
            assert_int_equal(hd_batch_add(gpu.batch, &row, NULL, NULL), HD_OK);
        }
    }
    double seconds = annotate_as_well(&a, &gpu);
    hd_attribution_free(a);
    return seconds;
}

static void test_attribution_hostile__all_flows_have_one_id(NO_STATE)
{
    hd_test_assert_linear("flows of one id", flows_of_one_id, NULL, FEW);
}

/* ---- the ends of the range ---- */

/* Most marks lie so far apart that nothing joins them, a few fit: what is typical must not overflow. */
static void test_attribution_hostile__most_marks_are_ages_apart(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    const hd_attribution_options options = {.has_offset = true, .force = true};
    for (int i = 0; i < 50; i++) {
        make_launch(&gpu, 1, INT64_MAX / 2 - i * 1000, i + 1);
        maker_sample(&cpu, PID, 1, -(INT64_MAX / 2) + i * 1000, "main;cudaLaunchKernel", 0);
    }
    make_launch(&gpu, 1, 0, 100);
    maker_sample(&cpu, PID, 1, 10, "main;cudaLaunchKernel", 0);
    (void)attribute(&a, &gpu, &cpu, &options);
    assert_int_equal(a->launches_by[HD_RULE_THREAD], 1);
    hd_attribution_free(a);
}

/* Offsets that jump by ages within nanoseconds look like a clock that drifts beyond all numbers. */
static void test_attribution_hostile__a_drift_beyond_all_numbers(NO_STATE)
{
    uint64_t seed = hd_test_seed(3);
    for (int round = 0; round < 60; round++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        const hd_attribution_options options = {.force = true, .tolerance_ns = INT64_MAX};
        for (int i = 0; i < 400; i++) {
            int shift = (int)(random_next(&seed) % 62);
            int64_t far = (int64_t)((uint64_t)random_next(&seed) << 31 | random_next(&seed)) >> shift;
            make_launch(&gpu, 1,
                        round % 3 ? far - INT64_MAX / 4
                        : i < 200 ? -INT64_MAX / 2 + i
                                  : INT64_MAX / 2 + i,
                        i + 1);
            maker_sample(&cpu, PID, 1, round % 2 ? i : far >> round % 7, "main;cudaLaunchKernel", 0);
        }
        (void)attribute(&a, &gpu, &cpu, &options);
        hd_attribution_free(a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attribution_hostile__all_at_one_time),
        cmocka_unit_test(test_attribution_hostile__all_with_one_id),
        cmocka_unit_test(test_attribution_hostile__a_thread_for_every_sample),
        cmocka_unit_test(test_attribution_hostile__hundreds_of_strange_threads),
        cmocka_unit_test(test_attribution_hostile__samples_days_apart),
        cmocka_unit_test(test_attribution_hostile__no_rhythm_at_all),
        cmocka_unit_test(test_attribution_hostile__ever_better_places),
        cmocka_unit_test(test_attribution_hostile__deep_creation_stacks_under_many_launches),
        cmocka_unit_test(test_attribution_hostile__one_launch_of_very_many_works),
        cmocka_unit_test(test_attribution_hostile__a_launch_at_every_depth),
        cmocka_unit_test(test_attribution_hostile__all_flows_have_one_id),
        cmocka_unit_test(test_attribution_hostile__most_marks_are_ages_apart),
        cmocka_unit_test(test_attribution_hostile__a_drift_beyond_all_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
