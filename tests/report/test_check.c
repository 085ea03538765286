/* test_check.c - every code of the check on a hand-built trace, and the count of crossings against counting pairs */
#include "report/report_trace.h"
#include "rounds.h"

/* The report on a trace, which is freed. */
static hd_report check_trace(maker *m, const hd_check_options *options)
{
    hd_report report;
    hd_trace *trace = finish(m);
    assert_int_equal(hd_report_check(&report, trace, options, NULL), HD_OK);
    hd_trace_free(trace);
    return report;
}

/* The row of a code, -1 none. */
static int row_of(const hd_report *report, const char *code)
{
    const hd_table *findings = hd_report_table(report, "findings");
    for (size_t row = 0; row < hd_table_row_count(findings); row++) {
        size_t size;
        const char *text = hd_table_get_string(&size, findings, row, column_named(findings, "code"));
        if (size == strlen(code) && memcmp(text, code, size) == 0) return (int)row;
    }
    return -1;
}

/* Asserts the sum of the counts of a code, and that nothing else but notes is found. */
static void assert_only(hd_report *report, const char *code, uint64_t count)
{
    const hd_table *findings = hd_report_table(report, "findings");
    uint64_t sum = 0;
    for (size_t row = 0; row < hd_table_row_count(findings); row++) {
        size_t size, code_column = column_named(findings, "code");
        const char *text = hd_table_get_string(&size, findings, row, code_column);
        if (size == strlen(code) && memcmp(text, code, size) == 0) {
            sum += count_at(findings, row, "count");
            continue;
        }
        assert_text_at(findings, row, "severity", "note");
    }
    assert_int_equal(sum, count);
    hd_report_free(report);
}

static void test_check__nested_and_disjoint_slices_are_fine(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "outer", 1, 0, 100);
    add_slice(&m, "inner", 1, 0, 50);
    add_slice(&m, "innermost", 1, 50, 100);
    add_slice(&m, "next", 1, 100, 200);
    add_slice(&m, "empty", 1, 150, 150);
    add_slice(&m, "other track", 2, 50, 150);
    hd_report report = check_trace(&m, NULL);
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "findings")), 0);
    assert_int_equal(count_at(hd_report_table(&report, "summary"), 0, "findings"), 0);
    hd_report_free(&report);
}

static void test_check__a_crossing_has_both_names_and_the_worst_overlap(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "a", 1, 0, 100);
    add_slice(&m, "b", 1, 60, 150);
    add_slice(&m, "c", 1, 90, 300);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings"), *examples = hd_report_table(&report, "examples");
    assert_int_equal(hd_table_row_count(findings), 1);
    assert_text_at(findings, 0, "code", "crossing");
    assert_text_at(findings, 0, "tid", "1");
    assert_int_equal(count_at(findings, 0, "count"), 3);
    assert_int_equal(count_at(findings, 0, "slices"), 2);
    assert_int_equal(int_at(findings, 0, "worst"), 60);
    assert_text_at(findings, 0, "example", "a \xc3\x97 b");
    assert_int_equal(hd_table_row_count(examples), 1);
    assert_text_at(examples, 0, "other_name", "b");
    assert_int_equal(int_at(examples, 0, "other_start"), 60);
    assert_int_equal(int_at(examples, 0, "value"), 40);
    hd_report_free(&report);
}

static void test_check__picoseconds_tell_a_crossing(void **state)
{
    (void)state;
    maker m = make();
    hd_row row = event_row(&m, HD_KIND_SLICE, 'X', "a", 1, 0);
    row.duration_ns = 10;
    row.end_ps = 500;
    add_row(&m, &row, NULL);
    row = event_row(&m, HD_KIND_SLICE, 'X', "b", 1, 10);
    row.start_ps = 499;
    row.duration_ns = 0;
    row.end_ps = 501;
    add_row(&m, &row, NULL);
    hd_report report = check_trace(&m, NULL);
    assert_int_equal(int_at(hd_report_table(&report, "findings"), 0, "worst"), 1);
    assert_only(&report, "crossing", 1);
}

static uint64_t pairs_of(int64_t (*spans)[2], size_t count)
{
    uint64_t pairs = 0;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = 0; b < count; b++)
            pairs += spans[a][0] < spans[b][0] && spans[b][0] < spans[a][1] && spans[a][1] < spans[b][1];
    }
    return pairs;
}

