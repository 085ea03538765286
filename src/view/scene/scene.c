/* scene.c - a scene: made, its tracks and names, published while others read */
#include "view/scene/scene.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "trace/lazy.h"
#include "trace/spill.h"
#include "view/scene/impl.h"

/* ---- made and freed ---- */

static void find_span(view_scene *scene)
{
    const hd_trace_facts *facts = hd_trace_facts_of(scene->trace);
    int64_t start = facts->start_ns, end = facts->end_ns, span;
    if (start == HD_NO_TIME) start = end = 0;
    if (end == HD_NO_TIME || end <= start)
        span = 1;
    else if (__builtin_sub_overflow(end, start, &span))
        span = INT64_MAX;
    scene->start_ns = start;
    scene->span_ns = span;
}

hd_status view_scene_new(view_scene **out, hd_trace *trace, hd_error *err)
{
    *out = NULL;
    view_scene *scene = calloc(1, sizeof *scene);
    if (!scene) {
        hd_trace_free(trace);
        return HD_NOMEM(err);
    }
    pthread_mutex_init(&scene->lock, NULL);
    pthread_mutex_init(&scene->lock_order, NULL);
    scene->trace = trace;
    scene->source_count = hd_trace_track_count(trace);
    atomic_store(&scene->index, hd_trace_index(trace));
    find_span(scene);
    scene->queries = view_queries_new();
    bool fine = hd_roles_init(&scene->roles, trace) && scene->queries;
    hd_status status = fine ? scene_make_tracks(scene, err) : HD_NOMEM(err);
    if (status != HD_OK) {
        view_scene_free(scene);
        return status;
    }
    *out = scene;
    return HD_OK;
}

static void free_series(view_series *series)
{
    if (!series->kept.data) {
        free(series->times_ns);
        free(series->values);
        free(series->rows);
    }
    view_kept_free(&series->kept);
    free(series->marks);
}

void view_track_deinit(view_track *track)
{
    view_row_deinit(&track->summary);
    view_rows_deinit(&track->rows);
    for (uint32_t i = 0; i < track->series_count; i++) free_series(&track->series[i]);
    free(track->series);
    free(track->name);
    free(track->detail);
}

void view_scene_free(view_scene *scene)
{
    if (!scene) return;
    uint32_t within;
    for (uint32_t i = 0; i < atomic_load(&scene->track_count); i++) view_track_deinit(view_scene_track(scene, i));
    for (uint32_t i = 0; i < atomic_load(&scene->text_count); i++) {
        unsigned piece = scene_piece(i, &within);
        free(scene->texts[piece][within].data);
    }
    for (int i = 0; i < SCENE_PIECES; i++) {
        hd_large_free(scene->tracks[i]);
        free(scene->texts[i]);
    }
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        free(scene->lane_tracks[kind]);
        free(atomic_load(&scene->event_tracks[kind]));
    }
    for (int note = 0; note < VIEW_NOTES; note++) {
        if (scene->note_releases[note]) scene->note_releases[note](atomic_load(&scene->notes[note]));
    }
    free(scene->section_of);
    hd_slots_deinit(&scene->text_slots);
    if (scene->order) hd_large_free(scene->order->ids);
    free(scene->order);
    view_queries_free(scene->queries); /* before the data that they refer to */
    hd_roles_deinit(&scene->roles);
    hd_launches_free(atomic_load(&scene->launches));
    hd_index_free(scene->own_index);
    hd_trace_free(scene->trace);
    pthread_mutex_destroy(&scene->lock);
    pthread_mutex_destroy(&scene->lock_order);
    free(scene);
}

/* ---- facts ---- */

view_queries *view_scene_queries(const view_scene *scene)
{
    return scene->queries;
}

const hd_trace *view_scene_trace(const view_scene *scene)
{
    return scene->trace;
}

const hd_index *view_scene_index(const view_scene *scene)
{
    return atomic_load(&scene->index);
}

