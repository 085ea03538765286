/* out.h - the summary that a recording prints at its end */
#ifndef HD_CLI_COMMANDS_RECORD_OUT_H
#define HD_CLI_COMMANDS_RECORD_OUT_H

#include "cli/printer.h"
#include "heddle/capture/record.h"

/* On standard error, as text or, with --json, as an object; with -q only losses. Standard output is the command's. */
void record_print(cli_run *run, const hd_record_result *result);

#endif
