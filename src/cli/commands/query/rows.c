/* rows.c - rows of statements as text, CSV, JSON and Markdown
 *
 * A piece of up to a thousand rows becomes an hd_table, which knows how to print itself. A value keeps its type in JSON
 * and CSV also where a column has several: the rows of such a piece are tables of one row.
 */
#include "cli/commands/query/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_ROWS = 1000, PIECE_CELLS = 1 << 16, PIECE_BYTES = 1 << 20 };

static hd_status out_of_memory(hd_error *err)
{
    return hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
}

/* ---- a piece ---- */

hd_status rows_begin(rows_out *out, hd_statement *statement, hd_error *err)
{
    size_t columns = hd_statement_column_count(statement);
    out->statement = statement;
    out->column_count = columns;
    out->row_count = out->text_size = out->text_capacity = 0;
    out->row_limit = columns > PIECE_CELLS / PIECE_ROWS ? PIECE_CELLS / columns + 1 : PIECE_ROWS;
    out->is_begun = false;
    out->text = NULL;
    out->cells = calloc(out->row_limit * columns + 1, sizeof *out->cells);
    out->widths = calloc(columns + 1, sizeof *out->widths);
    return out->cells && out->widths ? HD_OK : out_of_memory(err);
}

static bool keep_text(rows_out *out, rows_cell *cell)
{
    const hd_query_value *value = &cell->value;
    bool is_blob = value->type == HD_QUERY_BLOB;
    size_t size = is_blob ? 2 * value->size + 3 : value->size;
    if (size > out->text_capacity - out->text_size) {
        size_t capacity = 2 * out->text_capacity + size + 256;
        char *text = realloc(out->text, capacity);
        if (!text) return false;
        out->text = text;
        out->text_capacity = capacity;
    }
    cell->offset = out->text_size;
    if (!size) return true;
    char *to = out->text + out->text_size;
    out->text_size += size;
    if (!is_blob) {
        memcpy(to, value->data, size);
        return true;
    }
    *to++ = 'x', *to++ = '\'';
    for (size_t i = 0; i < value->size; i++) {
        *to++ = "0123456789abcdef"[(unsigned char)value->data[i] >> 4];
        *to++ = "0123456789abcdef"[(unsigned char)value->data[i] & 15];
    }
    *to = '\'';
    cell->value.type = HD_QUERY_TEXT;
    cell->value.size = size;
    return true;
}

/* ---- a piece as a table ---- */

/* The types of a column's cells, as a set. */
static unsigned types_of(const rows_out *out, size_t column, size_t first, size_t end)
{
    unsigned types = 0;
    for (size_t row = first; row < end; row++) types |= 1u << out->cells[row * out->column_count + column].value.type;
    return types & ~(1u << HD_QUERY_NULL);
}

static bool is_mixed(unsigned types)
{
    return (types & (types - 1)) != 0;
}

/* The shortest digits that read back as the same number. */
static const char *number_text(char out[HD_VALUE_TEXT_BYTES], const hd_query_value *value)
{
    if (value->type == HD_QUERY_INT) {
        snprintf(out, HD_VALUE_TEXT_BYTES, "%lld", (long long)value->integer);
        return out;
    }
    return hd_text_double(out, value->real);
}

static void add_cell(hd_table_builder *builder, const rows_out *out, const rows_cell *cell, hd_value_type type)
{
    char number[HD_VALUE_TEXT_BYTES];
    const hd_query_value *value = &cell->value;
    if (value->type == HD_QUERY_NULL)
        hd_table_add_null(builder);
    else if (value->type == HD_QUERY_TEXT)
        hd_table_add_string(builder, value->size ? out->text + cell->offset : "", value->size);
    else if (type == HD_VALUE_STRING)
        hd_table_add_text(builder, number_text(number, value));
    else if (type == HD_VALUE_INT)
        hd_table_add_int(builder, value->integer);
    else
        hd_table_add_decimal(builder, value->type == HD_QUERY_INT ? (double)value->integer : value->real);
}

static hd_value_type type_of(unsigned types)
{
    if (types == 1u << HD_QUERY_INT) return HD_VALUE_INT;
    return types && !(types & 1u << HD_QUERY_TEXT) ? HD_VALUE_DECIMAL : HD_VALUE_STRING;
}

