/* lanes.c - moves crossing slices to sibling places, and binds flow points to slices
 *
 * One walk in order of time. Each place has a stack of its open slices; a slice goes to the first place of its track on
 * which it is nested or alone. No time is changed. Flow points are bound as in Chrome, across lanes: those with an
 * enclosing binding to the enclosing slice that began last (its end included), others to the next slice that begins. If
 * there is none, they are bound as Perfetto does for JSON: to the slice or instant before them, even if it has ended,
 * and to the next instant.
 */
#include "base/error.h"
#include "base/memory/large.h"
#include "format/perfetto/write/writer.h"

/* Lanes that are tried for one slice, or looked at for one flow point: beyond, cost would grow with the square. */
enum { LANES_TRIED = 64, DEPTH_LOOKED_AT = 1024, DEPTH_LIMIT = 511 }; /* Perfetto refuses slices below 512 others */

typedef struct open_slice {
    int64_t end;
    uint32_t item;
    uint32_t below; /* the slice around it, or the next free one; HD_NONE: none */
} open_slice;

typedef struct lane {    /* by place */
    uint32_t top, depth; /* the innermost open slice, HD_NONE: none; how many */
    uint32_t cursor;     /* of a first lane: where to go on trying; HD_NONE: at the first */
    uint32_t waiting;    /* of a first lane: points that bind to the next begin, HD_NONE: none */
    uint32_t latest;     /* of a first lane: the item that began last, HD_NONE: none */
} lane;

typedef struct walk {
    pf_writer *w;
    lane *lanes;
    size_t lane_count, lane_capacity;
    open_slice *open; /* of all lanes: an async slice mostly is alone on its own */
    size_t open_count, open_capacity;
    uint32_t free; /* list of those that are open no more */
} walk;

static bool make_lanes(walk *k)
{
    while (k->lane_count < k->w->place_count) {
        if (!hd_large_grow((void **)&k->lanes, &k->lane_capacity, k->lane_count, sizeof *k->lanes, k->w->large))
            return false;
        k->lanes[k->lane_count++] = (lane){.top = HD_NONE, .cursor = HD_NONE, .waiting = HD_NONE, .latest = HD_NONE};
    }
    return true;
}

/* Those on top that end before a time are open no more. */
static void close_before(walk *k, lane *l, int64_t time)
{
    while (l->depth && k->open[l->top].end < time) {
        uint32_t below = k->open[l->top].below;
        k->open[l->top].below = k->free;
        k->free = l->top;
        l->top = below;
        l->depth--;
    }
}

static bool push(walk *k, lane *l, int64_t end, uint32_t item)
{
    uint32_t slot = k->free;
    if (slot != HD_NONE) {
        k->free = k->open[slot].below;
    } else {
        if (!hd_large_grow((void **)&k->open, &k->open_capacity, k->open_count, sizeof *k->open, k->w->large))
            return false;
        slot = (uint32_t)k->open_count++; /* fewer than items */
    }
    k->open[slot] = (open_slice){end, item, l->top};
    l->top = slot;
    l->depth++;
    return true;
}

static bool fits(walk *k, lane *l, const pf_item *item)
{
    close_before(k, l, item->start + 1);
    return l->depth == 0 || (l->depth < DEPTH_LIMIT && k->open[l->top].end >= item->end);
}

/* The lane of `first` that takes the item; HD_NONE: no memory. */
static uint32_t find_lane(walk *k, uint32_t first, const pf_item *item)
{
    if (fits(k, &k->lanes[first], item)) return first;
    uint32_t others = k->w->places[first].lane_count - 1, place = k->lanes[first].cursor;
    for (uint32_t i = 0; i < others && i < LANES_TRIED; i++) {
        if (place == HD_NONE) place = k->w->places[first].next_lane;
        if (fits(k, &k->lanes[place], item)) {
            if (others > LANES_TRIED) k->lanes[first].cursor = place;
            return place;
        }
        place = k->w->places[place].next_lane;
    }
    if (others > LANES_TRIED) k->lanes[first].cursor = place; /* go on from here the next time */
    place = pf_place_add_lane(k->w, first);
    return place != HD_NONE && make_lanes(k) ? place : HD_NONE;
}

static void bind_waiting(walk *k, uint32_t first, uint32_t item)
{
    uint32_t point = k->lanes[first].waiting;
    for (; point != HD_NONE; point = k->w->points[point].next) k->w->points[point].item = item;
    k->lanes[first].waiting = HD_NONE;
}

