/* test_info.c - what info says of a hand-built trace; rows of tables; the list of reports */
#include <stdio.h>

#include "report/report_trace.h"

static hd_report info_of(maker *m)
{
    hd_report report;
    hd_trace *trace = finish(m);
    assert_int_equal(hd_report_info(&report, trace, NULL), HD_OK);
    hd_trace_free(trace);
    return report;
}

static void add_metadata(maker *m, const char *key, const char *value)
{
    hd_builder_metadata(m->builder, hd_builder_intern_text(m->builder, key), hd_builder_intern_text(m->builder, value),
                        false);
}

static void test_info__busy_time_counts_overlaps_once(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "outer", 1, 0, 100);
    add_slice(&m, "inner", 1, 20, 80);
    add_slice(&m, "crossing", 1, 90, 120);
    add_slice(&m, "alone", 1, 180, 200);
    hd_report report = info_of(&m);
    const hd_table *tracks = hd_report_table(&report, "tracks");
    assert_int_equal(hd_table_row_count(tracks), 1);
    assert_int_equal(int_at(tracks, 0, "span"), 200);
    assert_int_equal(int_at(tracks, 0, "busy"), 140);
    assert_true(hd_table_get_decimal(tracks, 0, column_named(tracks, "busy_percent")) == 70.0);
    assert_int_equal(count_at(tracks, 0, "slices"), 4);
    hd_report_free(&report);
}

static void test_info__tracks_come_busiest_first(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "short", 1, 0, 10);
    add_slice(&m, "long", 2, 0, 1000);
    hd_row row = event_row(&m, HD_KIND_INSTANT, 'i', "mark", 3, 5);
    add_row(&m, &row, NULL);
    hd_report report = info_of(&m);
    const hd_table *tracks = hd_report_table(&report, "tracks");
    assert_text_at(tracks, 0, "tid", "2");
    assert_text_at(tracks, 2, "tid", "3");
    assert_true(null_at(tracks, 2, "busy"));
    assert_int_equal(count_at(tracks, 2, "other_events"), 1);
    hd_report_free(&report);
}

static void test_info__kinds_and_categories_sum_up(void **state)
{
    (void)state;
    maker m = make();
    add_correlated(&m, "kernel", "k", 7, 0, 1);
    add_correlated(&m, "kernel", "k", 7, 20, 2);
    add_correlated(&m, "cuda_runtime", "l", 1, 0, 1);
    add_flow(&m, 's', 1, 1, 0, true);
    hd_report report = info_of(&m);
    const hd_table *kinds = hd_report_table(&report, "kinds"), *categories = hd_report_table(&report, "categories");
    assert_int_equal(hd_table_row_count(kinds), 2);
    assert_text_at(kinds, 0, "kind", "slice");
    assert_int_equal(count_at(kinds, 0, "events"), 3);
    assert_int_equal(int_at(kinds, 0, "total"), 30);
    assert_true(null_at(kinds, 1, "total"));
    assert_int_equal(hd_table_row_count(categories), 3);
    assert_text_at(categories, 0, "category", "kernel");
    assert_int_equal(int_at(categories, 0, "total"), 20);
    assert_true(null_at(categories, 2, "category"));
    hd_report_free(&report);
}

static void test_info__devices_join_metadata_and_streams(void **state)
{
    (void)state;
    maker m = make();
    add_metadata(&m, "deviceProperties",
                 "[{\"id\": 0, \"name\": \"NVIDIA \\u0041100\", \"totalGlobalMem\": 85899345920, \"computeMajor\": 8,"
                 " \"computeMinor\": 0, \"numSms\": 108}, {\"name\": \"no id\"}, 5]");
    add_slice(&m, "k", 7, 0, 10);
    add_slice(&m, "k", 8, 0, 10);
    hd_builder_set_stream(m.builder, hd_builder_thread(m.builder, 1, 7), 0, 7);
    hd_builder_set_stream(m.builder, hd_builder_thread(m.builder, 1, 8), 3, 8);
    hd_report report = info_of(&m);
    const hd_table *devices = hd_report_table(&report, "devices");
    assert_int_equal(hd_table_row_count(devices), 2);
    assert_text_at(devices, 0, "name", "NVIDIA A100");
    assert_int_equal(count_at(devices, 0, "memory"), UINT64_C(85899345920));
    assert_int_equal(count_at(devices, 0, "streams"), 1);
    assert_int_equal(int_at(devices, 1, "device"), 3);
    assert_true(null_at(devices, 1, "name"));
    assert_int_equal(count_at(hd_report_table(&report, "file"), 0, "streams"), 2);
    hd_report_free(&report);
}

