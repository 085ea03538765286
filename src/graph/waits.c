/* waits.c - API calls that wait for GPU activities, and queues that wait for each other
 *
 * Given    by slices next to the activities ("Stream Sync", "Stream Wait Event") with the call's correlation: the
 *          queue, and the record of the event (PyTorch 2.11 writes -1 for both).
 * Guessed  a call waits for all queues of its process, or of its rank if the process launches nothing; a call for one
 *          stream or event waits for the queue whose activity ended last within the call. A queue waits for the other
 *          queue whose activity ended last before it continued; the waiting queue is the one on which the thread
 *          launches next (Kineto by default gives neither).
 * Target   the last activity of a queue launched before the call, or before the record of the event, and what the queue
 *          waits for after that (events.c). Launches of a queue are assumed to be in the order of its activities.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "model/identity/process.h"
#include "trace/event.h"
#include "trace/ranks.h"

/* ---- queues ---- */

uint32_t graph_first_launched(const graph_maker *m, const hd_graph_lane *queue, int64_t time)
{
    uint32_t low = queue->first_node, high = low + queue->node_count;
    HD_PARTITION_POINT(low, high, at, m->launched[at - m->first_work] < time);
    return low < queue->first_node + queue->node_count ? low : HD_NONE;
}

uint32_t graph_last_launched(const graph_maker *m, const hd_graph_lane *queue, int64_t time)
{
    uint32_t next = graph_first_launched(m, queue, time);
    if (next == HD_NONE) next = queue->first_node + queue->node_count;
    return next == queue->first_node ? HD_NONE : next - 1;
}

/* HD_NO_NUMBER and negative numbers match all. */
static bool is_of(const graph_maker *m, const hd_graph_lane *lane, const graph_call *call, int64_t device,
                  int64_t stream)
{
    const hd_track *track = hd_trace_track_at(m->trace, lane->track);
    return lane->is_queue && m->ranks[lane->track] == call->rank &&
           hd_may_share(m->launches->processes[lane->track], call->process) &&
           (device < 0 || track->device == HD_NO_NUMBER || track->device == device) &&
           (stream < 0 || track->stream == stream);
}

/* ---- calls that wait ---- */

/* Moves the start of the part in which the wait ends, so that the call continues then. Returns its node; HD_NONE: no
 * node of the call can follow. */
static uint32_t end_wait(graph_maker *m, const graph_call *call, int64_t time)
{
    hd_graph *g = m->g;
    const hd_graph_lane *lane = &g->lanes[call->lane];
    uint32_t node = time > call->start ? hd_graph_node_at(g, lane, time - 1) : HD_NONE;
    if (node != HD_NONE && g->starts[node] >= call->start && g->ends[node] >= time) {
        g->starts[node] = time;
        return node;
    }
    node = hd_graph_node_at(g, lane, call->start - 1);
    node = node == HD_NONE ? lane->first_node : node + 1;
    bool is_there = node < lane->first_node + lane->node_count && g->starts[node] >= time && g->ends[node] <= call->end;
    return is_there ? node : HD_NONE;
}

/* Adds edges from activities that ended when the call returns, except those of length 0 within the call, which cannot
 * be ordered before the rest of it. only_last: only from the one that ended last. */
static bool wait_for(graph_maker *m, const graph_call *call, uint32_t *works, size_t count, bool only_last)
{
    hd_graph *g = m->g;
    int64_t time = INT64_MIN;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool has_length = g->ends[works[i]] > g->starts[works[i]];
        if (g->ends[works[i]] > call->end || (!has_length && g->ends[works[i]] > call->start)) {
            g->backward[HD_EDGE_SYNC] += !only_last;
            continue;
        }
        if (only_last && g->ends[works[i]] < time) continue;
        if (only_last) kept = 0;
        if (g->ends[works[i]] > time) time = g->ends[works[i]];
        works[kept++] = works[i];
    }
    uint32_t node = kept ? end_wait(m, call, time) : HD_NONE;
    g->waits_without_work += node == HD_NONE;
    for (size_t i = 0; node != HD_NONE && i < kept; i++) {
        if (!graph_add_edge(m, node, works[i], HD_EDGE_SYNC)) return false;
    }
    return true;
}

/* The activity that the call launching `node` waits for, where `node` is a copy or memset; HD_NONE: none. A copy of
 * pageable memory to the device may return before it is done, but not before the activity before it on its queue is. */
