/* lanes.c - lane repair of a whole trace: plans the changes of slices and flow points
 *
 * Track by track: gather its slices, solve (solve.h), and if anything changed, record the edits and adjust flow points,
 * which must stay bound to their slices. Times are exact (trace/ticks.h).
 */
#include "pass/lanes/lanes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/flows/index.h"
#include "pass/lanes/names.h"
#include "pass/lanes/pairs.h"
#include "trace/spill.h"

typedef struct planner {
    hd_lane_plan *plan;
    const hd_trace *trace;
    hd_error *err;
    uint64_t large; /* hd_trace_large_bytes */
    bool fine;      /* some times are below the nanosecond */
    int64_t threshold_ps;
    /* rows of tables by root track: rows[table_first[track] …] */
    uint32_t *slice_rows, *flow_rows;
    size_t *slice_first, *flow_first;
    /* the track at hand */
    hd_ticks ticks;
    int64_t threshold; /* in ticks */
    hd_lane_slice *slices;
    const uint32_t *rows;
    uint32_t count;
    uint32_t *bound; /* slice index per flow point */
    hd_lane_names names;
    uint64_t *slice_places, *end_places; /* in the order of the input; made when first needed */
} planner;

/* ---- time ---- */

static int64_t shift_ps(const planner *p, int64_t ticks)
{
    int64_t ps;
    if (p->ticks.per_ns == 1000) return ticks / p->ticks.ranks + (ticks % p->ticks.ranks != 0);
    return __builtin_mul_overflow(ticks, 1000, &ps) ? INT64_MAX : ps;
}

static bool constant_zero(const hd_column *column)
{
    return column->width == 0 && column->base == 0;
}

static bool is_fine(const hd_trace *trace)
{
    bool fine = false;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (kind != HD_KIND_SLICE && kind != HD_KIND_FLOW) continue;
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++) {
            const hd_block *block = hd_trace_block_at(trace, (hd_kind)kind, i);
            fine |= !constant_zero(&block->columns[HD_COL_START_PS]) || !constant_zero(&block->columns[HD_COL_END_PS]);
        }
    }
    return fine;
}

/* ---- rows by track ---- */

static uint32_t root_of(const hd_trace *trace, uint32_t track)
{
    return hd_trace_track_at(trace, track)->same_as;
}

