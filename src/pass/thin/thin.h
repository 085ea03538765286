/* thin.h - removes short slices, and keeps how many there were and how long they took
 *
 * In: a trace, a least duration. Out: a trace without the shorter slices. Begin with thin.c.
 */
#ifndef HD_PASS_THIN_THIN_H
#define HD_PASS_THIN_THIN_H

#include "heddle/options.h"
#include "pass/copy/copy.h"

typedef struct hd_thin {
    hd_convert_time min_duration; /* slices that take at least this stay */
    bool keep_gpu;                /* GPU activities stay, however short */
} hd_thin;

/* ARGUMENT: no duration, or one in percent. */
hd_status hd_thin_valid(const hd_thin *options, hd_error *err);

/* Slices without an end stay, and so do launches of GPU activities, waits and annotations on GPU tracks, and steps. The
 * slice around removed ones gets the arguments thinned_count and thinned_ns: their number, and the time in which they
 * were the innermost slice, so that the times of all slices and thinned_ns add up to what they were. The top-level key
 * heddle.thinned has the sums, and those of slices around which none stays. The caller frees the trace. */
hd_status hd_thin_trace(hd_trace **out, hd_pass_result *result, const hd_trace *trace, const hd_thin *options,
                        hd_error *err);

#endif
