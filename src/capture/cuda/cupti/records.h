/* records.h - what CUPTI writes into buffers, in our own words: abi.h
 *
 * Versions
 *   Every version of a record begins with all fields of the one before; later versions only add at the end. A record
 *   does not say its size: nothing behind cupti_record_bytes(kind, version) may be read. Structs here are the largest
 *   form. Each field that is newer than 11.0 follows a line "since N", N being what cuptiGetVersion gives:
 *   13 CUDA 11.0, 14 11.1, 15 11.2, 16 11.5, 17 11.6, 18 11.8, 19 12.0, 20 12.2, 21 12.3, 22 12.4, 23 12.5, 24 12.6,
 *   26 12.8, 27 12.9, 130000 13.0: from there on 10000 major + 100 minor + update.
 *
 * Times are ns on CUPTI's clock (cuptiGetTimestamp); 0 is unknown. Names belong to CUPTI and stay.
 */
#ifndef HD_CAPTURE_CUDA_CUPTI_RECORDS_H
#define HD_CAPTURE_CUDA_CUPTI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_KERNEL = 3, /* makes kernels run one after another: never enabled */
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_DEVICE = 8,
    CUPTI_KIND_CONTEXT = 9,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_KIND_NAME = 11,
    CUPTI_KIND_MARKER = 12,
    CUPTI_KIND_OVERHEAD = 17,
    CUPTI_KIND_MEMCPY2 = 22, /* between GPUs */
    CUPTI_KIND_CUDA_EVENT = 36,
    CUPTI_KIND_STREAM = 37,
    CUPTI_KIND_SYNCHRONIZATION = 38,
    CUPTI_KIND_EXTERNAL_CORRELATION = 39,
    CUPTI_KIND_MEMORY2 = 49,     /* since 15 */
    CUPTI_KIND_GRAPH_TRACE = 51, /* since 17 */
};

/* A field that has no meaning for a record is this. */
#define CUPTI_NONE UINT32_MAX

/* The real structs are packed and aligned to 8. */
#define CUPTI_RECORD __attribute__((packed, aligned(8)))

typedef struct CUPTI_RECORD cupti_record {
    uint32_t kind;
} cupti_record;

/* Which kind of thing, and which one. */
enum {
    CUPTI_OBJECT_UNKNOWN = 0,
    CUPTI_OBJECT_PROCESS = 1,
    CUPTI_OBJECT_THREAD = 2,
    CUPTI_OBJECT_DEVICE = 3,
    CUPTI_OBJECT_CONTEXT = 4,
    CUPTI_OBJECT_STREAM = 5,
};

typedef union cupti_object {
    struct {
        uint32_t process, thread;
    } cpu;
    struct {
        uint32_t device, context, stream;
    } gpu;
} cupti_object;

/* DRIVER, RUNTIME: a call. */
typedef struct CUPTI_RECORD cupti_api {
    uint32_t kind;
    uint32_t call; /* calls.h */
    uint64_t start, end;
    uint32_t process, thread;
    uint32_t correlation;
    uint32_t result; /* a cudaError_t, a CUresult */
} cupti_api;

/* CONCURRENT_KERNEL. */
typedef struct CUPTI_RECORD cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers; /* per thread */
    uint32_t partition_requested, partition_executed;
    uint64_t start, end;
    uint64_t completed; /* with its children; 0: unknown */
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t shared_static, shared_dynamic;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name; /* mangled */
    void *reserved;
    uint64_t queued, submitted; /* 0 unless latency timestamps are on */
    uint8_t launch_type;        /* 0 regular, 1 cooperative, 2 on several devices, 3 command list */
    uint8_t carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit;
    uint32_t graph; /* padding before 14 */
    /* since 15 */
    void *access_policy;
    /* since 17 */
    uint32_t channel, channel_type;
    /* since 18 */
    uint32_t cluster[3], cluster_policy;
    uint64_t local_bytes;
    /* since 19 */
    uint32_t cluster_size_max, clusters_max;
    /* since 130000 */
    uint8_t from_device, padding_end[7];
} cupti_kernel;