static hd_status group_rows(planner *p, hd_kind kind, uint32_t **out_rows, size_t **out_first)
{
    const hd_trace *trace = p->trace;
    uint64_t total = hd_trace_row_count(trace, kind);
    uint32_t tracks = hd_trace_track_count(trace);
    if (total >= UINT32_MAX)
        return hd_error_set(p->err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices or flow points");
    uint32_t *rows = hd_large_new((size_t)total + 1, sizeof *rows, p->large);
    size_t *first = calloc((size_t)tracks + 2, sizeof *first);
    *out_rows = rows;
    *out_first = first;
    if (!rows || !first) return HD_NOMEM(p->err);
    for (uint32_t t = 0; t < tracks; t++) first[root_of(trace, t) + 2] += hd_trace_track_at(trace, t)->rows[kind];
    for (uint32_t t = 1; t <= tracks; t++) first[t + 1] += first[t];
    for (size_t i = 0; i < hd_trace_block_count(trace, kind); i++) {
        const hd_block *block = hd_trace_block_at(trace, kind, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            if (track != HD_NONE) rows[first[root_of(trace, track) + 1]++] = (uint32_t)block->first_row + row;
        }
    }
    return HD_OK; /* first[t] is now where track t begins */
}

/* Iterates over ascending rows of a table. */
typedef struct row_cursor {
    const hd_trace *trace;
    hd_kind kind;
    const hd_block *block;
    uint32_t at; /* row in the block */
} row_cursor;

static void seek(row_cursor *c, uint64_t row)
{
    if (!c->block || row < c->block->first_row || row - c->block->first_row >= c->block->row_count)
        c->block = hd_trace_block_of(&c->at, c->trace, c->kind, row);
    c->at = (uint32_t)(row - c->block->first_row);
}

static int64_t value_at(const row_cursor *c, hd_column_id column)
{
    return hd_column_at(&c->block->columns[column], c->at);
}

/* Start and end of a slice. A slice without an extent (never closed, no or negative duration) crosses nothing. */
static void exact_extent(hd_exact *start, hd_exact *end, row_cursor *c, uint32_t row)
{
    seek(c, row);
    int64_t duration = value_at(c, HD_COL_DURATION), end_ns;
    *start = *end = (hd_exact){value_at(c, HD_COL_START), value_at(c, HD_COL_START_PS)};
    if (duration >= 0 && start->ns != HD_NO_TIME && !__builtin_add_overflow(start->ns, duration, &end_ns))
        *end = (hd_exact){end_ns, value_at(c, HD_COL_END_PS)};
}

static hd_lane_slice extent_of(const planner *p, row_cursor *c, uint32_t row)
{
    hd_exact start, end;
    exact_extent(&start, &end, c, row);
    return (hd_lane_slice){.start = hd_ticks_of(&p->ticks, start.ns, start.below),
                           .end = hd_ticks_of(&p->ticks, end.ns, end.below)};
}

static void gather(planner *p)
{
    row_cursor c = {.trace = p->trace, .kind = HD_KIND_SLICE};
    for (uint32_t i = 0; i < p->count; i++) p->slices[i] = extent_of(p, &c, p->rows[i]);
}

/* The units of the track at hand: all times of its slices and flow points are seen where some are fine. */
static hd_status choose_ticks(planner *p, const uint32_t *flows, size_t flow_count)
{
    row_cursor c = {.trace = p->trace, .kind = HD_KIND_SLICE}, points = {.trace = p->trace, .kind = HD_KIND_FLOW};
    bool fits = true;
    hd_ticks_deinit(&p->ticks);
    for (uint32_t i = 0; i < p->count && p->fine && fits; i++) {
        hd_exact start, end;
        exact_extent(&start, &end, &c, p->rows[i]);
        fits = hd_ticks_see(&p->ticks, start.ns, start.below) && hd_ticks_see(&p->ticks, end.ns, end.below);
    }
    for (size_t i = 0; i < flow_count && p->fine && fits; i++) {
        seek(&points, flows[i]);
        fits = hd_ticks_see(&p->ticks, value_at(&points, HD_COL_START), value_at(&points, HD_COL_START_PS));
    }
    if (!fits) return HD_NOMEM(p->err);
    hd_ticks_settle(&p->ticks);
    p->threshold = p->threshold_ps / 1000 + (p->threshold_ps % 1000 != 0);
    if (p->ticks.per_ns == 1 || p->threshold_ps == 0) return HD_OK;
    /* one picosecond less is less, whatever the rank within the picosecond */
    if (__builtin_mul_overflow(p->threshold_ps - 1, p->ticks.ranks, &p->threshold)) p->threshold = INT64_MAX - 1;
    p->threshold++;
    return HD_OK;
}

/* ---- edits ---- */

/* Compares the solver's result with the columns. */
static hd_status note_edits(planner *p, hd_lane_track *track)
{
    hd_lane_plan *plan = p->plan;
    row_cursor c = {.trace = p->trace, .kind = HD_KIND_SLICE};
    for (uint32_t i = 0; i < p->count; i++) {
        const hd_lane_slice *s = &p->slices[i];
        hd_lane_slice was = extent_of(p, &c, p->rows[i]);
        if (s->lane == 0 && s->start == was.start && s->end == was.end) continue;
        if (!hd_large_grow((void **)&plan->edits, &plan->edit_capacity, plan->edit_count, sizeof *plan->edits,
                           p->large))
            return HD_NOMEM(p->err);
        plan->edits[plan->edit_count++] = (hd_lane_edit){
            .row = p->rows[i],
            .lane = s->lane ? track->first_lane + s->lane - 1 : HD_NONE,
            .start_changed = s->start != was.start,
            .end_changed = s->end != was.end,
            .start = hd_ticks_time(&p->ticks, s->start),
            .end = hd_ticks_time(&p->ticks, s->end),
            .start_shift_ps = shift_ps(p, s->start - was.start),
            .end_shift_ps = shift_ps(p, was.end - s->end),
        };
    }
    return HD_OK;
}

/* ---- flow points ---- */

typedef struct flow_point {
    int64_t at; /* ticks */
    bool enclosing;
} flow_point;

static flow_point flow_at(const planner *p, row_cursor *c, uint32_t row)
{
    seek(c, row);
    uint32_t phase = (uint32_t)value_at(c, HD_COL_PHASE);
    return (flow_point){
        .at = hd_ticks_of(&p->ticks, value_at(c, HD_COL_START), value_at(c, HD_COL_START_PS)),
        .enclosing = (phase & HD_PHASE_MASK) != 'f' || phase & HD_FLAG_BIND_ENCLOSING,
    };
}

enum { GAPS_TRIED = 256 };

/* A time in the slice that is in none of its nested slices. */
static bool find_gap(int64_t *out, const planner *p, const hd_bind_index *now, uint32_t slice)
{
    const hd_lane_slice *s = &p->slices[slice];
    int64_t at = s->start;
    for (int i = 0; i < GAPS_TRIED && (at < s->end || at == s->start); i++) {
        uint32_t found = hd_bind_find(now, s->lane, at, true);
        *out = at;
        if (found == slice) return true;
        if (found == UINT32_MAX) return false;
        at = p->slices[found].end > at ? p->slices[found].end : at + 1;
    }
    return false;
}

/* A time near `at` at which the point is bound to the slice again. */
static bool rebind(int64_t *out, const planner *p, const hd_bind_index *now, uint32_t slice, flow_point point)
{
    const hd_lane_slice *s = &p->slices[slice];
    int64_t last = s->end > s->start ? s->end - 1 : s->start;
    int64_t inside = point.at < s->start ? s->start : point.at > last ? last : point.at;
    const int64_t candidates[] = {point.at, inside, s->start, last};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        if (hd_bind_find(now, s->lane, candidates[i], point.enclosing) != slice) continue;
        *out = candidates[i];
        return true;
    }
    if (point.enclosing && find_gap(out, p, now, slice)) return true;
    *out = inside;
    return false;
}

