/* routes.c - what can be asked; the functions are in view/route_NAME.c */
#include <string.h>

#include "view/route_session.h"
#include "view/routes_derive.h"

view_route_run view_route_open;
view_route_run view_route_tiles;

const view_route view_routes[] = {
    {"/api/session", "GET", view_route_session, .waits = view_route_session_waits},
    {"/api/open", "POST", view_route_open},
    {"/api/tracks", "GET", view_route_tracks},
    {"/api/names", "GET", view_route_names},
    {"/api/fidelity", "GET", view_route_fidelity},
    {"/api/fidelity/list", "GET", view_route_fidelity_list},
    {"/api/tiles", "GET", view_route_tiles},
    {0},
};

const view_route *view_route_find(const char *path)
{
    for (const view_route *route = view_routes; route->path; route++) {
        if (strcmp(route->path, path) == 0) return route;
    }
    return NULL;
}
