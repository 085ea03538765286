/* queries.h - results that routes compute once and store with the scene
 *
 * One per scene (view_scene_queries). Everything is made at first use and lives as long as the scene; answers are kept
 * until newer ones replace them. Any thread.
 */
#ifndef HD_VIEW_QUERIES_QUERIES_H
#define HD_VIEW_QUERIES_QUERIES_H

#include <pthread.h>

#include "base/json/write.h"
#include "model/stacks/event_stacks.h"
#include "view/queries/flows.h"
#include "view/scene/scene.h"
#include "view/search/search.h"

enum { VIEW_KEPT_SEARCHES = 4, VIEW_KEPT_ANSWERS = 64 /* at most, of a kind */ };

/* Answers that take long, and tiles, of which many clients that look at a trace request the same. */
typedef enum view_kept_kind { VIEW_KEPT_LONG, VIEW_KEPT_TILES, VIEW_KEPT_KINDS } view_kept_kind;

/* An answer, and the question as its key. */
typedef struct view_kept_answer {
    char *question; /* NULL: none */
    hd_json_out json;
    uint64_t used; /* when, as queries.clock */
} view_kept_answer;

typedef struct view_kept_search {
    view_search *search; /* NULL: none */
    uint64_t used;
    unsigned users; /* not to be freed now */
} view_kept_search;

struct view_queries {
    pthread_mutex_t lock;       /* of the lists of searches and answers, held shortly */
    pthread_mutex_t lock_flows; /* while flows are made */
    pthread_mutex_t lock_stacks;
    pthread_mutex_t lock_flame, lock_crop, lock_select; /* one at a time: they take memory */
    pthread_mutex_t lock_tables;                        /* while tables become tracks */
    view_flows *flows;
    hd_event_stacks *stacks;
    view_kept_search searches[VIEW_KEPT_SEARCHES];
    view_kept_answer answers[VIEW_KEPT_KINDS][VIEW_KEPT_ANSWERS];
    uint64_t clock;
};

/* The stacks of the trace. Borrowed. Errors: MEMORY. */
hd_status view_queries_stacks(const hd_event_stacks **out, const view_scene *scene, hd_error *err);

/* An answer given before, copied into `json`; false: none. */
bool view_queries_recall(hd_json_out *json, view_queries *queries, view_kept_kind kind, const char *question);
/* Keeps a copy of an answer in place of the least recently used ones. Does nothing without memory. */
void view_queries_keep(view_queries *queries, view_kept_kind kind, const char *question, const hd_json_out *json);

#endif
