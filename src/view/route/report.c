/* report.c - GET /api/reports, GET /api/report, POST /api/report/tracks and GET /api/diff: the reports of this build,
 * one of them run over a trace or over all ranks, a table of one as derived tracks, and what changed between two
 * sides */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "heddle/analysis/diff.h"
#include "trace/lazy.h"
#include "view/derive/table.h"
#include "view/queries/queries.h"
#include "view/ranks/ranks.h"
#include "view/route/routes_query.h"
#include "view/session/session.h"

view_route_run view_route_diff;

static void put_text(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, strlen(text)});
}

/* Options allowed to a client: values, but no paths, since files of this machine are not for the client to name. */
bool view_option_is_allowed(hd_option_kind kind)
{
    switch (kind) {
    case HD_OPTION_FLAG:
    case HD_OPTION_COUNT:
    case HD_OPTION_DECIMAL:
    case HD_OPTION_TIME:
    case HD_OPTION_OFFSET:
    case HD_OPTION_TEXT:
    case HD_OPTION_PATTERNS:
    case HD_OPTION_TEXTS: return true;
    default: return false;
    }
}

static void put_options(hd_json_out *json, const hd_report_about *about)
{
    view_json_key(json, "options");
    hd_json_put_text(json, "[");
    bool any = false;
    for (const hd_option_about *o = about->options; o && o->name; o++) {
        if (!view_option_is_allowed(o->kind)) continue;
        hd_json_put_text(json, any ? ", {" : "{");
        any = true;
        put_text(json, "name", o->name);
        put_text(json, "kind", hd_option_kind_name(o->kind));
        put_text(json, "fallback", o->fallback ? o->fallback : "");
        put_text(json, "meaning", o->meaning);
        if (o->words) put_text(json, "words", o->words);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}

hd_status view_route_reports(view_reply *reply, const view_request *request, hd_error *err)
{
    hd_json_out *json = &reply->json;
    (void)request;
    hd_json_put_text(json, "{\"reports\": [");
    for (size_t i = 0; i < hd_report_count(); i++) {
        const hd_report_about *about = hd_report_at(i);
        if (about->table_option) continue; /* of no trace */
        hd_json_put_text(json, i ? ",\n{" : "{");
        put_text(json, "name", about->name);
        put_text(json, "title", about->title);
        put_text(json, "text", about->text);
        view_json_bool(json, "of_job", about->of_job);
        put_options(json, about);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
    return view_json_done(reply, err);
}

/* ---- the run ---- */

static void free_options(char **options)
{
    for (char **option = options; option && *option; option++) free(*option);
    free(options);
}

static bool is_of_the_route(const char *param)
{
    static const char *const names[] = {"trace", "name", "table", "of_steps", NULL};
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(param, names[i]) == 0) return true;
    }
    return false;
}

/* All other parameters, as "KEY=VALUE", and "KEY" if it has no value. NULL: no memory. */
static char **options_of(const view_request *request)
{
    size_t count = 0;
    char **options = calloc(request->param_count + 1, sizeof *options);
    for (size_t i = 0; options && i < request->param_count; i++) {
        const view_param *p = &request->params[i];
        if (is_of_the_route(p->name)) continue;
        if (asprintf(&options[count], "%s%s%s", p->name, *p->value ? "=" : "", p->value) < 0) {
            options[count] = NULL;
            free_options(options);
            return NULL;
        }
        count++;
    }
    return options;
}

static hd_status refuse_paths(const hd_report_about *about, const view_request *request, hd_error *err)
{
    for (const hd_option_about *o = about ? about->options : NULL; o && o->name; o++) {
        bool is_table = about->table_option && strcmp(o->name, about->table_option) == 0;
        if ((view_option_is_allowed(o->kind) && !is_table) || !view_param_text(request, o->name)) continue;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "%s names a file, which the page must not: run `heddle report %s --%s FILE`", o->name,
                            about->name, o->name);
    }
    return HD_OK;
}

/* input: its options are those of the request. */
static hd_status run(hd_report *out, const hd_report_about **out_about, hd_report_input input,
                     const view_request *request, hd_error *err)
{
    const char *name = view_param_text(request, "name");
    *out_about = hd_report_about_find(name ? name : "");
    HD_TRY(refuse_paths(*out_about, request, err));
    char **options = options_of(request);
    input.options = (const char *const *)options;
    hd_status status = options ? hd_report_run(out, name ? name : "", &input, err) : HD_NOMEM(err);
    free_options(options);
    return status;
}

