/* select.c - events of a range, by name: parts of tracks are distributed to threads, each with sums of its own */
#include "view/select/select.h"
#include "base/thread.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "trace/index/lane_index.h"
#include "view/select/impl.h"

enum { PIECE_EVENTS = 1 << 18, MOST_PIECES = 64, LOOK_UP = 4095 };

/* ---- sums ---- */

/* The sum of a name; HD_NONE: no memory. */
uint32_t select_slot(select_worker *w, uint32_t name)
{
    if (name >= w->selector->names) name = 0;
    if (w->slot_of[name]) return w->slot_of[name] - 1;
    if (!hd_grow((void **)&w->sums, &w->sum_capacity, w->sum_count, sizeof *w->sums)) return HD_NONE;
    w->sums[w->sum_count] = (select_sum){.name = name, .min = INT64_MAX, .max = -1};
    w->slot_of[name] = (uint32_t)++w->sum_count;
    return w->slot_of[name] - 1;
}

static bool keep_duration(select_worker *w, uint32_t slot, int64_t duration)
{
    select_chunk *chunk = w->chunks;
    if (!chunk || chunk->count == SELECT_CHUNK) {
        chunk = malloc(sizeof *chunk);
        if (!chunk) return false;
        chunk->next = w->chunks;
        chunk->count = 0;
        w->chunks = chunk;
    }
    chunk->entries[chunk->count].slot = slot;
    chunk->entries[chunk->count++].duration = duration < SELECT_LONG ? (uint32_t)duration : SELECT_LONG;
    if (duration < SELECT_LONG) return true;
    if (!hd_grow((void **)&w->longs, &w->long_capacity, w->long_count, sizeof *w->longs)) return false;
    w->longs[w->long_count++] = (select_long){slot, duration};
    return true;
}

bool select_count(select_worker *w, uint32_t slot, const view_slice *slice, uint32_t track)
{
    select_sum *sum = &w->sums[slot];
    int64_t duration = view_length(slice->start_ns, slice->end_ns);
    int64_t from = slice->start_ns > w->selector->from ? slice->start_ns : w->selector->from;
    int64_t until = slice->end_ns < w->selector->until ? slice->end_ns : w->selector->until;
    sum->count++;
    sum->whole += (double)duration;
    if (until > from) select_add_time(&sum->total, view_length(from, until));
    if (duration < sum->min) sum->min = duration;
    if (duration > sum->max) {
        sum->max = duration;
        sum->longest_row = slice->row;
        sum->longest_track = track;
    }
    w->events++;
    w->cut += slice->start_ns < w->selector->from || slice->end_ns > w->selector->until;
    return keep_duration(w, slot, duration);
}

/* ---- the sweep of a piece ---- */

/* Assigns the time from `now` until `until` to the open slices; removes ended ones from the top. */
static void advance(select_worker *w, int64_t now, int64_t until)
{
    while (w->open_count) {
        select_open *top = &w->open[w->open_count - 1];
        int64_t stop = top->end < until ? top->end : until;
        if (stop > now) {
            select_add_time(&w->sums[top->slot].self, view_length(now, stop));
            now = stop;
        }
        if (top->end > until) return;
        w->open_count--;
    }
}

static bool take_slice(select_worker *w, const select_piece *piece, const view_slice *slice)
{
    uint32_t slot = select_slot(w, slice->name);
    if (slot == HD_NONE) return false;
    bool counts = slice->start_ns >= piece->from || (piece->is_first && slice->end_ns > piece->from);
    if (counts && !select_count(w, slot, slice, piece->track)) return false;
    if (slice->end_ns <= slice->start_ns || slice->end_ns <= piece->from) return true;
    if (!hd_grow((void **)&w->open, &w->open_capacity, w->open_count, sizeof *w->open)) return false;
    w->open[w->open_count++] = (select_open){slice->end_ns, slot};
    return true;
}

