/* sync_calls.h - calls that return only when a device is done */
#ifndef HD_MODEL_ROLES_SYNC_CALLS_H
#define HD_MODEL_ROLES_SYNC_CALLS_H

#include "heddle/analysis/launches.h"

typedef enum hd_sync_kind {
    HD_SYNC_NONE,
    HD_SYNC_DEVICE,
    HD_SYNC_STREAM,
    HD_SYNC_EVENT,
    HD_SYNC_COPY,
    HD_SYNC_LAUNCH, /* waits for the kernel that it launches */
    HD_SYNC_KINDS
} hd_sync_kind;
extern const char *const hd_sync_kind_names[HD_SYNC_KINDS];

/* What a call waits for by its name, with prefix and version. */
hd_sync_kind hd_sync_kind_of(hd_string name);
/* Whether a call allocates, frees or maps memory of a device, or pins memory for it. */
bool hd_is_memory_call(hd_string name);
bool hd_is_pageable_copy(const hd_trace *trace, const hd_work *work);
/* By string, whether calls of this name wait for the kernels that they launch: for half or more of the time in these
 * calls a kernel runs that was launched by the call and ends in it. So it is with CUDA_LAUNCH_BLOCKING=1, and with
 * runtimes that launch synchronously. Cached with the launches. NULL: no memory. */
const uint8_t *hd_blocking_names(const hd_trace *trace, const hd_launches *launches);
/* Whether the call that launches this activity waits for it, whatever its name: a copy of pageable memory, a memset
 * whose call is not asynchronous and returns no earlier than the memset ends, or a kernel that ends within a call
 * with one of the names `blocking` (hd_blocking_names). */
bool hd_is_awaited(const hd_trace *trace, const hd_launches *launches, const uint8_t *blocking, const hd_work *work);

#endif
