/* tables.c - the mapping of tables and columns of an nsys export
 *
 * Format   docs.nvidia.com/nsight-systems, "SQLite Schema Reference"; EXPORT_SCHEMA_VERSION 2.x to 3.25 seen
 * Maps     kernels, copies, memsets, graphs -> slices of streams; calls, OS runtime, overhead, NVTX -> slices of
 *          threads; waits -> slices of a track next to the streams; memory -> "[memory]" instants; samples -> stack
 *          samples; scheduling -> slices of CPUs; GPU metrics -> counters; all other tables with times by their columns
 * Units    ns from the session's start        Shapes   n rows -> n events; a start/end range of NVTX -> 2
 */
#include "format/nsys/nsys.h"

/* clang-format off */
static const sq_map_column common[] = {
    {"start", SQ_START, NULL},
    {"timestamp", SQ_START, NULL},
    {"end", SQ_END, NULL},
    {"globalTid", NSYS_TID, NULL},
    {"globalPid", NSYS_PID, NULL},
    {"deviceId", NSYS_DEVICE, NULL},
    {"contextId", NSYS_CONTEXT, NULL},
    {"streamId", NSYS_STREAM, NULL},
    {"correlationId", NSYS_CORRELATION, NULL},
    {"nameId", NSYS_NAME, NULL},
    {"textId", NSYS_NAME, NULL},
    {"text", NSYS_TEXT, NULL},
    {"name", NSYS_TEXT, NULL},
    {"graphNodeId", SQ_ARG, "graph node id"},
    {"graphId", SQ_ARG, "graph id"},
    {"callchainId", NSYS_CHAIN, NULL},
    {"bytes", SQ_ARG, "bytes"},
    {"eventClass", SQ_SKIP, NULL}, /* the table says the same */
    {0},
};

static const sq_map_column kernel[] = {
    {"demangledName", NSYS_NAME, NULL},
    {"shortName", SQ_STRING, NULL},
    {"mangledName", SQ_STRING, "mangled"},
    {"registersPerThread", SQ_ARG, "registers per thread"},
    {"gridX", NSYS_X, NULL}, {"gridY", NSYS_Y, NULL}, {"gridZ", NSYS_Z, NULL},
    {"blockX", NSYS_BLOCK_X, NULL}, {"blockY", NSYS_BLOCK_Y, NULL}, {"blockZ", NSYS_BLOCK_Z, NULL},
    {"staticSharedMemory", NSYS_STATIC, NULL},
    {"dynamicSharedMemory", NSYS_DYNAMIC, NULL},
    {0},
};
static const sq_map_column copy[] = {
    {"copyKind", NSYS_KIND, NULL}, {"srcKind", NSYS_FROM, NULL}, {"dstKind", NSYS_TO, NULL},
    {0},
};
static const sq_map_column set[] = {{"memKind", NSYS_FROM, NULL}, {0}};
static const sq_map_column wait[] = {{"syncType", NSYS_KIND, NULL}, {0}};
static const sq_map_column overhead[] = {{"overheadType", NSYS_KIND, NULL}, {0}};
static const sq_map_column nvtx[] = {
    {"eventType", NSYS_KIND, NULL},
    {"endGlobalTid", NSYS_END_TID, NULL},
    {"domainId", NSYS_DOMAIN, NULL},
    {"category", NSYS_CATEGORY, NULL},
    {"rangeId", NSYS_FROM, NULL},
    {"jsonTextId", SQ_STRING, "json"},
    {"binaryData", NSYS_PAYLOAD, NULL},
    {0},
};
static const sq_map_column memory[] = {
    {"address", NSYS_FROM, NULL}, {"bytes", NSYS_TO, NULL},
    {"memKind", NSYS_X, NULL}, {"memoryOperationType", NSYS_KIND, NULL},
    {0},
};
static const sq_map_column sample[] = {{"id", NSYS_CHAIN, NULL}, {"threadState", NSYS_KIND, NULL}, {0}};
static const sq_map_column change[] = {{"cpu", NSYS_X, NULL}, {"isSchedIn", NSYS_KIND, NULL}, {0}};
static const sq_map_column metric[] = {
    {"typeId", NSYS_FROM, NULL}, {"metricId", NSYS_KIND, NULL}, {"rawTimestamp", SQ_SKIP, NULL}, {0},
};
static const sq_map_column diagnostic[] = {{"timestampType", SQ_ARG, NULL}, {0}};

