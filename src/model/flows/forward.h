/* forward.h - backward ops and the forward ops they belong to */
#ifndef HD_MODEL_FLOWS_FORWARD_H
#define HD_MODEL_FLOWS_FORWARD_H

#include "heddle/trace.h"

/* A backward op and its forward op, rows of slices. */
typedef struct hd_forward_pair {
    uint64_t backward, forward;
} hd_forward_pair;

/* By ascending backward row, each once. From flows "fwdbwd", which the profiler drew; for other ops from the arguments
 * `Sequence number` and `Fwd thread id`: the forward op (`Fwd thread id` 0 or none) of that number in the process that
 * started last before the backward op; where several threads have some, that of the thread whose tid is the backward
 * op's `Fwd thread id`, or none. hd_large_free the list. Errors: MEMORY, LIMIT. */
hd_status hd_forward_pairs(hd_forward_pair **out, size_t *out_count, const hd_trace *trace, hd_error *err);

#endif