static void test_info__broken_device_properties_are_left_out(void **state)
{
    (void)state;
    static const char *const broken[] = {"[{\"id\": 0, ",   "{}", "[", "[[]]", "[{\"id\": \"x\"}]", "null",
                                         "[{\"id\": 1e99}]"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        maker m = make();
        add_metadata(&m, "deviceProperties", broken[i]);
        hd_report report = info_of(&m);
        assert_int_equal(hd_table_row_count(hd_report_table(&report, "devices")), 0);
        hd_report_free(&report);
    }
}

static void test_info__the_clock_is_unix_time_when_it_looks_like_it(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "s", 1, INT64_C(1683564901540885000), INT64_C(1683564901540885001));
    hd_report report = info_of(&m);
    const hd_table *file = hd_report_table(&report, "file");
    assert_text_at(file, 0, "clock", "unix");
    assert_text_at(file, 0, "wall_start", "2023-05-08 16:55:01.540885000 UTC");
    hd_report_free(&report);
}

static void test_info__the_clock_counts_from_its_base(void **state)
{
    (void)state;
    maker m = make();
    hd_builder_facts(m.builder)->base_ns = INT64_C(951782399000000000); /* the last second of 28 February 2000 … */
    add_slice(&m, "s", 1, INT64_C(2000000000), INT64_C(3000000000));    /* … and 2 s later is leap day */
    hd_report report = info_of(&m);
    const hd_table *file = hd_report_table(&report, "file");
    assert_text_at(file, 0, "clock", "base");
    assert_text_at(file, 0, "wall_start", "2000-02-29 00:00:01.000000000 UTC");
    hd_report_free(&report);
}

static void test_info__an_unknown_clock_has_no_wall_time(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "s", 1, 10, 20);
    hd_report report = info_of(&m);
    const hd_table *file = hd_report_table(&report, "file");
    assert_text_at(file, 0, "clock", "unknown");
    assert_true(null_at(file, 0, "wall_start"));
    assert_true(null_at(file, 0, "rank"));
    hd_report_free(&report);
}

static void test_info__processes_count_threads_and_streams(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "a", 1, 0, 10);
    add_slice(&m, "b", 2, 0, 10);
    hd_ident pid = {HD_IDENT_NUMBER, hd_builder_intern_text(m.builder, "1")};
    uint32_t process = hd_builder_track(m.builder, pid, (hd_ident){0}, true);
    hd_builder_name_track(m.builder, process, hd_builder_intern_text(m.builder, "python"));
    hd_builder_label_track(m.builder, process, hd_builder_intern_text(m.builder, "CPU"));
    hd_builder_set_stream(m.builder, hd_builder_thread(m.builder, 1, 2), 0, 2);
    hd_report report = info_of(&m);
    const hd_table *processes = hd_report_table(&report, "processes");
    assert_int_equal(hd_table_row_count(processes), 1);
    assert_text_at(processes, 0, "name", "python");
    assert_text_at(processes, 0, "labels", "CPU");
    assert_int_equal(count_at(processes, 0, "threads"), 1);
    assert_int_equal(count_at(processes, 0, "streams"), 1);
    hd_report_free(&report);
}

static void test_info__an_empty_trace_has_one_file_row(void **state)
{
    (void)state;
    maker m = make();
    hd_report report = info_of(&m);
    const hd_table *file = hd_report_table(&report, "file");
    assert_int_equal(hd_table_row_count(file), 1);
    assert_true(null_at(file, 0, "start"));
    assert_int_equal(count_at(file, 0, "events"), 0);
    hd_report_free(&report);
}

