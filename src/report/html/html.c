/* html.c - reports as one self-contained HTML page
 *
 * With the report `summary` the page begins with a headline, findings and pictures, and its tables are folded; without
 * it, the page is the tables of its reports. Cells are written as in text output; numbers are in data-v as well, for
 * html.js. All text goes through html_text, which escapes HTML.
 */
#include "report/html/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/text/double.h"
#include "heddle/names.h"

enum { CELL_BYTES = 400, LONG_BYTES = 32 };

static hd_status put_escaped(void *user, const char *data, size_t size)
{
    hd_json_out *out = user;
    for (const char *end = data + size; data < end; data++) {
        switch (*data) {
        case '&': html_put(out, "&amp;"); break;
        case '<': html_put(out, "&lt;"); break;
        case '>': html_put(out, "&gt;"); break;
        case '"': html_put(out, "&quot;"); break;
        case '\'': html_put(out, "&#39;"); break;
        default: hd_json_put(out, data, 1);
        }
    }
    return HD_OK;
}

void html_text(hd_json_out *out, hd_string text)
{
    if (text.size) hd_text_write((hd_sink){put_escaped, out}, text.data, text.size);
}

void html_words(hd_json_out *out, const char *text)
{
    html_text(out, (hd_string){text, strlen(text)});
}

void html_format(hd_json_out *out, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (size < 0 || size >= (int)sizeof text)
        out->failed = true;
    else
        hd_json_put(out, text, (size_t)size);
}

void html_duration(hd_json_out *out, int64_t ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    double value = (double)ns;
    size_t unit = 0;
    while (unit < 3 && value < 0.9995 * units[unit].ns) unit++;
    value /= units[unit].ns;
    html_format(out, "%.*f\xc2\xa0%s",
                unit == 3 || value >= 99.95 ? 0
                : value >= 9.995            ? 1
                                            : 2,
                value, units[unit].name);
}

/* ---- inputs ---- */

const hd_report_part *html_part(const html_input *input, const char *report)
{
    for (size_t i = 0; i < input->count; i++) {
        if (strcmp(input->parts[i].about->name, report) == 0) return &input->parts[i];
    }
    return NULL;
}

const hd_table *html_table(const html_input *input, const char *report, const char *table)
{
    const hd_report_part *part = html_part(input, report);
    const hd_table *found = part ? hd_report_table(part->report, table) : NULL;
    return found && hd_table_row_count(found) ? found : NULL;
}

int64_t html_number(const hd_table *table, size_t row, const char *column)
{
    size_t c = hd_table_find_column(table, column);
    if (c == SIZE_MAX || hd_table_is_null(table, row, c)) return HD_NO_NUMBER;
    switch (hd_table_get_column(table, c)->type) {
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: return (int64_t)hd_table_get_count(table, row, c);
    case HD_VALUE_INT:
    case HD_VALUE_DURATION:
    case HD_VALUE_TIME: return hd_table_get_int(table, row, c);
    default: return HD_NO_NUMBER;
    }
}

hd_string html_cell(const hd_table *table, size_t row, const char *column)
{
    hd_string text = {0};
    size_t c = hd_table_find_column(table, column);
    if (c == SIZE_MAX || hd_table_is_null(table, row, c) || hd_table_get_column(table, c)->type != HD_VALUE_STRING)
        return text;
    text.data = hd_table_get_string(&text.size, table, row, c);
    return text;
}

hd_string html_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash && slash[1]) path = slash + 1;
    return (hd_string){path, strlen(path)};
}

void html_input_name(hd_json_out *out, const html_page *page, const html_input *input)
{
    if (page->count < 2) return;
    if (input->rank != HD_NO_NUMBER)
        html_format(out, "rank %" PRId64, input->rank);
    else
        html_text(out, html_file(input->parts[0].path));
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
    html_put(out, size > LONG_BYTES ? "<td class=t><div>" : "<td>");
    html_text(out, (hd_string){text, shown});
    if (shown < size) html_put(out, "\xe2\x80\xa6");
    if (size > LONG_BYTES) html_put(out, "</div>");
}

