/* syncs.h - calls that wait for a device: see "syncs" in docs/reports/definitions.md */
#ifndef HD_REPORT_GPU_SYNCS_H
#define HD_REPORT_GPU_SYNCS_H

#include "report/gpu/gpu.h"

typedef enum gpu_sync_kind {
    GPU_SYNC_NONE,
    GPU_SYNC_DEVICE,
    GPU_SYNC_STREAM,
    GPU_SYNC_EVENT,
    GPU_SYNC_COPY,
    GPU_SYNC_KINDS
} gpu_sync_kind;
extern const char *const gpu_sync_kind_names[GPU_SYNC_KINDS];

/* All of them, but none that began within another of its row; `user` is the gpu_sync_kind. Free with gpu_slices_deinit
 * either way. */
hd_status gpu_syncs_init(gpu_slices *out, const gpu_scope *scope, hd_error *err);

#endif
