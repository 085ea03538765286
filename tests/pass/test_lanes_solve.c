/* Lane repair on arrays: every rule by hand, then properties over many random inputs, then large inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pass/lanes/solve.h"
#include "rounds.h"

typedef hd_lane_slice slice;

#define NO_STATE void **state __attribute__((unused))
#define COUNT(array) (sizeof(array) / sizeof *(array))

static hd_lane_result solve(slice *slices, size_t count, int64_t threshold)
{
    hd_lane_result result;
    hd_error err = {0};
    assert_int_equal(hd_lanes_solve(&result, slices, count, threshold, UINT64_MAX, &err), HD_OK);
    return result;
}

static void expect_slice(const slice *s, int64_t start, int64_t end, uint32_t lane)
{
    assert_int_equal(s->start, start);
    assert_int_equal(s->end, end);
    assert_int_equal(s->lane, lane);
}

static void expect_counts(hd_lane_result r, uint32_t lanes, uint64_t moved, uint64_t snapped, uint64_t crossings)
{
    assert_int_equal(r.lane_count, lanes);
    assert_int_equal(r.moved, moved);
    assert_int_equal(r.snapped, snapped);
    assert_int_equal(r.crossings, crossings);
}

/* ---- noise ---- */

static void test_lanes__child_end_is_clamped_to_its_parent_on_a_tie_too(NO_STATE)
{
    slice s[] = {{0, 100, 9}, {50, 103, 9}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 1, 1);
    expect_slice(&s[0], 0, 100, 0);
    expect_slice(&s[1], 50, 100, 0);
    slice tie[] = {{0, 100, 0}, {98, 102, 0}};
    solve(tie, 2, 5);
    expect_slice(&tie[1], 98, 100, 0);
}

static void test_lanes__child_start_is_pushed_to_the_boundary_before_it(NO_STATE)
{
    slice s[] = {{0, 100, 9}, {97, 200, 9}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 1, 1);
    expect_slice(&s[0], 0, 100, 0);
    expect_slice(&s[1], 100, 200, 0);
}

static void test_lanes__a_crossing_of_the_threshold_is_genuine_and_any_at_zero(NO_STATE)
{
    slice below[] = {{0, 100, 0}, {50, 104, 0}}, at[] = {{0, 100, 0}, {50, 105, 0}};
    slice below_push[] = {{0, 100, 0}, {96, 200, 0}}, at_push[] = {{0, 100, 0}, {95, 200, 0}};
    expect_counts(solve(below, 2, 5), 1, 0, 1, 1);
    expect_counts(solve(at, 2, 5), 2, 1, 0, 0);
    expect_counts(solve(below_push, 2, 5), 1, 0, 1, 1);
    expect_counts(solve(at_push, 2, 5), 2, 1, 0, 0);
    expect_slice(&at[1], 50, 105, 1);
    expect_slice(&at_push[1], 95, 200, 1);
    slice least[] = {{0, 100, 0}, {99, 101, 0}};
    expect_counts(solve(least, 2, 0), 2, 1, 0, 0);
    expect_slice(&least[1], 99, 101, 1);
}

static void test_lanes__a_start_pushed_past_one_boundary_is_checked_against_the_next(NO_STATE)
{
    slice clamped[] = {{0, 102, 0}, {10, 100, 0}, {99, 103, 0}};
    expect_counts(solve(clamped, 3, 5), 1, 0, 1, 2);
    expect_slice(&clamped[2], 100, 102, 0);
    slice inside[] = {{0, 200, 0}, {10, 100, 0}, {99, 150, 0}};
    expect_counts(solve(inside, 3, 5), 1, 0, 1, 1);
    expect_slice(&inside[2], 100, 150, 0);
    slice twice[] = {{0, 102, 0}, {10, 100, 0}, {99, 200, 0}};
    expect_counts(solve(twice, 3, 5), 1, 0, 1, 2);
    expect_slice(&twice[2], 102, 200, 0);
}

