/* queues.c - changes of the order on the queues of a GPU: fuse, graph, overlap */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "model/roles/copy_ways.h"
#include "replay/priorities.h"

enum {
    STREAMS_MOST = 128, /* hardware queues of a GPU */
    LOOK_BACK = 1024    /* activities in a row that are moved */
};

/* ---- fuse ---- */

static bool has_edge(const hd_graph *g, uint32_t node, hd_edge_kind kind)
{
    HD_GRAPH_EDGES(e, g, node) {
        if (hd_graph_edge_kind(g, e) == kind) return true;
    }
    return false;
}

/* For an event, or for the data of another queue. */
static bool waits_elsewhere(const hd_graph *g, uint32_t node)
{
    HD_GRAPH_EDGES(e, g, node) {
        hd_edge_kind kind = hd_graph_edge_kind(g, e);
        bool is_data = kind == HD_EDGE_DATA || kind == HD_EDGE_ADDRESS;
        if (kind == HD_EDGE_EVENT ||
            (is_data && hd_graph_lane_of(g, hd_graph_edge_from(g, e)) != hd_graph_lane_of(g, node)))
            return true;
    }
    return false;
}

/* Whether one launch can replace both: one thread launches them without waiting in between, and neither activity waits
 * elsewhere.
 */
static bool can_fuse(const replay *r, const uint8_t *is_awaited, uint32_t before, uint32_t node)
{
    const hd_graph *g = r->graph;
    uint32_t from = replay_launch_node(r, before), to = replay_launch_node(r, node);
    if (is_awaited[before - r->first_work] || waits_elsewhere(g, node)) return false;
    if (from == HD_NONE || to == HD_NONE || from > to || hd_graph_lane_of(g, from) != hd_graph_lane_of(g, to))
        return false;
    for (uint32_t n = from + 1; n <= to; n++) {
        if (g->kinds[n] == HD_NODE_SYNC || has_edge(g, n, HD_EDGE_SYNC) || has_edge(g, n, HD_EDGE_HANDOFF))
            return false;
    }
    return true;
}

/* By node of a queue: something other than its queue waits for it. */
static uint8_t *find_awaited(const replay *r)
{
    const hd_graph *g = r->graph;
    uint8_t *out = hd_large_zeroed((size_t)(g->node_count - r->first_work) + 1, 1, r->large);
    for (uint32_t e = 0; out && e < g->edge_count; e++) {
        if (replay_is_work(r, g->edge_froms[e])) out[g->edge_froms[e] - r->first_work] = 1;
    }
    return out;
}

static hd_status fuse(replay *r, hd_error *err)
{
    const hd_graph *g = r->graph;
    uint8_t *marks, *is_awaited = find_awaited(r);
    bool any = false;
    hd_status status = replay_marks(&marks, r, r->options->fuse, "fuse", err);
    if (!is_awaited && status == HD_OK) status = HD_NOMEM(err);
    for (uint32_t n = r->first_work; status == HD_OK && n < g->node_count; n++) {
        uint32_t before = r->plan.befores[n - r->first_work];
        bool is_pair = before != HD_NONE && marks[r->names[n]] == 2 && marks[r->names[before]] == 2 &&
                       replay_work(r, n)->role == HD_ROLE_KERNEL && replay_work(r, before)->role == HD_ROLE_KERNEL &&
                       !((r->plan.flags[n] | r->plan.flags[before]) & (PLAN_PINNED | PLAN_GONE));
        if (!is_pair || !can_fuse(r, is_awaited, before, n)) continue;
        r->plan.flags[n] |= PLAN_NO_LAUNCH | PLAN_NO_LAG;
        any = true;
    }
    free(marks);
    hd_large_free(is_awaited);
    if (status == HD_OK) replay_drop_calls(r, PLAN_NO_LAUNCH | PLAN_GONE);
    if (!any) replay_note_idle(r, "fuse", r->options->fuse);
    return status;
}

/* ---- graph ---- */

/* Launches of a step: nodes; HD_NONE. */
typedef struct step_launches {
    uint32_t first, last;
} step_launches;

static uint32_t launch_in_step(uint32_t *step, const replay *r, uint32_t node)
{
    *step = replay_gpu_work(r, node)->step;
    return *step == HD_NONE || r->plan.flags[node] & (PLAN_PINNED | PLAN_GONE) ? HD_NONE : replay_launch_node(r, node);
}

