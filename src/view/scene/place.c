/* place.c - finds the position of an event in a scene */
#include "view/scene/place.h"
#include "trace/lazy.h"

#include "view/write/json.h"

enum { LOOK = 32 };

/* The slice of that row number among those of a row that start at start_ns. */
static bool find_on_row(view_place *out, const view_row *row, const hd_trace *trace, uint32_t number, int64_t start_ns)
{
    view_slice slices[LOOK];
    uint64_t at = view_row_find(row, trace, start_ns);
    for (size_t count; (count = view_row_read(slices, row, trace, at, LOOK)) > 0; at += count) {
        for (size_t i = 0; i < count; i++) {
            if (slices[i].start_ns > start_ns) return false;
            if (slices[i].start_ns != start_ns || slices[i].row != number) continue;
            out->at = at + i;
            out->slice = slices[i];
            return true;
        }
    }
    return false;
}

bool view_place_on(view_place *out, const view_scene *scene, uint32_t track, uint32_t row, int64_t start_ns)
{
    const view_track *t = track < view_scene_track_count(scene) ? view_scene_track(scene, track) : NULL;
    if (!t || !view_track_ready(t)) return false;
    for (uint32_t depth = 0; depth < t->rows.count; depth++) {
        if (!find_on_row(out, &t->rows.rows[depth], view_scene_trace(scene), row, start_ns)) continue;
        out->track = track;
        out->depth = depth;
        return true;
    }
    return false;
}

bool view_place_of(view_place *out, const view_scene *scene, hd_kind kind, uint64_t row)
{
    const hd_trace *trace = view_scene_trace(scene);
    uint32_t at;
    if (row >= hd_trace_row_count(trace, kind)) return false;
    const hd_block *block = hd_trace_columns_of(&at, trace, kind, row);
    int64_t start = hd_column_at(&block->columns[HD_COL_START], at);
    if (start == HD_NO_TIME) return false;
    return view_place_on(out, scene, view_scene_track_of_event(scene, kind, row), (uint32_t)row, start);
}

/* Whether `outer` encloses a slice: it comes before it and ends at or after its end. */
static bool is_around(const view_slice *outer, const view_slice *inner)
{
    return outer->end_ns > outer->start_ns && outer->end_ns >= inner->end_ns && view_slice_compare(outer, inner) < 0 &&
           (outer->end_ns > inner->start_ns || inner->end_ns > inner->start_ns || outer->end_ns == inner->end_ns);
}

/* The last slice of a row that starts at or before a time and extends to it. */
static bool reaching(view_place *out, const view_row *row, const hd_trace *trace, int64_t time_ns)
{
    uint64_t at = view_row_find(row, trace, time_ns);
    bool found = false;
    view_slice slices[LOOK];
    for (size_t count; (count = view_row_read(slices, row, trace, at, LOOK)) > 0; at += count) {
        for (size_t i = 0; i < count; i++) {
            if (slices[i].start_ns > time_ns) return found;
            if (slices[i].end_ns <= time_ns) continue;
            out->at = at + i;
            out->slice = slices[i];
            found = true;
        }
    }
    return found;
}

bool view_place_parent(view_place *out, const view_scene *scene, const view_place *place)
{
    const view_track *t = view_scene_track(scene, place->track);
    for (uint32_t depth = place->depth; depth-- > 0;) {
        if (!reaching(out, &t->rows.rows[depth], view_scene_trace(scene), place->slice.start_ns) ||
            !is_around(&out->slice, &place->slice))
            continue;
        out->track = place->track;
        out->depth = depth;
        return true;
    }
    return false;
}

bool view_place_at(view_place *out, const view_scene *scene, uint32_t track, int64_t time_ns)
{
    const view_track *t = track < view_scene_track_count(scene) ? view_scene_track(scene, track) : NULL;
    bool found = false;
    if (!t || !view_track_ready(t)) return false;
    for (uint32_t depth = 0; depth < t->rows.count; depth++) {
        view_place place = {.track = track, .depth = depth};
        if (!reaching(&place, &t->rows.rows[depth], view_scene_trace(scene), time_ns)) continue;
        if (found && view_slice_compare(&place.slice, &out->slice) < 0) continue;
        *out = place;
        found = true;
    }
    return found;
}

void view_json_time(hd_json_out *json, const char *key, const view_scene *scene, int64_t time_ns)
{
    int64_t time, start = view_scene_start(scene);
    view_json_key(json, key);
    if (time_ns == HD_NO_TIME) {
        hd_json_put_text(json, "null");
        return;
    }
    if (__builtin_sub_overflow(time_ns, start, &time)) time = time_ns < start ? INT64_MIN : INT64_MAX;
    hd_json_put_int(json, time);
}

void view_json_place(hd_json_out *json, const view_scene *scene, const view_place *place)
{
    const view_track *track = view_scene_track(scene, place->track);
    hd_json_put_text(json, "{");
    view_json_int(json, "row", place->slice.row);
    view_json_key(json, "kind");
    hd_json_put_text(json, "\"");
    hd_json_put_text(json, hd_kind_name(track->events));
    hd_json_put_text(json, "\"");
    view_json_int(json, "track", place->track);
    view_json_int(json, "depth", place->depth);
    view_json_time(json, "start", scene, place->slice.start_ns);
    view_json_int(json, "duration", view_length(place->slice.start_ns, place->slice.end_ns));
    view_json_int(json, "name", place->slice.name);
    hd_json_put_text(json, "}");
}
