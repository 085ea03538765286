/* flows.c - activities without a matching id: by the flow that ends at them
 *
 * An end is bound among the activities of its lane only, since annotations may be around them; most traces have no such
 * end whose activity lacks a launch, and then nothing else is read. The start of its flow is bound among all slices.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "model/flows/index.h"
#include "model/launches/impl.h"
#include "trace/event.h"

/* A flow that ends at a work without a launch. */
typedef struct link {
    uint32_t row; /* of the slice where it starts; before that is known, of the point that starts it */
    uint32_t work;
} link;

typedef struct flow_joiner {
    launch_finder *f;
    hd_flow_point *points;
    size_t point_count;
    link *links;
    size_t link_count, link_capacity;
} flow_joiner;

static uint32_t lane_of(const hd_trace *trace, uint32_t track)
{
    uint32_t count = hd_trace_track_count(trace);
    if (track >= count) return HD_NONE;
    uint32_t lane = hd_trace_track_at(trace, track)->same_as;
    return lane < count ? lane : track;
}

/* ---- ends ---- */

/* Lanes with work that lacks a launch; *out_any is whether there is any. NULL: no memory. */
static bool *open_lanes(bool *out_any, const launch_finder *f)
{
    bool *lanes = calloc((size_t)hd_trace_track_count(f->trace) + 1, sizeof *lanes);
    *out_any = false;
    for (size_t i = 0; lanes && i < f->work_count; i++) {
        uint32_t lane = f->works[i].launch == HD_NONE ? lane_of(f->trace, f->works[i].track) : HD_NONE;
        if (lane == HD_NONE) continue;
        lanes[lane] = *out_any = true;
    }
    return lanes;
}

/* The activities of those lanes as slices, and their indices; *out_count of them. false: no memory. */
static bool list_works(hd_lane_slice **out, uint32_t **out_works, uint32_t *out_count, const launch_finder *f,
                       const bool *lanes)
{
    uint32_t count = 0;
    hd_lane_slice *slices = hd_large_new(f->work_count + 1, sizeof *slices, f->large);
    uint32_t *works = hd_large_new(f->work_count + 1, sizeof *works, f->large);
    for (size_t i = 0; slices && works && i < f->work_count; i++) {
        const hd_work *work = &f->works[i];
        uint32_t lane = lane_of(f->trace, work->track);
        if (lane == HD_NONE || !lanes[lane]) continue;
        int64_t end = hd_end_or_last(work->start_ns, work->duration_ns);
        slices[count] = (hd_lane_slice){.start = work->start_ns, .end = end, .lane = lane};
        works[count++] = (uint32_t)i;
    }
    *out = slices;
    *out_works = works;
    *out_count = count;
    return slices && works;
}

/* Only ends that came before their start have a later source point, and that is a start. */
uint32_t *launches_find_starts(const hd_flow_point *points, size_t count, uint64_t large)
{
    uint32_t *starts = hd_large_new(count + 1, sizeof *starts, large);
    for (uint32_t i = 0; starts && i < count; i++) {
        uint32_t from = points[i].from;
        starts[i] = from == HD_NONE ? (points[i].phase == 's' ? i : HD_NONE) : from > i ? from : starts[from];
    }
    return starts;
}

/* The work without a launch that a point is bound to as an end; HD_NONE: none. */
static uint32_t work_of(const flow_joiner *j, const hd_flow_point *point, const bool *lanes, const hd_bind_index *index,
                        const uint32_t *works)
{
    uint32_t lane = point->phase == 's' ? HD_NONE : lane_of(j->f->trace, point->track);
    if (lane == HD_NONE || !lanes[lane]) return HD_NONE;
    uint32_t slice = hd_bind_find(index, lane, point->start_ns, point->encloses);
    return slice == UINT32_MAX || j->f->works[works[slice]].launch != HD_NONE ? HD_NONE : works[slice];
}

/* Points are joined only if there is one to be linked. */
static bool link_ends(flow_joiner *j, const bool *lanes, const hd_bind_index *index, const uint32_t *works)
{
    size_t first = 0;
    while (first < j->point_count && work_of(j, &j->points[first], lanes, index, works) == HD_NONE) first++;
    if (first == j->point_count) return true;
    hd_flow_points_join(j->points, j->point_count);
    uint32_t *starts = launches_find_starts(j->points, j->point_count, j->f->large);
    bool fine = starts != NULL;
    for (size_t i = 0; fine && i < j->point_count; i++) {
        uint32_t work = starts[i] == HD_NONE ? HD_NONE : work_of(j, &j->points[i], lanes, index, works);
        if (work == HD_NONE) continue;
        fine = hd_large_grow((void **)&j->links, &j->link_capacity, j->link_count, sizeof *j->links, j->f->large);
        if (fine) j->links[j->link_count++] = (link){j->points[starts[i]].row, work};
    }
    hd_large_free(starts);
    return fine;
}

