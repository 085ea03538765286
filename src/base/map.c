/* map.c - hash tables: growing, and removal by backward shift */
#include "base/map.h"

#include <stdlib.h>

#include "base/memory/vector.h"

enum { FIRST_SLOTS = 64 };

/* ---- numbers ---- */

static uint64_t slot_for(uint64_t hash, uint32_t number)
{
    return hash << 32 | ((uint64_t)number + 1);
}

static void place(hd_slots *slots, uint64_t slot)
{
    size_t at = (slot >> 32) & slots->mask;
    while (slots->at[at]) at = (at + 1) & slots->mask;
    slots->at[at] = slot;
}

void hd_slots_place(hd_slots *slots, uint64_t hash, uint32_t number)
{
    place(slots, slot_for(hash, number));
    slots->count++;
}

size_t hd_slots_wanted(const hd_slots *slots)
{
    if (!slots->at) return FIRST_SLOTS;
    return (slots->count + 1) * 4 > (slots->mask + 1) * 3 ? (slots->mask + 1) * 2 : 0;
}

uint64_t *hd_slots_move(hd_slots *slots, uint64_t *at, size_t count)
{
    hd_slots old = *slots;
    *slots = (hd_slots){at, count - 1, old.count};
    for (size_t i = 0; old.at && i <= old.mask; i++) {
        if (old.at[i]) place(slots, old.at[i]);
    }
    return old.at;
}

bool hd_slots_add(hd_slots *slots, uint64_t hash, uint32_t number)
{
    size_t wanted = hd_slots_wanted(slots);
    if (wanted) {
        uint64_t *wider = calloc(wanted, sizeof *wider);
        if (!wider) return false;
        free(hd_slots_move(slots, wider, wanted));
    }
    hd_slots_place(slots, hash, number);
    return true;
}

/* The slot of the number; a free slot: not found. */
static size_t slot_of(const hd_slots *slots, uint64_t hash, uint32_t number)
{
    size_t at = (uint32_t)hash & slots->mask;
    while (slots->at[at] && slots->at[at] != slot_for(hash, number)) at = (at + 1) & slots->mask;
    return at;
}

bool hd_slots_renumber(hd_slots *slots, uint64_t hash, uint32_t from, uint32_t to)
{
    size_t at = slots->at ? slot_of(slots, hash, from) : 0;
    if (!slots->at || !slots->at[at]) return false;
    slots->at[at] = slot_for(hash, to);
    return true;
}

void hd_slots_remove(hd_slots *slots, uint64_t hash, uint32_t number)
{
    if (!slots->at) return;
    size_t hole = slot_of(slots, hash, number);
    if (!slots->at[hole]) return;
    slots->count--;
    for (size_t at = (hole + 1) & slots->mask; slots->at[at]; at = (at + 1) & slots->mask) {
        size_t from_home = (at - (slots->at[at] >> 32)) & slots->mask;
        if (from_home < ((at - hole) & slots->mask)) continue; /* its home slot is after the hole */
        slots->at[hole] = slots->at[at];
        hole = at;
    }
    slots->at[hole] = 0;
}

void hd_slots_clear(hd_slots *slots)
{
    if (slots->count) memset(slots->at, 0, (slots->mask + 1) * sizeof *slots->at);
    slots->count = 0;
}

void hd_slots_deinit(hd_slots *slots)
{
    free(slots->at);
    *slots = (hd_slots){0};
}

/* ---- values ---- */

hd_map_entry *hd_map_at(hd_map *map, uint64_t a, uint64_t b)
{
    hd_map_entry *entry = hd_map_find(map, a, b);
    if (entry) return entry;
    if (map->count >= HD_SLOTS_NONE ||
        !hd_grow((void **)&map->entries, &map->capacity, map->count, sizeof *map->entries) ||
        !hd_slots_add(&map->slots, hd_hash_pair(a, b), (uint32_t)map->count))
        return NULL;
    entry = &map->entries[map->count++];
    *entry = (hd_map_entry){.a = a, .b = b};
    entry->pointer = NULL;
    return entry;
}

bool hd_map_set(hd_map *map, uint64_t a, uint64_t b, uint32_t value)
{
    hd_map_entry *entry = hd_map_at(map, a, b);
    if (entry) entry->value = value;
    return entry != NULL;
}

bool hd_map_set_pointer(hd_map *map, uint64_t a, uint64_t b, void *pointer)
{
    hd_map_entry *entry = hd_map_at(map, a, b);
    if (entry) entry->pointer = pointer;
    return entry != NULL;
}

void hd_map_remove(hd_map *map, uint64_t a, uint64_t b)
{
    hd_map_entry *gone = hd_map_find(map, a, b);
    if (!gone) return;
    uint32_t at = (uint32_t)(gone - map->entries), end = (uint32_t)--map->count;
    hd_slots_remove(&map->slots, hd_hash_pair(a, b), at);
    if (at == end) return;
    *gone = map->entries[end];
    hd_slots_renumber(&map->slots, hd_hash_pair(gone->a, gone->b), end, at);
}

void hd_map_clear(hd_map *map)
{
    hd_slots_clear(&map->slots);
    map->count = 0;
}

void hd_map_deinit(hd_map *map)
{
    hd_slots_deinit(&map->slots);
    free(map->entries);
    *map = (hd_map){0};
}
