/* html.c - reports as one page, which asks nobody for anything
 *
 * Cells are written as text shows them; numbers stand in data-v as well, for html.js. All text goes through put_text,
 * which leaves nothing that HTML would take for its own.
 */
#include "report/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/write.h"

/* All tables together; a mail takes the page. */
enum { PAGE_BYTES = 900 << 10, CELL_BYTES = 400, LONG_BYTES = 32 };

static hd_status put_escaped(void *user, const char *data, size_t size)
{
    hd_json_out *out = user;
    for (const char *end = data + size; data < end; data++) {
        switch (*data) {
        case '&': hd_json_put_text(out, "&amp;"); break;
        case '<': hd_json_put_text(out, "&lt;"); break;
        case '>': hd_json_put_text(out, "&gt;"); break;
        case '"': hd_json_put_text(out, "&quot;"); break;
        case '\'': hd_json_put_text(out, "&#39;"); break;
        default: hd_json_put(out, data, 1);
        }
    }
    return HD_OK;
}

/* Control characters and what is not UTF-8 become visible. */
static void put_text(hd_json_out *out, const char *text, size_t size)
{
    hd_text_write((hd_sink){put_escaped, out}, text, size);
}

static void put_words(hd_json_out *out, const char *text)
{
    put_text(out, text, strlen(text));
}

/* ---- cells ---- */

static bool is_number(hd_value_type type)
{
    return type != HD_VALUE_STRING && type != HD_VALUE_BOOL;
}

/* Long text is cut, where a letter begins. */
static void put_string(hd_json_out *out, const hd_table *table, size_t row, size_t column)
{
    size_t size;
    const char *text = hd_table_get_string(&size, table, row, column);
    size_t shown = size <= CELL_BYTES ? size : CELL_BYTES;
    while (shown < size && shown && ((unsigned char)text[shown] & 0xc0) == 0x80) shown--;
    hd_json_put_text(out, size > LONG_BYTES ? "<td class=t><div>" : "<td>");
    put_text(out, text, shown);
    if (shown < size) hd_json_put_text(out, "\xe2\x80\xa6");
    if (size > LONG_BYTES) hd_json_put_text(out, "</div>");
}

static void put_number(hd_json_out *out, const char *raw, const char *text)
{
    hd_json_put_text(out, "<td class=n data-v=\"");
    hd_json_put_text(out, raw);
    hd_json_put_text(out, "\">");
    hd_json_put_text(out, text);
}

static int64_t since(int64_t time_ns, int64_t start_ns)
{
    int64_t difference;
    return __builtin_sub_overflow(time_ns, start_ns, &difference) ? INT64_MAX : difference;
}

static void put_cell(hd_json_out *out, const hd_table *table, size_t row, size_t column, int64_t start_ns)
{
    const hd_table_column *about = hd_table_get_column(table, column);
    char raw[HD_VALUE_TEXT_BYTES], text[400];
    if (hd_table_is_null(table, row, column)) {
        hd_json_put_text(out, is_number(about->type) ? "<td class=\"n null\">-" : "<td class=null>-");
        return;
    }
    if (about->type == HD_VALUE_STRING) {
        put_string(out, table, row, column);
        return;
    }
    if (about->type == HD_VALUE_BOOL) {
        hd_json_put_text(out, hd_table_get_bool(table, row, column) ? "<td>yes" : "<td>no");
        return;
    }
    if (about->type == HD_VALUE_DECIMAL) {
        double value = hd_table_get_decimal(table, row, column);
        snprintf(raw, sizeof raw, "%.17g", isfinite(value) ? value : 0.0);
        snprintf(text, sizeof text, "%.*f", (int)about->decimals, value);
    } else if (about->type == HD_VALUE_COUNT || about->type == HD_VALUE_BYTES) {
        uint64_t value = hd_table_get_count(table, row, column);
        snprintf(raw, sizeof raw, "%" PRIu64, value);
        about->type == HD_VALUE_BYTES ? hd_text_bytes(text, value) : hd_text_count(text, value);
    } else {
        int64_t value = hd_table_get_int(table, row, column);
        if (about->type == HD_VALUE_TIME) value = since(value, start_ns);
        snprintf(raw, sizeof raw, "%" PRId64, value);
        if (about->type == HD_VALUE_TIME)
            hd_text_time(text, value);
        else if (about->type == HD_VALUE_DURATION)
            hd_text_duration(text, value);
        else
            snprintf(text, sizeof text, "%s", raw);
    }
    put_number(out, raw, text);
}