static void test_check__crossings_are_all_pairs_of_random_slices(void **state)
{
    (void)state;
    enum { SLICES = 400 };
    int64_t spans[SLICES][2];
    uint32_t seed = hd_test_seed(1);
    for (int round = 0; round < 60; round++) {
        maker m = make();
        int64_t longest = round % 3 == 0 ? 10 : round % 3 == 1 ? 200 : 4000;
        for (int i = 0; i < SLICES; i++) {
            seed = seed * 1664525 + 1013904223;
            spans[i][0] = seed >> 8 & 1023;
            seed = seed * 1664525 + 1013904223;
            spans[i][1] = spans[i][0] + (seed >> 8) % longest;
            add_slice(&m, "s", 1, spans[i][0], spans[i][1]);
        }
        hd_report report = check_trace(&m, NULL);
        assert_only(&report, "crossing", pairs_of(spans, SLICES));
    }
}

/* So many crossings that the list of open slices gives way to the tree of ranks. */
static void test_check__crossings_in_masses_are_counted_exactly(void **state)
{
    (void)state;
    enum { SLICES = 3000 };
    maker m = make();
    for (int i = 0; i < SLICES; i++) add_slice(&m, "s", 1, i, 100000 + i);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    int row = row_of(&report, "crossing");
    assert_int_equal(count_at(findings, (size_t)row, "count"), (uint64_t)SLICES * (SLICES - 1) / 2);
    assert_int_equal(count_at(findings, (size_t)row, "slices"), SLICES - 1);
    assert_int_equal(int_at(findings, (size_t)row, "worst"), 99999);
    hd_report_free(&report);
}

static void test_check__tracks_of_equal_ids_are_one(void **state)
{
    (void)state;
    maker m = make();
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(m.builder, "1")};
    hd_ident tid = {HD_IDENT_STRING, hd_builder_intern_text(m.builder, "7")};
    add_slice(&m, "number", 7, 0, 100);
    hd_row row = event_row(&m, HD_KIND_SLICE, 'X', "text", 7, 50);
    row.track = hd_builder_track(m.builder, pid, tid, false);
    row.duration_ns = 100;
    add_row(&m, &row, NULL);
    hd_report report = check_trace(&m, NULL);
    assert_int_equal(count_at(hd_report_table(&report, "findings"), (size_t)row_of(&report, "mixed-ids"), "count"), 1);
    assert_only(&report, "crossing", 1);
}

/* At the limit, and one above it, on two threads of one process. */
static void test_check__ids_over_32_bits_are_found(void **state)
{
    (void)state;
    static const char *const pids[] = {"4294967295", "4294967296", "-4294967296", "big"};
    maker m = make();
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) {
        for (int64_t tid = 1; tid < 3; tid++) {
            hd_row row = event_row(&m, HD_KIND_SLICE, 'X', "s", tid, 0);
            hd_ident pid = {i < 3 ? HD_IDENT_NUMBER : HD_IDENT_STRING, hd_builder_intern_text(m.builder, pids[i])};
            hd_ident thread = {HD_IDENT_NUMBER, hd_builder_intern_text(m.builder, tid == 1 ? "1" : "2")};
            row.track = hd_builder_track(m.builder, pid, thread, false);
            row.duration_ns = 10;
            add_row(&m, &row, NULL);
        }
    }
    add_slice(&m, "s", UINT32_MAX, 0, 10);
    add_slice(&m, "s", (int64_t)UINT32_MAX + 1, 0, 10);
    add_slice(&m, "s", INT64_MAX, 0, 10);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    int row = row_of(&report, "tid-over-32-bits");
    assert_true(row >= 0);
    assert_int_equal(count_at(findings, (size_t)row, "count"), 2);
    assert_text_at(findings, (size_t)row_of(&report, "pid-over-32-bits"), "pid", "4294967296");
    assert_only(&report, "pid-over-32-bits", 2);
}

static void test_check__negative_tids_cross_on_the_main_thread(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "main", 1, 0, 100);
    add_slice(&m, "worker", -5, 50, 150);
    add_slice(&m, "fine", -6, 200, 300);
    hd_report report = check_trace(&m, NULL);
    assert_only(&report, "merged-track", 1);
}

