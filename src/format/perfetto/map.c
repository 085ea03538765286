/* map.c - a hash map from pairs of integers to an index */
#include "format/perfetto/map.h"

#include <stdlib.h>

#include "base/hash.h"

void perfetto_map_clear(perfetto_map *map)
{
    free(map->slots);
    *map = (perfetto_map){0};
}

static perfetto_slot *slot_of(const perfetto_map *map, uint64_t a, uint64_t b)
{
    uint64_t hash = hd_hash_pair(a, b);
    for (size_t i = (size_t)hash & (map->slot_count - 1);; i = (i + 1) & (map->slot_count - 1)) {
        perfetto_slot *slot = &map->slots[i];
        if (slot->value == 0 || (slot->a == a && slot->b == b)) return slot;
    }
}

bool perfetto_map_get(uint32_t *out, const perfetto_map *map, uint64_t a, uint64_t b)
{
    if (map->count == 0) return false;
    const perfetto_slot *slot = slot_of(map, a, b);
    *out = slot->value - 1;
    return slot->value != 0;
}

static bool grow(perfetto_map *map)
{
    perfetto_map larger = {.slot_count = map->slot_count ? map->slot_count * 2 : 16, .count = map->count};
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < map->slot_count; i++) {
        const perfetto_slot *slot = &map->slots[i];
        if (slot->value) *slot_of(&larger, slot->a, slot->b) = *slot;
    }
    free(map->slots);
    *map = larger;
    return true;
}

bool perfetto_map_set(perfetto_map *map, uint64_t a, uint64_t b, uint32_t value)
{
    if (map->count * 2 >= map->slot_count && !grow(map)) return false;
    perfetto_slot *slot = slot_of(map, a, b);
    map->count += slot->value == 0;
    *slot = (perfetto_slot){a, b, value + 1};
    return true;
}
