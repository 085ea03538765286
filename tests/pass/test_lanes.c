/* Lane repair of hand-built traces: the plan for each rule. The choice of who moves is test_lanes_solve.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/builder.h"
#include "pass/lanes/lanes.h"

#define NO_STATE void **state __attribute__((unused))

enum { US = 1000 }; /* ns */

/* ---- building ---- */

typedef struct maker {
    hd_builder *builder;
    hd_batch *batch;
    uint64_t offset; /* every event gets the next one, as if it stood in a file */
} maker;

static maker start(void)
{
    maker m = {0};
    assert_int_equal(hd_builder_new(&m.builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&m.batch, m.builder, NULL), HD_OK);
    hd_builder_facts(m.builder)->has_sources = true;
    return m;
}

static void add(maker *m, hd_row row)
{
    row.source_offset = m->offset++;
    row.source_size = 1;
    assert_int_equal(hd_batch_add(m->batch, &row, NULL, NULL), HD_OK);
}

static void slice_ps(maker *m, uint32_t track, int64_t start_ps, int64_t end_ps)
{
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.track = track;
    row.start_ns = start_ps / 1000;
    row.start_ps = (uint32_t)(start_ps % 1000);
    row.duration_ns = end_ps / 1000 - row.start_ns;
    row.end_ps = (uint32_t)(end_ps % 1000);
    add(m, row);
}

static void slice(maker *m, uint32_t track, int64_t start_ns, int64_t end_ns)
{
    slice_ps(m, track, start_ns * 1000, end_ns * 1000);
}

static void event(maker *m, hd_kind kind, char phase, uint32_t track, int64_t at_ns)
{
    hd_row row = hd_row_of(kind, phase);
    row.track = track;
    row.start_ns = at_ns;
    add(m, row);
}

static void begin(maker *m, uint32_t track, int64_t at_ns)
{
    event(m, HD_KIND_SLICE, 'B', track, at_ns);
}
static void end(maker *m, uint32_t track, int64_t at_ns)
{
    event(m, HD_KIND_END, 'E', track, at_ns);
}

static void flow(maker *m, uint32_t track, char phase, bool enclosing, int64_t at_ns)
{
    hd_row row = hd_row_of(HD_KIND_FLOW, phase);
    row.phase |= enclosing ? HD_FLAG_BIND_ENCLOSING : 0;
    row.track = track;
    row.start_ns = at_ns;
    add(m, row);
}

static hd_ident number(maker *m, const char *text)
{
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern_text(m->builder, text)};
}
static hd_ident string(maker *m, const char *text)
{
    return (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(m->builder, text)};
}

static uint32_t track_of(maker *m, hd_ident pid, hd_ident tid)
{
    return hd_builder_track(m->builder, pid, tid, false);
}

/* Slices that cross by more than any threshold. */
static void crossing(maker *m, uint32_t track)
{
    slice(m, track, 0, 100 * US);
    slice(m, track, 50 * US, 150 * US);
}

static hd_trace *finish(maker *m)
{
    hd_chunk *chunk;
    hd_trace *trace;
    assert_int_equal(hd_batch_take(&chunk, m->batch, NULL), HD_OK);
    hd_batch_free(m->batch);
    assert_int_equal(hd_builder_append(m->builder, chunk, NULL), HD_OK);
    assert_int_equal(hd_builder_finish(&trace, m->builder, NULL), HD_OK);
    return trace;
}

typedef struct planned {
    hd_trace *trace;
    hd_lane_plan plan;
} planned;

static planned plan_with(maker *m, int64_t threshold_ps)
{
    planned p = {.trace = finish(m)};
    assert_int_equal(hd_lanes_plan(&p.plan, p.trace, threshold_ps, NULL), HD_OK);
    return p;
}

static planned plan_of(maker *m)
{
    return plan_with(m, INT64_C(5000000));
}

static void done(planned *p)
{
    hd_lane_plan_deinit(&p->plan);
    hd_trace_free(p->trace);
}

