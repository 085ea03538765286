/* run.h - runs a route, for the server and for the engine
 *
 * In: a request. Out: a status and bytes. Begin with run.c.
 */
#ifndef HD_VIEW_SERVER_RUN_H
#define HD_VIEW_SERVER_RUN_H

#include "view/route/route.h"

const view_route *view_find_route(const view_route *routes, const char *path); /* NULL: there is none */
/* Runs a route. Afterwards the reply, zero-initialised before, has its body in `bytes` or `file`; an error is one of
 * 400 and above. */
void view_reply_run(view_reply *reply, const view_route *route, const view_request *request);
/* {"error": text} */
void view_put_error(hd_json_out *json, const char *text);

#endif