static void put_number(hd_json_out *out, const char *raw, const char *text)
{
    html_put(out, "<td class=n data-v=\"");
    html_put(out, raw);
    html_put(out, "\">");
    html_put(out, text);
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
        html_put(out, is_number(about->type) ? "<td class=\"n null\">-" : "<td class=null>-");
        return;
    }
    if (about->type == HD_VALUE_STRING) {
        put_string(out, table, row, column);
        return;
    }
    if (about->type == HD_VALUE_BOOL) {
        html_put(out, hd_table_get_bool(table, row, column) ? "<td>yes" : "<td>no");
        return;
    }
    if (about->type == HD_VALUE_DECIMAL) {
        double value = hd_table_get_decimal(table, row, column);
        hd_double_text(raw, isfinite(value) ? value : 0.0);
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
    html_put(out, " ");
    html_put(out, name);
    html_put(out, "=\"");
    html_words(out, value ? value : "");
    html_put(out, "\"");
}

static void put_chart(hd_json_out *out, const hd_report_table_about *about)
{
    static const char *const names[] = {"", "bars", "series", "scatter", "lanes"};
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
    char heading[HD_HEADING_BYTES];
    html_put(out, "<thead><tr>");
    for (size_t i = 0; i < hd_table_column_count(table); i++) {
        const hd_table_column *column = hd_table_get_column(table, i);
        if (is_empty(table, i)) continue;
        html_put(out, is_number(column->type) ? "<th class=n" : "<th");
        put_attribute(out, "title", meaning_of(about, column->name));
        put_attribute(out, "data-name", column->name);
        html_put(out, ">");
        html_put(out, hd_table_heading(heading, column));
        html_put(out, "</th>");
    }
    html_put(out, "</tr></thead>\n<tbody>\n");
}

/* Writes rows until the table has taken `bytes`; returns their number. */
static size_t put_rows(hd_json_out *out, const hd_table *table, int64_t start_ns, size_t bytes)
{
    size_t end = out->size + bytes, row = 0, columns = hd_table_column_count(table);
    bool *empty = calloc(columns + 1, sizeof *empty);
    if (!empty) out->failed = true;
    for (size_t i = 0; empty && i < columns; i++) empty[i] = is_empty(table, i);
    for (; row < hd_table_row_count(table) && out->size < end && !out->failed; row++) {
        html_put(out, "<tr>");
        for (size_t i = 0; i < columns; i++) {
            if (!empty[i]) put_cell(out, table, row, i, start_ns);
        }
        html_put(out, "\n");
    }
    free(empty);
    return row;
}

static void put_table(html_page *page, const hd_table *table, const hd_report_part *part)
{
    hd_json_out *out = &page->out;
    const hd_report_table_about *about = report_table_about(part->about, hd_table_name(table));
    size_t rows = hd_table_row_count(table), room = out->size < HTML_PAGE_BYTES ? HTML_PAGE_BYTES - out->size : 0;
    char a[HD_VALUE_TEXT_BYTES], b[HD_VALUE_TEXT_BYTES];
    html_put(out, "<section>\n<h3>");
    for (const char *c = hd_table_name(table); *c; c++) hd_json_put(out, *c == '_' ? " " : c, 1);
    html_put(out, "</h3>\n<p>");
    html_words(out, about ? about->meaning : "");
    html_put(out, "</p>\n<div class=scroll><table");
    if (about) put_chart(out, about);
    html_put(out, ">");
    put_head(out, table, about);
    size_t shown = put_rows(out, table, part->start_ns, page->tables ? room / page->tables : room);
    if (page->tables) page->tables--;
    html_put(out, "</tbody></table></div>\n");
    if (shown < rows)
        html_format(out,
                    "<p class=more>The first %s of %s rows; the others are left out, so that this page stays small: "
                    "heddle report -o FOLDER/ writes all.</p>\n",
                    hd_text_count(a, shown), hd_text_count(b, rows));
    html_put(out, "</section>\n");
}

static bool is_zero(const hd_table *table, size_t row, size_t column)
{
    if (hd_table_is_null(table, row, column)) return true;
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: return false;
    case HD_VALUE_BOOL: return !hd_table_get_bool(table, row, column);
    case HD_VALUE_DECIMAL: return hd_table_get_decimal(table, row, column) == 0;
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: return hd_table_get_count(table, row, column) == 0;
    default: return hd_table_get_int(table, row, column) == 0;
    }
}

