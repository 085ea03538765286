/* ties.c - sensitivity to launch order: replays with near-simultaneous launches permuted
 *
 * A queue runs activities in launch order. Launches of one thread keep their order; launches of several threads at one
 * time, or within a tolerance, may come in any order. So each run orders activities by their launch time in the replay
 * plus a random part of the tolerance from its seed, but not beyond the end of an activity that others may have waited
 * for before their launch. Dependencies stay: what waited for an activity on a queue waits for everything before it
 * there, and what was after one that waits for an event does not move before it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "replay/rows.h"

typedef struct tied {
    int64_t launched, latest; /* its place is decided by these */
    int64_t time;             /* of this run, with `chance` below */
    uint64_t chance;
    uint32_t node, thread; /* lane */
    uint32_t at;           /* in its group */
} tied;

/* Activities of a queue that may change places, and the one after them. */
typedef struct group {
    size_t first, count;
    uint32_t behind;
} group;

typedef struct ties {
    replay *r;
    const replay_times *base;
    tied *list, *spare; /* spare: the order of this run */
    tied *of_threads;   /* by lane: its previous launch */
    group *groups;
    size_t count, group_count, group_capacity;
    /* by node of a queue less first_work */
    uint32_t *firsts, *lasts;   /* of its group from it on, the first in this run; of its group up to it, the last;
                                   HD_NONE: itself */
    uint8_t *moved;             /* in some run */
    int64_t *earliest, *latest; /* start */
    replay_plan plan;           /* of this run; only the order differs from the replay */
    replay_edge *added;
    size_t added_count, added_capacity;
    replay_measures as_is, least, most;
    uint64_t left_out; /* runs */
    bool failed;       /* no memory */
} ties;

/* ---- groups ---- */

/* HD_NONE: unknown, or another call launches it now. */
static uint32_t launch_of(const replay *r, uint32_t node)
{
    bool is_free = !(r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE | PLAN_NO_LAUNCH));
    return is_free ? replay_launch_node(r, node) : HD_NONE;
}

/* A single thread has a fixed order. */
static void close_group(ties *t, size_t first, bool is_mixed, uint32_t behind)
{
    if (!is_mixed) {
        t->count = first;
        return;
    }
    t->failed |=
        !hd_large_grow((void **)&t->groups, &t->group_capacity, t->group_count, sizeof *t->groups, t->r->large);
    if (!t->failed) t->groups[t->group_count++] = (group){first, t->count - first, behind};
}

/* One queue of the plan, from its first activity on. */
static void group_queue(ties *t, const uint32_t *afters, uint32_t node, int64_t within)
{
    const replay *r = t->r;
    size_t first = t->count;
    int64_t launched = INT64_MIN, latest = INT64_MIN;
    bool is_mixed = false;
    for (; node != HD_NONE; node = afters[node - r->first_work]) {
        uint32_t from = launch_of(r, node);
        if (from != HD_NONE && t->base->starts[from] > launched) launched = t->base->starts[from];
        if (from == HD_NONE || launched > latest) { /* no earlier one can come after it */
            close_group(t, first, is_mixed, node);
            first = t->count;
            is_mixed = false;
            latest = INT64_MIN;
        }
        if (from == HD_NONE) continue;
        int64_t end = t->base->ends[node], until = gpu_sum(launched, within);
        tied new = {.launched = launched,
                    .node = node,
                    .thread = (uint32_t)(hd_graph_lane_of(r->graph, from) - r->graph->lanes)};
        new.latest = end <= launched ? launched : end - 1 < until ? end - 1 : until;
        is_mixed |= t->count > first && t->list[t->count - 1].thread != new.thread;
        if (new.latest > latest) latest = new.latest;
        t->list[t->count++] = new;
    }
    close_group(t, first, is_mixed, HD_NONE);
}

static bool find_groups(ties *t, int64_t within)
{
    const replay *r = t->r;
    uint32_t works = r->graph->node_count - r->first_work;
    uint32_t *afters = replay_afters(r);
    t->list = hd_large_new((size_t)works + 1, sizeof *t->list, r->large);
    bool fine = afters && t->list;
    for (uint32_t w = 0; fine && w < works; w++) {
        if (r->plan.befores[w] == HD_NONE) group_queue(t, afters, r->first_work + w, within);
    }
    hd_large_free(afters);
    return fine && !t->failed;
}

