/* tables.c - the mapping of tables and columns of an Ascend database
 *
 * Format   hiascend.com, "Data in ascend_pytorch_profiler_{Rank_ID}.db" and "Description of .db Data Exported by
 *          msprof"; SCHEMA_VERSION 1.0.0 seen. MindStudio adds columns (depth, waitNs) and OVERLAP_ANALYSIS
 * Maps     tasks -> slices of streams; calls, operators, ranges -> slices of threads; collectives -> slices of their
 *          group; operators' memory -> "[memory]" instants; samples -> counters
 * Units    Unix ns
 * Shapes   n rows -> n events; connections -> flow points; lifetimes and ranges of two threads -> 2
 */
#include "format/ascend/ascend.h"

/* clang-format off */
static const sq_map_column common[] = {
    {"startNs", SQ_START}, {"timestampNs", SQ_START}, {"timestamp", SQ_START},
    {"endNs", SQ_END},
    {"name", SQ_NAME},
    {"globalTid", ASCEND_TID}, {"globalPid", ASCEND_PID},
    {"deviceId", ASCEND_DEVICE}, {"streamId", ASCEND_STREAM},
    {"connectionId", ASCEND_CONNECTION},
    {"depth", SQ_SKIP}, /* MindStudio's own: how deep slices nest */
    {0},
};

static const sq_map_column task[] = {
    {"globalTaskId", ASCEND_GLOBAL_TASK}, {"taskId", ASCEND_TASK_ID}, {"contextId", ASCEND_CONTEXT},
    {"taskType", ASCEND_TYPE}, {"modelId", ASCEND_ID},
    {0},
};
static const sq_map_column collective[] = {
    {"opName", SQ_NAME}, {"groupName", ASCEND_GROUP}, {"dataType", SQ_LABEL, "data type", "ENUM_HCCL_DATA_TYPE"},
    {"algType", SQ_STRING, "algorithm"}, {"opType", SQ_STRING, "op type"}, {"opId", SQ_ARG, "op id"},
    {"waitNs", SQ_ARG, "wait ns"},
    {0},
};
static const sq_map_column overlap[] = {{"id", SQ_SKIP}, {"type", ASCEND_TYPE}, {0}};
static const sq_map_column call[] = {{"type", SQ_LABEL, "level", "ENUM_API_TYPE"}, {0}};
static const sq_map_column op[] = {
    {"connectionId", ASCEND_CONNECTION}, {"type", ASCEND_TYPE}, {"callchainId", ASCEND_CHAIN},
    {"sequenceNumber", SQ_ARG, "Sequence number"}, {"fwdThreadId", SQ_ARG, "Fwd thread id"},
    {"inputDtypes", SQ_STRING, "Input type"}, {"inputShapes", SQ_STRING, "Input Dims"},
    {0},
};
static const sq_map_column range[] = {
    {"message", SQ_NAME}, {"eventType", ASCEND_TYPE}, {"rangeId", ASCEND_RANGE}, {"endGlobalTid", ASCEND_END_TID},
    {"domainId", ASCEND_DOMAIN}, {"category", SQ_ARG, "category"},
    {0},
};
static const sq_map_column step[] = {{"id", ASCEND_ID}, {0}};
static const sq_map_column counter[] = {
    {"hbmId", ASCEND_ID}, {"llcId", ASCEND_ID}, {"accId", ASCEND_ID}, {"coreId", ASCEND_ID}, {"cpuId", ASCEND_ID},
    {"funcId", ASCEND_ID}, {"cpuNo", ASCEND_ID}, {"moduleId", ASCEND_GROUP},
    {"type", ASCEND_TYPE}, {"mode", ASCEND_TYPE}, {"coreType", ASCEND_TYPE}, {"eventName", ASCEND_TYPE},
    {"component", ASCEND_TYPE}, {"streamPtr", ASCEND_ADDRESS},
    {0},
};
static const sq_map_column lifetime[] = {
    {"allocationTime", ASCEND_ALLOCATION}, {"releaseTime", ASCEND_RELEASE}, {"size", ASCEND_SIZE},
    {"allocationTotalAllocated", ASCEND_ALLOCATED}, {"allocationTotalReserved", ASCEND_RESERVED},
    {"streamPtr", ASCEND_STREAM},
    {"releaseTotalAllocated", ASCEND_RELEASE_ALLOCATED}, {"releaseTotalReserved", ASCEND_RELEASE_RESERVED},
    {0},
};
static const sq_map_column memory[] = {
    {"operatorName", SQ_NAME}, {"addr", ASCEND_ADDRESS}, {"type", ASCEND_TYPE}, {"size", ASCEND_SIZE},
    {"totalAllocate", ASCEND_ALLOCATED}, {"totalReserve", ASCEND_RESERVED}, {"component", SQ_STRING},
    {0},
};

