/* test_attribution_hostile.c - traces made to cost much time or memory, or to break sums: each must end soon */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "attribution_maker.h"
#include "random_trace.h"

#define NO_STATE void **state __attribute__((unused))

enum { PID = 100, US = 1000, MS = 1000000, MANY = 150000 };

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

static void attribute(hd_attribution **out, const char *what, maker *gpu, maker *cpu,
                      const hd_attribution_options *options)
{
    hd_error err = {0};
    hd_trace *gpu_trace = maker_finish(gpu), *cpu_trace = cpu ? maker_finish(cpu) : NULL;
    clock_t from = clock();
    hd_status status = hd_attribute(out, gpu_trace, cpu_trace, options, &err);
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    if (seconds > 0.1) print_message("%s: %.2f s\n", what, seconds);
    if (status != HD_OK && status != HD_ERR_DAMAGED) fail_msg("%s: %s", what, err.message);
    if (status == HD_OK) assert_sums(*out, cpu_trace ? hd_trace_row_count(cpu_trace, HD_KIND_SAMPLE) : 0);
    hd_trace_free(gpu_trace);
    hd_trace_free(cpu_trace);
    assert_true(seconds < 45); /* of the processor, under sanitizers; quadratic time would be minutes */
}

static void make_launch(maker *gpu, int64_t tid, int64_t at, int64_t id)
{
    maker_call(gpu, "cudaLaunchKernel", PID, tid, at, id);
    maker_kernel(gpu, "k", at + 10 * US, id);
}

/* ---- many ---- */

static void test_attribution_hostile__all_at_one_time(NO_STATE)
{
    for (int fewer = 0; fewer < 2; fewer++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        hd_attribution_options options = {.force = true};
        for (int i = 0; i < MANY; i++) make_launch(&gpu, 1, UNIX, i + 1);
        for (int i = 0; i < MANY - 1000 * fewer; i++) maker_sample(&cpu, PID, 1, UNIX, "main;cudaLaunchKernel", 0);
        attribute(&a, "one time", &gpu, &cpu, &options);
        assert_int_equal(a->launches_by[HD_RULE_THREAD], MANY - 1000 * fewer);
        hd_attribution_free(a);
    }
}

static void test_attribution_hostile__all_with_one_id(NO_STATE)
{
    for (int pids = 0; pids < 2; pids++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        for (int i = 0; i < MANY; i++) {
            maker_call(&gpu, "cudaLaunchKernel", PID + i % 2 * pids, 1, UNIX + i * (int64_t)US * 10, 7);
            maker_kernel(&gpu, "k", UNIX + i * (int64_t)US * 10 + 5 * US, 7);
            maker_sample(&cpu, PID + i % 2 * pids, 1, UNIX + i * (int64_t)US * 10, "main;cudaLaunchKernel", 7);
        }
        attribute(&a, "one id", &gpu, &cpu, NULL);
        hd_attribution_free(a);
    }
}

static void test_attribution_hostile__a_thread_for_every_sample(NO_STATE)
{
    enum { THREADS = 40000 };
    for (int known = 0; known < 2; known++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        hd_attribution_options options = {.force = true};
        for (int i = 0; i < THREADS; i++) {
            int64_t at = UNIX + i * (int64_t)US * 50;
            make_launch(&gpu, i, at, i + 1);
            maker_sample(&cpu, PID, i + (known ? 0 : 1000000), at, "main;cudaLaunchKernel", 0);
        }
        attribute(&a, known ? "40,000 threads" : "40,000 strange threads", &gpu, &cpu, &options);
        if (known) assert_int_equal(a->launches_by[HD_RULE_THREAD], THREADS);
        hd_attribution_free(a);
    }
}

static void make_strange_threads(maker *gpu, maker *cpu, int threads, int marks, int64_t step, bool alike)
{
    uint64_t seed = 5;
    for (int t = 0; t < threads; t++) {
        for (int i = 0; i < marks; i++) {
            int64_t at = UNIX + i * step + (alike ? 0 : random_next(&seed) % (2 * step));
            make_launch(gpu, t, at, t * marks + i + 1);
            maker_sample(cpu, PID, 5000000 + t, at - 3 * US, "main;cudaLaunchKernel", 0);
        }
    }
}

static void test_attribution_hostile__hundreds_of_strange_threads(NO_STATE)
{
    for (int alike = 0; alike < 2; alike++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_attribution *a;
        hd_attribution_options options = {.force = true};
        make_strange_threads(&gpu, &cpu, 200, 200, 50 * US, alike); /* of 1,000: 8 s */
        attribute(&a, alike ? "200 strange threads alike" : "200 strange threads", &gpu, &cpu, &options);
        if (!alike) assert_true(a->launches_by[HD_RULE_SEQUENCE] > 30000);
        hd_attribution_free(a);
    }
}

static void test_attribution_hostile__samples_days_apart(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < 20000; i++) {
        make_launch(&gpu, 1, i * DAY, i + 1);
        maker_sample(&cpu, PID, 1, i * DAY - 5 * US, "main;cudaLaunchKernel", 0);
    }
    attribute(&a, "days apart", &gpu, &cpu, NULL);
    assert_int_equal(a->launches_by[HD_RULE_THREAD], 20000);
    hd_attribution_free(a);
}

