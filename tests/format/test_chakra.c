/* test_chakra.c - execution traces: fixtures, and every place where a file may end or change */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "read_text.h"

static fixtures json, et;

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static void test_chakra__fixtures_give_their_dumps(void **state)
{
    (void)state;
    fixtures_expect(&json, dump_fixture);
    fixtures_expect(&et, dump_fixture);
    fixtures_expect_strict(&json);
    fixtures_expect_strict(&et);
}

/* Nodes are kept up to the cut: never fewer with more bytes. */
static void cut_anywhere(const fixtures *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        uint64_t before = 0;
        for (size_t size = 1; size <= f->size; size += f->is_damaged ? 13 : 1) {
            hd_trace *trace;
            if (read_text(&trace, f->text, size, &read_fast, 0, NULL) != HD_OK) continue;
            uint64_t count = hd_trace_event_count(trace);
            if (strncmp(f->name, "edge", 4) == 0 && count < before)
                fail_msg("%s: fewer events in %zu bytes", f->name, size);
            before = count;
            hd_trace_free(trace);
        }
        assert_true(before > 0 || f->is_damaged);
    }
}

static void test_chakra__a_file_cut_anywhere_keeps_what_stands_before(void **state)
{
    (void)state;
    cut_anywhere(&json);
    cut_anywhere(&et);
}

static void change_bits(const fixtures *all)
{
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        for (size_t bit = 0; bit < f->size * 8; bit += f->is_damaged ? 61 : 5) {
            hd_trace *trace;
            f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
            if (read_text(&trace, f->text, f->size, &read_fast, 0, NULL) == HD_OK) hd_trace_free(trace);
            f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
        }
    }
}

static void test_chakra__changed_bits_never_break_the_reader(void **state)
{
    (void)state;
    change_bits(&json);
    change_bits(&et);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chakra__fixtures_give_their_dumps),
        cmocka_unit_test(test_chakra__a_file_cut_anywhere_keeps_what_stands_before),
        cmocka_unit_test(test_chakra__changed_bits_never_break_the_reader),
    };
    json = fixtures_load("tests/format/chakra");
    et = fixtures_load_as("tests/format/chakra", ".et");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0
                     ? fixtures_update(&json, dump_fixture) | fixtures_update(&et, dump_fixture)
                     : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&json);
    fixtures_free(&et);
    return failed;
}
