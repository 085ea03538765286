/* scene.h - a trace as the viewer shows it: tracks, and on each track rows of slices that do not overlap
 *
 * A scene is made in steps, by one worker thread, while any number of threads read it: the tracks of the trace exist at
 * once; their rows are laid out one track after the other (view_track.ready); derived tracks come last
 * (view_scene_add). Published data never changes and lives as long as the scene.
 *
 * In: a trace. Out: tracks with rows. Begin with work.c, which names the steps in order.
 */
#ifndef HD_VIEW_SCENE_SCENE_H
#define HD_VIEW_SCENE_SCENE_H

#include <stdatomic.h>

#include "heddle/analysis/launches.h"
#include "heddle/index.h"
#include "heddle/trace.h"
#include "view/rows/keep.h"
#include "view/rows/rows.h"

typedef enum view_track_kind {
    VIEW_SECTION, /* a process, device, rank: has tracks below it, no events of its own */
    VIEW_SLICES,  /* slices, async slices, instants and samples (the latter two without length), derived ones */
    VIEW_COUNTER,
} view_track_kind;

/* Samples of one counter, in order of time. */
typedef struct view_series {
    uint32_t name; /* as view_scene_text */
    const char *unit;
    size_t count;
    int64_t *times_ns; /* absolute */
    double *values;
    uint32_t *rows; /* of the counter table; NULL: derived */
    bool ends;      /* ends with its last sample; else that is valid for ever */
    double min, max;
    struct view_series_marks *marks; /* NULL: few samples; view_scene_add makes them */
    view_kept kept; /* location of times, values and rows; else each is malloc'ed. view_scene_add moves them */
} view_series;

/* view_track.order of tracks of one parent: derived ones of a section may have any below VIEW_ORDER_ASYNC. */
enum { VIEW_ORDER_ASYNC = 1 << 20, VIEW_ORDER_COUNTERS = 2 << 20, VIEW_ORDER_THREADS = 3 << 20 };

typedef struct view_track {
    uint32_t id, parent; /* HD_NONE: none */
    view_track_kind kind;
    const char *role; /* as in docs/reference/view-protocol.md; static */
    char *name;       /* malloc'ed, with its size: may hold NUL */
    size_t name_size;
    char *detail;    /* malloc'ed, NULL: none */
    uint32_t source; /* track of the trace, HD_NONE: none */
    hd_kind events;  /* table that the rows of its slices are of */
    bool derived;    /* made from other events: `row` of a slice is the first event that it represents */
    bool collapsed;  /* at first */
    bool told; /* a device's track without activities of its own: annotations, sums. It never counts as busy; valid once
                  ready */
    int64_t rank, device, stream, order; /* HD_NO_NUMBER: unknown; `order` sorts tracks of one parent */
    /* For tracks of the trace these are from its tables, and become exact when the track is ready. */
    _Atomic(uint64_t) event_count, on_lanes;
    _Atomic(int64_t) start_ns, end_ns, busy_ns; /* HD_NO_TIME: no events, unknown yet */
    view_rows rows;                             /* VIEW_SLICES, once ready: by depth */
    view_row summary;    /* once ready: the union of all rows; of a device's track with activities: of these; for a
                            section see view_scene_summary */
    view_series *series; /* VIEW_COUNTER */
    uint32_t series_count;
    _Atomic(int) ready; /* set with release order when rows, series and summary may be read; of a section initially 1,
                           and 2 with summary and busy_ns */
} view_track;

typedef struct view_scene view_scene;

/* Called by a scene's worker when there is something new to show; `what` is a text for users, "" when done. */
typedef void view_scene_news(void *user, const char *what);

/* Takes the trace, which is freed with the scene, also after an error. Tracks are there when this returns; no layout.
 */
hd_status view_scene_new(view_scene **out, hd_trace *trace, hd_error *err);
void view_scene_free(view_scene *scene);
/* Does the rest: lays out all tracks, finds launches, derives tracks. On a thread of the caller's; returns early once
 * *stop. */
hd_status view_scene_work(view_scene *scene, const atomic_bool *stop, view_scene_news *news, void *user, hd_error *err);
/* The same for a caller without threads: one step, numbered from 0, at each call. HD_END: there are no more. */
hd_status view_scene_work_step(view_scene *scene, size_t step, view_scene_news *news, void *user, hd_error *err);

