/* table.h - tables of named, typed columns: the result of every analysis
 *
 * A builder takes columns, then rows cell by cell; hd_table_finish turns it into an immutable table, which any thread
 * may read without locks. A table is printed as text for people, JSON, CSV or Markdown.
 *
 *     hd_table_builder *builder;
 *     HD_TRY(hd_table_builder_new(&builder, "kernels", err));
 *     hd_table_add_column(builder, "name", HD_VALUE_STRING);
 *     hd_table_add_column(builder, "total", HD_VALUE_DURATION);
 *     hd_table_add_text(builder, "gemm");
 *     hd_table_add_int(builder, 2848);
 *     HD_TRY(hd_table_finish(&table, builder, err));   // frees the builder, also when it fails
 *
 * The builder remembers the first failure of an add function; all later calls and finish return it, so a caller may
 * check finish only.
 */
#ifndef HEDDLE_TABLE_H
#define HEDDLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_table hd_table;
typedef struct hd_table_builder hd_table_builder;

/* The type of a column. Any cell may be null instead. */
typedef enum hd_value_type {
    HD_VALUE_STRING,   /* any bytes, usually UTF-8 */
    HD_VALUE_INT,      /* int64: an id or a number that is not a count; no thousands separators */
    HD_VALUE_COUNT,    /* uint64: 12,345 */
    HD_VALUE_DECIMAL,  /* double, with the column's number of decimals */
    HD_VALUE_BYTES,    /* uint64: 1.5 MiB */
    HD_VALUE_DURATION, /* int64 nanoseconds: 2.848us */
    HD_VALUE_TIME,     /* int64 nanoseconds on the trace's clock: 12.000002848s */
    HD_VALUE_BOOL,     /* yes, no */
} hd_value_type;

typedef struct hd_table_column {
    const char *name; /* lower_case: the key in JSON, the name in CSV and SQL */
    hd_value_type type;
    unsigned decimals; /* HD_VALUE_DECIMAL: digits after the point in text, 2 unless set */
} hd_table_column;

/* ---- building ---- */

/* A builder for a table of that name (copied). Free it with hd_table_builder_free, unless it was finished. */
hd_status hd_table_builder_new(hd_table_builder **out, const char *name, hd_error *err);
void hd_table_builder_free(hd_table_builder *builder);

/* Add columns before the first cell. The name is copied and must be new. */
hd_status hd_table_add_column(hd_table_builder *builder, const char *name, hd_value_type type);

/* Digits after the point for the column added last. */
hd_status hd_table_set_decimals(hd_table_builder *builder, unsigned decimals);

/* The next cell, row by row from left to right; text is copied. The type must be the column's: int for INT, DURATION
 * and TIME; count for COUNT and BYTES. Anything else is HD_ERR_ARGUMENT. */
hd_status hd_table_add_text(hd_table_builder *builder, const char *text);
hd_status hd_table_add_string(hd_table_builder *builder, const char *text, size_t size);
hd_status hd_table_add_int(hd_table_builder *builder, int64_t value);
hd_status hd_table_add_count(hd_table_builder *builder, uint64_t value);
hd_status hd_table_add_decimal(hd_table_builder *builder, double value);
hd_status hd_table_add_bool(hd_table_builder *builder, bool value);
hd_status hd_table_add_null(hd_table_builder *builder);
/* From now on cells are sums that saturate: a duration or time of INT64_MAX or -INT64_MAX, and a count or size of
 * INT64_MAX or UINT64_MAX, is an overflow. Such a cell is null, sorts as the largest (or smallest) value, and is
 * counted. */
void hd_table_set_saturating(hd_table_builder *builder);
/* Add a copy of another table's cell. */
hd_status hd_table_add_cell(hd_table_builder *builder, const hd_table *table, size_t row, size_t column);

/* Sort the rows added so far: by the columns `first` from the smallest on, then by `largest` from the largest on (a
 * null counts as -1), then by all columns from the left. Null comes first, texts are ordered by bytes. Both are
 * comma-separated columns; unknown columns are ignored. largest NULL: by `first` alone, with a stable sort. */
hd_status hd_table_sort(hd_table_builder *builder, const char *first, const char *largest);

/* Freeze the builder into a table. The builder is gone afterwards, also on failure. An incomplete last row is
 * HD_ERR_ARGUMENT. Free the table with hd_table_free. */
hd_status hd_table_finish(hd_table **out, hd_table_builder *builder, hd_error *err);
void hd_table_free(hd_table *table);

