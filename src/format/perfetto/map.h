/* map.h - a hash map from pairs of integers to an index */
#ifndef HD_FORMAT_PERFETTO_MAP_H
#define HD_FORMAT_PERFETTO_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct perfetto_slot {
    uint64_t a, b;
    uint32_t value; /* + 1; 0: free */
} perfetto_slot;

/* Zero-initialised is empty. */
typedef struct perfetto_map {
    perfetto_slot *slots;
    size_t slot_count, count;
} perfetto_map;

void perfetto_map_clear(perfetto_map *map); /* frees */
bool perfetto_map_get(uint32_t *out, const perfetto_map *map, uint64_t a, uint64_t b);
/* value < UINT32_MAX. false: memory ran out. */
bool perfetto_map_set(perfetto_map *map, uint64_t a, uint64_t b, uint32_t value);

#endif
