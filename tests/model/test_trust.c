/* test_trust.c - each doubt about a trace just below, at and just above where it begins */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/analysis/launches.h"
#include "model/trust/trust.h"
#include "read_text.h"

#define US 1000ll
#define SECOND 1000000000ll

/* ---- traces as text ---- */

typedef struct maker {
    char text[1 << 17];
    size_t size;
} maker;

static void put(maker *m, const char *form, ...) __attribute__((format(printf, 2, 3)));
static void put(maker *m, const char *form, ...)
{
    va_list list;
    va_start(list, form);
    m->size += (size_t)vsnprintf(m->text + m->size, sizeof m->text - m->size, form, list);
    va_end(list);
    assert_true(m->size < sizeof m->text);
}

static maker *maker_new(void)
{
    maker *m = calloc(1, sizeof *m);
    assert_non_null(m);
    put(m, "[");
    return m;
}

static void slice(maker *m, const char *category, const char *name, int pid, int tid, int64_t start, int64_t duration,
                  const char *args)
{
    bool below = start < 0;
    uint64_t size = below ? (uint64_t)-start : (uint64_t)start;
    put(m,
        "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%s%llu.%03llu,\"dur\":%lld.%03lld,"
        "\"args\":{%s}}",
        m->size > 1 ? "," : "", category, name, pid, tid, below ? "-" : "", (unsigned long long)size / 1000,
        (unsigned long long)size % 1000, (long long)duration / 1000, (long long)duration % 1000, args);
}

static void call(maker *m, const char *name, int id, int64_t start)
{
    char args[64];
    snprintf(args, sizeof args, "\"correlation\":%d", id);
    slice(m, "cuda_runtime", name, 1, 1, start, 5 * US, args);
}

/* device is the pid as well, as in Kineto's traces. */
static void kernel_on(maker *m, const char *name, int device, int id, int64_t start, int64_t duration, const char *more)
{
    char args[128];
    snprintf(args, sizeof args, "\"correlation\":%d,\"device\":%d,\"stream\":7%s", id, device, more);
    slice(m, "kernel", name, device, 7, start, duration, args);
}

/* A launch at `start`, and its kernel behind it. */
static void run(maker *m, const char *name, int id, int64_t start, int64_t delay, int64_t duration)
{
    call(m, "cudaLaunchKernel", id, start);
    kernel_on(m, name, 0, id, start + delay, duration, "");
}

/* `count` of them, every 100 us; none of them odd. */
static void run_many(maker *m, int first, int count, int64_t start)
{
    for (int i = 0; i < count; i++) run(m, "k", first + i, start + 100 * US * i, 10 * US, 50 * US);
}

static gpu_trust trust_of(maker *m)
{
    hd_trace *trace;
    hd_launches *launches;
    const gpu_trust *trust, *again;
    put(m, "]");
    assert_int_equal(read_text(&trace, m->text, m->size, &read_fast, 0, NULL), HD_OK);
    assert_int_equal(hd_launches_new(&launches, trace, NULL), HD_OK);
    assert_int_equal(gpu_trust_of(&trust, trace, launches, NULL), HD_OK);
    assert_int_equal(gpu_trust_of(&again, trace, launches, NULL), HD_OK);
    assert_ptr_equal(trust, again);
    gpu_trust out = *trust;
    out.of_works = out.of_lanes = NULL;
    hd_launches_free(launches);
    hd_trace_free(trace);
    free(m);
    return out;
}

/* The trace has this doubt of so many of so many, and no other. */
/* after: launches at the end of the recording. */
static void assert_with_after(maker *m, gpu_doubt_code code, uint64_t count, uint64_t of, uint64_t after)
{
    gpu_trust trust = trust_of(m);
    for (int i = 0; i < GPU_DOUBTS; i++) {
        uint64_t wanted = i == (int)code ? count : i == GPU_DOUBT_AFTER ? after : 0;
        if (trust.doubts[i].count != wanted)
            fail_msg("%s: %d, expected %d", gpu_doubt_abouts[i].code, (int)trust.doubts[i].count, (int)wanted);
    }
    if (count) assert_int_equal(trust.doubts[code].of, of);
}

static void assert_only(maker *m, gpu_doubt_code code, uint64_t count, uint64_t of)
{
    assert_with_after(m, code, count, of, 0);
}

/* ---- times ---- */

