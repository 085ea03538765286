/* fidelity_lanes.c - which slices of a track cross others, and which they cross
 *
 * The rows of a track hold its slices apart; here they come together in start order again, and whoever ends behind an
 * open one crosses it, as when they were laid out (rows.h).
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/vector.h"
#include "view/fidelity.h"

enum { READ_AHEAD = 64, BUFFERED = 1 << 16 };

/* One row on its way. */
typedef struct lane_cursor {
    const view_row *row;
    uint32_t depth;
    uint64_t next; /* position behind the buffer */
    size_t at, count;
    view_slice *buffer;
} lane_cursor;

typedef struct lane_walk {
    const hd_trace *trace;
    lane_cursor *heap; /* the earliest slice first */
    size_t count, read_ahead;
    view_slice *buffers;
} lane_walk;

static bool fill(lane_walk *walk, lane_cursor *cursor)
{
    cursor->at = 0;
    cursor->count = view_row_read(cursor->buffer, cursor->row, walk->trace, cursor->next, walk->read_ahead);
    cursor->next += cursor->count;
    return cursor->count > 0;
}

static bool before(const lane_cursor *a, const lane_cursor *b)
{
    const view_slice *x = &a->buffer[a->at], *y = &b->buffer[b->at];
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns;
    return a->depth < b->depth;
}

static void sift_down(lane_walk *walk, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < walk->count; at = child) {
        if (child + 1 < walk->count && before(&walk->heap[child + 1], &walk->heap[child])) child++;
        if (!before(&walk->heap[child], &walk->heap[at])) return;
        lane_cursor swap = walk->heap[at];
        walk->heap[at] = walk->heap[child];
        walk->heap[child] = swap;
    }
}

static bool begin(lane_walk *walk, const view_rows *rows, const hd_trace *trace)
{
    size_t ahead = rows->count ? BUFFERED / rows->count : READ_AHEAD;
    *walk = (lane_walk){.trace = trace, .read_ahead = ahead > READ_AHEAD ? READ_AHEAD : ahead ? ahead : 1};
    walk->heap = malloc(((size_t)rows->count + 1) * sizeof *walk->heap);
    walk->buffers = malloc(((size_t)rows->count + 1) * walk->read_ahead * sizeof *walk->buffers);
    if (!walk->heap || !walk->buffers) return false;
    for (uint32_t i = 0; i < rows->count; i++) {
        lane_cursor *cursor = &walk->heap[walk->count];
        *cursor = (lane_cursor){.row = &rows->rows[i], .depth = i, .buffer = walk->buffers + i * walk->read_ahead};
        if (fill(walk, cursor)) walk->count++;
    }
    for (size_t i = walk->count / 2; i-- > 0;) sift_down(walk, i);
    return true;
}

static bool next_slice(lane_walk *walk, view_slice *out)
{
    if (!walk->count) return false;
    lane_cursor *first = &walk->heap[0];
    *out = first->buffer[first->at++];
    if (first->at == first->count && !fill(walk, first)) walk->heap[0] = walk->heap[--walk->count];
    sift_down(walk, 0);
    return true;
}

typedef struct open_slice {
    int64_t end_ns;
    uint32_t row;
} open_slice;

typedef struct open_slices {
    open_slice *list;
    size_t count, capacity;
} open_slices;

/* Opens a slice; the row of the outermost that it crosses, HD_NONE: of none. */
static bool open_one(open_slices *open, const view_slice *slice, uint32_t *out_crossed)
{
    bool long_one = slice->end_ns > slice->start_ns || slice->start_ns == INT64_MAX;
    int64_t least = long_one ? slice->end_ns : slice->start_ns + 1;
    *out_crossed = HD_NONE;
    while (open->count && open->list[open->count - 1].end_ns < least) {
        const open_slice *top = &open->list[--open->count];
        if (top->end_ns > slice->start_ns) *out_crossed = top->row;
    }
    if (slice->end_ns == slice->start_ns) return true;
    if (!hd_grow((void **)&open->list, &open->capacity, open->count, sizeof *open->list)) return false;
    open->list[open->count++] = (open_slice){slice->end_ns, slice->row};
    return true;
}

hd_status view_fidelity_lanes(view_fidelity *fidelity, const view_scene *scene, const view_track *track, hd_error *err)
{
    lane_walk walk;
    open_slices open = {0};
    view_slice slice;
    bool fine = begin(&walk, &track->rows, view_scene_trace(scene));
    while (fine && next_slice(&walk, &slice)) {
        uint32_t crossed;
        fine = open_one(&open, &slice, &crossed);
        if (fine && crossed != HD_NONE) fine = view_doubt_add(fidelity, VIEW_ON_LANES, slice.row, crossed);
    }
    free(walk.heap);
    free(walk.buffers);
    free(open.list);
    return fine ? HD_OK : HD_NOMEM(err);
}