/* ---- the order of a run ---- */

static inline bool comes_before(const tied *x, const tied *y)
{
    if (x->time != y->time) return x->time < y->time;
    return x->chance != y->chance ? x->chance < y->chance : x->at < y->at;
}

/* The previous launch of the thread comes before. */
static void draw(const ties *t, tied *list, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        tied *x = &list[i], *before = &t->of_threads[x->thread];
        uint64_t chance = replay_chance(seed, x->node), room = (uint64_t)x->latest - (uint64_t)x->launched;
        bool is_free = t->base->ends[x->node] > x->launched;
        x->at = (uint32_t)i;
        x->time = x->launched + (int64_t)(room ? chance % (room + 1) : 0);
        x->chance = is_free ? replay_chance(chance, seed) | 1 : 0;
        bool is_later =
            before->node != HD_NONE && (before->time != x->time ? before->time > x->time : before->chance > x->chance);
        if (is_later) {
            x->time = before->time;
            x->chance = before->chance;
        }
        *before = *x;
    }
    for (size_t i = 0; i < count; i++) t->of_threads[list[i].thread].node = HD_NONE;
}

/* false: nothing moved. */
static bool order_group(ties *t, const group *g, uint64_t seed)
{
    const uint32_t first_work = t->r->first_work;
    tied *list = t->list + g->first, *order = t->spare;
    draw(t, list, g->count, seed);
    memcpy(order, list, g->count * sizeof *order);
    HD_SORT_RUNS(order, t->spare + g->count, g->count, x, y, comes_before(x, y));
    size_t same = 0;
    while (same < g->count && order[same].at == same) same++;
    if (same == g->count) return false;
    uint32_t before = t->plan.befores[list[0].node - first_work];
    for (size_t i = 0; i < g->count; i++) {
        t->plan.befores[order[i].node - first_work] = before;
        before = order[i].node;
        list[order[i].at].at = (uint32_t)i; /* from now on its new place */
    }
    if (g->behind != HD_NONE) t->plan.befores[g->behind - first_work] = before;
    for (size_t i = 0, last = 0; i < g->count; i++) {
        if (list[i].at > list[last].at) last = i;
        t->lasts[list[i].node - first_work] = last == i ? HD_NONE : list[last].node;
    }
    for (size_t i = g->count, first = i - 1; i-- > 0;) {
        if (list[i].at < list[first].at) first = i;
        t->firsts[list[i].node - first_work] = first == i ? HD_NONE : list[first].node;
    }
    return true;
}

static void add_edge(ties *t, uint32_t node, uint32_t from, hd_edge_kind kind)
{
    t->failed |= !hd_large_grow((void **)&t->added, &t->added_capacity, t->added_count, sizeof *t->added, t->r->large);
    if (!t->failed) t->added[t->added_count++] = (replay_edge){node, from, (uint8_t)kind};
}

/* What waited for an activity waits for the last of those up to it; what was after one that waits for an event waits,
 * too. */
static void keep_waits(ties *t)
{
    const replay *r = t->r;
    replay_wait w;
    t->added_count = 0;
    for (uint32_t n = 0; n < r->graph->node_count; n++) {
        uint32_t first = replay_is_work(r, n) ? t->firsts[n - r->first_work] : HD_NONE;
        for (size_t at = 0; replay_next_wait(&w, r, &r->plan, n, &at);) {
            uint32_t last = replay_is_work(r, w.from) ? t->lasts[w.from - r->first_work] : HD_NONE;
            if (first != HD_NONE && w.kind == HD_EDGE_EVENT) add_edge(t, first, w.from, w.kind);
            if (last != HD_NONE && (w.kind == HD_EDGE_EVENT || w.kind == HD_EDGE_SYNC)) add_edge(t, n, last, w.kind);
        }
    }
    size_t before = r->plan.first_added ? r->plan.first_added[r->graph->node_count] : 0;
    for (size_t i = 0; i < before; i++)
        add_edge(t, r->plan.added[i].node, r->plan.added[i].from, (hd_edge_kind)r->plan.added[i].kind);
}

/* ---- runs ---- */

