/* test_correlation.c - the column of correlation ids: which argument it is read from, and that every way that keeps
 * arguments keeps it
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pass/filter/filter.h"
#include "read_text.h"
#include "trace/event.h"
#include "trace/lazy.h"

#define X(tail) "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1" tail "}"
#define A(args) X(",\"args\":{" args "}")

/* One slice each, and its id. */
static const struct {
    const char *event;
    int64_t id;
} cases[] = {
    {X(""), HD_NO_CORRELATION},
    {A("\"correlation\":7"), 7},
    {A("\"correlation\":0"), 0},
    {A("\"correlationId\":\"8\""), 8},
    {A("\"correlation_id\":9.0"), 9},
    {A("\"correlation_id\":1,\"correlationId\":2,\"correlation\":3"), 3},
    {A("\"correlation_id\":1,\"correlationId\":2"), 2},
    {A("\"correlation\":4,\"x\":1,\"correlation\":5"), 5},
    {A("\"correlation\":4294967295"), 4294967295},
    {A("\"correlation\":9007199254740993"), 9007199254740993},
    {A("\"correlation\":1e3"), 1000},
    {A("\"correlation\":18446744073709551615"), HD_NO_CORRELATION},
    {A("\"correlation\":\"18446744073709551615\""), HD_NO_CORRELATION},
    {A("\"correlation\":1.5"), HD_NO_CORRELATION},
    {A("\"correlation\":null"), HD_NO_CORRELATION},
    {A("\"correlation\":\"no number\""), HD_NO_CORRELATION},
    {A("\"correlation\":{}"), HD_NO_CORRELATION},
    {A("\"Correlation\":1,\"corr\":2"), HD_NO_CORRELATION},
    {X(",\"correlation\":6"), HD_NO_CORRELATION},
};
enum { CASES = sizeof cases / sizeof *cases };

static hd_trace *trace_of(const char *text)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, text, strlen(text), NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

static hd_trace *all_cases(void)
{
    char text[4096] = "[";
    for (int i = 0; i < CASES; i++) {
        if (i) strcat(text, ",");
        strcat(text, cases[i].event);
    }
    strcat(text, "]");
    return trace_of(text);
}

static void assert_ids(const hd_trace *trace)
{
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), CASES);
    for (uint32_t i = 0; i < CASES; i++) {
        hd_event event = hd_event_at(trace, HD_KIND_SLICE, i);
        if (event.correlation != cases[i].id) fail_msg("%s: %lld", cases[i].event, (long long)event.correlation);
    }
}

static void test_correlation__one_argument_tells_it_as_a_whole_number(void **state)
{
    (void)state;
    hd_trace *trace = all_cases();
    assert_ids(trace);
    hd_trace_free(trace);
}

/* Formats that keep arguments keep the id; the argument is still one. */
static void test_correlation__files_keep_it(void **state)
{
    (void)state;
    static const char *const names[] = {"a.json", "a.heddle", "a.pftrace"};
    char folder[] = "/tmp/heddle-correlation-XXXXXX", path[64];
    hd_trace *trace = all_cases(), *again;
    size_t size, size_again;
    assert_non_null(mkdtemp(folder));
    char *text = write_text(trace, NULL, &size);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hd_error err = {0};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (hd_trace_write(trace, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
        if (hd_trace_read(&again, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
        if (strcmp(names[i], "a.pftrace") == 0) { /* keys that stand twice do not come back */
            assert_int_equal(hd_event_at(again, HD_KIND_SLICE, 1).correlation, 7);
            assert_int_equal(hd_event_at(again, HD_KIND_SLICE, 2).correlation, 0);
        } else {
            assert_ids(again);
            char *text_again = write_text(again, NULL, &size_again);
            assert_int_equal(size_again, size);
            assert_memory_equal(text_again, text, size);
            free(text_again);
        }
        hd_trace_free(again);
        unlink(path);
    }
    rmdir(folder);
    free(text);
    hd_trace_free(trace);
}

/* Arguments of a store come when they are asked for, and the ids with them. */
static void test_correlation__a_store_has_it_once_arguments_are_loaded(void **state)
{
    (void)state;
    char folder[] = "/tmp/heddle-correlation-XXXXXX", path[64];
    hd_trace *trace = all_cases(), *lazy;
    hd_error err = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.heddle", folder);
    if (hd_trace_write(trace, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_trace_read(&lazy, path, &(hd_read_options){.lazy = true}, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(hd_trace_columns_at(lazy, HD_KIND_SLICE, 0)->row_count, CASES);
    assert_ids(lazy);
    hd_trace_free(lazy);
    unlink(path);
    rmdir(folder);
    hd_trace_free(trace);
}

static void test_correlation__passes_keep_it_with_the_rows_that_stay(void **state)
{
    (void)state;
    hd_trace *trace = trace_of(
        "[" A("\"correlation\":7") ",{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":5,"
                                   "\"dur\":1,\"args\":{\"x\":1,\"correlation\":8}}," A("\"correlation\":9") "]");
    hd_trace *out;
    hd_error err = {0};
    hd_pass_result result;
    static const hd_filter filter = {.names = "b"};
    if (hd_filter_trace(&out, &result, trace, &filter, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(hd_trace_row_count(out, HD_KIND_SLICE), 1);
    assert_int_equal(hd_event_at(out, HD_KIND_SLICE, 0).correlation, 8);
    hd_trace_free(out);
    hd_trace_free(trace);
}

/* Where nothing has an id the column is a constant, which takes no memory. */
static void test_correlation__costs_nothing_where_there_is_none(void **state)
{
    (void)state;
    hd_trace *trace = trace_of("[" A("\"x\":7") "," X("") ",{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,"
                                                          "\"args\":{\"correlation\":5}}]");
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t b = 0; b < hd_trace_block_count(trace, (hd_kind)kind); b++) {
            const hd_column *column = &hd_trace_block_at(trace, (hd_kind)kind, b)->columns[HD_COL_CORRELATION];
            assert_int_equal(column->width, 0);
            assert_int_equal(column->base, HD_NO_CORRELATION);
        }
    }
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_correlation__one_argument_tells_it_as_a_whole_number),
        cmocka_unit_test(test_correlation__files_keep_it),
        cmocka_unit_test(test_correlation__a_store_has_it_once_arguments_are_loaded),
        cmocka_unit_test(test_correlation__passes_keep_it_with_the_rows_that_stay),
        cmocka_unit_test(test_correlation__costs_nothing_where_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
