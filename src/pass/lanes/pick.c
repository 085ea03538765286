/* pick.c - chooses the slices of a group that leave the primary lane, and their lanes
 *
 * Slices are chords of a circle, so the largest set without crossing is found in polynomial time. Endpoints are ranked;
 * for each slice, by end, the best choice inside it is swept from its end to its start (G. Valiente, "A new simple
 * algorithm for the maximum-weight independent set problem on circle graphs", 2003): time is the sum of the slices'
 * lengths in ranks, memory is linear. Crossings under the threshold do not matter: they are cut away before ranking, as
 * if all slices stayed; slices that fit after all are taken back, and groups of up to SEARCH_SLICES are improved by a
 * bounded search.
 *
 * In groups too dense for that, of a slice and those it crosses, the ones with many crossings leave. The result is a
 * proposal; the caller uses it only if it is better than the plain greedy.
 */
#include "pass/lanes/solve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/memory/large.h"
#include "base/sorted.h"

enum { THRIFTY_SLICES = 192, EVICT_SLICES = 8, TAKE_BACK_STEPS = 1 << 22 };
enum { SEARCH_SLICES = 64, SEARCH_STEPS = 4096 };

static const hd_lane_slice *member(const hd_lane_group *group, uint32_t i)
{
    return &group->slices[group->members[i]];
}

static uint64_t gap(int64_t from, int64_t to)
{
    return (uint64_t)to - (uint64_t)from;
}

/* ---- open slices by end ---- */

static inline bool closes_before(const hd_lane_heap *heap, uint32_t a, uint32_t b)
{
    int64_t end_a = hd_lane_heap_slice(heap, a)->end, end_b = hd_lane_heap_slice(heap, b)->end;
    return end_a != end_b ? end_a < end_b : a > b;
}

void hd_lane_heap_push(hd_lane_heap *heap, uint32_t id)
{
    HD_HEAP_PUSH(heap->ids, heap->count, id, x, y, closes_before(heap, *x, *y));
}

uint32_t hd_lane_heap_pop(hd_lane_heap *heap)
{
    uint32_t top = heap->ids[0];
    HD_HEAP_POP(heap->ids, heap->count, x, y, closes_before(heap, *x, *y));
    return top;
}

/* ---- room ---- */

hd_status hd_lane_picker_init(hd_lane_picker *picker, uint32_t max_count, uint64_t large, hd_error *err)
{
    size_t all = (size_t)max_count + 1;
    size_t exact = max_count < HD_LANE_EXACT_SLICES ? max_count : HD_LANE_EXACT_SLICES;
    *picker = (hd_lane_picker){.exact_capacity = (uint32_t)exact, .budget = HD_LANE_BUDGET_STEPS};
    picker->heap_ids = hd_large_new(all, sizeof(uint32_t), large);
    picker->below = hd_large_new(all, sizeof(uint32_t), large);
    picker->tree = hd_large_new(4 * all, sizeof(uint32_t), large);
    picker->ends = hd_large_new(all, sizeof(int64_t), large);
    picker->spans = hd_large_new(exact + 1, sizeof(hd_lane_slice), large);
    uint32_t **per_endpoint[] = {&picker->other, &picker->chord, &picker->inside, &picker->best, &picker->ranges};
    bool ok = picker->heap_ids && picker->below && picker->tree && picker->ends && picker->spans;
    for (size_t i = 0; i < sizeof per_endpoint / sizeof *per_endpoint; i++) {
        *per_endpoint[i] = hd_large_new(2 * exact + 2, sizeof(uint32_t), large);
        ok = ok && *per_endpoint[i];
    }
    if (ok) return HD_OK;
    hd_lane_picker_deinit(picker);
    return HD_NOMEM(err);
}

void hd_lane_picker_deinit(hd_lane_picker *picker)
{
    void *owned[] = {picker->heap_ids, picker->below, picker->tree,   picker->ends, picker->spans,
                     picker->other,    picker->chord, picker->inside, picker->best, picker->ranges};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) hd_large_free(owned[i]);
    *picker = (hd_lane_picker){0};
}

/* ---- the exact choice ---- */

/* Ranks the endpoints of spans sorted by (start, longer first): other[] is the far endpoint's rank, chord[] the span.
 * Touching and equal ends are ranked so that they do not cross. Returns the sum of lengths. */