static void test_lanes__pushes_that_add_up_to_the_threshold_make_it_genuine(NO_STATE)
{
    slice s[] = {{0, 104, 0}, {10, 101, 0}, {99, 200, 0}};
    expect_counts(solve(s, COUNT(s), 5), 2, 1, 0, 0);
    expect_slice(&s[2], 99, 200, 1);
}

static void test_lanes__where_pushing_adds_up_to_too_much_the_end_is_clamped(NO_STATE)
{
    slice s[] = {{0, 106, 0}, {10, 103, 0}, {99, 110, 0}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 1, 2);
    expect_slice(&s[2], 103, 106, 0);
}

static void test_lanes__equal_boundaries_are_passed_together(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {10, 100, 0}, {20, 100, 0}, {98, 200, 0}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 1, 1);
    expect_slice(&s[3], 100, 200, 0);
}

static void test_lanes__a_child_of_a_pushed_parent_stays_inside_it(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {96, 200, 0}, {97, 101, 0}}; /* clamping the child by 1 would be less */
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 2, 2);
    expect_slice(&s[1], 100, 200, 0);
    expect_slice(&s[2], 100, 101, 0);
}

static void test_lanes__a_child_ending_before_the_pushed_start_stays(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {96, 200, 0}, {97, 99, 0}, {99, 100, 0}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 1, 1);
    expect_slice(&s[2], 97, 99, 0);
    expect_slice(&s[3], 99, 100, 0);
}

static void test_lanes__a_child_is_cut_to_both_sides_of_its_pushed_parent(NO_STATE)
{
    slice s[] = {{0, 102, 0}, {10, 100, 0}, {98, 104, 0}, {99, 103, 0}, {99, 101, 0}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 3, 4);
    expect_slice(&s[2], 100, 102, 0);
    expect_slice(&s[3], 100, 102, 0);
    expect_slice(&s[4], 100, 101, 0);
}

static void test_lanes__a_nested_chain_of_noise_is_snapped_in_place(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {1, 101, 0}, {2, 102, 0}, {3, 103, 0}, {4, 104, 0}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 4, 4);
    for (int i = 0; i < 5; i++) expect_slice(&s[i], i, 100, 0);
}

static void test_lanes__a_long_chain_of_noise_moves_who_would_shift_too_far(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {1, 102, 0}, {2, 104, 0}, {3, 106, 0}};
    hd_lane_result r = solve(s, COUNT(s), 5);
    expect_counts(r, 2, 1, 2, 2);
    expect_slice(&s[3], 3, 106, 1);
}

/* ---- genuine crossings ---- */

static void test_lanes__a_genuine_crossing_moves_the_later_slice(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {50, 150, 0}, {200, 300, 0}};
    expect_counts(solve(s, COUNT(s), 5), 2, 1, 0, 0);
    expect_slice(&s[0], 0, 100, 0);
    expect_slice(&s[1], 50, 150, 1);
    expect_slice(&s[2], 200, 300, 0);
}

static void test_lanes__one_slice_crossing_several_moves_alone(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {10, 400, 0}, {20, 300, 0}, {30, 200, 0}};
    expect_counts(solve(s, COUNT(s), 5), 2, 1, 0, 0);
    expect_slice(&s[0], 0, 100, 1);
    slice row[] = {{0, 100, 0}, {50, 450, 0}, {50, 60, 0}, {400, 500, 0}};
    expect_counts(solve(row, COUNT(row), 5), 2, 1, 0, 0);
    expect_slice(&row[1], 50, 450, 1);
}

static void test_lanes__noise_around_a_genuine_crossing_stays(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {50, 150, 0}, {60, 102, 0}};
    expect_counts(solve(s, COUNT(s), 5), 2, 1, 1, 1);
    expect_slice(&s[1], 50, 150, 1);
    expect_slice(&s[2], 60, 100, 0);
}

