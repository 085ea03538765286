/* ranks.h - the ranks of a job for the web UI: their summaries, and a picture of rank by step made from these
 *
 * The summaries are those of .hds files and of traces that are read one after the other, without duplicates; if there
 * are none, those of the session's open traces. Any thread may call.
 *
 * In: paths, a session. Out: a picture. Begin with ranks.c, which keeps the summaries; picture.c reads steps and
 * breakdown of each, late.c the collectives, roles.c the process groups, whole.c all of a job; open.c compares traces
 * that are open.
 */
#ifndef HD_VIEW_RANKS_RANKS_H
#define HD_VIEW_RANKS_RANKS_H

#include "base/json/write.h"
#include "heddle/analysis/clocks.h"
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

/* Adds .hds files, and traces of which only the summary is kept. They are read later, on a thread. Called at most
 * once. */
hd_status view_ranks_add(view_ranks *ranks, const char *const *paths, size_t count, hd_error *err);
/* A trace of the session was closed: later pictures are without its summary, if that was made of the open trace. */
void view_ranks_drop(view_ranks *ranks, uint32_t trace);
size_t view_ranks_waiting(view_ranks *ranks);  /* files that are still to be read */
size_t view_ranks_failures(view_ranks *ranks); /* that could not be read */
/* Whether files were added and the session has not been notified of that revision of the job yet. */
bool view_ranks_lacks(view_ranks *ranks, uint64_t revision);
/* "null" if none was added, else the job's part of /api/session. */
void view_ranks_write(hd_json_out *out, view_ranks *ranks);

/* ---- pictures ---- */

typedef enum view_figure { VIEW_TIME, VIEW_EXPOSED, VIEW_IDLE, VIEW_START, VIEW_FIGURES } view_figure;

/* A device of a rank. */
typedef struct view_picture_row {
    int64_t rank, device; /* HD_NO_NUMBER: unknown */
    uint32_t source;      /* of the summaries */
    uint32_t member;      /* of its job */
    const hd_job_member *about;
    int64_t trace;          /* of the session; -1: not open, or that is not known */
    const int64_t *figures; /* of the cells of its summary, `count` of each figure */
    const uint32_t *cells;  /* the cells of a step; HD_NONE: none */
    size_t count;
} view_picture_row;

/* The value of row r in step s: ns, HD_NO_NUMBER: unknown; at r * step_count + s. */
typedef struct view_picture {
    uint64_t number; /* another for each */
    size_t row_count, step_count;
    view_picture_row *rows;           /* by rank, the unknown last */
    hd_string *steps;                 /* names, sorted by the number in them if all have one */
    int64_t *late;                    /* NULL: view_ranks_late was not called */
    int64_t *roles[JOB_DIMENSIONS];   /* by row: its position, HD_NO_NUMBER: none; NULL: no row has one */
    char *lost;                       /* damaged summaries, a line each; NULL: none */
    char *late_lost;                  /* members with unreadable collectives */
    struct job_meetings *collectives; /* with `late` */
    bool differs;                     /* ranks of a group have different collectives: these have no lateness */
    /* rows of a summary (by source, then member): row_of[first[i]] … row_of[first[i + 1] - 1] */
    uint32_t *first, *row_of;
    size_t member_count;
    struct hd_arena *memory; /* of figures and cells: of each thread that read */
    hd_job *whole;           /* of several sources; NULL: view_ranks_job was not called */
} view_picture;

static inline int64_t view_picture_at(const view_picture *picture, view_figure figure, size_t row, size_t step)
{
    const view_picture_row *of = &picture->rows[row];
    return of->cells[step] == HD_NONE ? HD_NO_NUMBER : of->figures[figure * of->count + of->cells[step]];
}

/* The current picture, which does not change until it is given back. Errors: MEMORY; those of hd_job_add_trace. */
hd_status view_ranks_take(const view_picture **out, view_ranks *ranks, view_session *session, hd_error *err);
void view_ranks_give(view_ranks *ranks);
/* Fill in `late`, `late_lost`, `differs` and `roles` of the picture that was taken. Errors: MEMORY. */
hd_status view_ranks_late(view_ranks *ranks, hd_error *err);
/* All summaries of the picture that was taken, as one job; borrowed until it is given back. Errors: MEMORY; those of
 * hd_job_add_bytes. */
hd_status view_ranks_job(const hd_job **out, view_ranks *ranks, hd_error *err);
/* Inputs that could not be read or summarised, a line each. */
void view_ranks_lost(hd_json_out *out, view_ranks *ranks);
/* ---- traces that are open ---- */

/* A collective of the job, of all ranks that have it: of that number in each. */
typedef struct view_meeting {
    uint32_t number;                /* HD_NONE: no other rank is known to have it, or ranks differ */
    uint32_t ranks;                 /* that have it, 0: not in the summaries */
    int64_t last_rank, last_device; /* the shortest there, so that it came last; of several the lowest. rank: or the
                                       place of its summary. HD_NO_NUMBER: all came at once */
    int64_t longest, shortest;
} view_meeting;

/* The collectives of one trace with their index in the picture, which has `late`. Locked until they are given back.
 * Errors: MEMORY; LIMIT: not laid out yet. */
typedef struct view_collectives {
    const hd_collectives *list;
    const view_meeting *meetings; /* by place in the list */
} view_collectives;
hd_status view_ranks_collectives(view_collectives *out, size_t *out_meetings, view_ranks *ranks,
                                 const view_picture *picture, view_session *session, const uint32_t *traces,
                                 size_t count, hd_error *err);
void view_ranks_give_collectives(view_ranks *ranks);

/* What is known about a trace's clock. */
typedef struct view_clock {
    uint32_t trace, host; /* host: traces with the same host have one clock; HD_NONE: of no known rank */
    hd_clock_basis basis;
    const char *why;          /* why nothing is known; static; NULL: it is known */
    int64_t place_ns;         /* of its start behind that of the first, on the clock of that */
    int64_t shift_ns, bar_ns; /* the shift at the middle of the trace, and its maximal error in the whole trace */
    uint64_t collectives;     /* that it rests on */
    size_t ranks;             /* whose collectives were compared for it and all others: */
    bool is_of_job;           /* those of the job, not only of the traces that are ready */
} view_clock;

/* Of all ready traces, from their own collectives, or from those of all members of a job of moderate size if these give
 * more clocks or smaller bars; the caller frees *out. Errors: MEMORY; LIMIT: not laid out yet. */
hd_status view_ranks_clocks(view_clock **out, size_t *out_count, view_ranks *ranks, const view_picture *picture,
                            view_session *session, hd_error *err);

/* The path of a row's trace, malloc'ed. Errors: IO: it is in no known folder. */
hd_status view_ranks_file(char **out, const view_ranks *ranks, const view_picture_row *row, hd_error *err);

#endif
