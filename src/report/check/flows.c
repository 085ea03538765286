/* flows.c - flows that lack an end, run backward, or bind to no slice (report/flows.h) */
#include "report/flows.h"
#include "base/error.h"
#include "report/check/check.h"
#include "trace/lazy.h"

/* The slices of the check, lane by lane. */
typedef struct span_walk {
    const check *c;
    const slice_span *spans;
    uint64_t count, next;
    uint32_t track;
    bool shared; /* the lane has slices of other tracks */
} span_walk;

static hd_status begin_lane(void *user, uint32_t id, hd_error *err)
{
    span_walk *walk = user;
    const hd_track *track = hd_trace_track_at(walk->c->trace, id);
    (void)err;
    walk->spans = span_index_lane(&walk->c->spans, track->same_as, &walk->count);
    walk->next = 0;
    walk->track = id;
    walk->shared = walk->count > 0 && track->rows[HD_KIND_SLICE] < walk->count;
    return HD_OK;
}

static uint32_t track_of_slice(const check *c, uint32_t slice)
{
    uint32_t row;
    const hd_block *block = hd_trace_columns_of(&row, c->trace, HD_KIND_SLICE, slice);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
}

static hd_status next_slice(void *user, int64_t *out_start, int64_t *out_end, uint32_t *out_track, hd_error *err)
{
    span_walk *walk = user;
    (void)err;
    if (walk->next == walk->count) return HD_END;
    const slice_span *span = &walk->spans[walk->next++];
    *out_start = span->start;
    *out_end = span->end;
    *out_track = walk->shared ? track_of_slice(walk->c, span->row) : walk->track;
    return HD_OK;
}

static int64_t time_of(void *user, int64_t ns, int64_t below)
{
    const span_walk *walk = user;
    return span_index_time(&walk->c->spans, ns, below);
}

static void found(void *user, report_flow_case what, const hd_flow_point *point, const hd_flow_point *other)
{
    static const check_code codes[] = {[REPORT_FLOW_WITHOUT_START] = CHECK_FLOW_WITHOUT_START,
                                       [REPORT_FLOW_BACKWARD] = CHECK_FLOW_BACKWARD,
                                       [REPORT_FLOW_WITHOUT_END] = CHECK_FLOW_WITHOUT_END,
                                       [REPORT_FLOW_UNBOUND] = CHECK_FLOW_UNBOUND};
    check *c = user;
    check_example example = CHECK_EVENT(HD_KIND_FLOW, point->row);
    if (other) {
        const span_index *spans = &c->spans;
        int64_t lead = span_index_time(spans, other->start_ns, other->start_below) -
                       span_index_time(spans, point->start_ns, point->start_below);
        example = CHECK_PAIR(HD_KIND_FLOW, point->row, HD_KIND_FLOW, other->row, span_index_ns(spans, lead));
    }
    check_found(c, codes[what], point->track, example);
}

hd_status check_flows(check *c, hd_error *err)
{
    span_walk walk = {.c = c};
    report_slices slices = {.user = &walk, .begin = begin_lane, .next = next_slice, .time = time_of};
    uint64_t points;
    return report_flows_walk(&points, c->trace, check_wants(c, CHECK_FLOW_UNBOUND) ? &slices : NULL, found, c, err);
}
