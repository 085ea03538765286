/* param_scene.c - the scene that a request is about */
#include "base/error.h"
#include "trace/lazy.h"
#include "view/route/route.h"
#include "view/session/session.h"

hd_status view_param_scene(view_scene **out, view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t trace;
    uint32_t count = view_session_count(request->session);
    *out = NULL;
    HD_TRY(view_param_int(&trace, request, "trace", 0, UINT32_MAX, err));
    if (trace >= count) {
        reply->status = 404;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "there is no trace %lld; there are %u",
                            (long long)trace, count);
    }
    view_trace_state state = view_session_scene(out, request->session, (uint32_t)trace);
    reply->scene = *out;
    if (*out) return hd_trace_input_status(view_scene_trace(*out), err);
    reply->status = state == VIEW_CLOSED ? 404 : 409;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "trace %lld %s", (long long)trace,
                        state == VIEW_CLOSED   ? "was closed"
                        : state == VIEW_FAILED ? "could not be read"
                                               : "is still being read: ask again");
}
