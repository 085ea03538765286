/* sync_calls.h - calls that return only when a device is done */
#ifndef HD_MODEL_ROLES_SYNC_CALLS_H
#define HD_MODEL_ROLES_SYNC_CALLS_H

#include "heddle/launches.h"

typedef enum hd_sync_kind {
    HD_SYNC_NONE,
    HD_SYNC_DEVICE,
    HD_SYNC_STREAM,
    HD_SYNC_EVENT,
    HD_SYNC_COPY,
    HD_SYNC_KINDS
} hd_sync_kind;
extern const char *const hd_sync_kind_names[HD_SYNC_KINDS];

/* What a call waits for by its name, with prefix and version. */
hd_sync_kind hd_sync_kind_of(hd_string name);
bool hd_is_pageable_copy(const hd_trace *trace, const hd_work *work);
/* Whether the call that launches this activity waits for it, whatever its name: a copy of pageable memory, or a memset
 * whose call is not asynchronous and returns no earlier than the memset ends. */
bool hd_is_awaited(const hd_trace *trace, const hd_launches *launches, const hd_work *work);

#endif
