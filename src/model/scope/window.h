/* window.h - --from and --until on the clock of a trace */
#ifndef HD_MODEL_SCOPE_WINDOW_H
#define HD_MODEL_SCOPE_WINDOW_H

#include "heddle/pass.h"

/* As hd_crop_window_find, for a trace from start_ns (HD_NO_TIME: no event has a time) to end_ns. */
hd_status hd_crop_window_of(int64_t *from_ns, int64_t *until_ns, bool *any, int64_t start_ns, int64_t end_ns,
                            hd_convert_time from, hd_convert_time until, const char *path, hd_error *err);

#endif
