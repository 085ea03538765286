/* place_merge.c - slices of many rows in one order: a heap of the rows' next slices */
#include <stdlib.h>

#include "base/error.h"
#include "base/heap.h"
#include "view/scene/place.h"

enum { PIECE = 128, SMALL_PIECE = 8, MANY_ROWS = 1024 };

/* One row on its way. */
typedef struct merge_row {
    const view_row *row;
    uint64_t next; /* to be read after those here */
    uint32_t at, count;
    view_slice *slices; /* view_merge.piece of them */
} merge_row;

struct view_merge {
    const hd_trace *trace;
    int64_t until_ns;
    size_t piece;
    merge_row *rows;
    uint32_t *heap; /* rows that have a next slice, the first of all on top */
    size_t heap_count;
    view_slice *slices;
    view_slice given;
};

static bool refill(view_merge *m, merge_row *r)
{
    r->count = (uint32_t)view_row_read(r->slices, r->row, m->trace, r->next, m->piece);
    r->next += r->count;
    r->at = 0;
    return r->count > 0 && r->slices[0].start_ns < m->until_ns;
}

static bool comes_before(const view_merge *m, uint32_t a, uint32_t b)
{
    const merge_row *x = &m->rows[a], *y = &m->rows[b];
    return view_slice_compare(&x->slices[x->at], &y->slices[y->at]) < 0;
}

hd_status view_merge_new(view_merge **out, const view_row *const *rows, size_t count, const hd_trace *trace,
                         int64_t from_ns, int64_t until_ns, hd_error *err)
{
    view_merge *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return HD_NOMEM(err);
    m->trace = trace;
    m->until_ns = until_ns;
    m->piece = count > MANY_ROWS ? SMALL_PIECE : PIECE;
    m->rows = calloc(count + 1, sizeof *m->rows);
    m->heap = malloc((count + 1) * sizeof *m->heap);
    m->slices = malloc((count + 1) * m->piece * sizeof *m->slices);
    if (!m->rows || !m->heap || !m->slices) {
        view_merge_free(m);
        return HD_NOMEM(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        merge_row *r = &m->rows[i];
        r->row = rows[i];
        r->slices = m->slices + i * m->piece;
        if (rows[i]->count == 0) continue;
        r->next = view_row_find(rows[i], trace, from_ns);
        if (refill(m, r)) HD_HEAP_PUSH(m->heap, m->heap_count, i, x, y, comes_before(m, *x, *y));
    }
    *out = m;
    return HD_OK;
}

void view_merge_free(view_merge *merge)
{
    if (!merge) return;
    free(merge->rows);
    free(merge->heap);
    free(merge->slices);
    free(merge);
}

const view_slice *view_merge_next(view_merge *merge)
{
    if (merge->heap_count == 0) return NULL;
    merge_row *r = &merge->rows[merge->heap[0]];
    merge->given = r->slices[r->at++];
    bool more = r->at < r->count ? r->slices[r->at].start_ns < merge->until_ns : refill(merge, r);
    if (more)
        HD_HEAP_SINK(merge->heap, merge->heap_count, 0, merge->heap[0], x, y, comes_before(merge, *x, *y));
    else
        HD_HEAP_POP(merge->heap, merge->heap_count, x, y, comes_before(merge, *x, *y));
    return &merge->given;
}
