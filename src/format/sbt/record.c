/* record.c - the records of an SBT file as bytes, and the names of their types */
#include "format/sbt/sbt.h"

static const struct {
    const char *name, *category;
} types[SBT_TYPE_COUNT] = {
    [SBT_UNKNOWN] = {"Unknown", "unknown"},
    [SBT_KERNEL_LAUNCH] = {"KernelLaunch", "kernel"},
    [SBT_KERNEL_COMPLETE] = {"KernelComplete", "kernel"},
    [SBT_MEMCPY_H2D] = {"MemcpyH2D", "gpu_memcpy"},
    [SBT_MEMCPY_D2H] = {"MemcpyD2H", "gpu_memcpy"},
    [SBT_MEMCPY_D2D] = {"MemcpyD2D", "gpu_memcpy"},
    [SBT_MEMSET] = {"MemsetDevice", "gpu_memset"},
    [SBT_STREAM_SYNC] = {"StreamSync", "cuda_sync"},
    [SBT_DEVICE_SYNC] = {"DeviceSync", "cuda_sync"},
    [SBT_EVENT_RECORD] = {"EventRecord", "cuda_sync"},
    [SBT_EVENT_SYNC] = {"EventSync", "cuda_sync"},
    [SBT_STREAM_CREATE] = {"StreamCreate", "cuda_driver"},
    [SBT_STREAM_DESTROY] = {"StreamDestroy", "cuda_driver"},
    [SBT_CONTEXT_CREATE] = {"ContextCreate", "cuda_driver"},
    [SBT_CONTEXT_DESTROY] = {"ContextDestroy", "cuda_driver"},
    [SBT_MEM_ALLOC] = {"MemAlloc", "memory"},
    [SBT_MEM_FREE] = {"MemFree", "memory"},
    [SBT_MARKER] = {"Marker", "user_annotation"},
    [SBT_RANGE_START] = {"RangeStart", "user_annotation"},
    [SBT_RANGE_END] = {"RangeEnd", "user_annotation"},
    [SBT_NCCL_START] = {"NCCLStart", "nccl"},
    [SBT_NCCL_COMPLETE] = {"NCCLComplete", "nccl"},
};

const char *const sbt_file_members[6] = {"application", "command_line", "start", "end", "host", "pid"};

/* Kineto's names, if it has one. */
const char *const sbt_device_members[SBT_DEVICE_MEMBERS] = {
    "id",
    "name",
    "vendor",
    "computeMajor",
    "computeMinor",
    "totalGlobalMem",
    "memoryClockRate",
    "busWidth",
    "numSms",
    "maxThreadsPerMultiprocessor",
    "clockRate",
    "warpSize",
};

const char *sbt_type_name(unsigned type)
{
    if (type == SBT_CUSTOM) return "Custom";
    return type < SBT_TYPE_COUNT ? types[type].name : NULL;
}

int sbt_type_find(const char *name, size_t size)
{
    for (unsigned i = 0; i < SBT_TYPE_COUNT; i++) {
        if (strlen(types[i].name) == size && memcmp(types[i].name, name, size) == 0) return (int)i;
    }
    return size == 6 && memcmp(name, "Custom", 6) == 0 ? SBT_CUSTOM : -1;
}

const char *sbt_type_category(unsigned type)
{
    return type < SBT_TYPE_COUNT ? types[type].category : "custom";
}

bool sbt_record_read(sbt_record *out, hd_byte_reader *reader, uint64_t time)
{
    *out = (sbt_record){0};
    out->type = hd_byte_reader_u8(reader);
    out->flags = hd_byte_reader_u8(reader);
    out->time = time + hd_byte_reader_varint(reader);
    if (out->flags & SBT_HAS_DURATION) out->duration = hd_byte_reader_varint(reader);
    out->device = hd_byte_reader_varint(reader);
    out->stream = hd_byte_reader_varint(reader);
    out->correlation = hd_byte_reader_varint(reader);
    out->name = hd_byte_reader_varint(reader);
    for (int i = 0; i < SBT_KERNEL_VALUES && out->flags & SBT_HAS_KERNEL; i++)
        out->kernel[i] = hd_byte_reader_varint(reader);
    for (int i = 0; i < SBT_MEMORY_VALUES && out->flags & SBT_HAS_MEMORY; i++)
        out->memory[i] = hd_byte_reader_varint(reader);
    if (out->flags & SBT_HAS_STACK) {
        sbt_frame frame;
        out->thread = hd_byte_reader_varint(reader);
        out->frame_count = hd_byte_reader_varint(reader);
        out->frames = reader->at;
        for (uint64_t i = 0; i < out->frame_count && !reader->failed; i++) sbt_frame_read(&frame, reader);
    }
    return !reader->failed;
}

void sbt_frame_read(sbt_frame *out, hd_byte_reader *reader)
{
    out->address = hd_byte_reader_varint(reader);
    out->function = hd_byte_reader_varint(reader);
    out->file = hd_byte_reader_varint(reader);
    out->line = hd_byte_reader_varint(reader);
}

void sbt_record_write(hd_bytes *out, const sbt_record *record, uint64_t time)
{
    hd_bytes_put_u8(out, record->type);
    hd_bytes_put_u8(out, record->flags);
    hd_bytes_put_varint(out, record->time - time);
    if (record->flags & SBT_HAS_DURATION) hd_bytes_put_varint(out, record->duration);
    hd_bytes_put_varint(out, record->device);
    hd_bytes_put_varint(out, record->stream);
    hd_bytes_put_varint(out, record->correlation);
    hd_bytes_put_varint(out, record->name);
    for (int i = 0; i < SBT_KERNEL_VALUES && record->flags & SBT_HAS_KERNEL; i++)
        hd_bytes_put_varint(out, record->kernel[i]);
    for (int i = 0; i < SBT_MEMORY_VALUES && record->flags & SBT_HAS_MEMORY; i++)
        hd_bytes_put_varint(out, record->memory[i]);
    if (record->flags & SBT_HAS_STACK) {
        hd_bytes_put_varint(out, record->thread);
        hd_bytes_put_varint(out, record->frame_count);
    }
}
