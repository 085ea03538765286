/* ranks.h - files without the name of a report, or of summary: the ranks of a job, or traces that are unrelated */
#ifndef HD_CLI_COMMANDS_REPORT_RANKS_H
#define HD_CLI_COMMANDS_REPORT_RANKS_H

#include "cli/job_in.h"

/* The reports of a job's first screen, of which the first table is shown, and findings: job,stragglers,imbalance; of
 * dumps of flight recorders hang,job. Static. */
const char *report_names_of_job(const hd_job *job);

/* *out: the job that run->operands from `first` on are, if two ranks or more have a number of their own, or a file is
 * a job's summary (.hds); NULL: they are none. Operands that cannot be read are reported and removed. The caller
 * frees *out. */
hd_status report_ranks_read(hd_job **out, cli_run *run, int first, const hd_read_options *read);

#endif
