/* pairs.c - flows as messages, points of async slices as slices
 *
 * Flows   joined by model/flows/bind.h: a message goes from a start or step to the next step or end. A point without
 *         any message is lost.
 * Async   paired by model/pairing/async.h. Steps and ends without a begin are points.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"
#include "model/flows/bind.h"
#include "model/pairing/async.h"

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

static hd_status add_pair(ow_writer *w, uint32_t begin, uint32_t end)
{
    if (!hd_large_grow((void **)&w->pairs, &w->pair_capacity, w->pair_count, sizeof *w->pairs, w->large))
        return HD_NOMEM(w->err);
    w->pairs[w->pair_count++] = (ow_pair){begin, end};
    w->written += end != HD_NONE ? 2 : 1;
    return HD_OK;
}

static hd_status add_pairs(ow_writer *w, const hd_async_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const hd_async_point *p = &points[i];
        bool begins = hd_async_begins(p), ends = hd_async_ends(p);
        w->notes[OW_PICOSECONDS] += p->is_finer;
        if (ends && p->other != HD_NONE) continue; /* its begin has it */
        w->notes[OW_ASYNC_OPEN] += (begins || ends) && p->other == HD_NONE;
        HD_TRY(add_pair(w, p->row, p->other == HD_NONE ? HD_NONE : points[p->other].row));
    }
    return HD_OK;
}

static int by_begin(const void *a, const void *b)
{
    const ow_pair *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

hd_status ow_find_async(ow_writer *w)
{
    hd_async_point *points;
    size_t count;
    HD_TRY(hd_async_points(&points, &count, w->trace, w->err));
    w->notes[OW_NO_TIME] += hd_trace_row_count(w->trace, HD_KIND_ASYNC) - count;
    hd_status status = add_pairs(w, points, count);
    if (status == HD_OK && !hd_large_sort(w->pairs, w->pair_count, sizeof *w->pairs, by_begin, w->large))
        status = HD_NOMEM(w->err);
    hd_large_free(points);
    return status;
}