static void test_trust__nothing_is_found_in_what_is_healthy(void **state)
{
    (void)state;
    maker *m = maker_new();
    char text[GPU_DOUBT_TEXT];
    run_many(m, 1, 20, 0);
    gpu_trust trust = trust_of(m);
    for (int i = 0; i < GPU_DOUBTS; i++) assert_int_equal(trust.doubts[i].count, 0);
    assert_string_equal(gpu_trust_text(text, &trust),
                        "nothing missing or impossible found in 20 GPU activities and 20 launches");
}

static void test_trust__without_launches_nothing_is_said_of_what_is_missing(void **state)
{
    (void)state;
    maker *m = maker_new();
    char text[GPU_DOUBT_TEXT];
    kernel_on(m, "k", 0, 0, 100 * US, 50 * US, "");
    gpu_trust trust = trust_of(m);
    assert_string_equal(gpu_trust_text(text, &trust),
                        "nothing impossible found in 1 GPU activities, but none has a known "
                        "launch, so missing activities cannot be found");
}

static void test_trust__activities_of_a_stream_overlap_by_more_than_noise(void **state)
{
    (void)state;
    for (int more = -1; more <= 1; more++) {
        maker *m = maker_new();
        run(m, "k", 1, 0, 10 * US, 105 * US + more); /* the next one begins at 110 us */
        run_many(m, 2, 5, 100 * US);
        assert_only(m, GPU_DOUBT_OVERLAP, more > 0, 6);
    }
    maker *m = maker_new(); /* and what another one contains */
    run_many(m, 1, 10, 0);
    run(m, "long", 99, 150 * US, 11 * US, 300 * US);
    assert_only(m, GPU_DOUBT_OVERLAP, 3, 11);
}

/* Launches at 0, 1 and 2 s; the GPU's clock is ahead by as much as that, or behind. */
static void test_trust__clocks_differ_by_more_than_launches_take(void **state)
{
    (void)state;
    for (int more = -1; more <= 1; more++) {
        maker *late = maker_new(), *early = maker_new();
        for (int i = 0; i < 3; i++) {
            run(late, "k", i + 1, i * SECOND, 2 * SECOND + more, 50 * US);
            run(early, "k", i + 1, i * SECOND, -2 * SECOND - more, 50 * US);
        }
        assert_only(late, GPU_DOUBT_CLOCKS, more > 0 ? 3 : 0, 3);
        if (more > 0)
            assert_only(early, GPU_DOUBT_CLOCKS, 3, 3);
        else
            assert_only(early, GPU_DOUBT_EARLY, 3, 3);
    }
    for (int more = 0; more <= 1; more++) { /* and never within a second */
        maker *m = maker_new();
        for (int i = 0; i < 3; i++) run(m, "k", i + 1, 100 * US * i, SECOND + more, 50 * US);
        assert_only(m, GPU_DOUBT_CLOCKS, more ? 3 : 0, 3);
    }
}

static void test_trust__the_clock_of_one_device_may_be_wrong(void **state)
{
    (void)state;
    maker *m = maker_new();
    run_many(m, 1, 5, 0);
    for (int i = 0; i < 5; i++) {
        call(m, "cudaLaunchKernel", 100 + i, 100 * US * i + 50 * US);
        kernel_on(m, "k", 3, 100 + i, 100 * SECOND + 100 * US * i, 50 * US, "");
    }
    assert_only(m, GPU_DOUBT_CLOCKS, 5, 10);
}

static void test_trust__activities_are_far_by_more_than_an_hour(void **state)
{
    (void)state;
    int64_t span = 900 * US, reach = span + 3600 * SECOND;
    for (int more = 0; more <= 1; more++) {
        maker *late = maker_new(), *early = maker_new();
        run_many(late, 1, 9, 0);
        run(late, "k", 10, span, reach + more, 50 * US);
        assert_only(late, GPU_DOUBT_FAR, (uint64_t)more, 10);
        run_many(early, 2, 9, 100 * US);
        run(early, "k", 1, 0, -reach - more, 50 * US);
        assert_only(early, more ? GPU_DOUBT_FAR : GPU_DOUBT_EARLY, 1, 10);
    }
}

static void test_trust__activities_are_early_by_more_than_noise(void **state)
{
    (void)state;
    for (int more = -1; more <= 1; more++) {
        maker *m = maker_new();
        run_many(m, 1, 9, 0);
        run(m, "k", 10, 1000 * US, -5 * US - more, 50 * US);
        assert_only(m, GPU_DOUBT_EARLY, more > 0, 10);
    }
}

/* `others` kernels of 200 us, and one of `duration`. */
static maker *long_one(const char *name, int others, int64_t duration)
{
    maker *m = maker_new();
    for (int i = 0; i < others; i++) run(m, name, i + 1, 1000 * US * i, 10 * US, 200 * US);
    run(m, name, 99, 1000 * US * others, 10 * US, duration);
    return m;
}

