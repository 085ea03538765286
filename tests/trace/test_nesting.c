/* test_nesting.c - parents and depths against a model that looks at all pairs, and what Perfetto says of equal times */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/format.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"
#include "trace/event.h"
#include "trace/index/nesting.h"

enum { SLICES = 80 };

static hd_trace *trace_of(const char *text)
{
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, strlen(text), &read_fast, 0, NULL), HD_OK);
    return trace;
}

static hd_nesting *nesting_of(const hd_trace *trace)
{
    hd_nesting *nesting;
    assert_int_equal(hd_nesting_new(&nesting, trace, NULL), HD_OK);
    assert_int_equal(nesting->count, hd_trace_row_count(trace, HD_KIND_SLICE));
    return nesting;
}

/* The end that counts for nesting. */
static int64_t end_of(const hd_event *e)
{
    if (e->duration_ns == HD_NO_TIME && e->phase == 'B') return INT64_MAX;
    return hd_end_or_start(e->start_ns, e->duration_ns > 0 ? e->duration_ns : 0);
}

static bool is_before(const hd_event *a, const hd_event *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if (end_of(a) != end_of(b)) return end_of(a) > end_of(b);
    return a->row < b->row;
}

static bool holds(const hd_event *a, const hd_event *b)
{
    if (a->track != b->track || !is_before(a, b) || end_of(a) < end_of(b)) return false;
    if (end_of(b) == b->start_ns && a->phase == 'B' && a->start_ns == b->start_ns && a->row > b->row) return false;
    return end_of(a) > b->start_ns || a->start_ns == b->start_ns;
}

/* Whether another, between the two in start order, ends behind the first: what crosses a slice hides it. */
static bool is_hidden(const hd_trace *trace, const hd_event *a, const hd_event *b)
{
    for (uint64_t row = 0; row < hd_trace_row_count(trace, HD_KIND_SLICE); row++) {
        hd_event c = hd_event_at(trace, HD_KIND_SLICE, row);
        if (c.start_ns != HD_NO_TIME && c.track == a->track && is_before(a, &c) && is_before(&c, b) &&
            end_of(&c) > end_of(a))
            return true;
    }
    return false;
}

static void compare_with_model(const hd_trace *trace)
{
    hd_nesting *nesting = nesting_of(trace);
    for (size_t row = 0; row < nesting->count; row++) {
        hd_event slice = hd_event_at(trace, HD_KIND_SLICE, row), parent = {.track = HD_NONE};
        for (size_t other = 0; other < nesting->count && slice.start_ns != HD_NO_TIME; other++) {
            hd_event event = hd_event_at(trace, HD_KIND_SLICE, other);
            if (other == row || event.start_ns == HD_NO_TIME || !holds(&event, &slice)) continue;
            if ((parent.track == HD_NONE || is_before(&parent, &event)) && !is_hidden(trace, &event, &slice))
                parent = event;
        }
        assert_int_equal(nesting->parents[row], parent.track == HD_NONE ? HD_NONE : parent.row);
        assert_int_equal(nesting->depths[row], parent.track == HD_NONE ? 0 : nesting->depths[parent.row] + 1);
    }
    hd_nesting_free(nesting);
}

static void test_nesting__random_slices_equal_the_model(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < hd_test_rounds(100); round++) {
        uint64_t seed = round + 1;
        char text[SLICES * 96] = "[";
        size_t size = 1;
        bool in_order = random_next(&seed) % 2;
        unsigned span = 1 + random_next(&seed) % 60, now = 0;
        for (int i = 0; i < SLICES; i++) {
            now = in_order ? now + random_next(&seed) % 3 : random_next(&seed) % span;
            unsigned pick = random_next(&seed) % 8, tid = random_next(&seed) % 2;
            size += (size_t)snprintf(text + size, sizeof text - size, "%s{\"ph\":\"%c\",\"pid\":1,\"tid\":%u,\"ts\":%u",
                                     i ? "," : "", "XXXXXXBE"[pick], tid, now);
            if (pick < 6) size += (size_t)snprintf(text + size, sizeof text - size, ",\"dur\":%u", pick * pick % 9);
            size += (size_t)snprintf(text + size, sizeof text - size, ",\"name\":\"n\"}");
        }
        strcpy(text + size, "]");
        hd_trace *trace = trace_of(text);
        compare_with_model(trace);
        hd_trace_free(trace);
    }
}

/* depths of the slices, in the order of the input */
static void expect_depths(const char *events, unsigned first, unsigned second)
{
    hd_trace *trace = trace_of(events);
    hd_nesting *nesting = nesting_of(trace);
    assert_int_equal(nesting->count, 2);
    assert_int_equal(nesting->depths[0], first);
    assert_int_equal(nesting->depths[1], second);
    hd_nesting_free(nesting);
    hd_trace_free(trace);
}

#define SLICE(ph, ts, dur) "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur ",\"name\":\"s\"}"
#define END(ts) ",{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":" #ts "}"

static void test_nesting__equal_times_are_as_in_perfetto(void **state)
{
    (void)state;
    expect_depths("[" SLICE("X", 1000, 100) "," SLICE("X", 1100, 0) "]", 0, 0);
    expect_depths("[" SLICE("X", 1000, 100) "," SLICE("X", 1100, 100) "]", 0, 0);
    expect_depths("[" SLICE("X", 1000, 0) "," SLICE("X", 1000, 0) "]", 0, 1);
    expect_depths("[" SLICE("X", 1000, 0) "," SLICE("X", 1000, 100) "]", 1, 0);
    expect_depths("[" SLICE("X", 1000, 0) "," SLICE("B", 1000, 0) END(1100) "]", 0, 0);
    expect_depths("[" SLICE("X", 100, 100) "," SLICE("X", 150, 100) "]", 0, 0); /* they cross */
    expect_depths("[" SLICE("B", 100, 0) "," SLICE("X", 150, 100) "]", 0, 1);   /* never closed */
}

static void test_nesting__picoseconds_count(void **state)
{
    (void)state;
    expect_depths("[" SLICE("X", 1, 0.0105) "," SLICE("X", 1.0102, 0.0001) "]", 0, 1);
    expect_depths("[" SLICE("X", 1, 0.0105) "," SLICE("X", 1.0105, 0.0001) "]", 0, 0);
}

static void test_nesting__nothing_gives_nothing(void **state)
{
    (void)state;
    hd_trace *trace = trace_of("[]");
    hd_nesting_free(nesting_of(trace));
    hd_trace_free(trace);
    hd_nesting_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting__random_slices_equal_the_model),
        cmocka_unit_test(test_nesting__equal_times_are_as_in_perfetto),
        cmocka_unit_test(test_nesting__picoseconds_count),
        cmocka_unit_test(test_nesting__nothing_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