static hd_status make_table(hd_table **table, const rows_out *out, size_t first, size_t end, hd_error *err)
{
    hd_table_builder *builder;
    hd_value_type *types = calloc(out->column_count + 1, sizeof *types);
    if (!types) return out_of_memory(err);
    hd_status status = hd_table_builder_new(&builder, "query", err);
    for (size_t i = 0; status == HD_OK && i < out->column_count; i++) {
        types[i] = type_of(types_of(out, i, first, end));
        hd_table_add_column(builder, hd_statement_column_name(out->statement, i), types[i]);
    }
    for (size_t row = first; status == HD_OK && row < end; row++)
        for (size_t i = 0; i < out->column_count; i++)
            add_cell(builder, out, &out->cells[row * out->column_count + i], types[i]);
    free(types);
    return status == HD_OK ? hd_table_finish(table, builder, err) : status;
}

/* ---- writing ---- */

static hd_status put(rows_out *out, const char *text)
{
    return out->sink.write(out->sink.user, text, strlen(text));
}

static hd_status write_objects(rows_out *out, const hd_table *table, hd_error *err)
{
    bool lines = out->format == ROWS_JSONL;
    hd_status status = HD_OK;
    for (size_t row = 0; row < hd_table_row_count(table) && status == HD_OK; row++) {
        status = put(out, lines ? "{" : out->is_begun ? ",\n  {" : "[\n  {");
        if (status == HD_OK) status = hd_table_write_members(table, row, out->sink, err);
        if (status == HD_OK) status = put(out, lines ? "}\n" : "}");
        out->is_begun = true;
    }
    return status;
}

static hd_status write_table(rows_out *out, const hd_table *table, hd_error *err)
{
    if (out->format == ROWS_JSON || out->format == ROWS_JSONL) return write_objects(out, table, err);
    const hd_table_style style = {.format = out->format == ROWS_CSV        ? HD_TABLE_CSV
                                            : out->format == ROWS_MARKDOWN ? HD_TABLE_MARKDOWN
                                                                           : HD_TABLE_TEXT,
                                  .width = out->width,
                                  .bold_head = out->bold,
                                  .raw = true,
                                  .no_head = out->is_begun,
                                  .widths = out->widths};
    out->is_begun = true;
    return hd_table_write(table, out->sink, &style, err);
}

static hd_status write_rows(rows_out *out, size_t first, size_t end, hd_error *err)
{
    hd_table *table;
    hd_status status = make_table(&table, out, first, end, err);
    if (status != HD_OK) return status;
    status = write_table(out, table, err);
    hd_table_free(table);
    return status;
}

static hd_status write_piece(rows_out *out, hd_error *err)
{
    bool exact = out->format != ROWS_TABLE && out->format != ROWS_MARKDOWN, mixed = false;
    hd_status status = HD_OK;
    for (size_t i = 0; exact && i < out->column_count; i++) mixed |= is_mixed(types_of(out, i, 0, out->row_count));
    size_t step = mixed ? 1 : out->row_count;
    for (size_t row = 0; row < out->row_count && status == HD_OK; row += step)
        status = write_rows(out, row, row + step, err);
    if (!out->row_count && !out->is_begun) status = write_rows(out, 0, 0, err); /* the head */
    out->row_count = out->text_size = 0;
    return status;
}

hd_status rows_add(rows_out *out, hd_error *err)
{
    rows_cell *cells = out->cells + out->row_count * out->column_count;
    for (size_t i = 0; i < out->column_count; i++) {
        cells[i] = (rows_cell){.value = hd_statement_at(out->statement, i)};
        bool is_text = cells[i].value.type == HD_QUERY_TEXT || cells[i].value.type == HD_QUERY_BLOB;
        if (is_text && !keep_text(out, &cells[i])) return out_of_memory(err);
    }
    if (++out->row_count < out->row_limit && out->text_size < PIECE_BYTES) return HD_OK;
    return write_piece(out, err);
}

hd_status rows_finish(rows_out *out, hd_status status, hd_error *err)
{
    if (status == HD_OK && (out->row_count || !out->is_begun)) status = write_piece(out, err);
    if (status == HD_OK && out->format == ROWS_JSON) status = put(out, out->is_begun ? "\n]\n" : "[]\n");
    free(out->cells);
    free(out->widths);
    free(out->text);
    out->cells = NULL, out->widths = NULL, out->text = NULL;
    return status;
}
