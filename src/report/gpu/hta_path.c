/* hta_path.c - the graph of HTA's critical path analysis, and the longest path in it
 *
 * Two nodes per event, its begin and its end. Operators and calls of a thread are linked in the order of their begins
 * and ends by edges of the time between, those of a call that waits weigh 0; an outermost event of a thread follows the
 * previous one with weight 0. An activity is launched by its call if its queue was empty then, else it follows the
 * previous activity of its stream. Waits weigh 0: from the last activity of a stream to the end of the call, or to the
 * next activity of a stream. Of paths of equal length HTA takes the one whose edges were made first; so does this code.
 */
#include "report/gpu/hta_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "trace/event.h"

const char *const hta_kind_names[HTA_KINDS] = {"critical_path_operator", "critical_path_dependency",
                                               "critical_path_kernel_launch_delay", "critical_path_kernel_kernel_delay",
                                               "critical_path_sync_dependency"};

typedef struct hta_event {
    int64_t start, end;
    uint32_t row, lane;
} hta_event;

/* An activity whose launch is in the window, or a slice that describes a wait. */
typedef struct hta_item {
    int64_t time;
    uint32_t row, work; /* work: HD_NONE: a wait */
    uint32_t event;     /* of work; HD_NONE */
} hta_item;

typedef struct hta_id {
    int64_t id;
    uint32_t event;
} hta_id;

typedef struct hta_launch {
    int64_t start;
    uint32_t row, lane, work; /* row: of the scope */
} hta_launch;

typedef struct hta_maker {
    const gpu_scope *s;
    int64_t from, until;
    hta_event *events;
    size_t event_count, event_capacity;
    hta_edge *edges;
    size_t edge_count, edge_capacity;
    uint32_t *event_of;  /* by work: HD_NONE */
    uint32_t *call_of;   /* by launch: HD_NONE */
    uint8_t *was_empty;  /* by activity: its queue, when it was launched and when it began */
    uint32_t *waits_for; /* by work: work; HD_NONE */
    uint32_t *last;      /* by row of the scope: node; HD_NONE */
    hta_item *items;
    size_t item_count, item_capacity;
    hta_launch *by_time, *by_thread;
    size_t launch_count;
    hta_id *ids; /* of calls by correlation */
    size_t id_count, id_capacity;
    gpu_arg stream, wait_stream, record;
    uint32_t wait_name, event_name, stream_name, context_name;
} hta_maker;

static bool add_edge(hta_maker *m, uint32_t from, uint32_t to, int64_t weight, unsigned kind)
{
    if (!hd_large_grow((void **)&m->edges, &m->edge_capacity, m->edge_count, sizeof *m->edges, m->s->large))
        return false;
    m->edges[m->edge_count++] = (hta_edge){from, to, weight, (uint8_t)kind, false};
    return true;
}

static int64_t time_of(const hta_maker *m, uint32_t node)
{
    return node % 2 ? m->events[node / 2].end : m->events[node / 2].start;
}

/* An edge of the time between. */
static bool add_timed(hta_maker *m, uint32_t from, uint32_t to, unsigned kind)
{
    return add_edge(m, from, to, time_of(m, to) - time_of(m, from), kind);
}

static uint32_t add_event(hta_maker *m, hta_event event)
{
    if (!hd_large_grow((void **)&m->events, &m->event_capacity, m->event_count, sizeof *m->events, m->s->large))
        return HD_NONE;
    m->events[m->event_count] = event;
    return (uint32_t)m->event_count++;
}

static bool number(int64_t *out, hta_maker *m, gpu_arg *arg, uint32_t row)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, m->s->trace, HD_KIND_SLICE, row);
    return gpu_arg_whole(out, arg, block, at);
}

static int64_t correlation_of(const hta_maker *m, uint32_t row)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, m->s->trace, HD_KIND_SLICE, row);
    return hd_correlation_at(block, at);
}

