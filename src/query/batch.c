/* batch.c - rows of a statement, column by column
 *
 * SQL values have types, columns have none. A column takes the type of its first value. Whole numbers become doubles
 * when a fraction follows, and doubles become whole numbers, as long as the conversion is exact. After the first batch
 * the types are published and fixed: a value that does not fit is an error.
 */
#include "query/batch.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "base/text/utf8.h"
#include "query/impl.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_TEXT_BYTES = 64 << 20 }; /* of a column: the batch ends with the row that exceeds it */

#define EXACT (INT64_C(1) << 53) /* whole numbers up to this are exact as doubles */

hd_status query_batch_init(query_batch *batch, const hd_statement *statement, hd_error *err)
{
    size_t count = hd_statement_column_count(statement);
    *batch = (query_batch){.columns = calloc(count + 1, sizeof *batch->columns), .column_count = count};
    if (!batch->columns) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        const char *type = sqlite3_column_decltype(statement->stmt, (int)i);
        batch->columns[i].is_real = type && sqlite3_stricmp(type, "REAL") == 0;
    }
    return HD_OK;
}

void query_batch_deinit(query_batch *batch)
{
    for (size_t i = 0; batch->columns && i < batch->column_count; i++) {
        query_batch_column *column = &batch->columns[i];
        free(column->validity);
        free(column->values);
        free(column->offsets);
        free(column->text);
    }
    free(batch->columns);
    *batch = (query_batch){0};
}

static bool make_room(query_batch_column *column)
{
    if (!column->validity) column->validity = malloc(HD_BLOCK_ROWS / 8);
    if (!column->values) column->values = malloc(HD_BLOCK_ROWS * sizeof *column->values);
    if (!column->offsets) column->offsets = malloc((HD_BLOCK_ROWS + 1) * sizeof *column->offsets);
    if (!column->text && !hd_reserve(&column->text, &column->text_capacity, 1)) return false;
    if (!column->validity || !column->values || !column->offsets) return false;
    memset(column->validity, 0, HD_BLOCK_ROWS / 8);
    column->null_count = 0;
    column->text_size = 0;
    column->offsets[0] = 0;
    return true;
}

/* ---- values ---- */

