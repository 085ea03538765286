/* test_perfdata.c - perf.data: fixtures, and every place where a file may end or have a bit changed */
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

static void test_perfdata__fixtures_give_their_dumps(void **state)
{
    (void)state;
    fixtures_expect(&all, dump_fixture);
    fixtures_expect_strict(&all);
}

/* Events are kept up to the cut: never fewer with more bytes. Behind damage a cut record is no record to go on with. */
static void test_perfdata__a_file_cut_anywhere_keeps_what_stands_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        uint64_t before = 0;
        if (strcmp(f->name, "bad-zero-size") == 0) continue;
        for (size_t size = 32; size <= f->size; size += 3) {
            hd_trace *trace;
            if (read_text(&trace, f->text, size, &read_fast, 0, NULL) != HD_OK) continue;
            uint64_t count = hd_trace_event_count(trace) - hd_trace_row_count(trace, HD_KIND_FLOW);
            if (count < before) fail_msg("%s cut at %zu: %d after %d events", f->name, size, (int)count, (int)before);
            before = count;
            hd_trace_free(trace);
        }
        assert_true(before > 0);
    }
}

static void test_perfdata__changed_bits_never_break_the_reader(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const fixture *f = &all.list[i];
        for (size_t bit = 0; bit < f->size * 8; bit += 3) {
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
        cmocka_unit_test(test_perfdata__fixtures_give_their_dumps),
        cmocka_unit_test(test_perfdata__a_file_cut_anywhere_keeps_what_stands_before),
        cmocka_unit_test(test_perfdata__changed_bits_never_break_the_reader),
    };
    all = fixtures_load_as("tests/format/perfdata", ".data");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0 ? fixtures_update(&all, dump_fixture)
                                                              : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