/* A point after the start of the last slice is bound to none; if that start was pushed past the point, the point is
 * moved after it again.
 */
static int64_t stay_unbound(const planner *p, const hd_bind_index *now, flow_point point)
{
    if (point.enclosing || hd_bind_find(now, 0, point.at, false) == UINT32_MAX) return point.at;
    return p->slices[now->order[now->lane_first[1] - 1]].start + 1;
}

static hd_status edit_flow(planner *p, const hd_lane_track *track, const hd_bind_index *now, uint32_t row,
                           uint32_t slice, flow_point point)
{
    hd_lane_plan *plan = p->plan;
    int64_t at;
    uint32_t lane = slice == UINT32_MAX ? 0 : p->slices[slice].lane;
    if (slice == UINT32_MAX)
        at = stay_unbound(p, now, point);
    else if (!rebind(&at, p, now, slice, point))
        plan->flows_unresolved++;
    if (at == point.at && lane == 0) return HD_OK;
    if (!hd_large_grow((void **)&plan->flows, &plan->flow_capacity, plan->flow_count, sizeof *plan->flows, p->large))
        return HD_NOMEM(p->err);
    plan->flows[plan->flow_count++] = (hd_lane_flow_edit){
        .row = row,
        .lane = lane ? track->first_lane + lane - 1 : HD_NONE,
        .time_changed = at != point.at,
        .time = hd_ticks_time(&p->ticks, at),
    };
    return HD_OK;
}

