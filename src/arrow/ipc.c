/* ipc.c - a stream of record batches as bytes: Arrow's IPC streaming format
 *
 * Format   arrow.apache.org/docs/format/Columnar.html, "Serialization and IPC"; Message.fbs and Schema.fbs, version 5
 * Makes    a schema, a message for each batch, the end; one level of columns, no dictionaries, no compression
 *
 * A message's metadata is a FlatBuffer. Its tables are written before what they refer to, since references point
 * forward, and each field takes 8 bytes, so that all are aligned.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/failed.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/io/output.h"

enum { VERSION_5 = 4, HEADER_SCHEMA = 1, HEADER_BATCH = 3, SLOT = 8, CONTINUES = 4 };

/* ---- FlatBuffers ---- */

static void align(hd_bytes *out, size_t to)
{
    while (out->size % to && !out->failed) hd_bytes_put_u8(out, 0);
}

static void patch(hd_bytes *out, size_t at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width && !out->failed; i++) out->data[at + i] = (uint8_t)(value >> 8 * i);
}

/* The reference at `from` becomes one to the end of the buffer. */
static void refer(hd_bytes *out, size_t from)
{
    patch(out, from, out->size - from, 4);
}

/* A table of `count` fields, which the reference at `from` is to; those in `present` (a bit each) are not left out.
 * Returns where the first field is, SLOT bytes before the next. */
static size_t put_table(hd_bytes *out, size_t from, unsigned count, unsigned present)
{
    align(out, SLOT);
    size_t vtable = out->size, size = 4 + 2 * (size_t)count;
    size_t table = (vtable + size + 3) / SLOT * SLOT + 4; /* the first field is aligned */
    hd_bytes_put_le(out, size, 2);
    hd_bytes_put_le(out, 4 + SLOT * (uint64_t)count, 2);
    for (unsigned i = 0; i < count; i++) hd_bytes_put_le(out, present >> i & 1 ? 4 + SLOT * i : 0, 2);
    while (out->size < table && !out->failed) hd_bytes_put_u8(out, 0);
    refer(out, from);
    hd_bytes_put_le(out, table - vtable, 4);
    for (unsigned i = 0; i < count; i++) hd_bytes_put_le(out, 0, SLOT);
    return table + 4;
}

/* The head of a vector of `count`, whose elements of SLOT or 4 bytes come next. */
static void put_vector(hd_bytes *out, size_t from, uint64_t count)
{
    align(out, SLOT);
    hd_bytes_put_le(out, 0, 4);
    refer(out, from);
    hd_bytes_put_le(out, count, 4);
}

static void put_text(hd_bytes *out, size_t from, const char *text)
{
    align(out, 4);
    refer(out, from);
    hd_bytes_put_le(out, strlen(text), 4);
    hd_bytes_put(out, text, strlen(text) + 1);
}

/* ---- messages ---- */

/* Begins the metadata; the reference to the header of this type is at *out_header. Returns where the size of the body
 * is. */
static size_t begin_message(hd_bytes *out, size_t *out_header, int type)
{
    out->size = 0;
    hd_bytes_put_le(out, 0, 4);
    size_t fields = put_table(out, 0, 4, 0xf);
    patch(out, fields, VERSION_5, 2);
    patch(out, fields + SLOT, (uint64_t)type, 1);
    *out_header = fields + 2 * SLOT;
    return fields + 3 * SLOT;
}

static hd_status write_message(hd_output *output, hd_bytes *metadata, const hd_bytes *body, hd_error *err)
{
    uint8_t head[8] = {0xff, 0xff, 0xff, 0xff};
    align(metadata, SLOT);
    if (metadata->failed || (body && body->failed)) return HD_NOMEM(err);
    for (int i = 0; i < 4; i++) head[CONTINUES + i] = (uint8_t)(metadata->size >> 8 * i);
    HD_TRY(hd_output_write(output, head, sizeof head, err));
    HD_TRY(hd_output_write(output, metadata->data, metadata->size, err));
    return body ? hd_output_write(output, body->data, body->size, err) : HD_OK;
}

/* ---- the schema ---- */

typedef struct ipc_type {
    const char *format;
    uint8_t type, fields; /* of Schema.fbs: which table, and how many fields it has */
    uint8_t values[2];    /* of the fields */
    uint8_t bits;         /* of a value; of an offset, for texts */
} ipc_type;

