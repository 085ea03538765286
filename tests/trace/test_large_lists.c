/* test_large_lists.c - what is made of a trace's events keeps to its memory limit: every allocation is counted
 *
 * The linker sends malloc and its kin through the counters here (--wrap).
 */
#include <ftw.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory/large.h"
#include "heddle/format.h"
#include "heddle/index.h"
#include "heddle/report.h"
#include "model/flows/bind.h"
#include "pass/attribution_maker.h"
#include "pass/lanes/apply.h"
#include "pass/lanes/lanes.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"

enum { SLICES = 400000, LIMIT = 1 << 20, BLOCK_BYTES = 3 * 8 * 65536 /* columns of one block, decoded */ };

/* ---- the counters ---- */

static _Atomic int64_t held, most;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *data, size_t size);
void __real_free(void *data);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *data, size_t size);
void __wrap_free(void *data);

static void *count(void *data)
{
    int64_t now =
        data ? atomic_fetch_add(&held, (int64_t)malloc_usable_size(data)) + (int64_t)malloc_usable_size(data) : 0;
    if (now > atomic_load(&most)) atomic_store(&most, now);
    return data;
}

static void uncount(void *data)
{
    if (data) atomic_fetch_sub(&held, (int64_t)malloc_usable_size(data));
}

void *__wrap_malloc(size_t size)
{
    return count(__real_malloc(size));
}

void *__wrap_calloc(size_t elements, size_t size)
{
    return count(__real_calloc(elements, size));
}

void *__wrap_realloc(void *data, size_t size)
{
    uncount(data);
    void *wider = __real_realloc(data, size);
    count(wider ? wider : data);
    return wider;
}

void __wrap_free(void *data)
{
    uncount(data);
    __real_free(data);
}

/* ---- traces ---- */

static void add(hd_batch *batch, hd_kind kind, char phase, int64_t start_ns, int64_t duration_ns)
{
    hd_row row = hd_row_of(kind, phase);
    row.track = 0;
    row.start_ns = start_ns;
    row.duration_ns = duration_ns;
    if (hd_batch_add(batch, &row, NULL, NULL) != HD_OK) fail();
}

static void append(hd_builder *builder, hd_batch *batch)
{
    hd_chunk *chunk;
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
}

typedef void row_maker(hd_batch *batch, int64_t i);

/* What finishing allocates beyond what was there, and the trace. */
static int64_t finish(hd_trace **out, row_maker *make, uint64_t limit)
{
    hd_builder *builder;
    hd_batch *batch;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    hd_builder_limit_memory(builder, limit);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    assert_int_equal(hd_builder_thread(builder, 1, 1), 0);
    for (int64_t i = 0; i < SLICES; i++) {
        make(batch, i);
        if (i % 32768 == 32767) append(builder, batch);
    }
    append(builder, batch);
    hd_batch_free(batch);
    int64_t before = atomic_load(&held);
    atomic_store(&most, before);
    assert_int_equal(hd_builder_finish(out, builder, NULL), HD_OK);
    return atomic_load(&most) - before;
}

static void complete(hd_batch *batch, int64_t i)
{
    if (i == 0) add(batch, HD_KIND_END, 'E', 0, 0);
    add(batch, HD_KIND_SLICE, 'X', 10 * i, 25);
    if (i % 2) add(batch, HD_KIND_FLOW, i % 4 == 1 ? 's' : 'f', 10 * i + 1, 0);
}

/* Pairs whose times go back now and then. */
static void pairs(hd_batch *batch, int64_t i)
{
    int64_t at = (i ^ 64) * 10;
    add(batch, i % 2 ? HD_KIND_END : HD_KIND_SLICE, i % 2 ? 'E' : 'B', at, 0);
}

static void nested(hd_batch *batch, int64_t i)
{
    add(batch, i < SLICES / 2 ? HD_KIND_SLICE : HD_KIND_END, i < SLICES / 2 ? 'B' : 'E', i, 0);
}

/* ---- tests ---- */

static hd_event slice_at(const hd_trace *trace, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
    hd_block_event(&event, block, at);
    return event;
}

