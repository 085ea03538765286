/* window.h - from and until of options on the clock of a trace */
#ifndef HD_PASS_CROP_WINDOW_H
#define HD_PASS_CROP_WINDOW_H

#include "heddle/pass.h"

/* [*from_ns, *until_ns) on the trace's clock. *any is false where no time was asked for or nothing in the trace has
 * one; the window is then all of time. `path` is for the message. Errors: ARGUMENT when nothing would be left. */
hd_status hd_crop_window_find(int64_t *from_ns, int64_t *until_ns, bool *any, const hd_trace *trace,
                              hd_convert_time from, hd_convert_time until, const char *path, hd_error *err);

#endif
