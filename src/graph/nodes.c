/* nodes.c - the nodes of a graph: threads cut at the begins and ends of slices, and the activities of queues */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "graph/maker.h"
#include "model/roles/trace_roles.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/ranks.h"

typedef struct host_slice {
    int64_t start, end;
    uint32_t row, name;
} host_slice;

/* What a thread runs. Observers - Python frames alone, calls that query events, system calls - neither start activities
 * nor wait for them. */
typedef enum program { PROGRAM_NONE, PROGRAM_PYTHON, PROGRAM_CALLS, PROGRAM_WORK } program;

static program program_of(const graph_maker *m, hd_role role, uint32_t name)
{
    if (role == HD_ROLE_OP) return PROGRAM_WORK;
    if (role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER)
        return m->calls_of[name] == HD_SYNC_NONE ? PROGRAM_CALLS : PROGRAM_WORK;
    return role == HD_ROLE_PYTHON ? PROGRAM_PYTHON : PROGRAM_NONE;
}

enum { CHUNK_ROWS = 512 };

typedef struct gatherer {
    graph_maker *m;
    hd_roles roles;
    uint32_t *counts; /* by track: host slices of the lane; then the index of the next one */
    uint8_t *runs;    /* by track: program */
    uint8_t most;     /* of them */
    host_slice *slices;
    uint64_t taken;
    int64_t category[CHUNK_ROWS], track[CHUNK_ROWS], start[CHUNK_ROWS], duration[CHUNK_ROWS]; /* of rows of a block */
} gatherer;

/* ---- slices of threads ---- */

/* The lane's track; HD_NONE: not a slice of a thread, or without a time. at: of the chunk. */
static uint32_t host_lane(gatherer *g, hd_role *role, const hd_block *block, uint32_t row, uint32_t at)
{
    uint32_t track = (uint32_t)g->track[at];
    *role = hd_roles_in(&g->roles, block, row, (uint32_t)g->category[at]);
    if (hd_role_is_work(*role) || *role == HD_ROLE_SYNC || *role == HD_ROLE_GPU_ANNOTATION) return HD_NONE;
    bool is_open =
        g->duration[at] == HD_NO_TIME && (hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK) == 'B';
    if (track >= hd_trace_track_count(g->m->trace) || g->start[at] == HD_NO_TIME || is_open ||
        !hd_row_is_host(hd_roles_row(&g->roles, track)))
        return HD_NONE;
    return graph_lane_of_track(g->m->trace, track);
}

static void note_program(gatherer *g, uint32_t lane, program runs)
{
    if (runs > g->runs[lane]) g->runs[lane] = (uint8_t)runs;
    if (runs > g->most) g->most = (uint8_t)runs;
}

static bool count_slice(gatherer *g, const hd_block *block, uint32_t row, uint32_t at)
{
    hd_role role;
    uint32_t lane = host_lane(g, &role, block, row, at);
    if (role == HD_ROLE_SYNC) {
        graph_maker *m = g->m;
        if (!hd_large_grow((void **)&m->told, &m->told_capacity, m->told_count, sizeof *m->told, m->large))
            return false;
        m->told[m->told_count++] = (uint32_t)(block->first_row + row);
    }
    if (lane == HD_NONE) return true;
    note_program(g, lane, program_of(g->m, role, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row)));
    g->counts[lane]++;
    return true;
}

static void put_slice(gatherer *g, const hd_block *block, uint32_t row, uint32_t at)
{
    hd_role role;
    uint32_t lane = host_lane(g, &role, block, row, at);
    if (lane == HD_NONE || g->m->thread_of[lane] == HD_NONE) return;
    int64_t end = hd_end_or_last(g->start[at], g->duration[at]);
    g->slices[g->counts[lane]++] =
        (host_slice){graph_time(g->start[at]), graph_time(end), (uint32_t)(block->first_row + row),
                     (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], row)};
}