static bool is_named(const hta_maker *m, uint32_t row, const char *const *names)
{
    hd_string name = hd_trace_string(m->s->trace, hd_event_at(m->s->trace, HD_KIND_SLICE, row).name);
    for (; *names; names++) {
        if (strlen(*names) == name.size && memcmp(*names, name.data, name.size) == 0) return true;
    }
    return false;
}

/* ---- threads ---- */

typedef struct thread_walk {
    uint32_t last, last_outer; /* nodes; HD_NONE */
    uint32_t *open;            /* events */
    size_t depth;
} thread_walk;

static bool leave(hta_maker *m, thread_walk *w)
{
    static const char *const waits[] = {"cudaDeviceSynchronize",
                                        "cudaStreamSynchronize",
                                        "cudaEventSynchronize",
                                        "cudaEventQuery",
                                        "cudaMemcpy",
                                        "cudaMemcpyAsync",
                                        NULL};
    uint32_t event = w->open[--w->depth], end = 2 * event + 1;
    bool fine = is_named(m, m->events[event].row, waits) ? add_edge(m, w->last, end, 0, HTA_OPERATOR)
                                                         : add_timed(m, w->last, end, HTA_OPERATOR);
    w->last = w->depth ? end : HD_NONE;
    if (!w->depth) w->last_outer = end;
    return fine;
}

static bool enter(hta_maker *m, thread_walk *w, uint32_t event)
{
    uint32_t begin = 2 * event;
    bool fine = true;
    if (!w->depth && w->last_outer != HD_NONE) fine = add_edge(m, w->last_outer, begin, 0, HTA_DEPENDENCY);
    if (w->last != HD_NONE) fine = fine && add_timed(m, w->last, begin, HTA_OPERATOR);
    w->last = begin;
    w->open[w->depth++] = event;
    return fine;
}

static bool walk_thread(hta_maker *m, uint32_t first, uint32_t end)
{
    thread_walk w = {HD_NONE, HD_NONE, hd_large_new((size_t)(end - first) + 1, sizeof *w.open, m->s->large), 0};
    bool fine = w.open != NULL;
    for (uint32_t i = first; fine && i < end; i++) {
        while (fine && w.depth && m->events[w.open[w.depth - 1]].end <= m->events[i].start) fine = leave(m, &w);
        fine = fine && enter(m, &w, i);
    }
    while (fine && w.depth) fine = leave(m, &w);
    hd_large_free(w.open);
    return fine;
}

