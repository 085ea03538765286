/* diff.c - the head of the page of a diff: the verdict, steps on both sides, what they are made of, what changed */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "heddle/names.h"
#include "model/stats/stats.h"
#include "report/html/page.h"
#include "report/report.h"
#include "trace/text.h"

enum { WIDTH = 1000, ROWS_SHOWN = 15, PARTS = 5 };

/* ---- steps: a tick per step, those that were left out are pale ---- */

typedef struct step_range {
    int64_t least, most;
} step_range;

static step_range range_of(const hd_table *steps)
{
    step_range r = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < hd_table_row_count(steps); i++) {
        int64_t length = html_number(steps, i, "length");
        if (length < r.least) r.least = length;
        if (length > r.most) r.most = length;
    }
    if (r.most == r.least) r.most++;
    return r;
}

static double place_of(const step_range *r, double length)
{
    return 10 + (WIDTH - 20) * (length - (double)r->least) / ((double)r->most - (double)r->least);
}

static void put_ticks(hd_json_out *out, const hd_table *steps, const step_range *r, int side, int64_t median)
{
    size_t compared = hd_table_find_column(steps, "compared");
    html_format(out,
                "<div class=lane><span class=who>%s</span><svg class=strip viewBox=\"0 0 %d 100\" "
                "preserveAspectRatio=none role=img>",
                diff_side_names[side], WIDTH);
    for (int is_used = 0; is_used < 2; is_used++) {
        html_format(out, "<path class=s%d d=\"", is_used ? side : 8);
        for (size_t i = 0; i < hd_table_row_count(steps) && out->size < HTML_HEAD_BYTES; i++) {
            if (!hd_string_is(html_cell(steps, i, "side"), diff_side_names[side])) continue;
            if (hd_table_get_bool(steps, i, compared) != is_used) continue;
            html_format(out, "M%.1f 85v-70h2v70z", place_of(r, (double)html_number(steps, i, "length")));
        }
        html_put(out, "\"/>");
    }
    if (median != HD_NO_NUMBER)
        html_format(out, "<path class=s%d d=\"M%.1f 100v-100h4v100z\"/>", side, place_of(r, (double)median) - 1);
    html_put(out, "</svg><span class=figure>");
    if (median != HD_NO_NUMBER) html_duration(out, median);
    html_put(out, "</span></div>\n");
}

static void put_steps(hd_json_out *out, const hd_report *report)
{
    const hd_table *steps = hd_report_table(report, "steps"), *step = hd_report_table(report, "step");
    if (!steps || !hd_table_row_count(steps) || !step || !hd_table_row_count(step)) return;
    step_range r = range_of(steps);
    html_put(
        out,
        "<section>\n<h2>Time of a step</h2>\n<p>A tick for each step, a high one for the median; pale: warm-up and "
        "others that were left out. From ");
    html_duration(out, r.least);
    html_put(out, " on the left to ");
    html_duration(out, r.most);
    html_put(out, " on the right.</p>\n");
    for (int side = 0; side < 2; side++) put_ticks(out, steps, &r, side, html_number(step, 0, diff_side_names[side]));
    html_put(out, "</section>\n");
}

/* ---- parts: two bars of one scale, which add up to the steps ---- */

static int part_of(hd_string name)
{
    static const char *const names[PARTS] = {"compute", "exposed_communication", "exposed_copy", NULL, "host"};
    enum { IDLE = 3 }; /* all of its causes */
    for (int part = 0; part < PARTS; part++)
        if (names[part] && hd_string_is(name, names[part])) return part;
    return IDLE;
}

static void put_signed(hd_json_out *out, double ns)
{
    html_put(out, ns < 0 ? "\xe2\x88\x92" : "+");
    html_duration(out, gpu_round(fabs(ns)));
}