/* Whether it has a nonzero value, or a note on why there is none. */
static bool says_something(const hd_table *table)
{
    const char *name = hd_table_name(table);
    if (strcmp(name, "notes") == 0 || strcmp(name, "ledger") == 0) return false;
    for (size_t row = 0; row < hd_table_row_count(table); row++) {
        for (size_t i = 0; i < hd_table_column_count(table); i++)
            if (!is_zero(table, row, i)) return true;
    }
    return false;
}

static bool has_content(const hd_report_part *part)
{
    for (size_t i = 0; i < part->report->table_count; i++) {
        if (says_something(part->report->tables[i])) return true;
    }
    return false;
}

/* `from`: of its tables the first to be written. */
static void put_tables(html_page *page, const hd_report_part *part, size_t from)
{
    for (size_t i = from; i < part->report->table_count; i++) {
        if (hd_table_row_count(part->report->tables[i])) put_table(page, part->report->tables[i], part);
    }
}

/* ---- the page of a summary ---- */

/* Tables that are drawn instead of printed. */
static bool is_drawn(const hd_report_part *part)
{
    return strcmp(part->about->name, "timeline") == 0 || strcmp(part->about->name, "flame") == 0;
}

static void put_folded(html_page *page, const hd_report_part *part)
{
    hd_json_out *out = &page->out;
    if (!has_content(part) || is_drawn(part) || out->size > HTML_PAGE_BYTES) return;
    html_format(out, "<details>\n<summary><b>%s</b> ", part->about->name);
    html_words(out, part->about->title);
    html_put(out, "</summary>\n<p>");
    html_words(out, part->about->text);
    html_put(out, "</p>\n");
    put_tables(page, part, 0);
    html_put(out, "</details>\n");
}

enum { SHOWN = 10 }; /* kernels */

/* The short name, or the whole one if an adjacent kernel has the same short name. */
static void put_kernel_name(hd_json_out *out, const hd_table *t, size_t row)
{
    static const char type[] = "void ";
    char own[HD_NAME_BYTES], other[HD_NAME_BYTES];
    hd_string name = html_cell(t, row, "name");
    size_t size = hd_name_short(own, name), same = 0;
    for (size_t i = 0; i < hd_table_row_count(t) && i < SHOWN; i++) {
        if (i != row && hd_name_short(other, html_cell(t, i, "name")) == size && memcmp(own, other, size) == 0) same++;
    }
    if (same && name.size > sizeof type && memcmp(name.data, type, sizeof type - 1) == 0)
        name = (hd_string){name.data + sizeof type - 1, name.size - (sizeof type - 1)};
    html_text(out, same ? name : (hd_string){own, size});
}

static void put_kernels(html_page *page, const html_input *input)
{
    hd_json_out *out = &page->out;
    const hd_table *t = html_table(input, "kernels", "kernels");
    size_t rows = t ? hd_table_row_count(t) : 0, share = t ? hd_table_find_column(t, "share") : SIZE_MAX;
    double most = 0;
    if (share == SIZE_MAX || page->count > HTML_MANY) return;
    for (size_t i = 0; i < rows && i < SHOWN; i++) {
        double value = hd_table_is_null(t, i, share) ? 0 : hd_table_get_decimal(t, i, share);
        if (value > most) most = value;
    }
    if (most <= 0) return;
    html_put(out, "<section>\n<h2>Kernels that take most of the time</h2>\n");
    for (size_t i = 0; i < rows && i < SHOWN; i++) {
        double value = hd_table_is_null(t, i, share) ? 0 : hd_table_get_decimal(t, i, share);
        hd_string name = html_cell(t, i, "name");
        html_put(out, "<div class=\"lane wide\"><span class=who title=\"");
        html_text(out, name);
        html_put(out, "\">");
        put_kernel_name(out, t, i);
        html_format(out, "</span><span class=bar><i class=k0 style=\"width:%.2f%%\"></i></span><span class=figure>",
                    100 * value / most);
        html_duration(out, html_number(t, i, "total"));
        html_format(out, " \xc2\xb7 %.1f %%</span></div>\n", value);
    }
    html_put(out, "</section>\n");
}

