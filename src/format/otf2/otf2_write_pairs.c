/* otf2_write_pairs.c - flows as messages, points of async slices as slices
 *
 * Flows   by (category, id, name), ids from id2.local per process, in the order of time: a message goes from a start or
 * step to the step or end behind it; ends of one start may be several. Ends before the first start belong to the starts
 *         that nothing follows. A point without any message has no home.
 * Async   by (category, id, scope): the last begin is ended first. Steps and lone ends are points.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/vector.h"
#include "format/otf2/otf2_write.h"

typedef struct point {
    uint64_t key;
    int64_t time;
    uint32_t row;
    char phase;
    bool used;
} point;

/* ---- ids ---------------------------------------------------------------------------------------------------- */

typedef struct id_key {
    int64_t value, scope;
    uint32_t type, category, name, process;
} id_key;

/* "0x1f" and 31 are one id, as in viewers. */
static bool parse_digits(int64_t *out, hd_string text)
{
    char digits[24], *end;
    if (text.size == 0 || text.size >= sizeof digits || text.data[0] == ' ' || text.data[0] == '+') return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    bool hex = text.size > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x';
    *out = (int64_t)strtoull(digits, &end, hex ? 16 : 10);
    return end == digits + text.size;
}

static id_key key_of(const ow_writer *w, const hd_event *event)
{
    id_key key = {.value = event->id, .category = event->category};
    key.type = event->id_type & ~(uint32_t)HD_ID_VALUE_MASK;
    switch (event->id_type & HD_ID_VALUE_MASK) {
    case HD_ID_INT: key.type |= 1; break;
    case HD_ID_STRING:
    case HD_ID_NUMBER:
        key.type |= parse_digits(&key.value, hd_trace_string(w->trace, (uint32_t)event->id)) ? 1 : 2;
        break;
    default: break;
    }
    if (key.type & HD_ID_LOCAL && event->track != HD_NONE)
        key.process = hd_trace_track_at(w->trace, event->track)->pid.text;
    return key;
}

/* ---- collecting ----------------------------------------------------------------------------------------------- */

/* The points of a table with a time, malloc'ed; NULL: no memory. */
static point *collect(ow_writer *w, hd_kind kind, size_t *out_count)
{
    uint64_t rows = hd_trace_row_count(w->trace, kind);
    uint32_t scope_key = hd_trace_find_string(w->trace, "scope", 5);
    point *points = malloc((size_t)rows * sizeof *points + 1);
    *out_count = 0;
    for (size_t b = 0; points && b < hd_trace_block_count(w->trace, kind); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, kind, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_value scope;
            hd_block_event(&event, block, i);
            if (event.start_ns == HD_NO_TIME) {
                w->notes[OW_NO_TIME]++;
                continue;
            }
            w->notes[OW_PICOSECONDS] += event.start_ps != 0;
            id_key key = key_of(w, &event);
            if (kind == HD_KIND_FLOW)
                key.name = event.name;
            else if (scope_key && hd_event_arg(&scope, w->trace, &event, scope_key))
                key.scope = scope.bits;
            if (kind == HD_KIND_ASYNC) key.name = event.phase == 'b' || event.phase == 'e' || event.phase == 'n';
            points[(*out_count)++] = (point){.key = hd_hash(&key, sizeof key),
                                             .time = event.start_ns,
                                             .row = (uint32_t)event.row,
                                             .phase = event.phase};
        }
    }
    return points;
}

static int rank_of(char phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : phase == 'f' ? 2 : 0;
}

static int by_key_and_time(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    int rank = rank_of(x->phase) - rank_of(y->phase);
    return rank ? rank : (x->row > y->row) - (x->row < y->row);
}

/* ---- flows ------------------------------------------------------------------------------------------------------ */

static hd_status add_message(ow_writer *w, point *from, point *to)
{
    if (!hd_grow((void **)&w->messages, &w->message_capacity, w->message_count, sizeof *w->messages))
        return HD_NOMEM(w->err);
    w->messages[w->message_count++] = (ow_message){.from_row = from->row, .to_row = to->row};
    from->used = to->used = true;
    return HD_OK;
}

static bool is_lonely(const point *points, size_t i, size_t count)
{
    return points[i].phase == 's' && (i + 1 == count || points[i + 1].phase == 's');
}

/* Ends that stand before the first start, which starts at `first`. */
static hd_status join_early_ends(ow_writer *w, point *points, size_t first, size_t count)
{
    size_t lonely = first;
    while (lonely < count && !is_lonely(points, lonely, count)) lonely++;
    for (size_t i = 0; i < first && lonely < count; i++) {
        size_t next = lonely + 1;
        HD_TRY(add_message(w, &points[lonely], &points[i]));
        while (next < count && !is_lonely(points, next, count)) next++;
        if (next < count) lonely = next; /* else further ends belong to the last start that waits */
    }
    return HD_OK;
}

static hd_status join_flow(ow_writer *w, point *points, size_t count)
{
    size_t first = 0;
    while (first < count && points[first].phase != 's') first++;
    HD_TRY(join_early_ends(w, points, first, count));
    size_t from = first;
    for (size_t i = first + 1; i < count; i++) {
        if (points[i].phase != 's') HD_TRY(add_message(w, &points[from], &points[i]));
        if (points[i].phase != 'f') from = i;
    }
    return HD_OK;
}

hd_status ow_find_messages(ow_writer *w)
{
    size_t count;
    point *points = collect(w, HD_KIND_FLOW, &count);
    if (!points) return HD_NOMEM(w->err);
    hd_status status = HD_OK;
    qsort(points, count, sizeof *points, by_key_and_time);
    for (size_t i = 0, next; i < count && status == HD_OK; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        status = join_flow(w, points + i, next - i);
    }
    for (size_t i = 0; i < count; i++) {
        w->notes[OW_FLOW_UNMATCHED] += !points[i].used;
        w->written += points[i].used;
    }
    free(points);
    return status;
}

/* ---- async ------------------------------------------------------------------------------------------------------- */

static hd_status add_pair(ow_writer *w, uint32_t begin, uint32_t end)
{
    if (!hd_grow((void **)&w->pairs, &w->pair_capacity, w->pair_count, sizeof *w->pairs)) return HD_NOMEM(w->err);
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

hd_status ow_find_async(ow_writer *w)
{
    size_t count;
    point *points = collect(w, HD_KIND_ASYNC, &count);
    uint32_t *open = malloc((count + 1) * sizeof *open);
    hd_status status = points && open ? HD_OK : HD_NOMEM(w->err);
    if (points) qsort(points, count, sizeof *points, by_key_and_time);
    for (size_t i = 0, next; i < count && status == HD_OK; i = next) {
        for (next = i + 1; next < count && points[next].key == points[i].key;) next++;
        status = join_async(w, points + i, next - i, open);
    }
    free(points);
    free(open);
    return status;
}
