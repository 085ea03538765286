/* order.c - the order of launches when several threads launch, or queues are merged
 *
 * A queue merged from several (--streams) gets their activities in launch order; a call that waits for a stream or
 * device waits for the activities launched on it until then. Both depend on when threads get there, which a change may
 * shift. So the replay is repeated with the resulting order until it no longer changes. A queue of the trace keeps its
 * order, and a thread keeps waiting for an activity if it launched some of that queue itself: threads also wait for
 * each other, which no trace shows.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/roles/sync_calls.h"
#include "replay/priorities.h"
#include "trace/lazy.h"

enum { ROUNDS_MOST = 8, LOOK_BACK = 64 };

typedef struct placed {
    int64_t rank, device, queue, launch;
    uint32_t node;
} placed;

typedef struct order {
    replay *r;
    const replay_times *times;
    placed *list;
    size_t count;
    uint32_t *places; /* by node less first_work: in the list; HD_NONE */
    uint32_t *alike;  /* as in the plan */
    bool moved;       /* something changed */
} order;

bool replay_is_ours(const replay *r, const hd_graph_lane *lane)
{
    for (uint32_t i = 0; lane->is_queue && i < lane->node_count; i++) {
        if (replay_gpu_work(r, lane->first_node + i)->class != GPU_COMMUNICATION) return true;
    }
    return false;
}

/* Maps queues, by device and stream, to the requested number of queues, round-robin: out[lane]; -1: none. */
static void number_queues(int64_t *out, const replay *r)
{
    const hd_graph *g = r->graph;
    for (uint32_t l = 0; l < g->lane_count; l++) out[l] = replay_is_ours(r, &g->lanes[l]) ? 0 : -1;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        const hd_track *track = hd_trace_track_at(r->trace, g->lanes[l].track);
        for (uint32_t k = 0; out[l] >= 0 && k < g->lane_count; k++) {
            const hd_track *other = hd_trace_track_at(r->trace, g->lanes[k].track);
            bool is_beside = out[k] >= 0 && other->device == track->device &&
                             r->scope.ranks[g->lanes[k].track] == r->scope.ranks[g->lanes[l].track];
            out[l] += is_beside && (other->stream != track->stream ? other->stream < track->stream : k < l);
        }
    }
    for (uint32_t l = 0; l < g->lane_count; l++) {
        if (out[l] >= 0) out[l] = (int64_t)((uint64_t)out[l] % r->options->streams);
    }
}

/* ---- the order of launches ---- */

static int64_t launched_at(const order *o, uint32_t node)
{
    uint32_t from = replay_launch_node(o->r, node);
    if (from == HD_NONE) return o->times->starts[node];
    return replay_own_call(o->r, node) == HD_NONE ? o->times->starts[from] : o->times->ends[from];
}

static void list_works(order *o)
{
    const replay *r = o->r;
    const hd_graph *g = r->graph;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        const hd_graph_lane *lane = &g->lanes[l];
        int64_t launched = INT64_MIN;
        for (uint32_t i = 0; r->queues[l] >= 0 && i < lane->node_count; i++) {
            uint32_t node = lane->first_node + i;
            if (r->plan.flags[node] & PLAN_NO_EVENT) continue; /* it overlaps */
            int64_t launch = launched_at(o, node);
            if (launch > launched) launched = launch; /* a queue keeps its own order */
            o->list[o->count++] =
                (placed){r->scope.ranks[lane->track], hd_trace_track_at(r->trace, lane->track)->device, r->queues[l],
                         launched, node};
        }
    }
}

static bool is_one_queue(const placed *x, const placed *y)
{
    return x->rank == y->rank && x->device == y->device && x->queue == y->queue;
}

static void place_works(order *o)
{
    replay *r = o->r;
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) o->places[n - r->first_work] = HD_NONE;
    for (size_t i = 0; i < o->count; i++) {
        uint32_t *before = &r->plan.befores[o->list[i].node - r->first_work];
        uint32_t now = i && is_one_queue(&o->list[i - 1], &o->list[i]) ? o->list[i - 1].node : HD_NONE;
        o->moved |= *before != now;
        *before = now;
        o->places[o->list[i].node - r->first_work] = (uint32_t)i;
    }
}

/* ---- what queues wait for ---- */

/* The call that made the queue of this activity wait for its events: the last such call of the thread before the
 * launch. */