static int64_t bits_of(double real)
{
    int64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static double real_of(int64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static bool is_exact(int64_t integer)
{
    return integer >= -EXACT && integer <= EXACT;
}

static bool is_whole(double real)
{
    return real >= -(double)EXACT && real <= (double)EXACT && (double)(int64_t)real == real;
}

static bool make_real(query_batch_column *column, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (column->validity[i / 8] >> i % 8 & 1 && !is_exact(column->values[i])) return false;
    for (uint32_t i = 0; i < rows; i++) column->values[i] = bits_of((double)column->values[i]);
    column->type = HD_QUERY_REAL;
    return true;
}

/* The reverse conversion, if no value loses precision. */
static bool make_whole(query_batch_column *column, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (column->validity[i / 8] >> i % 8 & 1 && !is_whole(real_of(column->values[i]))) return false;
    for (uint32_t i = 0; i < rows; i++)
        if (column->validity[i / 8] >> i % 8 & 1) column->values[i] = (int64_t)real_of(column->values[i]);
    column->type = HD_QUERY_INT;
    return true;
}

/* Valid UTF-8, each byte that is none as U+FFFD. */
static bool add_text(query_batch_column *column, const char *data, size_t size)
{
    bool valid = hd_utf8_valid(data, size, false);
    size_t longest = valid ? size : 3 * size;
    if (!hd_reserve(&column->text, &column->text_capacity, column->text_size + longest)) return false;
    char *out = column->text + column->text_size;
    if (valid) memcpy(out, data, size);
    if (valid) out += size;
    for (size_t i = 0, n; !valid && i < size; i += n) {
        for (n = 1; n <= 4 && i + n <= size && !hd_utf8_valid(data + i, n, false);) n++;
        bool bad = n > 4 || i + n > size;
        if (bad) n = 1;
        if (bad) out += hd_utf8_put(out, 0xfffd);
        for (size_t k = 0; !bad && k < n; k++) *out++ = data[i + k];
    }
    column->text_size = (size_t)(out - column->text);
    return true;
}

/* Whether a number fits a column of numbers. */
static bool add_number(query_batch_column *column, const hd_query_value *value, uint32_t row, bool is_typed)
{
    bool is_real = value->type == HD_QUERY_REAL;
    if (column->type == HD_QUERY_REAL && !is_real && !is_exact(value->integer) && !is_typed)
        (void)make_whole(column, row);
    if (column->type == HD_QUERY_INT && is_real && !is_typed && !make_real(column, row)) return false;
    if (column->type == HD_QUERY_INT) {
        if (is_real && !is_whole(value->real)) return false;
        column->values[row] = is_real ? (int64_t)value->real : value->integer;
    } else {
        if (!is_real && !is_exact(value->integer)) return false;
        column->values[row] = bits_of(is_real ? value->real : (double)value->integer);
    }
    return true;
}

static const char *what_is(hd_query_type type)
{
    static const char *const names[] = {"null", "a whole number", "a number", "text"};
    return names[type];
}

static hd_status add_value(query_batch *batch, size_t at, hd_statement *statement, hd_error *err)
{
    query_batch_column *column = &batch->columns[at];
    hd_query_value value = hd_statement_at(statement, at);
    uint32_t row = batch->row_count;
    bool fits = true;
    if (value.type == HD_QUERY_BLOB)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "column %.80s: a blob in row %llu, for which there is no type here; hex(…) makes text "
                            "of it",
                            hd_statement_column_name(statement, at), (unsigned long long)(batch->row_first + row));
    if (column->type == HD_QUERY_NULL && !batch->is_typed) {
        column->type = value.type;
        if (value.type == HD_QUERY_INT && column->is_real && is_exact(value.integer)) column->type = HD_QUERY_REAL;
    }
    if (value.type == HD_QUERY_NULL)
        column->values[row] = 0, column->null_count++;
    else if (value.type == HD_QUERY_TEXT || column->type == HD_QUERY_TEXT)
        fits = value.type == column->type;
    else
        fits = add_number(column, &value, row, batch->is_typed);
    if (!fits)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "column %.80s: %s in row %llu, where there was %s before; cast(… as %s) makes it one type",
                            hd_statement_column_name(statement, at), what_is(value.type),
                            (unsigned long long)(batch->row_first + row), what_is(column->type),
                            value.type == HD_QUERY_INT || value.type == HD_QUERY_REAL ? "real" : "text");
    if (value.type == HD_QUERY_TEXT && !add_text(column, value.data, value.size)) return HD_NOMEM(err);
    if (value.type != HD_QUERY_NULL) column->validity[row / 8] |= (uint8_t)(1u << row % 8);
    column->offsets[row + 1] = (int32_t)column->text_size;
    return HD_OK;
}

/* A column with only nulls gets the type that the table declares. */
static void settle_types(query_batch *batch, const hd_statement *statement)
{
    for (size_t i = 0; i < batch->column_count && !batch->is_typed; i++) {
        query_batch_column *column = &batch->columns[i];
        const char *type = sqlite3_column_decltype(statement->stmt, (int)i);
        if (column->type != HD_QUERY_NULL) continue;
        column->type = column->is_real                              ? HD_QUERY_REAL
                       : type && sqlite3_stricmp(type, "TEXT") == 0 ? HD_QUERY_TEXT
                                                                    : HD_QUERY_INT;
    }
    batch->is_typed = true;
}

hd_status query_batch_read(query_batch *batch, hd_statement *statement, hd_error *err)
{
    bool is_full = false;
    hd_status status = HD_OK;
    batch->row_count = 0;
    for (size_t i = 0; i < batch->column_count; i++)
        if (!make_room(&batch->columns[i])) return HD_NOMEM(err);
    while (!is_full && (status = hd_statement_next(statement, err)) == HD_OK) {
        for (size_t i = 0; i < batch->column_count; i++) {
            HD_TRY(add_value(batch, i, statement, err));
            is_full |= batch->columns[i].text_size >= BATCH_TEXT_BYTES;
        }
        is_full |= ++batch->row_count == HD_BLOCK_ROWS;
    }
    if (status != HD_OK && status != HD_END) return status;
    settle_types(batch, statement);
    batch->row_first += batch->row_count;
    return status;
}
