/* activity_names.c - names of copies, memsets, waits and overheads, as Kineto (PyTorch's profiler) writes them */
#include <stdio.h>

#include "capture/cuda/cupti/abi.h"
#include "capture/cuda/cupti/activity.h"

static const char *look_up(const char *const *names, size_t count, uint32_t i, const char *otherwise)
{
    return i < count && names[i] ? names[i] : otherwise;
}

#define LOOK_UP(names, i, otherwise) look_up(names, sizeof(names) / sizeof *(names), i, otherwise)

static const char *const copies[] = {
    [CUPTI_COPY_HTOD] = "HtoD", [CUPTI_COPY_DTOH] = "DtoH", [CUPTI_COPY_HTOA] = "HtoA", [CUPTI_COPY_ATOH] = "AtoH",
    [CUPTI_COPY_ATOA] = "AtoA", [CUPTI_COPY_ATOD] = "AtoD", [CUPTI_COPY_DTOA] = "DtoA", [CUPTI_COPY_DTOD] = "DtoD",
    [CUPTI_COPY_HTOH] = "HtoH", [CUPTI_COPY_PTOP] = "PtoP",
};

static const char *const memories[] = {
    [CUPTI_MEMORY_UNKNOWN] = "Unknown",
    [CUPTI_MEMORY_PAGEABLE] = "Pageable",
    [CUPTI_MEMORY_PINNED] = "Pinned",
    [CUPTI_MEMORY_DEVICE] = "Device",
    [CUPTI_MEMORY_ARRAY] = "Array",
    [CUPTI_MEMORY_MANAGED] = "Managed",
    [CUPTI_MEMORY_DEVICE_STATIC] = "Device Static",
    [CUPTI_MEMORY_MANAGED_STATIC] = "Managed Static",
};

static const char *const waits[] = {
    [CUPTI_SYNC_EVENT] = "Event Sync",
    [CUPTI_SYNC_STREAM_WAIT] = "Stream Wait Event",
    [CUPTI_SYNC_STREAM] = "Stream Sync",
    [CUPTI_SYNC_CONTEXT] = "Context Sync",
};

static const char *const overheads[] = {
    [0] = "Driver Compiler",
    [1] = "Buffer Flush",
    [2] = "Instrumentation",
    [3] = "Resource",
    [4] = "Runtime Triggered Module Loading",
    [5] = "Lazy Function Loading",
    [6] = "Command Buffer Full",
    [7] = "Activity Buffer Request",
    [8] = "UVM Activity Init",
};

const char *cuda_name_memory(uint32_t kind)
{
    return LOOK_UP(memories, kind, "Unknown");
}

void cuda_name_copy(char *out, size_t capacity, uint32_t copy, uint32_t from, uint32_t to)
{
    snprintf(out, capacity, "Memcpy %s (%s -> %s)", LOOK_UP(copies, copy, "<unknown>"), cuda_name_memory(from),
             cuda_name_memory(to));
}

void cuda_name_set(char *out, size_t capacity, uint32_t memory)
{
    snprintf(out, capacity, "Memset (%s)", cuda_name_memory(memory));
}

const char *cuda_name_wait(uint32_t type)
{
    return LOOK_UP(waits, type, "Sync");
}

const char *cuda_name_overhead(uint32_t kind)
{
    if (kind == CUPTI_OVERHEAD_COMPILER) return overheads[0];
    if (kind & 0xffff || kind == 0) return "Overhead";
    return LOOK_UP(overheads, kind >> 16, "Overhead");
}
