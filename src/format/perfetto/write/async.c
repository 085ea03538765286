/* async.c - asynchronous slices: begin and end points paired, with a place for each (category, id, scope)
 *
 * b n e      by category, id, scope and, unless the id is global, process; an e ends the latest open b of its name
 * S T p F    the same, and by name; T and p are points
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/perfetto/write/writer.h"

enum { LOOK_BACK = 64 }; /* open slices that an end is compared with */

typedef struct async_point {
    int64_t time;
    uint32_t place; /* of all that share a key */
    uint32_t row, name;
    char phase;
} async_point;

static bool make_point(async_point *out, pf_writer *w, const hd_event *event, uint32_t scope_key)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    int at = scope_key ? hd_shape_find(shape, scope_key, HD_SCOPE_EVENT) : -1;
    bool is_legacy = strchr("STpF", event->phase) != NULL;
    struct {
        uint64_t id, scope;
        uint32_t category, name, process, legacy;
    } key = {
        .id = pf_id_hash(w->trace, event->id_type, event->id),
        .scope = at < 0 ? 0 : (uint64_t)hd_column_at(&event->args->columns[at], event->args_row),
        .category = event->category,
        .name = is_legacy ? event->name : 0,
        .process = event->id_type & HD_ID_GLOBAL ? 0 : pf_place_of_process(w, event->track),
        .legacy = is_legacy,
    };
    uint32_t place = pf_place_async(w, event, hd_hash(&key, sizeof key));
    *out = (async_point){event->start_ns, place, (uint32_t)event->row, event->name, event->phase};
    return place != HD_NONE;
}

static int by_place(const void *a, const void *b)
{
    const async_point *x = a, *y = b;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_status add_pair(pf_writer *w, uint32_t place, const async_point *begin, const async_point *end, int64_t until,
                          hd_error *err)
{
    if (w->async_pair_count >= UINT32_MAX - 1 || !hd_large_grow((void **)&w->async_pairs, &w->async_pair_capacity,
                                                                w->async_pair_count, sizeof *w->async_pairs, w->large))
        return HD_NOMEM(err);
    uint32_t row = (uint32_t)w->async_pair_count++;
    w->async_pairs[row] = (pf_async_pair){begin->row, end ? end->row : HD_NONE};
    return pf_add_item(w, PF_ITEM_ASYNC, place, row, begin->time, until, err);
}

/* The open begin that an end belongs to, as its position in the stack + 1; 0: none. */
static size_t find_open(const async_point *points, const uint32_t *open, size_t count, const async_point *end)
{
    for (size_t i = count; i > 0 && count - i < LOOK_BACK; i--) {
        if (!end->name || points[open[i - 1]].name == end->name) return i;
    }
    return 0;
}

/* All points of one place. `open` has room for as many. */
static hd_status pair_points(pf_writer *w, const async_point *points, size_t count, uint32_t *open, hd_error *err)
{
    size_t depth = 0;
    uint32_t place = points[0].place;
    for (size_t i = 0; i < count; i++) {
        char phase = points[i].phase;
        if (phase == 'b' || phase == 'S') {
            open[depth++] = (uint32_t)i;
        } else if (phase == 'e' || phase == 'F') {
            size_t at = find_open(points, open, depth, &points[i]);
            if (!at) {
                w->notes[PF_NOTE_ASYNC_UNMATCHED]++;
                continue;
            }
            HD_TRY(add_pair(w, place, &points[open[at - 1]], &points[i], points[i].time, err));
            memmove(open + at - 1, open + at, (depth - at) * sizeof *open);
            depth--;
        } else {
            HD_TRY(add_pair(w, place, &points[i], NULL, points[i].time, err));
        }
    }
    for (size_t i = 0; i < depth; i++) HD_TRY(add_pair(w, place, &points[open[i]], NULL, PF_OPEN_END, err));
    return HD_OK;
}

static hd_status pair_all(pf_writer *w, const async_point *points, size_t count, uint32_t *open, hd_error *err)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && points[next].place == points[i].place;) next++;
        HD_TRY(pair_points(w, points + i, next - i, open, err));
    }
    return HD_OK;
}

static hd_status collect_points(pf_writer *w, async_point *points, size_t *out_count, hd_error *err)
{
    uint32_t scope = hd_trace_find_string(w->trace, "scope", 5);
    *out_count = 0;
    for (size_t b = 0; b < hd_trace_block_count(w->trace, HD_KIND_ASYNC); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, HD_KIND_ASYNC, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (!pf_check_time(w, event.start_ns, event.start_ns)) continue;
            if (event.start_ps || event.start_finer) w->notes[PF_NOTE_PICOSECONDS]++;
            if (!make_point(&points[(*out_count)++], w, &event, scope)) return HD_NOMEM(err);
        }
    }
    return HD_OK;
}

hd_status pf_collect_async(pf_writer *w, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(w->trace, HD_KIND_ASYNC);
    if (!rows) return HD_OK;
    if (rows >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 events of one kind");
    async_point *points = hd_large_new((size_t)rows, sizeof *points, w->large);
    uint32_t *open = hd_large_new((size_t)rows, sizeof *open, w->large);
    hd_status status = points && open ? HD_OK : HD_NOMEM(err);
    size_t count = 0;
    if (status == HD_OK) status = collect_points(w, points, &count, err);
    if (status == HD_OK && !hd_large_sort(points, count, sizeof *points, by_place, w->large)) status = HD_NOMEM(err);
    if (status == HD_OK) status = pair_all(w, points, count, open, err);
    hd_large_free(points);
    hd_large_free(open);
    return status;
}
