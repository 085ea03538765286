/* chunk.h - chunks built from whole columns, for passes, which turn blocks into blocks */
#ifndef HD_TRACE_CHUNK_H
#define HD_TRACE_CHUNK_H

#include "base/memory/arena.h"
#include "heddle/builder.h"

/* An empty chunk; pass it to hd_builder_append or hd_chunk_free. */
hd_status hd_chunk_new(hd_chunk **out, hd_error *err);
/* The arena for columns, groups and values of the chunk's blocks. */
hd_arena *hd_chunk_arena(hd_chunk *chunk);
/* Adds the next block of its kind; columns and groups must be in the chunk's arena. row_count > 0. */
hd_status hd_chunk_add_block(hd_chunk *chunk, const hd_block *block, hd_error *err);
/* Room for `count` more kinds of the events' order, which the caller must fill; NULL: no memory. */
uint8_t *hd_chunk_order_room(hd_chunk *chunk, size_t count);
void hd_chunk_order_add(hd_chunk *chunk, size_t count);
size_t hd_chunk_order_count(const hd_chunk *chunk);

/* A copy of a text that lives as long as the trace: for ledger rows of another trace. NULL: no memory. */
const char *hd_builder_keep_text(hd_builder *builder, const char *text);

/* Replaces the track of each row of a block: values[0 … row_count). Before hd_builder_finish. */
hd_status hd_builder_retrack(hd_builder *builder, hd_kind kind, size_t block, const int64_t *tracks, hd_error *err);

/* Adds a row to the ledger of a finished trace. `stage` and `code` are static. */
hd_status hd_trace_add_ledger(hd_trace *trace, const char *stage, const char *code, hd_ledger_level level,
                              uint64_t count, hd_error *err);

/* Gives the builder as much memory as `count` such traces may use. Before the first append. */
void hd_builder_limit_as(hd_builder *builder, const hd_trace *other, size_t count);

#endif