enum {
    CUPTI_COPY_UNKNOWN = 0,
    CUPTI_COPY_HTOD = 1,
    CUPTI_COPY_DTOH = 2,
    CUPTI_COPY_HTOA = 3,
    CUPTI_COPY_ATOH = 4,
    CUPTI_COPY_ATOA = 5,
    CUPTI_COPY_ATOD = 6,
    CUPTI_COPY_DTOA = 7,
    CUPTI_COPY_DTOD = 8,
    CUPTI_COPY_HTOH = 9,
    CUPTI_COPY_PTOP = 10,
};

enum {
    CUPTI_MEMORY_UNKNOWN = 0,
    CUPTI_MEMORY_PAGEABLE = 1,
    CUPTI_MEMORY_PINNED = 2,
    CUPTI_MEMORY_DEVICE = 3,
    CUPTI_MEMORY_ARRAY = 4,
    CUPTI_MEMORY_MANAGED = 5,
    CUPTI_MEMORY_DEVICE_STATIC = 6,
    CUPTI_MEMORY_MANAGED_STATIC = 7,
};

enum { CUPTI_ASYNC = 1 }; /* flags of copies and memsets */

/* MEMCPY. */
typedef struct CUPTI_RECORD cupti_memcpy {
    uint32_t kind;
    uint8_t copy, from, to; /* CUPTI_COPY_, CUPTI_MEMORY_ */
    uint8_t flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint32_t runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    /* since 14 */
    uint32_t graph;
    uint32_t channel; /* padding before 17 */
    /* since 17 */
    uint32_t channel_type;
    uint8_t from_device, padding_type[3]; /* padding before 26 */
    /* since 26 */
    uint64_t copies;
} cupti_memcpy;

/* MEMCPY2. */
typedef struct CUPTI_RECORD cupti_memcpy2 {
    uint32_t kind;
    uint8_t copy, from, to;
    uint8_t flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t from_device, from_context;
    uint32_t to_device, to_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    /* since 14 */
    uint32_t graph;
    uint32_t channel; /* padding before 17 */
    /* since 17 */
    uint32_t channel_type, padding;
} cupti_memcpy2;

/* MEMSET. */
typedef struct CUPTI_RECORD cupti_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation;
    uint16_t flags, memory;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    /* since 14 */
    uint32_t graph;
    uint32_t channel; /* padding before 17 */
    /* since 17 */
    uint32_t channel_type, padding_type;
} cupti_memset;

enum {
    CUPTI_SYNC_UNKNOWN = 0,
    CUPTI_SYNC_EVENT = 1,
    CUPTI_SYNC_STREAM_WAIT = 2, /* a stream for an event; no thread waits */
    CUPTI_SYNC_STREAM = 3,
    CUPTI_SYNC_CONTEXT = 4,
};

/* SYNCHRONIZATION. */
typedef struct CUPTI_RECORD cupti_sync {
    uint32_t kind;
    uint32_t type;
    uint64_t start, end;
    uint32_t correlation;
    uint32_t context;
    uint32_t stream; /* or CUPTI_NONE */
    uint32_t event;  /* or CUPTI_NONE */
    /* since 26 */
    uint64_t event_sync;
    uint32_t result, padding;
} cupti_sync;

enum {
    CUPTI_OVERHEAD_COMPILER = 1,
    CUPTI_OVERHEAD_FLUSH = 1 << 16,
    CUPTI_OVERHEAD_INSTRUMENTATION = 2 << 16,
    CUPTI_OVERHEAD_RESOURCE = 3 << 16,
    CUPTI_OVERHEAD_MODULE_LOADING = 4 << 16,
    CUPTI_OVERHEAD_FUNCTION_LOADING = 5 << 16,
    CUPTI_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
    CUPTI_OVERHEAD_BUFFER_REQUEST = 7 << 16,
    CUPTI_OVERHEAD_UVM_INIT = 8 << 16,
};

