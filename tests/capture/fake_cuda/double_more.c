/* double_more.c - TEST DOUBLE: libcuda.so.1: what tests/gpu/gpu_program.c calls besides, with the real arguments */
#include <stdlib.h>

#include "double_cuda.h"

/* The one event is of all streams: no work waits in the double, which has a time at which each stream is free. */
typedef struct event {
    uint64_t ready_ns;
    double_graph *captured; /* recorded on a stream that is captured: who waits for it is, too */
} event;

int cuEventCreate(event **out, unsigned flags)
{
    DOUBLE_CALL(118, "cuEventCreate");
    (void)flags;
    *out = calloc(1, sizeof **out);
    return double_end(&call, 0);
}

int cuEventRecord(event *e, void *stream)
{
    DOUBLE_CALL(119, "cuEventRecord");
    e->captured = double_stream_of(stream)->captured;
    if (!e->captured) e->ready_ns = double_stream_of(stream)->free_ns;
    return double_end(&call, 0);
}

int cuEventSynchronize(event *e)
{
    DOUBLE_CALL(121, "cuEventSynchronize");
    double_wait_until(e->ready_ns);
    return double_end(&call, 0);
}

int cuEventDestroy_v2(event *e)
{
    DOUBLE_CALL(325, "cuEventDestroy_v2");
    free(e);
    return double_end(&call, 0);
}

int cuStreamWaitEvent(void *handle, event *e, unsigned flags)
{
    DOUBLE_CALL(295, "cuStreamWaitEvent");
    double_stream *stream = double_stream_of(handle);
    (void)flags;
    if (e->captured)
        stream->captured = e->captured;
    else if (stream->free_ns < e->ready_ns)
        stream->free_ns = e->ready_ns;
    return double_end(&call, 0);
}

/* It stays in the double's list. */
int cuStreamDestroy_v2(void *stream)
{
    DOUBLE_CALL(326, "cuStreamDestroy_v2");
    (void)stream;
    return double_end(&call, 0);
}

int cuModuleLoadData(void **out, const void *image)
{
    DOUBLE_CALL(19, "cuModuleLoadData");
    *out = (void *)(uintptr_t)image;
    return double_end(&call, 0);
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
    DOUBLE_CALL(539, "cuStreamBeginCapture_v2");
    (void)mode;
    return double_end(&call, cuGraphCreate(&double_stream_of(stream)->captured, 0));
}

int cuStreamEndCapture(void *stream, double_graph **out)
{
    DOUBLE_CALL(497, "cuStreamEndCapture");
    *out = double_stream_of(stream)->captured;
    double_end_capture(*out);
    return double_end(&call, *out ? 0 : DOUBLE_INVALID_VALUE);
}

/* CUDA_KERNEL_NODE_PARAMS. */
typedef struct kernel_node {
    double_function *function;
    unsigned grid[3], block[3], shared_bytes;
} kernel_node;

int cuGraphAddKernelNode_v2(void **out, double_graph *graph, void *const *after, size_t count, const kernel_node *node)
{
    DOUBLE_CALL(689, "cuGraphAddKernelNode_v2");
    (void)after, (void)count;
    double_kernel kernel = {.name = node->function->name, .shared_bytes = node->shared_bytes};
    for (int i = 0; i < 3; i++) kernel.grid[i] = node->grid[i], kernel.block[i] = node->block[i];
    *out = double_graph_add(graph, &kernel);
    return double_end(&call, 0);
}
