/* clock.c - several traces on one clock */
#include "model/clock/clock.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/clock.h"

bool hd_clock_shifts(int64_t *shifts, int64_t *out_base, const int64_t *bases, size_t count)
{
    bool known = count != 0;
    int64_t low = count ? bases[0] : HD_NO_TIME;
    for (size_t i = 1; i < count; i++) low = bases[i] < low ? bases[i] : low;
    for (size_t i = 0; known && i < count; i++)
        known = bases[i] != HD_NO_TIME && !__builtin_sub_overflow(bases[i], low, &shifts[i]);
    for (size_t i = 0; !known && i < count; i++) shifts[i] = 0;
    *out_base = known ? low : HD_NO_TIME;
    return known;
}

bool hd_clock_is_one_run(const hd_clock_span *spans, size_t count)
{
    __extension__ typedef __int128 wide;
    wide low = INT64_MAX, high = INT64_MIN, sum = 0;
    for (size_t i = 0; i < count; i++) {
        wide start = spans[i].start_ns, end = start + spans[i].length_ns;
        low = start < low ? start : low;
        high = end > high ? end : high;
        sum += spans[i].length_ns;
    }
    return high - low <= 2 * sum;
}

bool hd_clock_shifts_of(int64_t *shifts, const hd_trace_facts *const *facts, size_t count)
{
    int64_t low = HD_NO_TIME;
    bool shared = count != 0;
    for (size_t i = 0; i < count; i++) shifts[i] = facts[i]->base_ns; /* each is read before it is written */
    if (shared) shared = hd_clock_shifts(shifts, &low, shifts, count);
    for (size_t i = 0; shared && i < count; i++)
        shared = hd_shift_fits(facts[i]->start_ns, shifts[i]) && hd_shift_fits(facts[i]->end_ns, shifts[i]);
    for (size_t i = 0; !shared && i < count; i++) shifts[i] = 0;
    return shared;
}

hd_status hd_traces_share_clock(bool *out_shared, hd_trace *const *traces, size_t count, hd_error *err)
{
    int64_t *shifts = calloc(count + 1, sizeof *shifts);
    const hd_trace_facts **facts = calloc(count + 1, sizeof *facts);
    hd_status status = shifts && facts ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && status == HD_OK; i++) facts[i] = hd_trace_facts_of(traces[i]);
    *out_shared = status == HD_OK && hd_clock_shifts_of(shifts, facts, count);
    for (size_t i = 0; *out_shared && i < count && status == HD_OK; i++)
        status = hd_trace_shift(traces[i], shifts[i], err);
    free(shifts);
    free(facts);
    return status;
}
