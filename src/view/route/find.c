/* find.c - GET /api/find: slices with an exact name, or an exact start and duration, on some tracks
 *
 * Rows of reports identify events by these. Rows are walked over the requested range; the first ones in order of start,
 * track and row are returned.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"

enum { FIND_LIMIT = 1000, READ = 256 };

typedef struct finder {
    const view_scene *scene;
    const view_request *request;
    bool has_name, has_length;
    uint32_t name; /* HD_NONE: no event has it */
    int64_t length_ns, from_ns, until_ns;
    bool at_start; /* slices that begin at from_ns, not all that touch the range */
    view_place *found;
    size_t kept, limit; /* of found, which has room for twice the limit */
    uint64_t count;
} finder;

static int by_start(const void *a, const void *b)
{
    const view_place *x = a, *y = b;
    if (x->slice.start_ns != y->slice.start_ns) return x->slice.start_ns < y->slice.start_ns ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    return view_slice_compare(&x->slice, &y->slice);
}

static void keep_first(finder *f)
{
    hd_sort(f->found, f->kept, sizeof *f->found, by_start);
    if (f->kept > f->limit) f->kept = f->limit;
}

static bool is_wanted(const finder *f, const view_slice *slice)
{
    if (f->at_start && slice->start_ns != f->from_ns) return false;
    if (f->has_length && view_length(slice->start_ns, slice->end_ns) != f->length_ns) return false;
    return !f->has_name || slice->name == f->name;
}

static void find_on_row(finder *f, const view_track *track, uint32_t depth)
{
    view_slice slices[READ];
    const hd_trace *trace = view_scene_trace(f->scene);
    const view_row *row = &track->rows.rows[depth];
    uint64_t at = view_row_find(row, trace, f->from_ns);
    for (size_t count; (count = view_row_read(slices, row, trace, at, READ)) > 0; at += count) {
        if (view_request_gone(f->request)) return;
        for (size_t i = 0; i < count; i++) {
            if (slices[i].start_ns >= f->until_ns) return;
            if (!is_wanted(f, &slices[i])) continue;
            if (f->kept == 2 * f->limit) keep_first(f);
            f->found[f->kept++] = (view_place){.track = track->id, .depth = depth, .at = at + i, .slice = slices[i]};
            f->count++;
        }
    }
}

static hd_status read_question(finder *f, const view_request *request, hd_error *err)
{
    int64_t limit;
    const char *name = view_param_text(request, "name");
    *f = (finder){.scene = f->scene, .request = request, .has_name = name != NULL};
    if (name) f->name = view_scene_find_name(f->scene, name, strlen(name));
    f->has_length = view_param_text(request, "duration") != NULL;
    f->at_start = view_param_text(request, "start") != NULL;
    HD_TRY(view_param_int_or(&limit, request, "limit", 1, FIND_LIMIT, FIND_LIMIT, err));
    f->limit = (size_t)limit;
    if (f->has_length) HD_TRY(view_param_int(&f->length_ns, request, "duration", 0, INT64_MAX, err));
    if (!f->has_name && !f->at_start)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "name or start: say which events");
    if (!f->at_start) return view_param_range(&f->from_ns, &f->until_ns, request, f->scene, err);
    HD_TRY(view_param_time(&f->from_ns, request, "start", f->scene, err));
    f->until_ns = f->from_ns < INT64_MAX ? f->from_ns + 1 : INT64_MAX;
    return HD_OK;
}

hd_status view_route_find(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    uint32_t *tracks;
    size_t track_count;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    finder f = {.scene = scene};
    HD_TRY(read_question(&f, request, err));
    HD_TRY(view_param_tracks(&tracks, &track_count, reply, request, scene, err));
    f.found = malloc(2 * f.limit * sizeof *f.found);
    for (size_t i = 0; f.found && i < track_count && !(f.has_name && f.name == HD_NONE); i++) {
        const view_track *track = view_scene_track(scene, tracks[i]);
        for (uint32_t depth = 0; track->kind == VIEW_SLICES && depth < track->rows.count; depth++)
            find_on_row(&f, track, depth);
    }
    free(tracks);
    if (!f.found) return HD_NOMEM(err);
    keep_first(&f);
    hd_json_put_text(&reply->json, "{");
    view_json_int(&reply->json, "count", (int64_t)f.count);
    view_json_key(&reply->json, "events");
    hd_json_put_text(&reply->json, "[");
    for (size_t i = 0; i < f.kept; i++) {
        if (i) hd_json_put_text(&reply->json, ",");
        view_json_place(&reply->json, scene, &f.found[i]);
    }
    hd_json_put_text(&reply->json, "]}");
    free(f.found);
    return view_json_done(reply, err);
}
