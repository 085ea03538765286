/* apply.c - a plan of lane repair, turned into a new trace */
#include "pass/lanes/apply.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/spill.h"

/* An end event with a changed slice. */
typedef struct end_edit {
    uint64_t row;
    const hd_lane_edit *edit;
} end_edit;

typedef struct applier {
    const hd_trace *trace;
    const hd_lane_plan *plan;
    hd_builder *builder;
    hd_copy *copy;
    uint32_t *lanes; /* by lane: its track, for hd_copy_change */
    end_edit *ends;  /* by ascending row */
    size_t end_count, next_slice, next_end, next_flow;
} applier;

/* ---- tracks ---- */

static hd_ident tid_of(const applier *a, const hd_new_lane *lane)
{
    return (hd_ident){lane->tid_is_number ? HD_IDENT_NUMBER : HD_IDENT_STRING,
                      hd_builder_intern(a->builder, lane->tid, lane->tid_size)};
}

static hd_ident pid_of(const applier *a, const hd_track *track)
{
    hd_ident pid = track->pid;
    if (pid.type != HD_IDENT_NONE) pid.text = hd_copy_string(a->copy, pid.text);
    return pid;
}

/* A lane is like its track, except for its tid, its name and its position below the track. */
static hd_status make_lane(applier *a, size_t index, hd_error *err)
{
    const hd_new_lane *lane = &a->plan->lanes[index];
    const hd_track *from = hd_trace_track_at(a->trace, lane->track);
    hd_builder *builder = a->builder;
    const hd_ident pid_ident = pid_of(a, from);
    uint32_t track = hd_builder_track(builder, pid_ident, tid_of(a, lane), false);
    if (track == HD_NONE) return HD_NOMEM(err);
    hd_builder_name_track(builder, track, hd_builder_intern(builder, lane->name, lane->name_size));
    hd_builder_sort_track(builder, track, lane->sort_index == HD_NO_NUMBER ? 0 : lane->sort_index);
    if (from->kind == HD_TRACK_STREAM) hd_builder_set_stream(builder, track, from->device, from->stream);
    if (from->rank != HD_NO_NUMBER) hd_builder_set_rank(builder, track, from->rank);
    a->lanes[index] = hd_copy_add_track(a->copy, track);
    return a->lanes[index] == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

/* The lane's track for an event of `own`, whose pid may have another type than that of its twin track. */
static int64_t lane_for(applier *a, uint32_t lane, int64_t own)
{
    const hd_track *from = hd_trace_track_at(a->trace, (uint32_t)own);
    const hd_track *root = hd_trace_track_at(a->trace, a->plan->lanes[lane].track);
    if (from->pid.type == root->pid.type) return a->lanes[lane];
    const hd_ident pid_ident = pid_of(a, from);
    uint32_t track = hd_builder_track(a->builder, pid_ident, tid_of(a, &a->plan->lanes[lane]), false);
    return track == HD_NONE ? HD_NONE : hd_copy_add_track(a->copy, track);
}

/* ---- rows ---- */

static void set_time(hd_copy_rows *rows, uint32_t i, hd_exact time)
{
    hd_copy_change(rows, HD_COL_START)[i] = time.ns;
    hd_copy_change(rows, HD_COL_START_PS)[i] = time.below;
}

static void set_lane(applier *a, hd_copy_rows *rows, uint32_t i, uint32_t lane)
{
    if (lane == HD_NONE) return;
    int64_t *tracks = hd_copy_change(rows, HD_COL_TRACK);
    tracks[i] = lane_for(a, lane, tracks[i]);
}

static void apply_slice(applier *a, hd_copy_rows *rows, uint32_t i, const hd_lane_edit *edit)
{
    set_lane(a, rows, i, edit->lane);
    if (edit->start_changed) set_time(rows, i, edit->start);
    if (!edit->start_changed && !edit->end_changed) return;
    hd_copy_change(rows, HD_COL_DURATION)[i] = edit->end.ns - edit->start.ns;
    hd_copy_change(rows, HD_COL_END_PS)[i] = edit->end.below;
}

static hd_status apply_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    applier *a = user;
    const hd_block *block = rows->block;
    uint64_t end = block->first_row + block->row_count;
    (void)copy;
    (void)err;
    if (block->kind == HD_KIND_SLICE) {
        for (; a->next_slice < a->plan->edit_count && a->plan->edits[a->next_slice].row < end; a->next_slice++) {
            const hd_lane_edit *edit = &a->plan->edits[a->next_slice];
            apply_slice(a, rows, (uint32_t)(edit->row - block->first_row), edit);
        }
    } else if (block->kind == HD_KIND_END) {
        for (; a->next_end < a->end_count && a->ends[a->next_end].row < end; a->next_end++) {
            const end_edit *at = &a->ends[a->next_end];
            uint32_t i = (uint32_t)(at->row - block->first_row);
            set_lane(a, rows, i, at->edit->lane);
            if (at->edit->end_changed) set_time(rows, i, at->edit->end);
        }
    } else if (block->kind == HD_KIND_FLOW) {
        for (; a->next_flow < a->plan->flow_count && a->plan->flows[a->next_flow].row < end; a->next_flow++) {
            const hd_lane_flow_edit *edit = &a->plan->flows[a->next_flow];
            uint32_t i = (uint32_t)(edit->row - block->first_row);
            set_lane(a, rows, i, edit->lane);
            if (edit->time_changed) set_time(rows, i, edit->time);
        }
    }
    return HD_OK;
}

