/* graph.h - the dependency graph of a trace: what ran, and what each part of it waited for
 *
 * Nodes   parts of a thread's time: one innermost open slice each, or no slice (a gap); and kernels, copies and
 *         memsets of GPU queues. A call that waits for a GPU has its node where that wait is over. A collective that
 *         waits for another rank has it from 1 ns after its last rank has arrived. A part in which a thread waits for
 *         another thread of its process has two nodes: before that thread's part begins and after it ends.
 * Edges   lead to a node from the nodes that it waits for, each with its evidence. A node begins a delay after the last
 *         of them is ready:  start = max(ready) + delay, delay >= 0.  An edge is ready when its source node ends, or,
 *         if that node continues beyond the start of the target, when the source starts. On a queue, overlaps of up to
 *         5 us (noise of clocks, programmatic dependent launches) keep the order: there it is ready when the target
 *         starts.
 * Order   by start, then by number: edges come from earlier nodes. Edges that contradict this order (clocks that
 *         differ, a negative delay) are left out and counted, so that there are no cycles.
 *
 * The threads are those with operators, or with API calls that launch, wait or use events; if there are none, those
 * with other API calls; then those with Python frames; else all. Times are kept within 146 years of 0. A graph borrows
 * the trace, never changes, and may be read by any number of threads.
 */
#ifndef HEDDLE_GRAPH_H
#define HEDDLE_GRAPH_H

#include "heddle/analysis/launches.h"
#include "heddle/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_node_kind {
    HD_NODE_GAP,        /* of a thread, between slices */
    HD_NODE_HOST,       /* of a thread: an operator, an API call, an annotation … */
    HD_NODE_SYNC,       /* an API call that waits for a GPU: before it waits, and after */
    HD_NODE_WORK,       /* of a queue */
    HD_NODE_LOADING,    /* as HD_NODE_HOST, within a range of a data loader */
    HD_NODE_UNRECORDED, /* of a thread, outside of the windows of its capture; of a slice that is open then, or none */
    HD_NODE_KINDS
} hd_node_kind;

typedef enum hd_edge_kind {
    HD_EDGE_THREAD,     /* the previous node of its thread */
    HD_EDGE_QUEUE,      /* the previous node of its queue */
    HD_EDGE_LAUNCH,     /* the call that launched it */
    HD_EDGE_EVENT,      /* the last activity before the record of an event that its queue waits for */
    HD_EDGE_SYNC,       /* the last activity before a call that waits for it */
    HD_EDGE_COLLECTIVE, /* the same collective's kernel on the rank that arrived last */
    HD_EDGE_DATA,       /* a dependency that the trace contains: Chakra's data dependencies and those between threads */
    HD_EDGE_ADDRESS,    /* the last writer of data that it reads: copies and memsets by address, Chakra's nodes by
                           tensor */
    HD_EDGE_HANDOFF,    /* what another thread of its process did before: the thread waited for it, or took turns with
                           it */
    HD_EDGE_KINDS
} hd_edge_kind;

/* "gap", "thread" … Static. */
const char *hd_node_kind_name(hd_node_kind kind);
const char *hd_edge_kind_name(hd_edge_kind kind);

/* The nodes of a thread or queue follow one another, by start. Threads come before queues. */
typedef struct hd_graph_lane {
    uint32_t track;
    uint32_t first_node, node_count;
    bool is_queue;
} hd_graph_lane;

/* In this node a thread may have waited for what another thread did meanwhile: the trace does not say whether it
 * did. */
typedef struct hd_graph_suspect {
    uint32_t node, lane;      /* lane: of the other thread */
    int64_t start_ns, end_ns; /* of what that does */
} hd_graph_suspect;

