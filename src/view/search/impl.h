/* impl.h - one thread of a search */
#ifndef HD_VIEW_SEARCH_IMPL_H
#define HD_VIEW_SEARCH_IMPL_H

#include <time.h>

#include "base/clock.h"
#include "view/search/index.h"
#include "view/search/search.h"

/* Match result of a text. Several threads may compute it; they get the same result. */
enum { MEMO_UNKNOWN, MEMO_NO, MEMO_YES, MEMO_HIT /* and an event has that name */ };

enum { SEARCH_MEMO = 1 << 16 };

typedef struct search_worker {
    struct search_run *run;
    view_matcher matcher, values[VIEW_SEARCH_ARGS]; /* of the text, of the values of arguments */
    uint8_t *marks;                                 /* by row of the arguments of a shape, all shapes of the block */
    size_t mark_capacity;
    uint32_t *mark_at; /* by shape: where its marks begin + 1, 0: it has none in this block */
    uint32_t *rows;    /* of the block that are hit: HD_BLOCK_ROWS */
    uint64_t *track_hits;
    uint8_t *number_memo; /* SEARCH_MEMO of them: by value of a narrow column */
    uint32_t buckets[VIEW_BUCKETS];
    hd_status status;
    hd_error error;
} search_worker;

typedef struct search_run {
    view_search *search;
    const hd_trace *trace;
    const view_search_index *index; /* NULL: blocks are walked */
    const atomic_bool *gone;
    int64_t deadline_ns; /* of the monotonic clock */
    atomic_size_t next;
    atomic_bool late;
} search_run;

/* Sets `late` if it is. */
static inline bool search_is_late(search_run *run)
{
    if (hd_now_ns() <= run->deadline_ns) return false;
    atomic_store(&run->late, true);
    return true;
}

static inline uint8_t search_memo(const view_search *search, uint32_t id)
{
    return id < search->strings ? __atomic_load_n(&search->memo[id], __ATOMIC_RELAXED) : (uint8_t)MEMO_NO;
}

/* The track of the scene for a row of a block, HD_NONE: none. */
uint32_t search_track(const view_search *search, const hd_block *block, uint32_t row);

/* The end of an async slice is not an event of its own; events without a time, or outside the requested tracks, do not
 * count. */
static inline bool search_row_counts(const view_search *search, const hd_block *block, uint32_t row)
{
    if (hd_column_at(&block->columns[HD_COL_START], row) == HD_NO_TIME) return false;
    if (search->wanted) {
        uint32_t track = search_track(search, block, row);
        if (track >= search->tracks || !search->wanted[track]) return false;
    }
    if (block->kind != HD_KIND_ASYNC) return true;
    char phase = (char)(hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK);
    return phase != 'e' && phase != 'F';
}

static inline size_t search_bucket(const view_scene *scene, int64_t start_ns)
{
    double scale = VIEW_BUCKETS / (double)view_scene_span(scene);
    double bucket = ((double)start_ns - (double)view_scene_start(scene)) * scale;
    return bucket <= 0 ? 0 : bucket >= VIEW_BUCKETS ? VIEW_BUCKETS - 1 : (size_t)bucket;
}

static inline bool search_has_conditions(const view_search *search)
{
    return search->has_duration || search->arg_count;
}
/* conditions.c: what the text says besides names. Errors: ARGUMENT, with the word; MEMORY. */
hd_status search_read_conditions(view_search *s, hd_error *err);
bool search_meets_conditions(search_worker *w, const hd_block *block, uint32_t row);
/* prepare.c: what is searched. false: no memory. */
bool search_find_tracks(view_search *s, const hd_trace *trace);
bool search_list_blocks(view_search *s, const hd_trace *trace);
/* Ids of strings are below this. */
static inline uint32_t search_string_end(const hd_trace *trace)
{
    uint32_t strings = hd_trace_string_count(trace);
    return strings < UINT32_MAX ? strings + 1 : strings; /* whether id 0 is counted or not */
}

/* names.c: a thread of a search for names on all tracks, which takes numbers from the index of the scene. */
enum { SEARCH_NAMES = 4096 }; /* taken at once */
void search_names(void *worker);

/* Whether the text of an id matches. */
/* A number, HD_ARG_INT or HD_ARG_DECIMAL, as it was written. */
bool search_number_matches(view_matcher *matcher, hd_arg_type type, int64_t bits);
bool search_text_matches(search_worker *w, uint32_t id);

/* prepare.c: room for the hits of a search that needs them. false: no memory. */
bool search_make_hits(view_search *s, const hd_trace *trace);
/* block.c: rows of the block that are hit, ascending, into w->rows; returns how many, UINT32_MAX: no memory. */
uint32_t search_block(search_worker *w, const hd_block *block);
/* args.c: add a mark of every group row of the block's arguments that matches. false: no memory. */
bool search_mark_args(search_worker *w, const hd_block *block);
void search_unmark_args(search_worker *w, const hd_block *block);

#endif
