/* nesting.h - which slice of its lane each slice stands in, and how deep
 *
 * In: the slices of a trace. Out: for each row of the slice table the row of its parent, and the number of its
 * ancestors. The parent of a slice is the one that started last among those that hold all of it; slices that cross do
 * not hold one another. Of slices that start together the longer holds the shorter, of equal ones the first of the
 * input the second. One that is still open holds all that starts behind it on its lane. What ends where another starts
 * does not hold it, even if that has no length; nor does a begin event hold what has no length and stands before it in
 * the input, at the same time.
 */
#ifndef HD_TRACE_INDEX_NESTING_H
#define HD_TRACE_INDEX_NESTING_H

#include "heddle/trace.h"

typedef struct hd_nesting {
    uint32_t *parents; /* by row; HD_NONE: there is none */
    uint32_t *depths;  /* by row; 0 without a parent */
    size_t count;
} hd_nesting;

/* The caller frees *out. O(n) where slices stand in start order. Errors: MEMORY; LIMIT: 2^32 slices. */
hd_status hd_nesting_new(hd_nesting **out, const hd_trace *trace, hd_error *err);
void hd_nesting_free(hd_nesting *nesting);

#endif
