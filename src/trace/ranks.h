/* ranks.h - which rank a track belongs to */
#ifndef HD_TRACE_RANKS_H
#define HD_TRACE_RANKS_H

#include "heddle/trace.h"

/* The rank of the track, or of its process, or in the name of the process: "rank 3: python"; else HD_NO_NUMBER. The
 * trace's own rank (facts.rank) is not used, since a merge may have kept that of one rank. */
int64_t hd_trace_rank_of(const hd_trace *trace, uint32_t track);

/* The rank in the name of a process; HD_NO_NUMBER: none. */
int64_t hd_rank_of_name(hd_string name);
/* The rank in a file name: rank3, rank_3, worker-3; HD_NO_NUMBER: none. */
int64_t hd_rank_of_path(const char *path);
/* The number before the extensions, which is a rank only if the numbers of all inputs are 0 to n - 1: trace_3.json.gz,
 * 3.json; HD_NO_NUMBER: none. */
int64_t hd_rank_at_end(const char *path);

#endif
