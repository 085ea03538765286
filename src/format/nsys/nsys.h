/* nsys.h - Nsight Systems' exports to SQLite: shared by the reader's files
 *
 * In: an SQLite file that `nsys export --type sqlite` (or `nsys stats`) wrote. Out: a trace. Begin with tables.c, which
 * maps tables and columns; place.c has tracks and names, lookup.c data that is read before events, and reports
 * afterwards. Columns are found by name: versions of nsys put new ones between the old.
 */
#ifndef HD_FORMAT_NSYS_NSYS_H
#define HD_FORMAT_NSYS_NSYS_H

#include "format/sqlite/map.h"

/* The fields of rows. */
enum {
    NSYS_TID = SQ_FIELD, /* globalTid: hardware, machine: 8 bits each, pid, tid: 24 bits each */
    NSYS_PID,            /* globalPid: the same without a tid */
    NSYS_END_TID,
    NSYS_DEVICE,
    NSYS_CONTEXT,
    NSYS_STREAM,
    NSYS_CORRELATION,
    NSYS_NAME, /* among StringIds */
    NSYS_TEXT, /* a name as it is */
    NSYS_KIND, /* of an event: eventType, copyKind, syncType … */
    NSYS_FROM,
    NSYS_TO,
    NSYS_X, /* of a grid */
    NSYS_Y,
    NSYS_Z,
    NSYS_BLOCK_X,
    NSYS_BLOCK_Y,
    NSYS_BLOCK_Z,
    NSYS_DOMAIN,
    NSYS_CATEGORY,
    NSYS_CHAIN, /* a call chain */
    NSYS_STATIC,
    NSYS_DYNAMIC,
    NSYS_PAYLOAD,
};

/* The kind of a track, in the lowest bits of its key. */
enum { NSYS_THREAD, NSYS_PROCESS, NSYS_QUEUE, NSYS_WAITS, NSYS_CPU, NSYS_METRICS };

/* An entry of a payload's schema; a name of an enumeration: then `index` is its value. */
typedef struct nsys_entry {
    int64_t domain, schema, index, type, offset, flags, detail;
    uint32_t name;
} nsys_entry;
typedef struct nsys_payloads {
    nsys_entry *entries, *values; /* ascending by domain, schema, index */
    size_t count, capacity, value_count, value_capacity;
    hd_map enums; /* domain, schema -> bytes of a value */
} nsys_payloads;

typedef struct nsys_state {
    bool is_many;               /* several processes have CUDA contexts: ids of correlations repeat */
    int64_t process;            /* one that has; HD_NO_NUMBER */
    hd_map priorities;          /* globalPid, context << 32 | stream -> that of the stream, if it is not 0 */
    hd_map threads;             /* globalTid -> name */
    hd_map processes;           /* globalPid -> name */
    hd_map domains, categories; /* NVTX: by globalPid and domain (domain << 32 | category) -> name */
    hd_map metrics;             /* by typeId and metricId -> name */
    hd_map calls;               /* of runtime and driver: id of the string -> name without a version */
    hd_map call_is_driver;
    hd_map samples, calls_of_os, calls_of_cuda; /* call chains: id -> node of the stacks */
    int nvtx[6];                                /* columns */
    nsys_payloads payloads;
    sq_strings memory_kinds, sync_kinds, overhead_kinds, thread_states;
    struct {
        uint32_t correlation, correlation_own, grid, block, shared, bytes, device_type, category, domain;
        uint32_t memory, driver, cpu_process, unknown, priority;
    } text;
} nsys_state;

static inline nsys_state *nsys_of(const sq_worker *worker)
{
    return worker->reader->state;
}

/* tables.c */
extern const hd_sql_mapping nsys_mapping;

/* place.c */
sq_place nsys_place_kernel, nsys_place_graph, nsys_place_copy, nsys_place_set, nsys_place_call, nsys_place_wait,
    nsys_place_overhead, nsys_place_nvtx, nsys_place_thread, nsys_place_memory, nsys_place_sample, nsys_place_switch,
    nsys_place_metric, nsys_place_any;

/* Names of columns, for sq_each. */
#define COLUMNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* payload.c */
hd_status nsys_read_payloads(sq_reader *reader, hd_error *err);
void nsys_payloads_deinit(nsys_payloads *payloads);
/* Adds the fields of a payload as arguments; false: it cannot be decoded, and nothing was added. */
bool nsys_add_payload(sq_worker *worker, const sq_value *value);

/* lookup.c */
hd_status nsys_begin(sq_reader *reader, hd_error *err);
hd_status nsys_finish(sq_reader *reader, hd_error *err);
void nsys_deinit(sq_reader *reader);

#endif