static void take_times(ties *t, const replay_times *times)
{
    const replay *r = t->r;
    for (uint32_t w = 0; w < r->graph->node_count - r->first_work; w++) {
        int64_t start = times->starts[r->first_work + w];
        if (start < t->earliest[w]) t->earliest[w] = start;
        if (start > t->latest[w]) t->latest[w] = start;
    }
    for (size_t g = 0; g < t->group_count; g++) {
        const tied *list = t->list + t->groups[g].first;
        for (size_t i = 0; i < t->groups[g].count; i++) t->moved[list[i].node - r->first_work] |= list[i].at != i;
    }
}

static hd_status measure(ties *t, const replay_times *times, hd_error *err)
{
    replay_measures m;
    HD_TRY(replay_measure(&m, t->r, times, err));
    for (int i = 0; i < REPLAY_MEASURES; i++) {
        if (m.ns[i] < t->least.ns[i]) t->least.ns[i] = m.ns[i];
        if (m.ns[i] > t->most.ns[i]) t->most.ns[i] = m.ns[i];
    }
    return HD_OK;
}

/* A run in which an activity would wait for itself is left out: that order is impossible. */
static hd_status run_once(ties *t, uint64_t seed, hd_error *err)
{
    const replay *r = t->r;
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    replay_times times = {0};
    bool any = false;
    memcpy(t->plan.befores, r->plan.befores, (works - 1) * sizeof *t->plan.befores);
    memset(t->firsts, 0xff, works * sizeof *t->firsts);
    memset(t->lasts, 0xff, works * sizeof *t->lasts);
    for (size_t g = 0; g < t->group_count; g++) any |= order_group(t, &t->groups[g], seed);
    if (!any) return HD_OK;
    keep_waits(t);
    if (t->failed || !replay_index_added(&t->plan, r, t->added, t->added_count)) return HD_NOMEM(err);
    hd_status status = replay_simulate(&times, r, &t->plan, err);
    if (status == HD_OK && times.cycles > t->base->cycles)
        t->left_out++;
    else if (status == HD_OK) {
        take_times(t, &times);
        status = measure(t, &times, err);
    }
    replay_times_deinit(&times);
    hd_large_free(t->plan.first_added);
    t->plan.first_added = NULL;
    return status;
}

/* ---- tables ---- */

typedef struct named {
    uint64_t works, moved, shifted;
    int64_t earlier, later;
    uint32_t id; /* of the activity that moved farthest */
} named;

typedef struct names {
    gpu_groups keys;
    named *list;
    size_t capacity;
    uint64_t moved, shifted;
} names;

static bool sum_work(names *sums, const ties *t, uint32_t w)
{
    const replay *r = t->r;
    int64_t start = t->base->starts[r->first_work + w];
    int64_t earlier = gpu_whole((gpu_i128)start - t->earliest[w]), later = gpu_whole((gpu_i128)t->latest[w] - start);
    uint32_t name = replay_work(r, r->first_work + w)->name, count = sums->keys.count;
    if (!t->moved[w] && !earlier && !later) return true;
    uint32_t at = gpu_group(&sums->keys, &name);
    if (at == HD_NONE || !hd_grow((void **)&sums->list, &sums->capacity, at, sizeof *sums->list)) return false;
    named *sum = &sums->list[at];
    if (at == count) *sum = (named){.id = r->graph->slices[r->first_work + w]};
    sum->works++;
    sum->moved += t->moved[w];
    sum->shifted += earlier || later;
    sums->moved += t->moved[w];
    sums->shifted += earlier || later;
    int64_t most = sum->earlier > sum->later ? sum->earlier : sum->later;
    if (earlier > most || later > most) sum->id = r->graph->slices[r->first_work + w];
    if (earlier > sum->earlier) sum->earlier = earlier;
    if (later > sum->later) sum->later = later;
    return true;
}

static hd_status add_names(hd_report *out, const ties *t, const names *sums, hd_error *err)
{
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &replay_about, "tie_names", err));
    for (uint32_t i = 0; i < sums->keys.count; i++) {
        const named *sum = &sums->list[i];
        report_cell_string(b, t->r->trace, *(const uint32_t *)gpu_group_key(&sums->keys, i));
        hd_table_add_count(b, sum->moved);
        hd_table_add_count(b, sum->shifted);
        hd_table_add_int(b, sum->earlier);
        hd_table_add_int(b, sum->later);
        hd_table_add_int(b, sum->id);
    }
    if (hd_table_sort(b, NULL, "later") == HD_OK) return report_add(out, b, err);
    hd_table_builder_free(b);
    return HD_NOMEM(err);
}

