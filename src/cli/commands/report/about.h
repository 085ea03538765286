/* about.h - what the descriptors of reports tell: the list, the help, and both as JSON */
#ifndef HD_CLI_COMMANDS_REPORT_ABOUT_H
#define HD_CLI_COMMANDS_REPORT_ABOUT_H

#include "cli/cli.h"
#include "heddle/report.h"

/* All reports: a line each, with -q the names, with --json all that their descriptors tell. */
void report_list(cli_run *run);

/* The help of one; `options` are those that every report has. */
void report_help(cli_run *run, const hd_report_about *about, const cli_option *options);

#endif
