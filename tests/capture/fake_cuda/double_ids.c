/* double_ids.c - TEST DOUBLE: libcupti.so.13: ids of threads, contexts, streams, nodes, of the program's own; texts */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "double_cupti.h"

enum { EXTERNALS = 16 };

typedef struct external_stack {
    uint64_t ids[EXTERNALS];
    uint32_t depth;
} external_stack;

static _Thread_local external_stack externals[CUPTI_EXTERNAL_KINDS];
static atomic_uint thread_id_type;

uint32_t double_this_thread(void)
{
    bool is_system = atomic_load(&thread_id_type) == CUPTI_THREAD_ID_SYSTEM && !double_script_get()->pthread_ids;
    return is_system ? (uint32_t)syscall(SYS_gettid) : (uint32_t)(uintptr_t)pthread_self();
}

void double_add_externals(uint32_t correlation)
{
    for (uint32_t i = 0; i < CUPTI_EXTERNAL_KINDS; i++) {
        if (!externals[i].depth || !double_kind_is_on(CUPTI_KIND_EXTERNAL_CORRELATION)) continue;
        double_record record = {.as.external = {CUPTI_KIND_EXTERNAL_CORRELATION, i,
                                                externals[i].ids[externals[i].depth - 1], correlation, 0},
                                .name = "external"};
        double_buffers_add(&record);
    }
}

DOUBLE_EXPORT cupti_status cuptiActivityPushExternalCorrelationId(uint32_t source, uint64_t id)
{
    FUNCTION(false);
    if (source >= CUPTI_EXTERNAL_KINDS || externals[source].depth == EXTERNALS) return CUPTI_BAD_PARAMETER;
    externals[source].ids[externals[source].depth++] = id;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiActivityPopExternalCorrelationId(uint32_t source, uint64_t *id)
{
    FUNCTION(false);
    if (source >= CUPTI_EXTERNAL_KINDS || !externals[source].depth) return 18; /* the queue is empty */
    uint64_t last = externals[source].ids[--externals[source].depth];
    if (id) *id = last;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiSetThreadIdType(uint32_t type)
{
    FUNCTION(false);
    if (type > CUPTI_THREAD_ID_SYSTEM) return CUPTI_BAD_PARAMETER;
    atomic_store(&thread_id_type, type);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetThreadIdType(uint32_t *type)
{
    FUNCTION(false);
    *type = double_script_get()->pthread_ids ? CUPTI_THREAD_ID_PTHREAD : atomic_load(&thread_id_type);
    return CUPTI_OK;
}

/* Of the script, unless a file next to the library has it: libcupti.so.13.version. */
DOUBLE_EXPORT cupti_status cuptiGetVersion(uint32_t *version)
{
    FUNCTION(false);
    Dl_info info;
    char path[4096];
    *version = double_script_get()->version;
    if (!dladdr((void *)&thread_id_type, &info)) return CUPTI_OK;
    snprintf(path, sizeof path, "%s.version", info.dli_fname);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%u", version) != 1) double_misuse("%s has no version", path);
    if (file) fclose(file);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetResultString(cupti_status status, const char **text)
{
    static const char *names[] = {"CUPTI_SUCCESS", "CUPTI_ERROR_INVALID_PARAMETER", "CUPTI_ERROR_INVALID_DEVICE"};
    *text = status >= 0 && status < 3          ? names[status]
            : status == CUPTI_OTHER_SUBSCRIBER ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : status == CUPTI_NO_PRIVILEGES    ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                               : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetContextId(void *context, uint32_t *id)
{
    FUNCTION(false);
    *id = ((double_context *)context)->id;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetDeviceId(void *context, uint32_t *id)
{
    FUNCTION(false);
    *id = ((double_context *)context)->device;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    FUNCTION(false);
    (void)per_thread;
    *id = stream ? ((double_stream *)stream)->id : ((double_context *)context)->null_stream->id;
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    FUNCTION(false);
    *id = double_node_id(node);
    return CUPTI_OK;
}

DOUBLE_EXPORT cupti_status cuptiGetGraphId(void *graph, uint32_t *id)
{
    FUNCTION(false);
    *id = double_graph_id(graph);
    return CUPTI_OK;
}

#ifndef DOUBLE_OLD
DOUBLE_EXPORT cupti_status cuptiGetGraphExecId(void *exec, uint32_t *id)
{
    FUNCTION(false);
    *id = double_exec_id(exec);
    return CUPTI_OK;
}
#endif
