/* impl.h - the job that slowdown.c simulates and read.c makes of summaries */
#ifndef HD_REPORT_JOB_SLOWDOWN_IMPL_H
#define HD_REPORT_JOB_SLOWDOWN_IMPL_H

#include "report/job/cells.h"
#include "report/job/roles.h"

/* The kept data of a row: there may be hundreds of millions. */
typedef struct slow_visit {
    int64_t gap; /* to the end of the one before; 0 for the first of a member */
    uint32_t collective, kind;
} slow_visit;

typedef struct slow_collective {
    int64_t shortest;
    double latest;           /* while simulating, as `arrived` */
    uint32_t count, arrived; /* members */
    uint32_t kind;           /* of transfers */
    union {
        uint32_t first; /* of by_collective */
        uint32_t flags; /* while rows are read */
    };
} slow_collective;

typedef struct slow_member {
    size_t first;                /* visit */
    int64_t first_end, last_end; /* of these collectives */
    uint32_t operation;          /* text: of the first */
} slow_member;

typedef struct slow_member_key {
    int64_t rank, device; /* rank: or the place of the member */
} slow_member_key;
typedef struct slow_gap_kind {
    int64_t tp, pp;
    uint32_t place, operation; /* place: number in its step */
} slow_gap_kind;
typedef struct slow_transfer_kind {
    int64_t size, bytes;
    uint32_t operation, zero;
} slow_transfer_kind;

enum { NO_OPERATION = UINT32_MAX - 1 }; /* HD_NONE means unknown */
enum { PERCENT_MAX = 5 };

typedef struct slow_job {
    const hd_job *of;
    gpu_texts texts;
    job_roles roles;
    gpu_groups members, groups, collective_keys, gap_kinds, transfer_kinds;
    uint32_t near_member, near_group, near_collective, near_kind;
    struct slow_group *group_members; /* by group */
    struct slow_op *ops;              /* that are read, and not yet visits */
    slow_visit *visits;               /* by member and start */
    uint32_t *steps;                  /* texts, of visits; NULL: not needed */
    slow_member *list;                /* of members that have all of their visits, and one more */
    slow_collective *collectives;
    size_t op_count, op_capacity, count, capacity, step_capacity, list_capacity, group_capacity, collective_capacity;
    uint32_t list_count, collective_count;
    uint32_t joined_count;    /* of collectives; later ones are unmatched, with one member each */
    size_t unmatched;         /* rows */
    bool wants_busy;          /* gaps last as long as the device is busy in them */
    bool wants_steps, counts; /* counts: any number was counted */
    bool is_split;            /* a member is in several summaries: they must be read before visits are made */
    uint32_t *doubts;         /* texts of codes, by member */
    uint32_t *by_collective;  /* members */
    double *gaps, *transfers; /* ideal, by kind */
    size_t *next;             /* while simulating: visit, by member */
    double *now;
    uint32_t *stack;
    bool *kept;              /* members whose gaps are as measured */
    uint32_t kept_operation; /* its gaps and transfers are as measured; NO_OPERATION: of none */
} slow_job;

/* Visits and collectives of jobs, which are zero-initialised except `of`, `roles`, `wants_…`. Errors: MEMORY, LIMIT,
 * UNSUPPORTED (too much is unmatched). The caller calls slow_job_deinit in any case. */
hd_status slow_job_read(slow_job *job, hd_table_builder *lost, hd_error *err);
void slow_job_deinit(slow_job *job);

/* slowdown.c: members by collective; of gaps the mean over ranks and steps, of transfers the median. false: no
 * memory. */
bool slow_make_lists(slow_job *job);
bool slow_find_ideals(slow_job *job);
/* Mean time over members from the end of the first to the end of the last collective; NaN: they wait for each other.
 * Gaps of members that are not kept, and with ideal_transfers all transfers, are the ideal ones. */
double slow_simulate(slow_job *job, bool ideal_transfers);
double slow_measure(const slow_job *job); /* the same, as it was */

static inline const slow_member_key *slow_member_at(const slow_job *j, uint32_t member)
{
    return gpu_group_key(&j->members, member);
}

#endif
