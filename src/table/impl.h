/* impl.h - shared by the files of a table */
#ifndef HD_TABLE_IMPL_H
#define HD_TABLE_IMPL_H

#include "heddle/table.h"

/* A cell of 12 bytes, since there may be many; the column's type selects the member. Texts are in hd_table.text. */
typedef struct __attribute__((packed, aligned(4))) table_cell {
    union {
        int64_t integer;
        uint64_t count;
        double decimal;
        bool boolean;
        uint64_t text_offset;
    } as;
    uint32_t text_size; /* 0 if it is not text */
} table_cell;

#define TABLE_NULL UINT32_MAX /* as text_size: the cell is null */
static inline bool table_is_null(const table_cell *cell)
{
    return cell->text_size == TABLE_NULL;
}

/* Null, because it is more than the type holds: the value is kept for the order of rows. */
static inline bool table_is_beyond(const table_cell *cell)
{
    return table_is_null(cell) && cell->as.integer != 0;
}

/* Rows in a block. */
enum { TABLE_BLOCK = 1024 };

/* Numbers of a block: `least` plus the stored difference. */
typedef struct table_packed {
    uint64_t least;
    uint32_t offset; /* from the end of the list of these */
    uint8_t width;   /* bytes of one */
} table_packed;

struct hd_table {
    char *name;
    hd_table_column *columns;
    size_t column_count, column_room;
    table_packed **blocks; /* of each column two lists of numbers, and then their bytes */
    size_t block_count, block_room;
    table_cell *cells; /* of the rows behind the blocks, row by row */
    size_t cell_count, cell_room;
    char *text; /* all strings; of equal ones often one */
    size_t text_size, text_room;
    bool has_names; /* the text also has the names of columns */
    uint64_t beyond;
};

enum { TABLE_RECENT = 256, TABLE_WAYS = 4 };

struct hd_table_builder {
    hd_table *table;
    hd_error err; /* the first failure, which all later calls return */
    bool saturates;
    struct table_recent {
        size_t offset, size;            /* of a string in the text */
    } recent[TABLE_RECENT][TABLE_WAYS]; /* by hash; the last that was met first */
};

hd_status table_fail(hd_table_builder *builder, hd_status status, const char *message);

/* ---- blocks.c ---- */

table_cell table_cell_at(const hd_table *table, size_t row, size_t column);
bool table_seal(hd_table *table);   /* rows become blocks, as many as fill them; false: no memory, as below */
bool table_unseal(hd_table *table); /* all rows are cells again */
void table_cells_free(hd_table *table);

/* Bytes on their way to a sink; the first failure stays. */
typedef struct table_out {
    hd_sink sink;
    hd_status status;
    size_t used;
    char buffer[4096];
} table_out;

void table_put(table_out *out, const char *data, size_t size);
void table_puts(table_out *out, const char *text);
void table_put_spaces(table_out *out, size_t count);

/* The text of a cell that is not a string, as people read it, or raw for programs. */
const char *table_value_text(char *out, const hd_table_column *column, const table_cell *cell);
const char *table_value_raw(char *out, const hd_table_column *column, const table_cell *cell);

/* Bytes of the valid UTF-8 character at text, its code point in *out; 0 when it is invalid. `size` must not be 0. */
size_t table_utf8_length(uint32_t *out, const char *text, size_t size);

/* Controls, and marks that end a line or turn the direction of writing: a terminal must not get them from a file. */
bool table_is_control(uint32_t point);

/* The next character of text: its bytes (the U+FFFD for invalid UTF-8, an escape for a control character) and its
 * width in columns of a terminal. Returns the bytes of input used; `size` must not be 0. */
enum { TABLE_CHAR_BYTES = 8 };
typedef struct table_char {
    char bytes[TABLE_CHAR_BYTES];
    unsigned size, width;
} table_char;
size_t table_next_char(table_char *out, const char *text, size_t size);

void table_write_text(table_out *out, const hd_table *table, const hd_table_style *style);

#endif
