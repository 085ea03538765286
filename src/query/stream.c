/* stream.c - the rows of a statement as an Arrow stream
 *
 * batch.c collects rows until a batch is full; here they become Arrow's structs. The first batch decides the types, so
 * get_schema reads it.
 */
#include "query/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct query_stream {
    hd_statement *statement;
    query_batch batch;
    bool is_read;     /* the next batch was already read */
    hd_status status; /* of the batch: OK, END … */
    hd_error err;
    char message[HD_ERROR_TEXT_BYTES];
} query_stream;

/* ---- schema ---- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    free(schema->private_data); /* a block with all there is below */
    schema->release = NULL;
}

/* Releases a child that was moved: it owns its texts. */
static void release_field(struct ArrowSchema *schema)
{
    free(schema->private_data);
    schema->release = NULL;
}

static const char *format_of(hd_query_type type)
{
    return type == HD_QUERY_TEXT ? "u" : type == HD_QUERY_REAL ? "g" : "l";
}

static int init_schema(struct ArrowSchema *out, const query_stream *stream)
{
    size_t count = stream->batch.column_count;
    struct ArrowSchema **children = calloc(1, count * (sizeof *children + sizeof **children) + 1);
    struct ArrowSchema *fields = (struct ArrowSchema *)(children + count);
    *out = (struct ArrowSchema){.format = "+s", .name = "", .children = children, .private_data = children};
    if (!children) return ENOMEM;
    out->release = release_schema;
    for (size_t i = 0; i < count; i++) {
        char *name = strdup(hd_statement_column_name(stream->statement, i));
        children[i] = &fields[i];
        fields[i].name = name;
        fields[i].format = format_of(stream->batch.columns[i].type);
        fields[i].flags = ARROW_FLAG_NULLABLE;
        fields[i].private_data = name;
        fields[i].release = release_field;
        out->n_children++;
        if (name) continue;
        release_schema(out);
        return ENOMEM;
    }
    return 0;
}

/* ---- arrays ---- */

static void release_batch(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++)
        if (array->children[i]->release) array->children[i]->release(array->children[i]);
    free(array->private_data);
    array->release = NULL;
}

enum { VALIDITY, VALUES, TEXT_BYTES, BUFFERS };

static void release_column(struct ArrowArray *array)
{
    const void **buffers = array->private_data;
    for (size_t i = 0; i < BUFFERS; i++) free((void *)buffers[i]);
    free(buffers);
    array->release = NULL;
}

/* Moves the column's buffers into the array. */
static bool init_column(struct ArrowArray *out, query_batch_column *column, uint32_t rows)
{
    const void **buffers = calloc(BUFFERS, sizeof *buffers);
    if (!buffers) return false;
    bool is_text = column->type == HD_QUERY_TEXT;
    *out = (struct ArrowArray){.length = rows, .null_count = column->null_count, .n_buffers = is_text ? 3 : 2};
    buffers[VALIDITY] = column->validity;
    buffers[VALUES] = is_text ? (void *)column->offsets : (void *)column->values;
    buffers[TEXT_BYTES] = column->text;
    free(is_text ? (void *)column->values : (void *)column->offsets);
    column->validity = NULL, column->values = NULL, column->offsets = NULL, column->text = NULL;
    column->text_capacity = column->text_size = 0;
    out->buffers = out->private_data = buffers;
    out->release = release_column;
    return true;
}

static int init_batch(struct ArrowArray *out, query_batch *batch)
{
    size_t count = batch->column_count;
    struct ArrowArray **children = calloc(1, count * (sizeof *children + sizeof **children) + sizeof(void *));
    struct ArrowArray *columns = (struct ArrowArray *)(children + count);
    if (!children) return ENOMEM;
    const void **none = (const void **)(columns + count); /* a struct has one buffer, the validity bitmap, or none */
    *out = (struct ArrowArray){.length = batch->row_count,
                               .n_buffers = 1,
                               .buffers = none,
                               .children = children,
                               .private_data = children,
                               .release = release_batch};
    for (size_t i = 0; i < count; i++) {
        children[i] = &columns[i];
        if (!init_column(children[i], &batch->columns[i], batch->row_count)) {
            release_batch(out);
            return ENOMEM;
        }
        out->n_children++;
    }
    return 0;
}

/* ---- the stream ---- */

static int errno_of(query_stream *stream)
{
    if (stream->status != HD_OK && stream->status != HD_END)
        hd_error_text(stream->message, sizeof stream->message, &stream->err);
    switch (stream->status) {
    case HD_OK:
    case HD_END: return 0;
    case HD_ERR_MEMORY: return ENOMEM;
    case HD_ERR_LIMIT: return ECANCELED;
    case HD_ERR_ARGUMENT: return EINVAL;
    default: return EIO;
    }
}

/* Reads the next batch. */
static int read_ahead(query_stream *stream)
{
    if (!stream->is_read && stream->status == HD_OK)
        stream->status = query_batch_read(&stream->batch, stream->statement, &stream->err);
    stream->is_read = true;
    return errno_of(stream);
}

static int get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    query_stream *stream = self->private_data;
    int code = read_ahead(stream);
    return code ? code : init_schema(out, stream);
}

static int get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    query_stream *stream = self->private_data;
    *out = (struct ArrowArray){0};
    int code = read_ahead(stream);
    if (code || !stream->batch.row_count) return code;
    if (init_batch(out, &stream->batch)) { /* parts of the batch were moved */
        stream->status = hd_error_set(&stream->err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
        return errno_of(stream);
    }
    stream->batch.row_count = 0;
    stream->is_read = stream->status == HD_END;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *self)
{
    query_stream *stream = self->private_data;
    return stream->message[0] ? stream->message : NULL;
}

static void release_stream(struct ArrowArrayStream *self)
{
    query_stream *stream = self->private_data;
    query_batch_deinit(&stream->batch);
    hd_statement_free(stream->statement);
    free(stream);
    self->release = NULL;
}

hd_status hd_statement_arrow_stream(struct ArrowArrayStream *out, hd_statement *statement, hd_error *err)
{
    query_stream *stream = calloc(1, sizeof *stream);
    hd_status status = stream ? query_batch_init(&stream->batch, statement, err)
                              : hd_error_set(err, HD_ERR_MEMORY, NULL, HD_OFFSET_NONE, "out of memory");
    *out = (struct ArrowArrayStream){0};
    if (status != HD_OK) {
        hd_statement_free(statement);
        free(stream);
        return status;
    }
    stream->statement = statement;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, stream};
    return HD_OK;
}
