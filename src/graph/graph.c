/* graph.c - builds a graph: nodes, edges, and edges sorted by node */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "graph/members.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

const char *hd_node_kind_name(hd_node_kind kind)
{
    static const char *const names[] = {"gap", "host", "sync", "work", "loading", "unrecorded"};
    return names[kind];
}

const char *hd_edge_kind_name(hd_edge_kind kind)
{
    static const char *const names[] = {"thread",     "queue", "launch",  "event",  "sync",
                                        "collective", "data",  "address", "handoff"};
    return names[kind];
}

const hd_graph_lane *hd_graph_lane_of(const hd_graph *graph, uint32_t node)
{
    uint32_t low = 0, high = graph->lane_count;
    HD_PARTITION_POINT(low, high, at, graph->lanes[at].first_node <= node);
    return &graph->lanes[low - 1];
}

uint32_t hd_graph_node_at(const hd_graph *graph, const hd_graph_lane *lane, int64_t time_ns)
{
    uint32_t low = lane->first_node, high = low + lane->node_count;
    HD_PARTITION_POINT(low, high, at, graph->starts[at] <= time_ns);
    return low == lane->first_node ? HD_NONE : low - 1;
}

/* ---- edges ---- */

bool graph_add_edge(graph_maker *m, uint32_t to, uint32_t from, hd_edge_kind kind)
{
    const hd_graph *g = m->g;
    if (g->starts[from] > g->starts[to] || (g->starts[from] == g->starts[to] && from >= to)) {
        m->g->backward[kind]++;
        return true;
    }
    if (!hd_large_grow((void **)&m->edges, &m->edge_capacity, m->edge_count, sizeof *m->edges, m->large)) return false;
    m->edges[m->edge_count++] = (graph_edge){to, from, (uint8_t)kind};
    return true;
}

/* As hd_graph_node_at, by an exponential search from another node of the lane. */
static uint32_t node_near(const hd_graph *g, const hd_graph_lane *lane, int64_t time, uint32_t hint)
{
    uint32_t first = lane->first_node, end = first + lane->node_count, low = hint, high = hint, step = 1;
    for (; low > first && g->starts[low] > time; step *= 2) {
        high = low;
        low = low - first > step ? low - step : first;
    }
    for (step = 1; high < end && g->starts[high] <= time; step *= 2) {
        low = high;
        high = end - high > step ? high + step : end;
    }
    HD_PARTITION_POINT(low, high, at, g->starts[at] <= time);
    return low == first ? HD_NONE : low - 1;
}

/* The source of a launch edge is the part of the call in which the activity began, or the last part. Launches are
 * thread by thread and by start, so that each part is near the one before. */
static bool add_launches(graph_maker *m)
{
    hd_graph *g = m->g;
    const hd_launches *l = m->launches;
    uint32_t hint = HD_NONE, of = HD_NONE;
    g->works_without_launch = l->work_count;
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        g->launches_without_work += launch->work_count == 0;
        if (launch->track >= hd_trace_track_count(m->trace)) continue;
        uint32_t lane = m->thread_of[graph_lane_of_track(m->trace, launch->track)];
        if (lane == HD_NONE) continue;
        if (lane != of) hint = g->lanes[of = lane].first_node;
        int64_t start = graph_time(launch->start_ns);
        int64_t end = graph_time(hd_end_or_last(launch->start_ns, launch->duration_ns)),
                last = end > start ? end - 1 : start;
        for (uint32_t w = 0; w < launch->work_count; w++) {
            uint32_t node = m->nodes_of[l->work_order[launch->first_work + w]];
            if (node == HD_NONE) continue;
            g->works_without_launch--;
            int64_t time = g->starts[node];
            uint32_t from = node_near(g, &g->lanes[lane], time < last ? time : last, hint);
            if (from != HD_NONE) hint = from;
            if (time < start || from == HD_NONE)
                g->backward[HD_EDGE_LAUNCH]++;
            else if (!graph_add_edge(m, node, from, HD_EDGE_LAUNCH))
                return false;
        }
    }
    return true;
}

/* ---- slices ---- */

