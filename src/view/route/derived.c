/* derived.c - GET /api/derived: the meaning of a derived slice, and the events it was derived from
 *
 * A device's compute, communication, copies and exposed slices are made of its activities of that kind, ops and scopes
 * of the activities of their stream, within the time of the slice; idle time is between two activities. `of` is the
 * event that ops, scopes, steps and parts of the critical path are named after, or the first of several.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "trace/event.h"
#include "view/derive/derive.h"
#include "view/event/event.h"
#include "view/route/routes_derive.h"
#include "view/route/routes_query.h"

enum { SHOWN = 100, LOOK = 64 };

typedef struct derived_question {
    view_event event; /* scene and trace only */
    const view_track *track;
    view_place place;
    gpu_classes classes;
    uint32_t last_track; /* last requested track of the trace */
    bool last_is_of;
    uint32_t *works; /* indices */
    size_t count, capacity;
    uint32_t before, after; /* of idle time: indices, HD_NONE */
} derived_question;

/* ---- the slice ---- */

static bool find_slice(derived_question *q, uint32_t depth, int64_t start)
{
    view_slice slices[LOOK];
    if (depth >= q->track->rows.count) return false;
    const view_row *row = &q->track->rows.rows[depth];
    uint64_t at = view_row_find(row, q->event.trace, start);
    size_t count = view_row_read(slices, row, q->event.trace, at, LOOK);
    for (size_t i = 0; i < count && slices[i].start_ns <= start; i++) {
        if (slices[i].start_ns != start) continue;
        q->place = (view_place){.track = q->track->id, .depth = depth, .at = at + i, .slice = slices[i]};
        return true;
    }
    return false;
}

static bool has_role(const view_track *track, const char *role)
{
    return strcmp(track->role, role) == 0;
}

/* ---- its works ---- */

/* Whether the track belongs to a track of the trace: in its section, or in the enclosing one. */
static bool is_of(derived_question *q, uint32_t source)
{
    const view_scene *scene = q->event.scene;
    const view_track *track = q->track;
    if (source == q->last_track) return q->last_is_of;
    uint32_t row = view_scene_track_of(scene, source, HD_KIND_SLICE);
    const view_track *stream = row == HD_NONE ? NULL : view_scene_track(scene, row);
    uint32_t around = track->parent == HD_NONE ? HD_NONE : view_scene_track(scene, track->parent)->parent;
    q->last_track = source;
    q->last_is_of = stream && stream->device == track->device &&
                    (stream->parent == track->parent || (around != HD_NONE && stream->parent == around)) &&
                    (track->stream == HD_NO_NUMBER || track->stream == stream->stream);
    return q->last_is_of;
}

static bool is_wanted(derived_question *q, const hd_work *work)
{
    const view_track *track = q->track;
    if (has_role(track, "ops") || has_role(track, "scopes")) return true;
    gpu_class class = gpu_class_of(&q->classes, work);
    if (has_role(track, "compute")) return class == GPU_COMPUTE;
    if (has_role(track, "copy")) return class == GPU_COPY;
    return class == GPU_COMMUNICATION && (has_role(track, "communication") || has_role(track, "exposed"));
}

static void look_beside(derived_question *q, const hd_launches *l, uint32_t i)
{
    const hd_work *work = &l->works[i];
    int64_t end = hd_end_or_last(work->start_ns, work->duration_ns);
    if (end <= q->place.slice.start_ns &&
        (q->before == HD_NONE || end > hd_end_or_last(l->works[q->before].start_ns, l->works[q->before].duration_ns)))
        q->before = i;
    if (work->start_ns >= q->place.slice.end_ns &&
        (q->after == HD_NONE || work->start_ns < l->works[q->after].start_ns))
        q->after = i;
}

static bool find_works(derived_question *q, const hd_launches *l)
{
    const view_slice *slice = &q->place.slice;
    bool idle = has_role(q->track, "idle");
    for (uint32_t i = 0; l && i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        bool inside =
            work->start_ns < slice->end_ns && hd_end_or_last(work->start_ns, work->duration_ns) > slice->start_ns;
        if (idle ? inside : !inside) continue;
        if (!is_of(q, work->track)) continue;
        if (idle) {
            look_beside(q, l, i);
        } else if (is_wanted(q, work)) {
            if (!hd_grow((void **)&q->works, &q->capacity, q->count, sizeof *q->works)) return false;
            q->works[q->count++] = i;
        }
    }
    return true;
}

