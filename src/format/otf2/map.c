/* map.c - an open hash table that only grows */
#include "format/otf2/map.h"

#include <stdlib.h>
#include <string.h>

void otf2_map_deinit(otf2_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (otf2_map){0};
}

static void insert(otf2_map *map, uint64_t key, uint32_t value)
{
    size_t slot = otf2_map_hash(key) & (map->slot_count - 1);
    while (map->values[slot] != OTF2_MAP_NONE) {
        if (map->keys[slot] == key) return;
        slot = (slot + 1) & (map->slot_count - 1);
    }
    map->keys[slot] = key;
    map->values[slot] = value;
    map->count++;
}

static bool grow(otf2_map *map)
{
    otf2_map wider = {.slot_count = map->slot_count ? map->slot_count * 2 : 64};
    wider.keys = malloc(wider.slot_count * sizeof *wider.keys);
    wider.values = malloc(wider.slot_count * sizeof *wider.values);
    if (!wider.keys || !wider.values) {
        otf2_map_deinit(&wider);
        return false;
    }
    memset(wider.values, 0xff, wider.slot_count * sizeof *wider.values);
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->values[i] != OTF2_MAP_NONE) insert(&wider, map->keys[i], map->values[i]);
    }
    otf2_map_deinit(map);
    *map = wider;
    return true;
}

bool otf2_map_put(otf2_map *map, uint64_t key, uint32_t value)
{
    if (map->count * 2 >= map->slot_count && !grow(map)) return false;
    insert(map, key, value);
    return true;
}
