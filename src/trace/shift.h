/* shift.h - a trace on another clock */
#ifndef HD_TRACE_SHIFT_H
#define HD_TRACE_SHIFT_H

#include "heddle/trace.h"

/* Adds `ns` to all times, and subtracts it from facts.base_ns; before any other thread uses the trace. A block costs
 * one addition, unless some of its rows have no time; unloaded blocks are shifted when they are loaded. Top-level keys
 * are unchanged. The lane index that came with the trace is removed. Errors: LIMIT: a time would not fit in 64 bits,
 * and the trace is unchanged; MEMORY, IO. */
hd_status hd_trace_shift(hd_trace *trace, int64_t ns, hd_error *err);

/* Whether a time, or HD_NO_TIME, can be moved so. */
bool hd_shift_fits(int64_t time, int64_t ns);

#endif
