/* ticks.h - exact times as 64-bit integers that keep their order
 *
 * A tick is a nanosecond or a picosecond since a base. If times are finer than that, each picosecond becomes as many
 * ticks as its finer times need: times get their rank in it. So the later of two times always has the larger tick,
 * equal times have equal ticks, and lengths are right to two picoseconds. First all times are added (hd_ticks_see),
 * then the units are chosen (hd_ticks_settle).
 */
#ifndef HD_TRACE_TICKS_H
#define HD_TRACE_TICKS_H

#include "heddle/trace.h"

/* A time as stored in columns. */
typedef struct hd_exact {
    int64_t ns, below; /* below: HD_COL_START_PS, HD_COL_END_PS */
} hd_exact;

typedef struct hd_ticks {
    int64_t base_ns, per_ns; /* units per ns: 1 or 1000 */
    int64_t ranks;           /* ticks per such unit, 1: nothing is finer */
    hd_exact *finer;         /* the times finer than 1 ps; once settled sorted, each once */
    size_t finer_count, finer_capacity;
    int64_t low_ns, high_ns;
    bool any, fine; /* fine: some time is below the nanosecond */
} hd_ticks;

bool hd_ticks_see_finer(hd_ticks *ticks, int64_t ns, int64_t below);
/* Adds a time that will be converted. *ticks is zero before the first. false: no memory. */
static inline bool hd_ticks_see(hd_ticks *ticks, int64_t ns, int64_t below)
{
    if (ns == HD_NO_TIME) return true;
    if (!ticks->any || ns < ticks->low_ns) ticks->low_ns = ns;
    if (!ticks->any || ns > ticks->high_ns) ticks->high_ns = ns;
    ticks->any = true;
    ticks->fine |= below != 0;
    return below < 1000 || hd_ticks_see_finer(ticks, ns, below);
}
/* Chooses the finest units in which all added times fit. A trace of more than a hundred days with picoseconds uses
 * nanoseconds. */
void hd_ticks_settle(hd_ticks *ticks);
void hd_ticks_deinit(hd_ticks *ticks);

/* The rank of a time finer than 1 ps in its picosecond. */
int64_t hd_ticks_rank(const hd_ticks *ticks, int64_t ns, int64_t below);

static inline int64_t hd_ticks_per_ns(const hd_ticks *ticks)
{
    return ticks->per_ns * ticks->ranks;
}

/* A time that was not added becomes a tick between its neighbours. Times too far out saturate. */
static inline int64_t hd_ticks_of(const hd_ticks *ticks, int64_t ns, int64_t below)
{
    int64_t from_base, units, rank = 0;
    if (__builtin_sub_overflow(ns, ticks->base_ns, &from_base)) return ns < ticks->base_ns ? INT64_MIN : INT64_MAX;
    if (ticks->per_ns == 1) return from_base;
    if (ticks->ranks > 1 && below >= 1000) rank = hd_ticks_rank(ticks, ns, below);
    if (__builtin_mul_overflow(from_base, ticks->per_ns, &units) ||
        __builtin_add_overflow(units, (int64_t)hd_below_ps(below), &units) ||
        __builtin_mul_overflow(units, ticks->ranks, &units) || __builtin_add_overflow(units, rank, &units))
        return from_base < 0 ? INT64_MIN : INT64_MAX;
    return units;
}

/* The time of a tick; for a tick without a time, a time between its neighbours. */
hd_exact hd_ticks_time(const hd_ticks *ticks, int64_t tick);

#endif
