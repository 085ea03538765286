/* fidelity_flows.c - flow points without a slice, and flows that run backward: as the check finds them, of the index */
#include <stdlib.h>

#include "base/error.h"
#include "report/report_flows.h"
#include "report/report_spans.h"
#include "trace/lane_index.h"
#include "view/fidelity.h"

enum { READ_AHEAD = 1024 };

/* The slices of a lane, in the order of the index. */
typedef struct index_walk {
    const hd_trace *trace;
    const hd_index *index;
    const hd_lane *lane;
    uint64_t next;
    size_t at, count;
    uint64_t rows[READ_AHEAD];
} index_walk;

static hd_status begin_lane(void *user, uint32_t track, hd_error *err)
{
    index_walk *walk = user;
    (void)err;
    walk->lane = hd_index_lane_of(walk->index, walk->trace, track);
    walk->next = walk->at = walk->count = 0;
    return HD_OK;
}

static int64_t time_of(void *user, int64_t ns, uint32_t ps)
{
    const index_walk *walk = user;
    return lane_units(walk->index, ns, ps);
}

/* The columns of a slice; false: it takes no part. */
static bool read_slice(index_walk *walk, uint64_t row, int64_t *out_start, int64_t *out_end, uint32_t *out_track)
{
    uint32_t i;
    int64_t end_ns;
    const hd_column *columns = hd_trace_block_of(walk->trace, HD_KIND_SLICE, row, &i)->columns;
    int64_t start_ns = hd_column_at(&columns[HD_COL_START], i), duration = hd_column_at(&columns[HD_COL_DURATION], i);
    if (!span_takes_part(&end_ns, start_ns, duration, hd_column_at(&columns[HD_COL_PHASE], i))) return false;
    *out_start = lane_units(walk->index, start_ns, hd_column_at(&columns[HD_COL_START_PS], i));
    *out_end = lane_units(walk->index, end_ns, hd_column_at(&columns[HD_COL_END_PS], i));
    if (duration == HD_NO_TIME || *out_end < *out_start) *out_end = *out_start;
    *out_track = (uint32_t)hd_column_at(&columns[HD_COL_TRACK], i);
    return true;
}

static hd_status next_slice(void *user, int64_t *out_start, int64_t *out_end, uint32_t *out_track, hd_error *err)
{
    index_walk *walk = user;
    for (;;) {
        if (!walk->lane) return HD_END;
        if (walk->at == walk->count) {
            HD_TRY(hd_lane_rows(walk->rows, &walk->count, walk->index, walk->lane, walk->trace, walk->next, READ_AHEAD,
                                err));
            walk->next += walk->count;
            walk->at = 0;
            if (!walk->count) return HD_END;
        }
        if (read_slice(walk, walk->rows[walk->at++], out_start, out_end, out_track)) return HD_OK;
    }
}

typedef struct flow_count {
    view_fidelity *fidelity;
    bool failed;
} flow_count;

static void found(void *user, report_flow_case what, const hd_flow_point *point, const hd_flow_point *other)
{
    flow_count *count = user;
    (void)other;
    if (what == REPORT_FLOW_BACKWARD) count->fidelity->flows_backward++;
    if (what == REPORT_FLOW_UNBOUND && !view_doubt_add(count->fidelity, VIEW_UNBOUND_FLOWS, point->row, HD_NONE))
        count->failed = true;
}

hd_status view_fidelity_flows(view_fidelity *fidelity, const view_scene *scene, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(scene);
    flow_count count = {.fidelity = fidelity};
    if (!hd_trace_row_count(trace, HD_KIND_FLOW)) return HD_OK;
    index_walk *walk = malloc(sizeof *walk);
    if (!walk) return HD_NOMEM(err);
    walk->trace = trace;
    walk->index = view_scene_index(scene);
    walk->lane = NULL;
    report_slices slices = {.user = walk, .begin = begin_lane, .next = next_slice, .time = time_of};
    hd_status status =
        report_flows_walk(&fidelity->flow_points, trace, walk->index ? &slices : NULL, found, &count, err);
    free(walk);
    return status == HD_OK && count.failed ? HD_NOMEM(err) : status;
}
