/* flows.c - walks flow points flow by flow, then track by track together with the slices */
#include "report/flows.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"

/* ---- flows ---- */

/* The points of one key, joined: ends without a start, ends before their start, starts without an end. `starts` marks
 * the points that are the source of another. */
static void look_at_flow(const hd_flow_point *points, size_t begin, size_t end, bool *starts, report_flow_found *found,
                         void *user)
{
    for (size_t i = begin; i < end; i++) {
        const hd_flow_point *from = points[i].from == HD_NONE ? NULL : &points[points[i].from];
        if (from) starts[points[i].from] = true;
        if (!from && points[i].phase != 's')
            found(user, REPORT_FLOW_WITHOUT_START, &points[i], NULL);
        else if (from && points[i].from > i)
            found(user, REPORT_FLOW_BACKWARD, &points[i], from);
    }
    for (size_t i = begin; i < end; i++) {
        if (points[i].phase == 's' && !starts[i]) found(user, REPORT_FLOW_WITHOUT_END, &points[i], NULL);
    }
}

/* ---- binding ---- */

static int by_track(const void *a, const void *b)
{
    const hd_flow_point *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    int64_t p = hd_below_ns(x->start_below), q = hd_below_ns(y->start_below);
    if (p != q) return p < q ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Tracks in the high bits, times in as many as are left. */
typedef struct point_order {
    int64_t least_ns;
    unsigned track_shift, time_shift;
} point_order;

static uint64_t order_of(const void *user, const hd_flow_point *point)
{
    const point_order *order = user;
    uint64_t time = (uint64_t)point->start_ns - (uint64_t)order->least_ns;
    return (uint64_t)point->track << order->track_shift | time >> order->time_shift;
}

static void sort_by_track(hd_flow_point *points, size_t count)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    uint32_t last_track = 0;
    for (size_t i = 0; i < count; i++) {
        least = points[i].start_ns < least ? points[i].start_ns : least;
        most = points[i].start_ns > most ? points[i].start_ns : most;
        last_track = points[i].track > last_track ? points[i].track : last_track;
    }
    point_order order = {.least_ns = least, .track_shift = 63};
    while (order.track_shift && (uint64_t)last_track >> (64 - order.track_shift)) order.track_shift--;
    while (count && ((uint64_t)most - (uint64_t)least) >> order.time_shift >> order.track_shift) order.time_shift++;
    hd_flow_points_sort(points, count, order_of, &order, by_track);
}

/* Walks the slices of a track in the order of time; of its lane only those that are its own. */
typedef struct track_walk {
    const report_slices *slices;
    uint32_t track;
    bool has_next;
    int64_t next_start, next_end;
    int64_t latest_start, latest_end;
} track_walk;

/* To the next slice of the track's own. */
static hd_status step(track_walk *walk, hd_error *err)
{
    uint32_t track;
    hd_status status;
    do status = walk->slices->next(walk->slices->user, &walk->next_start, &walk->next_end, &track, err);
    while (status == HD_OK && track != walk->track);
    walk->has_next = status == HD_OK;
    return status == HD_END ? HD_OK : status;
}

static hd_status begin_track(track_walk *out, const hd_trace *trace, const report_slices *slices, uint32_t id,
                             hd_error *err)
{
    *out = (track_walk){.slices = slices, .track = id, .latest_start = INT64_MIN, .latest_end = INT64_MIN};
    if (hd_trace_track_at(trace, id)->rows[HD_KIND_SLICE] == 0) return HD_OK;
    HD_TRY(slices->begin(slices->user, id, err));
    return step(out, err);
}

static hd_status is_bound(bool *out, track_walk *walk, const hd_flow_point *point, hd_error *err)
{
    int64_t time = walk->slices->time(walk->slices->user, point->start_ns, point->start_below);
    while (walk->has_next && walk->next_start <= time) {
        walk->latest_start = walk->next_start;
        if (walk->next_end > walk->latest_end) walk->latest_end = walk->next_end;
        HD_TRY(step(walk, err));
    }
    *out = point->encloses ? walk->latest_end >= time : walk->latest_start == time || walk->has_next;
    return HD_OK;
}

static hd_status look_at_binding(const hd_trace *trace, const report_slices *slices, const hd_flow_point *points,
                                 size_t count, report_flow_found *found, void *user, hd_error *err)
{
    track_walk walk = {0};
    for (size_t i = 0; i < count; i++) {
        bool bound;
        if (i == 0 || points[i].track != points[i - 1].track)
            HD_TRY(begin_track(&walk, trace, slices, points[i].track, err));
        HD_TRY(is_bound(&bound, &walk, &points[i], err));
        if (!bound) found(user, REPORT_FLOW_UNBOUND, &points[i], NULL);
    }
    return HD_OK;
}

/* Points of the flow table on a track. */
static size_t keep_placed(hd_flow_point *points, size_t count, const hd_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_slice = points[i].row >= hd_trace_row_count(trace, HD_KIND_FLOW);
        if (points[i].track != HD_NONE && !is_slice) points[kept++] = points[i];
    }
    return kept;
}

hd_status report_flows_walk(uint64_t *out_points, const hd_trace *trace, const report_slices *slices,
                            report_flow_found *found, void *user, hd_error *err)
{
    size_t count;
    hd_flow_point *points;
    HD_TRY(hd_flow_points(&points, &count, trace, err));
    *out_points = count = keep_placed(points, count, trace);
    bool *starts = calloc(count + 1, sizeof *starts);
    if (starts) hd_flow_points_join(points, count);
    for (size_t i = 0, next; starts && i < count; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        look_at_flow(points, i, next, starts, found, user);
    }
    hd_status status = starts ? HD_OK : HD_NOMEM(err);
    free(starts);
    if (status == HD_OK && slices) {
        sort_by_track(points, count);
        status = look_at_binding(trace, slices, points, count, found, user, err);
    }
    hd_large_free(points);
    return status;
}
