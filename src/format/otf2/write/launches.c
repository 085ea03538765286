/* launches.c - the track that launched a copy: that of the call with its correlation id
 *
 * Correlation ids are unique within a process, so they are looked up in the process that created the device.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/otf2/write/write.h"

/* Names of calls that copy: "cudaMemcpyAsync", "hipMemcpyWithStream", "cuMemcpyHtoD_v2". */
static bool copies(const ow_writer *w, uint32_t name)
{
    hd_string text = hd_trace_string(w->trace, name);
    return text.size && memmem(text.data, text.size, "emcpy", 5) != NULL;
}

static hd_status count_launch(ow_writer *w, uint32_t location, const hd_event *event)
{
    bool created;
    if (event->correlation < 0) return HD_OK;
    uint32_t *slot =
        ow_map_get(&w->launches, w->places[w->locations[location].place].group, (uint64_t)event->correlation, &created);
    if (!slot) return HD_NOMEM(w->err);
    if (created) *slot = location + 1;
    return HD_OK;
}

static hd_status scan(ow_writer *w, uint32_t index, uint8_t *known)
{
    const ow_location *location = &w->locations[index];
    for (size_t i = location->first; i < location->first + location->count; i++) {
        if (w->items[i].what != OW_SLICE) continue;
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, w->trace, HD_KIND_SLICE, w->items[i].row);
        uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], at);
        if (!known[name]) known[name] = copies(w, name) ? 2 : 1;
        if (known[name] == 1) continue;
        hd_event event;
        hd_block_event(&event, block, at);
        HD_TRY(count_launch(w, index, &event));
    }
    return HD_OK;
}

hd_status ow_find_launches(ow_writer *w)
{
    bool has_devices = false;
    for (size_t i = 0; i < w->group_count; i++) has_devices |= w->groups[i].device != HD_NO_NUMBER;
    if (!has_devices) return HD_OK;
    uint8_t *known = calloc((size_t)hd_trace_string_count(w->trace) + 1, 1); /* by name: 1 no, 2 it copies */
    hd_status status = known ? HD_OK : HD_NOMEM(w->err);
    for (uint32_t i = 0; i < w->location_count && status == HD_OK; i++) {
        const ow_place *place = &w->places[w->locations[i].place];
        if (place->type == OW_PLACE_ROW && w->groups[place->group].device == HD_NO_NUMBER) status = scan(w, i, known);
    }
    free(known);
    return status;
}

uint32_t ow_launcher_of(const ow_writer *w, const hd_event *event, uint32_t process)
{
    uint32_t found;
    bool has_id = event->correlation >= 0;
    return has_id && hd_map_get(&found, &w->launches, process, (uint64_t)event->correlation) ? found - 1 : HD_NONE;
}
