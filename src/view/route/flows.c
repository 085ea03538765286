/* flows.c - GET /api/flows: lines to draw: of an event, of a category, or all that touch a range
 *
 * The count is exact. Beyond the limit every n-th is returned, in the order of the slices they begin at, so that the
 * returned ones are distributed like all lines.
 */
#include <stdlib.h>

#include "base/error.h"
#include "trace/lazy.h"
#include "view/queries/flows.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"

enum { LINES = 2000, MOST_LINES = 20000, LOOK_UP = 65535 };

static const char launch_category[] = "launch";

typedef struct line_filter {
    view_scene *scene;
    const hd_trace *trace;
    const view_flows *flows;
    int64_t from, until, limit;
    bool has_range, all;
    int64_t row;          /* below 0: any */
    const char *category; /* NULL: any */
    uint32_t category_id; /* of the trace, HD_NONE: it has none */
    bool launches;        /* the category is that of launches */
    uint8_t *tracks;      /* by track of the trace, NULL: any */
} line_filter;

static uint32_t track_of(const hd_trace *trace, uint32_t slice)
{
    uint32_t at;
    const hd_block *block = hd_trace_columns_of(&at, trace, HD_KIND_SLICE, slice);
    return (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], at);
}

static bool on_tracks(const line_filter *f, uint32_t slice)
{
    uint32_t track = track_of(f->trace, slice);
    return track < hd_trace_track_count(f->trace) && f->tracks[track];
}

static bool passes(const line_filter *f, const view_line *line)
{
    if (f->row >= 0 && line->from != f->row && line->to != f->row) return false;
    int64_t first = line->from_ns < line->to_ns ? line->from_ns : line->to_ns;
    int64_t last = line->from_ns < line->to_ns ? line->to_ns : line->from_ns;
    if (f->has_range && (first >= f->until || last < f->from)) return false;
    if (f->category) {
        bool same = line->from_flow == HD_NONE
                        ? f->launches
                        : f->category_id != HD_NONE && view_line_category(line, f->trace) == f->category_id;
        if (!same) return false;
    }
    return !f->tracks || on_tracks(f, line->from) || on_tracks(f, line->to);
}

/* ---- JSON ---- */

static int64_t start_of(const hd_trace *trace, uint32_t slice)
{
    uint32_t at;
    const hd_block *block = hd_trace_columns_of(&at, trace, HD_KIND_SLICE, slice);
    return hd_column_at(&block->columns[HD_COL_START], at);
}

/* `track,depth,time` of an end; the time is within the slice. A slice whose track is not laid out yet has depth 0. */
static void put_end(hd_json_out *json, const line_filter *f, uint32_t slice, int64_t time_ns)
{
    view_place place = {0};
    uint32_t track = view_scene_track_of_event(f->scene, HD_KIND_SLICE, slice);
    if (view_place_on(&place, f->scene, track, slice, start_of(f->trace, slice))) {
        if (time_ns < place.slice.start_ns) time_ns = place.slice.start_ns;
        if (time_ns > place.slice.end_ns) time_ns = place.slice.end_ns;
    }
    hd_json_put_int(json, track);
    hd_json_put_text(json, ",");
    hd_json_put_int(json, place.depth);
    hd_json_put_text(json, ",");
    hd_json_put_int(json, view_length(view_scene_start(f->scene), time_ns));
}

static void put_line(hd_json_out *json, const line_filter *f, const view_line *line)
{
    hd_json_put_text(json, "[");
    put_end(json, f, line->from, line->from_ns);
    hd_json_put_text(json, ",");
    put_end(json, f, line->to, line->to_ns);
    hd_json_put_text(json, view_line_backward(line) ? ",1," : ",0,");
    hd_json_put_int(json, line->from);
    hd_json_put_text(json, ",");
    hd_json_put_int(json, line->to);
    hd_json_put_text(json, "]");
}

/* ---- categories ---- */

/* Of all lines of the trace, not only the requested ones. A trace with more categories than CATEGORIES has the first of
 * them. */
static void put_categories(hd_json_out *json, const line_filter *f)
{
    const view_flow_category *found = f->flows->categories;
    size_t count = f->flows->category_count;
    view_json_key(json, "categories");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < count; i++) {
        hd_string text = found[i].id == HD_NONE ? (hd_string){launch_category, sizeof launch_category - 1}
                                                : hd_trace_string(f->trace, found[i].id);
        hd_json_put_text(json, i ? ",[" : "[");
        hd_json_put_string(json, text.data ? text.data : "", text.size);
        hd_json_put_text(json, ",");
        hd_json_put_int(json, (int64_t)found[i].count);
        hd_json_put_text(json, "]");
    }
    hd_json_put_text(json, "]");
}

