/* sort.c - sorts spans by start: most are nearly sorted, and sorted parts are not touched */
#include <string.h>

#include "base/sorted.h"
#include "trace/index/lane_index.h"

enum { INSERTION_SPANS = 32 };

static void insertion_sort(lane_span *spans, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (!lane_span_before(&spans[i], &spans[i - 1])) continue;
        lane_span moving = spans[i];
        uint32_t at = i;
        for (; at > 0 && lane_span_before(&moving, &spans[at - 1]); at--) spans[at] = spans[at - 1];
        spans[at] = moving;
    }
}

/* How many of the sorted spans come before a span. */
static uint32_t count_before(const lane_span *spans, uint32_t count, const lane_span *one)
{
    uint32_t low = 0;
    HD_PARTITION_POINT(low, count, at, lane_span_before(&spans[at], one));
    return low;
}

/* Merges spans[0 … left) and spans[left … count), after copying the first part away. */
static void merge_up(lane_span *spans, uint32_t left, uint32_t count, lane_span *scratch)
{
    uint32_t i = 0, j = left, at = 0;
    memcpy(scratch, spans, left * sizeof *spans);
    while (i < left && j < count) spans[at++] = lane_span_before(&spans[j], &scratch[i]) ? spans[j++] : scratch[i++];
    memcpy(spans + at, scratch + i, (left - i) * sizeof *spans);
}

/* The same with the second out of the way. */
static void merge_down(lane_span *spans, uint32_t left, uint32_t count, lane_span *scratch)
{
    uint32_t i = left, j = count - left, at = count;
    memcpy(scratch, spans + left, j * sizeof *spans);
    while (i > 0 && j > 0) spans[--at] = lane_span_before(&scratch[j - 1], &spans[i - 1]) ? spans[--i] : scratch[--j];
    memcpy(spans, scratch, j * sizeof *spans);
}

/* Merges two sorted neighbours: only the part between the beginning of the second and the end of the first moves. */
static void merge(lane_span *spans, uint32_t left, uint32_t count, lane_span *scratch)
{
    if (!lane_span_before(&spans[left], &spans[left - 1])) return;
    uint32_t skip = count_before(spans, left, &spans[left]);
    uint32_t until = left + count_before(spans + left, count - left, &spans[left - 1]);
    if (left - skip <= until - left)
        merge_up(spans + skip, left - skip, until - skip, scratch);
    else
        merge_down(spans + skip, left - skip, until - skip, scratch);
}

void lane_sort(lane_span *spans, uint32_t count, lane_span *scratch)
{
    for (uint64_t at = 0; at < count; at += INSERTION_SPANS)
        insertion_sort(spans + at, count - at < INSERTION_SPANS ? (uint32_t)(count - at) : INSERTION_SPANS);
    for (uint64_t width = INSERTION_SPANS; width < count; width *= 2) {
        for (uint64_t at = 0; at + width < count; at += 2 * width) {
            uint64_t size = count - at < 2 * width ? count - at : 2 * width;
            merge(spans + at, (uint32_t)width, (uint32_t)size, scratch);
        }
    }
}
