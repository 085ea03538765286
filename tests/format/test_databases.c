/* test_databases.c - what SQLite files of profilers hold: work and its launches, damage
 *
 * test_importers.c reads all their fixtures, and cuts and changes them.
 * bad-page has a page of zeros, bad-rows has rows without sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures.h"
#include "heddle/analysis/launches.h"
#include "heddle/format.h"

#define NO_STATE void **state __attribute__((unused))

static hd_trace *read_fixture(const char *name)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    hd_trace *trace;
    hd_error err = {0};
    snprintf(path, sizeof path, "%s/tests/format/%s", root ? root : ".", name);
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s: %s", path, err.message);
    const char *format = hd_trace_facts_of(trace)->format;
    assert_memory_equal(format, name, strlen(format));
    return trace;
}

/* A launch is by the same process as its work (the same guid, in a file of two), and shortly before it. */
static size_t count_joined(const hd_launches *launches)
{
    size_t joined = 0;
    for (size_t i = 0; i < launches->work_count; i++) {
        if (launches->works[i].launch == HD_NONE) continue;
        const hd_launch *launch = &launches->launches[launches->works[i].launch];
        int64_t delay_ns = launches->works[i].start_ns - launch->start_ns;
        assert_true(delay_ns > 0 && delay_ns < 500);
        joined++;
    }
    return joined;
}

static void test_databases__work_finds_its_launch(NO_STATE)
{
    static const struct {
        const char *name;
        size_t works, joined;
    } files[] = {
        {"ascend/small.db", 5, 2},   /* waits and frames of subtasks are not work */
        {"nsys/small.sqlite", 4, 2}, /* kernel, copy, set, graph */
        {"rpd/small.rpd", 6, 6},     /* the barrier is not work; both tasks of the graph have its call */
        {"rocpd/small.db", 3, 2},    /* a kernel without an event has no call */
        {"rocpd/v4.db", 2, 1},       {"rocpd/two.db", 6, 4},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        hd_trace *trace = read_fixture(files[i].name);
        hd_launches *launches;
        assert_int_equal(hd_launches_new(&launches, trace, NULL), HD_OK);
        size_t joined = count_joined(launches);
        if (launches->work_count != files[i].works || joined != files[i].joined)
            fail_msg("%s: %zu works, %zu joined", files[i].name, launches->work_count, joined);
        hd_launches_free(launches);
        hd_trace_free(trace);
    }
}

static void test_databases__rpd_has_a_launch_of_each_call(NO_STATE)
{
    hd_trace *trace = read_fixture("rpd/small.rpd");
    hd_launches *launches;
    assert_int_equal(hd_launches_new(&launches, trace, NULL), HD_OK);
    assert_int_equal(launches->launch_count, 5);
    hd_launches_free(launches);
    hd_trace_free(trace);
}

/* Another thread makes the calls than the one whose operator asks for both. */
static void test_databases__ascend_work_is_what_moves_and_computes(NO_STATE)
{
    hd_trace *trace = read_fixture("ascend/small.db");
    hd_launches *launches;
    assert_int_equal(hd_trace_facts_of(trace)->rank, 3);
    assert_int_equal(hd_launches_new(&launches, trace, NULL), HD_OK);
    assert_int_equal(launches->work_ns, 100 + 10 + 9 + 15 + 36);
    assert_non_null(launches->asked);
    for (size_t i = 0; i < launches->launch_count; i++) {
        if (!launches->launches[i].work_count) continue;
        const hd_track *asks = hd_trace_track_at(trace, launches->asked[i].track);
        const hd_track *calls = hd_trace_track_at(trace, launches->launches[i].track);
        assert_memory_equal(hd_trace_string(trace, asks->tid.text).data, "501", 3);
        assert_memory_equal(hd_trace_string(trace, calls->tid.text).data, "502", 3);
        assert_int_equal(launches->asked[i].start_ns, 1700000000000000100);
    }
    hd_launches_free(launches);
    hd_trace_free(trace);
}

