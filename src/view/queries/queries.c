/* queries.c - results that routes compute once and store with the scene */
#include "view/queries/queries.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"

/* How many are kept; bytes of an answer, longer ones are worked out anew; of all. */
static const struct {
    int count;
    size_t bytes, all_bytes;
} limits[VIEW_KEPT_KINDS] = {
    [VIEW_KEPT_LONG] = {16, 16 << 20, 64 << 20},
    [VIEW_KEPT_TILES] = {VIEW_KEPT_ANSWERS, 2 << 20, 16 << 20},
};

view_queries *view_queries_new(void)
{
    view_queries *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    pthread_mutex_init(&q->lock, NULL);
    pthread_mutex_init(&q->lock_flows, NULL);
    pthread_mutex_init(&q->lock_stacks, NULL);
    pthread_mutex_init(&q->lock_flame, NULL);
    pthread_mutex_init(&q->lock_crop, NULL);
    pthread_mutex_init(&q->lock_select, NULL);
    pthread_mutex_init(&q->lock_tables, NULL);
    return q;
}

static void forget(view_kept_answer *kept)
{
    free(kept->question);
    free(kept->json.data);
    *kept = (view_kept_answer){0};
}

void view_queries_free(view_queries *queries)
{
    if (!queries) return;
    for (int i = 0; i < VIEW_KEPT_SEARCHES; i++) view_search_free(queries->searches[i].search);
    for (int kind = 0; kind < VIEW_KEPT_KINDS; kind++)
        for (int i = 0; i < VIEW_KEPT_ANSWERS; i++) forget(&queries->answers[kind][i]);
    view_flows_free(queries->flows);
    hd_event_stacks_free(queries->stacks);
    pthread_mutex_destroy(&queries->lock);
    pthread_mutex_destroy(&queries->lock_flows);
    pthread_mutex_destroy(&queries->lock_stacks);
    pthread_mutex_destroy(&queries->lock_flame);
    pthread_mutex_destroy(&queries->lock_crop);
    pthread_mutex_destroy(&queries->lock_select);
    pthread_mutex_destroy(&queries->lock_tables);
    free(queries);
}

hd_status view_queries_stacks(const hd_event_stacks **out, const view_scene *scene, hd_error *err)
{
    view_queries *q = view_scene_queries(scene);
    hd_status status = HD_OK;
    pthread_mutex_lock(&q->lock_stacks);
    if (!q->stacks) status = hd_event_stacks_new(&q->stacks, view_scene_trace(scene), err);
    *out = q->stacks;
    pthread_mutex_unlock(&q->lock_stacks);
    return status;
}

bool view_queries_recall(hd_json_out *json, view_queries *queries, view_kept_kind kind, const char *question)
{
    bool found = false;
    pthread_mutex_lock(&queries->lock);
    for (int i = 0; i < limits[kind].count && !found; i++) {
        view_kept_answer *kept = &queries->answers[kind][i];
        if (!kept->question || strcmp(kept->question, question) != 0) continue;
        hd_json_put(json, kept->json.data, kept->json.size);
        kept->used = ++queries->clock;
        found = true;
    }
    pthread_mutex_unlock(&queries->lock);
    return found;
}

static size_t kept_bytes(const view_queries *queries, view_kept_kind kind)
{
    size_t sum = 0;
    for (int i = 0; i < limits[kind].count; i++) sum += queries->answers[kind][i].json.size;
    return sum;
}

/* A place without an answer, where there is one, else that of the least recently used one. */
static view_kept_answer *empty_place(view_queries *queries, view_kept_kind kind, bool must_forget)
{
    view_kept_answer *oldest = NULL;
    for (int i = 0; i < limits[kind].count; i++) {
        view_kept_answer *kept = &queries->answers[kind][i];
        if (!kept->question && !must_forget) return kept;
        if (kept->question && (!oldest || kept->used < oldest->used)) oldest = kept;
    }
    forget(oldest);
    return oldest;
}

void view_queries_keep(view_queries *queries, view_kept_kind kind, const char *question, const hd_json_out *json)
{
    view_kept_answer made = {.question = strdup(question)};
    if (json->failed || json->size > limits[kind].bytes) {
        free(made.question);
        return;
    }
    hd_json_put(&made.json, json->data, json->size);
    if (!made.question || made.json.failed) {
        forget(&made);
        return;
    }
    pthread_mutex_lock(&queries->lock);
    view_kept_answer *place = empty_place(queries, kind, false);
    while (kept_bytes(queries, kind) + made.json.size > limits[kind].all_bytes)
        place = empty_place(queries, kind, true);
    made.used = ++queries->clock;
    *place = made;
    pthread_mutex_unlock(&queries->lock);
}
