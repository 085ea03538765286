/* rows.h - tables with rows accessible by number: one description each, one implementation for all (rows.c)
 *
 * A table's rows are those of all inputs, input by input. A comparison with an integer column (=, IN, <, >, …) uses an
 * index, which is built when first needed and kept; `id` needs none if it is the row number.
 */
#ifndef HD_QUERY_TABLES_ROWS_H
#define HD_QUERY_TABLES_ROWS_H

#include "query/tables/tables.h"

typedef struct query_cell {
    int type;        /* initially SQLITE_NULL; SQLITE_INTEGER, SQLITE_FLOAT or SQLITE_TEXT */
    int64_t integer; /* never QUERY_NULL in a column of type INT */
    double real;
    hd_string text; /* valid as long as the query */
} query_cell;

static inline void query_cell_int(query_cell *out, int64_t value)
{
    out->type = value == QUERY_NULL ? SQLITE_NULL : SQLITE_INTEGER;
    out->integer = value;
}
static inline void query_cell_real(query_cell *out, double value)
{
    out->type = SQLITE_FLOAT;
    out->real = value;
}
static inline void query_cell_text(query_cell *out, hd_string text)
{
    out->type = SQLITE_TEXT;
    out->text = text;
}
void query_cell_word(query_cell *out, const char *word); /* NULL: null */
/* A string of a trace; HD_STRING_NONE: null. */
void query_cell_string(query_cell *out, const query_source *source, uint32_t string);
/* The id of a numbered item of the source; HD_NONE: null. */
void query_cell_id(query_cell *out, const query_source *source, uint32_t number);
void query_cell_result(sqlite3_context *context, const query_cell *cell);

typedef struct query_rows_about {
    hd_query_table_about about; /* its first column is id. The last two of every table are rank and input */
    /* Called once per input: makes the data for its cells (NULL: none is needed) and gives the number of rows. */
    hd_status (*make)(void **out, uint64_t *out_count, query_source *source, hd_error *err);
    void (*free)(void *made);
    /* Not called for column 0 if id_is_row. */
    void (*cell)(query_cell *out, const query_source *source, const void *made, uint64_t row, int column);
    bool id_is_row; /* id is query_id(row), so rows are sorted by id */
    /* The track that gives the row's rank, HD_NONE: none; NULL: rows have the rank of the input. */
    uint32_t (*track)(const query_source *source, const void *made, uint64_t row);
} query_rows_about;

/* The tables; each list ends with an entry without a name. */
extern const query_rows_about query_track_tables[], query_event_tables[], query_work_tables[], query_state_tables[],
    query_memory_tables[], query_fact_tables[];

#endif
