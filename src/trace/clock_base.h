/* clock_base.h - what a trace's clock counts from */
#ifndef HD_TRACE_CLOCK_BASE_H
#define HD_TRACE_CLOCK_BASE_H

#include "heddle/trace.h"

/* Unix time of the clock's zero, 0 when the times are Unix time themselves, as those of a year from 2000 to 2199 are;
 * HD_NO_TIME when nothing is known. */
int64_t hd_trace_clock_base(const hd_trace *trace);

#endif
