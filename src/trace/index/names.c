/* names.c - the time of each name, and the names with most of it */
#include "trace/index/names.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/memory/vector.h"

static size_t place_of(const lane_names *names, uint32_t name)
{
    size_t at = (size_t)hd_hash_pair(name, 0) & (names->slot_count - 1);
    while (names->slots[at] && names->list[names->slots[at] - 1].name != name) at = (at + 1) & (names->slot_count - 1);
    return at;
}

static bool grow_slots(lane_names *names)
{
    size_t count = names->slot_count ? names->slot_count * 2 : HD_SUMMARY_SLICES * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (size_t i = 0; i < names->count; i++) slots[place_of(names, names->list[i].name)] = (uint32_t)i + 1;
    return true;
}

bool lane_names_add(lane_names *names, uint32_t name, uint64_t units)
{
    if (names->count * 2 >= names->slot_count && !grow_slots(names)) return false;
    size_t at = place_of(names, name);
    if (!names->slots[at]) {
        if (!hd_grow((void **)&names->list, &names->capacity, names->count, sizeof *names->list)) return false;
        names->list[names->count++] = (lane_name){.name = name};
        names->slots[at] = (uint32_t)names->count;
    }
    names->list[names->slots[at] - 1].units += units; /* all together fit: no time is counted twice */
    return true;
}

void lane_names_top(hd_summary *out, const lane_names *names, int64_t units_per_ns)
{
    const lane_name *best[HD_SUMMARY_NAMES];
    size_t found = 0;
    for (size_t i = 0; i < names->count; i++) {
        const lane_name *name = &names->list[i];
        if (found == HD_SUMMARY_NAMES && name->units <= best[found - 1]->units) continue;
        size_t at = found < HD_SUMMARY_NAMES ? found++ : found - 1;
        for (; at > 0 && best[at - 1]->units < name->units; at--) best[at] = best[at - 1];
        best[at] = name;
    }
    for (size_t i = 0; i < found; i++) {
        uint64_t ns = best[i]->units / (uint64_t)units_per_ns;
        out->names[i] = best[i]->name;
        out->name_ns[i] = ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
    }
}

void lane_names_clear(lane_names *names)
{
    if (names->count) memset(names->slots, 0, names->slot_count * sizeof *names->slots);
    names->count = 0;
}

void lane_names_deinit(lane_names *names)
{
    free(names->list);
    free(names->slots);
    *names = (lane_names){0};
}
