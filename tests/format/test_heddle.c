/* test_heddle.c - the store keeps everything, opens lazily, and is the same file however it is written */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "heddle/index.h"
#include "heddle/report.h"
#include "heddle/synth.h"
#include "model/roles/busy.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"
#include "store_seal.h"
#include "trace/index/lane_index.h"

static char *store_of(const hd_trace *trace, unsigned threads, size_t *out_size)
{
    hd_write_options options = {.format = "heddle", .threads = threads};
    return write_text(trace, &options, out_size);
}

static hd_trace *open_store(const char *store, size_t size, bool lazy)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_read_options options = {.lazy = lazy, .strict = true};
    if (read_text(&trace, store, size, &options, 0, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

/* All that a dump shows, but which format it is and what only patches of the text need. */
static char *dump_but_format(const hd_trace *trace)
{
    char *dump = dump_trace(trace, DUMP_ALL);
    static const char *const lines[] = {"  format ", "  needs_rewrite"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *line = strstr(dump, lines[i]), *events = strstr(dump, "\nevents\n");
        if (!line || (events && line > events)) continue;
        char *end = strchr(line, '\n') + 1;
        memmove(line, end, strlen(end) + 1);
    }
    return dump;
}

static void expect_same_text(const char *what, char *expected, char *got)
{
    if (strcmp(expected, got) != 0) {
        size_t at = 0;
        while (expected[at] == got[at]) at++;
        while (at && expected[at - 1] != '\n') at--;
        fail_msg("%s:\nexpected %.300s\ngot      %.300s", what, expected + at, got + at);
    }
    free(expected);
    free(got);
}

/* What the store says of activities is what its slices say. */
static void expect_activity(const hd_trace *trace)
{
    hd_roles roles;
    int64_t *anew;
    const hd_index *index = hd_trace_index(trace);
    assert_non_null(index->work_ns);
    assert_true(hd_roles_init(&roles, trace));
    assert_int_equal(hd_queues_busy(&anew, &roles, index, true, NULL), HD_OK);
    for (size_t i = 0; i < index->lane_count; i++) assert_int_equal(index->work_ns[i], anew[i]);
    free(anew);
    hd_roles_deinit(&roles);
}

static void expect_kept(const char *what, const hd_trace *trace)
{
    size_t size, again_size;
    char *store = store_of(trace, 1, &size);
    hd_trace *eager = open_store(store, size, false), *lazy = open_store(store, size, true);
    expect_same_text(what, dump_but_format(trace), dump_but_format(eager));
    expect_same_text(what, dump_but_format(trace), dump_but_format(lazy));
    char *again = store_of(lazy, 3, &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(store, again, size);
    expect_activity(eager);
    expect_activity(lazy);
    hd_trace_free(eager);
    hd_trace_free(lazy);
    free(store);
    free(again);
}

static void test_heddle__every_chrome_fixture_is_kept(void **state)
{
    (void)state;
    fixtures all = fixtures_load("tests/format/chrome");
    unsigned kept = 0;
    for (size_t i = 0; i < all.count; i++) {
        hd_trace *trace;
        if (read_text(&trace, all.list[i].text, all.list[i].size, NULL, 0, NULL) != HD_OK) continue;
        expect_kept(all.list[i].name, trace);
        hd_trace_free(trace);
        kept++;
    }
    assert_true(kept > 10);
    fixtures_free(&all);
}

static void test_heddle__random_traces_are_kept(void **state)
{
    (void)state;
    for (unsigned i = 0, count = hd_test_rounds(20); i < count; i++) {
        uint64_t seed = i * 104729u + 1;
        hd_json_out out = {0};
        hd_trace *trace;
        char what[32];
        snprintf(what, sizeof what, "seed %u", i);
        random_document(&out, &seed, i % 60 * 7);
        assert_int_equal(read_text(&trace, out.data, out.size, NULL, 0, NULL), HD_OK);
        expect_kept(what, trace);
        hd_trace_free(trace);
        free(out.data);
    }
}

static hd_trace *synthetic(uint64_t events)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_synth_options options = hd_synth_options_default();
    options.events = events;
    options.orphans = 40;
    if (hd_synth_trace(&trace, NULL, &options, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

static void test_heddle__several_blocks_of_a_kind_are_kept(void **state)
{
    (void)state;
    hd_trace *trace = synthetic(HD_TEST_BY_BUILD(260000, 140000));
    assert_true(hd_trace_row_count(trace, HD_KIND_SLICE) > HD_TEST_BY_BUILD(2, 1) * HD_BLOCK_ROWS);
    expect_kept("synthetic", trace);
    hd_trace_free(trace);
}

static void test_heddle__an_empty_trace_is_kept(void **state)
{
    (void)state;
    hd_trace *trace;
    assert_int_equal(read_text(&trace, "[]", 2, NULL, 0, NULL), HD_OK);
    expect_kept("empty", trace);
    hd_trace_free(trace);
}

static void test_heddle__the_file_does_not_depend_on_how_the_input_was_read(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(5);
    hd_json_out out = {0};
    random_document(&out, &seed, 3000);
    char *first = NULL;
    size_t first_size = 0;
    for (unsigned threads = 1; threads <= 3; threads++) {
        hd_trace *trace;
        size_t size;
        hd_read_options options = {.threads = threads};
        assert_int_equal(read_text(&trace, out.data, out.size, &options, 200 * threads, NULL), HD_OK);
        char *store = store_of(trace, threads, &size);
        if (first) assert_int_equal(size, first_size);
        if (first) assert_memory_equal(store, first, size);
        if (first) free(store);
        if (!first) first = store;
        first_size = size;
        hd_trace_free(trace);
    }
    free(first);
    free(out.data);
}

static void test_heddle__where_it_came_from_is_kept(void **state)
{
    (void)state;
    static const char text[] = "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":NaN,\"pid\":1,\"tid\":2}]";
    hd_trace *trace;
    size_t size;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, NULL), HD_OK);
    char *store = store_of(trace, 1, &size);
    hd_trace *back = open_store(store, size, false);
    const hd_trace_facts *facts = hd_trace_facts_of(back);
    assert_string_equal(facts->format, "heddle");
    assert_string_equal(facts->compression, "none");
    assert_int_equal(facts->stored_bytes, size);
    assert_int_equal(facts->input_bytes, sizeof text - 1);
    assert_string_equal(facts->origin, "chrome");
    assert_string_equal(facts->origin_compression, "none");
    assert_true(hd_trace_ledger_count(back) > 0 && hd_trace_ledger_count(back) == hd_trace_ledger_count(trace));
    hd_trace_free(trace);
    hd_trace_free(back);
    free(store);
}

static char *info_text(const hd_trace *trace)
{
    hd_report report;
    hd_json_out out = {0};
    assert_int_equal(hd_report_info(&report, trace, NULL), HD_OK);
    for (size_t t = 0; t < report.table_count; t++) {
        const hd_table *table = report.tables[t];
        for (size_t row = 0; row < hd_table_row_count(table); row++) {
            char *text = NULL;
            size_t size = 0;
            FILE *file = open_memstream(&text, &size);
            assert_non_null(file);
            for (size_t c = 0; c < hd_table_column_count(table); c++) {
                size_t n = 0;
                if (hd_table_is_null(table, row, c)) continue;
                if (hd_table_get_column(table, c)->type != HD_VALUE_STRING) continue;
                const char *s = hd_table_get_string(&n, table, row, c);
                fprintf(file, "%.*s|", (int)n, s);
            }
            fclose(file);
            hd_json_put(&out, text, size);
            hd_json_put_text(&out, "\n");
            free(text);
        }
    }
    hd_report_free(&report);
    hd_json_put(&out, "", 1);
    return out.data;
}

static void test_heddle__info_is_the_same_of_a_store_opened_lazily(void **state)
{
    (void)state;
    hd_trace *trace = synthetic(30000);
    size_t size;
    char *store = store_of(trace, 2, &size);
    hd_trace *eager = open_store(store, size, false), *lazy = open_store(store, size, true);
    expect_same_text("info", info_text(eager), info_text(lazy));
    hd_trace_free(trace);
    hd_trace_free(eager);
    hd_trace_free(lazy);
    free(store);
}

static void test_heddle__a_compressed_store_is_read(void **state)
{
    (void)state;
    char folder[] = "/tmp/heddle-test-XXXXXX", path[64];
    hd_trace *trace = synthetic(5000), *back;
    assert_non_null(mkdtemp(folder));
    static const char *const names[] = {"a.heddle.gz", "a.heddle.zst"}, *const compressions[] = {"gzip", "zstd"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(hd_trace_write(trace, path, NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_read(&back, path, NULL, NULL), HD_OK);
        assert_string_equal(hd_trace_facts_of(back)->compression, compressions[i]);
        char *expected = dump_trace(trace, DUMP_CONTENT), *got = dump_trace(back, DUMP_CONTENT);
        expect_same_text(names[i], strdup(strstr(expected, "\nmetadata")), strdup(strstr(got, "\nmetadata")));
        free(expected);
        free(got);
        hd_trace_free(back);
        unlink(path);
    }
    rmdir(folder);
    hd_trace_free(trace);
}

static void test_heddle__a_level_out_of_range_is_an_error(void **state)
{
    (void)state;
    hd_trace *trace = synthetic(2000);
    hd_write_options options = {.format = "heddle", .level = 23};
    assert_int_equal(hd_trace_write(trace, "/dev/null", &options, NULL), HD_ERR_ARGUMENT);
    hd_trace_free(trace);
}

/* A file that later versions might write: bytes 8 to 11 of the header, 8 to 11 of the trailer, types of sections. */
static hd_status read_changed(size_t at, uint8_t value, size_t section_at, uint16_t type, uint16_t flags, bool strict)
{
    hd_trace *trace = synthetic(2000), *back;
    size_t size;
    store_section list[64];
    char *store = store_of(trace, 1, &size);
    store[at] = (char)value;
    size_t count = store_list(list, 64, (uint8_t *)store, size);
    assert_true(count > section_at);
    if (type) store[list[section_at].offset + 8] = (char)type;
    if (type) store[list[section_at].offset + 10] = (char)flags;
    store_seal((uint8_t *)store, size);
    hd_read_options options = {.strict = strict};
    hd_status status = read_text(&back, store, size, &options, 0, NULL);
    if (status == HD_OK) hd_trace_free(back);
    hd_trace_free(trace);
    free(store);
    return status;
}

static void test_heddle__later_minor_versions_are_read_and_major_ones_refused(void **state)
{
    (void)state;
    assert_int_equal(read_changed(10, 7, 0, 0, 0, true), HD_OK);
    assert_int_equal(read_changed(8, 2, 0, 0, 0, true), HD_ERR_UNSUPPORTED);
}

static void test_heddle__unknown_sections_are_skipped_if_they_say_so(void **state)
{
    (void)state;
    enum { LEDGER = 3 }; /* facts, strings, metadata, ledger; its copy stays */
    assert_int_equal(read_changed(11, 0, LEDGER, 100, STORE_SKIPPABLE, false), HD_OK);
    assert_int_equal(read_changed(11, 0, LEDGER, 100, 0, false), HD_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heddle__every_chrome_fixture_is_kept),
        cmocka_unit_test(test_heddle__random_traces_are_kept),
        cmocka_unit_test(test_heddle__several_blocks_of_a_kind_are_kept),
        cmocka_unit_test(test_heddle__an_empty_trace_is_kept),
        cmocka_unit_test(test_heddle__the_file_does_not_depend_on_how_the_input_was_read),
        cmocka_unit_test(test_heddle__where_it_came_from_is_kept),
        cmocka_unit_test(test_heddle__info_is_the_same_of_a_store_opened_lazily),
        cmocka_unit_test(test_heddle__a_compressed_store_is_read),
        cmocka_unit_test(test_heddle__a_level_out_of_range_is_an_error),
        cmocka_unit_test(test_heddle__later_minor_versions_are_read_and_major_ones_refused),
        cmocka_unit_test(test_heddle__unknown_sections_are_skipped_if_they_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
