/* impl.h - the structs of a trace and a builder; for src/trace only */
#ifndef HD_TRACE_IMPL_H
#define HD_TRACE_IMPL_H

#include "base/memory/vector.h"
#include "heddle/builder.h"
#include "heddle/index.h"
#include "trace/lazy.h"
#include "trace/shapes.h"
#include "trace/spill.h"
#include "trace/strings.h"
#include "trace/tracks.h"
#include "trace/watch.h"

/* The rows of one batch, sealed. Owns the memory of its blocks. */
struct hd_chunk {
    hd_arena arena;
    hd_chunk *next;
    hd_block **blocks; /* of all kinds, each kind's in order */
    size_t block_count, block_capacity;
    uint8_t *order;
    size_t order_count;
    int64_t first_ns; /* head.c: when its events begin; HD_NO_TIME: it may not be dropped */
};

typedef struct hd_table {
    hd_block **blocks;
    size_t count, capacity;
    uint64_t row_count;
} hd_table;

/* lazy.c: a trace of a source. */
typedef struct hd_lazy hd_lazy;

/* stacks/save.c: a tree of stacks that the trace owns. */
typedef struct hd_kept_stacks hd_kept_stacks;

/* head.c: the events before a time. */
typedef struct hd_head {
    uint64_t most;            /* events to keep, 0: all, and no other member is set */
    uint64_t kept, fixed;     /* events of chunks that are kept; of chunks that may not be dropped */
    int64_t start_ns, end_ns; /* of all events so far */
    int64_t until_ns;
} hd_head;

struct hd_trace {
    hd_strings strings;
    hd_tracks tracks;
    hd_shapes shapes;
    hd_table tables[HD_KIND_COUNT];
    hd_chunk *chunks;            /* newest first; owned */
    const hd_chunk **chunk_list; /* in order */
    size_t chunk_count, chunk_capacity;
    hd_metadata *metadata;
    size_t metadata_count, metadata_capacity;
    hd_ledger_row *ledger;
    size_t ledger_count, ledger_capacity;
    hd_source_patch *patches;
    size_t patch_count, patch_capacity;
    hd_trace_facts facts;
    hd_arena arena; /* columns that finish made anew */
    hd_spill spill;
    hd_head head;
    hd_lazy *lazy;             /* NULL: all blocks are in chunks */
    hd_index *index;           /* owned, NULL: none */
    hd_kept_stacks *kept;      /* NULL: none */
    hd_trace_watcher *watcher; /* watch.h */
    void *watcher_user;
    bool failed; /* an allocation failed where no error could be returned */
};

/* A trace under construction. */
struct hd_builder {
    hd_trace trace;
    bool stored; /* hd_builder_set_stored */
};

/* lazy.c: the columns of a block and, unless columns_only, its groups, the kinds of an order run are there afterwards.
 * Any thread. */
void hd_lazy_load_block(const hd_trace *trace, const hd_block *block, bool columns_only);
/* Decodes the block into the room, which it becomes, if it is in no memory and no more should be. false: neither, or it
 * cannot be decoded; load it. */
bool hd_lazy_visit(hd_block_room *room, const hd_trace *trace, const hd_block *block, bool columns_only);
void hd_lazy_free_idle(const hd_trace *trace);
void hd_lazy_load_order(const hd_trace *trace, const hd_chunk *run);
/* hd_trace_shift for its blocks: loaded ones now, others when they are loaded. */
hd_status hd_lazy_shift(hd_trace *trace, int64_t ns, hd_error *err);
void hd_lazy_free(hd_lazy *lazy);
/* hd_builder_finish for a stored trace. */
hd_status hd_lazy_finish(hd_trace **out, hd_builder *builder, hd_error *err);

/* If the string is the text of the tree: makes it on first use. Any thread. */
bool hd_kept_stacks_text(hd_string *out, hd_kept_stacks *kept, uint32_t id);
bool hd_kept_stacks_failed(const hd_kept_stacks *kept); /* its text was requested, and there was no memory */
void hd_kept_stacks_free(hd_kept_stacks *kept);

/* clock.c: starts and extent of a block with loaded columns; the extent alone */
hd_status hd_shift_block(hd_trace *trace, hd_block *block, hd_arena *arena, int64_t ns, hd_error *err);
void hd_shift_extent(hd_block *block, int64_t ns);

/* builder.c: adds a chunk, for which the lists have room. */
void hd_chunk_list(hd_trace *trace, const hd_chunk *chunk);

/* head.c: notes a chunk that will be appended. false: it is late, and to be freed. */
bool hd_head_takes(hd_head *head, hd_chunk *chunk);
/* Drops late chunks until no more than `most` events are kept. Errors: LIMIT: too many may not be dropped. */
hd_status hd_head_shrink(hd_trace *trace, hd_error *err);

/* finish.c */
hd_status hd_pair_begin_end(hd_trace *trace, hd_error *err);
void hd_count_tracks(hd_trace *trace);
void hd_find_span(hd_trace *trace);

#endif
