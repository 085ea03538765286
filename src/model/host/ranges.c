/* ranges.c - ranges of threads, of processes, and marks, in one list */
#include "model/host/ranges.h"
#include "trace/event.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/identity/process.h"
#include "model/pairing/async.h"
#include "model/roles/trace_roles.h"
#include "model/steps/steps.h"
#include "trace/lazy.h"

uint32_t gpu_process_lane(const gpu_scope *s, uint32_t track)
{
    return hd_trace_track_count(s->trace) + hd_process_of(s->trace, track);
}

typedef struct collector {
    gpu_scope *s;
    gpu_ranges *out;
    size_t capacity;
    hd_roles roles;
    bool any_started; /* async slices */
} collector;

static bool add(collector *c, const gpu_range *range)
{
    gpu_ranges *out = c->out;
    if (!hd_large_grow((void **)&out->list, &c->capacity, out->count, sizeof *out->list, c->s->large)) return false;
    out->list[out->count++] = *range;
    return true;
}

static bool is_wanted(collector *c, uint32_t category, uint32_t name, uint32_t track)
{
    return track < hd_trace_track_count(c->s->trace) && c->s->has_rank[track] &&
           hd_roles_at(&c->roles, category, name, track) == HD_ROLE_ANNOTATION;
}

/* By lane: launches are made there, so that it is a thread's. NULL: no memory. */
static bool *find_launching(const gpu_scope *s)
{
    bool *out = calloc((size_t)hd_trace_track_count(s->trace) + 1, sizeof *out);
    for (size_t i = 0; out && i < s->launches->launch_count; i++) {
        uint32_t lane = gpu_lane_of(s->trace, s->launches->launches[i].track);
        if (lane != HD_NONE) out[lane] = true;
    }
    return out;
}

/* A track without a thread number represents a started and ended range, as in Perfetto's format. */
static bool add_slices(collector *c)
{
    const gpu_slices *slices = &c->s->annotations;
    bool *launching = find_launching(c->s), fine = launching != NULL;
    for (size_t i = 0; fine && i < slices->count; i++) {
        const gpu_slice *a = &slices->list[i];
        bool is_thread = launching[a->lane] || hd_trace_track_at(c->s->trace, a->lane)->tid.type == HD_IDENT_NUMBER;
        uint32_t lane = is_thread ? a->lane : gpu_process_lane(c->s, a->lane);
        c->out->any_of_process |= !is_thread;
        fine = add(c, &(gpu_range){a->start, a->end, a->name, a->lane, lane, a->row, false});
    }
    free(launching);
    return fine;
}

/* Calls for each annotation of a kind that has a time; false: no memory. */
static bool each_annotation(collector *c, hd_kind kind, bool (*found)(collector *, const hd_event *))
{
    for (size_t b = 0; b < hd_trace_block_count(c->s->trace, kind); b++) {
        const hd_block *block = hd_trace_columns_at(c->s->trace, kind, b);
        const hd_column *columns = block->columns;
        for (uint32_t i = 0; i < block->row_count; i++) {
            uint32_t category = (uint32_t)hd_column_at(&columns[HD_COL_CATEGORY], i);
            uint32_t name = (uint32_t)hd_column_at(&columns[HD_COL_NAME], i);
            if (hd_column_at(&columns[HD_COL_START], i) == HD_NO_TIME ||
                !is_wanted(c, category, name, (uint32_t)hd_column_at(&columns[HD_COL_TRACK], i)))
                continue;
            hd_event event = hd_event_at(c->s->trace, kind, block->first_row + i);
            if (!found(c, &event)) return false;
        }
    }
    return true;
}

static bool add_mark(collector *c, const hd_event *event)
{
    int64_t at = gpu_time(event->start_ns);
    const gpu_range range = {
        at, at, event->name, event->track, gpu_lane_of(c->s->trace, event->track), (uint32_t)event->row, true};
    return add(c, &range);
}

static bool note_any(collector *c, const hd_event *event)
{
    (void)event;
    c->any_started = true;
    return true;
}

static hd_status add_started(collector *c, hd_error *err)
{
    hd_async_point *points;
    size_t count;
    bool fine = each_annotation(c, HD_KIND_ASYNC, note_any);
    if (!c->any_started) return fine ? HD_OK : HD_NOMEM(err);
    c->out->any_of_process = true;
    HD_TRY(hd_async_points(&points, &count, c->s->trace, err));
    for (size_t i = 0; fine && i < count; i++) {
        const hd_async_point *p = &points[i];
        if (!hd_async_begins(p) || p->other == HD_NONE || !is_wanted(c, p->category, p->name, p->track)) continue;
        const gpu_range range = {gpu_time(p->start_ns),
                                 gpu_time(points[p->other].start_ns),
                                 p->name,
                                 p->track,
                                 gpu_process_lane(c->s, p->track),
                                 p->row,
                                 false};
        fine = add(c, &range);
    }
    hd_large_free(points);
    return fine ? HD_OK : HD_NOMEM(err);
}

static bool sort(gpu_ranges *out, uint64_t large)
{
    gpu_range *spare = hd_large_new(out->count + 1, sizeof *spare, large);
    if (!spare) return false;
    HD_SORT_RUNS(out->list, spare, out->count, x, y,
                 x->lane != y->lane     ? x->lane < y->lane
                 : x->start != y->start ? x->start < y->start
                 : x->end != y->end     ? x->end > y->end
                                        : x->row < y->row);
    hd_large_free(spare);
    return true;
}

hd_status gpu_ranges_init(gpu_ranges *out, gpu_scope *s, hd_error *err)
{
    collector c = {.s = s, .out = out};
    *out = (gpu_ranges){0};
    HD_TRY(gpu_annotations(s, err));
    bool fine = hd_roles_init(&c.roles, s->trace) && add_slices(&c) && each_annotation(&c, HD_KIND_INSTANT, add_mark);
    hd_status status = fine ? add_started(&c, err) : HD_NOMEM(err);
    hd_roles_deinit(&c.roles);
    return status == HD_OK && out->count && !sort(out, s->large) ? HD_NOMEM(err) : status;
}

void gpu_ranges_deinit(gpu_ranges *ranges)
{
    hd_large_free(ranges->list);
    *ranges = (gpu_ranges){0};
}
