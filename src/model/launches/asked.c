/* asked.c - the operators that requested launches which another thread makes
 *
 * PyTorch on Ascend puts work into a queue, which a thread of its own empties: the launching call is not within the
 * operator. The profiler links operator and activity by flows "async_npu". After a conversion to Perfetto's format,
 * whose flows have no category, any flow from an operator to an activity counts.
 */
#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "model/flows/index.h"
#include "model/launches/impl.h"
#include "trace/event.h"

/* Keeps the points of that category. */
static size_t keep_category(hd_flow_point *points, size_t count, const hd_trace *trace, uint32_t category)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_slice = points[i].row >= hd_trace_row_count(trace, HD_KIND_FLOW);
        if (!is_slice && hd_event_at(trace, HD_KIND_FLOW, points[i].row).category == category)
            points[kept++] = points[i];
    }
    return kept;
}

/* The launch of the activity that is the slice of a row; HD_NONE. */
static uint32_t launch_of(const hd_launches *launches, uint32_t row)
{
    size_t low = 0, high = launches->work_count;
    HD_PARTITION_POINT(low, high, at, launches->works[at].row < row);
    return low < launches->work_count && launches->works[low].row == row ? launches->works[low].launch : HD_NONE;
}

static void link(hd_launches *out, const hd_trace *trace, const hd_flow_point *points, size_t count,
                 const uint32_t *starts, const uint32_t *bound)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].phase == 's' || starts[i] == HD_NONE) continue;
        uint32_t work = bound[points[i].row], op = bound[points[starts[i]].row];
        uint32_t launch = work == UINT32_MAX || op == UINT32_MAX ? HD_NONE : launch_of(out, work);
        if (launch == HD_NONE || out->asked[launch].track != HD_NONE) continue;
        hd_event event = hd_event_at(trace, HD_KIND_SLICE, op);
        hd_string of = hd_trace_string(trace, event.category);
        if (hd_role_of(of, hd_trace_string(trace, event.name)) != HD_ROLE_OP) continue;
        if (event.start_ns != HD_NO_TIME) out->asked[launch] = (hd_asked){event.start_ns, event.track};
    }
}

static hd_status find(hd_launches *out, const hd_trace *trace, uint32_t category, uint64_t large, hd_error *err)
{
    hd_flow_point *points;
    size_t count;
    uint32_t *bound = NULL;
    HD_TRY(hd_flow_points(&points, &count, trace, err));
    count = keep_category(points, count, trace, category);
    hd_flow_points_join(points, count);
    uint32_t *starts = launches_find_starts(points, count, large);
    out->asked = hd_large_new(out->launch_count + 1, sizeof *out->asked, large);
    hd_status status = starts && out->asked ? hd_flows_bind(&bound, trace, err) : HD_NOMEM(err);
    for (size_t i = 0; status == HD_OK && i < out->launch_count; i++) out->asked[i] = (hd_asked){.track = HD_NONE};
    if (status == HD_OK) link(out, trace, points, count, starts, bound);
    hd_large_free(bound);
    hd_large_free(starts);
    hd_large_free(points);
    return status;
}

hd_status launches_find_asked(hd_launches *out, const hd_trace *trace, uint64_t large, hd_error *err)
{
    uint32_t category = hd_trace_find_string(trace, "async_npu", 9);
    if (category == HD_NONE && hd_trace_find_string(trace, "Enqueue", 7) != HD_NONE)
        category = hd_trace_find_string(trace, "flow", 4);
    if (category == HD_NONE || hd_trace_row_count(trace, HD_KIND_FLOW) == 0) return HD_OK;
    return find(out, trace, category, large, err);
}
