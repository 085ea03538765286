/* times.h - times on the command line */
#ifndef HD_CLI_TIMES_H
#define HD_CLI_TIMES_H

#include "cli/cli.h"
#include "heddle/convert.h"

/* 1.5s, 250ms, 10us, 4ns, 12.5%; and 0. NULL leaves *out as it is. Returns an exit status. */
int cli_parse_time(cli_run *run, hd_convert_time *out, const char *option, const char *text);

/* --snap-threshold-us as libheddle's options have it. */
int64_t cli_snap_threshold_ps(double us);

#endif