static uint32_t call_of_wait(const replay *r, uint32_t node)
{
    const hd_graph *g = r->graph;
    uint32_t from = HD_NONE;
    HD_GRAPH_EDGES(e, g, node)
        if (from == HD_NONE && hd_graph_edge_kind(g, e) == HD_EDGE_EVENT) from = replay_launch_node(r, node);
    uint32_t first = from == HD_NONE ? 0 : hd_graph_lane_of(g, from)->first_node;
    for (uint32_t n = from; n != HD_NONE && n > first && from - n < LOOK_BACK; n--) {
        uint32_t row = g->slices[n - 1];
        if (row == HD_NONE) continue;
        hd_string name = hd_trace_string(r->trace, (uint32_t)hd_slice_column(r->trace, row, HD_COL_NAME));
        if (name.data && memmem(name.data, name.size, "WaitEvent", 9)) return n - 1;
    }
    return HD_NONE;
}

/* Activities that another thread launched on the queue since then wait as well. */
static void set_alike(order *o)
{
    replay *r = o->r;
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) o->alike[n - r->first_work] = HD_NONE;
    for (size_t i = 0; i < o->count; i++) {
        uint32_t call = call_of_wait(r, o->list[i].node);
        size_t first = i;
        while (call != HD_NONE && first && is_one_queue(&o->list[first - 1], &o->list[i]) &&
               o->list[first - 1].launch > o->times->starts[call])
            first--;
        if (first < i) o->alike[o->list[first].node - r->first_work] = o->list[i].node;
    }
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        o->moved |= r->plan.alike[n - r->first_work] != o->alike[n - r->first_work];
        r->plan.alike[n - r->first_work] = o->alike[n - r->first_work];
    }
}

/* ---- what calls wait for ---- */

/* The last activity of a queue before a time; HD_NONE. */
static uint32_t last_before(const order *o, size_t place, int64_t time)
{
    const placed *list = o->list;
    while (place + 1 < o->count && is_one_queue(&list[place], &list[place + 1]) && list[place + 1].launch < time)
        place++;
    while (list[place].launch >= time) {
        if (place == 0 || !is_one_queue(&list[place - 1], &list[place])) return HD_NONE;
        place--;
    }
    return list[place].node;
}

static void set_awaited(order *o)
{
    replay *r = o->r;
    for (size_t i = 0; i < r->awaited_count; i++) {
        replay_awaited *a = &r->awaited[i];
        uint32_t place = o->places[hd_graph_edge_from(r->graph, a->edge) - r->first_work];
        uint32_t now = place == HD_NONE ? a->from : last_before(o, place, o->times->ends[a->node - 1]);
        o->moved |= now != a->from;
        a->from = now;
    }
}

