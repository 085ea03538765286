/* about.h - report descriptors as a list, as help, and as JSON */
#ifndef HD_CLI_COMMANDS_REPORT_ABOUT_H
#define HD_CLI_COMMANDS_REPORT_ABOUT_H

#include "cli/cli.h"
#include "heddle/report.h"

/* All reports: a line each; with -q their names, with --json their whole descriptors. */
void report_list(cli_run *run);

/* The help of one; `options` are those that every report has. */
void report_help(cli_run *run, const hd_report_about *about, const cli_option *options);

#endif
