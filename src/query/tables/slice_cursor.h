/* slice_cursor.h - plans and cursors of the slice table; for slice.c, slice_list.c and slice_scan.c */
#ifndef HD_QUERY_TABLES_SLICE_CURSOR_H
#define HD_QUERY_TABLES_SLICE_CURSOR_H

#include <stdatomic.h>

#include "query/tables/slice.h"

/* As text, which EXPLAIN shows: conditions, each a column's letter ('a' is the first) and an operator; ';', order:
 * letters with * + or -; ';', columns that are used, in hexadecimal. */
typedef struct slice_plan {
    int count, order_count;
    struct {
        slice_column column;
        int op;
        bool in;
    } conditions[SLICE_FILTERS];
    struct {
        slice_column column;
        bool descending;
    } order[SLICE_ORDERS];
    uint32_t columns;
} slice_plan;

/* Threads that load the blocks after the current one. */
typedef struct slice_prefetch slice_prefetch;

typedef struct slice_cursor {
    sqlite3_vtab_cursor base;
    slice_table *table;
    slice_plan plan;
    slice_filter filters[SLICE_FILTERS];
    int filter_count;
    bool whole;     /* blocks with arguments */
    uint64_t calls; /* calls of xFilter: an index pays off from the second on */
    query_bounds ts;
    const uint32_t *list; /* positions to visit; NULL: all */
    uint32_t *own;        /* the same, of this cursor */
    size_t at, end;       /* of the list */
    size_t section, block;
    uint32_t in_block;
    slice_prefetch *prefetch;
    uint32_t selected; /* the current row: an index of chunk.selected */
    bool ended;
    slice_chunk chunk;
} slice_cursor;

/* slice_scan.c: the next chunk with rows, or sets `ended`. */
hd_status slice_cursor_advance(slice_cursor *cursor, hd_error *err);
void slice_cursor_stop(slice_cursor *cursor); /* prefetching, and the list */

/* slice_list.c: the rows that may pass; if an order is required, exactly the rows that pass. */
hd_status slice_cursor_find(slice_cursor *cursor, hd_error *err);
hd_status slice_cursor_sort(slice_cursor *cursor, hd_error *err);

#endif