static bool walk_chunk(gatherer *g, const hd_block *block, uint32_t first, uint32_t count)
{
    hd_column_decode(g->category, &block->columns[HD_COL_CATEGORY], first, count);
    hd_column_decode(g->track, &block->columns[HD_COL_TRACK], first, count);
    hd_column_decode(g->start, &block->columns[HD_COL_START], first, count);
    hd_column_decode(g->duration, &block->columns[HD_COL_DURATION], first, count);
    for (uint32_t i = 0; i < count; i++) {
        if (g->slices)
            put_slice(g, block, first + i, i);
        else if (!count_slice(g, block, first + i, i))
            return false;
    }
    return true;
}

static bool walk_slices(gatherer *g)
{
    bool fine = true;
    hd_block_room room = {0};
    for (size_t b = 0; fine && b < hd_trace_block_count(g->m->trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_walk_columns(&room, g->m->trace, HD_KIND_SLICE, b);
        for (uint32_t first = 0; fine && first < block->row_count; first += CHUNK_ROWS) {
            uint32_t left = block->row_count - first;
            fine = walk_chunk(g, block, first, left < CHUNK_ROWS ? left : CHUNK_ROWS);
        }
    }
    hd_walk_end(&room, g->m->trace);
    return fine;
}

static inline bool stands_before(const host_slice *x, const host_slice *y)
{
    if (x->start != y->start) return x->start < y->start;
    return x->end != y->end ? x->end > y->end : x->row < y->row;
}

static bool sort_slices(host_slice *list, size_t count, uint64_t large)
{
    size_t end;
    HD_RUN_END(end, list, 0, count, x, y, stands_before(x, y));
    if (end >= count) return true;
    host_slice *spare = hd_large_new(count, sizeof *spare, large);
    if (spare) HD_SORT_RUNS(list, spare, count, x, y, stands_before(x, y));
    hd_large_free(spare);
    return spare != NULL;
}

/* ---- nodes of threads ---- */

bool graph_make_lists(graph_maker *m, size_t host_nodes)
{
    hd_graph *g = m->g;
    size_t nodes = host_nodes + m->launches->work_count + 1;
    return hd_large_resize((void **)&g->starts, g->node_count, nodes, sizeof *g->starts, m->large) &&
           hd_large_resize((void **)&g->ends, g->node_count, nodes, sizeof *g->ends, m->large) &&
           hd_large_resize((void **)&g->slices, g->node_count, nodes, sizeof *g->slices, m->large) &&
           hd_large_resize((void **)&g->kinds, g->node_count, nodes, sizeof *g->kinds, m->large);
}

void graph_add_node(hd_graph *g, hd_node_kind kind, uint32_t slice, int64_t start, int64_t end)
{
    uint32_t n = g->node_count++;
    g->starts[n] = start;
    g->ends[n] = end;
    g->slices[n] = slice;
    g->kinds[n] = (uint8_t)kind;
}

/* A part of a thread's time. Of it, what lies between windows of the rank was not recorded. */
static void add_recorded(const graph_maker *m, hd_node_kind kind, uint32_t slice, int64_t start, int64_t end,
                         uint32_t lane)
{
    gpu_capture_window *list;
    size_t count = gpu_capture_windows_of(&list, &m->windows, m->ranks[m->g->lanes[lane].track]), i = 0, high = count;
    int64_t time = start;
    HD_PARTITION_POINT(i, high, at, list[at].close <= start);
    for (; i < count && list[i].open < end; i++) {
        int64_t until = list[i].close < end ? list[i].close : end;
        if (list[i].open > time) graph_add_node(m->g, HD_NODE_UNRECORDED, slice, time, list[i].open);
        graph_add_node(m->g, kind, slice, list[i].open > time ? list[i].open : time, until);
        time = until;
    }
    if (time < end || start == end) graph_add_node(m->g, count ? HD_NODE_UNRECORDED : kind, slice, time, end);
}

/* loads_until: where the range of a data loader ends that is open, or was. */
static void add_stretch(const graph_maker *m, const host_slice *s, int64_t start, int64_t end, int64_t loads_until,
                        uint32_t lane)
{
    unsigned what = m->calls_of[s->name];
    bool waits = what != HD_SYNC_NONE && what < HD_SYNC_KINDS;
    if (waits || start == end)
        graph_add_node(m->g, waits ? HD_NODE_SYNC : HD_NODE_HOST, s->row, start, end);
    else
        add_recorded(m, s->end <= loads_until ? HD_NODE_LOADING : HD_NODE_HOST, s->row, start, end, lane);
}

/* Keeps calls that wait or use events; of nested waiting calls only the outermost. */
static bool keep_call(graph_maker *m, const host_slice *s, uint32_t lane, int64_t *reach)
{
    unsigned what = m->calls_of[s->name];
    if (what == HD_SYNC_NONE || what == HD_SYNC_COPY || what == CALL_LOADING || s->start < *reach) return true;
    if (what < HD_SYNC_KINDS) *reach = s->end;
    if (!hd_large_grow((void **)&m->calls, &m->call_capacity, m->call_count, sizeof *m->calls, m->large)) return false;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, m->trace, HD_KIND_SLICE, s->row);
    m->calls[m->call_count++] = (graph_call){.rank = m->ranks[m->g->lanes[lane].track],
                                             .id = hd_correlation_at(block, at),
                                             .start = s->start,
                                             .end = s->end,
                                             .lane = lane,
                                             .process = m->launches->processes[m->g->lanes[lane].track],
                                             .what = (uint8_t)what,
                                             .told_by = HD_NONE};
    return true;
}

