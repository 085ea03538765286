/* lanes_bind.h - which slice of a track a flow point is bound to */
#ifndef HD_PASS_LANES_BIND_H
#define HD_PASS_LANES_BIND_H

#include "pass/lanes_solve.h"

/* Slices in order of (start, longer first), one run per lane, with maxima of their ends to skip by. */
typedef struct hd_bind_index {
    const hd_lane_slice *slices;
    uint32_t count;
    uint32_t *order, *spare;
    int64_t *block_end, *group_end; /* latest end of 64, of 4,096 slices */
    uint32_t lane_count;
    uint32_t *lane_first; /* position of each lane's first slice, lane_count + 1 of them */
} hd_bind_index;

/* Index by the `lane` of the slices, all below lane_count. */
hd_status hd_bind_index_init(hd_bind_index *index, const hd_lane_slice *slices, uint32_t count, uint32_t lane_count,
                             hd_error *err);
void hd_bind_index_deinit(hd_bind_index *index);

/* As Chrome binds: `enclosing`: the slice that began last of those around `at`; else the first that begins at or behind
 * `at`. UINT32_MAX: none. */
uint32_t hd_bind_find(const hd_bind_index *index, uint32_t lane, int64_t at, bool enclosing);

#endif
