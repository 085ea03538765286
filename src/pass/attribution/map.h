/* map.h - maps stacks of one tree to another */
#ifndef HD_PASS_ATTRIBUTION_MAP_H
#define HD_PASS_ATTRIBUTION_MAP_H

#include "heddle/stacks.h"

/* Nodes of one tree in another, made at first use. */
typedef struct attribution_map {
    hd_stacks *to;
    const hd_stacks *from;
    uint32_t *nodes; /* by node of `from`, HD_NONE: not made yet */
    uint32_t *chain;
    size_t chain_capacity;
} attribution_map;

/* large: hd_trace_large_bytes. */
bool attribution_map_init(attribution_map *map, hd_stacks *to, const hd_stacks *from, uint64_t large);
void attribution_map_deinit(attribution_map *map);
/* HD_NONE: no memory. */
uint32_t attribution_map_node(attribution_map *map, uint32_t node);

#endif
