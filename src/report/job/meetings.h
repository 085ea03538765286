/* meetings.h - the collectives of a job over all of its members: who came last to each, and by how much
 *
 * In: the table `collectives` of all summaries. Out: each collective with its longest and shortest duration, what of it
 * does not match, and, member by member, how late each was. Reports and the page tell lateness by this
 * alone.
 *
 * No clock is compared: who comes last spends the least time in a collective, so that a member came later than the
 * first by the longest duration less its own. Collectives are one if group and number are; without a name groups are
 * one if their streams are. Not compared is a collective that a member has twice, without times or as another
 * operation; a group that has more members than it says: it is several of one name; and, where numbers were counted,
 * what a group has in a step in which its members have not as many, or not of the same operations and bytes.
 */
#ifndef HD_REPORT_JOB_MEETINGS_H
#define HD_REPORT_JOB_MEETINGS_H

#include "base/map.h"
#include "report/job/cells.h"

typedef struct job_party {
    int64_t rank, device; /* rank: or the place of its summary */
} job_party;

/* JOB_COUNTED is of the first meeting of a step; those from JOB_SEVERAL on are of a whole group. */
typedef enum job_defect {
    JOB_DOUBLE,
    JOB_OPERATION,
    JOB_UNTIMED,
    JOB_BYTES,
    JOB_SIZE,
    JOB_MISSING,
    JOB_COUNTED,
    JOB_SEVERAL,
    JOB_FEWER,
    JOB_DEFECTS
} job_defect;

typedef struct job_meeting_group {
    uint32_t name; /* text; HD_NONE: none, and `stream` stands for it */
    uint32_t is_point_to_point;
    int64_t stream;
} job_meeting_group;

/* As the first member tells it. */
typedef struct job_meeting_kind {
    int64_t bytes, size;     /* HD_NO_NUMBER */
    uint64_t operation : 32; /* text */
    uint64_t zero : 32;
} job_meeting_kind;

enum { JOB_KIND_BITS = 30 };
/* There may be tens of millions. */
typedef struct job_meeting {
    int64_t sequence, shortest, longest, time; /* time: sum of durations, saturating */
    uint32_t group, count;                     /* count: members that have it */
    uint32_t last;                             /* member with the shortest duration; of several the lowest */
    uint32_t kind : JOB_KIND_BITS, is_counted : 1, is_compared : 1;
} job_meeting;

/* The member that came last; HD_NONE: all came at once. */
static inline uint32_t job_meeting_last(const job_meeting *of)
{
    return of->longest > of->shortest ? of->last : HD_NONE;
}

/* Durations of one that is compared; of others longest is below shortest. */
typedef struct job_span {
    int64_t shortest, longest;
} job_span;

/* A member of a group, with the last that it has of it. */
typedef struct job_seat {
    uint32_t group, member, operation;
    int64_t sequence;
} job_seat;

typedef struct job_meeting_defect {
    uint32_t of; /* meeting, or group */
    job_defect defect;
    uint32_t first; /* member */
    uint64_t members;
} job_meeting_defect;

/* Rows of a summary that are of one member, packed: see meetings.c. */
typedef struct job_rows {
    uint32_t member;
    bool has_rank;                /* else the rank of the member is the place of its summary */
    size_t summary, count, first; /* first: byte */
} job_rows;

typedef struct job_meetings {
    gpu_texts texts;
    job_party *members; /* by rank, then device */
    gpu_groups groups;  /* keys: job_meeting_group */
    gpu_groups kinds;   /* keys: job_meeting_kind */
    job_meeting *list;  /* NULL: then `spans` are what is left of them */
    job_span *spans;
    size_t count;
    uint32_t *order; /* of the list: by group (the unnamed first, by stream), then number */
    job_seat *seats; /* by group as in `order`, then member */
    size_t seat_count;
    job_meeting_defect
        *defects; /* as `order`; those of a group before those of its meetings, by the order of job_defect */
    size_t defect_count;
    uint32_t member_count;
    job_rows *parts; /* by member, then summary */
    size_t part_count;
    hd_bytes rows;
    bool is_last_walk; /* rows are given back to the system behind the next walk */
} job_meetings;

/* Of all members of so many jobs. lost: as of job_cells_of. The caller calls job_meetings_deinit, also after a failure.
 * Errors: MEMORY. */
hd_status job_meetings_init(job_meetings *out, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                            hd_error *err);
void job_meetings_deinit(job_meetings *meetings);
void job_meetings_leave_walk(job_meetings *meetings); /* frees all but texts and what job_meetings_walk needs */
void job_meetings_leave_list(job_meetings *meetings); /* frees what only job_meetings_walk needs, and defects */

typedef struct job_arrival {
    uint32_t meeting, member;
    size_t summary;                 /* over all jobs */
    int64_t rank, device;           /* as the summary tells; HD_NO_NUMBER */
    int64_t step_start;             /* HD_NO_NUMBER */
    uint32_t step;                  /* text; HD_NONE: in none */
    int64_t shortest, late, waited; /* duration of any; longest less own; own less shortest */
} job_arrival;

/* Calls each(user, …) for all who came to a collective that is compared, member by member, and of one member summary by
 * summary. false: one of these calls gave that, and was the last. */
bool job_meetings_walk(job_meetings *meetings, bool (*each)(void *user, const job_arrival *arrival), void *user);

static inline const job_meeting_group *job_meeting_group_of(const job_meetings *meetings, uint32_t group)
{
    return gpu_group_key(&meetings->groups, group);
}
static inline const job_meeting_kind *job_meeting_kind_of(const job_meetings *meetings, const job_meeting *of)
{
    return gpu_group_key(&meetings->kinds, of->kind);
}

/* ---- how late members were, step by step: lateness.c ---- */

typedef struct job_late_step {
    uint32_t member, step; /* step: text */
    int64_t start;
    int64_t late, waited, latest; /* sums, saturating; and the most of any */
    uint32_t compared;
    double z; /* NaN: not known */
} job_late_step;

/* How late each of some peers was, and then the middle and spread of that. */
typedef struct job_late_peers {
    double *values, middle, spread;
    size_t count, capacity;
} job_late_peers;

typedef bool job_each_step(void *user, const job_late_step *step); /* false: no memory */

/* Zero-initialised but for what is said; all arrivals are added, and then all of them again. */
typedef struct job_lateness {
    const uint32_t *roles; /* the caller's, by member */
    gpu_groups peers;      /* its key_size: 2 * sizeof(uint32_t); those of a step and role */
    job_late_peers *list_of_peers;
    size_t peers_capacity;
    gpu_groups keys; /* steps of the member at hand */
    job_late_step *list;
    size_t count, capacity;
    uint32_t near;
    job_each_step *each; /* the second time */
    void *user;
} job_lateness;

/* As job_meetings_walk has them, those that are in a step. */
bool job_lateness_add(job_lateness *lateness, const job_arrival *arrival);
/* Behind the last of all: when they are added again, each(user, …) gets the steps by member, then start, with what they
 * have by then; z is that among the members of the same role which have the step. false: no memory. */
bool job_lateness_again(job_lateness *lateness, job_each_step *each, void *user);
bool job_lateness_end(job_lateness *lateness); /* behind the last of the second time */
void job_lateness_deinit(job_lateness *lateness);

#endif
