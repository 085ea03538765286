/* summary_text.c - `heddle FILE` on a terminal: one screen of 24 lines
 *
 * Trust, a bar of each device's time, the first three findings with what to do, and as many kernels as there is room
 * for. All tables come with --all, or without a terminal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/findings_out.h"
#include "cli/report_out.h"
#include "cli/report_text.h"
#include "heddle/names.h"

enum { LINES = 24, FINDINGS = 3, SENTENCE = 3, BARS = 2, BAR = 24, PARTS = 4, KERNELS = 5 };

typedef struct screen {
    const report_text *text;
    unsigned left; /* lines */
} screen;

static bool is_there(const hd_table *table, size_t row, const char *name)
{
    size_t column = table ? hd_table_find_column(table, name) : SIZE_MAX;
    return column != SIZE_MAX && row < hd_table_row_count(table) && !hd_table_is_null(table, row, column);
}

static int64_t whole(const hd_table *table, size_t row, const char *name)
{
    return is_there(table, row, name) ? hd_table_get_int(table, row, hd_table_find_column(table, name)) : 0;
}

static hd_string string(const hd_table *table, size_t row, const char *name)
{
    size_t size = 0;
    if (!is_there(table, row, name)) return (hd_string){"", 0};
    const char *data = hd_table_get_string(&size, table, row, hd_table_find_column(table, name));
    return (hd_string){data, size};
}

static void put_wrapped(screen *s, const char *head, hd_string text, unsigned indent, unsigned most)
{
    s->left -= cli_print_wrapped(s->text->run, head, text.data, text.size, indent, most);
}

static void put_clauses(screen *s, const char *head, hd_string text, unsigned indent, unsigned most)
{
    s->left -= cli_print_clauses(s->text->run, head, text.data, text.size, indent, most);
}

static void end_line(screen *s)
{
    cli_print(s->text->run, "\n");
    s->left--;
}

/* "rank 0 " and "GPU 0" or its process. */
static void put_device(cli_run *run, const hd_table *table, size_t row)
{
    if (is_there(table, row, "rank")) cli_print(run, "rank %lld ", (long long)whole(table, row, "rank"));
    hd_string process = string(table, row, "process");
    if (process.size)
        report_print_safe(run, process.data, process.size < 20 ? process.size : 20);
    else
        cli_print(run, "GPU %lld", (long long)whole(table, row, "device"));
}

/* A bar of blocks and the length of the span; below it each part in percent. */
static void put_bar(screen *s, int64_t span, const int64_t parts[PARTS])
{
    static const char *const names[PARTS] = {"compute", "comm. alone", "copies alone", "idle"};
    static const char *const blocks[PARTS] = {"\xe2\x96\x88", "\xe2\x96\x93", "\xe2\x96\x92", "\xe2\x96\x91"};
    cli_run *run = s->text->run;
    char length[HD_VALUE_TEXT_BYTES];
    int64_t sum = 0;
    int drawn = 0;
    cli_print(run, "  ");
    for (int i = 0; i < PARTS && span > 0; i++) {
        sum += parts[i];
        int until = (int)((double)sum / (double)span * BAR + 0.5);
        for (; drawn < until && drawn < BAR; drawn++) cli_print(run, "%s", blocks[i]);
    }
    cli_print(run, "  %s", hd_text_duration(length, span));
    end_line(s);
    for (int i = 0; i < PARTS && span > 0; i++)
        if (parts[i]) cli_print(run, "  %s %s %.1f %%", blocks[i], names[i], 100.0 * (double)parts[i] / (double)span);
    end_line(s);
}

static void put_bars(screen *s, const hd_table *breakdown)
{
    static const char *const columns[PARTS] = {"compute", "exposed_communication", "exposed_copy", "idle"};
    cli_run *run = s->text->run;
    size_t rows = breakdown ? hd_table_row_count(breakdown) : 0;
    for (size_t row = 0; row < rows && row < BARS; row++) {
        int64_t parts[PARTS];
        for (int i = 0; i < PARTS; i++) parts[i] = whole(breakdown, row, columns[i]);
        put_device(run, breakdown, row);
        put_bar(s, whole(breakdown, row, "span"), parts);
    }
    if (rows <= BARS) return;
    cli_print(run, "  and %zu more: heddle report breakdown", rows - BARS);
    end_line(s);
}

/* The row of the device that a finding is about, of several; SIZE_MAX: of one, of several, or not known. */
static size_t device_of(const hd_table *breakdown, const hd_table *findings, size_t row)
{
    size_t rows = breakdown && is_there(findings, row, "device") ? hd_table_row_count(breakdown) : 0, i = 0;
    while (i < rows && (whole(breakdown, i, "device") != whole(findings, row, "device") ||
                        whole(breakdown, i, "rank") != whole(findings, row, "rank")))
        i++;
    return rows > 1 && i < rows ? i : SIZE_MAX;
}