static void test_check__durations_that_are_negative_or_missing(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "backward", 1, 100, 60);
    hd_row row = event_row(&m, HD_KIND_SLICE, 'X', "none", 1, 200);
    add_row(&m, &row, NULL);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(int_at(findings, (size_t)row_of(&report, "negative-duration"), "worst"), -40);
    assert_true(row_of(&report, "no-duration") >= 0);
    assert_only(&report, "negative-duration", 1);
}

static void test_check__begins_and_ends_without_the_other(void **state)
{
    (void)state;
    maker m = make();
    hd_row end = event_row(&m, HD_KIND_END, 'E', "", 1, 5);
    hd_row begin = event_row(&m, HD_KIND_SLICE, 'B', "open", 1, 10);
    add_row(&m, &end, NULL);
    add_row(&m, &begin, NULL);
    add_row(&m, &begin, NULL);
    end.start_ns = 20;
    add_row(&m, &end, NULL);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(hd_table_row_count(findings), 2);
    assert_int_equal(count_at(findings, (size_t)row_of(&report, "begin-without-end"), "count"), 1);
    assert_int_equal(count_at(findings, (size_t)row_of(&report, "end-without-begin"), "count"), 1);
    hd_report_free(&report);
}

static void test_check__an_event_without_time_is_found(void **state)
{
    (void)state;
    maker m = make();
    hd_row row = event_row(&m, HD_KIND_OTHER, 'X', "timeless", 1, HD_NO_TIME);
    add_row(&m, &row, NULL);
    hd_report report = check_trace(&m, NULL);
    assert_only(&report, "no-time", 1);
}

static void test_check__flows_lack_ends_or_run_backward(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "all", 1, 0, 1000);
    add_flow(&m, 's', 1, 1, 10, true); /* whole, with two ends */
    add_flow(&m, 'f', 1, 1, 20, true);
    add_flow(&m, 'f', 1, 1, 30, true);
    add_flow(&m, 's', 2, 1, 10, true); /* no end */
    add_flow(&m, 'f', 3, 1, 20, true); /* no start */
    add_flow(&m, 's', 4, 1, 90, true); /* backward */
    add_flow(&m, 'f', 4, 1, 40, true);
    add_flow(&m, 's', 5, 1, 10, true); /* a step is an end, as rocprofiler writes it */
    add_flow(&m, 't', 5, 1, 20, true);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(hd_table_row_count(findings), 3);
    assert_int_equal(count_at(findings, (size_t)row_of(&report, "flow-without-end"), "count"), 1);
    assert_int_equal(count_at(findings, (size_t)row_of(&report, "flow-without-start"), "count"), 1);
    assert_int_equal(int_at(findings, (size_t)row_of(&report, "flow-backward"), "worst"), 50);
    hd_report_free(&report);
}

static void test_check__flow_points_need_a_slice_to_bind_to(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "a", 1, 100, 200);
    add_flow(&m, 's', 1, 1, 100, false);
    add_flow(&m, 'f', 1, 1, 200, true);
    add_flow(&m, 's', 2, 1, 50, false); /* nothing around it */
    add_flow(&m, 'f', 2, 1, 50, false); /* a is the next */
    add_flow(&m, 's', 3, 1, 150, false);
    add_flow(&m, 'f', 3, 1, 201, false); /* nothing follows */
    hd_report report = check_trace(&m, NULL);
    assert_only(&report, "flow-unbound", 2);
}

static void test_check__flow_points_bind_on_their_own_type_of_tid(void **state)
{
    (void)state;
    maker m = make();
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(m.builder, "1")};
    hd_ident tid = {HD_IDENT_STRING, hd_builder_intern_text(m.builder, "7")};
    hd_row row = event_row(&m, HD_KIND_SLICE, 'X', "a", 7, 0);
    row.track = hd_builder_track(m.builder, pid, tid, false);
    row.duration_ns = 100;
    add_row(&m, &row, NULL);
    add_flow(&m, 's', 1, 7, 10, true);
    add_flow(&m, 'f', 1, 7, 20, true);
    hd_report report = check_trace(&m, NULL);
    assert_only(&report, "flow-unbound", 2);
}

