/* impl.h - one thread's part of a selection */
#ifndef HD_VIEW_SELECT_IMPL_H
#define HD_VIEW_SELECT_IMPL_H

#include "view/scene/place.h"
#include "view/select/select.h"

enum { SELECT_CHUNK = 1 << 15, SELECT_LONG = 0xffffffff };

/* Durations in order of arrival; those of 2^32 - 1 ns and more are SELECT_LONG here and also in select_long. */
typedef struct select_chunk {
    struct select_chunk *next;
    uint32_t count;
    struct {
        uint32_t slot, duration;
    } entries[SELECT_CHUNK];
} select_chunk;

typedef struct select_long {
    uint32_t slot;
    int64_t duration;
} select_long;

typedef struct select_sum {
    uint32_t name, longest_row, longest_track;
    uint64_t count;
    int64_t total, self, min, max;
    double whole; /* sum of whole durations */
} select_sum;

/* A slice that is open. */
typedef struct select_open {
    int64_t end;
    uint32_t slot;
} select_open;

typedef struct select_worker {
    struct selector *selector;
    uint32_t *slot_of; /* by name: place in sums + 1 */
    select_sum *sums;
    size_t sum_count, sum_capacity;
    select_chunk *chunks; /* newest first */
    select_long *longs;
    size_t long_count, long_capacity;
    select_open *open;
    size_t open_count, open_capacity;
    uint64_t events, cut;
    hd_status status;
    hd_error error;
} select_worker;

/* A part of the time of a track; or, if all its slices nest, of one of its rows. */
typedef struct select_piece {
    uint32_t track;
    bool is_first, is_row;
    uint32_t depth;
    int64_t from, until;
    uint64_t first, end; /* of a row: positions of the slices */
} select_piece;

typedef struct selector {
    const view_scene *scene;
    int64_t from, until;
    uint32_t names; /* ids below this have a slot of their own, others that of no name */
    const atomic_bool *gone;
    select_piece *pieces;
    size_t piece_count, piece_capacity;
    atomic_size_t next;
    select_worker *workers;
    unsigned worker_count;
} selector;

/* select.c */
uint32_t select_slot(select_worker *w, uint32_t name);
bool select_count(select_worker *w, uint32_t slot, const view_slice *slice, uint32_t track);
/* row.c: parts of the rows of a track whose slices all nest, which need no common order. false: no memory. */
bool select_cut_rows(selector *s, const view_track *track);
hd_status select_sum_row(select_worker *w, const select_piece *piece);
static inline void select_add_time(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum)) *sum = INT64_MAX;
}

/* names.c: the workers' results, by name. */
hd_status select_names(view_selection *out, selector *s, hd_error *err);

#endif
