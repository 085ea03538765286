/* path.c - the longest path to a node, and how much later each node could be */
#include <assert.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "heddle/graph.h"

static inline int64_t ready_at(const hd_graph *g, uint32_t from, uint32_t to)
{
    return g->ends[from] <= g->starts[to] ? g->ends[from] : g->starts[from];
}

size_t hd_graph_bound(int64_t *out_ready, const hd_graph *graph, uint32_t node)
{
    size_t bound = SIZE_MAX;
    *out_ready = graph->start_ns;
    for (size_t e = graph->first_edges[node]; e < graph->first_edges[node + 1]; e++) {
        int64_t ready = ready_at(graph, graph->froms[e], node);
        if (bound != SIZE_MAX && ready < *out_ready) continue;
        *out_ready = ready;
        bound = e;
    }
    return bound;
}

/* ---- paths ---- */

typedef struct walker {
    hd_graph_piece *pieces;
    size_t count, capacity;
    int64_t from, time; /* goes back from the end to `from` */
} walker;

static bool add_piece(walker *w, int64_t start, uint32_t node, bool is_delay, unsigned edge)
{
    if (start < w->from) start = w->from;
    if (start >= w->time) return true;
    if (!hd_large_grow((void **)&w->pieces, &w->capacity, w->count, sizeof *w->pieces, UINT64_MAX)) return false;
    w->pieces[w->count++] = (hd_graph_piece){start, w->time, node, is_delay, (uint8_t)edge};
    w->time = start;
    return true;
}

hd_status hd_graph_path(hd_graph_piece **out, size_t *out_count, const hd_graph *graph, uint32_t node, int64_t from_ns,
                        int64_t until_ns, hd_error *err)
{
    walker w = {.from = from_ns, .time = until_ns};
    bool fine = true;
    while (fine && w.time > from_ns) {
        int64_t ready;
        size_t edge = hd_graph_bound(&ready, graph, node);
        fine = add_piece(&w, graph->starts[node], node, false, HD_EDGE_KINDS) &&
               add_piece(&w, edge == SIZE_MAX ? from_ns : ready, node, true,
                         edge == SIZE_MAX ? HD_EDGE_KINDS : graph->edge_kinds[edge]);
        if (edge == SIZE_MAX) break;
        node = graph->froms[edge];
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
        if (end < latest) continue;
        latest = end;
        last = n;
    }
    return last;
}

/* ---- slack ---- */

/* Nodes so that each stands behind all that it waits for. */
static uint32_t *order_nodes(const hd_graph *g)
{
    uint32_t *order = hd_large_new((size_t)g->node_count + 1, sizeof *order, UINT64_MAX);
    uint32_t *spare = hd_large_new((size_t)g->node_count + 1, sizeof *spare, UINT64_MAX);
    for (uint32_t n = 0; order && n < g->node_count; n++) order[n] = n;
    if (order && spare)
        HD_SORT_RUNS(order, spare, g->node_count, x, y,
                     g->starts[*x] != g->starts[*y] ? g->starts[*x] < g->starts[*y] : *x < *y);
    hd_large_free(spare);
    if (spare) return order;
    hd_large_free(order);
    return NULL;
}

/* Nothing that n waits for may be ready later than n's latest start less its delay. */
static void hold_back(int64_t *slack, const hd_graph *g, uint32_t n)
{
    int64_t ready;
    hd_graph_bound(&ready, g, n);
    int64_t latest = ready + slack[n];
    for (size_t e = g->first_edges[n]; e < g->first_edges[n + 1]; e++) {
        uint32_t from = g->froms[e];
        int64_t most = latest - ready_at(g, from, n);
        if (most < slack[from]) slack[from] = most;
    }
}

hd_status hd_graph_slack(int64_t **out, const hd_graph *graph, hd_error *err)
{
    uint32_t *order = order_nodes(graph);
    int64_t *slack = hd_large_new((size_t)graph->node_count + 1, sizeof *slack, UINT64_MAX);
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