static uint64_t rank_endpoints(hd_lane_picker *p, uint32_t count)
{
    hd_lane_heap open = {.ids = p->heap_ids, .slices = p->spans};
    uint32_t rank = 0, *left = p->below;
    uint64_t steps = 2 * (uint64_t)count;
    for (uint32_t i = 0; i < count || open.count > 0; rank++) {
        if (open.count > 0 && (i == count || p->spans[open.ids[0]].end <= p->spans[i].start)) {
            uint32_t closed = hd_lane_heap_pop(&open);
            p->other[rank] = left[closed];
            p->other[left[closed]] = rank;
            p->chord[rank] = closed;
            steps += rank - left[closed];
        } else {
            left[i] = rank;
            p->chord[rank] = i;
            hd_lane_heap_push(&open, i++);
        }
    }
    return steps;
}

/* inside[j]: how many slices fit within ranks [j, to), for all j from `from` on. */
static uint32_t count_inside(hd_lane_picker *p, uint32_t from, uint32_t to)
{
    uint32_t value = p->inside[to] = 0;
    for (uint32_t j = to; j-- > from;) {
        uint32_t far = p->other[j];
        if (far > j && far < to) {
            uint32_t with = p->best[j] + p->inside[far + 1];
            if (with > value) value = with;
        }
        p->inside[j] = value;
    }
    return value;
}

/* Fills the plan from best[]: of equal choices variant 0 keeps the earlier slice, 1 the later. */
static void trace_choice(hd_lane_picker *p, uint32_t count, int variant, uint32_t *plan)
{
    uint32_t pending = 0;
    for (uint32_t i = 0; i < count; i++) plan[i] = HD_LANE_MOVED;
    p->ranges[pending++] = 0;
    p->ranges[pending++] = 2 * count;
    while (pending > 0) {
        uint32_t to = p->ranges[--pending], j = p->ranges[--pending];
        count_inside(p, j, to);
        while (j < to && p->inside[j] > 0) {
            uint32_t far = p->other[j];
            bool fits = far > j && far < to && p->best[j] + p->inside[far + 1] == p->inside[j];
            if (!fits || (variant == 1 && p->inside[j + 1] == p->inside[j])) {
                j++;
                continue;
            }
            plan[p->spans[p->chord[j]].lane] = 0;
            if (p->best[j] > 1) {
                p->ranges[pending++] = j + 1;
                p->ranges[pending++] = far;
            }
            j = far + 1;
        }
    }
}

static int by_start(const void *left, const void *right)
{
    const hd_lane_slice *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->lane < b->lane ? -1 : a->lane > b->lane;
}

/* Cuts off each span's noise crossings with earlier spans, as the sweep of the primary lane would if all stayed. */
static void cut_noise(hd_lane_picker *p, const hd_lane_group *group)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        hd_lane_slice *span = &p->spans[i];
        int64_t start = span->start, end = span->end, cut = start;
        while (depth > 0 && p->ends[depth - 1] <= start) depth--;
        for (uint32_t level = depth; level-- > 0 && p->ends[level] < end;) {
            int64_t boundary = p->ends[level];
            uint64_t clamp = gap(boundary, end), total = gap(start, boundary);
            if (boundary == cut) continue;
            if (clamp < group->threshold && (clamp <= gap(cut, boundary) || total >= group->threshold)) {
                end = boundary;
                break;
            }
            if (total < group->threshold) cut = boundary;
        }
        span->start = cut;
        span->end = end;
        uint32_t at = depth++;
        for (; at > 0 && p->ends[at - 1] < end; at--) p->ends[at] = p->ends[at - 1];
        p->ends[at] = end;
    }
    hd_sort(p->spans, group->count, sizeof *p->spans, by_start);
}

static bool crosses_genuinely(const hd_lane_slice *a, const hd_lane_slice *b, uint64_t threshold)
{
    if (b->start < a->start) {
        const hd_lane_slice *swap = a;
        a = b;
        b = swap;
    }
    if (!(a->start < b->start && b->start < a->end && a->end < b->end)) return false;
    return gap(a->end, b->end) >= threshold && gap(b->start, a->end) >= threshold;
}

