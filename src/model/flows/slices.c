/* slices.c - slices that are points of flows themselves, by their members bind_id, flow_in and flow_out */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

bool hd_slice_flow_keys_find(hd_slice_flow_keys *out, const hd_trace *trace)
{
    out->bind_id = hd_trace_find_string(trace, "bind_id", 7);
    out->flow_out = hd_trace_find_string(trace, "flow_out", 8);
    out->flow_in = hd_trace_find_string(trace, "flow_in", 7);
    return out->bind_id != HD_NONE && (out->flow_out != HD_NONE || out->flow_in != HD_NONE);
}

static bool is_true(const hd_shape *shape, const hd_event *event, uint32_t key)
{
    int at = hd_shape_find(shape, key, HD_SCOPE_EVENT);
    return at >= 0 && shape->keys[at].type == HD_ARG_BOOL && hd_column_at(&event->args->columns[at], event->args_row);
}

char hd_slice_flow(hd_point_id *out, const hd_slice_flow_keys *keys, const hd_trace *trace, const hd_event *event)
{
    static const uint8_t id_types[] = {
        [HD_ARG_INT] = HD_ID_INT, [HD_ARG_STRING] = HD_ID_STRING, [HD_ARG_NUMBER] = HD_ID_NUMBER};
    if (!event->args) return 0;
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    int at = hd_shape_find(shape, keys->bind_id, HD_SCOPE_EVENT);
    unsigned type = at >= 0 && shape->keys[at].type < sizeof id_types ? id_types[shape->keys[at].type] : HD_ID_NONE;
    bool goes = is_true(shape, event, keys->flow_out), comes = is_true(shape, event, keys->flow_in);
    if (type == HD_ID_NONE || (!goes && !comes)) return 0;
    *out = hd_point_id_of(trace, type, hd_column_at(&event->args->columns[at], event->args_row));
    return !comes ? 's' : goes ? 't' : 'f';
}

/* By shape, whether slices of it may be points; NULL: no memory. */
static bool *find_shapes(const hd_trace *trace, const hd_slice_flow_keys *keys, bool *out_any)
{
    uint32_t count = hd_trace_shape_count(trace);
    bool *out = calloc((size_t)count + 1, sizeof *out);
    *out_any = false;
    for (uint32_t i = 0; out && i < count; i++) {
        const hd_shape *shape = hd_trace_shape_at(trace, i);
        out[i] = hd_shape_find(shape, keys->bind_id, HD_SCOPE_EVENT) >= 0 &&
                 (hd_shape_find(shape, keys->flow_out, HD_SCOPE_EVENT) >= 0 ||
                  hd_shape_find(shape, keys->flow_in, HD_SCOPE_EVENT) >= 0);
        *out_any |= out[i];
    }
    return out;
}

typedef struct lister {
    const hd_trace *trace;
    hd_slice_flow_keys keys;
    const bool *shapes;
    hd_slice_point *list;
    size_t count, capacity;
} lister;

static bool list_block(lister *l, const hd_block *block)
{
    bool any = false;
    for (uint32_t i = 0; i < block->group_count; i++) any |= l->shapes[block->groups[i].shape];
    for (uint32_t i = 0; any && i < block->row_count; i++) {
        uint32_t shape = (uint32_t)hd_column_at(&block->columns[HD_COL_SHAPE], i);
        hd_event event;
        if (shape >= hd_trace_shape_count(l->trace) || !l->shapes[shape]) continue;
        hd_block_event(&event, block, i);
        hd_slice_point point = {.row = (uint32_t)event.row};
        point.phase = hd_slice_flow(&point.id, &l->keys, l->trace, &event);
        if (!point.phase || event.start_ns == HD_NO_TIME) continue;
        if (!hd_large_grow((void **)&l->list, &l->capacity, l->count, sizeof *l->list, hd_trace_large_bytes(l->trace)))
            return false;
        l->list[l->count++] = point;
    }
    return true;
}

hd_status hd_slice_points(hd_slice_point **out, size_t *out_count, const hd_trace *trace, hd_error *err)
{
    lister l = {.trace = trace};
    bool any = false, fine = true;
    hd_block_room room = {0};
    *out = NULL;
    *out_count = 0;
    if (!hd_slice_flow_keys_find(&l.keys, trace)) return HD_OK;
    if (hd_trace_row_count(trace, HD_KIND_SLICE) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices or flow points");
    bool *shapes = find_shapes(trace, &l.keys, &any);
    l.shapes = shapes;
    for (size_t b = 0; any && fine && b < hd_trace_block_count(trace, HD_KIND_SLICE); b++)
        fine = list_block(&l, hd_walk_block(&room, trace, HD_KIND_SLICE, b));
    hd_walk_end(&room, trace);
    fine = fine && shapes;
    free(shapes);
    if (!fine) {
        hd_large_free(l.list);
        return HD_NOMEM(err);
    }
    *out = l.list;
    *out_count = l.count;
    return HD_OK;
}

bool hd_trace_has_flows(const hd_trace *trace)
{
    hd_slice_flow_keys keys;
    bool any = hd_trace_row_count(trace, HD_KIND_FLOW) > 0;
    if (any || !hd_slice_flow_keys_find(&keys, trace)) return any;
    free(find_shapes(trace, &keys, &any));
    return any;
}
