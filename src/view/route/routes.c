/* routes.c - the list of routes; the functions are in NAME.c */
#include <string.h>

#include "view/route/routes_derive.h"
#include "view/route/routes_query.h"
#include "view/route/session.h"

view_route_run view_route_job;
bool view_route_job_waits(const view_request *request);
view_route_run view_route_job_late;
view_route_run view_route_job_open;
view_route_run view_route_clocks;
view_route_run view_route_collectives;
view_route_run view_route_diff;
view_route_run view_route_engine;
view_route_run view_route_open;
view_route_run view_route_close;
view_route_run view_route_tiles;

const view_route view_routes[] = {
    {"/api/session", "GET", view_route_session, .waits = view_route_session_waits},
    {"/api/open", "POST", view_route_open},
    {"/api/close", "POST", view_route_close},
    {"/api/job", "GET", view_route_job, .is_long = true, .waits = view_route_job_waits},
    {"/api/job/late", "GET", view_route_job_late, .is_long = true},
    {"/api/job/open", "POST", view_route_job_open, .is_long = true},
    {"/api/clocks", "GET", view_route_clocks, .is_long = true},
    {"/api/collectives", "GET", view_route_collectives, .is_long = true},
    {"/api/diff", "GET", view_route_diff, .is_long = true},
    {"/api/tracks", "GET", view_route_tracks},
    {"/api/names", "GET", view_route_names},
    {"/api/fidelity", "GET", view_route_fidelity},
    {"/api/fidelity/list", "GET", view_route_fidelity_list},
    {"/api/tiles", "GET", view_route_tiles},
    {"/api/event", "GET", view_route_event},
    {"/api/lines", "POST", view_route_lines, .is_long = true},
    {"/api/derived", "GET", view_route_derived},
    {"/api/step", "GET", view_route_step},
    {"/api/snap", "GET", view_route_snap},
    {"/api/find", "GET", view_route_find, .is_long = true},
    {"/api/search", "GET", view_route_search, .is_long = true},
    {"/api/select", "GET", view_route_select, .is_long = true},
    {"/api/flows", "GET", view_route_flows, .is_long = true},
    {"/api/flame", "GET", view_route_flame, .is_long = true},
    {"/api/reports", "GET", view_route_reports},
    {"/api/report", "GET", view_route_report, .is_long = true},
    {"/api/report/tracks", "POST", view_route_report_tracks, .is_long = true},
    {"/api/query", "POST", view_route_query, .is_long = true},
    {"/api/query/tables", "GET", view_route_query_tables, .is_long = true},
    {"/api/query/tracks", "POST", view_route_query_tracks, .is_long = true},
    {"/api/query/track", "GET", view_route_query_track},
    {"/api/crop", "GET", view_route_crop, .is_long = true},
    {"/api/engine", "GET", view_route_engine, .is_long = true},
    {0},
};
