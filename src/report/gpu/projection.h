/* projection.h - joint extent of activities, for many sublists of one list of activities; for ranges.c
 *
 * In: a list of activities, and pieces (ranges of indices), which may be nested. Out: for each piece the first start
 * and last end of its activities, the time in which some of them run and the sum of their times.
 */
#ifndef HD_REPORT_GPU_PROJECTION_H
#define HD_REPORT_GPU_PROJECTION_H

#include "report/gpu/gpu.h"

typedef struct gpu_projection {
    size_t first, until;            /* given: the activities list[first] … list[until - 1] */
    int64_t start, end, busy, time; /* ns; 0 where there are no works */
} gpu_projection;

/* O(n log n) in activities and pieces, however many pieces an activity is in. false: no memory. */
bool gpu_project(gpu_projection *pieces, size_t count, const gpu_scope *scope, const uint32_t *list, size_t list_count);

#endif