/* The cut is a guess: takes back slices that cross no staying slice by the threshold or more. */
static void take_back(const hd_lane_group *group, uint32_t *plan)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < group->count && steps < TAKE_BACK_STEPS; i++) {
        if (plan[i] == 0) continue;
        bool fits = true;
        steps += group->count;
        for (uint32_t j = 0; j < group->count && fits; j++) {
            fits = plan[j] != 0 || !crosses_genuinely(member(group, i), member(group, j), group->threshold);
        }
        if (fits) plan[i] = 0;
    }
}

/* ---- the exact choice with noise: branch and bound over sets of at most 64 slices ---- */

typedef struct search {
    uint64_t against[SEARCH_SLICES]; /* slices that each slice genuinely crosses */
    uint64_t best;
    int best_count;
    uint32_t steps;
} search;

static int size_of(uint64_t set)
{
    return __builtin_popcountll(set);
}

/* Slices with at most one opponent are kept at once; the one with most is tried both ways. */
static void search_sets(search *s, uint64_t kept, uint64_t undecided)
{
    while (undecided != 0) {
        int most = -1, widest = 0;
        uint64_t easy = 0;
        if (s->steps == 0 || size_of(kept) + size_of(undecided) <= s->best_count) return;
        s->steps--;
        for (uint64_t rest = undecided; rest != 0 && easy == 0; rest &= rest - 1) {
            int slice = __builtin_ctzll(rest), opponents = size_of(s->against[slice] & undecided);
            if (opponents <= 1) easy = UINT64_C(1) << slice;
            if (opponents > most) {
                most = opponents;
                widest = slice;
            }
        }
        uint64_t chosen = easy != 0 ? easy : UINT64_C(1) << widest;
        if (easy == 0) search_sets(s, kept, undecided & ~chosen);
        kept |= chosen;
        undecided &= ~(chosen | s->against[__builtin_ctzll(chosen)]);
    }
    if (size_of(kept) <= s->best_count) return;
    s->best = kept;
    s->best_count = size_of(kept);
}

/* Improves the plan of a small group if any choice keeps more slices. */
static void search_better(hd_lane_picker *p, const hd_lane_group *group, uint32_t *plan)
{
    search s = {.steps = SEARCH_STEPS};
    uint32_t count = group->count;
    if (count > SEARCH_SLICES || p->budget < (uint64_t)SEARCH_STEPS * SEARCH_SLICES) return;
    for (uint32_t i = 0; i < count; i++) {
        s.best_count += plan[i] == 0;
        for (uint32_t j = 0; j < i; j++) {
            if (!crosses_genuinely(member(group, i), member(group, j), group->threshold)) continue;
            s.against[i] |= UINT64_C(1) << j;
            s.against[j] |= UINT64_C(1) << i;
        }
    }
    search_sets(&s, 0, UINT64_MAX >> (64 - count));
    p->budget -= (uint64_t)(SEARCH_STEPS - s.steps) * count;
    if (s.best == 0) return;
    for (uint32_t i = 0; i < count; i++) plan[i] = (s.best >> i & 1) ? 0 : HD_LANE_MOVED;
}

static bool pick_exact(hd_lane_picker *p, const hd_lane_group *group, int variant, uint32_t *plan)
{
    uint32_t count = group->count;
    if (count > p->exact_capacity) return false;
    for (uint32_t i = 0; i < count; i++) {
        p->spans[i] = *member(group, i);
        p->spans[i].lane = i;
    }
    uint64_t steps = rank_endpoints(p, count);
    if (steps > HD_LANE_EXACT_STEPS || steps > p->budget) return false;
    if (group->threshold > 0) { /* each step below is a crossing, of which there are fewer than `steps` */
        cut_noise(p, group);
        steps = rank_endpoints(p, count);
        if (steps > 2 * (uint64_t)HD_LANE_EXACT_STEPS || steps > p->budget) return false;
    }
    p->budget -= steps;
    for (uint32_t rank = 0; rank < 2 * count; rank++) {
        uint32_t left = p->other[rank];
        if (left < rank) p->best[left] = 1 + count_inside(p, left + 1, rank);
    }
    trace_choice(p, count, variant, plan);
    if (group->threshold > 0) {
        take_back(group, plan);
        search_better(p, group, plan);
    }
    return true;
}