typedef struct hd_graph {
    const hd_trace *trace;
    int64_t start_ns, end_ns; /* span of all nodes; both 0: no nodes */
    uint32_t node_count, lane_count;
    hd_graph_lane *lanes;
    /* by node */
    int64_t *starts, *ends;
    uint32_t *slices;    /* row of the slice table; HD_NONE: a gap */
    uint8_t *kinds;      /* hd_node_kind */
    uint32_t first_work; /* node: those of queues follow */
    /* edges, as HD_GRAPH_EDGES reads them. Most come from the node before on the same thread or queue: only the others
     * are stored, by node, and an HD_NONE at the end */
    uint64_t *lane_begins; /* bit by node: the first of its thread or queue */
    uint32_t *edge_tos, *edge_froms;
    uint8_t *edge_kinds;  /* hd_edge_kind */
    uint32_t *edge_index; /* by HD_GRAPH_INDEXED nodes: the first edge; one more at the end */
    uint32_t edge_count;
    /* what is not in it */
    uint64_t slices_left_out;         /* slices on other tracks, without a time, or still open */
    uint64_t backward[HD_EDGE_KINDS]; /* edges that contradict the order in time */
    uint64_t works_without_launch, launches_without_work;
    uint64_t waits_guessed; /* waits for a queue. Where the trace does not say for which event, the activity that ended
                               last is taken; where it does not say for which queue, the one on which the thread
                               launches next */
    uint64_t dependencies_left_out; /* dependencies on nodes that are missing or occur twice, and those of a node beyond
                                       its first 64 */
    uint64_t waits_without_work;    /* waiting calls whose target is unknown, or that have nothing to wait for */
    hd_graph_suspect *suspects;     /* by node */
    size_t suspect_count;
    uint32_t threads_unexamined; /* threads of processes with so many that their waits for one another are not
                                    searched */
} hd_graph;

/* launches: of the trace. Collectives of several ranks, or devices of one, are matched by group and sequence, as
 * hd_collective in job.h has them; sends and receives are not, since traces do not contain the partner of a send. The
 * caller frees *out, which is NULL after a failure. O(n log n). Errors: MEMORY; LIMIT (2^31 slices, 2^32 edges). */
hd_status hd_graph_new(hd_graph **out, const hd_trace *trace, const hd_launches *launches, hd_error *err);
void hd_graph_free(hd_graph *graph);

/* An edge is a number: that of its node if it is along a thread or queue, else node_count and more. For each of a node,
 * its thread or queue first:
 *
 *   HD_GRAPH_EDGES(edge, graph, node) if (hd_graph_edge_kind(graph, edge) == HD_EDGE_SYNC) …
 */
#define HD_GRAPH_EDGES(edge, graph, node)                                                                              \
    for (size_t edge = hd_graph_first_edge(graph, node); hd_graph_is_edge_of(graph, edge, node);                       \
         edge = hd_graph_next_edge(graph, edge))
enum { HD_GRAPH_INDEXED = 16 };

