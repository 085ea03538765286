/* ranks.h - the ranks of a job as the page shows them: their summaries, and of these a picture of rank by step
 *
 * The summaries are those of .hds files and of traces that are read one after the other, each once; where there are
 * none, those of the session's open traces. Any thread may ask.
 *
 * In: paths, a session. Out: a picture. Begin with ranks.c, which keeps the summaries; picture.c reads steps and
 * breakdown of each, late.c the collectives, roles.c the process groups.
 */
#ifndef HD_VIEW_RANKS_RANKS_H
#define HD_VIEW_RANKS_RANKS_H

#include "base/json/write.h"
#include "heddle/job.h"
#include "heddle/view.h"
#include "report/job/roles.h"

typedef struct view_session view_session; /* view/session/session.h */
typedef struct view_ranks view_ranks;

/* Zero-initialised is fine, but for `news`. */
typedef struct view_ranks_options {
    unsigned threads;      /* of reading, 0: one per core */
    uint64_t memory_limit; /* of the one trace that is being read */
    const char *traces;    /* a folder with the traces of .hds files; NULL: those where the files are. Copied */
    hd_view_failed *failed;
    void *user;
    void (*news)(void *session); /* from a thread of its own: view_ranks_write would say something new */
    void *session;
} view_ranks_options;

hd_status view_ranks_new(view_ranks **out, const view_ranks_options *options, hd_error *err);
void view_ranks_free(view_ranks *ranks); /* stops, and waits for it */
void view_ranks_stop(view_ranks *ranks);

bool view_ranks_is_idle(view_ranks *ranks);

/* Add .hds files, and traces of which only the summary is kept. They are read later, on a thread. Called once at
 * most. */
hd_status view_ranks_add(view_ranks *ranks, const char *const *paths, size_t count, hd_error *err);
size_t view_ranks_waiting(view_ranks *ranks);  /* files that are still to be read */
size_t view_ranks_failures(view_ranks *ranks); /* that could not be read */
/* "null", if none was added, else what /api/session says of a job. */
void view_ranks_write(hd_json_out *out, view_ranks *ranks);

/* ---- pictures ---- */

typedef enum view_figure { VIEW_TIME, VIEW_EXPOSED, VIEW_IDLE, VIEW_START, VIEW_FIGURES } view_figure;

/* A device of a rank. */
typedef struct view_picture_row {
    int64_t rank, device; /* HD_NO_NUMBER: unknown */
    uint32_t source;      /* of the summaries */
    uint32_t member;      /* of its job */
    const hd_job_member *about;
    int64_t trace; /* of the session; -1: not open, or that is not known */
} view_picture_row;

/* What row r did in step s stands at r * step_count + s: ns, HD_NO_NUMBER: not known. */
typedef struct view_picture {
    uint64_t number; /* another for each */
    size_t row_count, step_count;
    view_picture_row *rows; /* by rank, the unknown last */
    hd_string *steps;       /* names, by the number in them if all have one */
    int64_t *figures[VIEW_FIGURES];
    int64_t *late;                  /* NULL: view_ranks_late was not called */
    int64_t *roles[JOB_DIMENSIONS]; /* by row: its position, HD_NO_NUMBER: none; NULL: no row has one */
    char *lost;                     /* damaged summaries, a line each; NULL: none */
    char *late_lost;                /* those whose collectives are */
    bool differs;                   /* ranks of a group have not the same collectives: these tell no lateness */
    /* rows of a summary (by source, then member): row_of[first[i]] … row_of[first[i + 1] - 1] */
    uint32_t *first, *row_of;
    size_t member_count;
} view_picture;

/* The picture as of now, which nobody changes before it is given back. Errors: MEMORY; those of hd_job_add_trace. */
hd_status view_ranks_take(const view_picture **out, view_ranks *ranks, view_session *session, hd_error *err);
void view_ranks_give(view_ranks *ranks);
/* Fill in `late`, `late_lost`, `differs` and `roles` of the picture that was taken. Errors: MEMORY. */
hd_status view_ranks_late(view_ranks *ranks, hd_error *err);
/* What could not be read or summarised, a line each. */
void view_ranks_lost(hd_json_out *out, view_ranks *ranks);
/* Where the trace of a row lies, malloc'ed. Errors: IO: it is in no folder that is known. */
hd_status view_ranks_file(char **out, const view_ranks *ranks, const view_picture_row *row, hd_error *err);

#endif