/* One round, with the times of a replay, or as recorded. */
static hd_status set_order(bool *moved, replay *r, const replay_times *times, hd_error *err)
{
    size_t works = (size_t)(r->graph->node_count - r->first_work) + 1;
    order o = {.r = r, .times = times};
    placed *spare = hd_large_new(works, sizeof *spare, r->large);
    o.list = hd_large_new(works, sizeof *o.list, r->large);
    o.places = hd_large_new(works, sizeof *o.places, r->large);
    o.alike = hd_large_new(works, sizeof *o.alike, r->large);
    bool fine = o.list && spare && o.places && o.alike;
    if (fine) {
        list_works(&o);
        HD_SORT_RUNS(o.list, spare, o.count, x, y,
                     x->rank != y->rank       ? x->rank < y->rank
                     : x->device != y->device ? x->device < y->device
                     : x->queue != y->queue   ? x->queue < y->queue
                     : x->launch != y->launch ? x->launch < y->launch
                                              : x->node < y->node);
        place_works(&o);
        set_awaited(&o);
        if (r->options->streams) set_alike(&o);
    }
    *moved = o.moved;
    hd_large_free(o.list);
    hd_large_free(spare);
    hd_large_free(o.places);
    hd_large_free(o.alike);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- whose waits hang on it ---- */

/* By lane of a queue, the thread that launches all of it; HD_NONE: several, or unknown. */
static uint32_t launcher_of(const replay *r, const hd_graph_lane *lane)
{
    uint32_t thread = HD_NONE;
    for (uint32_t i = 0; i < lane->node_count; i++) {
        uint32_t from = replay_launch_node(r, lane->first_node + i);
        if (from == HD_NONE) return HD_NONE;
        uint32_t of = (uint32_t)(hd_graph_lane_of(r->graph, from) - r->graph->lanes);
        if (i && of != thread) return HD_NONE;
        thread = of;
    }
    return thread;
}

static bool add_awaited(replay *r, size_t *capacity, uint32_t node, const uint32_t *launchers)
{
    const hd_graph *g = r->graph;
    uint32_t thread = (uint32_t)(hd_graph_lane_of(g, node) - g->lanes);
    if (node >= r->first_work || !hd_graph_has_lane_edge(g, node)) return true;
    HD_GRAPH_EDGES(e, g, node) {
        if (hd_graph_edge_kind(g, e) != HD_EDGE_SYNC || !replay_is_work(r, hd_graph_edge_from(g, e))) continue;
        size_t lane = (size_t)(hd_graph_lane_of(g, hd_graph_edge_from(g, e)) - g->lanes);
        bool is_foreign = launchers[lane] != HD_NONE && launchers[lane] != thread;
        if (r->queues[lane] < 0 || (!r->options->streams && !is_foreign)) continue;
        if (!hd_large_grow((void **)&r->awaited, capacity, r->awaited_count, sizeof *r->awaited, r->large))
            return false;
        r->awaited[r->awaited_count++] = (replay_awaited){.edge = e, .node = node, .from = hd_graph_edge_from(g, e)};
    }
    return true;
}

static bool list_awaited(replay *r)
{
    const hd_graph *g = r->graph;
    size_t capacity = 0;
    uint32_t *launchers = malloc(((size_t)g->lane_count + 1) * sizeof *launchers);
    for (uint32_t l = 0; launchers && l < g->lane_count; l++)
        launchers[l] = g->lanes[l].is_queue ? launcher_of(r, &g->lanes[l]) : HD_NONE;
    bool fine = launchers != NULL;
    for (size_t i = 0; fine && i < r->return_count; i++) {
        bool is_of_queue = r->returns[i].what == HD_SYNC_STREAM || r->returns[i].what == HD_SYNC_DEVICE;
        if (is_of_queue) fine = add_awaited(r, &capacity, r->returns[i].node, launchers);
    }
    free(launchers);
    return fine;
}

/* ---- the whole ---- */

hd_status replay_set_streams(replay *r, hd_error *err)
{
    const replay_times recorded = {.starts = r->graph->starts, .ends = r->graph->ends};
    bool moved;
    r->queues = malloc(((size_t)r->graph->lane_count + 1) * sizeof *r->queues);
    r->plan.alike =
        hd_large_zeroed((size_t)(r->graph->node_count - r->first_work) + 1, sizeof *r->plan.alike, r->large);
    if (!r->queues || !r->plan.alike) return HD_NOMEM(err);
    number_queues(r->queues, r);
    if (!list_awaited(r)) return HD_NOMEM(err);
    return set_order(&moved, r, &recorded, err);
}

/* Each queue is its own. */
static hd_status keep_streams(replay *r, hd_error *err)
{
    r->queues = malloc(((size_t)r->graph->lane_count + 1) * sizeof *r->queues);
    for (uint32_t l = 0; r->queues && l < r->graph->lane_count; l++)
        r->queues[l] = r->graph->lanes[l].is_queue ? (int64_t)l : -1;
    return r->queues && list_awaited(r) ? HD_OK : HD_NOMEM(err);
}

hd_status replay_settle(replay *r, hd_error *err)
{
    const replay_options *o = r->options;
    if (!r->has_change || (o->schedule && !replay_is_priorities(o->schedule)) || (o->overlap && !o->streams))
        return HD_OK;
    replay_measures first = {{0}}, last = {{0}};
    if (!r->queues) HD_TRY(keep_streams(r, err));
    int round = 0;
    for (bool moved; (o->streams || r->awaited_count) && round < ROUNDS_MOST; round++) {
        HD_TRY(set_order(&moved, r, &r->changed, err));
        if (!moved) break;
        if (round == 0) HD_TRY(replay_measure(&first, r, &r->changed, err));
        replay_times_deinit(&r->changed);
        HD_TRY(replay_simulate(&r->changed, r, &r->plan, err));
    }
    if (round) HD_TRY(replay_measure(&last, r, &r->changed, err));
    for (int i = 0; i < REPLAY_MEASURES; i++) /* threads may have to wait for each other */
        r->doubt.ns[i] = last.ns[i] < first.ns[i] ? first.ns[i] - last.ns[i] : last.ns[i] - first.ns[i];
    return HD_OK;
}
