/* names.c - fields, types, names of calls */
#include "heddle/names.h"

#include <assert.h>

#include "format/cupti/cupti.h"

/* ---- fields ---- */

typedef struct field_name {
    const char *key;
    cupti_field field;
} field_name;

static const char *const arguments[CUPTI_FIELDS] = {
    [CUPTI_TYPE] = "type",
    [CUPTI_NAME] = "name",
    [CUPTI_START] = "start",
    [CUPTI_END] = "end",
    [CUPTI_DURATION] = "duration",
    [CUPTI_TIMESTAMP] = "timestamp",
    [CUPTI_CORRELATION] = "correlation",
    [CUPTI_DEVICE] = "device",
    [CUPTI_STREAM] = "stream",
    [CUPTI_CONTEXT] = "context",
    [CUPTI_GRAPH] = "graph id",
    [CUPTI_GRAPH_NODE] = "graph node id",
    [CUPTI_SIZE] = "bytes",
    [CUPTI_CBID] = "cbid",
    [CUPTI_PROCESS] = "processId",
    [CUPTI_THREAD] = "threadId",
    [CUPTI_SHARED] = "shared memory",
    [CUPTI_COPY_KIND] = "copyKind",
    [CUPTI_SOURCE_KIND] = "srcKind",
    [CUPTI_TARGET_KIND] = "dstKind",
    [CUPTI_MEMORY_KIND] = "memoryKind",
    [CUPTI_OPERATION] = "memoryOperation",
    [CUPTI_OVERHEAD_KIND] = "overheadKind",
    [CUPTI_OBJECT_KIND] = "objectKind",
    [CUPTI_OBJECT] = "objectId",
};

const char *cupti_field_argument(cupti_field field)
{
    return arguments[field];
}

/* By the length of the key, so that a look-up compares one or two. */
static const field_name by_size[][8] = {
    [2] = {{"id", CUPTI_OBJECT}},
    [3] = {{"end", CUPTI_END}},
    [4] = {{"type", CUPTI_TYPE}, {"name", CUPTI_NAME}, {"size", CUPTI_SIZE}, {"cbid", CUPTI_CBID}},
    [5] = {{"start", CUPTI_START}, {"bytes", CUPTI_SIZE}},
    [7] = {{"graphId", CUPTI_GRAPH}, {"srcKind", CUPTI_SOURCE_KIND}, {"dstKind", CUPTI_TARGET_KIND}},
    [8] = {{"deviceId", CUPTI_DEVICE},
           {"streamId", CUPTI_STREAM},
           {"duration", CUPTI_DURATION},
           {"threadId", CUPTI_THREAD},
           {"copyKind", CUPTI_COPY_KIND},
           {"objectId", CUPTI_OBJECT}},
    [9] = {{"processId", CUPTI_PROCESS}, {"contextId", CUPTI_CONTEXT}, {"timestamp", CUPTI_TIMESTAMP}},
    [10] = {{"memoryKind", CUPTI_MEMORY_KIND}, {"objectKind", CUPTI_OBJECT_KIND}},
    [11] = {{"graphNodeId", CUPTI_GRAPH_NODE}},
    [12] = {{"sharedMemory", CUPTI_SHARED}, {"overheadKind", CUPTI_OVERHEAD_KIND}},
    [13] = {{"correlationId", CUPTI_CORRELATION}},
    [14] = {{"correlation id", CUPTI_CORRELATION}},
    [15] = {{"memoryOperation", CUPTI_OPERATION}},
    [19] = {{"memoryOperationType", CUPTI_OPERATION}},
};

cupti_field cupti_find_field(const char *key, size_t size)
{
    if (size >= sizeof by_size / sizeof *by_size) return CUPTI_OTHER;
    for (const field_name *f = by_size[size]; f < by_size[size] + 8 && f->key; f++) {
        if (memcmp(f->key, key, size) == 0) return f->field;
    }
    return CUPTI_OTHER;
}

int cupti_find_event_key(const char *key, size_t size)
{
    static_assert(CUPTI_FIELDS - 1 <= HD_EVENT_KEY_MAX, "all fields have a number");
    return (int)cupti_find_field(key, size);
}

/* ---- types ---- */