/* ---- the choice for dense groups ---- */

static void tally(uint32_t *sums, uint32_t count, uint32_t at, uint32_t add)
{
    for (at++; at <= count; at += at & (0 - at)) sums[at] += add;
}

static uint32_t tally_before(const uint32_t *sums, uint32_t at)
{
    uint32_t sum = 0;
    for (; at > 0; at -= at & (0 - at)) sum += sums[at];
    return sum;
}

/* degree[i] = crossings of member i: the earlier slices that close while it is open, and the later ones that are
 * open when it closes. */
static void count_crossings(hd_lane_picker *p, const hd_lane_group *group, uint32_t *degree)
{
    uint32_t count = group->count, *sums = p->below;
    hd_lane_heap open = {.ids = p->heap_ids, .slices = group->slices, .map = group->members};
    memset(sums, 0, ((size_t)count + 1) * sizeof *sums);
    for (uint32_t i = 0; i < count || open.count > 0;) {
        if (open.count > 0 && (i == count || member(group, open.ids[0])->end <= member(group, i)->start)) {
            uint32_t closed = hd_lane_heap_pop(&open), earlier = tally_before(sums, closed);
            tally(sums, count, closed, UINT32_MAX);
            degree[closed] += open.count - 2 * earlier;
        } else {
            degree[i] = open.count;
            tally(sums, count, i, 1);
            hd_lane_heap_push(&open, i++);
        }
    }
}

/* One sweep over the primary lane. Of a slice and the open ones it crosses, the side with more crossings leaves; noise
 * counts as clamped. */
static void pick_by_crossings(hd_lane_picker *p, const hd_lane_group *group, uint32_t *plan)
{
    uint32_t *degree = p->tree, *stack = p->heap_ids, depth = 0;
    count_crossings(p, group, degree);
    for (uint32_t i = 0; i < group->count; i++) {
        int64_t start = member(group, i)->start, end = member(group, i)->end;
        uint32_t crossed = 0;
        bool evict = true;
        plan[i] = 0;
        while (depth > 0 && p->ends[depth - 1] <= start) depth--;
        while (crossed < depth && crossed <= EVICT_SLICES && p->ends[depth - 1 - crossed] < end) {
            int64_t boundary = p->ends[depth - 1 - crossed];
            if (gap(boundary, end) < group->threshold || gap(start, boundary) < group->threshold) {
                end = boundary;
                break;
            }
            crossed++;
        }
        for (uint32_t k = 1; k <= crossed && evict; k++) {
            evict = crossed <= EVICT_SLICES && degree[stack[depth - k]] / crossed > degree[i];
        }
        if (crossed > 0 && !evict) {
            plan[i] = HD_LANE_MOVED;
            continue;
        }
        for (; crossed > 0; crossed--) plan[stack[--depth]] = HD_LANE_MOVED;
        stack[depth] = i;
        p->ends[depth++] = end;
    }
}

void hd_lane_picker_pick(hd_lane_picker *picker, const hd_lane_group *group, int variant, uint32_t *plan)
{
    if (!pick_exact(picker, group, variant, plan)) pick_by_crossings(picker, group, plan);
}

/* ---- lanes ---- */

/* An empty lane accepts every slice; ids in the tree are member + 1, 0 is an empty lane. */
static bool takes(const hd_lane_group *group, uint32_t top, int64_t end)
{
    return top == 0 || member(group, top - 1)->end >= end;
}

/* Each inner node has, of the top slices of the lanes below it, the one that ends last. */
static void set_inner(const hd_lane_group *group, uint32_t *tree, uint32_t node)
{
    uint32_t left = tree[2 * node], right = tree[2 * node + 1];
    tree[node] = left == 0 || (right != 0 && takes(group, left, member(group, right - 1)->end)) ? left : right;
}

static void set_top(const hd_lane_group *group, uint32_t *tree, uint32_t leaf, uint32_t top)
{
    tree[leaf] = top;
    for (uint32_t node = leaf / 2; node > 0; node /= 2) set_inner(group, tree, node);
}