/* A copy of the first rows of a table. The caller frees it. */
hd_status hd_table_head(hd_table **out, const hd_table *table, size_t rows, hd_error *err);

/* ---- reading: pointers borrow from the table; row and column must exist ---- */

const char *hd_table_name(const hd_table *table);
size_t hd_table_row_count(const hd_table *table);
size_t hd_table_column_count(const hd_table *table);
const hd_table_column *hd_table_get_column(const hd_table *table, size_t column);
/* The name as a heading for people: '_' becomes a space, and the words work and works "GPU op" and "GPU ops". Cut to
 * HD_HEADING_BYTES. Returns `out`. */
enum { HD_HEADING_BYTES = 128 };
const char *hd_table_heading(char out[HD_HEADING_BYTES], const hd_table_column *column);
bool hd_table_is_null(const hd_table *table, size_t row, size_t column);
const char *hd_table_get_string(size_t *out_size, const hd_table *table, size_t row, size_t column);
/* Cells that are null because their value overflowed. */
uint64_t hd_table_beyond(const hd_table *table);
/* The column of that name; SIZE_MAX: there is none. */
size_t hd_table_find_column(const hd_table *table, const char *name);
int64_t hd_table_get_int(const hd_table *table, size_t row, size_t column);
uint64_t hd_table_get_count(const hd_table *table, size_t row, size_t column);
double hd_table_get_decimal(const hd_table *table, size_t row, size_t column);
bool hd_table_get_bool(const hd_table *table, size_t row, size_t column);

/* ---- printing ---- */

typedef enum hd_table_format {
    HD_TABLE_TEXT, /* aligned columns; control characters are shown as \n, \x1b */
    HD_TABLE_JSON, /* an array of objects; times and durations in ns; invalid UTF-8 becomes U+FFFD, NaN null */
    HD_TABLE_CSV, /* RFC 4180 with a header line and LF; raw numbers; a null is an empty field, an empty string ""; text
                     that begins like a formula or with ESC, and is not a number, is prefixed with an apostrophe */
    HD_TABLE_MARKDOWN, /* a table with the values of TEXT */
} hd_table_format;

typedef struct hd_table_style {
    hd_table_format format;
    unsigned width; /* TEXT: fit this width: the widest strings come last, sentences are wrapped, names shortened in the
                       middle; 0: print them in full */
    unsigned indent; /* TEXT, JSON: spaces before each line */
    bool bold_head;  /* TEXT: print the head bold, for a terminal */
    bool raw;        /* TEXT, MARKDOWN: names and values as in CSV: track_id, 1234567 */
    bool no_head;    /* all but JSON: rows only */
    size_t *widths;  /* TEXT, in and out: the minimum width of each column, then its actual width, so that parts of a
                        table align; NULL: none */
} hd_table_style;

/* Receives printed text. Any status but HD_OK stops the printing and is returned by hd_table_write. */
typedef struct hd_sink {
    hd_status (*write)(void *user, const char *data, size_t size);
    void *user;
} hd_sink;

/* Print a table; `style` NULL is text in full. JSON does not end with a newline, so that it can be embedded in JSON. */
hd_status hd_table_write(const hd_table *table, hd_sink sink, const hd_table_style *style, hd_error *err);

/* Write untrusted text to a terminal: control characters (those of 0x80 to 0x9f as well) and marks that end a line or
 * turn the direction of writing become \n, \x1b, \u202e; invalid UTF-8 becomes U+FFFD. Returns what the sink does. */
hd_status hd_text_write(hd_sink sink, const char *text, size_t size);

/* The cells of one row as members of a JSON object, without the braces: `"a": 1, "b": "x"`. */
hd_status hd_table_write_members(const hd_table *table, size_t row, hd_sink sink, hd_error *err);

/* ---- single values, as tables print them ---- */

enum { HD_VALUE_TEXT_BYTES = 48 };

/* Each writes NUL-terminated text into `out` of HD_VALUE_TEXT_BYTES, and returns it. */
const char *hd_text_duration(char *out, int64_t ns);  /* 480ns, 2.848us, 12.400ms, 1.234s */
const char *hd_text_time(char *out, int64_t ns);      /* 12.000002848s */
const char *hd_text_bytes(char *out, uint64_t bytes); /* 512 B, 1.5 MiB */
const char *hd_text_count(char *out, uint64_t count); /* 12,345 */
const char *hd_text_double(char *out, double value);  /* the shortest that is the same double again: 0.25, 1e+300 */

#ifdef __cplusplus
}
#endif
#endif
