/* index.c - which slice of a track a flow point is bound to */
#include "model/flows/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"

enum { BLOCK_BITS = 6, GROUP_BITS = 12 };

/* ---- order ---- */

static bool before(const hd_lane_slice *slices, uint32_t a, uint32_t b)
{
    const hd_lane_slice *x = &slices[a], *y = &slices[b];
    if (x->start != y->start) return x->start < y->start;
    return x->end != y->end ? x->end > y->end : a < b;
}

/* Sorts indices: ascending ones stay, the others are taken out, merge-sorted and merged back. */
void hd_lane_sort(uint32_t *order, uint32_t *spare, const hd_lane_slice *slices, uint32_t count)
{
    size_t kept = 0, strays = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && before(slices, i, order[kept - 1])) {
            bool last_strayed = kept > 1 && before(slices, order[kept - 2], i);
            spare[strays++] = last_strayed ? order[kept - 1] : i;
            if (last_strayed) order[kept - 1] = i;
        } else {
            order[kept++] = i;
        }
    }
    HD_SORT_RUNS(spare, order + kept, strays, x, y, before(slices, *x, *y));
    while (strays > 0) {
        bool take_kept = kept > 0 && before(slices, spare[strays - 1], order[kept - 1]);
        order[kept + strays - 1] = take_kept ? order[kept - 1] : spare[strays - 1];
        if (take_kept) {
            kept--;
        } else {
            strays--;
        }
    }
}

/* ---- the index ---- */

static void sort_by_lane(hd_bind_index *index)
{
    for (uint32_t i = 0; i < index->count; i++) index->lane_first[index->slices[i].lane + 1]++;
    for (uint32_t lane = 0; lane < index->lane_count; lane++) index->lane_first[lane + 1] += index->lane_first[lane];
    if (index->lane_count == 1) return;
    uint32_t *swap = index->order;
    for (uint32_t i = 0; i < index->count; i++) {
        uint32_t slice = index->order[i];
        index->spare[index->lane_first[index->slices[slice].lane]++] = slice;
    }
    memmove(index->lane_first + 1, index->lane_first, index->lane_count * sizeof *index->lane_first);
    index->lane_first[0] = 0;
    index->order = index->spare;
    index->spare = swap;
}

static void find_maxima(hd_bind_index *index)
{
    for (uint32_t i = 0; i < index->count; i++) {
        int64_t end = index->slices[index->order[i]].end;
        int64_t *block = &index->block_end[i >> BLOCK_BITS], *group = &index->group_end[i >> GROUP_BITS];
        if ((i & ((1 << BLOCK_BITS) - 1)) == 0 || end > *block) *block = end;
        if ((i & ((1 << GROUP_BITS) - 1)) == 0 || end > *group) *group = end;
    }
}

hd_status hd_bind_index_init(hd_bind_index *index, const hd_lane_slice *slices, uint32_t count, uint32_t lane_count,
                             uint64_t large, hd_error *err)
{
    *index = (hd_bind_index){.slices = slices, .count = count, .lane_count = lane_count};
    index->order = hd_large_new((size_t)count + 1, sizeof *index->order, large);
    index->spare = hd_large_new((size_t)count + 1, sizeof *index->spare, large);
    index->block_end = hd_large_new((size_t)(count >> BLOCK_BITS) + 1, sizeof *index->block_end, large);
    index->group_end = hd_large_new((size_t)(count >> GROUP_BITS) + 1, sizeof *index->group_end, large);
    index->lane_first = calloc((size_t)lane_count + 2, sizeof *index->lane_first);
    if (!index->order || !index->spare || !index->block_end || !index->group_end || !index->lane_first) {
        hd_bind_index_deinit(index);
        return HD_NOMEM(err);
    }
    hd_lane_sort(index->order, index->spare, slices, count);
    sort_by_lane(index);
    find_maxima(index);
    return HD_OK;
}

void hd_bind_index_deinit(hd_bind_index *index)
{
    hd_large_free(index->order);
    hd_large_free(index->spare);
    hd_large_free(index->block_end);
    hd_large_free(index->group_end);
    free(index->lane_first);
    *index = (hd_bind_index){0};
}

static const hd_lane_slice *slice_at(const hd_bind_index *index, uint32_t position)
{
    return &index->slices[index->order[position]];
}

/* The first position of the lane whose slice begins at or after `at` (strictly after if `behind`). */
static uint32_t first_from(const hd_bind_index *index, uint32_t lane, int64_t at, bool behind)
{
    uint32_t low = index->lane_first[lane], high = index->lane_first[lane + 1];
    HD_PARTITION_POINT(low, high, place,
                       slice_at(index, place)->start < at || (behind && slice_at(index, place)->start == at));
    return low;
}

/* The last position in [first, end) whose slice ends after `at`; UINT32_MAX: none. */
static uint32_t last_ending_behind(const hd_bind_index *index, uint32_t first, uint32_t end, int64_t at)
{
    for (uint32_t position = end; position > first;) {
        uint32_t i = position - 1;
        bool group_ends = (position & ((1u << GROUP_BITS) - 1)) == 0,
             block_ends = (position & ((1u << BLOCK_BITS) - 1)) == 0;
        if (group_ends && index->group_end[i >> GROUP_BITS] <= at)
            position -= 1u << GROUP_BITS;
        else if (block_ends && index->block_end[i >> BLOCK_BITS] <= at)
            position -= 1u << BLOCK_BITS;
        else if (slice_at(index, i)->end > at)
            return i;
        else
            position = i;
    }
    return UINT32_MAX;
}

uint32_t hd_bind_find(const hd_bind_index *index, uint32_t lane, int64_t at, bool enclosing)
{
    if (lane >= index->lane_count) return UINT32_MAX;
    uint32_t first = index->lane_first[lane], end = index->lane_first[lane + 1];
    if (!enclosing) {
        uint32_t next = first_from(index, lane, at, false);
        return next < end ? index->order[next] : UINT32_MAX;
    }
    uint32_t behind = first_from(index, lane, at, true);
    if (behind > first && slice_at(index, behind - 1)->start == at) return index->order[behind - 1];
    uint32_t found = last_ending_behind(index, first, behind, at);
    if (found == UINT32_MAX && at > INT64_MIN)
        found = last_ending_behind(index, first, behind, at - 1); /* at its end */
    return found == UINT32_MAX ? UINT32_MAX : index->order[found];
}
