/* clock.h - several traces on one clock
 *
 * Traces whose clocks have known Unix base times are converted to the clock with the earliest base. If one of them has
 * none, all keep their own clocks. `convert`, SQL over several files, the viewer and its SQL use this.
 */
#ifndef HD_MODEL_CLOCK_CLOCK_H
#define HD_MODEL_CLOCK_CLOCK_H

#include "heddle/trace.h"

/* Offsets to add to the times of each trace. bases: the Unix times of their clocks' zeros, HD_NO_TIME: unknown.
 * *out_base: that of the common clock. false: there is none, and all shifts are 0. */
bool hd_clock_shifts(int64_t *shifts, int64_t *out_base, const int64_t *bases, size_t count);

/* The same of traces: also false where times would be beyond 64 bits. */
bool hd_clock_shifts_of(int64_t *shifts, const hd_trace_facts *const *facts, size_t count);

/* When a trace was recorded, on the one clock. */
typedef struct hd_clock_span {
    int64_t start_ns, length_ns;
} hd_clock_span;

/* Whether they are not further apart than their total length: else they are of different runs. */
bool hd_clock_is_one_run(const hd_clock_span *spans, size_t count);

#endif
