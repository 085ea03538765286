/* async.c - async slices on tracks of the viewer
 *
 * model/pairing/async.h pairs begins and ends. Unpaired ones are kept: a begin without end extends to the end of the
 * trace; an end without begin and all points between (n, T, p) have length 0. Each process has a track for each name of
 * such slices, in order of first occurrence, at most TRACKS_OF_PROCESS; the rest shares one more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/pairing/async.h"
#include "view/scene/impl.h"

enum { TRACKS_OF_PROCESS = 64 };

typedef struct async_slice {
    view_slice slice;
    uint32_t process, group; /* group: name, then the number of its track */
    uint32_t place;  /* of the group: row of the first slice of that name. (Ids of names differ from run to run.) */
    uint32_t number; /* as points know it */
} async_slice;

typedef struct async_maker {
    view_scene *scene;
    hd_async_point *points;
    size_t point_count;
    uint32_t *slice_of; /* by point */
    async_slice *slices;
    size_t slice_count;
    view_track *tracks;
    size_t track_count, track_capacity;
    uint32_t *track_of; /* [slice number] */
    view_slice *scratch;
} async_maker;

/* ---- slices ---- */

static uint32_t add_slice(async_maker *m, const hd_async_point *p, uint32_t flags)
{
    int64_t end = hd_trace_facts_of(m->scene->trace)->end_ns;
    if (!(flags & VIEW_SLICE_NO_END) || end < p->start_ns) end = p->start_ns;
    m->slices[m->slice_count] = (async_slice){
        .slice = {.start_ns = p->start_ns, .end_ns = end, .name = p->name, .row = p->row, .flags = flags},
        .process = p->process,
        .group = p->name,
        .number = (uint32_t)m->slice_count,
    };
    return (uint32_t)m->slice_count++;
}

static void make_slices(async_maker *m)
{
    for (size_t i = 0; i < m->point_count; i++) {
        const hd_async_point *p = &m->points[i];
        if (hd_async_ends(p) && p->other != HD_NONE) {
            m->slice_of[i] = m->slice_of[p->other];
            view_slice *slice = &m->slices[m->slice_of[i]].slice;
            slice->end_ns = p->start_ns;
            slice->flags = slice->end_ns == slice->start_ns ? VIEW_SLICE_NO_LENGTH : 0;
        } else {
            m->slice_of[i] = add_slice(m, p, hd_async_begins(p) ? VIEW_SLICE_NO_END : VIEW_SLICE_NO_LENGTH);
        }
    }
}

static bool place_groups(async_maker *m)
{
    uint32_t count = hd_trace_string_count(m->scene->trace);
    uint32_t *first = malloc(((size_t)count + 1) * sizeof *first);
    if (!first) return false;
    memset(first, 0xff, ((size_t)count + 1) * sizeof *first);
    for (size_t i = 0; i < m->slice_count; i++) {
        const async_slice *s = &m->slices[i];
        if (s->group < count && s->slice.row < first[s->group]) first[s->group] = s->slice.row;
    }
    for (size_t i = 0; i < m->slice_count; i++)
        m->slices[i].place = first[m->slices[i].group < count ? m->slices[i].group : count];
    free(first);
    return true;
}

static int by_process_group_time(const void *a, const void *b)
{
    const async_slice *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->slice.start_ns != y->slice.start_ns) return x->slice.start_ns < y->slice.start_ns ? -1 : 1;
    if (x->slice.end_ns != y->slice.end_ns) return x->slice.end_ns > y->slice.end_ns ? -1 : 1;
    return (x->slice.row > y->slice.row) - (x->slice.row < y->slice.row);
}

/* Processes with too many names have the rest of them in one group. */
static void limit_groups(async_maker *m)
{
    uint32_t groups = 0;
    for (size_t i = 0; i < m->slice_count; i++) {
        const async_slice *before = i ? &m->slices[i - 1] : NULL;
        bool same_process = before && before->process == m->slices[i].process;
        if (!same_process) groups = 0;
        bool same_group = same_process && before->group == m->slices[i].group;
        if (groups <= TRACKS_OF_PROCESS && (same_group || ++groups <= TRACKS_OF_PROCESS)) continue;
        m->slices[i].group = m->slices[i].place = HD_NONE;
    }
    hd_sort(m->slices, m->slice_count, sizeof *m->slices, by_process_group_time);
}

/* ---- tracks ---- */

