/* waits.h - waits for other ranks that are part of a collective, though no work: see "breakdown" in
 * docs/reports/definitions.md */
#ifndef HD_MODEL_HOST_WAITS_H
#define HD_MODEL_HOST_WAITS_H

#include "model/sweep/sweep.h"

/* By device, what of them lies within its span. Zero-initialised has none. */
typedef struct gpu_waits {
    gpu_spans *list;
    uint32_t count;
} gpu_waits;

/* Errors: MEMORY, LIMIT. Deinit either way. */
hd_status gpu_waits_init(gpu_waits *out, const gpu_scope *scope, hd_error *err);
void gpu_waits_deinit(gpu_waits *waits);

#endif