static int end_by_row(const void *a, const void *b)
{
    const end_edit *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_status list_ends(applier *a, hd_error *err)
{
    a->ends = hd_large_new(a->plan->edit_count + 1, sizeof *a->ends, hd_trace_large_bytes(a->trace));
    if (!a->ends) return HD_NOMEM(err);
    for (size_t i = 0; i < a->plan->edit_count; i++) {
        uint32_t at;
        const hd_lane_edit *edit = &a->plan->edits[i];
        const hd_block *block = hd_trace_block_of(&at, a->trace, HD_KIND_SLICE, edit->row);
        int64_t partner = hd_column_at(&block->columns[HD_COL_PARTNER], at);
        if (partner >= 0) a->ends[a->end_count++] = (end_edit){(uint64_t)partner, edit};
    }
    bool fine = hd_large_sort(a->ends, a->end_count, sizeof *a->ends, end_by_row, hd_trace_large_bytes(a->trace));
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- names of lanes, where names are events ---- */

static hd_status add_names(applier *a, hd_batch *batch, hd_error *err)
{
    for (size_t i = 0; i < a->plan->lane_count; i++) {
        const hd_new_lane *lane = &a->plan->lanes[i];
        uint32_t track = hd_copy_track(a->copy, a->lanes[i]);
        uint32_t name = hd_builder_intern(a->builder, lane->name, lane->name_size);
        hd_meta_event named = {
            .track = track, .name = "thread_name", .key = "name", .type = HD_ARG_STRING, .value = name};
        hd_meta_event ordered = {.track = track, .name = "thread_sort_index", .key = "sort_index", .type = HD_ARG_INT};
        ordered.value = lane->sort_index == HD_NO_NUMBER ? 0 : lane->sort_index;
        HD_TRY(hd_copy_add_meta(a->builder, batch, &named, err));
        HD_TRY(hd_copy_add_meta(a->builder, batch, &ordered, err));
    }
    return HD_OK;
}

static hd_status append_names(applier *a, hd_pass_result *result, hd_error *err)
{
    hd_batch *batch;
    hd_chunk *chunk;
    if (a->plan->lane_count == 0 || !hd_names_are_events(a->trace)) return HD_OK;
    HD_TRY(hd_batch_new(&batch, a->builder, err));
    hd_status status = add_names(a, batch, err);
    result->added = hd_batch_row_count(batch);
    if (status == HD_OK) status = hd_batch_take(&chunk, batch, err);
    hd_batch_free(batch);
    return status == HD_OK ? hd_builder_append(a->builder, chunk, err) : status;
}

static hd_status apply(applier *a, hd_pass_result *result, hd_error *err)
{
    hd_copy_hooks hooks = {.user = a, .rows = apply_rows};
    HD_TRY(list_ends(a, err));
    a->lanes = malloc((a->plan->lane_count + 1) * sizeof *a->lanes);
    if (!a->lanes) return HD_NOMEM(err);
    HD_TRY(hd_copy_tracks(a->copy, NULL, NULL, err));
    for (size_t i = 0; i < a->plan->lane_count; i++) HD_TRY(make_lane(a, i, err));
    HD_TRY(hd_copy_events(a->copy, &hooks, err));
    HD_TRY(append_names(a, result, err));
    return hd_copy_surroundings(a->copy, err);
}

hd_status hd_lanes_apply(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_lane_plan *plan,
                         hd_error *err)
{
    applier a = {.trace = trace, .plan = plan};
    *out = NULL;
    *result = (hd_pass_result){0};
    HD_TRY(hd_builder_new(&a.builder, err));
    hd_status status = hd_copy_new(&a.copy, trace, a.builder, err);
    if (status == HD_OK) status = apply(&a, result, err);
    hd_copy_free(a.copy);
    free(a.lanes);
    hd_large_free(a.ends);
    if (status == HD_OK) return hd_builder_finish(out, a.builder, err);
    hd_builder_free(a.builder);
    return status;
}