static void test_attribution_hostile__no_rhythm_at_all(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    uint64_t seed = 9;
    for (int i = 0; i < MANY; i++) make_launch(&gpu, 1, UNIX + random_next(&seed) % 1000000000, i + 1);
    for (int i = 0; i < MANY * 4 / 5; i++)
        maker_sample(&cpu, PID, 1, UNIX + random_next(&seed) % 1000000000, "main;cudaLaunchKernel", 0);
    attribute(&a, "noise", &gpu, &cpu, &options);
    hd_attribution_free(a);
}

/* Gaps that shrink from launch to launch: each place is a little better than all before it. */
static void test_attribution_hostile__ever_better_places(NO_STATE)
{
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    hd_attribution_options options = {.force = true};
    int64_t at = UNIX;
    for (int i = 0; i < MANY; i++) make_launch(&gpu, 1, at += 2 * (MANY - i), i + 1);
    for (int i = 0; i < 1000; i++) maker_sample(&cpu, PID, 1, i * 1, "main;cudaLaunchKernel", 0);
    attribute(&a, "shrinking gaps", &gpu, &cpu, &options);
    hd_attribution_free(a);
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
    enum { LAUNCHES = 20000, DEPTH = 10000 };
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
    attribute(&a, "creation stacks", &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_ID], LAUNCHES);
    assert_true(hd_stacks_count(a->stacks) < 40000000);
    assert_true(hd_stacks_at(a->stacks, a->work_stack[0]).depth == DEPTH + 4);
    assert_true(hd_stacks_at(a->stacks, a->work_stack[LAUNCHES - 1]).depth == 3);
    hd_attribution_free(a);
}

static void test_attribution_hostile__one_launch_of_very_many_works(NO_STATE)
{
    enum { WORKS = 200000 };
    maker gpu = maker_new(), cpu = maker_new();
    hd_attribution *a;
    maker_call(&gpu, "cudaGraphLaunch", PID, 1, UNIX, 5);
    for (int i = 0; i < WORKS; i++) maker_kernel(&gpu, "k", UNIX + (i * 7919LL % WORKS) * US, 5);
    maker_sample(&cpu, PID, 1, UNIX, "main;cudaGraphLaunch", 5);
    attribute(&a, "200,000 works", &gpu, &cpu, NULL);
    assert_int_equal(a->works_by[HD_RULE_ID], WORKS);
    assert_int_equal(a->kernels_of_graphs, WORKS);
    hd_attribution_free(a);
}

static void annotate_as_well(hd_attribution **out, const char *what, maker *gpu)
{
    hd_trace *trace = maker_finish(gpu), *made;
    const hd_attribution_options options = {.forward = true};
    clock_t from = clock();
    assert_int_equal(hd_attribute(out, trace, NULL, &options, NULL), HD_OK);
    assert_int_equal(hd_attribution_annotate(&made, *out, trace, NULL, NULL), HD_OK);
    double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
    if (seconds > 0.1) print_message("%s: %.2f s\n", what, seconds);
    assert_true(seconds < 45);
    hd_trace_free(trace);
    hd_trace_free(made);
}

/* Each slice begins within the last one and ends within it, or behind it, and has a launch in it. */
static void test_attribution_hostile__a_launch_at_every_depth(NO_STATE)
{
    enum { DEPTH = 40000 };
    for (int crossing = 0; crossing < 2; crossing++) {
        maker gpu = maker_new();
        hd_attribution *a;
        for (int i = 0; i < DEPTH; i++) {
            int64_t at = i * 10LL, end = crossing ? DEPTH * 10LL + i : DEPTH * 30LL - i;
            char name[32];
            snprintf(name, sizeof name, "f%d", crossing ? i : i % 7);
            maker_slice(&gpu, "python_function", name, PID, 1, at, end - at, 0, 0);
            maker_slice(&gpu, "cuda_runtime", "cudaLaunchKernel", PID, 1, at + 3, 1, i + 1, 0);
            maker_slice(&gpu, "kernel", "k", 0, 7, at + 5, 1, i + 1, 0);
        }
        annotate_as_well(&a, crossing ? "crossing slices" : "launches at every depth", &gpu);
        assert_int_equal(a->works_by[HD_RULE_SLICES], DEPTH);
        if (!crossing) assert_int_equal(hd_stacks_at(a->stacks, a->work_stack[DEPTH - 1]).depth, DEPTH + 1);
        hd_attribution_free(a);
    }
}

/* Flows only, all of one id, and ends before starts. */
static void test_attribution_hostile__all_flows_have_one_id(NO_STATE)
{
    maker gpu = maker_new();
    hd_attribution *a;
    for (int i = 0; i < MANY; i++) {
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
    annotate_as_well(&a, "flows of one id", &gpu);
    hd_attribution_free(a);
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
    attribute(&a, "ages apart", &gpu, &cpu, &options);
    assert_int_equal(a->launches_by[HD_RULE_THREAD], 1);
    hd_attribution_free(a);
}

/* Offsets that jump by ages within nanoseconds look like a clock that drifts beyond all numbers. */
static void test_attribution_hostile__a_drift_beyond_all_numbers(NO_STATE)
{
    uint64_t seed = 3;
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
        attribute(&a, "drift", &gpu, &cpu, &options);
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
