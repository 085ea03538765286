/* counters.h - counters of GPUs that a monitor wrote (format counters), on the clock of a trace
 *
 * In: a trace, and one of counters. Out: the counters of the trace's devices, on its clock. The pass crops them to its
 * span and joins them (pass/list.c). Begin with counters.c.
 */
#ifndef HD_PASS_COUNTERS_COUNTERS_H
#define HD_PASS_COUNTERS_COUNTERS_H

#include "heddle/options.h"
#include "pass/copy/copy.h"

typedef struct hd_counters_join {
    const char *file;         /* for messages */
    const char *zone;         /* of local times: "+02:00", "UTC", or "local", that of this machine; NULL: not given */
    hd_convert_time offset;   /* is added to the times of the counters */
    hd_convert_time at;       /* where the first sample is, from the first event on, instead of by the clocks */
    hd_convert_time interval; /* between rows of a file without times */
    hd_option_texts gpus; /* the GPUs of the file that are devices 0, 1, … of the trace; none: those of that number */
} hd_counters_join;

/* The caller frees *out. Errors: ARGUMENT: the times cannot be put on the trace's clock, or no counter is of its
 * devices and near its span, with the option that helps; MEMORY, IO. */
hd_status hd_counters_move(hd_trace **out, const hd_trace *trace, const hd_trace *counters,
                           const hd_counters_join *options, hd_error *err);

#endif