/* ---- asking ---- */

static void expect_snap(const hd_lane_edit *e, uint64_t row, int64_t start_ns, int64_t end_ns)
{
    assert_int_equal(e->row, row);
    assert_int_equal(e->lane, HD_NONE);
    assert_int_equal(e->start.ns, start_ns);
    assert_int_equal(e->end.ns, end_ns);
}

static void expect_move(const hd_lane_edit *e, uint64_t row, uint32_t lane)
{
    assert_int_equal(e->row, row);
    assert_int_equal(e->lane, lane);
    assert_false(e->start_changed);
    assert_false(e->end_changed);
}

static void expect_flow(const hd_lane_flow_edit *e, uint64_t row, uint32_t lane, int64_t at_ns)
{
    assert_int_equal(e->row, row);
    assert_int_equal(e->lane, lane);
    assert_int_equal(e->time.ns, at_ns);
}

static void expect_lane(const hd_new_lane *lane, const char *tid, bool is_number, const char *name, int64_t sort_index)
{
    assert_string_equal(lane->tid, tid);
    assert_int_equal(lane->tid_size, strlen(tid));
    assert_int_equal(lane->tid_is_number, is_number);
    assert_string_equal(lane->name, name);
    assert_int_equal(lane->sort_index, sort_index);
}

/* ---- what changes ---- */

static void test_lanes__nothing_crosses_nothing_changes(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 100);
    slice(&m, track, 10, 20);
    slice(&m, track, 100, 200);
    flow(&m, track, 's', false, 15);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count + p.plan.flow_count + p.plan.lane_count, 0);
    assert_int_equal(p.plan.track_count, 1);
    assert_int_equal(p.plan.tracks[0].lane_count, 1);
    assert_int_equal(p.plan.tracks[0].slices, 3);
    done(&p);
}

static void test_lanes__noise_is_snapped_by_the_smaller_shift(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    slice(&m, track, 8 * US, 30 * US);  /* pushed by 2 us */
    slice(&m, track, 15 * US, 31 * US); /* clamped by 1 us */
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count, 2);
    expect_snap(&p.plan.edits[0], 1, 10 * US, 30 * US);
    assert_int_equal(p.plan.edits[0].start_shift_ps, 2000000);
    expect_snap(&p.plan.edits[1], 2, 15 * US, 30 * US);
    assert_int_equal(p.plan.edits[1].end_shift_ps, 1000000);
    assert_int_equal(p.plan.snapped_crossings, 2);
    done(&p);
}

static void test_lanes__threshold_zero_moves_noise_too(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10);
    slice(&m, track, 9, 30);
    planned p = plan_with(&m, 0);
    assert_int_equal(p.plan.edit_count, 1);
    assert_int_equal(p.plan.lane_count, 1);
    assert_int_equal(p.plan.tracks[0].moved, 1);
    done(&p);
}

static void test_lanes__picoseconds_are_told_apart_even_within_one_nanosecond(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice_ps(&m, track, 100, 500);
    slice_ps(&m, track, 400, 900);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count, 1);
    assert_int_equal(p.plan.edits[0].start.ns, 0);
    assert_int_equal(p.plan.edits[0].start.below, 500);
    assert_int_equal(p.plan.edits[0].start_shift_ps, 100);
    done(&p);
}

static void test_lanes__odd_times_overflow_nothing(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    hd_row odd = hd_row_of(HD_KIND_SLICE, 'X');
    odd.track = track;
    add(&m, odd); /* no time at all */
    odd.start_ns = 5;
    odd.duration_ns = INT64_MIN + 1;
    add(&m, odd);
    odd.start_ns = INT64_MAX - 1;
    odd.duration_ns = INT64_MAX - 1;
    add(&m, odd);
    odd.start_ns = INT64_MIN + 1;
    odd.duration_ns = 10;
    odd.start_ps = 7;
    add(&m, odd);
    crossing(&m, track);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count, 1);
    done(&p);
}

