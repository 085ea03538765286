/* slice.h - the table `slice`: shared by its files
 *
 * In: slices, instants and async slices of all inputs. Out: a table that evaluates conditions, order and groups itself,
 * a chunk of rows at a time. A position numbers all rows, section by section: the slices of the first input, its
 * instants, its async slices, then the next input's; ids ascend with it.
 *   slice.c         the sqlite3_module: plans and cursors
 *   slice_filter.c  conditions on columns
 *   slice_chunk.c   chunks of rows, and the values of their columns
 *   slice_list.c    rows in another order, and indexes of columns
 */
#ifndef HD_QUERY_TABLES_SLICE_H
#define HD_QUERY_TABLES_SLICE_H

#include <pthread.h>

#include "query/tables/async.h"
#include "query/tables/bounds.h"
#include "query/tables/sort.h"

typedef enum slice_column {
    SLICE_ID,
    SLICE_TS,
    SLICE_DUR,
    SLICE_TRACK,
    SLICE_CATEGORY,
    SLICE_NAME,
    SLICE_DEPTH,
    SLICE_PARENT,
    SLICE_ARGS,
    SLICE_THREAD_TS,
    SLICE_THREAD_DUR,
    SLICE_TYPE,
    SLICE_ROLE,
    SLICE_CORRELATION,
    SLICE_RANK,
    SLICE_INPUT,
    SLICE_COLUMNS
} slice_column;

enum { SLICE_CHUNK = 2048, SLICE_FILTERS = 24, SLICE_ORDERS = 3, SLICE_KINDS = 3 };

/* Which argument of a shape a column is: its index, -1 none. By shape, for each of SLICE_PLACES. */
typedef enum slice_place { PLACE_THREAD_TS, PLACE_THREAD_DUR, PLACE_SCOPE, SLICE_PLACES } slice_place;

typedef struct slice_section {
    query_source *source;
    hd_kind kind;
    uint64_t first, count;               /* positions */
    int64_t id;                          /* of its first row */
    const int32_t *places[SLICE_PLACES]; /* NULL until needed; the first section of the input owns them */
    const bool *has_args;                /* by shape */
} slice_section;

/* A string that SQLite reads as a number. */
typedef struct slice_number {
    double real;
    int64_t integer;
    bool is_int;
    uint32_t string;
} slice_number;

typedef struct slice_numbers {
    slice_number *list; /* ascending */
    size_t count, capacity;
} slice_numbers;

typedef struct slice_table {
    query_tables *tables;
    slice_section *sections; /* SLICE_KINDS for each input; NULL until needed */
    size_t section_count;
    uint64_t count;
    query_index indexes[SLICE_COLUMNS]; /* built for columns that were needed often enough */
    slice_numbers *numbers;             /* by input; NULL until needed */
} slice_table;

hd_status slice_open(slice_table *table, hd_error *err); /* the sections */
void slice_table_deinit(slice_table *table);
/* The section of an id, NULL: of none. */
slice_section *slice_section_of(const slice_table *table, int64_t id);

/* ---- slice_chunk.c ---- */

/* Rows: a run of one block, a run of one async section, or arbitrary ones. */
typedef struct slice_chunk {
    uint32_t count;
    slice_section *section; /* NULL: each row has its own section */
    const hd_block *block;  /* of the run; NULL: async */
    uint64_t row;           /* first row of the run, within the section */
    uint32_t in_block;      /* the same within the block */
    slice_section *sections[SLICE_CHUNK];
    const hd_block *blocks[SLICE_CHUNK];
    uint64_t rows[SLICE_CHUNK];
    uint32_t in_blocks[SLICE_CHUNK];
    uint16_t selected[SLICE_CHUNK]; /* rows that pass, ascending */
    uint32_t selected_count;
    uint32_t have; /* columns with values, at least for selected rows */
    int64_t values[SLICE_COLUMNS][SLICE_CHUNK];
} slice_chunk;

/* Prepares derived data for columns: call it before slice_chunk_values with a statement's columns. */
hd_status slice_prepare(slice_table *table, uint32_t columns, hd_error *err);
bool slice_needs_args(uint32_t columns); /* whole blocks */
const hd_block *slice_load(const slice_section *section, size_t block, bool whole);

void slice_chunk_run(slice_chunk *chunk, slice_section *section, const hd_block *block, uint32_t in_block, uint64_t row,
                     uint32_t count);
void slice_chunk_list(slice_chunk *chunk, const slice_table *table, const uint32_t *positions, uint32_t count,
                      bool whole);
/* Values by row of the chunk: integers, QUERY_NULL; string ids for texts; numbers for type and role. */
void slice_chunk_fill(slice_chunk *chunk, slice_column column);
static inline const int64_t *slice_chunk_values(slice_chunk *chunk, slice_column column)
{
    if (!(chunk->have & 1u << column)) slice_chunk_fill(chunk, column);
    return chunk->values[column];
}
static inline slice_section *slice_chunk_section(const slice_chunk *chunk, uint32_t i)
{
    return chunk->section ? chunk->section : chunk->sections[i];
}
uint64_t slice_chunk_position(const slice_chunk *chunk, uint32_t i);
const char *slice_word(slice_column column, int64_t value); /* of type and role; NULL: null */

/* ---- slice_filter.c ---- */

/* One condition on a column; all conditions are ANDed. */
typedef struct slice_filter {
    slice_column column;
    int like; /* 0, or SQLITE_INDEX_CONSTRAINT_LIKE, _GLOB: `pattern` decides, `known` caches the results */
    char *pattern;
    uint8_t **known; /* by input, then string id: 0 unknown, 1 no, 2 yes */
    int64_t *list;   /* ascending; NULL: bounds count */
    size_t list_count;
    int64_t **ids; /* of texts: by input the ascending ids; NULL: no text */
    size_t *id_counts;
    query_bounds bounds;
} slice_filter;

bool slice_is_text(slice_column column);
bool slice_is_string(slice_column column); /* a text of the trace, and no word of ours */
/* Builds the filter for a constraint of the plan with this value; `in`: value is a list. */
hd_status slice_filter_init(slice_filter *out, slice_table *table, slice_column column, int op, bool in,
                            sqlite3_value *value, hd_error *err);
void slice_filter_deinit(slice_filter *filter, const slice_table *table);
void slice_numbers_free(slice_table *table);
/* Selects the rows that pass. */
void slice_filter_apply(const slice_filter *filter, slice_chunk *chunk, const slice_table *table);

#endif
