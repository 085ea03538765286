/* rocpd.c - databases of ROCm 7: the mapping of tables and columns
 *
 * Format   github.com/ROCm/rocm-systems, projects/rocprofiler-sdk, source/share/rocprofiler-sdk-rocpd: rocpd_tables.sql
 *          and rocpd_tables_v4.sql; schema_version 3 and 4. No file of either is public
 * Maps     dispatches and copies -> slices of streams; regions -> slices of threads; allocations -> "[memory]"
 *          instants; samples -> counters. Tables are called rocpd_region_GUID; rocpd_region is a view, which is not
 *          used
 * Units    ns of the host's clock        Shapes   n rows -> n events
 */
#include "format/rocpd/rocpd.h"

/* clang-format off */
static const sq_map_column common[] = {
    {"id", SQ_SKIP}, {"guid", SQ_SKIP}, {"extdata", SQ_EXTRA},
    {"start", SQ_START}, {"timestamp", SQ_START}, {"end", SQ_END},
    {"start_id", ROCPD_START}, {"timestamp_id", ROCPD_START}, {"end_id", ROCPD_END},
    {"nid", ROCPD_NODE}, {"pid", ROCPD_PROCESS}, {"tid", ROCPD_THREAD}, {"agent_id", ROCPD_AGENT},
    {"queue_id", ROCPD_QUEUE}, {"stream_id", ROCPD_STREAM}, {"track_id", ROCPD_TRACK},
    {"event_id", ROCPD_EVENT}, {"name_id", ROCPD_NAME}, {"region_name_id", ROCPD_REGION},
    {0},
};
static const sq_map_column kernel[] = {
    {"kernel_id", ROCPD_KERNEL}, {"dispatch_id", SQ_ARG, "dispatch id"},
    {"private_segment_size", SQ_ARG, "private segment size"}, {"group_segment_size", SQ_ARG, "shared memory"},
    {"grid_size_x", ROCPD_X}, {"grid_size_y", ROCPD_Y}, {"grid_size_z", ROCPD_Z},
    {"workgroup_size_x", ROCPD_GROUP_X}, {"workgroup_size_y", ROCPD_GROUP_Y}, {"workgroup_size_z", ROCPD_GROUP_Z},
    {0},
};
static const sq_map_column copy[] = {
    {"dst_agent_id", ROCPD_TO_AGENT}, {"src_agent_id", ROCPD_FROM_AGENT}, {"size", SQ_ARG, "bytes"},
    {"dst_address", SQ_ARG, "destination"}, {"src_address", SQ_ARG, "source"},
    {0},
};
static const sq_map_column memory[] = {
    {"type", ROCPD_TYPE}, {"level", SQ_ARG}, {"address", ROCPD_ADDRESS}, {"size", ROCPD_SIZE},
    {0},
};

static const sq_map_table tables[] = {
    {"rocpd_region#", "region", HD_KIND_SLICE, 'X', NULL, rocpd_place_region},
    {"rocpd_kernel_dispatch#", "kernel", HD_KIND_SLICE, 'X', kernel, rocpd_place_kernel},
    {"rocpd_memory_copy#", "gpu_memcpy", HD_KIND_SLICE, 'X', copy, rocpd_place_copy},
    {"rocpd_memory_allocate#", "cpu_instant_event", HD_KIND_INSTANT, 'i', memory, rocpd_place_memory},
    {"rocpd_sample#", "sample", HD_KIND_COUNTER, 'C', NULL, rocpd_place_sample},
    {0},
};
static const sq_map_table others = {NULL, NULL, HD_KIND_SLICE, 'X', NULL, rocpd_place_any};
/* clang-format on */

static const char *const tells[] = {"rocpd_info_node#",
                                    "rocpd_info_agent#",
                                    "rocpd_info_process#",
                                    "rocpd_region#",
                                    "rocpd_event#",
                                    "rocpd_kernel_dispatch#",
                                    NULL};
static const char *const looked_up[] = {"rocpd_string#",     "rocpd_event#",
                                        "rocpd_arg#",        "rocpd_pmc_event#",
                                        "rocpd_timestamp#",  "rocpd_track#",
                                        "rocpd_info_pc#",    "rocpd_info_kernel_symbol#",
                                        "rocpd_call_stack#", NULL};

static const hd_sql_mapping mapping = {
    .tells = tells,
    .tables = tables,
    .columns = common,
    .looked_up = looked_up,
    .others = &others,
    .scope = rocpd_scope,
    .take_times = rocpd_take_times,
    .state_size = sizeof(rocpd_state),
    .begin = rocpd_begin,
    .finish = rocpd_finish,
    .deinit = rocpd_deinit,
};

const hd_format hd_rocpd_format = {
    .info = {.name = "rocpd",
             .title = "ROCm 7's database (rocprofv3, rocprof-sys)",
             .extensions = ".db",
             .reads = true,
             .keeps = "everything",
             .loses = "strings, kernels and arguments that no event has"},
    .sniff = sq_sniff,
    .mapping = &mapping,
};
