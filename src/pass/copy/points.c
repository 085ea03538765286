/* points.c - groups points by their ids
 *
 * A flow is identified by category, name and id, a nestable async slice (b n e) by category and id, an older one (S T p
 * F) by its name too, a counter by its process, name and id. Ids of id2.local count within their process.
 */
#include "pass/copy/points.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "model/identity/process.h"
#include "trace/spill.h"

static hd_point point_at(const hd_trace *trace, const hd_block *block, uint32_t row)
{
    const hd_column *c = block->columns;
    hd_point point = {
        .id_type = (uint32_t)hd_column_at(&c[HD_COL_ID_TYPE], row),
        .process = HD_NONE,
        .phase = (uint32_t)hd_column_at(&c[HD_COL_PHASE], row) & HD_PHASE_MASK,
        .start_ns = hd_column_at(&c[HD_COL_START], row),
        .row = block->first_row + row,
    };
    bool nestable = point.phase == 'b' || point.phase == 'n' || point.phase == 'e';
    if (point.id_type != HD_ID_NONE) point.id = hd_column_at(&c[HD_COL_ID], row);
    if (block->kind == HD_KIND_COUNTER || point.id_type & HD_ID_LOCAL)
        point.process = hd_process_of(trace, (uint32_t)hd_column_at(&c[HD_COL_TRACK], row));
    if (block->kind != HD_KIND_COUNTER) point.category = (uint32_t)hd_column_at(&c[HD_COL_CATEGORY], row);
    if (block->kind != HD_KIND_ASYNC || !nestable) point.name = (uint32_t)hd_column_at(&c[HD_COL_NAME], row);
    return point;
}

static int by_key(const hd_point *x, const hd_point *y)
{
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->category != y->category) return x->category < y->category ? -1 : 1;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    return (x->id_type > y->id_type) - (x->id_type < y->id_type);
}

static int by_key_and_row(const void *a, const void *b)
{
    const hd_point *x = a, *y = b;
    int order = by_key(x, y);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

hd_status hd_points_of(hd_points *out, const hd_trace *trace, hd_kind kind, hd_error *err)
{
    *out = (hd_points){0};
    out->list =
        hd_large_new((size_t)hd_trace_row_count(trace, kind) + 1, sizeof *out->list, hd_trace_large_bytes(trace));
    if (!out->list) return HD_NOMEM(err);
    for (size_t i = 0; i < hd_trace_block_count(trace, kind); i++) {
        const hd_block *block = hd_trace_block_at(trace, kind, i);
        for (uint32_t row = 0; row < block->row_count; row++) out->list[out->count++] = point_at(trace, block, row);
    }
    bool sorted = hd_large_sort(out->list, out->count, sizeof *out->list, by_key_and_row, hd_trace_large_bytes(trace));
    if (!sorted) hd_points_deinit(out);
    return sorted ? HD_OK : HD_NOMEM(err);
}

void hd_points_deinit(hd_points *points)
{
    hd_large_free(points->list);
    *points = (hd_points){0};
}

size_t hd_points_run(const hd_points *points, size_t first)
{
    size_t end = first + 1;
    while (end < points->count && by_key(&points->list[first], &points->list[end]) == 0) end++;
    return end - first;
}

hd_status hd_points_drop_lone(uint64_t *out_dropped, uint8_t *keep, const hd_trace *trace, hd_error *err)
{
    hd_points flows;
    uint64_t rows = hd_trace_row_count(trace, HD_KIND_FLOW);
    *out_dropped = 0;
    if (rows == 0 || !memchr(keep, 0, (size_t)rows)) return HD_OK;
    HD_TRY(hd_points_of(&flows, trace, HD_KIND_FLOW, err));
    for (size_t i = 0; i < flows.count;) {
        size_t run = hd_points_run(&flows, i), kept = 0;
        for (size_t k = i; k < i + run; k++) kept += keep[flows.list[k].row];
        for (size_t k = i; kept == 1 && run > 1 && k < i + run; k++) {
            *out_dropped += keep[flows.list[k].row];
            keep[flows.list[k].row] = 0;
        }
        i += run;
    }
    hd_points_deinit(&flows);
    return HD_OK;
}

hd_status hd_points_keep_bound(uint8_t *keep, uint64_t *out_dropped, const hd_trace *trace,
                               const hd_points_bound *bound, hd_error *err)
{
    uint32_t *slices;
    uint64_t rows = hd_trace_row_count(trace, HD_KIND_FLOW), lone = 0;
    *out_dropped = 0;
    HD_TRY(hd_flows_bind(&slices, trace, err));
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_FLOW); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_FLOW, i);
        for (uint32_t k = 0; k < block->row_count; k++) {
            uint32_t slice = slices[block->first_row + k];
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], k);
            keep[block->first_row + k] = slice != UINT32_MAX
                                             ? bound->slice_stays[slice]
                                             : !bound->unbound_stays || bound->unbound_stays(bound->user, track);
        }
    }
    hd_large_free(slices);
    HD_TRY(hd_points_drop_lone(&lone, keep, trace, err));
    for (uint64_t row = 0; row < rows; row++) *out_dropped += !keep[row];
    return HD_OK;
}
