/* pairs.c - makes sure that viewers still pair begin and end events correctly after the repair */
#include "pass/lanes/pairs.h"

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/spill.h"

typedef struct marker {
    int64_t time;
    uint64_t offset;
    uint32_t pair;
    bool is_end;
} marker;

static int by_time(const void *a, const void *b)
{
    const marker *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int64_t floor_to(int64_t time, int64_t unit)
{
    return time / unit - (time % unit < 0);
}

/* The markers of all pairs on lane 0. */
static uint32_t put_markers(marker *markers, const hd_lane_pair *pairs, uint32_t count, const hd_lane_slice *slices,
                            int64_t unit, bool before)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hd_lane_pair *pair = &pairs[i];
        const hd_lane_slice *s = &slices[pair->slice];
        if (!before && (pair->leaves || s->lane != 0)) continue;
        int64_t start = before ? pair->was.start : s->start, end = before ? pair->was.end : s->end;
        markers[filled++] = (marker){floor_to(start, unit), pair->begin_offset, i, false};
        markers[filled++] = (marker){floor_to(end, unit), pair->end_offset, i, true};
    }
    return filled;
}

static bool is_changed(const hd_lane_pair *pair, const hd_lane_slice *slices)
{
    return slices[pair->slice].start != pair->was.start || slices[pair->slice].end != pair->was.end;
}

/* Of two pairs that would be confused, the changed one leaves. */
static uint32_t part(hd_lane_pair *a, hd_lane_pair *b, const hd_lane_slice *slices)
{
    bool b_goes = is_changed(b, slices), a_goes = is_changed(a, slices) || !b_goes;
    uint32_t leaving = (a_goes && !a->leaves) + (b_goes && !b->leaves);
    a->leaves |= a_goes;
    b->leaves |= b_goes;
    return leaving;
}

hd_status hd_lane_pairs_check(uint32_t *out_count, hd_lane_pair *pairs, uint32_t count, const hd_lane_slice *slices,
                              int64_t unit, uint64_t large, hd_error *err)
{
    marker *markers = hd_large_new((size_t)count * 2 + 1, sizeof *markers, large);
    uint32_t *open = hd_large_new((size_t)count + 1, sizeof *open, large), depth = 0;
    bool failed = false, was_torn = false; /* torn before the repair, too: this order need not be kept */
    *out_count = 0;
    for (int after = 0; after < 2 && markers && open && !was_torn && !failed; after++, depth = 0) {
        uint32_t filled = put_markers(markers, pairs, count, slices, unit, !after);
        failed = !hd_large_sort(markers, filled, sizeof *markers, by_time, large);
        for (uint32_t i = 0; i < filled; i++) {
            const marker *m = &markers[i];
            if (!m->is_end) {
                open[depth++] = m->pair;
                continue;
            }
            uint32_t taken = depth > 0 ? open[--depth] : m->pair;
            if (taken == m->pair) continue;
            if (after)
                *out_count += part(&pairs[taken], &pairs[m->pair], slices);
            else
                was_torn = true;
        }
    }
    failed |= !markers || !open;
    hd_large_free(markers);
    hd_large_free(open);
    return failed ? HD_NOMEM(err) : HD_OK;
}

hd_status hd_lane_pairs_order(uint64_t **out_slices, uint64_t **out_ends, const hd_trace *trace, hd_error *err)
{
    uint64_t place = 0;
    uint64_t large = hd_trace_large_bytes(trace);
    uint64_t *slice = hd_large_new((size_t)hd_trace_row_count(trace, HD_KIND_SLICE) + 1, sizeof *slice, large);
    uint64_t *end = hd_large_new((size_t)hd_trace_row_count(trace, HD_KIND_END) + 1, sizeof *end, large);
    *out_slices = slice;
    *out_ends = end;
    if (!slice || !end) return HD_NOMEM(err);
    for (size_t run = 0; run < hd_trace_order_count(trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, trace, run);
        for (size_t i = 0; i < count; i++, place++) {
            if (order[i] == HD_KIND_SLICE)
                *slice++ = place;
            else if (order[i] == HD_KIND_END)
                *end++ = place;
        }
    }
    return HD_OK;
}
