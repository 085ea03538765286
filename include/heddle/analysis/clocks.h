/* clocks.h - estimates clock offsets between the hosts of a job from its collectives, with error bars
 *
 *     hd_clocks *clocks;
 *     HD_TRY(hd_clocks_new(&clocks, hosts, events, count, NULL, 0, NULL, err));
 *     if (hd_clocks_at(&offset, &bar, clocks, 3, time)) use(time + offset);   // on the clock of host 0, +- bar
 *     hd_clocks_free(clocks);
 *
 * Evidence: a collective of all ends for all members at about the same time, and for none before the last member has
 * arrived. The first fact gives offset and drift. The second is certain: it confirms or refutes the estimate, and gives
 * the error bar where nothing else is known. No trace is changed.
 *
 * An error bar holds in 99 % of cases if the noise of ends is independent from one collective to the next. Assumptions:
 * apart from clock differences, the ends of a collective differ by at most `skew_ns` and their own spread; clocks drift
 * apart by at most `drift_ppm` where the drift was not measured. A clock step is found from twelve collectives on, and
 * the offset is then known before and after it; from bounds alone a step is not detected.
 */
#ifndef HEDDLE_CLOCKS_H
#define HEDDLE_CLOCKS_H

#include "heddle/analysis/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The role of a member in a collective. Every member that gives begins before any member that takes ends. */
typedef enum hd_clock_role {
    HD_CLOCK_BOTH,  /* of AllReduce, AllGather, ReduceScatter, AllToAll, Barrier */
    HD_CLOCK_GIVES, /* the root of a broadcast, all but the root of a reduce, the sender */
    HD_CLOCK_TAKES, /* all but the root of a broadcast, the root of a reduce, the receiver */
    HD_CLOCK_ROLES
} hd_clock_role;

/* A member's part in one collective. */
typedef struct hd_clock_event {
    uint32_t host;
    uint32_t member;    /* rank, or any number; a collective in which a member occurs twice is not used */
    uint32_t operation; /* any number: operations with equal numbers have the same spread of ends */
    uint32_t size;      /* members of the collective; 0: not known. A collective with more members is not used: two
                           groups share a name */
    hd_clock_role role;
    uint64_t group;           /* group and `sequence` alone identify the collective */
    int64_t sequence;         /* any number */
    int64_t start_ns, end_ns; /* on the host's clock */
} hd_clock_event;

/* A measured offset of a host, from NTP, PTP or mpisync: add this to its clock to get the time that all hints share, +-
 * bar. */
typedef struct hd_clock_hint {
    uint32_t host;
    int64_t offset_ns, bar_ns;
} hd_clock_hint;

typedef struct hd_clock_options {
    size_t size;        /* of this struct; see "Options" in status.h */
    uint32_t reference; /* the host whose clock is the job's */
    int64_t skew_ns;    /* 0: 10 us */
    double drift_ppm;   /* 0: 200 */
} hd_clock_options;

typedef enum hd_clock_basis {
    HD_CLOCK_UNKNOWN,   /* nothing connects it with the reference, or its clock steps too often */
    HD_CLOCK_REFERENCE, /* the reference host */
    HD_CLOCK_ENDS,      /* ends of collectives */
    HD_CLOCK_BOUNDS,    /* causality alone */
    HD_CLOCK_HINTED,    /* from hints, its own or those on the way to the reference */
    HD_CLOCK_REFUSED,   /* the evidence contradicts itself: see hd_clocks_cycle_at, or a hint does */
    HD_CLOCK_BASES
} hd_clock_basis;

/* A range of time without a clock step. At time t of the host the offset is offset_ns + drift (t - at_ns), its error
 * bar bar_ns + rate |t - at_ns|, which grows by hd_clock_options.drift_ppm outside of first_ns … last_ns. */
typedef struct hd_clock_piece {
    int64_t from_ns, until_ns; /* INT64_MIN, INT64_MAX: no step is known before, or after */
    int64_t first_ns, last_ns; /* range of the evidence */
    int64_t at_ns, offset_ns, bar_ns;
    double drift, rate; /* ns per ns */
    bool has_drift;     /* measured; else 0 */
} hd_clock_piece;

typedef struct hd_host_clock {
    hd_clock_basis basis;
    uint32_t via;                 /* the host that it was compared with; its own number: no host */
    uint64_t collectives;         /* collectives compared with that host; of BOUNDS all of its own */
    size_t piece_count;           /* 0 of UNKNOWN, REFUSED */
    const hd_clock_piece *pieces; /* in order of time */
} hd_host_clock;

/* A contradiction is a cycle of collectives: in each of them `taker` ends before `giver` begins, on the recorded clocks
 * or on any clocks that the other collectives permit. giver and taker are indices in `events`. */
typedef struct hd_clock_step {
    size_t giver, taker;
} hd_clock_step;

typedef struct hd_clocks hd_clocks;

/* Solves for hosts 0 … host_count - 1. A contradiction is not an error: then all hosts but the reference are REFUSED.
 * O(n log n) time; memory is about 100 bytes an event. hints and options may be NULL. The caller frees it with
 * hd_clocks_free. Any thread may read it. Errors: ARGUMENT (an unknown host or role), MEMORY. */
hd_status hd_clocks_new(hd_clocks **out, size_t host_count, const hd_clock_event *events, size_t count,
                        const hd_clock_hint *hints, size_t hint_count, const hd_clock_options *options, hd_error *err);
void hd_clocks_free(hd_clocks *clocks);
size_t hd_clocks_count(const hd_clocks *clocks);
/* Borrowed. */
const hd_host_clock *hd_clocks_host(const hd_clocks *clocks, size_t host);
const char *hd_clock_basis_name(hd_clock_basis basis); /* "ends" */
/* Events that were not used: members that occur twice, or that end before they begin. */
uint64_t hd_clocks_left_out(const hd_clocks *clocks);
/* The contradiction, if there is one. */
size_t hd_clocks_cycle_size(const hd_clocks *clocks);
const hd_clock_step *hd_clocks_cycle_at(const hd_clocks *clocks, size_t index);

/* What to add to a time of a host to get the reference's time, and the error bar. false: unknown at that time. */
bool hd_clocks_at(int64_t *out_offset_ns, int64_t *out_bar_ns, const hd_clocks *clocks, size_t host, int64_t time_ns);

/* How much later `to` is than `from`, times on two hosts' clocks, and the error bar. false: unknown, or the difference
 * is below the bar, so that it is unknown which host waited. On one host it is always known, without a bar. */
bool hd_clocks_wait(int64_t *out_wait_ns, int64_t *out_bar_ns, const hd_clocks *clocks, size_t from_host, int64_t from,
                    size_t to_host, int64_t to);

#ifdef __cplusplus
}
#endif
#endif
