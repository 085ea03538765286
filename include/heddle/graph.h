/* graph.h - the graph of a trace: what ran, and what each piece of it waited for
 *
 * Nodes   stretches of threads, each of the innermost slice that is open, or of none (a gap); and kernels, copies and
 *         sets of GPU queues. A call that waits for a GPU has its node where that wait is over, a collective that waits
 *         for another rank from 1 ns after the last of its ranks has come. A stretch in which a thread waits for
 *         another one of its process has two, before that one begins and after it is done.
 * Edges   come into a node from those that it waits for, each with its evidence. A node begins when the last of them
 *         is ready, and a delay later:  start = max(ready) + delay, delay >= 0.  An edge is ready when the node that it
 *         comes from ends, or, where that goes on beyond the start of the other, when it starts.
 * Order   by start, then by number: edges come from earlier nodes. What contradicts it (clocks that differ, a
 *         negative delay) is left out and counted, so that there are no cycles.
 *
 * Threads are those with operators, or calls that launch, wait or are about events; if there are none, those with other
 * calls; then those with Python frames; else all. Times are kept within 146 years of 0. A graph borrows the trace,
 * never changes, and may be read by any number of threads.
 */
#ifndef HEDDLE_GRAPH_H
#define HEDDLE_GRAPH_H

#include "heddle/launches.h"
#include "heddle/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hd_node_kind {
    HD_NODE_GAP,     /* of a thread, between slices */
    HD_NODE_HOST,    /* of a thread: an operator, a call, an annotation … */
    HD_NODE_SYNC,    /* a call that waits for a GPU: before it waits, and after */
    HD_NODE_WORK,    /* of a queue */
    HD_NODE_LOADING, /* as HD_NODE_HOST, within a range of a data loader */
    HD_NODE_KINDS
} hd_node_kind;

typedef enum hd_edge_kind {
    HD_EDGE_THREAD,     /* the node before it on its thread */
    HD_EDGE_QUEUE,      /* the node before it on its queue */
    HD_EDGE_LAUNCH,     /* the call that launched it */
    HD_EDGE_EVENT,      /* the last work before an event was recorded for which its queue waits */
    HD_EDGE_SYNC,       /* the last work before a call that waits for it */
    HD_EDGE_COLLECTIVE, /* the kernel of the rank that came last to the same collective */
    HD_EDGE_DATA,       /* what the trace says that it depends on: Chakra's dependencies of data and between threads */
    HD_EDGE_ADDRESS,    /* what last wrote what it reads: copies and sets by addresses, Chakra's nodes by tensors */
    HD_EDGE_HANDOFF,    /* what another thread of its process did before: it waited for that, or had its turn then */
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

/* A thread may wait in a node for what another does meanwhile: the trace does not say whether it does. */
typedef struct hd_graph_suspect {
    uint32_t node, lane;      /* lane: of the other thread */
    int64_t start_ns, end_ns; /* of what that does */
} hd_graph_suspect;

typedef struct hd_graph {
    const hd_trace *trace;
    int64_t start_ns, end_ns; /* of all nodes; both 0: there are none */
    uint32_t node_count, lane_count;
    hd_graph_lane *lanes;
    /* by node */
    int64_t *starts, *ends;
    uint32_t *slices;    /* row of the slice table; HD_NONE: a gap */
    uint8_t *kinds;      /* hd_node_kind */
    size_t *first_edges; /* one more at the end */
    /* by edge: those of a node follow one another, its thread or queue first */
    uint32_t *froms;
    uint8_t *edge_kinds; /* hd_edge_kind */
    /* what is not in it */
    uint64_t slices_left_out;         /* of other rows, without a time, or still open */
    uint64_t backward[HD_EDGE_KINDS]; /* edges that contradict the order of time */
    uint64_t works_without_launch, launches_without_work;
    uint64_t waits_guessed; /* of queues, where the trace does not tell for which: for that whose work ended last; or of
                               which: of that on which the thread launches next */
    uint64_t dependencies_left_out; /* on what is missing or occurs twice; on more than 64 for one read */
    uint64_t waits_without_work;    /* calls of which it is not known what they wait for, or that wait for nothing */
    hd_graph_suspect *suspects;     /* by node */
    size_t suspect_count;
    uint32_t threads_unexamined; /* of processes with so many that waits between each two of them were not looked for */
} hd_graph;

/* launches: of the trace. Collectives of several ranks, or devices of one, are matched by group and sequence, as
 * hd_collective in job.h has them; sends and receives are not, since traces do not contain who sends to whom. The
 * caller frees *out, which is NULL after a failure. O(n log n). Errors: MEMORY; LIMIT (2^31 slices). */
hd_status hd_graph_new(hd_graph **out, const hd_trace *trace, const hd_launches *launches, hd_error *err);
void hd_graph_free(hd_graph *graph);

/* The edge that is ready last, and when; SIZE_MAX: none comes in, *out_ready is then the start of the graph. Of several
 * at one time it is the last. */
size_t hd_graph_bound(int64_t *out_ready, const hd_graph *graph, uint32_t node);
/* The lane of a node. O(log lanes). */
const hd_graph_lane *hd_graph_lane_of(const hd_graph *graph, uint32_t node);
/* The last node of a lane that starts at or before a time; HD_NONE. */
uint32_t hd_graph_node_at(const hd_graph *graph, const hd_graph_lane *lane, int64_t time_ns);

/* ---- the critical path ---- */

/* A stretch of a path: a node runs, or it does not begin yet although all is ready that it waits for. */
typedef struct hd_graph_piece {
    int64_t start_ns, end_ns;
    uint32_t node;
    bool is_delay;
    uint8_t edge; /* hd_edge_kind of the delay; HD_EDGE_KINDS: nothing came before */
} hd_graph_piece;

/* The longest path of [from_ns, until_ns) that ends in `node`, which starts before until_ns: what it waited for last,
 * and so on. Its pieces follow one another without a gap, so that its length is until_ns - from_ns. The caller frees
 * *out with hd_graph_pieces_free. Errors: MEMORY. */
hd_status hd_graph_path(hd_graph_piece **out, size_t *out_count, const hd_graph *graph, uint32_t node, int64_t from_ns,
                        int64_t until_ns, hd_error *err);
void hd_graph_pieces_free(hd_graph_piece *pieces);
/* The node that ends last of those that touch [from_ns, until_ns), what ends behind until_ns as if it ended there;
 * HD_NONE: none. */
uint32_t hd_graph_last(const hd_graph *graph, int64_t from_ns, int64_t until_ns);

/* What a piece is, or what is waited for in it. */
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
    HD_PATH_CLASSES
} hd_path_class;