static bool add_threads(hta_maker *m, const gpu_slices *calls)
{
    for (uint32_t l = 0; l < hd_trace_track_count(m->s->trace); l++) {
        uint32_t first = (uint32_t)m->event_count;
        for (uint32_t i = calls->first[l]; i < calls->first[l + 1]; i++) {
            const gpu_slice *c = &calls->list[i];
            if (c->start < m->from || c->start > m->until || c->end <= c->start) continue;
            if (add_event(m, (hta_event){c->start, c->end, c->row, l}) == HD_NONE) return false;
            int64_t id = correlation_of(m, c->row);
            if (id <= 0) continue;
            if (!hd_large_grow((void **)&m->ids, &m->id_capacity, m->id_count, sizeof *m->ids, m->s->large))
                return false;
            m->ids[m->id_count++] = (hta_id){id, (uint32_t)m->event_count - 1};
        }
        if (!walk_thread(m, first, (uint32_t)m->event_count)) return false;
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const hta_id *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static uint32_t call_with(const hta_maker *m, int64_t id)
{
    size_t low = 0, high = m->id_count;
    HD_PARTITION_POINT(low, high, at, m->ids[at].id < id);
    return low < m->id_count && m->ids[low].id == id ? m->ids[low].event : HD_NONE;
}

/* ---- queues ---- */

typedef struct change {
    int64_t time;
    uint32_t work;
    bool is_launch;
} change;

static bool is_launch(const hta_maker *m, const hd_work *work)
{
    static const char *const names[] = {"cudaLaunchKernel",
                                        "cudaLaunchKernelExC",
                                        "cuLaunchKernel",
                                        "cudaMemcpyAsync",
                                        "cudaMemsetAsync",
                                        "hipLaunchKernel",
                                        "hipExtModuleLaunchKernel",
                                        "hipMemsetAsync",
                                        "hipMemcpyAsync",
                                        "hipMemcpyWithStream",
                                        NULL};
    return work->launch != HD_NONE && is_named(m, (uint32_t)m->s->launches->launches[work->launch].row, names);
}

/* Over the whole trace: how many are launched on each stream and have not begun. */
static bool find_empty(hta_maker *m)
{
    const gpu_scope *s = m->s;
    change *list = hd_large_new(2 * s->counted + 1, sizeof *list, s->large);
    change *spare = hd_large_new(2 * s->counted + 1, sizeof *spare, s->large);
    for (uint32_t r = 0; list && spare && r < s->row_count; r++) {
        size_t count = 0;
        int64_t length = 0;
        for (uint32_t i = 0; i < s->rows[r].count; i++) {
            uint32_t w = s->by_row[s->rows[r].first + i];
            const hd_work *work = &s->launches->works[w];
            if (!is_launch(m, work)) continue;
            list[count++] = (change){gpu_time(s->launches->launches[work->launch].start_ns), w, true};
            list[count++] = (change){s->works[w].start, w, false};
        }
        HD_SORT_RUNS(list, spare, count, x, y, x->time != y->time ? x->time < y->time : x->is_launch > y->is_launch);
        for (size_t i = 0; i < count; i++) {
            length += list[i].is_launch ? 1 : -1;
            m->was_empty[list[i].work] += length == (list[i].is_launch ? 1 : 0);
        }
    }
    bool fine = list && spare;
    hd_large_free(list);
    hd_large_free(spare);
    return fine;
}

/* Launches of HTA's list, twice: row by row, and there in the order of time, or thread by thread. */
static bool sort_launches(hta_maker *m)
{
    const gpu_scope *s = m->s;
    hta_launch *spare = hd_large_new(s->counted + 1, sizeof *spare, s->large);
    m->by_time = hd_large_new(s->counted + 1, sizeof *m->by_time, s->large);
    m->by_thread = hd_large_new(s->counted + 1, sizeof *m->by_thread, s->large);
    bool fine = spare && m->by_time && m->by_thread;
    for (size_t i = 0; fine && i < s->counted; i++) {
        const hd_work *work = &s->launches->works[s->by_row[i]];
        if (!is_launch(m, work)) continue;
        const hd_launch *launch = &s->launches->launches[work->launch];
        m->by_time[m->launch_count++] = (hta_launch){gpu_time(launch->start_ns), s->works[s->by_row[i]].row,
                                                     gpu_lane_of(s->trace, launch->track), s->by_row[i]};
    }
    if (fine) {
        size_t count = m->launch_count;
        HD_SORT_RUNS(m->by_time, spare, count, x, y, x->row != y->row ? x->row < y->row : x->start < y->start);
        memcpy(m->by_thread, m->by_time, count * sizeof *m->by_thread);
        HD_SORT_RUNS(m->by_thread, spare, count, x, y,
                     x->row != y->row     ? x->row < y->row
                     : x->lane != y->lane ? x->lane < y->lane
                                          : x->start < y->start);
    }
    hd_large_free(spare);
    return fine;
}

/* The work of a stream that was launched last up to a time. */
static uint32_t launched_before(const hta_maker *m, int64_t stream, int64_t time)
{
    uint32_t found = HD_NONE;
    int64_t best = INT64_MIN;
    for (uint32_t r = 0; r < m->s->row_count; r++) {
        if (m->s->rows[r].stream != stream) continue;
        size_t low = 0, high = m->launch_count;
        HD_PARTITION_POINT(low, high, at,
                           m->by_time[at].row != r ? m->by_time[at].row < r : m->by_time[at].start <= time);
        if (!low || m->by_time[low - 1].row != r || m->by_time[low - 1].start < best) continue;
        best = m->by_time[low - 1].start;
        found = m->by_time[low - 1].work;
    }
    return found;
}

/* That which a thread launched first from a time on. */
static uint32_t launched_after(const hta_maker *m, int64_t stream, int64_t time, uint32_t lane)
{
    for (uint32_t r = 0; r < m->s->row_count; r++) {
        if (m->s->rows[r].stream != stream) continue;
        size_t low = 0, high = m->launch_count;
        HD_PARTITION_POINT(low, high, at,
                           m->by_thread[at].row != r       ? m->by_thread[at].row < r
                           : m->by_thread[at].lane != lane ? m->by_thread[at].lane < lane
                                                           : m->by_thread[at].start < time);
        if (low < m->launch_count && m->by_thread[low].row == r && m->by_thread[low].lane == lane)
            return m->by_thread[low].work;
    }
    return HD_NONE;
}

/* ---- waits ---- */

static uint32_t recorded_work(hta_maker *m, uint32_t row)
{
    int64_t stream, id;
    if (!number(&stream, m, &m->wait_stream, row) || stream < 0 || !number(&id, m, &m->record, row) || id <= 0)
        return HD_NONE;
    uint32_t record = call_with(m, id);
    return record == HD_NONE ? HD_NONE : launched_before(m, stream, m->events[record].start);
}

static bool add_wait(hta_maker *m, uint32_t row)
{
    const gpu_scope *s = m->s;
    int64_t stream = -1;
    uint32_t name = hd_event_at(s->trace, HD_KIND_SLICE, row).name;
    uint32_t call = call_with(m, correlation_of(m, row));
    number(&stream, m, &m->stream, row);
    if (call == HD_NONE) return true;
    const hta_event *event = &m->events[call];
    if (name == m->wait_name || name == m->event_name) {
        uint32_t source = recorded_work(m, row);
        if (source == HD_NONE) return true;
        if (name == m->event_name)
            return m->event_of[source] == HD_NONE ||
                   add_edge(m, 2 * m->event_of[source] + 1, 2 * call + 1, 0, HTA_SYNC);
        uint32_t target = launched_after(m, stream, event->start, event->lane);
        if (target != HD_NONE) m->waits_for[target] = source;
        return true;
    }
    for (uint32_t r = 0; r < s->row_count; r++) {
        bool is_it = name == m->context_name || (name == m->stream_name && s->rows[r].stream == stream);
        if (is_it && m->last[r] != HD_NONE && !add_edge(m, m->last[r], 2 * call + 1, 0, HTA_SYNC)) return false;
    }
    return true;
}

static bool add_work(hta_maker *m, uint32_t w)
{
    const gpu_work *work = &m->s->works[w];
    uint32_t event = m->event_of[w], begin = 2 * event, row = work->row, last = m->last[row];
    int64_t launched = gpu_time(m->s->launches->launches[work->launch].start_ns);
    uint32_t source = m->waits_for[w] == HD_NONE ? HD_NONE : m->event_of[m->waits_for[w]];
    int64_t ready = source == HD_NONE ? INT64_MIN : m->events[source].end;
    bool fine = add_timed(m, begin, begin + 1, HTA_OPERATOR);
    if (source != HD_NONE) fine = fine && add_edge(m, 2 * source + 1, begin, 0, HTA_SYNC);
    if (m->was_empty[w] == 2 && (last == HD_NONE || time_of(m, last) < launched) && ready < launched)
        fine = fine && add_timed(m, 2 * m->call_of[work->launch], begin, HTA_LAUNCH);
    else if (last != HD_NONE && ready < time_of(m, last))
        fine = fine && add_timed(m, last, begin, HTA_KERNEL);
    m->last[row] = begin + 1;
    return fine;
}

/* ---- the graph ---- */

static bool add_item(hta_maker *m, hta_item item)
{
    if (!hd_large_grow((void **)&m->items, &m->item_capacity, m->item_count, sizeof *m->items, m->s->large))
        return false;
    m->items[m->item_count++] = item;
    return true;
}

/* The call of each launch in the window, by its row. */
static bool find_calls(hta_maker *m)
{
    const gpu_scope *s = m->s;
    uint64_t rows = hd_trace_row_count(s->trace, HD_KIND_SLICE);
    uint32_t *by_row = hd_large_new(rows + 1, sizeof *by_row, s->large);
    for (uint64_t i = 0; by_row && i < rows; i++) by_row[i] = HD_NONE;
    for (uint32_t e = 0; by_row && e < m->event_count; e++) by_row[m->events[e].row] = e;
    for (size_t i = 0; by_row && i < s->launches->launch_count; i++)
        m->call_of[i] = by_row[s->launches->launches[i].row];
    hd_large_free(by_row);
    return by_row != NULL;
}

static bool list_works(hta_maker *m)
{
    const gpu_scope *s = m->s;
    for (uint32_t w = 0; w < s->launches->work_count; w++) {
        const gpu_work *work = &s->works[w];
        if (work->device == HD_NONE || work->launch == HD_NONE || m->call_of[work->launch] == HD_NONE) continue;
        uint32_t row = (uint32_t)s->launches->works[w].row;
        m->event_of[w] = add_event(m, (hta_event){work->start, work->end, row, HD_NONE});
        if (m->event_of[w] == HD_NONE || !add_item(m, (hta_item){work->start, row, w, m->event_of[w]})) return false;
    }
    return true;
}

/* Waits in the window; and all those of queues. */
static bool list_waits(hta_maker *m, const gpu_slices *waits)
{
    for (size_t i = 0; i < waits->count; i++) {
        const gpu_slice *w = &waits->list[i];
        int64_t stream = -1;
        bool has_stream = number(&stream, m, &m->stream, w->row) && stream != -1;
        bool is_in = w->start >= m->from && w->start <= m->until && w->end > w->start;
        if ((has_stream || is_in) && !add_item(m, (hta_item){w->end, w->row, HD_NONE, HD_NONE})) return false;
    }
    return true;
}

static bool add_queues(hta_maker *m)
{
    hta_item *spare = hd_large_new(m->item_count + 1, sizeof *spare, m->s->large);
    if (!spare) return false;
    HD_SORT_RUNS(m->items, spare, m->item_count, x, y, x->time != y->time ? x->time < y->time : x->row < y->row);
    hd_large_free(spare);
    for (size_t i = 0; i < m->item_count; i++) {
        const hta_item *item = &m->items[i];
        if (!(item->work == HD_NONE ? add_wait(m, item->row) : add_work(m, item->work))) return false;
    }
    return true;
}

/* ---- the longest path ---- */

typedef struct walk {
    uint32_t *first_out, *outs, *first_in, *ins; /* edges by node, in the order in which they were made */
    uint32_t *order, *missing, *came_by;         /* came_by: edge, HD_NONE */
    int64_t *length;
} walk;

static bool link_edges(walk *w, const hta_maker *m, size_t nodes)
{
    uint32_t *next = calloc(2 * nodes + 2, sizeof *next);
    if (!next) return false;
    for (size_t e = 0; e < m->edge_count; e++) {
        w->first_out[m->edges[e].from + 1]++;
        w->first_in[m->edges[e].to + 1]++;
    }
    for (size_t n = 0; n < nodes; n++) {
        w->first_out[n + 1] += w->first_out[n];
        w->first_in[n + 1] += w->first_in[n];
        next[n] = w->first_out[n];
        next[nodes + n] = w->first_in[n];
        w->missing[n] = w->first_in[n + 1] - w->first_in[n];
    }
    for (uint32_t e = 0; e < m->edge_count; e++) {
        w->outs[next[m->edges[e].from]++] = e;
        w->ins[next[nodes + m->edges[e].to]++] = e;
    }
    free(next);
    return true;
}

/* Nodes in the order of Kahn's algorithm, first those without incoming edges, in edge order. */
static size_t order_nodes(walk *w, const hta_maker *m, uint8_t *seen)
{
    size_t count = 0;
    for (size_t e = 0; e < m->edge_count; e++) {
        const uint64_t ends[] = {m->edges[e].from, m->edges[e].to};
        for (int k = 0; k < 2; k++) {
            if (!seen[ends[k]]++ && w->missing[ends[k]] == 0) w->order[count++] = (uint32_t)ends[k];
            seen[ends[k]] = 1;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = w->first_out[w->order[i]]; k < w->first_out[w->order[i] + 1]; k++) {
            uint32_t to = (uint32_t)m->edges[w->outs[k]].to;
            if (--w->missing[to] == 0) w->order[count++] = to;
        }
    }
    return count;
}

static uint32_t find_end(walk *w, const hta_maker *m, size_t count)
{
    uint32_t end = HD_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t node = w->order[i];
        w->came_by[node] = HD_NONE;
        w->length[node] = 0;
        for (uint32_t k = w->first_in[node]; k < w->first_in[node + 1]; k++) {
            const hta_edge *e = &m->edges[w->ins[k]];
            int64_t length = gpu_sum(w->length[e->from], e->weight > 0 ? e->weight : 0);
            if (w->came_by[node] != HD_NONE && length <= w->length[node]) continue;
            w->length[node] = length;
            w->came_by[node] = w->ins[k];
        }
        if (end == HD_NONE || w->length[node] > w->length[end]) end = node;
    }
    return end;
}

static void sum_up(hta_path *out, const walk *w, hta_maker *m, uint32_t end, uint8_t *seen)
{
    for (size_t e = 0; e < m->edge_count; e++) {
        out->kinds[m->edges[e].kind].edges++;
        out->kinds[m->edges[e].kind].weight = gpu_sum(out->kinds[m->edges[e].kind].weight, m->edges[e].weight);
    }
    for (uint32_t node = end; node != HD_NONE;) {
        out->path_nodes++;
        out->path_events += seen[node / 2 * 2] != 2;
        seen[node / 2 * 2] = 2;
        if (w->came_by[node] == HD_NONE) return;
        hta_edge *e = &m->edges[w->came_by[node]];
        e->is_on_path = true;
        out->kinds[e->kind].path_edges++;
        out->kinds[e->kind].path_weight = gpu_sum(out->kinds[e->kind].path_weight, e->weight);
        node = (uint32_t)e->from;
    }
}

static bool find_longest(hta_path *out, hta_maker *m)
{
    size_t nodes = 2 * m->event_count, edges = m->edge_count + 1;
    walk w = {calloc(nodes + 2, 4),    malloc(edges * 4),       calloc(nodes + 2, 4),    malloc(edges * 4),
              malloc((nodes + 1) * 4), malloc((nodes + 1) * 4), malloc((nodes + 1) * 4), malloc((nodes + 1) * 8)};
    uint8_t *seen = calloc(nodes + 1, 1);
    bool fine = w.first_out && w.outs && w.first_in && w.ins && w.order && w.missing && w.came_by && w.length && seen &&
                link_edges(&w, m, nodes);
    if (fine) {
        size_t count = order_nodes(&w, m, seen);
        for (size_t n = 0; n < nodes; n++) out->nodes += seen[n] != 0;
        sum_up(out, &w, m, find_end(&w, m, count), seen);
    }
    void *const lists[] = {w.first_out, w.outs, w.first_in, w.ins, w.order, w.missing, w.came_by, w.length, seen};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]);
    return fine;
}

