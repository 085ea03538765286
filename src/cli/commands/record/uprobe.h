/* uprobe.h - heddle record --uprobe: the tracer from outside, around a command */
#ifndef HD_CLI_COMMANDS_RECORD_UPROBE_H
#define HD_CLI_COMMANDS_RECORD_UPROBE_H

#include "cli/printer.h"
#include "heddle/capture/record.h"
#include "heddle/capture/uprobe.h"

typedef struct record_uprobe {
    hd_uprobe_plan *plan; /* NULL: no --uprobe */
    hd_uprobe_options options;
    hd_uprobe *tracer;
    hd_uprobe_stats stats;
    bool was_attached;
} record_uprobe;

/* Finds the functions; pid: in a process that runs, 0: in the command. An exit status. */
int record_uprobe_plan(record_uprobe *uprobe, cli_run *run, const cli_texts *specs, const hd_uprobe_options *options,
                       bool strict, int pid);
/* As hd_record_attach and hd_record_detach, of a record_uprobe. */
hd_status record_uprobe_attach(record_uprobe *uprobe, int pid, const char *parts, hd_error *err);
hd_status record_uprobe_detach(record_uprobe *uprobe, hd_error *err);
/* A summary of the traced calls, on standard error. */
void record_uprobe_print(const record_uprobe *uprobe, cli_run *run);
void record_uprobe_deinit(record_uprobe *uprobe);

#endif
