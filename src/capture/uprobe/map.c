/* map.c - open addressing; what is removed is filled by what stood behind */
#include "capture/uprobe/map.h"

#include <stdlib.h>

#include "base/hash.h"

enum { SMALLEST = 64 };

static uint32_t home(const uprobe_map *map, uint64_t key)
{
    return (uint32_t)hd_hash_pair(key, 0) & (map->capacity - 1);
}

static uint32_t find(const uprobe_map *map, uint64_t key)
{
    uint32_t at = home(map, key);
    while (map->slots[at].value && map->slots[at].key != key) at = (at + 1) & (map->capacity - 1);
    return at;
}

void *uprobe_map_get(const uprobe_map *map, uint64_t key)
{
    return map->count ? map->slots[find(map, key)].value : NULL;
}

static bool grow(uprobe_map *map)
{
    uprobe_map larger = {.capacity = map->capacity ? map->capacity * 2 : SMALLEST, .count = map->count};
    if (!larger.capacity) return false;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].value) larger.slots[find(&larger, map->slots[i].key)] = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return true;
}

bool uprobe_map_put(uprobe_map *map, uint64_t key, void *value)
{
    if (map->count >= map->capacity / 2 && !grow(map)) return false;
    uint32_t at = find(map, key);
    if (!map->slots[at].value) map->count++;
    map->slots[at].key = key;
    map->slots[at].value = value;
    return true;
}

void uprobe_map_remove(uprobe_map *map, uint64_t key)
{
    uint32_t mask = map->capacity - 1;
    if (!map->count) return;
    uint32_t hole = find(map, key);
    if (!map->slots[hole].value) return;
    map->count--;
    for (uint32_t at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
        uint32_t from_home = (at - home(map, map->slots[at].key)) & mask;
        if (from_home < ((at - hole) & mask)) continue; /* its home lies behind the hole */
        map->slots[hole] = map->slots[at];
        hole = at;
    }
    map->slots[hole].value = NULL;
}

void *uprobe_map_next(const uprobe_map *map, uint32_t *at)
{
    while (*at < map->capacity) {
        void *value = map->slots[(*at)++].value;
        if (value) return value;
    }
    return NULL;
}

void uprobe_map_deinit(uprobe_map *map)
{
    free(map->slots);
    *map = (uprobe_map){0};
}