hd_roles *view_scene_roles(const view_scene *scene)
{
    return (hd_roles *)(uintptr_t)&scene->roles; /* atomics, of any thread */
}

const hd_launches *view_scene_launches(const view_scene *scene)
{
    return atomic_load(&scene->launches);
}

int64_t view_scene_start(const view_scene *scene)
{
    return scene->start_ns;
}

int64_t view_scene_span(const view_scene *scene)
{
    return scene->span_ns;
}

uint32_t view_scene_revision(const view_scene *scene)
{
    return atomic_load(&scene->revision);
}

/* ---- notes ---- */

const void *view_scene_note(const view_scene *scene, view_note note)
{
    return atomic_load_explicit(&scene->notes[note], memory_order_acquire);
}

void view_scene_set_note(view_scene *scene, view_note note, void *data, void (*release)(void *data))
{
    scene->note_releases[note] = release;
    atomic_store_explicit(&scene->notes[note], data, memory_order_release);
}

/* ---- tracks ---- */

uint32_t view_scene_track_count(const view_scene *scene)
{
    return atomic_load_explicit(&scene->track_count, memory_order_acquire);
}

view_track *view_scene_track(const view_scene *scene, uint32_t track)
{
    uint32_t within;
    unsigned piece = scene_piece(track, &within);
    return &scene->tracks[piece][within];
}

view_track *scene_new_track(view_scene *scene, uint32_t number)
{
    uint32_t within;
    unsigned piece = scene_piece(number, &within);
    if (piece >= SCENE_PIECES) return NULL;
    if (!scene->tracks[piece]) {
        scene->tracks[piece] = hd_large_zeroed((size_t)1 << (piece + SCENE_PIECE_BITS), sizeof **scene->tracks,
                                               hd_trace_large_bytes(scene->trace));
        if (!scene->tracks[piece]) return NULL;
    }
    view_track *track = &scene->tracks[piece][within];
    *track = (view_track){.id = number, .parent = HD_NONE, .source = HD_NONE, .role = "", .events = HD_KIND_SLICE};
    track->rank = track->device = track->stream = HD_NO_NUMBER;
    track->start_ns = track->end_ns = track->busy_ns = HD_NO_TIME;
    return track;
}

void scene_publish(view_scene *scene, uint32_t count)
{
    atomic_store_explicit(&scene->track_count, count, memory_order_release);
    atomic_fetch_add(&scene->revision, 1);
}

static hd_status index_track(view_scene *scene, view_track *track, hd_error *err)
{
    for (uint32_t r = 0; r < track->rows.count; r++)
        HD_TRY(view_row_index(&track->rows.rows[r], scene->trace, scene->start_ns, err));
    if (track->kind == VIEW_SLICES && !track->summary.data) {
        if (track->rows.count == 1) {
            track->summary = view_row_share(&track->rows.rows[0]);
        } else if (track->rows.count) {
            const view_row **rows = malloc(track->rows.count * sizeof *rows);
            if (!rows) return HD_NOMEM(err);
            for (uint32_t r = 0; r < track->rows.count; r++) rows[r] = &track->rows.rows[r];
            hd_status status = view_rows_union(&track->summary, rows, track->rows.count, scene->trace, err);
            free(rows);
            HD_TRY(status);
        }
    }
    HD_TRY(view_row_index(&track->summary, scene->trace, scene->start_ns, err));
    for (uint32_t s = 0; s < track->series_count; s++) HD_TRY(view_series_index(&track->series[s], err));
    return HD_OK;
}

