/* rows_out.c - batches of rows through a pipeline */
#include "format/rows_out.h"

#include "base/error.h"
#include "heddle/trace.h"

typedef struct rows_item {
    hd_batch *batch;
    hd_chunk *chunk;
    hd_status status;
    hd_error error;
} rows_item;

static void make_blocks(void *user, unsigned worker, void *item)
{
    rows_item *rows = item;
    (void)user, (void)worker;
    rows->error = (hd_error){0};
    rows->status = hd_batch_take(&rows->chunk, rows->batch, &rows->error);
    hd_batch_free(rows->batch); /* it is large, and memory is limited */
    rows->batch = NULL;
}

static hd_status append(void *user, void *item, hd_error *err)
{
    hd_rows_out *out = user;
    rows_item *rows = item;
    hd_chunk *chunk = rows->chunk;
    if (rows->status != HD_OK && err) *err = rows->error;
    HD_TRY(rows->status);
    rows->chunk = NULL;
    return hd_builder_append(out->builder, chunk, err);
}

static void item_deinit(void *item)
{
    rows_item *rows = item;
    hd_batch_free(rows->batch);
    hd_chunk_free(rows->chunk);
}

hd_status hd_rows_out_init(hd_rows_out *out, hd_builder *builder, unsigned threads, hd_error *err)
{
    *out = (hd_rows_out){.builder = builder, .threads = hd_pipeline_threads(threads)};
    return hd_batch_new(&out->batch, builder, err);
}

static hd_status give(hd_rows_out *out, hd_error *err)
{
    const hd_pipeline_steps steps = {sizeof(rows_item), make_blocks, append, item_deinit, out};
    hd_batch *empty;
    void *next;
    if (out->threads == 1) return hd_rows_out_flush(out, err);
    /* Making blocks is a quarter of the time: with one more thread, the parser is the bottleneck. */
    if (!out->pipeline) HD_TRY(hd_pipeline_new(&out->pipeline, &steps, 2, err));
    HD_TRY(hd_pipeline_next(&next, out->pipeline, err));
    HD_TRY(hd_batch_new(&empty, out->builder, err));
    ((rows_item *)next)->batch = out->batch;
    out->batch = empty;
    hd_pipeline_give(out->pipeline);
    return HD_OK;
}

hd_status hd_rows_out_add(hd_rows_out *out, const hd_row *row, const int64_t *values, hd_error *err)
{
    HD_TRY(hd_batch_add(out->batch, row, values, err));
    return out->holds || hd_batch_row_count(out->batch) < HD_BLOCK_ROWS ? HD_OK : give(out, err);
}

hd_status hd_rows_out_flush(hd_rows_out *out, hd_error *err)
{
    hd_chunk *chunk;
    if (out->pipeline) HD_TRY(hd_pipeline_drain(out->pipeline, err));
    HD_TRY(hd_batch_take(&chunk, out->batch, err));
    return hd_builder_append(out->builder, chunk, err);
}

void hd_rows_out_deinit(hd_rows_out *out)
{
    hd_pipeline_free(out->pipeline);
    hd_batch_free(out->batch);
    *out = (hd_rows_out){0};
}