static hd_status answer(view_reply *reply, hd_report *report, const hd_report_about *about, const view_table_part *part,
                        hd_error *err)
{
    hd_json_out *json = &reply->json;
    hd_json_put_text(json, "{");
    if (report->trust_text[0]) put_text(json, "trust", report->trust_text);
    view_json_key(json, "tables");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < report->table_count; i++) {
        if (i) hd_json_put_text(json, ",\n");
        view_json_table(json, report->tables[i], about, part);
    }
    hd_json_put_text(json, "]}");
    hd_report_free(report);
    return view_json_done(reply, err);
}

/* The least of all times of a report; 0: it has none. */
static int64_t first_time(const hd_report *report)
{
    int64_t first = INT64_MAX;
    for (size_t t = 0; t < report->table_count; t++) {
        const hd_table *table = report->tables[t];
        for (size_t c = 0; c < hd_table_column_count(table); c++) {
            if (hd_table_get_column(table, c)->type != HD_VALUE_TIME) continue;
            for (size_t row = 0; row < hd_table_row_count(table); row++) {
                if (hd_table_is_null(table, row, c)) continue;
                int64_t time = hd_table_get_int(table, row, c);
                if (time < first) first = time;
            }
        }
    }
    return first == INT64_MAX ? 0 : first;
}

/* Of all ranks. Times are of the ranks' own clocks, and relative to the first of them. */
static hd_status answer_of_job(view_reply *reply, const view_request *request, hd_error *err)
{
    hd_report report = {0};
    const hd_report_about *about;
    const view_picture *picture;
    hd_report_input input = {0};
    view_ranks *ranks = view_session_ranks(request->session);
    HD_TRY(view_ranks_take(&picture, ranks, request->session, err));
    hd_status status = view_ranks_job(&input.job, ranks, err);
    if (status == HD_OK) status = run(&report, &about, input, request, err);
    view_ranks_give(ranks);
    if (status != HD_OK) return status;
    const view_table_part part = {.start_ns = first_time(&report)};
    return answer(reply, &report, about, &part, err);
}

void view_put_question(hd_json_out *out, const view_request *request)
{
    hd_json_put_text(out, request->path);
    for (size_t i = 0; i < request->param_count; i++) {
        hd_json_put_text(out, "\n");
        hd_json_put_text(out, request->params[i].name);
        hd_json_put_text(out, "=");
        hd_json_put_text(out, request->params[i].value);
    }
    hd_json_put(out, "", 1);
}

hd_status view_route_report(view_reply *reply, const view_request *request, hd_error *err)
{
    enum { MOST_STEPS = 16 };
    view_scene *scene;
    hd_report report;
    int64_t steps[MOST_STEPS];
    view_table_part part = {.steps = steps};
    const char *name = view_param_text(request, "name");
    const hd_report_about *about = hd_report_about_find(name ? name : "");
    if (about && about->of_job && !view_param_text(request, "trace")) return answer_of_job(reply, request, err);
    HD_TRY(view_param_scene(&scene, reply, request, err));
    part.start_ns = view_scene_start(scene);
    HD_TRY(view_param_times(steps, &part.step_count, request, "of_steps", scene, MOST_STEPS, err));
    view_queries *queries = view_scene_queries(scene);
    hd_json_out question = {0};
    view_put_question(&question, request); /* each page that opens a trace requests the same reports */
    if (question.failed) return HD_NOMEM(err);
    hd_status status = HD_OK;
    if (!view_queries_recall(&reply->json, queries, VIEW_KEPT_LONG, question.data)) {
        const hd_report_input input = {.trace = view_scene_trace(scene)};
        status = run(&report, &about, input, request, err);
        if (status == HD_OK) status = answer(reply, &report, about, &part, err);
        if (status == HD_OK) view_queries_keep(queries, VIEW_KEPT_LONG, question.data, &reply->json);
    }
    free(question.data);
    return status;
}

/* ---- a table as tracks ---- */

