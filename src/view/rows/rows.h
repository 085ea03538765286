/* rows.h - slices that do not overlap, in start order, with an index for drawing tiles
 *
 * A row's slices are in a table of the trace, with row numbers stored here, or (derived rows) in an array of its own.
 * The index consists of marks (every 64th slice: its start, and the busy time before it) and levels by time: for many z
 * the columns of 2^z ns that three or more slices touch, each with exact busy time, count, dominant name and longest
 * slice. So neither many slices at one time nor a long span makes a tile slow.
 *
 * Times are drawn relative to a zero, the start of the scene. Events further than VIEW_FARTHEST from it (146 years) are
 * drawn there.
 *
 * In: slices in start order. Out: rows and their levels. Begin with rows.c.
 */
#ifndef HD_VIEW_ROWS_ROWS_H
#define HD_VIEW_ROWS_ROWS_H

#include "base/bytes.h"
#include "heddle/trace.h"

#define VIEW_FARTHEST (((int64_t)1 << 62) - 1)
enum { VIEW_ZOOM_MAX = 54, VIEW_TILE_COLUMNS = 512 };

typedef struct view_slice {
    int64_t start_ns, end_ns; /* absolute; end >= start */
    uint32_t name;
    uint32_t row;   /* in the table of its kind */
    uint32_t flags; /* VIEW_SLICE_… */
} view_slice;

enum { VIEW_SLICE_NO_END = 1, VIEW_SLICE_NO_LENGTH = 2, VIEW_SLICE_SEVERAL = 4, VIEW_SLICE_HIT = 8 /* of tiles */ };

/* Which events of a trace are hits: a bit of each row of each table; NULL: no event of that kind is. */
typedef struct view_hits {
    uint8_t *of[HD_KIND_COUNT];
} view_hits;

static inline bool view_is_hit(const view_hits *hits, hd_kind kind, uint64_t row)
{
    return hits->of[kind] && hits->of[kind][row / 8] >> row % 8 & 1;
}

/* Zero-initialised is empty. Filled by one thread, then only read. */
typedef struct view_row {
    uint64_t count;
    struct view_row_data *data;
} view_row;

typedef struct view_rows {
    uint32_t count;
    view_row *rows; /* malloc'ed */
} view_rows;

/* Takes slices (malloc'ed), also when it fails: they start in order and do not overlap (but others may end or begin at
 * the time of one of length 0). Errors: ARGUMENT, MEMORY. */
hd_status view_row_of_slices(view_row *out, view_slice *slices, uint64_t count, hd_error *err);
void view_row_deinit(view_row *row);
void view_rows_deinit(view_rows *rows);
/* A second reference to the same slices; both must be freed, by one thread. */
view_row view_row_share(const view_row *row);
/* Makes marks and levels of all rows, before they are published; view_scene_add calls it. Times will be drawn relative
 * to zero_ns. Errors: MEMORY. */
hd_status view_row_index(view_row *row, const hd_trace *trace, int64_t zero_ns, hd_error *err);

/* Slices [first, first + count) of the row; `trace` as for all that follow is the row's own. Returns how many there
 * were. */
size_t view_row_read(view_slice *out, const view_row *row, const hd_trace *trace, uint64_t first, size_t count);
/* Position of the first slice that ends after a time, or starts at or after it. */
uint64_t view_row_find(const view_row *row, const hd_trace *trace, int64_t time_ns);
/* Exact ns that slices cover of [from, until). */
int64_t view_row_busy(const view_row *row, const hd_trace *trace, int64_t from_ns, int64_t until_ns);
/* The longest slice that touches a column of 2^z ns (as of a tile, relative to the zero of view_row_index), of equals
 * the first, and its position. O(log n). false: none touches it. */
bool view_row_longest(view_slice *out, uint64_t *out_at, const view_row *row, const hd_trace *trace, unsigned z,
                      int64_t column);
/* Bytes of memory that the row takes. */
size_t view_row_bytes(const view_row *row);

/* Places any slices in start order (longer first), which may nest and cross, on rows: each below the slice around it,
 * one that crosses another on the first free row below. *out_moved: number of crossing ones. Slices are copied. There
 * are as many rows as needed. Errors: ARGUMENT (the order), MEMORY. */
hd_status view_rows_lay_out(view_rows *out, uint64_t *out_moved, const view_slice *slices, uint64_t count,
                            hd_error *err);
/* The union of some rows as one: overlapping slices are merged, with name and row of the longest event among them, or
 * SEVERAL if none is as long as the whole. Errors: MEMORY. */
hd_status view_rows_union(view_row *out, const view_row *const *rows, size_t count, const hd_trace *trace,
                          hd_error *err);

/* Append the row part of a tile (docs/reference/view-protocol.md); times relative to `zero_ns`, that of
 * view_row_index if that was called. Any z and i. With `hits` (or NULL) it says which columns and events are hits.
 * Errors: MEMORY. */
hd_status view_tile_row(hd_bytes *out, const view_row *row, const hd_trace *trace, int64_t zero_ns, unsigned z,
                        int64_t i, const view_hits *hits, hd_error *err);

#endif
