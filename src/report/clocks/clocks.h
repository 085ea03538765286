/* clocks.h - the clocks of hosts. Begin with solve.c: events in, a clock for each host out */
#ifndef HD_REPORT_CLOCKS_CLOCKS_H
#define HD_REPORT_CLOCKS_CLOCKS_H

#include <math.h>

#include "base/bytes.h"
#include "heddle/analysis/clocks.h"
#include "model/stats/stats.h"

__extension__ typedef __int128 clock_i128;

enum { CLOCK_SAMPLES_MIN = 5, CLOCK_LINE_MIN = 12, CLOCK_SPLITS_MAX = 64 };

static inline int64_t clock_clip(clock_i128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

/* ---- piece.c ---- */

typedef struct clock_pieces {
    hd_clock_piece *list;
    size_t count;
} clock_pieces;

/* The offset of a piece at a time, which may be outside of it. drift: assumed outside of the evidence, ns per ns. */
int64_t clock_piece_offset(const hd_clock_piece *piece, int64_t time_ns);
int64_t clock_piece_bar(const hd_clock_piece *piece, int64_t time_ns, double drift);
/* The largest bar within its evidence. */
double clock_piece_worst(const hd_clock_piece *piece);
/* From the clock of A in terms of B to that of B in terms of A. */
hd_clock_piece clock_piece_inverse(const hd_clock_piece *piece);
/* Removes ranges that a clock set back passes twice: times in them are ambiguous. In order of samples, then of time.
 * false: no memory. */
bool clock_pieces_part(clock_pieces *pieces);
/* inner: host to parent; outer: parent to reference. Appends host to reference, where both are known, to `out`. false:
 * no memory. */
bool clock_pieces_compose(clock_pieces *out, const clock_pieces *inner, const clock_pieces *outer, double drift);

/* ---- fit.c ---- */

/* A collective shared by two hosts: at_ns on one clock, plus offset_ns gives the other's. */
typedef struct clock_sample {
    int64_t at_ns, offset_ns;
} clock_sample;

/* Samples, in order, as lines without steps. None: too few, or too many steps. false: no memory. */
bool clock_fit(clock_pieces *out, const clock_sample *samples, size_t count, double skew_ns, double drift);
/* The one that would be at `wanted` if list were sorted; the order of list changes. */
double clock_element(double *list, size_t count, size_t wanted);
/* The median slope between samples `lag` apart, and its error. */
double clock_slope(double *out_error, double *spare, const double *x, const double *y, size_t count, size_t lag);

/* ---- parts.c ---- */

/* A collective on one host, from its members. */
typedef struct clock_part {
    uint64_t group;
    int64_t sequence;
    uint32_t host, operation, members;
    uint32_t size;                      /* the smallest given one; 0: none */
    bool is_sound;                      /* its members agree, and none occurs twice */
    bool is_of_all;                     /* all give and take */
    bool gives, takes;                  /* one of them does */
    bool is_alone;                      /* no other giver began as late as the giver */
    uint32_t first, giver, taker;       /* member that began first; giver that began last; taker that ended first */
    int64_t low_ns, given_ns, taken_ns; /* when they did */
    int64_t end_ns, high_ns;            /* the middle of the ends, and the last */
} clock_part;

/* Lines of a host and group, by sequence, in the bytes. */
typedef struct clock_list {
    uint64_t group;
    uint32_t host;
    size_t offset, count;
} clock_list;

/* Zero-initialised is empty. */
typedef struct clock_parts {
    hd_bytes bytes;
    clock_list *lists;
    size_t list_count, capacity;
    uint64_t events; /* that were added */
} clock_parts;

/* All events of some hosts, which must be in no other call. false: no memory. */
bool clock_parts_add(clock_parts *parts, const hd_clock_event *events, size_t count);
/* After the last clock_parts_add. false: no memory. */
bool clock_parts_order(clock_parts *parts);
/* Calls each(user, …) for each consistent collective, by group and sequence, with its parts by host. false: a call
 * returned false, or no memory. */
typedef bool clock_each(void *user, const clock_part *parts, size_t count);
bool clock_parts_each(const clock_parts *parts, clock_each *each, void *user);
void clock_parts_deinit(clock_parts *parts);

/* ---- solve.c ---- */

typedef struct clock_host {
    hd_host_clock public;
    clock_pieces pieces;
    bool is_unsettled;       /* shares collectives that no line fits */
    int64_t low_ns, high_ns; /* of its events; low above high: it has none */
} clock_host;

/* Of its events. */
static inline int64_t clock_middle(const clock_host *host)
{
    return host->low_ns > host->high_ns ? 0 : (int64_t)(((clock_i128)host->low_ns + host->high_ns) / 2);
}

/* Giver and taker: of an event as far as its member is known. */
typedef struct clock_step {
    hd_clock_event giver, taker;
} clock_step;

struct hd_clocks {
    clock_host *hosts;
    size_t host_count;
    uint32_t reference;
    double skew_ns, drift;
    uint64_t left_out;
    clock_step *cycle;
    hd_clock_step *places; /* of the same, in the caller's events; NULL: they are parts */
    size_t cycle_count;
};

/* hd_clocks_new of parts in order; options: not NULL. */
hd_status clock_solve(hd_clocks **out, size_t host_count, const clock_parts *parts, const hd_clock_hint *hints,
                      size_t hint_count, const hd_clock_options *options, hd_error *err);

/* ---- bounds.c ---- */

/* Certifies the known hosts by causality, and bounds the others. false: no memory. */
bool clock_bounds(hd_clocks *clocks, const clock_parts *parts);

#endif
