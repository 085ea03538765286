/* abi.h - the part of CUPTI's binary interface that the tracer uses, in our own words
 *
 * Heddle is built without CUDA's headers, and the library is found at run time, in the version that the program has. So
 * this file declares what is the same in all versions from CUDA 11.0 (API version 13) to 13.x, and later additions with
 * the version that added them. Checked against the real headers, where there are any, by
 * tests/capture/test_cupti_abi.c.
 *
 * Records: records.h. Times are ns on CUPTI's clock (cuptiGetTimestamp); 0 is unknown. Names belong to CUPTI and are
 * never freed.
 */
#ifndef HD_CAPTURE_CUDA_CUPTI_ABI_H
#define HD_CAPTURE_CUDA_CUPTI_ABI_H

#include "capture/cuda/cupti/records.h"

enum { CUPTI_VERSION_OLDEST = 13 }; /* of cuptiGetVersion: older versions have other records */

/* ---- results ---- */

typedef int cupti_status;

enum {
    CUPTI_OK = 0,
    CUPTI_BAD_PARAMETER = 1,
    CUPTI_BAD_DEVICE = 2,
    CUPTI_BAD_CONTEXT = 3,
    CUPTI_BAD_OPERATION = 7,
    CUPTI_NO_MEMORY = 8,
    CUPTI_HARDWARE = 9,
    CUPTI_NOT_IMPLEMENTED = 11,
    CUPTI_LIMIT_REACHED = 12, /* end of a buffer: cuptiActivityGetNextRecord */
    CUPTI_NOT_READY = 13,
    CUPTI_NOT_COMPATIBLE = 14, /* the driver, or another kind that is on */
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_BAD_KIND = 21, /* of record: in a buffer, or to enable */
    CUPTI_HARDWARE_BUSY = 26,
    CUPTI_NOT_SUPPORTED = 27,
    CUPTI_VIRTUAL_DEVICE = 33,
    CUPTI_NO_PRIVILEGES = 35,
    CUPTI_OLD_PROFILER = 36,
    CUPTI_LEGACY_PROFILER = 38,
    CUPTI_OTHER_SUBSCRIBER = 39,
    CUPTI_VIRTUAL_PRIVILEGES = 40,
    CUPTI_CONFIDENTIAL = 41,
    CUPTI_CMP_DEVICE = 42,
    CUPTI_MIG_DEVICE = 43,
    CUPTI_SLI_DEVICE = 44,
    CUPTI_WSL_DEVICE = 45,
    CUPTI_UNKNOWN = 999,
};

/* ---- activity functions ---- */

/* Called by a thread of CUPTI to get a buffer: aligned to 8, preferably 1 to 10 MB; *records 0: as many as fit. *buffer
 * NULL: none, and records are dropped. A thread of CUPTI returns it with its first `valid` bytes filled. Neither may
 * call CUPTI, except the functions for reading a buffer. */
typedef void (*cupti_buffer_wanted)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*cupti_buffer_done)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t (*cupti_clock)(void);

enum {
    CUPTI_FLUSH_COMPLETED = 0, /* buffers with records that are complete */
    CUPTI_FLUSH_FORCED = 1,    /* all, incomplete records too */
};
enum { CUPTI_THREAD_ID_PTHREAD = 0, CUPTI_THREAD_ID_SYSTEM = 1 };
enum {
    CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE = 0, /* size_t, bytes */
    CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT = 2,
    CUPTI_ATTRIBUTE_ZEROED_BUFFERS = 5,       /* uint8_t: the buffers that we give are all 0 */
    CUPTI_ATTRIBUTE_DEVICE_BUFFERS_AHEAD = 6, /* size_t, how many */
    CUPTI_ATTRIBUTE_HOST_PINNED = 8,          /* uint8_t */
};

