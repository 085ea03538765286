/* rpd.h - rocmProfileData: shared by the reader's files
 *
 * In: an SQLite file that runTracer.sh, rpd_tracer or rpd's importers wrote. Out: a trace. Begin with rpd.c, which maps
 * tables and columns.
 */
#ifndef HD_FORMAT_RPD_RPD_H
#define HD_FORMAT_RPD_RPD_H

#include "format/sqlite/map.h"

/* The fields of rows. */
enum {
    RPD_ID = SQ_FIELD,
    RPD_PID,
    RPD_TID,
    RPD_GPU,
    RPD_QUEUE,
    RPD_DESCRIPTION, /* among the strings, as are the next */
    RPD_OP,
    RPD_ARGS,
    RPD_KIND, /* of a monitor, as it is */
    RPD_VALUE,
};

/* The kind of a track: the second number of its key. */
enum { RPD_THREAD, RPD_STREAM, RPD_MONITOR };

typedef struct rpd_launch {
    int64_t grid[3], block[3];
} rpd_launch;

typedef struct rpd_state {
    hd_map calls;                   /* op -> index in call_ids */
    int64_t *call_ids;              /* rocpd_api */
    hd_map in_items;                /* calls whose grid is in work-items */
    hd_map launches;                /* call -> index in launch_list */
    rpd_launch *launch_list;        /* rocpd_kernelapi */
    sq_side kernels, copies, marks; /* of calls: the rest of rocpd_kernelapi, rocpd_copyapi, ext_autogradapi */
    sq_strings user_texts;          /* rocpd_ustring: the target of args_id if the schema says so */
    bool has_user_texts;
    size_t call_count, call_capacity, launch_count, launch_capacity;
    uint32_t correlation, device, stream, grid, block, op_type, arguments;
    uint32_t kernel, copy, set, wait, hip, hsa, mark, overhead;
} rpd_state;

static inline rpd_state *rpd_of(const sq_worker *worker)
{
    return worker->reader->state;
}

/* place.c */
sq_place rpd_place_op, rpd_place_call, rpd_place_monitor, rpd_place_any;
void rpd_name_tracks(sq_reader *reader, const sq_worker *worker);

#endif
