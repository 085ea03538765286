/* depth.c - infers the depth of launch queues: how many operations of a queue may be launched that have not begun
 *
 * A launch call waits until the operation that many places before its own has begun: the edge from that start is its
 * slot. A launch is one operation of the queue of its first activity, even if it launches many kernels (a CUDA graph).
 * The depth is inferred if calls take LONG_TIMES as long, while about the maximum number of operations wait, as calls
 * of the same name while less than half of that number wait, and if they end when the operation `depth` before theirs
 * begins. Their time beyond the usual is a wait.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "replay/rows.h"
#include "trace/event.h"

enum {
    DEPTH_LEAST = 64, /* no GPU has a smaller depth */
    LONG_TIMES = 2,
    LONG_LEAST = 16, /* this many long calls are not an accident */
    NEAR = 16        /* "about the maximum" is within a sixteenth of it */
};

/* ---- operations of queues ---- */

/* By activity minus first_work: the next one on its queue; HD_NONE. And room for the operations of a queue. */
typedef struct walker {
    const replay *r;
    uint32_t *afters, *list;
} walker;

static bool walker_init(walker *w, const replay *r)
{
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    *w = (walker){.r = r, .afters = replay_afters(r), .list = hd_large_new(works, sizeof *w->list, r->large)};
    return w->afters && w->list;
}

static void walker_deinit(walker *w)
{
    hd_large_free(w->afters);
    hd_large_free(w->list);
}

static const hd_launch *launch_of(const replay *r, uint32_t work)
{
    const hd_launches *l = r->scope.launches;
    uint32_t launch = replay_work(r, work)->launch;
    bool is_first = launch != HD_NONE && !(r->plan.flags[work] & (PLAN_NO_LAUNCH | PLAN_GONE)) &&
                    l->work_order[l->launches[launch].first_work] == r->works[work - r->first_work];
    return is_first ? &l->launches[launch] : NULL;
}

/* Lists, into w->list, the queue that begins with `first`, if `first` is the first of one. */
static size_t list_queue(walker *w, uint32_t first)
{
    size_t count = 0;
    if (w->r->plan.befores[first - w->r->first_work] != HD_NONE) return 0;
    for (uint32_t n = first; n != HD_NONE; n = w->afters[n - w->r->first_work]) {
        if (launch_of(w->r, n)) w->list[count++] = n;
    }
    return count;
}

/* The longest part of the call; HD_NONE: it waits for its activity, or is not in the graph. */
static uint32_t call_node(const replay *r, const hd_launch *launch)
{
    const hd_graph *g = r->graph;
    node_range range = replay_nodes_of_launch(r, launch);
    uint32_t longest = range.first < range.end ? range.first : HD_NONE;
    for (uint32_t n = range.first; n < range.end; n++) {
        HD_GRAPH_EDGES(e, g, n) {
            if (hd_graph_edge_kind(g, e) == HD_EDGE_SYNC) return HD_NONE;
        }
        if (g->ends[n] - g->starts[n] >= g->ends[longest] - g->starts[longest]) longest = n;
    }
    return longest;
}

/* Of the operations in w->list up to number `at`, how many have not begun at a time; *begun: how many had begun last
 * time. */
static uint32_t waiting_at(size_t *begun, const walker *w, size_t count, size_t at, const int64_t *starts, int64_t time)
{
    while (*begun < count && starts[w->list[*begun]] <= time) ++*begun;
    while (*begun > 0 && starts[w->list[*begun - 1]] > time) --*begun;
    return *begun <= at ? (uint32_t)(at + 1 - *begun) : 0;
}

static hd_status set_slots(replay *r, uint64_t depth, hd_error *err)
{
    walker w;
    hd_large_free(r->plan.slots);
    r->plan.slots = NULL;
    if (!depth) return HD_OK;
    r->plan.slots = hd_large_new((size_t)r->first_work + 1, sizeof *r->plan.slots, r->large);
    bool fine = walker_init(&w, r) && r->plan.slots;
    for (uint32_t n = 0; fine && n < r->first_work; n++) r->plan.slots[n] = HD_NONE;
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++) {
        size_t count = list_queue(&w, n);
        for (size_t i = depth < count ? (size_t)depth : count; i < count; i++) {
            uint32_t call = call_node(r, launch_of(r, w.list[i]));
            if (call != HD_NONE) r->plan.slots[call] = w.list[i - depth];
        }
    }
    walker_deinit(&w);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status replay_most_waiting(uint32_t *out, const replay *r, const replay_times *times, hd_error *err)
{
    walker w;
    bool fine = walker_init(&w, r);
    *out = 0;
    for (uint32_t n = r->first_work; fine && n < r->graph->node_count; n++) {
        size_t count = list_queue(&w, n), begun = 0;
        for (size_t i = 0; i < count; i++) {
            uint32_t call = replay_launch_node(r, w.list[i]), waiting = 0;
            if (call != HD_NONE) waiting = waiting_at(&begun, &w, count, i, times->starts, times->ends[call]);
            if (waiting > *out) *out = waiting;
        }
    }
    walker_deinit(&w);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the depth of a trace ---- */

typedef struct sent {
    int64_t duration;
    uint32_t call, name, waiting; /* waiting: number of waiting operations when the call ends */
} sent;

/* out NULL: only how many wait at most. */
static size_t list_sent(sent *out, uint32_t *most, walker *w)
{
    const replay *r = w->r;
    size_t sum = 0;
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        size_t count = list_queue(w, n), begun = 0;
        for (size_t i = 0; i < count; i++) {
            const hd_launch *launch = launch_of(r, w->list[i]);
            int64_t end = gpu_time(hd_end_or_last(launch->start_ns, launch->duration_ns));
            uint32_t waiting = waiting_at(&begun, w, count, i, r->graph->starts, end);
            if (waiting > *most) *most = waiting;
            uint32_t call = out ? call_node(r, launch) : HD_NONE;
            if (call != HD_NONE) out[sum++] = (sent){end - gpu_time(launch->start_ns), call, launch->name, waiting};
        }
    }
    return sum;
}