static hd_status find_ends(flow_joiner *j, const bool *lanes, hd_error *err)
{
    hd_bind_index index = {0};
    hd_lane_slice *slices = NULL;
    uint32_t *works = NULL, count = 0;
    HD_TRY(hd_flow_points(&j->points, &j->point_count, j->f->trace, err));
    bool fine = list_works(&slices, &works, &count, j->f, lanes);
    hd_status status =
        fine ? hd_bind_index_init(&index, slices, count, hd_trace_track_count(j->f->trace), j->f->large, err)
             : HD_NOMEM(err);
    if (status == HD_OK && !link_ends(j, lanes, &index, works)) status = HD_NOMEM(err);
    hd_bind_index_deinit(&index);
    hd_large_free(slices);
    hd_large_free(works);
    return status;
}

/* ---- starts ---- */

static int by_row(const void *a, const void *b)
{
    const link *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

/* The call of a slice among the gathered ones; HD_NONE: none of them. */
static uint32_t find_call(const launch_finder *f, size_t count, uint32_t row)
{
    size_t low = 0, high = count;
    HD_PARTITION_POINT(low, high, at, f->calls[at].row < row);
    return low < count && f->calls[low].row == row ? f->calls[low].outer : HD_NONE;
}

static bool is_work(const launch_finder *f, uint64_t row)
{
    size_t low = 0, high = f->work_count;
    HD_PARTITION_POINT(low, high, at, f->works[at].row < row);
    return low < f->work_count && f->works[low].row == row;
}

uint32_t launches_make_call(bool *out_fine, launch_finder *f, uint64_t row)
{
    hd_event event = hd_event_at(f->trace, HD_KIND_SLICE, row);
    hd_role role = hd_roles_at(&f->roles, event.category, event.name, event.track);
    if (is_work(f, row) || role == HD_ROLE_SYNC || role == HD_ROLE_GPU_ANNOTATION || event.start_ns == HD_NO_TIME)
        return HD_NONE;
    *out_fine = f->call_count < HD_NONE - 1 &&
                hd_large_grow((void **)&f->calls, &f->call_capacity, f->call_count, sizeof *f->calls, f->large);
    if (!*out_fine) return HD_NONE;
    uint32_t call = (uint32_t)f->call_count++;
    f->calls[call] = (launch_call){
        .row = row,
        .start_ns = event.start_ns,
        .duration_ns = event.duration_ns > 0 ? event.duration_ns : 0,
        .track = event.track,
        .name = event.name,
        .outer = call,
        .place = HD_NONE,
        .sort = (uint8_t)hd_launch_sort_of(hd_trace_string(f->trace, event.name)),
    };
    return call;
}

/* Of several flows to an activity the one from a runtime call counts, then the one that started last. */
static bool is_better(const launch_finder *f, size_t call_count, uint32_t call, uint32_t than)
{
    bool is_call = call < call_count, was_call = than < call_count;
    if (is_call != was_call) return is_call;
    return f->calls[call].start_ns > f->calls[than].start_ns;
}

static bool link_starts(flow_joiner *j, const uint32_t *bound)
{
    launch_finder *f = j->f;
    size_t gathered = f->call_count;
    uint32_t call = HD_NONE;
    for (size_t i = 0; i < j->link_count; i++) j->links[i].row = bound[j->links[i].row];
    bool fine = hd_large_sort(j->links, j->link_count, sizeof *j->links, by_row, f->large);
    for (size_t i = 0; fine && i < j->link_count; i++) {
        const link *l = &j->links[i];
        if (l->row == UINT32_MAX) break;
        if (i == 0 || l->row != l[-1].row) {
            call = find_call(f, gathered, l->row);
            if (call == HD_NONE) call = launches_make_call(&fine, f, l->row);
        }
        uint32_t *launch = &f->works[l->work].launch;
        if (call != HD_NONE && (*launch == HD_NONE || is_better(f, gathered, call, *launch))) *launch = call;
    }
    for (size_t i = 0; i < j->link_count; i++) {
        uint32_t launch = f->works[j->links[i].work].launch;
        if (launch != HD_NONE) f->calls[launch].is_needed = true;
    }
    return fine;
}

hd_status launches_join_flows(launch_finder *f, hd_error *err)
{
    flow_joiner j = {.f = f};
    uint32_t *bound = NULL;
    bool any;
    if (!hd_trace_has_flows(f->trace)) return HD_OK;
    bool *lanes = open_lanes(&any, f);
    hd_status status = lanes ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && any) status = find_ends(&j, lanes, err);
    if (status == HD_OK && j.link_count) {
        status = hd_flows_bind(&bound, f->trace, err);
        if (status == HD_OK && !link_starts(&j, bound)) status = HD_NOMEM(err);
    }
    hd_large_free(bound);
    free(lanes);
    hd_large_free(j.points);
    hd_large_free(j.links);
    return status;
}
