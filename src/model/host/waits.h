/* waits.h - waits for other ranks that are part of a collective but are not GPU activities: see "breakdown" in
 * docs/reports/definitions.md
 *
 * In: a scope. Out: the waits as slices, or by device the time that they cover.
 */
#ifndef HD_MODEL_HOST_WAITS_H
#define HD_MODEL_HOST_WAITS_H

#include "model/sweep/sweep.h"

/* By device, the waits within its span. Zero-initialised is empty. */
typedef struct gpu_waits {
    gpu_spans *list;
    uint32_t count;
} gpu_waits;

/* Errors: MEMORY, LIMIT. Deinit either way. */
hd_status gpu_waits_init(gpu_waits *out, const gpu_scope *scope, hd_error *err);
void gpu_waits_deinit(gpu_waits *waits);

/* All waits on the lanes of rows that communicate; none: *out stays zero. Deinit with gpu_slices_deinit either way. */
hd_status gpu_waits_slices(gpu_slices *out, const gpu_scope *scope, hd_error *err);
/* Whether waits on a track are those of collectives: it has some, and communication selected by the options. */
bool gpu_row_waits(const gpu_slices *waits, const gpu_scope *scope, const gpu_row *row);
/* The part of a wait within the span of its device. */
gpu_span gpu_wait_span(const gpu_slice *wait, const gpu_device *device);
/* Whether the trace has such names at all. The names are looked at once for all who share the launches. */
hd_status gpu_waits_any(bool *out, const hd_trace *trace, const hd_launches *launches, hd_error *err);

#endif