/* ---- tables ---- */

static bool is_empty(const hd_table *table, size_t column)
{
    size_t row = 0;
    while (row < hd_table_row_count(table) && hd_table_is_null(table, row, column)) row++;
    return row == hd_table_row_count(table);
}

static void put_attribute(hd_json_out *out, const char *name, const char *value)
{
    hd_json_put_text(out, " ");
    hd_json_put_text(out, name);
    hd_json_put_text(out, "=\"");
    put_words(out, value ? value : "");
    hd_json_put_text(out, "\"");
}

static void put_chart(hd_json_out *out, const hd_report_table_about *about)
{
    static const char *const names[] = {"", "bars", "series", "scatter"};
    put_attribute(out, "data-title", about->name);
    if (!about->chart) return;
    put_attribute(out, "data-chart", names[about->chart]);
    put_attribute(out, "data-label", about->chart_label);
    put_attribute(out, "data-values", about->chart_values);
}

static const char *meaning_of(const hd_report_table_about *about, const char *column)
{
    for (const hd_report_column *c = about ? about->columns : NULL; c && c->name; c++) {
        if (strcmp(c->name, column) == 0) return c->meaning;
    }
    return "";
}

static void put_head(hd_json_out *out, const hd_table *table, const hd_report_table_about *about)
{
    hd_json_put_text(out, "<thead><tr>");
    for (size_t i = 0; i < hd_table_column_count(table); i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        if (is_empty(table, i)) continue;
        hd_json_put_text(out, is_number(column->type) ? "<th class=n" : "<th");
        put_attribute(out, "title", meaning_of(about, column->name));
        put_attribute(out, "data-name", column->name);
        hd_json_put_text(out, ">");
        for (const char *c = column->name; *c; c++) hd_json_put(out, *c == '_' ? " " : c, 1);
        hd_json_put_text(out, "</th>");
    }
    hd_json_put_text(out, "</tr></thead>\n<tbody>\n");
}

/* Rows until the table has taken `bytes`; returns how many. */
static size_t put_rows(hd_json_out *out, const hd_table *table, int64_t start_ns, size_t bytes)
{
    size_t end = out->size + bytes, row = 0, columns = hd_table_column_count(table);
    bool *empty = calloc(columns + 1, sizeof *empty);
    if (!empty) out->failed = true;
    for (size_t i = 0; empty && i < columns; i++) empty[i] = is_empty(table, i);
    for (; row < hd_table_row_count(table) && out->size < end && !out->failed; row++) {
        hd_json_put_text(out, "<tr>");
        for (size_t i = 0; i < columns; i++) {
            if (!empty[i]) put_cell(out, table, row, i, start_ns);
        }
        hd_json_put_text(out, "\n");
    }
    free(empty);
    return row;
}