static const sq_map_table tables[] = {
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime", HD_KIND_SLICE, 'X', NULL, nsys_place_call},
    {"CUPTI_ACTIVITY_KIND_DRIVER", "cuda_driver", HD_KIND_SLICE, 'X', NULL, nsys_place_call},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "kernel", HD_KIND_SLICE, 'X', kernel, nsys_place_kernel},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph_trace", HD_KIND_SLICE, 'X', NULL, nsys_place_graph},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy", HD_KIND_SLICE, 'X', copy, nsys_place_copy},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset", HD_KIND_SLICE, 'X', set, nsys_place_set},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "cuda_sync", HD_KIND_SLICE, 'X', wait, nsys_place_wait},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "cuda_event", HD_KIND_INSTANT, 'i', NULL, nsys_place_any},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "overhead", HD_KIND_SLICE, 'X', overhead, nsys_place_overhead},
    {"PROFILER_OVERHEAD", "overhead", HD_KIND_SLICE, 'X', overhead, nsys_place_overhead},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", "cpu_instant_event", HD_KIND_INSTANT, 'i', memory, nsys_place_memory},
    {"NVTX_EVENTS", "user_annotation", HD_KIND_SLICE, 'X', nvtx, nsys_place_nvtx},
    {"OSRT_API", "os_runtime", HD_KIND_SLICE, 'X', NULL, nsys_place_thread},
    {"CUBLAS_EVENTS", "cublas", HD_KIND_SLICE, 'X', NULL, nsys_place_thread},
    {"CUDNN_EVENTS", "cudnn", HD_KIND_SLICE, 'X', NULL, nsys_place_thread},
    {"MPI_*", "mpi", HD_KIND_SLICE, 'X', NULL, nsys_place_any},
    {"COMPOSITE_EVENTS", "sample", HD_KIND_SAMPLE, 'P', sample, nsys_place_sample},
    {"SCHED_EVENTS", "sched", HD_KIND_SLICE, 'B', change, nsys_place_switch},
    {"GPU_METRICS", "gpu_metrics", HD_KIND_COUNTER, 'C', metric, nsys_place_metric},
    {"CUDA_GRAPH_NODE_EVENTS", "cuda_graph_node", HD_KIND_SLICE, 'X', NULL, nsys_place_thread},
    {"DIAGNOSTIC_EVENT", "diagnostic", HD_KIND_INSTANT, 'i', diagnostic, nsys_place_any},
    {0},
};
static const sq_map_table others = {NULL, NULL, HD_KIND_SLICE, 'X', NULL, nsys_place_any};
/* clang-format on */

static const char *const tells[] = {"TARGET_INFO_SESSION_START_TIME",
                                    "CUPTI_ACTIVITY_KIND_*",
                                    "NVTX_EVENTS",
                                    "META_DATA_EXPORT",
                                    "EXPORT_META_DATA",
                                    "OSRT_API",
                                    NULL};
static const char *const looked_up[] = {"StringIds",
                                        "ENUM_*",
                                        "UnwindMethodType",
                                        "SAMPLING_CALLCHAINS",
                                        "OSRT_CALLCHAINS",
                                        "CUDA_CALLCHAINS",
                                        "NVTX_PAYLOAD_*",
                                        "TARGET_INFO_GPU_METRICS",
                                        "ThreadNames",
                                        "PROCESSES",
                                        NULL};

const hd_sql_mapping nsys_mapping = {
    .tells = tells,
    .tables = tables,
    .columns = common,
    .looked_up = looked_up,
    .others = &others,
    .state_size = sizeof(nsys_state),
    .begin = nsys_begin,
    .finish = nsys_finish,
    .deinit = nsys_deinit,
};