/* OVERHEAD. */
typedef struct CUPTI_RECORD cupti_overhead {
    uint32_t kind;
    uint32_t overhead;
    uint32_t object_kind;
    cupti_object object;
    uint64_t start, end;
    /* since 20 */
    uint32_t correlation, reserved;
    /* since 24 or so: nothing that we need */
} cupti_overhead;

enum { CUPTI_EXTERNAL_KINDS = 6 };

/* EXTERNAL_CORRELATION: comes before the records of the call it belongs to, if both are in one buffer. */
typedef struct CUPTI_RECORD cupti_external {
    uint32_t kind;
    uint32_t source; /* 1 unknown, 2 OpenACC, 3 to 5 custom */
    uint64_t id;
    uint32_t correlation, reserved;
} cupti_external;

/* DEVICE. */
typedef struct CUPTI_RECORD cupti_device {
    uint32_t kind;
    uint32_t flags;
    uint64_t bandwidth; /* kB/s */
    uint64_t memory;    /* bytes */
    uint32_t constant_memory, l2_cache;
    uint32_t warp_threads;
    uint32_t clock; /* kHz */
    uint32_t copy_engines;
    uint32_t multiprocessors;
    uint32_t ipc_max, warps_max, blocks_max; /* of a multiprocessor, the last two */
    uint32_t shared_max, registers_max;      /* likewise */
    uint32_t block_registers_max, block_shared_max, block_threads_max;
    uint32_t block_max[3], grid_max[3];
    uint32_t capability_major, capability_minor;
    uint32_t id;
    uint32_t ecc;
    uint8_t uuid[16];
    const char *name;
    uint8_t visible;
    uint8_t mig; /* since 17 */
    uint8_t padding[6];
    /* since 17 */
    uint32_t gpu_instance, compute_instance;
    uint8_t mig_uuid[16];
} cupti_device;

/* CONTEXT. */
typedef struct CUPTI_RECORD cupti_context {
    uint32_t kind;
    uint32_t context;
    uint32_t device;
    uint16_t api;         /* 1: CUDA; 2: CUDA, as a client of MPS */
    uint16_t null_stream; /* the id of its default stream */
} cupti_context;

enum { CUPTI_CONTEXT_OF_MPS = 2 };

/* STREAM. */
typedef struct CUPTI_RECORD cupti_stream {
    uint32_t kind;
    uint32_t context, stream;
    uint32_t priority;
    uint32_t flags;
    uint32_t correlation;
} cupti_stream;

/* NAME: given by the program through NVTX. */
typedef struct CUPTI_RECORD cupti_name {
    uint32_t kind;
    uint32_t object_kind;
    cupti_object object;
    uint32_t padding;
    const char *name; /* the program's: may be gone */
} cupti_name;

enum {
    CUPTI_MARKER_INSTANT = 1 << 0,
    CUPTI_MARKER_START = 1 << 1,
    CUPTI_MARKER_END = 1 << 2,
};

/* MARKER: NVTX as CUPTI sees it. */
typedef struct CUPTI_RECORD cupti_marker {
    uint32_t kind;
    uint32_t flags;
    uint64_t time;
    uint32_t id; /* pairs START and END */
    uint32_t object_kind;
    cupti_object object;
    uint32_t padding;
    const char *name;   /* NULL for END */
    const char *domain; /* NULL: the default */
} cupti_marker;

enum { CUPTI_MEMORY_ALLOCATED = 1, CUPTI_MEMORY_RELEASED = 2 };
enum { CUPTI_POOL_NONE = 0, CUPTI_POOL_LOCAL = 1, CUPTI_POOL_IMPORTED = 2 };

