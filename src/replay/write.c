/* write.c - writes the replayed trace: the same events at their replayed times
 *
 * Activities are at their replayed times. Other events keep their position relative to what their thread or queue did
 * around them; events on other tracks, relative to the busiest thread. Slices that a change removes are removed, with
 * the points of flows bound to them. Kernels have the priorities that --schedule sets.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "pass/copy/copy.h"
#include "pass/copy/points.h"
#include "replay/priorities.h"
#include "replay/rows.h"
#include "trace/event.h"

enum { NO_PRIORITY = INT16_MIN };

typedef struct mover {
    const replay *r;
    const replay_times *times;
    const hd_graph_lane **lanes;     /* by track */
    int64_t *starts, *ends;          /* by row of the slice table; start HD_NO_TIME: unchanged */
    uint8_t *stays, *flow_stays;     /* by row */
    uint32_t *bound;                 /* by flow point: its slice; UINT32_MAX */
    int64_t *was_starts, *was_spans; /* of slices, in the trace */
    uint64_t lost_points;
    replay_rows rows;
    hd_copy *copy;
    int16_t *priorities;            /* by row: priority that --schedule sets for a kernel; NO_PRIORITY. NULL: none set
                                       */
    hd_arg_key keys[HD_COPY_ADDED]; /* of the first, `priority` */
} mover;

/* ---- times ---- */

static bool choose_lanes(mover *m)
{
    const hd_graph *g = m->r->graph;
    uint32_t tracks = hd_trace_track_count(m->r->trace);
    const hd_graph_lane *busiest = NULL;
    m->lanes = calloc((size_t)tracks + 1, sizeof(const hd_graph_lane *));
    for (uint32_t l = 0; l < g->lane_count; l++) {
        const hd_graph_lane *lane = &g->lanes[l];
        if (!busiest || (lane->is_queue <= busiest->is_queue && lane->node_count > busiest->node_count)) busiest = lane;
    }
    for (uint32_t t = 0; m->lanes && t < tracks; t++) m->lanes[t] = busiest;
    for (uint32_t l = g->lane_count; m->lanes && l-- > 0;) m->lanes[g->lanes[l].track] = &g->lanes[l];
    for (uint32_t t = 0; m->lanes && t < tracks; t++) m->lanes[t] = m->lanes[gpu_lane_of(m->r->trace, t)];
    return m->lanes != NULL;
}

static int64_t new_time(const mover *m, uint32_t track, int64_t time)
{
    const hd_graph *g = m->r->graph;
    if (!g->lane_count) return time;
    const hd_graph_lane *lane = track < hd_trace_track_count(m->r->trace) ? m->lanes[track] : m->lanes[0];
    return lane ? replay_time_of(m->r, m->times, lane, gpu_time(time)) : time;
}

/* A slice of a thread of which nothing is left. */
static bool is_gone(const mover *m, uint32_t track, int64_t start, int64_t end)
{
    const replay *r = m->r;
    if (track >= hd_trace_track_count(r->trace) || r->lanes[gpu_lane_of(r->trace, track)] == HD_NONE) return false;
    const hd_graph_lane *lane = &r->graph->lanes[r->lanes[gpu_lane_of(r->trace, track)]];
    uint32_t first = hd_graph_node_at(r->graph, lane, start);
    uint32_t last = hd_graph_node_at(r->graph, lane, end > start ? end - 1 : end);
    return first != HD_NONE && r->plan.flags[first] & PLAN_GONE && r->plan.flags[last] & PLAN_GONE &&
           m->times->starts[first] == m->times->ends[last];
}

static void move_slice(mover *m, uint64_t row, uint32_t track, int64_t start, int64_t duration)
{
    int64_t from = gpu_time(start), span = duration == HD_NO_TIME || duration < 0 ? 0 : duration;
    int64_t end = gpu_time(gpu_sum(start, span));
    m->was_starts[row] = from;
    m->was_spans[row] = end - from;
    m->starts[row] = new_time(m, track, from);
    m->ends[row] = new_time(m, track, end);
    if (m->ends[row] < m->starts[row]) m->ends[row] = m->starts[row];
    m->stays[row] = !is_gone(m, track, from, end);
}

