/* tracks.c - GET /api/tracks: the tracks of a trace in the order in which they are shown */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "view/route/routes_derive.h"

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
        view_json_double(json, "min", series->min);
        view_json_double(json, "max", series->max);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}

/* Contents of a section: all events of the trace below it, and the time from the first to the last. */
typedef struct section_sum {
    uint64_t events;
    int64_t start_ns, end_ns;
} section_sum;

static void add_to_section(section_sum *sum, uint64_t events, int64_t start_ns, int64_t end_ns)
{
    sum->events += events;
    if (start_ns == HD_NO_TIME) return;
    if (sum->start_ns == HD_NO_TIME || start_ns < sum->start_ns) sum->start_ns = start_ns;
    if (sum->end_ns == HD_NO_TIME || end_ns > sum->end_ns) sum->end_ns = end_ns;
}

/* For the tracks [from, until) of the order; later tracks below one of these are visited as well. So all answers
 * together visit each track once, and once more for each section around it. */
static bool sum_sections(section_sum *sums, const view_scene *scene, const uint32_t *order, uint32_t from,
                         uint32_t until, uint32_t count)
{
    struct open {
        uint32_t id, at; /* place in sums; HD_NONE: of a later answer */
        section_sum sum;
    } *open = NULL;
    size_t depth = 0, capacity = 0;
    for (uint32_t i = from;; i++) {
        const view_track *track = i < count ? view_scene_track(scene, order[i]) : NULL;
        while (depth && (!track || open[depth - 1].id != track->parent)) { /* no more tracks are below it */
            struct open *done = &open[--depth];
            const view_track *of = view_scene_track(scene, done->id);
            if (depth) add_to_section(&open[depth - 1].sum, done->sum.events, done->sum.start_ns, done->sum.end_ns);
            if (of->kind == VIEW_SECTION && of->derived) /* other sections show its content, too */
                add_to_section(&done->sum, of->event_count, of->start_ns, of->end_ns);
            if (done->at != HD_NONE) sums[done->at] = done->sum;
        }
        if (!track || (i >= until && !depth)) break;
        if (!hd_grow((void **)&open, &capacity, depth, sizeof *open)) {
            free(open);
            return false;
        }
        struct open *now = &open[depth++];
        *now = (struct open){order[i], i < until ? i - from : HD_NONE, {.start_ns = HD_NO_TIME, .end_ns = HD_NO_TIME}};
        if (track->kind != VIEW_SECTION && !track->derived)
            add_to_section(&now->sum, track->event_count, track->start_ns, track->end_ns);
    }
    free(open);
    return true;
}

static void put_extent(hd_json_out *json, const view_scene *scene, const view_track *track, const section_sum *sum,
                       bool ready)
{
    bool slices = track->kind == VIEW_SLICES, section = track->kind == VIEW_SECTION;
    view_json_int(json, "rows", ready && slices ? (int64_t)track->rows.count : 0);
    put_flag(json, "exact", ready);
    view_json_int(json, "events", (int64_t)(section ? sum->events : track->event_count));
    view_json_int(json, "on_lanes", ready ? (int64_t)track->on_lanes : 0);
    view_json_time(json, "start", scene, section ? sum->start_ns : track->start_ns);
    view_json_time(json, "end", scene, section ? sum->end_ns : track->end_ns);
    if (track->derived && slices) view_json_int(json, "covers", track->busy_ns == HD_NO_TIME ? 0 : track->busy_ns);
    view_json_key(json, "busy");
    if ((ready && track->busy_ns == HD_NO_TIME) || (track->derived && slices))
        hd_json_put_text(json, "null");
    else
        hd_json_put_int(json, track->busy_ns == HD_NO_TIME ? 0 : track->busy_ns);
    if (!track->derived && track->kind != VIEW_SECTION) put_string(json, "events_kind", hd_kind_name(track->events));
}

static void put_track(hd_json_out *json, const view_scene *scene, const view_track *track, const section_sum *sum)
{
    bool ready = atomic_load_explicit(&track->ready, memory_order_acquire) >= (track->kind == VIEW_SECTION ? 2 : 1);
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
    if ((track->derived || ready) && track->detail) put_string(json, "detail", track->detail);
    if (track->derived) put_flag(json, "derived", true);
    put_source(json, view_scene_trace(scene), track);
    put_known(json, "rank", track->rank);
    put_known(json, "device", track->device);
    put_known(json, "stream", track->stream);
    put_extent(json, scene, track, sum, ready);
    if (track->kind == VIEW_COUNTER && ready) put_series(json, scene, track);
    put_flag(json, "collapsed", track->collapsed);
    hd_json_put_text(json, "}");
}

/* json may already have content. */
static void put_tracks(hd_json_out *json, const view_scene *scene, const view_order *order, uint32_t from, uint32_t end,
                       const section_sum *sums)
{
    for (uint32_t i = from; i < end; i++) {
        hd_json_put_text(json, i > from ? ",\n" : "\n");
        put_track(json, scene, view_scene_track(scene, order->ids[i]), &sums[i - from]);
    }
    hd_json_put_text(json, "]");
    if (end < order->count) view_json_int(json, "next", end);
    hd_json_put_text(json, "}");
}

hd_status view_tracks_write(hd_json_out *json, const view_scene *scene, uint32_t from, hd_error *err)
{
    const view_order *order;
    uint32_t revision = view_scene_revision(scene); /* first: later changes have a higher one */
    HD_TRY(view_scene_order(&order, scene, err));
    if (from > order->count) from = order->count;
    uint32_t end = order->count - from > VIEW_TRACKS_TOLD ? from + VIEW_TRACKS_TOLD : order->count;
    section_sum *sums = malloc(((size_t)end - from + 1) * sizeof *sums);
    bool fine = sums && sum_sections(sums, scene, order->ids, from, end, order->count);
    hd_json_put_text(json, "{");
    view_json_int(json, "revision", revision);
    view_json_int(json, "names", view_scene_name_count(scene));
    hd_json_put_text(json, ", \"tracks\": [");
    if (fine) put_tracks(json, scene, order, from, end, sums);
    free(sums);
    view_scene_order_done(order, scene);
    return !fine || json->failed ? HD_NOMEM(err) : HD_OK;
}

hd_status view_route_tracks(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    int64_t from;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_int_or(&from, request, "from", 0, UINT32_MAX, 0, err));
    return view_tracks_write(&reply->json, scene, (uint32_t)from, err);
}
