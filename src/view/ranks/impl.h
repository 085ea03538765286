/* impl.h - what the files of this room share */
#ifndef HD_VIEW_RANKS_IMPL_H
#define HD_VIEW_RANKS_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "view/ranks/ranks.h"

/* Summaries that came together. */
typedef struct ranks_source {
    hd_job *job;
    char *path;    /* of the trace that it is of; NULL: of several, or of one that came without a path */
    int64_t trace; /* of the session; -1: none */
} ranks_source;

struct view_ranks {
    view_ranks_options options;
    pthread_mutex_t lock; /* of what follows */
    char **queue;         /* owned paths; only the thread orders them */
    size_t queue_count, done, failures;
    hd_json_out lost; /* what could not be read, a line each */
    int64_t told_ms;  /* when the session was told last */
    ranks_source *sources;
    size_t source_count, source_capacity;
    uint64_t revision;
    char **folders; /* that hold traces of .hds files */
    size_t folder_count, folder_capacity;
    bool has_thread, is_idle;
    pthread_t thread;
    atomic_bool stop;
    /* Read by who has taken a picture, written by who makes one. */
    pthread_rwlock_t pictures;
    view_picture *picture; /* NULL: none yet */
    ranks_source *shown;   /* that it was made of, as they were then */
    size_t shown_count;
    pthread_mutex_t lateness;  /* of `late` in the picture */
    pthread_mutex_t open_lock; /* of what is known of open traces: open.c */
    struct ranks_open *open;   /* by trace */
    size_t open_count, open_capacity;
    pthread_mutex_t clock_lock;
    struct ranks_clocks *clocks; /* NULL: not asked for yet */
};

/* A line about what could not be read: of the first LOST_TOLD. */
void ranks_add_lost(hd_json_out *lost, const char *name, size_t size, const hd_error *err);

hd_status ranks_picture_new(view_picture **out, const ranks_source *sources, size_t count, hd_error *err);
/* The first row of a member that is of this rank and device; HD_NONE: it has none. */
uint32_t ranks_row_of(const view_picture *picture, size_t member, int64_t rank, int64_t device);
void ranks_picture_free(view_picture *picture);
/* Fills in `roles`. lost: as of job_cells_of. */
hd_status ranks_roles(view_picture *picture, const hd_job *const *jobs, size_t count, hd_table_builder *lost,
                      hd_error *err);
/* Fills in all that view_ranks_late does. */
hd_status ranks_late(view_picture *picture, const ranks_source *sources, size_t count, hd_error *err);
/* Of a picture with `late`: how many collectives there are, and what one of a trace is. */
size_t ranks_meeting_count(const view_picture *picture);
view_meeting ranks_meeting_of(const view_picture *picture, const hd_collective *collective);
void ranks_open_free(view_ranks *ranks);

#endif
