/* test_speedscope.c - profiles of speedscope: fixtures, and every place where a file may end or have a bit changed */
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

static void test_speedscope__fixtures_give_their_dumps(void **state)
{
    (void)state;
    assert_true(all.count > 4);
    fixtures_expect(&all, dump_fixture);
    fixtures_expect_strict(&all);
}

/* Whatever is missing, what is left is told or refused; samples before the cut stay. */
static void test_speedscope__a_file_cut_anywhere_keeps_what_stands_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        uint64_t before = 0;
        for (size_t size = 1; size < f->size; size++) {
            hd_trace *trace;
            if (read_text(&trace, f->text, size, &read_fast, 0, NULL) != HD_OK) continue;
            if (strcmp(hd_trace_facts_of(trace)->format, "speedscope") == 0) {
                if (hd_trace_event_count(trace) < before) fail_msg("%s: fewer with %zu bytes", f->name, size);
                before = hd_trace_event_count(trace);
            }
            hd_trace_free(trace);
        }
        assert_true(before > 0);
    }
}

static void test_speedscope__changed_bits_never_break_the_reader(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        const size_t bits = 8 * f->size, step = bits > 16384 ? 13 : 1;
        for (size_t bit = 0; bit < bits; bit += step) {
            hd_trace *trace;
            f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
            if (read_text(&trace, f->text, f->size, &read_fast, 0, NULL) == HD_OK) hd_trace_free(trace);
            f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speedscope__fixtures_give_their_dumps),
        cmocka_unit_test(test_speedscope__a_file_cut_anywhere_keeps_what_stands_before),
        cmocka_unit_test(test_speedscope__changed_bits_never_break_the_reader),
    };
    all = fixtures_load_as("tests/format/speedscope", ".json");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0 ? fixtures_update(&all, dump_fixture)
                                                              : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