/* "Of `heddle report idle --rows=9`, table gaps: the longest gaps." */
static bool describe(hd_json_out *out, const hd_report_about *about, const hd_report_table_about *table,
                     const view_request *request)
{
    hd_json_put_text(out, "Of `heddle report ");
    hd_json_put_text(out, about->name);
    for (size_t i = 0; i < request->param_count; i++) {
        const view_param *p = &request->params[i];
        if (is_of_the_route(p->name)) continue;
        hd_json_put_text(out, " --");
        hd_json_put_text(out, p->name);
        if (*p->value) hd_json_put_text(out, "=");
        hd_json_put_text(out, p->value);
    }
    hd_json_put_text(out, "`, table ");
    hd_json_put_text(out, table->name);
    hd_json_put_text(out, ": ");
    hd_json_put_text(out, table->meaning);
    hd_json_put(out, ".", 2);
    return !out->failed;
}

/* "queue length" of report queue, "idle: gaps" of report idle. */
static void put_title(char *out, size_t room, const char *report, const char *table)
{
    bool tells = strncmp(table, report, strlen(report)) == 0;
    snprintf(out, room, "%s%s%s", tells ? "" : report, tells ? "" : ": ", table);
    for (char *c = out; *c; c++) *c = *c == '_' ? ' ' : *c;
}

static hd_status find_table(const hd_report_table_about **out, const hd_report_about *about,
                            const view_request *request, hd_error *err)
{
    const char *table = view_param_text(request, "table"), *name = view_param_text(request, "name");
    for (*out = about ? about->tables : NULL; *out && (*out)->name; ++*out) {
        if (table && strcmp((*out)->name, table) == 0) return HD_OK;
    }
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "table: report '%.40s' has no table '%.40s'",
                        name ? name : "", table ? table : "");
}

static hd_status make_tracks(view_table_tracks *out, view_scene *scene, const view_request *request,
                             const hd_report_table_about *about, const char *detail, hd_error *err)
{
    hd_report report;
    const hd_report_about *of;
    char title[120];
    const hd_report_input input = {.trace = view_scene_trace(scene)};
    HD_TRY(run(&report, &of, input, request, err));
    const char *value = about->chart == HD_CHART_SERIES ? strchr(about->chart_values, ',') : NULL;
    put_title(title, sizeof title, of->name, about->name);
    const view_table_about what = {.title = title, .detail = detail, .value = value ? value + 1 : NULL};
    const hd_table *table = hd_report_table(&report, about->name);
    hd_status status = table ? view_derive_table(out, scene, table, &what, err)
                             : hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                            "report %s makes no table %s without an option", of->name, about->name);
    hd_report_free(&report);
    return status;
}

hd_status view_route_report_tracks(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    const hd_report_table_about *about;
    view_table_tracks tracks;
    hd_json_out detail = {0};
    HD_TRY(view_param_scene(&scene, reply, request, err));
    const char *name = view_param_text(request, "name");
    const hd_report_about *report = hd_report_about_find(name ? name : "");
    HD_TRY(find_table(&about, report, request, err));
    HD_TRY(view_need_laid_out(reply, scene, err));
    if (!describe(&detail, report, about, request)) return HD_NOMEM(err);
    view_queries *queries = view_scene_queries(scene);
    pthread_mutex_lock(&queries->lock_tables);
    hd_status status = view_made_tracks_find(&tracks, scene, VIEW_TABLE_ROLE, detail.data, err);
    if (status == HD_OK && !tracks.count) status = make_tracks(&tracks, scene, request, about, detail.data, err);
    pthread_mutex_unlock(&queries->lock_tables);
    free(detail.data);
    if (status == HD_OK) {
        view_session_tell(request->session);
        view_json_made_tracks(&reply->json, &tracks);
        free(tracks.ids);
        status = view_json_done(reply, err);
    }
    return status;
}

/* ---- two sides ---- */

static hd_status not_ready(view_reply *reply, view_session *session, uint32_t trace, view_trace_state state,
                           hd_error *err)
{
    reply->status = 409;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%.200s %s", view_session_name(session, trace),
                        state == VIEW_FAILED ? "could not be read: there is nothing to compare"
                                             : "is still being read: ask again");
}

