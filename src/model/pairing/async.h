/* async.h - pairs begins and ends of async slices
 *
 * Points of one key are paired. The key of nestable points (b, e, n) is category, id, scope and, unless the id is
 * global (id2.global), the process; that of legacy ones (S, T, p, F) is category, id and scope, and the process where
 * the id is local to it (id2.local). Within a key, in order of time and then of the file, an end closes the last open
 * begin of its name, or the last open begin if none has its name.
 *
 * In: a trace. Out: its async points, each with the point that it begins or ends.
 */
#ifndef HD_MODEL_PAIRING_ASYNC_H
#define HD_MODEL_PAIRING_ASYNC_H

#include "heddle/trace.h"

typedef struct hd_async_point {
    uint64_t key; /* equal: points that belong together; differs from run to run */
    int64_t start_ns;
    uint32_t row;            /* of the table HD_KIND_ASYNC */
    uint32_t track, process; /* HD_NONE: none */
    uint32_t name, category;
    uint32_t other; /* index of its end or begin; HD_NONE: it has none */
    char phase;
    bool is_global, is_finer; /* is_finer: its time is not a whole ns */
} hd_async_point;

static inline bool hd_async_begins(const hd_async_point *point)
{
    return point->phase == 'b' || point->phase == 'S';
}
static inline bool hd_async_ends(const hd_async_point *point)
{
    return point->phase == 'e' || point->phase == 'F';
}

/* The points that have a time, key by key, in each by time, then as in the file. The caller frees the list with
 * hd_large_free. Errors: MEMORY, LIMIT (2^32 points). */
hd_status hd_async_points(hd_async_point **out, size_t *out_count, const hd_trace *trace, hd_error *err);

#endif