/* Finds the binding of each point to the old slices; then keeps it with the new ones. */
static hd_status edit_flows(planner *p, const hd_lane_track *track, const hd_lane_edit *edits, size_t edit_count,
                            const uint32_t *flows, size_t flow_count)
{
    hd_bind_index index;
    row_cursor c = {.trace = p->trace, .kind = HD_KIND_FLOW};
    gather(p);
    HD_TRY(hd_bind_index_init(&index, p->slices, p->count, 1, p->large, p->err));
    for (size_t i = 0; i < flow_count; i++) {
        flow_point point = flow_at(p, &c, flows[i]);
        p->bound[i] = hd_bind_find(&index, 0, point.at, point.enclosing);
    }
    hd_bind_index_deinit(&index);
    for (size_t e = 0, i = 0; e < edit_count; e++) {
        while (p->rows[i] != edits[e].row) i++;
        p->slices[i] = (hd_lane_slice){
            .start = hd_ticks_of(&p->ticks, edits[e].start.ns, edits[e].start.below),
            .end = hd_ticks_of(&p->ticks, edits[e].end.ns, edits[e].end.below),
            .lane = edits[e].lane == HD_NONE ? 0 : edits[e].lane - track->first_lane + 1,
        };
    }
    HD_TRY(hd_bind_index_init(&index, p->slices, p->count, track->lane_count, p->large, p->err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < flow_count && status == HD_OK; i++)
        status = edit_flow(p, track, &index, flows[i], p->bound[i], flow_at(p, &c, flows[i]));
    hd_bind_index_deinit(&index);
    return status;
}

/* ---- begin/end pairs ---- */

static hd_status list_pairs(hd_lane_pair **out, uint32_t *out_count, const planner *p)
{
    row_cursor begin = {.trace = p->trace, .kind = HD_KIND_SLICE};
    hd_lane_pair *pairs = NULL;
    size_t capacity = 0;
    *out_count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        seek(&begin, p->rows[i]);
        if ((value_at(&begin, HD_COL_PHASE) & HD_PHASE_MASK) != 'B' || value_at(&begin, HD_COL_PARTNER) < 0) continue;
        if (!hd_large_grow((void **)&pairs, &capacity, *out_count, sizeof *pairs, p->large)) {
            hd_large_free(pairs);
            return HD_NOMEM(p->err);
        }
        pairs[(*out_count)++] = (hd_lane_pair){
            .slice = i,
            .begin_offset = p->slice_places[p->rows[i]],
            .end_offset = p->end_places[value_at(&begin, HD_COL_PARTNER)],
            .was = extent_of(p, &begin, p->rows[i]),
        };
    }
    *out = pairs;
    return HD_OK;
}

/* Solves again without the pairs that must leave; pairs never cross each other, so one more lane takes them all. */
static hd_status part_pairs(planner *p, hd_lane_result *result, hd_lane_pair *pairs, uint32_t count)
{
    uint32_t left = 0;
    for (;;) {
        uint32_t leaving, also = 0;
        HD_TRY(hd_lane_pairs_check(&leaving, pairs, count, p->slices, 1, p->large, p->err));
        if (p->ticks.per_ns == 1000)
            HD_TRY(hd_lane_pairs_check(&also, pairs, count, p->slices, hd_ticks_per_ns(&p->ticks), p->large, p->err));
        if (leaving + also == 0) break;
        gather(p);
        for (uint32_t i = 0; i < count; i++) {
            if (pairs[i].leaves) p->slices[pairs[i].slice].end = p->slices[pairs[i].slice].start;
        }
        HD_TRY(hd_lanes_solve(result, p->slices, p->count, p->threshold, p->large, p->err));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!pairs[i].leaves) continue;
        p->slices[pairs[i].slice] = pairs[i].was;
        p->slices[pairs[i].slice].lane = result->lane_count;
        left++;
    }
    result->moved += left;
    result->lane_count += left > 0;
    return HD_OK;
}

/* The order of the input decides between equal times. */
static hd_status keep_pairs(planner *p, hd_lane_result *result)
{
    hd_lane_pair *pairs = NULL;
    uint32_t count;
    if (hd_trace_row_count(p->trace, HD_KIND_END) == 0) return HD_OK;
    if (!p->slice_places) HD_TRY(hd_lane_pairs_order(&p->slice_places, &p->end_places, p->trace, p->err));
    HD_TRY(list_pairs(&pairs, &count, p));
    if (count == 0) return HD_OK;
    hd_status status = part_pairs(p, result, pairs, count);
    hd_large_free(pairs);
    return status;
}

/* ---- tracks ---- */

static hd_status plan_track(planner *p, uint32_t id)
{
    hd_lane_plan *plan = p->plan;
    hd_lane_result result;
    p->rows = p->slice_rows + p->slice_first[id];
    p->count = (uint32_t)(p->slice_first[id + 1] - p->slice_first[id]);
    if (p->count == 0) return HD_OK;
    const uint32_t *flows = p->flow_rows + p->flow_first[id];
    size_t flow_count = p->flow_first[id + 1] - p->flow_first[id];
    HD_TRY(choose_ticks(p, flows, flow_count));
    gather(p);
    HD_TRY(hd_lanes_solve(&result, p->slices, p->count, p->threshold, p->large, p->err));
    if (result.snapped > 0) HD_TRY(keep_pairs(p, &result));
    if (!hd_grow((void **)&plan->tracks, &plan->track_capacity, plan->track_count, sizeof *plan->tracks))
        return HD_NOMEM(p->err);
    hd_lane_track *track = &plan->tracks[plan->track_count++];
    *track = (hd_lane_track){
        .track = id,
        .lane_count = result.lane_count,
        .first_lane = (uint32_t)plan->lane_count,
        .slices = p->count,
        .moved = result.moved,
        .snapped = result.crossings,
    };
    plan->snapped_crossings += result.crossings;
    if (result.moved == 0 && result.snapped == 0) return HD_OK;
    HD_TRY(hd_lane_names_add(&p->names, id, result.lane_count - 1, p->err));
    size_t first_edit = plan->edit_count;
    HD_TRY(note_edits(p, track));
    if (flow_count == 0) return HD_OK;
    return edit_flows(p, track, plan->edits + first_edit, plan->edit_count - first_edit, flows, flow_count);
}

