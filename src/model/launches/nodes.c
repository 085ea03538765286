/* nodes.c - activities of a graph: the call that created their node, by events of nodes (CUDA_GRAPH_NODE_EVENTS of
 * Nsight Systems)
 *
 * In: slices of threads with the argument "graph node id", which begin when that node is created, and with
 * originalGraphNodeId if it is a clone: a graph is cloned when it is instantiated. Ids belong to a process.
 * Out: graph_launch of activities with that id, the call on the thread around the creation of the node that is no
 * clone.
 */
#include "base/sorted.h"
#include "model/args/args.h"
#include "model/launches/impl.h"
#include "trace/event.h"
#include "trace/lazy.h"

enum { CLONES_MOST = 64, NESTED_MOST = 16 };

typedef struct node_finder {
    launch_finder *f;
    uint32_t *calls; /* by lane, then start */
    size_t call_count;
    bool has_one_process; /* all nodes are of one */
} node_finder;

static uint32_t lane_of(const launch_finder *f, uint32_t track)
{
    return track < hd_trace_track_count(f->trace) ? hd_trace_track_at(f->trace, track)->same_as : HD_NONE;
}

static int by_process_and_id(const void *a, const void *b)
{
    const launch_node *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Ids may be used again, after the graph was destroyed: the last one of that time. NULL: none. */
static launch_node *find_node(const launch_finder *f, uint32_t process, int64_t id, int64_t time_ns)
{
    size_t low = 0, high = f->node_count;
    HD_PARTITION_POINT(low, high, at,
                       f->nodes[at].process != process ? f->nodes[at].process < process
                       : f->nodes[at].id != id         ? f->nodes[at].id < id
                                                       : f->nodes[at].start_ns <= time_ns);
    launch_node *node = low ? &f->nodes[low - 1] : NULL;
    return node && node->process == process && node->id == id ? node : NULL;
}

/* The node of the graph as it was captured; NULL: its creation was not recorded. */
static launch_node *find_original(const launch_finder *f, launch_node *node)
{
    for (int i = 0; node && i < CLONES_MOST; i++) {
        if (node->original == HD_NO_NUMBER || node->original == 0 || node->original == node->id) return node;
        node = find_node(f, node->process, node->original, node->start_ns);
    }
    return NULL;
}

/* ---- calls ---- */

typedef struct placed {
    int64_t start_ns;
    uint32_t lane, call;
} placed;

static int by_lane_and_start(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

static bool sort_calls(node_finder *n)
{
    launch_finder *f = n->f;
    placed *list = hd_large_new(f->call_count + 1, sizeof *list, f->large);
    n->calls = hd_large_new(f->call_count + 1, sizeof *n->calls, f->large);
    n->call_count = f->call_count;
    bool fine = list && n->calls;
    for (size_t i = 0; fine && i < n->call_count; i++)
        list[i] = (placed){f->calls[i].start_ns, lane_of(f, f->calls[i].track), (uint32_t)i};
    fine = fine && hd_large_sort(list, n->call_count, sizeof *list, by_lane_and_start, f->large);
    for (size_t i = 0; fine && i < n->call_count; i++) n->calls[i] = list[i].call;
    hd_large_free(list);
    return fine;
}

/* The innermost call around that time, else the event of the node itself. HD_NONE: impossible. */
static uint32_t call_around(bool *out_fine, node_finder *n, const launch_node *node)
{
    launch_finder *f = n->f;
    const uint32_t lane = lane_of(f, node->track);
    size_t low = 0, high = n->call_count;
    HD_PARTITION_POINT(low, high, at,
                       lane_of(f, f->calls[n->calls[at]].track) != lane
                           ? lane_of(f, f->calls[n->calls[at]].track) < lane
                           : f->calls[n->calls[at]].start_ns <= node->start_ns);
    for (size_t i = low; i-- > 0 && i + NESTED_MOST >= low;) {
        const launch_call *call = &f->calls[n->calls[i]];
        if (lane_of(f, call->track) != lane) break;
        if (hd_end_or_last(call->start_ns, call->duration_ns) >= node->start_ns) return call->outer;
    }
    return launches_make_call(out_fine, f, node->row);
}

/* ---- the whole ---- */

static bool assign(node_finder *n)
{
    launch_finder *f = n->f;
    gpu_arg ids;
    hd_block_room room = {0};
    bool fine = gpu_arg_init(&ids, f->trace, LAUNCH_NODE_ID);
    for (size_t i = 0; fine && i < f->work_count; i++) {
        hd_work *work = &f->works[i];
        uint32_t at;
        int64_t id;
        if (work->graph_launch != HD_NONE || (work->launch == HD_NONE && !n->has_one_process)) continue;
        const hd_block *block = hd_walk_row(&at, &room, f->trace, HD_KIND_SLICE, work->row);
        if (!gpu_arg_whole(&id, &ids, block, at) || !id) continue;
        const uint32_t process =
            work->launch != HD_NONE ? f->processes[launch_slot(f, f->calls[work->launch].track)] : f->nodes[0].process;
        launch_node *node = find_original(f, find_node(f, process, id, work->start_ns));
        if (!node) continue;
        if (node->call == HD_NONE) node->call = call_around(&fine, n, node);
        work->graph_launch = node->call;
        if (node->call != HD_NONE) f->calls[node->call].is_needed = true;
    }
    hd_walk_end(&room, f->trace);
    gpu_arg_deinit(&ids);
    return fine;
}

bool launches_join_nodes(launch_finder *f)
{
    node_finder n = {.f = f};
    if (!f->node_count) return true;
    for (size_t i = 0; i < f->node_count; i++) f->nodes[i].process = f->processes[launch_slot(f, f->nodes[i].track)];
    if (!hd_large_sort(f->nodes, f->node_count, sizeof *f->nodes, by_process_and_id, f->large)) return false;
    n.has_one_process = f->nodes[0].process == f->nodes[f->node_count - 1].process;
    bool fine = sort_calls(&n) && assign(&n);
    hd_large_free(n.calls);
    return fine;
}
