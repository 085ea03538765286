/* ranks.h - which rank a track belongs to */
#ifndef HD_TRACE_RANKS_H
#define HD_TRACE_RANKS_H

#include "heddle/trace.h"

/* What the track says, or its process, or the name of that: "rank 3: python"; else HD_NO_NUMBER. What the trace says of
 * itself (facts.rank) is not asked, as a merge of ranks may have kept that of one. */
int64_t hd_trace_rank_of(const hd_trace *trace, uint32_t track);

#endif
