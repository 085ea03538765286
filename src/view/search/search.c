/* search.c - the walk over all blocks, and steps from hit to hit */
#include "view/search/search.h"
#include "base/thread.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "trace/index/lane_index.h"
#include "view/search/impl.h"

enum { SECONDS = 20 };

/* ---- one thread ---- */

static void worker_deinit(search_worker *w)
{
    view_matcher_deinit(&w->matcher);
    for (size_t i = 0; i < VIEW_SEARCH_ARGS; i++) view_matcher_deinit(&w->values[i]);
    free(w->marks);
    free(w->mark_at);
    free(w->rows);
    free(w->track_hits);
    free(w->number_memo);
}

static hd_status worker_init(search_worker *w, search_run *run, hd_error *err)
{
    const view_search *s = run->search;
    w->run = run;
    w->rows = malloc(HD_BLOCK_ROWS * sizeof *w->rows);
    w->mark_at = calloc((size_t)hd_trace_shape_count(run->trace) + 1, sizeof *w->mark_at);
    w->track_hits = calloc((size_t)s->tracks + 1, sizeof *w->track_hits);
    w->number_memo = malloc(SEARCH_MEMO);
    if (!w->rows || !w->mark_at || !w->track_hits || !w->number_memo) return HD_NOMEM(err);
    for (size_t i = 0; i < s->arg_count; i++)
        HD_TRY(view_matcher_init(&w->values[i], s->args[i].value, VIEW_SEARCH_GLOB, s->query.match_case, err));
    return view_matcher_init(&w->matcher, s->names_text, s->names_mode, s->query.match_case, err);
}

/* Hits of a block, by time and track. */
static void count_hits(search_worker *w, view_search_block *out, const hd_block *block, uint32_t count)
{
    const view_search *s = w->run->search;
    out->hits = count;
    out->first_ns = INT64_MAX;
    out->last_ns = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = hd_column_at(&block->columns[HD_COL_START], w->rows[i]);
        uint32_t track = search_track(s, block, w->rows[i]);
        w->buckets[search_bucket(s->scene, start)]++;
        if (start < out->first_ns) out->first_ns = start;
        if (start > out->last_ns) out->last_ns = start;
        if (track < s->tracks) w->track_hits[track]++;
        if (!s->is_by_event) continue;
        uint64_t row = block->first_row + w->rows[i]; /* a byte may have rows of two blocks */
        __atomic_fetch_or(&s->hits.of[block->kind][row / 8], (uint8_t)(1u << row % 8), __ATOMIC_RELAXED);
    }
}

static void search_blocks(void *state)
{
    search_worker *w = state;
    search_run *run = w->run;
    for (size_t at; (at = atomic_fetch_add(&run->next, 1)) < run->search->block_count;) {
        view_search_block *found = &run->search->blocks[at];
        if (run->gone && atomic_load(run->gone)) return;
        if (search_is_late(run)) return;
        const hd_block *block = hd_trace_block_at(run->trace, (hd_kind)found->kind, found->index);
        uint32_t count = search_block(w, block);
        if (count == UINT32_MAX) {
            w->status = HD_NOMEM(&w->error);
            return;
        }
        count_hits(w, found, block, count);
    }
}

/* ---- the search ---- */

static hd_status prepare(view_search *s, const view_search_query *query, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(s->scene);
    s->text = strdup(query->text ? query->text : "");
    s->query = *query;
    s->query.text = s->text;
    s->strings = search_string_end(trace);
    s->tracks = view_scene_track_count(s->scene);
    s->memo = calloc((size_t)s->strings + 1, 1);
    s->track_hits = calloc((size_t)s->tracks + 1, sizeof *s->track_hits);
    bool fine = s->text && s->memo && s->track_hits && search_find_tracks(s, trace) && search_list_blocks(s, trace);
    if (!fine) return HD_NOMEM(err);
    s->memo[HD_STRING_NONE] = MEMO_NO;
    HD_TRY(search_read_conditions(s, err));
    return search_make_hits(s, trace) ? HD_OK : HD_NOMEM(err);
}

