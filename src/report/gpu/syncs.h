/* syncs.h - calls that wait for a device: see "syncs" in docs/reports/definitions.md */
#ifndef HD_REPORT_GPU_SYNCS_H
#define HD_REPORT_GPU_SYNCS_H

#include "report/gpu/gpu.h"
#include "trace/roles/sync_calls.h"

/* All of them, but none that began within another of its row; `user` is the hd_sync_kind. Free with gpu_slices_deinit
 * either way. */
hd_status gpu_syncs_init(gpu_slices *out, const gpu_scope *scope, hd_error *err);

#endif
