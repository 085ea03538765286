/* flows.c - flows without an end, backward, or bound to no slice: by the rules of the check, from the index */
#include <stdlib.h>

#include "base/error.h"
#include "report/flows.h"
#include "trace/index/lane_index.h"
#include "view/fidelity/impl.h"

static hd_status begin_lane(void *user, uint32_t track, hd_error *err)
{
    (void)err;
    view_lane_walk *walk = user;
    view_lane_begin(walk, hd_index_lane_of(walk->index, walk->trace, track));
    return HD_OK;
}

static hd_status next_slice(void *user, int64_t *out_start, int64_t *out_end, uint32_t *out_track, hd_error *err)
{
    view_lane_slice slice;
    HD_TRY(view_lane_next(&slice, user, err));
    *out_start = slice.start;
    *out_end = slice.end;
    *out_track = slice.track;
    return HD_OK;
}

static int64_t time_of(void *user, int64_t ns, int64_t below)
{
    const view_lane_walk *walk = user;
    return lane_units(walk->index, ns, below);
}

typedef struct flow_count {
    view_fidelity *fidelity;
    bool failed;
} flow_count;

static void found(void *user, report_flow_case what, const hd_flow_point *point, const hd_flow_point *other)
{
    static const view_doubt doubts[] = {[REPORT_FLOW_WITHOUT_START] = VIEW_FLOWS_WITHOUT_START,
                                        [REPORT_FLOW_BACKWARD] = VIEW_BACKWARD_FLOWS,
                                        [REPORT_FLOW_WITHOUT_END] = VIEW_FLOWS_WITHOUT_END,
                                        [REPORT_FLOW_UNBOUND] = VIEW_UNBOUND_FLOWS};
    flow_count *count = user;
    if (!view_doubt_add(count->fidelity, doubts[what], point->row, other ? other->row : HD_NONE)) count->failed = true;
}

hd_status view_fidelity_flows(view_fidelity *fidelity, const view_scene *scene, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(scene);
    flow_count count = {.fidelity = fidelity};
    if (!hd_trace_row_count(trace, HD_KIND_FLOW)) return HD_OK;
    view_lane_walk *walk = malloc(sizeof *walk);
    if (!walk) return HD_NOMEM(err);
    *walk = (view_lane_walk){.trace = trace, .index = view_scene_index(scene)};
    report_slices slices = {.user = walk, .begin = begin_lane, .next = next_slice, .time = time_of};
    hd_status status =
        report_flows_walk(&fidelity->flow_points, trace, walk->index ? &slices : NULL, found, &count, err);
    free(walk);
    return status == HD_OK && count.failed ? HD_NOMEM(err) : status;
}
