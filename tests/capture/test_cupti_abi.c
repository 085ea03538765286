/* test_cupti_abi.c - our declarations of CUPTI against the real headers
 *
 * check_cupti_real.py compiles it against those of CUDA 11, 12 and 13. Whatever is wrong does not compile. */
#include <cuda.h>
#include <cupti.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "capture/cuda/cupti/abi.h"
#include "capture/cuda/cupti/calls.h"

/* Headers of 12.9 have structs of 12.0 to 12.9; between 11.8 and these none were looked at. */
#define CUDA_12_9 28
#define CUDA_13_0 130001

#define EQUAL(ours, real) _Static_assert((long long)(ours) == (long long)(real), #ours " is " #real)

/* A field of ours is at the place of the real one, and as large. */
#define FIELD(ours, field, real, real_field)                                                                           \
    EQUAL(offsetof(ours, field), offsetof(real, real_field));                                                          \
    EQUAL(sizeof(((ours *)0)->field), sizeof(((real *)0)->real_field))

/* Our whole struct is the real one. */
#define SAME_SIZE(ours, real) EQUAL(sizeof(ours), sizeof(real))

EQUAL(CUPTI_OK, CUPTI_SUCCESS);
EQUAL(CUPTI_BAD_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
EQUAL(CUPTI_BAD_DEVICE, CUPTI_ERROR_INVALID_DEVICE);
EQUAL(CUPTI_BAD_CONTEXT, CUPTI_ERROR_INVALID_CONTEXT);
EQUAL(CUPTI_BAD_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
EQUAL(CUPTI_NO_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
EQUAL(CUPTI_HARDWARE, CUPTI_ERROR_HARDWARE);
EQUAL(CUPTI_NOT_IMPLEMENTED, CUPTI_ERROR_API_NOT_IMPLEMENTED);
EQUAL(CUPTI_LIMIT_REACHED, CUPTI_ERROR_MAX_LIMIT_REACHED);
EQUAL(CUPTI_NOT_READY, CUPTI_ERROR_NOT_READY);
EQUAL(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
EQUAL(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
EQUAL(CUPTI_BAD_KIND, CUPTI_ERROR_INVALID_KIND);
EQUAL(CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
EQUAL(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
EQUAL(CUPTI_VIRTUAL_DEVICE, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
EQUAL(CUPTI_NO_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
EQUAL(CUPTI_OLD_PROFILER, CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED);
EQUAL(CUPTI_LEGACY_PROFILER, CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
EQUAL(CUPTI_OTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
EQUAL(CUPTI_VIRTUAL_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
EQUAL(CUPTI_CMP_DEVICE, CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED);
#if CUPTI_API_VERSION >= CUDA_12_9
EQUAL(CUPTI_MIG_DEVICE, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
EQUAL(CUPTI_SLI_DEVICE, CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED);
#endif
EQUAL(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
#if CUPTI_API_VERSION >= CUDA_12_9
EQUAL(CUPTI_WSL_DEVICE, CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED);
#endif
EQUAL(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);

#define KIND(name) EQUAL(CUPTI_KIND_##name, CUPTI_ACTIVITY_KIND_##name)
KIND(MEMCPY);
KIND(MEMSET);
KIND(KERNEL);
KIND(DRIVER);
KIND(RUNTIME);
KIND(DEVICE);
KIND(CONTEXT);
KIND(CONCURRENT_KERNEL);
KIND(NAME);
KIND(MARKER);
KIND(OVERHEAD);
KIND(MEMCPY2);
KIND(CUDA_EVENT);
KIND(STREAM);
KIND(SYNCHRONIZATION);
KIND(EXTERNAL_CORRELATION);
KIND(MEMORY2);
KIND(GRAPH_TRACE);
EQUAL(CUPTI_NONE, CUPTI_INVALID_CONTEXT_ID);

EQUAL(CUPTI_OBJECT_PROCESS, CUPTI_ACTIVITY_OBJECT_PROCESS);
EQUAL(CUPTI_OBJECT_THREAD, CUPTI_ACTIVITY_OBJECT_THREAD);
EQUAL(CUPTI_OBJECT_DEVICE, CUPTI_ACTIVITY_OBJECT_DEVICE);
EQUAL(CUPTI_OBJECT_CONTEXT, CUPTI_ACTIVITY_OBJECT_CONTEXT);
EQUAL(CUPTI_OBJECT_STREAM, CUPTI_ACTIVITY_OBJECT_STREAM);
SAME_SIZE(cupti_object, CUpti_ActivityObjectKindId);
FIELD(cupti_object, cpu.process, CUpti_ActivityObjectKindId, pt.processId);
FIELD(cupti_object, cpu.thread, CUpti_ActivityObjectKindId, pt.threadId);
FIELD(cupti_object, gpu.device, CUpti_ActivityObjectKindId, dcs.deviceId);
FIELD(cupti_object, gpu.context, CUpti_ActivityObjectKindId, dcs.contextId);
FIELD(cupti_object, gpu.stream, CUpti_ActivityObjectKindId, dcs.streamId);

FIELD(cupti_record, kind, CUpti_Activity, kind);

SAME_SIZE(cupti_api, CUpti_ActivityAPI);
FIELD(cupti_api, kind, CUpti_ActivityAPI, kind);
FIELD(cupti_api, call, CUpti_ActivityAPI, cbid);
FIELD(cupti_api, start, CUpti_ActivityAPI, start);
FIELD(cupti_api, end, CUpti_ActivityAPI, end);
FIELD(cupti_api, process, CUpti_ActivityAPI, processId);
FIELD(cupti_api, thread, CUpti_ActivityAPI, threadId);
FIELD(cupti_api, correlation, CUpti_ActivityAPI, correlationId);
FIELD(cupti_api, result, CUpti_ActivityAPI, returnValue);

/* What all forms of the kernel record share. */
#define KERNEL_FIELDS(real)                                                                                            \
    FIELD(cupti_kernel, kind, real, kind);                                                                             \
    FIELD(cupti_kernel, cache_config, real, cacheConfig);                                                              \
    FIELD(cupti_kernel, shared_config, real, sharedMemoryConfig);                                                      \
    FIELD(cupti_kernel, registers, real, registersPerThread);                                                          \
    FIELD(cupti_kernel, partition_requested, real, partitionedGlobalCacheRequested);                                   \
    FIELD(cupti_kernel, partition_executed, real, partitionedGlobalCacheExecuted);                                     \
    FIELD(cupti_kernel, start, real, start);                                                                           \
    FIELD(cupti_kernel, end, real, end);                                                                               \
    FIELD(cupti_kernel, completed, real, completed);                                                                   \
    FIELD(cupti_kernel, device, real, deviceId);                                                                       \
    FIELD(cupti_kernel, context, real, contextId);                                                                     \
    FIELD(cupti_kernel, stream, real, streamId);                                                                       \
    FIELD(cupti_kernel, grid[0], real, gridX);                                                                         \
    FIELD(cupti_kernel, grid[2], real, gridZ);                                                                         \
    FIELD(cupti_kernel, block[0], real, blockX);                                                                       \
    FIELD(cupti_kernel, block[2], real, blockZ);                                                                       \
    FIELD(cupti_kernel, shared_static, real, staticSharedMemory);                                                      \
    FIELD(cupti_kernel, shared_dynamic, real, dynamicSharedMemory);                                                    \
    FIELD(cupti_kernel, local_per_thread, real, localMemoryPerThread);                                                 \
    FIELD(cupti_kernel, local_total, real, localMemoryTotal);                                                          \
    FIELD(cupti_kernel, correlation, real, correlationId);                                                             \
    FIELD(cupti_kernel, grid_id, real, gridId);                                                                        \
    FIELD(cupti_kernel, name, real, name);                                                                             \
    FIELD(cupti_kernel, queued, real, queued);                                                                         \
    FIELD(cupti_kernel, submitted, real, submitted);                                                                   \
    FIELD(cupti_kernel, launch_type, real, launchType);                                                                \
    FIELD(cupti_kernel, carveout_requested, real, isSharedMemoryCarveoutRequested);                                    \
    FIELD(cupti_kernel, carveout, real, sharedMemoryCarveoutRequested);                                                \
    FIELD(cupti_kernel, shared_executed, real, sharedMemoryExecuted);                                                  \
    FIELD(cupti_kernel, graph_node, real, graphNodeId);                                                                \
    FIELD(cupti_kernel, shared_limit, real, shmemLimitConfig);                                                         \
    FIELD(cupti_kernel, graph, real, graphId)
KERNEL_FIELDS(CUpti_ActivityKernel5);
KERNEL_FIELDS(CUpti_ActivityKernel6);
KERNEL_FIELDS(CUpti_ActivityKernel7);
KERNEL_FIELDS(CUpti_ActivityKernel8);
#if CUPTI_API_VERSION >= CUDA_12_9
KERNEL_FIELDS(CUpti_ActivityKernel9);
#endif
#if CUPTI_API_VERSION >= CUDA_13_0
KERNEL_FIELDS(CUpti_ActivityKernel10);
#endif
FIELD(cupti_kernel, access_policy, CUpti_ActivityKernel6, pAccessPolicyWindow);
FIELD(cupti_kernel, channel, CUpti_ActivityKernel7, channelID);
FIELD(cupti_kernel, channel_type, CUpti_ActivityKernel7, channelType);
FIELD(cupti_kernel, cluster[0], CUpti_ActivityKernel8, clusterX);
FIELD(cupti_kernel, cluster[2], CUpti_ActivityKernel8, clusterZ);
FIELD(cupti_kernel, cluster_policy, CUpti_ActivityKernel8, clusterSchedulingPolicy);
FIELD(cupti_kernel, local_bytes, CUpti_ActivityKernel8, localMemoryTotal_v2);
#if CUPTI_API_VERSION >= CUDA_12_9
FIELD(cupti_kernel, cluster_size_max, CUpti_ActivityKernel9, maxPotentialClusterSize);
FIELD(cupti_kernel, clusters_max, CUpti_ActivityKernel9, maxActiveClusters);
#endif
#if CUPTI_API_VERSION >= CUDA_13_0
FIELD(cupti_kernel, from_device, CUpti_ActivityKernel10, isDeviceLaunched);
SAME_SIZE(cupti_kernel, CUpti_ActivityKernel10);
#endif

#define MEMCPY_FIELDS(real)                                                                                            \
    FIELD(cupti_memcpy, kind, real, kind);                                                                             \
    FIELD(cupti_memcpy, copy, real, copyKind);                                                                         \
    FIELD(cupti_memcpy, from, real, srcKind);                                                                          \
    FIELD(cupti_memcpy, to, real, dstKind);                                                                            \
    FIELD(cupti_memcpy, flags, real, flags);                                                                           \
    FIELD(cupti_memcpy, bytes, real, bytes);                                                                           \
    FIELD(cupti_memcpy, start, real, start);                                                                           \
    FIELD(cupti_memcpy, end, real, end);                                                                               \
    FIELD(cupti_memcpy, device, real, deviceId);                                                                       \
    FIELD(cupti_memcpy, context, real, contextId);                                                                     \
    FIELD(cupti_memcpy, stream, real, streamId);                                                                       \
    FIELD(cupti_memcpy, correlation, real, correlationId);                                                             \
    FIELD(cupti_memcpy, runtime_correlation, real, runtimeCorrelationId);                                              \
    FIELD(cupti_memcpy, graph_node, real, graphNodeId)
MEMCPY_FIELDS(CUpti_ActivityMemcpy3);
MEMCPY_FIELDS(CUpti_ActivityMemcpy4);
MEMCPY_FIELDS(CUpti_ActivityMemcpy5);
#if CUPTI_API_VERSION >= CUDA_12_9
MEMCPY_FIELDS(CUpti_ActivityMemcpy6);
#endif
FIELD(cupti_memcpy, graph, CUpti_ActivityMemcpy4, graphId);
FIELD(cupti_memcpy, channel, CUpti_ActivityMemcpy5, channelID);
FIELD(cupti_memcpy, channel_type, CUpti_ActivityMemcpy5, channelType);
#if CUPTI_API_VERSION >= CUDA_13_0
FIELD(cupti_memcpy, from_device, CUpti_ActivityMemcpy6, isDeviceLaunched);
#endif
#if CUPTI_API_VERSION >= CUDA_12_9
FIELD(cupti_memcpy, copies, CUpti_ActivityMemcpy6, copyCount);
SAME_SIZE(cupti_memcpy, CUpti_ActivityMemcpy6);
#endif

#define MEMCPY2_FIELDS(real)                                                                                           \
    FIELD(cupti_memcpy2, kind, real, kind);                                                                            \
    FIELD(cupti_memcpy2, copy, real, copyKind);                                                                        \
    FIELD(cupti_memcpy2, from, real, srcKind);                                                                         \
    FIELD(cupti_memcpy2, to, real, dstKind);                                                                           \
    FIELD(cupti_memcpy2, flags, real, flags);                                                                          \
    FIELD(cupti_memcpy2, bytes, real, bytes);                                                                          \
    FIELD(cupti_memcpy2, start, real, start);                                                                          \
    FIELD(cupti_memcpy2, end, real, end);                                                                              \
    FIELD(cupti_memcpy2, device, real, deviceId);                                                                      \
    FIELD(cupti_memcpy2, context, real, contextId);                                                                    \
    FIELD(cupti_memcpy2, stream, real, streamId);                                                                      \
    FIELD(cupti_memcpy2, from_device, real, srcDeviceId);                                                              \
    FIELD(cupti_memcpy2, from_context, real, srcContextId);                                                            \
    FIELD(cupti_memcpy2, to_device, real, dstDeviceId);                                                                \
    FIELD(cupti_memcpy2, to_context, real, dstContextId);                                                              \
    FIELD(cupti_memcpy2, correlation, real, correlationId);                                                            \
    FIELD(cupti_memcpy2, graph_node, real, graphNodeId)
MEMCPY2_FIELDS(CUpti_ActivityMemcpyPtoP2);
MEMCPY2_FIELDS(CUpti_ActivityMemcpyPtoP3);
MEMCPY2_FIELDS(CUpti_ActivityMemcpyPtoP4);
FIELD(cupti_memcpy2, graph, CUpti_ActivityMemcpyPtoP3, graphId);
FIELD(cupti_memcpy2, channel, CUpti_ActivityMemcpyPtoP4, channelID);
FIELD(cupti_memcpy2, channel_type, CUpti_ActivityMemcpyPtoP4, channelType);
SAME_SIZE(cupti_memcpy2, CUpti_ActivityMemcpyPtoP4);

#define MEMSET_FIELDS(real)                                                                                            \
    FIELD(cupti_memset, kind, real, kind);                                                                             \
    FIELD(cupti_memset, value, real, value);                                                                           \
    FIELD(cupti_memset, bytes, real, bytes);                                                                           \
    FIELD(cupti_memset, start, real, start);                                                                           \
    FIELD(cupti_memset, end, real, end);                                                                               \
    FIELD(cupti_memset, device, real, deviceId);                                                                       \
    FIELD(cupti_memset, context, real, contextId);                                                                     \
    FIELD(cupti_memset, stream, real, streamId);                                                                       \
    FIELD(cupti_memset, correlation, real, correlationId);                                                             \
    FIELD(cupti_memset, flags, real, flags);                                                                           \
    FIELD(cupti_memset, memory, real, memoryKind);                                                                     \
    FIELD(cupti_memset, graph_node, real, graphNodeId)
MEMSET_FIELDS(CUpti_ActivityMemset2);
MEMSET_FIELDS(CUpti_ActivityMemset3);
MEMSET_FIELDS(CUpti_ActivityMemset4);
FIELD(cupti_memset, graph, CUpti_ActivityMemset3, graphId);
FIELD(cupti_memset, channel, CUpti_ActivityMemset4, channelID);
FIELD(cupti_memset, channel_type, CUpti_ActivityMemset4, channelType);
SAME_SIZE(cupti_memset, CUpti_ActivityMemset4);

#define SYNC_FIELDS(real)                                                                                              \
    FIELD(cupti_sync, kind, real, kind);                                                                               \
    FIELD(cupti_sync, type, real, type);                                                                               \
    FIELD(cupti_sync, start, real, start);                                                                             \
    FIELD(cupti_sync, end, real, end);                                                                                 \
    FIELD(cupti_sync, correlation, real, correlationId);                                                               \
    FIELD(cupti_sync, context, real, contextId);                                                                       \
    FIELD(cupti_sync, stream, real, streamId);                                                                         \
    FIELD(cupti_sync, event, real, cudaEventId)
SYNC_FIELDS(CUpti_ActivitySynchronization);
#if CUPTI_API_VERSION >= CUDA_12_9
SYNC_FIELDS(CUpti_ActivitySynchronization2);
FIELD(cupti_sync, event_sync, CUpti_ActivitySynchronization2, cudaEventSyncId);
FIELD(cupti_sync, result, CUpti_ActivitySynchronization2, returnValue);
SAME_SIZE(cupti_sync, CUpti_ActivitySynchronization2);
#endif
EQUAL(CUPTI_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
EQUAL(CUPTI_SYNC_STREAM_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
EQUAL(CUPTI_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
EQUAL(CUPTI_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
EQUAL(CUPTI_NONE, (uint32_t)CUPTI_SYNCHRONIZATION_INVALID_VALUE); /* of 11.8 it is -1 */

#define OVERHEAD_FIELDS(real)                                                                                          \
    FIELD(cupti_overhead, kind, real, kind);                                                                           \
    FIELD(cupti_overhead, overhead, real, overheadKind);                                                               \
    FIELD(cupti_overhead, object_kind, real, objectKind);                                                              \
    FIELD(cupti_overhead, object, real, objectId);                                                                     \
    FIELD(cupti_overhead, start, real, start);                                                                         \
    FIELD(cupti_overhead, end, real, end)
OVERHEAD_FIELDS(CUpti_ActivityOverhead);
#if CUPTI_API_VERSION >= CUDA_12_9
OVERHEAD_FIELDS(CUpti_ActivityOverhead2);
OVERHEAD_FIELDS(CUpti_ActivityOverhead3);
FIELD(cupti_overhead, correlation, CUpti_ActivityOverhead2, correlationId);
SAME_SIZE(cupti_overhead, CUpti_ActivityOverhead2);
#endif
EQUAL(CUPTI_OVERHEAD_COMPILER, CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER);
EQUAL(CUPTI_OVERHEAD_FLUSH, CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH);
EQUAL(CUPTI_OVERHEAD_INSTRUMENTATION, CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION);
EQUAL(CUPTI_OVERHEAD_RESOURCE, CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE);
#if CUPTI_API_VERSION >= CUDA_12_9
EQUAL(CUPTI_OVERHEAD_MODULE_LOADING, CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING);
EQUAL(CUPTI_OVERHEAD_FUNCTION_LOADING, CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
EQUAL(CUPTI_OVERHEAD_COMMAND_BUFFER_FULL, CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL);
EQUAL(CUPTI_OVERHEAD_BUFFER_REQUEST, CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST);
EQUAL(CUPTI_OVERHEAD_UVM_INIT, CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT);
#endif

FIELD(cupti_external, kind, CUpti_ActivityExternalCorrelation, kind);
FIELD(cupti_external, source, CUpti_ActivityExternalCorrelation, externalKind);
FIELD(cupti_external, id, CUpti_ActivityExternalCorrelation, externalId);
FIELD(cupti_external, correlation, CUpti_ActivityExternalCorrelation, correlationId);
SAME_SIZE(cupti_external, CUpti_ActivityExternalCorrelation);
EQUAL(CUPTI_EXTERNAL_KINDS, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE);

#define DEVICE_FIELDS(real)                                                                                            \
    FIELD(cupti_device, kind, real, kind);                                                                             \
    FIELD(cupti_device, flags, real, flags);                                                                           \
    FIELD(cupti_device, bandwidth, real, globalMemoryBandwidth);                                                       \
    FIELD(cupti_device, memory, real, globalMemorySize);                                                               \
    FIELD(cupti_device, constant_memory, real, constantMemorySize);                                                    \
    FIELD(cupti_device, l2_cache, real, l2CacheSize);                                                                  \
    FIELD(cupti_device, warp_threads, real, numThreadsPerWarp);                                                        \
    FIELD(cupti_device, clock, real, coreClockRate);                                                                   \
    FIELD(cupti_device, copy_engines, real, numMemcpyEngines);                                                         \
    FIELD(cupti_device, multiprocessors, real, numMultiprocessors);                                                    \
    FIELD(cupti_device, ipc_max, real, maxIPC);                                                                        \
    FIELD(cupti_device, warps_max, real, maxWarpsPerMultiprocessor);                                                   \
    FIELD(cupti_device, blocks_max, real, maxBlocksPerMultiprocessor);                                                 \
    FIELD(cupti_device, shared_max, real, maxSharedMemoryPerMultiprocessor);                                           \
    FIELD(cupti_device, registers_max, real, maxRegistersPerMultiprocessor);                                           \
    FIELD(cupti_device, block_registers_max, real, maxRegistersPerBlock);                                              \
    FIELD(cupti_device, block_shared_max, real, maxSharedMemoryPerBlock);                                              \
    FIELD(cupti_device, block_threads_max, real, maxThreadsPerBlock);                                                  \
    FIELD(cupti_device, block_max[0], real, maxBlockDimX);                                                             \
    FIELD(cupti_device, grid_max[0], real, maxGridDimX);                                                               \
    FIELD(cupti_device, grid_max[2], real, maxGridDimZ);                                                               \
    FIELD(cupti_device, capability_major, real, computeCapabilityMajor);                                               \
    FIELD(cupti_device, capability_minor, real, computeCapabilityMinor);                                               \
    FIELD(cupti_device, id, real, id);                                                                                 \
    FIELD(cupti_device, ecc, real, eccEnabled);                                                                        \
    FIELD(cupti_device, uuid, real, uuid);                                                                             \
    FIELD(cupti_device, name, real, name);                                                                             \
    FIELD(cupti_device, visible, real, isCudaVisible)
DEVICE_FIELDS(CUpti_ActivityDevice3);
DEVICE_FIELDS(CUpti_ActivityDevice4);
#if CUPTI_API_VERSION >= CUDA_12_9
DEVICE_FIELDS(CUpti_ActivityDevice5);
#endif
FIELD(cupti_device, mig, CUpti_ActivityDevice4, isMigEnabled);
FIELD(cupti_device, gpu_instance, CUpti_ActivityDevice4, gpuInstanceId);
FIELD(cupti_device, compute_instance, CUpti_ActivityDevice4, computeInstanceId);
FIELD(cupti_device, mig_uuid, CUpti_ActivityDevice4, migUuid);
SAME_SIZE(cupti_device, CUpti_ActivityDevice4);

#define CONTEXT_FIELDS(real)                                                                                           \
    FIELD(cupti_context, kind, real, kind);                                                                            \
    FIELD(cupti_context, context, real, contextId);                                                                    \
    FIELD(cupti_context, device, real, deviceId);                                                                      \
    FIELD(cupti_context, api, real, computeApiKind);                                                                   \
    FIELD(cupti_context, null_stream, real, nullStreamId)
CONTEXT_FIELDS(CUpti_ActivityContext);
#if CUPTI_API_VERSION >= CUDA_12_9
CONTEXT_FIELDS(CUpti_ActivityContext2);
CONTEXT_FIELDS(CUpti_ActivityContext3);
#endif
SAME_SIZE(cupti_context, CUpti_ActivityContext);
EQUAL(CUPTI_CONTEXT_OF_MPS, CUPTI_ACTIVITY_COMPUTE_API_CUDA_MPS);

FIELD(cupti_stream, kind, CUpti_ActivityStream, kind);
FIELD(cupti_stream, context, CUpti_ActivityStream, contextId);
FIELD(cupti_stream, stream, CUpti_ActivityStream, streamId);
FIELD(cupti_stream, priority, CUpti_ActivityStream, priority);
FIELD(cupti_stream, flags, CUpti_ActivityStream, flag);
FIELD(cupti_stream, correlation, CUpti_ActivityStream, correlationId);
SAME_SIZE(cupti_stream, CUpti_ActivityStream);

FIELD(cupti_name, kind, CUpti_ActivityName, kind);
FIELD(cupti_name, object_kind, CUpti_ActivityName, objectKind);
FIELD(cupti_name, object, CUpti_ActivityName, objectId);
FIELD(cupti_name, name, CUpti_ActivityName, name);
SAME_SIZE(cupti_name, CUpti_ActivityName);

FIELD(cupti_marker, kind, CUpti_ActivityMarker2, kind);
FIELD(cupti_marker, flags, CUpti_ActivityMarker2, flags);
FIELD(cupti_marker, time, CUpti_ActivityMarker2, timestamp);
FIELD(cupti_marker, id, CUpti_ActivityMarker2, id);
FIELD(cupti_marker, object_kind, CUpti_ActivityMarker2, objectKind);
FIELD(cupti_marker, object, CUpti_ActivityMarker2, objectId);
FIELD(cupti_marker, name, CUpti_ActivityMarker2, name);
FIELD(cupti_marker, domain, CUpti_ActivityMarker2, domain);
SAME_SIZE(cupti_marker, CUpti_ActivityMarker2);
EQUAL(CUPTI_MARKER_INSTANT, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS);
EQUAL(CUPTI_MARKER_START, CUPTI_ACTIVITY_FLAG_MARKER_START);
EQUAL(CUPTI_MARKER_END, CUPTI_ACTIVITY_FLAG_MARKER_END);

#define MEMORY_FIELDS(real)                                                                                            \
    FIELD(cupti_memory2, kind, real, kind);                                                                            \
    FIELD(cupti_memory2, operation, real, memoryOperationType);                                                        \
    FIELD(cupti_memory2, memory, real, memoryKind);                                                                    \
    FIELD(cupti_memory2, correlation, real, correlationId);                                                            \
    FIELD(cupti_memory2, address, real, address);                                                                      \
    FIELD(cupti_memory2, bytes, real, bytes);                                                                          \
    FIELD(cupti_memory2, time, real, timestamp);                                                                       \
    FIELD(cupti_memory2, pc, real, PC);                                                                                \
    FIELD(cupti_memory2, process, real, processId);                                                                    \
    FIELD(cupti_memory2, device, real, deviceId);                                                                      \
    FIELD(cupti_memory2, context, real, contextId);                                                                    \
    FIELD(cupti_memory2, stream, real, streamId);                                                                      \
    FIELD(cupti_memory2, name, real, name);                                                                            \
    FIELD(cupti_memory2, async, real, isAsync);                                                                        \
    FIELD(cupti_memory2, pool_type, real, memoryPoolConfig.memoryPoolType);                                            \
    FIELD(cupti_memory2, pool_address, real, memoryPoolConfig.address);                                                \
    FIELD(cupti_memory2, pool_threshold, real, memoryPoolConfig.releaseThreshold);                                     \
    FIELD(cupti_memory2, pool_size, real, memoryPoolConfig.pool.size)
MEMORY_FIELDS(CUpti_ActivityMemory2);
MEMORY_FIELDS(CUpti_ActivityMemory3);
#if CUPTI_API_VERSION >= CUDA_12_9
MEMORY_FIELDS(CUpti_ActivityMemory4);
#endif
FIELD(cupti_memory2, pool_used, CUpti_ActivityMemory3, memoryPoolConfig.utilizedSize);
#if CUPTI_API_VERSION >= CUDA_12_9
FIELD(cupti_memory2, source, CUpti_ActivityMemory4, source);
SAME_SIZE(cupti_memory2, CUpti_ActivityMemory4);
#endif
EQUAL(CUPTI_MEMORY_ALLOCATED, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
EQUAL(CUPTI_MEMORY_RELEASED, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
EQUAL(CUPTI_POOL_NONE, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID);
EQUAL(CUPTI_POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
EQUAL(CUPTI_POOL_IMPORTED, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED);

#define GRAPH_FIELDS(real)                                                                                             \
    FIELD(cupti_graph_trace, kind, real, kind);                                                                        \
    FIELD(cupti_graph_trace, correlation, real, correlationId);                                                        \
    FIELD(cupti_graph_trace, start, real, start);                                                                      \
    FIELD(cupti_graph_trace, end, real, end);                                                                          \
    FIELD(cupti_graph_trace, device, real, deviceId);                                                                  \
    FIELD(cupti_graph_trace, graph, real, graphId);                                                                    \
    FIELD(cupti_graph_trace, context, real, contextId);                                                                \
    FIELD(cupti_graph_trace, stream, real, streamId)
GRAPH_FIELDS(CUpti_ActivityGraphTrace);
#if CUPTI_API_VERSION >= CUDA_12_9
GRAPH_FIELDS(CUpti_ActivityGraphTrace2);
#endif
SAME_SIZE(cupti_graph_trace, CUpti_ActivityGraphTrace);

#define COPY(name) EQUAL(CUPTI_COPY_##name, CUPTI_ACTIVITY_MEMCPY_KIND_##name)
COPY(UNKNOWN);
COPY(HTOD);
COPY(DTOH);
COPY(HTOA);
COPY(ATOH);
COPY(ATOA);
COPY(ATOD);
COPY(DTOA);
COPY(DTOD);
COPY(HTOH);
COPY(PTOP);
#define MEMORY(name) EQUAL(CUPTI_MEMORY_##name, CUPTI_ACTIVITY_MEMORY_KIND_##name)
MEMORY(UNKNOWN);
MEMORY(PAGEABLE);
MEMORY(PINNED);
MEMORY(DEVICE);
MEMORY(ARRAY);
MEMORY(MANAGED);
MEMORY(DEVICE_STATIC);
MEMORY(MANAGED_STATIC);
EQUAL(CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
EQUAL(CUPTI_ASYNC, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);

EQUAL(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
EQUAL(CUPTI_THREAD_ID_PTHREAD, CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
EQUAL(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
EQUAL(CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
EQUAL(CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
EQUAL(CUPTI_ATTRIBUTE_ZEROED_BUFFERS, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
EQUAL(CUPTI_ATTRIBUTE_DEVICE_BUFFERS_AHEAD, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
EQUAL(CUPTI_ATTRIBUTE_HOST_PINNED, CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);

EQUAL(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
EQUAL(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
EQUAL(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
EQUAL(CUPTI_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_SYNCHRONIZE);
EQUAL(CUPTI_DOMAIN_NVTX, CUPTI_CB_DOMAIN_NVTX);
#if CUPTI_API_VERSION >= CUDA_12_9
EQUAL(CUPTI_DOMAIN_STATE, CUPTI_CB_DOMAIN_STATE);
#endif
EQUAL(CUPTI_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
EQUAL(CUPTI_RESOURCE_CONTEXT_DESTROY, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
EQUAL(CUPTI_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_CREATED);
EQUAL(CUPTI_RESOURCE_STREAM_DESTROY, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING);
EQUAL(CUPTI_RESOURCE_INIT_FINISHED, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
EQUAL(CUPTI_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
EQUAL(CUPTI_RESOURCE_MODULE_UNLOAD, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
EQUAL(CUPTI_RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPH_CREATED);
EQUAL(CUPTI_RESOURCE_GRAPH_DESTROY, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING);
EQUAL(CUPTI_RESOURCE_GRAPH_CLONED, CUPTI_CBID_RESOURCE_GRAPH_CLONED);
EQUAL(CUPTI_RESOURCE_NODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
EQUAL(CUPTI_RESOURCE_NODE_DESTROY, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING);
EQUAL(CUPTI_RESOURCE_EXEC_CREATE, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING);
EQUAL(CUPTI_RESOURCE_EXEC_CREATED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED);
EQUAL(CUPTI_RESOURCE_EXEC_DESTROY, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING);
EQUAL(CUPTI_RESOURCE_NODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
#if CUPTI_API_VERSION >= CUDA_12_9
EQUAL(CUPTI_STATE_FATAL, CUPTI_CBID_STATE_FATAL_ERROR);
EQUAL(CUPTI_STATE_ERROR, CUPTI_CBID_STATE_ERROR);
EQUAL(CUPTI_STATE_WARNING, CUPTI_CBID_STATE_WARNING);
#endif
EQUAL(CUPTI_SITE_ENTER, CUPTI_API_ENTER);
EQUAL(CUPTI_SITE_EXIT, CUPTI_API_EXIT);

FIELD(cupti_call, site, CUpti_CallbackData, callbackSite);
FIELD(cupti_call, function, CUpti_CallbackData, functionName);
FIELD(cupti_call, parameters, CUpti_CallbackData, functionParams);
FIELD(cupti_call, result, CUpti_CallbackData, functionReturnValue);
FIELD(cupti_call, symbol, CUpti_CallbackData, symbolName);
FIELD(cupti_call, context, CUpti_CallbackData, context);
FIELD(cupti_call, context_id, CUpti_CallbackData, contextUid);
FIELD(cupti_call, scratch, CUpti_CallbackData, correlationData);
FIELD(cupti_call, correlation, CUpti_CallbackData, correlationId);
SAME_SIZE(cupti_call, CUpti_CallbackData);
FIELD(cupti_resource, context, CUpti_ResourceData, context);
FIELD(cupti_resource, stream, CUpti_ResourceData, resourceHandle.stream);
FIELD(cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
FIELD(cupti_graph, graph, CUpti_GraphData, graph);
FIELD(cupti_graph, original_graph, CUpti_GraphData, originalGraph);
FIELD(cupti_graph, node, CUpti_GraphData, node);
FIELD(cupti_graph, original_node, CUpti_GraphData, originalNode);
FIELD(cupti_graph, node_type, CUpti_GraphData, nodeType);
FIELD(cupti_graph, dependency, CUpti_GraphData, dependency);
FIELD(cupti_graph, exec, CUpti_GraphData, graphExec);
#if CUPTI_API_VERSION >= CUDA_12_9
FIELD(cupti_state, status, CUpti_StateData, notification.result);
FIELD(cupti_state, message, CUpti_StateData, notification.message);
#endif
#if CUPTI_API_VERSION >= CUDA_13_0
FIELD(cupti_subscriber_params, bytes, CUpti_SubscriberParams, structSize);
FIELD(cupti_subscriber_params, name, CUpti_SubscriberParams, subscriberName);
FIELD(cupti_subscriber_params, other, CUpti_SubscriberParams, oldSubscriberName);
FIELD(cupti_subscriber_params, other_bytes, CUpti_SubscriberParams, oldSubscriberSize);
SAME_SIZE(cupti_subscriber_params, CUpti_SubscriberParams);
#endif

/* Enums are ints there and uint32_t here, and pointers to structs void pointers: as arguments they are the same. */
EQUAL(sizeof(CUptiResult), sizeof(cupti_status));
EQUAL(sizeof(CUpti_ActivityKind), sizeof(uint32_t));
EQUAL(sizeof(CUpti_CallbackDomain), sizeof(uint32_t));
EQUAL(sizeof(CUpti_ExternalCorrelationKind), sizeof(uint32_t));

/* Those of older ones are compared by check_cupti_real.py, since not all are there. */
#if CUPTI_API_VERSION >= CUDA_13_0
#define RUNTIME(number, spelling, name, kind) EQUAL(number, CUPTI_RUNTIME_TRACE_CBID_##spelling);
CUPTI_RUNTIME_CALLS(RUNTIME)
#define DRIVER(number, spelling, name, kind) EQUAL(number, CUPTI_DRIVER_TRACE_CBID_##spelling);
CUPTI_DRIVER_CALLS(DRIVER)
#endif

/* ---- how long records are ---- */

static void test_abi__records_are_as_long_as_the_versions_structs(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind, version;
        size_t bytes;
    } known[] = {
        {CUPTI_KIND_RUNTIME, 13, sizeof(CUpti_ActivityAPI)},
        {CUPTI_KIND_DRIVER, 130000, sizeof(CUpti_ActivityAPI)},
        {CUPTI_KIND_CONCURRENT_KERNEL, 13, sizeof(CUpti_ActivityKernel5)},
        {CUPTI_KIND_CONCURRENT_KERNEL, 16, sizeof(CUpti_ActivityKernel6)},
        {CUPTI_KIND_CONCURRENT_KERNEL, 17, sizeof(CUpti_ActivityKernel7)},
        {CUPTI_KIND_CONCURRENT_KERNEL, 18, sizeof(CUpti_ActivityKernel8)},
#if CUPTI_API_VERSION >= CUDA_12_9
        {CUPTI_KIND_CONCURRENT_KERNEL, 28, sizeof(CUpti_ActivityKernel9)},
#endif
#if CUPTI_API_VERSION >= CUDA_13_0
        {CUPTI_KIND_CONCURRENT_KERNEL, 130001, sizeof(CUpti_ActivityKernel10)},
#endif
        {CUPTI_KIND_MEMCPY, 13, sizeof(CUpti_ActivityMemcpy3)},
        {CUPTI_KIND_MEMCPY, 14, sizeof(CUpti_ActivityMemcpy4)},
        {CUPTI_KIND_MEMCPY, 24, sizeof(CUpti_ActivityMemcpy5)},
#if CUPTI_API_VERSION >= CUDA_12_9
        {CUPTI_KIND_MEMCPY, 26, sizeof(CUpti_ActivityMemcpy6)},
#endif
        {CUPTI_KIND_MEMCPY2, 13, sizeof(CUpti_ActivityMemcpyPtoP2)},
        {CUPTI_KIND_MEMCPY2, 16, sizeof(CUpti_ActivityMemcpyPtoP3)},
        {CUPTI_KIND_MEMCPY2, 17, sizeof(CUpti_ActivityMemcpyPtoP4)},
        {CUPTI_KIND_MEMSET, 13, sizeof(CUpti_ActivityMemset2)},
        {CUPTI_KIND_MEMSET, 16, sizeof(CUpti_ActivityMemset3)},
        {CUPTI_KIND_MEMSET, 17, sizeof(CUpti_ActivityMemset4)},
        {CUPTI_KIND_SYNCHRONIZATION, 24, sizeof(CUpti_ActivitySynchronization)},
#if CUPTI_API_VERSION >= CUDA_12_9
        {CUPTI_KIND_SYNCHRONIZATION, 26, sizeof(CUpti_ActivitySynchronization2)},
#endif
        {CUPTI_KIND_OVERHEAD, 19, sizeof(CUpti_ActivityOverhead)},
#if CUPTI_API_VERSION >= CUDA_12_9
        {CUPTI_KIND_OVERHEAD, 20, sizeof(CUpti_ActivityOverhead2)},
#endif
        {CUPTI_KIND_EXTERNAL_CORRELATION, 13, sizeof(CUpti_ActivityExternalCorrelation)},
        {CUPTI_KIND_DEVICE, 16, sizeof(CUpti_ActivityDevice3)},
        {CUPTI_KIND_DEVICE, 17, sizeof(CUpti_ActivityDevice4)},
        {CUPTI_KIND_CONTEXT, 13, sizeof(CUpti_ActivityContext)},
        {CUPTI_KIND_STREAM, 13, sizeof(CUpti_ActivityStream)},
        {CUPTI_KIND_NAME, 13, sizeof(CUpti_ActivityName)},
        {CUPTI_KIND_MARKER, 13, sizeof(CUpti_ActivityMarker2)},
        {CUPTI_KIND_MEMORY2, 14, 0},
        {CUPTI_KIND_MEMORY2, 15, sizeof(CUpti_ActivityMemory2)},
#if CUPTI_API_VERSION >= CUDA_12_9
        {CUPTI_KIND_MEMORY2, 24, sizeof(CUpti_ActivityMemory4)},
#endif
        {CUPTI_KIND_GRAPH_TRACE, 16, 0},
        {CUPTI_KIND_GRAPH_TRACE, 17, sizeof(CUpti_ActivityGraphTrace)},
        {CUPTI_KIND_KERNEL, 130001, 0},
        {4711, 130001, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(cupti_record_bytes(known[i].kind, known[i].version), known[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_abi__records_are_as_long_as_the_versions_structs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