/* Closes slices that ended before this time: their remaining parts are nodes. */
static size_t close_slices(const graph_maker *m, const host_slice *list, const uint32_t *open, size_t count,
                           int64_t *time, int64_t until, int64_t loads_until, uint32_t lane)
{
    while (count && list[open[count - 1]].end <= until) {
        const host_slice *s = &list[open[--count]];
        if (s->end > *time) add_stretch(m, s, *time, s->end, loads_until, lane);
        if (s->end > *time) *time = s->end;
    }
    return count;
}

static bool cut_thread(graph_maker *m, const host_slice *list, size_t size, uint32_t lane)
{
    uint32_t *open = hd_large_new(size + 1, sizeof *open, m->large);
    size_t count = 0;
    int64_t time = size ? list[0].start : 0, reach = INT64_MIN, loads_until = INT64_MIN;
    bool fine = open != NULL;
    for (uint32_t i = 0; fine && i < size; i++) {
        const host_slice *s = &list[i];
        count = close_slices(m, list, open, count, &time, s->start, loads_until, lane);
        if (s->start > time && count) add_stretch(m, &list[open[count - 1]], time, s->start, loads_until, lane);
        if (s->start > time && !count) add_recorded(m, HD_NODE_GAP, HD_NONE, time, s->start, lane);
        time = s->start;
        if (m->calls_of[s->name] == CALL_LOADING && s->end > loads_until) loads_until = s->end;
        if (s->end == s->start)
            add_stretch(m, s, time, time, loads_until, lane);
        else
            open[count++] = i;
        fine = keep_call(m, s, lane, &reach);
    }
    if (fine) close_slices(m, list, open, count, &time, INT64_MAX, loads_until, lane);
    hd_large_free(open);
    return fine;
}

/* ---- queues ---- */

typedef struct timed {
    int64_t start, end, launched; /* launched: INT64_MIN if the launch is unknown */
    uint32_t lane, work;
} timed;

