/* test_rocpd.c - databases of ROCm 7: fixtures, every cut and many flips of them
 *
 * Fixtures are made by rocpd_fixtures.py. bad-page has a page of zeros, bad-cut is cut, bad-rows has rows without
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
    fail_msg("tests/format/rocpd/%s.db is missing", name);
    return NULL;
}

static hd_trace *read_fixture(const char *name)
{
    hd_trace *trace;
    hd_error err = {0};
    const fixture *f = named(name);
    if (read_text(&trace, f->text, f->size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    assert_string_equal(hd_trace_facts_of(trace)->format, "rocpd");
    return trace;
}

static void test_rocpd__fixtures_give_their_dumps(NO_STATE)
{
    fixtures_expect(&all, dump_fixture);
}

/* By the event's stack_id: a kernel and a copy have their call, a kernel without an event has none. */
static void expect_launches(const char *name, size_t works, size_t launches_of_them)
{
    hd_trace *trace = read_fixture(name);
    hd_launches *launches;
    assert_int_equal(hd_launches_new(&launches, trace, NULL), HD_OK);
    assert_int_equal(launches->work_count, works);
    size_t joined = 0;
    for (size_t i = 0; i < works; i++) {
        if (launches->works[i].launch == HD_NONE) continue;
        const hd_launch *launch = &launches->launches[launches->works[i].launch];
        assert_true(launch->start_ns < launches->works[i].start_ns); /* that of the same guid */
        assert_true(launches->works[i].start_ns - launch->start_ns < 500);
        joined++;
    }
    assert_int_equal(joined, launches_of_them);
    hd_launches_free(launches);
    hd_trace_free(trace);
}

static void test_rocpd__work_finds_its_launch(NO_STATE)
{
    expect_launches("small", 3, 2);
    expect_launches("v4", 2, 1);
    expect_launches("two", 6, 4);
}

static void test_rocpd__views_are_never_looked_at(NO_STATE)
{
    hd_trace *small = read_fixture("small"), *hostile = read_fixture("edge-hostile");
    assert_int_equal(hd_trace_event_count(hostile), hd_trace_event_count(small));
    assert_int_equal(hd_trace_ledger_count(hostile), 0);
    hd_trace_free(small);
    hd_trace_free(hostile);
}

static void test_rocpd__what_makes_no_sense_is_counted(NO_STATE)
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

static void test_rocpd__damage_never_crashes_and_strict_refuses_it(NO_STATE)
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
    fixture_survives_cuts(named("v4"), 300);
}

static void test_rocpd__threads_change_nothing(NO_STATE)
{
    fixtures_expect_threads(&all);
}

static void test_rocpd__flipped_bits_cost_what_they_hit(NO_STATE)
{
    fixtures_survive_flips(&all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rocpd__fixtures_give_their_dumps),
        cmocka_unit_test(test_rocpd__work_finds_its_launch),
        cmocka_unit_test(test_rocpd__views_are_never_looked_at),
        cmocka_unit_test(test_rocpd__what_makes_no_sense_is_counted),
        cmocka_unit_test(test_rocpd__damage_never_crashes_and_strict_refuses_it),
        cmocka_unit_test(test_rocpd__threads_change_nothing),
        cmocka_unit_test(test_rocpd__flipped_bits_cost_what_they_hit),
    };
    all = fixtures_load_as("tests/format/rocpd", ".db");
    int failed = argc > 1 && strcmp(argv[1], "--update") == 0 ? fixtures_update(&all, dump_fixture)
                                                              : cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