static void move_slices(mover *m)
{
    const hd_trace *trace = m->r->trace;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
        const hd_column *c = block->columns;
        for (uint32_t i = 0; i < block->row_count; i++) {
            int64_t start = hd_column_at(&c[HD_COL_START], i);
            m->starts[block->first_row + i] = HD_NO_TIME;
            m->stays[block->first_row + i] = 1;
            if (m->priorities) m->priorities[block->first_row + i] = NO_PRIORITY;
            if (start == HD_NO_TIME) continue;
            move_slice(m, block->first_row + i, (uint32_t)hd_column_at(&c[HD_COL_TRACK], i), start,
                       hd_column_at(&c[HD_COL_DURATION], i));
        }
    }
    for (uint32_t n = m->r->first_work; n < m->r->graph->node_count; n++) {
        uint32_t row = m->r->graph->slices[n];
        m->starts[row] = m->times->starts[n];
        m->ends[row] = m->times->ends[n];
        m->stays[row] = !(m->r->plan.flags[n] & PLAN_GONE);
        if (m->priorities && replay_work(m->r, n)->role == HD_ROLE_KERNEL)
            m->priorities[row] = m->r->shares[n - m->r->first_work].priority;
    }
}

static hd_status choose_flows(mover *m, hd_error *err)
{
    uint64_t lone, rows = hd_trace_row_count(m->r->trace, HD_KIND_FLOW);
    HD_TRY(hd_flows_bind(&m->bound, m->r->trace, err));
    for (uint64_t i = 0; i < rows; i++) m->flow_stays[i] = m->bound[i] == UINT32_MAX ? 1 : m->stays[m->bound[i]];
    HD_TRY(hd_points_drop_lone(&lone, m->flow_stays, m->r->trace, err));
    for (uint64_t i = 0; i < rows; i++) m->lost_points += !m->flow_stays[i];
    return HD_OK;
}

/* A call replaced by another takes no time, but stays where its activity is not earlier, since it shows which call
 * launched the activity, and in which step. */
static void keep_calls(mover *m)
{
    const hd_launches *l = m->r->scope.launches;
    for (size_t i = 0; i < l->launch_count; i++) {
        uint64_t row = l->launches[i].row;
        bool stays = false, is_behind = false;
        for (uint32_t w = 0; w < l->launches[i].work_count; w++) {
            uint32_t node = m->r->nodes[l->work_order[l->launches[i].first_work + w]];
            if (node == HD_NONE || m->r->plan.flags[node] & PLAN_GONE) continue;
            stays = true;
            is_behind |= m->starts[row] > m->times->starts[node];
        }
        if (stays && !is_behind) m->stays[row] = 1;
    }
}

/* ---- rows on their way ---- */

static void set_slices(const mover *m, hd_copy_rows *rows)
{
    int64_t *start = hd_copy_change(rows, HD_COL_START), *duration = hd_copy_change(rows, HD_COL_DURATION);
    int64_t *start_ps = hd_copy_change(rows, HD_COL_START_PS), *end_ps = hd_copy_change(rows, HD_COL_END_PS);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        uint64_t row = rows->block->first_row + i;
        rows->keep[i] = m->stays[row];
        replay_rows_set(&m->rows, rows, i, (int64_t)row);
        if (m->starts[row] == HD_NO_TIME) continue;
        bool is_moved = start[i] != m->starts[row] || m->was_spans[row] != m->ends[row] - m->starts[row];
        start[i] = m->starts[row];
        if (duration[i] != HD_NO_TIME && duration[i] >= 0) duration[i] = m->ends[row] - m->starts[row];
        if (is_moved) start_ps[i] = end_ps[i] = 0;
    }
}

static hd_status set_priorities(const mover *m, hd_copy_rows *rows, hd_error *err)
{
    int64_t *values[HD_COPY_ADDED];
    uint8_t *added = NULL;
    for (uint32_t i = 0; m->priorities && i < rows->block->row_count; i++) {
        int16_t priority = m->priorities[rows->block->first_row + i];
        if (priority == NO_PRIORITY || !rows->keep[i]) continue;
        if (!added) added = hd_copy_add_arguments(m->copy, values);
        if (!added) return HD_NOMEM(err);
        values[0][i] = priority;
        added[i] = 1;
    }
    return HD_OK;
}

static int64_t time_of_row(const mover *m, const hd_copy_rows *rows, uint32_t i, uint32_t track, int64_t time,
                           int64_t partner)
{
    uint64_t row = rows->block->first_row + i;
    if (rows->block->kind == HD_KIND_END && partner >= 0 && m->starts[partner] != HD_NO_TIME) return m->ends[partner];
    uint32_t slice = rows->block->kind == HD_KIND_FLOW ? m->bound[row] : UINT32_MAX;
    if (slice == UINT32_MAX || m->starts[slice] == HD_NO_TIME || time < m->was_starts[slice])
        return new_time(m, track, time);
    return m->starts[slice] +
           replay_stretch(time - m->was_starts[slice], m->was_spans[slice], m->ends[slice] - m->starts[slice]);
}

