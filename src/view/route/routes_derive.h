/* routes_derive.h - routes of precomputed data: tracks, names, fidelity */
#ifndef HD_VIEW_ROUTE_ROUTES_DERIVE_H
#define HD_VIEW_ROUTE_ROUTES_DERIVE_H

#include "view/route/route.h"

view_route_run view_route_tracks;        /* GET /api/tracks */
view_route_run view_route_names;         /* GET /api/names */
view_route_run view_route_derived;       /* GET /api/derived */
view_route_run view_route_fidelity;      /* GET /api/fidelity */
view_route_run view_route_fidelity_list; /* GET /api/fidelity/list */

/* Tracks of a trace in an answer of /api/tracks: at most this many, from a position in their order on. */
enum { VIEW_TRACKS_TOLD = 1 << 16 };
hd_status view_tracks_write(hd_json_out *json, const view_scene *scene, uint32_t from, hd_error *err);

#endif