/* "Rank 0 is clearly late: …", if its lateness is more than chance (z, as `imbalance` has it). */
static void put_straggler(html_page *page)
{
    enum { CLEARLY = 3 };
    hd_json_out *out = &page->out;
    const hd_table *t = html_table(&page->job, "stragglers", "stragglers");
    size_t latest = 0, z = t ? hd_table_find_column(t, "z") : SIZE_MAX;
    for (size_t i = 1; t && i < hd_table_row_count(t); i++) {
        if (html_number(t, i, "late") > html_number(t, latest, "late")) latest = i;
    }
    if (z == SIZE_MAX || html_number(t, latest, "late") <= 0 || html_number(t, latest, "rank") == HD_NO_NUMBER) return;
    bool is_clear = !hd_table_is_null(t, latest, z) && hd_table_get_decimal(t, latest, z) > CLEARLY;
    html_format(out, "<p class=what>%s %" PRId64 " arrives last at %" PRId64 " of %" PRId64 " collectives, and is ",
                is_clear ? "Rank" : "No rank is clearly later than the others. Rank", html_number(t, latest, "rank"),
                html_number(t, latest, "last"), html_number(t, latest, "collectives"));
    html_duration(out, html_number(t, latest, "late"));
    html_put(out, " late in sum");
    if (html_cell(t, latest, "doubt").size) html_put(out, "; doubtful: ");
    html_text(out, html_cell(t, latest, "doubt"));
    html_put(out, ".</p>\n");
}

/* Of a report its first table; the others are folded. */
static void put_job_report(html_page *page, const char *heading, const char *name)
{
    hd_json_out *out = &page->out;
    const hd_report_part *part = html_part(&page->job, name);
    if (!part || !part->report->table_count || !says_something(part->report->tables[0])) return;
    html_format(out, "<section>\n<h2>%s</h2>\n", heading);
    if (strcmp(name, "stragglers") == 0) put_straggler(page);
    put_table(page, part->report->tables[0], part);
    html_format(out, "<details>\n<summary><b>%s</b> more tables of this report</summary>\n<p>", name);
    html_words(out, part->about->text);
    html_put(out, "</p>\n");
    put_tables(page, part, 1);
    html_put(out, "</details>\n</section>\n");
}

static void put_job(html_page *page)
{
    if (!page->job.count) return;
    put_job_report(page, "Which ranks are late", "stragglers");
    put_job_report(page, "What is uneven among ranks", "imbalance");
    for (size_t i = 0; i < page->job.count; i++) {
        const char *name = page->job.parts[i].about->name;
        if (strcmp(name, "stragglers") != 0 && strcmp(name, "imbalance") != 0) put_folded(page, &page->job.parts[i]);
    }
}

void html_device_kind(hd_json_out *out, const html_page *page, const html_input *input)
{
    hd_string all = {"GPU", 3}, device = {"device", 6}, kind;
    bool any = false;
    for (size_t i = 0; i < page->count; i++) {
        const hd_table *t = html_table(&page->inputs[i], "info", "devices");
        for (size_t row = 0; t && (!input || input == &page->inputs[i]) && row < hd_table_row_count(t); row++) {
            if (html_number(t, row, "slices") <= 0 || !(kind = html_cell(t, row, "kind")).size) continue;
            bool differs = any && (kind.size != all.size || memcmp(kind.data, all.data, kind.size) != 0);
            all = differs ? device : kind;
            any = true;
            if (differs) break;
        }
    }
    html_text(out, all);
}

/* "rank 3: step 222 ms, GPU 41 % idle". */
static void put_rank_line(html_page *page, const html_input *input)
{
    hd_json_out *out = &page->out;
    const hd_table *steps = html_table(input, "summary", "steps"), *where = html_table(input, "summary", "breakdown");
    html_put(out, "<summary><b>");
    html_input_name(out, page, input);
    html_put(out, "</b> ");
    if (steps) html_put(out, "step ");
    if (steps) html_duration(out, html_number(steps, 0, "median"));
    int64_t span = where ? html_number(where, 0, "span") : 0, idle = where ? html_number(where, 0, "idle") : 0;
    if (span > 0) {
        if (steps) html_put(out, ", ");
        html_device_kind(out, page, input);
        html_format(out, " %.0f %% idle", 100 * (double)idle / (double)span);
    }
    if (input->rank != HD_NO_NUMBER) html_put(out, " <small>");
    if (input->rank != HD_NO_NUMBER) html_text(out, html_file(input->parts[0].path));
    html_put(out, input->rank != HD_NO_NUMBER ? "</small></summary>\n" : "</summary>\n");
}

