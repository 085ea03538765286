/* roles.h - positions of ranks in the process groups of a job: tensor-parallel position, pipeline stage …
 *
 * In: the tables `groups` and `collectives` of all members. Begin with topology.c, which reports all of it.
 */
#ifndef HD_REPORT_JOB_ROLES_H
#define HD_REPORT_JOB_ROLES_H

#include "report/job/cells.h"

typedef enum job_dimension {
    JOB_TENSOR,
    JOB_PIPELINE,
    JOB_DATA,
    JOB_EXPERT,
    JOB_CONTEXT,
    JOB_DIMENSIONS
} job_dimension;

/* A group: its members by rank. */
typedef struct job_group {
    uint32_t name, description, backend; /* texts; HD_NONE */
    int64_t size;                        /* from traces; HD_NO_NUMBER */
    int dimension;                       /* job_dimension; -1: another */
    size_t first, count;                 /* of `ranks` */
    bool is_told;                        /* listed; else the members are those whose traces have the group */
} job_group;

/* The position of a rank in its group of each dimension; -1: it is in none. */
typedef struct job_role {
    int64_t rank;
    int64_t at[JOB_DIMENSIONS];
} job_role;

typedef struct job_roles {
    gpu_texts texts;
    job_group *groups; /* by name */
    size_t group_count;
    int64_t *ranks;
    job_role *list; /* by rank */
    size_t count;
} job_roles;

/* Of all members of several jobs. The caller calls job_roles_deinit, also after a failure. looks_at_all: also groups
 * that occur only in collectives. lost: as of job_cells_of. Errors: MEMORY. */
hd_status job_roles_init(job_roles *out, const hd_job *const *jobs, size_t count, bool looks_at_all,
                         hd_table_builder *lost, hd_error *err);
void job_roles_deinit(job_roles *roles);
/* NULL: it is in no group. */
const job_role *job_role_of(const job_roles *roles, int64_t rank);
const char *job_dimension_name(job_dimension dimension); /* "tp" */

#endif
