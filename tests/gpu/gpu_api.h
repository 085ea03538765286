/* gpu_api.h - the CUDA driver's functions that gpu_program.c calls, found in libcuda.so.1 when it runs
 *
 * X(member, "symbol", (arguments)): declared by ourselves, since no toolkit is needed to build this; all have been in
 * every libcuda since CUDA 11.4 (graph_add_kernel by its older name before 12.0). */
#ifndef HEDDLE_TESTS_GPU_API_H
#define HEDDLE_TESTS_GPU_API_H

#include <stddef.h>
#include <stdint.h>

typedef void *gpu_handle; /* context, module, function, stream, event, graph, node */
typedef uint64_t gpu_address;

/* CUDA_KERNEL_NODE_PARAMS_v2, whose beginning is the older one. */
typedef struct gpu_kernel_node {
    gpu_handle function;
    unsigned grid[3], block[3], shared_bytes;
    void **arguments, **extra;
    gpu_handle kernel, context;
} gpu_kernel_node;

/* clang-format off */
#define GPU_FUNCTIONS(X)                                                                                               \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(driver_version, "cuDriverGetVersion", (int *version))                                                            \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                  \
    X(context_retain, "cuDevicePrimaryCtxRetain", (gpu_handle *out, int device))                                       \
    X(context_reset, "cuDevicePrimaryCtxReset_v2", (int device))                                                       \
    X(context_set, "cuCtxSetCurrent", (gpu_handle context))                                                            \
    X(synchronize, "cuCtxSynchronize", (void))                                                                         \
    X(module_load, "cuModuleLoadData", (gpu_handle *out, const void *image))                                           \
    X(module_function, "cuModuleGetFunction", (gpu_handle *out, gpu_handle module, const char *name))                  \
    X(launch, "cuLaunchKernel", (gpu_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
        unsigned bz, unsigned shared_bytes, gpu_handle stream, void **arguments, void **extra))                        \
    X(stream_create, "cuStreamCreate", (gpu_handle *out, unsigned flags))                                              \
    X(stream_synchronize, "cuStreamSynchronize", (gpu_handle stream))                                                  \
    X(stream_wait, "cuStreamWaitEvent", (gpu_handle stream, gpu_handle event, unsigned flags))                         \
    X(stream_destroy, "cuStreamDestroy_v2", (gpu_handle stream))                                                       \
    X(event_create, "cuEventCreate", (gpu_handle *out, unsigned flags))                                                \
    X(event_record, "cuEventRecord", (gpu_handle event, gpu_handle stream))                                            \
    X(event_synchronize, "cuEventSynchronize", (gpu_handle event))                                                     \
    X(event_destroy, "cuEventDestroy_v2", (gpu_handle event))                                                          \
    X(copy_in, "cuMemcpyHtoD_v2", (gpu_address to, const void *from, size_t bytes))                                    \
    X(copy_in_async, "cuMemcpyHtoDAsync_v2", (gpu_address to, const void *from, size_t bytes, gpu_handle stream))      \
    X(copy_out_async, "cuMemcpyDtoHAsync_v2", (void *to, gpu_address from, size_t bytes, gpu_handle stream))           \
    X(copy_async, "cuMemcpyDtoDAsync_v2", (gpu_address to, gpu_address from, size_t bytes, gpu_handle stream))         \
    X(set_async, "cuMemsetD32Async", (gpu_address to, unsigned value, size_t count, gpu_handle stream))                \
    X(allocate, "cuMemAlloc_v2", (gpu_address *out, size_t bytes))                                                     \
    X(release, "cuMemFree_v2", (gpu_address address))                                                                  \
    X(allocate_managed, "cuMemAllocManaged", (gpu_address *out, size_t bytes, unsigned flags))                         \
    X(allocate_pinned, "cuMemHostAlloc", (void **out, size_t bytes, unsigned flags))                                   \
    X(release_pinned, "cuMemFreeHost", (void *address))                                                                \
    X(capture_begin, "cuStreamBeginCapture_v2", (gpu_handle stream, int mode))                                         \
    X(capture_end, "cuStreamEndCapture", (gpu_handle stream, gpu_handle *out))                                         \
    X(graph_create, "cuGraphCreate", (gpu_handle *out, unsigned flags))                                                \
    X(graph_add_kernel, "cuGraphAddKernelNode_v2", (gpu_handle *out, gpu_handle graph, const gpu_handle *after,        \
        size_t count, const gpu_kernel_node *node))                                                                    \
    X(graph_clone, "cuGraphClone", (gpu_handle *out, gpu_handle graph))                                                \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (gpu_handle *out, gpu_handle graph, unsigned long long flags)) \
    X(graph_launch, "cuGraphLaunch", (gpu_handle exec, gpu_handle stream))                                             \
    X(graph_destroy, "cuGraphDestroy", (gpu_handle graph))                                                             \
    X(exec_destroy, "cuGraphExecDestroy", (gpu_handle exec))
/* clang-format on */

#define GPU_MEMBER(member, symbol, arguments) int(*member) arguments;
typedef struct gpu_api {
    GPU_FUNCTIONS(GPU_MEMBER)
} gpu_api;
#undef GPU_MEMBER

/* PTX of two kernels, which the driver compiles: numbers[i] += by, for i below count; and turning for some ns. */
static const char gpu_ptx[] = ".version 6.4\n"
                              ".target sm_50\n"
                              ".address_size 64\n"
                              ".visible .entry heddle_add(.param .u64 numbers, .param .u32 count, .param .u32 by)\n"
                              "{\n"
                              "  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<4>;\n"
                              "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
                              "  mad.lo.s32 %r4, %r1, %r2, %r3;\n"
                              "  ld.param.u32 %r5, [count];\n"
                              "  setp.ge.u32 %p, %r4, %r5;\n"
                              "  @%p bra end;\n"
                              "  ld.param.u64 %d1, [numbers];\n"
                              "  cvta.to.global.u64 %d1, %d1;\n"
                              "  mul.wide.u32 %d2, %r4, 4;\n"
                              "  add.s64 %d3, %d1, %d2;\n"
                              "  ld.param.u32 %r6, [by];\n"
                              "  ld.global.u32 %r7, [%d3];\n"
                              "  add.s32 %r7, %r7, %r6;\n"
                              "  st.global.u32 [%d3], %r7;\n"
                              "end:\n"
                              "  ret;\n"
                              "}\n"
                              ".visible .entry heddle_turn(.param .u64 ns)\n"
                              "{\n"
                              "  .reg .pred %q; .reg .b64 %t<5>;\n"
                              "  ld.param.u64 %t1, [ns];\n"
                              "  mov.u64 %t2, %globaltimer;\n"
                              "turn:\n"
                              "  mov.u64 %t3, %globaltimer;\n"
                              "  sub.s64 %t4, %t3, %t2;\n"
                              "  setp.lt.u64 %q, %t4, %t1;\n"
                              "  @%q bra turn;\n"
                              "  ret;\n"
                              "}\n";

#endif
