/* cuda.h - the CUDA driver functions that a run needs, looked up at run time: no CUDA is needed to build this */
#ifndef HD_REPLAY_CUDA_H
#define HD_REPLAY_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

typedef void *cuda_handle; /* context, module, function, stream, event */
typedef uint64_t cuda_address;

enum { CUDA_STREAM_NON_BLOCKING = 1, CUDA_EVENT_NO_TIMING = 2, CUDA_CAPTURE_RELAXED = 2, CUDA_OUT_OF_MEMORY = 2 };

/* X(member, "symbol", (arguments)) */
/* clang-format off */
#define CUDA_FUNCTIONS(X)                                                                                              \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(context_retain, "cuDevicePrimaryCtxRetain", (cuda_handle *out, int device))                                      \
    X(context_set, "cuCtxSetCurrent", (cuda_handle context))                                                           \
    X(synchronize, "cuCtxSynchronize", (void))                                                                         \
    X(module_load, "cuModuleLoadData", (cuda_handle *out, const void *image))                                          \
    X(module_function, "cuModuleGetFunction", (cuda_handle *out, cuda_handle module, const char *name))                \
    X(launch, "cuLaunchKernel", (cuda_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,             \
        unsigned by, unsigned bz, unsigned shared_bytes, cuda_handle stream, void **arguments, void **extra))          \
    X(stream_create, "cuStreamCreate", (cuda_handle *out, unsigned flags))                                             \
    X(stream_wait, "cuStreamWaitEvent", (cuda_handle stream, cuda_handle event, unsigned flags))                       \
    X(stream_destroy, "cuStreamDestroy_v2", (cuda_handle stream))                                                      \
    X(capture_begin, "cuStreamBeginCapture_v2", (cuda_handle stream, int mode))                                        \
    X(capture_end, "cuStreamEndCapture", (cuda_handle stream, cuda_handle *out))                                       \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                                                \
        (cuda_handle *out, cuda_handle graph, unsigned long long flags))                                               \
    X(graph_upload, "cuGraphUpload", (cuda_handle exec, cuda_handle stream))                                           \
    X(graph_launch, "cuGraphLaunch", (cuda_handle exec, cuda_handle stream))                                           \
    X(graph_destroy, "cuGraphDestroy", (cuda_handle graph))                                                            \
    X(exec_destroy, "cuGraphExecDestroy", (cuda_handle exec))                                                          \
    X(event_create, "cuEventCreate", (cuda_handle *out, unsigned flags))                                               \
    X(event_record, "cuEventRecord", (cuda_handle event, cuda_handle stream))                                          \
    X(event_synchronize, "cuEventSynchronize", (cuda_handle event))                                                    \
    X(event_destroy, "cuEventDestroy_v2", (cuda_handle event))                                                         \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (cuda_address to, const void *from, size_t bytes, cuda_handle stream))          \
    X(copy_out, "cuMemcpyDtoHAsync_v2", (void *to, cuda_address from, size_t bytes, cuda_handle stream))               \
    X(copy, "cuMemcpyDtoDAsync_v2", (cuda_address to, cuda_address from, size_t bytes, cuda_handle stream))            \
    X(set, "cuMemsetD32Async", (cuda_address to, unsigned value, size_t count, cuda_handle stream))                    \
    X(allocate, "cuMemAlloc_v2", (cuda_address *out, size_t bytes))                                                    \
    X(release, "cuMemFree_v2", (cuda_address address))                                                                 \
    X(allocate_pinned, "cuMemHostAlloc", (void **out, size_t bytes, unsigned flags))                                   \
    X(release_pinned, "cuMemFreeHost", (void *address))
/* clang-format on */

#define CUDA_MEMBER(member, symbol, arguments) int(*member) arguments;
typedef struct cuda_api {
    CUDA_FUNCTIONS(CUDA_MEMBER)
    /* spin: a kernel (stamps, ns, stamps of another or 0, ns after its start) that runs this long, and writes its start
     * and end. */
    cuda_handle context, spin;
} cuda_api;
#undef CUDA_MEMBER

/* Loads libcuda.so.1, which stays loaded, its context of the first device for this thread, and the kernel. Errors:
 * UNSUPPORTED, with what is missing. */
hd_status cuda_open(cuda_api *out, hd_error *err);
hd_status cuda_failed(const char *what, int result, hd_error *err);

#endif
