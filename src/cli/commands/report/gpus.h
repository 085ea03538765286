/* gpus.h - the table of GPUs for heddle report */
#ifndef HD_CLI_COMMANDS_REPORT_GPUS_H
#define HD_CLI_COMMANDS_REPORT_GPUS_H

#include "cli/cli.h"
#include "heddle/gpus.h"

/* The library's table, the user's gpus.toml where there is one, and the files of --gpus. The caller frees *out. false:
 * run->err says why. */
bool report_gpus_read(hd_gpus **out, cli_run *run, const cli_texts *files);

#endif
