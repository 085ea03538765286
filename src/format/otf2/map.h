/* map.h - from 64-bit ids to small numbers */
#ifndef HD_FORMAT_OTF2_MAP_H
#define HD_FORMAT_OTF2_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define OTF2_MAP_NONE UINT32_MAX

/* Zero-initialised is empty. */
typedef struct otf2_map {
    uint64_t *keys;
    uint32_t *values; /* OTF2_MAP_NONE: the slot is free */
    size_t slot_count, count;
} otf2_map;

void otf2_map_deinit(otf2_map *map);
/* False when memory runs out. A key that is there keeps its first value. */
bool otf2_map_put(otf2_map *map, uint64_t key, uint32_t value);

static inline uint64_t otf2_map_hash(uint64_t key)
{
    return hd_hash_pair(key, 0);
}

static inline uint32_t otf2_map_get(const otf2_map *map, uint64_t key)
{
    if (!map->count) return OTF2_MAP_NONE;
    size_t slot = otf2_map_hash(key) & (map->slot_count - 1);
    while (map->values[slot] != OTF2_MAP_NONE) {
        if (map->keys[slot] == key) return map->values[slot];
        slot = (slot + 1) & (map->slot_count - 1);
    }
    return OTF2_MAP_NONE;
}

#endif
