/* select.h - exact statistics of a range of time, by name
 *
 * Events      all that touch [from, until): they start in it, or extend into it
 * Durations   count, mean, p50, p99, min, max are of whole durations; percentiles by nearest rank: the smallest
 *             duration such that at least that per cent are not longer
 * Time        total, self and share are of the part in the range. Self time belongs, on each track, to the open slice
 *             that started last (heddle/index.h), so that self times of a track add up to its busy time
 * Union       busy is the time that at least one event of any of the tracks covers; gaps are the rest. Derived tracks,
 *             and tracks that only describe a device's activities, are never busy: without other tracks, busy is
 *             unknown. Of a device's track only its activities count as busy
 *
 * Tracks are cut into parts of time, which threads take one by one; memory is 8 bytes per event while durations are
 * gathered, and less than that again while they are put together by name.
 *
 * In: tracks of a scene and a range. Out: the table. Begin with select.c.
 */
#ifndef HD_VIEW_SELECT_SELECT_H
#define HD_VIEW_SELECT_SELECT_H

#include "view/scene/scene.h"

enum { VIEW_GAPS = 10 };

typedef struct view_select_name {
    uint32_t name;
    uint32_t longest_row, longest_track; /* of the longest event, the first of several */
    uint64_t count;
    int64_t total_ns, self_ns, min_ns, max_ns, p50_ns, p99_ns;
    double mean_ns;
} view_select_name;

typedef struct view_gap {
    int64_t start_ns, length_ns;
} view_gap;

/* Zero-initialised is empty. */
typedef struct view_selection {
    uint64_t events, cut; /* cut: those that reach beyond the range */
    bool has_busy;        /* else there is no busy time, nor gaps */
    int64_t busy_ns;
    uint64_t gap_count;
    view_gap gaps[VIEW_GAPS]; /* the longest, longest first; the first of equal ones */
    view_select_name *names;  /* in no order */
    size_t name_count;
} view_selection;

/* Names and events. tracks[0 … count): ready, no sections; counters among them are ignored. threads 0: one per core.
 * Errors: MEMORY, LIMIT when *gone. */
hd_status view_select(view_selection *out, const view_scene *scene, const uint32_t *tracks, size_t count,
                      int64_t from_ns, int64_t until_ns, unsigned threads, const atomic_bool *gone, hd_error *err);
typedef struct view_left_out {
    size_t derived, aside; /* tracks */
} view_left_out;

/* Removes from tracks[0 … *count) the derived tracks if there are others, since their events are made of those and
 * would count twice; and those below the section Other, in which a profiler writes of itself, if there are others of
 * the program. *out counts them. */
void view_select_originals(view_left_out *out, uint32_t *tracks, size_t *count, const view_scene *scene);
void view_selection_deinit(view_selection *selection);

/* A series in [from, until): its values there, from the last sample before the range on. The mean is over time: each
 * value is valid until the next sample. */
typedef struct view_series_sum {
    uint64_t samples; /* in the range */
    double min, max, mean, first, last;
} view_series_sum;

/* false: it has no value there. */
bool view_series_sum_up(view_series_sum *out, const view_series *series, int64_t from_ns, int64_t until_ns);

/* union.c: adds busy and gaps. Errors as above; the selection is then to be freed. */
hd_status view_select_union(view_selection *out, const view_scene *scene, const uint32_t *tracks, size_t count,
                            int64_t from_ns, int64_t until_ns, unsigned threads, const atomic_bool *gone,
                            hd_error *err);

/* rank.c: the k-th smallest (from 0) of values, which are reordered. */
uint32_t view_select_rank(uint32_t *values, size_t count, size_t k);

#endif
