/* impl.h - shared by the files of this folder */
#ifndef HD_VIEW_RANKS_IMPL_H
#define HD_VIEW_RANKS_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "view/ranks/ranks.h"

/* Summaries that came together. */
typedef struct ranks_source {
    hd_job *job;
    char *path;      /* of its trace; NULL: of several, or of one that came without a path */
    int64_t trace;   /* of the session; -1: none */
    bool is_dropped; /* that was closed */
} ranks_source;

struct view_ranks {
    view_ranks_options options;
    pthread_mutex_t lock; /* of what follows */
    char **queue;         /* owned paths; only the thread orders them */
    size_t queue_count, done, failures;
    hd_json_out lost; /* unreadable inputs, a line each */
    int64_t told_ms;  /* when the session was last notified */
    ranks_source *sources;
    size_t source_count, source_capacity, drops;
    uint64_t revision;
    char **folders; /* that hold traces of .hds files */
    size_t folder_count, folder_capacity;
    bool has_thread, is_idle;
    pthread_t thread;
    atomic_bool stop;
    /* Read-locked by users of a picture, write-locked to make one. */
    pthread_rwlock_t pictures;
    view_picture *picture; /* NULL: none yet */
    ranks_source *shown;   /* the sources that it was made of, in their state then */
    size_t shown_count, shown_drops;
    pthread_mutex_t lateness;  /* of `late` and `whole` in the picture */
    pthread_mutex_t open_lock; /* for data about open traces: open.c */
    struct ranks_open *open;   /* by trace */
    size_t open_count, open_capacity;
    pthread_mutex_t clock_lock;
    struct ranks_clocks *clocks; /* NULL: not computed yet */
};

/* A line about unreadable input: for the first LOST_TOLD. */
void ranks_add_lost(hd_json_out *lost, const char *name, size_t size, const hd_error *err);

hd_status ranks_picture_new(view_picture **out, const ranks_source *sources, size_t count, hd_error *err);
/* The first row of a member with this rank and device; HD_NONE: none. */
uint32_t ranks_row_of(const view_picture *picture, size_t member, int64_t rank, int64_t device);
void ranks_picture_free(view_picture *picture);
/* Fills in `roles`. lost: as of job_cells_of. */
hd_status ranks_roles(view_picture *picture, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                      hd_error *err);
/* Fills in all that view_ranks_late does. */
hd_status ranks_late(view_picture *picture, const ranks_source *sources, size_t count, hd_error *err);
/* Fills in `whole`. */
hd_status ranks_whole(view_picture *picture, const ranks_source *sources, size_t count, hd_error *err);
/* Of a picture with `late`: the number of collectives, and the index of a trace's collective. */
size_t ranks_meeting_count(const view_picture *picture);
view_meeting ranks_meeting_of(const view_picture *picture, const hd_collective *collective);
void ranks_open_free(view_ranks *ranks);
void ranks_open_drop(view_ranks *ranks, uint32_t trace); /* of a trace that was closed */

#endif
