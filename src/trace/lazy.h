/* lazy.h - blocks outside of memory: in a store, until first use; in a temporary file, when memory is short
 *
 * A format with blocks in a file gives the builder their sizes and spans, and a source that loads the columns of a
 * block on first use. The trace looks the same from outside.
 */
#ifndef HD_TRACE_LAZY_H
#define HD_TRACE_LAZY_H

#include "base/memory/arena.h"
#include "heddle/builder.h"

/* Called from any thread, several at once. `place` is the format's own value. */
typedef struct hd_block_source {
    void *user;
    /* Fills columns and groups of the block, or all columns except HD_COL_ARGS_ROW and no groups; memory from the
     * arena. HD_COL_CORRELATION is filled from the groups. */
    hd_status (*load_block)(void *user, hd_block *block, hd_arena *arena, uint64_t place, bool columns_only,
                            hd_error *err);
    /* Fill out[0 … count) with kinds. */
    hd_status (*load_order)(void *user, uint8_t *out, size_t count, uint64_t place, hd_error *err);
    void (*free_idle)(void *user); /* a walk has ended: scratch memory that no call uses can be freed; may be NULL */
    void (*close)(void *user);     /* when the trace is freed */
} hd_block_source;

/* The builder takes the source; once, before the blocks are added. */
void hd_builder_set_source(hd_builder *builder, const hd_block_source *source);

/* The next block of its kind; start_ns and end_ns may be HD_NO_TIME. */
hd_status hd_builder_add_block(hd_builder *builder, hd_kind kind, uint32_t row_count, int64_t start_ns, int64_t end_ns,
                               uint64_t place, hd_error *err);
/* Adds the next run of the events' order, with its number of events per kind. If all runs together disagree with the
 * blocks, the order is adjusted: events that no block has are left out, events that no run has come last.
 */
hd_status hd_builder_add_order(hd_builder *builder, const uint32_t counts[HD_KIND_COUNT], uint64_t place,
                               hd_error *err);

/* Loads everything now, with this many threads (0: one per core). Blocks that cannot be loaded are removed; events of
 * an order run that cannot be loaded stay, kind by kind. `lost` is called for each of them, for order runs with
 * HD_KIND_COUNT and 0 rows; *out_lost is their number. If it is not 0, call hd_builder_finish next: pairs and counts
 * must be recomputed.
 */
typedef void hd_block_lost(void *user, hd_kind kind, uint32_t row_count, uint64_t place, const hd_error *why);
hd_status hd_builder_load_all(hd_builder *builder, unsigned threads, hd_block_lost *lost, void *user,
                              uint64_t *out_lost, hd_error *err);

/* Sets all data of a track except id, pid and tid, which hd_builder_track set: the data computed when the trace was
 * first read, and stored. The caller has checked that parent and same_as are tracks. facts.start_ns and end_ns are set
 * in the facts. */
void hd_builder_set_track(hd_builder *builder, uint32_t track, const hd_track *stored);
/* Memory ran out where no error can be returned: finish will return it. */
void hd_builder_fail(hd_builder *builder);
/* Whether hd_builder_fail was called, or memory ran out in the builder itself. */
bool hd_builder_failed(const hd_builder *builder);
/* hd_builder_finish pairs and counts nothing: all data was set, including the blocks' partners. A block that cannot be
 * loaded later has rows without time, track, name or arguments; hd_trace_unloaded (trace.h) counts them. */
void hd_builder_set_stored(hd_builder *builder);

/* Bytes that reading may take: events take half of them; further events go to a temporary file in $TMPDIR or /var/tmp,
 * which is mapped. 0: a quarter of the machine's memory (or of the control group's). Before the first append. */
void hd_builder_limit_memory(hd_builder *builder, uint64_t bytes);
/* Keep only the first seconds: so many that at most `most` events remain, and a few later ones. Chunks alone are
 * limited, not blocks of a source. Before the first append. */
void hd_builder_limit_events(hd_builder *builder, uint64_t most);
/* Until when the first seconds of the trace, of at most `most` events, last: where a crop leaves out what the builder
 * did not drop. END: all of it fits; LIMIT: no time is early enough. */
hd_status hd_trace_head(int64_t *out_until_ns, const hd_trace *trace, uint64_t most, hd_error *err);
/* As hd_trace_block_at and hd_trace_block_of, for callers that read neither HD_COL_ARGS_ROW, HD_COL_CORRELATION nor
 * groups: the arguments of a store's block are not decoded until the whole block is requested. Do not pass the block to
 * hd_block_event(). */
const hd_block *hd_trace_columns_at(const hd_trace *trace, hd_kind kind, size_t index);
const hd_block *hd_trace_columns_of(uint32_t *out_row, const hd_trace *trace, hd_kind kind, uint64_t row);
/* A value of a slice. */
static inline int64_t hd_slice_column(const hd_trace *trace, uint64_t row, unsigned column)
{
    uint32_t at;
    const hd_block *block = hd_trace_columns_of(&at, trace, HD_KIND_SLICE, row);
    return hd_column_at(&block->columns[column], at);
}
/* The same without loading: only row_count, first_row, start_ns and end_ns are certainly set. */
const hd_block *hd_trace_extent_at(const hd_trace *trace, hd_kind kind, size_t index);
/* Room for one block of a walk over a trace. A zeroed one is empty. One thread. */
typedef struct hd_block_room {
    hd_block block;
    hd_arena arena;
    const hd_block *of; /* the trace's block that was visited last; NULL: none */
    bool is_here;       /* it was decoded into `block` */
    bool columns_only;  /* and without its groups */
    bool out_of_order;  /* blocks were visited backwards: further ones are kept */
} hd_block_room;

/* As hd_trace_block_at, hd_trace_columns_at and hd_trace_block_of, for callers that visit blocks in order: the block is
 * valid until the next call with this room. When the memory limit is reached, and unless hd_trace_keep_visited was
 * called, blocks of a store are decoded into the room and not kept, and blocks of a temporary file are released after
 * the visit, so that the memory of a walk does not grow with the trace. hd_walk_end frees the room, which may then
 * be used again. */
const hd_block *hd_walk_block(hd_block_room *room, const hd_trace *trace, hd_kind kind, size_t index);
const hd_block *hd_walk_columns(hd_block_room *room, const hd_trace *trace, hd_kind kind, size_t index);
const hd_block *hd_walk_row(uint32_t *out_row, hd_block_room *room, const hd_trace *trace, hd_kind kind, uint64_t row);
void hd_walk_end(hd_block_room *room, const hd_trace *trace);

/* Walks keep the blocks that they visit, as other code does: for a trace that is read again and again, as by a viewer.
 * Before the first walk. */
void hd_trace_keep_visited(hd_trace *trace);

/* A hint that a block will not be used soon: if it is in a temporary file its memory is released. Any thread; const,
 * since the trace does not change. */
void hd_trace_release(const hd_trace *trace, const hd_block *block);

#endif