hd_status view_scene_add(view_scene *scene, view_track *tracks, size_t count, hd_error *err)
{
    uint32_t first = view_scene_track_count(scene);
    hd_status status = count > UINT32_MAX / 2 - first ? HD_NOMEM(err) : HD_OK;
    for (size_t i = 0; i < count && status == HD_OK; i++) {
        if (!scene_new_track(scene, first + (uint32_t)i)) status = HD_NOMEM(err);
        if (status == HD_OK) status = index_track(scene, &tracks[i], err);
    }
    for (size_t i = 0; i < count; i++) {
        if (status != HD_OK) {
            view_track_deinit(&tracks[i]);
            continue;
        }
        view_track *track = view_scene_track(scene, first + (uint32_t)i);
        *track = tracks[i];
        track->id = first + (uint32_t)i;
        if (track->parent != HD_NONE && HD_NONE - 1 - track->parent < count)
            track->parent = first + (HD_NONE - 1 - track->parent);
        atomic_store(&track->ready, 1);
    }
    if (status == HD_OK && count) scene_publish(scene, first + (uint32_t)count);
    return status;
}

uint32_t view_scene_track_of(const view_scene *scene, uint32_t source, hd_kind kind)
{
    if ((unsigned)kind >= HD_KIND_COUNT || !scene->lane_tracks[kind]) return HD_NONE;
    if (source >= scene->source_count) return scene->lane_tracks[kind][scene->source_count];
    return scene->lane_tracks[kind][scene_leader(scene->trace, source)];
}

uint32_t view_scene_track_of_event(const view_scene *scene, hd_kind kind, uint64_t row)
{
    if ((unsigned)kind >= HD_KIND_COUNT || row >= hd_trace_row_count(scene->trace, kind)) return HD_NONE;
    const uint32_t *tracks = atomic_load(&scene->event_tracks[kind]);
    if (tracks) return tracks[row];
    uint32_t within;
    const hd_block *block = hd_trace_columns_of(&within, scene->trace, kind, row);
    if (hd_column_at(&block->columns[HD_COL_START], within) == HD_NO_TIME) return HD_NONE;
    return view_scene_track_of(scene, (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], within), kind);
}

/* ---- their order ---- */

typedef struct shown_track {
    uint32_t parent, id;
    int64_t order;
} shown_track;

