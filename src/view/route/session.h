/* session.h - the route with long polling */
#ifndef HD_VIEW_ROUTE_SESSION_H
#define HD_VIEW_ROUTE_SESSION_H

#include "view/route/route.h"

view_route_run view_route_session;
bool view_route_session_waits(const view_request *request);

#endif
