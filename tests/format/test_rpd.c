/* test_rpd.c - rocmProfileData: fixtures, every cut and many flips of them
 *
 * Fixtures are made by rpd_fixtures.py. bad-page has a page of zeros, bad-cut is cut, bad-rows has rows without
 * sense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "heddle/launches.h"
#include "read_text.h"

#define NO_STATE void **state __attribute__((unused))

static fixtures all;

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static const fixture *named(const char *name)
{
    for (size_t i = 0; i < all.count; i++) {
        if (strcmp(all.list[i].name, name) == 0) return &all.list[i];
    }
    fail_msg("tests/format/rpd/%s.rpd is missing", name);
    return NULL;
}

static hd_trace *read_fixture(const char *name)
{
    hd_trace *trace;
    hd_error err = {0};
    const fixture *f = named(name);
    if (read_text(&trace, f->text, f->size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    assert_string_equal(hd_trace_facts_of(trace)->format, "rpd");
    return trace;
}

static void test_rpd__fixtures_give_their_dumps(NO_STATE)
{
    fixtures_expect(&all, dump_fixture);
}

/* The barrier is no work; both tasks of the graph have its call, and what no call tells has none. */
static void test_rpd__work_finds_its_launch(NO_STATE)
{
    hd_trace *trace = read_fixture("small");
    hd_launches *launches;
    assert_int_equal(hd_launches_new(&launches, trace, NULL), HD_OK);
    assert_int_equal(launches->work_count, 6);
    unsigned joined = 0;
    for (size_t i = 0; i < launches->work_count; i++) joined += launches->works[i].launch != HD_NONE;
    assert_int_equal(joined, 6);
    assert_int_equal(launches->launch_count, 5);
    hd_launches_free(launches);
    hd_trace_free(trace);
}

static void test_rpd__what_makes_no_sense_is_counted(NO_STATE)
{
    hd_trace *trace = read_fixture("bad-rows");
    assert_int_equal(hd_trace_event_count(trace), 1);
    assert_int_equal(fixture_noted(trace, "sqlite.end-before-start"), 1);
    assert_int_equal(fixture_noted(trace, "sqlite.no-time"), 1);
    hd_trace_free(trace);
    trace = read_fixture("bad-page");
    assert_int_equal(fixture_noted(trace, "sqlite.page-damaged"), 1);
    assert_true(hd_trace_event_count(trace) > 0 && hd_trace_event_count(trace) < 60);
    hd_trace_free(trace);
}

static void test_rpd__damage_never_crashes_and_strict_refuses_it(NO_STATE)
{
    static const hd_read_options strict = {.strict = true};
    const char *const bad[] = {"bad-rows", "bad-page", "bad-cut"};
    hd_trace *trace;
    for (size_t i = 0; i < 3; i++) {
        const fixture *f = named(bad[i]);
        assert_int_equal(read_text(&trace, f->text, f->size, &strict, 0, NULL), HD_ERR_DAMAGED);
    }
    fixture_survives_cuts(named("edge"), 100);
    fixture_survives_cuts(named("small"), 512);
}

static void test_rpd__threads_change_nothing(NO_STATE)
{
    fixtures_expect_threads(&all);
}

static void test_rpd__flipped_bits_cost_what_they_hit(NO_STATE)
{
    fixtures_survive_flips(&all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rpd__fixtures_give_their_dumps),
        cmocka_unit_test(test_rpd__work_finds_its_launch),
        cmocka_unit_test(test_rpd__what_makes_no_sense_is_counted),
        cmocka_unit_test(test_rpd__damage_never_crashes_and_strict_refuses_it),
        cmocka_unit_test(test_rpd__threads_change_nothing),
        cmocka_unit_test(test_rpd__flipped_bits_cost_what_they_hit),
    };
    all = fixtures_load_as("tests/format/rpd", ".rpd");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0 ? fixtures_update(&all, dump_fixture)
                                                              : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
