/* meetings.h - the collective instances ("meetings" in the code) of a job: which member arrived last, and by how much
 *
 * In: the table `collectives` of all summaries. Out: each collective with its longest and shortest duration,
 * mismatches, and, member by member, how late each was. All lateness in reports and the viewer is from here.
 *
 * No clocks are compared: the last member to arrive spends the least time in a collective, so a member arrived later
 * than the first by the longest duration minus its own. Collectives match by group and number; unnamed groups match by
 * stream. Not compared are: a collective that a member has twice, without times or as another operation; a group with
 * more members than its size, since several groups share its name; and, if numbers were counted, the collectives of a
 * group in a step in which its members have different numbers of them, or different operations and bytes.
 */
#ifndef HD_REPORT_JOB_MEETINGS_H
#define HD_REPORT_JOB_MEETINGS_H

#include "base/map.h"
#include "report/job/cells.h"

GPU_KEY
typedef struct job_party {
    int64_t rank, device; /* rank: or the place of its summary */
} job_party;
GPU_KEY_END

/* JOB_COUNTED is of the first instance of a step; those from JOB_SEVERAL on are of a whole group. */
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

GPU_KEY
typedef struct job_meeting_group {
    uint32_t name; /* text; HD_NONE: none, `stream` is used instead */
    uint32_t is_point_to_point;
    int64_t stream;
} job_meeting_group;
GPU_KEY_END

/* From the first member. */
GPU_KEY
typedef struct job_meeting_kind {
    int64_t bytes, size;     /* HD_NO_NUMBER */
    uint64_t operation : 32; /* text */
    uint64_t zero : 32;
} job_meeting_kind;
GPU_KEY_END

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

/* Durations of a compared instance; of others longest is below shortest. */
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

/* Packed rows of a summary for one member: see meetings.c. */
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
    job_meeting *list;  /* NULL: then only `spans` are left of them */
    job_span *spans;
    size_t count;
    uint32_t *order; /* of the list: by group (the unnamed first, by stream), then number */
    job_seat *seats; /* by group as in `order`, then member */
    size_t seat_count;
    job_meeting_defect
        *defects; /* ordered like `order`; those of a group before those of its instances, by the order of job_defect */
    size_t defect_count;
    uint32_t member_count;
    job_rows *parts; /* by member, then summary */
    size_t part_count;
    hd_bytes rows;
    bool is_last_walk; /* rows are returned to the system during the next walk */
} job_meetings;

/* Of all members of several jobs. lost: as of job_cells_of. The caller calls job_meetings_deinit, also after a failure.
 * Errors: MEMORY. */
hd_status job_meetings_init(job_meetings *out, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                            hd_error *err);
void job_meetings_deinit(job_meetings *meetings);
void job_meetings_leave_walk(job_meetings *meetings); /* frees everything except texts and the data for
                                                         job_meetings_walk */
void job_meetings_leave_list(job_meetings *meetings); /* frees the data needed only for job_meetings_walk, and defects
                                                         */

typedef struct job_arrival {
    uint32_t meeting, member;
    size_t summary;                 /* over all jobs */
    int64_t rank, device;           /* from the summary; HD_NO_NUMBER */
    int64_t step_start;             /* HD_NO_NUMBER */
    uint32_t step;                  /* text; HD_NONE: in none */
    int64_t shortest, late, waited; /* duration of any; longest less own; own less shortest */
} job_arrival;

/* Calls each(user, …) for all participants of a compared collective, member by member, and for one member summary by
 * summary. false: a call returned false, and was the last. */
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

/* Zero-initialised except the settings; all arrivals are added, and then all of them again. */
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

/* Arrivals of job_meetings_walk that are in a step. */
bool job_lateness_add(job_lateness *lateness, const job_arrival *arrival);
/* After the last arrival: when they are added again, each(user, …) gets the steps by member, then start, with their
 * values; z is that among the members of the same role that have the step. false: no memory. */
bool job_lateness_again(job_lateness *lateness, job_each_step *each, void *user);
bool job_lateness_end(job_lateness *lateness); /* after the last of the second time */
void job_lateness_deinit(job_lateness *lateness);

#endif