static void gather(view_search *s, const search_worker *w)
{
    for (int i = 0; i < VIEW_BUCKETS; i++) s->buckets[i] += w->buckets[i];
    for (uint32_t t = 0; t < s->tracks; t++) s->track_hits[t] += w->track_hits[t];
}

static bool list_names(view_search *s)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < s->strings; id++) count += s->memo[id] == MEMO_HIT;
    s->names = malloc(((size_t)count + 1) * sizeof *s->names);
    if (!s->names) return false;
    for (uint32_t id = 0; id < s->strings; id++) {
        if (s->memo[id] == MEMO_HIT) s->names[s->name_count++] = id;
    }
    return true;
}

static hd_status run_threads(search_run *run, void (*work)(void *), search_worker *workers, unsigned count,
                             hd_error *err)
{
    hd_status status = HD_OK;
    for (unsigned i = 0; i < count && status == HD_OK; i++) status = worker_init(&workers[i], run, err);
    if (status == HD_OK) hd_threads_run(work, workers, sizeof *workers, count);
    for (unsigned i = 0; i < count && status == HD_OK; i++) {
        status = workers[i].status;
        if (status != HD_OK && err) *err = workers[i].error;
    }
    return status;
}

/* The index of the scene, if it answers this. */
static const view_search_index *find_index(view_search *s)
{
    if (s->in != VIEW_IN_NAMES || s->query.track != HD_NONE || search_has_conditions(s)) return NULL;
    const view_search_index *index = view_scene_note(s->scene, VIEW_NOTE_SEARCH);
    for (size_t i = 0; index && i < s->block_count; i++) {
        s->blocks[i].first_ns = index->blocks[i].first_ns; /* of all that count, hits or not */
        s->blocks[i].last_ns = index->blocks[i].last_ns;
    }
    return index;
}

static hd_status search_all(view_search *s, unsigned threads, const atomic_bool *gone, hd_error *err)
{
    search_run run = {.search = s, .trace = view_scene_trace(s->scene), .gone = gone, .index = find_index(s)};
    run.deadline_ns = hd_now_ns() + (int64_t)SECONDS * 1000000000;
    s->threads = threads;
    unsigned count = hd_thread_count(threads, run.index ? run.index->names / SEARCH_NAMES + 1 : s->block_count);
    search_worker *workers = calloc(count, sizeof *workers);
    if (!workers) return HD_NOMEM(err);
    hd_status status = run_threads(&run, run.index ? search_names : search_blocks, workers, count, err);
    for (unsigned i = 0; i < count; i++) {
        if (status == HD_OK) gather(s, &workers[i]);
        worker_deinit(&workers[i]);
    }
    free(workers);
    if (status != HD_OK) return status;
    if (gone && atomic_load(gone)) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
    for (size_t i = 0; i < s->block_count; i++) s->count += s->blocks[i].hits;
    s->more = atomic_load(&run.late);
    return HD_OK;
}

hd_status view_search_new(view_search **out, const view_scene *scene, const view_search_query *query, unsigned threads,
                          const atomic_bool *gone, hd_error *err)
{
    view_search *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HD_NOMEM(err);
    s->scene = scene;
    hd_status status = prepare(s, query, err);
    if (status == HD_OK) status = search_all(s, threads, gone, err);
    if (status == HD_OK && !list_names(s)) status = HD_NOMEM(err);
    if (status == HD_OK)
        *out = s;
    else
        view_search_free(s);
    return status;
}

void view_search_free(view_search *search)
{
    if (!search) return;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) free(search->track_of[kind]);
    free(search->wanted);
    free(search->text);
    free(search->words);
    free(search->names_text);
    free(search->memo);
    free(search->blocks);
    free(search->track_hits);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) hd_large_free(search->hits.of[kind]);
    free(search->names);
    free(search);
}
