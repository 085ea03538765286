/* test_binary_fixtures.c - files of heddle, perfetto and sbt as they were written once: they are read for ever
 *
 * tests/format/<format>/NAME.<extension> is read and dumped; NAME.expect is what must come out.
 * `test_format_binary_fixtures --update` writes the .expect files anew: read them before you commit them. `bad-NAME`
 * are damaged, all others are not.
 *
 * heddle and perfetto have what `heddle convert` of version 0.1.0 made of tests/format/chrome/NAME.json; samples,
 * stages of a GPU, annotations and clocks are of test_perfetto_features.c, also in fuzz/corpus. small.sbt is the
 * example of the format's description. bad-cut ends early, bad-flipped has one bit changed, bad-count tells more events
 * than there are, bad-killed is what a writer leaves that is killed before it writes its names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "read_text.h"

static fixtures of_heddle, of_perfetto, of_sbt;

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static void test_binary_fixtures__of_all_formats_give_their_dumps(void **state)
{
    (void)state;
    fixtures_expect(&of_heddle, dump_fixture);
    fixtures_expect(&of_perfetto, dump_fixture);
    fixtures_expect(&of_sbt, dump_fixture);
}

static void test_binary_fixtures__strict_refuses_damaged_ones_and_takes_the_others(void **state)
{
    (void)state;
    fixtures_expect_strict(&of_heddle);
    fixtures_expect_strict(&of_perfetto);
    fixtures_expect_strict(&of_sbt);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_binary_fixtures__of_all_formats_give_their_dumps),
        cmocka_unit_test(test_binary_fixtures__strict_refuses_damaged_ones_and_takes_the_others),
    };
    of_heddle = fixtures_load_as("tests/format/heddle", ".heddle");
    of_perfetto = fixtures_load_as("tests/format/perfetto", ".pftrace");
    of_sbt = fixtures_load_as("tests/format/sbt", ".sbt");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0
                     ? fixtures_update(&of_heddle, dump_fixture) | fixtures_update(&of_perfetto, dump_fixture) |
                           fixtures_update(&of_sbt, dump_fixture)
                     : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&of_heddle);
    fixtures_free(&of_perfetto);
    fixtures_free(&of_sbt);
    return failed;
}
