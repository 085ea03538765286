/* spans.h - the slices of each lane in order of time
 *
 * A lane is a (pid, tid) as in viewers: tracks with equal pid and tid are one. Spans are relative to the first slice,
 * in exact ticks (trace/ticks.h); times too far out saturate, which keeps the order of all others.
 */
#ifndef HD_REPORT_SPANS_H
#define HD_REPORT_SPANS_H

#include "trace/ticks.h"

typedef struct slice_span {
    int64_t start, end;
    uint32_t row; /* of the slice table */
    uint32_t reserved;
} slice_span;

typedef struct span_index {
    const hd_trace *trace;
    slice_span *spans; /* lane by lane, in each by (start, longer first, row) */
    uint64_t *first;   /* lane i is spans[first[i]] … spans[first[i + 1]]; i is the id of its first track */
    uint32_t lane_count;
    hd_ticks ticks;
    int64_t units_per_ns;
} span_index;

/* Whether a slice with such columns is included; *out_end_ns is then its end. */
static inline bool span_takes_part(int64_t *out_end_ns, int64_t start_ns, int64_t duration_ns, int64_t phase)
{
    if (start_ns == HD_NO_TIME) return false;
    if (duration_ns == HD_NO_TIME) {
        *out_end_ns = start_ns;
        return (phase & HD_PHASE_MASK) != 'B';
    }
    return duration_ns >= 0 && !__builtin_add_overflow(start_ns, duration_ns, out_end_ns);
}

/* Left out: slices without start, begins that never end, negative durations. A missing duration is zero. */
hd_status span_index_init(span_index *index, const hd_trace *trace, hd_error *err);
void span_index_deinit(span_index *index);

/* A time in the index's units. */
static inline int64_t span_index_time(const span_index *index, int64_t ns, int64_t below)
{
    return hd_ticks_of(&index->ticks, ns, below);
}
/* A positive length in units as ns, rounded up, so that it never becomes zero. */
static inline int64_t span_index_ns(const span_index *index, int64_t length)
{
    return length / index->units_per_ns + (length % index->units_per_ns > 0);
}
static inline const slice_span *span_index_lane(const span_index *index, uint32_t lane, uint64_t *out_count)
{
    *out_count = index->first[lane + 1] - index->first[lane];
    return index->spans + index->first[lane];
}

/* Sorts spans by (start, longer first, row); `large` as from hd_trace_large_bytes. false: no memory. */
bool span_sort(slice_span *spans, uint64_t count, uint64_t large);

#endif
