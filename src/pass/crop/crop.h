/* crop.h - crops a trace to a range of time
 *
 * In: a trace and a range of time. Out: a trace of the events in it. Begin with crop.c.
 */
#ifndef HD_PASS_CROP_CROP_H
#define HD_PASS_CROP_CROP_H

#include "heddle/pass.h"
#include "pass/copy/copy.h"

typedef struct hd_crop_window {
    int64_t from_ns, until_ns; /* on the trace's clock; the range is [from, until) */
    bool clip;                 /* cut slices at the edges instead of keeping them whole */
} hd_crop_window;

/* The events that touch the window. The caller frees the trace. */
hd_status hd_crop(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_crop_window *window,
                  hd_error *err);

#endif
