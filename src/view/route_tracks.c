/* route_tracks.c - GET /api/tracks: the tracks of a trace in the order in which they are shown */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/routes_derive.h"

static const char *kind_text(view_track_kind kind)
{
    switch (kind) {
    case VIEW_SECTION: return "section";
    case VIEW_COUNTER: return "counter";
    default: return "slices";
    }
}

static void put_string(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, strlen(text)});
}

static void put_flag(hd_json_out *json, const char *key, bool value)
{
    view_json_key(json, key);
    hd_json_put_text(json, value ? "true" : "false");
}

static void put_known(hd_json_out *json, const char *key, int64_t value)
{
    if (value != HD_NO_NUMBER) view_json_int(json, key, value);
}

/* JSON has no NaN and no infinity. */
static void put_number(hd_json_out *json, const char *key, double value)
{
    char text[40];
    view_json_key(json, key);
    snprintf(text, sizeof text, "%.17g", value);
    hd_json_put_text(json, isfinite(value) ? text : "null");
}

static void put_ident(hd_json_out *json, const char *key, const hd_trace *trace, hd_ident ident)
{
    if (ident.type != HD_IDENT_NONE) view_json_text(json, key, hd_trace_string(trace, ident.text));
}

static void put_source(hd_json_out *json, const hd_trace *trace, const view_track *track)
{
    if (track->source == HD_NONE || track->source >= hd_trace_track_count(trace)) return;
    const hd_track *source = hd_trace_track_at(trace, track->source);
    put_ident(json, "pid", trace, source->pid);
    put_ident(json, "tid", trace, source->tid);
}

static void put_series(hd_json_out *json, const view_scene *scene, const view_track *track)
{
    view_json_key(json, "series");
    hd_json_put_text(json, "[");
    for (uint32_t i = 0; i < track->series_count; i++) {
        const view_series *series = &track->series[i];
        hd_json_put_text(json, i ? ", {" : "{");
        view_json_text(json, "name", view_scene_text(scene, series->name));
        put_string(json, "unit", series->unit ? series->unit : "");
        put_number(json, "min", series->min);
        put_number(json, "max", series->max);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}

static void put_extent(hd_json_out *json, const view_scene *scene, const view_track *track, bool ready)
{
    bool slices = track->kind == VIEW_SLICES;
    view_json_int(json, "rows", ready && slices ? (int64_t)track->rows.count : 0);
    put_flag(json, "exact", ready);
    view_json_int(json, "events", (int64_t)track->event_count);
    view_json_int(json, "on_lanes", ready ? (int64_t)track->on_lanes : 0);
    view_json_time(json, "start", scene, track->start_ns);
    view_json_time(json, "end", scene, track->end_ns);
    view_json_int(json, "busy", track->busy_ns == HD_NO_TIME ? 0 : track->busy_ns);
    if (!track->derived && track->kind != VIEW_SECTION) put_string(json, "events_kind", hd_kind_name(track->events));
}

static void put_track(hd_json_out *json, const view_scene *scene, const view_track *track)
{
    bool ready = atomic_load_explicit(&track->ready, memory_order_acquire);
    hd_json_put_text(json, "{");
    view_json_int(json, "id", track->id);
    view_json_key(json, "parent");
    if (track->parent == HD_NONE)
        hd_json_put_text(json, "null");
    else
        hd_json_put_int(json, track->parent);
    put_string(json, "kind", kind_text(track->kind));
    put_string(json, "role", track->role);
    view_json_text(json, "name", (hd_string){track->name, track->name_size});
    if (track->detail) put_string(json, "detail", track->detail);
    if (track->derived) put_flag(json, "derived", true);
    put_source(json, view_scene_trace(scene), track);
    put_known(json, "rank", track->rank);
    put_known(json, "device", track->device);
    put_known(json, "stream", track->stream);
    put_extent(json, scene, track, ready);
    if (track->kind == VIEW_COUNTER && ready) put_series(json, scene, track);
    put_flag(json, "collapsed", track->collapsed);
    hd_json_put_text(json, "}");
}

hd_status view_tracks_write(hd_json_out *json, const view_scene *scene, hd_error *err)
{
    uint32_t revision = view_scene_revision(scene); /* first: what comes later has a higher one */
    uint32_t count = view_scene_track_count(scene);
    uint32_t *order = malloc(((size_t)count + 1) * sizeof *order);
    if (!order) return HD_NOMEM(err);
    count = view_scene_order(scene, order, count);
    hd_json_put_text(json, "{");
    view_json_int(json, "revision", revision);
    view_json_int(json, "names", view_scene_name_count(scene));
    hd_json_put_text(json, ", \"tracks\": [");
    for (uint32_t i = 0; i < count; i++) {
        hd_json_put_text(json, i ? ",\n" : "\n");
        put_track(json, scene, view_scene_track(scene, order[i]));
    }
    hd_json_put_text(json, "]}");
    free(order);
    return json->failed ? HD_NOMEM(err) : HD_OK;
}

hd_status view_route_tracks(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    return view_tracks_write(&reply->json, scene, err);
}