static int by_parent_and_order(const void *a, const void *b)
{
    const shown_track *x = a, *y = b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* The first of a parent's tracks. */
static uint32_t first_child(const shown_track *list, uint32_t count, uint32_t parent)
{
    uint32_t low = 0;
    HD_PARTITION_POINT(low, count, at, list[at].parent < parent);
    return low;
}

/* Depth first. false: no memory. */
static bool put_in_order(view_order *out, const view_scene *scene, uint64_t large)
{
    uint32_t count = out->count, done = 0, depth = 0;
    shown_track *list = hd_large_new((size_t)count + 1, sizeof *list, large);
    uint32_t *stack = hd_large_new((size_t)count + 1, sizeof *stack, large); /* places in the list */
    out->ids = hd_large_new((size_t)count + 1, sizeof *out->ids, large);
    bool fine = list && stack && out->ids;
    for (uint32_t i = 0; i < count && fine; i++) {
        const view_track *track = view_scene_track(scene, i);
        uint32_t parent = track->parent < count && track->parent != i ? track->parent : HD_NONE;
        list[i] = (shown_track){parent, i, track->order};
    }
    fine = fine && hd_large_sort(list, count, sizeof *list, by_parent_and_order, large);
    if (fine && count) stack[depth++] = first_child(list, count, HD_NONE);
    while (depth) {
        uint32_t at = stack[depth - 1], parent = at < count ? list[at].parent : HD_NONE;
        if (at >= count || done == count) {
            depth--;
            continue;
        }
        out->ids[done++] = list[at].id;
        if (at + 1 < count && list[at + 1].parent == parent)
            stack[depth - 1]++;
        else
            depth--;
        uint32_t child = first_child(list, count, list[at].id);
        if (child < count && list[child].parent == list[at].id) stack[depth++] = child;
    }
    out->count = done;
    hd_large_free(list);
    hd_large_free(stack);
    return fine;
}

static void drop_order(view_order *order)
{
    if (!order || --order->users) return;
    hd_large_free(order->ids);
    free(order);
}

hd_status view_scene_order(const view_order **out, const view_scene *scene, hd_error *err)
{
    view_scene *q = (view_scene *)(uintptr_t)scene;
    pthread_mutex_lock(&q->lock_order);
    uint32_t count = view_scene_track_count(scene);
    bool fine = true;
    if (!q->order || q->order_of != count) {
        view_order *made = calloc(1, sizeof *made);
        if (made) *made = (view_order){.count = count, .users = 1};
        fine = made && put_in_order(made, scene, hd_trace_large_bytes(scene->trace));
        if (fine) {
            drop_order(q->order);
            q->order = made;
            q->order_of = count;
            q->orders_made++;
        } else {
            drop_order(made);
        }
    }
    if (fine) q->order->users++;
    *out = fine ? q->order : NULL;
    pthread_mutex_unlock(&q->lock_order);
    return fine ? HD_OK : HD_NOMEM(err);
}

void view_scene_order_done(const view_order *order, const view_scene *scene)
{
    pthread_mutex_lock(&((view_scene *)(uintptr_t)scene)->lock_order);
    drop_order((view_order *)(uintptr_t)order);
    pthread_mutex_unlock(&((view_scene *)(uintptr_t)scene)->lock_order);
}

/* ---- names ---- */

static const scene_text *text_at(const view_scene *scene, uint32_t number)
{
    uint32_t within;
    unsigned piece = scene_piece(number, &within);
    return &scene->texts[piece][within];
}

uint32_t view_scene_name(view_scene *scene, const char *data, size_t size)
{
    uint32_t within, strings = hd_trace_string_count(scene->trace), count = atomic_load(&scene->text_count);
    uint32_t id = hd_trace_find_string(scene->trace, data, size);
    if (id != HD_NONE) return id;
    uint64_t hash = hd_hash(data, size);
    HD_SLOTS_FIND(id, &scene->text_slots, hash,
                  text_at(scene, id)->size == size && memcmp(text_at(scene, id)->data, data, size) == 0);
    if (id != HD_SLOTS_NONE) return strings + id;
    unsigned piece = scene_piece(count, &within);
    if (piece >= SCENE_PIECES || count >= HD_NONE - 1 - strings) return HD_NONE;
    if (!scene->texts[piece])
        scene->texts[piece] = calloc((size_t)1 << (piece + SCENE_PIECE_BITS), sizeof **scene->texts);
    char *copy = scene->texts[piece] ? malloc(size + 1) : NULL;
    if (!copy || !hd_slots_add(&scene->text_slots, hash, count)) {
        free(copy);
        return HD_NONE;
    }
    memcpy(copy, data, size);
    copy[size] = '\0';
    scene->texts[piece][within] = (scene_text){copy, size};
    atomic_store_explicit(&scene->text_count, count + 1, memory_order_release);
    return strings + count;
}

uint32_t view_scene_find_name(const view_scene *scene, const char *data, size_t size)
{
    uint32_t strings = hd_trace_string_count(scene->trace), id = hd_trace_find_string(scene->trace, data, size);
    for (uint32_t i = strings; id == HD_NONE && i < view_scene_name_count(scene); i++) {
        hd_string text = view_scene_text(scene, i);
        if (text.size == size && memcmp(text.data, data, size) == 0) return i;
    }
    return id;
}

hd_string view_scene_text(const view_scene *scene, uint32_t name)
{
    uint32_t strings = hd_trace_string_count(scene->trace);
    if (name < strings) return hd_trace_string(scene->trace, name);
    if (name - strings >= atomic_load_explicit(&scene->text_count, memory_order_acquire)) return (hd_string){"", 0};
    const scene_text *text = text_at(scene, name - strings);
    return (hd_string){text->data, text->size};
}

uint32_t view_scene_name_count(const view_scene *scene)
{
    return hd_trace_string_count(scene->trace) + atomic_load_explicit(&scene->text_count, memory_order_acquire);
}
