/* crop.h - a piece of the time of a trace
 *
 * In: a trace and a range of time. Out: what lies in it, as a trace. Begin with crop.c.
 */
#ifndef HD_PASS_CROP_CROP_H
#define HD_PASS_CROP_CROP_H

#include "heddle/pass.h"
#include "pass/copy/copy.h"

typedef struct hd_crop_window {
    int64_t from_ns, until_ns; /* on the trace's clock; the piece is [from, until) */
    bool clip;                 /* what straddles an edge is cut there; else it is kept whole */
} hd_crop_window;

/* The events that touch the window. The caller frees the trace. */
hd_status hd_crop(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_crop_window *window,
                  hd_error *err);

#endif
