/* place.h - the position of an event in a scene, and slices of many rows in one order
 *
 * The order of slices is that of heddle/index.h: by start, the longer first, then by row.
 */
#ifndef HD_VIEW_SCENE_PLACE_H
#define HD_VIEW_SCENE_PLACE_H

#include "base/json/write.h"
#include "view/scene/scene.h"

static inline bool view_track_ready(const view_track *track)
{
    return atomic_load_explicit(&track->ready, memory_order_acquire) != 0;
}

typedef struct view_place {
    uint32_t track, depth;
    uint64_t at; /* position in that row of the track */
    view_slice slice;
} view_place;

/* Order of slices: below 0, 0, above 0. */
static inline int view_slice_compare(const view_slice *a, const view_slice *b)
{
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* From a time to a later one; saturates. */
static inline int64_t view_length(int64_t from_ns, int64_t until_ns)
{
    int64_t length;
    return __builtin_sub_overflow(until_ns, from_ns, &length) ? INT64_MAX : length;
}

/* The position of row `row` of a table on a ready track; `start_ns` is its start. false: not found. */
bool view_place_on(view_place *out, const view_scene *scene, uint32_t track, uint32_t row, int64_t start_ns);
/* The same by the event's own track. false also when that is not ready. */
bool view_place_of(view_place *out, const view_scene *scene, hd_kind kind, uint64_t row);
/* The slice directly above it on its track that encloses it. */
bool view_place_parent(view_place *out, const view_scene *scene, const view_place *place);
/* The innermost slice of a track that is ready around a time. */
bool view_place_at(view_place *out, const view_scene *scene, uint32_t track, int64_t time_ns);

/* A time since the scene's start; null for HD_NO_TIME. */
void view_json_time(hd_json_out *json, const char *key, const view_scene *scene, int64_t time_ns);
/* `{"row": …, "kind": …, "track": …, "depth": …, "start": …, "duration": …, "name": …}` */
void view_json_place(hd_json_out *json, const view_scene *scene, const view_place *place);

/* ---- slices of many rows, in order ---- */

typedef struct view_merge view_merge;

/* Slices of rows[0 … count) that end after or start at or after from_ns, until one starts at or after until_ns. The
 * caller frees it. Errors: MEMORY. */
hd_status view_merge_new(view_merge **out, const view_row *const *rows, size_t count, const hd_trace *trace,
                         int64_t from_ns, int64_t until_ns, hd_error *err);
void view_merge_free(view_merge *merge);
/* The next slice, NULL: no more. Lives until the next call. */
const view_slice *view_merge_next(view_merge *merge);

#endif
