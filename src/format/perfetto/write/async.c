/* async.c - asynchronous slices, paired by model/pairing/async.h, with a place for each key
 *
 * Legacy ones (S, T, p, F) of one key have a place for each name. T and p are points, as are n.
 */

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/perfetto/write/writer.h"
#include "model/pairing/async.h"
#include "trace/event.h"

/* `end`: row, HD_NONE: none. */
static hd_status add_pair(pf_writer *w, const hd_async_point *begin, uint32_t end, int64_t until, hd_error *err)
{
    bool is_old = strchr("STpF", begin->phase) != NULL;
    hd_event event = hd_event_at(w->trace, HD_KIND_ASYNC, begin->row);
    uint32_t place = pf_place_async(w, &event, hd_hash_pair(begin->key, is_old ? begin->name : 0), is_old);
    if (place == HD_NONE || w->async_pair_count >= UINT32_MAX - 1 ||
        !hd_large_grow((void **)&w->async_pairs, &w->async_pair_capacity, w->async_pair_count, sizeof *w->async_pairs,
                       w->large))
        return HD_NOMEM(err);
    uint32_t row = (uint32_t)w->async_pair_count++, ends[] = {begin->row, end};
    for (int i = 0; i < 2 && ends[i] != HD_NONE; i++) { /* their threads are described, too */
        uint32_t of = pf_place_of_track(w, hd_event_at(w->trace, HD_KIND_ASYNC, ends[i]).track);
        if (of == HD_NONE) return HD_NOMEM(err);
        w->places[of].events++;
    }
    w->async_pairs[row] = (pf_async_pair){begin->row, end};
    return pf_add_item(w, PF_ITEM_ASYNC, place, row, begin->start_ns, until, err);
}

static hd_status add_point(pf_writer *w, const hd_async_point *points, const hd_async_point *p, hd_error *err)
{
    if (!pf_check_time(w, p->start_ns, p->start_ns)) return HD_OK;
    w->notes[PF_NOTE_PICOSECONDS] += p->is_finer;
    if (hd_async_ends(p)) {
        w->notes[PF_NOTE_ASYNC_UNMATCHED] += p->other == HD_NONE;
        return HD_OK;
    }
    if (!hd_async_begins(p)) return add_pair(w, p, HD_NONE, p->start_ns, err);
    if (p->other == HD_NONE || !pf_time_fits(points[p->other].start_ns))
        return add_pair(w, p, HD_NONE, PF_OPEN_END, err);
    return add_pair(w, p, points[p->other].row, points[p->other].start_ns, err);
}

hd_status pf_collect_async(pf_writer *w, hd_error *err)
{
    hd_async_point *points;
    size_t count, rows = (size_t)hd_trace_row_count(w->trace, HD_KIND_ASYNC);
    if (!rows) return HD_OK;
    HD_TRY(hd_async_points(&points, &count, w->trace, err));
    w->notes[PF_NOTE_NO_TIME] += rows - count;
    uint32_t *at = hd_large_new(rows, sizeof *at, w->large); /* by row: the order of keys differs from run to run */
    hd_status status = at ? HD_OK : HD_NOMEM(err);
    if (at) {
        memset(at, 0xff, rows * sizeof *at);
        for (uint32_t i = 0; i < count; i++) at[points[i].row] = i;
    }
    for (size_t row = 0; row < rows && status == HD_OK; row++) {
        if (at[row] != HD_NONE) status = add_point(w, points, &points[at[row]], err);
    }
    hd_large_free(at);
    hd_large_free(points);
    return status;
}
