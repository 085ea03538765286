/* test_xray.c - XRay logs: fixtures, and every place where a file may end or have a bit changed */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "read_text.h"

static fixtures all;

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static void test_xray__fixtures_give_their_dumps(void **state)
{
    (void)state;
    fixtures_expect(&all, dump_fixture);
    fixtures_expect_strict(&all);
}

/* Events are kept up to the cut: never fewer with more bytes. */
static void test_xray__a_file_cut_anywhere_keeps_what_stands_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        uint64_t before = 0;
        for (size_t size = 64; size <= f->size; size++) {
            hd_trace *trace;
            if (read_text(&trace, f->text, size, &read_fast, 0, NULL) != HD_OK) continue;
            uint64_t count = hd_trace_event_count(trace);
            assert_true(count >= before);
            before = count;
            hd_trace_free(trace);
        }
        assert_true(before > 0);
    }
}

static void test_xray__changed_bits_never_break_the_reader(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        for (size_t bit = 0; bit < f->size * 8; bit++) {
            hd_trace *trace;
            f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
            if (read_text(&trace, f->text, f->size, &read_fast, 0, NULL) == HD_OK) hd_trace_free(trace);
            f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
        }
    }
}

static void test_xray__functions_are_named_by_the_program(void **state)
{
    (void)state;
    static const char *const names[] = {"foo(void*)", "main"};
    char log[1024], program[1024];
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    hd_trace *trace;
    hd_error err = {0};
    snprintf(log, sizeof log, "%s/tests/format/xray/naive.xray", root ? root : ".");
    snprintf(program, sizeof program, "%s/tests/format/xray/program.elf", root ? root : ".");
    hd_read_options options = {.size = sizeof options, .binary = program};
    assert_int_equal(hd_trace_read(&trace, log, &options, &err), HD_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_not_equal(hd_trace_find_string(trace, names[i], strlen(names[i])), HD_STRING_NONE);
    assert_int_equal(hd_trace_find_string(trace, "#1", 2), HD_STRING_NONE);
    assert_int_not_equal(hd_trace_find_string(trace, "#3", 2), HD_STRING_NONE);
    hd_trace_free(trace);
    options.binary = log;
    assert_int_equal(hd_trace_read(&trace, log, &options, &err), HD_ERR_FORMAT);
    options.binary = program;
    snprintf(log, sizeof log, "%s/tests/format/xplane/small.pb", root ? root : ".");
    assert_int_equal(hd_trace_read(&trace, log, &options, &err), HD_ERR_ARGUMENT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xray__fixtures_give_their_dumps),
        cmocka_unit_test(test_xray__a_file_cut_anywhere_keeps_what_stands_before),
        cmocka_unit_test(test_xray__changed_bits_never_break_the_reader),
        cmocka_unit_test(test_xray__functions_are_named_by_the_program),
    };
    all = fixtures_load_as("tests/format/xray", ".xray");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0 ? fixtures_update(&all, dump_fixture)
                                                              : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
