/* threshold.h - converts the snap threshold of options to that of the solver */
#ifndef HD_PASS_LANES_THRESHOLD_H
#define HD_PASS_LANES_THRESHOLD_H

#include "heddle/fix.h"

/* Of a member snap_threshold_ps: 0 is the default. */
static inline int64_t hd_lanes_threshold(int64_t chosen)
{
    return chosen == 0 ? HD_FIX_SNAP_THRESHOLD_PS : chosen == HD_FIX_SNAP_NONE ? 0 : chosen;
}

#endif