static void test_check__gpu_work_is_early_or_lacks_its_launch(void **state)
{
    (void)state;
    maker m = make();
    add_correlated(&m, "cuda_runtime", "cudaMemsetAsync", 1, 60, 4);
    add_correlated(&m, "cuda_runtime", "cudaLaunchKernel", 1, 100, 5);
    add_correlated(&m, "kernel", "early", 7, 70, 5);
    add_correlated(&m, "kernel", "late", 7, 130, 5);
    add_correlated(&m, "kernel", "orphan", 7, 150, 6);
    add_correlated(&m, "kernel", "no id", 7, 170, 0);
    add_correlated(&m, "cuda_runtime", "cudaMemcpyAsync", 1, 200, 8);
    add_correlated(&m, "cuda_runtime", "cudaDeviceSynchronize", 1, 220, 9);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    size_t early = (size_t)row_of(&report, "gpu-before-launch");
    assert_int_equal(count_at(findings, early, "count"), 1);
    assert_int_equal(int_at(findings, early, "worst"), 30);
    assert_text_at(findings, early, "example", "early \xc3\x97 cudaLaunchKernel");
    assert_text_at(findings, (size_t)row_of(&report, "gpu-without-launch"), "example", "orphan");
    size_t lone = (size_t)row_of(&report, "launch-without-gpu");
    assert_int_equal(count_at(findings, lone, "count"), 1);
    assert_text_at(findings, lone, "severity", "note");
    assert_text_at(findings, lone, "example", "cudaMemsetAsync");
    assert_text_at(findings, (size_t)row_of(&report, "gpu-after-recording"), "example", "cudaMemcpyAsync");
    hd_report_free(&report);
}

static void test_check__ids_of_ranks_are_apart(void **state)
{
    (void)state;
    maker m = make();
    for (int64_t rank = 0; rank < 2; rank++) {
        hd_builder_set_rank(m.builder, hd_builder_thread(m.builder, 1, 10 + rank), rank);
        hd_builder_set_rank(m.builder, hd_builder_thread(m.builder, 1, 20 + rank), rank);
    }
    add_correlated(&m, "cuda_runtime", "cudaLaunchKernel", 10, 100, 5);
    add_correlated(&m, "kernel", "mine", 20, 130, 5);
    add_correlated(&m, "cuda_runtime", "cudaLaunchKernel", 11, 200, 6);
    add_correlated(&m, "kernel", "theirs", 21, 110, 5);
    add_correlated(&m, "kernel", "mine too", 21, 230, 6);
    hd_report report = check_trace(&m, NULL);
    size_t orphan = (size_t)row_of(&report, "gpu-before-recording");
    assert_text_at(hd_report_table(&report, "findings"), orphan, "example", "theirs");
    assert_only(&report, "gpu-before-recording", 1);
}

static void test_check__calls_that_launch_later_or_nothing_lack_no_work(void **state)
{
    (void)state;
    maker m = make();
    hd_arg_key keys[] = {
        {.key = hd_builder_intern_text(m.builder, "correlation"), .type = HD_ARG_INT},
        {.key = hd_builder_intern_text(m.builder, "graphNodeCreatorCorrelationId"), .type = HD_ARG_INT}};
    const int64_t ids[] = {9, 5};
    add_correlated(&m, "cuda_runtime", "cudaLaunchKernel", 1, 100, 5); /* captured */
    add_correlated(&m, "cuda_runtime", "cudaLaunchHostFunc", 1, 120, 6);
    add_correlated(&m, "cuda_runtime", "cudaGraphAddMemcpyNode", 1, 140, 7);
    add_correlated(&m, "CUDA_Runtime", "Runtime: cudaMemcpy_v3020", 1, 160, 8);
    add_correlated(&m, "cuda_driver", "cuLaunchKernel", 1, 182, 9);
    add_correlated(&m, "cuda_runtime", "cudaGraphLaunch", 1, 180, 9);
    add_correlated(&m, "MemCopy", "MemCopy: HtoD", 7, 200, 8);
    hd_row row = event_row(&m, HD_KIND_SLICE, 'X', "k", 7, 220);
    row.duration_ns = 10;
    row.category = hd_builder_intern_text(m.builder, "kernel");
    row.shape = hd_builder_shape(m.builder, keys, 2, true);
    add_row(&m, &row, ids);
    hd_report report = check_trace(&m, NULL);
    assert_int_equal(row_of(&report, "launch-without-gpu"), -1);
    assert_int_equal(row_of(&report, "gpu-without-launch"), -1);
    hd_report_free(&report);
}

