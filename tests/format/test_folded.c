/* test_folded.c - folded stacks, plain and extended: tests/format/folded/NAME.folded and what must come of them
 *
 * `test_format_folded --update` writes the .expect files anew: read them before you commit them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixtures.h"
#include "read_text.h"
#include "stack_dump.h"

#define NO_STATE void **state __attribute__((unused))

static char *dump_fixture(const fixture *f)
{
    return stack_dump_text(f->text, f->size, NULL);
}

static void test_folded__fixtures_give_their_dumps(void **state)
{
    fixtures_expect(*state, dump_fixture);
}

static void test_folded__strict_refuses_damaged_fixtures_and_takes_the_others(void **state)
{
    fixtures_expect_strict(*state);
}

/* Written as JSON and read again, every sample has its stack, time, thread and arguments. */
static void test_folded__fixtures_survive_chrome_json(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        hd_trace *trace, *again;
        size_t size;
        assert_int_equal(read_text(&trace, f->text, f->size, NULL, 0, NULL), HD_OK);
        char *json = write_text(trace, NULL, &size), *before = stack_dump(trace);
        assert_int_equal(read_text(&again, json, size, NULL, 0, NULL), HD_OK);
        char *after = stack_dump(again);
        assert_true(strlen(before) > 0);
        assert_string_equal(before, after);
        hd_trace_free(trace);
        hd_trace_free(again);
        free(json);
        free(before);
        free(after);
    }
}

static void test_folded__text_that_ends_anywhere_is_read_or_refused(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) stack_cut_everywhere(all->list[i].text, all->list[i].size);
}

static void test_folded__flipped_bits_are_read_or_refused(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) stack_flip_everywhere(all->list[i].text, all->list[i].size);
}

static void expect_dump(const char *text, const char *wanted)
{
    char *dump = stack_dump_text(text, strlen(text), NULL);
    assert_string_equal(dump, wanted);
    free(dump);
}

static void expect_refusal(const char *text, size_t size, const char *words)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_status status = read_text(&trace, text, size, NULL, 0, &err);
    hd_trace_free(trace);
    assert_int_equal(status, HD_ERR_FORMAT);
    if (!strstr(err.message, words)) fail_msg("%s: does not say \"%s\"", err.message, words);
}

/* ---- what a line is ---- */

static void test_folded__a_plain_line_is_never_an_extended_one(NO_STATE)
{
    expect_dump("12 app 1 2 3 main;f 7\n",
                "folded, time of its own\n- stack weight=7 | 12 app 1 2 3 main;f\n"
                "note folded.line-ambiguous 1 at 0, line 1 could be plain or extended: 12 app "
                "1 2 3 main;f 7\n");
    expect_dump("a;b 1\n12 app 1 2 3 main;f 7\n",
                "folded, time of its own\n- stack weight=1 | a;b\n- stack weight=7 | 12 app 1 2 3 main;f\n"
                "note folded.line-ambiguous 1 at 6, line 2 could be plain or extended: 12 app 1 2 3 main;f 7\n");
}

static void test_folded__unix_time_is_told_by_its_size(NO_STATE)
{
    expect_dump("999999999999999999 a 1 1 0 f;g\n",
                "folded, time of its own\n1/1 999999999999999999 stack cpu=0 | f;g\ntrack 1/1 a\ntrack 1/- a\n");
    expect_dump("1000000000000000000 a 1 1 0 f;g\n",
                "folded, Unix time\n1/1 1000000000000000000 stack cpu=0 | f;g\ntrack 1/1 a\ntrack 1/- a\n");
}

static void test_folded__times_beyond_int64_are_no_lines(NO_STATE)
{
    expect_dump("5 a 1 1 0 f;g\n9223372036854775808 a 1 1 0 f;g\n9223372036854775807 a 1 1 0 f;g\n",
                "folded, time of its own\n1/1 5 stack cpu=0 | f;g\n1/1 9223372036854775807 stack cpu=0 | f;g\n"
                "track 1/1 a\ntrack 1/- a\n"
                "loss folded.line-unreadable 1 at 14, line 2 is neither \"frames weight\" nor \"time comm pid tid cpu "
                "frames\": 9223372036854775808 a 1 1 0 f;g\n");
}

/* ---- large and hostile ---- */

static void test_folded__ten_thousand_frames_are_a_stack(NO_STATE)
{
    enum { FRAMES = 10000 };
    char *text = malloc(2 * (FRAMES * 8 + 16)), *at = text;
    assert_non_null(text);
    for (int copy = 0; copy < 2; copy++) {
        for (int i = 0; i < FRAMES; i++) at += sprintf(at, "%sf%d", i ? ";" : "", i);
        at += sprintf(at, " 3\n");
    }
    hd_trace *trace;
    hd_event e;
    hd_trace_stacks *stacks;
    assert_int_equal(read_text(&trace, text, (size_t)(at - text), NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), 2);
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(stacks)), FRAMES + 1);
    hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_SAMPLE, 0), 1);
    assert_int_equal(hd_stacks_at(hd_trace_stacks_tree(stacks), hd_trace_stacks_of(stacks, &e)).depth, FRAMES);
    hd_trace_stacks_free(stacks);
    hd_trace_free(trace);
    free(text);
}

