/* points.h - points that belong together by their ids: of a flow, of an async slice, of a counter */
#ifndef HD_PASS_COPY_POINTS_H
#define HD_PASS_COPY_POINTS_H

#include "heddle/trace.h"

typedef struct hd_point {
    int64_t id;
    uint32_t id_type;
    uint32_t process;        /* its track, if the id is local to a process; else HD_NONE */
    uint32_t category, name; /* likewise, else HD_STRING_NONE */
    uint32_t phase;          /* without flags */
    int64_t start_ns;
    uint64_t row;
} hd_point;

typedef struct hd_points {
    hd_point *list; /* grouped, each group by ascending row */
    size_t count;
} hd_points;

/* All rows of a kind: FLOW, ASYNC or COUNTER. */
hd_status hd_points_of(hd_points *out, const hd_trace *trace, hd_kind kind, hd_error *err);
void hd_points_deinit(hd_points *points);
/* How many from `first` on belong together. */
size_t hd_points_run(const hd_points *points, size_t first);

/* Flow points stay with the slice that they are bound to. */
typedef struct hd_points_bound {
    const uint8_t *slice_stays;                              /* by row of a slice */
    bool (*unbound_stays)(const void *user, uint32_t track); /* of a point without a slice; NULL: it stays */
    const void *user;
} hd_points_bound;
/* keep[row] of all flow points, without the last one of a flow; *out_dropped is the number of zeros. */
hd_status hd_points_keep_bound(uint8_t *keep, uint64_t *out_dropped, const hd_trace *trace,
                               const hd_points_bound *bound, hd_error *err);

/* Also drops the remaining point of flows that lost points (keep[row] 0) and have fewer than two left; returns their
 * number. */
hd_status hd_points_drop_lone(uint64_t *out_dropped, uint8_t *keep, const hd_trace *trace, hd_error *err);

#endif
