/* report_text.c - reports as text for people */
#include "cli/report_text.h"

#include <inttypes.h>
#include <string.h>

#include "cli/findings_out.h"
#include "cli/report_out.h"
#include "cli/table_out.h"

/* Texts of reports besides their tables. */
static const struct {
    const char *report;
    void (*print)(const report_text *text);
} special[] = {{"info", info_text}, {"check", check_text}, {"memory", memory_text}, {"timeline", timeline_text}};

enum { SPECIAL_COUNT = sizeof special / sizeof *special, TRACKS_PER_CODE = 10 };

const hd_report_table_about *report_table_of(const hd_report_about *about, const char *name, size_t size)
{
    for (const hd_report_table_about *t = about->tables; t->name; t++) {
        if (strlen(t->name) == size && memcmp(t->name, name, size) == 0) return t;
    }
    return NULL;
}

bool report_text_option(char out[64], const cli_run *run, const char *report, const cli_given *given)
{
    const bool is_check = strcmp(report, "check") == 0, is_timeline = strcmp(report, "timeline") == 0;
    const char *name = is_check ? "tracks" : is_timeline ? "width" : NULL;
    for (size_t i = 0; name && i < given->count; i++)
        if (strcmp(given->names[i], name) == 0) return false;
    if (!name) return false;
    snprintf(out, 64, "%s=%" PRIu64, name, is_check ? (uint64_t)TRACKS_PER_CODE : timeline_text_width(run));
    return true;
}

static void print_table(const report_text *t, const hd_table *table)
{
    const char *name = hd_table_name(table);
    char text[HD_VALUE_TEXT_BYTES], meaning[512];
    size_t rows = hd_table_row_count(table), groups, picked[REPORT_ROWS_SHOWN];
    uint64_t most = t->rows ? t->rows : REPORT_ROWS_SHOWN;
    hd_table *shown;
    /* A line that says that there is one more would take the place of that row. */
    const bool whole = t->all || most + 1 >= rows, pick = !whole && !t->rows;
    const size_t count = pick ? cli_table_pick(picked, table, REPORT_ROWS_SHOWN) : whole ? rows : (size_t)most;
    const char *hidden = cli_table_names_steps(table) ? "step_start" : "";
    if (cli_table_rows(&shown, table, hidden, t->start_ns, pick ? picked : NULL, count, &t->run->err) != HD_OK) return;
    snprintf(meaning, sizeof meaning, "%s%s", report_table_of(t->about, name, strlen(name))->meaning,
             cli_table_groups(&groups, table));
    cli_print_heading(t->run, name, meaning);
    if (cli_is_findings(table))
        cli_print_findings(t->run, table, count);
    else
        report_print_rows(t->run, shown, count);
    if (count < rows)
        cli_print(t->run, "%s  … %s more rows; --rows, --all%s\n", cli_style(t->run, CLI_DIM),
                  hd_text_count(text, rows - count), cli_style(t->run, CLI_PLAIN));
    hd_table_free(shown);
}

static void print_tables(const report_text *t)
{
    const char *plain = cli_style(t->run, CLI_PLAIN), *dim = cli_style(t->run, CLI_DIM);
    bool any = false;
    if (t->path) report_print_path(t->run, t->path);
    cli_print(t->run, "%s%s%s: %s%s\n", t->path ? "  " : "", t->about->name, dim, t->about->title, plain);
    if (t->path && t->about->says_trust && t->report->trust)
        cli_print(t->run, "%s  trust: %s%s\n",
                  hd_table_row_count(t->report->trust) ? cli_style(t->run, CLI_YELLOW) : dim, t->report->trust_text,
                  plain);
    for (size_t i = 0; i < t->report->table_count; i++) {
        const hd_table *table = t->report->tables[i];
        const bool is_of_ranks = strcmp(hd_table_name(table), "ranks") == 0;
        const bool is_shown = !t->first_table || i == 0 || is_of_ranks || cli_is_findings(table);
        if (!is_shown || !hd_table_row_count(table)) continue;
        print_table(t, table);
        any = true;
    }
    if (!any) cli_print(t->run, "  no rows: the trace has nothing of this\n");
}

void report_text_print(const report_text *text)
{
    for (size_t i = 0; i < SPECIAL_COUNT && !text->tables; i++) {
        if (strcmp(text->about->name, special[i].report) != 0) continue;
        special[i].print(text);
        return;
    }
    bool is_screen = summary_is_screen(text);
    static const char *const screens[] = {"summary", "job", "imbalance"};
    for (size_t i = 0; i < sizeof screens / sizeof *screens && is_screen; i++)
        if (strcmp(screens[i], text->about->name) == 0) summary_text(text);
    if (!is_screen) print_tables(text);
}
