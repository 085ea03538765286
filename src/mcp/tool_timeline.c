/* tool_timeline.c - timeline: the report of that name, each row's cells as a line of characters */
#include <inttypes.h>
#include <string.h>

#include "mcp/impl.h"

enum { WIDTH = 60, WIDTH_MOST = 200, ROWS = 12, NAMES = 10 };

static hd_status make_options(const char *options[6], mcp_call *call, hd_error *err)
{
    static const char *const bounds[] = {"from", "until"};
    bool is_there;
    int64_t time = 0;
    size_t count = 0;
    const char *tracks = mcp_arg_text(call, "tracks");
    options[count++] = mcp_text(call, "width=%" PRId64, mcp_arg_int(call, "width", WIDTH));
    options[count++] = mcp_text(call, "rows=%" PRId64, mcp_arg_int(call, "rows", ROWS));
    if (tracks) options[count++] = mcp_text(call, "tracks=%s", tracks);
    for (size_t i = 0; i < 2; i++) {
        HD_TRY(mcp_arg_time(&is_there, &time, call, bounds[i], err));
        if (!is_there || __builtin_sub_overflow(time, mcp_trace_start(call->trace), &time)) continue;
        options[count++] = mcp_text(call, "%s=%" PRId64 "ns", bounds[i], time);
    }
    for (size_t i = 0; i < count; i++)
        if (!options[i]) return HD_NOMEM(err);
    return HD_OK;
}

/* From ' ' for nothing to '#' for a column that is covered whole, by eighths, rounded up. */
static char cell_mark(int64_t busy, int64_t length)
{
    double eighths = length > 0 ? 8.0 * (double)busy / (double)length : 0;
    int height = (int)eighths + ((double)(int)eighths < eighths);
    return " .:-=+*%#"[height < 0 ? 0 : height > 8 ? 8 : height];
}

/* The report's column, which it always has. */
static size_t column(const hd_table *table, const char *name)
{
    return hd_table_find_column(table, name);
}

static void put_string(hd_json_out *json, const hd_table *table, size_t row, const char *name)
{
    size_t size, at = column(table, name);
    if (hd_table_is_null(table, row, at)) {
        hd_json_put_text(json, "null");
        return;
    }
    const char *data = hd_table_get_string(&size, table, row, at);
    mcp_put_cell(json, data, size, 80);
}

static void put_int(hd_json_out *json, const hd_table *table, size_t row, const char *name)
{
    size_t at = column(table, name);
    hd_json_put(json, ",", 1);
    if (hd_table_is_null(table, row, at))
        hd_json_put_text(json, "null");
    else
        hd_json_put_int(json, hd_table_get_int(table, row, at));
}

/* Cells come by row, then column. *at is the first of the row, and is moved behind the last. */
static void draw_cells(char line[WIDTH_MOST + 1], const hd_table *cells, size_t *at, int64_t row, size_t width)
{
    memset(line, ' ', width);
    line[width] = '\0';
    for (; *at < hd_table_row_count(cells) && hd_table_get_int(cells, *at, column(cells, "row")) == row; ++*at) {
        size_t place = (size_t)hd_table_get_int(cells, *at, column(cells, "column"));
        if (place >= width) continue;
        line[place] = cell_mark(hd_table_get_int(cells, *at, column(cells, "busy")),
                                hd_table_get_int(cells, *at, column(cells, "end")) -
                                    hd_table_get_int(cells, *at, column(cells, "start")));
    }
}

static hd_status add_tracks(mcp_call *call, const hd_report *report, hd_error *err)
{
    const hd_table *rows = hd_report_table(report, "rows"), *cells = hd_report_table(report, "cells");
    size_t width = (size_t)mcp_arg_int(call, "width", WIDTH), at = 0;
    char line[WIDTH_MOST + 1];
    mcp_table *out = hd_table_row_count(rows) ? mcp_answer_start(call->answer, "tracks") : NULL;
    if (!out) return HD_OK;
    hd_json_put_text(&out->columns, "[\"process\",\"track\",\"device\",\"stream\",\"busy\",\"cells\"]");
    for (size_t row = 0; row < hd_table_row_count(rows); row++) {
        draw_cells(line, cells, &at, (int64_t)row, width);
        hd_json_put(&out->rows, "[", 1);
        put_string(&out->rows, rows, row, hd_table_is_null(rows, row, column(rows, "process")) ? "pid" : "process");
        hd_json_put(&out->rows, ",", 1);
        put_string(&out->rows, rows, row, hd_table_is_null(rows, row, column(rows, "name")) ? "tid" : "name");
        put_int(&out->rows, rows, row, "device");
        put_int(&out->rows, rows, row, "stream");
        put_int(&out->rows, rows, row, "busy");
        hd_json_put(&out->rows, ",", 1);
        mcp_put_cell(&out->rows, line, width, WIDTH_MOST);
        HD_TRY(mcp_table_end_row(out, err));
    }
    out->total = out->count;
    return HD_OK;
}

hd_status mcp_tool_timeline(mcp_call *call, hd_error *err)
{
    const char *options[6] = {NULL};
    hd_report report;
    hd_table *names = NULL;
    mcp_put_trace(call);
    HD_TRY(make_options(options, call, err));
    HD_TRY(mcp_run_report(&report, call, "timeline", options, err));
    hd_status status = mcp_answer_table(call->answer, hd_report_table(&report, "window"), NULL, 0, err);
    if (status == HD_OK) status = add_tracks(call, &report, err);
    if (status == HD_OK) status = hd_table_head(&names, hd_report_table(&report, "names"), NAMES, err);
    if (status == HD_OK) status = mcp_answer_table(call->answer, names, NULL, 0, err);
    hd_table_free(names);
    hd_report_free(&report);
    return status;
}
