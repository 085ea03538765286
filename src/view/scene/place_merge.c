/* place_merge.c - slices of many rows in one order: a heap of the rows' next slices */
#include <stdlib.h>

#include "base/error.h"
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

static const view_slice *head(const view_merge *m, size_t place)
{
    const merge_row *r = &m->rows[m->heap[place]];
    return &r->slices[r->at];
}

static void sink(view_merge *m, size_t place)
{
    uint32_t row = m->heap[place];
    const view_slice *slice = head(m, place);
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= m->heap_count) break;
        if (child + 1 < m->heap_count && view_slice_compare(head(m, child + 1), head(m, child)) < 0) child++;
        if (view_slice_compare(slice, head(m, child)) <= 0) break;
        m->heap[place] = m->heap[child];
        place = child;
    }
    m->heap[place] = row;
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
    for (size_t i = 0; i < count; i++) {
        merge_row *r = &m->rows[i];
        r->row = rows[i];
        r->slices = m->slices + i * m->piece;
        if (rows[i]->count == 0) continue;
        r->next = view_row_find(rows[i], trace, from_ns);
        if (refill(m, r)) m->heap[m->heap_count++] = (uint32_t)i;
    }
    for (size_t place = m->heap_count / 2; place-- > 0;) sink(m, place);
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
    if (!more) merge->heap[0] = merge->heap[--merge->heap_count];
    if (merge->heap_count) sink(merge, 0);
    return &merge->given;
}
