/* report_out.h - shared by commands that print reports */
#ifndef HD_CLI_REPORT_OUT_H
#define HD_CLI_REPORT_OUT_H

#include "cli/cli.h"
#include "heddle/analysis/job.h"
#include "heddle/format.h"
#include "heddle/report.h"

/* Read a trace while showing progress. The error is left in run->err. */
hd_status report_read(hd_trace **out, cli_run *run, const char *path, hd_read_options options);

/* As hd_report_run, of the report's name, while showing progress. */
hd_status report_make(hd_report *out, cli_run *run, const char *name, hd_report_input input);

/* Joins counters (OPTION_COUNTERS) with a trace that was read; counters NULL: nothing. */
hd_status report_join_counters(hd_trace **trace, cli_run *run, const char *path, const char *counters);
#define REPORT_COUNTERS_PASS "counters:file=" /* and what the option has */

/* DAMAGED or IO if a part of the trace could not be read. */
hd_status report_check_read(const hd_trace *trace, const char *path, hd_error *err);

/* Checks that a trace can be written to the path, as `to` or by the extension; else returns the usage error. takes_to:
 * the command has --to. */
int report_check_format(cli_run *run, const char *path, const char *to, bool takes_to);

/* Losses: their number and kinds. */
typedef struct report_losses {
    uint64_t count;
    char codes[400]; /* "code 2, code 1" */
} report_losses;

/* As hd_write_options.ledger; user: the losses. */
void report_add_loss(void *user, const hd_ledger_row *row);
/* A line about losses on standard error, also with -q (then without details); nothing if there are none. */
void report_say_losses(cli_run *run, const char *path, const report_losses *losses);

/* A line for each on standard error, also with -q. */
void report_say_misfits(cli_run *run, const hd_misfit *misfits, size_t count);

/* Write a trace for which there is no other report: losses and the path go to standard error. The error is left in
 * run->err. */
hd_status report_write(cli_run *run, const hd_trace *trace, const char *path, hd_write_options options);

/* The first rows of a table as text, indented, fitted to the terminal. */
void report_print_rows(cli_run *run, const hd_table *table, size_t rows);

/* A table as an array of objects, each beginning with `schema`, a CLI_SCHEMA. */
void report_json_rows(cli_run *run, const hd_table *table, const char *schema);

/* `"name": "text"` with the text escaped. */
void report_json_text(cli_run *run, const char *name, const char *text);

/* Text with control characters replaced, for names and paths out of tables. */
void report_print_safe(cli_run *run, const char *text, size_t size);
/* "wrote report.html", unless quiet or to standard output. to_stderr: standard output is for something else. */
void report_say_wrote(cli_run *run, const char *path, bool to_stderr);
/* A name for several files together: "a.json and 3 more". The caller frees it; NULL: no memory. */
char *report_name_of_files(const char *const *paths, int count);
/* The path of a file that is reported on, bold. */
void report_print_path(cli_run *run, const char *path);

#endif