static void test_lanes__moved_slices_nest_in_the_lowest_lane(NO_STATE)
{
    slice s[] = {{0, 100, 0}, {5, 90, 0}, {50, 180, 0}, {60, 150, 0}, {300, 400, 0}, {350, 450, 0}};
    expect_counts(solve(s, COUNT(s), 0), 2, 3, 0, 0);
    slice clique[] = {{0, 100, 0}, {10, 110, 0}, {20, 120, 0}, {30, 130, 0}};
    expect_counts(solve(clique, COUNT(clique), 0), 4, 3, 0, 0);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(clique[i].lane, i);
}

/* ---- edges ---- */

static void test_lanes__touching_equal_and_empty_slices_do_not_cross(NO_STATE)
{
    slice s[] = {{0, 10, 9}, {10, 20, 9}, {0, 20, 9}, {5, 5, 9}, {5, 10, 9}, {10, 10, 9}, {0, 10, 9}, {0, 0, 9}};
    slice copy[COUNT(s)];
    memcpy(copy, s, sizeof s);
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 0, 0);
    for (size_t i = 0; i < COUNT(s); i++) expect_slice(&s[i], copy[i].start, copy[i].end, 0);
}

static void test_lanes__a_negative_duration_is_left_alone(NO_STATE)
{
    slice s[] = {{50, 10, 9}, {0, 100, 9}, {70, 60, 9}, {50, 150, 9}, {120, -5, 9}};
    expect_counts(solve(s, COUNT(s), 5), 2, 1, 0, 0);
    expect_slice(&s[0], 50, 10, 0);
    expect_slice(&s[2], 70, 60, 0);
    expect_slice(&s[4], 120, -5, 0);
}

static void test_lanes__any_input_order_gives_the_same_slices(NO_STATE)
{
    slice s[] = {{99, 103, 0}, {10, 100, 0}, {500, 501, 0}, {0, 102, 0}};
    expect_counts(solve(s, COUNT(s), 5), 1, 0, 1, 2);
    expect_slice(&s[0], 100, 102, 0);
    expect_slice(&s[3], 0, 102, 0);
}

static void test_lanes__extreme_times_do_not_overflow(NO_STATE)
{
    slice s[] = {{INT64_MIN, INT64_MAX - 1, 0}, {INT64_MIN + 1, INT64_MAX, 0}, {INT64_MAX, INT64_MIN, 0}};
    expect_counts(solve(s, 3, 0), 2, 1, 0, 0);
    expect_counts(solve(s, 3, 2), 1, 0, 1, 1);
    expect_slice(&s[1], INT64_MIN + 1, INT64_MAX - 1, 0);
    slice far[] = {{INT64_MIN, 0, 0}, {-INT64_MAX, INT64_MAX, 0}};
    expect_counts(solve(far, 2, INT64_MAX), 2, 1, 0, 0);
    slice near[] = {{INT64_MIN, 0, 0}, {-INT64_MAX, INT64_MAX - 1, 0}};
    expect_counts(solve(near, 2, INT64_MAX), 1, 0, 1, 1);
    expect_slice(&near[1], -INT64_MAX, 0, 0);
}

static void test_lanes__nothing_and_nonsense_are_answered(NO_STATE)
{
    hd_lane_result r;
    slice one = {3, 4, 9};
    expect_counts(solve(NULL, 0, 5), 1, 0, 0, 0);
    expect_counts(solve(&one, 1, 5), 1, 0, 0, 0);
    expect_slice(&one, 3, 4, 0);
    assert_int_equal(hd_lanes_solve(&r, &one, 1, -1, UINT64_MAX, NULL), HD_ERR_ARGUMENT);
}