static hd_status add_times(hd_report *out, const ties *t, hd_error *err)
{
    static const char *const whats[REPLAY_MEASURES] = {"steps", "span", "busy"};
    hd_table_builder *b;
    HD_TRY(report_builder(&b, &replay_about, "tie_times", err));
    for (int i = 0; i < REPLAY_MEASURES; i++) {
        if (i == REPLAY_STEPS && !t->as_is.ns[i]) continue;
        hd_table_add_text(b, whats[i]);
        hd_table_add_int(b, t->as_is.ns[i]);
        hd_table_add_int(b, t->least.ns[i]);
        hd_table_add_int(b, t->most.ns[i]);
    }
    return report_add(out, b, err);
}

static hd_status add_tables(hd_report *out, const ties *t, hd_error *err)
{
    names sums = {.keys = {.key_size = sizeof(uint32_t)}};
    hd_table_builder *b;
    bool fine = true;
    for (uint32_t w = 0; fine && w < t->r->graph->node_count - t->r->first_work; w++) fine = sum_work(&sums, t, w);
    hd_status status = fine ? report_builder(&b, &replay_about, "ties", err) : HD_NOMEM(err);
    if (status == HD_OK) {
        hd_table_add_count(b, t->r->options->ties);
        hd_table_add_count(b, t->left_out);
        hd_table_add_count(b, t->count);
        hd_table_add_count(b, sums.moved);
        hd_table_add_count(b, sums.shifted);
        status = report_add(out, b, err);
    }
    if (status == HD_OK) status = add_times(out, t, err);
    if (status == HD_OK) status = add_names(out, t, &sums, err);
    free(sums.list);
    gpu_groups_deinit(&sums.keys);
    return status;
}

/* ---- the whole ---- */

static bool init(ties *t)
{
    const replay *r = t->r;
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    t->spare = hd_large_new(2 * works, sizeof *t->spare, r->large);
    t->of_threads = malloc(((size_t)r->graph->lane_count + 1) * sizeof *t->of_threads);
    t->firsts = hd_large_new(works, sizeof *t->firsts, r->large);
    t->lasts = hd_large_new(works, sizeof *t->lasts, r->large);
    t->moved = hd_large_zeroed(works, 1, r->large);
    t->earliest = hd_large_new(works, sizeof *t->earliest, r->large);
    t->latest = hd_large_new(works, sizeof *t->latest, r->large);
    t->plan = r->plan;
    t->plan.added = NULL;
    t->plan.first_added = NULL;
    t->plan.befores = hd_large_new(works, sizeof *t->plan.befores, r->large);
    if (!t->spare || !t->of_threads || !t->firsts || !t->lasts || !t->moved || !t->earliest || !t->latest ||
        !t->plan.befores)
        return false;
    for (uint32_t l = 0; l < r->graph->lane_count; l++) t->of_threads[l].node = HD_NONE;
    for (size_t w = 0; w + 1 < works; w++) t->earliest[w] = t->latest[w] = t->base->starts[r->first_work + w];
    return true;
}

static void deinit(ties *t)
{
    hd_large_free(t->list);
    hd_large_free(t->spare);
    free(t->of_threads);
    hd_large_free(t->groups);
    hd_large_free(t->firsts);
    hd_large_free(t->lasts);
    hd_large_free(t->moved);
    hd_large_free(t->earliest);
    hd_large_free(t->latest);
    hd_large_free(t->plan.befores);
    hd_large_free(t->plan.first_added);
    hd_large_free(t->added);
}

hd_status replay_add_ties(hd_report *out, replay *r, hd_error *err)
{
    ties t = {.r = r, .base = &r->changed};
    hd_convert_time within = r->options->within;
    if (within.unit && (within.unit != HD_CONVERT_NS || !r->options->ties))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "within: is a time, such as 2us, and goes with ties");
    if (!r->options->ties) return HD_OK;
    hd_status status = init(&t) && find_groups(&t, within.unit ? within.value : 0) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = replay_measure(&t.as_is, r, t.base, err);
    t.least = t.most = t.as_is;
    for (uint64_t seed = 1; status == HD_OK && seed <= r->options->ties; seed++) status = run_once(&t, seed, err);
    if (status == HD_OK) status = add_tables(out, &t, err);
    deinit(&t);
    return status;
}
