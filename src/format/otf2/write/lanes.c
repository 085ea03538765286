/* lanes.c - sorts the items of a place and distributes them to lanes on which slices nest
 *
 * Order   by time; at equal times slices, the longer ones first, then flows and counters, then points. Slices end
 *         before others start; flows and points at the end of a slice belong to it
 * Lanes   a slice goes to the first lane on which it crosses nothing; a point of a flow to that of its slice
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "format/otf2/write/write.h"

/* A location needs two files: beyond this number of lanes, slices are cut to fit the last one. */
enum { LANE_MAX = 512 };

typedef struct span {
    int64_t start, end;
} span;

typedef struct lane {
    span *open; /* the innermost on top */
    size_t depth, capacity;
    size_t items;
} lane;

typedef struct dealer {
    ow_writer *w;
    lane *lanes;
    size_t count, capacity;
    int64_t last_start; /* of the slice dealt last, and its lane */
    uint16_t last_lane;
    size_t waiting; /* first of the items held back for the next slice; the items after it are flows too */
    bool waits;
} dealer;

/* ---- order ---- */

static int rank_of(const ow_item *item)
{
    return item->what <= OW_ASYNC ? 0 : item->what <= OW_METRIC ? 1 : 2;
}

static bool is_before(const ow_item *a, const ow_item *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
    return a->end > b->end; /* merging keeps the order of the input otherwise */
}

static bool sort(ow_item *items, size_t count, uint64_t large)
{
    ow_item *spare = hd_large_new(count + 1, sizeof *spare, large);
    if (spare) HD_SORT_RUNS(items, spare, count, x, y, is_before(x, y));
    hd_large_free(spare);
    return spare != NULL;
}

/* ---- lanes ---- */

static lane *open_lane(dealer *d)
{
    if (!hd_grow((void **)&d->lanes, &d->capacity, d->count, sizeof *d->lanes)) return NULL;
    d->lanes[d->count] = (lane){0};
    return &d->lanes[d->count++];
}

static bool takes(lane *l, const ow_item *item)
{
    while (l->depth && l->open[l->depth - 1].end <= item->start) l->depth--;
    return l->depth == 0 || l->open[l->depth - 1].end >= item->end;
}

static hd_status deal_slice(dealer *d, ow_item *item)
{
    lane *l = NULL;
    size_t i = 0;
    for (; i < d->count && !l; i++) {
        if (takes(&d->lanes[i], item)) l = &d->lanes[i];
    }
    if (!l && d->count < LANE_MAX) {
        l = open_lane(d);
        i++;
    } else if (!l) {
        l = &d->lanes[d->count - 1];
        item->end = l->open[l->depth - 1].end;
        d->w->notes[OW_CLAMPED]++;
    }
    if (!l || !hd_grow((void **)&l->open, &l->capacity, l->depth, sizeof *l->open)) return HD_NOMEM(d->w->err);
    l->open[l->depth++] = (span){item->start, item->end};
    item->lane = (uint16_t)(i - 1);
    d->last_start = item->start;
    d->last_lane = item->lane;
    return HD_OK;
}

/* The lane of the slice around a time, its end included, that starts last. */
static uint16_t lane_around(dealer *d, int64_t at)
{
    size_t best = 0;
    int64_t latest = INT64_MIN;
    for (size_t i = 0; i < d->count; i++) {
        lane *l = &d->lanes[i];
        while (l->depth && l->open[l->depth - 1].end < at) l->depth--;
        if (l->depth && l->open[l->depth - 1].start > latest) {
            latest = l->open[l->depth - 1].start;
            best = i;
        }
    }
    return (uint16_t)best;
}

static void deal_flow(dealer *d, ow_item *items, size_t i)
{
    bool next = items[i].kind;
    if (!next)
        items[i].lane = lane_around(d, items[i].start);
    else if (d->last_start == items[i].start)
        items[i].lane = d->last_lane;
    else if (!d->waits) {
        d->waits = true;
        d->waiting = i;
    }
}

/* Flows that bind to the next slice were held back for it; other items among them already have a lane. */
static void settle_waiting(dealer *d, ow_item *items, size_t end)
{
    for (size_t i = d->waiting; d->waits && i < end; i++) {
        bool flow = items[i].what == OW_SEND || items[i].what == OW_RECEIVE;
        if (flow && items[i].kind) items[i].lane = d->last_lane;
    }
    d->waits = false;
}

static hd_status deal(dealer *d, ow_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        switch (items[i].what) {
        case OW_SLICE:
        case OW_ASYNC:
            HD_TRY(deal_slice(d, &items[i]));
            settle_waiting(d, items, i);
            break;
        case OW_SEND:
        case OW_RECEIVE: deal_flow(d, items, i); break;
        default: break;
        }
    }
    return HD_OK;
}

/* ---- locations ---- */

/* Items by lane, each lane in order. */
static hd_status sort_by_lane(dealer *d, ow_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) d->lanes[items[i].lane].items++;
    if (d->count == 1) return HD_OK;
    ow_item *spare = hd_large_new(count, sizeof *spare, d->w->large);
    size_t *next = malloc(d->count * sizeof *next);
    for (size_t i = 0, sum = 0; next && i < d->count; sum += d->lanes[i++].items) next[i] = sum;
    bool fine = spare && next;
    for (size_t i = 0; fine && i < count; i++) spare[next[items[i].lane]++] = items[i];
    if (fine) memcpy(items, spare, count * sizeof *items);
    hd_large_free(spare);
    free(next);
    return fine ? HD_OK : HD_NOMEM(d->w->err);
}

static hd_status add_locations(dealer *d, uint32_t place)
{
    ow_writer *w = d->w;
    ow_place *p = &w->places[place];
    size_t first = p->first;
    p->first_location = (uint32_t)w->location_count;
    p->lane_count = (uint32_t)d->count;
    w->notes[OW_LANES] += d->count - 1;
    for (size_t i = 0; i < d->count; i++) {
        if (!hd_grow((void **)&w->locations, &w->location_capacity, w->location_count, sizeof *w->locations))
            return HD_NOMEM(w->err);
        w->locations[w->location_count++] =
            (ow_location){.place = place, .lane = (uint32_t)i, .first = first, .count = d->lanes[i].items};
        first += d->lanes[i].items;
    }
    return HD_OK;
}

static void settle_messages(ow_writer *w, const ow_place *p)
{
    for (size_t i = p->first; i < p->first + p->count; i++) {
        const ow_item *item = &w->items[i];
        if (item->what == OW_SEND) w->messages[item->row].from = p->first_location + item->lane;
        if (item->what == OW_RECEIVE) w->messages[item->row].to = p->first_location + item->lane;
    }
}

hd_status ow_deal_lanes(ow_writer *w, uint32_t place)
{
    ow_item *items = w->items + w->places[place].first;
    size_t count = w->places[place].count;
    dealer d = {.w = w, .last_start = INT64_MIN};
    hd_status status = sort(items, count, w->large) && open_lane(&d) ? HD_OK : HD_NOMEM(w->err);
    if (status == HD_OK) status = deal(&d, items, count);
    if (status == HD_OK) settle_waiting(&d, items, count);
    if (status == HD_OK) status = sort_by_lane(&d, items, count);
    if (status == HD_OK) status = add_locations(&d, place);
    if (status == HD_OK) settle_messages(w, &w->places[place]);
    for (size_t i = 0; i < d.count; i++) free(d.lanes[i].open);
    free(d.lanes);
    return status;
}
