/* async.c - begins and ends of async slices, paired */
#include "query/tables/async.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/pairing/async.h"
#include "trace/spill.h"

typedef struct pairing {
    query_async *out;
    uint32_t *open;     /* slices of the key at hand that are open, innermost last */
    uint32_t *slice_of; /* by point that begins a slice */
    size_t open_count, open_capacity, slice_capacity, track_capacity;
} pairing;

static int by_row(const void *a, const void *b)
{
    const query_async_slice *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* ---- one key after the other ---- */

static hd_status add_track(pairing *p, const hd_async_point *first, hd_error *err)
{
    query_async *out = p->out;
    if (!hd_grow((void **)&out->tracks, &p->track_capacity, out->track_count, sizeof *out->tracks))
        return HD_NOMEM(err);
    out->tracks[out->track_count++] = (query_async_track){
        .process = first->is_global ? HD_NONE : first->process, .name = first->name, .global = first->is_global};
    p->open_count = 0;
    return HD_OK;
}

static hd_status begin(pairing *p, const hd_async_point *point, hd_error *err)
{
    query_async *out = p->out;
    if (!hd_grow((void **)&out->slices, &p->slice_capacity, out->slice_count, sizeof *out->slices) ||
        !hd_grow((void **)&p->open, &p->open_capacity, p->open_count, sizeof *p->open))
        return HD_NOMEM(err);
    uint32_t parent = p->open_count ? p->open[p->open_count - 1] : HD_NONE;
    out->slices[out->slice_count] =
        (query_async_slice){.start_ns = point->start_ns,
                            .duration_ns = point->phase == 'n' ? 0 : HD_NO_TIME,
                            .row = point->row,
                            .track = (uint32_t)out->track_count - 1,
                            .name = point->name,
                            .category = point->category,
                            .depth = (uint32_t)p->open_count,
                            .parent = parent == HD_NONE ? HD_NONE : out->slices[parent].row};
    if (point->phase != 'n') p->open[p->open_count++] = (uint32_t)out->slice_count;
    out->slice_count++;
    return HD_OK;
}

/* Closes the slice of that number: mostly the innermost one. */
static void end(pairing *p, uint32_t number, int64_t end_ns)
{
    query_async_slice *slice = &p->out->slices[number];
    size_t at = p->open_count;
    while (at > 0 && p->open[at - 1] != number) at--;
    if (__builtin_sub_overflow(end_ns, slice->start_ns, &slice->duration_ns)) slice->duration_ns = HD_NO_TIME;
    memmove(&p->open[at - 1], &p->open[at], (p->open_count - at) * sizeof *p->open);
    p->open_count--;
}

static hd_status pair(pairing *p, const hd_async_point *points, size_t count, hd_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const hd_async_point *point = &points[i];
        if (i == 0 || point->key != points[i - 1].key) HD_TRY(add_track(p, point, err));
        if (hd_async_begins(point) || point->phase == 'n') {
            p->slice_of[i] = (uint32_t)p->out->slice_count;
            HD_TRY(begin(p, point, err));
        } else if (hd_async_ends(point) && point->other != HD_NONE) {
            end(p, p->slice_of[point->other], point->start_ns);
        }
    }
    return HD_OK;
}

/* Orders slices by row and tracks, which came in hash order, by their first slices; converts parents from rows to
 * indices. */
static hd_status renumber(query_async *out, hd_error *err)
{
    uint32_t *numbers = malloc((out->track_count + 1) * sizeof *numbers);
    query_async_track *tracks = malloc((out->track_count + 1) * sizeof *tracks);
    if (out->slice_count) hd_sort(out->slices, out->slice_count, sizeof *out->slices, by_row);
    size_t count = 0;
    if (numbers && tracks) memset(numbers, 0xff, (out->track_count + 1) * sizeof *numbers);
    for (size_t i = 0; i < out->slice_count && numbers && tracks; i++) {
        query_async_slice *slice = &out->slices[i];
        if (numbers[slice->track] == HD_NONE) {
            tracks[count] = out->tracks[slice->track];
            tracks[count].name = slice->name;
            numbers[slice->track] = (uint32_t)count++;
        }
        slice->track = numbers[slice->track];
        if (slice->parent == HD_NONE) continue;
        const query_async_slice wanted = {.row = slice->parent};
        const query_async_slice *parent = bsearch(&wanted, out->slices, out->slice_count, sizeof wanted, by_row);
        slice->parent = parent ? (uint32_t)(parent - out->slices) : HD_NONE;
    }
    bool made = numbers && tracks;
    free(numbers);
    free(out->tracks);
    out->tracks = tracks;
    out->track_count = count;
    return made ? HD_OK : HD_NOMEM(err);
}

hd_status query_async_make(query_source *source, hd_error *err)
{
    const hd_trace *trace = source->trace;
    hd_async_point *points = NULL;
    size_t count = 0;
    if (source->async) return HD_OK;
    HD_TRY(hd_async_points(&points, &count, trace, err));
    pairing p = {.out = calloc(1, sizeof *p.out),
                 .slice_of = hd_large_new(count + 1, sizeof *p.slice_of, hd_trace_large_bytes(trace))};
    hd_status status = p.out && p.slice_of ? pair(&p, points, count, err) : HD_NOMEM(err);
    if (status == HD_OK) status = renumber(p.out, err);
    free(p.open);
    hd_large_free(p.slice_of);
    hd_large_free(points);
    if (status == HD_OK)
        source->async = p.out;
    else
        query_async_free(p.out);
    return status;
}

void query_async_free(query_async *async)
{
    if (!async) return;
    free(async->slices);
    free(async->tracks);
    free(async);
}
