/* spaces.c - mappings of processes: address -> module and offset
 *
 * A space is a sorted array. A new mapping replaces overlapped parts of old ones, as in the system. A fork copies.
 */
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/perfdata/perfdata.h"

enum { SPACE_MAPPINGS = 65536 }; /* the system's own limit is 65,530 */

perfdata_space *perfdata_space_of(perfdata_spaces *spaces, uint32_t pid)
{
    hd_map_entry *entry = hd_map_at(&spaces->by_pid, pid, 0);
    if (!entry) return NULL;
    if (!entry->pointer) {
        perfdata_space *space = entry->pointer = calloc(1, sizeof(perfdata_space));
        if (space) space->generation = ++spaces->generations;
    }
    return entry->pointer;
}

static size_t first_behind(const perfdata_space *space, uint64_t address)
{
    return hd_sorted_up_to(address, space->list, space->count, sizeof *space->list);
}

const perfdata_mapping *perfdata_space_find(const perfdata_space *space, uint64_t address)
{
    size_t behind = first_behind(space, address);
    if (!behind) return NULL;
    const perfdata_mapping *mapping = &space->list[behind - 1];
    return address < mapping->end ? mapping : NULL;
}

/* Replace [from, to) by up to three. */
static bool splice(perfdata_spaces *spaces, perfdata_space *space, size_t from, size_t to, const perfdata_mapping *put,
                   size_t count)
{
    size_t left = space->count - to, after = from + count + left;
    if (after > space->count && (after > SPACE_MAPPINGS || spaces->mappings + count > spaces->limit)) return false;
    while (after > space->capacity) {
        if (!hd_grow((void **)&space->list, &space->capacity, space->capacity, sizeof *space->list)) return false;
    }
    memmove(space->list + from + count, space->list + to, left * sizeof *space->list);
    memcpy(space->list + from, put, count * sizeof *put);
    spaces->mappings += after;
    spaces->mappings -= space->count;
    space->count = after;
    space->generation = ++spaces->generations;
    return true;
}

bool perfdata_space_map(perfdata_spaces *spaces, perfdata_space *space, const perfdata_mapping *mapping)
{
    perfdata_mapping put[3];
    size_t from = first_behind(space, mapping->start), to = from, count = 0;
    if (mapping->end <= mapping->start) return true;
    if (from && memcmp(&space->list[from - 1], mapping, offsetof(perfdata_mapping, module)) == 0 &&
        space->list[from - 1].module == mapping->module)
        return true;
    if (from && space->list[from - 1].end > mapping->start) from--;
    while (to < space->count && space->list[to].start < mapping->end) to++;
    if (from < to && space->list[from].start < mapping->start) {
        put[count] = space->list[from];
        put[count++].end = mapping->start;
    }
    put[count++] = *mapping;
    if (from < to && space->list[to - 1].end > mapping->end) {
        perfdata_mapping *rest = &put[count++];
        *rest = space->list[to - 1];
        rest->offset += mapping->end - rest->start;
        rest->start = mapping->end;
    }
    return splice(spaces, space, from, to, put, count);
}

void perfdata_space_clear(perfdata_spaces *spaces, perfdata_space *space)
{
    spaces->mappings -= space->count;
    space->count = 0;
    space->generation = ++spaces->generations;
}

void perfdata_space_end(perfdata_spaces *spaces, uint32_t pid)
{
    perfdata_space *space = hd_map_pointer(&spaces->by_pid, pid, 0);
    if (space) space->has_ended = true;
}

static void end_all(perfdata_spaces *spaces)
{
    for (size_t i = 0; i < spaces->by_pid.count; i++) {
        perfdata_space *space = spaces->by_pid.entries[i].pointer;
        if (!space || !space->has_ended) continue;
        perfdata_space_clear(spaces, space);
        free(space->list);
        space->list = NULL;
        space->capacity = 0;
    }
}

bool perfdata_space_fork(perfdata_spaces *spaces, uint32_t child, uint32_t parent)
{
    perfdata_space *from = hd_map_pointer(&spaces->by_pid, parent, 0), *to = perfdata_space_of(spaces, child);
    if (!to) return false;
    perfdata_space_clear(spaces, to);
    to->has_ended = false;
    from = hd_map_pointer(&spaces->by_pid, parent, 0);
    if (!from || from == to || !from->count) return true;
    if (spaces->mappings + from->count > spaces->limit) end_all(spaces);
    if (spaces->mappings + from->count > spaces->limit) return false;
    perfdata_mapping *list = realloc(to->list, from->count * sizeof *list);
    if (!list) return false;
    memcpy(list, from->list, from->count * sizeof *list);
    to->list = list;
    to->count = to->capacity = from->count;
    spaces->mappings += to->count;
    return true;
}

void perfdata_spaces_deinit(perfdata_spaces *spaces)
{
    for (size_t i = 0; i < spaces->by_pid.count; i++) {
        perfdata_space *space = spaces->by_pid.entries[i].pointer;
        if (space) free(space->list);
        free(space);
    }
    hd_map_deinit(&spaces->by_pid);
}
