/* bind.h - flow points: their ids, which of them are joined, and the slices they are bound to
 *
 * Flows    of one (category, id, name), ids from id2.local per process, are consecutive in time: s starts one, t and f
 *          come from the start or step before them; a start may have several ends, as with CUDA graphs. Ends before the
 *          first start belong to the starts without later points, one each and the rest to the last: such a flow runs
 *          backward
 * Binding  as in Chrome: to the enclosing slice that began last, or, a flow's end without bp:"e", to the next slice
 *          that begins. Slices are points themselves if they have a bind_id with flow_out (a start), flow_in (an end)
 *          or both (a step): of one id in the whole trace, whatever their names
 *
 * In: a trace. Out: for each flow point its flow and its slice. Begin with points.c, then bind.c.
 */
#ifndef HD_MODEL_FLOWS_BIND_H
#define HD_MODEL_FLOWS_BIND_H

#include "heddle/trace.h"

/* The id of a flow or async point, so that 31, "31" and "0x1f" are one, as in viewers. */
typedef struct hd_point_id {
    int64_t value;
    uint32_t type; /* 0 none, 1 a number, 2 a text: value is its string id; or-ed with HD_ID_LOCAL, HD_ID_GLOBAL */
} hd_point_id;

hd_point_id hd_point_id_of(const hd_trace *trace, uint32_t id_type, int64_t id);

typedef struct hd_flow_point {
    uint64_t key;                  /* equal: points of the same flows */
    int64_t start_ns, start_below; /* below: as its column has it */
    uint32_t row, track; /* row: of the flow table; later numbers are the slices that are points, by hd_flows_bind */
    uint32_t from;       /* index of the point before it in its flow; HD_NONE: a start, or the start is missing */
    char phase;
    bool encloses; /* bound to the slice around it, not to the next */
} hd_flow_point;

/* ---- slices that are points ---- */

typedef struct hd_slice_flow_keys {
    uint32_t bind_id, flow_out, flow_in; /* string ids */
} hd_slice_flow_keys;
bool hd_slice_flow_keys_find(hd_slice_flow_keys *out, const hd_trace *trace); /* false: no slice is a point */
/* 's', 't' or 'f', as which it is a point; 0: it is none. */
char hd_slice_flow(hd_point_id *out, const hd_slice_flow_keys *keys, const hd_trace *trace, const hd_event *event);

typedef struct hd_slice_point {
    hd_point_id id;
    uint32_t row; /* slice */
    char phase;
} hd_slice_point;
/* All that have a time, by row; to be freed with hd_large_free. */
hd_status hd_slice_points(hd_slice_point **out, size_t *out_count, const hd_trace *trace, hd_error *err);

/* ---- all points ---- */

bool hd_trace_has_flows(const hd_trace *trace); /* points of either kind, as far as shapes of arguments show */

/* The points with a time, in row order; free with hd_large_free. Errors: MEMORY, LIMIT for more than 2^32 of them. */
hd_status hd_flow_points(hd_flow_point **out, size_t *out_count, const hd_trace *trace, hd_error *err);
/* The same of one category, a string. */
hd_status hd_flow_points_of(hd_flow_point **out, size_t *out_count, const hd_trace *trace, uint32_t category,
                            hd_error *err);
/* Sorts by `compare`, which must order by `number` first: in place, into ever smaller buckets by number. */
typedef uint64_t hd_flow_number(const void *user, const hd_flow_point *point);
void hd_flow_points_sort(hd_flow_point *points, size_t count, hd_flow_number *number, const void *user,
                         int (*compare)(const void *, const void *));
/* Sorts them by (key, time, starts first, row) and finds the source of each. The caller may have removed some. */
void hd_flow_points_join(hd_flow_point *points, size_t count);

/* The slice of each flow point, by row, followed by the slices that are points; UINT32_MAX: unbound. The caller frees
 * the list with hd_large_free. Errors: MEMORY, LIMIT (2^32 slices or points). */
hd_status hd_flows_bind(uint32_t **out, const hd_trace *trace, hd_error *err);

#endif
