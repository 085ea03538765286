/* path.c - the longest path to a node, and how much later each node could be */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "base/text/ends.h"
#include "graph/overlap.h"
#include "graph/preferred.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

static inline int64_t ready_at(const hd_graph *g, size_t edge, uint32_t to)
{
    uint32_t from = hd_graph_edge_from(g, edge);
    if (g->ends[from] <= g->starts[to]) return g->ends[from];
    bool is_in_order = hd_graph_edge_kind(g, edge) == HD_EDGE_QUEUE && graph_overlap(g, to);
    return is_in_order ? g->starts[to] : g->starts[from];
}

static hd_string name_of(const hd_graph *g, uint32_t node)
{
    if (g->slices[node] == HD_NONE) return (hd_string){"", 0};
    return hd_trace_string(g->trace, hd_event_at(g->trace, HD_KIND_SLICE, g->slices[node]).name);
}

bool graph_is_preferred(const hd_graph *g, uint32_t b, uint32_t a)
{
    bool is_work_a = g->kinds[a] == HD_NODE_WORK, is_work_b = g->kinds[b] == HD_NODE_WORK;
    if (is_work_a != is_work_b) return is_work_b;
    if (g->starts[a] != g->starts[b]) return g->starts[b] > g->starts[a];
    hd_string name_a = name_of(g, a), name_b = name_of(g, b);
    int order = hd_text_compare(name_a.data, name_a.size, name_b.data, name_b.size);
    return order ? order < 0 : b > a;
}

size_t hd_graph_bound(int64_t *out_ready, const hd_graph *graph, uint32_t node)
{
    size_t bound = SIZE_MAX;
    *out_ready = graph->start_ns;
    HD_GRAPH_EDGES(e, graph, node) {
        int64_t ready = ready_at(graph, e, node);
        if (bound != SIZE_MAX && ready < *out_ready) continue;
        if (bound != SIZE_MAX && ready == *out_ready &&
            hd_graph_edge_kind(graph, e) == hd_graph_edge_kind(graph, bound) &&
            !graph_is_preferred(graph, hd_graph_edge_from(graph, e), hd_graph_edge_from(graph, bound)))
            continue;
        *out_ready = ready;
        bound = e;
    }
    return bound;
}

/* ---- paths ---- */

typedef struct walker {
    hd_graph_piece *pieces;
    size_t count, capacity;
    int64_t from, time; /* moves back from the end to `from` */
    uint64_t large;
} walker;

static bool add_piece(walker *w, int64_t start, uint32_t node, bool is_delay, unsigned edge)
{
    if (start < w->from) start = w->from;
    if (start >= w->time) return true;
    if (!hd_large_grow((void **)&w->pieces, &w->capacity, w->count, sizeof *w->pieces, w->large)) return false;
    w->pieces[w->count++] = (hd_graph_piece){start, w->time, node, is_delay, (uint8_t)edge};
    w->time = start;
    return true;
}

hd_status hd_graph_path(hd_graph_piece **out, size_t *out_count, const hd_graph *graph, uint32_t node, int64_t from_ns,
                        int64_t until_ns, hd_error *err)
{
    walker w = {.from = from_ns, .time = until_ns, .large = hd_trace_large_bytes(graph->trace)};
    bool fine = true;
    while (fine && w.time > from_ns) {
        int64_t ready;
        size_t edge = hd_graph_bound(&ready, graph, node);
        fine = add_piece(&w, graph->starts[node], node, false, HD_EDGE_KINDS) &&
               add_piece(&w, edge == SIZE_MAX ? from_ns : ready, node, true,
                         edge == SIZE_MAX ? HD_EDGE_KINDS : hd_graph_edge_kind(graph, edge));
        if (edge == SIZE_MAX) break;
        node = hd_graph_edge_from(graph, edge);
    }
    for (size_t i = 0; i < w.count / 2; i++) {
        hd_graph_piece piece = w.pieces[i];
        w.pieces[i] = w.pieces[w.count - 1 - i];
        w.pieces[w.count - 1 - i] = piece;
    }
    assert(!fine || w.time <= from_ns);
    *out = w.pieces;
    *out_count = w.count;
    if (fine) return HD_OK;
    hd_large_free(w.pieces);
    *out = NULL;
    return HD_NOMEM(err);
}

void hd_graph_pieces_free(hd_graph_piece *pieces)
{
    hd_large_free(pieces);
}

uint32_t hd_graph_last(const hd_graph *graph, int64_t from_ns, int64_t until_ns)
{
    uint32_t last = HD_NONE;
    int64_t latest = INT64_MIN;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (graph->starts[n] >= until_ns || (graph->starts[n] < from_ns && graph->ends[n] <= from_ns)) continue;
        int64_t end = graph->ends[n] < until_ns ? graph->ends[n] : until_ns;
        if (end < latest || (end == latest && last != HD_NONE && !graph_is_preferred(graph, n, last))) continue;
        latest = end;
        last = n;
    }
    return last;
}

/* ---- classes ---- */

