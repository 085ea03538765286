/* ways_out.h - which ways to capture work here, as heddle devices and heddle record --check say it */
#ifndef HD_CLI_COMMANDS_WAYS_OUT_H
#define HD_CLI_COMMANDS_WAYS_OUT_H

#include "cli/cli.h"
#include "heddle/capture/devices.h"
#include "heddle/table.h"

void ways_print(cli_run *run, const hd_devices *devices);
hd_status ways_table(hd_table **out, const hd_devices *devices, hd_error *err);

#endif
