/* syncs.c - calls that wait for a device, by their name or by the copy that they launch */
#include "report/gpu/syncs.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"

const char *const gpu_sync_kind_names[GPU_SYNC_KINDS] = {"", "device", "stream", "event", "copy"};

/* ---- names ---- */

static bool take(hd_string *text, const char *word)
{
    size_t size = strlen(word);
    if (text->size < size || memcmp(text->data, word, size) != 0) return false;
    *text = (hd_string){text->data + size, text->size - size};
    return true;
}

static bool contains(hd_string text, const char *word)
{
    for (; text.size; text = (hd_string){text.data + 1, text.size - 1}) {
        hd_string rest = text;
        if (take(&rest, word)) return true;
    }
    return false;
}

/* "_v7000", "_ptsz", "_ptds", as often as they stand there. */
static bool is_version(hd_string text)
{
    while (text.size) {
        if (take(&text, "_ptsz") || take(&text, "_ptds") || take(&text, "_ptss") || take(&text, "_ptdz")) continue;
        size_t size = text.size;
        if (!take(&text, "_v")) return false;
        while (text.size && text.data[0] >= '0' && text.data[0] <= '9')
            text = (hd_string){text.data + 1, text.size - 1};
        if (text.size + 2 == size) return false;
    }
    return true;
}

typedef struct sync_what {
    const char *word;
    gpu_sync_kind kind;
} sync_what;

/* Of Ascend's runtime, behind "aclrt": SynchronizeStreamWithTimeout, Memcpy. */
static gpu_sync_kind kind_of_acl(hd_string name, const sync_what *whats, size_t count)
{
    if (take(&name, "Memcpy")) return contains(name, "Async") ? GPU_SYNC_NONE : GPU_SYNC_COPY;
    if (!take(&name, "Synchronize")) return GPU_SYNC_NONE;
    for (size_t i = 0; i < count; i++) {
        hd_string rest = name;
        if (take(&rest, whats[i].word) && (rest.size == 0 || take(&rest, "WithTimeout"))) return whats[i].kind;
    }
    return GPU_SYNC_NONE;
}

/* What a call waits for by its name, with prefix and version. */
static gpu_sync_kind kind_of(hd_string name)
{
    static const sync_what whats[] = {{"Device", GPU_SYNC_DEVICE},
                                      {"Stream", GPU_SYNC_STREAM},
                                      {"Event", GPU_SYNC_EVENT},
                                      {"Ctx", GPU_SYNC_DEVICE},
                                      {"Thread", GPU_SYNC_DEVICE}};
    if (!take(&name, "Runtime: ")) take(&name, "Driver: ");
    if (take(&name, "aclrt")) return kind_of_acl(name, whats, sizeof whats / sizeof *whats);
    if (!take(&name, "cuda") && !take(&name, "cu") && !take(&name, "hip")) return GPU_SYNC_NONE;
    if (take(&name, "Memcpy")) return contains(name, "Async") ? GPU_SYNC_NONE : GPU_SYNC_COPY;
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++) {
        hd_string rest = name;
        if (take(&rest, whats[i].word) && take(&rest, "Synchronize") && is_version(rest)) return whats[i].kind;
    }
    return GPU_SYNC_NONE;
}

/* ---- calls ---- */

/* Calls that launch copies of pageable memory. */
typedef struct pageable {
    uint8_t *names; /* by string: gpu_sync_kind; GPU_SYNC_KINDS: where one of the rows has it */
    uint32_t *rows; /* sorted */
    size_t count, capacity;
} pageable;

static int by_row(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool find_pageable(pageable *out, const gpu_scope *s)
{
    const hd_launches *l = s->launches;
    for (size_t i = 0; i < l->work_count; i++) {
        const hd_work *work = &l->works[i];
        if (work->launch == HD_NONE || work->role != HD_ROLE_COPY ||
            !contains(hd_trace_string(s->trace, work->name), "Pageable"))
            continue;
        const hd_launch *launch = &l->launches[work->launch];
        if (!hd_grow((void **)&out->rows, &out->capacity, out->count, sizeof *out->rows)) return false;
        out->rows[out->count++] = (uint32_t)launch->row;
        if (!out->names[launch->name]) out->names[launch->name] = GPU_SYNC_KINDS;
    }
    if (out->count) qsort(out->rows, out->count, sizeof *out->rows, by_row);
    return true;
}

/* Sets the kind of a call. */
static bool waits(void *user, gpu_slice *call)
{
    const pageable *copies = user;
    call->user = copies->names[call->name];
    if (call->user < GPU_SYNC_KINDS) return call->user != GPU_SYNC_NONE;
    size_t low = 0, high = copies->count;
    HD_PARTITION_POINT(low, high, at, copies->rows[at] < call->row);
    call->user = GPU_SYNC_COPY;
    return low < copies->count && copies->rows[low] == call->row;
}

hd_status gpu_syncs_init(gpu_slices *out, const gpu_scope *s, hd_error *err)
{
    uint32_t strings = (uint32_t)hd_trace_string_count(s->trace);
    pageable copies = {.names = calloc((size_t)strings + 1, 1)};
    *out = (gpu_slices){0};
    for (uint32_t i = 0; copies.names && i < strings; i++)
        copies.names[i] = (uint8_t)kind_of(hd_trace_string(s->trace, i));
    hd_status status = copies.names && find_pageable(&copies, s) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK)
        status = gpu_slices_named(out, s, 1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER, copies.names, err);
    if (status == HD_OK) gpu_slices_keep_outermost(out, s, waits, &copies);
    free(copies.names);
    free(copies.rows);
    return status;
}