static size_t largest(const size_t *first, uint32_t tracks)
{
    size_t most = 1;
    for (uint32_t t = 0; t < tracks; t++) most = first[t + 1] - first[t] > most ? first[t + 1] - first[t] : most;
    return most;
}

static int edit_by_row(const void *a, const void *b)
{
    const hd_lane_edit *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static int flow_by_row(const void *a, const void *b)
{
    const hd_lane_flow_edit *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* A track and its first slice. */
typedef struct turn {
    uint32_t row, track;
} turn;

static int turn_by_row(const void *a, const void *b)
{
    const turn *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* Tracks in the order of their first slices, since their ids depend on the timing of reader threads. */
static hd_status plan_in_turn(planner *p, uint32_t tracks)
{
    uint32_t count = 0;
    turn *turns = malloc(((size_t)tracks + 1) * sizeof *turns);
    if (!turns) return HD_NOMEM(p->err);
    for (uint32_t id = 0; id < tracks; id++) {
        if (p->slice_first[id] < p->slice_first[id + 1]) turns[count++] = (turn){p->slice_rows[p->slice_first[id]], id};
    }
    hd_sort(turns, count, sizeof *turns, turn_by_row);
    hd_status status = HD_OK;
    for (uint32_t i = 0; i < count && status == HD_OK; i++) status = plan_track(p, turns[i].track);
    free(turns);
    return status;
}

static hd_status plan_tracks(planner *p)
{
    uint32_t tracks = hd_trace_track_count(p->trace);
    HD_TRY(group_rows(p, HD_KIND_SLICE, &p->slice_rows, &p->slice_first));
    HD_TRY(group_rows(p, HD_KIND_FLOW, &p->flow_rows, &p->flow_first));
    p->slices = hd_large_new(largest(p->slice_first, tracks), sizeof *p->slices, p->large);
    p->bound = hd_large_new(largest(p->flow_first, tracks), sizeof *p->bound, p->large);
    if (!p->slices || !p->bound) return HD_NOMEM(p->err);
    HD_TRY(hd_lane_names_init(&p->names, p->plan, p->trace, p->err));
    HD_TRY(plan_in_turn(p, tracks));
    hd_lane_plan *plan = p->plan;
    bool fine = hd_large_sort(plan->edits, plan->edit_count, sizeof *plan->edits, edit_by_row, p->large) &&
                hd_large_sort(plan->flows, plan->flow_count, sizeof *plan->flows, flow_by_row, p->large);
    return fine ? HD_OK : HD_NOMEM(p->err);
}

hd_status hd_lanes_plan(hd_lane_plan *out, const hd_trace *trace, int64_t threshold_ps, hd_error *err)
{
    planner p = {.plan = out,
                 .trace = trace,
                 .err = err,
                 .large = hd_trace_large_bytes(trace),
                 .fine = is_fine(trace),
                 .threshold_ps = threshold_ps};
    *out = (hd_lane_plan){0};
    hd_status status = plan_tracks(&p);
    hd_large_free(p.slice_rows);
    hd_large_free(p.flow_rows);
    free(p.slice_first);
    free(p.flow_first);
    hd_large_free(p.slices);
    hd_large_free(p.bound);
    hd_large_free(p.slice_places);
    hd_large_free(p.end_places);
    hd_ticks_deinit(&p.ticks);
    hd_lane_names_deinit(&p.names);
    if (status != HD_OK) hd_lane_plan_deinit(out);
    return status;
}

void hd_lane_plan_deinit(hd_lane_plan *plan)
{
    hd_large_free(plan->edits);
    hd_large_free(plan->flows);
    free(plan->tracks);
    free(plan->lanes);
    hd_arena_deinit(&plan->arena);
    *plan = (hd_lane_plan){0};
}