static void put_finding(screen *s, const hd_table *findings, size_t row, const hd_table *breakdown, unsigned advice)
{
    cli_run *run = s->text->run;
    char length[HD_VALUE_TEXT_BYTES];
    hd_string code = string(findings, row, "code"), trust = string(findings, row, "trust");
    int64_t total = whole(findings, row, "whole"), saves = whole(findings, row, "saves");
    bool has_then = is_there(findings, row, "then"), is_firm = trust.size == 4 && memcmp(trust.data, "firm", 4) == 0;
    bool has_room = !has_then && (is_firm || code.size < 17); /* in 80 columns */
    size_t device = device_of(breakdown, findings, row);
    cli_print(run, "%zu %s%.*s%s  ", row + 1, cli_style(run, CLI_BOLD), (int)code.size, code.data,
              cli_style(run, CLI_PLAIN));
    if (device != SIZE_MAX && has_room) {
        put_device(run, breakdown, device);
        cli_print(run, "  ");
    }
    if (!is_there(findings, row, "saves"))
        cli_print(run, "saving not known");
    else
        cli_print(run, "saves %s at most (%.1f %%)", hd_text_duration(length, saves),
                  total > 0 ? 100.0 * (double)saves / (double)total : 0);
    if (has_then)
        cli_print(run, ", %s after %.*s", hd_text_duration(length, whole(findings, row, "then")),
                  (int)string(findings, row, "behind").size, string(findings, row, "behind").data);
    if (trust.size && !is_firm) cli_print(run, "  [%.*s]", (int)trust.size, trust.data);
    end_line(s);
    put_clauses(s, "", string(findings, row, "finding"), 2, SENTENCE);
    put_clauses(s, "> ", string(findings, row, "advice"), 4, advice);
}

static void put_kernels(screen *s, const hd_table *kernels, unsigned most)
{
    cli_run *run = s->text->run;
    size_t rows = kernels ? hd_table_row_count(kernels) : 0;
    for (size_t row = 0; row < rows && row < most; row++) {
        char length[HD_VALUE_TEXT_BYTES], name[HD_NAME_BYTES];
        size_t share = hd_table_find_column(kernels, "share"), room = run->width > 40 ? run->width - 28 : 52;
        size_t size = hd_name_short(name, string(kernels, row, "name"));
        cli_print(run, "%-7s %5.1f %%  %9s  ", row ? "" : "kernels",
                  is_there(kernels, row, "share") ? hd_table_get_decimal(kernels, row, share) : 0,
                  hd_text_duration(length, whole(kernels, row, "total")));
        report_print_safe(run, name, size <= room ? size : room - 1);
        cli_print(run, "%s", size <= room ? "" : "\xe2\x80\xa6");
        end_line(s);
    }
}

typedef struct facts {
    char text[400];
    size_t size;
} facts;

/* Adds ", " and a fact, cut where there is no room. */
HD_PRINTF(2, 3) static void add_fact(facts *f, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (f->size) snprintf(f->text + f->size, sizeof f->text - f->size, ", ");
    f->size = strlen(f->text);
    vsnprintf(f->text + f->size, sizeof f->text - f->size, format, list);
    f->size = strlen(f->text);
    va_end(list);
}

static unsigned long long count_of(const hd_table *table, const char *name)
{
    return is_there(table, 0, name) ? hd_table_get_count(table, 0, hd_table_find_column(table, name)) : 0;
}

/* "8 ranks of 8, 1 step" */
static void find_job(facts *f, const hd_table *job)
{
    unsigned long long ranks = count_of(job, "ranks"), steps = count_of(job, "steps");
    if (is_there(job, 0, "world_size"))
        add_fact(f, "%llu rank%s of %llu", ranks, ranks == 1 ? "" : "s", count_of(job, "world_size"));
    else
        add_fact(f, "%llu rank%s", ranks, ranks == 1 ? "" : "s");
    if (steps) add_fact(f, "%llu step%s", steps, steps == 1 ? "" : "s");
}

/* "PyTorch (Kineto), rank 0 of 2, NVIDIA A100-SXM4-40GB, 3 steps, median 222.442ms" */
static void find_trace(facts *f, const hd_table *trace, const hd_table *steps)
{
    char length[HD_VALUE_TEXT_BYTES];
    hd_string producer = string(trace, 0, "producer"), model = string(trace, 0, "model");
    unsigned long long devices = count_of(trace, "devices"), count = 0;
    if (producer.size) add_fact(f, "%.*s", (int)producer.size, producer.data);
    if (is_there(trace, 0, "rank") && is_there(trace, 0, "world_size"))
        add_fact(f, "rank %lld of %lld", (long long)whole(trace, 0, "rank"), (long long)whole(trace, 0, "world_size"));
    if (devices > 1) add_fact(f, model.size ? "%llu x %.*s" : "%llu GPUs", devices, (int)model.size, model.data);
    if (devices == 1 && model.size) add_fact(f, "%.*s", (int)model.size, model.data);
    if (steps && hd_table_row_count(steps) == 1) count = count_of(steps, "steps");
    if (count) hd_text_duration(length, whole(steps, 0, "median"));
    if (count)
        add_fact(f, count == 1 ? "%llu step of %s" : "%llu steps, median %s", count, length);
    else
        add_fact(f, "no steps");
}