static void put_input(html_page *page, const html_input *input)
{
    html_timeline(page, input);
    html_flame(page, input);
    put_kernels(page, input);
}

static const hd_table *notes_of_absent(const hd_report_part *part)
{
    const hd_table *notes = hd_report_table(part->report, "notes");
    return has_content(part) || is_drawn(part) || !notes || !hd_table_row_count(notes) ? NULL : notes;
}

/* Whether a report without content before this one has the same note. */
static bool was_said(const html_input *input, size_t before, hd_string note)
{
    for (size_t i = 0; i < before; i++) {
        const hd_table *notes = notes_of_absent(&input->parts[i]);
        for (size_t k = 0; notes && k < hd_table_row_count(notes); k++) {
            hd_string other = html_cell(notes, k, "note");
            if (other.size == note.size && (!note.size || memcmp(other.data, note.data, note.size) == 0)) return true;
        }
    }
    return false;
}

/* The reports that have nothing, and why. */
static void put_absent(html_page *page, const html_input *input)
{
    hd_json_out *out = &page->out;
    size_t absent = 0, said = 0;
    for (size_t i = 0; i < input->count; i++) {
        if (!notes_of_absent(&input->parts[i])) continue;
        html_format(out, "%s%s", absent++ ? ", " : "<p class=more>Not in this trace: ", input->parts[i].about->name);
    }
    for (size_t i = 0; i < input->count; i++) {
        const hd_table *notes = notes_of_absent(&input->parts[i]);
        for (size_t k = 0; notes && k < hd_table_row_count(notes); k++) {
            if (was_said(input, i, html_cell(notes, k, "note"))) continue;
            html_put(out, said++ ? "; " : " (");
            html_text(out, html_cell(notes, k, "note"));
        }
    }
    if (absent) html_put(out, said ? ").</p>\n" : ".</p>\n");
}

static void put_folds(html_page *page, const html_input *input)
{
    for (size_t i = 0; i < input->count; i++) put_folded(page, &input->parts[i]);
    put_absent(page, input);
}

static void put_summary(html_page *page)
{
    hd_json_out *out = &page->out;
    html_head(page);
    html_findings(page, page->inputs, page->count);
    put_job(page);
    if (page->count == 1) {
        put_input(page, page->inputs);
        html_put(out, "<section>\n<h2>All tables</h2>\n");
        put_folds(page, page->inputs);
        html_put(out, "</section>\n");
        return;
    }
    html_put(out, page->job.count ? "<section>\n<h2>Ranks</h2>\n" : "<section>\n<h2>Traces</h2>\n");
    for (size_t i = 0; i < page->count; i++) {
        html_put(out, "<details class=rank>\n");
        put_rank_line(page, &page->inputs[i]);
        html_findings(page, &page->inputs[i], 1);
        put_input(page, &page->inputs[i]);
        if (page->count <= HTML_MANY) put_folds(page, &page->inputs[i]);
        html_put(out, "</details>\n");
    }
    if (page->count > HTML_MANY)
        html_put(out, "<p class=more>Kernels and tables of one of them: heddle report -o PAGE.html FILE.</p>\n");
    html_put(out, "</section>\n");
}

/* ---- the page of other reports ---- */

static void put_contents(hd_json_out *out, const hd_report_part *parts, size_t count)
{
    bool several_files = false;
    for (size_t i = 1; i < count; i++) several_files |= strcmp(parts[i].path, parts[0].path) != 0;
    html_put(out, "<nav>\n");
    for (size_t i = 0; i < count; i++) {
        bool other_file = i && strcmp(parts[i].path, parts[i - 1].path) != 0;
        html_format(out, "%s<a href=\"#r%zu\">%s", other_file ? "<br>" : "", i, parts[i].about->name);
        if (several_files) html_put(out, " of ");
        if (several_files) html_text(out, html_file(parts[i].path));
        html_put(out, "</a>\n");
    }
    html_put(out, "</nav>\n");
}

