/* bind.c - the slice that each flow point of a trace is bound to */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "model/flows/index.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

/* Rows of one table by track: rows[first[track] … first[track + 1]). Twins are one track. */
typedef struct by_track {
    uint32_t *rows;
    size_t *first;
} by_track;

static hd_status group_rows(by_track *out, const hd_trace *trace, hd_kind kind, hd_error *err)
{
    uint32_t tracks = hd_trace_track_count(trace);
    uint64_t total = hd_trace_row_count(trace, kind);
    if (total >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 slices or flow points");
    out->rows = hd_large_new((size_t)total + 1, sizeof *out->rows, hd_trace_large_bytes(trace));
    out->first = calloc((size_t)tracks + 2, sizeof *out->first);
    if (!out->rows || !out->first) return HD_NOMEM(err);
    for (uint32_t t = 0; t < tracks; t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        out->first[track->same_as + 2] += track->rows[kind];
    }
    for (uint32_t t = 1; t <= tracks; t++) out->first[t + 1] += out->first[t];
    hd_block_room room = {0};
    for (size_t i = 0; i < hd_trace_block_count(trace, kind); i++) {
        const hd_block *block = hd_walk_columns(&room, trace, kind, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
            if (track == HD_NONE) continue;
            uint32_t root = hd_trace_track_at(trace, track)->same_as;
            out->rows[out->first[root + 1]++] = (uint32_t)block->first_row + row;
        }
    }
    hd_walk_end(&room, trace);
    return hd_trace_input_status(trace, err); /* first[t] is now where track t begins */
}

static void by_track_deinit(by_track *rows)
{
    hd_large_free(rows->rows);
    free(rows->first);
}

static void gather(hd_lane_slice *out, const hd_trace *trace, const uint32_t *rows, uint32_t count)
{
    const hd_block *block = NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at;
        if (!block || rows[i] < block->first_row || rows[i] - block->first_row >= block->row_count)
            block = hd_trace_columns_of(&at, trace, HD_KIND_SLICE, rows[i]);
        at = (uint32_t)(rows[i] - block->first_row);
        int64_t start = hd_column_at(&block->columns[HD_COL_START], at);
        int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], at);
        out[i] = (hd_lane_slice){.start = start, .end = hd_end_or_start(start, duration)};
    }
}

static hd_status bind_track(uint32_t *out, const hd_trace *trace, const uint32_t *slices, uint32_t slice_count,
                            const uint32_t *flows, size_t flow_count, hd_error *err)
{
    hd_bind_index index;
    hd_lane_slice *extents = hd_large_new((size_t)slice_count + 1, sizeof *extents, hd_trace_large_bytes(trace));
    if (!extents) return HD_NOMEM(err);
    gather(extents, trace, slices, slice_count);
    hd_status status = hd_bind_index_init(&index, extents, slice_count, 1, hd_trace_large_bytes(trace), err);
    for (size_t i = 0; status == HD_OK && i < flow_count; i++) {
        uint32_t at;
        const hd_block *block = hd_trace_columns_of(&at, trace, HD_KIND_FLOW, flows[i]);
        int64_t start = hd_column_at(&block->columns[HD_COL_START], at);
        uint32_t phase = (uint32_t)hd_column_at(&block->columns[HD_COL_PHASE], at);
        bool enclosing = (phase & HD_PHASE_MASK) != 'f' || phase & HD_FLAG_BIND_ENCLOSING;
        uint32_t found = start == HD_NO_TIME ? UINT32_MAX : hd_bind_find(&index, 0, start, enclosing);
        out[flows[i]] = found == UINT32_MAX ? UINT32_MAX : slices[found];
    }
    if (status == HD_OK) hd_bind_index_deinit(&index);
    hd_large_free(extents);
    return status;
}

hd_status hd_flows_bind(uint32_t **out, const hd_trace *trace, hd_error *err)
{
    by_track slices = {0}, flows = {0};
    uint64_t total = hd_trace_row_count(trace, HD_KIND_FLOW);
    hd_slice_point *own;
    size_t own_count;
    *out = NULL;
    HD_TRY(hd_slice_points(&own, &own_count, trace, err));
    uint32_t *bound = hd_large_new((size_t)total + own_count + 1, sizeof *bound, hd_trace_large_bytes(trace));
    if (bound) memset(bound, 0xff, (size_t)total * sizeof *bound);
    for (size_t i = 0; bound && i < own_count; i++) bound[total + i] = own[i].row;
    hd_large_free(own);
    if (!bound) return HD_NOMEM(err);
    hd_status status = total ? group_rows(&slices, trace, HD_KIND_SLICE, err) : HD_OK;
    if (status == HD_OK && total) status = group_rows(&flows, trace, HD_KIND_FLOW, err);
    for (uint32_t t = 0; status == HD_OK && total && t < hd_trace_track_count(trace); t++) {
        size_t slice_count = slices.first[t + 1] - slices.first[t], flow_count = flows.first[t + 1] - flows.first[t];
        if (slice_count && flow_count)
            status = bind_track(bound, trace, slices.rows + slices.first[t], (uint32_t)slice_count,
                                flows.rows + flows.first[t], flow_count, err);
    }
    by_track_deinit(&slices);
    by_track_deinit(&flows);
    if (status == HD_OK)
        *out = bound;
    else
        hd_large_free(bound);
    return status;
}