static hd_status sweep(select_worker *w, const select_piece *piece, view_merge *merge)
{
    int64_t now = piece->from;
    uint32_t looked = 0;
    w->open_count = 0;
    for (const view_slice *slice; (slice = view_merge_next(merge));) {
        int64_t start = slice->start_ns > piece->from ? slice->start_ns : piece->from;
        if (start > now) advance(w, now, start);
        now = start;
        if (!take_slice(w, piece, slice)) return HD_NOMEM(&w->error);
        if ((++looked & LOOK_UP) == 0 && w->selector->gone && atomic_load(w->selector->gone))
            return hd_error_set(&w->error, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the client went away");
    }
    advance(w, now, piece->until);
    return HD_OK;
}

static hd_status sum_piece(select_worker *w, const select_piece *piece)
{
    const view_track *track = view_scene_track(w->selector->scene, piece->track);
    const view_row **rows = malloc(((size_t)track->rows.count + 1) * sizeof *rows);
    view_merge *merge = NULL;
    if (!rows) return HD_NOMEM(&w->error);
    for (uint32_t i = 0; i < track->rows.count; i++) rows[i] = &track->rows.rows[i];
    hd_status status = view_merge_new(&merge, rows, track->rows.count, view_scene_trace(w->selector->scene),
                                      piece->from, piece->until, &w->error);
    if (status == HD_OK) status = sweep(w, piece, merge);
    view_merge_free(merge);
    free(rows);
    return status;
}

static void work(void *state)
{
    select_worker *w = state;
    selector *s = w->selector;
    for (size_t at; w->status == HD_OK && (at = atomic_fetch_add(&s->next, 1)) < s->piece_count;)
        w->status = s->pieces[at].is_row ? select_sum_row(w, &s->pieces[at]) : sum_piece(w, &s->pieces[at]);
}

/* ---- pieces ---- */

static bool cut_track(selector *s, const view_track *track)
{
    if (track->kind != VIEW_SLICES || track->start_ns == HD_NO_TIME || track->rows.count == 0) return true;
    if (track->on_lanes == 0 && !track->derived) return select_cut_rows(s, track);
    int64_t from = s->from > track->start_ns ? s->from : track->start_ns;
    int64_t last = track->end_ns < INT64_MAX ? track->end_ns + 1 : track->end_ns;
    int64_t until = s->until < last ? s->until : last;
    if (until <= from) return true;
    uint64_t pieces = track->event_count / PIECE_EVENTS + 1;
    if (pieces > MOST_PIECES) pieces = MOST_PIECES;
    uint64_t length = ((uint64_t)until - (uint64_t)from) / pieces + 1;
    for (int64_t at = from; at < until;) {
        int64_t end = (uint64_t)until - (uint64_t)at > length ? (int64_t)((uint64_t)at + length) : until;
        if (!hd_grow((void **)&s->pieces, &s->piece_capacity, s->piece_count, sizeof *s->pieces)) return false;
        s->pieces[s->piece_count++] =
            (select_piece){.track = track->id, .is_first = at == from, .from = at, .until = end};
        at = end;
    }
    return true;
}

static hd_status start(selector *s, const uint32_t *tracks, size_t count, unsigned threads, hd_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!cut_track(s, view_scene_track(s->scene, tracks[i]))) return HD_NOMEM(err);
    }
    s->worker_count = hd_thread_count(threads, s->piece_count);
    s->workers = calloc(s->worker_count, sizeof *s->workers);
    if (!s->workers) return HD_NOMEM(err);
    for (unsigned i = 0; i < s->worker_count; i++) {
        s->workers[i].selector = s;
        s->workers[i].slot_of = calloc((size_t)s->names + 1, sizeof *s->workers[i].slot_of);
        if (!s->workers[i].slot_of) return HD_NOMEM(err);
    }
    return HD_OK;
}

static void deinit(selector *s)
{
    for (unsigned i = 0; i < s->worker_count && s->workers; i++) {
        select_worker *w = &s->workers[i];
        for (select_chunk *next; w->chunks; w->chunks = next) {
            next = w->chunks->next;
            free(w->chunks);
        }
        free(w->slot_of);
        free(w->sums);
        free(w->longs);
        free(w->open);
    }
    free(s->workers);
    free(s->pieces);
}

hd_status view_select(view_selection *out, const view_scene *scene, const uint32_t *tracks, size_t count,
                      int64_t from_ns, int64_t until_ns, unsigned threads, const atomic_bool *gone, hd_error *err)
{
    selector s = {.scene = scene, .from = from_ns, .until = until_ns, .gone = gone};
    *out = (view_selection){0};
    s.names = view_scene_name_count(scene);
    hd_status status = start(&s, tracks, count, threads, err);
    if (status == HD_OK) hd_threads_run(work, s.workers, sizeof *s.workers, s.worker_count);
    for (unsigned i = 0; i < s.worker_count && status == HD_OK; i++) {
        status = s.workers[i].status;
        if (status != HD_OK && err) *err = s.workers[i].error;
        out->events += s.workers[i].events;
        out->cut += s.workers[i].cut;
    }
    if (status == HD_OK) status = select_names(out, &s, err);
    deinit(&s);
    if (status != HD_OK) view_selection_deinit(out);
    return status;
}

/* Whether a track is below the section Other. */
static bool is_aside(const view_scene *scene, const view_track *track)
{
    for (uint32_t at = track->parent; at != HD_NONE; at = view_scene_track(scene, at)->parent) {
        if (strcmp(view_scene_track(scene, at)->role, "other") == 0) return true;
    }
    return false;
}

void view_select_originals(view_left_out *out, uint32_t *tracks, size_t *count, const view_scene *scene)
{
    size_t kept = 0, all = *count;
    bool any = false, any_of_program = false;
    *out = (view_left_out){0};
    for (size_t i = 0; i < all; i++) {
        const view_track *track = view_scene_track(scene, tracks[i]);
        bool is_original = track->kind == VIEW_SLICES && !track->derived;
        any |= is_original;
        any_of_program |= is_original && !is_aside(scene, track);
    }
    for (size_t i = 0; i < all; i++) {
        const view_track *track = view_scene_track(scene, tracks[i]);
        bool is_slices = track->kind == VIEW_SLICES;
        if (any && is_slices && track->derived)
            out->derived++;
        else if (any_of_program && is_slices && is_aside(scene, track))
            out->aside++;
        else
            tracks[kept++] = tracks[i];
    }
    *count = kept;
}

void view_selection_deinit(view_selection *selection)
{
    free(selection->names);
    *selection = (view_selection){0};
}