const hd_trace *view_scene_trace(const view_scene *scene);
const hd_index *view_scene_index(const view_scene *scene); /* NULL: not built yet */
int64_t view_scene_start(const view_scene *scene);         /* ns: the zero of the page's times */
int64_t view_scene_span(const view_scene *scene);          /* ns, at least 1 */
uint32_t view_scene_revision(const view_scene *scene);     /* of the tracks */
uint32_t view_scene_track_count(const view_scene *scene);
view_track *view_scene_track(const view_scene *scene, uint32_t track);
/* Ids of the current tracks in display order. Computed once per number of tracks (any thread; concurrent callers wait);
 * give it back when done. Errors: MEMORY. */
typedef struct view_order {
    uint32_t count, *ids;
    unsigned users; /* the scene's own, if it is the newest */
} view_order;
hd_status view_scene_order(const view_order **out, const view_scene *scene, hd_error *err);
void view_scene_order_done(const view_order *order, const view_scene *scene);
/* The track of the scene with the events of a track of the trace (its twins share one), HD_NONE: none. */
uint32_t view_scene_track_of(const view_scene *scene, uint32_t source, hd_kind kind);
/* The track of an event, also for async points and samples of counters; HD_NONE: none (other kinds, no time) or not
 * known yet. */
uint32_t view_scene_track_of_event(const view_scene *scene, hd_kind kind, uint64_t row);
/* The union of a track's rows; of a section: of all slices of the trace below it; NULL: not laid out yet. That of a
 * section is made at first use. Any thread. Errors: MEMORY. */
hd_status view_scene_summary(const view_row **out, view_scene *scene, uint32_t track, hd_error *err);
/* NULL: not found yet. */
const hd_launches *view_scene_launches(const view_scene *scene);
/* The roles of its slices (model/roles/trace_roles.h), which are cached. */
struct hd_roles *view_scene_roles(const view_scene *scene);

/* Results that routes compute once and store with the scene (view/queries/queries.h). Any thread. */
typedef struct view_queries view_queries;
view_queries *view_scene_queries(const view_scene *scene);
view_queries *view_queries_new(void); /* NULL: no memory */
void view_queries_free(view_queries *queries);

/* Names: string ids of the trace, followed by those of the scene's own texts. */
uint32_t view_scene_name(view_scene *scene, const char *data, size_t size); /* worker only; HD_NONE: no memory */
uint32_t view_scene_find_name(const view_scene *scene, const char *data, size_t size); /* HD_NONE: there is none */
hd_string view_scene_text(const view_scene *scene, uint32_t name);
uint32_t view_scene_name_count(const view_scene *scene);

/* Only for the worker and, when it is done, for a holder of view_queries.lock_tables (likewise view_scene_name): takes
 * tracks[0 … count) (also when it fails), assigns ids, makes the indexes for drawing rows and series, and publishes
 * them as ready. `parent` may refer to another track of the same call as HD_NONE - 1 - its index. */
hd_status view_scene_add(view_scene *scene, view_track *tracks, size_t count, hd_error *err);
void view_track_deinit(view_track *track);

/* Results of the worker's steps for routes, in memory of their own. NULL: not there yet. */
typedef enum view_note {
    VIEW_NOTE_CATEGORIES, /* categories and roles by string id: view/route/names.c */
    VIEW_NOTE_FIDELITY,   /* view_fidelity: view/fidelity/fidelity.h */
    VIEW_NOTE_SEARCH,     /* view_search_index: view/search/index.h */
    VIEW_NOTE_BOUNDS,     /* view_bounds: view/derive/bounds.h; none without GPU work */
    VIEW_NOTES
} view_note;
const void *view_scene_note(const view_scene *scene, view_note note);
/* Worker only, once for each: the scene takes it and calls `release` on it when it is freed. */
void view_scene_set_note(view_scene *scene, view_note note, void *data, void (*release)(void *data));

/* The steps of view_scene_work that are implemented elsewhere; each uses what earlier ones published: view/derive;
 * flows of view/queries, categories of route/names.c, search and fidelity of their own folders. */
typedef hd_status scene_derive(view_scene *scene, const atomic_bool *stop, hd_error *err);
scene_derive view_derive_device, /* compute, communication, copy, idle, exposed */
    view_derive_steps, view_derive_ops /* framework ops, name scopes */, view_derive_framework /* the same, of XLA */,
    view_derive_lines /* the user's line of each launch */,
    view_derive_launches /* latency, mean and max, as counters */, view_derive_memory /* live bytes by its instants */,
    view_derive_critical /* the critical path; a note */, view_derive_categories, view_derive_search, view_derive_flows,
    view_derive_fidelity;

#endif
