/* event.h - one event of a trace by its row, and where events end */
#ifndef HD_TRACE_EVENT_H
#define HD_TRACE_EVENT_H

#include "heddle/trace.h"

/* row < hd_trace_row_count(). */
static inline hd_event hd_event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&event, block, at);
    return event;
}

/* The correlation id of a row; 0: none, which producers write as well. */
static inline int64_t hd_correlation_at(const hd_block *block, uint32_t row)
{
    int64_t id = hd_column_at(&block->columns[HD_COL_CORRELATION], row);
    return id == HD_NO_CORRELATION ? 0 : id;
}

/* A value as an integer: a whole number, or the text of one. */
bool hd_value_int(int64_t *out, const hd_trace *trace, hd_value value);

/* An argument as an address, up to 2^64 - 1: a number, or a text, which may be hexadecimal. */
bool hd_event_arg_address(uint64_t *out, const hd_trace *trace, const hd_event *event, uint32_t key);

/* The end of an event that may have no extent (no time, no or negative duration, an end beyond int64): then its
 * start. */
static inline int64_t hd_end_or_start(int64_t start_ns, int64_t duration_ns)
{
    int64_t end;
    bool has_end = start_ns != HD_NO_TIME && duration_ns >= 0 && !__builtin_add_overflow(start_ns, duration_ns, &end);
    return has_end ? end : start_ns;
}

/* The same for an event with a time; an end beyond int64 becomes the largest time. */
static inline int64_t hd_end_or_last(int64_t start_ns, int64_t duration_ns)
{
    int64_t end;
    if (duration_ns <= 0) return start_ns;
    return __builtin_add_overflow(start_ns, duration_ns, &end) ? INT64_MAX : end;
}

/* Whether the slice is a begin without an end. It extends to the end of the trace; a complete slice without a duration
 * is at its start. */
static inline bool hd_never_ends(int64_t duration_ns, int64_t phase)
{
    return duration_ns == HD_NO_TIME && (phase & HD_PHASE_MASK) == 'B';
}

/* Widen a span, which is (HD_NO_TIME, HD_NO_TIME) while it is empty. */
static inline void hd_span_widen(int64_t *start_ns, int64_t *end_ns, int64_t from_ns, int64_t until_ns)
{
    if (*start_ns == HD_NO_TIME || from_ns < *start_ns) *start_ns = from_ns;
    if (*end_ns == HD_NO_TIME || until_ns > *end_ns) *end_ns = until_ns;
}

/* The span of the rows with a time; (HD_NO_TIME, HD_NO_TIME): none has one. */
static inline void hd_span_find(int64_t *out_start_ns, int64_t *out_end_ns, const int64_t *starts,
                                const int64_t *durations, uint32_t count)
{
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        if (starts[i] == HD_NO_TIME) continue;
        int64_t end = hd_end_or_start(starts[i], durations[i]);
        low = starts[i] < low ? starts[i] : low;
        high = end > high ? end : high;
    }
    *out_start_ns = high == INT64_MIN ? HD_NO_TIME : low;
    *out_end_ns = high == INT64_MIN ? HD_NO_TIME : high;
}

#endif