/* ---- the whole ---- */

static uint32_t string_of(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

static bool make_lists(hta_maker *m)
{
    const gpu_scope *s = m->s;
    size_t works = s->launches->work_count + 1, launches = s->launches->launch_count + 1;
    m->event_of = hd_large_new(works, sizeof *m->event_of, s->large);
    m->waits_for = hd_large_new(works, sizeof *m->waits_for, s->large);
    m->was_empty = hd_large_zeroed(works, sizeof *m->was_empty, s->large);
    m->call_of = hd_large_new(launches, sizeof *m->call_of, s->large);
    m->last = malloc(((size_t)s->row_count + 1) * sizeof *m->last);
    m->wait_name = string_of(s->trace, "Stream Wait Event");
    m->event_name = string_of(s->trace, "Event Sync");
    m->stream_name = string_of(s->trace, "Stream Sync");
    m->context_name = string_of(s->trace, "Context Sync");
    if (!m->event_of || !m->waits_for || !m->was_empty || !m->call_of || !m->last) return false;
    for (size_t i = 0; i < works; i++) m->event_of[i] = m->waits_for[i] = HD_NONE;
    for (uint32_t r = 0; r < s->row_count; r++) m->last[r] = HD_NONE;
    return gpu_arg_init(&m->stream, s->trace, "stream") && gpu_arg_init(&m->wait_stream, s->trace, "wait_on_stream") &&
           gpu_arg_init(&m->record, s->trace, "wait_on_cuda_event_record_corr_id");
}

/* Nodes of edges become the rows of their events. */
static void give_edges(hta_path *out, hta_maker *m)
{
    for (size_t e = 0; e < m->edge_count; e++) {
        hta_edge *edge = &m->edges[e];
        edge->from = 2 * (uint64_t)m->events[edge->from / 2].row + edge->from % 2;
        edge->to = 2 * (uint64_t)m->events[edge->to / 2].row + edge->to % 2;
    }
    out->edges = m->edges;
    out->edge_count = m->edge_count;
    m->edges = NULL;
}

void hta_path_deinit(hta_path *path)
{
    hd_large_free(path->edges);
}

static void free_maker(hta_maker *m)
{
    void *const lists[] = {m->event_of, m->waits_for, m->was_empty, m->call_of, m->events,
                           m->edges,    m->items,     m->ids,       m->by_time, m->by_thread};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) hd_large_free(lists[i]);
    free(m->last);
    gpu_arg_deinit(&m->stream);
    gpu_arg_deinit(&m->wait_stream);
    gpu_arg_deinit(&m->record);
}

hd_status hta_path_find(hta_path *out, const gpu_scope *s, int64_t from, int64_t until, hd_error *err)
{
    hta_maker m = {.s = s, .from = from, .until = until};
    gpu_slices calls = {0}, waits = {0};
    *out = (hta_path){0};
    hd_status status = gpu_slices_init(&calls, s, 1u << HD_ROLE_OP | 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER, err);
    if (status == HD_OK) status = gpu_slices_init(&waits, s, 1u << HD_ROLE_SYNC, err);
    if (status == HD_OK) {
        bool fine = make_lists(&m) && add_threads(&m, &calls) &&
                    hd_large_sort(m.ids, m.id_count, sizeof *m.ids, by_id, s->large) && find_calls(&m) &&
                    sort_launches(&m) && find_empty(&m) && list_works(&m) && list_waits(&m, &waits) && add_queues(&m) &&
                    find_longest(out, &m);
        if (fine)
            give_edges(out, &m);
        else
            status = HD_NOMEM(err);
    }
    free_maker(&m);
    gpu_slices_deinit(&calls);
    gpu_slices_deinit(&waits);
    return status;
}
