/* write.c - a stream of record batches as a Parquet file
 *
 * Batches are gathered into row groups; threads make the column chunks of a group (chunk.c), which are written in
 * order. Only a chunk's footer data stays in memory, not its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/failed.h"
#include "base/error.h"
#include "base/memory/vector.h"
#include "base/options.h"
#include "base/pipeline.h"
#include "parquet/impl.h"
#include "parquet/thrift.h"
#include "parquet/write.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

typedef struct parquet_writer {
    parquet_file file;
    hd_output *output;
    struct ArrowArrayStream *stream;
    const hd_parquet_options *options;
    hd_pipeline *pipeline;
    parquet_worker *workers;
    unsigned worker_count;
    parquet_group *groups; /* groups whose chunks are not written yet, newest first */
} parquet_writer;

typedef struct chunk_job {
    const parquet_column *column;
    size_t place;
    parquet_group *group;
    parquet_made made;
    hd_status status;
    hd_error err;
} chunk_job;

/* ---- the stream ---- */

static hd_status unsupported(const char *name, const char *format, hd_error *err)
{
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE,
                        "column '%.80s' has Arrow's type '%.20s', which is not written as Parquet", name, format);
}

static hd_status init_column(parquet_column *out, const struct ArrowSchema *schema, hd_error *err)
{
    const char *format = schema->format, *text = schema->dictionary ? schema->dictionary->format : format;
    *out = (parquet_column){.is_optional = schema->flags & ARROW_FLAG_NULLABLE};
    out->is_nanos = strcmp(format, "tsn:UTC") == 0;
    out->is_micros = strcmp(format, "tsu:UTC") == 0;
    out->is_unsigned = strcmp(format, "L") == 0;
    out->is_dictionary = schema->dictionary != NULL;
    out->is_large = strcmp(text, "U") == 0;
    if (strcmp(text, "u") == 0 || out->is_large)
        out->type = PARQUET_BYTE_ARRAY;
    else if (strcmp(format, "l") == 0 || out->is_unsigned || out->is_nanos || out->is_micros)
        out->type = PARQUET_INT64;
    else if (strcmp(format, "i") == 0)
        out->type = PARQUET_INT32;
    else if (strcmp(format, "g") == 0)
        out->type = PARQUET_DOUBLE;
    else if (strcmp(format, "b") == 0)
        out->type = PARQUET_BOOLEAN;
    else
        return unsupported(schema->name, format, err);
    if (out->is_dictionary && (out->type != PARQUET_BYTE_ARRAY || strcmp(format, "i") != 0))
        return unsupported(schema->name, "dictionary", err);
    out->name = strdup(schema->name ? schema->name : "");
    return out->name ? HD_OK : HD_NOMEM(err);
}

static hd_status init_columns(parquet_writer *w, hd_error *err)
{
    struct ArrowSchema schema;
    int problem = w->stream->get_schema(w->stream, &schema);
    if (problem) return arrow_stream_failed(w->stream, problem, err);
    hd_status status = HD_OK;
    if (strcmp(schema.format, "+s") != 0) status = unsupported("", schema.format, err);
    w->file.columns = calloc((size_t)schema.n_children + 1, sizeof *w->file.columns);
    if (!w->file.columns) status = HD_NOMEM(err);
    for (int64_t i = 0; i < schema.n_children && status == HD_OK; i++)
        status = init_column(&w->file.columns[w->file.column_count++], schema.children[i], err);
    schema.release(&schema);
    return status;
}

/* ---- chunks ---- */

static void make_chunk(void *user, unsigned worker, void *item)
{
    parquet_writer *w = user;
    chunk_job *job = item;
    parquet_worker *own = &w->workers[worker];
    int level = w->options->level ? w->options->level : 3;
    job->err = (hd_error){0};
    job->status = own->compressor ? HD_OK : hd_compressor_new(&own->compressor, level, &job->err);
    if (job->status == HD_OK)
        job->status = parquet_make_chunk(&job->made, own, job->column, job->place, job->group, &job->err);
}

