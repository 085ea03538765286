/* impl.h - the data of a row; for rows, tiles and scenes
 *
 * Times are relative to the row's zero and within ±VIEW_FARTHEST, so that differences of two never overflow.
 */
#ifndef HD_VIEW_ROWS_IMPL_H
#define HD_VIEW_ROWS_IMPL_H

#include "view/rows/keep.h"
#include "view/rows/rows.h"

enum {
    ROW_MARK_SLICES = 64, /* one mark per this many slices; rows with fewer have neither marks nor levels */
    ROW_NAMES = 16,       /* names stored in a cell: those with most time */
};

typedef struct row_mark {
    int64_t start;        /* of slice 64 * n */
    uint64_t busy_before; /* ns of all slices before it */
} row_mark;

/* A column that three or more slices touch. */
typedef struct row_aggregate {
    int64_t column;
    uint64_t first, count; /* positions of the slices that start in it */
    uint64_t busy, longest;
    uint32_t longest_row, name;
    uint32_t reaches; /* its last slice touches the next column (1), and those after it (2) */
} row_aggregate;

/* The same as it is stored: columns relative to the level's base. */
typedef struct row_narrow {
    uint32_t column, first, count; /* count: reaches in the two top bits */
    uint32_t busy, longest, longest_row, name;
} row_narrow;
enum { NARROW_REACHES_SHIFT = 30 };

typedef struct row_level {
    row_narrow *narrow;  /* one of these, NULL: */
    row_aggregate *wide; /* a number of it does not fit 32 bits */
    int64_t base;        /* of columns */
    uint32_t count, capacity;
    bool is_full; /* it has all aggregates; else only those with many slices, the others are found by a walk */
} row_level;

typedef struct view_row_data {
    uint32_t *rows;     /* in the table of `kind`, in start order; NULL: slices */
    view_slice *slices; /* NULL: rows */
    hd_kind kind;
    bool is_of_table;    /* of slices: their rows are those of the table of `kind` */
    int64_t open_end_ns; /* where slices that never end do so */
    int64_t zero_ns;
    uint64_t count;
    row_mark *marks;
    size_t mark_count;
    row_level *levels; /* [VIEW_ZOOM_MAX + 1], NULL: none */
    unsigned shares;   /* number of other rows that share it */
    view_kept kept;    /* location of all these arrays; else each is malloc'ed */
} view_row_data;

static inline int64_t row_clamp(int64_t time)
{
    return time > VIEW_FARTHEST ? VIEW_FARTHEST : time < -VIEW_FARTHEST ? -VIEW_FARTHEST : time;
}

/* A time relative to a zero. */
static inline int64_t row_relative(int64_t time_ns, int64_t zero_ns)
{
    int64_t time;
    if (__builtin_sub_overflow(time_ns, zero_ns, &time)) return time_ns < zero_ns ? -VIEW_FARTHEST : VIEW_FARTHEST;
    return row_clamp(time);
}

/* ---- reading slices (rows.c) ---- */

typedef struct row_slice {
    int64_t start, end; /* relative */
    uint32_t name, row, flags;
} row_slice;

/* Reads any slice of a row; remembers the block of the last. */
typedef struct row_reader {
    const view_row_data *data;
    const hd_trace *trace;
    const hd_block *block;
    uint64_t block_first, block_end; /* rows */
} row_reader;

static inline row_reader row_reader_of(const view_row_data *data, const hd_trace *trace)
{
    return (row_reader){.data = data, .trace = trace};
}

/* The block of a row of the table, and the row within it. */
static inline const hd_block *row_reader_block(row_reader *reader, uint32_t row, uint32_t *out_row)
{
    if (row < reader->block_first || row >= reader->block_end) {
        uint32_t within;
        reader->block = hd_trace_block_of(&within, reader->trace, reader->data->kind, row);
        reader->block_first = row - within;
        reader->block_end = reader->block_first + reader->block->row_count;
    }
    *out_row = (uint32_t)(row - reader->block_first);
    return reader->block;
}

/* Absolute start and end of an event of the trace, and its flags; events of other kinds than slices have no length. */
uint32_t row_event_span(int64_t *out_start_ns, int64_t *out_end_ns, const hd_block *block, uint32_t row,
                        int64_t open_end_ns);
void row_read_absolute(view_slice *out, row_reader *reader, uint64_t position);

static inline int64_t row_start(row_reader *reader, uint64_t position)
{
    uint32_t row;
    if (reader->data->slices) return row_relative(reader->data->slices[position].start_ns, reader->data->zero_ns);
    const hd_block *block = row_reader_block(reader, reader->data->rows[position], &row);
    return row_relative(hd_column_at(&block->columns[HD_COL_START], row), reader->data->zero_ns);
}

static inline row_slice row_read(row_reader *reader, uint64_t position)
{
    view_slice s;
    row_read_absolute(&s, reader, position);
    return (row_slice){row_relative(s.start_ns, reader->data->zero_ns), row_relative(s.end_ns, reader->data->zero_ns),
                       s.name, s.row, s.flags};
}

/* Position of the first slice that starts at or after a relative time. */
uint64_t row_lower_bound(row_reader *reader, int64_t time);

/* A row of table rows, whose list is taken over (malloc'ed). */
hd_status row_of_table(view_row *out, uint32_t *rows, uint64_t count, hd_kind kind, int64_t open_end_ns, hd_error *err);

/* ---- cells (cell.c): the slices that start in one column ---- */

typedef struct row_names {
    uint32_t count;
    uint32_t names[ROW_NAMES];
    int64_t ns[ROW_NAMES];
} row_names;

typedef struct row_cell {
    int64_t column;
    uint64_t first, count;
    uint64_t inner_ns; /* sum of all but the last */
    uint64_t longest;
    uint32_t longest_row;
    row_slice last;
    row_slice before; /* the slice before the first; end INT64_MIN: there is none */
    row_names names;  /* of all but the last */
} row_cell;

/* `next` follows it in the same, wider column. */
void row_cell_merge(row_cell *cell, const row_cell *next);
/* How many slices touch a cell's column. */
uint64_t row_cell_touching(const row_cell *cell, unsigned z);
void row_cell_sum(row_aggregate *out, const row_cell *cell, unsigned z);

/* Goes through the slices [at, until) cell by cell. */
typedef struct row_walk {
    row_reader *reader;
    uint64_t at, until;
    unsigned z;
    row_slice next, before; /* slice `at`, and the one before it */
} row_walk;

row_walk row_walk_of(row_reader *reader, uint64_t from, uint64_t until, unsigned z);
bool row_walk_next(row_cell *out, row_walk *walk);

/* ---- levels (levels.c) ---- */

bool row_build_levels(view_row_data *data, const hd_trace *trace);
void row_free_levels(view_row_data *data);
/* Moves the arrays to a mapped file, if they are large. */
void row_keep(view_row_data *data);
row_aggregate row_level_at(const row_level *level, uint32_t at);
/* The first entry whose column is at or after `column`. */
uint32_t row_level_find(const row_level *level, int64_t column);

/* ---- layout of what nests and crosses (layout.c) ---- */

typedef struct row_stacker row_stacker;
row_stacker *row_stacker_new(void);
void row_stacker_free(row_stacker *stacker);
/* Places the next slice in start order (longer first) on a row; *out_crosses: it crosses an open one. false: no
 * memory. */
bool row_stacker_place(row_stacker *stacker, uint32_t *out_row, bool *out_crosses, int64_t start, int64_t end);

#endif
