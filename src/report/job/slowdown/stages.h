/* stages.h - whether the stages of a pipeline have as much to do as one another */
#ifndef HD_REPORT_JOB_SLOWDOWN_STAGES_H
#define HD_REPORT_JOB_SLOWDOWN_STAGES_H

#include "report/job/slowdown/impl.h"

typedef struct job_stages {
    bool is_uneven;
    uint32_t stages, slowest;
    double longest, mean; /* ns that a rank of the slowest computes between collectives, and of all stages */
    double after;         /* the job simulated with no stage slower than the mean */
} job_stages;

/* compute: by member, between collectives. Changes `kept`. Errors: MEMORY. */
hd_status job_find_stages(job_stages *out, slow_job *job, const double *compute, hd_error *err);

#endif
