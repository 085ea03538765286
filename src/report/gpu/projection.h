/* projection.h - what works do together, for many runs of one list of works; for ranges.c
 *
 * In: a list of works, and pieces of it, which may lie within one another as ranges do. Out: for each piece its works'
 * first start, last end, the time in which some of them run and the sum of their times.
 */
#ifndef HD_REPORT_GPU_PROJECTION_H
#define HD_REPORT_GPU_PROJECTION_H

#include "report/gpu/gpu.h"

typedef struct gpu_projection {
    size_t first, until;            /* given: the works list[first] … list[until - 1] */
    int64_t start, end, busy, time; /* ns; 0 where there are no works */
} gpu_projection;

/* O(n log n) in works and pieces, however many pieces a work is in. false: no memory. */
bool gpu_project(gpu_projection *pieces, size_t count, const gpu_scope *scope, const uint32_t *list, size_t list_count);

#endif
