/* test_perfscript.c - text of perf script: tests/format/perfscript/NAME.perf and what must come of them
 *
 * `test_format_perfscript --update` writes the .expect files anew: read them before you commit them.
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

static void test_perfscript__fixtures_give_their_dumps(void **state)
{
    fixtures_expect(*state, dump_fixture);
}

static void test_perfscript__strict_refuses_damaged_fixtures_and_takes_the_others(void **state)
{
    fixtures_expect_strict(*state);
}

/* Written as JSON and read again, every sample has its stack, time, thread and arguments. */
static void test_perfscript__fixtures_survive_chrome_json(void **state)
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

static void test_perfscript__text_that_ends_anywhere_is_read_or_refused(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) stack_cut_everywhere(all->list[i].text, all->list[i].size);
}

static void test_perfscript__flipped_bits_are_read_or_refused(void **state)
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

/* ---- lines ---- */

static void test_perfscript__times_of_six_and_nine_digits_are_ns(NO_STATE)
{
    expect_dump("t 1 2.000001: cycles: \n\t            1196 a (/x)\n\nt 1 2.000001001: cycles: \n",
                "perf-script, time of its own\n-/1 2000001000 cycles | a\n-/1 2000001001 cycles | \ntrack -/1 t\n");
}

static void test_perfscript__a_time_beyond_int64_is_told(NO_STATE)
{
    expect_dump("t 1 9223372037.000000: cycles: \n\t            1196 a (/x)\n\n",
                "perf-script, time of its own\n-/1 cycles | a\ntrack -/1 t\nloss perf-script.time 1 at 0, line 1 has a "
                "time beyond 2^63 ns: t 1 9223372037.000000: cycles: \n");
}

static void test_perfscript__a_comm_may_begin_like_a_comment(NO_STATE)
{
    expect_dump("# cmdline : perf record\n#w 7/8 2.000001: cycles: \n\t            1196 a (/x)\n\n",
                "perf-script, time of its own\n7/8 2000001000 cycles | a\ntrack 7/8 #w\n");
}

/* The first 80 bytes are shown, not half of a character. */
static void test_perfscript__what_the_ledger_shows_is_cut_between_characters(NO_STATE)
{
    char text[512] = "t 1 2.000001: cycles: \n\t            1196 a (/x)\n\n", wanted[512];
    char line[128] = "";
    for (int i = 0; i < 30; i++) strcat(line, "\xe2\x82\xac");
    strcat(strcat(text, line), "\n");
    snprintf(
        wanted, sizeof wanted,
        "perf-script, time of its own\n-/1 2000001000 cycles | a\ntrack -/1 t\nloss perf-script.line-unreadable 1 at "
        "49, line 4 is neither a sample nor a frame: %.78s \xe2\x80\xa6\n",
        line);
    expect_dump(text, wanted);
}

static void test_perfscript__offsets_and_addresses_do_not_make_functions_differ(NO_STATE)
{
    static const char text[] =
        "t 1 2.000000: cycles: \n\t            1196 a+0x1 (/x)\n\t            1300 main+0x2 (/x)\n\n"
        "t 1 3.000000: cycles: \n\t            1199 a+0x4 (/x)\n\t            1300 main+0x2 (/x)\n\n";
    hd_trace *trace;
    hd_trace_stacks *stacks;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_stacks_new(&stacks, trace, NULL), HD_OK);
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(stacks)), 3); /* nothing, main, main;a */
    hd_trace_stacks_free(stacks);
    hd_trace_free(trace);
}

static void test_perfscript__a_stack_of_100000_frames_is_cut_and_told(NO_STATE)
{
    enum { FRAMES = 100000 };
    char *text = malloc(FRAMES * 32 + 64), *at = text;
    assert_non_null(text);
    at += sprintf(at, "t 1 2.000000: cycles: \n");
    for (int i = 0; i < FRAMES; i++) at += sprintf(at, "\t%16x f%d (/x)\n", i, i % 7);
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, (size_t)(at - text), NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), 1);
    assert_int_equal(hd_trace_ledger_count(trace), 1);
    assert_string_equal(hd_trace_ledger_at(trace, 0)->code, "perf-script.stack-too-deep");
    assert_int_equal(hd_trace_ledger_at(trace, 0)->count, FRAMES - 65536);
    hd_trace_free(trace);
    free(text);
}

