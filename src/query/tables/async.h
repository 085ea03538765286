/* async.h - the async slices of a trace, with tracks of their own
 *
 * model/pairing/async.h pairs begins and ends; an end without a begin is ignored. A point between them (n) is a slice
 * of length 0. Each key has a track, within which depth and parent are determined. An unclosed slice has no duration.
 */
#ifndef HD_QUERY_TABLES_ASYNC_H
#define HD_QUERY_TABLES_ASYNC_H

#include "query/tables/tables.h"

typedef struct query_async_slice {
    int64_t start_ns, duration_ns; /* HD_NO_TIME: not closed */
    uint32_t row;                  /* of the begin, in the table HD_KIND_ASYNC */
    uint32_t track;                /* index of tracks */
    uint32_t name, category, depth;
    uint32_t parent; /* index of slices, HD_NONE: none */
} query_async_slice;

typedef struct query_async_track {
    uint32_t process; /* track of the process; HD_NONE: the id is global, or the process is unknown */
    uint32_t name;    /* of the first slice */
    bool global;
} query_async_track;

struct query_async {
    query_async_slice *slices; /* ordered by the row of the begin */
    query_async_track *tracks; /* in the order of their first slices */
    size_t slice_count, track_count;
};

/* source->async. Errors: MEMORY, LIMIT (2^32 points). */
hd_status query_async_make(query_source *source, hd_error *err);

/* Track numbers: first the trace's tracks, then those of async slices, then one for instants without a process. */
static inline uint32_t query_async_track_number(const query_source *source, uint32_t track)
{
    return hd_trace_track_count(source->trace) + track;
}
static inline uint32_t query_global_track_number(const query_source *source)
{
    return hd_trace_track_count(source->trace) + (source->async ? (uint32_t)source->async->track_count : 0);
}

#endif
