/* crop.c - crops a trace to a range of time
 *
 * Kept are slices that touch [from, until), whole or clipped; the end of a begin/end pair with its begin; a slice that
 * is never closed has no end. Flow points are kept with the slice they are bound to, unbound ones by their time; a flow
 * with only one remaining point is removed. Async begins and ends are kept together, like slices. Samples of counters
 * in the window are kept, and the last sample before it, moved to its start, since that is the value there. Everything
 * else is kept by its time; events without a time are kept, and so are the names and order of tracks and the metadata.
 */
#include "pass/crop/crop.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "pass/crop/impl.h"
#include "trace/event.h"

bool crop_touches(const hd_crop_window *w, int64_t start, int64_t end)
{
    if (start == HD_NO_TIME) return true;
    if (start >= w->until_ns) return false;
    return start >= w->from_ns || end == HD_NO_TIME || end > w->from_ns;
}

/* The end of a slice or another event with a duration; HD_NO_TIME: never. */
static int64_t end_of(int64_t start, int64_t duration, int64_t phase)
{
    return hd_never_ends(duration, phase) ? HD_NO_TIME : hd_end_or_start(start, duration);
}

bool crop_slice_stays(const cropper *c, const hd_block *block, uint32_t row)
{
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
    int64_t phase = hd_column_at(&block->columns[HD_COL_PHASE], row);
    return crop_touches(&c->window, start, end_of(start, duration, phase));
}

/* ---- slices ---- */

static void clip_slices(const cropper *c, hd_copy_rows *rows)
{
    const hd_crop_window *w = &c->window;
    int64_t *start = hd_copy_change(rows, HD_COL_START), *duration = hd_copy_change(rows, HD_COL_DURATION);
    int64_t *start_ps = hd_copy_change(rows, HD_COL_START_PS), *end_ps = hd_copy_change(rows, HD_COL_END_PS);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        int64_t end = end_of(start[i], duration[i], false);
        bool has_end = duration[i] != HD_NO_TIME;
        if (!rows->keep[i] || start[i] == HD_NO_TIME) continue;
        if (start[i] < w->from_ns) {
            start[i] = w->from_ns;
            start_ps[i] = 0;
        }
        if (end >= w->until_ns && has_end) {
            end = w->until_ns;
            end_ps[i] = 0;
        }
        if (has_end && duration[i] >= 0) duration[i] = end - start[i];
    }
}

static void crop_slices(const cropper *c, hd_copy_rows *rows)
{
    const int64_t *start = hd_copy_look(rows, HD_COL_START), *duration = hd_copy_look(rows, HD_COL_DURATION);
    const int64_t *phase = hd_copy_look(rows, HD_COL_PHASE);
    bool straddles = false;
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        int64_t end = end_of(start[i], duration[i], phase[i]);
        rows->keep[i] = crop_touches(&c->window, start[i], end);
        straddles |= rows->keep[i] && (start[i] < c->window.from_ns || end > c->window.until_ns);
    }
    if (c->window.clip && straddles) clip_slices(c, rows);
}

/* ---- all other kinds ---- */

/* Clips the times of kept rows to the window. */
static void clip_times(const cropper *c, hd_copy_rows *rows, int64_t last)
{
    int64_t *start = hd_copy_change(rows, HD_COL_START), *ps = hd_copy_change(rows, HD_COL_START_PS);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        int64_t at = start[i] < c->window.from_ns ? c->window.from_ns : start[i] > last ? last : start[i];
        if (!rows->keep[i] || start[i] == HD_NO_TIME || at == start[i]) continue;
        start[i] = at;
        ps[i] = 0;
    }
}

static void crop_ends(const cropper *c, hd_copy_rows *rows)
{
    const int64_t *start = hd_copy_look(rows, HD_COL_START), *partner = hd_copy_look(rows, HD_COL_PARTNER);
    for (uint32_t i = 0; i < rows->block->row_count; i++) {
        uint32_t at;
        if (partner[i] < 0) {
            rows->keep[i] = crop_touches(&c->window, start[i], start[i]);
            continue;
        }
        const hd_block *slices = hd_trace_block_of(&at, c->trace, HD_KIND_SLICE, (uint64_t)partner[i]);
        rows->keep[i] = crop_slice_stays(c, slices, at);
    }
    if (c->window.clip) clip_times(c, rows, c->window.until_ns);
}

static void crop_by_time(const cropper *c, hd_copy_rows *rows)
{
    const int64_t *start = hd_copy_look(rows, HD_COL_START), *duration = hd_copy_look(rows, HD_COL_DURATION);
    for (uint32_t i = 0; i < rows->block->row_count; i++)
        rows->keep[i] = crop_touches(&c->window, start[i], end_of(start[i], duration[i], false));
}

static void crop_points(const cropper *c, hd_copy_rows *rows)
{
    const hd_crop_window *w = &c->window;
    memcpy(rows->keep, c->keep[rows->block->kind] + rows->block->first_row, rows->block->row_count);
    /* a flow point at the very end of its slice might be bound to the next one */
    int64_t last = rows->block->kind == HD_KIND_FLOW && w->until_ns > w->from_ns ? w->until_ns - 1 : w->until_ns;
    if (rows->block->kind == HD_KIND_COUNTER || w->clip) clip_times(c, rows, last);
}

static hd_status crop_rows(void *user, hd_copy *copy, hd_copy_rows *rows, hd_error *err)
{
    const cropper *c = user;
    (void)copy;
    (void)err;
    switch (rows->block->kind) {
    case HD_KIND_SLICE: crop_slices(c, rows); break;
    case HD_KIND_END: crop_ends(c, rows); break;
    case HD_KIND_FLOW:
    case HD_KIND_ASYNC:
    case HD_KIND_COUNTER: crop_points(c, rows); break;
    case HD_KIND_META: break;
    default: crop_by_time(c, rows); break;
    }
    return HD_OK;
}

static hd_status crop_into(hd_builder *builder, hd_pass_result *result, cropper *c, hd_error *err)
{
    hd_copy *copy;
    hd_copy_hooks hooks = {.user = c, .rows = crop_rows};
    HD_TRY(crop_decide_points(c, err));
    HD_TRY(hd_copy_new(&copy, c->trace, builder, err));
    hd_status status = hd_copy_tracks(copy, NULL, NULL, err);
    if (status == HD_OK) status = hd_copy_events(copy, &hooks, err);
    if (status == HD_OK) status = hd_copy_surroundings(copy, err);
    result->removed = hd_copy_dropped(copy);
    hd_copy_free(copy);
    if (c->moved_samples)
        hd_builder_ledger(builder, "crop", "crop.counter-moved", HD_LEDGER_NOTE, c->moved_samples, HD_OFFSET_NONE);
    return status;
}

hd_status hd_crop(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_crop_window *window,
                  hd_error *err)
{
    hd_builder *builder;
    cropper c = {.trace = trace, .window = *window};
    *out = NULL;
    *result = (hd_pass_result){0};
    HD_TRY(hd_builder_new(&builder, err));
    hd_status status = crop_into(builder, result, &c, err);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) hd_large_free(c.keep[kind]);
    if (status == HD_OK) return hd_builder_finish(out, builder, err);
    hd_builder_free(builder);
    return status;
}