/* An instant takes the points for which no slice follows. */
static void place_instant(walk *k, uint32_t index)
{
    lane *l = &k->lanes[pf_item_place(&k->w->items[index])];
    for (uint32_t point = l->waiting; point != HD_NONE; point = k->w->points[point].next) {
        if (k->w->points[point].item != HD_NONE) break; /* so are those after it */
        k->w->points[point].item = index;
    }
    l->latest = index;
}

static hd_status place_slice(walk *k, uint32_t index, hd_error *err)
{
    pf_item *item = &k->w->items[index];
    uint32_t first = pf_item_place(item), place = find_lane(k, first, item);
    if (place == HD_NONE) return HD_NOMEM(err);
    if (!push(k, &k->lanes[place], item->end, index)) return HD_NOMEM(err);
    bind_waiting(k, first, index);
    k->lanes[first].latest = index;
    if (place == first) return HD_OK;
    item->place = (uint32_t)pf_item_kind_of(item) << PF_PLACE_BITS | place;
    k->w->places[first].events--;
    k->w->places[place].events++;
    k->w->notes[PF_NOTE_CROSSING]++;
    return HD_OK;
}

/* ---- flow points ---- */

/* How well a slice encloses a time: best if it begins there, then if it is around it, then if it ends there. */
static int enclosing_rank(const pf_item *item, int64_t at)
{
    return item->start == at ? 2 : item->end > at ? 1 : 0;
}

static uint32_t find_enclosing(walk *k, uint32_t first, int64_t at)
{
    uint32_t best = HD_NONE;
    int best_rank = -1, tried = 0;
    for (uint32_t p = first; p != HD_NONE && tried <= LANES_TRIED; p = k->w->places[p].next_lane, tried++) {
        lane *l = &k->lanes[p];
        close_before(k, l, at);
        uint32_t looked_at = 0;
        for (uint32_t i = l->top; i != HD_NONE && looked_at++ < DEPTH_LOOKED_AT; i = k->open[i].below) {
            const open_slice *open = &k->open[i];
            int rank = enclosing_rank(&k->w->items[open->item], at);
            if (rank > best_rank || (rank == best_rank && open->item > best)) {
                best = open->item;
                best_rank = rank;
            }
            if (open->end > at) break; /* those below began before */
        }
    }
    return best;
}

/* The item that began last, unless its end event has ended it. */
static uint32_t find_latest(walk *k, uint32_t first)
{
    uint32_t latest = k->lanes[first].latest;
    if (latest == HD_NONE || pf_item_kind_of(&k->w->items[latest]) == PF_ITEM_INSTANT) return latest;
    return pf_item_event(k->w, &k->w->items[latest]).phase == 'B' ? HD_NONE : latest;
}

static void bind_point(walk *k, uint32_t index)
{
    pf_flow_point *point = &k->w->points[index];
    if (point->enclosing) {
        point->item = find_enclosing(k, point->place, point->time);
        if (point->item == HD_NONE) point->item = find_latest(k, point->place);
    } else {
        point->next = k->lanes[point->place].waiting;
        k->lanes[point->place].waiting = index;
    }
}

/* Points that bind to the next slice come before slices that begin at their time, others after. */
static bool point_is_first(const pf_flow_point *point, const pf_item *item)
{
    return point->time < item->start || (point->time == item->start && !point->enclosing);
}

static hd_status walk_items(walk *k, hd_error *err)
{
    size_t next = 0;
    if (!make_lanes(k)) return HD_NOMEM(err);
    for (size_t i = 0; i < k->w->item_count; i++) {
        pf_item_kind kind = pf_item_kind_of(&k->w->items[i]);
        if (kind == PF_ITEM_COUNTER) continue;
        while (next < k->w->point_count && point_is_first(&k->w->points[next], &k->w->items[i]))
            bind_point(k, (uint32_t)next++);
        if (kind == PF_ITEM_INSTANT)
            place_instant(k, (uint32_t)i);
        else
            HD_TRY(place_slice(k, (uint32_t)i, err));
    }
    while (next < k->w->point_count) bind_point(k, (uint32_t)next++);
    return HD_OK;
}

hd_status pf_lanes(pf_writer *w, hd_error *err)
{
    walk k = {.w = w, .free = HD_NONE};
    hd_status status = walk_items(&k, err);
    hd_large_free(k.open);
    hd_large_free(k.lanes);
    return status;
}
