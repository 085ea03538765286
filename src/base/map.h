/* map.h - hash tables: numbers found by a hash, and values found by a pair of integers
 *
 * Open addressing, linear probing, at most three quarters full. A slot has 32 bits of the hash next to the number, so
 * that other keys are hardly ever compared, and a table grows without reading keys. Hashes are those of hash.h, keyed
 * at random. One thread at a time; any number may search while nothing is added or removed.
 */
#ifndef HD_BASE_MAP_H
#define HD_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define HD_SLOTS_NONE UINT32_MAX

/* ---- numbers, mostly of elements of a list that the caller keeps; the keys are in the list ---- */

/* Zero-initialised is empty. */
typedef struct hd_slots {
    uint64_t *at; /* number + 1 below, 32 bits of the hash above; 0: free */
    size_t mask, count;
} hd_slots;

/* The next number with this hash, after `step` slots; `step` is advanced; HD_SLOTS_NONE: no more. */
static inline uint32_t hd_slots_next(const hd_slots *slots, uint64_t hash, size_t *step)
{
    if (!slots->at) return HD_SLOTS_NONE;
    for (;;) {
        uint64_t slot = slots->at[((uint32_t)hash + (*step)++) & slots->mask];
        if (!slot) return HD_SLOTS_NONE;
        if (slot >> 32 == (uint32_t)hash) return (uint32_t)slot - 1;
    }
}

/* Sets `out`, a uint32_t, to the number with this hash for which `same`, an expression of `out`, is true;
 * HD_SLOTS_NONE: none. `hash` is evaluated for each. */
#define HD_SLOTS_FIND(out, slots, hash, same)                                                                          \
    for (size_t step_ = 0; ((out) = hd_slots_next(slots, hash, &step_)) != HD_SLOTS_NONE && !(same);) {}

/* Adds a number below HD_SLOTS_NONE that is not in the table. false: no memory. */
bool hd_slots_add(hd_slots *slots, uint64_t hash, uint32_t number);
/* Replaces the number `from` by `to`; false: `from` is not in the table. */
bool hd_slots_renumber(hd_slots *slots, uint64_t hash, uint32_t from, uint32_t to);
void hd_slots_remove(hd_slots *slots, uint64_t hash, uint32_t number); /* no effect if it is not in the table */
void hd_slots_clear(hd_slots *slots);                                  /* keeps the memory */
void hd_slots_deinit(hd_slots *slots);

/* The parts of hd_slots_add, for callers that store the slots elsewhere (hd_large_slots_add): the number of slots
 * needed to add one more, 0: the current ones suffice; and moving to such new, zeroed slots, which hands the old ones
 * back to the caller. */
size_t hd_slots_wanted(const hd_slots *slots);
uint64_t *hd_slots_move(hd_slots *slots, uint64_t *at, size_t count);
void hd_slots_place(hd_slots *slots, uint64_t hash, uint32_t number);

/* ---- values by a pair of integers, or by one and 0 ---- */

typedef struct hd_map_entry {
    uint64_t a, b;
    union {
        uint32_t value;
        void *pointer;
    };
} hd_map_entry;

/* Zero-initialised is empty. Entries are in insertion order until one is removed. */
typedef struct hd_map {
    hd_slots slots;
    hd_map_entry *entries;
    size_t count, capacity;
} hd_map;

/* NULL: none. Valid until the next is added or removed. */
static inline hd_map_entry *hd_map_find(const hd_map *map, uint64_t a, uint64_t b)
{
    uint32_t at;
    uint64_t hash = hd_hash_pair(a, b);
    HD_SLOTS_FIND(at, &map->slots, hash, map->entries[at].a == a && map->entries[at].b == b);
    return at == HD_SLOTS_NONE ? NULL : &map->entries[at];
}

static inline bool hd_map_get(uint32_t *out, const hd_map *map, uint64_t a, uint64_t b)
{
    const hd_map_entry *entry = hd_map_find(map, a, b);
    if (entry) *out = entry->value;
    return entry != NULL;
}

static inline void *hd_map_pointer(const hd_map *map, uint64_t a, uint64_t b) /* NULL: none */
{
    const hd_map_entry *entry = hd_map_find(map, a, b);
    return entry ? entry->pointer : NULL;
}

/* The entry, created with zeros if it does not exist; NULL: no memory. */
hd_map_entry *hd_map_at(hd_map *map, uint64_t a, uint64_t b);
bool hd_map_set(hd_map *map, uint64_t a, uint64_t b, uint32_t value); /* adds or replaces; false: no memory */
bool hd_map_set_pointer(hd_map *map, uint64_t a, uint64_t b, void *pointer);
void hd_map_remove(hd_map *map, uint64_t a, uint64_t b); /* the last entry takes the place of the removed one */
void hd_map_clear(hd_map *map);                          /* keeps the memory */
void hd_map_deinit(hd_map *map);

#endif
