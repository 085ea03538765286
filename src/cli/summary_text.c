/* summary_text.c - `heddle FILE` on a terminal: one screen of 24 lines
 *
 * Trust, a bar of each device's time, the first three findings with what to do, and as many kernels as there is room
 * for. All tables come with --all, or without a terminal.
 */
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

static void put_bars(screen *s, const hd_table *breakdown)
{
    static const char *const columns[PARTS] = {"compute", "exposed_communication", "exposed_copy", "idle"};
    static const char *const names[PARTS] = {"compute", "comm. alone", "copies alone", "idle"};
    static const char *const blocks[PARTS] = {"\xe2\x96\x88", "\xe2\x96\x93", "\xe2\x96\x92", "\xe2\x96\x91"};
    cli_run *run = s->text->run;
    size_t rows = breakdown ? hd_table_row_count(breakdown) : 0;
    for (size_t row = 0; row < rows && row < BARS; row++) {
        int64_t span = whole(breakdown, row, "span"), sum = 0;
        int drawn = 0;
        put_device(run, breakdown, row);
        cli_print(run, "  ");
        for (int i = 0; i < PARTS && span > 0; i++) {
            sum += whole(breakdown, row, columns[i]);
            int until = (int)((double)sum / (double)span * BAR + 0.5);
            for (; drawn < until && drawn < BAR; drawn++) cli_print(run, "%s", blocks[i]);
        }
        char length[HD_VALUE_TEXT_BYTES];
        cli_print(run, "  %s", hd_text_duration(length, span));
        end_line(s);
        for (int i = 0; i < PARTS && span > 0; i++) {
            int64_t part = whole(breakdown, row, columns[i]);
            if (part) cli_print(run, "  %s %s %.1f %%", blocks[i], names[i], 100.0 * (double)part / (double)span);
        }
        end_line(s);
    }
    if (rows <= BARS) return;
    cli_print(run, "  and %zu more: heddle report breakdown", rows - BARS);
    end_line(s);
}

static void put_finding(screen *s, const hd_table *findings, size_t row, unsigned advice)
{
    cli_run *run = s->text->run;
    char length[HD_VALUE_TEXT_BYTES];
    hd_string code = string(findings, row, "code"), trust = string(findings, row, "trust");
    int64_t total = whole(findings, row, "whole"), saves = whole(findings, row, "saves");
    cli_print(run, "%zu %s%.*s%s  ", row + 1, cli_style(run, CLI_BOLD), (int)code.size, code.data,
              cli_style(run, CLI_PLAIN));
    if (!is_there(findings, row, "saves"))
        cli_print(run, "saving not known");
    else
        cli_print(run, "saves %s at most (%.1f %%)", hd_text_duration(length, saves),
                  total > 0 ? 100.0 * (double)saves / (double)total : 0);
    if (is_there(findings, row, "then"))
        cli_print(run, ", %s after %.*s", hd_text_duration(length, whole(findings, row, "then")),
                  (int)string(findings, row, "behind").size, string(findings, row, "behind").data);
    if (trust.size && (trust.size != 4 || memcmp(trust.data, "firm", 4) != 0))
        cli_print(run, "  [%.*s]", (int)trust.size, trust.data);
    end_line(s);
    put_wrapped(s, "", string(findings, row, "finding"), 2, SENTENCE);
    put_wrapped(s, "> ", string(findings, row, "advice"), 4, advice);
}

static void put_kernels(screen *s, const hd_table *kernels, unsigned most)
{
    cli_run *run = s->text->run;
    size_t rows = kernels ? hd_table_row_count(kernels) : 0;
    for (size_t row = 0; row < rows && row < most; row++) {
        char length[HD_VALUE_TEXT_BYTES], name[HD_NAME_BYTES];
        size_t share = hd_table_find_column(kernels, "share"), room = run->width > 40 ? run->width - 20 : 60;
        size_t size = hd_name_short(name, string(kernels, row, "name"));
        cli_print(run, "%5.1f %%  %9s  ",
                  is_there(kernels, row, "share") ? hd_table_get_decimal(kernels, row, share) : 0,
                  hd_text_duration(length, whole(kernels, row, "total")));
        report_print_safe(run, name, size <= room ? size : room - 1);
        cli_print(run, "%s", size <= room ? "" : "\xe2\x80\xa6");
        end_line(s);
    }
}

/* "8 ranks of 8, 1 step" */
static void put_job(cli_run *run, const hd_table *job)
{
    static const char *const names[] = {"ranks", "world_size", "steps"};
    long long numbers[3] = {0};
    for (int i = 0; i < 3; i++)
        if (is_there(job, 0, names[i]))
            numbers[i] = (long long)hd_table_get_count(job, 0, hd_table_find_column(job, names[i]));
    cli_print(run, "  %lld rank%s", numbers[0], numbers[0] == 1 ? "" : "s");
    if (numbers[1] > 0) cli_print(run, " of %lld", numbers[1]);
    if (numbers[2] > 0) cli_print(run, ", %lld step%s", numbers[2], numbers[2] == 1 ? "" : "s");
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

void summary_text(const report_text *t)
{
    screen s = {t, LINES};
    const hd_table *findings = hd_report_table(t->report, "findings"), *steps = hd_report_table(t->report, "steps");
    size_t rows = findings ? hd_table_row_count(findings) : 0;
    char length[HD_VALUE_TEXT_BYTES];
    if (t->path) report_print_path(t->run, t->path);
    uint64_t count = steps && hd_table_row_count(steps) == 1
                         ? hd_table_get_count(steps, 0, hd_table_find_column(steps, "steps"))
                         : 0;
    if (is_of_job(t)) put_job(t->run, hd_report_table(t->report, "job"));
    if (count)
        cli_print(t->run, "  %llu step%s of %s (median)", (unsigned long long)count, count == 1 ? "" : "s",
                  hd_text_duration(length, whole(steps, 0, "median")));
    end_line(&s);
    if (t->report->trust)
        put_wrapped(&s, "trust: ", (hd_string){t->report->trust_text, strlen(t->report->trust_text)}, 7, 2);
    put_bars(&s, hd_report_table(t->report, "breakdown"));
    for (size_t row = 0; row < rows && row < FINDINGS && s.left > SENTENCE + 4; row++)
        put_finding(&s, findings, row, is_of_job(t) ? 2 : rows < FINDINGS ? 4 / (unsigned)rows : 1);
    if (!rows) put_wrapped(&s, "", (hd_string){"No finding: nothing that can be changed takes a hundredth.", 58}, 2, 1);
    const hd_table *kernels = hd_report_table(t->report, "kernels");
    if (s.left > 3 && kernels && hd_table_row_count(kernels)) {
        cli_print(t->run, "kernels of ");
        put_device(t->run, kernels, 0);
        cli_print(t->run, ", share of the time of all");
        end_line(&s);
        put_kernels(&s, kernels, s.left - 2 < KERNELS ? s.left - 2 : KERNELS);
    }
    if (!is_of_job(t))
        cli_print(t->run, "more: heddle summary --all FILE (%zu finding%s), heddle report idle, heddle view\n", rows,
                  rows == 1 ? "" : "s");
}
