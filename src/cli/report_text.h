/* report_text.h - reports as text for people: by their tables, or as the command of the same name prints it
 *
 * A report that is a command as well (info, check, memory, timeline, clocks) has one text, which both print.
 */
#ifndef HD_CLI_REPORT_TEXT_H
#define HD_CLI_REPORT_TEXT_H

#include "cli/cli.h"
#include "heddle/report.h"

typedef struct report_text {
    cli_run *run;
    const char *path; /* NULL: it has been printed */
    const hd_report_about *about;
    const hd_report *report;
    int64_t start_ns; /* origin of times */
    uint64_t rows;    /* of each long table; 0: REPORT_ROWS_SHOWN */
    bool all;         /* every row */
    bool first_table; /* that, findings and a row per rank alone */
    bool tables;      /* print tables even where the report has another text */
} report_text;

enum { REPORT_ROWS_SHOWN = 20 };

void report_text_print(const report_text *text);

/* An option that text of a report has unless it is given: "width=92", into `out`. false: none. */
bool report_text_option(char out[64], const cli_run *run, const char *report, const cli_given *given);

/* NULL: there is no such table. */
const hd_report_table_about *report_table_of(const hd_report_about *about, const char *name, size_t size);

/* ---- in the files of these commands ---- */

void info_text(const report_text *text);
void check_text(const report_text *text);
void memory_text(const report_text *text);
void timeline_text(const report_text *text);
/* Of a summary, or of a job, on a terminal: one screen; other reports of the job are left out. */
bool summary_is_screen(const report_text *text);
void summary_text(const report_text *text);
/* The columns of the time axis that fit next to the row labels. */
uint64_t timeline_text_width(const cli_run *run);

#endif
