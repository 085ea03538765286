/* map.c - maps stacks of one tree to another: each node once, callers first */
#include "pass/attribution/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"

bool attribution_map_init(attribution_map *map, hd_stacks *to, const hd_stacks *from, uint64_t large)
{
    uint32_t count = hd_stacks_count(from);
    *map = (attribution_map){.to = to, .from = from, .nodes = hd_large_new(count, sizeof *map->nodes, large)};
    if (!map->nodes) return false;
    memset(map->nodes, 0xff, count * sizeof *map->nodes);
    map->nodes[HD_STACK_NONE] = HD_STACK_NONE;
    return true;
}

void attribution_map_deinit(attribution_map *map)
{
    hd_large_free(map->nodes);
    free(map->chain);
}

uint32_t attribution_map_node(attribution_map *map, uint32_t node)
{
    size_t depth = 0;
    for (; map->nodes[node] == HD_NONE; node = hd_stacks_at(map->from, node).caller) {
        if (!hd_grow((void **)&map->chain, &map->chain_capacity, depth, sizeof *map->chain)) return HD_NONE;
        map->chain[depth++] = node;
    }
    uint32_t made = map->nodes[node];
    while (depth-- && made != HD_NONE) {
        hd_frame frame = hd_stacks_at(map->from, map->chain[depth]);
        hd_string name = hd_stacks_text(map->from, frame.name);
        made = hd_stacks_push(map->to, made, hd_stacks_name(map->to, name.data, name.size), frame.kind);
        map->nodes[map->chain[depth]] = made;
    }
    return made;
}