static void test_lanes__twins_of_number_and_string_are_one_track(NO_STATE)
{
    maker m = start();
    uint32_t first = track_of(&m, number(&m, "1"), string(&m, "7")),
             second = track_of(&m, number(&m, "1"), number(&m, "7"));
    slice(&m, first, 0, 100 * US);
    slice(&m, second, 50 * US, 150 * US);
    hd_builder_name_track(m.builder, second, hd_builder_intern_text(m.builder, "main"));
    hd_builder_sort_track(m.builder, second, 5);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.track_count, 1);
    assert_int_equal(p.plan.tracks[0].slices, 2);
    expect_lane(&p.plan.lanes[0], "7 lane 1", false, "main lane 1", 5);
    done(&p);
}

/* ---- ids and names of lanes ---- */

static void test_lanes__a_numeric_tid_gives_a_numeric_lane(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7334), other = hd_builder_thread(m.builder, 1, -3);
    crossing(&m, track);
    crossing(&m, other);
    hd_builder_name_track(m.builder, track, hd_builder_intern_text(m.builder, "stream \"7\""));
    hd_builder_sort_track(m.builder, track, -4);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.lane_count, 2);
    expect_lane(&p.plan.lanes[0], "7334001", true, "stream \"7\" lane 1", -4);
    expect_lane(&p.plan.lanes[1], "-2999", true, "tid -3 lane 1", HD_NO_NUMBER);
    done(&p);
}

static void test_lanes__an_id_that_exists_is_not_taken(NO_STATE)
{
    maker m = start();
    crossing(&m, hd_builder_thread(m.builder, 1, 7));
    slice(&m, hd_builder_thread(m.builder, 1, 7001), 0, 1);
    crossing(&m, hd_builder_thread(m.builder, 2, 7));
    slice(&m, hd_builder_thread(m.builder, 1, 9001), 0, 1); /* of another process than 2 */
    crossing(&m, hd_builder_thread(m.builder, 2, 9));
    planned p = plan_of(&m);
    assert_int_equal(p.plan.lane_count, 3);
    expect_lane(&p.plan.lanes[0], "7 lane 1", false, "tid 7 lane 1", HD_NO_NUMBER);
    expect_lane(&p.plan.lanes[1], "7001", true, "tid 7 lane 1", HD_NO_NUMBER);
    expect_lane(&p.plan.lanes[2], "9001", true, "tid 9 lane 1", HD_NO_NUMBER);
    done(&p);
}

static void test_lanes__a_string_that_exists_too_gets_a_number_behind_it(NO_STATE)
{
    maker m = start();
    hd_ident pid = number(&m, "1");
    crossing(&m, track_of(&m, pid, string(&m, "gpu")));
    slice(&m, track_of(&m, pid, string(&m, "gpu lane 1")), 0, 1);
    slice(&m, track_of(&m, pid, string(&m, "gpu lane 1 #2")), 0, 1);
    planned p = plan_of(&m);
    expect_lane(&p.plan.lanes[0], "gpu lane 1 #3", false, "tid gpu lane 1", HD_NO_NUMBER);
    done(&p);
}

static void test_lanes__lanes_of_two_tracks_do_not_collide(NO_STATE)
{
    maker m = start();
    hd_ident pid = number(&m, "1");
    crossing(&m, track_of(&m, pid, number(&m, "0"))); /* 0 * 1000 + 1 */
    crossing(&m, track_of(&m, pid, string(&m, "0.")));
    crossing(&m, track_of(&m, pid, number(&m, "1")));
    planned p = plan_of(&m);
    assert_int_equal(p.plan.lane_count, 3);
    expect_lane(&p.plan.lanes[0], "0 lane 1", false, "tid 0 lane 1", HD_NO_NUMBER);
    expect_lane(&p.plan.lanes[1], "0. lane 1", false, "tid 0. lane 1", HD_NO_NUMBER);
    expect_lane(&p.plan.lanes[2], "1001", true, "tid 1 lane 1", HD_NO_NUMBER);
    done(&p);
}