static void put_table(hd_json_out *out, const hd_table *table, const hd_report_part *part, size_t bytes)
{
    const hd_report_table_about *about = report_table_about(part->about, hd_table_name(table));
    size_t rows = hd_table_row_count(table);
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    hd_json_put_text(out, "<section>\n<h2>");
    for (const char *c = hd_table_name(table); *c; c++) hd_json_put(out, *c == '_' ? " " : c, 1);
    hd_json_put_text(out, "</h2>\n<p>");
    put_words(out, about ? about->meaning : "");
    hd_json_put_text(out, "</p>\n<div class=scroll><table");
    if (about) put_chart(out, about);
    hd_json_put_text(out, ">");
    put_head(out, table, about);
    size_t shown = put_rows(out, table, part->start_ns, bytes);
    hd_json_put_text(out, "</tbody></table></div>\n");
    if (shown < rows) {
        hd_json_put_text(out, "<p class=more>The first ");
        hd_json_put_text(out, hd_text_count(a, shown));
        hd_json_put_text(out, " of ");
        hd_json_put_text(out, hd_text_count(b, rows));
        hd_json_put_text(out, " rows; the others are left out, so that this page stays small: heddle report -o FOLDER/ "
                              "writes all.</p>\n");
    }
    hd_json_put_text(out, "</section>\n");
}

/* ---- the page ---- */

static void put_begin(hd_json_out *out, const hd_report_part *parts, size_t count)
{
    hd_json_put_text(out, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                          "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                          "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<title>");
    put_words(out, count ? parts[0].about->name : "report");
    if (count) hd_json_put_text(out, " of ");
    if (count) put_words(out, parts[0].path);
    if (count > 1) hd_json_put_text(out, " and others");
    hd_json_put_text(out, "</title>\n<style>\n");
    hd_json_put(out, report_css, report_css_size);
    hd_json_put_text(out, "</style>\n</head>\n<body>\n");
}

/* Links to the parts. */
static void put_contents(hd_json_out *out, const hd_report_part *parts, size_t count)
{
    char begin[40];
    hd_json_put_text(out, "<nav>\n");
    for (size_t i = 0; i < count; i++) {
        bool other_file = i && strcmp(parts[i].path, parts[i - 1].path) != 0;
        snprintf(begin, sizeof begin, "%s<a href=\"#r%zu\">", other_file ? "<br>" : "", i);
        hd_json_put_text(out, begin);
        put_words(out, parts[i].about->name);
        hd_json_put_text(out, "</a>\n");
    }
    hd_json_put_text(out, "</nav>\n");
}

/* What is left of the page is shared by the tables that are left. */
static void put_part(hd_json_out *out, const hd_report_part *part, size_t number, size_t *left)
{
    bool any = false;
    char id[32];
    snprintf(id, sizeof id, "<h1 id=r%zu>", number);
    hd_json_put_text(out, id);
    put_words(out, part->about->name);
    hd_json_put_text(out, " <small>of ");
    put_words(out, part->path);
    hd_json_put_text(out, "</small></h1>\n<p>");
    put_words(out, part->about->text);
    hd_json_put_text(out, "</p>\n");
    for (size_t i = 0; i < part->report->table_count; i++) {
        if (!hd_table_row_count(part->report->tables[i])) continue;
        put_table(out, part->report->tables[i], part, out->size < PAGE_BYTES ? (PAGE_BYTES - out->size) / *left : 0);
        --*left;
        any = true;
    }
    if (!any) hd_json_put_text(out, "<p>No rows: the trace has nothing of this.</p>\n");
}

hd_status report_print_html(hd_sink sink, const hd_report_part *parts, size_t count, hd_error *err)
{
    hd_json_out out = {0};
    size_t tables = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < parts[i].report->table_count; k++)
            tables += hd_table_row_count(parts[i].report->tables[k]) > 0;
    }
    put_begin(&out, parts, count);
    if (count > 1) put_contents(&out, parts, count);
    for (size_t i = 0; i < count; i++) put_part(&out, &parts[i], i, &tables);
    hd_json_put_text(&out, "<script type=module>\n");
    hd_json_put(&out, report_charts, report_charts_size);
    hd_json_put(&out, report_js, report_js_size);
    hd_json_put_text(&out, "</script>\n</body>\n</html>\n");
    hd_status status = out.failed ? HD_NOMEM(err) : sink.write(sink.user, out.data, out.size);
    free(out.data);
    return status;
}