static void test_perfscript__comments_longer_than_what_is_sniffed_do_not_hide_it(NO_STATE)
{
    char *text = malloc(20000), *at = text;
    assert_non_null(text);
    at += sprintf(at, "# ========\n# captured on    : Sat Nov 21 00:00:00 2026\n");
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "# event : name = cycles, type = 0, config = 0x0, sample_freq = 99\n");
    at += sprintf(at, "t 1 2.000000: cycles: \n\t            1196 a (/x)\n");
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, (size_t)(at - text), NULL, 0, NULL), HD_OK);
    assert_string_equal(hd_trace_facts_of(trace)->format, "perf-script");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), 1);
    hd_trace_free(trace);
    free(text);
}

static void test_perfscript__comments_without_samples_and_json_are_something_else(NO_STATE)
{
    static const char text[] = "# ========\n# captured on    : Sat Nov 21 00:00:00 2026\n# ========\n";
    expect_refusal(text, sizeof text - 1, "no sample as `perf script` prints it");
    static const char json[] =
        "\n  {\"deviceProperties\": [\n    {\n      \"id\": 0, \"totalGlobalMem\": 16945512448,\n"
        "      \"numSms\": 80, \"regsPerBlock\": 65536\n    }], \"traceEvents\": []}\n";
    hd_trace *trace;
    assert_int_equal(read_text(&trace, json, sizeof json - 1, NULL, 0, NULL), HD_OK);
    assert_string_equal(hd_trace_facts_of(trace)->format, "chrome");
    hd_trace_free(trace);
    expect_refusal("12:30 hello: there\n", 19, "no reader knows this content");
}

/* FlameGraph's example in shared/data, whose samples grep counts. */
static void test_perfscript__the_real_file_keeps_every_sample(NO_STATE)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    hd_trace *trace;
    snprintf(path, sizeof path, "%s/../shared/data/stacks/example-perf-stacks.txt.gz", root ? root : ".");
    FILE *file = fopen(path, "r");
    if (!file) {
        printf("no %s: skipped\n", path);
        skip();
    }
    fclose(file);
    assert_int_equal(hd_trace_read(&trace, path, NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), 1315);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(hd_trace_facts_of(trace)->start_ns, 7628263042515000);
    hd_trace_free(trace);
}

int main(int argc, char **argv)
{
    fixtures all = fixtures_load_as("tests/format/perfscript", ".perf");
    if (argc > 1 && strcmp(argv[1], "--update") == 0) {
        int failed = fixtures_update(&all, dump_fixture);
        fixtures_free(&all);
        return failed;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_perfscript__fixtures_give_their_dumps, &all),
        cmocka_unit_test_prestate(test_perfscript__strict_refuses_damaged_fixtures_and_takes_the_others, &all),
        cmocka_unit_test_prestate(test_perfscript__fixtures_survive_chrome_json, &all),
        cmocka_unit_test_prestate(test_perfscript__text_that_ends_anywhere_is_read_or_refused, &all),
        cmocka_unit_test_prestate(test_perfscript__flipped_bits_are_read_or_refused, &all),
        cmocka_unit_test(test_perfscript__times_of_six_and_nine_digits_are_ns),
        cmocka_unit_test(test_perfscript__a_time_beyond_int64_is_told),
        cmocka_unit_test(test_perfscript__a_comm_may_begin_like_a_comment),
        cmocka_unit_test(test_perfscript__what_the_ledger_shows_is_cut_between_characters),
        cmocka_unit_test(test_perfscript__offsets_and_addresses_do_not_make_functions_differ),
        cmocka_unit_test(test_perfscript__a_stack_of_100000_frames_is_cut_and_told),
        cmocka_unit_test(test_perfscript__comments_longer_than_what_is_sniffed_do_not_hide_it),
        cmocka_unit_test(test_perfscript__comments_without_samples_and_json_are_something_else),
        cmocka_unit_test(test_perfscript__the_real_file_keeps_every_sample),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
