/* sync_calls.c - what a runtime or driver call waits for, by its name */
#include "model/roles/sync_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "trace/event.h"

const char *const hd_sync_kind_names[HD_SYNC_KINDS] = {"", "device", "stream", "event", "copy", "launch"};

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

/* "_v7000", "_ptsz", "_ptds", repeatedly. */
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

bool hd_is_memory_call(hd_string name)
{
    static const char *const words[] = {
        "cudaMalloc", "cudaFree",      "cudaHostAlloc", "cudaHostRegister", "cuMemAlloc", "cuMemFree", "hipMalloc",
        "hipFree",    "hipHostMalloc", "cuMemCreate",   "cuMemRelease",     "cuMemMap",   NULL};
    for (size_t i = 0; words[i]; i++) {
        if (contains(name, words[i])) return true;
    }
    return false;
}

typedef struct sync_what {
    const char *word;
    hd_sync_kind kind;
} sync_what;

/* Of Ascend's runtime, behind "aclrt": SynchronizeStreamWithTimeout, Memcpy. */
static hd_sync_kind kind_of_acl(hd_string name, const sync_what *whats, size_t count)
{
    if (take(&name, "Memcpy")) return contains(name, "Async") ? HD_SYNC_NONE : HD_SYNC_COPY;
    if (!take(&name, "Synchronize")) return HD_SYNC_NONE;
    for (size_t i = 0; i < count; i++) {
        hd_string rest = name;
        if (take(&rest, whats[i].word) && (rest.size == 0 || take(&rest, "WithTimeout"))) return whats[i].kind;
    }
    return HD_SYNC_NONE;
}

hd_sync_kind hd_sync_kind_of(hd_string name)
{
    static const sync_what whats[] = {{"Device", HD_SYNC_DEVICE},
                                      {"Stream", HD_SYNC_STREAM},
                                      {"Event", HD_SYNC_EVENT},
                                      {"Ctx", HD_SYNC_DEVICE},
                                      {"Thread", HD_SYNC_DEVICE}};
    if (!take(&name, "Runtime: ")) take(&name, "Driver: ");
    if (take(&name, "aclrt")) return kind_of_acl(name, whats, sizeof whats / sizeof *whats);
    if (!take(&name, "cuda") && !take(&name, "cu") && !take(&name, "hip")) return HD_SYNC_NONE;
    if (take(&name, "Memcpy")) return contains(name, "Async") ? HD_SYNC_NONE : HD_SYNC_COPY;
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++) {
        hd_string rest = name;
        if (take(&rest, whats[i].word) && take(&rest, "Synchronize") && is_version(rest)) return whats[i].kind;
    }
    return HD_SYNC_NONE;
}

bool hd_is_pageable_copy(const hd_trace *trace, const hd_work *work)
{
    return work->role == HD_ROLE_COPY && contains(hd_trace_string(trace, work->name), "Pageable");
}

static bool is_within(const hd_launch *launch, const hd_work *work)
{
    return work->start_ns != HD_NO_TIME && launch->start_ns != HD_NO_TIME && launch->start_ns <= work->start_ns &&
           hd_end_or_last(work->start_ns, work->duration_ns) <= hd_end_or_last(launch->start_ns, launch->duration_ns);
}

/* A memset of host-readable memory returns when it is done: only its end shows which kind of memory it is. */
static bool is_awaited_memset(const hd_trace *trace, const hd_launch *launch, const hd_work *work)
{
    hd_string call = hd_trace_string(trace, launch->name);
    return work->role == HD_ROLE_SET && is_within(launch, work) && contains(call, "Memset") && !contains(call, "Async");
}

static bool is_awaited_kernel(const hd_launch *launch, const hd_work *work)
{
    return work->role == HD_ROLE_KERNEL && is_within(launch, work);
}

const uint8_t *hd_blocking_names(const hd_trace *trace, const hd_launches *launches)
{
    void **place = (void **)&((hd_launches *)launches)->blocking_names;
    const void *before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (before) return before;
    size_t strings = hd_trace_string_count(trace) + 1;
    uint8_t *names = calloc(strings, 1);
    double *times = calloc(strings, sizeof *times); /* twice that of the kernels less that of the calls */
    for (size_t i = 0; names && times && i < launches->launch_count; i++) {
        const hd_launch *launch = &launches->launches[i];
        if (!launch->work_count) continue;
        times[launch->name] -= (double)launch->duration_ns;
        for (uint32_t k = 0; k < launch->work_count; k++) {
            const hd_work *work = &launches->works[launches->work_order[launch->first_work + k]];
            if (!is_awaited_kernel(launch, work)) continue;
            times[launch->name] += 2 * (double)work->duration_ns;
            names[launch->name] |= work->duration_ns > 0;
        }
    }
    for (size_t i = 0; names && times && i < strings; i++) names[i] = names[i] && times[i] >= 0;
    bool fine = names && times;
    free(times);
    if (fine) return hd_keep_first(place, names);
    free(names);
    return NULL;
}

bool hd_is_awaited(const hd_trace *trace, const hd_launches *launches, const uint8_t *blocking, const hd_work *work)
{
    if (work->launch == HD_NONE) return false;
    const hd_launch *launch = &launches->launches[work->launch];
    return hd_is_pageable_copy(trace, work) || is_awaited_memset(trace, launch, work) ||
           (blocking[launch->name] && is_awaited_kernel(launch, work));
}
