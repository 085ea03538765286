/* pictures.c - the timeline and the flame graph of one input, drawn without scripts */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "heddle/names.h"
#include "report/html/page.h"

/* ---- timeline: a strip per track, a column as high as it is busy, in the colour of what took most of it ---- */

enum { STRIPS = 16, OF_MANY = 4, COLORS = 8, OF_GPU = 6, HIGH = 100 };

typedef struct name_sum {
    hd_string name;
    int64_t time;
    bool of_gpu;
} name_sum;

typedef struct strips {
    const hd_table *rows, *cells;
    size_t shown;
    name_sum *names; /* those of GPUs first, most time first */
    size_t name_count, name_capacity;
    size_t colors[COLORS]; /* the names that have a colour; SIZE_MAX: none */
} strips;

static bool is_stream(const strips *s, size_t row)
{
    hd_string kind = html_cell(s->rows, row, "kind");
    return kind.size == 6 && memcmp(kind.data, "stream", 6) == 0;
}

static bool is_name(const name_sum *sum, hd_string name, bool of_gpu)
{
    return sum->of_gpu == of_gpu && sum->name.size == name.size &&
           (!name.size || memcmp(sum->name.data, name.data, name.size) == 0);
}

static bool add_name(strips *s, hd_string name, int64_t time, bool of_gpu)
{
    size_t i = 0;
    while (i < s->name_count && !is_name(&s->names[i], name, of_gpu)) i++;
    if (i == s->name_count) {
        if (!hd_grow((void **)&s->names, &s->name_capacity, i, sizeof *s->names)) return false;
        s->names[s->name_count++] = (name_sum){name, 0, of_gpu};
    }
    s->names[i].time += time;
    return true;
}

static int most_first(const void *a, const void *b)
{
    const name_sum *x = a, *y = b;
    if (x->of_gpu != y->of_gpu) return x->of_gpu ? -1 : 1;
    if (x->time != y->time) return x->time > y->time ? -1 : 1;
    size_t size = x->name.size < y->name.size ? x->name.size : y->name.size;
    int order = size ? memcmp(x->name.data, y->name.data, size) : 0;
    return order ? order : (x->name.size > y->name.size) - (x->name.size < y->name.size);
}

static bool choose_colors(strips *s)
{
    for (size_t i = 0; i < hd_table_row_count(s->cells); i++) {
        int64_t row = html_number(s->cells, i, "row");
        if (row >= (int64_t)s->shown) continue;
        if (!add_name(s, html_cell(s->cells, i, "name"), html_number(s->cells, i, "name_time"),
                      is_stream(s, (size_t)row)))
            return false;
    }
    if (s->name_count) hd_sort(s->names, s->name_count, sizeof *s->names, most_first);
    size_t of_gpu = 0;
    while (of_gpu < s->name_count && s->names[of_gpu].of_gpu) of_gpu++;
    for (size_t i = 0; i < COLORS; i++) {
        size_t name = i < OF_GPU ? i : of_gpu + i - OF_GPU;
        s->colors[i] = name < (i < OF_GPU ? of_gpu : s->name_count) ? name : SIZE_MAX;
    }
    return true;
}

/* COLORS: of a name that has none. */
static size_t color_of(const strips *s, hd_string name, bool of_gpu)
{
    size_t i = 0;
    while (i < COLORS && (s->colors[i] == SIZE_MAX || !is_name(&s->names[s->colors[i]], name, of_gpu))) i++;
    return i;
}

static void put_label(html_page *page, const html_input *input, const strips *s, size_t row)
{
    hd_json_out *out = &page->out;
    int64_t device = html_number(s->rows, row, "device"), stream = html_number(s->rows, row, "stream");
    hd_string name = html_cell(s->rows, row, "name");
    if (device != HD_NO_NUMBER) {
        html_device_kind(out, page, input);
        html_format(out, " %" PRId64 " ", device);
    }
    if (device != HD_NO_NUMBER && stream != HD_NO_NUMBER)
        html_format(out, "stream %" PRId64, stream);
    else
        html_text(out, name.size ? name : html_cell(s->rows, row, "tid"));
}

/* All columns of one colour are one path, adjacent ones of equal height one box. */
static void put_strip(html_page *page, const html_input *input, const strips *s, size_t row, size_t *first,
                      int64_t width)
{
    hd_json_out *out = &page->out;
    const hd_table *c = s->cells;
    size_t begin = *first, end = begin, rows = hd_table_row_count(c);
    static const char close[] = "V100z";
    bool of_gpu = is_stream(s, row);
    while (end < rows && html_number(c, end, "row") == (int64_t)row) end++;
    *first = end;
    html_put(out, "<div class=lane><span class=who>");
    put_label(page, input, s, row);
    html_format(out, "</span><svg class=strip viewBox=\"0 0 %" PRId64 " %d\" preserveAspectRatio=none>", width, HIGH);
    for (size_t color = 0; color <= COLORS; color++) {
        bool any = false;
        int64_t after = -1; /* the column after the last one, which was this high: */
        int last = 0;
        for (size_t i = begin; i < end; i++) {
            if (color_of(s, html_cell(c, i, "name"), of_gpu) != color) continue;
            int64_t length = html_number(c, i, "end") - html_number(c, i, "start");
            double busy = length > 0 ? (double)html_number(c, i, "busy") / (double)length : 0;
            int high = (int)(busy * HIGH + 0.5);
            if (high < 2) high = 2;
            int64_t column = html_number(c, i, "column");
            if (!any) html_format(out, "<path class=s%zu d=\"", color);
            if (any && column == after && high == last)
                html_put(out, "h1");
            else
                html_format(out, "%sM%" PRId64 " %dV%dh1", any ? close : "", column, HIGH, HIGH - high);
            any = true;
            after = column + 1;
            last = high;
        }
        if (any) html_put(out, close);
        if (any) html_put(out, "\"/>");
    }
    html_put(out, "</svg></div>\n");
}

