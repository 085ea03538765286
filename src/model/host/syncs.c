/* syncs.c - calls that wait for a device, by their name or by the activity that they launch */
#include "model/host/syncs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"

/* ---- calls ---- */

/* Calls that wait for the activities that they launch. */
typedef struct awaited {
    uint8_t *names;          /* by string: hd_sync_kind; HD_SYNC_KINDS: if one of the rows is in the list */
    const uint8_t *blocking; /* by string: hd_blocking_names */
    uint32_t *rows;          /* sorted */
    size_t count, capacity;
} awaited;

static int by_row(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool find_awaited(awaited *out, const gpu_scope *s)
{
    const hd_launches *l = s->launches;
    out->blocking = hd_blocking_names(s->trace, l);
    if (!out->blocking) return false;
    for (size_t i = 0; i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        if (!hd_is_awaited(s->trace, l, out->blocking, work)) continue;
        const hd_launch *launch = &l->launches[work->launch];
        if (!hd_grow((void **)&out->rows, &out->capacity, out->count, sizeof *out->rows)) return false;
        out->rows[out->count++] = (uint32_t)launch->row;
        if (!out->names[launch->name]) out->names[launch->name] = HD_SYNC_KINDS;
    }
    if (out->count) hd_sort(out->rows, out->count, sizeof *out->rows, by_row);
    return true;
}

/* Sets the kind of a call. */
static bool waits(void *user, gpu_slice *call)
{
    const awaited *copies = user;
    call->user = copies->names[call->name];
    if (call->user < HD_SYNC_KINDS) return call->user != HD_SYNC_NONE;
    size_t low = 0, high = copies->count;
    HD_PARTITION_POINT(low, high, at, copies->rows[at] < call->row);
    call->user = copies->blocking[call->name] ? HD_SYNC_LAUNCH : HD_SYNC_COPY;
    return low < copies->count && copies->rows[low] == call->row;
}

hd_status gpu_syncs_init(gpu_slices *out, const gpu_scope *s, hd_error *err)
{
    uint32_t strings = (uint32_t)hd_trace_string_count(s->trace);
    awaited copies = {.names = calloc((size_t)strings + 1, 1)};
    *out = (gpu_slices){0};
    for (uint32_t i = 0; copies.names && i < strings; i++)
        copies.names[i] = (uint8_t)hd_sync_kind_of(hd_trace_string(s->trace, i));
    hd_status status = copies.names && find_awaited(&copies, s) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK)
        status = gpu_slices_named(out, s, 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER, copies.names, err);
    if (status == HD_OK) gpu_slices_keep_outermost(out, s, waits, &copies);
    free(copies.names);
    free(copies.rows);
    return status;
}