/* Named as the symbol that dlsym finds. */
typedef cupti_status (*cupti_fn_ActivityRegisterCallbacks)(cupti_buffer_wanted wanted, cupti_buffer_done done);
typedef cupti_status (*cupti_fn_ActivityEnable)(uint32_t kind);
typedef cupti_status (*cupti_fn_ActivityDisable)(uint32_t kind);
typedef cupti_status (*cupti_fn_ActivityEnableRuntimeApi)(uint32_t call, uint8_t enable); /* since 18 or so */
typedef cupti_status (*cupti_fn_ActivityEnableDriverApi)(uint32_t call, uint8_t enable);  /* likewise */
typedef cupti_status (*cupti_fn_ActivityEnableAllSyncRecords)(uint8_t enable);            /* since 12.8 or so */
typedef cupti_status (*cupti_fn_ActivityFlushAll)(uint32_t flag);
typedef cupti_status (*cupti_fn_ActivityFlushPeriod)(uint32_t ms); /* since 14 */
/* *record: NULL for the first, then the one before. CUPTI_LIMIT_REACHED: no more; CUPTI_BAD_KIND: damaged. */
typedef cupti_status (*cupti_fn_ActivityGetNextRecord)(uint8_t *buffer, size_t valid, cupti_record **record);
typedef cupti_status (*cupti_fn_ActivityGetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
typedef cupti_status (*cupti_fn_ActivitySetAttribute)(uint32_t attribute, size_t *bytes, void *value);
typedef cupti_status (*cupti_fn_ActivityGetAttribute)(uint32_t attribute, size_t *bytes, void *value);
typedef cupti_status (*cupti_fn_ActivityRegisterTimestampCallback)(cupti_clock clock); /* since 18 */
typedef cupti_status (*cupti_fn_ActivityEnableLatencyTimestamps)(uint8_t enable);
typedef cupti_status (*cupti_fn_ActivityPushExternalCorrelationId)(uint32_t source, uint64_t id);
typedef cupti_status (*cupti_fn_ActivityPopExternalCorrelationId)(uint32_t source, uint64_t *id);
typedef cupti_status (*cupti_fn_GetTimestamp)(uint64_t *ns);
typedef cupti_status (*cupti_fn_SetThreadIdType)(uint32_t type);
typedef cupti_status (*cupti_fn_GetThreadIdType)(uint32_t *type);
typedef cupti_status (*cupti_fn_GetVersion)(uint32_t *version);
typedef cupti_status (*cupti_fn_GetResultString)(cupti_status status, const char **text);
typedef cupti_status (*cupti_fn_GetLastError)(void);
typedef cupti_status (*cupti_fn_GetContextId)(void *context, uint32_t *id);
typedef cupti_status (*cupti_fn_GetDeviceId)(void *context, uint32_t *id);
typedef cupti_status (*cupti_fn_GetStreamIdEx)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
typedef cupti_status (*cupti_fn_GetGraphId)(void *graph, uint32_t *id);          /* since 14 */
typedef cupti_status (*cupti_fn_GetGraphExecId)(void *graph_exec, uint32_t *id); /* younger */
typedef cupti_status (*cupti_fn_GetGraphNodeId)(void *node, uint64_t *id);
typedef cupti_status (*cupti_fn_Finalize)(void);

/* ---- callbacks ---- */

enum {
    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RUNTIME = 2,
    CUPTI_DOMAIN_RESOURCE = 3,
    CUPTI_DOMAIN_SYNCHRONIZE = 4,
    CUPTI_DOMAIN_NVTX = 5,
    CUPTI_DOMAIN_STATE = 6, /* since 20 or so */
};

/* Callbacks of CUPTI_DOMAIN_RESOURCE. */
enum {
    CUPTI_RESOURCE_CONTEXT_CREATED = 1,
    CUPTI_RESOURCE_CONTEXT_DESTROY = 2, /* and of the others that are to be destroyed: about to */
    CUPTI_RESOURCE_STREAM_CREATED = 3,
    CUPTI_RESOURCE_STREAM_DESTROY = 4,
    CUPTI_RESOURCE_INIT_FINISHED = 5, /* cuInit */
    CUPTI_RESOURCE_MODULE_LOADED = 6,
    CUPTI_RESOURCE_MODULE_UNLOAD = 7,
    CUPTI_RESOURCE_GRAPH_CREATED = 9,
    CUPTI_RESOURCE_GRAPH_DESTROY = 10,
    CUPTI_RESOURCE_GRAPH_CLONED = 11,
    CUPTI_RESOURCE_NODE_CREATED = 13,
    CUPTI_RESOURCE_NODE_DESTROY = 14,
    CUPTI_RESOURCE_EXEC_CREATE = 17, /* is about to be created */
    CUPTI_RESOURCE_EXEC_CREATED = 18,
    CUPTI_RESOURCE_EXEC_DESTROY = 19,
    CUPTI_RESOURCE_NODE_CLONED = 20,
};

enum { CUPTI_STATE_FATAL = 1, CUPTI_STATE_ERROR = 2, CUPTI_STATE_WARNING = 3 };
enum { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };

/* data is a cupti_call, cupti_resource or cupti_state, by the domain. */
typedef void (*cupti_callback)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef struct cupti_subscriber_of_library *cupti_subscriber;

/* Of CUPTI_DOMAIN_DRIVER and CUPTI_DOMAIN_RUNTIME. */
typedef struct cupti_call {
    uint32_t site;
    const char *function;
    const void *parameters; /* a struct of the call's own */
    void *result;           /* valid at SITE_EXIT */
    const char *symbol;     /* a launch's kernel, mangled; may be NULL */
    void *context;          /* may be NULL */
    uint32_t context_id;
    uint64_t *scratch; /* one word, ours from enter to exit of a call */
    uint32_t correlation;
} cupti_call;

typedef struct cupti_resource {
    void *context;
    void *stream;
    void *descriptor; /* cupti_graph for graphs and nodes */
} cupti_resource;

typedef struct cupti_graph {
    void *graph, *original_graph;
    void *node, *original_node; /* NODE_CLONED: both */
    uint32_t node_type;         /* 0 kernel, 1 copy, 2 set, 3 host, 4 graph, 5 empty … */
    void *dependency;
    void *exec;
} cupti_graph;

typedef struct cupti_state {
    cupti_status status;
    const char *message; /* may be NULL */
} cupti_state;

/* Before 130300 a process has one subscriber: CUPTI_OTHER_SUBSCRIBER. */
typedef cupti_status (*cupti_fn_Subscribe)(cupti_subscriber *out, cupti_callback callback, void *user);
typedef cupti_status (*cupti_fn_Unsubscribe)(cupti_subscriber subscriber);
typedef cupti_status (*cupti_fn_EnableCallback)(uint32_t enable, cupti_subscriber subscriber, uint32_t domain,
                                                uint32_t id);
typedef cupti_status (*cupti_fn_EnableDomain)(uint32_t enable, cupti_subscriber subscriber, uint32_t domain);
typedef cupti_status (*cupti_fn_GetCallbackName)(uint32_t domain, uint32_t id, const char **name);

/* As cupti_fn_Subscribe, and says who the other is. Since 27 or so. */
typedef struct cupti_subscriber_params {
    size_t bytes;     /* of this struct */
    const char *name; /* ours, at most 53 bytes */
    char *other;      /* room of at least 64 bytes for the other's name, or NULL */
    size_t other_bytes;
} cupti_subscriber_params;
typedef cupti_status (*cupti_fn_Subscribe_v2)(cupti_subscriber *out, cupti_callback callback, void *user,
                                              cupti_subscriber_params *params);

/* ---- the driver ---- */

/* Called by libcuda.so.1 in the library of $CUDA_INJECTION64_PATH, in cuInit: 0 means failure, which is ignored. */
typedef int (*cuda_injection)(void);
typedef int (*cuda_fn_DriverGetVersion)(int *version);

#endif
