/* table.c - a table as JSON: typed columns, rows, and the preferred chart */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text/double.h"
#include "view/write/json.h"

enum { ROWS_SENT = 5000 };

static const char *const type_names[] = {
    [HD_VALUE_STRING] = "text",     [HD_VALUE_INT] = "number",  [HD_VALUE_COUNT] = "count",
    [HD_VALUE_DECIMAL] = "decimal", [HD_VALUE_BYTES] = "bytes", [HD_VALUE_DURATION] = "duration",
    [HD_VALUE_TIME] = "time",       [HD_VALUE_BOOL] = "bool",
};

static void put_text(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, strlen(text)});
}

static void put_number(hd_json_out *json, double value)
{
    char text[HD_DOUBLE_BYTES];
    hd_json_put_text(json, isfinite(value) ? hd_double_text(text, value) : "null");
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

static void put_chart(hd_json_out *json, const hd_report_table_about *about)
{
    static const char *const names[] = {"", "bars", "series", "scatter", "lanes"};
    if (!about->chart) return;
    put_text(json, "chart", names[about->chart]);
    put_text(json, "label", about->chart_label ? about->chart_label : "");
    put_text(json, "values", about->chart_values ? about->chart_values : "");
}

/* `column`: SIZE_MAX if the table has no steps. */
static bool is_of_steps(const hd_table *table, size_t row, size_t column, const view_table_part *part)
{
    if (!part->step_count || column == SIZE_MAX) return true;
    for (size_t i = 0; i < part->step_count && !hd_table_is_null(table, row, column); i++) {
        if (hd_table_get_int(table, row, column) == part->steps[i]) return true;
    }
    return false;
}

void view_json_table(hd_json_out *json, const hd_table *table, const hd_report_about *of, const view_table_part *part)
{
    const hd_report_table_about *about = of->tables;
    size_t rows = 0, sent = 0, step = hd_table_find_column(table, "step_start");
    for (size_t row = 0; row < hd_table_row_count(table); row++) rows += is_of_steps(table, row, step, part);
    hd_json_put_text(json, "{");
    while (about->name && strcmp(about->name, hd_table_name(table)) != 0) about++;
    put_text(json, "name", hd_table_name(table));
    put_text(json, "meaning", about->name ? about->meaning : "");
    if (about->name) put_chart(json, about);
    view_json_int(json, "count", (int64_t)rows);
    put_columns(json, table, about->name ? about : NULL);
    view_json_key(json, "rows");
    hd_json_put_text(json, "[");
    for (size_t row = 0; row < hd_table_row_count(table) && sent < ROWS_SENT; row++) {
        if (!is_of_steps(table, row, step, part)) continue;
        hd_json_put_text(json, sent++ ? ",\n[" : "[");
        for (size_t c = 0; c < hd_table_column_count(table); c++) {
            if (c) hd_json_put_text(json, ",");
            put_cell(json, table, row, c, part->start_ns);
        }
        hd_json_put_text(json, "]");
    }
    hd_json_put_text(json, "]}");
}
