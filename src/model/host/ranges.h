/* ranges.h - ranges marked by the program: NVTX and ROCTX, record_function, user annotations, marks
 *
 * Pushed and popped ones are slices, and belong to their thread. One that is started and ended (async slices of an
 * annotation's category) may end on another thread and cross others: it belongs to its process. A mark is a range of
 * length 0.
 *
 * In: a scope. Out: all finished ranges. Begin with ranges.c.
 */
#ifndef HD_MODEL_HOST_RANGES_H
#define HD_MODEL_HOST_RANGES_H

#include "model/host/slices.h"

typedef struct gpu_range {
    int64_t start, end;
    uint32_t name, track;
    uint32_t lane; /* of the places whose launches may be in it: its own, or gpu_process_lane */
    uint32_t row;  /* of its table */
    bool is_mark;
} gpu_range;

/* Instead of a lane: all threads of the process of a track. */
uint32_t gpu_process_lane(const gpu_scope *scope, uint32_t track);

typedef struct gpu_ranges {
    gpu_range *list; /* by lane, start, the longer first */
    size_t count;
    bool any_of_process;
} gpu_ranges;

/* Of the wanted ranks. Deinit either way. */
hd_status gpu_ranges_init(gpu_ranges *out, gpu_scope *scope, hd_error *err);
void gpu_ranges_deinit(gpu_ranges *ranges);

#endif