static void free_group(parquet_group *group)
{
    for (size_t i = 0; i < group->batch_count; i++) group->batches[i].release(&group->batches[i]);
    free(group->batches);
    free(group);
}

static void end_group(parquet_writer *w, parquet_group *group)
{
    parquet_group **at = &w->groups;
    while (*at != group) at = &(*at)->next;
    *at = group->next;
    free_group(group);
}

static void deinit_job(void *item)
{
    chunk_job *job = item;
    parquet_made_deinit(&job->made);
}

/* Where the pages lie, as the offset index has it. */
static void put_places(hd_bytes *out, const parquet_made *made, uint64_t at)
{
    thrift t = thrift_begin(out);
    thrift_list(&t, 1, THRIFT_STRUCT, made->page_count);
    for (size_t i = 0; i < made->page_count; i++) {
        thrift page = thrift_begin(out);
        thrift_i64(&page, 1, (int64_t)(at + made->pages[i].offset));
        thrift_i32(&page, 2, (int64_t)made->pages[i].size);
        thrift_i64(&page, 3, (int64_t)made->pages[i].first_row);
        thrift_end(&page);
    }
    thrift_end(&t);
}

static hd_status write_chunk(parquet_writer *w, const parquet_made *made, hd_error *err)
{
    parquet_file *f = &w->file;
    if (!hd_grow((void **)&f->chunks, &f->chunk_room, f->chunk_count, sizeof *f->chunks)) return HD_NOMEM(err);
    parquet_chunk *chunk = &f->chunks[f->chunk_count++];
    *chunk = made->chunk;
    chunk->offset = hd_output_position(w->output);
    chunk->index_offset = f->indexes.size;
    chunk->index_size = made->index.size;
    chunk->places_offset = f->places.size;
    hd_bytes_put(&f->indexes, made->index.data, made->index.size);
    put_places(&f->places, made, chunk->offset);
    chunk->places_size = f->places.size - chunk->places_offset;
    if (f->indexes.failed || f->places.failed) return HD_NOMEM(err);
    return hd_output_write(w->output, made->bytes.data, made->bytes.size, err);
}

static hd_status take_chunk(void *user, void *item, hd_error *err)
{
    chunk_job *job = item;
    hd_status status = job->status;
    if (status == HD_OK)
        status = write_chunk(user, &job->made, err);
    else if (err)
        *err = job->err;
    if (status == HD_OK && --job->group->chunks_left == 0) end_group(user, job->group);
    return status;
}

/* ---- row groups ---- */

static hd_status give_group(parquet_writer *w, parquet_group *group, hd_error *err)
{
    void *item;
    group->chunks_left = w->file.column_count;
    w->file.rows += group->rows;
    for (size_t i = 0; i < w->file.column_count; i++) {
        HD_TRY(hd_pipeline_next(&item, w->pipeline, err));
        chunk_job *job = item;
        job->column = &w->file.columns[i];
        job->place = i;
        job->group = group;
        hd_pipeline_give(w->pipeline);
    }
    return HD_OK;
}

static hd_status take_batch(bool *out_end, parquet_writer *w, parquet_group *group, hd_error *err)
{
    struct ArrowArray batch = {0};
    int problem = w->stream->get_next(w->stream, &batch);
    if (problem) return arrow_stream_failed(w->stream, problem, err);
    *out_end = !batch.release;
    if (*out_end) return HD_OK;
    if (batch.length == 0 || w->file.column_count == 0) {
        w->file.rows += w->file.column_count ? 0 : (uint64_t)batch.length;
        batch.release(&batch);
        return HD_OK;
    }
    if (!hd_grow((void **)&group->batches, &group->batch_room, group->batch_count, sizeof batch)) {
        batch.release(&batch);
        return HD_NOMEM(err);
    }
    group->batches[group->batch_count++] = batch;
    group->rows += (uint64_t)batch.length;
    return HD_OK;
}

