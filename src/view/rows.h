/* rows.h - slices that do not overlap, in start order, and what a tile draws of them
 *
 * A row's slices lie in a table of the trace, of which it keeps row numbers, or (derived rows) in an array of its own.
 * Over them stand levels by time: columns of 2^z ns from some z up, each with exact busy time, count, dominant name and
 * longest slice; and summaries by count, so that neither many slices at one time nor a long span costs more than
 * O(log n).
 */
#ifndef HD_VIEW_ROWS_H
#define HD_VIEW_ROWS_H

#include "base/bytes.h"
#include "heddle/trace.h"

typedef struct view_slice {
    int64_t start_ns, end_ns; /* end >= start */
    uint32_t name;
    uint32_t row;   /* in the table of its kind */
    uint32_t flags; /* VIEW_SLICE_… */
} view_slice;

enum { VIEW_SLICE_NO_END = 1, VIEW_SLICE_NO_LENGTH = 2 };

/* Zero-initialised is empty. Filled by one thread, then only read. */
typedef struct view_row {
    uint64_t count;
    struct view_row_data *data;
} view_row;

typedef struct view_rows {
    uint32_t count;
    view_row *rows;
} view_rows;

/* Takes slices (malloc'ed), which start in order and do not overlap, except where they have no length. */
hd_status view_row_of_slices(view_row *out, view_slice *slices, uint64_t count, hd_error *err);
void view_row_deinit(view_row *row);
void view_rows_deinit(view_rows *rows);

/* Slices [first, first + count) of the row; `trace` as for all that follow is the row's own. Returns how many there
 * were. */
size_t view_row_read(view_slice *out, const view_row *row, const hd_trace *trace, uint64_t first, size_t count);
/* Position of the first slice that ends behind a time, or starts at or behind it. */
uint64_t view_row_find(const view_row *row, const hd_trace *trace, int64_t time_ns);
/* Exact ns that slices cover of [from, until). */
int64_t view_row_busy(const view_row *row, const hd_trace *trace, int64_t from_ns, int64_t until_ns);

/* Any slices in start order (longer first), which may nest and cross, onto rows: each stands below the slice around it,
 * one that crosses another on the first row below where it is free. *out_moved: those that crossed. Takes `slices`? No:
 * borrows. */
hd_status view_rows_lay_out(view_rows *out, uint64_t *out_moved, const view_slice *slices, uint64_t count,
                            hd_error *err);

/* Append the row part of a tile (docs/view-protocol.md); times relative to `zero_ns`. */
hd_status view_tile_row(hd_bytes *out, const view_row *row, const hd_trace *trace, int64_t zero_ns, unsigned z,
                        int64_t i, hd_error *err);

#endif