static void find_launches(step_launches *steps, replay *r)
{
    const hd_graph *g = r->graph;
    uint32_t step;
    for (uint32_t n = r->first_work; n < g->node_count; n++) {
        uint32_t from = launch_in_step(&step, r, n);
        if (from == HD_NONE) continue;
        uint32_t *first = &steps[step].first;
        if (*first == HD_NONE || g->starts[from] < g->starts[*first]) *first = from;
    }
    for (uint32_t n = r->first_work; n < g->node_count; n++) {
        uint32_t from = launch_in_step(&step, r, n);
        if (from == HD_NONE || from == steps[step].first) continue;
        r->plan.flags[n] |= PLAN_NO_LAUNCH;
        const hd_graph_lane *lane = hd_graph_lane_of(g, steps[step].first);
        bool is_of_thread = from >= lane->first_node && from < lane->first_node + lane->node_count;
        if (is_of_thread && (steps[step].last == HD_NONE || from > steps[step].last)) steps[step].last = from;
    }
}

/* The first launch of a step launches all its kernels; its thread skips what it did between that and the last launch,
 * except waiting. */
static hd_status make_graphs(replay *r, hd_error *err)
{
    const hd_graph *g = r->graph;
    step_launches *steps = malloc(((size_t)r->scope.step_count + 1) * sizeof *steps);
    bool any = false;
    if (!steps) return HD_NOMEM(err);
    for (uint32_t i = 0; i < r->scope.step_count; i++) steps[i] = (step_launches){HD_NONE, HD_NONE};
    find_launches(steps, r);
    for (uint32_t i = 0; i < r->scope.step_count; i++) {
        any |= steps[i].first != HD_NONE;
        for (uint32_t n = steps[i].first + 1; steps[i].last != HD_NONE && n <= steps[i].last; n++) {
            if (g->kinds[n] == HD_NODE_SYNC || has_edge(g, n, HD_EDGE_SYNC) || r->plan.flags[n] & PLAN_PINNED) continue;
            r->plan.durations[n] = 0;
            r->plan.flags[n] |= PLAN_GONE;
        }
    }
    free(steps);
    replay_drop_calls(r, PLAN_NO_LAUNCH | PLAN_GONE);
    if (!any) replay_note_idle(r, "graph", "");
    return HD_OK;
}

/* ---- queues that part ---- */

typedef struct adder {
    const replay *r;
    uint32_t *lasts[2]; /* by node of a queue minus first_work: the last before it that stays, and the last that
                           overlaps; HD_NONE */
    const uint64_t *by; /* by lane: number of queues that take the staying activities, in turn */
    replay_edge *list;
    size_t count, capacity;
    bool failed, moves[GPU_CLASSES]; /* moves: classes of which some overlap */
} adder;

static void add_edge(adder *a, uint32_t node, uint32_t from, uint8_t kind)
{
    a->failed |= !hd_large_grow((void **)&a->list, &a->capacity, a->count, sizeof *a->list, a->r->large);
    if (!a->failed) a->list[a->count++] = (replay_edge){node, from, kind};
}

/* A queue that waited for an event did so for all later activities. */
static void keep_events(adder *a, const hd_graph_lane *lane, uint32_t node)
{
    const hd_graph *g = a->r->graph;
    uint32_t before = a->r->plan.befores[node - a->r->first_work];
    if (a->r->plan.flags[node] & PLAN_NO_EVENT) return;
    for (uint32_t k = node; k-- > lane->first_node && k != before;) {
        HD_GRAPH_EDGES(e, g, k) {
            if (hd_graph_edge_kind(g, e) == HD_EDGE_EVENT) add_edge(a, node, hd_graph_edge_from(g, e), HD_EDGE_EVENT);
        }
    }
}

/* What waited for a moved activity now also waits for the events that its queue had waited for before it. */
static void keep_events_of(adder *a, uint32_t node, uint32_t moved, uint8_t kind)
{
    const hd_graph *g = a->r->graph;
    const hd_graph_lane *lane = hd_graph_lane_of(g, moved);
    uint32_t stayed = a->lasts[0][moved - a->r->first_work];
    for (uint32_t k = moved + 1; k-- > lane->first_node && k != stayed && moved - k < LOOK_BACK;) {
        HD_GRAPH_EDGES(e, g, k) {
            if (hd_graph_edge_kind(g, e) == HD_EDGE_EVENT) add_edge(a, node, hd_graph_edge_from(g, e), kind);
        }
    }
}