static void test_finish__pairs_are_found_within_the_memory_limit(void **state)
{
    (void)state;
    row_maker *const makers[] = {complete, pairs, nested};
    for (size_t i = 0; i < 3; i++) {
        hd_trace *trace, *free_of_limit;
        int64_t small = finish(&trace, makers[i], LIMIT), large = finish(&free_of_limit, makers[i], (uint64_t)1 << 40);
        if (small > LIMIT + BLOCK_BYTES) fail_msg("rows %d: %d bytes", (int)i, (int)small);
        assert_true(large > 3 * LIMIT + BLOCK_BYTES); /* the counters count */
        uint64_t rows = hd_trace_row_count(trace, HD_KIND_SLICE);
        assert_int_equal(rows, hd_trace_row_count(free_of_limit, HD_KIND_SLICE));
        for (uint64_t r = 0; r < rows; r += 997) {
            hd_event a = slice_at(trace, r), b = slice_at(free_of_limit, r);
            assert_int_equal(a.start_ns, b.start_ns);
            assert_int_equal(a.duration_ns, b.duration_ns);
            assert_int_equal(a.partner, b.partner);
        }
        hd_trace_free(trace);
        hd_trace_free(free_of_limit);
    }
}

static void test_flow_bind__points_are_bound_within_the_memory_limit(void **state)
{
    (void)state;
    hd_trace *trace;
    uint32_t *bound;
    finish(&trace, complete, LIMIT);
    int64_t before = atomic_load(&held);
    atomic_store(&most, before);
    assert_int_equal(hd_flows_bind(&bound, trace, NULL), HD_OK);
    if (atomic_load(&most) - before > LIMIT) fail_msg("%d bytes", (int)(atomic_load(&most) - before));
    hd_large_free(bound);
    hd_trace_free(trace);
}

/* Of one track, out of order now and then: every slice crosses the two before it. */
static void crossing(hd_batch *batch, int64_t i)
{
    add(batch, HD_KIND_SLICE, 'X', 10 * (i % 1000 < 20 ? i ^ 64 : i), 25);
    if (i % 4 == 0) add(batch, HD_KIND_FLOW, i % 8 ? 's' : 'f', 10 * i + 1, 0);
}

static int64_t taken_since(int64_t before)
{
    int64_t taken = atomic_load(&most) - before;
    atomic_store(&most, atomic_load(&held));
    return taken;
}

static void test_lane_index__is_built_saved_and_loaded_within_the_memory_limit(void **state)
{
    (void)state;
    enum { WORKER_BYTES = 512 << 10 };
    hd_trace *trace;
    hd_index *index, *loaded;
    hd_bytes bytes = {0};
    finish(&trace, crossing, LIMIT);
    int64_t before = atomic_load(&held);
    atomic_store(&most, before);
    assert_int_equal(hd_index_build(&index, trace, 1, NULL), HD_OK);
    int64_t built = taken_since(before);
    assert_int_equal(hd_index_save(&bytes, index, NULL, NULL), HD_OK);
    int64_t saved = taken_since(before) - (int64_t)bytes.capacity;
    assert_int_equal(hd_index_load(&loaded, trace, bytes.data, bytes.size, NULL), HD_OK);
    int64_t read = taken_since(before) - (int64_t)bytes.capacity;
    print_message("index: built %d, saved %d, loaded %d bytes\n", (int)built, (int)saved, (int)read);
    assert_true(built < LIMIT + WORKER_BYTES && saved < LIMIT + WORKER_BYTES && read < LIMIT + WORKER_BYTES);
    assert_int_equal(hd_index_lane_at(loaded, 0)->busy_ns, hd_index_lane_at(index, 0)->busy_ns);
    hd_bytes_deinit(&bytes);
    hd_index_free(index);
    hd_index_free(loaded);
    hd_trace_free(trace);
}

static void test_lanes__are_planned_and_applied_within_the_memory_limit(void **state)
{
    (void)state;
    hd_trace *trace, *repaired;
    hd_lane_plan plan;
    hd_pass_result result;
    finish(&trace, crossing, LIMIT);
    int64_t before = atomic_load(&held);
    atomic_store(&most, before);
    assert_int_equal(hd_lanes_plan(&plan, trace, 0, NULL), HD_OK);
    int64_t planned = taken_since(before);
    assert_true(plan.edit_count > SLICES / 2);
    assert_int_equal(hd_lanes_apply(&repaired, &result, trace, &plan, NULL), HD_OK);
    int64_t applied = taken_since(before);
    print_message("lanes: planned %d, applied %d bytes\n", (int)planned, (int)applied);
    assert_true(planned < LIMIT);
    /* columns of a block that are to be changed, and the order of the events, a byte for each */
    assert_true(applied < 2 * LIMIT + HD_COL_COUNT * 8 * HD_BLOCK_ROWS + 2 * SLICES);
    hd_lane_plan_deinit(&plan);
    hd_trace_free(repaired);
    hd_trace_free(trace);
}

