/* routes_query.h - the routes for questions about events, and their common parameters */
#ifndef HD_VIEW_ROUTE_ROUTES_QUERY_H
#define HD_VIEW_ROUTE_ROUTES_QUERY_H

#include "heddle/report.h"
#include "view/derive/table.h"
#include "view/queries/queries.h"
#include "view/route/route.h"
#include "view/sql/sql.h"

view_route_run view_route_reports, view_route_report, view_route_report_tracks, view_route_event, view_route_lines,
    view_route_step, view_route_snap, view_route_find, view_route_search, view_route_select, view_route_flows,
    view_route_flame, view_route_crop, view_route_query, view_route_query_tables, view_route_query_tracks,
    view_route_query_track;

/* Has the client gone away? */
static inline bool view_request_gone(const view_request *request)
{
    return request->gone && atomic_load_explicit(request->gone, memory_order_relaxed);
}

/* The number of a track that there is; must be there. */
hd_status view_param_track(int64_t *out, const view_request *request, const view_scene *scene, hd_error *err);
/* Absolute ns out of a time since the scene's start; must be there. */
hd_status view_param_time(int64_t *out, const view_request *request, const char *name, const view_scene *scene,
                          hd_error *err);
/* The kind of events by its name; absent: slice. */
hd_status view_param_kind(hd_kind *out, const view_request *request, const char *name, hd_error *err);
/* One of a list of words, which ends with NULL; absent: the first. */
hd_status view_param_word(unsigned *out, const view_request *request, const char *name, const char *const *words,
                          hd_error *err);
/* The search that q, mode, in, case and track of a request describe (search.c): one that the scene keeps, else a new
 * one, which takes a while. It ends with view_search_done, also after an error. */
typedef struct view_request_search {
    view_search *search;
    view_kept_search *kept; /* NULL: it is not */
} view_request_search;
hd_status view_param_search(view_request_search *out, const view_request *request, const view_scene *scene,
                            hd_error *err);
void view_search_done(view_request_search *search, const view_scene *scene);
/* 503 while the track is being laid out. */
hd_status view_need_ready(view_reply *reply, const view_track *track, hd_error *err);

/* Tracks without sections: those of a parameter, where a section means all tracks below it that are not derived;
 * absent: all that are not derived. Ascending, without duplicates; malloc'ed. 503 if one of them is not ready. */
hd_status view_param_tracks(uint32_t **out, size_t *out_count, view_reply *reply, const view_request *request,
                            const view_scene *scene, hd_error *err);

/* A request as the key of a kept answer: its path and parameters (report.c). */
void view_put_question(hd_json_out *out, const view_request *request);
/* Whether a client may set an option of this kind: it may not name files. */
bool view_option_is_allowed(hd_option_kind kind);

/* The SQL of a request: its body; malloc'ed, also after an error. */
hd_status view_query_text(char **out, size_t *out_size, view_reply *reply, const view_request *request, hd_error *err);
/* The statement in a request's body, with the parameters that begin with ':' and its `timeout`; it ends with
 * view_sql_end, also after an error. A fault in the SQL is stored in *err_of_sql, and this returns HD_OK. */
hd_status view_query_begin(view_sql_run *out, hd_error *out_sql, view_reply *reply, const view_request *request,
                           hd_error *err);
/* A cell of a result as JSON; true: it was cut. */
bool view_json_cell(hd_json_out *json, hd_query_value value);
/* The names and roles of a result's columns. */
void view_json_columns(hd_json_out *json, const hd_statement *statement);
/* {"tracks": [1, 2], "left_out": 3} */
void view_json_made_tracks(hd_json_out *json, const view_table_tracks *tracks);
/* 409 while tracks are laid out: none can be added then. */
hd_status view_need_laid_out(view_reply *reply, const view_scene *scene, hd_error *err);

/* HD_OK, or no memory. */
hd_status view_json_done(view_reply *reply, hd_error *err);

#endif
