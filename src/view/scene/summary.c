/* summary.c - one row for a section: the union of the slices of all tracks of the trace below it
 *
 * That of a device is the union of its activities (the derived rows compute, exposed communication and copy, so that it
 * has the colour of communication where nothing hides that), since annotations on its streams would hide idle time.
 * Tracks that only describe activities elsewhere (view_track.told) count only if there is nothing else, and then the
 * section has no busy time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/scene/impl.h"

/* The tree of tracks: parents have smaller ids than their children. */
typedef struct section_tree {
    uint32_t count, *first, *next; /* [track]: its first child, the next of the same parent; HD_NONE: none */
} section_tree;

static void deinit_tree(section_tree *tree)
{
    free(tree->first);
    free(tree->next);
}

static hd_status make_tree(section_tree *out, const view_scene *scene, hd_error *err)
{
    uint32_t count = view_scene_track_count(scene);
    size_t size = ((size_t)count + 1) * sizeof(uint32_t);
    *out = (section_tree){.count = count, .first = malloc(size), .next = malloc(size)};
    if (!out->first || !out->next) {
        deinit_tree(out);
        return HD_NOMEM(err);
    }
    memset(out->first, 0xff, size);
    memset(out->next, 0xff, size);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = view_scene_track(scene, i)->parent;
        if (parent >= i) continue;
        out->next[i] = out->first[parent];
        out->first[parent] = i;
    }
    return HD_OK;
}

/* The next track below a section after another one, HD_NONE: that was the last. */
static uint32_t next_below(const section_tree *tree, const view_scene *scene, uint32_t section, uint32_t at)
{
    if (tree->first[at] != HD_NONE) return tree->first[at];
    while (at != section && tree->next[at] == HD_NONE) at = view_scene_track(scene, at)->parent;
    return at == section ? HD_NONE : tree->next[at];
}

static bool is_device_work(const view_track *track)
{
    static const char *const roles[] = {"compute", "exposed", "copy"};
    for (size_t i = 0; track->derived && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(track->role, roles[i]) == 0) return true;
    }
    return false;
}

static bool is_of_trace(const view_track *track)
{
    return !track->derived && track->events == HD_KIND_SLICE;
}

static bool is_busy(const view_track *track)
{
    return is_of_trace(track) && !(atomic_load_explicit(&track->ready, memory_order_acquire) && track->told);
}

/* The summaries of the tracks of slices that count; false: one of them is not laid out yet. */
static bool list_rows(const view_row **out, size_t *out_count, const view_scene *scene, const section_tree *tree,
                      uint32_t section, bool (*counts)(const view_track *track))
{
    *out_count = 0;
    for (uint32_t i = section; (i = next_below(tree, scene, section, i)) != HD_NONE;) {
        const view_track *track = view_scene_track(scene, i);
        if (track->kind != VIEW_SLICES || !counts(track)) continue;
        if (!atomic_load_explicit(&track->ready, memory_order_acquire)) return false;
        out[(*out_count)++] = &track->summary;
    }
    return true;
}

static void measure(view_track *section, const view_scene *scene, const view_row *row, bool busy)
{
    view_slice first, last;
    section->busy_ns = busy ? view_row_busy(row, scene->trace, INT64_MIN, INT64_MAX) : HD_NO_TIME;
    if (!section->derived || view_row_read(&first, row, scene->trace, 0, 1) == 0) return;
    view_row_read(&last, row, scene->trace, row->count - 1, 1);
    section->start_ns = first.start_ns;
    section->end_ns = last.end_ns;
}

/* With the lock. */
static hd_status make_summary(bool *out_ready, view_scene *scene, const section_tree *tree, view_track *section,
                              hd_error *err)
{
    bool is_device = strcmp(section->role, "device") == 0;
    *out_ready = atomic_load(&section->ready) >= 2;
    if (*out_ready || (is_device && !atomic_load(&scene->devices_known))) return HD_OK;
    const view_row **rows = malloc(((size_t)tree->count + 1) * sizeof *rows); /* most of it is never touched */
    size_t count = 0;
    if (!rows) return HD_NOMEM(err);
    *out_ready = is_device && list_rows(rows, &count, scene, tree, section->id, is_device_work) && count;
    bool busy = *out_ready;
    if (!*out_ready) busy = *out_ready = list_rows(rows, &count, scene, tree, section->id, is_busy);
    if (*out_ready && !count) { /* tracks that only describe others are drawn, and have no busy time */
        busy = false;
        *out_ready = list_rows(rows, &count, scene, tree, section->id, is_of_trace);
    }
    hd_status status = HD_OK;
    view_row row = {0};
    if (*out_ready && count == 1) {
        row = view_row_share(rows[0]);
    } else if (*out_ready) {
        status = view_rows_union(&row, rows, count, scene->trace, err);
        if (status == HD_OK) status = view_row_index(&row, scene->trace, scene->start_ns, err);
    }
    free(rows);
    if (status != HD_OK || !*out_ready) {
        view_row_deinit(&row);
        return status;
    }
    section->summary = row;
    measure(section, scene, &row, busy || !count);
    atomic_store_explicit(&section->ready, 2, memory_order_release);
    return HD_OK;
}

hd_status view_scene_summary(const view_row **out, view_scene *scene, uint32_t track, hd_error *err)
{
    view_track *of = view_scene_track(scene, track);
    int ready = atomic_load_explicit(&of->ready, memory_order_acquire);
    hd_status status = HD_OK;
    *out = NULL;
    if (of->kind == VIEW_SECTION && ready < 2) {
        section_tree tree;
        bool made = false;
        HD_TRY(make_tree(&tree, scene, err));
        pthread_mutex_lock(&scene->lock);
        status = make_summary(&made, scene, &tree, of, err);
        pthread_mutex_unlock(&scene->lock);
        deinit_tree(&tree);
        ready = made;
    }
    if (status == HD_OK && ready) *out = &of->summary;
    return status;
}

hd_status scene_sum_up_sections(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    section_tree tree;
    hd_status status = HD_OK;
    HD_TRY(make_tree(&tree, scene, err));
    for (uint32_t i = 0; i < tree.count && status == HD_OK && !(stop && atomic_load(stop)); i++) {
        view_track *track = view_scene_track(scene, i);
        bool made;
        if (track->kind != VIEW_SECTION) continue;
        pthread_mutex_lock(&scene->lock);
        status = make_summary(&made, scene, &tree, track, err);
        pthread_mutex_unlock(&scene->lock);
    }
    deinit_tree(&tree);
    atomic_fetch_add(&scene->revision, 1);
    return status;
}
