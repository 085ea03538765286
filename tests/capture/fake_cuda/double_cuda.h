/* double_cuda.h - TEST DOUBLE: what libcuda.so.1 and libcudart.so.13 of the double offer to programs
 *
 * A part of the real calls, under their names; handles are the double's own structs. cuGraphAddKernelNode and
 * cudaLaunchKernel take less than the real ones do. */
#ifndef HEDDLE_TESTS_DOUBLE_CUDA_H
#define HEDDLE_TESTS_DOUBLE_CUDA_H

#include "double.h"

enum { DOUBLE_INVALID_VALUE = 1, DOUBLE_NOT_INITIALIZED = 3, DOUBLE_LAUNCH_FAILED = 719 };

typedef struct double_graph double_graph;
typedef struct double_exec double_exec;

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDevicePrimaryCtxRetain(double_context **out, int device);
int cuCtxSetCurrent(double_context *context);
int cuCtxSynchronize(void);
int cuStreamCreate(double_stream **out, unsigned flags);
int cuStreamSynchronize(void *stream);
int cuModuleGetFunction(double_function **out, void *module, const char *name);
int cuLaunchKernel(double_function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemcpyPeerAsync(uint64_t to, double_context *to_context, uint64_t from, double_context *from_context,
                      size_t bytes, void *stream);
int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream);
int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemAllocAsync(uint64_t *out, size_t bytes, void *stream);
int cuMemFreeAsync(uint64_t address, void *stream);
int cuMemHostAlloc(void **out, size_t bytes, unsigned flags);

int cuGraphCreate(double_graph **out, unsigned flags);
int cuGraphAddKernelNode(void **out_node, double_graph *graph, const double_kernel *kernel);
int cuGraphInstantiateWithFlags(double_exec **out, double_graph *graph, unsigned long long flags);
int cuGraphLaunch(double_exec *exec, void *stream);
int cuGraphDestroy(double_graph *graph);
int cuGraphExecDestroy(double_exec *exec);

/* double_more.c: as in gpu_api.h of tests/gpu. */
void *double_graph_add(double_graph *graph, const double_kernel *kernel);
void double_graph_add_copy(double_graph *graph, const double_copy *copy);

/* The ids that libcupti tells of. */
uint64_t double_node_id(const void *node);
uint32_t double_graph_id(const double_graph *graph);
uint32_t double_exec_id(const double_exec *exec);

int cudaLaunchKernel(double_function *function, const unsigned grid[3], const unsigned block[3], size_t shared_bytes,
                     void *stream);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *stream);
int cudaStreamSynchronize(void *stream);
int cudaDeviceSynchronize(void);
int cudaMalloc(void **out, size_t bytes);
int cudaFree(void *address);
int cudaGraphLaunch(double_exec *exec, void *stream);

#endif