static void test_check__async_begins_and_ends_pair_by_id(void **state)
{
    (void)state;
    maker m = make();
    static const struct {
        char phase;
        int64_t id, at;
    } points[] = {{'b', 1, 10}, {'b', 1, 20}, {'e', 1, 30}, {'e', 1, 40},
                  {'b', 2, 10}, {'e', 3, 20}, {'S', 4, 5},  {'F', 4, 6}};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        hd_row row = event_row(&m, HD_KIND_ASYNC, points[i].phase, "io", 1, points[i].at);
        row.id_type = HD_ID_INT;
        row.id = points[i].id;
        add_row(&m, &row, NULL);
    }
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(hd_table_row_count(findings), 2);
    assert_int_equal(int_at(findings, (size_t)row_of(&report, "async-without-end"), "start"), 10);
    assert_int_equal(int_at(findings, (size_t)row_of(&report, "async-without-begin"), "start"), 20);
    hd_report_free(&report);
}

static void test_check__counters_are_numbers(void **state)
{
    (void)state;
    maker m = make();
    hd_builder_facts(m.builder)->has_args = true;
    uint32_t key = hd_builder_intern_text(m.builder, "bytes");
    for (int i = 0; i < 3; i++) {
        hd_arg_key keys = {.key = key, .type = i ? HD_ARG_STRING : HD_ARG_INT};
        int64_t value = i == 0 ? 5 : hd_builder_intern_text(m.builder, i == 1 ? "12.5" : "many");
        hd_row row = event_row(&m, HD_KIND_COUNTER, 'C', "memory", 1, i);
        row.shape = hd_builder_shape(m.builder, &keys, 1, true);
        add_row(&m, &row, &value);
    }
    hd_report report = check_trace(&m, NULL);
    assert_only(&report, "counter-not-numeric", 1);
}

static void test_check__order_and_outliers_are_notes(void **state)
{
    (void)state;
    const int64_t epoch = INT64_C(1683564901540885000);
    maker m = make();
    add_slice(&m, "late", 1, epoch + 500, epoch + 600);
    add_slice(&m, "early", 1, epoch, epoch + 100);
    hd_row row = event_row(&m, HD_KIND_INSTANT, 'i', "Record Window End", 1, 0);
    add_row(&m, &row, NULL);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(hd_table_row_count(findings), 2);
    assert_int_equal(int_at(findings, (size_t)row_of(&report, "out-of-order"), "worst"), 500);
    assert_text_at(findings, (size_t)row_of(&report, "time-outlier"), "example", "Record Window End");
    assert_only(&report, "nothing", 0);
}

static void test_check__a_trace_of_two_clocks_lasts_over_a_year(void **state)
{
    (void)state;
    const int64_t epoch = INT64_C(1683564901540885000);
    maker m = make();
    for (int i = 0; i < 10; i++) add_slice(&m, "s", 1, epoch + i * 100, epoch + i * 100 + 50);
    add_slice(&m, "lost", 1, 1000, 2000);
    hd_report report = check_trace(&m, NULL);
    assert_text_at(hd_report_table(&report, "findings"), (size_t)row_of(&report, "time-outlier"), "example", "lost");
    assert_only(&report, "span-over-year", 1);
}

static void test_check__the_ledger_is_part_of_the_findings(void **state)
{
    (void)state;
    maker m = make();
    hd_builder_ledger(m.builder, "chrome", "json.bare_nan", HD_LEDGER_REPAIR, 3, 77);
    hd_builder_ledger(m.builder, "chrome", "chrome.event-lost", HD_LEDGER_LOSS, 1, 99);
    hd_builder_ledger(m.builder, "chrome", "chrome.harmless", HD_LEDGER_NOTE, 1, 11);
    hd_report report = check_trace(&m, NULL);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(hd_table_row_count(findings), 2);
    assert_text_at(findings, 0, "code", "chrome.event-lost");
    assert_text_at(findings, 0, "severity", "error");
    assert_int_equal(count_at(findings, 1, "count"), 3);
    assert_int_equal(int_at(findings, 1, "offset"), 77);
    hd_report_free(&report);
}