bool graph_find_firsts(graph_maker *m)
{
    const hd_graph *g = m->g;
    uint64_t rows = hd_trace_row_count(m->trace, HD_KIND_SLICE);
    if (m->firsts) return true;
    m->firsts = hd_large_new(rows + 1, sizeof *m->firsts, m->large);
    for (uint64_t r = 0; m->firsts && r < rows; r++) m->firsts[r] = HD_NONE;
    for (uint32_t n = 0; m->firsts && n < g->node_count; n++) {
        if (g->slices[n] != HD_NONE && m->firsts[g->slices[n]] == HD_NONE) m->firsts[g->slices[n]] = n;
    }
    return m->firsts != NULL;
}

uint32_t graph_node_of(const graph_maker *m, uint32_t row, bool is_end)
{
    const hd_graph *g = m->g;
    uint32_t first = m->firsts[row], lane, node, track = (uint32_t)hd_slice_column(m->trace, row, HD_COL_TRACK);
    int64_t start_ns = hd_slice_column(m->trace, row, HD_COL_START), start = graph_time(start_ns);
    int64_t end = graph_time(hd_end_or_last(start_ns, hd_slice_column(m->trace, row, HD_COL_DURATION)));
    bool is_whole = first != HD_NONE && (first >= m->first_work || start >= end);
    if (is_whole || track >= hd_trace_track_count(m->trace)) return first;
    lane = m->thread_of[graph_lane_of_track(m->trace, track)];
    if (lane == HD_NONE || start_ns == HD_NO_TIME || start >= end) return HD_NONE;
    const hd_graph_lane *l = &g->lanes[lane];
    node = hd_graph_node_at(g, l, is_end ? end - 1 : start);
    if (!is_end && (node == HD_NONE || g->starts[node] < start)) node = node == HD_NONE ? l->first_node : node + 1;
    bool is_within = node != HD_NONE && node < l->first_node + l->node_count && g->starts[node] >= start;
    return is_within && g->starts[node] < end ? node : HD_NONE;
}

/* ---- collectives ---- */

uint32_t graph_work_of(const graph_maker *m, uint64_t slice)
{
    size_t low = 0, high = m->launches->work_count;
    HD_PARTITION_POINT(low, high, at, m->launches->works[at].row < slice);
    return low < m->launches->work_count && m->launches->works[low].row == slice ? (uint32_t)low : HD_NONE;
}

/* The node of an activity's slice; HD_NONE. */
static uint32_t node_of_work(const graph_maker *m, uint64_t slice)
{
    uint32_t work = graph_work_of(m, slice);
    return work == HD_NONE ? HD_NONE : m->nodes_of[work];
}

/* Whether the node can begin at `time`: some of it must remain, and the next of its queue must not have begun. */
static bool can_begin(const hd_graph *g, uint32_t node, int64_t time)
{
    const hd_graph_lane *lane = hd_graph_lane_of(g, node);
    bool is_last = node + 1 == lane->first_node + lane->node_count;
    return g->ends[node] > time && (is_last || g->starts[node + 1] > time);
}

/* The nodes of one collective begin 1 ns after its last rank has arrived, so that the order of nodes is valid. */
static bool add_collective(graph_maker *m, const graph_member *members, size_t count)
{
    hd_graph *g = m->g;
    uint32_t last = HD_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = node_of_work(m, members[i].slice);
        if (node != HD_NONE && (last == HD_NONE || g->starts[node] > g->starts[last])) last = node;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t node = node_of_work(m, members[i].slice);
        if (node == HD_NONE || g->starts[node] == g->starts[last]) continue;
        int64_t time = g->starts[last] + 1;
        if (!can_begin(g, node, time)) {
            g->backward[HD_EDGE_COLLECTIVE]++;
            continue;
        }
        g->starts[node] = time;
        if (!graph_add_edge(m, node, last, HD_EDGE_COLLECTIVE)) return false;
    }
    return true;
}

static bool add_collectives(graph_maker *m, const graph_member *members, size_t count)
{
    size_t end;
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && members[end].collective == members[i].collective;) end++;
        if (!add_collective(m, members + i, end - i)) return false;
    }
    return true;
}

/* ---- all edges ---- */