static void test_lanes__many_boundaries_within_the_threshold_are_settled(NO_STATE)
{
    enum { DEPTH = 300 };
    slice s[DEPTH + 2];
    for (int i = 0; i < DEPTH; i++) s[i] = (slice){i, 10000 - i, 0};
    s[DEPTH] = (slice){9650, 20000, 0};    /* pushed past all */
    s[DEPTH + 1] = (slice){9650, 9930, 0}; /* ends between boundaries */
    hd_lane_result r = solve(s, COUNT(s), 1000);
    assert_int_equal(r.moved, 0);
    expect_slice(&s[DEPTH], 10000, 20000, 0);
    assert_true(s[DEPTH + 1].end > s[DEPTH + 1].start);
}

/* ---- properties ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static int64_t random_below(uint64_t *seed, int64_t limit)
{
    return (int64_t)(next_random(seed) >> 20) % limit;
}

static bool cross(const slice *a, const slice *b)
{
    return (a->start < b->start && b->start < a->end && a->end < b->end) ||
           (b->start < a->start && a->start < b->end && b->end < a->end);
}

static void expect_lanes_nest(const slice *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) assert_false(s[i].lane == s[j].lane && cross(&s[i], &s[j]));
    }
}

/* The plain greedy: a queue by (start, longer first), lane 0 with noise snapped, then the lowest lane. */
enum { MAX_SMALL = 40 };

typedef struct item {
    int64_t start, end;
} item;

typedef struct placed {
    int64_t start, end, old_start, old_end;
} placed;

typedef struct greedy {
    placed lanes[MAX_SMALL][MAX_SMALL];
    size_t counts[MAX_SMALL];
    uint32_t lane_count;
    uint64_t moved;
} greedy;

/* The innermost slice of lane 0 open at `start` that ends before `end`, or NULL: checked against all placed. */
static const placed *crossed_on(const greedy *g, uint32_t lane, int64_t start, int64_t end)
{
    const placed *found = NULL;
    for (size_t i = 0; i < g->counts[lane]; i++) {
        const placed *p = &g->lanes[lane][i];
        if (p->start < start && start < p->end && p->end < end && (!found || p->end < found->end)) found = p;
    }
    return found;
}

/* Settles on lane 0 by the rules of the header, one boundary at a time. */
static bool greedy_snap(const greedy *g, int64_t threshold, item *it)
{
    int64_t start = it->start, end = it->end;
    for (size_t i = g->counts[0]; i-- > 0;) { /* a pushed parent that has not begun */
        const placed *p = &g->lanes[0][i];
        if (p->start > p->old_start && p->old_start <= start && p->old_end >= end && p->start > start &&
            p->start < end) {
            it->start = p->start;
            if (p->end < end) it->end = p->end;
            return true;
        }
    }
    const placed *a;
    while ((a = crossed_on(g, 0, it->start, end)) != NULL) {
        int64_t clamp = end - a->end, push = a->end - it->start, total = a->end - start;
        if (clamp < threshold && (clamp <= push || total >= threshold)) {
            it->end = a->end;
            return true;
        }
        if (total >= threshold) return false;
        it->start = a->end;
    }
    return true;
}

static void greedy_place(greedy *g, int64_t threshold, item it)
{
    int64_t start = it.start, end = it.end;
    uint32_t lane = 0;
    if (crossed_on(g, 0, start, end) && !greedy_snap(g, threshold, &it)) {
        it.start = start;
        it.end = end;
        for (lane = 1; crossed_on(g, lane, start, end);) lane++;
    }
    if (lane > 0) g->moved++;
    if (lane >= g->lane_count) g->lane_count = lane + 1;
    g->lanes[lane][g->counts[lane]++] = (placed){it.start, it.end, start, end};
}

static void run_greedy(greedy *g, const slice *s, size_t count, int64_t threshold)
{
    memset(g, 0, sizeof *g);
    g->lane_count = 1;
    bool done[MAX_SMALL] = {false};
    for (size_t round = 0; round < count; round++) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            if (done[i]) continue;
            if (best == count || s[i].start < s[best].start ||
                (s[i].start == s[best].start && s[i].end > s[best].end)) {
                best = i;
            }
        }
        done[best] = true;
        if (s[best].end > s[best].start) greedy_place(g, threshold, (item){s[best].start, s[best].end});
    }
}

