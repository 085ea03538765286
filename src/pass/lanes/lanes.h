/* lanes.h - lane repair of a whole trace: plans the changes of slices and flow points
 *
 * The pass changes nothing itself: it makes a plan of edits, which a writer applies (format/patch.h) or a later pass
 * turns into a new trace.
 *
 * In: a trace. Out: a plan. Begin with lanes.c; solve.c repairs one track on plain arrays.
 */
#ifndef HD_PASS_LANES_LANES_H
#define HD_PASS_LANES_LANES_H

#include "base/memory/arena.h"
#include "trace/ticks.h"

/* A slice that changes. */
typedef struct hd_lane_edit {
    uint64_t row;  /* of the slice table */
    uint32_t lane; /* index into lanes, HD_NONE: stays on its track */
    bool start_changed, end_changed;
    hd_exact start, end;
    int64_t start_shift_ps, end_shift_ps; /* at least 0, rounded up */
} hd_lane_edit;

/* A flow point that changes. */
typedef struct hd_lane_flow_edit {
    uint64_t row; /* of the flow table */
    uint32_t lane;
    bool time_changed;
    hd_exact time;
} hd_lane_flow_edit;

/* A track with slices (twins of one pid and tid count as one). */
typedef struct hd_lane_track {
    uint32_t track;
    uint32_t lane_count;             /* with its own */
    uint32_t first_lane;             /* index into lanes of lane 1 */
    uint64_t slices, moved, snapped; /* snapped: crossings */
} hd_lane_track;

/* A lane that is opened. Strings belong to the plan. */
typedef struct hd_new_lane {
    uint32_t track, number;
    bool tid_is_number;
    const char *tid; /* text of the number, or of the string */
    size_t tid_size;
    const char *name;
    size_t name_size;
    int64_t sort_index; /* HD_NO_NUMBER: the track has none */
} hd_new_lane;

typedef struct hd_lane_plan {
    hd_lane_edit *edits; /* by ascending row */
    size_t edit_count, edit_capacity;
    hd_lane_flow_edit *flows; /* by ascending row */
    size_t flow_count, flow_capacity;
    hd_lane_track *tracks;
    size_t track_count, track_capacity;
    hd_new_lane *lanes;
    size_t lane_count, lane_capacity;
    uint64_t snapped_crossings;
    uint64_t flows_unresolved; /* points that could not stay bound to their slice */
    hd_arena arena;
} hd_lane_plan;

/* threshold_ps: crossings below it are snapped. Errors: MEMORY, LIMIT (2^32 slices). */
hd_status hd_lanes_plan(hd_lane_plan *out, const hd_trace *trace, int64_t threshold_ps, hd_error *err);
void hd_lane_plan_deinit(hd_lane_plan *plan);

#endif
