/* lanes.c - slices of one lane that overlap without nesting
 *
 * Pairs     a.start < b.start < a.end < b.end. Slices come in order of time; open ones are in a list, the one that ends
 *           last first, so that b crosses the tail of it. In real traces the list is short. If moving its entries costs
 *           more than 64 steps per slice, the lane is counted again with a Fenwick tree over the ranks of the ends, in
 *           O(n log n) for every input.
 * Spilled   a viewer keeps a stack per track: a slice that ends after the one it starts in does not nest in it, and is
 *           dropped or moved to another track.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "report/check/check.h"
#include "trace/spill.h"

enum { STEPS_PER_SLICE = 64 };

/* The state of one lane; ends and tree only in the second way. */
typedef struct lane {
    check *c;
    const slice_span *spans;
    uint64_t count;
    uint64_t pairs;
    int64_t worst; /* units, 0 none */
    check_example *examples;
    uint32_t example_count;
} lane;

static void keep_example(lane *l, const slice_span *a, const slice_span *b)
{
    int64_t overlap = a->end - b->start;
    if (overlap > l->worst) l->worst = overlap;
    if (l->example_count >= l->c->options.examples) return;
    l->examples[l->example_count++] =
        CHECK_PAIR(HD_KIND_SLICE, a->row, HD_KIND_SLICE, b->row, span_index_ns(&l->c->spans, overlap));
}

/* ---- the open slices as a list, the last to end first ---- */

typedef struct open_list {
    uint32_t *items; /* indices into the lane */
    size_t count, capacity;
} open_list;

/* The first of the list that ends before `end`. */
static size_t list_find(const lane *l, const open_list *open, int64_t end)
{
    size_t low = 0, high = open->count;
    HD_PARTITION_POINT(low, high, at, l->spans[open->items[at]].end >= end);
    return low;
}

static bool list_insert(const lane *l, open_list *open, uint32_t item, uint64_t *steps)
{
    if (open->count == open->capacity) {
        size_t capacity = open->capacity ? open->capacity * 2 : 64;
        uint32_t *items = realloc(open->items, capacity * sizeof *items);
        if (!items) return false;
        open->items = items;
        open->capacity = capacity;
    }
    size_t at = list_find(l, open, l->spans[item].end);
    *steps += open->count - at;
    for (size_t i = open->count; i > at; i--) open->items[i] = open->items[i - 1];
    open->items[at] = item;
    open->count++;
    return true;
}

/* false: out of memory, or *steps over the limit. */
static bool count_by_list(lane *l, uint64_t *steps, uint64_t limit)
{
    open_list open = {0};
    bool fine = true;
    for (uint64_t i = 0; i < l->count && fine;) {
        int64_t start = l->spans[i].start;
        uint64_t group_end = i;
        while (open.count && l->spans[open.items[open.count - 1]].end <= start) open.count--;
        for (; group_end < l->count && l->spans[group_end].start == start; group_end++) {
            if (!open.count) continue;
            size_t at = list_find(l, &open, l->spans[group_end].end);
            if (at == open.count) continue;
            l->pairs += open.count - at;
            keep_example(l, &l->spans[open.items[at]], &l->spans[group_end]);
        }
        for (; i < group_end && fine; i++) {
            if (l->spans[i].end > start) fine = list_insert(l, &open, (uint32_t)i, steps) && *steps <= limit;
        }
    }
    free(open.items);
    return fine;
}

/* ---- the open slices as a Fenwick tree over the ranks of the ends ---- */

typedef struct rank_tree {
    int64_t *ends; /* all ends, sorted, each once */
    uint32_t *counts;
    uint64_t size;
} rank_tree;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool tree_init(rank_tree *tree, const lane *l)
{
    uint64_t large = hd_trace_large_bytes(l->c->trace);
    tree->ends = hd_large_new(l->count, sizeof *tree->ends, large);
    tree->counts = hd_large_zeroed(l->count + 1, sizeof *tree->counts, large);
    if (!tree->ends || !tree->counts) return false;
    for (uint64_t i = 0; i < l->count; i++) tree->ends[i] = l->spans[i].end;
    if (!hd_large_sort(tree->ends, l->count, sizeof *tree->ends, by_value, large)) return false;
    for (uint64_t i = 0; i < l->count; i++) {
        if (tree->size == 0 || tree->ends[i] != tree->ends[tree->size - 1]) tree->ends[tree->size++] = tree->ends[i];
    }
    return true;
}

/* Number of ranks below `end`, or up to it. */
static uint64_t tree_rank(const rank_tree *tree, int64_t end, bool with)
{
    uint64_t low = 0, high = tree->size;
    HD_PARTITION_POINT(low, high, at, tree->ends[at] < end || (with && tree->ends[at] == end));
    return low;
}

static uint64_t tree_sum(const rank_tree *tree, uint64_t ranks)
{
    uint64_t sum = 0;
    for (; ranks > 0; ranks &= ranks - 1) sum += tree->counts[ranks];
    return sum;
}

