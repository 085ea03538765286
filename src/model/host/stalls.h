/* stalls.h - stretches in which a process of the host stalls, for no reason that the trace has
 *
 * Stall    a millisecond or more in which no slice of any thread of a process begins or ends, no call of it waits for a
 *          device or launches (a full queue makes a launch wait), and the profiler does nothing for itself. Where it is
 *          innermost in a slice, slices of that name are usually done without one: at most a tenth of them has one, and
 *          the first of a name, which may load or compile, does not count.
 *
 * In: a scope. Out: the stalls by time, and in how many operators they are. A thread that has no CPU stalls in
 * whatever it happens to run; one that works or waits does so in the same place each time.
 */
#ifndef HD_MODEL_HOST_STALLS_H
#define HD_MODEL_HOST_STALLS_H

#include "model/host/slices.h"

typedef struct gpu_stall {
    int64_t start, end;
    uint32_t lane; /* of the thread that goes on first */
    uint32_t name; /* of the operator that covers most of it, string; HD_STRING_NONE: between operators */
} gpu_stall;

typedef struct gpu_stalls {
    gpu_stall *list; /* by start */
    size_t count;
} gpu_stalls;

/* Errors: MEMORY, LIMIT. O(n log n). Deinit either way. */
hd_status gpu_stalls_init(gpu_stalls *out, const gpu_scope *scope, hd_error *err);
void gpu_stalls_deinit(gpu_stalls *stalls);
/* Whether so many operators have one that it is none of theirs. */
enum { GPU_STALL_NAMES = 5, GPU_STALL_NS = 1000000 };

#endif