/* Behind the path, or on a line of their own where there is no room. */
static void put_facts(screen *s, const facts *f)
{
    cli_run *run = s->text->run;
    size_t used = s->text->path ? strlen(s->text->path) + 2 : 0, width = run->width > 2 ? run->width : 80;
    if (s->text->path) report_print_path(run, s->text->path);
    if (used > 2 && used + f->size <= width) {
        cli_print(run, "  ");
    } else {
        if (used) end_line(s);
        used = 0;
    }
    bool fits = used + f->size <= width;
    report_print_safe(run, f->text, fits ? f->size : width - 1);
    cli_print(run, "%s", fits ? "" : "\xe2\x80\xa6");
    end_line(s);
}

/* The next commands; with the path where there is room. */
static void put_more(const report_text *t, size_t rows)
{
    enum { ROOM = 13 }; /* of 80 columns, with 10 findings */
    const char *path = t->path && strlen(t->path) <= ROOM ? t->path : "FILE";
    cli_print(t->run, "more: heddle summary --all ");
    report_print_safe(t->run, path, strlen(path));
    cli_print(t->run, " (%zu finding%s), heddle idle, heddle view\n", rows, rows == 1 ? "" : "s");
}

static bool is_of_job(const report_text *t)
{
    return strcmp(t->about->name, "job") == 0;
}

bool summary_is_screen(const report_text *t)
{
    if (!t->run->is_terminal || t->all || t->rows || t->tables) return false;
    return t->first_table || strcmp(t->about->name, "summary") == 0;
}

/* Of report imbalance: where the GPU time of the steps goes, mean over ranks. */
static void put_job_bar(screen *s, const hd_table *imbalance)
{
    static const char *const names[PARTS] = {"compute", "exposed communication", "exposed copies", "idle"};
    int64_t means[PARTS] = {0}, sum = 0;
    for (size_t row = 0; imbalance && row < hd_table_row_count(imbalance); row++) {
        hd_string what = string(imbalance, row, "what");
        for (int i = 0; i < PARTS; i++) {
            if (what.size != strlen(names[i]) || memcmp(what.data, names[i], what.size) != 0) continue;
            means[i] = whole(imbalance, row, "mean");
            sum += means[i];
        }
    }
    if (sum <= 0) return;
    cli_print(s->text->run, "GPU, mean of ranks");
    put_bar(s, sum, means);
}

void summary_text(const report_text *t)
{
    screen s = {t, LINES};
    if (strcmp(t->about->name, "imbalance") == 0) {
        put_job_bar(&s, hd_report_table(t->report, "imbalance"));
        return;
    }
    const hd_table *findings = hd_report_table(t->report, "findings"), *steps = hd_report_table(t->report, "steps");
    size_t rows = findings ? hd_table_row_count(findings) : 0;
    const hd_table *breakdown = hd_report_table(t->report, "breakdown"), *trace = hd_report_table(t->report, "trace");
    facts about = {.size = 0};
    if (is_of_job(t))
        find_job(&about, hd_report_table(t->report, "job"));
    else
        find_trace(&about, trace, steps);
    put_facts(&s, &about);
    if (t->report->trust)
        put_wrapped(&s, "trust: ", (hd_string){t->report->trust_text, strlen(t->report->trust_text)}, 7, 2);
    put_bars(&s, breakdown);
    for (size_t row = 0; row < rows && row < FINDINGS && s.left > SENTENCE + 4; row++)
        put_finding(&s, findings, row, breakdown, is_of_job(t) ? 2 : rows < FINDINGS ? 4 / (unsigned)rows : 1);
    const char *none = is_of_job(t) || (trace && hd_table_row_count(trace))
                           ? "No finding: nothing that can be changed takes a hundredth."
                           : "No finding without GPU activities. heddle info FILE says what is in it.";
    if (!rows) put_wrapped(&s, "", (hd_string){none, strlen(none)}, 2, 2);
    const hd_table *kernels = hd_report_table(t->report, "kernels");
    if (s.left > 2 && kernels && hd_table_row_count(kernels)) {
        put_kernels(&s, kernels, s.left - 1 < KERNELS ? s.left - 1 : KERNELS);
    }
    if (!is_of_job(t)) put_more(t, rows);
}