static void test_trust__kernels_are_too_long_beside_those_of_their_name(void **state)
{
    (void)state;
    assert_only(long_one("k", 9, 2 * SECOND), GPU_DOUBT_TOO_LONG, 0, 0);
    assert_only(long_one("k", 9, 2 * SECOND + 1), GPU_DOUBT_TOO_LONG, 1, 10);
    assert_only(long_one("k", 8, 2 * SECOND + 1), GPU_DOUBT_TOO_LONG, 0, 0);
    assert_only(long_one("ncclDevKernel_AllReduce_Sum_f32", 9, 2 * SECOND + 1), GPU_DOUBT_TOO_LONG, 0, 0);
}

/* ---- what was not recorded ---- */

static void test_trust__a_hundredth_of_launches_is_unrecorded(void **state)
{
    (void)state;
    for (int all = 99; all <= 101; all++) {
        maker *m = maker_new();
        call(m, "cudaLaunchKernel", 1, 0);
        run_many(m, 2, all - 1, 100 * US);
        assert_only(m, GPU_DOUBT_UNRECORDED, all <= 100, (uint64_t)all);
    }
}

static void test_trust__launches_at_the_end_or_into_a_graph_lack_nothing(void **state)
{
    (void)state;
    maker *m = maker_new();
    run_many(m, 1, 5, 0);
    for (int i = 0; i < 5; i++) call(m, "cudaLaunchKernel", 100 + i, 1000 * US + 10 * US * i);
    assert_only(m, GPU_DOUBT_AFTER, 5, 10);
    m = maker_new();
    slice(m, "cuda_runtime", "cudaStreamBeginCapture", 1, 1, 0, 5 * US, "");
    call(m, "cudaLaunchKernel", 100, 10 * US);
    call(m, "cudaLaunchKernel", 101, 20 * US);
    slice(m, "cuda_runtime", "cudaStreamEndCapture", 1, 1, 30 * US, 5 * US, "");
    run_many(m, 1, 5, 100 * US);
    assert_only(m, GPU_DOUBT_UNRECORDED, 0, 0);
    m = maker_new();
    slice(m, "cuda_runtime", "cudaStreamBeginCapture", 1, 1, 0, 5 * US, "");
    slice(m, "cuda_runtime", "cudaStreamEndCapture", 1, 1, 30 * US, 5 * US, "");
    call(m, "cudaLaunchKernel", 100, 50 * US); /* behind the capture */
    run_many(m, 1, 5, 100 * US);
    assert_only(m, GPU_DOUBT_UNRECORDED, 1, 6);
}

static void step(maker *m, int number, int64_t start)
{
    char name[32];
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    slice(m, "user_annotation", name, 1, 1, start, 400 * US, "");
}

static void test_trust__steps_launch_and_have_no_activity(void **state)
{
    (void)state;
    maker *m = maker_new();
    step(m, 1, 0);
    run_many(m, 1, 3, 10 * US);
    step(m, 2, 500 * US); /* launches nothing */
    assert_only(m, GPU_DOUBT_STEPS, 0, 0);
    m = maker_new();
    step(m, 1, 0);
    run_many(m, 1, 3, 10 * US);
    step(m, 2, 500 * US);
    call(m, "cudaLaunchKernel", 100, 510 * US);
    assert_with_after(m, GPU_DOUBT_STEPS, 1, 2, 1); /* it is the last launch, and lacks nothing otherwise */
    m = maker_new();
    step(m, 1, 0);
    run_many(m, 1, 3, 10 * US);
    step(m, 2, 500 * US);
    call(m, "cudaLaunchKernel", 100, 510 * US);
    kernel_on(m, "k", 0, 77, 600 * US, 50 * US, "");
    assert_with_after(m, GPU_DOUBT_UNLINKED, 1, 4, 1);
    for (int graphs = 1; graphs <= 2; graphs++) {
        m = maker_new();
        step(m, 1, 0);
        for (int i = 0; i < graphs; i++) call(m, "cudaGraphLaunch", 100 + i, 10 * US * (i + 1));
        step(m, 2, 500 * US);
        run_many(m, 1, 3, 510 * US);
        gpu_trust trust = trust_of(m);
        assert_int_equal(trust.doubts[GPU_DOUBT_STEPS].count, 1);
        assert_int_equal(trust.doubts[GPU_DOUBT_UNRECORDED].count, graphs);
        assert_int_equal(trust.doubts[GPU_DOUBT_UNRECORDED].graphs, graphs);
        assert_int_equal(trust.doubts[GPU_DOUBT_UNRECORDED].steps, 1);
    }
}