static void test_folded__a_line_beyond_16_mib_is_counted_and_the_next_is_read(NO_STATE)
{
    const size_t size = ((size_t)33 << 20) + 64;
    char *text = malloc(size);
    assert_non_null(text);
    int n = sprintf(text, "a;b 1\n");
    memset(text + n, 'x', size - (size_t)n);
    memcpy(text + size - 9, " 5\na;c 2\n", 9);
    char *dump = stack_dump_text(text, size, NULL);
    static const char wanted[] =
        "- stack weight=1 | a;b\n- stack weight=2 | a;c\nloss folded.line-too-long 1 at 6, line 2";
    if (!strstr(dump, wanted)) fail_msg("%.300s", dump);
    free(dump);
    free(text);
}

static void test_folded__a_million_equal_stacks_are_one(NO_STATE)
{
    static const char line[] = "main;work;inner 1\n";
    const size_t count = 1000000, n = sizeof line - 1;
    char *text = malloc(count * n);
    assert_non_null(text);
    for (size_t i = 0; i < count; i++) memcpy(text + i * n, line, n);
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, count * n, NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), count);
    assert_true(hd_trace_metadata_find(trace, "stackFrames").size < 200);
    hd_trace_free(trace);
    free(text);
}

static void test_folded__without_args_the_samples_stay(NO_STATE)
{
    const hd_read_options options = {.args = HD_ARGS_META};
    hd_trace *trace;
    assert_int_equal(read_text(&trace, "a;b 1\na;b 2\n", 12, &options, 0, NULL), HD_OK);
    assert_false(hd_trace_facts_of(trace)->has_args);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), 2);
    hd_trace_free(trace);
}

/* ---- what is something else ---- */

static void test_folded__what_is_no_stack_is_told_what_it_looks_like(NO_STATE)
{
    static const struct {
        const char *text, *words;
    } others[] = {
        {"2ELIFREP\x68 1\n", "header of perf.data"},
        {"<?xml version=\"1.0\"?>\n<svg a;b 1\n", "SVG"},
        {"<svg width=\"1200\">;a 1\n", "SVG"},
        {"<!DOCTYPE html>;a 1\n", "HTML"},
        {"DEVICE 0 [ NVIDIA H100 ]\n", "CUPTI"},
        {"SQLite format 3;a 1\n", "SQLite"},
        {"this is a letter\nand nothing else\n", "no reader knows this content; `heddle formats`"},
        {"\n\n \n", ""},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_refusal(others[i].text, strlen(others[i].text), others[i].words);
}

/* The files of shared/data: samples, and the sum of their weights, as awk counts them. */
static void test_folded__real_files_keep_every_line_and_weight(NO_STATE)
{
    static const struct {
        const char *name;
        uint64_t samples;
        int64_t weight;
    } files[] = {{"gpu_trace", 5, 419}, {"merged_trace", 88, 471}, {"pytorch", 18, 18}};
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[1024];
        hd_trace *trace;
        hd_event e;
        int64_t sum = 0, weight;
        snprintf(path, sizeof path, "%s/../shared/data/stacks/%s.folded", root ? root : ".", files[i].name);
        FILE *file = fopen(path, "r");
        if (!file) {
            printf("no %s: skipped\n", path);
            skip();
        }
        fclose(file);
        assert_int_equal(hd_trace_read(&trace, path, NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), files[i].samples);
        uint32_t key = hd_trace_find_string(trace, "weight", 6);
        for (uint32_t row = 0; row < files[i].samples; row++) {
            hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_SAMPLE, 0), row);
            assert_true(hd_event_arg_int(&weight, trace, &e, key));
            sum += weight;
        }
        assert_int_equal(sum, files[i].weight);
        assert_int_equal(hd_trace_ledger_count(trace), 0);
        hd_trace_free(trace);
    }
}

int main(int argc, char **argv)
{
    fixtures all = fixtures_load_as("tests/format/folded", ".folded");
    if (argc > 1 && strcmp(argv[1], "--update") == 0) {
        int failed = fixtures_update(&all, dump_fixture);
        fixtures_free(&all);
        return failed;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_folded__fixtures_give_their_dumps, &all),
        cmocka_unit_test_prestate(test_folded__strict_refuses_damaged_fixtures_and_takes_the_others, &all),
        cmocka_unit_test_prestate(test_folded__fixtures_survive_chrome_json, &all),
        cmocka_unit_test_prestate(test_folded__text_that_ends_anywhere_is_read_or_refused, &all),
        cmocka_unit_test_prestate(test_folded__flipped_bits_are_read_or_refused, &all),
        cmocka_unit_test(test_folded__a_plain_line_is_never_an_extended_one),
        cmocka_unit_test(test_folded__unix_time_is_told_by_its_size),
        cmocka_unit_test(test_folded__times_beyond_int64_are_no_lines),
        cmocka_unit_test(test_folded__ten_thousand_frames_are_a_stack),
        cmocka_unit_test(test_folded__a_line_beyond_16_mib_is_counted_and_the_next_is_read),
        cmocka_unit_test(test_folded__a_million_equal_stacks_are_one),
        cmocka_unit_test(test_folded__without_args_the_samples_stay),
        cmocka_unit_test(test_folded__what_is_no_stack_is_told_what_it_looks_like),
        cmocka_unit_test(test_folded__real_files_keep_every_line_and_weight),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
