/* sweep.h - divides time among concurrent events: segments, bins of equal length, unions of spans */
#ifndef HD_MODEL_SWEEP_SWEEP_H
#define HD_MODEL_SWEEP_SWEEP_H

#include "model/scope/scope.h"
#include "model/steps/steps.h"

/* The begin (change 1) or end (-1) of an event of a kind, which is kind % GPU_KINDS for gpu_stretch. */
enum { GPU_KINDS = 4 };
typedef struct gpu_edge {
    int64_t time;
    uint32_t kind;
    int32_t change;
} gpu_edge;

/* Zero-initialised is empty. */
typedef struct gpu_sweep {
    gpu_edge *edges;
    size_t count, capacity;
    uint64_t large;
    uint32_t *each; /* by whole kind: how many run during a stretch; zeros of the caller. NULL: all kinds < GPU_KINDS */
} gpu_sweep;

/* [start, end); nothing if that is empty. false: no memory. */
bool gpu_sweep_add(gpu_sweep *sweep, int64_t start, int64_t end, uint32_t kind);
void gpu_sweep_deinit(gpu_sweep *sweep);
/* A segment of a part in which nothing begins or ends. */
typedef struct gpu_stretch {
    int64_t start, end;
    uint32_t window;
    uint32_t running[GPU_KINDS]; /* how many of each kind */
} gpu_stretch;
/* Called for the consecutive parts: all of their time, in order, segment by segment. */
typedef hd_status gpu_stretch_found(void *user, const gpu_stretch *stretch, hd_error *err);
hd_status gpu_sweep_run(gpu_sweep *sweep, const gpu_piece *pieces, size_t count, gpu_stretch_found *found, void *user,
                        hd_error *err);

/* The window of a device cut into bins of equal length, up to rounding to ns; count 0: it has no time. */
typedef struct gpu_pieces {
    int64_t start, end;
    uint32_t count;
} gpu_pieces;
enum { GPU_PIECES_MAX = 10000, GPU_PIECES_ROWS = 200000 /* of all rows of GPUs together */ };
#define GPU_OPTION_PIECES(type, table)                                                                                 \
    {                                                                                                                  \
        "pieces", HD_OPTION_COUNT, NULL, "divide the time into this many bins, 10,000 at most: the table " table,      \
            offsetof(type, pieces)                                                                                     \
    }
gpu_pieces gpu_pieces_of(const gpu_scope *scope, uint32_t device, uint64_t wanted);
/* The begin of bin i; that after the last is the end. */
static inline int64_t gpu_piece_start(const gpu_pieces *pieces, uint32_t i)
{
    return pieces->start + (int64_t)((gpu_i128)(pieces->end - pieces->start) * i / pieces->count);
}
/* Adds `rate` times the part of [start, end) in each bin. */
void gpu_pieces_add(double *sums, const gpu_pieces *pieces, int64_t start, int64_t end, double rate);

/* A set of times: sorted, and no two touch. */
typedef struct gpu_span {
    int64_t start, end;
} gpu_span;
typedef struct gpu_spans {
    gpu_span *list;
    int64_t *before; /* length of all before each, and of all after the last */
    size_t count;
} gpu_spans;
/* Of count spans in any order, which it sorts; takes the list, an hd_large. false: no memory, the list is freed. */
bool gpu_spans_union(gpu_spans *out, gpu_span *list, size_t count, uint64_t large);
void gpu_spans_deinit(gpu_spans *spans);
/* The part of [start, end) that they cover. O(log n). */
int64_t gpu_spans_covered(const gpu_spans *spans, int64_t start, int64_t end);

#endif