/* ---- attribution ---- */

enum { LAUNCHES = 100000 };

/* What tells which launch a sample is of, and of which call a piece of work is. */
typedef struct join_way {
    hd_stack_rule rule;
    bool forward;
} join_way;

static void add_launch(maker *gpu, maker *cpu, join_way way, int64_t i)
{
    int64_t at = 10000 * (i ^ 64) + (i % 7) * 300; /* out of order now and then */
    bool slices = way.rule == HD_RULE_SLICES;
    if (slices && i % 2) {
        maker_slice(gpu, "cpu_op", i % 4 == 1 ? "aten::mul" : "autograd::engine::evaluate_function: MulBackward0", 1, 5,
                    at - 1000, 9000, 0, 0);
        hd_row flow = hd_row_of(HD_KIND_FLOW, i % 4 == 1 ? 's' : 'f');
        flow.category = hd_builder_intern_text(gpu->builder, "fwdbwd");
        flow.track = hd_builder_thread(gpu->builder, 1, 5);
        flow.start_ns = at - 999;
        flow.id_type = HD_ID_INT;
        flow.id = i / 4;
        assert_int_equal(hd_batch_add(gpu->batch, &flow, NULL, NULL), HD_OK);
    }
    if (way.rule != HD_RULE_ORDER) maker_call(gpu, "cudaLaunchKernel", 1, 5, at, i + 1);
    maker_kernel(gpu, "gemm", at + 4000, i + 1);
    if (!slices) maker_sample(cpu, 1, 5, at + 50, "main;step;cudaLaunchKernel", way.rule == HD_RULE_ID ? i + 1 : 0);
}

static void test_attribution__is_found_and_annotated_within_the_memory_limit(void **state)
{
    /* the columns of three blocks (one is changed, one filled, one sealed), and the order of the events, a byte for
     * each */
    enum { ANNOTATE_BYTES = LIMIT + 3 * HD_COL_COUNT * 8 * HD_BLOCK_ROWS + 5 * LAUNCHES };
    static const join_way ways[] = {{HD_RULE_ID, false},
                                    {HD_RULE_THREAD, false},
                                    {HD_RULE_ORDER, false},
                                    {HD_RULE_SLICES, false},
                                    {HD_RULE_SLICES, true}};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        maker gpu = maker_new(), cpu = maker_new();
        hd_builder_limit_memory(gpu.builder, LIMIT);
        hd_builder_limit_memory(cpu.builder, LIMIT);
        for (int64_t i = 0; i < LAUNCHES; i++) {
            add_launch(&gpu, &cpu, ways[w], i);
            if (i % 8192 != 8191) continue;
            append(gpu.builder, gpu.batch);
            append(cpu.builder, cpu.batch);
        }
        hd_trace *work = maker_finish(&gpu), *other = maker_finish(&cpu), *annotated;
        const hd_trace *samples = ways[w].rule == HD_RULE_SLICES ? NULL : other;
        hd_attribution *found;
        const hd_attribution_options options = {.forward = ways[w].forward, .threads = 1};
        int64_t before = atomic_load(&held);
        atomic_store(&most, before);
        assert_int_equal(hd_attribute(&found, work, samples, &options, NULL), HD_OK);
        int64_t attributed = taken_since(before);
        assert_int_equal(found->works_by[ways[w].rule], LAUNCHES);
        if (ways[w].forward) assert_true(found->forward_joined > LAUNCHES / 5);
        assert_int_equal(hd_attribution_annotate(&annotated, found, work, samples, NULL), HD_OK);
        int64_t added = taken_since(before);
        print_message("by %s%s: attributed %d, annotated %d bytes\n", hd_stack_rule_name(ways[w].rule),
                      ways[w].forward ? " and forward" : "", (int)attributed, (int)added);
        assert_true(attributed < LIMIT && added < ANNOTATE_BYTES);
        hd_attribution_free(found);
        hd_trace_free(work);
        hd_trace_free(other);
        hd_trace_free(annotated);
    }
}

/* ---- reports and formats ---- */