static hd_status write_groups(parquet_writer *w, hd_error *err)
{
    for (bool end = false; !end;) {
        parquet_group *group = calloc(1, sizeof *group);
        if (!group) return HD_NOMEM(err);
        group->next = w->groups;
        w->groups = group;
        while (!end && group->rows < PARQUET_GROUP_ROWS) HD_TRY(take_batch(&end, w, group, err));
        if (group->rows > 0)
            HD_TRY(give_group(w, group, err));
        else
            end_group(w, group);
    }
    return hd_pipeline_drain(w->pipeline, err);
}

/* ---- the file ---- */

static hd_status write_end(parquet_writer *w, hd_error *err)
{
    hd_bytes footer = {0};
    uint64_t indexes_at = hd_output_position(w->output);
    HD_TRY(hd_output_write(w->output, w->file.indexes.data, w->file.indexes.size, err));
    HD_TRY(hd_output_write(w->output, w->file.places.data, w->file.places.size, err));
    parquet_put_footer(&footer, &w->file, indexes_at, w->options);
    hd_bytes_put_le(&footer, footer.size, 4);
    hd_bytes_put(&footer, magic, sizeof magic);
    hd_status status = footer.failed ? HD_NOMEM(err) : HD_OK;
    if (status == HD_OK && footer.size > INT32_MAX)
        status = hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "a footer of 2 GiB");
    if (status == HD_OK) status = hd_output_write(w->output, footer.data, footer.size, err);
    hd_bytes_deinit(&footer);
    return status;
}

static void deinit_writer(parquet_writer *w)
{
    hd_pipeline_free(w->pipeline); /* its threads may still use groups */
    while (w->groups) end_group(w, w->groups);
    for (unsigned i = 0; w->workers && i < w->worker_count; i++) parquet_worker_deinit(&w->workers[i]);
    free(w->workers);
    for (size_t i = 0; i < w->file.column_count; i++) free(w->file.columns[i].name);
    free(w->file.columns);
    free(w->file.chunks);
    hd_bytes_deinit(&w->file.indexes);
    hd_bytes_deinit(&w->file.places);
}

static hd_status write_file(parquet_writer *w, hd_error *err)
{
    hd_pipeline_steps steps = {
        .item_size = sizeof(chunk_job), .work = make_chunk, .take = take_chunk, .deinit = deinit_job, .user = w};
    w->worker_count = hd_pipeline_threads(w->options->threads);
    w->workers = calloc(w->worker_count, sizeof *w->workers);
    if (!w->workers) return HD_NOMEM(err);
    HD_TRY(init_columns(w, err));
    HD_TRY(hd_pipeline_new(&w->pipeline, &steps, w->worker_count, err));
    HD_TRY(hd_output_write(w->output, magic, sizeof magic, err));
    HD_TRY(write_groups(w, err));
    return write_end(w, err);
}

hd_status parquet_write(uint64_t *out_rows, hd_output *output, struct ArrowArrayStream *stream,
                        const hd_parquet_options *options, hd_error *err)
{
    parquet_writer w = {.output = output, .stream = stream, .options = options};
    hd_status status = write_file(&w, err);
    *out_rows = w.file.rows;
    deinit_writer(&w);
    stream->release(stream);
    return status;
}

static hd_status write_sink(hd_byte_sink *sink, struct ArrowArrayStream *stream, const hd_parquet_options *options,
                            hd_error *err)
{
    hd_output *output;
    uint64_t rows;
    hd_status status = hd_output_create_sink(&output, sink, &(hd_output_options){.compression = HD_OUTPUT_NONE}, err);
    if (status != HD_OK) {
        stream->release(stream);
        return status;
    }
    status = parquet_write(&rows, output, stream, options, err);
    if (status == HD_OK) return hd_output_commit(output, err);
    hd_output_abort(output);
    return status;
}

hd_status hd_parquet_write(hd_byte_sink *sink, struct ArrowArrayStream *stream, const hd_parquet_options *options,
                           hd_error *err)
{
    hd_parquet_options own;
    hd_status status = hd_options_copy(&own, sizeof own, sizeof own, options, err);
    if (status == HD_OK) return write_sink(sink, stream, &own, err);
    stream->release(stream);
    return status;
}