static void put_part(html_page *page, const hd_report_part *part, size_t number)
{
    hd_json_out *out = &page->out;
    if (strcmp(part->about->name, "diff") == 0) {
        html_diff(page, part);
        put_tables(page, part, 0);
        html_put(out, "</section>\n");
        return;
    }
    html_format(out, "<h1 id=r%zu>%s <small>of ", number, part->about->name);
    html_words(out, part->path);
    html_put(out, "</small></h1>\n<p>");
    html_words(out, part->about->text);
    html_put(out, "</p>\n");
    bool any = false;
    for (size_t i = 0; i < part->report->table_count; i++) any |= hd_table_row_count(part->report->tables[i]) > 0;
    put_tables(page, part, 0);
    if (!any) html_put(out, "<p>No rows: the trace has nothing of this.</p>\n");
}

/* ---- the page ---- */

static void put_begin(html_page *page, const hd_report_part *parts, size_t count)
{
    hd_json_out *out = &page->out;
    html_put(out, "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
                  "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                  "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<title>");
    if (page->is_summary) {
        html_title(page);
    } else {
        html_words(out, count ? parts[0].about->name : "report");
        if (count) html_put(out, " of ");
        if (count) html_words(out, parts[0].path);
        if (count > 1) html_put(out, " and others");
    }
    html_put(out, "</title>\n<style>\n");
    hd_json_put(out, report_css, report_css_size);
    html_put(out, "</style>\n</head>\n<body>\n");
}

static int by_rank(const void *a, const void *b)
{
    const html_input *x = a, *y = b;
    uint64_t p = (uint64_t)x->rank - (uint64_t)HD_NO_NUMBER - 1, q = (uint64_t)y->rank - (uint64_t)HD_NO_NUMBER - 1;
    if (p != q) return p < q ? -1 : 1; /* those without a rank are last */
    return (x->parts > y->parts) - (x->parts < y->parts);
}

/* Groups the parts by path. */
static bool group_parts(html_page *page, const hd_report_part *parts, size_t count)
{
    page->inputs = calloc(count + 1, sizeof *page->inputs);
    if (!page->inputs) return false;
    page->is_summary = count > 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(parts[end].path, parts[i].path) == 0;) end++;
        html_input input = {&parts[i], end - i, HD_NO_NUMBER};
        const hd_table *file = html_table(&input, "info", "file");
        if (file) input.rank = html_number(file, 0, "rank");
        if (parts[i].about->of_job && i == 0 && end < count) {
            page->job = input;
            continue;
        }
        page->inputs[page->count++] = input;
        page->is_summary &= html_part(&input, "summary") && html_part(&input, "info");
    }
    hd_sort(page->inputs, page->count, sizeof *page->inputs, by_rank);
    for (size_t i = 0; i < count; i++) {
        bool is_of_job = i < page->job.count;
        if (page->is_summary && (is_drawn(&parts[i]) || (page->count > HTML_MANY && !is_of_job))) continue;
        for (size_t k = 0; k < parts[i].report->table_count; k++)
            page->tables += hd_table_row_count(parts[i].report->tables[k]) > 0;
    }
    return true;
}

hd_status report_print_html(hd_sink sink, const hd_report_part *parts, size_t count, hd_error *err)
{
    html_page page = {0};
    hd_json_out *out = &page.out;
    if (!group_parts(&page, parts, count)) return HD_NOMEM(err);
    put_begin(&page, parts, count);
    if (page.is_summary) {
        put_summary(&page);
    } else {
        if (count > 1) put_contents(out, parts, count);
        for (size_t i = 0; i < count; i++) put_part(&page, &parts[i], i);
    }
    html_put(out, "<script type=module>\n");
    hd_json_put(out, report_charts, report_charts_size);
    hd_json_put(out, report_js, report_js_size);
    html_put(out, "</script>\n</body>\n</html>\n");
    hd_status status = out->failed ? HD_NOMEM(err) : sink.write(sink.user, out->data, out->size);
    free(out->data);
    free(page.inputs);
    return status;
}
