/* table.c - a table as an Arrow stream of one batch */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/impl.h"
#include "base/error.h"

/* All is made at once, since the table may go. */
typedef struct table_stream {
    struct ArrowSchema schema; /* of which copies are handed out */
    struct ArrowArray batch;   /* release NULL: it was handed out */
} table_stream;

/* ---- numbers ---- */

/* uint64 where a number needs it, else int64. */
static char format_of(const hd_table *table, size_t column)
{
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: return 'u';
    case HD_VALUE_DECIMAL: return 'g';
    case HD_VALUE_BOOL: return 'b';
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES:
        for (size_t row = 0; row < hd_table_row_count(table); row++) {
            if (!hd_table_is_null(table, row, column) && hd_table_get_count(table, row, column) > INT64_MAX) return 'L';
        }
        return 'l';
    default: return 'l';
    }
}

static int64_t value_of(const hd_table *table, size_t row, size_t column)
{
    int64_t bits = 0;
    double decimal;
    switch (hd_table_get_column(table, column)->type) {
    case HD_VALUE_STRING: return 0;
    case HD_VALUE_DECIMAL:
        decimal = hd_table_get_decimal(table, row, column);
        memcpy(&bits, &decimal, sizeof bits);
        return bits;
    case HD_VALUE_BOOL: return hd_table_get_bool(table, row, column);
    case HD_VALUE_COUNT:
    case HD_VALUE_BYTES: return (int64_t)hd_table_get_count(table, row, column);
    default: return hd_table_get_int(table, row, column);
    }
}

/* ---- texts ---- */

typedef struct table_texts {
    const hd_table *table;
    size_t column;
} table_texts;

static hd_string cell_text(const void *user, uint32_t row)
{
    const table_texts *texts = user;
    hd_string out = {"", 0};
    if (!hd_table_is_null(texts->table, row, texts->column))
        out.data = hd_table_get_string(&out.size, texts->table, row, texts->column);
    return out;
}

/* The texts of all rows, one after the other, which are the column's own buffers. */
static hd_status text_column(struct ArrowArray *out, struct ArrowSchema *schema, const hd_table *table, size_t column,
                             hd_error *err)
{
    arrow_texts *texts;
    const table_texts user = {table, column};
    HD_TRY(arrow_texts_of_list(&texts, (uint32_t)hd_table_row_count(table), cell_text, &user, err));
    const char *name = hd_table_get_column(table, column)->name;
    int problem = arrow_texts_array(out, texts);
    if (!problem) problem = arrow_texts_schema(schema, name, true, texts);
    arrow_texts_free(texts);
    return problem ? HD_NOMEM(err) : HD_OK;
}

/* ---- the batch ---- */

static hd_status make_column(table_stream *s, const hd_table *table, size_t column, int64_t *values, uint8_t *null,
                             hd_error *err)
{
    uint32_t rows = (uint32_t)hd_table_row_count(table);
    struct ArrowArray *out = s->batch.children[column];
    struct ArrowSchema *schema = s->schema.children[column];
    char format[2] = {format_of(table, column), '\0'};
    int64_t nulls = 0;
    for (uint32_t row = 0; row < rows; row++) {
        null[row] = hd_table_is_null(table, row, column);
        nulls += null[row];
        values[row] = null[row] ? 0 : value_of(table, row, column);
    }
    if (*format == 'u') {
        HD_TRY(text_column(out, schema, table, column, err));
        return nulls && arrow_array_set_null(out, null) != 0 ? HD_NOMEM(err) : HD_OK;
    }
    const char *name = hd_table_get_column(table, column)->name;
    if (arrow_schema_init(schema, format, name, true, 0) != 0) return HD_NOMEM(err);
    int problem = arrow_column_array(out, *format, values, nulls ? null : NULL, rows, NULL);
    return problem ? HD_NOMEM(err) : HD_OK;
}

static hd_status make_batch(table_stream *s, const hd_table *table, hd_error *err)
{
    size_t rows = hd_table_row_count(table), columns = hd_table_column_count(table);
    void *no_validity = NULL;
    if (rows > INT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "%zu rows do not go into one batch", rows);
    int64_t *values = malloc((rows + 1) * sizeof *values);
    uint8_t *null = malloc(rows + 1);
    bool fine = values && null && arrow_schema_init(&s->schema, "+s", "", false, columns) == 0 &&
                arrow_array_init(&s->batch, (int64_t)rows, &no_validity, 1, columns) == 0;
    hd_status status = fine ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < columns && status == HD_OK; i++) status = make_column(s, table, i, values, null, err);
    free(values);
    free(null);
    return status;
}

/* ---- the stream ---- */

static int copy_schema(struct ArrowSchema *out, const struct ArrowSchema *from)
{
    bool nullable = from->flags & ARROW_FLAG_NULLABLE;
    int problem = arrow_schema_init(out, from->format, from->name, nullable, (size_t)from->n_children);
    if (problem) return problem;
    for (int64_t i = 0; i < from->n_children && !problem; i++)
        problem = copy_schema(out->children[i], from->children[i]);
    if (problem) out->release(out);
    return problem;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const table_stream *s = stream->private_data;
    return copy_schema(out, &s->schema);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    table_stream *s = stream->private_data;
    *out = s->batch;
    s->batch = (struct ArrowArray){0};
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void free_stream(table_stream *s)
{
    if (s->schema.release) s->schema.release(&s->schema);
    if (s->batch.release) s->batch.release(&s->batch);
    free(s);
}

static void release_stream(struct ArrowArrayStream *stream)
{
    free_stream(stream->private_data);
    stream->release = NULL;
}

hd_status hd_table_arrow_stream(struct ArrowArrayStream *out, const hd_table *table, hd_error *err)
{
    *out = (struct ArrowArrayStream){0};
    table_stream *s = calloc(1, sizeof *s);
    if (!s) return HD_NOMEM(err);
    hd_status status = make_batch(s, table, err);
    if (status != HD_OK) {
        free_stream(s);
        return status;
    }
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, s};
    return HD_OK;
}
