/* report.c - GET /api/reports and /api/report: the reports of this build, and one of them run over a trace */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "heddle/report.h"
#include "view/route/routes_query.h"

enum { ROWS_SENT = 5000 };

static void put_text(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, strlen(text)});
}

static void put_options(hd_json_out *json, const hd_report_about *about)
{
    view_json_key(json, "options");
    hd_json_put_text(json, "[");
    for (const hd_option_about *o = about->options; o && o->name; o++) {
        hd_json_put_text(json, o == about->options ? "{" : ", {");
        put_text(json, "name", o->name);
        put_text(json, "kind", hd_option_kind_name(o->kind));
        put_text(json, "fallback", o->fallback ? o->fallback : "");
        put_text(json, "meaning", o->meaning);
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
        hd_json_put_text(json, i ? ",\n{" : "{");
        put_text(json, "name", about->name);
        put_text(json, "title", about->title);
        put_text(json, "text", about->text);
        put_options(json, about);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
    return view_json_done(reply, err);
}

/* ---- tables ---- */

static const char *const type_names[] = {
    [HD_VALUE_STRING] = "text",     [HD_VALUE_INT] = "number",  [HD_VALUE_COUNT] = "count",
    [HD_VALUE_DECIMAL] = "decimal", [HD_VALUE_BYTES] = "bytes", [HD_VALUE_DURATION] = "duration",
    [HD_VALUE_TIME] = "time",       [HD_VALUE_BOOL] = "bool",
};

static void put_number(hd_json_out *json, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    hd_json_put_text(json, isfinite(value) ? text : "null");
}

/* Times count from where the page's do. */
static void put_cell(hd_json_out *json, const hd_table *table, size_t row, size_t column, int64_t start_ns)
{
    size_t size;
    int64_t time;
    char number[24];
    if (hd_table_is_null(table, row, column)) {
        hd_json_put_text(json, "null");
        return;
    }
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: {
        const char *text = hd_table_get_string(&size, table, row, column);
        hd_json_put_string(json, text, size);
        return;
    }
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES:
        snprintf(number, sizeof number, "%" PRIu64, hd_table_get_count(table, row, column));
        hd_json_put_text(json, number);
        return;
    case HD_VALUE_DECIMAL: put_number(json, hd_table_get_decimal(table, row, column)); return;
    case HD_VALUE_BOOL: hd_json_put_text(json, hd_table_get_bool(table, row, column) ? "true" : "false"); return;
    case HD_VALUE_TIME:
        time = hd_table_get_int(table, row, column);
        hd_json_put_int(json, __builtin_sub_overflow(time, start_ns, &time) ? INT64_MAX : time);
        return;
    default: hd_json_put_int(json, hd_table_get_int(table, row, column)); return;
    }
}

static void put_columns(hd_json_out *json, const hd_table *table, const hd_report_table_about *about)
{
    view_json_key(json, "columns");
    hd_json_put_text(json, "[");
    for (size_t c = 0; c < hd_table_column_count(table); c++) {
        const hd_table_column *column = hd_table_get_column(table, c);
        hd_json_put_text(json, c ? ", {" : "{");
        put_text(json, "name", column->name);
        put_text(json, "type", type_names[column->type]);
        put_text(json, "meaning", about && about->columns[c].name ? about->columns[c].meaning : "");
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
}

static void put_table(hd_json_out *json, const hd_table *table, const hd_report_about *of, int64_t start_ns)
{
    const hd_report_table_about *about = of->tables;
    size_t rows = hd_table_row_count(table), sent = rows < ROWS_SENT ? rows : ROWS_SENT;
    while (about->name && strcmp(about->name, hd_table_name(table)) != 0) about++;
    put_text(json, "name", hd_table_name(table));
    put_text(json, "meaning", about->name ? about->meaning : "");
    view_json_int(json, "count", (int64_t)rows);
    put_columns(json, table, about->name ? about : NULL);
    view_json_key(json, "rows");
    hd_json_put_text(json, "[");
    for (size_t row = 0; row < sent; row++) {
        hd_json_put_text(json, row ? ",\n[" : "[");
        for (size_t c = 0; c < hd_table_column_count(table); c++) {
            if (c) hd_json_put_text(json, ",");
            put_cell(json, table, row, c, start_ns);
        }
        hd_json_put_text(json, "]");
    }
    hd_json_put_text(json, "]");
}

/* ---- the run ---- */

static void free_options(char **options)
{
    for (char **option = options; option && *option; option++) free(*option);
    free(options);
}

/* All parameters but `trace` and `name`, as "KEY=VALUE", and "KEY" for what has no value. NULL: no memory. */
static char **options_of(const view_request *request)
{
    size_t count = 0;
    char **options = calloc(request->param_count + 1, sizeof *options);
    for (size_t i = 0; options && i < request->param_count; i++) {
        const view_param *p = &request->params[i];
        if (strcmp(p->name, "trace") == 0 || strcmp(p->name, "name") == 0) continue;
        if (asprintf(&options[count], "%s%s%s", p->name, *p->value ? "=" : "", p->value) < 0) {
            options[count] = NULL;
            free_options(options);
            return NULL;
        }
        count++;
    }
    return options;
}

hd_status view_route_report(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    hd_report report;
    hd_json_out *json = &reply->json;
    const char *name = view_param_text(request, "name");
    HD_TRY(view_param_scene(&scene, reply, request, err));
    const hd_report_about *about = hd_report_about_find(name ? name : "");
    char **options = options_of(request);
    const hd_report_input input = {.trace = view_scene_trace(scene), .options = (const char *const *)options};
    hd_status status = options ? hd_report_run(&report, name ? name : "", &input, err) : HD_NOMEM(err);
    free_options(options);
    HD_TRY(status);
    hd_json_put_text(json, "{\"tables\": [");
    for (size_t i = 0; i < report.table_count; i++) {
        hd_json_put_text(json, i ? ",\n{" : "{");
        put_table(json, report.tables[i], about, view_scene_start(scene));
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
    hd_report_free(&report);
    return view_json_done(reply, err);
}
