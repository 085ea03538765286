/* head.c - the first screen of the page: what ran, where the time goes, and what to do first */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "report/html/page.h"

/* ---- sums ---- */

enum { PARTS = 4 };
static const struct {
    const char *column, *name;
} where[PARTS] = {{"compute", "compute"},
                  {"exposed_communication", "communication not hidden by compute"},
                  {"exposed_copy", "copies not hidden by either"},
                  {"idle", "idle"}};

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 && part > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Of all devices together. */
typedef struct device_sums {
    double span, parts[PARTS];
    size_t devices;
} device_sums;

static void add_devices(device_sums *sums, const html_input *input)
{
    const hd_table *t = html_table(input, "summary", "breakdown");
    for (size_t i = 0; t && i < hd_table_row_count(t); i++) {
        int64_t span = html_number(t, i, "span");
        if (span <= 0) continue;
        sums->span += (double)span;
        sums->devices++;
        for (int p = 0; p < PARTS; p++) {
            int64_t part = html_number(t, i, where[p].column);
            sums->parts[p] += part > 0 ? (double)part : 0;
        }
    }
}

static device_sums sum_devices(const html_page *page)
{
    device_sums sums = {0};
    for (size_t i = 0; i < page->count; i++) add_devices(&sums, &page->inputs[i]);
    return sums;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The median over the ranks of their median step; HD_NO_TIME: no steps. */
static int64_t median_step(const html_page *page, int64_t *steps)
{
    int64_t *list = calloc(page->count + 1, sizeof *list), median = HD_NO_TIME;
    size_t count = 0;
    *steps = 0;
    for (size_t i = 0; list && i < page->count; i++) {
        const hd_table *t = html_table(&page->inputs[i], "summary", "steps");
        if (!t) continue;
        list[count++] = html_number(t, 0, "median");
        if (html_number(t, 0, "steps") > *steps) *steps = html_number(t, 0, "steps");
    }
    if (count) {
        hd_sort(list, count, sizeof *list, compare_times);
        median = list[(count - 1) / 2];
    }
    free(list);
    return median;
}

/* ---- the title ---- */

static int64_t count_ranks(const html_page *page)
{
    const hd_table *job = html_table(&page->job, "job", "job");
    return job ? html_number(job, 0, "ranks") : (int64_t)page->count;
}

static void put_name(html_page *page)
{
    hd_json_out *out = &page->out;
    if (page->job.count)
        html_format(out, "Job of %" PRId64 " ranks", count_ranks(page));
    else if (page->count > 1)
        html_format(out, "%zu traces", page->count);
    else
        html_text(out, html_file(page->inputs[0].parts[0].path));
}

void html_title(html_page *page)
{
    hd_json_out *out = &page->out;
    device_sums sums = sum_devices(page);
    int64_t steps, step = median_step(page, &steps);
    put_name(page);
    if (step != HD_NO_TIME) {
        html_put(out, ": step ");
        html_duration(out, step);
    }
    if (!(sums.span > 0)) return;
    double idle = 100 * sums.parts[PARTS - 1] / sums.span;
    html_put(out, step != HD_NO_TIME ? ", " : ": ");
    html_device_kind(out, page, NULL);
    html_format(out, " %.*f %% idle", idle > 99 && idle < 100, idle);
}

/* ---- facts ---- */

static void begin_fact(hd_json_out *out, const char *name)
{
    html_format(out, "<div><dt>%s</dt><dd>", name);
}

static void end_fact(hd_json_out *out)
{
    html_put(out, "</dd></div>\n");
}

/* Text of the first file that says it. */
static hd_string fact(const html_page *page, const char *column)
{
    for (size_t i = 0; i < page->count; i++) {
        const hd_table *t = html_table(&page->inputs[i], "info", "file");
        hd_string text = t ? html_cell(t, 0, column) : (hd_string){0};
        if (text.size) return text;
    }
    return (hd_string){0};
}

/* The devices with activities, named after the first of them. */
static void put_gpus(html_page *page)
{
    hd_json_out *out = &page->out;
    size_t devices = sum_devices(page).devices;
    hd_string name = {0};
    bool differ = false;
    for (size_t i = 0; i < page->count; i++) {
        const hd_table *t = html_table(&page->inputs[i], "info", "devices");
        for (size_t k = 0; t && k < hd_table_row_count(t); k++) {
            hd_string own = html_cell(t, k, "name");
            if (html_number(t, k, "slices") <= 0 || !own.size) continue;
            if (!name.size) name = own;
            differ |= own.size != name.size || memcmp(own.data, name.data, own.size) != 0;
        }
    }
    if (!devices) return;
    html_put(out, "<div><dt>");
    html_device_kind(out, page, NULL);
    html_put(out, devices == 1 ? "</dt><dd>" : "s</dt><dd>");
    if (!name.size || devices > 1) html_format(out, "%zu%s", devices, name.size ? " \xc3\x97 " : "");
    html_text(out, name);
    if (differ) html_put(out, " and others");
    end_fact(out);
}

static void put_ranks(html_page *page)
{
    hd_json_out *out = &page->out;
    const hd_table *job = html_table(&page->job, "job", "job");
    const hd_table *file = html_table(&page->inputs[0], "info", "file");
    int64_t of = job ? html_number(job, 0, "world_size") : file ? html_number(file, 0, "world_size") : HD_NO_NUMBER;
    int64_t ranks = count_ranks(page);
    if (!job && (page->count > 1 || page->inputs[0].rank == HD_NO_NUMBER)) return;
    begin_fact(out, job ? "Ranks" : "Rank");
    html_format(out, "%" PRId64, job ? ranks : page->inputs[0].rank);
    if (of != HD_NO_NUMBER) html_format(out, " of %" PRId64, of);
    if (job && ranks > (int64_t)page->count) html_format(out, "; %zu of them are shown", page->count);
    end_fact(out);
}

static void put_steps(html_page *page)
{
    hd_json_out *out = &page->out;
    int64_t steps, step = median_step(page, &steps);
    const hd_table *t = html_table(&page->inputs[0], "summary", "steps");
    if (step == HD_NO_TIME) return;
    begin_fact(out, "Step time");
    html_put(out, "<b>");
    html_duration(out, step);
    html_put(out, "</b>");
    html_format(out, " median of %" PRId64 " step%s%s", steps, steps == 1 ? "" : "s", page->count > 1 ? " a rank" : "");
    if (page->count == 1 && t && steps > 1) {
        html_put(out, ", slowest ");
        html_duration(out, html_number(t, 0, "slowest"));
    }
    end_fact(out);
}

static void put_facts(html_page *page)
{
    enum { UNTIL_MINUTES = 16 };
    hd_json_out *out = &page->out;
    hd_string producer = fact(page, "producer"), start = fact(page, "wall_start");
    const hd_table *file = html_table(&page->inputs[0], "info", "file");
    html_put(out, "<dl class=facts>\n");
    put_steps(page);
    put_gpus(page);
    put_ranks(page);
    begin_fact(out, "Recorded by");
    html_text(out, producer.size ? producer : fact(page, "format"));
    end_fact(out);
    if (start.size > UNTIL_MINUTES) {
        begin_fact(out, "Recorded on");
        html_text(out, (hd_string){start.data, UNTIL_MINUTES});
        html_put(out, " UTC");
        end_fact(out);
    }
    if (file && html_number(file, 0, "duration") != HD_NO_NUMBER) {
        begin_fact(out, "Length");
        html_duration(out, html_number(file, 0, "duration"));
        end_fact(out);
    }
    html_put(out, "</dl>\n");
}

/* ---- where the time goes ---- */

static void put_parts(hd_json_out *out, const double *parts, double span)
{
    html_put(out, "<span class=bar>");
    for (int p = 0; p < PARTS; p++) {
        double share = parts[p] > 0 ? 100 * parts[p] / span : 0;
        if (share <= 0) continue;
        html_format(out, "<i class=k%d style=\"width:%.2f%%\" title=\"%s: ", p, share, where[p].name);
        html_duration(out, (int64_t)parts[p]);
        html_format(out, ", %.1f %%\">", share);
        if (share >= 8) html_format(out, "%.0f %%", share);
        html_put(out, "</i>");
    }
    html_put(out, "</span>");
}

static void put_bar(html_page *page, const html_input *input, const hd_table *t, size_t row)
{
    hd_json_out *out = &page->out;
    int64_t device = html_number(t, row, "device");
    hd_string process = html_cell(t, row, "process");
    double parts[PARTS];
    html_put(out, "<div class=lane><span class=who>");
    if (page->count > 1) html_input_name(out, page, input);
    if (page->count > 1) html_put(out, " \xc2\xb7 ");
    if (device != HD_NO_NUMBER) {
        html_device_kind(out, page, input);
        html_format(out, " %" PRId64, device);
    } else if (process.size) {
        html_text(out, process);
    }
    html_put(out, "</span>");
    for (int p = 0; p < PARTS; p++) parts[p] = (double)html_number(t, row, where[p].column);
    put_parts(out, parts, (double)html_number(t, row, "span"));
    const hd_table *steps = html_table(input, "summary", "steps");
    if (page->count > 1 && steps) {
        html_put(out, "<span class=figure>step ");
        html_duration(out, html_number(steps, 0, "median"));
        html_put(out, "</span>");
    }
    html_put(out, "</div>\n");
}

static void put_where(html_page *page)
{
    hd_json_out *out = &page->out;
    device_sums sums = sum_devices(page);
    if (!(sums.span > 0)) return;
    html_put(out, "<section>\n<h2>Where the ");
    html_device_kind(out, page, NULL);
    html_put(out, " time goes</h2>\n<p class=key>");
    for (int p = 0; p < PARTS; p++)
        html_format(out, "<span><i class=k%d></i>%s <b>%.1f %%</b></span>\n", p, where[p].name,
                    100 * sums.parts[p] / sums.span);
    html_put(out, "</p>\n");
    bool many = page->count > HTML_MANY;
    if (many) {
        html_put(out, "<div class=lane><span class=who>all of them</span>");
        put_parts(out, sums.parts, sums.span);
        html_put(out, "</div>\n<details>\n<summary>one by one</summary>\n");
    }
    for (size_t i = 0; i < page->count; i++) {
        const hd_table *t = html_table(&page->inputs[i], "summary", "breakdown");
        for (size_t k = 0; t && k < hd_table_row_count(t); k++) {
            if (html_number(t, k, "span") > 0) put_bar(page, &page->inputs[i], t, k);
        }
    }
    if (many) html_put(out, "</details>\n");
    html_put(out, "</section>\n");
}

void html_head(html_page *page)
{
    hd_json_out *out = &page->out;
    const hd_report *first =
        page->job.count ? page->job.parts[0].report : html_part(&page->inputs[0], "summary")->report;
    html_put(out, "<header>\n<h1>");
    put_name(page);
    html_put(out, "</h1>\n");
    put_facts(page);
    if (first->trust && (page->job.count || page->count == 1)) {
        html_put(out, "<p class=trust>Trust: ");
        html_words(out, first->trust_text);
        html_put(out, ".</p>\n");
    }
    html_put(out, "</header>\n");
    put_where(page);
}

/* ---- findings ---- */

typedef struct html_finding {
    const html_input *input;
    const hd_table *table;
    size_t row, others; /* others: inputs that have a finding with that code as well */
    int64_t saves;
} html_finding;

enum { FINDINGS_SHOWN = 8, OF_MANY = 3 };

static bool is_note(const html_finding *f)
{
    hd_string severity = html_cell(f->table, f->row, "severity");
    return severity.size == 4 && memcmp(severity.data, "note", 4) == 0;
}

static int most_first(const void *a, const void *b)
{
    const html_finding *x = a, *y = b;
    if (x->saves != y->saves) return x->saves > y->saves ? -1 : 1;
    if (x->input != y->input) return x->input < y->input ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_same_code(const html_finding *a, const html_finding *b)
{
    hd_string x = html_cell(a->table, a->row, "code"), y = html_cell(b->table, b->row, "code");
    return x.size == y.size && (!x.size || memcmp(x.data, y.data, x.size) == 0);
}

/* Of several inputs the one of each code that saves most, and none that is one of the first `of_job` as well, which are
 * of the job. Returns how many are left. */
static size_t merge_codes(html_finding *list, size_t of_job, size_t count)
{
    size_t kept = of_job;
    for (size_t i = of_job; i < count; i++) {
        size_t k = 0;
        while (k < kept && !is_same_code(&list[k], &list[i])) k++;
        if (k == kept) list[kept++] = list[i];
        if (k >= of_job && list[k].input != list[i].input) list[k].others++;
    }
    return kept;
}

static void put_saves(hd_json_out *out, const html_finding *f)
{
    int64_t whole = html_number(f->table, f->row, "whole"), then = html_number(f->table, f->row, "then");
    if (f->saves > 0) {
        html_put(out, "<p class=saves>Saves at most <b>");
        html_duration(out, f->saves);
        html_put(out, "</b>");
        if (whole > 0) html_format(out, " of the ");
        if (whole > 0) html_duration(out, whole);
        if (whole > 0) html_format(out, ", <b>%.1f %%</b>", percent(f->saves, whole));
    } else if (then != HD_NO_NUMBER) {
        html_put(out, "<p class=saves>Saves at most ");
        html_duration(out, then);
        html_put(out, " once ");
        html_text(out, html_cell(f->table, f->row, "behind"));
        html_put(out, " is solved");
    } else {
        html_put(out, "<p class=saves>What this saves is not known");
        if (html_cell(f->table, f->row, "reason").size) html_put(out, ": ");
        html_text(out, html_cell(f->table, f->row, "reason"));
    }
    html_put(out, "</p>\n");
}

static void put_place(html_page *page, const html_finding *f)
{
    hd_json_out *out = &page->out;
    int64_t device = html_number(f->table, f->row, "device");
    hd_string step = html_cell(f->table, f->row, "step"), trust = html_cell(f->table, f->row, "trust");
    hd_string why = html_cell(f->table, f->row, "trust_reason");
    html_put(out, "<p class=place>");
    html_text(out, html_cell(f->table, f->row, "code"));
    if (page->count > 1) html_put(out, " \xc2\xb7 ");
    hd_string ranks = html_cell(f->table, f->row, "ranks");
    if (f->input == &page->job && ranks.size)
        html_put(out, memchr(ranks.data, ',', ranks.size) ? "ranks " : "rank ");
    else if (f->input == &page->job)
        html_put(out, "all ranks");
    else
        html_input_name(out, page, f->input);
    html_text(out, ranks);
    if (f->others) html_format(out, " and %zu more", f->others);
    if (device != HD_NO_NUMBER) {
        html_put(out, " \xc2\xb7 ");
        html_device_kind(out, page, f->input == &page->job ? NULL : f->input);
        html_format(out, " %" PRId64, device);
    }
    if (step.size) html_put(out, " \xc2\xb7 ");
    html_text(out, step);
    if (trust.size) html_put(out, " \xc2\xb7 ");
    html_text(out, trust);
    if (why.size) html_put(out, ": ");
    html_text(out, why);
    html_put(out, "</p>\n");
}

static void put_finding(html_page *page, const html_finding *f)
{
    hd_json_out *out = &page->out;
    hd_string advice = html_cell(f->table, f->row, "advice");
    html_put(out, is_note(f) ? "<li>\n<p class=what>" : "<li class=warning>\n<p class=what>");
    html_text(out, html_cell(f->table, f->row, "finding"));
    html_put(out, "</p>\n");
    put_saves(out, f);
    if (advice.size) {
        html_put(out, "<p class=advice>");
        html_text(out, advice);
        html_put(out, "</p>\n");
    }
    put_place(page, f);
    html_put(out, "</li>\n");
}

void html_findings(html_page *page, const html_input *inputs, size_t count)
{
    hd_json_out *out = &page->out;
    const hd_table *of_job = count > 1 ? html_table(&page->job, "job", "findings") : NULL;
    size_t all = of_job ? hd_table_row_count(of_job) : 0, kept = 0, first = all;
    for (size_t i = 0; i < count; i++) {
        const hd_table *t = html_table(&inputs[i], "summary", "findings");
        all += t ? hd_table_row_count(t) : 0;
    }
    html_finding *list = calloc(all + 1, sizeof *list);
    if (!list) out->failed = true;
    for (; list && kept < first; kept++) /* ranks that wait for each other come before findings of single ranks */
        list[kept] = (html_finding){&page->job, of_job, kept, 0, html_number(of_job, kept, "saves")};
    for (size_t i = 0; list && i < count; i++) {
        const hd_table *t = html_table(&inputs[i], "summary", "findings");
        for (size_t k = 0; t && k < hd_table_row_count(t); k++)
            list[kept++] = (html_finding){&inputs[i], t, k, 0, html_number(t, k, "saves")};
    }
    if (count > 1 && kept > first) {
        hd_sort(list + first, kept - first, sizeof *list, most_first);
        kept = merge_codes(list, first, kept);
    }
    size_t most = count == 1 && page->count > HTML_MANY ? OF_MANY : FINDINGS_SHOWN;
    if (kept) html_put(out, "<section>\n<h2>What to do first</h2>\n<ol class=findings>\n");
    for (size_t i = 0; i < kept && i < most; i++) put_finding(page, &list[i]);
    if (kept) html_put(out, "</ol>\n</section>\n");
    free(list);
}
