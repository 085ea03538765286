/* footer.c - FileMetaData, in the order of parquet.thrift's fields */
#include <string.h>

#include "heddle/version.h"
#include "parquet/impl.h"
#include "parquet/thrift.h"

enum { CODEC_ZSTD = 6, CONVERTED_UTF8 = 0, CONVERTED_MICROS = 10, CONVERTED_UINT_64 = 14, OPTIONAL = 1 };

/* ---- schema ---- */

static void put_logical_type(thrift *element, const parquet_column *column)
{
    bool is_text = column->type == PARQUET_BYTE_ARRAY;
    bool is_time = column->is_micros || column->is_nanos;
    if (!is_text && !column->is_unsigned && !is_time) return;
    thrift type = thrift_struct(element, 10);
    thrift what = thrift_struct(&type, is_text ? 1 : is_time ? 8 : 10);
    if (is_time) {
        thrift_bool(&what, 1, true); /* UTC */
        thrift unit = thrift_struct(&what, 2);
        thrift which = thrift_struct(&unit, column->is_micros ? 2 : 3);
        thrift_end(&which);
        thrift_end(&unit);
    } else if (!is_text) {
        thrift_field(&what, 1, THRIFT_I8);
        hd_bytes_put_u8(what.out, 64);
        thrift_bool(&what, 2, false);
    }
    thrift_end(&what);
    thrift_end(&type);
}

static void put_column(hd_bytes *out, const parquet_column *column)
{
    thrift t = thrift_begin(out);
    thrift_i32(&t, 1, column->type);
    thrift_i32(&t, 3, column->is_optional ? OPTIONAL : 0);
    thrift_text(&t, 4, column->name);
    if (column->type == PARQUET_BYTE_ARRAY) thrift_i32(&t, 6, CONVERTED_UTF8);
    if (column->is_micros) thrift_i32(&t, 6, CONVERTED_MICROS);
    if (column->is_unsigned) thrift_i32(&t, 6, CONVERTED_UINT_64);
    put_logical_type(&t, column);
    thrift_end(&t);
}

static void put_schema(thrift *file, const parquet_file *f)
{
    thrift_list(file, 2, THRIFT_STRUCT, f->column_count + 1);
    thrift root = thrift_begin(file->out);
    thrift_text(&root, 4, "schema");
    thrift_i32(&root, 5, (int64_t)f->column_count);
    thrift_end(&root);
    for (size_t i = 0; i < f->column_count; i++) put_column(file->out, &f->columns[i]);
}

/* ---- row groups ---- */

static void put_statistics(thrift *meta, const parquet_chunk *chunk)
{
    thrift t = thrift_struct(meta, 12);
    thrift_i64(&t, 3, (int64_t)chunk->nulls);
    if (chunk->most.is_known) thrift_binary(&t, 5, chunk->most.data, chunk->most.size);
    if (chunk->least.is_known) thrift_binary(&t, 6, chunk->least.data, chunk->least.size);
    if (chunk->most.is_known) thrift_bool(&t, 7, chunk->most.is_exact);
    if (chunk->least.is_known) thrift_bool(&t, 8, chunk->least.is_exact);
    thrift_end(&t);
}

static void put_chunk_meta(thrift *chunk_field, const parquet_chunk *chunk)
{
    hd_bytes *out = chunk_field->out;
    parquet_encoding encodings[3] = {PARQUET_RLE, chunk->encoding, PARQUET_PLAIN};
    thrift t = thrift_struct(chunk_field, 3);
    thrift_i32(&t, 1, chunk->column->type);
    thrift_list(&t, 2, THRIFT_I32, chunk->has_dictionary ? 3 : 2);
    for (int i = 0; i < (chunk->has_dictionary ? 3 : 2); i++) hd_bytes_put_zigzag(out, encodings[i]);
    thrift_list(&t, 3, THRIFT_BINARY, 1);
    thrift_put_binary(out, chunk->column->name, strlen(chunk->column->name));
    thrift_i32(&t, 4, CODEC_ZSTD);
    thrift_i64(&t, 5, (int64_t)chunk->rows);
    thrift_i64(&t, 6, (int64_t)chunk->unpacked_size);
    thrift_i64(&t, 7, (int64_t)chunk->size);
    thrift_i64(&t, 9, (int64_t)(chunk->offset + chunk->dictionary_size));
    if (chunk->has_dictionary) thrift_i64(&t, 11, (int64_t)chunk->offset);
    put_statistics(&t, chunk);
    thrift_end(&t);
}