const char *hd_path_class_name(hd_path_class path_class)
{
    static const char *const names[] = {"cpu",  "data loading", "gap",  "launch",  "compute",   "communication",
                                        "copy", "queue",        "sync", "unknown", "unrecorded"};
    return names[path_class];
}

hd_path_class hd_graph_piece_class(const hd_graph *graph, const hd_graph_piece *piece)
{
    static const hd_path_class of_delay[HD_EDGE_KINDS + 1] = {
        HD_PATH_CPU,           HD_PATH_QUEUE, HD_PATH_LAUNCH, HD_PATH_SYNC, HD_PATH_SYNC,
        HD_PATH_COMMUNICATION, HD_PATH_SYNC,  HD_PATH_SYNC,   HD_PATH_CPU,  HD_PATH_UNKNOWN};
    if (piece->is_delay) return of_delay[piece->edge];
    switch ((hd_node_kind)graph->kinds[piece->node]) {
    case HD_NODE_WORK: return HD_PATH_COMPUTE;
    case HD_NODE_SYNC: return HD_PATH_SYNC;
    case HD_NODE_GAP: return HD_PATH_GAP;
    case HD_NODE_LOADING: return HD_PATH_DATA_LOADING;
    case HD_NODE_UNRECORDED: return HD_PATH_UNRECORDED;
    default: return HD_PATH_CPU;
    }
}

/* ---- slack ---- */

/* A topological order: each node after everything that it waits for. */
static uint32_t *order_nodes(const hd_graph *g)
{
    uint64_t large = hd_trace_large_bytes(g->trace);
    uint32_t *order = hd_large_new((size_t)g->node_count + 1, sizeof *order, large);
    uint32_t *spare = hd_large_new((size_t)g->node_count + 1, sizeof *spare, large);
    for (uint32_t n = 0; order && n < g->node_count; n++) order[n] = n;
    if (order && spare)
        HD_SORT_RUNS(order, spare, g->node_count, x, y,
                     g->starts[*x] != g->starts[*y] ? g->starts[*x] < g->starts[*y] : *x < *y);
    hd_large_free(spare);
    if (spare) return order;
    hd_large_free(order);
    return NULL;
}

/* Nothing that n waits for may be ready later than n's latest start minus its delay. */
static void hold_back(int64_t *slack, const hd_graph *g, uint32_t n)
{
    int64_t ready;
    hd_graph_bound(&ready, g, n);
    int64_t latest = ready + slack[n];
    HD_GRAPH_EDGES(e, g, n) {
        uint32_t from = hd_graph_edge_from(g, e);
        int64_t most = latest - ready_at(g, e, n);
        if (most < slack[from]) slack[from] = most;
    }
}

hd_status hd_graph_slack(int64_t **out, const hd_graph *graph, hd_error *err)
{
    uint32_t *order = order_nodes(graph);
    int64_t *slack = hd_large_new((size_t)graph->node_count + 1, sizeof *slack, hd_trace_large_bytes(graph->trace));
    for (uint32_t n = 0; slack && n < graph->node_count; n++) slack[n] = graph->end_ns - graph->ends[n];
    for (uint32_t i = graph->node_count; order && slack && i-- > 0;) hold_back(slack, graph, order[i]);
    bool fine = order && slack;
    hd_large_free(order);
    *out = slack;
    if (fine) return HD_OK;
    hd_large_free(slack);
    *out = NULL;
    return HD_NOMEM(err);
}

void hd_graph_slack_free(int64_t *slack)
{
    hd_large_free(slack);
}

/* ---- by slice ---- */

hd_status hd_graph_slices_new(hd_graph_slices **out, const hd_graph *graph, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(graph->trace, HD_KIND_SLICE), large = hd_trace_large_bytes(graph->trace);
    int64_t *slack;
    *out = NULL;
    hd_graph_slices *s = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    hd_status status = hd_graph_slack(&slack, graph, err);
    s->first_nodes = hd_large_new(rows + 1, sizeof *s->first_nodes, large);
    s->slack = hd_large_zeroed(rows + 1, sizeof *s->slack, large);
    if (status == HD_OK && !(s->first_nodes && s->slack)) status = HD_NOMEM(err);
    for (uint64_t r = 0; status == HD_OK && r < rows; r++) s->first_nodes[r] = HD_NONE;
    for (uint32_t n = 0; status == HD_OK && n < graph->node_count; n++) {
        uint32_t row = graph->slices[n];
        if (row == HD_NONE) continue;
        bool is_first = s->first_nodes[row] == HD_NONE;
        if (is_first) s->first_nodes[row] = n;
        if (is_first || slack[n] < s->slack[row]) s->slack[row] = slack[n];
    }
    hd_large_free(slack);
    if (status == HD_OK)
        *out = s;
    else
        hd_graph_slices_free(s);
    return status;
}

void hd_graph_slices_free(hd_graph_slices *slices)
{
    if (!slices) return;
    hd_large_free(slices->first_nodes);
    hd_large_free(slices->slack);
    free(slices);
}