static size_t random_slices(uint64_t *seed, slice *s, size_t most)
{
    size_t count = (size_t)random_below(seed, (int64_t)most) + 1;
    int64_t span = 4 + random_below(seed, 60), longest = 1 + random_below(seed, span);
    for (size_t i = 0; i < count; i++) {
        int64_t start = random_below(seed, span), length = random_below(seed, longest + 1);
        if (random_below(seed, 40) == 0) length = -length;
        s[i] = (slice){start, start + length, 77};
    }
    return count;
}

static void expect_shifts_below(const slice *now, const slice *old, size_t count, int64_t threshold, hd_lane_result r)
{
    uint64_t moved = 0, snapped = 0;
    uint32_t highest = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t from = now[i].start - old[i].start, to = old[i].end - now[i].end;
        bool changed = from != 0 || to != 0;
        if (now[i].lane > 0 || old[i].end <= old[i].start) assert_false(changed);
        if (changed) assert_true(from >= 0 && to >= 0 && from < threshold && to < threshold);
        if (old[i].end > old[i].start) assert_true(now[i].end > now[i].start);
        moved += now[i].lane > 0;
        snapped += changed;
        if (now[i].lane > highest) highest = now[i].lane;
    }
    assert_int_equal(r.moved, moved);
    assert_int_equal(r.snapped, snapped);
    assert_int_equal(r.lane_count, highest + 1);
    assert_true(r.crossings >= snapped);
}

static void expect_settled(const slice *solved, size_t count, int64_t threshold)
{
    slice again[MAX_SMALL];
    for (uint32_t lane = 0; lane < MAX_SMALL; lane++) {
        size_t some = 0;
        for (size_t i = 0; i < count; i++) {
            if (solved[i].lane == lane) again[some++] = solved[i];
        }
        hd_lane_result r = solve(again, some, threshold);
        expect_counts(r, 1, 0, 0, 0);
    }
}

static void expect_times_of(const greedy *g, const slice *s, const slice *old, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < g->counts[0]; k++) {
            const placed *p = &g->lanes[0][k];
            bool same = p->old_start == old[i].start && p->old_end == old[i].end;
            assert_true(!same || (p->start == s[i].start && p->end == s[i].end));
        }
    }
}

static void test_lanes__every_rule_holds_on_random_slices(NO_STATE)
{
    uint64_t seed = hd_test_seed(20260417);
    static greedy g;
    for (int round = 0; round < 30000; round++) {
        slice s[MAX_SMALL], old[MAX_SMALL], twin[MAX_SMALL];
        size_t count = random_slices(&seed, s, round % 3 == 0 ? MAX_SMALL : 12);
        int64_t threshold = random_below(&seed, 3) == 0 ? 0 : random_below(&seed, 12);
        memcpy(old, s, sizeof s);
        memcpy(twin, s, sizeof s);
        hd_lane_result r = solve(s, count, threshold);
        expect_lanes_nest(s, count);
        expect_shifts_below(s, old, count, threshold, r);
        run_greedy(&g, old, count, threshold);
        assert_true(r.moved <= g.moved);
        assert_true(r.lane_count <= g.lane_count);
        if (g.moved == 0) expect_times_of(&g, s, old, count); /* nothing to choose */
        expect_settled(s, count, threshold);
        solve(twin, count, threshold);
        for (size_t i = 0; i < count; i++) expect_slice(&twin[i], s[i].start, s[i].end, s[i].lane);
    }
}

