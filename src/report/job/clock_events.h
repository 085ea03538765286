/* clock_events.h - the collectives of a job as evidence about the clocks of hosts; clocks.c makes the report */
#ifndef HD_REPORT_JOB_CLOCK_EVENTS_H
#define HD_REPORT_JOB_CLOCK_EVENTS_H

#include "report/clocks/clocks.h"
#include "report/job/cells.h"

typedef struct clock_job_host {
    uint32_t name;  /* text; HD_NONE: unknown, then it is the clock of a single rank */
    int64_t rank;   /* the lowest */
    uint64_t ranks; /* summaries of them */
    bool has_any;   /* collectives, used or not */
    bool has_alike; /* of those of clock_alike */
} clock_job_host;

/* The identity of a collective's group. */
GPU_KEY
typedef struct clock_job_group {
    uint32_t name;       /* text; HD_NONE: none */
    uint32_t is_counted; /* its sequences are those below */
    int64_t stream;      /* used in place of the name */
    int64_t in_step;     /* collectives of the group in the step, where they are counted; -1: of clock_alike.c */
} clock_job_group;
GPU_KEY_END

/* Sequence of the `index`th collective of a group in a step, where the trace has no numbers. */
enum { CLOCK_STEP_BITS = 24 };
static inline int64_t clock_step_sequence(int64_t step, int64_t index)
{
    return step * (INT64_C(1) << CLOCK_STEP_BITS) + index;
}

GPU_KEY
typedef struct clock_job_member {
    int64_t rank, device;
} clock_job_member;
GPU_KEY_END

/* ---- clock_alike.c ---- */

enum { CLOCK_ALIKE_LIST_MAX = 512, CLOCK_ALIKE_ROWS_MAX = 1 << 17 }; /* compared in a second or two, in 5 MB */

/* A collective of a group with unknown name and size. */
typedef struct clock_alike_row {
    uint32_t list, operation, host, member; /* list: of clock_alike */
    int64_t start_ns, end_ns;
} clock_alike_row;

typedef struct clock_alike_key {
    int64_t place, rank, device, stream; /* place: of the summary */
} clock_alike_key;

/* Why nothing is known of them; over several streams, the last of these reasons. */
typedef enum clock_alike_end {
    CLOCK_ALIKE_NONE,
    CLOCK_ALIKE_WORLD,
    CLOCK_ALIKE_MANY,
    CLOCK_ALIKE_MISSING,
    CLOCK_ALIKE_TWICE,
    CLOCK_ALIKE_STREAMS,
    CLOCK_ALIKE_LISTS,
    CLOCK_ALIKE_FEW,
    CLOCK_ALIKE_SHIFT,
    CLOCK_ALIKE_GROUPS,
    CLOCK_ALIKE_FOUND,
    CLOCK_ALIKE_ENDS
} clock_alike_end;

typedef struct clock_alike {
    gpu_groups lists; /* keys: clock_alike_key */
    clock_alike_row *rows;
    size_t count, capacity, in_list; /* in_list: rows of the list at hand */
    uint32_t near;
    int64_t world; /* world size that all who have one agree on; 0: none, -1: unknown, or contradictory */
    bool is_full, is_done;
    clock_alike_end end;
} clock_alike;

/* How a collective, or a hint, was used. */
typedef enum clock_use {
    CLOCK_USED,
    CLOCK_PROVEN,
    CLOCK_ROOTED,
    CLOCK_UNNAMED,
    CLOCK_UNNUMBERED,
    CLOCK_UNTIMED,
    CLOCK_SPOILED,
    CLOCK_HINTS,
    CLOCK_NO_HOST,
    CLOCK_AT_ODDS,
    CLOCK_USES
} clock_use;

typedef struct clock_job {
    gpu_texts texts;
    gpu_groups host_keys, groups, members; /* keys of groups: clock_job_group, of members: clock_job_member */
    clock_job_host *hosts;                 /* by the number of host_keys */
    hd_clock_event *events;                /* of hosts at hand. operation: text; group, member: numbers */
    clock_parts parts;                     /* of all others */
    clock_alike alike;
    hd_clock_hint *hints;
    size_t host_capacity, count, capacity, hint_count, hint_capacity;
    size_t first;        /* index of the first member with any event; SIZE_MAX: none */
    uint32_t first_host; /* that it ran on */
    uint32_t last_host;  /* of the member that was added last */
    uint64_t uses[CLOCK_USES];
    bool *shares; /* by host, once it is solved: it shares collectives with another; NULL: all clocks are known */
} clock_job;

/* Whether it has that name. */
static inline bool clock_job_is_host(const clock_job *job, uint32_t host, hd_string name)
{
    if (job->hosts[host].name == HD_NONE) return false;
    hd_string own = gpu_text_of(&job->texts, job->hosts[host].name);
    return own.size == name.size && memcmp(own.data, name.data, name.size) == 0;
}

/* All collectives of all members, host by host. Deinit it all the same on errors. */
hd_status clock_job_init(clock_job *out, const hd_job *job, hd_table_builder *lost, hd_error *err);
/* The same, one member after the other, all of whose events stay in `events`; place: a number of its own. */
void clock_job_begin(clock_job *out);
hd_status clock_job_add(clock_job *out, const hd_job *job, size_t member, int64_t place, hd_table_builder *lost,
                        hd_error *err);
/* hd_clocks_new of all events, which are packed into parts. If that leaves a clock unknown, again with the collectives
 * proven by clock_alike.c. */
hd_status clock_job_solve(hd_clocks **out, clock_job *job, const hd_clock_options *options, hd_error *err);
/* Why the clock of a host is unknown, as text; NULL: it is known. */
const char *clock_job_why(const clock_job *job, const hd_clocks *solved, uint32_t host);
void clock_job_deinit(clock_job *job);

/* row: without its list. false: no memory. */
bool clock_alike_add(clock_job *job, const clock_alike_key *key, const clock_alike_row *row);
/* Those that are proven to be of all ranks become events of a group for each stream. false: no memory. */
bool clock_alike_prove(clock_job *job);
const char *clock_alike_text(clock_alike_end end);
void clock_alike_deinit(clock_alike *of);

/* Adds the hints of a file: lines "HOST OFFSET BAR", or, as mpisync writes them, "HOST RTT OFFSET", in seconds. Errors:
 * those of hd_input_open and hd_lines_next; FORMAT; MEMORY. */
hd_status clock_hints_read(clock_job *job, const char *path, bool is_mpisync, hd_error *err);

/* group, stream, operation, step and sequence of a collective; and the rank of a member. */
void clock_cells_of(hd_table_builder *builder, const clock_job *job, uint64_t group, uint32_t operation,
                    int64_t sequence);
static inline int64_t clock_job_rank(const clock_job *job, uint32_t member)
{
    return ((const clock_job_member *)gpu_group_key(&job->members, member))->rank;
}
/* Rows of the table `arrivals`. Errors: MEMORY. */
hd_status clock_arrivals(hd_table_builder *builder, const clock_job *job, const hd_clocks *clocks, hd_error *err);

#endif