static void add_works(graph_maker *m, const timed *list, size_t count)
{
    hd_graph *g = m->g;
    int64_t launched = INT64_MIN;
    m->first_work = g->node_count;
    for (size_t i = 0; i < count; i++) {
        const hd_work *work = &m->launches->works[list[i].work];
        if (i == 0 || list[i].lane != list[i - 1].lane) {
            m->queue_of[list[i].lane] = g->lane_count;
            g->lanes[g->lane_count++] =
                (hd_graph_lane){.track = list[i].lane, .first_node = g->node_count, .is_queue = true};
            launched = INT64_MIN;
        }
        g->lanes[g->lane_count - 1].node_count++;
        if (list[i].launched > launched) launched = list[i].launched;
        m->launched[g->node_count - m->first_work] = launched;
        m->nodes_of[list[i].work] = g->node_count;
        graph_add_node(g, HD_NODE_WORK, (uint32_t)work->row, list[i].start, list[i].end);
    }
}

static timed timed_work(const graph_maker *m, uint32_t i)
{
    const hd_work *work = &m->launches->works[i];
    bool is_launched = work->launch != HD_NONE;
    return (timed){
        .start = graph_time(work->start_ns),
        .end = graph_time(hd_end_or_last(work->start_ns, work->duration_ns)),
        .launched = is_launched ? graph_time(m->launches->launches[work->launch].start_ns) : INT64_MIN,
        .lane = graph_lane_of_track(m->trace, work->track),
        .work = i,
    };
}

/* Activities that start together are in the order of their launches, else of their ends: that of the file differs by
 * format. */
static inline bool runs_before(const timed *x, const timed *y)
{
    if (x->lane != y->lane) return x->lane < y->lane;
    if (x->start != y->start) return x->start < y->start;
    if (x->launched != y->launched) return x->launched < y->launched;
    return x->end != y->end ? x->end < y->end : x->work < y->work;
}

/* A counting sort by lane, and then by time, in which a lane mostly is already. */
static bool make_queues(graph_maker *m)
{
    uint32_t tracks = hd_trace_track_count(m->trace);
    size_t count = 0, all = m->launches->work_count;
    timed *list = hd_large_new(all + 1, sizeof *list, m->large),
          *spare = hd_large_new(all + 1, sizeof *spare, m->large);
    size_t *next = calloc((size_t)tracks + 1, sizeof *next); /* by lane */
    m->launched = hd_large_new(all + 1, sizeof *m->launched, m->large);
    m->nodes_of = hd_large_new(all + 1, sizeof *m->nodes_of, m->large);
    bool fine = list && spare && next && m->launched && m->nodes_of;
    for (size_t i = 0; fine && i < all; i++) {
        uint32_t track = m->launches->works[i].track;
        m->nodes_of[i] = HD_NONE;
        if (track < tracks) next[graph_lane_of_track(m->trace, track)]++;
    }
    for (uint32_t t = 0; fine && t < tracks; t++) {
        count += next[t];
        next[t] = count - next[t];
    }
    for (uint32_t i = 0; fine && i < all; i++) {
        if (m->launches->works[i].track >= tracks) continue;
        const timed work = timed_work(m, i);
        list[next[work.lane]++] = work;
    }
    if (fine) {
        HD_SORT_RUNS(list, spare, count, x, y, runs_before(x, y));
        add_works(m, list, count);
        m->g->slices_left_out -= count;
    }
    hd_large_free(list);
    hd_large_free(spare);
    free(next);
    return fine;
}

/* ---- the whole ---- */

enum { LOADER_NAME_LONGEST = 200 }; /* strings of arguments can be long, and are not names */

static void name_calls(graph_maker *m)
{
    for (uint32_t i = 0; i < hd_trace_string_count(m->trace); i++) {
        hd_string name = hd_trace_string(m->trace, i);
        m->calls_of[i] = (uint8_t)hd_sync_kind_of(name);
        if (name.data && name.size <= LOADER_NAME_LONGEST && memmem(name.data, name.size, "DataLoader", 10))
            m->calls_of[i] = CALL_LOADING;
        if (!name.data || name.size > 40 || name.size < 9) continue;
        if (memmem(name.data, name.size, "EventRecord", 11)) m->calls_of[i] = CALL_RECORD;
        if (memmem(name.data, name.size, "WaitEvent", 9)) m->calls_of[i] = CALL_WAIT;
    }
}