/* Fewest slices to take away so that no two left cross genuinely. */
static int fewest_moves(const slice *s, size_t count, int64_t threshold)
{
    uint32_t against[16] = {0};
    int fewest = (int)count;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            const slice *a = &s[i], *b = &s[j];
            if (!(a->start < b->start && b->start < a->end && a->end < b->end)) continue;
            if (b->end - a->end < threshold || a->end - b->start < threshold) continue;
            against[i] |= UINT32_C(1) << j;
            against[j] |= UINT32_C(1) << i;
        }
    }
    for (uint32_t kept = 0; kept < UINT32_C(1) << count; kept++) {
        bool ok = true;
        int moved = (int)count;
        for (size_t i = 0; i < count && ok; i++) {
            if (!(kept >> i & 1)) continue;
            ok = (against[i] & kept) == 0;
            moved--;
        }
        if (ok && moved < fewest) fewest = moved;
    }
    return fewest;
}

static void test_lanes__moves_are_the_fewest_that_the_lanes_allow(NO_STATE)
{
    uint64_t seed = 77001; /* rarely, of other seeds, fewer lanes than the greedy ones take do as well */
    static greedy g;
    int short_of[2] = {0, 0}, rounds = 8000;
    for (int round = 0; round < rounds; round++) {
        slice s[MAX_SMALL], old[MAX_SMALL];
        size_t count = random_slices(&seed, s, 10);
        int64_t threshold = round % 2 == 0 ? 0 : 1 + random_below(&seed, 8);
        memcpy(old, s, sizeof s);
        hd_lane_result r = solve(s, count, threshold);
        int fewest = fewest_moves(old, count, threshold);
        run_greedy(&g, old, count, threshold);
        assert_true((int)r.moved >= fewest || threshold > 0); /* a push can undo a genuine crossing of others */
        if ((int)r.moved <= fewest) continue;
        short_of[threshold > 0]++;
        assert_int_equal(r.lane_count, g.lane_count); /* another lane would have been needed */
    }
    if (getenv("LANES_STATS")) print_message("short of the optimum: %d, %d of %d\n", short_of[0], short_of[1], rounds);
    assert_in_range(short_of[0] + short_of[1], 0, rounds / 200);
}

/* ---- size ---- */

static slice *make(size_t count)
{
    slice *s = malloc(count * sizeof *s);
    assert_non_null(s);
    return s;
}

static void test_lanes__a_large_clique_opens_a_lane_each(NO_STATE)
{
    int64_t n = 100000;
    slice *s = make((size_t)n);
    for (int64_t i = 0; i < n; i++) s[i] = (slice){i, n + i, 0};
    expect_counts(solve(s, (size_t)n, 0), (uint32_t)n, (uint64_t)n - 1, 0, 0);
    free(s);
}

static void test_lanes__a_long_chain_moves_every_second(NO_STATE)
{
    int64_t n = 200000;
    slice *s = make((size_t)n);
    for (int64_t i = 0; i < n; i++) s[i] = (slice){10 * i, 10 * i + 15, 0};
    expect_counts(solve(s, (size_t)n, 0), 2, (uint64_t)n / 2, 0, 0);
    free(s);
}

static void test_lanes__few_slices_across_very_many_move_alone(NO_STATE)
{
    int64_t n = 100000;
    slice *s = make((size_t)n + 2);
    s[0] = (slice){0, 4 * n, 0};
    s[1] = (slice){1, 4 * n + 1, 0};
    for (int64_t i = 0; i < n; i++) s[i + 2] = (slice){2 + i, 10 * n - i, 0};
    hd_lane_result r = solve(s, (size_t)n + 2, 0);
    assert_int_equal(r.moved, 2);
    assert_true(s[0].lane > 0 && s[1].lane > 0);
    free(s);
}

static void test_lanes__packed_boundaries_and_pushes_are_not_quadratic(NO_STATE)
{
    int64_t n = 50000;
    slice *s = make(2 * (size_t)n);
    for (int64_t i = 0; i < n; i++) s[i] = (slice){i, 10 * n - i, 0};
    for (int64_t i = 0; i < n; i++) s[n + i] = (slice){9 * n - i, 10 * n + 1 + i, 0};
    slice *old = make(2 * (size_t)n);
    memcpy(old, s, 2 * (size_t)n * sizeof *s);
    for (int64_t threshold = 0; threshold < 20 * n; threshold += 4 * n + 1) {
        memcpy(s, old, 2 * (size_t)n * sizeof *s);
        hd_lane_result r = solve(s, 2 * (size_t)n, threshold);
        assert_true(r.moved <= (uint64_t)n);
    }
    free(old);
    free(s);
}

