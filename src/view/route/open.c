/* open.c - /api/open: a file that was dropped on the viewer becomes a trace; /api/close: a trace is closed
 *
 * /api/engine: the web UI with its engine, into which the web UI puts traces to save them as one HTML file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "base/system.h"
#include "view/route/route.h"
#include "view/session/session.h"

view_route_run view_route_open, view_route_close, view_route_engine;

/* The file is the connection's, in $TMPDIR or /var/tmp, without a name; the session gets a descriptor of its own. */
hd_status view_route_open(view_reply *reply, const view_request *request, hd_error *err)
{
    uint32_t trace;
    const char *name = view_param_text(request, "name");
    if (!request->body)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the request has no body: send the file");
    int fd = hd_descriptor_copy(request->body - 1);
    if (fd < 0) return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "too many open files");
    hd_status status = view_session_add_file(&trace, request->session, fd, name && *name ? name : "dropped file", err);
    if (status != HD_OK) return status;
    hd_json_put_text(&reply->json, "{");
    view_json_int(&reply->json, "trace", trace);
    hd_json_put_text(&reply->json, "}");
    return HD_OK;
}

hd_status view_route_close(view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t trace;
    HD_TRY(view_param_int(&trace, request, "trace", 0, (int64_t)view_session_count(request->session) - 1, err));
    HD_TRY(view_session_close(request->session, (uint32_t)trace, err));
    hd_json_put_text(&reply->json, "{}");
    return HD_OK;
}

hd_status view_route_engine(view_reply *reply, const view_request *request, hd_error *err)
{
    const char *path = view_session_engine(request->session);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        reply->status = 404;
        return hd_error_set(err, HD_ERR_UNSUPPORTED, path, HD_OFFSET_NONE,
                            path ? "cannot be opened: %s"
                                 : "this heddle has no engine to put into a file: run make wasm in its source%s",
                            path ? strerror(errno) : ", then make install");
    }
    reply->file = fd + 1;
    reply->type = "text/html; charset=utf-8";
    return HD_OK;
}
