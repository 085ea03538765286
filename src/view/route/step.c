/* step.c - the event before or after another, and the edge nearest to a time
 *
 * Step    on one row of a track, or on all: by start, the longer first, then by row, so that events with equal times
 *         are visited one by one if `row` is the current one. Counters: from sample to sample.
 * Longest the longest slice that touches a column of a tile: the main event of an aggregate.
 * Snap    starts and ends of slices of the given tracks. Both cost O(log n) per row.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"

enum { READ = 32, SNAP_TRACKS = 4096, SNAP_ROWS = 65536 };

typedef enum step_go { GO_NEXT, GO_PREVIOUS, GO_FIRST, GO_LAST, GO_LONGEST } step_go;

/* Where to step from. */
typedef struct stepper {
    const view_scene *scene;
    const hd_trace *trace;
    step_go go;
    bool has_slice; /* `from` is the slice itself, else only its start counts */
    view_slice from;
    unsigned z; /* of the longest */
    int64_t column;
    bool found;
    view_place best;
} stepper;

/* ---- slices ---- */

/* Negative: the slice is before the current one; 0: it is the current one; positive: after. */
static int side_of(const stepper *s, const view_slice *slice)
{
    if (s->has_slice) return view_slice_compare(slice, &s->from);
    return (slice->start_ns > s->from.start_ns) - (slice->start_ns < s->from.start_ns);
}

static void offer(stepper *s, uint32_t depth, uint64_t at, const view_slice *slice)
{
    int order = s->found ? view_slice_compare(slice, &s->best.slice) : 0;
    bool forward = s->go == GO_NEXT || s->go == GO_FIRST;
    if (s->found && (forward ? order >= 0 : order <= 0)) return;
    s->best = (view_place){.track = s->best.track, .depth = depth, .at = at, .slice = *slice};
    s->found = true;
}

static void next_on_row(stepper *s, const view_row *row, uint32_t depth)
{
    view_slice slices[READ];
    uint64_t at = s->go == GO_FIRST ? 0 : view_row_find(row, s->trace, s->from.start_ns);
    for (size_t count; (count = view_row_read(slices, row, s->trace, at, READ)) > 0; at += count) {
        for (size_t i = 0; i < count; i++) {
            if (s->go == GO_NEXT && side_of(s, &slices[i]) <= 0) continue;
            offer(s, depth, at + i, &slices[i]);
            return;
        }
    }
}

static void previous_on_row(stepper *s, const view_row *row, uint32_t depth)
{
    view_slice slices[READ];
    uint64_t end = row->count;
    if (s->go == GO_PREVIOUS) { /* other slices with the current one's start may be before it */
        end = view_row_find(row, s->trace, s->from.start_ns);
        for (size_t count; (count = view_row_read(slices, row, s->trace, end, READ)) > 0;) {
            size_t i = 0;
            while (i < count && side_of(s, &slices[i]) < 0) i++;
            end += i;
            if (i < count) break;
        }
    }
    if (end == 0 || view_row_read(slices, row, s->trace, end - 1, 1) != 1) return;
    offer(s, depth, end - 1, &slices[0]);
}

/* Of equals the first that is met: the earliest of the uppermost row. */
static void longest_on_row(stepper *s, const view_row *row, uint32_t depth)
{
    view_slice slice;
    uint64_t at;
    if (!view_row_longest(&slice, &at, row, s->trace, s->z, s->column)) return;
    if (s->found &&
        view_length(slice.start_ns, slice.end_ns) <= view_length(s->best.slice.start_ns, s->best.slice.end_ns))
        return;
    s->best = (view_place){.track = s->best.track, .depth = depth, .at = at, .slice = slice};
    s->found = true;
}

static void step_on_row(stepper *s, const view_row *row, uint32_t depth)
{
    if (row->count == 0) return;
    if (s->go == GO_LONGEST) {
        longest_on_row(s, row, depth);
        return;
    }
    if (s->go == GO_NEXT || s->go == GO_FIRST)
        next_on_row(s, row, depth);
    else
        previous_on_row(s, row, depth);
}

/* ---- counters ---- */

static size_t first_at(const view_series *series, int64_t time_ns, bool behind)
{
    size_t low = 0, high = series->count;
    HD_PARTITION_POINT(low, high, at, series->times_ns[at] < time_ns || (behind && series->times_ns[at] == time_ns));
    return low;
}

static void step_on_series(stepper *s, const view_series *series, uint32_t depth)
{
    size_t at;
    switch (s->go) {
    case GO_NEXT: at = first_at(series, s->from.start_ns, true); break;
    case GO_PREVIOUS: at = first_at(series, s->from.start_ns, false) - 1; break; /* wraps: none */
    case GO_FIRST: at = 0; break;
    default: at = series->count - 1; break;
    }
    if (at >= series->count) return;
    view_slice slice = {.start_ns = series->times_ns[at],
                        .end_ns = series->times_ns[at],
                        .name = series->name,
                        .row = series->rows ? series->rows[at] : (uint32_t)at};
    offer(s, depth, at, &slice);
}

/* ---- the routes ---- */

static hd_status go_of(step_go *out, const view_request *request, hd_error *err)
{
    static const char *const names[] = {"next", "previous", "first", "last", "longest"};
    const char *go = view_param_text(request, "go");
    for (int i = 0; i < 5; i++) {
        if (strcmp(go ? go : "next", names[i]) != 0) continue;
        *out = (step_go)i;
        return HD_OK;
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "go: '%.40s' is none of next, previous, first, last and longest", go);
}