static const ipc_type types[] = {
    {"l", 2 /* Int: bits, signed */, 2, {64, 1}, 64},
    {"L", 2, 2, {64, 0}, 64},
    {"i", 2, 2, {32, 1}, 32},
    {"g", 3 /* FloatingPoint: DOUBLE */, 1, {2}, 64},
    {"u", 5 /* Utf8 */, 0, {0}, 32},
    {"U", 20 /* LargeUtf8 */, 0, {0}, 64},
    {"b", 6 /* Bool */, 0, {0}, 1},
};

static const ipc_type *type_of(const struct ArrowSchema *schema)
{
    for (size_t i = 0; i < sizeof types / sizeof *types && !schema->dictionary; i++)
        if (strcmp(types[i].format, schema->format) == 0) return &types[i];
    return NULL;
}

static bool is_text(const ipc_type *type)
{
    return type->format[0] == 'u' || type->format[0] == 'U';
}

static void put_field(hd_bytes *out, size_t from, const struct ArrowSchema *schema, const ipc_type *type)
{
    size_t field = put_table(out, from, 6, 0x2f); /* name, nullable, type's kind, type; no dictionary; children */
    patch(out, field + SLOT, schema->flags & ARROW_FLAG_NULLABLE ? 1 : 0, 1);
    patch(out, field + 2 * SLOT, type->type, 1);
    put_text(out, field, schema->name ? schema->name : "");
    size_t values = put_table(out, field + 3 * SLOT, type->fields, (1u << type->fields) - 1);
    for (unsigned i = 0; i < type->fields; i++) patch(out, values + i * SLOT, type->values[i], 1);
    put_vector(out, field + 5 * SLOT, 0);
}

static hd_status write_schema(hd_output *output, const ipc_type **columns, const struct ArrowSchema *schema,
                              hd_error *err)
{
    hd_bytes out = {0};
    size_t header, count = (size_t)schema->n_children;
    for (size_t i = 0; i < count; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (!(columns[i] = type_of(child)))
            return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                                "column '%.80s' has Arrow's type '%.20s', which is not written as a stream",
                                child->name, child->dictionary ? "dictionary" : child->format);
    }
    begin_message(&out, &header, HEADER_SCHEMA);
    size_t list = put_table(&out, header, 2, 3) + SLOT; /* little-endian; fields */
    put_vector(&out, list, count);
    size_t fields = out.size;
    for (size_t i = 0; i < count; i++) hd_bytes_put_le(&out, 0, 4);
    for (size_t i = 0; i < count; i++) put_field(&out, fields + 4 * i, schema->children[i], columns[i]);
    hd_status status = write_message(output, &out, NULL, err);
    hd_bytes_deinit(&out);
    return status;
}

/* ---- batches ---- */

typedef struct ipc_batch {
    hd_bytes nodes, buffers, body; /* of all columns: rows and nulls; places in the body; data */
} ipc_batch;

static void put_buffer(ipc_batch *b, const void *data, size_t size)
{
    hd_bytes_put_le(&b->buffers, b->body.size, 8);
    hd_bytes_put_le(&b->buffers, size, 8);
    if (size) hd_bytes_put(&b->body, data, size);
    align(&b->body, SLOT);
}

static void put_bits(ipc_batch *b, const uint8_t *bits, int64_t first, int64_t count)
{
    hd_bytes own = {0};
    for (int64_t at = first; at < first + count; at += 8) {
        uint8_t byte = 0;
        for (int64_t k = 0; k < 8 && at + k < first + count; k++)
            byte |= (uint8_t)((bits[(at + k) / 8] >> (at + k) % 8 & 1) << k);
        hd_bytes_put_u8(&own, byte);
    }
    put_buffer(b, own.data, own.size);
    b->body.failed |= own.failed;
    hd_bytes_deinit(&own);
}

