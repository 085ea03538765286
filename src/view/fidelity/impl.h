/* impl.h - the slices of a lane as the check sees them */
#ifndef HD_VIEW_FIDELITY_IMPL_H
#define HD_VIEW_FIDELITY_IMPL_H

#include "view/fidelity/fidelity.h"

enum { VIEW_LANE_READ_AHEAD = 1024 };

/* Zero-initialised but for trace and index. */
typedef struct view_lane_walk {
    const hd_trace *trace;
    const hd_index *index;
    const hd_lane *lane; /* NULL: there are no slices */
    uint64_t next;
    size_t at, count;
    uint64_t rows[VIEW_LANE_READ_AHEAD];
} view_lane_walk;

typedef struct view_lane_slice {
    int64_t start, end; /* units of the index */
    uint32_t row, track;
} view_lane_slice;

void view_lane_begin(view_lane_walk *walk, const hd_lane *lane);
/* The next slice in start order that takes part (report/spans.h); HD_END: there is none. */
hd_status view_lane_next(view_lane_slice *out, view_lane_walk *walk, hd_error *err);

bool view_doubt_add(view_fidelity *fidelity, view_doubt doubt, uint64_t row, uint64_t other);
hd_status view_fidelity_lanes(view_fidelity *fidelity, view_scene *scene, const atomic_bool *stop, hd_error *err);
hd_status view_fidelity_flows(view_fidelity *fidelity, const view_scene *scene, hd_error *err);

#endif