/* ---- rows of tables, the list ---- */

static hd_status append(void *user, const char *data, size_t size)
{
    char *out = user;
    assert_true(strlen(out) + size < 256);
    strncat(out, data, size);
    return HD_OK;
}

static void test_report__one_row_is_written_as_members(void **state)
{
    (void)state;
    hd_table_builder *builder;
    hd_table *table, *head;
    char text[256] = "";
    assert_int_equal(hd_table_builder_new(&builder, "t", NULL), HD_OK);
    hd_table_add_column(builder, "name", HD_VALUE_STRING);
    hd_table_add_column(builder, "total", HD_VALUE_DURATION);
    hd_table_add_text(builder, "first");
    hd_table_add_int(builder, 1);
    hd_table_add_text(builder, "a\"b");
    hd_table_add_null(builder);
    assert_int_equal(hd_table_finish(&table, builder, NULL), HD_OK);
    assert_int_equal(hd_table_write_members(table, 1, (hd_sink){append, text}, NULL), HD_OK);
    assert_string_equal(text, "\"name\": \"a\\\"b\", \"total\": null");
    assert_int_equal(hd_table_head(&head, table, 1, NULL), HD_OK);
    assert_int_equal(hd_table_row_count(head), 1);
    assert_text_at(head, 0, "name", "first");
    hd_table_free(head);
    hd_table_free(table);
}

/* Each table that a report yields is one that its descriptor tells, in that order, column by column. */
static void assert_told(const hd_report *report, const hd_report_about *about)
{
    const hd_report_table_about *told = about->tables;
    for (size_t i = 0; i < report->table_count; i++, told++) {
        const hd_table *table = report->tables[i];
        while (told->name && strcmp(told->name, hd_table_name(table)) != 0) told++;
        assert_non_null(told->name);
        size_t count = 0;
        for (const hd_report_column *c = told->columns; c->name; c++, count++) {
            assert_true(count < hd_table_column_count(table));
            assert_string_equal(hd_table_get_column(table, count)->name, c->name);
            assert_int_equal(hd_table_get_column(table, count)->type, c->type);
            assert_true(strlen(c->meaning) > 3);
        }
        assert_int_equal(hd_table_column_count(table), count);
    }
}

static void test_report__tables_are_as_the_descriptors_tell(void **state)
{
    (void)state;
    maker m = make();
    add_slice(&m, "a", 1, 0, 100);
    add_slice(&m, "b", 1, 50, 150);
    add_correlated(&m, "kernel", "k", 7, 10, 1);
    hd_trace *trace = finish(&m);
    const char *series[] = {"series", NULL};
    for (size_t i = 0; i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (about->table_option) continue; /* of no trace: tests/report/check_whatif.py */
        bool memory = strcmp(about->name, "memory") == 0;
        hd_report report;
        hd_report_input input = {.trace = trace, .options = memory ? series : NULL};
        assert_ptr_equal(hd_report_about_find(about->name), about);
        assert_int_equal(hd_report_run(&report, about->name, &input, NULL), HD_OK);
        assert_true(report.table_count > 0);
        assert_told(&report, about);
        hd_report_free(&report);
    }
    assert_null(hd_report_at(hd_report_count()));
    hd_trace_free(trace);
}

static void note_progress(void *user, uint64_t done, uint64_t total)
{
    uint64_t *seen = user; /* calls, done, total */
    assert_true(done >= seen[1] && done <= total && (!seen[0] || total == seen[2]));
    seen[0]++, seen[1] = done, seen[2] = total;
}