/* ---- the route ---- */

static hd_status read_tracks(line_filter *f, const view_request *request, hd_error *err)
{
    uint32_t *given, tracks = view_scene_track_count(f->scene), sources = hd_trace_track_count(f->trace);
    size_t count;
    HD_TRY(view_param_list(&given, &count, request, "tracks", tracks, 1 << 20, err));
    if (!given) return HD_OK;
    uint8_t *wanted = calloc((size_t)tracks + 1, 1);
    f->tracks = calloc((size_t)sources + 1, 1);
    for (size_t i = 0; wanted && i < count; i++) wanted[given[i]] = 1;
    for (uint32_t s = 0; wanted && f->tracks && s < sources; s++) {
        uint32_t track = view_scene_track_of(f->scene, s, HD_KIND_SLICE);
        for (uint32_t steps = 0; track < tracks && steps <= tracks; steps++) {
            if (wanted[track]) f->tracks[s] = 1;
            track = view_scene_track(f->scene, track)->parent;
        }
    }
    bool fine = wanted && f->tracks;
    free(given);
    free(wanted);
    return fine ? HD_OK : HD_NOMEM(err);
}

static hd_status read_filter(line_filter *f, const view_request *request, hd_error *err)
{
    int64_t all, slices = (int64_t)hd_trace_row_count(f->trace, HD_KIND_SLICE);
    f->has_range = view_param_text(request, "from") || view_param_text(request, "until");
    HD_TRY(view_param_range(&f->from, &f->until, request, f->scene, err));
    HD_TRY(view_param_int_or(&f->row, request, "row", 0, slices ? slices - 1 : 0, -1, err));
    HD_TRY(view_param_int_or(&all, request, "all", 0, 1, 0, err));
    HD_TRY(view_param_int_or(&f->limit, request, "limit", 0, MOST_LINES, LINES, err));
    f->category = view_param_text(request, "category");
    f->all = all == 1;
    if (f->category) {
        f->category_id = hd_trace_find_string(f->trace, f->category, strlen(f->category));
        f->launches = strcmp(f->category, launch_category) == 0;
    }
    return read_tracks(f, request, err);
}

static hd_status put_lines(view_reply *reply, const view_request *request, const line_filter *f, hd_error *err)
{
    bool asked = f->row >= 0 || f->category || f->all;
    uint8_t *bits = calloc(f->flows->count / 8 + 1, 1);
    uint64_t count = 0, seen = 0, told = 0;
    if (!bits) return HD_NOMEM(err);
    for (size_t i = 0; asked && i < f->flows->count; i++) {
        if ((i & LOOK_UP) == LOOK_UP && view_request_gone(request)) break;
        if (!passes(f, &f->flows->lines[i])) continue;
        bits[i / 8] |= (uint8_t)(1u << i % 8);
        count++;
    }
    uint64_t limit = (uint64_t)f->limit < count ? (uint64_t)f->limit : count;
    view_json_key(&reply->json, "flows");
    hd_json_put_text(&reply->json, "[");
    for (size_t i = 0; told < limit && i < f->flows->count; i++) {
        if (!(bits[i / 8] >> i % 8 & 1)) continue;
        if (seen++ < told * count / limit) continue; /* of limit lines, line i is number i * count / limit */
        if (told++) hd_json_put_text(&reply->json, ",");
        put_line(&reply->json, f, &f->flows->lines[i]);
    }
    hd_json_put_text(&reply->json, "]");
    view_json_int(&reply->json, "count", (int64_t)count);
    free(bits);
    return HD_OK;
}

hd_status view_route_flows(view_reply *reply, const view_request *request, hd_error *err)
{
    line_filter f = {0};
    HD_TRY(view_param_scene(&f.scene, reply, request, err));
    f.trace = view_scene_trace(f.scene);
    hd_status status = read_filter(&f, request, err);
    if (status == HD_OK) {
        status = view_flows_get(&f.flows, f.scene, err);
        if (status == HD_ERR_LIMIT) reply->status = 503;
    }
    hd_json_put_text(&reply->json, "{");
    if (status == HD_OK) status = put_lines(reply, request, &f, err);
    if (status == HD_OK) put_categories(&reply->json, &f);
    hd_json_put_text(&reply->json, "}");
    free(f.tracks);
    return status == HD_OK ? view_json_done(reply, err) : status;
}
