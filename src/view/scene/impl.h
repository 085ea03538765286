/* impl.h - the structs of a scene */
#ifndef HD_VIEW_SCENE_IMPL_H
#define HD_VIEW_SCENE_IMPL_H

#include <pthread.h>

#include "base/map.h"
#include "model/roles/trace_roles.h"
#include "trace/index/lane_index.h"
#include "view/rows/impl.h"
#include "view/scene/scene.h"

/* Lists that grow while others read: pieces never move; piece n has 64 << n elements. */
enum { SCENE_PIECES = 26, SCENE_PIECE_BITS = 6 };

typedef struct scene_text {
    char *data; /* malloc'ed */
    size_t size;
} scene_text;

struct view_scene {
    hd_trace *trace;
    hd_roles roles;
    hd_index *own_index; /* NULL: the trace came with one */
    _Atomic(const hd_index *) index;
    _Atomic(hd_launches *) launches;
    int64_t start_ns, span_ns;
    atomic_uint revision;
    view_track *tracks[SCENE_PIECES];
    atomic_uint track_count;
    scene_text *texts[SCENE_PIECES];
    atomic_uint text_count;
    hd_slots text_slots;
    uint32_t source_count;                /* tracks of the trace */
    uint32_t *lane_tracks[HD_KIND_COUNT]; /* [source, source_count: of events without one]: slices, instants, samples */
    uint32_t *section_of;                 /* [source]: the section of its tracks */
    _Atomic(uint32_t *) event_tracks[HD_KIND_COUNT]; /* [row]: async points, samples of counters */
    atomic_bool devices_known;                       /* their tracks were derived, as far as possible */
    view_queries *queries;
    pthread_mutex_t lock_order; /* while the order of tracks is made */
    view_order *order;          /* NULL: not requested yet */
    uint32_t order_of;          /* so many tracks */
    unsigned orders_made;
    pthread_mutex_t lock; /* of the summaries of sections */
    _Atomic(void *) notes[VIEW_NOTES];
    void (*note_releases[VIEW_NOTES])(void *data);
};

/* Place n of a list of pieces. */
static inline unsigned scene_piece(uint32_t n, uint32_t *out_within)
{
    uint64_t at = (uint64_t)n + (1u << SCENE_PIECE_BITS);
    unsigned piece = 63 - (unsigned)__builtin_clzll(at) - SCENE_PIECE_BITS;
    *out_within = (uint32_t)(at - ((uint64_t)1 << (piece + SCENE_PIECE_BITS)));
    return piece;
}

static inline uint32_t scene_leader(const hd_trace *trace, uint32_t source)
{
    return source < hd_trace_track_count(trace) ? hd_trace_track_at(trace, source)->same_as : source;
}

/* scene.c: a new track, not published yet; NULL: no memory. Then publishes all new ones. */
view_track *scene_new_track(view_scene *scene, uint32_t number);
void scene_publish(view_scene *scene, uint32_t count);

/* tracks.c: the tracks that are known without looking at events. */
hd_status scene_make_tracks(view_scene *scene, hd_error *err);
/* The section of a process or of the process of a thread, HD_NONE: none. */
uint32_t scene_section_of(const view_scene *scene, uint32_t source);

/* names.c: names of tracks, malloc'ed; false: no memory. */
bool scene_name_lane(view_track *track, const hd_trace *trace, uint32_t name, const char *what, hd_ident ident);
typedef struct scene_process_name {
    uint32_t name, labels; /* string ids */
    hd_ident pid;
    bool is_device, tell_rank, tell_pid; /* where processes have several ranks; where others are called the same */
} scene_process_name;
bool scene_name_process(view_track *track, const hd_trace *trace, const scene_process_name *process);

/* gather.c: rows of a kind, lane by lane. */
typedef struct scene_lane {
    uint32_t *rows; /* in file order; malloc'ed */
    uint64_t count;
} scene_lane;

/* [source_count + 1]; free with scene_free_lanes. `threads` at most. */
hd_status scene_gather(scene_lane **out, const view_scene *scene, hd_kind kind, unsigned threads, hd_error *err);
void scene_free_lanes(scene_lane *lanes, const view_scene *scene);

/* layout.c: sets the rows of a track, which becomes ready. Takes lane->rows. */
hd_status scene_lay_out_lane(view_scene *scene, view_track *track, scene_lane *lane, hd_error *err);

/* summary.c: the summaries of all sections, which give busy_ns; once devices are known. */
hd_status scene_sum_up_sections(view_scene *scene, const atomic_bool *stop, hd_error *err);

/* async.c, counters.c */
hd_status scene_add_async(view_scene *scene, hd_error *err);
hd_status scene_add_counters(view_scene *scene, hd_error *err);

/* series.c: marks of a series of its own. */
hd_status view_series_index(view_series *series, hd_error *err);

#endif