static void test_report__progress_ends_at_its_total(void **state)
{
    (void)state;
    uint64_t seen[3] = {0};
    maker m = make();
    add_correlated(&m, "cuda_runtime", "cudaLaunchKernel", 1, 0, 1);
    add_correlated(&m, "kernel", "k", 7, 10, 1);
    hd_trace *trace = finish(&m);
    hd_report report;
    const hd_report_input input = {.trace = trace, .progress = note_progress, .progress_user = seen};
    assert_int_equal(hd_report_run(&report, "summary", &input, NULL), HD_OK);
    assert_true(seen[0] > 10);
    assert_int_equal(seen[1], seen[2]);
    hd_report_free(&report);
    memset(seen, 0, sizeof seen);
    assert_int_equal(hd_report_run(&report, "critical-path", &input, NULL), HD_OK);
    assert_int_equal(seen[0], 3); /* launches, activities, graph */
    assert_true(seen[1] < seen[2]);
    hd_report_free(&report);
    static const char *const others[] = {"info", "check", "timeline", "memory"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        memset(seen, 0, sizeof seen);
        assert_int_equal(hd_report_run(&report, others[i], &input, NULL), HD_OK);
        assert_true(seen[0] >= 2 && seen[1] > 0);
        hd_report_free(&report);
    }
    hd_trace_free(trace);
}

static void assert_refused(const hd_trace *trace, const char *name, const char *option, const char *message)
{
    hd_report report;
    hd_error err = {0};
    const char *options[] = {option, NULL};
    const hd_report_input input = {.trace = trace, .options = options};
    assert_int_equal(hd_report_run(&report, name, &input, &err), HD_ERR_ARGUMENT);
    char text[512];
    assert_string_equal(hd_error_text(text, sizeof text, &err), message);
    assert_int_equal(report.table_count, 0);
}

static void test_report__what_is_not_known_is_refused(void **state)
{
    (void)state;
    maker m = make();
    hd_trace *trace = finish(&m);
    assert_refused(trace, "nonsense", NULL, "no report 'nonsense'; heddle report lists them");
    assert_refused(trace, "inf", NULL, "no report 'inf'; did you mean info?");
    const char *good[] = {"rows=5", NULL}, *none[] = {"row=5", NULL};
    assert_int_equal(hd_report_options_valid("memory", good, NULL), HD_OK);
    assert_int_equal(hd_report_options_valid("memory", none, NULL), HD_ERR_ARGUMENT);
    assert_int_equal(hd_report_options_valid("nonsense", good, NULL), HD_ERR_ARGUMENT);
    assert_refused(trace, "info", "rows=5", "report info has no option 'rows'; it has none");
    assert_refused(trace, "memory", "row=5", "report memory has no option 'row'; did you mean rows?");
    assert_refused(trace, "memory", "rows", "report memory: rows: needs a value: rows=count");
    assert_refused(trace, "memory", "series=1", "report memory: series: is a flag and takes no value");
    assert_refused(trace, "memory", "rows=", "report memory: rows: needs a value: rows=count");
    const char *const bad[] = {"0", "-1", "5x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char message[128], option[64];
        snprintf(option, sizeof option, "rows=%s", bad[i]);
        snprintf(message, sizeof message, "report memory: rows: '%s' is not a number from 1 to 18446744073709551615",
                 bad[i]);
        assert_refused(trace, "memory", option, message);
    }
    assert_refused(trace, "check", "examples=100001", "at most 100000 examples are kept of a finding");
    assert_refused(trace, "check", "only=nonsense",
                   "'nonsense' is not a code of check; heddle check --explain lists them");
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info__busy_time_counts_overlaps_once),
        cmocka_unit_test(test_info__tracks_come_busiest_first),
        cmocka_unit_test(test_info__kinds_and_categories_sum_up),
        cmocka_unit_test(test_info__devices_join_metadata_and_streams),
        cmocka_unit_test(test_info__broken_device_properties_are_left_out),
        cmocka_unit_test(test_info__the_clock_is_unix_time_when_it_looks_like_it),
        cmocka_unit_test(test_info__the_clock_counts_from_its_base),
        cmocka_unit_test(test_info__an_unknown_clock_has_no_wall_time),
        cmocka_unit_test(test_info__processes_count_threads_and_streams),
        cmocka_unit_test(test_info__an_empty_trace_has_one_file_row),
        cmocka_unit_test(test_report__one_row_is_written_as_members),
        cmocka_unit_test(test_report__tables_are_as_the_descriptors_tell),
        cmocka_unit_test(test_report__progress_ends_at_its_total),
        cmocka_unit_test(test_report__what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests_name("info", tests, NULL, NULL);
}
