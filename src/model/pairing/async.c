/* async.c - begins and ends of async slices, paired */
#include "model/pairing/async.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "model/flows/bind.h"
#include "model/identity/process.h"
#include "trace/lazy.h"
#include "trace/spill.h"

/* The value of a key of the event itself, 0 where it has none. */
static int64_t scope_of(const hd_trace *trace, const hd_event *event, uint32_t scope_key)
{
    if (!event->args || scope_key == HD_NONE) return 0;
    int index = hd_shape_find(hd_trace_shape_at(trace, event->shape), scope_key, HD_SCOPE_EVENT);
    return index < 0 ? 0 : hd_column_at(&event->args->columns[index], event->args_row);
}

static hd_async_point point_of(const hd_trace *trace, const hd_event *event, uint32_t scope_key)
{
    hd_point_id id = hd_point_id_of(trace, event->id_type, event->id);
    uint32_t process = hd_process_of(trace, event->track);
    bool is_nestable = event->phase == 'b' || event->phase == 'e' || event->phase == 'n';
    bool is_global = id.type & HD_ID_GLOBAL, is_of_process = is_nestable ? !is_global : id.type & HD_ID_LOCAL;
    struct {
        int64_t value, scope;
        uint32_t type, category, process, is_nestable;
    } key = {id.value,        scope_of(trace, event, scope_key), id.type,
             event->category, is_of_process ? process + 1 : 0,   is_nestable};
    return (hd_async_point){.key = hd_hash(&key, sizeof key),
                            .start_ns = event->start_ns,
                            .row = (uint32_t)event->row,
                            .track = event->track,
                            .process = process,
                            .name = event->name,
                            .category = event->category,
                            .other = HD_NONE,
                            .phase = event->phase,
                            .is_global = is_global,
                            .is_finer = event->start_ps || event->start_finer};
}

static size_t collect(hd_async_point *out, const hd_trace *trace)
{
    size_t count = 0;
    hd_block_room room = {0};
    uint32_t scope_key = hd_trace_find_string(trace, "scope", 5);
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_ASYNC); b++) {
        const hd_block *block = hd_walk_block(&room, trace, HD_KIND_ASYNC, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (event.phase && event.start_ns != HD_NO_TIME) out[count++] = point_of(trace, &event, scope_key);
        }
    }
    hd_walk_end(&room, trace);
    return count;
}

static int by_key_and_time(const void *a, const void *b)
{
    const hd_async_point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Open begins of a key: a list of all, and for each name the last one, linked to the previous one of its name. So an
 * end takes O(1), however many are open. */
typedef struct link {
    uint32_t before, behind, same_name;
} link;

typedef struct pairing {
    hd_async_point *points;
    link *links;
    hd_map last_of_name; /* by key and name: index of the last that is open, HD_NONE */
    uint32_t last;       /* open; HD_NONE */
} pairing;

static uint32_t last_of_name(pairing *p, const hd_async_point *point)
{
    uint32_t last;
    return hd_map_get(&last, &p->last_of_name, point->key, point->name) ? last : HD_NONE;
}

static bool open_begin(pairing *p, uint32_t at)
{
    p->links[at] = (link){p->last, HD_NONE, last_of_name(p, &p->points[at])};
    if (p->last != HD_NONE) p->links[p->last].behind = at;
    p->last = at;
    return hd_map_set(&p->last_of_name, p->points[at].key, p->points[at].name, at);
}

/* The closed begin is the last of its name: either it was searched as that, or it is the last of all. */
static bool close_begin(pairing *p, uint32_t begin, uint32_t end)
{
    const link *l = &p->links[begin];
    p->points[begin].other = end;
    p->points[end].other = begin;
    if (l->before != HD_NONE) p->links[l->before].behind = l->behind;
    if (l->behind != HD_NONE)
        p->links[l->behind].before = l->before;
    else
        p->last = l->before;
    return hd_map_set(&p->last_of_name, p->points[begin].key, p->points[begin].name, l->same_name);
}

static bool pair_all(hd_async_point *points, size_t count, link *links)
{
    pairing p = {.points = points, .links = links};
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++) {
        if (i == 0 || points[i].key != points[i - 1].key) p.last = HD_NONE;
        if (hd_async_begins(&points[i])) {
            fine = open_begin(&p, i);
        } else if (hd_async_ends(&points[i])) {
            uint32_t begin = last_of_name(&p, &points[i]);
            if (begin == HD_NONE) begin = p.last;
            if (begin != HD_NONE) fine = close_begin(&p, begin, i);
        }
    }
    hd_map_deinit(&p.last_of_name);
    return fine;
}

hd_status hd_async_points(hd_async_point **out, size_t *out_count, const hd_trace *trace, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(trace, HD_KIND_ASYNC), large = hd_trace_large_bytes(trace);
    if (rows >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 points of async slices");
    hd_async_point *points = hd_large_new((size_t)rows + 1, sizeof *points, large);
    link *links = hd_large_new((size_t)rows + 1, sizeof *links, large);
    size_t count = points ? collect(points, trace) : 0;
    bool fine = points && links && hd_large_sort(points, count, sizeof *points, by_key_and_time, large) &&
                pair_all(points, count, links);
    hd_large_free(links);
    if (!fine) {
        hd_large_free(points);
        return HD_NOMEM(err);
    }
    *out = points;
    *out_count = count;
    return HD_OK;
}