static void tree_add(rank_tree *tree, int64_t end)
{
    for (uint64_t at = tree_rank(tree, end, false) + 1; at <= tree->size; at += at & (0 - at)) tree->counts[at]++;
}

/* The end of the n-th slice in the tree, n from 1. */
static int64_t tree_nth(const rank_tree *tree, uint64_t n)
{
    uint64_t at = 0, step = 1;
    while (step * 2 <= tree->size) step *= 2;
    for (; step; step /= 2) {
        if (at + step <= tree->size && tree->counts[at + step] < n) {
            at += step;
            n -= tree->counts[at];
        }
    }
    return tree->ends[at];
}

/* The slice before `index` that ends at `end`; only for the few examples. */
static const slice_span *find_ending(const lane *l, uint64_t index, int64_t end)
{
    while (index-- > 0) {
        if (l->spans[index].end == end) return &l->spans[index];
    }
    return NULL;
}

static void cross_by_tree(lane *l, const rank_tree *tree, uint64_t index)
{
    const slice_span *b = &l->spans[index];
    if (b->end <= b->start) return;
    uint64_t below = tree_sum(tree, tree_rank(tree, b->start, true));
    uint64_t until = tree_sum(tree, tree_rank(tree, b->end, false));
    if (until <= below) return;
    l->pairs += until - below;
    int64_t end = tree_nth(tree, until);
    if (end - b->start > l->worst) l->worst = end - b->start;
    if (l->example_count >= l->c->options.examples) return;
    const slice_span *a = find_ending(l, index, end);
    if (a) keep_example(l, a, b);
}

static bool count_by_tree(lane *l)
{
    rank_tree tree = {0};
    bool fine = tree_init(&tree, l);
    for (uint64_t i = 0; i < l->count && fine;) {
        uint64_t group_end = i;
        for (; group_end < l->count && l->spans[group_end].start == l->spans[i].start; group_end++)
            cross_by_tree(l, &tree, group_end);
        for (int64_t start = l->spans[i].start; i < group_end; i++) {
            if (l->spans[i].end > start) tree_add(&tree, l->spans[i].end);
        }
    }
    hd_large_free(tree.ends);
    hd_large_free(tree.counts);
    return fine;
}

/* ---- lanes ---- */

uint64_t check_count_spilled(int64_t *stack, const slice_span *spans, uint64_t count, uint32_t *out_first)
{
    uint64_t depth = 0, spilled = 0;
    *out_first = HD_NONE;
    for (uint64_t i = 0; i < count; i++) {
        if (!check_nests(stack, &depth, spans[i].start, spans[i].end) && !spilled++) *out_first = spans[i].row;
    }
    return spilled;
}

/* Most lanes have no crossing: one pass with a stack verifies that. */
static bool nests(const slice_span *spans, uint64_t count, int64_t *stack, uint64_t room, bool *fits)
{
    uint64_t depth = 0;
    *fits = true;
    for (uint64_t i = 0; i < count; i++) {
        while (depth && stack[depth - 1] <= spans[i].start) depth--;
        if (depth && spans[i].end > stack[depth - 1]) return false;
        if (spans[i].end == spans[i].start) continue;
        if (depth == room) return *fits = false;
        stack[depth++] = spans[i].end;
    }
    return true;
}

static hd_status check_crossing_lane(check *c, uint32_t id, hd_error *err)
{
    lane l = {.c = c};
    uint64_t steps = 0;
    uint32_t first;
    l.spans = span_index_lane(&c->spans, id, &l.count);
    l.examples = calloc(c->options.examples, sizeof *l.examples);
    int64_t *stack = hd_large_new(l.count, sizeof *stack, hd_trace_large_bytes(c->trace));
    bool fine = l.examples && stack;
    if (fine && !count_by_list(&l, &steps, STEPS_PER_SLICE * l.count)) {
        l.pairs = l.example_count = 0;
        l.worst = 0;
        fine = count_by_tree(&l);
    }
    check_finding *finding = fine && l.pairs ? check_finding_of(c, CHECK_CROSSING, id) : NULL;
    if (finding) {
        finding->count = l.pairs;
        finding->slices = check_count_spilled(stack, l.spans, l.count, &first);
        for (uint32_t i = 0; i < l.example_count; i++) check_keep(c, finding, l.examples[i]);
        finding->worst_ns = span_index_ns(&c->spans, l.worst);
    }
    hd_large_free(stack);
    free(l.examples);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status check_lanes(check *c, hd_error *err)
{
    enum { SMALL_STACK = 1024 };
    int64_t stack[SMALL_STACK];
    if (!check_wants(c, CHECK_CROSSING)) return HD_OK;
    for (uint32_t id = 0; id < c->spans.lane_count; id++) {
        uint64_t count;
        bool fits;
        const slice_span *spans = span_index_lane(&c->spans, id, &count);
        if (count < 2 || nests(spans, count, stack, SMALL_STACK, &fits)) continue;
        HD_TRY(check_crossing_lane(c, id, err));
    }
    return HD_OK;
}
