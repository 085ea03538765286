/* names.h - the time of each name, and the names with most of it */
#ifndef HD_TRACE_INDEX_NAMES_H
#define HD_TRACE_INDEX_NAMES_H

#include "base/map.h"
#include "heddle/index.h"

typedef struct lane_name {
    uint32_t name;
    uint64_t units;
} lane_name;

/* Zero-initialised is empty. */
typedef struct lane_names {
    lane_name *list; /* in order of first occurrence */
    size_t count, capacity;
    hd_slots slots;
} lane_names;

/* false: no memory. */
bool lane_names_add(lane_names *names, uint32_t name, uint64_t units);
/* Fill names and name_ns of a zeroed summary. */
void lane_names_top(hd_summary *out, const lane_names *names, int64_t units_per_ns);
void lane_names_clear(lane_names *names);
void lane_names_deinit(lane_names *names);

#endif
