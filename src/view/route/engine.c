/* engine.c - /api/engine: the web UI with its engine, into which the web UI puts traces to save them as one HTML file
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "view/route/route.h"
#include "view/session/session.h"

view_route_run view_route_engine;

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
