/* async.c - begins and ends of async slices without the other, by (category, id, scope)
 *
 * Nestable (b, e) and legacy (S, F) ones are told apart; ids from id2.local count per process. Within an id the last
 * begin is closed first, in the order of time.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "model/flows/bind.h"
#include "report/check/check.h"
#include "trace/spill.h"

typedef struct async_point {
    uint64_t key; /* hash of kind, category, id and scope */
    int64_t start_ns;
    uint32_t row, track;
    bool begins;
} async_point;

/* The value of a key of the event itself, 0 where it has none. */
static int64_t scope_of(const hd_trace *trace, const hd_event *event, uint32_t key)
{
    if (!event->args || key == HD_STRING_NONE) return 0;
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    int index = hd_shape_find(shape, key, HD_SCOPE_EVENT);
    if (index < 0) return 0;
    return hd_column_at(&event->args->columns[index], event->args_row);
}

static bool point_of(async_point *out, const hd_trace *trace, const hd_event *event, uint32_t scope_key)
{
    bool nestable = event->phase == 'b' || event->phase == 'e';
    if (event->track == HD_NONE || (!nestable && event->phase != 'S' && event->phase != 'F')) return false;
    hd_point_id id = hd_point_id_of(trace, event->id_type, event->id);
    struct {
        int64_t value, scope;
        uint32_t type, category, process, nestable;
    } key = {id.value, scope_of(trace, event, scope_key), id.type, event->category, 0, nestable};
    if (id.type & HD_ID_LOCAL) key.process = hd_trace_track_at(trace, event->track)->pid.text;
    *out = (async_point){
        .key = hd_hash((const char *)&key, sizeof key),
        .start_ns = event->start_ns,
        .row = (uint32_t)event->row,
        .track = event->track,
        .begins = event->phase == 'b' || event->phase == 'S',
    };
    return true;
}

static int by_key_and_time(const void *a, const void *b)
{
    const async_point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static size_t collect(const check *c, async_point *points)
{
    size_t count = 0;
    uint32_t scope_key = hd_trace_find_string(c->trace, "scope", 5);
    for (size_t b = 0; b < hd_trace_block_count(c->trace, HD_KIND_ASYNC); b++) {
        const hd_block *block = hd_trace_block_at(c->trace, HD_KIND_ASYNC, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            count += point_of(&points[count], c->trace, &event, scope_key);
        }
    }
    return count;
}

/* The points of one id. `open` has room for all of them. */
static void check_id_points(check *c, const async_point *points, size_t count, const async_point **open)
{
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (points[i].begins)
            open[depth++] = &points[i];
        else if (depth)
            depth--;
        else
            check_found(c, CHECK_ASYNC_WITHOUT_BEGIN, points[i].track, CHECK_EVENT(HD_KIND_ASYNC, points[i].row));
    }
    for (size_t i = 0; i < depth; i++)
        check_found(c, CHECK_ASYNC_WITHOUT_END, open[i]->track, CHECK_EVENT(HD_KIND_ASYNC, open[i]->row));
}

hd_status check_async(check *c, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(c->trace, HD_KIND_ASYNC);
    if (rows == 0) return HD_OK;
    if (rows >= UINT32_MAX) return HD_NOMEM(err);
    uint64_t large = hd_trace_large_bytes(c->trace);
    async_point *points = hd_large_new((size_t)rows, sizeof *points, large);
    const async_point **open = hd_large_new((size_t)rows, sizeof *open, large);
    size_t count = points && open ? collect(c, points) : 0;
    bool fine = points && open && hd_large_sort(points, count, sizeof *points, by_key_and_time, large);
    for (size_t i = 0, next; fine && i < count; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        check_id_points(c, points + i, next - i, open);
    }
    hd_large_free(points);
    hd_large_free(open);
    return fine ? HD_OK : HD_NOMEM(err);
}
