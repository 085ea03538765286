/* clock_base.h - the Unix time of the zero of a trace's clock */
#ifndef HD_TRACE_CLOCK_BASE_H
#define HD_TRACE_CLOCK_BASE_H

#include "heddle/trace.h"

/* Unix time of the clock's zero; 0 if the times are Unix times themselves, which those from 2000 to 2199 are;
 * HD_NO_TIME: unknown. */
int64_t hd_trace_clock_base(const hd_trace *trace);

#endif
