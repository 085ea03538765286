/* clocks.h - by how much the clocks of a job's hosts differ, from its collectives; each answer with an error bar
 *
 *     hd_clocks *clocks;
 *     HD_TRY(hd_clocks_new(&clocks, hosts, events, count, NULL, 0, NULL, err));
 *     if (hd_clocks_at(&offset, &bar, clocks, 3, time)) use(time + offset);   // on the clock of host 0, +- bar
 *     hd_clocks_free(clocks);
 *
 * Evidence: a collective of all ends for all of its members at about the same time, and for none before the last
 * has come. The first gives offset and drift, the second holds for certain: it certifies, refuses, or where nothing
 * else is known gives the bar. Nothing is changed in any trace.
 *
 * Trust in a bar: it holds in 99 % of cases if the noise of ends is independent from one collective to the next. It
 * takes for granted that ends of a collective lie no further apart than `skew_ns` and their spread by any other reason
 * than clocks, and that clocks drift apart by no more than `drift_ppm` where that was not measured. A clock that steps
 * is found by twelve collectives or more, and then known before and after; by bounds alone it is not seen.
 */
#ifndef HEDDLE_CLOCKS_H
#define HEDDLE_CLOCKS_H

#include "heddle/job.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a member does in a collective. A member that gives has begun before any that takes ends. */
typedef enum hd_clock_role {
    HD_CLOCK_BOTH,  /* of AllReduce, AllGather, ReduceScatter, AllToAll, Barrier */
    HD_CLOCK_GIVES, /* the root of a broadcast, all but the root of a reduce, who sends */
    HD_CLOCK_TAKES, /* all but the root of a broadcast, the root of a reduce, who receives */
    HD_CLOCK_ROLES
} hd_clock_role;

/* A member's part in one collective. */
typedef struct hd_clock_event {
    uint32_t host;
    uint32_t member;    /* rank, or any number: a member that occurs twice in a collective spoils that one */
    uint32_t operation; /* any number: ends of equal ones spread alike */
    uint32_t size;      /* members that it has; 0: not known. More of them spoil it: two groups have one name */
    hd_clock_role role;
    uint64_t group;           /* with `sequence`, and nothing else, says which collective it is */
    int64_t sequence;         /* any number */
    int64_t start_ns, end_ns; /* on the host's clock */
} hd_clock_event;

/* What NTP, PTP or mpisync says of a host: to a time that all hints share, add this to its clock, +- bar. */
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
    HD_CLOCK_REFERENCE, /* the clock that counts */
    HD_CLOCK_ENDS,      /* ends of collectives */
    HD_CLOCK_BOUNDS,    /* causality alone */
    HD_CLOCK_HINTED,    /* hints, of its own or on the way to the reference */
    HD_CLOCK_REFUSED,   /* what is known contradicts itself: see hd_clocks_cycle_at, or a hint */
    HD_CLOCK_BASES
} hd_clock_basis;

/* A time in which a clock did not step. At time t of the host: the offset is offset_ns + drift (t - at_ns), its bar
 * bar_ns + rate |t - at_ns|, and hd_clock_options.drift_ppm more for what lies outside of first_ns … last_ns. */
typedef struct hd_clock_piece {
    int64_t from_ns, until_ns; /* INT64_MIN, INT64_MAX: no step is known before, or after */
    int64_t first_ns, last_ns; /* where the evidence lies */
    int64_t at_ns, offset_ns, bar_ns;
    double drift, rate; /* ns per ns */
    bool has_drift;     /* measured; else 0 */
} hd_clock_piece;

typedef struct hd_host_clock {
    hd_clock_basis basis;
    uint32_t via;                 /* the host that it was compared with; its own number: none */
    uint64_t collectives;         /* compared with that host's, or of BOUNDS: all of its own */
    size_t piece_count;           /* 0 of UNKNOWN, REFUSED */
    const hd_clock_piece *pieces; /* in order of time */
} hd_host_clock;

/* A contradiction is a chain of collectives, in each of which `taker` ends before `giver` has begun, or the clocks
 * that all the others allow say so. They are places in `events`. */
typedef struct hd_clock_step {
    size_t giver, taker;
} hd_clock_step;

typedef struct hd_clocks hd_clocks;

/* Solves for hosts 0 … host_count - 1. A contradiction is no error: then all hosts but the reference are REFUSED.
 * O(n log n) time; memory is about 100 bytes an event. hints and options may be NULL. The caller frees it with
 * hd_clocks_free. Any thread may read it. Errors: ARGUMENT (a host or role that is none), MEMORY. */
hd_status hd_clocks_new(hd_clocks **out, size_t host_count, const hd_clock_event *events, size_t count,
                        const hd_clock_hint *hints, size_t hint_count, const hd_clock_options *options, hd_error *err);
void hd_clocks_free(hd_clocks *clocks);
size_t hd_clocks_count(const hd_clocks *clocks);
/* Borrowed. */
const hd_host_clock *hd_clocks_host(const hd_clocks *clocks, size_t host);
const char *hd_clock_basis_name(hd_clock_basis basis); /* "ends" */
/* Events that were not used: of members that occur twice, or that end before they begin. */
uint64_t hd_clocks_left_out(const hd_clocks *clocks);
/* The contradiction, if there is one. */
size_t hd_clocks_cycle_size(const hd_clocks *clocks);
const hd_clock_step *hd_clocks_cycle_at(const hd_clocks *clocks, size_t index);

/* What to add to a time of a host for the reference's, and the bar. false: it is not known, at that time. */
bool hd_clocks_at(int64_t *out_offset_ns, int64_t *out_bar_ns, const hd_clocks *clocks, size_t host, int64_t time_ns);

/* How much later `to` is than `from`, times on two hosts' clocks, and the bar. false: unknown, which it is too where
 * the difference is below the bar: then it is unknown who waited. On one host it is always known, without a bar. */
bool hd_clocks_wait(int64_t *out_wait_ns, int64_t *out_bar_ns, const hd_clocks *clocks, size_t from_host, int64_t from,
                    size_t to_host, int64_t to);

#ifdef __cplusplus
}
#endif
#endif
