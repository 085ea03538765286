/* scene_summary.c - one row for a section: the union of the slices of all tracks of the trace below it
 *
 * That of a device is the union of its work (the derived rows compute, communication and copy), as annotations on its
 * streams cover what is idle.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/scene_impl.h"

/* Whether a track lies below a section. */
static bool lies_below(const view_scene *scene, const view_track *track, uint32_t section, uint32_t count)
{
    for (uint32_t parent = track->parent, steps = 0; parent < count && steps < count; steps++) {
        if (parent == section) return true;
        parent = view_scene_track(scene, parent)->parent;
    }
    return false;
}

static bool is_device_work(const view_track *track)
{
    static const char *const roles[] = {"compute", "communication", "copy"};
    for (size_t i = 0; track->derived && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(track->role, roles[i]) == 0) return true;
    }
    return false;
}

static bool is_of_trace(const view_track *track)
{
    return !track->derived && track->events == HD_KIND_SLICE;
}

/* Of the tracks of slices that count; false: one of them is not laid out yet. */
static bool list_rows(const view_row **out, size_t *out_count, const view_scene *scene, uint32_t section,
                      uint32_t count, bool (*counts)(const view_track *track))
{
    *out_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const view_track *track = view_scene_track(scene, i);
        if (track->kind != VIEW_SLICES || !counts(track) || !lies_below(scene, track, section, count)) continue;
        if (!atomic_load_explicit(&track->ready, memory_order_acquire)) return false;
        out[(*out_count)++] = &track->summary;
    }
    return true;
}

static hd_status make_summary(bool *out_ready, view_scene *scene, view_track *section, hd_error *err)
{
    bool is_device = strcmp(section->role, "device") == 0;
    if (is_device && !atomic_load(&scene->devices_known)) {
        *out_ready = false;
        return HD_OK;
    }
    uint32_t track_count = view_scene_track_count(scene);
    const view_row **rows = malloc((track_count + 1) * sizeof *rows);
    size_t count = 0;
    if (!rows) return HD_NOMEM(err);
    *out_ready = is_device && list_rows(rows, &count, scene, section->id, track_count, is_device_work) && count;
    if (!*out_ready) *out_ready = list_rows(rows, &count, scene, section->id, track_count, is_of_trace);
    hd_status status = HD_OK;
    view_row row = {0};
    if (*out_ready) status = view_rows_union(&row, rows, count, scene->trace, err);
    if (*out_ready && status == HD_OK) status = view_row_index(&row, scene->trace, scene->start_ns, err);
    free(rows);
    if (status != HD_OK || !*out_ready) {
        view_row_deinit(&row);
        return status;
    }
    section->summary = row;
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
        bool made = false;
        pthread_mutex_lock(&scene->lock);
        if (atomic_load(&of->ready) < 2)
            status = make_summary(&made, scene, of, err);
        else
            made = true;
        pthread_mutex_unlock(&scene->lock);
        ready = made;
    }
    if (status == HD_OK && ready) *out = &of->summary;
    return status;
}
