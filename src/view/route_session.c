/* route_session.c - /api/session: the traces that are open, and how far they are */
#include "view/route_session.h"

#include "view/session.h"

bool view_route_session_waits(const view_request *request)
{
    int64_t after;
    if (!view_param_text(request, "after")) return false;
    if (view_param_int(&after, request, "after", 0, INT64_MAX, NULL) != HD_OK) return false;
    return (uint64_t)after == view_session_revision(request->session);
}

hd_status view_route_session(view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t after;
    hd_status status = view_param_int_or(&after, request, "after", 0, INT64_MAX, 0, err);
    if (status == HD_OK) view_session_write(&reply->json, request->session);
    return status;
}