static hd_status add_sides(hd_diff_side *const sides[2], view_reply *reply, view_session *session, hd_error *err)
{
    uint32_t before, count = view_session_diff(&before, session);
    if (view_session_count(session) < count)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "summaries of ranks have no single steps to compare: compare the traces");
    for (uint32_t i = 0; i < count; i++) {
        view_scene *scene;
        view_trace_state state = view_session_scene(&scene, session, i);
        if (!scene) return not_ready(reply, session, i, state, err);
        HD_TRY(hd_diff_side_add(sides[i >= before], view_scene_trace(scene), view_session_name(session, i), err));
        HD_TRY(hd_trace_input_status(view_scene_trace(scene), err));
    }
    return HD_OK;
}

static void put_cell(hd_json_out *json, const char *column, const hd_table *table, size_t row)
{
    hd_string text;
    text.data = hd_table_get_string(&text.size, table, row, hd_table_find_column(table, column));
    view_json_text(json, column, text);
}

/* Steps with the trace that they are of, and their start in it. */
static void put_steps(hd_json_out *json, const hd_table *steps, view_session *session)
{
    const size_t start = hd_table_find_column(steps, "start"), pair = hd_table_find_column(steps, "pair"),
                 side = hd_table_find_column(steps, "side"), input = hd_table_find_column(steps, "input"),
                 length = hd_table_find_column(steps, "length"), compared = hd_table_find_column(steps, "compared");
    uint32_t before;
    view_session_diff(&before, session);
    view_json_key(json, "steps");
    hd_json_put_text(json, "[");
    for (size_t row = 0; row < hd_table_row_count(steps); row++) {
        size_t size;
        if (hd_table_is_null(steps, row, start)) continue;
        bool is_after = *hd_table_get_string(&size, steps, row, side) == 'a';
        uint32_t trace = (is_after ? before : 0) + (uint32_t)hd_table_get_int(steps, row, input);
        view_scene *scene;
        view_session_scene(&scene, session, trace);
        hd_json_put_text(json, json->data[json->size - 1] == '[' ? "{" : ",\n{");
        view_json_int(json, "trace", trace);
        put_cell(json, "step", steps, row);
        view_json_int(json, "start", hd_table_get_int(steps, row, start) - view_scene_start(scene));
        view_json_int(json, "length", hd_table_get_int(steps, row, length));
        view_json_bool(json, "compared", hd_table_get_bool(steps, row, compared));
        if (!hd_table_is_null(steps, row, pair)) view_json_int(json, "pair", hd_table_get_int(steps, row, pair));
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}

static hd_status answer_diff(view_reply *reply, view_session *session, const hd_diff *diff, hd_error *err)
{
    static const char *const names[] = {"rows", "parts", "groups", "counts", "figures", "sides", "differs", "reasons"};
    const hd_table *step = hd_diff_table(diff, "step");
    const view_table_part part = {0};
    hd_json_out *json = &reply->json;
    hd_json_put_text(json, "{");
    put_cell(json, "verdict", step, 0);
    put_cell(json, "sentence", step, 0);
    put_steps(json, hd_diff_table(diff, "steps"), session);
    view_json_key(json, "tables");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const hd_table *table = hd_diff_table(diff, names[i]);
        if (!table) continue;
        if (i) hd_json_put_text(json, ",\n");
        view_json_table(json, table, hd_diff_report_about(), &part);
    }
    hd_json_put_text(json, "]}");
    return view_json_done(reply, err);
}

hd_status view_route_diff(view_reply *reply, const view_request *request, hd_error *err)
{
    hd_diff_side *sides[2] = {NULL, NULL};
    hd_diff *diff = NULL;
    uint32_t before;
    if (!view_session_diff(&before, request->session)) {
        reply->status = 404;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "there are no two sides: open them with heddle view --diff BEFORE AFTER");
    }
    hd_status status = HD_OK;
    for (int side = 0; side < 2 && status == HD_OK; side++) status = hd_diff_side_new(&sides[side], NULL, err);
    if (status == HD_OK) status = add_sides(sides, reply, request->session, err);
    if (status == HD_OK) status = hd_diff_new(&diff, sides[0], sides[1], NULL, err);
    if (status == HD_OK) status = answer_diff(reply, request->session, diff, err);
    hd_diff_free(diff);
    for (int side = 0; side < 2; side++) hd_diff_side_free(sides[side]);
    return status;
}