static void put_parts(hd_json_out *out, const hd_report *report)
{
    static const char *const names[PARTS] = {"compute", "exposed communication", "exposed copies", "idle",
                                             "on the CPU"};
    const hd_table *t = hd_report_table(report, "parts");
    double sums[2][PARTS] = {{0}}, whole[2] = {0};
    for (size_t i = 0; t && i < hd_table_row_count(t); i++) {
        for (int side = 0; side < 2; side++) {
            double value = (double)html_number(t, i, diff_side_names[side]);
            sums[side][part_of(html_cell(t, i, "part"))] += value;
            whole[side] += value;
        }
    }
    double most = whole[0] > whole[1] ? whole[0] : whole[1];
    if (!(most > 0)) return;
    html_put(out, "<section>\n<h2>What the mean step is made of</h2>\n<p class=key>");
    for (int p = 0; p < PARTS; p++) {
        if (sums[0][p] <= 0 && sums[1][p] <= 0) continue;
        html_format(out, "<span><i class=k%d></i>%s <b>", p, names[p]);
        put_signed(out, sums[1][p] - sums[0][p]);
        html_put(out, "</b></span>\n");
    }
    html_put(out, "</p>\n");
    for (int side = 0; side < 2; side++) {
        html_format(out, "<div class=lane><span class=who>%s</span><span class=bar>", diff_side_names[side]);
        for (int p = 0; p < PARTS; p++) {
            if (sums[side][p] <= 0) continue;
            html_format(out, "<i class=k%d style=\"width:%.2f%%\" title=\"%s: ", p, 100 * sums[side][p] / most,
                        names[p]);
            html_duration(out, gpu_round(sums[side][p]));
            html_put(out, "\"></i>");
        }
        html_put(out, "</span><span class=figure>");
        html_duration(out, gpu_round(whole[side]));
        html_put(out, "</span></div>\n");
    }
    html_put(out, "</section>\n");
}

/* ---- rows: faster to the left, slower to the right ---- */

static void put_row(hd_json_out *out, const hd_table *t, size_t row, double most)
{
    char shorter[HD_NAME_BYTES];
    double change = (double)html_number(t, row, "change"), width = 50 * fabs(change) / most;
    hd_string name = html_cell(t, row, "name");
    html_put(out, "<div class=\"lane wide\"><span class=who title=\"");
    html_text(out, name);
    html_put(out, "\">");
    html_text(out, html_cell(t, row, "kind"));
    html_put(out, " ");
    html_text(out, (hd_string){shorter, hd_name_short(shorter, name)});
    html_format(out,
                "</span><span class=bar><i class=%s style=\"margin-left:%.2f%%;width:%.2f%%\"></i></span>"
                "<span class=figure>",
                change < 0 ? "down" : "up", change < 0 ? 50 - width : 50, width);
    put_signed(out, change);
    html_put(out, " \xc2\xb7 ");
    html_text(out, html_cell(t, row, "verdict"));
    html_put(out, "</span></div>\n");
}

static void put_rows(hd_json_out *out, const hd_report *report)
{
    const hd_table *t = hd_report_table(report, "rows");
    size_t rows = t ? hd_table_row_count(t) : 0;
    double most = 0;
    for (size_t i = 0; i < rows && i < ROWS_SHOWN; i++) {
        double size = fabs((double)html_number(t, i, "change"));
        if (size > most) most = size;
    }
    if (!(most > 0)) return;
    html_put(
        out,
        "<section>\n<h2>What makes up the change</h2>\n<p>Per step, the largest first: to the left what takes less "
        "time after, to the right what takes more. Operators and modules contain the time of their kernels.</p>\n");
    for (size_t i = 0; i < rows && i < ROWS_SHOWN; i++) put_row(out, t, i, most);
    html_put(out, "</section>\n");
}

void html_diff(html_page *page, const hd_report_part *part)
{
    hd_json_out *out = &page->out;
    const hd_table *step = hd_report_table(part->report, "step");
    html_put(out, "<header>\n<h1>");
    html_text(out, html_cell(step, 0, "sentence"));
    html_put(out, "</h1>\n<p>");
    html_words(out, part->path);
    html_put(out, "</p>\n</header>\n");
    put_steps(out, part->report);
    put_parts(out, part->report);
    put_rows(out, part->report);
    html_put(out, "<section>\n<h2>All tables</h2>\n");
}
