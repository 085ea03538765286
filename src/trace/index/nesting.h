/* nesting.h - the parent and depth of each slice on its lane
 *
 * In: the slices of a trace. Out: for each row of the slice table the row of its parent, and the number of its
 * ancestors. The parent of a slice is, of the slices that contain it entirely, the one that started last; slices that
 * cross do not contain each other. Of slices with equal start the longer contains the shorter, of equal slices the
 * first one in the input the second. An open slice contains every later slice of its lane. A slice does not contain one
 * that starts where it ends, even one of length 0; nor does a begin event contain a slice of length 0 that precedes it
 * in the input at the same time.
 */
#ifndef HD_TRACE_INDEX_NESTING_H
#define HD_TRACE_INDEX_NESTING_H

#include "heddle/trace.h"

typedef struct hd_nesting {
    uint32_t *parents; /* by row; HD_NONE: no parent */
    uint32_t *depths;  /* by row; 0 without a parent */
    size_t count;
} hd_nesting;

/* The caller frees *out. O(n) if slices are in start order. Errors: MEMORY; LIMIT: 2^32 slices. */
hd_status hd_nesting_new(hd_nesting **out, const hd_trace *trace, hd_error *err);
void hd_nesting_free(hd_nesting *nesting);

#endif
