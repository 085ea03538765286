/* search.h - events by a text of their names or arguments
 *
 * Searches slices, instants, begins and points of async slices, samples and counters with a time. Each text of the
 * trace is matched once, at first use; then several threads walk the blocks, and test names (and arguments) only until
 * an event is hit. The number and time range of hits is stored per block, so that stepping from hit to hit reads few
 * blocks.
 *
 * Words of the text may be conditions: dur>1ms (>=, <, <=; only slices have a duration), arg:stream=7 (of any event;
 * the value is a glob over its text, and there are up to VIEW_SEARCH_ARGS of these). An event is hit if it meets all
 * of them and the other words, as one text, match.
 *
 * Order of hits: by start, then kind, then row.
 *
 * In: a scene and what to look for. Out: counts and hits. Begin with search.c.
 */
#ifndef HD_VIEW_SEARCH_SEARCH_H
#define HD_VIEW_SEARCH_SEARCH_H

#include "view/scene/scene.h"
#include "view/search/match.h"

enum { VIEW_BUCKETS = 512 };

typedef enum view_search_in { VIEW_IN_NAMES, VIEW_IN_ARGS, VIEW_IN_ALL } view_search_in;

enum { VIEW_SEARCH_ARGS = 4 };
typedef struct view_search_arg {
    uint32_t key; /* a string of the trace */
    const char *value;
} view_search_arg;

typedef struct view_search_query {
    const char *text;
    view_search_mode mode;
    view_search_in in;
    bool match_case;
    uint32_t track; /* of the scene: only events on it, or on those below it; HD_NONE: all */
} view_search_query;

typedef struct view_hit {
    int64_t start_ns;
    hd_kind kind;
    uint32_t row;
} view_hit;

/* Below 0, 0, above 0. */
static inline int view_hit_compare(const view_hit *a, const view_hit *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

typedef struct view_search_block {
    uint8_t kind;
    uint32_t index; /* of the block in its table */
    uint32_t hits;
    int64_t first_ns, last_ns; /* of its hits */
} view_search_block;

/* The result. Immutable once made. */
typedef struct view_search {
    view_search_query query; /* its text belongs to the search */
    char *text;
    /* conditions.c */
    char *words;      /* of the text, cut; args point into it */
    char *names_text; /* the words that are no conditions */
    view_search_mode names_mode;
    view_search_in in;
    bool has_duration;
    int64_t least_ns, most_ns;
    view_search_arg args[VIEW_SEARCH_ARGS];
    size_t arg_count;
    const view_scene *scene;
    uint32_t strings, tracks;
    bool is_by_event; /* names alone do not say which events are hits, but `hits` does */
    view_hits hits;
    uint8_t *memo;                     /* by string id, while searching: impl.h */
    uint8_t *wanted;                   /* by track of the scene: whether its events count; NULL: all do */
    uint32_t *track_of[HD_KIND_COUNT]; /* by track of the trace; NULL: each event says */
    view_search_block *blocks;
    size_t block_count;
    uint64_t count;
    bool more; /* stopped before the end: took too long */
    uint32_t buckets[VIEW_BUCKETS];
    uint64_t *track_hits; /* by track of the scene, `tracks` of them */
    uint32_t *names;      /* ids that matched, ascending, of events that there are */
    uint32_t name_count;
    unsigned threads;
} view_search;

/* threads 0: one per core. Errors: ARGUMENT for the pattern, MEMORY, LIMIT when *gone. */
hd_status view_search_new(view_search **out, const view_scene *scene, const view_search_query *query, unsigned threads,
                          const atomic_bool *gone, hd_error *err);
void view_search_free(view_search *search);

typedef struct view_search_step {
    bool has_next, has_previous;
    view_hit next, previous;
    uint64_t index; /* of `next`: number of hits before it */
} view_search_step;

/* `next` is the first hit after `from` (at or after it unless `behind`), `previous` the last before it. Errors:
 * MEMORY. */
hd_status view_search_step_from(view_search_step *out, const view_search *search, const view_hit *from, bool behind,
                                hd_error *err);

#endif
