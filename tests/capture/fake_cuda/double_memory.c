/* double_memory.c - TEST DOUBLE: libcuda.so.1: copies, sets, allocations */
#include <stdatomic.h>
#include <unistd.h>

#include "double_cuda.h"

/* ---- copies and memsets ---- */

static void run_copy(double_stream *stream, uint8_t copy, uint8_t from, uint8_t to, bool is_async, uint64_t bytes,
                     uint32_t correlation)
{
    double_run_copy(stream, &(double_copy){copy, from, to, is_async, 0, bytes}, correlation, 0, 0);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    DOUBLE_CALL(276, "cuMemcpyHtoD_v2");
    (void)to, (void)from;
    double_stream *stream = double_stream_of(NULL);
    run_copy(stream, CUPTI_COPY_HTOD, CUPTI_MEMORY_PAGEABLE, CUPTI_MEMORY_DEVICE, false, bytes, call.correlation);
    double_wait_until(stream->free_ns);
    return double_end(&call, 0);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    DOUBLE_CALL(279, "cuMemcpyDtoHAsync_v2");
    double_read_stamps(to, from, bytes);
    run_copy(double_stream_of(stream), CUPTI_COPY_DTOH, CUPTI_MEMORY_DEVICE, CUPTI_MEMORY_PINNED, true, bytes,
             call.correlation);
    return double_end(&call, 0);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    DOUBLE_CALL(277, "cuMemcpyHtoDAsync_v2");
    (void)to, (void)from;
    run_copy(double_stream_of(stream), CUPTI_COPY_HTOD, CUPTI_MEMORY_PINNED, CUPTI_MEMORY_DEVICE, true, bytes,
             call.correlation);
    return double_end(&call, 0);
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    DOUBLE_CALL(281, "cuMemcpyDtoDAsync_v2");
    (void)to, (void)from;
    run_copy(double_stream_of(stream), CUPTI_COPY_DTOD, CUPTI_MEMORY_DEVICE, CUPTI_MEMORY_DEVICE, true, bytes,
             call.correlation);
    return double_end(&call, 0);
}

int cuMemcpyPeerAsync(uint64_t to, double_context *to_context, uint64_t from, double_context *from_context,
                      size_t bytes, void *handle)
{
    DOUBLE_CALL(319, "cuMemcpyPeerAsync");
    (void)to, (void)from;
    double_stream *stream = double_stream_of(handle);
    double_span span = double_occupy(stream, double_script_get()->copy_ns);
    double_record record = {.as.peer = {.kind = CUPTI_KIND_MEMCPY2,
                                        .copy = CUPTI_COPY_PTOP,
                                        .from = CUPTI_MEMORY_DEVICE,
                                        .to = CUPTI_MEMORY_DEVICE,
                                        .flags = CUPTI_ASYNC,
                                        .bytes = bytes,
                                        .start = span.start_ns,
                                        .end = span.end_ns,
                                        .device = stream->context->device,
                                        .context = stream->context->id,
                                        .stream = stream->id,
                                        .from_device = from_context->device,
                                        .from_context = from_context->id,
                                        .to_device = to_context->device,
                                        .to_context = to_context->id,
                                        .correlation = call.correlation},
                            .ready_ns = span.end_ns,
                            .name = "peer copy"};
    double_emit(&record);
    return double_end(&call, 0);
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *handle)
{
    DOUBLE_CALL(220, "cuMemsetD32Async");
    (void)to;
    double_run_copy(double_stream_of(handle), &(double_copy){.value = value, .bytes = count * 4}, call.correlation, 0,
                    0);
    return double_end(&call, 0);
}

/* ---- memory ---- */

static void emit_memory(uint32_t operation, uint32_t kind, uint64_t address, uint64_t bytes, double_stream *stream,
                        uint32_t correlation)
{
    double_record record = {
        .as.memory = {.kind = CUPTI_KIND_MEMORY2,
                      .operation = operation,
                      .memory = kind,
                      .correlation = correlation,
                      .address = address,
                      .bytes = bytes,
                      .time = double_now(),
                      .process = (uint32_t)getpid(),
                      .device = kind == CUPTI_MEMORY_PINNED ? CUPTI_NONE : double_current_context()->device,
                      .context = double_current_context()->id,
                      .stream = stream ? stream->id : CUPTI_NONE,
                      .async = stream != NULL,
                      .pool_type = stream ? CUPTI_POOL_LOCAL : CUPTI_POOL_NONE},
        .name = "memory"};
    double_emit(&record);
}

static uint64_t new_address(size_t bytes)
{
    static atomic_uint_least64_t next = 0x7f0000000000;
    return atomic_fetch_add(&next, (bytes + 511) / 512 * 512);
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
    DOUBLE_CALL(243, "cuMemAlloc_v2");
    *out = new_address(bytes);
    emit_memory(CUPTI_MEMORY_ALLOCATED, CUPTI_MEMORY_DEVICE, *out, bytes, NULL, call.correlation);
    return double_end(&call, 0);
}

enum { MANAGED_BIT = 45 }; /* of addresses: clear in those of managed memory */

int cuMemFree_v2(uint64_t address)
{
    DOUBLE_CALL(245, "cuMemFree_v2");
    uint32_t kind = address >> MANAGED_BIT & 1 ? CUPTI_MEMORY_DEVICE : CUPTI_MEMORY_MANAGED;
    emit_memory(CUPTI_MEMORY_RELEASED, kind, address, 0, NULL, call.correlation);
    return double_end(&call, 0);
}

int cuMemAllocAsync(uint64_t *out, size_t bytes, void *stream)
{
    DOUBLE_CALL(598, "cuMemAllocAsync");
    *out = new_address(bytes);
    emit_memory(CUPTI_MEMORY_ALLOCATED, CUPTI_MEMORY_DEVICE, *out, bytes, double_stream_of(stream), call.correlation);
    return double_end(&call, 0);
}

int cuMemFreeAsync(uint64_t address, void *stream)
{
    DOUBLE_CALL(600, "cuMemFreeAsync");
    emit_memory(CUPTI_MEMORY_RELEASED, CUPTI_MEMORY_DEVICE, address, 0, double_stream_of(stream), call.correlation);
    return double_end(&call, 0);
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    DOUBLE_CALL(39, "cuMemHostAlloc");
    (void)flags;
    *out = (void *)(uintptr_t)new_address(bytes);
    emit_memory(CUPTI_MEMORY_ALLOCATED, CUPTI_MEMORY_PINNED, (uintptr_t)*out, bytes, NULL, call.correlation);
    return double_end(&call, 0);
}

int cuMemFreeHost(void *address)
{
    DOUBLE_CALL(38, "cuMemFreeHost");
    emit_memory(CUPTI_MEMORY_RELEASED, CUPTI_MEMORY_PINNED, (uintptr_t)address, 0, NULL, call.correlation);
    return double_end(&call, 0);
}

int cuMemAllocManaged(uint64_t *out, size_t bytes, unsigned flags)
{
    DOUBLE_CALL(371, "cuMemAllocManaged");
    (void)flags;
    *out = new_address(bytes) & ~(UINT64_C(1) << MANAGED_BIT);
    emit_memory(CUPTI_MEMORY_ALLOCATED, CUPTI_MEMORY_MANAGED, *out, bytes, NULL, call.correlation);
    return double_end(&call, 0);
}
