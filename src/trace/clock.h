/* clock.h - what the times of a trace count from, and a trace on another clock */
#ifndef HD_TRACE_CLOCK_H
#define HD_TRACE_CLOCK_H

#include "heddle/trace.h"

/* Unix time of the clock's zero; 0 if the times are Unix times themselves, which those from 2000 to 2199 are;
 * HD_NO_TIME: unknown. */
int64_t hd_trace_clock_base(const hd_trace *trace);

/* The top-level key of counters whose times are no Unix time, and what they count from: a midnight of an unknown time
 * zone, "2026-11-29", or "day" of an unknown day; "rows": one a second, since the file has no times. */
#define HD_COUNTERS_CLOCK "countersClock"

/* Adds `ns` to all times, and subtracts it from facts.base_ns; before any other thread uses the trace. A block costs
 * one addition, unless some of its rows have no time; unloaded blocks are shifted when they are loaded. Top-level keys
 * are unchanged. The lane index that came with the trace is removed. Errors: LIMIT: a time would not fit in 64 bits,
 * and the trace is unchanged; MEMORY, IO. */
hd_status hd_trace_shift(hd_trace *trace, int64_t ns, hd_error *err);

/* Whether a time, or HD_NO_TIME, can be moved so. */
bool hd_shift_fits(int64_t time, int64_t ns);

#endif