static uint32_t awaited_by(const graph_maker *m, const graph_call *call, const hd_work *work, uint32_t node)
{
    const hd_graph *g = m->g;
    if (g->ends[node] <= call->end) return node;
    bool can_wait = hd_is_pageable_copy(m->trace, work) && g->starts[node] > call->start && g->starts[node] < call->end;
    if (!can_wait || node == hd_graph_lane_of(g, node)->first_node) return HD_NONE;
    return g->ends[node - 1] > call->start && g->ends[node - 1] <= g->starts[node] ? node - 1 : HD_NONE;
}

/* Adds waits for activities whose own API call waits for them. */
static bool wait_for_own(graph_maker *m, const uint8_t *blocking)
{
    for (size_t i = 0; i < m->launches->work_count; i++) {
        const hd_work *work = &m->launches->works[i];
        uint32_t node = m->nodes_of[i];
        if (node == HD_NONE || work->launch == HD_NONE) continue;
        const hd_launch *launch = &m->launches->launches[work->launch];
        if (m->calls_of[launch->name] != HD_SYNC_COPY && !hd_is_awaited(m->trace, m->launches, blocking, work))
            continue;
        if (launch->track >= hd_trace_track_count(m->trace)) continue;
        graph_call call = {.start = graph_time(launch->start_ns),
                           .end = graph_time(hd_end_or_last(launch->start_ns, launch->duration_ns)),
                           .lane = m->thread_of[graph_lane_of_track(m->trace, launch->track)]};
        if (call.lane == HD_NONE) continue;
        node = awaited_by(m, &call, work, node);
        if (node != HD_NONE && !wait_for(m, &call, &node, 1, false)) return false;
    }
    return true;
}

/* ---- waits named by slices ---- */

static bool number(int64_t *out, const graph_maker *m, const hd_event *event, const char *name)
{
    uint32_t key = hd_trace_find_string(m->trace, name, strlen(name));
    return hd_event_arg_int(out, m->trace, event, key);
}

