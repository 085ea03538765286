/* names.c - the time of each name, and the names with most of it */
#include "trace/index/names.h"

#include <stdlib.h>

#include "base/memory/vector.h"

bool lane_names_add(lane_names *names, uint32_t name, uint64_t units)
{
    uint32_t at;
    uint64_t hash = hd_hash_pair(name, 0);
    HD_SLOTS_FIND(at, &names->slots, hash, names->list[at].name == name);
    if (at == HD_SLOTS_NONE) {
        if (!hd_grow((void **)&names->list, &names->capacity, names->count, sizeof *names->list) ||
            !hd_slots_add(&names->slots, hash, (uint32_t)names->count))
            return false;
        at = (uint32_t)names->count++;
        names->list[at] = (lane_name){.name = name};
    }
    names->list[at].units += units; /* all together fit: no time is counted twice */
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
    hd_slots_clear(&names->slots);
    names->count = 0;
}

void lane_names_deinit(lane_names *names)
{
    free(names->list);
    hd_slots_deinit(&names->slots);
    *names = (lane_names){0};
}
