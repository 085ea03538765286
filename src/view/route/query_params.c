/* query_params.c - parameters and pieces of answers that the routes about events share */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "heddle/names.h"
#include "view/route/routes_query.h"
#include "view/scene/place.h"

hd_status view_param_track(int64_t *out, const view_request *request, const view_scene *scene, hd_error *err)
{
    uint32_t count = view_scene_track_count(scene);
    if (count == 0) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "track: the trace has no tracks");
    return view_param_int(out, request, "track", 0, (int64_t)count - 1, err);
}

hd_status view_param_time(int64_t *out, const view_request *request, const char *name, const view_scene *scene,
                          hd_error *err)
{
    HD_TRY(view_param_int(out, request, name, -INT64_MAX, INT64_MAX, err));
    if (__builtin_add_overflow(*out, view_scene_start(scene), out)) *out = *out < 0 ? INT64_MAX : -INT64_MAX;
    return HD_OK;
}

hd_status view_param_word(unsigned *out, const view_request *request, const char *name, const char *const *words,
                          hd_error *err)
{
    const char *word = view_param_text(request, name);
    char all[160] = "";
    size_t size = 0;
    for (*out = 0; words[*out]; ++*out) {
        if (!word || strcmp(words[*out], word) == 0) return HD_OK;
        int more = snprintf(all + size, sizeof all - size, "%s%s", size ? ", " : "", words[*out]);
        if (more > 0 && size + (size_t)more < sizeof all) size += (size_t)more;
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: '%.40s' is none of %s", name, word, all);
}

hd_status view_param_kind(hd_kind *out, const view_request *request, const char *name, hd_error *err)
{
    const char *words[HD_KIND_COUNT + 1] = {0};
    unsigned kind;
    for (int i = 0; i < HD_KIND_COUNT; i++) words[i] = hd_kind_name((hd_kind)i);
    HD_TRY(view_param_word(&kind, request, name, words, err));
    *out = (hd_kind)kind;
    return HD_OK;
}

hd_status view_need_ready(view_reply *reply, const view_track *track, hd_error *err)
{
    if (track->kind == VIEW_SECTION || view_track_ready(track)) return HD_OK;
    reply->status = 503;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "track %u is still being laid out: ask again in a moment", track->id);
}

hd_status view_need_laid_out(view_reply *reply, const view_scene *scene, hd_error *err)
{
    if (view_scene_note(scene, VIEW_NOTE_FIDELITY)) return HD_OK; /* the worker has added its last track */
    reply->status = 409;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                        "the trace is still being laid out: ask again when it is done");
}

/* Mark the tracks that are wanted. */
static void mark_tracks(uint8_t *wanted, const view_scene *scene, const uint32_t *given, size_t count)
{
    uint32_t tracks = view_scene_track_count(scene);
    for (size_t i = 0; i < count; i++) wanted[given[i]] = 1;
    for (uint32_t id = 0; id < tracks; id++) {
        const view_track *track = view_scene_track(scene, id);
        if (track->kind == VIEW_SECTION || track->derived) continue;
        if (!given) wanted[id] = 1;
        uint32_t above = track->parent;
        for (uint32_t steps = 0; above < tracks && steps < tracks && !wanted[id]; steps++) {
            if (wanted[above] && view_scene_track(scene, above)->kind == VIEW_SECTION) wanted[id] = 1;
            above = view_scene_track(scene, above)->parent;
        }
    }
}

hd_status view_param_tracks(uint32_t **out, size_t *out_count, view_reply *reply, const view_request *request,
                            const view_scene *scene, hd_error *err)
{
    uint32_t *given, tracks = view_scene_track_count(scene);
    size_t count;
    *out = NULL;
    *out_count = 0;
    HD_TRY(view_param_list(&given, &count, request, "tracks", tracks, 1 << 20, err));
    uint8_t *wanted = calloc((size_t)tracks + 1, 1);
    uint32_t *list = malloc(((size_t)tracks + 1) * sizeof *list);
    hd_status status = wanted && list ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) mark_tracks(wanted, scene, given, count);
    for (uint32_t id = 0; id < tracks && status == HD_OK; id++) {
        const view_track *track = view_scene_track(scene, id);
        if (!wanted[id] || track->kind == VIEW_SECTION) continue;
        list[(*out_count)++] = id;
        status = view_need_ready(reply, track, err);
    }
    free(given);
    free(wanted);
    if (status == HD_OK)
        *out = list;
    else
        free(list);
    return status;
}

void view_json_made_tracks(hd_json_out *json, const view_table_tracks *tracks)
{
    hd_json_put_text(json, "{\"tracks\": [");
    for (size_t i = 0; i < tracks->count; i++) {
        if (i) hd_json_put_text(json, ",");
        hd_json_put_int(json, tracks->ids[i]);
    }
    hd_json_put_text(json, "]");
    view_json_int(json, "left_out", (int64_t)tracks->left_out);
    hd_json_put_text(json, "}");
}

hd_status view_json_done(view_reply *reply, hd_error *err)
{
    return reply->json.failed ? HD_NOMEM(err) : HD_OK;
}
