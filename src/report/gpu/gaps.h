/* gaps.h - the stretches in which a device does nothing, each with its cause: see "idle" in docs/reports/definitions.md
 */
#ifndef HD_REPORT_GPU_GAPS_H
#define HD_REPORT_GPU_GAPS_H

#include "model/host/waits.h"
#include "report/gpu/gpu.h"

typedef enum gpu_cause {
    GPU_CAUSE_HOST,
    GPU_CAUSE_SYNC,
    GPU_CAUSE_LAUNCH,
    GPU_CAUSE_DEPENDENCY,
    GPU_CAUSE_DEVICE,
    GPU_CAUSE_TRANSFER,
    GPU_CAUSE_UNKNOWN,
    GPU_CAUSE_OUTSIDE, /* of no gap: a window beyond the device's span */
    GPU_CAUSES
} gpu_cause;
extern const char *const gpu_cause_names[GPU_CAUSES];

typedef struct gpu_gap {
    int64_t start, end;
    uint32_t work; /* that ends it */
    uint32_t sync; /* of syncs, HD_NONE */
    uint8_t cause; /* gpu_cause */
} gpu_gap;

typedef struct gpu_gaps {
    gpu_gap *list; /* device by device, by start */
    size_t count;
    size_t *first;    /* by device, one more at the end */
    gpu_waits waits;  /* that are in no gap */
    gpu_slices syncs; /* calls that wait for a device, without nested ones */
    bool is_lent;
} gpu_gaps;

/* Those that the scope has from its lender, else its own. Deinit in any case. */
hd_status gpu_gaps_init(gpu_gaps *out, const gpu_scope *scope, hd_error *err);
void gpu_gaps_deinit(gpu_gaps *gaps);
/* The part of the host's time that kept the device waiting: a range of a thread; its lane is HD_NONE if unknown. For a
 * waiting call, that call until it returns. */
gpu_cover gpu_gap_cover(const gpu_scope *scope, const gpu_gaps *gaps, const gpu_gap *gap);
/* By gap, the string of the slice that took more than half of the host's time until the launch: the innermost operator,
 * range or API call, or the profiler's own overhead; HD_STRING_NONE. out_ops: that of the innermost operator that took
 * more than half of gpu_gap_cover; NULL: not needed. The caller frees both with hd_large_free. */
hd_status gpu_gap_hosts(uint32_t **out, uint32_t **out_ops, const gpu_scope *scope, const gpu_gaps *gaps,
                        hd_error *err);

#endif