static void put_legend(hd_json_out *out, const strips *s)
{
    html_put(out, "<p class=key>");
    for (size_t i = 0; i < COLORS; i++) {
        if (s->colors[i] == SIZE_MAX) continue;
        hd_string name = s->names[s->colors[i]].name;
        html_put(out, "<span title=\"");
        html_text(out, name);
        html_format(out, "\"><i class=s%zu></i><em>", i);
        char shorter[HD_NAME_BYTES];
        html_text(out, i < OF_GPU ? (hd_string){shorter, hd_name_short(shorter, name)} : name);
        html_put(out, "</em></span>\n");
    }
    html_format(out, "<span><i class=s%d></i>other</span></p>\n", COLORS);
}

void html_timeline(html_page *page, const html_input *input)
{
    hd_json_out *out = &page->out;
    strips s = {html_table(input, "timeline", "rows"), html_table(input, "timeline", "cells"), 0, NULL, 0, 0, {0}};
    const hd_table *window = html_table(input, "timeline", "window");
    if (!s.rows || !s.cells || !window) return;
    if (out->size > HTML_HEAD_BYTES) return;
    s.shown = page->count > HTML_MANY ? OF_MANY : STRIPS;
    if (s.shown > hd_table_row_count(s.rows)) s.shown = hd_table_row_count(s.rows);
    if (!choose_colors(&s)) out->failed = true;
    html_put(out,
             "<section>\n<h2>Timeline</h2>\n<p>Each column is as high as its track is busy, and has the colour of what "
             "takes most of it; the whole is ");
    html_duration(out, html_number(window, 0, "until") - html_number(window, 0, "from"));
    html_put(out, ".</p>\n");
    size_t first = 0;
    for (size_t row = 0; row < s.shown && !out->failed; row++)
        put_strip(page, input, &s, row, &first, html_number(window, 0, "width"));
    if (!out->failed) put_legend(out, &s);
    if (s.shown < hd_table_row_count(s.rows))
        html_format(out, "<p class=more>%zu more tracks are not shown.</p>\n", hd_table_row_count(s.rows) - s.shown);
    html_put(out, "</section>\n");
    free(s.names);
}

/* ---- flame graph: boxes by depth and share, the callers above ---- */

enum { FLAME_ROWS = 40 };

static double decimal(const hd_table *table, size_t row, const char *column)
{
    size_t c = hd_table_find_column(table, column);
    return c == SIZE_MAX || hd_table_is_null(table, row, c) ? 0 : hd_table_get_decimal(table, row, c);
}

void html_flame(html_page *page, const html_input *input)
{
    hd_json_out *out = &page->out;
    const hd_table *t = html_table(input, "flame", "frames");
    int64_t deepest = 0;
    if (!t || hd_table_row_count(t) < 2) return;
    for (size_t i = 0; i < hd_table_row_count(t); i++) {
        int64_t depth = html_number(t, i, "depth");
        if (depth > deepest && depth < FLAME_ROWS) deepest = depth;
    }
    html_put(out, "<section>\n<h2>Flame graph</h2>\n<p>");
    html_words(out, html_part(input, "flame")->about->text);
    html_format(out, "</p>\n<div class=flame style=\"height:%" PRId64 "px\">\n", 18 * (deepest + 1));
    for (size_t i = 0; i < hd_table_row_count(t) && out->size < HTML_HEAD_BYTES; i++) {
        int64_t depth = html_number(t, i, "depth");
        hd_string name = html_cell(t, i, "name"), kind = html_cell(t, i, "kind");
        if (depth >= FLAME_ROWS) continue;
        html_put(out, "<i class=\"f-");
        html_text(out, kind);
        html_format(out, "\" style=\"left:%.2f%%;width:%.2f%%;top:%" PRId64 "px\" title=\"", decimal(t, i, "start"),
                    decimal(t, i, "share"), 18 * depth);
        html_text(out, name);
        html_format(out, ": %.1f %%\">", decimal(t, i, "share"));
        if (decimal(t, i, "share") >= 2) html_text(out, name);
        html_put(out, "</i>\n");
    }
    html_put(out, "</div>\n</section>\n");
}
