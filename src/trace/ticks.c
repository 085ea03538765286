/* ticks.c - exact times as 64-bit integers that keep their order
 *
 * The n-th finer time of a picosecond, from 0 on, has rank 2 n + 2, its whole picosecond rank 0; so there is a tick
 * between any two added times.
 */
#include "trace/ticks.h"

#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"

bool hd_ticks_see_finer(hd_ticks *ticks, int64_t ns, int64_t below)
{
    if (!hd_grow((void **)&ticks->finer, &ticks->finer_capacity, ticks->finer_count, sizeof *ticks->finer))
        return false;
    ticks->finer[ticks->finer_count++] = (hd_exact){ns, below};
    return true;
}

static int by_time(const void *a, const void *b)
{
    const hd_exact *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
    int64_t p = hd_below_ns(x->below), q = hd_below_ns(y->below);
    return (p > q) - (p < q);
}

static bool same_ps(const hd_exact *a, const hd_exact *b)
{
    return a->ns == b->ns && hd_below_ps(a->below) == hd_below_ps(b->below);
}

/* Sorts and removes duplicates. Returns the largest number of times in one picosecond. */
static int64_t sort_finer(hd_ticks *ticks)
{
    size_t count = 0;
    int64_t most = 0, run = 0;
    if (ticks->finer_count) hd_sort(ticks->finer, ticks->finer_count, sizeof *ticks->finer, by_time);
    for (size_t i = 0; i < ticks->finer_count; i++) {
        const hd_exact *time = &ticks->finer[i], *last = count ? &ticks->finer[count - 1] : NULL;
        if (last && by_time(last, time) == 0) continue;
        run = last && same_ps(last, time) ? run + 1 : 1;
        most = run > most ? run : most;
        ticks->finer[count++] = *time;
    }
    ticks->finer_count = count;
    return most;
}

void hd_ticks_settle(hd_ticks *ticks)
{
    int64_t most = sort_finer(ticks), span, room;
    ticks->base_ns = 0;
    ticks->per_ns = ticks->ranks = 1;
    if (!ticks->any || __builtin_sub_overflow(ticks->high_ns, ticks->low_ns, &span) || span == INT64_MAX) return;
    room = INT64_MAX / 2 / (span + 1);
    if (!ticks->fine || room < 1000) return;
    ticks->base_ns = ticks->low_ns;
    ticks->per_ns = 1000;
    if (room / 1000 >= 2 * most + 2 && most) ticks->ranks = 2 * most + 2;
}

void hd_ticks_deinit(hd_ticks *ticks)
{
    free(ticks->finer);
    *ticks = (hd_ticks){0};
}

/* How many of the finer times are before a time. */
static size_t count_before(const hd_ticks *ticks, const hd_exact *time)
{
    size_t low = 0, high = ticks->finer_count;
    HD_PARTITION_POINT(low, high, at, by_time(&ticks->finer[at], time) < 0);
    return low;
}

int64_t hd_ticks_rank(const hd_ticks *ticks, int64_t ns, int64_t below)
{
    hd_exact time = {ns, below}, whole = {ns, hd_below_ps(below)};
    size_t at = count_before(ticks, &time);
    bool seen = at < ticks->finer_count && by_time(&ticks->finer[at], &time) == 0;
    return 2 * (int64_t)(at - count_before(ticks, &whole)) + 1 + seen;
}

hd_exact hd_ticks_time(const hd_ticks *ticks, int64_t tick)
{
    int64_t units = tick / ticks->ranks - (tick % ticks->ranks < 0), rank = tick - units * ticks->ranks;
    int64_t from_base = units / ticks->per_ns - (units % ticks->per_ns < 0);
    hd_exact time = {ticks->base_ns + from_base, units - from_base * ticks->per_ns};
    if (rank == 0) return time;
    size_t first = count_before(ticks, &time), last = first;
    while (last < ticks->finer_count && same_ps(&ticks->finer[last], &time)) last++;
    size_t at = first + (size_t)(rank - 1) / 2; /* index at or above which it is */
    if (rank % 2 == 0 && at < last) return ticks->finer[at];
    if (rank % 2 == 0 || at > last) at = last;
    int64_t from = at > first ? ticks->finer[at - 1].below / 1000 : 0;
    int64_t until = at < last ? ticks->finer[at].below / 1000 : HD_FINER_PER_PS;
    time.below += 1000 * (from + (until - from) / 2);
    return time;
}
