/* sqlite.h - the rows of the tables of an SQLite file, without SQLite where that is certain
 *
 * In: an input with an SQLite 3 database. Out: its tables with the names of their columns, and for each table its rows,
 * in the order of their rowids. sqlite.org/fileformat.html specifies them. Only b-trees of tables are walked:
 * statements, views, triggers and indexes are never used, so a hostile schema is only a list of names. A page belongs
 * to one tree and is read once, however the pages refer to each other; an invalid page costs only its own rows. Where
 * the bytes of a page do not add up, or rowids do not ascend, the page is damaged: cells may be missing in it, or
 * cells of others may be there; it is read all the same. Files and tables that this reader does not understand for
 * certain are read by SQLite (library.c). Begin with file.c; map.h maps rows to events.
 */
#ifndef HD_FORMAT_SQLITE_SQLITE_H
#define HD_FORMAT_SQLITE_SQLITE_H

#include <stdatomic.h>

#include "base/io/pieces.h"
#include "heddle/trace.h"

/* ---- values ---- */

typedef enum sq_type { SQ_NULL, SQ_INT, SQ_REAL, SQ_TEXT, SQ_BLOB } sq_type;
typedef struct sq_value {
    sq_type type;
    union {
        int64_t number;
        double real;
        size_t size;
    };
    const char *data; /* of SQ_TEXT and SQ_BLOB: borrowed until the next row */
} sq_value;

/* ---- the file ---- */

enum { SQ_COLUMN_LIMIT = 256, SQ_RECORD_LIMIT = 64 << 20 };

/* The value of a column in records from before it was added. */
typedef struct sq_default {
    sq_value value;
    bool is_unread; /* an expression, or too long */
} sq_default;

typedef struct sq_table {
    char *name;
    char **columns;
    sq_default *defaults; /* by column; NULL: none has one */
    uint32_t default_bytes;
    uint32_t column_count;
    int rowid_column;       /* the one that is the rowid itself, -1: none */
    uint32_t root;          /* page */
    uint32_t virtual_count; /* columns that no record has, and which are not read */
    bool is_without_rowid;  /* a b-tree of another kind, which SQLite alone reads */
    bool is_partial;        /* only SQLite reads all of its values */
    bool by_library;        /* SQLite reads it */
} sq_table;

/* Damage found. */
typedef struct sq_damage {
    uint64_t pages, rows; /* how many make no sense */
    uint64_t offset;      /* of the first, HD_OFFSET_NONE: none */
    uint64_t defaults;    /* values that are a DEFAULT which is not read */
} sq_damage;

typedef struct sq_file {
    hd_pieces pieces;
    uint32_t page_size, usable, page_count;
    sq_table *tables;
    size_t table_count, table_capacity;
    atomic_uchar *seen;        /* by page */
    sq_damage damage;          /* of the schema */
    uint64_t not_understood;   /* rows of the schema, of those that are damaged */
    uint64_t unreadable;       /* tables that are not read: virtual ones, of other kinds if SQLite refuses the file */
    bool has_wal, has_journal; /* files next to it with pages that count */
    bool is_utf16;
    struct sq_library *library; /* NULL: SQLite reads nothing of it */
    uint64_t schema_repaired;   /* tables whose row of the schema has a damaged type, but intact SQL */
} sq_file;

bool sq_is_file(const unsigned char *head, size_t size);
/* The input must be at its first byte. Close *out in any case. Errors: IO; FORMAT: not a database; UNSUPPORTED: its
 * text is UTF-16, and SQLite is absent or refuses it; DAMAGED: no table can be read; MEMORY. */
hd_status sq_file_open(sq_file *out, hd_input *input, hd_error *err);
void sq_file_close(sq_file *file);
const sq_table *sq_file_table(const sq_file *file, const char *name); /* NULL: none */
int sq_table_column(const sq_table *table, const char *name);         /* -1: none */
/* The table that the schema says a column refers to; "": none, or there is no such column. */
const char *sq_table_references(const sq_table *table, const char *column);

/* ---- rows ---- */

/* A page, and the rowids that it may have by the pages above it. */
typedef struct sq_page {
    uint32_t number;
    int64_t least, most;
} sq_page;

/* The pages with the rows of a table, in order. Call it once per table. Free `pages`. */
typedef struct sq_leaves {
    sq_page *pages;
    size_t count, capacity;
    sq_damage damage;
} sq_leaves;
hd_status sq_file_leaves(sq_leaves *out, sq_file *file, const sq_table *table, hd_error *err);

/* Rows of some of these pages. Zero-initialise; may be restarted; deinit. Each thread has its own. */
typedef struct sq_cursor {
    sq_file *file;
    const sq_table *table;
    struct sqlite3_stmt *rows; /* of a table that SQLite reads */
    uint32_t columns;
    int rowid_column;
    const sq_default *defaults;
    const sq_page *pages;
    size_t page_count, page_at;
    hd_window window, overflow;
    const uint8_t *page; /* NULL: the next has to be read */
    uint64_t page_offset;
    uint32_t cell, cells, header;
    uint32_t left;        /* bytes of the page that are neither free nor of a cell read so far */
    uint8_t taken[65536]; /* which bytes are */
    int64_t least;        /* rowid */
    bool is_odd;          /* the page does not add up */
    bool is_counted;      /* the page, or a row of it, is counted as damaged */
    hd_bytes payload;     /* of a row with overflow pages */
    int64_t rowid;
    sq_value values[SQ_COLUMN_LIMIT]; /* `columns` of them */
    sq_damage damage;
} sq_cursor;

void sq_cursor_begin(sq_cursor *cursor, sq_file *file, const sq_table *table, const sq_page *pages, size_t count);
/* HD_OK: there is a row; HD_END. Errors: IO, MEMORY. */
hd_status sq_cursor_next(sq_cursor *cursor, hd_error *err);
void sq_cursor_deinit(sq_cursor *cursor);

/* ---- the schema: schema.c ---- */

/* Names and defaults of the columns, as stored in rows, out of "CREATE TABLE …". false: memory ran out (*out_memory),
 * there are too many columns (*out_other), or the text is damaged. The table's `columns` and `defaults` are the
 * caller's to free, also then. */
bool sq_schema_parse(sq_table *table, bool *out_memory, bool *out_other, const char *sql, size_t size);

void sq_table_deinit(sq_table *table);

/* ---- what SQLite reads: library.c ---- */

typedef struct sq_library sq_library;

/* After the schema was read: SQLite reads what only it can. The file is as before if it cannot. */
void sq_library_take(sq_file *file, const char *path);
void sq_library_close(sq_file *file);
/* IO: a log next to the file, or the file, was written meanwhile. */
hd_status sq_library_unchanged(const sq_file *file, hd_error *err);
void sq_library_rewind(sq_cursor *cursor);
hd_status sq_library_next(sq_cursor *cursor, hd_error *err); /* as sq_cursor_next */

void sq_damage_add(sq_damage *sum, const sq_damage *more);

#endif
