/* clock_base.c - finds the Unix time of the zero of a trace's clock */
#include "trace/clock_base.h"

#define YEAR_2000_NS INT64_C(946684800000000000)
#define YEAR_2200_NS INT64_C(7258118400000000000)

int64_t hd_trace_clock_base(const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    if (facts->start_ns == HD_NO_TIME) return facts->base_ns;
    if (facts->start_ns >= YEAR_2000_NS && facts->start_ns < YEAR_2200_NS) return 0;
    return facts->base_ns;
}