static void test_lanes__an_id_beyond_exact_doubles_becomes_a_string(NO_STATE)
{
    static const char *const tids[] = {"9007199254740",        "9007199254741", "9007199254740993",
                                       "18446744073709551616", "1e3",           "7.0"};
    for (size_t i = 0; i < sizeof tids / sizeof *tids; i++) {
        maker m = start();
        char name[64], tid[64];
        crossing(&m, track_of(&m, number(&m, "1"), number(&m, tids[i])));
        planned p = plan_of(&m);
        snprintf(tid, sizeof tid, i == 0 ? "%s001" : "%s lane 1", tids[i]);
        snprintf(name, sizeof name, "tid %s lane 1", tids[i]);
        expect_lane(&p.plan.lanes[0], tid, i == 0, name, HD_NO_NUMBER);
        done(&p);
    }
}

/* ---- flow points ---- */

static void test_lanes__flow_points_go_with_a_moved_slice(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    crossing(&m, track);
    flow(&m, track, 's', false, 60 * US); /* in both; the second began last */
    flow(&m, track, 't', false, 40 * US); /* in the first */
    flow(&m, track, 'f', true, 150 * US); /* at the very end of the second, and in nothing else */
    flow(&m, track, 'f', false, 45 * US); /* before the second */
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count, 1);
    uint64_t moved = p.plan.edits[0].row;
    assert_int_equal(p.plan.flow_count, moved == 1 ? 3 : 1);
    if (moved == 1) {
        expect_flow(&p.plan.flows[0], 0, 0, 60 * US);
        expect_flow(&p.plan.flows[1], 2, 0, 150 * US);
        expect_flow(&p.plan.flows[2], 3, 0, 45 * US);
    }
    assert_int_equal(p.plan.flows_unresolved, 0);
    done(&p);
}

static void test_lanes__flow_points_follow_a_pushed_start_and_a_clamped_end(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    slice(&m, track, 8 * US, 30 * US);         /* -> 10 */
    slice(&m, track, 15 * US, 31 * US);        /* -> 30 */
    flow(&m, track, 's', false, 9 * US);       /* in the second, now in the first: to 10 */
    flow(&m, track, 'f', false, 8 * US);       /* next is the second, and still is */
    flow(&m, track, 'f', true, 30 * US + 500); /* in the third, now behind it: before 30 */
    flow(&m, track, 's', false, 20 * US);      /* in the third, and still is */
    planned p = plan_of(&m);
    assert_int_equal(p.plan.flow_count, 2);
    expect_flow(&p.plan.flows[0], 0, HD_NONE, 10 * US);
    expect_flow(&p.plan.flows[1], 2, HD_NONE, 30 * US - 1);
    assert_int_equal(p.plan.flows_unresolved, 0);
    done(&p);
}

static void test_lanes__a_next_point_before_nothing_stays_before_nothing(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    slice(&m, track, 8 * US, 30 * US); /* -> 10 */
    flow(&m, track, 'f', false, 9 * US);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.flow_count, 1);
    expect_flow(&p.plan.flows[0], 0, HD_NONE, 10 * US + 1);
    done(&p);
}

static void test_lanes__a_point_finds_the_gap_between_children(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    slice(&m, track, 8 * US, 60 * US); /* -> 10 */
    slice(&m, track, 10 * US, 20 * US);
    slice(&m, track, 30 * US, 60 * US);
    flow(&m, track, 's', false, 9 * US); /* in the second */
    planned p = plan_of(&m);
    assert_int_equal(p.plan.flow_count, 1);
    expect_flow(&p.plan.flows[0], 0, HD_NONE, 20 * US);
    assert_int_equal(p.plan.flows_unresolved, 0);
    done(&p);
}

