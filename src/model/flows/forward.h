/* forward.h - backward ops and the forward ops they belong to
 *
 * From the profiler's flows "fwdbwd"; for other ops from the arguments `Sequence number` and `Fwd thread id`: the
 * forward op (`Fwd thread id` 0 or none) with that number in the process that started last before the backward op; if
 * several threads have one, that of the thread whose tid is the backward op's `Fwd thread id`, or none.
 */
#ifndef HD_MODEL_FLOWS_FORWARD_H
#define HD_MODEL_FLOWS_FORWARD_H

#include "heddle/trace.h"

/* A backward op and its forward op, rows of slices. */
typedef struct forward_pair {
    uint64_t backward, forward;
} forward_pair;

/* By ascending backward row, each once. hd_large_free the list. Errors: MEMORY, LIMIT. */
hd_status forward_pairs(forward_pair **out, size_t *out_count, const hd_trace *trace, hd_error *err);

/* A backward op that runs on another thread than its forward op. Threads are lanes: hd_track.same_as. */
typedef struct forward_thread {
    uint32_t backward, forward;
    int64_t start_ns; /* of the backward op */
} forward_thread;

/* By backward thread, forward thread and start. By flows alone where there are some: those cost no look at arguments.
 * hd_large_free the list. Errors: MEMORY, LIMIT. */
hd_status forward_threads(forward_thread **out, size_t *out_count, const hd_trace *trace, hd_error *err);

#endif