static int by_id(const void *a, const void *b)
{
    const graph_call *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* The first call of a process with that id. */
static graph_call *find_call(const graph_maker *m, int64_t rank, uint32_t process, int64_t id)
{
    size_t low = 0, high = m->call_count;
    HD_PARTITION_POINT(low, high, at, m->calls[at].rank != rank ? m->calls[at].rank < rank : m->calls[at].id < id);
    for (; low < m->call_count && m->calls[low].rank == rank && m->calls[low].id == id; low++) {
        if (hd_may_share(m->calls[low].process, process)) return &m->calls[low];
    }
    return NULL;
}

static bool link_told(graph_maker *m)
{
    if (!hd_large_sort(m->calls, m->call_count, sizeof *m->calls, by_id, m->large)) return false;
    for (size_t i = 0; i < m->told_count; i++) {
        hd_event event = hd_event_at(m->trace, HD_KIND_SLICE, m->told[i]);
        int64_t id = event.correlation;
        if (event.track >= hd_trace_track_count(m->trace) || id == HD_NO_CORRELATION || id == 0) continue;
        graph_call *call = find_call(m, m->ranks[event.track], m->launches->processes[event.track], id);
        if (call && call->told_by == HD_NONE) call->told_by = m->told[i];
    }
    return true;
}

typedef struct told {
    int64_t device, stream, waits_for, record; /* record: its id; negative: unknown */
} told;

static told told_of(const graph_maker *m, const graph_call *call)
{
    told t = {-1, -1, -1, -1};
    if (call->told_by == HD_NONE) return t;
    hd_event event = hd_event_at(m->trace, HD_KIND_SLICE, call->told_by);
    number(&t.device, m, &event, "device");
    number(&t.stream, m, &event, "stream");
    number(&t.waits_for, m, &event, "wait_on_stream");
    number(&t.record, m, &event, "wait_on_cuda_event_record_corr_id");
    return t;
}

static int64_t record_time(const graph_maker *m, const graph_call *call, const told *t)
{
    const graph_call *record = t->record > 0 ? find_call(m, call->rank, call->process, t->record) : NULL;
    return record && record->start <= call->start ? record->start : call->start;
}

/* ---- both ---- */

/* The queue of that stream; HD_NONE. */
static uint32_t find_queue(const graph_maker *m, const graph_call *call, int64_t device, int64_t stream)
{
    uint32_t found = HD_NONE;
    for (uint32_t l = 0; l < m->g->lane_count && stream >= 0; l++) {
        if (is_of(m, &m->g->lanes[l], call, device, stream)) found = l;
    }
    return found;
}

/* A launch of a thread, and the queue that it launches on. */
typedef struct thread_launch {
    int64_t start;
    uint32_t lane, queue;
} thread_launch;

typedef struct thread_launches {
    thread_launch *list; /* by thread and start */
    size_t count;
} thread_launches;

static bool list_launches(thread_launches *out, const graph_maker *m)
{
    const hd_launches *l = m->launches;
    out->list = hd_large_new(l->launch_count + 1, sizeof *out->list, m->large);
    thread_launch *spare = hd_large_new(l->launch_count + 1, sizeof *spare, m->large);
    for (size_t i = 0; out->list && i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        if (launch->track >= hd_trace_track_count(m->trace) || !launch->work_count) continue;
        uint32_t lane = m->thread_of[graph_lane_of_track(m->trace, launch->track)];
        uint32_t track = l->works[l->work_order[launch->first_work]].track;
        if (lane == HD_NONE || track >= hd_trace_track_count(m->trace)) continue;
        uint32_t queue = m->queue_of[graph_lane_of_track(m->trace, track)];
        out->list[out->count++] = (thread_launch){graph_time(launch->start_ns), lane, queue};
    }
    if (out->list && spare)
        HD_SORT_RUNS(out->list, spare, out->count, x, y, x->lane != y->lane ? x->lane < y->lane : x->start < y->start);
    hd_large_free(spare);
    return out->list && spare;
}

/* The queue on which the thread of a call launches next; HD_NONE. */
static uint32_t next_queue(const thread_launches *l, const graph_call *call)
{
    size_t low = 0, high = l->count;
    HD_PARTITION_POINT(low, high, at,
                       l->list[at].lane != call->lane ? l->list[at].lane < call->lane : l->list[at].start < call->end);
    return low < l->count && l->list[low].lane == call->lane ? l->list[low].queue : HD_NONE;
}

static bool keep_wait(graph_maker *m, const graph_call *call, const thread_launches *launches)
{
    told t = told_of(m, call);
    uint32_t lane = call->told_by == HD_NONE ? next_queue(launches, call) : find_queue(m, call, t.device, t.stream);
    uint32_t waits_for = find_queue(m, call, t.device, t.waits_for);
    if (lane == HD_NONE || (waits_for == HD_NONE && t.waits_for >= 0)) {
        m->g->waits_without_work++;
        return true;
    }
    if (!hd_large_grow((void **)&m->waits, &m->wait_capacity, m->wait_count, sizeof *m->waits, m->large)) return false;
    m->waits[m->wait_count++] = (graph_queue_wait){
        .time = call->start, .record_time = record_time(m, call, &t), .lane = lane, .waits_for = waits_for};
    return true;
}

static bool add_wait(graph_maker *m, const graph_call *call, uint32_t *works)
{
    told t = told_of(m, call);
    const hd_graph *g = m->g;
    bool is_told = call->told_by != HD_NONE;
    int64_t time = call->what == HD_SYNC_EVENT ? record_time(m, call, &t) : call->start;
    int64_t stream = call->what == HD_SYNC_EVENT ? t.waits_for : call->what == HD_SYNC_STREAM ? t.stream : -1;
    size_t count = 0;
    if (call->what != HD_SYNC_DEVICE && stream < 0) is_told = false; /* not of what */
    for (uint32_t l = 0; l < g->lane_count; l++) {
        if (!is_of(m, &g->lanes[l], call, t.device, stream)) continue;
        uint32_t work = graph_last_launched(m, &g->lanes[l], time);
        if (work != HD_NONE) works[count++] = work;
        if (stream >= 0 && count < m->g->lane_count) count += graph_pending(works + count, m, l, time);
    }
    return wait_for(m, call, works, count, !is_told && call->what != HD_SYNC_DEVICE);
}

bool graph_make_waits(graph_maker *m)
{
    uint32_t *works = malloc(((size_t)m->g->lane_count + GRAPH_PENDING + 1) * sizeof *works);
    thread_launches launches = {0};
    const uint8_t *blocking = hd_blocking_names(m->trace, m->launches);
    bool fine = works && blocking && link_told(m) && wait_for_own(m, blocking) && list_launches(&launches, m);
    for (size_t i = 0; fine && i < m->call_count; i++) {
        if (m->calls[i].what == CALL_WAIT) fine = keep_wait(m, &m->calls[i], &launches);
    }
    hd_large_free(launches.list);
    fine = fine && graph_link_events(m);
    for (size_t i = 0; fine && i < m->call_count; i++) {
        if (m->calls[i].what < HD_SYNC_KINDS) fine = add_wait(m, &m->calls[i], works);
    }
    free(works);
    return fine;
}