static void put_column(ipc_batch *b, const ipc_type *type, const struct ArrowArray *array, int64_t first, int64_t count)
{
    const uint8_t *valid = array->null_count ? array->buffers[0] : NULL, *data = array->buffers[1];
    int64_t nulls = 0;
    for (int64_t at = first; valid && at < first + count; at++) nulls += !(valid[at / 8] >> at % 8 & 1);
    hd_bytes_put_le(&b->nodes, (uint64_t)count, 8);
    hd_bytes_put_le(&b->nodes, (uint64_t)nulls, 8);
    if (nulls)
        put_bits(b, valid, first, count);
    else
        put_buffer(b, NULL, 0);
    if (type->bits == 1) {
        put_bits(b, data, first, count);
        return;
    }
    size_t width = type->bits / 8;
    put_buffer(b, data + (size_t)first * width, (size_t)(count + is_text(type)) * width);
    if (!is_text(type)) return;
    const uint8_t *end = data + (size_t)(first + count) * width;
    int64_t size = width == 4 ? *(const int32_t *)(const void *)end : *(const int64_t *)(const void *)end;
    put_buffer(b, array->buffers[2], (size_t)size);
}

static hd_status write_batch(hd_output *output, const ipc_type *const *columns, const struct ArrowArray *batch,
                             hd_error *err)
{
    ipc_batch b = {0};
    hd_bytes out = {0};
    size_t header;
    for (int64_t i = 0; i < batch->n_children; i++)
        put_column(&b, columns[i], batch->children[i], batch->offset + batch->children[i]->offset, batch->length);
    patch(&out, begin_message(&out, &header, HEADER_BATCH), b.body.size, 8);
    size_t fields = put_table(&out, header, 3, 7);
    patch(&out, fields, (uint64_t)batch->length, 8);
    put_vector(&out, fields + SLOT, b.nodes.size / 16);
    hd_bytes_put(&out, b.nodes.data, b.nodes.size);
    put_vector(&out, fields + 2 * SLOT, b.buffers.size / 16);
    hd_bytes_put(&out, b.buffers.data, b.buffers.size);
    bool failed = b.nodes.failed || b.buffers.failed;
    hd_status status = failed ? HD_NOMEM(err) : write_message(output, &out, &b.body, err);
    hd_bytes_deinit(&out);
    hd_bytes_deinit(&b.nodes);
    hd_bytes_deinit(&b.buffers);
    hd_bytes_deinit(&b.body);
    return status;
}

/* ---- the stream ---- */

hd_status arrow_stream_failed(struct ArrowArrayStream *stream, int problem, hd_error *err)
{
    const char *text = stream->get_last_error(stream);
    return hd_error_set(err, problem == ENOMEM ? HD_ERR_MEMORY : HD_ERR_IO, NULL, HD_OFFSET_NONE, "%s",
                        text ? text : strerror(problem));
}

static hd_status write_batches(hd_output *output, const ipc_type *const *columns, struct ArrowArrayStream *stream,
                               hd_error *err)
{
    static const uint8_t end[8] = {0xff, 0xff, 0xff, 0xff};
    for (;;) {
        struct ArrowArray batch = {0};
        int problem = stream->get_next(stream, &batch);
        if (problem) return arrow_stream_failed(stream, problem, err);
        if (!batch.release) return hd_output_write(output, end, sizeof end, err);
        hd_status status = write_batch(output, columns, &batch, err);
        batch.release(&batch);
        HD_TRY(status);
    }
}

static hd_status write_stream(hd_output *output, struct ArrowArrayStream *stream, hd_error *err)
{
    struct ArrowSchema schema;
    int problem = stream->get_schema(stream, &schema);
    if (problem) return arrow_stream_failed(stream, problem, err);
    const ipc_type **columns = calloc((size_t)schema.n_children + 1, sizeof *columns);
    hd_status status = columns ? write_schema(output, columns, &schema, err) : HD_NOMEM(err);
    schema.release(&schema);
    if (status == HD_OK) status = write_batches(output, columns, stream, err);
    free(columns);
    return status;
}

hd_status hd_arrow_write(hd_byte_sink *sink, struct ArrowArrayStream *stream, hd_error *err)
{
    hd_output *output;
    hd_status status = hd_output_create_sink(&output, sink, &(hd_output_options){.compression = HD_OUTPUT_NONE}, err);
    if (status == HD_OK) {
        status = write_stream(output, stream, err);
        if (status == HD_OK)
            status = hd_output_commit(output, err);
        else
            hd_output_abort(output);
    }
    stream->release(stream);
    return status;
}