static void set_times(const mover *m, hd_copy_rows *rows)
{
    const int64_t *track = hd_copy_look(rows, HD_COL_TRACK), *partner = hd_copy_look(rows, HD_COL_PARTNER);
    int64_t *start = hd_copy_change(rows, HD_COL_START), *ps = hd_copy_change(rows, HD_COL_START_PS);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        uint64_t row = rows->block->first_row + i;
        if (rows->block->kind == HD_KIND_FLOW) rows->keep[i] = m->flow_stays[row];
        if (rows->block->kind == HD_KIND_END && partner[i] >= 0) rows->keep[i] = m->stays[partner[i]];
        int64_t slice = rows->block->kind == HD_KIND_END ? partner[i] : -1;
        if (rows->block->kind == HD_KIND_FLOW && m->bound[row] != UINT32_MAX) slice = m->bound[row];
        replay_rows_set(&m->rows, rows, i, slice);
        if (start[i] == HD_NO_TIME) continue;
        int64_t time = time_of_row(m, rows, i, (uint32_t)track[i], start[i], partner[i]);
        if (time != start[i]) ps[i] = 0;
        start[i] = time;
    }
}

static hd_status move_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    const mover *m = user;
    (void)copy;
    if (rows->block->kind == HD_KIND_SLICE) {
        set_slices(m, rows);
        return set_priorities(m, rows, err);
    }
    if (rows->block->kind != HD_KIND_META) set_times(m, rows);
    return HD_OK;
}

/* ---- the whole ---- */

static hd_status move_into(hd_builder *builder, mover *m, hd_error *err)
{
    const hd_copy_hooks hooks = {.user = m, .added_keys = m->keys, .rows = move_rows};
    m->keys[0] = (hd_arg_key){hd_builder_intern_text(builder, "priority"), HD_ARG_INT, HD_SCOPE_ARGS, 0};
    HD_TRY(choose_flows(m, err));
    HD_TRY(hd_copy_new(&m->copy, m->r->trace, builder, err));
    hd_status status = hd_copy_tracks(m->copy, NULL, NULL, err);
    if (status == HD_OK) status = replay_rows_init(&m->rows, m->r, m->copy, builder, err);
    if (status == HD_OK) status = hd_copy_events(m->copy, &hooks, err);
    uint64_t untold = hd_copy_not_added(m->copy);
    if (untold) hd_builder_ledger(builder, "replay", "replay.priority-untold", HD_LEDGER_NOTE, untold, HD_OFFSET_NONE);
    if (status == HD_OK) status = hd_copy_surroundings(m->copy, err);
    replay_rows_deinit(&m->rows);
    hd_copy_free(m->copy);
    if (m->lost_points)
        hd_builder_ledger(builder, "replay", "replay.flow-lost", HD_LEDGER_LOSS, m->lost_points, HD_OFFSET_NONE);
    return status;
}

static bool make_room(mover *m)
{
    uint64_t rows = hd_trace_row_count(m->r->trace, HD_KIND_SLICE) + 1, large = m->r->large;
    m->starts = hd_large_new(rows, sizeof *m->starts, large);
    m->ends = hd_large_zeroed(rows, sizeof *m->ends, large);
    m->was_starts = hd_large_zeroed(rows, sizeof *m->was_starts, large);
    m->was_spans = hd_large_zeroed(rows, sizeof *m->was_spans, large);
    m->stays = hd_large_new(rows, 1, large);
    m->flow_stays = hd_large_new(hd_trace_row_count(m->r->trace, HD_KIND_FLOW) + 1, 1, large);
    bool given = m->r->options->schedule && replay_is_priorities(m->r->options->schedule);
    if (given) m->priorities = hd_large_new(rows, sizeof *m->priorities, large);
    if (given && !m->priorities) return false;
    return m->starts && m->ends && m->was_starts && m->was_spans && m->stays && m->flow_stays && choose_lanes(m);
}

hd_status replay_write(hd_trace **out, const replay *r, hd_error *err)
{
    hd_builder *builder = NULL;
    mover m = {.r = r, .times = &r->changed};
    hd_status status = make_room(&m) ? hd_builder_new(&builder, err) : HD_NOMEM(err);
    if (status == HD_OK) {
        move_slices(&m);
        keep_calls(&m);
        status = move_into(builder, &m, err);
    }
    void *const lists[] = {m.starts, m.ends, m.was_starts, m.was_spans, m.stays, m.flow_stays, m.bound, m.priorities};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) hd_large_free(lists[i]);
    free(m.lanes);
    if (status == HD_OK) return hd_builder_finish(out, builder, err);
    hd_builder_free(builder);
    return status;
}
