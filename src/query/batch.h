/* batch.h - rows of a statement, column by column, each of one type */
#ifndef HD_QUERY_BATCH_H
#define HD_QUERY_BATCH_H

#include "heddle/query.h"

typedef struct query_batch_column {
    hd_query_type type; /* NULL: only nulls so far */
    bool is_real;       /* the table declares the column REAL: whole numbers are doubles as well */
    uint8_t *validity;  /* a bit a row */
    int64_t null_count;
    int64_t *values; /* INT; REAL: the bits of doubles */
    int32_t *offsets;
    char *text;
    size_t text_size, text_capacity;
} query_batch_column;

typedef struct query_batch {
    query_batch_column *columns;
    size_t column_count;
    uint32_t row_count;
    uint64_t row_first; /* rows of the previous batches */
    bool is_typed;      /* a batch was read: types are fixed */
} query_batch;

hd_status query_batch_init(query_batch *batch, const hd_statement *statement, hd_error *err);
void query_batch_deinit(query_batch *batch);
/* Reads the next rows and replaces the previous ones. HD_END: these are the last rows, maybe none. Errors as those of
 * hd_statement_next; ARGUMENT: a value that its column's type cannot store. */
hd_status query_batch_read(query_batch *batch, hd_statement *statement, hd_error *err);

#endif
