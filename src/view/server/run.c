/* run.c - runs a route and makes its answer, bytes and a status, for the server and for the engine */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/lazy.h"
#include "view/scene/scene.h"
#include "view/server/run.h"
#include "view/session/session.h"

const view_route *view_find_route(const view_route *routes, const char *path)
{
    while (routes->path && strcmp(routes->path, path) != 0) routes++;
    return routes->path ? routes : NULL;
}

static unsigned status_of(const view_reply *reply, hd_status status)
{
    if (reply->status >= 400) return reply->status;
    switch (status) {
    case HD_ERR_ARGUMENT: return 400;
    case HD_ERR_LIMIT: return 413;
    case HD_ERR_MEMORY: return 503;
    default: return 500;
    }
}

void view_put_error(hd_json_out *json, const char *text)
{
    hd_json_put_text(json, "{\"error\":");
    hd_json_put_string(json, text, strlen(text));
    hd_json_put_text(json, "}");
}

static void become_error(view_reply *reply, hd_status status, const hd_error *err)
{
    view_reply error = {.status = status_of(reply, status)};
    char text[HD_ERROR_TEXT_BYTES];
    view_put_error(&error.json, err->message[0] ? hd_error_text(text, sizeof text, err) : hd_status_name(status));
    view_reply_deinit(reply);
    *reply = error;
}

/* The body as bytes, in whichever form it is. */
static void gather(view_reply *reply)
{
    if (!reply->json.data) return;
    hd_bytes_deinit(&reply->bytes);
    reply->bytes = (hd_bytes){.data = (uint8_t *)reply->json.data,
                              .size = reply->json.size,
                              .capacity = reply->json.capacity,
                              .failed = reply->json.failed};
    reply->json = (hd_json_out){0};
    if (!reply->type) reply->type = "application/json";
}

void view_reply_run(view_reply *reply, const view_route *route, const view_request *request)
{
    hd_error err = {0};
    view_use use;
    view_session_enter(&use, request->session);
    hd_status status = route->run(reply, request, &err);
    /* The trace's file may have changed meanwhile: then the answer is not that of the trace. */
    if (status == HD_OK && reply->scene) status = hd_trace_input_status(view_scene_trace(reply->scene), &err);
    reply->scene = NULL;
    view_session_leave(&use, request->session);
    if (status == HD_OK && (reply->json.failed || reply->bytes.failed)) status = HD_NOMEM(&err);
    if (status != HD_OK) become_error(reply, status, &err);
    if (!reply->file) gather(reply);
}
