/* event.c - GET /api/event: all data of one event; POST /api/lines: tracks of source lines that skip folders */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "heddle/names.h"
#include "trace/event.h"
#include "view/event/event.h"
#include "view/queries/queries.h"
#include "view/route/routes_query.h"
#include "view/session/session.h"

enum { SKIP_BYTES = 1024 };

static void put_names(hd_json_out *json, const view_event *e)
{
    char text[HD_NAME_BYTES];
    hd_string name = hd_trace_string(e->trace, e->event.name);
    view_json_text(json, "name", name);
    view_json_short(json, "short", name);
    hd_string plain = hd_name_plain(name);
    size_t size = hd_name_demangle(text, plain);
    if (plain.size > 2 && memcmp(plain.data, "_Z", 2) == 0) view_json_text(json, "demangled", (hd_string){text, size});
    view_json_text(json, "category", hd_trace_string(e->trace, e->event.category));
}

/* Durations of async slices are those of their place: a point has none. */
static void put_times(hd_json_out *json, const view_event *e)
{
    const hd_event *event = &e->event;
    view_json_time(json, "start", e->scene, event->start_ns);
    view_json_key(json, "duration");
    if (event->duration_ns >= 0)
        hd_json_put_int(json, event->duration_ns);
    else if (event->kind == HD_KIND_ASYNC && e->has_place && !(e->place.slice.flags & VIEW_SLICE_NO_END))
        hd_json_put_int(json, view_length(e->place.slice.start_ns, e->place.slice.end_ns));
    else
        hd_json_put_text(json, "null");
    if (event->start_ps) view_json_int(json, "start_ps", event->start_ps);
    if (event->end_ps) view_json_int(json, "end_ps", event->end_ps);
}

static hd_status put_event(hd_json_out *json, const view_event *e, hd_error *err)
{
    const char *kind = hd_kind_name(e->event.kind);
    hd_json_put_text(json, "{");
    view_json_text(json, "kind", (hd_string){kind, strlen(kind)});
    view_json_int(json, "row", (int64_t)e->event.row);
    if (e->track != HD_NONE) view_json_int(json, "track", e->track);
    if (e->has_place) view_json_int(json, "depth", e->place.depth);
    put_names(json, e);
    put_times(json, e);
    if (e->event.phase) view_json_text(json, "phase", (hd_string){&e->event.phase, 1});
    view_event_args(json, e);
    view_event_numbers(json, e);
    HD_TRY(view_event_stack(json, e, err));
    HD_TRY(view_event_links(json, e, err));
    if (hd_trace_facts_of(e->trace)->has_sources) view_json_int(json, "offset", (int64_t)e->event.source_offset);
    hd_json_put_text(json, "}");
    return HD_OK;
}

static hd_status read_skip(const char **out, const view_request *request, hd_error *err)
{
    const char *skip = view_param_text(request, "skip");
    *out = skip ? skip : "";
    if (strlen(*out) <= SKIP_BYTES) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "skip: more than %d bytes", SKIP_BYTES);
}

hd_status view_route_lines(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    const char *skip;
    view_table_tracks tracks = {0};
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(read_skip(&skip, request, err));
    if (!*skip) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "skip: names no folder");
    HD_TRY(view_need_laid_out(reply, scene, err));
    view_queries *queries = view_scene_queries(scene);
    char question[SKIP_BYTES + 16]; /* without a line there is no track to find */
    snprintf(question, sizeof question, "lines skipping %s", skip);
    if (view_queries_recall(&reply->json, queries, VIEW_KEPT_LONG, question)) return view_json_done(reply, err);
    pthread_mutex_lock(&queries->lock_tables);
    uint32_t before = view_scene_track_count(scene);
    hd_status status = view_derive_lines_skipping(&tracks, scene, skip, err);
    bool made = view_scene_track_count(scene) > before;
    pthread_mutex_unlock(&queries->lock_tables);
    if (made) view_session_tell(request->session);
    if (status == HD_OK) view_json_made_tracks(&reply->json, &tracks);
    if (status == HD_OK && !tracks.count) view_queries_keep(queries, VIEW_KEPT_LONG, question, &reply->json);
    free(tracks.ids);
    return status == HD_OK ? view_json_done(reply, err) : status;
}

hd_status view_route_event(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    hd_kind kind;
    int64_t row;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_kind(&kind, request, "kind", err));
    HD_TRY(view_param_int(&row, request, "row", 0, INT64_MAX, err));
    view_event e = {.scene = scene, .trace = view_scene_trace(scene), .track = HD_NONE};
    uint64_t rows = hd_trace_row_count(e.trace, kind);
    if ((uint64_t)row >= rows) {
        reply->status = 404;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "row: there is no %s %lld; the trace has %llu of them, from 0", hd_kind_name(kind),
                            (long long)row, (unsigned long long)rows);
    }
    HD_TRY(read_skip(&e.skip, request, err));
    e.event = hd_event_at(e.trace, kind, (uint64_t)row);
    e.track = view_scene_track_of_event(scene, kind, (uint64_t)row);
    e.has_place = view_place_of(&e.place, scene, kind, (uint64_t)row);
    view_event_find_launch(&e);
    HD_TRY(put_event(&reply->json, &e, err));
    return view_json_done(reply, err);
}
