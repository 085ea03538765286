/* tiles.c - GET /api/tiles: the tiles of a list of tracks, in the requested order
 *
 * Limits: 4,096 tracks per request.
 */
#include "view/route/tiles.h"

#include <stdlib.h>

#include "base/error.h"
#include "view/route/routes_query.h"
#include "view/tile/tile.h"

enum { TRACK_LIMIT = 4096 };

typedef struct tiles_wanted {
    uint32_t *tracks;
    size_t count;
    int64_t z, i;
    bool summary;
} tiles_wanted;

static hd_status read_wanted(tiles_wanted *out, const view_request *request, const view_scene *scene, hd_error *err)
{
    const char *detail = view_param_text(request, "detail");
    HD_TRY(view_param_int(&out->z, request, "z", 0, VIEW_ZOOM_MAX, err));
    HD_TRY(view_param_int(&out->i, request, "i", INT64_MIN, INT64_MAX, err));
    out->summary = detail && strcmp(detail, "summary") == 0;
    if (detail && !out->summary && strcmp(detail, "rows") != 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "parameter detail must be rows or summary");
    if (!view_param_text(request, "tracks"))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "parameter tracks is missing; it must be a list such as 4,5,9-12");
    return view_param_list(&out->tracks, &out->count, request, "tracks", view_scene_track_count(scene), TRACK_LIMIT,
                           err);
}

static hd_status put_tiles(view_reply *reply, const view_request *request, view_scene *scene,
                           const tiles_wanted *wanted, const view_search *search, hd_error *err)
{
    hd_bytes_put(&reply->bytes, "HDT1", 4);
    hd_bytes_put_le(&reply->bytes, wanted->count, 4);
    reply->immutable = !search || !search->more;
    for (size_t t = 0; t < wanted->count; t++) {
        bool exact;
        if (request->gone && atomic_load(request->gone))
            return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the client went away");
        HD_TRY(view_tile_track(&reply->bytes, &exact, scene, wanted->tracks[t], (unsigned)wanted->z, wanted->i,
                               wanted->summary, search && search->is_by_event ? &search->hits : NULL, err));
        reply->immutable &= exact;
    }
    return reply->bytes.failed ? HD_NOMEM(err) : HD_OK;
}

static hd_status make_tiles(view_reply *reply, const view_request *request, view_scene *scene, hd_error *err)
{
    tiles_wanted wanted = {0};
    view_request_search of = {0};
    hd_status status = read_wanted(&wanted, request, scene, err);
    if (status == HD_OK && view_param_text(request, "q")) status = view_param_search(&of, request, scene, err);
    if (status == HD_OK) status = put_tiles(reply, request, scene, &wanted, of.search, err);
    view_search_done(&of, scene);
    free(wanted.tracks);
    return status;
}

/* Those that never change again are kept. */
hd_status view_tiles_of(view_reply *reply, const view_request *request, view_scene *scene, hd_error *err)
{
    view_queries *queries = view_scene_queries(scene);
    hd_json_out question = {0};
    hd_status status = HD_OK;
    view_put_question(&question, request);
    reply->type = "application/octet-stream";
    if (!question.failed && view_queries_recall(&reply->json, queries, VIEW_KEPT_TILES, question.data)) {
        reply->immutable = true;
    } else {
        status = make_tiles(reply, request, scene, err);
        const hd_json_out made = {.data = (char *)reply->bytes.data, .size = reply->bytes.size};
        if (status == HD_OK && reply->immutable && !question.failed)
            view_queries_keep(queries, VIEW_KEPT_TILES, question.data, &made);
    }
    free(question.data);
    return status;
}

view_route_run view_route_tiles;

hd_status view_route_tiles(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    return view_tiles_of(reply, request, scene, err);
}