/* Edges by node, in order of discovery, and where those of a node are. */
static bool order_edges(graph_maker *m)
{
    hd_graph *g = m->g;
    size_t count = m->edge_count, indexed = (size_t)g->node_count / HD_GRAPH_INDEXED + 2;
    graph_edge *spare = hd_large_new(count + 1, sizeof *spare, m->large);
    if (spare) HD_SORT_RUNS(m->edges, spare, count, x, y, x->to < y->to);
    hd_large_free(spare);
    g->first_work = m->first_work;
    g->lane_begins = hd_large_zeroed((size_t)g->node_count / 64 + 1, sizeof *g->lane_begins, m->large);
    g->edge_tos = hd_large_new(count + 1, sizeof *g->edge_tos, m->large);
    g->edge_froms = hd_large_new(count + 1, sizeof *g->edge_froms, m->large);
    g->edge_kinds = hd_large_new(count + 1, sizeof *g->edge_kinds, m->large);
    g->edge_index = hd_large_new(indexed, sizeof *g->edge_index, m->large);
    if (!spare || !g->lane_begins || !g->edge_tos || !g->edge_froms || !g->edge_kinds || !g->edge_index) return false;
    for (uint32_t l = 0; l < g->lane_count; l++) {
        uint32_t first = g->lanes[l].first_node;
        if (g->lanes[l].node_count) g->lane_begins[first / 64] |= (uint64_t)1 << first % 64;
    }
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        while (at <= m->edges[i].to / HD_GRAPH_INDEXED) g->edge_index[at++] = (uint32_t)i;
        g->edge_tos[i] = m->edges[i].to;
        g->edge_froms[i] = m->edges[i].from;
        g->edge_kinds[i] = m->edges[i].kind;
    }
    while (at < indexed) g->edge_index[at++] = (uint32_t)count;
    g->edge_tos[count] = HD_NONE;
    g->edge_count = (uint32_t)count;
    return true;
}

static void find_span(hd_graph *g)
{
    g->start_ns = g->node_count ? INT64_MAX : 0;
    g->end_ns = g->node_count ? INT64_MIN : 0;
    for (uint32_t n = 0; n < g->node_count; n++) {
        if (g->starts[n] < g->start_ns) g->start_ns = g->starts[n];
        if (g->ends[n] > g->end_ns) g->end_ns = g->ends[n];
    }
}

/* ---- the whole ---- */

static void free_maker(graph_maker *m)
{
    gpu_capture_windows_deinit(&m->windows);
    free(m->thread_of);
    free(m->queue_of);
    free(m->ranks);
    free(m->calls_of);
    hd_large_free(m->nodes_of);
    hd_large_free(m->firsts);
    hd_large_free(m->launched);
    hd_large_free(m->calls);
    hd_large_free(m->told);
    hd_large_free(m->waits);
    hd_large_free(m->waited);
    hd_large_free(m->edges);
    hd_large_free(m->links);
}

hd_status graph_new(hd_graph **out, const hd_trace *trace, const hd_launches *launches, const graph_member *members,
                    size_t member_count, hd_error *err)
{
    *out = NULL;
    if (hd_trace_row_count(trace, HD_KIND_SLICE) > INT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^31 slices");
    graph_maker m = {
        .g = calloc(1, sizeof *m.g), .trace = trace, .launches = launches, .large = hd_trace_large_bytes(trace)};
    if (!m.g) return HD_NOMEM(err);
    m.g->trace = trace;
    hd_status status = graph_make_nodes(&m, err);
    if (status == HD_OK && !(graph_make_waits(&m) && graph_link_threads(&m) && add_launches(&m) &&
                             add_collectives(&m, members, member_count) && graph_add_dependencies(&m) &&
                             graph_add_addresses(&m) && order_edges(&m)))
        status = HD_NOMEM(err);
    if (status == HD_OK && m.edge_count > UINT32_MAX - 1)
        status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 edges");
    free_maker(&m);
    if (status == HD_OK) {
        find_span(m.g);
        *out = m.g;
    } else {
        hd_graph_free(m.g);
    }
    return status;
}

void hd_graph_free(hd_graph *graph)
{
    if (!graph) return;
    hd_large_free(graph->starts);
    hd_large_free(graph->ends);
    hd_large_free(graph->slices);
    hd_large_free(graph->kinds);
    hd_large_free(graph->lane_begins);
    hd_large_free(graph->edge_tos);
    hd_large_free(graph->edge_froms);
    hd_large_free(graph->edge_kinds);
    hd_large_free(graph->edge_index);
    hd_large_free(graph->suspects);
    free(graph->lanes);
    free(graph);
}
