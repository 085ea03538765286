/* lanes.c - slices that do not nest on their track, and which they cross: by the rules of the check */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "report/check/check.h"
#include "trace/index/lane_index.h"
#include "trace/lazy.h"
#include "view/fidelity/impl.h"

/* ---- the slices of a lane ---- */

void view_lane_begin(view_lane_walk *walk, const hd_lane *lane)
{
    walk->lane = lane;
    walk->next = walk->at = walk->count = 0;
}

/* false: not included. */
static bool read_slice(view_lane_slice *out, const view_lane_walk *walk, uint64_t row)
{
    uint32_t i;
    int64_t end_ns;
    const hd_column *columns = hd_trace_columns_of(&i, walk->trace, HD_KIND_SLICE, row)->columns;
    int64_t start_ns = hd_column_at(&columns[HD_COL_START], i), duration = hd_column_at(&columns[HD_COL_DURATION], i);
    if (!span_takes_part(&end_ns, start_ns, duration, hd_column_at(&columns[HD_COL_PHASE], i))) return false;
    out->start = lane_units(walk->index, start_ns, hd_column_at(&columns[HD_COL_START_PS], i));
    out->end = lane_units(walk->index, end_ns, hd_column_at(&columns[HD_COL_END_PS], i));
    if (duration == HD_NO_TIME || out->end < out->start) out->end = out->start;
    out->row = (uint32_t)row;
    out->track = (uint32_t)hd_column_at(&columns[HD_COL_TRACK], i);
    return true;
}

hd_status view_lane_next(view_lane_slice *out, view_lane_walk *walk, hd_error *err)
{
    while (walk->lane) {
        if (walk->at == walk->count) {
            HD_TRY(hd_lane_rows(walk->rows, &walk->count, walk->index, walk->lane, walk->trace, walk->next,
                                VIEW_LANE_READ_AHEAD, err));
            walk->next += walk->count;
            walk->at = 0;
            if (!walk->count) break;
        }
        if (read_slice(out, walk, walk->rows[walk->at++])) return HD_OK;
    }
    return HD_END;
}

/* ---- those that do not nest ---- */

/* Ends and rows of the open slices. */
typedef struct open_slices {
    int64_t *ends;
    uint32_t *rows;
    uint64_t depth;
    size_t ends_capacity, rows_capacity;
} open_slices;

static hd_status look_at_lane(view_fidelity *fidelity, view_lane_walk *walk, open_slices *open, hd_error *err)
{
    view_lane_slice slice;
    hd_status status;
    open->depth = 0;
    while ((status = view_lane_next(&slice, walk, err)) == HD_OK) {
        if (!hd_grow((void **)&open->ends, &open->ends_capacity, open->depth, sizeof *open->ends) ||
            !hd_grow((void **)&open->rows, &open->rows_capacity, open->depth, sizeof *open->rows))
            return HD_NOMEM(err);
        if (check_nests(open->ends, &open->depth, slice.start, slice.end))
            open->rows[open->depth - 1] = slice.row;
        else if (!view_doubt_add(fidelity, VIEW_ON_LANES, slice.row, open->rows[open->depth - 1]))
            return HD_NOMEM(err);
    }
    return status == HD_END ? HD_OK : status;
}

/* The layout knows tracks without crossings. With picoseconds the layout ignores them, but the check does not. */
static bool may_cross(const view_track *track, const hd_index *index)
{
    return track->on_lanes || index->units_per_ns > 1;
}

hd_status view_fidelity_lanes(view_fidelity *fidelity, view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    const hd_index *index = view_scene_index(scene);
    view_lane_walk *walk = malloc(sizeof *walk);
    open_slices open = {0};
    hd_status status = walk ? HD_OK : HD_NOMEM(err);
    if (walk) *walk = (view_lane_walk){.trace = view_scene_trace(scene), .index = index};
    for (size_t i = 0; index && i < hd_index_lane_count(index) && status == HD_OK && !atomic_load(stop); i++) {
        const hd_lane *lane = hd_index_lane_at(index, i);
        uint32_t shown = view_scene_track_of(scene, lane->track, HD_KIND_SLICE);
        if (shown == HD_NONE || !may_cross(view_scene_track(scene, shown), index)) continue;
        size_t before = fidelity->doubts[VIEW_ON_LANES].count;
        view_lane_begin(walk, lane);
        status = look_at_lane(fidelity, walk, &open, err);
        view_scene_track(scene, shown)->on_lanes = fidelity->doubts[VIEW_ON_LANES].count - before;
    }
    free(walk);
    free(open.ends);
    free(open.rows);
    return status;
}
