/* impl.h - shared by the files of hd_memory_new
 *
 * In: a trace. Out: hd_memory (heddle/analysis/memory.h): allocations paired with frees, and stacks. Begin with
 * memory.c.
 */
#ifndef HD_PASS_MEMORY_IMPL_H
#define HD_PASS_MEMORY_IMPL_H

#include "base/map.h"
#include "heddle/analysis/memory.h"

__extension__ typedef __int128 memory_sum; /* sums of 2^32 sizes of 64 bits fit */

/* An event's position in the trace. */
typedef struct memory_place {
    uint32_t lane; /* hd_track.same_as of its track */
    uint32_t own;  /* node of the trace's stackFrames, HD_STACK_NONE: no `sf` */
} memory_place;

typedef struct memory_find {
    hd_memory *memory;
    const hd_trace *trace;
    const hd_memory_options *options;
    hd_trace_stacks *given;
    memory_place *places; /* by event */
    size_t event_capacity, place_capacity, pool_capacity, group_capacity;
    hd_slots pool_slots;
    hd_map groups; /* by pool and category */
    bool any_own;
} memory_find;

/* gather.c: events, pools and groups, in the order of the input. */
hd_status memory_gather(memory_find *find, hd_error *err);
/* pair.c: ends of allocations, levels, peaks; events are in the order of time. */
hd_status memory_pair(hd_memory *memory, uint64_t large, hd_error *err);
/* stacks.c: nodes of events; places in the order of events. */
hd_status memory_find_stacks(memory_find *find, hd_error *err);

void memory_note(hd_memory *memory, hd_memory_anomaly anomaly, int64_t time_ns, uint64_t bytes);
int64_t memory_clamp(memory_sum sum);

#endif
