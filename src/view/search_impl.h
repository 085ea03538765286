/* search_impl.h - one thread of a search; for search*.c only */
#ifndef HD_VIEW_SEARCH_IMPL_H
#define HD_VIEW_SEARCH_IMPL_H

#include "view/search.h"

/* Of a text. Threads may both find out; they find the same. */
enum { MEMO_UNKNOWN, MEMO_NO, MEMO_YES, MEMO_HIT /* and an event has that name */ };

typedef struct search_worker {
    struct search_run *run;
    view_matcher matcher;
    uint8_t *marks; /* by row of the arguments of a shape, all shapes of the block */
    size_t mark_capacity;
    uint32_t *mark_at; /* by shape: where its marks begin + 1, 0: it has none in this block */
    uint32_t *rows;    /* of the block that are hit: HD_BLOCK_ROWS */
    uint64_t *track_hits;
    uint32_t buckets[VIEW_BUCKETS];
    hd_status status;
    hd_error error;
} search_worker;

typedef struct search_run {
    view_search *search;
    const hd_trace *trace;
    const atomic_bool *gone;
    int64_t deadline_ns; /* of the monotonic clock */
    atomic_size_t next;
    atomic_bool late;
} search_run;

static inline uint8_t search_memo(const view_search *search, uint32_t id)
{
    return id < search->strings ? __atomic_load_n(&search->memo[id], __ATOMIC_RELAXED) : (uint8_t)MEMO_NO;
}

/* The track of the scene that a row of a block stands on, HD_NONE: none. */
uint32_t search_track(const view_search *search, const hd_block *block, uint32_t row);

/* Whether the text of an id matches. */
bool search_text_matches(search_worker *w, uint32_t id);

/* search_block.c: rows of the block that are hit, ascending, into w->rows; returns how many, UINT32_MAX: no memory. */
uint32_t search_block(search_worker *w, const hd_block *block);
/* search_args.c: add a mark of every group row of the block's arguments that matches. false: no memory. */
bool search_mark_args(search_worker *w, const hd_block *block);
void search_unmark_args(search_worker *w, const hd_block *block);

#endif
