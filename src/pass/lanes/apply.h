/* apply.h - a plan of lane repair, turned into a new trace */
#ifndef HD_PASS_LANES_APPLY_H
#define HD_PASS_LANES_APPLY_H

#include "pass/copy/copy.h"
#include "pass/lanes/lanes.h"

/* The trace with the plan's edits: what moves stands on tracks of its own, what was snapped has its new times. Where
 * the names of tracks stand in events, those of the new lanes are added behind the last one. The caller frees the
 * trace. */
hd_status hd_lanes_apply(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_lane_plan *plan,
                         hd_error *err);

#endif
