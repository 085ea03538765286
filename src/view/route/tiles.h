/* tiles.h - GET /api/tiles of a scene */
#ifndef HD_VIEW_ROUTE_TILES_H
#define HD_VIEW_ROUTE_TILES_H

#include "view/route/route.h"

hd_status view_tiles_of(view_reply *reply, const view_request *request, view_scene *scene, hd_error *err);

#endif
