/* report_out.h - what the commands that print reports share */
#ifndef HD_CLI_REPORT_OUT_H
#define HD_CLI_REPORT_OUT_H

#include "cli/cli.h"
#include "heddle/format.h"
#include "heddle/report.h"

/* Read a trace while showing progress. The error is left in run->err. */
hd_status report_read(hd_trace **out, cli_run *run, const char *path, hd_read_options options);

/* Of a trace that was read as it was asked for: DAMAGED or IO if not all of that could be read. */
hd_status report_check_read(const hd_trace *trace, const char *path, hd_error *err);

/* A trace can be written there, as `to` or by the extension; else the usage error is told. */
int report_check_format(cli_run *run, const char *path, const char *to);

/* The first rows of a table as text, indented, fitted to the terminal. */
void report_print_rows(cli_run *run, const hd_table *table, size_t rows);

/* `"name": "text"` with the text escaped. */
void report_json_text(cli_run *run, const char *name, const char *text);

/* Text with control characters replaced, for names and paths out of tables. */
void report_print_safe(cli_run *run, const char *text, size_t size);
/* The path of a file that is reported on, bold. */
void report_print_path(cli_run *run, const char *path);

#endif