/* Moves calls that are long while about `most` wait to the front; their duration is reduced by the usual one of their
 * name, the median of those at less than half of `most`. Returns their number. */
static size_t keep_long(sent *list, sent *spare, size_t count, uint32_t most)
{
    size_t kept = 0;
    HD_SORT_RUNS(list, spare, count, x, y,
                 x->name != y->name                                   ? x->name < y->name
                 : (x->waiting < most / 2) != (y->waiting < most / 2) ? x->waiting < most / 2
                                                                      : x->duration < y->duration);
    for (size_t first = 0, end; first < count; first = end) {
        size_t free_calls = 0;
        for (end = first; end < count && list[end].name == list[first].name; end++)
            free_calls += list[end].waiting < most / 2;
        if (!free_calls) continue; /* the usual duration of such a call is unknown */
        int64_t usual = list[first + free_calls / 2].duration;
        for (size_t i = first + free_calls; i < end; i++) {
            if (list[i].waiting < most - most / NEAR || list[i].duration / LONG_TIMES <= usual) continue;
            list[kept] = list[i];
            list[kept++].duration -= usual;
        }
    }
    return kept;
}

/* The lag from the start of a slot to the end of the wait for it. */
static bool lag_of_slots(replay_lag *out, const replay *r, const sent *list, size_t count)
{
    replay_sample *samples = hd_large_new(2 * count, sizeof *samples, r->large);
    size_t kept = 0;
    for (size_t i = 0; samples && i < count; i++) {
        uint32_t call = list[i].call, slot = r->plan.slots[call];
        int64_t length = r->plan.durations[call], wait = list[i].duration < length ? list[i].duration : length;
        if (slot == HD_NONE) continue;
        samples[kept++].ns = gpu_time(gpu_whole((gpu_i128)r->graph->starts[call] + wait - r->graph->starts[slot]));
    }
    if (samples) HD_SORT_RUNS(samples, samples + count, kept, x, y, x->ns < y->ns);
    *out = kept ? replay_lag_of(samples, kept, kept) : (replay_lag){0};
    out->from_start = true;
    out->of = LAG_SLOT;
    hd_large_free(samples);
    return samples != NULL;
}

/* Removes the time that these calls waited for a slot from their own time. */
static void part_waits(replay *r, const sent *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t *duration = &r->plan.durations[list[i].call];
        int64_t wait = list[i].duration < *duration ? list[i].duration : *duration;
        r->graph->starts[list[i].call] += wait;
        *duration -= wait;
        r->blocked_ns = gpu_sum(r->blocked_ns, wait);
    }
    r->blocked = count;
}

/* The calls imply a depth if its slots explain three quarters of their waits. */
static hd_status try_depth(replay *r, sent *list, sent *spare, size_t count, hd_error *err)
{
    replay_lag lag;
    HD_SORT_RUNS(list, spare, count, x, y, x->duration < y->duration);
    int64_t usual = list[count / 2].duration;
    HD_SORT_RUNS(list, spare, count, x, y, x->waiting < y->waiting);
    uint64_t depth = list[count / 2].waiting;
    HD_TRY(set_slots(r, depth, err));
    if (!lag_of_slots(&lag, r, list, count)) return HD_NOMEM(err);
    if (lag.samples < LONG_LEAST || lag.spread_ns > usual / 4) return set_slots(r, 0, err);
    r->depth = depth;
    r->lags[LAG_SLOT] = lag;
    part_waits(r, list, count);
    return HD_OK;
}

static hd_status find_depth(replay *r, walker *w, uint32_t most, hd_error *err)
{
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    sent *list = hd_large_new(works, sizeof *list, r->large), *spare = hd_large_new(works, sizeof *spare, r->large);
    hd_status status = list && spare ? HD_OK : HD_NOMEM(err);
    size_t count = status == HD_OK ? keep_long(list, spare, list_sent(list, &most, w), most) : 0;
    if (count >= LONG_LEAST) status = try_depth(r, list, spare, count, err);
    hd_large_free(list);
    hd_large_free(spare);
    return status;
}

hd_status replay_find_depth(replay *r, hd_error *err)
{
    walker w;
    uint32_t most = 0;
    hd_status status = walker_init(&w, r) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) list_sent(NULL, &most, &w);
    if (status == HD_OK && most >= DEPTH_LEAST) status = find_depth(r, &w, most, err);
    walker_deinit(&w);
    return status;
}

hd_status replay_change_depth(replay *r, hd_error *err)
{
    const char *text = r->options->queue_depth;
    int64_t depth = (int64_t)r->depth;
    if (text && (!hd_fixed_parse_whole(&depth, text, strlen(text)) || depth < 0))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "queue-depth: '%.40s' is not a number of operations; 0 is no limit", text);
    return set_slots(r, (uint64_t)depth, err);
}