static void test_databases__what_makes_no_sense_is_counted(NO_STATE)
{
    static const struct {
        const char *rows, *page;
        uint64_t ends, page_events;
    } files[] = {
        {"ascend/bad-rows.db", "ascend/bad-page.db", 2, 60},
        {"nsys/bad-rows.sqlite", "nsys/bad-page.sqlite", 1, 40},
        {"rocpd/bad-rows.db", "rocpd/bad-page.db", 1, 60},
        {"rpd/bad-rows.rpd", "rpd/bad-page.rpd", 1, 60},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        hd_trace *trace = read_fixture(files[i].rows);
        assert_int_equal(hd_trace_event_count(trace), 1);
        assert_int_equal(fixture_noted(trace, "sqlite.end-before-start"), files[i].ends);
        assert_int_equal(fixture_noted(trace, "sqlite.no-time"), 1);
        hd_trace_free(trace);
        trace = read_fixture(files[i].page);
        assert_int_equal(fixture_noted(trace, "sqlite.page-damaged"), 1);
        assert_in_range(hd_trace_event_count(trace), 1, files[i].page_events - 1);
        hd_trace_free(trace);
    }
}

/* Views and triggers are never looked at; a blob is an argument, a virtual table is counted. */
static void test_databases__a_hostile_schema_is_a_list_of_names(NO_STATE)
{
    hd_trace *hostile = read_fixture("ascend/edge-hostile.db");
    assert_int_equal(hd_trace_event_count(hostile), 61);
    assert_int_equal(fixture_noted(hostile, "sqlite.table-unread"), 1);
    hd_trace_free(hostile);
    hd_trace *small = read_fixture("rocpd/small.db");
    hostile = read_fixture("rocpd/edge-hostile.db");
    assert_int_equal(hd_trace_event_count(hostile), hd_trace_event_count(small));
    assert_int_equal(hd_trace_ledger_count(hostile), 0);
    hd_trace_free(small);
    hd_trace_free(hostile);
}

/* small.rpd with one byte of the schema's row of rocpd_op changed: `by` bytes behind its type, "table". */
static hd_trace *read_changed(long by, char to)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    size_t size;
    hd_byte_source *source;
    hd_trace *trace;
    snprintf(path, sizeof path, "%s/tests/format/rpd/small.rpd", root ? root : ".");
    char *bytes = file_text(path, &size);
    assert_non_null(bytes);
    char *row = memmem(bytes, size, "tablerocpd_oprocpd_op", strlen("tablerocpd_oprocpd_op"));
    assert_non_null(row);
    row[by] = to;
    assert_int_equal(hd_byte_source_new_memory(&source, bytes, size, NULL, NULL), HD_OK);
    hd_error err = {0};
    if (hd_trace_read_from(&trace, source, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    hd_byte_source_free(source);
    free(bytes);
    return trace;
}

static void test_databases__a_damaged_row_of_the_schema_is_in_the_ledger(NO_STATE)
{
    static const struct {
        const char *what;
        long by;
        char to;
        uint64_t repaired, lost;
    } changes[] = {
        {"the type is \"fable\"", 0, 'f', 1, 0},
        {"the type is a blob", -6, 22, 1, 0},
        {"CREATE of its SQL", 22, 'D', 0, 1},
        {"its root page", 21, 1, 0, 1},
    };
    hd_trace *small = read_fixture("rpd/small.rpd");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        hd_trace *trace = read_changed(changes[i].by, changes[i].to);
        uint64_t repaired = fixture_noted(trace, "sqlite.schema-repaired");
        uint64_t lost = fixture_noted(trace, "sqlite.row-damaged");
        if (repaired != changes[i].repaired || lost != changes[i].lost)
            fail_msg("%s: %d repaired, %d lost", changes[i].what, (int)repaired, (int)lost);
        if (!lost) assert_int_equal(hd_trace_event_count(trace), hd_trace_event_count(small));
        hd_trace_free(trace);
    }
    hd_trace_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_databases__work_finds_its_launch),
        cmocka_unit_test(test_databases__rpd_has_a_launch_of_each_call),
        cmocka_unit_test(test_databases__ascend_work_is_what_moves_and_computes),
        cmocka_unit_test(test_databases__what_makes_no_sense_is_counted),
        cmocka_unit_test(test_databases__a_hostile_schema_is_a_list_of_names),
        cmocka_unit_test(test_databases__a_damaged_row_of_the_schema_is_in_the_ledger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
