/* check_flows.c - flows that lack an end, run backward, or bind to no slice
 *
 * Flows     by (category, id, name), in the order of time: s starts one, t and f need one that is started; ends of one
 *           start may be several, as with CUDA graphs. Ends before the start of a flow that has no others run backward.
 * Binding   s and t, and f with bp:"e", to a slice around them, its end included; other f to the next slice. It must
 *           stand on the same track, with pid and tid of the same type: viewers part 7 and "7".
 */
#include <stdlib.h>

#include "base/error.h"
#include "report/check.h"
#include "trace/flow_bind.h"

static void found(check *c, check_code code, const hd_flow_point *point)
{
    check_found(c, code, point->track, CHECK_EVENT(HD_KIND_FLOW, point->row));
}

static int64_t time_of(const check *c, const hd_flow_point *point)
{
    return span_index_time(&c->spans, point->start_ns, point->start_ps);
}

/* ---- flows ----------------------------------------------------------------------------------------------- */

/* The points of one key, joined: ends without a start, ends that lead their start, starts that nothing comes from.
 * `starts` marks the points that something comes from. */
static void check_flow(check *c, const hd_flow_point *points, size_t begin, size_t end, bool *starts)
{
    for (size_t i = begin; i < end; i++) {
        const hd_flow_point *from = points[i].from == HD_NONE ? NULL : &points[points[i].from];
        if (from) starts[points[i].from] = true;
        if (!from && points[i].phase != 's')
            found(c, CHECK_FLOW_WITHOUT_START, &points[i]);
        else if (from && points[i].from > i)
            check_found(c, CHECK_FLOW_BACKWARD, points[i].track,
                        CHECK_PAIR(HD_KIND_FLOW, points[i].row, HD_KIND_FLOW, from->row,
                                   span_index_ns(&c->spans, time_of(c, from) - time_of(c, &points[i]))));
    }
    for (size_t i = begin; i < end; i++) {
        if (points[i].phase == 's' && !starts[i]) found(c, CHECK_FLOW_WITHOUT_END, &points[i]);
    }
}

/* ---- binding --------------------------------------------------------------------------------------------- */

static int by_track(const void *a, const void *b)
{
    const hd_flow_point *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->start_ps != y->start_ps) return x->start_ps < y->start_ps ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static uint32_t track_of_slice(const check *c, uint32_t slice)
{
    uint32_t row;
    const hd_block *block = hd_trace_block_of(c->trace, HD_KIND_SLICE, slice, &row);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
}

/* Walks the slices of a track in the order of time; of its lane only those that are its own. */
typedef struct track_walk {
    const check *c;
    const slice_span *spans;
    uint64_t count, next;
    uint32_t track;
    bool shared; /* the lane has slices of other tracks */
    int64_t latest_start, latest_end;
} track_walk;

static track_walk walk_track(const check *c, uint32_t id)
{
    const hd_track *track = hd_trace_track_at(c->trace, id);
    track_walk walk = {.c = c, .track = id, .latest_start = INT64_MIN, .latest_end = INT64_MIN};
    walk.spans = span_index_lane(&c->spans, track->same_as, &walk.count);
    walk.shared = walk.count > 0 && track->rows[HD_KIND_SLICE] < walk.count;
    if (track->rows[HD_KIND_SLICE] == 0) walk.count = 0;
    return walk;
}

static bool is_own(const track_walk *walk, uint64_t index)
{
    return !walk->shared || track_of_slice(walk->c, walk->spans[index].row) == walk->track;
}

static bool is_bound(track_walk *walk, const hd_flow_point *point)
{
    int64_t time = time_of(walk->c, point);
    for (; walk->next < walk->count && walk->spans[walk->next].start <= time; walk->next++) {
        if (!is_own(walk, walk->next)) continue;
        walk->latest_start = walk->spans[walk->next].start;
        if (walk->spans[walk->next].end > walk->latest_end) walk->latest_end = walk->spans[walk->next].end;
    }
    if (point->encloses) return walk->latest_end >= time;
    if (walk->latest_start == time) return true;
    while (walk->next < walk->count && !is_own(walk, walk->next)) walk->next++;
    return walk->next < walk->count;
}

static void check_binding(check *c, const hd_flow_point *points, size_t count)
{
    track_walk walk = {0};
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || points[i].track != points[i - 1].track) walk = walk_track(c, points[i].track);
        if (!is_bound(&walk, &points[i])) found(c, CHECK_FLOW_UNBOUND, &points[i]);
    }
}

/* Points that stand on a track. */
static size_t keep_placed(hd_flow_point *points, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].track != HD_NONE) points[kept++] = points[i];
    }
    return kept;
}

hd_status check_flows(check *c, hd_error *err)
{
    size_t count;
    hd_flow_point *points;
    HD_TRY(hd_flow_points(&points, &count, c->trace, err));
    count = keep_placed(points, count);
    bool *starts = calloc(count + 1, sizeof *starts);
    if (starts) hd_flow_points_join(points, count);
    for (size_t i = 0, next; starts && i < count; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        check_flow(c, points, i, next, starts);
    }
    if (starts && check_wants(c, CHECK_FLOW_UNBOUND)) {
        qsort(points, count, sizeof *points, by_track);
        check_binding(c, points, count);
    }
    hd_status status = starts ? HD_OK : HD_NOMEM(err);
    free(starts);
    free(points);
    return status;
}