/* "cpu", "data loading" … Static. */
const char *hd_path_class_name(hd_path_class path_class);
/* HD_PATH_COMPUTE is all work that runs: the caller separates communication and copies. */
hd_path_class hd_graph_piece_class(const hd_graph *graph, const hd_graph_piece *piece);

/* By node, how much later it could end without the graph ending later: latest start - earliest start. The caller frees
 * *out with hd_graph_slack_free. O(n log n). Errors: MEMORY. */
hd_status hd_graph_slack(int64_t **out, const hd_graph *graph, hd_error *err);
void hd_graph_slack_free(int64_t *slack);

/* By row of the slice table: its first node, HD_NONE: it has none; and the least slack of its nodes. */
typedef struct hd_graph_slices {
    uint32_t *first_nodes;
    int64_t *slack;
} hd_graph_slices;
/* The caller frees *out, which is NULL after a failure. O(n log n). Errors: MEMORY. */
hd_status hd_graph_slices_new(hd_graph_slices **out, const hd_graph *graph, hd_error *err);
void hd_graph_slices_free(hd_graph_slices *slices);

/* ---- printing ---- */

/* What of a graph is printed. Zero-initialised with `size` is all of it. */
typedef struct hd_graph_view {
    size_t size;                 /* of this struct; see "Options" in status.h */
    bool has_window, has_around; /* all of these that are set */
    int64_t from_ns, until_ns;   /* nodes that touch [from_ns, until_ns) */
    uint64_t around;             /* nodes of this row of the slice table, and those up to `depth` edges away */
    unsigned depth;
} hd_graph_view;

typedef enum hd_graph_format {
    HD_GRAPH_TEXT, /* a line per node in order: number, start, duration, row, name <- what it waits for */
    HD_GRAPH_JSON, /* {"nodes": [...], "edges": [...], "left_out": {...}}: times in ns on the trace's clock */
    HD_GRAPH_DOT,  /* for Graphviz: a cluster per thread and queue; nodes of which each only waits for the one before it
                      are one box */
} hd_graph_format;

/* Errors: what the sink returns; ARGUMENT: no node is of the row `around`; MEMORY. */
hd_status hd_graph_print(hd_sink sink, const hd_graph *graph, hd_graph_format format, const hd_graph_view *view,
                         hd_error *err);
/* The same as a file, which appears whole or not at all: .txt, .json, .dot or .gv; .svg by Graphviz' dot. Errors: also
 * ARGUMENT (another name), UNSUPPORTED (no dot on PATH), LIMIT (a .dot of more than a megabyte is not drawn), IO. */
hd_status hd_graph_write(const char *path, const hd_graph *graph, const hd_graph_view *view, hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
