/* async.c - begins and ends of async slices, paired */
#include "query/tables/async.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "model/flows/bind.h"
#include "trace/spill.h"

typedef struct async_point {
    uint64_t key; /* hash of kind, category, id and scope */
    int64_t start_ns;
    uint32_t row, process, name, category;
    char phase;
    bool global;
} async_point;

typedef struct pairing {
    query_async *out;
    uint32_t *open; /* slices of the id at hand, innermost last */
    size_t open_count, open_capacity, slice_capacity, track_capacity;
} pairing;

static uint32_t process_of(const hd_trace *trace, uint32_t track)
{
    if (track >= hd_trace_track_count(trace)) return HD_NONE;
    const hd_track *at = hd_trace_track_at(trace, track);
    uint32_t process = at->kind == HD_TRACK_PROCESS ? track : at->parent;
    return process < hd_trace_track_count(trace) ? hd_trace_track_at(trace, process)->same_as : HD_NONE;
}

static bool point_of(async_point *out, const hd_trace *trace, const hd_event *event, uint32_t scope_key)
{
    if (!event->phase || !strchr("benSF", event->phase) || event->start_ns == HD_NO_TIME) return false;
    hd_point_id id = hd_point_id_of(trace, event->id_type, event->id);
    struct {
        int64_t value, scope;
        uint32_t type, category, process, nestable;
    } key = {id.value, 0, id.type, event->category, 0, event->phase != 'S' && event->phase != 'F'};
    int scope = event->args && scope_key != HD_STRING_NONE
                    ? hd_shape_find(hd_trace_shape_at(trace, event->shape), scope_key, HD_SCOPE_EVENT)
                    : -1;
    if (scope >= 0) key.scope = hd_column_at(&event->args->columns[scope], event->args_row);
    uint32_t process = process_of(trace, event->track);
    if (id.type & HD_ID_LOCAL) key.process = process;
    *out = (async_point){.key = hd_hash(&key, sizeof key),
                         .start_ns = event->start_ns,
                         .row = (uint32_t)event->row,
                         .process = id.type & HD_ID_GLOBAL ? HD_NONE : process,
                         .name = event->name,
                         .category = event->category,
                         .phase = event->phase,
                         .global = id.type & HD_ID_GLOBAL};
    return true;
}

static int by_key_and_time(const void *a, const void *b)
{
    const async_point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    const query_async_slice *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t collect(async_point *out, const hd_trace *trace)
{
    size_t count = 0;
    uint32_t scope_key = hd_trace_find_string(trace, "scope", 5);
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_ASYNC); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_ASYNC, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            count += point_of(&out[count], trace, &event, scope_key);
        }
    }
    return count;
}

/* ---- one id after the other ---- */

static hd_status add_track(pairing *p, const async_point *first, hd_error *err)
{
    query_async *out = p->out;
    if (!hd_grow((void **)&out->tracks, &p->track_capacity, out->track_count, sizeof *out->tracks))
        return HD_NOMEM(err);
    out->tracks[out->track_count++] =
        (query_async_track){.process = first->process, .name = first->name, .global = first->global};
    p->open_count = 0;
    return HD_OK;
}

static hd_status begin(pairing *p, const async_point *point, hd_error *err)
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

static void end(pairing *p, const async_point *point)
{
    query_async_slice *slices = p->out->slices;
    size_t at = p->open_count;
    while (at > 0 && slices[p->open[at - 1]].name != point->name) at--;
    if (at == 0) at = p->open_count;
    if (at == 0) return;
    query_async_slice *slice = &slices[p->open[at - 1]];
    bool overflows = __builtin_sub_overflow(point->start_ns, slice->start_ns, &slice->duration_ns);
    if (overflows) slice->duration_ns = HD_NO_TIME;
    memmove(&p->open[at - 1], &p->open[at], (p->open_count - at) * sizeof *p->open);
    p->open_count--;
}

static hd_status pair(pairing *p, const async_point *points, size_t count, hd_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || points[i].key != points[i - 1].key) HD_TRY(add_track(p, &points[i], err));
        if (points[i].phase == 'e' || points[i].phase == 'F')
            end(p, &points[i]);
        else
            HD_TRY(begin(p, &points[i], err));
    }
    return HD_OK;
}

/* Slices by row; tracks, whose order came from hashes, by their first slices; parents from rows to indices. */
static hd_status renumber(query_async *out, hd_error *err)
{
    uint32_t *numbers = malloc((out->track_count + 1) * sizeof *numbers);
    query_async_track *tracks = malloc((out->track_count + 1) * sizeof *tracks);
    if (out->slice_count) qsort(out->slices, out->slice_count, sizeof *out->slices, by_row);
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
    uint64_t rows = hd_trace_row_count(trace, HD_KIND_ASYNC);
    if (source->async) return HD_OK;
    if (rows >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 points of async slices");
    uint64_t large = hd_trace_large_bytes(trace);
    async_point *points = hd_large_new((size_t)rows + 1, sizeof *points, large);
    pairing p = {.out = calloc(1, sizeof *p.out)};
    hd_status status = points && p.out ? HD_OK : HD_NOMEM(err);
    size_t count = status == HD_OK ? collect(points, trace) : 0;
    if (status == HD_OK && !hd_large_sort(points, count, sizeof *points, by_key_and_time, large))
        status = HD_NOMEM(err);
    if (status == HD_OK) status = pair(&p, points, count, err);
    if (status == HD_OK) status = renumber(p.out, err);
    free(p.open);
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
