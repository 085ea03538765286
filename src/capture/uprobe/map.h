/* map.h - from a number to a pointer: processes, threads, events by their ids */
#ifndef HD_CAPTURE_UPROBE_MAP_H
#define HD_CAPTURE_UPROBE_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised is empty. The values are the caller's. */
typedef struct uprobe_map {
    struct {
        uint64_t key;
        void *value; /* NULL: free */
    } * slots;
    uint32_t capacity, count;
} uprobe_map;

void *uprobe_map_get(const uprobe_map *map, uint64_t key);       /* NULL: none */
bool uprobe_map_put(uprobe_map *map, uint64_t key, void *value); /* replaces; false: no memory */
void uprobe_map_remove(uprobe_map *map, uint64_t key);
/* All of them: *at begins at 0; NULL: no more. Nothing may be put or removed meanwhile. */
void *uprobe_map_next(const uprobe_map *map, uint32_t *at);
void uprobe_map_deinit(uprobe_map *map);

#endif