/* Launches of one graph, each with so many nodes. */
static maker *graphs(const int *nodes, int count)
{
    maker *m = maker_new();
    for (int i = 0; i < count; i++) {
        call(m, "cudaGraphLaunch", i + 1, 1000 * US * i);
        for (int k = 0; k < nodes[i]; k++)
            kernel_on(m, "node", 0, i + 1, 1000 * US * i + 10 * US + 60 * US * k, 50 * US, ",\"graph id\":4");
    }
    return m;
}

static void test_trust__launches_of_a_graph_lack_nodes(void **state)
{
    (void)state;
    assert_only(graphs((const int[]){3, 3, 3, 3}, 4), GPU_DOUBT_GRAPHS, 0, 0);
    assert_only(graphs((const int[]){2, 3, 3, 3}, 4), GPU_DOUBT_GRAPHS, 1, 4);
    assert_only(graphs((const int[]){3, 3, 3, 2}, 4), GPU_DOUBT_GRAPHS, 0, 0); /* the recording ended */
    assert_only(graphs((const int[]){2, 2, 3, 3}, 4), GPU_DOUBT_GRAPHS, 2, 4);
    assert_only(graphs((const int[]){2, 2, 2, 3}, 4), GPU_DOUBT_GRAPHS, 0, 0); /* one took another branch */
}

static void test_trust__activities_lack_launches_or_their_process_does(void **state)
{
    (void)state;
    maker *m = maker_new();
    run_many(m, 1, 5, 100 * US);
    kernel_on(m, "before", 0, 0, 0, 50 * US, ""); /* the recording began */
    assert_only(m, GPU_DOUBT_BEFORE, 1, 6);
    m = maker_new();
    run_many(m, 1, 5, 0);
    kernel_on(m, "lost", 0, 77, 600 * US, 50 * US, "");
    assert_only(m, GPU_DOUBT_UNLINKED, 1, 6);
    m = maker_new();
    run_many(m, 1, 5, 0);
    kernel_on(m, "other", 3, 77, 600 * US, 50 * US, "");
    kernel_on(m, "other", 3, 78, 700 * US, 50 * US, "");
    assert_only(m, GPU_DOUBT_NO_CALLS, 2, 7);
    m = maker_new(); /* copies on a row of their own */
    run_many(m, 1, 5, 0);
    slice(m, "gpu_memcpy", "Memcpy HtoD", 3, 7, 600 * US, 50 * US, "\"device\":3,\"stream\":7");
    assert_only(m, GPU_DOUBT_UNLINKED, 1, 6);
}

/* ---- the input ---- */

static void test_trust__what_was_lost_was_not_repaired(void **state)
{
    static const char mended[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,}]";
    hd_trace *trace;
    char text[GPU_DOUBT_TEXT];
    (void)state;
    assert_int_equal(read_text(&trace, mended, sizeof mended - 1, &read_fast, 0, NULL), HD_OK);
    gpu_trust trust = gpu_trust_of_input(trace);
    assert_true(trust.doubts[GPU_DOUBT_INPUT_REPAIRED].count > 0);
    assert_int_equal(trust.doubts[GPU_DOUBT_INPUT_LOST].count, 0);
    assert_string_equal(gpu_trust_text(text, &trust),
                        "parts of the input that were damaged, and repaired while reading: 1");
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trust__nothing_is_found_in_what_is_healthy),
        cmocka_unit_test(test_trust__without_launches_nothing_is_said_of_what_is_missing),
        cmocka_unit_test(test_trust__activities_of_a_stream_overlap_by_more_than_noise),
        cmocka_unit_test(test_trust__clocks_differ_by_more_than_launches_take),
        cmocka_unit_test(test_trust__the_clock_of_one_device_may_be_wrong),
        cmocka_unit_test(test_trust__activities_are_far_by_more_than_an_hour),
        cmocka_unit_test(test_trust__activities_are_early_by_more_than_noise),
        cmocka_unit_test(test_trust__kernels_are_too_long_beside_those_of_their_name),
        cmocka_unit_test(test_trust__a_hundredth_of_launches_is_unrecorded),
        cmocka_unit_test(test_trust__launches_at_the_end_or_into_a_graph_lack_nothing),
        cmocka_unit_test(test_trust__steps_launch_and_have_no_activity),
        cmocka_unit_test(test_trust__launches_of_a_graph_lack_nodes),
        cmocka_unit_test(test_trust__activities_lack_launches_or_their_process_does),
        cmocka_unit_test(test_trust__what_was_lost_was_not_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
