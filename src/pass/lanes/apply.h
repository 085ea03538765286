/* apply.h - a plan of lane repair, turned into a new trace */
#ifndef HD_PASS_LANES_APPLY_H
#define HD_PASS_LANES_APPLY_H

#include "pass/copy/copy.h"
#include "pass/lanes/lanes.h"

/* The trace with the plan's edits: moved slices are on tracks of their own, snapped ones have new times. If the trace
 * names tracks by events, those of the new lanes are added after the last one. The caller frees the trace. */
hd_status hd_lanes_apply(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_lane_plan *plan,
                         hd_error *err);

#endif
