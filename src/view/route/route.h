/* route.h - one request of the web UI and its answer; the interface of every route
 *
 * A route is a function in NAME.c and a line in routes.c. It does not depend on HTTP: tests call it with a view_request
 * of their own. It may run on several threads at once.
 *
 * In: a view_request. Out: a view_reply. Begin with routes.c, the list of all.
 */
#ifndef HD_VIEW_ROUTE_ROUTE_H
#define HD_VIEW_ROUTE_ROUTE_H

#include "base/bytes.h"
#include "view/scene/place.h"
#include "view/write/json.h"

typedef struct view_session view_session; /* view/session/session.h: the traces that are open */

typedef struct view_param {
    const char *name, *value; /* decoded, NUL-terminated */
} view_param;

typedef struct view_request {
    view_session *session;
    const char *path;
    const view_param *params;
    size_t param_count;
    const atomic_bool *gone; /* the client disconnected: long work checks it now and then; NULL: never */
    int body;                /* file descriptor + 1 of a POST's body, 0: none; borrowed */
} view_request;

/* Zero-initialised is an empty answer with status 200. */
typedef struct view_reply {
    unsigned status;  /* 0: 200 */
    const char *type; /* NULL: application/json; static */
    bool immutable;   /* the client may cache it for ever; else not at all */
    bool is_packed;   /* do not compress again */
    hd_json_out json; /* one of these is the body */
    hd_bytes bytes;
    int file;                 /* file descriptor + 1 of a body that is a file, 0: none; closed when sent */
    char *file_name;          /* the download's, malloc'ed */
    struct view_scene *scene; /* that the answer was made of, NULL: none */
} view_reply;

void view_reply_deinit(view_reply *reply);

/* A route returns HD_OK with an answer, or an error that is converted to one: ARGUMENT 400, reply->status if set
 * (NOT_FOUND …), MEMORY 503, others 500. */
typedef hd_status view_route_run(view_reply *reply, const view_request *request, hd_error *err);

typedef struct view_route {
    const char *path;   /* "/api/tiles" */
    const char *method; /* "GET" */
    view_route_run *run;
    bool is_long; /* may take more than some milliseconds: some threads are reserved for short ones */
    /* true: the answer is to wait (20 s at most) for news of the session, after which this is called again. NULL:
     * never.
     */
    bool (*waits)(const view_request *request);
} view_route;

extern const view_route view_routes[]; /* ends with {0} */

/* ---- parameters (view/route/params.c): each sets err and reply->status for the user, naming the parameter ---- */

const char *view_param_text(const view_request *request, const char *name); /* NULL: absent */
hd_status view_param_int(int64_t *out, const view_request *request, const char *name, int64_t min, int64_t max,
                         hd_error *err); /* must be there */
hd_status view_param_int_or(int64_t *out, const view_request *request, const char *name, int64_t min, int64_t max,
                            int64_t otherwise, hd_error *err);
/* "4,5,9-12": a list of at most `limit` numbers below `end`, in the order given; malloc'ed. Absent: *out NULL, count 0.
 */
hd_status view_param_list(uint32_t **out, size_t *out_count, const view_request *request, const char *name,
                          uint32_t end, size_t limit, hd_error *err);
/* The scene of parameter `trace` (404 if there is none, 409 while it is being read). Borrowed until the request ends.
 */
hd_status view_param_scene(view_scene **out, view_reply *reply, const view_request *request, hd_error *err);
/* [from, until) in absolute ns out of parameters from and until, absent: the whole; from <= until. */
hd_status view_param_range(int64_t *out_from, int64_t *out_until, const view_request *request, const view_scene *scene,
                           hd_error *err);
/* "12,-3": at most `limit` times that count from the start of the trace, as absolute ns. Absent: *out_count 0. */
hd_status view_param_times(int64_t *out, size_t *out_count, const view_request *request, const char *name,
                           const view_scene *scene, size_t limit, hd_error *err);

#endif
