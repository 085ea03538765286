/* clocks.h - the clocks of hosts. Begin with solve.c: events in, a clock for each host out */
#ifndef HD_REPORT_CLOCKS_CLOCKS_H
#define HD_REPORT_CLOCKS_CLOCKS_H

#include <math.h>

#include "heddle/clocks.h"

__extension__ typedef __int128 clock_i128;

enum { CLOCK_SAMPLES_MIN = 5, CLOCK_LINE_MIN = 12, CLOCK_SPLITS_MAX = 64 };

static inline int64_t clock_clip(clock_i128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

/* Saturating; NaN is 0. */
static inline int64_t clock_round(double value)
{
    if (!(value < 0x1p63)) return isnan(value) ? 0 : INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)llround(value);
}

/* ---- piece.c ---- */

typedef struct clock_pieces {
    hd_clock_piece *list;
    size_t count;
} clock_pieces;

/* What a piece says at a time, which may lie outside of it. drift: of what nobody has measured, ns per ns. */
int64_t clock_piece_offset(const hd_clock_piece *piece, int64_t time_ns);
int64_t clock_piece_bar(const hd_clock_piece *piece, int64_t time_ns, double drift);
/* The largest bar where its evidence lies. */
double clock_piece_worst(const hd_clock_piece *piece);
/* From the clock of A in terms of B to that of B in terms of A. */
hd_clock_piece clock_piece_inverse(const hd_clock_piece *piece);
/* Cut what a clock that was set back passes twice: nobody can say which of both times is meant. In order of samples,
 * then of time. false: no memory. */
bool clock_pieces_part(clock_pieces *pieces);
/* inner: host to parent; outer: parent to reference. Host to reference, where both are known, added to `out`, which
 * grows. false: no memory. */
bool clock_pieces_compose(clock_pieces *out, const clock_pieces *inner, const clock_pieces *outer, double drift);

/* ---- fit.c ---- */

/* One collective that two hosts share: at_ns on the clock of the one, to which offset_ns is to be added for the
 * other's. */
typedef struct clock_sample {
    int64_t at_ns, offset_ns;
} clock_sample;

/* Samples, in order, as lines without steps. None: too few, or too many steps. false: no memory. */
bool clock_fit(clock_pieces *out, const clock_sample *samples, size_t count, double skew_ns, double drift);

/* ---- events.c ---- */

/* Events in order of collectives, those that are used. */
typedef struct clock_events {
    const hd_clock_event *all;
    size_t *order; /* places in `all` */
    size_t count;
    size_t *firsts; /* of each collective in `order`, and `count` behind the last */
    size_t collectives;
} clock_events;

/* false: no memory; deinit all the same. */
bool clock_events_init(clock_events *e, uint64_t *out_left_out, const hd_clock_event *all, size_t count);
void clock_events_deinit(clock_events *e);

/* The ends of one collective on two hosts; hub is the lower of them. */
typedef struct clock_shared {
    uint32_t hub, host, operation;
    uint64_t group;
    clock_sample sample; /* on the clock of host */
} clock_shared;

/* By hub, host, operation, group and sequence. The caller frees *out, also if it is false: no memory. */
bool clock_shared_new(clock_shared **out, size_t *out_count, const clock_events *e);

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

struct hd_clocks {
    clock_host *hosts;
    size_t host_count;
    uint32_t reference;
    double skew_ns, drift;
    uint64_t left_out;
    hd_clock_step *cycle;
    size_t cycle_count;
};

/* ---- bounds.c ---- */

/* Certifies the hosts that are known by causality, and bounds the others. false: no memory. */
bool clock_bounds(hd_clocks *clocks, const clock_events *events);

#endif
