/* lanes_names.h - ids, names and order of the lanes that the repair opens */
#ifndef HD_PASS_LANES_NAMES_H
#define HD_PASS_LANES_NAMES_H

#include "pass/lanes.h"

/* Add lanes 1 … count of a track to the plan. */
hd_status hd_lanes_name(hd_lane_plan *plan, const hd_trace *trace, uint32_t track, uint32_t count, hd_error *err);

#endif
