/* clock.c - several traces on one clock */
#include "model/clock/clock.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/shift.h"

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

hd_status hd_traces_share_clock(bool *out_shared, hd_trace *const *traces, size_t count, hd_error *err)
{
    int64_t *shifts = calloc(2 * count + 1, sizeof *shifts), *bases = shifts ? shifts + count : NULL, base;
    hd_status status = shifts ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < count && shifts; i++) bases[i] = hd_trace_facts_of(traces[i])->base_ns;
    *out_shared = shifts && hd_clock_shifts(shifts, &base, bases, count);
    size_t moved = 0;
    while (*out_shared && status == HD_OK && moved < count) {
        status = hd_trace_shift(traces[moved], shifts[moved], err);
        if (status == HD_OK) moved++;
    }
    if (status == HD_ERR_LIMIT) { /* times that are too far apart stay as they were */
        *out_shared = false;
        for (status = HD_OK; moved && status == HD_OK; moved--)
            status = hd_trace_shift(traces[moved - 1], -shifts[moved - 1], err);
    }
    free(shifts);
    return status;
}
