/* session.h - the open traces: read in the background, laid out, closed
 *
 * Any thread may call. Traces are numbered from 0, and a number is not used again. The scene of a closed trace is freed
 * once all requests (view_session_enter) that began before are answered.
 *
 * In: paths. Out: scenes. Begin with session.c.
 */
#ifndef HD_VIEW_SESSION_SESSION_H
#define HD_VIEW_SESSION_SESSION_H

#include "base/json/write.h"
#include "heddle/view.h"
#include "view/scene/scene.h"

typedef struct view_session view_session;

typedef enum view_trace_state { VIEW_READING, VIEW_READY, VIEW_FAILED, VIEW_CLOSED } view_trace_state;

/* Zero-initialised is fine. */
typedef struct view_session_options {
    unsigned threads;      /* of reading, 0: one per core */
    uint64_t memory_limit; /* of all traces; 0: 64 MiB */
    size_t expected;       /* how many will share it; 0: one */
    const char *binary;    /* of those that are added by their path, as in hd_read_options; copied */
    const char *counters;  /* likewise, as in hd_view_options; copied */
    const char *traces;    /* as in view_ranks_options; copied */
    const char *engine;    /* as in hd_view_options; copied */
    bool is_stepped;       /* no threads of its own: the caller runs view_session_step */
    uint32_t diff_before;  /* the first traces are the side before of a diff; 0: there is none */
    uint32_t diff_count;   /* traces of both sides */
    hd_view_failed *failed;
    void *failed_user;
} view_session_options;

hd_status view_session_new(view_session **out, const view_session_options *options, hd_error *err);
/* Ends all work, waits for it, and frees the scenes. NULL is fine. */
void view_session_free(view_session *session);
/* Requests all work to end; view_session_is_idle returns whether it has. */
void view_session_stop(view_session *session);
bool view_session_is_idle(view_session *session);

/* A stepped session reads one trace, or does one step of a layout; requests are answered between two calls, on the same
 * thread. Returns false if nothing is left to do. */
bool view_session_step(view_session *session);

/* Each adds a trace and sets *out to its number. */
hd_status view_session_add(uint32_t *out, view_session *session, const char *path, hd_error *err);
/* The same with only the first seconds of the trace, which need about `memory` bytes; 0: all of it. */
hd_status view_session_add_head(uint32_t *out, view_session *session, const char *path, uint64_t memory, hd_error *err);
/* As view_session_add, unless one of this path is there already. */
hd_status view_session_open(uint32_t *out, view_session *session, const char *path, hd_error *err);
/* From an open file, which is taken, also after an error; `name` is shown to users. */
hd_status view_session_add_file(uint32_t *out, view_session *session, int fd, const char *name, hd_error *err);
/* While a request is answered no scene that it may have found is freed. Without it, those of traces that stay open may
 * be used. */
typedef struct view_use {
    struct view_use *next, *previous;
    uint64_t since; /* closings before it */
} view_use;
void view_session_enter(view_use *out, view_session *session);
void view_session_leave(view_use *use, view_session *session);

/* Closes a trace for all clients: it is no longer part of any answer. Its memory is freed as soon as no request uses
 * it. Errors: ARGUMENT: it is being read, is a side of a diff, or is closed already. `trace` is below the count. */
hd_status view_session_close(view_session *session, uint32_t trace, hd_error *err);
/* An existing scene, which is taken, also after an error; no further work is done on it. For tests. */
hd_status view_session_add_scene(uint32_t *out, view_session *session, view_scene *scene, const char *name,
                                 hd_error *err);

uint32_t view_session_count(view_session *session);
size_t view_session_count_of(view_session *session, view_trace_state state);
/* Bytes of the traces that are being read, so far and in all. */
void view_session_progress(uint64_t *out_done, uint64_t *out_total, view_session *session);
/* Number of traces added by path that could not be read, without those sent by clients. */
size_t view_session_failures(view_session *session);
/* Its display name; NULL: no such trace. Lives as long as the session. */
const char *view_session_name(view_session *session, uint32_t trace);
/* The path it was read from; NULL: none. Lives as long as the session. */
const char *view_session_path(view_session *session, uint32_t trace);
/* The scene of a trace: *out is NULL unless it is ready. `trace` is below the count. */
view_trace_state view_session_scene(view_scene **out, view_session *session, uint32_t trace);
/* A scene that this request has had from view_session_scene; its trace may be closed by now. */
view_scene *view_session_scene_again(view_session *session, uint32_t trace);
/* Grows whenever view_session_write would say something new. */
uint64_t view_session_revision(view_session *session);
/* A scene has new tracks: notifies clients that wait for news. */
void view_session_tell(view_session *session);
/* engine.html, with which the web UI saves traces as one HTML file; NULL: none. Lives as long as the session. */
const char *view_session_engine(const view_session *session);
/* The ranks of a job (view/ranks/ranks.h). */
struct view_ranks *view_session_ranks(view_session *session);
/* State of SQL queries (view/sql/sql.h). */
struct view_sql *view_session_sql(view_session *session);
/* How many traces are on both sides of a diff, of which the first *out_before are before; 0: no diff. */
uint32_t view_session_diff(uint32_t *out_before, const view_session *session);
/* Writes the answer of /api/session. */
void view_session_write(hd_json_out *out, view_session *session);
/* `news` is called from any thread after the revision grew, with the session's lock not held; NULL: no more. */
void view_session_on_news(view_session *session, void (*news)(void *user), void *user);

#endif
