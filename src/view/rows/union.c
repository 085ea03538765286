/* union.c - merges several rows into one: a heap of rows by their next slice; overlapping slices are merged */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "view/rows/impl.h"

typedef struct union_source {
    row_reader reader;
    uint64_t at; /* of `slice` */
    view_slice slice;
} union_source;

typedef struct union_maker {
    union_source *sources; /* heap */
    size_t source_count;
    view_slice *slices;
    size_t count, capacity;
    int64_t longest; /* of the events that the last slice represents */
} union_maker;

static bool comes_before(const union_source *a, const union_source *b)
{
    if (a->slice.start_ns != b->slice.start_ns) return a->slice.start_ns < b->slice.start_ns;
    return a->slice.end_ns > b->slice.end_ns;
}

static void sift(union_maker *m, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < m->source_count; child++) {
            if (comes_before(&m->sources[child], &m->sources[least])) least = child;
        }
        if (least == i) return;
        union_source moved = m->sources[i];
        m->sources[i] = m->sources[least];
        m->sources[least] = moved;
        i = least;
    }
}

static int64_t length(const view_slice *s)
{
    int64_t ns;
    return __builtin_sub_overflow(s->end_ns, s->start_ns, &ns) ? INT64_MAX : ns;
}

/* Length of the longest event that a source's slice represents. If unknown, it is less than the whole. */
static int64_t longest_of(union_source *source)
{
    const view_slice *s = &source->slice;
    int64_t start, end;
    uint32_t within;
    if (!(s->flags & VIEW_SLICE_SEVERAL)) return length(s);
    if (!source->reader.data->is_of_table) return length(s) - 1;
    const hd_block *block = row_reader_block(&source->reader, s->row, &within);
    row_event_span(&start, &end, block, within, source->reader.data->open_end_ns);
    return length(&(view_slice){.start_ns = start, .end_ns = end});
}

static bool add_slice(union_maker *m, union_source *source)
{
    const view_slice *s = &source->slice;
    int64_t longest = longest_of(source);
    view_slice *last = m->count ? &m->slices[m->count - 1] : NULL;
    bool overlaps = last && (s->start_ns < last->end_ns || (s->start_ns == s->end_ns && s->start_ns == last->start_ns));
    if (!overlaps) {
        if (!hd_grow((void **)&m->slices, &m->capacity, m->count, sizeof *m->slices)) return false;
        m->slices[m->count++] = *s;
        m->longest = longest;
        return true;
    }
    if (s->end_ns > last->end_ns) last->end_ns = s->end_ns;
    if (longest > m->longest) {
        m->longest = longest;
        last->name = s->name;
        last->row = s->row;
    }
    last->flags |= s->flags & VIEW_SLICE_NO_END;
    last->flags &= ~(uint32_t)VIEW_SLICE_SEVERAL;
    if (length(last) > m->longest) last->flags |= VIEW_SLICE_SEVERAL;
    return true;
}

/* Later unions of it use the events that it represents, if all are of one table. */
static void remember_table(view_row_data *data, const view_row *const *rows, size_t count)
{
    const view_row_data *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const view_row_data *source = rows[i]->data;
        if (rows[i]->count == 0) continue;
        if (!first) first = source;
        if ((source->slices && !source->is_of_table) || source->kind != first->kind) return;
    }
    data->is_of_table = true;
    data->kind = first->kind;
    data->open_end_ns = first->open_end_ns;
}

hd_status view_rows_union(view_row *out, const view_row *const *rows, size_t count, const hd_trace *trace,
                          hd_error *err)
{
    union_maker m = {.sources = malloc((count + 1) * sizeof *m.sources)};
    bool fine = m.sources != NULL;
    *out = (view_row){0};
    for (size_t i = 0; i < count && fine; i++) {
        if (rows[i]->count == 0) continue;
        union_source *source = &m.sources[m.source_count++];
        source->reader = row_reader_of(rows[i]->data, trace);
        source->at = 0;
        row_read_absolute(&source->slice, &source->reader, 0);
    }
    for (size_t i = m.source_count / 2; i-- > 0;) sift(&m, i);
    while (fine && m.source_count) {
        union_source *source = &m.sources[0];
        fine = add_slice(&m, source);
        if (++source->at < source->reader.data->count)
            row_read_absolute(&source->slice, &source->reader, source->at);
        else
            *source = m.sources[--m.source_count];
        sift(&m, 0);
    }
    free(m.sources);
    if (fine && m.count) {
        view_slice *trimmed = realloc(m.slices, m.count * sizeof *trimmed);
        HD_TRY(view_row_of_slices(out, trimmed ? trimmed : m.slices, m.count, err));
        remember_table(out->data, rows, count);
        return HD_OK;
    }
    free(m.slices);
    return fine ? HD_OK : HD_NOMEM(err);
}
