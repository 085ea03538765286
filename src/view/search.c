/* search.c - the walk over all blocks, and steps from hit to hit */
#include "view/search.h"

#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "trace/lane_index.h"
#include "view/search_impl.h"

enum { SECONDS = 20 };

static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT, HD_KIND_COUNTER, HD_KIND_ASYNC, HD_KIND_SAMPLE};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static void worker_deinit(search_worker *w)
{
    view_matcher_deinit(&w->matcher);
    free(w->marks);
    free(w->mark_at);
    free(w->rows);
    free(w->track_hits);
}

static hd_status worker_init(search_worker *w, search_run *run, hd_error *err)
{
    const view_search *s = run->search;
    w->run = run;
    w->rows = malloc(HD_BLOCK_ROWS * sizeof *w->rows);
    w->mark_at = calloc((size_t)hd_trace_shape_count(run->trace) + 1, sizeof *w->mark_at);
    w->track_hits = calloc((size_t)s->tracks + 1, sizeof *w->track_hits);
    if (!w->rows || !w->mark_at || !w->track_hits) return HD_NOMEM(err);
    return view_matcher_init(&w->matcher, s->query.text, s->query.mode, s->query.match_case, err);
}

/* Hits of a block, by time and track. */
static void count_hits(search_worker *w, view_search_block *out, const hd_block *block, uint32_t count)
{
    const view_search *s = w->run->search;
    int64_t zero = view_scene_start(s->scene);
    double scale = VIEW_BUCKETS / (double)view_scene_span(s->scene);
    out->hits = count;
    out->first_ns = INT64_MAX;
    out->last_ns = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = hd_column_at(&block->columns[HD_COL_START], w->rows[i]);
        uint32_t track = search_track(s, block, w->rows[i]);
        double bucket = ((double)start - (double)zero) * scale;
        w->buckets[bucket <= 0 ? 0 : bucket >= VIEW_BUCKETS ? VIEW_BUCKETS - 1 : (size_t)bucket]++;
        if (start < out->first_ns) out->first_ns = start;
        if (start > out->last_ns) out->last_ns = start;
        if (track < s->tracks) w->track_hits[track]++;
    }
}

static void search_blocks(void *state)
{
    search_worker *w = state;
    search_run *run = w->run;
    for (size_t at; (at = atomic_fetch_add(&run->next, 1)) < run->search->block_count;) {
        view_search_block *found = &run->search->blocks[at];
        if (run->gone && atomic_load(run->gone)) return;
        if (now_ns() > run->deadline_ns) {
            atomic_store(&run->late, true);
            return;
        }
        const hd_block *block = hd_trace_block_at(run->trace, (hd_kind)found->kind, found->index);
        uint32_t count = search_block(w, block);
        if (count == UINT32_MAX) {
            w->status = HD_NOMEM(&w->error);
            return;
        }
        count_hits(w, found, block, count);
    }
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Whether a track is the one that was asked for, or below it. */
static bool is_below(const view_scene *scene, uint32_t track, uint32_t wanted, uint32_t tracks)
{
    for (uint32_t steps = 0; track < tracks && steps <= tracks; steps++) {
        if (track == wanted) return true;
        track = view_scene_track(scene, track)->parent;
    }
    return false;
}

static bool find_tracks(view_search *s, const hd_trace *trace)
{
    uint32_t sources = hd_trace_track_count(trace);
    for (int k = 0; k < KINDS; k++) {
        hd_kind kind = kinds[k];
        if (kind == HD_KIND_ASYNC || kind == HD_KIND_COUNTER) continue;
        s->track_of[kind] = malloc(((size_t)sources + 1) * sizeof **s->track_of);
        if (!s->track_of[kind]) return false;
        for (uint32_t t = 0; t <= sources; t++)
            s->track_of[kind][t] = view_scene_track_of(s->scene, t < sources ? t : HD_NONE, kind);
    }
    if (s->query.track == HD_NONE) return true;
    s->wanted = calloc((size_t)s->tracks + 1, 1);
    for (uint32_t t = 0; s->wanted && t < s->tracks; t++)
        s->wanted[t] = is_below(s->scene, t, s->query.track, s->tracks);
    return s->wanted != NULL;
}

static bool list_blocks(view_search *s, const hd_trace *trace)
{
    size_t all = 0;
    for (int k = 0; k < KINDS; k++) all += hd_trace_block_count(trace, kinds[k]);
    s->blocks = calloc(all + 1, sizeof *s->blocks);
    if (!s->blocks) return false;
    for (int k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, kinds[k]); i++)
            s->blocks[s->block_count++] = (view_search_block){.kind = (uint8_t)kinds[k], .index = (uint32_t)i};
    }
    return true;
}

static hd_status prepare(view_search *s, const view_search_query *query, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(s->scene);
    s->text = strdup(query->text ? query->text : "");
    s->query = *query;
    s->query.text = s->text;
    s->strings = hd_trace_string_count(trace);
    if (s->strings < UINT32_MAX) s->strings++; /* whether id 0 is counted or not */
    s->tracks = view_scene_track_count(s->scene);
    s->memo = calloc((size_t)s->strings + 1, 1);
    s->track_hits = calloc((size_t)s->tracks + 1, sizeof *s->track_hits);
    bool fine = s->text && s->memo && s->track_hits && find_tracks(s, trace) && list_blocks(s, trace);
    if (!fine) return HD_NOMEM(err);
    s->memo[HD_STRING_NONE] = MEMO_NO;
    return HD_OK;
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
    if (status == HD_OK) lane_run_threads(work, workers, sizeof *workers, count);
    for (unsigned i = 0; i < count && status == HD_OK; i++) {
        status = workers[i].status;
        if (status != HD_OK && err) *err = workers[i].error;
    }
    return status;
}

static hd_status search_all(view_search *s, unsigned threads, const atomic_bool *gone, hd_error *err)
{
    search_run run = {.search = s, .trace = view_scene_trace(s->scene), .gone = gone};
    run.deadline_ns = now_ns() + (int64_t)SECONDS * 1000000000;
    s->threads = threads;
    unsigned count = lane_thread_count(threads, s->block_count);
    search_worker *workers = calloc(count, sizeof *workers);
    if (!workers) return HD_NOMEM(err);
    hd_status status = run_threads(&run, search_blocks, workers, count, err);
    for (unsigned i = 0; i < count; i++) {
        if (status == HD_OK) gather(s, &workers[i]);
        worker_deinit(&workers[i]);
    }
    free(workers);
    if (status != HD_OK) return status;
    if (gone && atomic_load(gone)) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
    for (size_t i = 0; i < s->block_count; i++) s->count += s->blocks[i].hits;
    s->more = atomic_load(&run.late);
    return list_names(s) ? HD_OK : HD_NOMEM(err);
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
    free(search->memo);
    free(search->blocks);
    free(search->track_hits);
    free(search->names);
    free(search);
}