static inline bool hd_graph_has_lane_edge(const hd_graph *graph, uint32_t node)
{
    return !(graph->lane_begins[node / 64] >> node % 64 & 1);
}
/* The first edge of a node that is not along its thread or queue, or of one after it. */
static inline size_t hd_graph_other_edge(const hd_graph *graph, uint32_t node)
{
    uint32_t low = graph->edge_index[node / HD_GRAPH_INDEXED], high = graph->edge_index[node / HD_GRAPH_INDEXED + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->edge_tos[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return (size_t)graph->node_count + low;
}
static inline size_t hd_graph_first_edge(const hd_graph *graph, uint32_t node)
{
    return hd_graph_has_lane_edge(graph, node) ? node : hd_graph_other_edge(graph, node);
}
static inline size_t hd_graph_next_edge(const hd_graph *graph, size_t edge)
{
    return edge < graph->node_count ? hd_graph_other_edge(graph, (uint32_t)edge) : edge + 1;
}
static inline bool hd_graph_is_edge_of(const hd_graph *graph, size_t edge, uint32_t node)
{
    return (edge < graph->node_count ? (uint32_t)edge : graph->edge_tos[edge - graph->node_count]) == node;
}
static inline uint32_t hd_graph_edge_from(const hd_graph *graph, size_t edge)
{
    return edge < graph->node_count ? (uint32_t)edge - 1 : graph->edge_froms[edge - graph->node_count];
}
static inline hd_edge_kind hd_graph_edge_kind(const hd_graph *graph, size_t edge)
{
    if (edge < graph->node_count) return edge < graph->first_work ? HD_EDGE_THREAD : HD_EDGE_QUEUE;
    return (hd_edge_kind)graph->edge_kinds[edge - graph->node_count];
}

/* The edge of a node that is ready last, and when; SIZE_MAX: the node has no edge, *out_ready is then the start of the
 * graph. If several are ready at the same time, the last kind counts; within a kind, activities come first, then the
 * source that began later. */
size_t hd_graph_bound(int64_t *out_ready, const hd_graph *graph, uint32_t node);
/* The lane of a node. O(log lanes). */
const hd_graph_lane *hd_graph_lane_of(const hd_graph *graph, uint32_t node);
/* The last node of a lane that starts at or before a time; HD_NONE. */
uint32_t hd_graph_node_at(const hd_graph *graph, const hd_graph_lane *lane, int64_t time_ns);

/* ---- the critical path ---- */

/* A part of a path: a node runs, or it has not begun although everything that it waits for is ready. */
typedef struct hd_graph_piece {
    int64_t start_ns, end_ns;
    uint32_t node;
    bool is_delay;
    uint8_t edge; /* hd_edge_kind of the delay; HD_EDGE_KINDS: nothing came before */
} hd_graph_piece;

/* The longest path of [from_ns, until_ns) that ends in `node`, which starts before until_ns: what that node waited for
 * last, and so on. Its parts follow one another without a gap, so that its length is until_ns - from_ns. The caller
 * frees *out with hd_graph_pieces_free. Errors: MEMORY. */
hd_status hd_graph_path(hd_graph_piece **out, size_t *out_count, const hd_graph *graph, uint32_t node, int64_t from_ns,
                        int64_t until_ns, hd_error *err);
void hd_graph_pieces_free(hd_graph_piece *pieces);
/* Of the nodes that touch [from_ns, until_ns) the one that ends last; an end after until_ns counts as until_ns.
 * If several end then: an activity rather than a node of a thread, then the one that began later. HD_NONE: none. */
uint32_t hd_graph_last(const hd_graph *graph, int64_t from_ns, int64_t until_ns);

/* What a part of a path is, or what it waits for. */
typedef enum hd_path_class {
    HD_PATH_CPU,
    HD_PATH_DATA_LOADING,
    HD_PATH_GAP,
    HD_PATH_LAUNCH,
    HD_PATH_COMPUTE,
    HD_PATH_COMMUNICATION,
    HD_PATH_COPY,
    HD_PATH_QUEUE,
    HD_PATH_SYNC,
    HD_PATH_UNKNOWN,
    HD_PATH_UNRECORDED,
    HD_PATH_CLASSES
} hd_path_class;

/* "cpu", "data loading" … Static. */
const char *hd_path_class_name(hd_path_class path_class);
/* HD_PATH_COMPUTE is every GPU activity: the caller separates communication and copies. */
hd_path_class hd_graph_piece_class(const hd_graph *graph, const hd_graph_piece *piece);

/* By node, how much later it could end without the graph ending later: latest start - earliest start. The caller frees
 * *out with hd_graph_slack_free. O(n log n). Errors: MEMORY. */
hd_status hd_graph_slack(int64_t **out, const hd_graph *graph, hd_error *err);
void hd_graph_slack_free(int64_t *slack);

/* For each row of the slice table: its first node (HD_NONE: it has no node), and the least slack of its nodes. */
typedef struct hd_graph_slices {
    uint32_t *first_nodes;
    int64_t *slack;
} hd_graph_slices;
/* The caller frees *out, which is NULL after a failure. O(n log n). Errors: MEMORY. */
hd_status hd_graph_slices_new(hd_graph_slices **out, const hd_graph *graph, hd_error *err);
void hd_graph_slices_free(hd_graph_slices *slices);

/* ---- printing ---- */

/* Selects the printed part of a graph. Zero-initialised with `size` prints all. */
typedef struct hd_graph_view {
    size_t size;                 /* of this struct; see "Options" in status.h */
    bool has_window, has_around; /* conditions that are set are combined */
    int64_t from_ns, until_ns;   /* nodes that touch [from_ns, until_ns) */
    uint64_t around;             /* nodes of this row of the slice table, and those up to `depth` edges away */
    unsigned depth;
} hd_graph_view;

typedef enum hd_graph_format {
    HD_GRAPH_TEXT, /* a line per node in order: number, start, duration, row, name <- what it waits for */
    HD_GRAPH_JSON, /* {"nodes": [...], "edges": [...], "left_out": {...}}: times in ns on the trace's clock */
    HD_GRAPH_DOT,  /* for Graphviz: a cluster per thread and queue; a chain of nodes that each wait only for the
                      previous one is one box */
    HD_GRAPH_EXECUTION_TRACE, /* .et of Chakra, which simulators read: binary */
} hd_graph_format;

/* Errors: those of the sink; ARGUMENT: row `around` has no node; MEMORY. */
hd_status hd_graph_print(hd_sink sink, const hd_graph *graph, hd_graph_format format, const hd_graph_view *view,
                         hd_error *err);
/* The same into a file, which appears whole or not at all: .txt, .json, .dot, .gv or .et; .svg by Graphviz' dot.
 * Errors: also ARGUMENT (another name), UNSUPPORTED (no dot on PATH), LIMIT (a .dot of more than a megabyte is not
 * drawn), IO. */
hd_status hd_graph_write(const char *path, const hd_graph *graph, const hd_graph_view *view, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