#define COUNTER(table) {table, NULL, HD_KIND_COUNTER, 'C', counter, ascend_place_counter}
static const sq_map_table tables[] = {
    {"PYTORCH_API", "cpu_op", HD_KIND_SLICE, 'X', op, ascend_place_op},
    {"CANN_API", "cann_runtime", HD_KIND_SLICE, 'X', call, ascend_place_call},
    {"OSRT_API", "os_runtime_libraries", HD_KIND_SLICE, 'X', NULL, ascend_place_any},
    {"MSTX_EVENTS", "user_annotation", HD_KIND_SLICE, 'X', range, ascend_place_range},
    {"STEP_TIME", "user_annotation", HD_KIND_SLICE, 'X', step, ascend_place_step},
    {"TASK", "kernel", HD_KIND_SLICE, 'X', task, ascend_place_task},
    {"COMMUNICATION_OP", "gpu_user_annotation", HD_KIND_SLICE, 'X', collective, ascend_place_collective},
    {"OVERLAP_ANALYSIS", "gpu_user_annotation", HD_KIND_SLICE, 'X', overlap, ascend_place_overlap},
    {"OP_MEMORY", "cpu_instant_event", HD_KIND_INSTANT, 'i', lifetime, ascend_place_lifetime},
    {"NPU_OP_MEM", "cpu_instant_event", HD_KIND_INSTANT, 'i', memory, ascend_place_memory},
    COUNTER("MEMORY_RECORD"), COUNTER("NPU_MEM"), COUNTER("NPU_MODULE_MEM"), COUNTER("HBM"), COUNTER("DDR"),
    COUNTER("LLC"), COUNTER("AICORE_FREQ"), COUNTER("ACC_PMU"), COUNTER("SOC_BANDWIDTH_LEVEL"), COUNTER("QOS"),
    COUNTER("SAMPLE_PMU_TIMELINE"), COUNTER("PCIE"), COUNTER("HCCS"), COUNTER("NIC"), COUNTER("RoCE"),
    COUNTER("RoH"), COUNTER("NETDEV_STATS"), COUNTER("CPU_USAGE"), COUNTER("HOST_MEM_USAGE"),
    COUNTER("HOST_DISK_USAGE"), COUNTER("HOST_NETWORK_USAGE"),
    {0},
};
static const sq_map_table others = {NULL, NULL, HD_KIND_SLICE, 'X', NULL, ascend_place_any};
/* clang-format on */

/* nsys has none of these; TASK and OSRT_API would be too common. */
static const char *const tells[] = {"COMPUTE_TASK_INFO",
                                    "COMMUNICATION_TASK_INFO",
                                    "COMMUNICATION_OP",
                                    "CANN_API",
                                    "PYTORCH_API",
                                    "PYTORCH_CALLCHAINS",
                                    "ENUM_HCCL_DATA_TYPE",
                                    "RANK_DEVICE_MAP",
                                    "NPU_INFO",
                                    "MSTX_EVENTS",
                                    "TASK_PMU_INFO",
                                    NULL};
static const char *const looked_up[] = {"STRING_IDS",
                                        "ENUM_*",
                                        "COMPUTE_TASK_INFO",
                                        "COMMUNICATION_TASK_INFO",
                                        "COMMUNICATION_SCHEDULE_TASK_INFO",
                                        "MEMCPY_INFO",
                                        "TASK_PMU_INFO",
                                        "CONNECTION_IDS",
                                        "PYTORCH_CALLCHAINS",
                                        "connectionCats", /* the names of flows */
                                        NULL};

const hd_sql_mapping ascend_mapping = {
    .tells = tells,
    .tables = tables,
    .columns = common,
    .looked_up = looked_up,
    .others = &others,
    .take_times = ascend_take_times,
    .state_size = sizeof(ascend_state),
    .begin = ascend_begin,
    .finish = ascend_finish,
    .deinit = ascend_deinit,
};
