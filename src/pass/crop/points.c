/* points.c - which flow points, async points and counter samples a crop keeps */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/flows/bind.h"
#include "pass/copy/points.h"
#include "pass/crop/impl.h"
#include "trace/spill.h"

static bool in_window(const hd_crop_window *w, int64_t at)
{
    return at == HD_NO_TIME || (at >= w->from_ns && at < w->until_ns);
}

/* ---- flows: a point goes with its slice ---- */

static void decide_flow_block(cropper *c, const uint32_t *bound, const hd_block *block)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        uint64_t row = block->first_row + i;
        bool stays = in_window(&c->window, hd_column_at(&block->columns[HD_COL_START], i));
        if (bound[row] != UINT32_MAX) {
            uint32_t at;
            const hd_block *slices = hd_trace_block_of(&at, c->trace, HD_KIND_SLICE, bound[row]);
            stays = crop_slice_stays(c, slices, at);
        }
        c->keep[HD_KIND_FLOW][row] = stays;
    }
}

static hd_status decide_flows(cropper *c, hd_error *err)
{
    uint32_t *bound;
    uint64_t lone;
    HD_TRY(hd_flows_bind(&bound, c->trace, err));
    for (size_t i = 0; i < hd_trace_block_count(c->trace, HD_KIND_FLOW); i++)
        decide_flow_block(c, bound, hd_trace_block_at(c->trace, HD_KIND_FLOW, i));
    hd_large_free(bound);
    return hd_points_drop_lone(&lone, c->keep[HD_KIND_FLOW], c->trace, err);
}

/* ---- async slices: a begin goes with its end ---- */

/* Decides about the points of one id. A begin without an end extends for ever. `open`: room for as many. */
static void decide_async_run(cropper *c, const hd_point *points, size_t count, size_t *open)
{
    uint8_t *keep = c->keep[HD_KIND_ASYNC];
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        const hd_point *p = &points[i];
        keep[p->row] = in_window(&c->window, p->start_ns);
        if (p->phase == 'b' || p->phase == 'S') {
            open[depth++] = i;
        } else if ((p->phase == 'e' || p->phase == 'F') && depth) {
            const hd_point *begin = &points[open[--depth]];
            keep[p->row] = keep[begin->row] = crop_touches(&c->window, begin->start_ns, p->start_ns);
        }
    }
    while (depth) {
        const hd_point *begin = &points[open[--depth]];
        keep[begin->row] = crop_touches(&c->window, begin->start_ns, HD_NO_TIME);
    }
}

static hd_status decide_async(cropper *c, hd_error *err)
{
    hd_points points;
    HD_TRY(hd_points_of(&points, c->trace, HD_KIND_ASYNC, err));
    size_t *open = hd_large_new(points.count + 1, sizeof *open, hd_trace_large_bytes(c->trace));
    for (size_t i = 0; open && i < points.count;) {
        size_t run = hd_points_run(&points, i);
        decide_async_run(c, &points.list[i], run, open);
        i += run;
    }
    hd_points_deinit(&points);
    hd_large_free(open);
    return open ? HD_OK : HD_NOMEM(err);
}

/* ---- counters: the value at the window's start is that of the last sample before it ---- */

static void decide_counter_run(cropper *c, const hd_point *points, size_t count)
{
    const hd_point *last = NULL;
    bool at_start = false;
    for (size_t i = 0; i < count; i++) {
        const hd_point *p = &points[i];
        c->keep[HD_KIND_COUNTER][p->row] = in_window(&c->window, p->start_ns);
        at_start |= p->start_ns == c->window.from_ns;
        if (p->start_ns == HD_NO_TIME || p->start_ns >= c->window.from_ns) continue;
        if (!last || p->start_ns >= last->start_ns) last = p;
    }
    if (!last || at_start || c->window.from_ns >= c->window.until_ns) return;
    c->keep[HD_KIND_COUNTER][last->row] = 1;
    c->moved_samples++;
}

static hd_status decide_counters(cropper *c, hd_error *err)
{
    hd_points points;
    HD_TRY(hd_points_of(&points, c->trace, HD_KIND_COUNTER, err));
    for (size_t i = 0; i < points.count;) {
        size_t run = hd_points_run(&points, i);
        decide_counter_run(c, &points.list[i], run);
        i += run;
    }
    hd_points_deinit(&points);
    return HD_OK;
}

hd_status crop_decide_points(cropper *c, hd_error *err)
{
    static const hd_kind kinds[] = {HD_KIND_FLOW, HD_KIND_ASYNC, HD_KIND_COUNTER};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        c->keep[kinds[i]] =
            hd_large_zeroed((size_t)hd_trace_row_count(c->trace, kinds[i]) + 1, 1, hd_trace_large_bytes(c->trace));
        if (!c->keep[kinds[i]]) return HD_NOMEM(err);
    }
    HD_TRY(decide_flows(c, err));
    HD_TRY(decide_async(c, err));
    return decide_counters(c, err);
}