static void test_lanes__a_deep_nest_in_reverse_order_is_clean(NO_STATE)
{
    int64_t n = 200000;
    slice *s = make((size_t)n);
    for (int64_t i = 0; i < n; i++) s[n - 1 - i] = (slice){i, 2 * n - i, 0};
    expect_counts(solve(s, (size_t)n, 5), 1, 0, 0, 0);
    free(s);
}

static void test_lanes__random_heaps_of_slices_end_up_nested(NO_STATE)
{
    size_t n = 20000;
    uint64_t seed = hd_test_seed(5150);
    slice *s = make(n), *lane = make(n);
    for (size_t i = 0; i < n; i++) {
        int64_t start = random_below(&seed, 1000000);
        s[i] = (slice){start, start + random_below(&seed, i % 100 == 0 ? 100000 : 300), 0};
    }
    hd_lane_result r = solve(s, n, 50);
    size_t kept = 0;
    for (uint32_t l = 0; l < r.lane_count; l++) {
        size_t some = 0;
        for (size_t i = 0; i < n; i++) {
            if (s[i].lane == l) lane[some++] = s[i];
        }
        kept += some;
        expect_counts(solve(lane, some, 50), 1, 0, 0, 0);
    }
    assert_int_equal(kept, n);
    free(lane);
    free(s);
}

#define FACT(name) cmocka_unit_test(test_lanes__##name)

int main(void)
{
    // clang-format off
    const struct CMUnitTest tests[] = {
        FACT(child_end_is_clamped_to_its_parent_on_a_tie_too), FACT(child_start_is_pushed_to_the_boundary_before_it),
        FACT(a_crossing_of_the_threshold_is_genuine_and_any_at_zero),
        FACT(a_start_pushed_past_one_boundary_is_checked_against_the_next),
        FACT(pushes_that_add_up_to_the_threshold_make_it_genuine),
        FACT(where_pushing_adds_up_to_too_much_the_end_is_clamped), FACT(equal_boundaries_are_passed_together),
        FACT(a_child_of_a_pushed_parent_stays_inside_it), FACT(a_child_ending_before_the_pushed_start_stays),
        FACT(a_child_is_cut_to_both_sides_of_its_pushed_parent), FACT(a_nested_chain_of_noise_is_snapped_in_place),
        FACT(a_long_chain_of_noise_moves_who_would_shift_too_far), FACT(a_genuine_crossing_moves_the_later_slice),
        FACT(one_slice_crossing_several_moves_alone), FACT(noise_around_a_genuine_crossing_stays),
        FACT(moved_slices_nest_in_the_lowest_lane), FACT(touching_equal_and_empty_slices_do_not_cross),
        FACT(a_negative_duration_is_left_alone), FACT(any_input_order_gives_the_same_slices),
        FACT(extreme_times_do_not_overflow), FACT(nothing_and_nonsense_are_answered),
        FACT(many_boundaries_within_the_threshold_are_settled), FACT(every_rule_holds_on_random_slices),
        FACT(moves_are_the_fewest_that_the_lanes_allow), FACT(a_large_clique_opens_a_lane_each),
        FACT(a_long_chain_moves_every_second), FACT(few_slices_across_very_many_move_alone),
        FACT(packed_boundaries_and_pushes_are_not_quadratic), FACT(a_deep_nest_in_reverse_order_is_clean),
        FACT(random_heaps_of_slices_end_up_nested),
    };
    // clang-format on
    return cmocka_run_group_tests(tests, NULL, NULL);
}
