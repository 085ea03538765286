/* double_runtime.c - TEST DOUBLE: libcudart.so.13: calls of the runtime, each over one of the driver */
#include "double_cuda.h"

static int start(void)
{
    if (double_current_context()) return 0;
    double_context *context;
    int failed = cuInit(0);
    if (!failed) failed = cuDevicePrimaryCtxRetain(&context, 0);
    if (!failed) failed = cuCtxSetCurrent(context);
    return failed;
}

#define CALL(number, what, kernel)                                                                                     \
    int failed = start();                                                                                              \
    if (failed) return failed;                                                                                         \
    double_call call = {.domain = CUPTI_DOMAIN_RUNTIME, .id = number, .function = what, .symbol = kernel};             \
    failed = double_begin(&call);                                                                                      \
    if (failed) return failed

int cudaLaunchKernel(double_function *function, const unsigned grid[3], const unsigned block[3], size_t shared_bytes,
                     void *stream)
{
    CALL(211, "cudaLaunchKernel", function->name);
    return double_end(&call, cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                            (unsigned)shared_bytes, stream, NULL, NULL));
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *stream)
{
    CALL(41, "cudaMemcpyAsync", NULL);
    int result = direction == 2 ? cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, bytes, stream)
                                : cuMemcpyHtoD_v2((uintptr_t)to, from, bytes);
    return double_end(&call, result);
}

int cudaStreamSynchronize(void *stream)
{
    CALL(131, "cudaStreamSynchronize", NULL);
    return double_end(&call, cuStreamSynchronize(stream));
}

int cudaDeviceSynchronize(void)
{
    CALL(165, "cudaDeviceSynchronize", NULL);
    return double_end(&call, cuCtxSynchronize());
}

int cudaMalloc(void **out, size_t bytes)
{
    CALL(20, "cudaMalloc", NULL);
    uint64_t address = 0;
    int result = cuMemAlloc_v2(&address, bytes);
    *out = (void *)(uintptr_t)address;
    return double_end(&call, result);
}

int cudaFree(void *address)
{
    CALL(22, "cudaFree", NULL);
    return double_end(&call, cuMemFree_v2((uintptr_t)address));
}

int cudaGraphLaunch(double_exec *exec, void *stream)
{
    CALL(311, "cudaGraphLaunch", NULL);
    return double_end(&call, cuGraphLaunch(exec, stream));
}
