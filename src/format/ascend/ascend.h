/* ascend.h - databases of the Ascend PyTorch profiler, msprof and MindStudio: shared by the reader's files
 *
 * In: an SQLite file, ascend_pytorch_profiler_N.db or msprof_N.db. Out: a trace. Begin with tables.c, which maps tables
 * and columns; place.c has tracks, names and kinds of activities, lookup.c data that is read before events.
 */
#ifndef HD_FORMAT_ASCEND_ASCEND_H
#define HD_FORMAT_ASCEND_ASCEND_H

#include "format/sqlite/map.h"

/* The fields of rows. */
enum {
    ASCEND_TID = SQ_FIELD, /* globalTid: pid, tid: 32 bits each */
    ASCEND_END_TID,
    ASCEND_PID,
    ASCEND_DEVICE,
    ASCEND_STREAM,
    ASCEND_TASK_ID,
    ASCEND_CONTEXT,
    ASCEND_GLOBAL_TASK,
    ASCEND_CONNECTION,
    ASCEND_TYPE, /* among the strings, or a number */
    ASCEND_ID,   /* of the counted thing: an HBM, a core */
    ASCEND_GROUP,
    ASCEND_DOMAIN,
    ASCEND_RANGE,
    ASCEND_CHAIN,
    ASCEND_SIZE,
    ASCEND_ADDRESS,
    ASCEND_ALLOCATION, /* times */
    ASCEND_RELEASE,
    ASCEND_ALLOCATED,
    ASCEND_RESERVED,
    ASCEND_RELEASE_ALLOCATED,
    ASCEND_RELEASE_RESERVED,
};

/* The kind of a track: the second number of its key; the first number is made of the values in brackets. */
enum {
    ASCEND_THREAD = 1, /* (globalTid) */
    ASCEND_NPU,        /* the process of a device (device) */
    ASCEND_COUNTERS,   /* of a device (string of the table, device) */
    ASCEND_TOLD,       /* a track of a device next to its streams (device, string) */
    ASCEND_QUEUE,      /* from here on: + pid (device, stream) */
};

/* Whether an id is present. */
static inline bool ascend_is_id(int64_t id)
{
    return id != HD_NO_NUMBER && id != UINT32_MAX;
}

static inline uint64_t ascend_queue_key(int64_t device, int64_t stream)
{
    return (uint64_t)device << 32 | (uint32_t)stream;
}

typedef struct ascend_connection {
    int64_t first_ns; /* start of the first host event with it */
    uint32_t count;   /* host events */
    uint32_t chain;   /* node of the stacks, HD_STACK_NONE */
} ascend_connection;

typedef struct ascend_state {
    sq_strings modules;                 /* ENUM_MODULE */
    sq_side tasks, collectives, copies; /* data that other tables have about tasks, by globalTaskId */
    sq_side connections_of;             /* connectionId of PYTORCH_API -> items: its connections */
    hd_map frames;                      /* stream, taskId of tasks with subtasks; ascend_queue_key */
    hd_map devices;                     /* connection of a collective -> device of its tasks, HD_NONE: unknown */
    hd_map ranks;                       /* device -> rank */
    hd_map steps;                       /* steps that operators refer to */
    hd_map chains;                      /* PYTORCH_CALLCHAINS */
    hd_map connection_index;            /* connection -> index */
    ascend_connection *connections;
    size_t connection_count, connection_capacity;
    int64_t pid; /* of the host's events, HD_NO_NUMBER */
    bool has_op_memory;
    struct {
        uint32_t correlation, device, stream, bytes, device_type, device_id, address, allocated, reserved, domain,
            group;
        uint32_t ge_allocated, ge_reserved;
        uint32_t memory, ge_memory, name, operation, copy, set, wait, span, queue, python, annotation, unknown,
            task_type;
        uint32_t to_device, task_queue, backward;
    } text;
} ascend_state;

static inline ascend_state *ascend_of(const sq_worker *worker)
{
    return worker->reader->state;
}

/* tables.c */
extern const hd_sql_mapping ascend_mapping;

/* place.c */
sq_place ascend_place_task, ascend_place_collective, ascend_place_overlap, ascend_place_call, ascend_place_op,
    ascend_place_range, ascend_place_step, ascend_place_counter, ascend_place_lifetime, ascend_place_memory,
    ascend_place_any;
void ascend_take_times(sq_worker *worker);

/* lookup.c */
hd_status ascend_begin(sq_reader *reader, hd_error *err);
hd_status ascend_finish(sq_reader *reader, hd_error *err);
void ascend_deinit(sq_reader *reader);

#endif