/* A call that waited for a queue waits for all queues that it became, an event for all except those that ignore events;
 * the call of a copy waits only for the copy. */
static void keep_waits(adder *a, uint32_t node)
{
    const hd_graph *g = a->r->graph;
    HD_GRAPH_EDGES(e, g, node) {
        uint32_t from = hd_graph_edge_from(g, e);
        bool is_event = hd_graph_edge_kind(g, e) == HD_EDGE_EVENT;
        if ((!is_event && hd_graph_edge_kind(g, e) != HD_EDGE_SYNC) || !replay_is_work(a->r, from)) continue;
        if (!is_event && replay_own_call(a->r, from) == node) continue;
        bool overlaps = a->r->plan.flags[from] & PLAN_NO_EVENT;
        if (overlaps) keep_events_of(a, node, from, hd_graph_edge_kind(g, e));
        uint64_t by = a->by[hd_graph_lane_of(g, from) - g->lanes];
        uint32_t last = a->lasts[1][from - a->r->first_work];
        if (!overlaps && !is_event && last != HD_NONE) add_edge(a, node, last, hd_graph_edge_kind(g, e));
        for (uint64_t i = overlaps ? 0 : 1; i < by; i++) {
            from = a->lasts[0][from - a->r->first_work];
            if (from == HD_NONE) break;
            add_edge(a, node, from, hd_graph_edge_kind(g, e));
        }
    }
}

bool replay_index_added(replay_plan *p, const replay *r, replay_edge *list, size_t count)
{
    size_t nodes = r->graph->node_count, at = 0;
    replay_edge *spare = hd_large_new(count + 1, sizeof *spare, r->large);
    p->added = list;
    p->first_added = hd_large_zeroed(nodes + 1, sizeof *p->first_added, r->large);
    if (spare && p->first_added) HD_SORT_RUNS(list, spare, count, x, y, x->node < y->node);
    hd_large_free(spare);
    for (size_t n = 0; spare && p->first_added && n <= nodes; n++) {
        while (at < count && list[at].node < n) at++;
        p->first_added[n] = at;
    }
    return spare && p->first_added;
}

/* Activities after a copy to the device may need its data, and a copy from the device may need the activities before
 * it. */
static bool list_data(replay *r, const adder *a)
{
    adder data = {.r = r};
    for (uint32_t n = r->first_work; n < r->graph->node_count; n++) {
        uint32_t before = n == r->first_work ? HD_NONE : n - 1, moved = a->lasts[1][n - r->first_work];
        uint32_t way = hd_copy_way_of(hd_trace_string(r->trace, replay_work(r, n)->name));
        bool is_moved = r->plan.flags[n] & PLAN_NO_EVENT;
        if (is_moved && way == HD_COPY_WAY('D', 'H') && a->lasts[0][n - r->first_work] != HD_NONE)
            add_edge(&data, n, a->lasts[0][n - r->first_work], REPLAY_DATA);
        if (is_moved || moved == HD_NONE || moved != before) continue;
        way = hd_copy_way_of(hd_trace_string(r->trace, replay_work(r, moved)->name));
        if (way == HD_COPY_WAY('H', 'D')) add_edge(&data, n, moved, REPLAY_DATA);
    }
    r->data = data.list;
    r->data_count = data.count;
    return !data.failed;
}

static bool add_edges(replay *r, adder *a)
{
    const hd_graph *g = r->graph;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        const hd_graph_lane *lane = &g->lanes[l];
        for (uint32_t i = 0; i < lane->node_count; i++) {
            if (lane->is_queue) keep_events(a, lane, lane->first_node + i);
            keep_waits(a, lane->first_node + i);
        }
    }
    return replay_index_added(&r->plan, r, a->list, a->count) && list_data(r, a) && !a->failed;
}

/* ---- overlap, schedule ---- */

static hd_status parse_overlap(bool *out, const char *text, hd_error *err)
{
    while (*text) {
        size_t size = strcspn(text, ","), class = 0;
        while (class < GPU_CLASSES &&
               (strlen(gpu_class_names[class]) != size || memcmp(gpu_class_names[class], text, size) != 0))
            class ++;
        if (class != GPU_COMMUNICATION && class != GPU_COPY)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "overlap: '%.*s' is neither communication nor copy", (int)(size < 40 ? size : 40),
                                text);
        out[class] = true;
        text += size + (text[size] == ',');
    }
    return HD_OK;
}

