/* recorder.h - collectives as PyTorch's flight recorder has them
 *
 * In: a trace. Out: its entries, in the order of their rows. They are not GPU activities: a watchdog thread notices,
 * up to a second late, that a collective started or is complete.
 */
#ifndef HD_MODEL_RECORDER_RECORDER_H
#define HD_MODEL_RECORDER_RECORDER_H

#include "model/stats/stats.h"

#define HD_FLIGHT_CATEGORY "flight_recorder" /* of the slices */

/* An entry. Texts are of a gpu_texts, HD_NONE: unknown; numbers HD_NO_NUMBER, times HD_NO_TIME. */
typedef struct hd_recorded {
    uint32_t name; /* "nccl:all_reduce", "nccl:send 0->1" */
    uint32_t group, description, ranks, state;
    uint32_t in_sizes, out_sizes, in_types, out_types;
    uint32_t frame; /* the user's line (model/stacks/event_stacks.h), else the innermost */
    bool is_p2p;
    int64_t rank, record, sequence; /* record: its number in the ring, from 0 on */
    int64_t created_ns, started_ns, completed_ns;
    int64_t enqueued; /* the number of the last collective that the rank enqueued in the group, by pg_status */
} hd_recorded;

/* The caller frees *out. Errors: MEMORY. */
hd_status hd_recorded_new(hd_recorded **out, size_t *out_count, gpu_texts *texts, const hd_trace *trace, hd_error *err);

#endif
