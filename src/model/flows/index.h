/* index.h - which slice of a track a flow point is bound to */
#ifndef HD_MODEL_FLOWS_INDEX_H
#define HD_MODEL_FLOWS_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

typedef struct hd_lane_slice {
    int64_t start, end; /* any unit; end < start means no extent: never changed, crosses nothing */
    uint32_t lane;      /* 0 = the track itself; out only where lanes are solved */
} hd_lane_slice;

/* Indices of slices by (start, longer first, input order); `spare` has room for as many. Fast on sorted runs. */
void hd_lane_sort(uint32_t *order, uint32_t *spare, const hd_lane_slice *slices, uint32_t count);

/* Slices in order of (start, longer first), one run per lane, with maxima of their ends to skip by. */
typedef struct hd_bind_index {
    const hd_lane_slice *slices;
    uint32_t count;
    uint32_t *order, *spare;
    int64_t *block_end, *group_end; /* latest end of 64, of 4,096 slices */
    uint32_t lane_count;
    uint32_t *lane_first; /* position of each lane's first slice, lane_count + 1 of them */
} hd_bind_index;

/* Index by the `lane` of the slices, all below lane_count. large: size in bytes from which on a list is in a file. */
hd_status hd_bind_index_init(hd_bind_index *index, const hd_lane_slice *slices, uint32_t count, uint32_t lane_count,
                             uint64_t large, hd_error *err);
void hd_bind_index_deinit(hd_bind_index *index);

/* As in Chrome: `enclosing`: the enclosing slice of `at` that began last; else the first that begins at or after `at`.
 * UINT32_MAX: none. */
uint32_t hd_bind_find(const hd_bind_index *index, uint32_t lane, int64_t at, bool enclosing);

#endif
