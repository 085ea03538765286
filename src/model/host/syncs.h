/* syncs.h - calls that wait for a device: see "syncs" in docs/reports/definitions.md */
#ifndef HD_MODEL_HOST_SYNCS_H
#define HD_MODEL_HOST_SYNCS_H

#include "model/host/slices.h"
#include "model/roles/sync_calls.h"

/* All of them, except those that began within another of their track; `user` is the hd_sync_kind. Free with
 * gpu_slices_deinit in any case. */
hd_status gpu_syncs_init(gpu_slices *out, const gpu_scope *scope, hd_error *err);

#endif
