/* starved.h - whether the hosts of a job have too few CPUs: when its ranks are stalled, and how many at once */
#ifndef HD_REPORT_JOB_SLOWDOWN_STARVED_H
#define HD_REPORT_JOB_SLOWDOWN_STARVED_H

#include "report/job/slowdown/impl.h"

typedef struct job_starved {
    double still;    /* ns that a rank is stalled between its first and its last collective, mean over ranks */
    uint32_t names;  /* operators in which any does */
    uint32_t ranks;  /* of the host on which most of its ranks have one clock; 0: none has several */
    uint32_t most;   /* how many of them are stalled at once for most of the time */
    double most_for; /* percent of it */
} job_starved;

/* Of the table `stalls` of summaries. lost: as of job_cells_of. Errors: MEMORY. */
hd_status job_find_starved(job_starved *out, const slow_job *job, hd_table_builder *lost, hd_error *err);

#endif
