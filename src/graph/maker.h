/* maker.h - building a graph: nodes.c makes nodes, threads.c waits between threads, waits.c and events.c waits for GPU
 * activities, dependencies.c edges in the trace, addresses.c read-after-write edges, graph.c the rest: begin there
 */
#ifndef HD_GRAPH_MAKER_H
#define HD_GRAPH_MAKER_H

#include "heddle/analysis/graph.h"
#include "model/roles/sync_calls.h"
#include "model/scope/recorded.h"

/* The class of a slice by its name: an hd_sync_kind, a call about events, or data loading. */
enum { CALL_RECORD = HD_SYNC_KINDS, CALL_WAIT, CALL_LOADING };

/* A call that waits, records an event or makes a queue wait for one. */
typedef struct graph_call {
    int64_t rank, id; /* id: correlation; 0: none */
    int64_t start, end;
    uint32_t lane, process; /* process: the launching process, HD_NONE: unknown */
    uint8_t what;           /* hd_sync_kind, CALL_… */
    uint32_t told_by;       /* row of the slice that says what it waits for; HD_NONE */
} graph_call;

/* A queue that waits for an event of another. */
typedef struct graph_queue_wait {
    int64_t time, record_time;
    uint32_t lane, waits_for; /* waits_for HD_NONE: not in the trace, so it is guessed */
    uint32_t work_count;      /* number of activities that the queue waits for, once known */
    size_t first_work;        /* in `waited` */
} graph_queue_wait;

typedef struct graph_edge {
    uint32_t to, from;
    uint8_t kind;
} graph_edge;

typedef struct graph_maker {
    hd_graph *g;
    const hd_trace *trace;
    const hd_launches *launches;
    uint64_t large;
    uint32_t *thread_of, *queue_of; /* by track: lane, HD_NONE */
    int64_t *ranks;                 /* by track */
    gpu_capture_windows windows;
    uint8_t *calls_of;   /* by string: hd_sync_kind, CALL_… */
    uint32_t first_work; /* node */
    uint32_t *nodes_of;  /* by work: its node */
    uint32_t *firsts;    /* by row of the slice table: its first node, HD_NONE; NULL: not computed yet */
    int64_t *launched;   /* by node of a queue minus first_work: the latest start of a launch up to it */
    graph_call *calls;   /* by rank, id and start once nodes are made */
    size_t call_count, call_capacity;
    uint32_t *told; /* rows of slices that describe waits */
    size_t told_count, told_capacity;
    graph_queue_wait *waits; /* by queue and time, once they are linked */
    size_t wait_count, wait_capacity;
    uint32_t *waited;
    size_t waited_count, waited_capacity;
    graph_edge *edges; /* all except those along threads and queues */
    size_t edge_count, edge_capacity;
    graph_edge *links; /* between threads, to be added once nodes have their starts */
    size_t link_count, link_capacity, suspect_capacity;
} graph_maker;

hd_status graph_make_nodes(graph_maker *m, hd_error *err); /* fills all but edges */
/* Reserves nodes for threads and for all activities. false: no memory. */
bool graph_make_lists(graph_maker *m, size_t host_nodes);
void graph_add_node(hd_graph *g, hd_node_kind kind, uint32_t slice, int64_t start, int64_t end);
/* Cuts parts of threads that wait for other threads; before queues have nodes. Fills links and suspects. */
hd_status graph_cut_threads(graph_maker *m, hd_error *err);
bool graph_link_threads(graph_maker *m); /* adds the links. false: no memory */
bool graph_make_waits(graph_maker *m);   /* moves the starts of waiting calls. false: no memory */
/* Edges of HD_EDGE_DATA and HD_EDGE_ADDRESS. false: no memory. */
bool graph_add_dependencies(graph_maker *m);
bool graph_add_addresses(graph_maker *m);

/* The first activity of a queue launched at or after a time, and the last one before it; HD_NONE. */
uint32_t graph_first_launched(const graph_maker *m, const hd_graph_lane *queue, int64_t time);
uint32_t graph_last_launched(const graph_maker *m, const hd_graph_lane *queue, int64_t time);
/* Edges of m->waits. false: no memory. */
bool graph_link_events(graph_maker *m);
/* Activities of other queues that a queue waits for at a time, beyond its own last activity. Once events are linked. */
enum { GRAPH_PENDING = 32 };
size_t graph_pending(uint32_t *out, const graph_maker *m, uint32_t lane, int64_t time);

/* The node where a slice begins or, is_end, ends: nested slices have nodes of their own. HD_NONE: none. Requires
 * graph_find_firsts to have returned true; false: no memory. */
bool graph_find_firsts(graph_maker *m);
uint32_t graph_node_of(const graph_maker *m, uint32_t row, bool is_end);
/* The activity of a slice, in m->launches->works; HD_NONE. */
uint32_t graph_work_of(const graph_maker *m, uint64_t slice);
/* An edge that contradicts the order is only counted. false: no memory. */
bool graph_add_edge(graph_maker *m, uint32_t to, uint32_t from, hd_edge_kind kind);

static inline int64_t graph_time(int64_t ns)
{
    return ns > INT64_MAX / 2 ? INT64_MAX / 2 : ns < -INT64_MAX / 2 ? -INT64_MAX / 2 : ns;
}
static inline uint32_t graph_lane_of_track(const hd_trace *trace, uint32_t track)
{
    return hd_trace_track_at(trace, track)->same_as;
}

#endif
