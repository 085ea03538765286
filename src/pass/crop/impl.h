/* impl.h - decisions made before the events are copied */
#ifndef HD_PASS_CROP_IMPL_H
#define HD_PASS_CROP_IMPL_H

#include "pass/crop/crop.h"

typedef struct cropper {
    const hd_trace *trace;
    hd_crop_window window;
    uint8_t *keep[HD_KIND_COUNT]; /* by row, for FLOW, ASYNC and COUNTER: 0 removed, 1 kept */
    uint64_t moved_samples;
} cropper;

/* Whether the range from start to end touches the window. end == HD_NO_TIME: never ends. */
bool crop_touches(const hd_crop_window *window, int64_t start, int64_t end);
bool crop_slice_stays(const cropper *c, const hd_block *block, uint32_t row);

/* Decides about points, which depend on other points. */
hd_status crop_decide_points(cropper *c, hd_error *err);

#endif
