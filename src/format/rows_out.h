/* rows_out.h - for readers that parse on one thread: other threads make blocks of their rows
 *
 *     hd_rows_out_add ──> batches of rows ──> blocks, on any thread ──> appended to the trace, in order
 *
 * Threads are started with the first block: a small file needs none.
 */
#ifndef HD_FORMAT_ROWS_OUT_H
#define HD_FORMAT_ROWS_OUT_H

#include "base/pipeline.h"
#include "heddle/builder.h"

typedef struct hd_rows_out {
    hd_batch *batch; /* that is filled */
    hd_builder *builder;
    hd_pipeline *pipeline;
    unsigned threads;
    bool holds; /* rows are held until they are flushed, or dropped */
} hd_rows_out;

/* threads: of hd_read_options. Deinit either way. Errors of all: MEMORY, IO, LIMIT as of hd_builder_append. */
hd_status hd_rows_out_init(hd_rows_out *out, hd_builder *builder, unsigned threads, hd_error *err);
/* As hd_batch_add. */
hd_status hd_rows_out_add(hd_rows_out *out, const hd_row *row, const int64_t *values, hd_error *err);
/* Appends all rows there are. */
hd_status hd_rows_out_flush(hd_rows_out *out, hd_error *err);
void hd_rows_out_deinit(hd_rows_out *out);

#endif