cupti_type cupti_find_type(const char *data, size_t size)
{
    static const struct {
        const char *name;
        cupti_type type;
    } types[] = {
        {"CONCURRENT_KERNEL", CUPTI_KERNEL},
        {"RUNTIME", CUPTI_RUNTIME},
        {"DRIVER", CUPTI_DRIVER},
        {"KERNEL", CUPTI_KERNEL},
        {"MEMCPY", CUPTI_MEMCPY},
        {"MEMCPY2", CUPTI_MEMCPY},
        {"MEMCPY_PTOP", CUPTI_MEMCPY},
        {"MEMSET", CUPTI_MEMSET},
        {"MEMORY2", CUPTI_MEMORY},
        {"MEMORY", CUPTI_MEMORY},
        {"OVERHEAD", CUPTI_OVERHEAD},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strlen(types[i].name) == size && memcmp(types[i].name, data, size) == 0) return types[i].type;
    }
    return CUPTI_UNKNOWN;
}

/* ---- names of calls ---- */

/* Callback ids as traces of Kineto and of NVIDIA's samples pair them with names. */
const char *cupti_call_name(cupti_type type, int64_t cbid)
{
    static const struct {
        int64_t cbid;
        const char *name;
    } runtime[] =
        {
            {3, "cudaGetDeviceCount"},
            {10, "cudaGetLastError"},
            {11, "cudaPeekAtLastError"},
            {16, "cudaSetDevice"},
            {20, "cudaMalloc"},
            {22, "cudaFree"},
            {27, "cudaHostAlloc"},
            {31, "cudaMemcpy"},
            {41, "cudaMemcpyAsync"},
            {51, "cudaMemsetAsync"},
            {131, "cudaStreamSynchronize"},
            {135, "cudaEventRecord"},
            {137, "cudaEventSynchronize"},
            {138, "cudaEventQuery"},
            {147, "cudaStreamWaitEvent"},
            {165, "cudaDeviceSynchronize"},
            {211, "cudaLaunchKernel"},
            {311, "cudaGraphLaunch"},
            {430, "cudaLaunchKernelExC"},
        },
      driver[] = {
          {303, "cuCtxSetCurrent"},  {307, "cuLaunchKernel"},  {514, "cuGraphLaunch"},
          {652, "cuLaunchKernelEx"}, {719, "cuKernelGetName"},
      };
    for (size_t i = 0; type == CUPTI_RUNTIME && i < sizeof runtime / sizeof *runtime; i++) {
        if (runtime[i].cbid == cbid) return runtime[i].name;
    }
    for (size_t i = 0; type == CUPTI_DRIVER && i < sizeof driver / sizeof *driver; i++) {
        if (driver[i].cbid == cbid) return driver[i].name;
    }
    return NULL;
}

static uint32_t shown(cupti_parser *p, cupti_type type, hd_string name)
{
    if (type != CUPTI_KERNEL) {
        hd_string call = hd_name_without_version(name);
        return hd_builder_intern(p->builder, call.data, call.size);
    }
    char out[HD_NAME_BYTES];
    return hd_builder_intern(p->builder, out, hd_name_demangle(out, name));
}

uint32_t cupti_shown_name(cupti_parser *p, cupti_type type, hd_string name, uint32_t *out_raw)
{
    *out_raw = hd_builder_intern(p->builder, name.data, name.size);
    bool may_differ = type == CUPTI_KERNEL ? name.size > 2 && memcmp(name.data, "_Z", 2) == 0 : type == CUPTI_RUNTIME;
    if (!may_differ) return *out_raw;
    cupti_named *slot = &p->names[*out_raw % CUPTI_NAME_SLOTS];
    if (slot->from != *out_raw || slot->type != type)
        *slot = (cupti_named){.from = *out_raw, .to = shown(p, type, name), .type = type};
    return slot->to;
}

size_t cupti_words(char *out, size_t capacity, hd_string name)
{
    bool is_first = true;
    size_t size = name.size < capacity ? name.size : capacity;
    for (size_t i = 0; i < size; i++) {
        char c = name.data[i];
        out[i] = c == '_' ? ' ' : (!is_first && c >= 'A' && c <= 'Z') ? (char)(c | 0x20) : c;
        is_first = c == '_';
    }
    return size;
}
