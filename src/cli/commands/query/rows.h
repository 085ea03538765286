/* rows.h - rows of statements as text, CSV, JSON and Markdown, while they come */
#ifndef HD_CLI_QUERY_ROWS_H
#define HD_CLI_QUERY_ROWS_H

#include "heddle/query.h"
#include "heddle/table.h"

typedef enum rows_format {
    ROWS_TABLE,
    ROWS_CSV,
    ROWS_JSON,
    ROWS_JSONL,
    ROWS_MARKDOWN,
    ROWS_PARQUET,
    ROWS_ARROW
} rows_format;

/* A file of columns: one result, as a whole stream, and nothing for a terminal. */
static inline bool rows_are_columns(rows_format format)
{
    return format >= ROWS_PARQUET;
}

typedef struct rows_cell {
    hd_query_value value; /* data: not set, the text is at `offset` */
    size_t offset;
} rows_cell;

/* Rows are kept until there are enough for a piece, which has the types of its columns and, as text, their widths. */
typedef struct rows_out {
    rows_format format; /* no columns, which need a whole stream */
    hd_sink sink;
    unsigned width; /* of the terminal; 0: none */
    bool bold;
    hd_statement *statement;
    size_t column_count;
    rows_cell *cells;
    size_t row_count, row_limit;
    char *text;
    size_t text_size, text_capacity;
    size_t *widths;
    bool is_begun; /* something was written */
} rows_out;

/* The rows of another statement; format, sink, width and bold are set. End with rows_finish in any case. */
hd_status rows_begin(rows_out *out, hd_statement *statement, hd_error *err);
hd_status rows_add(rows_out *out, hd_error *err);
/* Writes the remaining rows, unless `status` is a failure, and frees everything. */
hd_status rows_finish(rows_out *out, hd_status status, hd_error *err);

#endif