/* A launch and its work on rows of their own, a flow between them, and an async slice. */
static void launch(maker *m, int64_t i)
{
    const int64_t at = 1000 * (i % 1000 < 20 ? i ^ 8 : i);
    static const hd_kind kinds[] = {HD_KIND_FLOW, HD_KIND_FLOW, HD_KIND_ASYNC, HD_KIND_ASYNC};
    static const char phases[] = "sfbe";
    maker_call(m, "cudaLaunchKernel", 1, 5 + i % 2, at, i + 1);
    maker_kernel(m, "gemm", at + 600, i + 1);
    for (int k = 0; k < 4; k++) {
        hd_row row = hd_row_of(kinds[k], phases[k]);
        row.category = row.name = hd_builder_intern_text(m->builder, "launch");
        row.track = k == 1 ? hd_builder_thread(m->builder, 0, 7) : hd_builder_thread(m->builder, 1, 5 + i % 2);
        row.start_ns = at + (k % 2 ? 600 : 0);
        row.id_type = HD_ID_INT;
        row.id = k < 2 ? i : i % 64;
        assert_int_equal(hd_batch_add(m->batch, &row, NULL, NULL), HD_OK);
    }
}

static hd_trace *launches(int64_t count)
{
    maker m = maker_new();
    hd_builder_limit_memory(m.builder, LIMIT);
    for (int64_t i = 0; i < count; i++) {
        launch(&m, i);
        if (i % 4096 == 4095) append(m.builder, m.batch);
    }
    return maker_finish(&m);
}

static char folder[32];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/heddle-lists-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info, (void)type, (void)at;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static hd_status check_all(hd_report *out, const hd_trace *trace, hd_error *err)
{
    return hd_report_check(out, trace, NULL, err);
}

enum { REPORTS = 2, FORMATS = 3, STEPS = REPORTS + 2 * FORMATS, PER_LAUNCH = 6 };

/* What each step has on the heap at most. */
static void measure(int64_t *out, int64_t count)
{
    static hd_status (*const reports[REPORTS])(hd_report *, const hd_trace *, hd_error *) = {hd_report_info, check_all};
    static const char *const formats[FORMATS] = {"perfetto", "sbt", "otf2"};
    hd_write_options options = {.threads = 1};
    const hd_read_options limited = {.threads = 1, .memory_limit = LIMIT};
    hd_trace *trace = launches(count), *again;
    for (int i = 0; i < REPORTS; i++) {
        hd_report report;
        int64_t before = atomic_load(&held);
        taken_since(before);
        assert_int_equal(reports[i](&report, trace, NULL), HD_OK);
        *out++ = taken_since(before);
        hd_report_free(&report);
    }
    for (int i = 0; i < FORMATS; i++) {
        char path[64];
        options.format = formats[i];
        *out = out[1] = 0;
        if (!hd_format_find(formats[i])) {
            out += 2;
            continue;
        }
        snprintf(path, sizeof path, "%s/%d.%s", folder, (int)count, formats[i]);
        int64_t before = atomic_load(&held);
        taken_since(before);
        assert_int_equal(hd_trace_write(trace, path, &options, NULL), HD_OK);
        *out++ = taken_since(before);
        assert_int_equal(hd_trace_read(&again, path, &limited, NULL), HD_OK);
        *out++ = taken_since(before);
        hd_trace_free(again);
    }
    hd_trace_free(trace);
}

static void test_reports_and_formats__take_no_more_for_twice_the_events(void **state)
{
    static const char *const names[STEPS] = {"info",        "check",    "pftrace written", "pftrace read",
                                             "sbt written", "sbt read", "otf2 written",    "otf2 read"};
    enum { COUNT = 40000 };
    int64_t once[STEPS], twice[STEPS];
    (void)state;
    measure(once, COUNT);
    measure(twice, 2 * COUNT);
    for (int i = 0; i < STEPS; i++) {
        double more = (double)(twice[i] - once[i]) / (COUNT * PER_LAUNCH);
        print_message("%s: %d and %d bytes, %.2f an event\n", names[i], (int)once[i], (int)twice[i], more);
        assert_true(more < 12); /* buffers still fill: a reader's batch has up to 2^18 rows */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lane_index__is_built_saved_and_loaded_within_the_memory_limit),
        cmocka_unit_test(test_attribution__is_found_and_annotated_within_the_memory_limit),
        cmocka_unit_test_setup_teardown(test_reports_and_formats__take_no_more_for_twice_the_events, make_folder,
                                        remove_folder),
        cmocka_unit_test(test_lanes__are_planned_and_applied_within_the_memory_limit),
        cmocka_unit_test(test_finish__pairs_are_found_within_the_memory_limit),
        cmocka_unit_test(test_flow_bind__points_are_bound_within_the_memory_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