static hd_status read_stepper(stepper *out, int64_t *out_depth, const view_request *request, const view_scene *scene,
                              hd_error *err)
{
    int64_t track, row, time;
    *out = (stepper){.scene = scene, .trace = view_scene_trace(scene)};
    HD_TRY(view_param_track(&track, request, scene, err));
    HD_TRY(go_of(&out->go, request, err));
    HD_TRY(view_param_int_or(out_depth, request, "depth", 0, UINT32_MAX - 1, -1, err));
    HD_TRY(view_param_int_or(&row, request, "row", 0, UINT32_MAX - 1, -1, err));
    if (out->go == GO_LONGEST) {
        int64_t z;
        HD_TRY(view_param_int(&z, request, "z", 0, VIEW_ZOOM_MAX, err));
        HD_TRY(view_param_int(&out->column, request, "column", INT64_MIN, INT64_MAX, err));
        out->z = (unsigned)z;
    }
    bool needs_time = out->go == GO_NEXT || out->go == GO_PREVIOUS;
    out->best.track = (uint32_t)track;
    if (!needs_time) return HD_OK;
    HD_TRY(view_param_time(&time, request, "time", scene, err));
    view_place place;
    out->from.start_ns = time;
    if (row < 0 || !view_place_on(&place, scene, (uint32_t)track, (uint32_t)row, time)) return HD_OK;
    out->from = place.slice;
    out->has_slice = true;
    return HD_OK;
}

hd_status view_route_step(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    stepper s;
    int64_t depth;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(read_stepper(&s, &depth, request, scene, err));
    const view_track *track = view_scene_track(scene, s.best.track);
    HD_TRY(view_need_ready(reply, track, err));
    if (track->kind == VIEW_COUNTER) {
        if (s.go == GO_LONGEST)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "go=longest: track %u is a counter, its samples have no length", track->id);
        for (uint32_t i = 0; i < track->series_count; i++) {
            if (depth < 0 || (uint32_t)depth == i) step_on_series(&s, &track->series[i], i);
        }
    } else {
        for (uint32_t i = 0; i < track->rows.count; i++) {
            if (depth < 0 || (uint32_t)depth == i) step_on_row(&s, &track->rows.rows[i], i);
        }
    }
    if (s.found)
        view_json_place(&reply->json, scene, &s.best);
    else
        hd_json_put_text(&reply->json, "{}");
    return view_json_done(reply, err);
}

/* ---- snap ---- */

typedef struct snapper {
    int64_t time_ns, distance_ns; /* of the best; initially the allowed distance, and 1 */
    int64_t edge_ns;
    uint32_t track, row;
    bool found, is_end;
} snapper;

static void try_edge(snapper *s, uint32_t track, uint32_t row, int64_t edge_ns, bool is_end)
{
    int64_t distance = edge_ns < s->time_ns ? view_length(edge_ns, s->time_ns) : view_length(s->time_ns, edge_ns);
    if (distance >= s->distance_ns) return;
    *s = (snapper){.time_ns = s->time_ns,
                   .distance_ns = distance,
                   .edge_ns = edge_ns,
                   .track = track,
                   .row = row,
                   .found = true,
                   .is_end = is_end};
}

/* The slice around or after the time, the one before it, and the one after it. */
static void snap_to_row(snapper *s, const view_row *row, const hd_trace *trace, uint32_t track)
{
    view_slice slices[3];
    uint64_t at = view_row_find(row, trace, s->time_ns);
    size_t count = view_row_read(slices, row, trace, at ? at - 1 : 0, 3);
    for (size_t i = 0; i < count; i++) {
        try_edge(s, track, slices[i].row, slices[i].start_ns, false);
        if (slices[i].end_ns != slices[i].start_ns) try_edge(s, track, slices[i].row, slices[i].end_ns, true);
    }
}

static void snap_to_tracks(snapper *s, const view_scene *scene, const uint32_t *tracks, size_t count)
{
    size_t rows = 0;
    for (size_t i = 0; i < count && rows < SNAP_ROWS; i++) {
        const view_track *track = view_scene_track(scene, tracks ? tracks[i] : (uint32_t)i);
        if (track->kind != VIEW_SLICES || !view_track_ready(track)) continue;
        for (uint32_t depth = 0; depth < track->rows.count && rows < SNAP_ROWS; depth++, rows++)
            snap_to_row(s, &track->rows.rows[depth], view_scene_trace(scene), track->id);
    }
}

hd_status view_route_snap(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    uint32_t *tracks;
    size_t count;
    int64_t time, within;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_time(&time, request, "time", scene, err));
    HD_TRY(view_param_int(&within, request, "within", 0, INT64_MAX - 1, err));
    HD_TRY(view_param_list(&tracks, &count, request, "tracks", view_scene_track_count(scene), SNAP_TRACKS, err));
    snapper s = {.time_ns = time, .distance_ns = within + 1};
    snap_to_tracks(&s, scene, tracks, tracks ? count : view_scene_track_count(scene));
    free(tracks);
    hd_json_put_text(&reply->json, "{");
    if (s.found) {
        view_json_time(&reply->json, "time", scene, s.edge_ns);
        view_json_int(&reply->json, "track", s.track);
        view_json_int(&reply->json, "row", s.row);
        view_json_text(&reply->json, "edge", s.is_end ? (hd_string){"end", 3} : (hd_string){"start", 5});
    }
    hd_json_put_text(&reply->json, "}");
    return view_json_done(reply, err);
}
