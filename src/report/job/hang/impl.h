/* impl.h - what the flight recorders of a job have, and what is wrong in it
 *
 * In: the tables `recorded` of all summaries. Out: entries by group and number (hang.c), problems in order of time
 * (judge.c), each the first of its group.
 */
#ifndef HD_REPORT_JOB_HANG_IMPL_H
#define HD_REPORT_JOB_HANG_IMPL_H

#include "report/job/cells.h"

/* An entry of a dump. Texts HD_NONE: unknown. */
typedef struct hang_entry {
    uint32_t group, place;     /* place: number among the rank's entries of this number, which coalesced ones share */
    uint32_t operation, state; /* texts */
    uint32_t in_sizes, out_sizes, in_types, out_types, frame;
    bool is_p2p;
    bool is_behind_lost; /* the oldest of its ring, which has lost the ones before */
    int64_t rank, sequence, record, created, enqueued;
} hang_entry;

/* Whether they are of one collective; coalesced ones have the same number and other places. */
static inline bool hang_has_number_of(const hang_entry *a, const hang_entry *b)
{
    return a->group == b->group && a->is_p2p == b->is_p2p && a->sequence == b->sequence;
}

/* A process group, by name, description and ranks. */
typedef struct hang_group {
    uint32_t name, description, ranks;
} hang_group;

/* A rank of a group. Numbers are those of collectives; HD_NO_NUMBER: none, or unknown. */
typedef struct hang_member {
    uint32_t group;
    bool has_dump;
    int64_t rank;
    int64_t first, last, started, completed; /* the lowest in its ring; the highest enqueued, started, complete */
    uint64_t entries;
    size_t newest; /* entry with the highest number, SIZE_MAX: none */
} hang_member;

/* A rank whose dump is there. */
typedef struct hang_rank {
    int64_t rank;
    int64_t first_record; /* lowest in the ring: above 0 earlier entries fell out of it */
    size_t newest;        /* entry that was enqueued last, SIZE_MAX: none */
} hang_rank;

typedef enum hang_problem {
    HANG_MISSING,
    HANG_OPERATION,
    HANG_SIZES,
    HANG_TYPES,
    HANG_UNFINISHED,
    HANG_NO_DUMP
} hang_problem;

typedef struct hang_issue {
    hang_problem problem;
    bool is_complete; /* on all ranks that enqueued it, so that nothing waits for it */
    int64_t rank, time;
    size_t own, other; /* entries: of the rank, SIZE_MAX: none; and what most ranks have */
    uint64_t waiting;  /* ranks that enqueued it and wait */
} hang_issue;

typedef struct hang {
    gpu_texts texts;
    gpu_groups group_keys; /* hang_group */
    hang_entry *entries;   /* by group, point to point, number, place, rank */
    size_t count, capacity;
    hang_member *members; /* by group and rank */
    size_t member_count, member_capacity;
    hang_rank *ranks; /* by rank */
    size_t rank_count;
    hang_issue *issues; /* by time */
    size_t issue_count, issue_capacity;
} hang;

static inline const hang_group *hang_group_at(const hang *h, uint32_t group)
{
    return gpu_group_key(&h->group_keys, group);
}
/* NULL: the rank is not of the group. */
hang_member *hang_find_member(const hang *h, uint32_t group, int64_t rank);
bool hang_is_state(const hang *h, const hang_entry *e, const char *state);

/* Fills the issues. false: no memory. */
bool hang_judge(hang *h);

#endif
