/* rocpd.h - databases of ROCm 7: shared by the reader's files
 *
 * In: an SQLite file that rocprofv3 and rocprof-sys write (`rocprofv3 --output-format rocpd`), or several of them as
 * one. Out: a trace. Begin with rocpd.c, which maps tables and columns; place.c has tracks and names, lookup.c data
 * that is read before events.
 */
#ifndef HD_FORMAT_ROCPD_ROCPD_H
#define HD_FORMAT_ROCPD_ROCPD_H

#include "format/sqlite/map.h"

/* The fields of rows. */
enum {
    ROCPD_NODE = SQ_FIELD, /* rows of rocpd_info_…, as are the next */
    ROCPD_PROCESS,
    ROCPD_THREAD,
    ROCPD_AGENT,
    ROCPD_QUEUE,
    ROCPD_STREAM,
    ROCPD_KERNEL,
    ROCPD_TRACK, /* in place of those above */
    ROCPD_EVENT,
    ROCPD_NAME, /* index in the strings, as is the next */
    ROCPD_REGION,
    ROCPD_START, /* among the timestamps */
    ROCPD_END,
    ROCPD_TO_AGENT,
    ROCPD_FROM_AGENT,
    ROCPD_SIZE,
    ROCPD_ADDRESS,
    ROCPD_TYPE, /* as it is */
    ROCPD_X,    /* of a grid, in work-items */
    ROCPD_Y,
    ROCPD_Z,
    ROCPD_GROUP_X, /* of a workgroup */
    ROCPD_GROUP_Y,
    ROCPD_GROUP_Z,
};

/* Meaning of the numbers of an info. Those of a track are in the order of the fields above. */
enum rocpd_kind {
    ROCPD_NODES,
    ROCPD_PROCESSES,
    ROCPD_THREADS,
    ROCPD_AGENTS,
    ROCPD_QUEUES,
    ROCPD_STREAMS,
    ROCPD_TRACKS
};
enum { ROCPD_OWN_ID = 2, ROCPD_NUMBERS = 6 }; /* of the system: pid, tid, index among the GPUs */

typedef struct rocpd_info {
    int64_t numbers[ROCPD_NUMBERS];
    uint32_t name; /* string id */
    bool is_cpu;
} rocpd_info;

typedef struct rocpd_event {
    int64_t stack, external;
    uint32_t category, first, count; /* extras: items */
} rocpd_event;

/* The kind of a track: the lowest bits of the second number of its key; the scope is above. */
enum { ROCPD_ON_THREAD, ROCPD_ON_PROCESS, ROCPD_ON_QUEUE, ROCPD_KIND_BITS = 2 };

typedef struct rocpd_state {
    const char **scopes; /* suffixes of the names of tables: "_" and a guid */
    size_t scope_count, scope_capacity;
    hd_map info_index; /* id, scope and kind -> index in infos */
    rocpd_info *infos;
    size_t info_count, info_capacity;
    hd_map event_index, time_index; /* id, scope -> index */
    rocpd_event *events;
    int64_t *times;
    size_t event_count, event_capacity, time_count, time_capacity;
    sq_item *extras;
    size_t extra_count, extra_capacity;
    sq_side kernels, arguments, counters; /* by kernel, by event */
    sq_strings categories, counter_names, functions;
    hd_map chains; /* event -> node of the stacks */
    bool is_many_nodes;
    struct {
        uint32_t correlation, correlation_own, external, device, stream, grid, block, bytes, memory, device_type,
            address;
        uint32_t hip, hsa, mark, unknown, region, category, mangled;
    } text;
} rocpd_state;

static inline rocpd_state *rocpd_of(const sq_worker *worker)
{
    return worker->reader->state;
}

/* place.c */
sq_place rocpd_place_kernel, rocpd_place_copy, rocpd_place_memory, rocpd_place_region, rocpd_place_sample,
    rocpd_place_any;
void rocpd_take_times(sq_worker *worker);
void rocpd_name_tracks(sq_reader *reader, const sq_worker *worker);

/* lookup.c */
uint64_t rocpd_scope(const sq_reader *reader, const sq_table *table);
/* NULL: there is none. */
const rocpd_info *rocpd_info_at(const rocpd_state *state, enum rocpd_kind kind, int64_t id, uint64_t scope);
hd_status rocpd_begin(sq_reader *reader, hd_error *err);
hd_status rocpd_finish(sq_reader *reader, hd_error *err);
void rocpd_deinit(sq_reader *reader);

#endif
