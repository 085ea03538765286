/* pairs.c - flows as messages, points of async slices as slices
 *
 * Flows   joined as model/flows/bind.h says: a message goes from a start or step to the step or end that comes from it.
 *         A point without any message has no home.
 * Async   by (category, id, scope): the last begin is ended first. Steps and lone ends are points.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"
#include "model/flows/bind.h"

/* ---- flows ---- */

static hd_status add_message(ow_writer *w, uint32_t from_row, uint32_t to_row)
{
    if (!hd_large_grow((void **)&w->messages, &w->message_capacity, w->message_count, sizeof *w->messages, w->large))
        return HD_NOMEM(w->err);
    w->messages[w->message_count++] = (ow_message){.from_row = from_row, .to_row = to_row};
    return HD_OK;
}

static hd_status join_flows(ow_writer *w, const hd_flow_point *points, size_t count, bool *used)
{
    for (size_t i = 0; i < count; i++) {
        w->notes[OW_PICOSECONDS] += points[i].start_below != 0;
        if (points[i].from == HD_NONE) continue;
        used[i] = used[points[i].from] = true;
        HD_TRY(add_message(w, points[points[i].from].row, points[i].row));
    }
    for (size_t i = 0; i < count; i++) {
        w->notes[OW_FLOW_UNMATCHED] += !used[i];
        w->written += used[i];
    }
    return HD_OK;
}

/* The order of the trace, and not that of hashes. */
static int by_rows(const void *a, const void *b)
{
    const ow_message *x = a, *y = b;
    if (x->from_row != y->from_row) return x->from_row < y->from_row ? -1 : 1;
    return (x->to_row > y->to_row) - (x->to_row < y->to_row);
}

hd_status ow_find_messages(ow_writer *w)
{
    size_t count;
    hd_flow_point *points;
    HD_TRY(hd_flow_points(&points, &count, w->trace, w->err));
    w->notes[OW_NO_TIME] += hd_trace_row_count(w->trace, HD_KIND_FLOW) - count;
    hd_flow_points_join(points, count);
    bool *used = calloc(count + 1, sizeof *used);
    hd_status status = used ? join_flows(w, points, count, used) : HD_NOMEM(w->err);
    if (status == HD_OK && !hd_large_sort(w->messages, w->message_count, sizeof *w->messages, by_rows, w->large))
        status = HD_NOMEM(w->err);
    free(used);
    hd_large_free(points);
    return status;
}

/* ---- async ---- */

typedef struct point {
    uint64_t key;
    int64_t time;
    uint32_t row;
    char phase;
} point;

static uint64_t key_of(const ow_writer *w, const hd_event *event, uint32_t scope_key)
{
    hd_value scope = {0};
    hd_point_id id = hd_point_id_of(w->trace, event->id_type, event->id);
    if (scope_key) hd_event_arg(&scope, w->trace, event, scope_key);
    struct {
        int64_t value, scope;
        uint32_t type, category, nestable, process;
    } key = {id.value, scope.bits, id.type, event->category, 0, 0};
    key.nestable = event->phase == 'b' || event->phase == 'e' || event->phase == 'n';
    if (id.type & HD_ID_LOCAL && event->track != HD_NONE)
        key.process = hd_trace_track_at(w->trace, event->track)->pid.text;
    return hd_hash(&key, sizeof key);
}

/* The points with a time, to be hd_large_freed; NULL: no memory. */
static point *collect(ow_writer *w, size_t *out_count)
{
    uint64_t rows = hd_trace_row_count(w->trace, HD_KIND_ASYNC);
    uint32_t scope_key = hd_trace_find_string(w->trace, "scope", 5);
    point *points = hd_large_new((size_t)rows + 1, sizeof *points, w->large);
    *out_count = 0;
    for (size_t b = 0; points && b < hd_trace_block_count(w->trace, HD_KIND_ASYNC); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, HD_KIND_ASYNC, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (event.start_ns == HD_NO_TIME) {
                w->notes[OW_NO_TIME]++;
                continue;
            }
            w->notes[OW_PICOSECONDS] += event.start_ps || event.start_finer;
            points[(*out_count)++] = (point){.key = key_of(w, &event, scope_key),
                                             .time = event.start_ns,
                                             .row = (uint32_t)event.row,
                                             .phase = event.phase};
        }
    }
    return points;
}

static int by_key_and_time(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_status add_pair(ow_writer *w, uint32_t begin, uint32_t end)
{
    if (!hd_large_grow((void **)&w->pairs, &w->pair_capacity, w->pair_count, sizeof *w->pairs, w->large))
        return HD_NOMEM(w->err);
    w->pairs[w->pair_count++] = (ow_pair){begin, end};
    w->written += end != HD_NONE ? 2 : 1;
    return HD_OK;
}

/* The points of one id; `open` has room for all of them. */
static hd_status join_async(ow_writer *w, const point *points, size_t count, uint32_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        char phase = points[i].phase;
        if (phase == 'b' || phase == 'S') {
            open[depth++] = points[i].row;
        } else if ((phase == 'e' || phase == 'F') && depth) {
            HD_TRY(add_pair(w, open[--depth], points[i].row));
        } else {
            w->notes[OW_ASYNC_OPEN] += phase == 'e' || phase == 'F';
            HD_TRY(add_pair(w, points[i].row, HD_NONE));
        }
    }
    w->notes[OW_ASYNC_OPEN] += depth;
    while (depth) HD_TRY(add_pair(w, open[--depth], HD_NONE));
    return HD_OK;
}

static int by_begin(const void *a, const void *b)
{
    const ow_pair *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

hd_status ow_find_async(ow_writer *w)
{
    size_t count;
    point *points = collect(w, &count);
    uint32_t *open = hd_large_new(count + 1, sizeof *open, w->large);
    bool fine = points && open && hd_large_sort(points, count, sizeof *points, by_key_and_time, w->large);
    hd_status status = fine ? HD_OK : HD_NOMEM(w->err);
    for (size_t i = 0, next; i < count && status == HD_OK; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        status = join_async(w, points + i, next - i, open);
    }
    if (status == HD_OK && !hd_large_sort(w->pairs, w->pair_count, sizeof *w->pairs, by_begin, w->large))
        status = HD_NOMEM(w->err);
    hd_large_free(points);
    hd_large_free(open);
    return status;
}