static void test_lanes__a_point_of_a_slice_that_is_all_covered_is_counted(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    slice(&m, track, 8 * US, 60 * US); /* -> 10 */
    slice(&m, track, 10 * US, 60 * US);
    flow(&m, track, 's', false, 9 * US);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.flows_unresolved, 1);
    done(&p);
}

/* ---- begin/end pairs ---- */

static void test_lanes__pairs_are_slices_too(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    begin(&m, track, 8 * US);
    end(&m, track, 30 * US);
    begin(&m, track, 40 * US); /* never ends */
    end(&m, hd_builder_thread(m.builder, 1, 8), 50 * US);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count, 1);
    expect_snap(&p.plan.edits[0], 1, 10 * US, 30 * US);
    done(&p);
}

/* Both would meet at 10: in the order of time the inner begin, which stands first, would take the outer end. */
static void test_lanes__a_begin_is_not_pushed_onto_the_end_around_it(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    begin(&m, track, 5 * US);
    begin(&m, track, 9 * US);
    end(&m, track, 12 * US);
    end(&m, track, 13 * US);
    planned p = plan_of(&m);
    assert_true(p.plan.lane_count > 0);
    for (size_t i = 0; i < p.plan.edit_count; i++) {
        if (p.plan.edits[i].lane != HD_NONE) expect_move(&p.plan.edits[i], p.plan.edits[i].row, p.plan.edits[i].lane);
    }
    assert_int_equal(p.plan.tracks[0].lane_count, 2);
    done(&p);
}

/* The outer begin would meet the inner end at 10 and stands before it. */
static void test_lanes__a_begin_is_not_pushed_onto_the_end_of_its_child(NO_STATE)
{
    maker m = start();
    uint32_t track = hd_builder_thread(m.builder, 1, 7);
    slice(&m, track, 0, 10 * US);
    begin(&m, track, 8 * US);
    begin(&m, track, 8 * US);
    end(&m, track, 10 * US);
    end(&m, track, 40 * US);
    planned p = plan_of(&m);
    assert_int_equal(p.plan.edit_count, 1);
    expect_move(&p.plan.edits[0], 1, 0);
    assert_int_equal(p.plan.tracks[0].moved, 1);
    assert_int_equal(p.plan.snapped_crossings, 0);
    done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes__nothing_crosses_nothing_changes),
        cmocka_unit_test(test_lanes__noise_is_snapped_by_the_smaller_shift),
        cmocka_unit_test(test_lanes__threshold_zero_moves_noise_too),
        cmocka_unit_test(test_lanes__picoseconds_are_told_apart_even_within_one_nanosecond),
        cmocka_unit_test(test_lanes__odd_times_overflow_nothing),
        cmocka_unit_test(test_lanes__twins_of_number_and_string_are_one_track),
        cmocka_unit_test(test_lanes__a_numeric_tid_gives_a_numeric_lane),
        cmocka_unit_test(test_lanes__an_id_that_exists_is_not_taken),
        cmocka_unit_test(test_lanes__a_string_that_exists_too_gets_a_number_behind_it),
        cmocka_unit_test(test_lanes__lanes_of_two_tracks_do_not_collide),
        cmocka_unit_test(test_lanes__an_id_beyond_exact_doubles_becomes_a_string),
        cmocka_unit_test(test_lanes__flow_points_go_with_a_moved_slice),
        cmocka_unit_test(test_lanes__flow_points_follow_a_pushed_start_and_a_clamped_end),
        cmocka_unit_test(test_lanes__a_next_point_before_nothing_stays_before_nothing),
        cmocka_unit_test(test_lanes__a_point_finds_the_gap_between_children),
        cmocka_unit_test(test_lanes__a_point_of_a_slice_that_is_all_covered_is_counted),
        cmocka_unit_test(test_lanes__pairs_are_slices_too),
        cmocka_unit_test(test_lanes__a_begin_is_not_pushed_onto_the_end_around_it),
        cmocka_unit_test(test_lanes__a_begin_is_not_pushed_onto_the_end_of_its_child),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