static maker crossings_on_tracks(int tracks)
{
    maker m = make();
    for (int tid = 1; tid <= tracks; tid++) {
        for (int i = 0; i <= tid; i++) add_slice(&m, "s", tid, i, 1000 + i);
    }
    return m;
}

static void test_check__examples_and_rows_are_limited(void **state)
{
    (void)state;
    maker m = crossings_on_tracks(5);
    hd_check_options options = {.examples = 2, .tracks_per_code = 2};
    hd_report report = check_trace(&m, &options);
    const hd_table *findings = hd_report_table(&report, "findings");
    assert_int_equal(hd_table_row_count(findings), 3);
    assert_text_at(findings, 0, "tid", "5"); /* most first */
    assert_text_at(findings, 2, "track", "(3 more tracks)");
    assert_int_equal(count_at(findings, 2, "count"), 1 + 3 + 6);
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "examples")), 4);
    assert_int_equal(count_at(hd_report_table(&report, "summary"), 0, "errors"), 5);
    hd_report_free(&report);
}

static void test_check__codes_are_chosen_and_unknown_ones_refused(void **state)
{
    (void)state;
    hd_check_options ignore = {.ignore = "crossing,json"}, only = {.only = "flow-unbound,crossing"},
                     wrong = {.only = "crosing"};
    maker m = crossings_on_tracks(1);
    hd_report report = check_trace(&m, &ignore);
    assert_only(&report, "nothing", 0);
    m = crossings_on_tracks(1);
    report = check_trace(&m, &only);
    assert_only(&report, "crossing", 1);
    hd_error err = {0};
    assert_int_equal(hd_check_options_valid(&wrong, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "crosing"));
}

static void test_check__an_empty_trace_has_no_findings(void **state)
{
    (void)state;
    maker m = make();
    hd_report report = check_trace(&m, NULL);
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "findings")), 0);
    hd_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check__nested_and_disjoint_slices_are_fine),
        cmocka_unit_test(test_check__a_crossing_has_both_names_and_the_worst_overlap),
        cmocka_unit_test(test_check__picoseconds_tell_a_crossing),
        cmocka_unit_test(test_check__crossings_are_all_pairs_of_random_slices),
        cmocka_unit_test(test_check__crossings_in_masses_are_counted_exactly),
        cmocka_unit_test(test_check__tracks_of_equal_ids_are_one),
        cmocka_unit_test(test_check__ids_over_32_bits_are_found),
        cmocka_unit_test(test_check__negative_tids_cross_on_the_main_thread),
        cmocka_unit_test(test_check__durations_that_are_negative_or_missing),
        cmocka_unit_test(test_check__begins_and_ends_without_the_other),
        cmocka_unit_test(test_check__an_event_without_time_is_found),
        cmocka_unit_test(test_check__flows_lack_ends_or_run_backward),
        cmocka_unit_test(test_check__flow_points_need_a_slice_to_bind_to),
        cmocka_unit_test(test_check__flow_points_bind_on_their_own_type_of_tid),
        cmocka_unit_test(test_check__gpu_work_is_early_or_lacks_its_launch),
        cmocka_unit_test(test_check__ids_of_ranks_are_apart),
        cmocka_unit_test(test_check__calls_that_launch_later_or_nothing_lack_no_work),
        cmocka_unit_test(test_check__async_begins_and_ends_pair_by_id),
        cmocka_unit_test(test_check__counters_are_numbers),
        cmocka_unit_test(test_check__order_and_outliers_are_notes),
        cmocka_unit_test(test_check__a_trace_of_two_clocks_lasts_over_a_year),
        cmocka_unit_test(test_check__the_ledger_is_part_of_the_findings),
        cmocka_unit_test(test_check__examples_and_rows_are_limited),
        cmocka_unit_test(test_check__codes_are_chosen_and_unknown_ones_refused),
        cmocka_unit_test(test_check__an_empty_trace_has_no_findings),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
