/* clock.c - CUPTI's times on the session's clock */
#include <stddef.h>

#include "base/sorted.h"
#include "capture/cuda/clock.h"
#include "heddle/session.h"

enum { TRIES = 5, FAR_NS = 1000000 };

static const cuda_clock_pair *pair_at(const cuda_clock *clock, uint32_t i)
{
    return &clock->pairs[(clock->first + i) % CUDA_CLOCK_PAIRS];
}

const cuda_clock_pair *cuda_clock_last(const cuda_clock *clock)
{
    return clock->count ? pair_at(clock, clock->count - 1) : NULL;
}

void cuda_clock_add(cuda_clock *clock, const cuda_clock_pair *pair)
{
    const cuda_clock_pair *last = cuda_clock_last(clock);
    /* A wall clock may be set back: earlier pairs are then invalid. */
    if (last && (pair->theirs <= last->theirs || pair->ours <= last->ours)) clock->count = 0;
    if (clock->count == CUDA_CLOCK_PAIRS) {
        clock->first = (clock->first + 1) % CUDA_CLOCK_PAIRS;
        clock->count--;
    }
    clock->pairs[(clock->first + clock->count++) % CUDA_CLOCK_PAIRS] = *pair;
}

void cuda_clock_sample(cuda_clock *clock, bool is_told, cuda_clock_read *read, void *user)
{
    cuda_clock_pair best = {.uncertainty_ns = INT64_MAX};
    for (int i = 0; i < TRIES; i++) {
        int64_t theirs = 0, before = hd_session_now();
        if (!read(&theirs, user)) continue;
        int64_t half = (hd_session_now() - before) / 2;
        if (half < best.uncertainty_ns) best = (cuda_clock_pair){theirs, before + half, half};
    }
    if (best.uncertainty_ns == INT64_MAX) return;
    int64_t offset = best.theirs - best.ours;
    bool is_near = offset < FAR_NS + best.uncertainty_ns && offset > -FAR_NS - best.uncertainty_ns;
    clock->is_ours = is_told && is_near;
    clock->has_broken |= is_told && !is_near;
    cuda_clock_add(clock, &best);
}

/* a * b / c without overflow; c > 0. */
static int64_t scale(int64_t a, int64_t b, int64_t c)
{
    __extension__ typedef __int128 i128;
    i128 result = (i128)a * b / c;
    return result > INT64_MAX ? INT64_MAX : result < INT64_MIN ? INT64_MIN : (int64_t)result;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t cuda_clock_map(const cuda_clock *clock, int64_t theirs)
{
    if (clock->is_ours || clock->count == 0) return theirs;
    /* The last pair at or before it; before all, the first. After the last, the clocks are assumed to run equally fast,
     * for at most a second. */
    uint32_t low = 1, high = clock->count;
    HD_PARTITION_POINT(low, high, at, pair_at(clock, at)->theirs <= theirs);
    low--;
    const cuda_clock_pair *a = pair_at(clock, low);
    int64_t since = plus(theirs, a->theirs == INT64_MIN ? INT64_MAX : -a->theirs);
    if (low + 1 < clock->count && since > 0) {
        const cuda_clock_pair *b = pair_at(clock, low + 1);
        since = scale(since, b->ours - a->ours, b->theirs - a->theirs);
    }
    return plus(a->ours, since);
}