static void set_span(view_track *track, const view_slice *slices, size_t count)
{
    int64_t reach = slices[0].start_ns;
    uint64_t busy = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t from = slices[i].start_ns > reach ? slices[i].start_ns : reach;
        if (slices[i].end_ns > from) busy += (uint64_t)slices[i].end_ns - (uint64_t)from;
        if (slices[i].end_ns > reach) reach = slices[i].end_ns;
    }
    int64_t last = slices[count - 1].start_ns;
    track->start_ns = slices[0].start_ns;
    track->end_ns = reach > last ? reach : last;
    track->busy_ns = busy < INT64_MAX ? (int64_t)busy : INT64_MAX;
    track->event_count = count;
}

static hd_status add_track(async_maker *m, const async_slice *slices, size_t count, hd_error *err)
{
    uint64_t crossing;
    uint32_t number = view_scene_track_count(m->scene) + (uint32_t)m->track_count;
    hd_string text = slices->group == HD_NONE ? (hd_string){"other async slices", 18}
                                              : hd_trace_string(m->scene->trace, slices->group);
    if (!hd_grow((void **)&m->tracks, &m->track_capacity, m->track_count, sizeof *m->tracks)) return HD_NOMEM(err);
    view_track *track = &m->tracks[m->track_count++];
    *track = (view_track){.parent = scene_section_of(m->scene, slices->process), .kind = VIEW_SLICES, .role = "async"};
    track->source = HD_NONE;
    track->events = HD_KIND_ASYNC;
    track->rank = track->device = track->stream = HD_NO_NUMBER;
    track->order = VIEW_ORDER_ASYNC + (int64_t)m->track_count;
    if (text.size == 0) text = (hd_string){"async", 5};
    track->name = malloc(text.size + 1);
    if (!track->name) return HD_NOMEM(err);
    memcpy(track->name, text.data, text.size);
    track->name[text.size] = '\0';
    track->name_size = text.size;
    for (size_t i = 0; i < count; i++) {
        m->scratch[i] = slices[i].slice;
        m->track_of[slices[i].number] = number;
    }
    set_span(track, m->scratch, count);
    HD_TRY(view_rows_lay_out(&track->rows, &crossing, m->scratch, count, err));
    track->on_lanes = crossing;
    return HD_OK;
}

static hd_status make_tracks(async_maker *m, hd_error *err)
{
    for (size_t i = 0, next; i < m->slice_count; i = next) {
        const async_slice *s = &m->slices[i];
        for (next = i + 1;
             next < m->slice_count && m->slices[next].process == s->process && m->slices[next].group == s->group;)
            next++;
        HD_TRY(add_track(m, s, next - i, err));
    }
    return HD_OK;
}

static hd_status publish(async_maker *m, hd_error *err)
{
    size_t rows = (size_t)hd_trace_row_count(m->scene->trace, HD_KIND_ASYNC);
    uint32_t *event_tracks = malloc(rows * sizeof *event_tracks);
    if (!event_tracks) return HD_NOMEM(err);
    for (size_t i = 0; i < rows; i++) event_tracks[i] = HD_NONE;
    for (size_t i = 0; i < m->point_count; i++) event_tracks[m->points[i].row] = m->track_of[m->slice_of[i]];
    hd_status status = view_scene_add(m->scene, m->tracks, m->track_count, err);
    m->track_count = 0;
    if (status == HD_OK)
        atomic_store(&m->scene->event_tracks[HD_KIND_ASYNC], event_tracks);
    else
        free(event_tracks);
    return status;
}

static hd_status make_async(async_maker *m, size_t rows, hd_error *err)
{
    HD_TRY(hd_async_points(&m->points, &m->point_count, m->scene->trace, err));
    m->slice_of = malloc(rows * sizeof *m->slice_of);
    m->slices = malloc(rows * sizeof *m->slices);
    m->track_of = malloc(rows * sizeof *m->track_of);
    m->scratch = malloc(rows * sizeof *m->scratch);
    if (!m->slice_of || !m->slices || !m->track_of || !m->scratch) return HD_NOMEM(err);
    make_slices(m);
    if (!place_groups(m)) return HD_NOMEM(err);
    hd_sort(m->slices, m->slice_count, sizeof *m->slices, by_process_group_time);
    limit_groups(m);
    HD_TRY(make_tracks(m, err));
    return publish(m, err);
}

hd_status scene_add_async(view_scene *scene, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(scene->trace, HD_KIND_ASYNC);
    async_maker m = {.scene = scene};
    if (rows == 0) return HD_OK;
    hd_status status = make_async(&m, (size_t)rows, err);
    for (size_t i = 0; i < m.track_count; i++) view_track_deinit(&m.tracks[i]);
    free(m.tracks);
    hd_large_free(m.points);
    free(m.slice_of);
    free(m.slices);
    free(m.track_of);
    free(m.scratch);
    return status;
}
