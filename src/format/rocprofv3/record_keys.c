/* record_keys.c - the members of JSON records and the columns of CSVs, side by side */
#include "format/rocprofv3/rocprofv3.h"

/* A word, or that there is none, which is as long as no word. */
#define W(text)                                                                                                        \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }
#define NONE                                                                                                           \
    {                                                                                                                  \
        NULL, SIZE_MAX                                                                                                 \
    }

/* clang-format off */
static const struct record_key {
    hd_json_span parent, json, csv;
    rocprof_field field;
    const char *argument;            /* NULL: its own name, or that of the field */
} record_keys[] = {
    {W(""), W("kind"), W("Kind"), ROCPROF_KIND, NULL},
    {NONE, NONE, W("Domain"), ROCPROF_KIND, NULL},
    {W(""), W("operation"), W("Operation"), ROCPROF_OPERATION, NULL},
    {NONE, NONE, W("Function"), ROCPROF_OPERATION, NULL},
    {NONE, NONE, W("Direction"), ROCPROF_OPERATION, NULL},
    {W(""), W("thread_id"), W("Thread_Id"), ROCPROF_THREAD, NULL},
    {W("correlation_id"), W("internal"), W("Correlation_Id"), ROCPROF_CORRELATION, NULL},
    {W("corr_id"), W("internal"), NONE, ROCPROF_CORRELATION, NULL},
    {W("correlation_id"), W("external"), NONE, ROCPROF_EXTERNAL, NULL},
    {W("corr_id"), W("external"), NONE, ROCPROF_EXTERNAL, NULL},
    {W(""), W("start_timestamp"), W("Start_Timestamp"), ROCPROF_START, NULL},
    {W(""), W("end_timestamp"), W("End_Timestamp"), ROCPROF_END, NULL},
    {W(""), W("timestamp"), W("Sample_Timestamp"), ROCPROF_START, NULL},
    {W("agent_id"), W("handle"), W("Agent_Id"), ROCPROF_AGENT, NULL},
    {W("queue_id"), W("handle"), W("Queue_Id"), ROCPROF_QUEUE, NULL},
    {W(""), W("queue_id"), NONE, ROCPROF_QUEUE, NULL},
    {W(""), W("kernel_id"), W("Kernel_Id"), ROCPROF_KERNEL, NULL},
    {W(""), W("dispatch_id"), W("Dispatch_Id"), ROCPROF_DISPATCH, NULL},
    {W("workgroup_size"), W("x"), W("Workgroup_Size_X"), ROCPROF_BLOCK_X, NULL},
    {W("workgroup_size"), W("y"), W("Workgroup_Size_Y"), ROCPROF_BLOCK_Y, NULL},
    {W("workgroup_size"), W("z"), W("Workgroup_Size_Z"), ROCPROF_BLOCK_Z, NULL},
    {W("grid_size"), W("x"), W("Grid_Size_X"), ROCPROF_GRID_X, NULL},
    {W("grid_size"), W("y"), W("Grid_Size_Y"), ROCPROF_GRID_Y, NULL},
    {W("grid_size"), W("z"), W("Grid_Size_Z"), ROCPROF_GRID_Z, NULL},
    {W("stream_id"), W("handle"), W("Stream_Id"), ROCPROF_STREAM, NULL},
    {W("src_agent_id"), W("handle"), W("Source_Agent_Id"), ROCPROF_SOURCE, NULL},
    {W("dst_agent_id"), W("handle"), W("Destination_Agent_Id"), ROCPROF_TARGET, NULL},
    {W(""), W("bytes"), W("Bytes"), ROCPROF_BYTES, NULL},
    {W(""), W("allocation_size"), W("Allocation_Size"), ROCPROF_BYTES, NULL},
    {W(""), W("address"), W("Address"), ROCPROF_ADDRESS, NULL},
    {W("address"), W("handle"), NONE, ROCPROF_ADDRESS, NULL},
    {NONE, NONE, W("Process_Id"), ROCPROF_PROCESS, NULL},
    {NONE, NONE, W("Kernel_Name"), ROCPROF_KERNEL_NAME, NULL},
    {NONE, NONE, W("Counter_Name"), ROCPROF_COUNTER_NAME, NULL},
    {W(""), W("group_segment_size"), W("LDS_Block_Size"), ROCPROF_SHARED, NULL},
    {W(""), W("private_segment_size"), W("Scratch_Size"), ROCPROF_ARG, "scratch_size"},
    {NONE, NONE, W("VGPR_Count"), ROCPROF_REGISTERS, NULL},
    {W(""), W("accum_vgpr_count"), W("Accum_VGPR_Count"), ROCPROF_ARG, "accum_vgpr_count"},
    {W(""), W("sgpr_count"), W("SGPR_Count"), ROCPROF_ARG, "sgpr_count"},
    {W(""), W("flags"), W("Alloc_Flags"), ROCPROF_ARG, "flags"},
    {W(""), W("size"), NONE, ROCPROF_SKIP, NULL}, /* of the structure */
};
/* clang-format on */
enum { KEYS = sizeof record_keys / sizeof *record_keys };

static bool is(hd_json_span text, const hd_json_span *word)
{
    return word->size == text.size && memcmp(text.data, word->data, text.size) == 0;
}

bool rocprof_is_group(hd_json_span key)
{
    return hd_json_span_is(key, "dispatch_info") || hd_json_span_is(key, "dispatch_data") ||
           hd_json_span_is(key, "record");
}

rocprof_field rocprof_json_field(const char **out_key, hd_json_span parent, hd_json_span key)
{
    if (rocprof_is_group(parent)) parent.size = 0;
    *out_key = NULL;
    for (size_t i = 0; i < KEYS; i++) {
        const struct record_key *k = &record_keys[i];
        if (!is(key, &k->json) || !is(parent, &k->parent)) continue;
        *out_key = k->argument;
        return k->field;
    }
    return ROCPROF_ARG;
}

rocprof_field rocprof_csv_field(const char **out_key, const char *column, size_t size)
{
    *out_key = NULL;
    for (size_t i = 0; i < KEYS; i++) {
        if (!is((hd_json_span){column, size}, &record_keys[i].csv)) continue;
        *out_key = record_keys[i].argument;
        return record_keys[i].field;
    }
    return ROCPROF_ARG;
}