static bool has_rest(const replay *r, const hd_graph_lane *lane, const bool *overlaps)
{
    for (uint32_t i = 0; i < lane->node_count; i++) {
        if (!overlaps[replay_gpu_work(r, lane->first_node + i)->class]) return true;
    }
    return false;
}

/* In a queue with both, overlapping activities follow overlapping ones; the rest keeps the events, and becomes `by`
 * queues, which take activities in turn. */
static void part_lane(adder *a, replay *r, const hd_graph_lane *lane, const bool *overlaps, uint64_t by)
{
    uint32_t last[2] = {HD_NONE, HD_NONE}, turns[STREAMS_MOST]; /* turns: the last of each queue of the rest */
    uint64_t stayed = 0;
    bool is_parted = has_rest(r, lane, overlaps);
    for (uint32_t n = lane->first_node; n < lane->first_node + lane->node_count; n++) {
        bool is_moved = is_parted && overlaps[replay_gpu_work(r, n)->class];
        for (int i = 0; i < 2; i++) a->lasts[i][n - r->first_work] = last[i];
        last[is_moved] = n;
        a->moves[replay_gpu_work(r, n)->class] |= is_moved;
        if (is_moved) {
            r->plan.befores[n - r->first_work] = a->lasts[1][n - r->first_work];
            r->plan.flags[n] |= PLAN_NO_EVENT;
        } else {
            r->plan.befores[n - r->first_work] = stayed >= by ? turns[stayed % by] : HD_NONE;
            turns[stayed++ % by] = n;
        }
    }
}

/* Splits queues: these classes, and the rest into `by` queues. */
static hd_status part(replay *r, const bool *overlaps, uint64_t by, hd_error *err)
{
    const hd_graph *g = r->graph;
    size_t works = (size_t)(g->node_count - r->first_work) + 1;
    uint64_t *bys = malloc(((size_t)g->lane_count + 1) * sizeof *bys);
    adder a = {.r = r, .by = bys};
    for (int i = 0; i < 2; i++) a.lasts[i] = hd_large_new(works, sizeof(uint32_t), r->large);
    bool fine = bys && a.lasts[0] && a.lasts[1];
    for (uint32_t l = 0; fine && l < g->lane_count; l++) {
        bys[l] = replay_is_ours(r, &g->lanes[l]) ? by : 1;
        if (g->lanes[l].is_queue) part_lane(&a, r, &g->lanes[l], overlaps, bys[l]);
    }
    fine = fine && add_edges(r, &a);
    for (size_t c = 0; c < GPU_CLASSES; c++) {
        if (overlaps[c] && !a.moves[c]) replay_note_idle(r, "overlap", gpu_class_names[c]);
    }
    for (int i = 0; i < 2; i++) hd_large_free(a.lasts[i]);
    free(bys);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the whole ---- */

/* 0: activities do not depend on earlier ones of their queue; 1: they do. */
static hd_status parse_schedule(uint64_t *out, replay *r, hd_error *err)
{
    const char *text = r->options->schedule;
    int64_t by = 0;
    if (replay_is_priorities(text)) return replay_change_priorities(r, err);
    if (!strcmp(text, "recorded")) by = 1;
    if (!strcmp(text, "earliest")) by = STREAMS_MOST;
    if (!strncmp(text, "streams=", 8) && !hd_fixed_parse_whole(&by, text + 8, strlen(text + 8))) by = 0;
    *out = (uint64_t)by;
    if (by >= 1 && by <= STREAMS_MOST) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "schedule: '%.40s' is neither recorded, priorities, earliest nor streams=N, of 1 to %d", text,
                        STREAMS_MOST);
}

hd_status replay_change_queues(replay *r, hd_error *err)
{
    const replay_options *o = r->options;
    bool overlaps[GPU_CLASSES] = {false};
    uint64_t by = 1;
    if (o->schedule && o->streams && !replay_is_priorities(o->schedule))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "schedule: goes without streams, which keeps the order of launches");
    if (o->schedule) HD_TRY(parse_schedule(&by, r, err));
    if (o->overlap) HD_TRY(parse_overlap(overlaps, o->overlap, err));
    if (o->overlap || (o->schedule && !replay_is_priorities(o->schedule))) HD_TRY(part(r, overlaps, by, err));
    if (o->streams) HD_TRY(replay_set_streams(r, err));
    if (o->fuse) HD_TRY(fuse(r, err));
    return o->graph ? make_graphs(r, err) : HD_OK;
}