static void put_chunk(hd_bytes *out, const parquet_chunk *chunk, uint64_t indexes_at, uint64_t places_at)
{
    thrift t = thrift_begin(out);
    thrift_i64(&t, 2, 0);
    put_chunk_meta(&t, chunk);
    thrift_i64(&t, 4, (int64_t)(places_at + chunk->places_offset));
    thrift_i32(&t, 5, (int64_t)chunk->places_size);
    if (chunk->index_size) {
        thrift_i64(&t, 6, (int64_t)(indexes_at + chunk->index_offset));
        thrift_i32(&t, 7, (int64_t)chunk->index_size);
    }
    thrift_end(&t);
}

/* The column by which rows are in order: `ts`, else the first that is. */
static int sorting_column(const parquet_file *f, const parquet_chunk *chunks)
{
    int found = -1;
    for (size_t i = 0; i < f->column_count; i++) {
        if (!chunks[i].is_sorted) continue;
        if (found < 0 || strcmp(f->columns[i].name, "ts") == 0) found = (int)i;
    }
    return found;
}

static void put_group(hd_bytes *out, const parquet_file *f, size_t group, uint64_t indexes_at, uint64_t places_at)
{
    const parquet_chunk *chunks = &f->chunks[group * f->column_count];
    uint64_t size = 0, unpacked = 0;
    int sorted = sorting_column(f, chunks);
    thrift t = thrift_begin(out);
    thrift_list(&t, 1, THRIFT_STRUCT, f->column_count);
    for (size_t i = 0; i < f->column_count; i++) {
        put_chunk(out, &chunks[i], indexes_at, places_at);
        size += chunks[i].size;
        unpacked += chunks[i].unpacked_size;
    }
    thrift_i64(&t, 2, (int64_t)unpacked);
    thrift_i64(&t, 3, (int64_t)chunks[0].rows);
    if (sorted >= 0) {
        thrift_list(&t, 4, THRIFT_STRUCT, 1);
        thrift by = thrift_begin(out);
        thrift_i32(&by, 1, sorted);
        thrift_bool(&by, 2, false);
        thrift_bool(&by, 3, false);
        thrift_end(&by);
    }
    thrift_i64(&t, 5, (int64_t)chunks[0].offset);
    thrift_i64(&t, 6, (int64_t)size);
    if (group <= INT16_MAX) thrift_int(&t, 7, THRIFT_I16, (int64_t)group);
    thrift_end(&t);
}

/* ---- the file ---- */

static void put_keys(thrift *file, const hd_parquet_options *options)
{
    if (!options->key_count) return;
    thrift_list(file, 5, THRIFT_STRUCT, options->key_count);
    for (size_t i = 0; i < options->key_count; i++) {
        thrift t = thrift_begin(file->out);
        thrift_text(&t, 1, options->keys[i]);
        thrift_text(&t, 2, options->values[i]);
        thrift_end(&t);
    }
}

void parquet_put_footer(hd_bytes *out, const parquet_file *file, uint64_t indexes_at, const hd_parquet_options *options)
{
    size_t groups = file->column_count ? file->chunk_count / file->column_count : 0;
    thrift t = thrift_begin(out);
    thrift_i32(&t, 1, 2);
    put_schema(&t, file);
    thrift_i64(&t, 3, (int64_t)file->rows);
    thrift_list(&t, 4, THRIFT_STRUCT, groups);
    for (size_t i = 0; i < groups; i++) put_group(out, file, i, indexes_at, indexes_at + file->indexes.size);
    put_keys(&t, options);
    char text[64] = "heddle version ";
    strncat(text, hd_version(), sizeof text - strlen(text) - 1);
    thrift_text(&t, 6, text);
    thrift_list(&t, 7, THRIFT_STRUCT, file->column_count);
    for (size_t i = 0; i < file->column_count; i++) { /* TypeDefinedOrder, for the statistics of each */
        thrift order = thrift_begin(out);
        thrift type = thrift_struct(&order, 1);
        thrift_end(&type);
        thrift_end(&order);
    }
    thrift_end(&t);
}
