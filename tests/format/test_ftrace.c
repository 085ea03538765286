/* test_ftrace.c - ftrace: fixtures, and every place where a file may end or have a bit changed */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "read_text.h"

enum { OF_DAT, OF_TEXT, SETS };

static fixtures all[SETS];

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static void test_ftrace__fixtures_give_their_dumps(void **state)
{
    (void)state;
    for (int set = 0; set < SETS; set++) {
        fixtures_expect(&all[set], dump_fixture);
        fixtures_expect_strict(&all[set]);
    }
}

/* Events are kept up to the cut: never fewer with more bytes, but for text, whose last line may be half of one. */
static void test_ftrace__a_file_cut_anywhere_keeps_what_stands_before(void **state)
{
    (void)state;
    for (int set = 0; set < SETS; set++) {
        for (size_t i = 0; i < all[set].count; i++) {
            const fixture *f = &all[set].list[i];
            uint64_t before = 0;
            for (size_t size = 16; size <= f->size; size += set == OF_DAT ? 13 : 3) {
                hd_trace *trace;
                if (read_text(&trace, f->text, size, &read_fast, 0, NULL) != HD_OK) continue;
                uint64_t count = hd_trace_event_count(trace);
                if (count < before && set == OF_DAT)
                    fail_msg("%s cut at %zu: %d after %d events", f->name, size, (int)count, (int)before);
                before = count;
                hd_trace_free(trace);
            }
            assert_true(before > 0 || strncmp(f->name, "edge-seven", 10) == 0); /* its options stand last */
        }
    }
}

static void test_ftrace__changed_bits_never_break_the_reader(void **state)
{
    (void)state;
    for (int set = 0; set < SETS; set++) {
        for (size_t i = 0; i < all[set].count; i++) {
            const fixture *f = &all[set].list[i];
            for (size_t bit = i % 7; bit < f->size * 8; bit += set == OF_DAT ? 101 : 13) {
                hd_trace *trace;
                f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
                if (read_text(&trace, f->text, f->size, &read_fast, 0, NULL) == HD_OK) hd_trace_free(trace);
                f->text[bit / 8] = (char)(f->text[bit / 8] ^ 1 << bit % 8);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ftrace__fixtures_give_their_dumps),
        cmocka_unit_test(test_ftrace__a_file_cut_anywhere_keeps_what_stands_before),
        cmocka_unit_test(test_ftrace__changed_bits_never_break_the_reader),
    };
    all[OF_DAT] = fixtures_load_as("tests/format/ftrace", ".dat");
    all[OF_TEXT] = fixtures_load_as("tests/format/ftrace", ".ftrace");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0
                     ? fixtures_update(&all[OF_DAT], dump_fixture) | fixtures_update(&all[OF_TEXT], dump_fixture)
                     : cmocka_run_group_tests(tests, NULL, NULL);
    for (int set = 0; set < SETS; set++) fixtures_free(&all[set]);
    return failed;
}