/* Threads that count, and where the slices of each begin. */
static bool make_room(gatherer *g)
{
    graph_maker *m = g->m;
    hd_graph *graph = m->g;
    for (uint32_t t = 0; t < hd_trace_track_count(m->trace); t++) {
        uint32_t count = g->counts[t];
        if (!count || g->runs[t] < g->most) continue;
        g->counts[t] = (uint32_t)g->taken;
        g->taken += count;
        m->thread_of[t] = graph->lane_count;
        graph->lanes[graph->lane_count++] = (hd_graph_lane){.track = t, .node_count = count};
    }
    g->slices = hd_large_new(g->taken + 1, sizeof *g->slices, m->large);
    return g->slices && graph_make_lists(m, 2 * g->taken + 2 * m->windows.count * graph->lane_count);
}

static bool make_threads(gatherer *g)
{
    hd_graph *graph = g->m->g;
    host_slice *list = g->slices;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        hd_graph_lane *lane = &graph->lanes[l];
        uint32_t count = lane->node_count;
        lane->first_node = graph->node_count;
        if (!sort_slices(list, count, g->m->large) || !cut_thread(g->m, list, count, l)) return false;
        lane->node_count = graph->node_count - lane->first_node;
        list += count;
    }
    graph->slices_left_out = hd_trace_row_count(g->m->trace, HD_KIND_SLICE) - g->taken;
    return true;
}

hd_status graph_make_nodes(graph_maker *m, hd_error *err)
{
    size_t tracks = hd_trace_track_count(m->trace);
    gatherer g = {.m = m, .counts = calloc(tracks + 1, sizeof *g.counts), .runs = calloc(tracks + 1, 1)};
    m->thread_of = malloc((tracks + 1) * sizeof *m->thread_of);
    m->queue_of = malloc((tracks + 1) * sizeof *m->queue_of);
    m->ranks = malloc((tracks + 1) * sizeof *m->ranks);
    m->calls_of = calloc((size_t)hd_trace_string_count(m->trace) + 1, 1);
    m->g->lanes = calloc(2 * tracks + 1, sizeof *m->g->lanes);
    bool fine = hd_roles_init(&g.roles, m->trace) && g.counts && g.runs && m->thread_of && m->queue_of && m->ranks &&
                m->calls_of && m->g->lanes;
    for (uint32_t t = 0; fine && t < tracks; t++) {
        m->thread_of[t] = m->queue_of[t] = HD_NONE;
        m->ranks[t] = hd_trace_rank_of(m->trace, t);
    }
    fine = fine && gpu_capture_windows_find(&m->windows, m->trace, m->ranks);
    if (fine) name_calls(m);
    for (size_t i = 0; fine && i < m->launches->launch_count; i++) {
        uint32_t track = m->launches->launches[i].track;
        if (track < tracks) note_program(&g, graph_lane_of_track(m->trace, track), PROGRAM_WORK);
    }
    fine = fine && walk_slices(&g) && make_room(&g) && walk_slices(&g);
    hd_status status = fine ? hd_trace_input_status(m->trace, err) : HD_NOMEM(err); /* of lost ones some are missing */
    if (status == HD_OK && !make_threads(&g)) status = HD_NOMEM(err);
    hd_large_free(g.slices);
    if (status == HD_OK) status = graph_cut_threads(m, err);
    if (status == HD_OK && !(graph_make_lists(m, m->g->node_count) && make_queues(m))) status = HD_NOMEM(err);
    hd_roles_deinit(&g.roles);
    free(g.counts);
    free(g.runs);
    return status;
}
