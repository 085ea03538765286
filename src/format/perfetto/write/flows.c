/* flows.c - groups points of flows, and assigns ids to them on the slices
 *
 * Flows of one (category, id, name) are consecutive in time: s begins one, t and f belong to the last one. Ends before
 * the first start belong to starts that have no later points: such a flow runs backward. Perfetto joins slices of one
 * id in order of start, and an end closes its id; so a start with several ends gets an id for each of them. A start
 * without a slice is ignored: later points belong to the previous start.
 *
 * A slice with a bind_id and flow_out or flow_in is a point of a flow, too: a start, an end, or, with both, a step.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/perfetto/write/writer.h"

enum { ROWS_LIMIT = 1 << 29 };

static pf_flow_point point_of(pf_writer *w, const hd_event *event)
{
    const hd_track *track = hd_trace_track_at(w->trace, event->track);
    struct {
        uint64_t id;
        uint32_t category, name, process, zero;
    } key = {pf_id_hash(w->trace, event->id_type, event->id), event->category, event->name, 0, 0};
    if (event->id_type & HD_ID_LOCAL) key.process = track->pid.text;
    return (pf_flow_point){
        .key = hd_hash(&key, sizeof key),
        .time = event->start_ns,
        .row = (uint32_t)event->row,
        .place = pf_place_of_track(w, event->track),
        .item = HD_NONE,
        .next = HD_NONE,
        .phase = event->phase,
        .named = event->name || event->category,
        .enclosing = event->phase != 'f' || (event->flags & HD_FLAG_BIND_ENCLOSING),
    };
}

static int by_time(const void *a, const void *b)
{
    const pf_flow_point *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->enclosing != y->enclosing) return x->enclosing ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

hd_status pf_flows_collect(pf_writer *w, hd_error *err)
{
    uint64_t rows = hd_trace_row_count(w->trace, HD_KIND_FLOW);
    if (!rows) return HD_OK;
    if (rows >= ROWS_LIMIT) return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^29 flow points");
    w->points = hd_large_new((size_t)rows, sizeof *w->points, w->large);
    if (!w->points) return HD_NOMEM(err);
    w->point_capacity = (size_t)rows;
    w->point_rows = (uint32_t)rows;
    for (size_t b = 0; b < hd_trace_block_count(w->trace, HD_KIND_FLOW); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, HD_KIND_FLOW, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (!pf_check_time(w, event.start_ns, event.start_ns)) continue;
            if (event.track >= hd_trace_track_count(w->trace))
                w->notes[PF_NOTE_FLOW_UNBOUND]++;
            else
                w->points[w->point_count++] = point_of(w, &event);
        }
    }
    return hd_large_sort(w->points, w->point_count, sizeof *w->points, by_time, w->large) ? HD_OK : HD_NOMEM(err);
}

/* ---- slices that are points ---- */

/* The point that an event is by its own members; false: none. */
static bool bound_point(pf_flow_point *out, pf_writer *w, uint32_t item)
{
    hd_event event = pf_item_event(w, &w->items[item]);
    hd_point_id id = {0};
    char phase = hd_slice_flow(&id, &w->flow_keys, w->trace, &event);
    if (!phase) return false;
    uint64_t key[2] = {(uint64_t)id.value, id.type};
    *out = (pf_flow_point){.key = hd_hash(key, sizeof key),
                           .time = w->items[item].start,
                           .row = w->point_rows++,
                           .item = item,
                           .phase = phase,
                           .bound = true};
    return true;
}

static hd_status add_bound_points(pf_writer *w, hd_error *err)
{
    if (!hd_slice_flow_keys_find(&w->flow_keys, w->trace)) return HD_OK;
    for (uint32_t i = 0; i < w->item_count; i++) {
        pf_item_kind kind = pf_item_kind_of(&w->items[i]);
        if (kind != PF_ITEM_SLICE && kind != PF_ITEM_ASYNC) continue;
        if (w->point_rows >= ROWS_LIMIT)
            return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^29 flow points");
        if (!hd_large_grow((void **)&w->points, &w->point_capacity, w->point_count, sizeof *w->points, w->large))
            return HD_NOMEM(err);
        w->point_count += bound_point(&w->points[w->point_count], w, i);
    }
    return HD_OK;
}

/* ---- joining ---- */

