/* intervals.c - times covered by spans, and the times left free */
#include <stdlib.h>

#include "base/memory/large.h"
#include "view/derive/derive.h"

bool view_slices_add(view_slices *slices, view_slice slice)
{
    uint64_t large = slices->large ? slices->large : UINT64_MAX;
    if (!hd_large_grow((void **)&slices->list, &slices->capacity, slices->count, sizeof *slices->list, large))
        return false;
    slices->list[slices->count++] = slice;
    return true;
}

bool view_slices_cover(view_slices *out, const lane_span *spans, size_t count, const uint8_t *sorts, uint8_t sort)
{
    int64_t reached = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        if (sorts && sorts[i] != sort) continue;
        int64_t start = spans[i].start > reached ? spans[i].start : reached;
        if (spans[i].end <= start) continue;
        reached = spans[i].end;
        view_slice slice = {.start_ns = start, .end_ns = reached, .name = spans[i].name, .row = spans[i].ordinal};
        if (!view_slices_add(out, slice)) return false;
    }
    return true;
}

bool view_slices_free_time(view_slices *out, const lane_span *spans, size_t count, int64_t from_ns, int64_t until_ns,
                           uint32_t name)
{
    uint32_t row = count ? spans[0].ordinal : 0; /* the work before it */
    for (size_t i = 0; i < count && spans[i].start < until_ns; i++) {
        view_slice slice = {.start_ns = from_ns, .end_ns = spans[i].start, .name = name, .row = row};
        if (slice.end_ns > slice.start_ns && !view_slices_add(out, slice)) return false;
        if (spans[i].end <= from_ns) continue;
        from_ns = spans[i].end;
        row = spans[i].ordinal;
    }
    view_slice last = {.start_ns = from_ns, .end_ns = until_ns, .name = name, .row = row};
    return until_ns <= from_ns || view_slices_add(out, last);
}

bool view_slices_minus(view_slices *out, const view_slices *slices, const view_slices *others)
{
    size_t other = 0;
    for (size_t i = 0; i < slices->count; i++) {
        view_slice left = slices->list[i];
        while (other < others->count && others->list[other].end_ns <= left.start_ns) other++;
        for (size_t j = other; j < others->count && others->list[j].start_ns < slices->list[i].end_ns; j++) {
            view_slice piece = left;
            piece.end_ns = others->list[j].start_ns;
            if (piece.end_ns > piece.start_ns && !view_slices_add(out, piece)) return false;
            left.start_ns = others->list[j].end_ns;
        }
        if (left.end_ns > left.start_ns && !view_slices_add(out, left)) return false;
    }
    return true;
}

int64_t view_slices_busy(const view_slices *slices)
{
    int64_t busy = 0;
    for (size_t i = 0; i < slices->count; i++) {
        int64_t length;
        if (__builtin_sub_overflow(slices->list[i].end_ns, slices->list[i].start_ns, &length) ||
            __builtin_add_overflow(busy, length, &busy))
            return INT64_MAX;
    }
    return busy;
}
