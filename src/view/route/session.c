/* session.c - GET /api/session: the open traces and their progress; on the first request with their tracks */
#include "view/route/session.h"

#include "base/error.h"
#include "view/route/routes_derive.h"
#include "view/session/session.h"

bool view_route_session_waits(const view_request *request)
{
    int64_t after;
    if (!view_param_text(request, "after")) return false;
    if (view_param_int(&after, request, "after", 0, INT64_MAX, NULL) != HD_OK) return false;
    return (uint64_t)after == view_session_revision(request->session);
}

/* A list for each trace that is not closed, null if it has none yet. They are written after the session, so none is
 * older than the session's data about it. */
static hd_status write_lists(hd_json_out *json, view_session *session, hd_error *err)
{
    uint32_t count = view_session_count(session);
    bool is_first = true;
    hd_json_put_text(json, "[");
    for (uint32_t i = 0; i < count; i++) {
        view_scene *scene;
        if (view_session_scene(&scene, session, i) == VIEW_CLOSED) continue;
        if (!is_first) hd_json_put_text(json, ",");
        is_first = false;
        if (scene)
            HD_TRY(view_tracks_write(json, scene, 0, err));
        else
            hd_json_put_text(json, "null");
    }
    hd_json_put_text(json, "]");
    return HD_OK;
}

hd_status view_route_session(view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t after;
    hd_json_out *json = &reply->json;
    const char *with = view_param_text(request, "with");
    HD_TRY(view_param_int_or(&after, request, "after", 0, INT64_MAX, 0, err));
    if (with && strcmp(with, "tracks") != 0)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "parameter with must be tracks");
    view_session_write(json, request->session);
    if (!with || json->failed || !json->size) return HD_OK;
    json->size--; /* its closing brace: one more member follows */
    view_json_key(json, "lists");
    HD_TRY(write_lists(json, request->session, err));
    hd_json_put_text(json, "}");
    return HD_OK;
}
