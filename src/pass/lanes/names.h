/* names.h - ids, names and order of the lanes that the repair opens */
#ifndef HD_PASS_LANES_NAMES_H
#define HD_PASS_LANES_NAMES_H

#include "base/map.h"
#include "pass/lanes/lanes.h"

/* The used tids, by process. */
typedef struct hd_lane_names {
    hd_lane_plan *plan;
    const hd_trace *trace;
    hd_slots slots;
    struct hd_taken_tid *taken;
    size_t count, capacity;
    uint32_t *twins; /* by track: the twin that has its name, and the twin that has its sort index */
} hd_lane_names;

hd_status hd_lane_names_init(hd_lane_names *names, hd_lane_plan *plan, const hd_trace *trace, hd_error *err);
void hd_lane_names_deinit(hd_lane_names *names);

/* Add lanes 1 … count of a track to the plan. */
hd_status hd_lane_names_add(hd_lane_names *names, uint32_t track, uint32_t count, hd_error *err);

#endif