typedef struct timed_work {
    int64_t start_ns;
    uint32_t work;
} timed_work;

static int by_start(const void *a, const void *b)
{
    const timed_work *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->work > y->work) - (x->work < y->work);
}

static bool sort_works(derived_question *q, const hd_launches *l)
{
    timed_work *list = malloc((q->count + 1) * sizeof *list);
    for (size_t i = 0; list && i < q->count; i++) list[i] = (timed_work){l->works[q->works[i]].start_ns, q->works[i]};
    if (list && q->count) hd_sort(list, q->count, sizeof *list, by_start);
    for (size_t i = 0; list && i < q->count; i++) q->works[i] = list[i].work;
    free(list);
    return list != NULL;
}

/* ---- JSON ---- */

static void put_text(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, text ? strlen(text) : 0});
}

static void put_link(hd_json_out *json, const derived_question *q, const char *key, uint64_t row)
{
    view_json_key(json, key);
    hd_json_put_text(json, "{");
    view_event_slice(json, &q->event, row);
    hd_json_put_text(json, "}");
}

static void put_origin(hd_json_out *json, const derived_question *q, const hd_launches *l)
{
    bool named = has_role(q->track, "ops") || has_role(q->track, "scopes") || has_role(q->track, "steps") ||
                 has_role(q->track, "critical_path");
    if (named && q->place.slice.row < hd_trace_row_count(q->event.trace, HD_KIND_SLICE))
        put_link(json, q, "of", q->place.slice.row);
    if (q->before != HD_NONE) put_link(json, q, "before", l->works[q->before].row);
    if (q->after != HD_NONE) put_link(json, q, "after", l->works[q->after].row);
    view_json_key(json, "works");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < q->count && i < SHOWN; i++) {
        hd_json_put_text(json, i ? ",{" : "{");
        view_event_slice(json, &q->event, l->works[q->works[i]].row);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
    view_json_int(json, "works_count", (int64_t)q->count);
}

static void put_answer(hd_json_out *json, const derived_question *q)
{
    const view_slice *slice = &q->place.slice;
    hd_string name = view_scene_text(q->event.scene, slice->name);
    hd_json_put_text(json, "{");
    view_json_int(json, "track", q->track->id);
    view_json_int(json, "depth", q->place.depth);
    put_text(json, "role", q->track->role);
    view_json_text(json, "name", name);
    view_json_short(json, "short", name);
    view_json_time(json, "start", q->event.scene, slice->start_ns);
    view_json_int(json, "duration", view_length(slice->start_ns, slice->end_ns));
    put_text(json, "how", q->track->detail);
    put_origin(json, q, view_scene_launches(q->event.scene));
    hd_json_put_text(json, "}");
}

hd_status view_route_derived(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    int64_t track, depth, start;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_track(&track, request, scene, err));
    HD_TRY(view_param_int(&depth, request, "depth", 0, UINT32_MAX, err));
    HD_TRY(view_param_time(&start, request, "start", scene, err));
    derived_question q = {.event = {.scene = scene, .trace = view_scene_trace(scene), .track = HD_NONE},
                          .track = view_scene_track(scene, (uint32_t)track),
                          .last_track = HD_NONE,
                          .before = HD_NONE,
                          .after = HD_NONE};
    HD_TRY(view_need_ready(reply, q.track, err));
    if (!q.track->derived || !find_slice(&q, (uint32_t)depth, start)) {
        reply->status = 404;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "start: no derived slice begins there");
    }
    const hd_launches *launches = view_scene_launches(scene);
    bool fine =
        gpu_classes_init(&q.classes, q.event.trace, launches) && find_works(&q, launches) && sort_works(&q, launches);
    if (fine) put_answer(&reply->json, &q);
    gpu_classes_deinit(&q.classes);
    free(q.works);
    return fine ? view_json_done(reply, err) : HD_NOMEM(err);
}
