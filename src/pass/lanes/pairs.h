/* pairs.h - makes sure that viewers still pair begin and end events correctly after the repair
 *
 * Viewers pair events in order of time, and events of equal time in input order. If a begin is pushed onto the time of
 * another pair's end, or an end clamped onto another begin, that order would tear pairs apart.
 */
#ifndef HD_PASS_LANES_PAIRS_H
#define HD_PASS_LANES_PAIRS_H

#include "heddle/trace.h"
#include "pass/lanes/solve.h"

typedef struct hd_lane_pair {
    uint32_t slice;
    bool leaves;                       /* the track */
    uint64_t begin_offset, end_offset; /* of the events in the input: their places in its order */
    hd_lane_slice was;                 /* before the repair */
} hd_lane_pair;

/* Marks pairs that must leave the track so that the others are paired correctly; *out_count are new. `unit`: ticks
 * within which viewers see equal times. */
hd_status hd_lane_pairs_check(uint32_t *out_count, hd_lane_pair *pairs, uint32_t count, const hd_lane_slice *slices,
                              int64_t unit, uint64_t large, hd_error *err);

/* The position of each slice, and of each end event, among all events, by row. The caller frees both with
 * hd_large_free.
 */
hd_status hd_lane_pairs_order(uint64_t **out_slices, uint64_t **out_ends, const hd_trace *trace, hd_error *err);

#endif