/* MEMORY2: since 15. */
typedef struct CUPTI_RECORD cupti_memory2 {
    uint32_t kind;
    uint32_t operation;
    uint32_t memory;
    uint32_t correlation;
    uint64_t address, bytes;
    uint64_t time;
    uint64_t pc;
    uint32_t process;
    uint32_t device, context, stream; /* or CUPTI_NONE */
    const char *name;                 /* of a variable, or NULL */
    uint32_t async;
    uint32_t padding;
    uint32_t pool_type; /* of pools: CUPTI_POOL_, and what follows */
    uint32_t padding_pool;
    uint64_t pool_address;
    uint64_t pool_threshold;
    uint64_t pool_size; /* of a local pool; of an imported one the process */
    /* since 17 or so */
    uint64_t pool_used;
    /* since 24 */
    const char *source;
} cupti_memory2;

/* GRAPH_TRACE: since 17. Instead of records of the graph's nodes. */
typedef struct CUPTI_RECORD cupti_graph_trace {
    uint32_t kind;
    uint32_t correlation;
    uint64_t start, end;
    uint32_t device;
    uint32_t graph;
    uint32_t context, stream;
    void *reserved;
} cupti_graph_trace;

/* What a record has at least in a version of CUPTI. For kinds that are not here, or younger than the version: 0.
 * Looks through a list: to be asked once a kind. */
static inline size_t cupti_record_bytes(uint32_t kind, uint32_t version)
{
    static const struct {
        uint32_t kind, since;
        size_t bytes;
    } forms[] = {
        /* clang-format off */
        {CUPTI_KIND_DRIVER, 13, 40},                {CUPTI_KIND_RUNTIME, 13, 40},
        {CUPTI_KIND_CONCURRENT_KERNEL, 13, 160},    {CUPTI_KIND_CONCURRENT_KERNEL, 15, 168},
        {CUPTI_KIND_CONCURRENT_KERNEL, 17, 176},    {CUPTI_KIND_CONCURRENT_KERNEL, 18, 200},
        {CUPTI_KIND_CONCURRENT_KERNEL, 19, 208},    {CUPTI_KIND_CONCURRENT_KERNEL, 130000, 216},
        {CUPTI_KIND_MEMCPY, 13, 72},                {CUPTI_KIND_MEMCPY, 14, 80},
        {CUPTI_KIND_MEMCPY, 17, 88},                {CUPTI_KIND_MEMCPY, 26, 96},
        {CUPTI_KIND_MEMCPY2, 13, 80},               {CUPTI_KIND_MEMCPY2, 14, 88},
        {CUPTI_KIND_MEMCPY2, 17, 96},
        {CUPTI_KIND_MEMSET, 13, 72},                {CUPTI_KIND_MEMSET, 14, 80},
        {CUPTI_KIND_MEMSET, 17, 88},
        {CUPTI_KIND_SYNCHRONIZATION, 13, 40},       {CUPTI_KIND_SYNCHRONIZATION, 26, 56},
        {CUPTI_KIND_OVERHEAD, 13, 40},              {CUPTI_KIND_OVERHEAD, 20, 48},
        {CUPTI_KIND_EXTERNAL_CORRELATION, 13, 24},
        {CUPTI_KIND_DEVICE, 13, 152},               {CUPTI_KIND_DEVICE, 17, 176},
        {CUPTI_KIND_CONTEXT, 13, 16},               {CUPTI_KIND_STREAM, 13, 24},
        {CUPTI_KIND_NAME, 13, 32},                  {CUPTI_KIND_MARKER, 13, 56},
        {CUPTI_KIND_MEMORY2, 15, 112},              {CUPTI_KIND_MEMORY2, 24, 128},
        {CUPTI_KIND_GRAPH_TRACE, 17, 48},
        /* clang-format on */
    };
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].kind == kind && forms[i].since <= version) bytes = forms[i].bytes;
    return bytes;
}

#endif