static uint32_t double_lanes(const hd_lane_group *group, uint32_t *tree, uint32_t size)
{
    memcpy(tree + 2 * (size_t)size, tree + size, size * sizeof *tree);
    memset(tree + 3 * (size_t)size, 0, size * sizeof *tree);
    for (uint32_t node = 2 * size - 1; node > 0; node--) set_inner(group, tree, node);
    return 2 * size;
}

/* The lowest lane that accepts it, in order of start; the tree over the lanes' tops finds it in O(log lanes). */
static uint32_t colour_by_start(hd_lane_picker *p, const hd_lane_group *group, uint32_t *plan)
{
    uint32_t size = 1, lanes = 0, *tree = p->tree;
    hd_lane_heap open = {.ids = p->heap_ids, .slices = group->slices, .map = group->members};
    tree[1] = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        if (plan[i] != HD_LANE_MOVED) continue;
        const hd_lane_slice *slice = member(group, i);
        while (open.count > 0 && member(group, open.ids[0])->end <= slice->start) {
            uint32_t closed = hd_lane_heap_pop(&open);
            set_top(group, tree, size + plan[closed] - 1, p->below[closed]);
        }
        if (!takes(group, tree[1], slice->end)) size = double_lanes(group, tree, size);
        uint32_t leaf = 1;
        while (leaf < size) leaf = 2 * leaf + !takes(group, tree[2 * leaf], slice->end);
        p->below[i] = tree[leaf];
        plan[i] = leaf - size + 1;
        if (plan[i] > lanes) lanes = plan[i];
        set_top(group, tree, leaf, i + 1);
        hd_lane_heap_push(&open, i);
    }
    return lanes;
}

typedef enum lane_order { BY_END, LONGEST_FIRST, SHORTEST_FIRST, LATEST_FIRST, LANE_ORDERS } lane_order;

static bool goes_first(const hd_lane_slice *a, const hd_lane_slice *b, lane_order order)
{
    uint64_t length_a = gap(a->start, a->end), length_b = gap(b->start, b->end);
    switch (order) {
    case BY_END: return a->end < b->end;
    case LONGEST_FIRST: return length_a > length_b;
    case SHORTEST_FIRST: return length_a < length_b;
    default: return a->start > b->start;
    }
}

/* First fit over a list in some order, slice by slice: for few slices only. Writes lanes[] along `list`. */
static uint32_t first_fit(const hd_lane_group *group, const uint32_t *list, uint32_t count, uint32_t *lanes)
{
    uint32_t highest = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool taken[THRIFTY_SLICES + 2] = {false};
        for (uint32_t j = 0; j < i; j++) {
            if (crosses_genuinely(member(group, list[i]), member(group, list[j]), 0)) taken[lanes[j]] = true;
        }
        for (lanes[i] = 1; taken[lanes[i]];) lanes[i]++;
        if (lanes[i] > highest) highest = lanes[i];
    }
    return highest;
}

static uint32_t try_orders(const hd_lane_group *group, uint32_t *plan, uint32_t moved, uint32_t best)
{
    uint32_t list[THRIFTY_SLICES], lanes[THRIFTY_SLICES];
    for (int order = 0; order < LANE_ORDERS && best > 1; order++) {
        uint32_t filled = 0;
        for (uint32_t i = 0; i < group->count && filled < moved; i++) {
            if (plan[i] == 0) continue;
            uint32_t at = filled++;
            for (; at > 0 && goes_first(member(group, i), member(group, list[at - 1]), (lane_order)order); at--) {
                list[at] = list[at - 1];
            }
            list[at] = i;
        }
        uint32_t highest = first_fit(group, list, moved, lanes);
        if (highest >= best) continue;
        best = highest;
        for (uint32_t i = 0; i < moved; i++) plan[list[i]] = lanes[i];
    }
    return best;
}

uint32_t hd_lane_picker_colour(hd_lane_picker *picker, const hd_lane_group *group, bool thrifty, uint32_t *plan)
{
    uint32_t moved = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        if (plan[i] == 0) continue;
        plan[i] = HD_LANE_MOVED;
        moved++;
    }
    if (moved == 0) return 0;
    uint32_t lanes = colour_by_start(picker, group, plan);
    return thrifty && moved <= THRIFTY_SLICES ? try_orders(group, plan, moved, lanes) : lanes;
}