static int phase_rank(char phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

static int by_flow(const void *a, const void *b)
{
    const pf_flow_point *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    int rank = phase_rank(x->phase) - phase_rank(y->phase);
    return rank ? rank : (x->row > y->row) - (x->row < y->row);
}

typedef struct joiner {
    pf_writer *w;
    uint32_t id;           /* of the chain: the row of its last point, which is unique among chains */
    pf_flow_point **chain; /* points that share an id */
    size_t count, capacity;
    hd_error *err;
} joiner;

static int by_item(const void *a, const void *b)
{
    const pf_flow_point *x = *(pf_flow_point *const *)a, *y = *(pf_flow_point *const *)b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    int order = phase_rank(x->phase) - phase_rank(y->phase);
    return order ? order : (x > y) - (x < y); /* of one list */
}

static hd_status join(joiner *j, pf_flow_point *point)
{
    if (!hd_grow((void **)&j->chain, &j->capacity, j->count, sizeof *j->chain)) return HD_NOMEM(j->err);
    j->chain[j->count++] = point;
    j->id = point->row;
    return HD_OK;
}

static void count_written(pf_writer *w, const pf_flow_point *point)
{
    w->written += !point->bound;
    w->notes[PF_NOTE_FLOW_NAME] += point->named;
}

/* One id for all points in the chain: the last one in Perfetto's order ends it. */
static hd_status close_chain(joiner *j)
{
    pf_writer *w = j->w;
    bool turned = j->count == 2 && j->chain[1]->item < j->chain[0]->item;
    hd_sort(j->chain, j->count, sizeof *j->chain, by_item);
    for (size_t i = 0; i < j->count; i++) {
        bool ends = j->count > 1 && i == j->count - 1;
        if (!hd_large_grow((void **)&w->links, &w->link_capacity, w->link_count, sizeof *w->links, w->large))
            return HD_NOMEM(j->err);
        w->links[w->link_count++] = (pf_flow_link){.item = j->chain[i]->item,
                                                   .flow = j->id & (ROWS_LIMIT - 1),
                                                   .ends = ends,
                                                   .bound = j->chain[i]->bound,
                                                   .turned = turned};
    }
    j->count = 0;
    return HD_OK;
}

/* A start, its steps and its first end share an id; each further end shares one with the last of them. points[0] is the
 * start, `extra` an end that came before it or NULL. */
static hd_status join_flow(joiner *j, pf_flow_point *points, size_t count, pf_flow_point *extra, size_t extra_count)
{
    pf_writer *w = j->w;
    if (points[0].item == HD_NONE) {
        w->notes[PF_NOTE_FLOW_UNBOUND]++;
        w->notes[PF_NOTE_FLOW_WITHOUT_START] += count - 1 + extra_count;
        return HD_OK;
    }
    pf_flow_point *last = &points[0];
    bool has_end = false;
    HD_TRY(join(j, last));
    count_written(w, last);
    for (size_t i = 1; i < count + extra_count; i++) {
        pf_flow_point *point = i < count ? &points[i] : &extra[i - count];
        if (point->item == HD_NONE) {
            w->notes[PF_NOTE_FLOW_UNBOUND]++;
            continue;
        }
        count_written(w, point);
        if (has_end) {
            HD_TRY(close_chain(j));
            HD_TRY(join(j, last));
        }
        HD_TRY(join(j, point));
        if (point->item < last->item) w->notes[PF_NOTE_FLOW_BACKWARD]++;
        has_end |= point->phase == 'f';
        if (point->phase != 'f') last = point;
    }
    return close_chain(j);
}

/* Whether no point follows the start at `i` before the next start. */
static bool is_lonely(const pf_flow_point *points, size_t i, size_t count)
{
    return points[i].phase == 's' && (i + 1 == count || points[i + 1].phase == 's');
}

/* All points of one key in order of time; those before the first start go to starts without later points. */
static hd_status join_flows(joiner *j, pf_flow_point *points, size_t count)
{
    size_t first = 0, used = 0, lonely = 0;
    while (first < count && points[first].phase != 's') first++;
    for (size_t i = first; i < count; i++) lonely += is_lonely(points, i, count);
    if (!lonely) {
        if (!points->bound) j->w->notes[PF_NOTE_FLOW_WITHOUT_START] += first;
        used = first;
    }
    for (size_t i = first, next; i < count; i = next) {
        bool has_start = points[i].item != HD_NONE;
        for (next = i + 1; next < count && (points[next].phase != 's' || (has_start && points[next].item == HD_NONE));)
            next++;
        size_t extra = 0;
        if (is_lonely(points, i, count) && used < first) extra = --lonely ? 1 : first - used;
        HD_TRY(join_flow(j, points + i, next - i, points + used, extra));
        used += extra;
    }
    return HD_OK;
}

static int by_link(const void *a, const void *b)
{
    const pf_flow_link *x = a, *y = b;
    if (x->item != y->item) return x->item < y->item ? -1 : 1;
    if (x->ends != y->ends) return x->ends ? 1 : -1;
    return (x->flow > y->flow) - (x->flow < y->flow);
}

/* Ids in the order of the slices: small, and independent of hash order. */
static hd_status number_links(pf_writer *w, hd_error *err)
{
    if (!w->link_count) return HD_OK;
    uint32_t *ids = hd_large_zeroed(w->point_rows, sizeof *ids, w->large), next = 0;
    bool fine = ids && hd_large_sort(w->links, w->link_count, sizeof *w->links, by_link, w->large);
    for (size_t i = 0; fine && i < w->link_count; i++) {
        uint32_t *id = &ids[w->links[i].flow];
        if (!*id) *id = ++next;
        w->links[i].flow = *id & (ROWS_LIMIT - 1);
    }
    hd_large_free(ids);
    return fine ? HD_OK : HD_NOMEM(err);
}

hd_status pf_flows_join(pf_writer *w, hd_error *err)
{
    joiner j = {.w = w, .err = err};
    hd_status status = add_bound_points(w, err);
    if (status == HD_OK && !hd_large_sort(w->points, w->point_count, sizeof *w->points, by_flow, w->large))
        status = HD_NOMEM(err);
    for (size_t i = 0, next; i < w->point_count && status == HD_OK; i = next) {
        for (next = i + 1; next < w->point_count && w->points[next].key == w->points[i].key;) next++;
        status = join_flows(&j, w->points + i, next - i);
    }
    free(j.chain);
    hd_large_free(w->points);
    w->points = NULL;
    return status == HD_OK ? number_links(w, err) : status;
}
