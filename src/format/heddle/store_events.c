/* store_events.c - the blocks and order runs of a store, as the builder is told of them
 *
 * Heads say where in its table a block stands and how many events were before a run, so holes are known: they are given
 * to the builder as blocks and runs that cannot be loaded.
 */
#include "base/error.h"
#include "format/heddle/store_reader.h"

enum { HOLE_LIMIT = 1 << 26 }; /* rows, in all holes: each costs memory until it is known to be lost */

typedef struct event_opening {
    const store_opening *o;
    uint64_t ordered[HD_KIND_COUNT];
    uint64_t hole_rows, hole_events;
} event_opening;

static hd_status too_many(const store_opening *o)
{
    return hd_error_set(o->err, HD_ERR_DAMAGED, o->path, HD_OFFSET_NONE, "too much is missing to read the rest");
}

static hd_status add_hole(event_opening *e, hd_kind kind, uint64_t rows)
{
    if (rows == 0) return HD_OK;
    if (rows > HOLE_LIMIT - e->hole_rows) return too_many(e->o);
    e->hole_rows += rows;
    while (rows) {
        uint32_t count = rows < HD_BLOCK_ROWS ? (uint32_t)rows : HD_BLOCK_ROWS;
        HD_TRY(hd_builder_add_block(e->o->builder, kind, count, HD_NO_TIME, HD_NO_TIME, STORE_NO_PLACE, e->o->err));
        rows -= count;
    }
    e->o->store->anew = true;
    return HD_OK;
}

static hd_status add_block(event_opening *e, size_t place)
{
    store *s = e->o->store;
    const store_section *section = &s->map.sections[place];
    store_block_head head;
    if (!store_get_block_head(&head, section) || head.first_row < s->rows[head.kind] ||
        (head.last_track != HD_NONE && head.last_track >= s->track_count))
        return store_lies(e->o, section->offset, "the head of a block has no sense");
    hd_kind kind = (hd_kind)head.kind;
    HD_TRY(add_hole(e, kind, head.first_row - s->rows[kind]));
    s->rows[kind] = head.first_row + head.row_count;
    return hd_builder_add_block(e->o->builder, kind, head.row_count, head.start_ns, head.end_ns, place, e->o->err);
}

static hd_status add_order(event_opening *e, size_t place)
{
    const store_section *section = &e->o->store->map.sections[place];
    store_order_head head;
    uint32_t hole[HD_KIND_COUNT] = {0};
    bool any = false;
    if (!store_get_order_head(&head, section))
        return store_lies(e->o, section->offset, "the head of a run has no sense");
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (head.before[kind] < e->ordered[kind]) return store_lies(e->o, section->offset, "runs of the order overlap");
        uint64_t missing = head.before[kind] - e->ordered[kind];
        if (missing > HOLE_LIMIT - e->hole_events) return too_many(e->o);
        e->hole_events += missing;
        hole[kind] = (uint32_t)missing;
        any |= missing > 0;
        e->ordered[kind] = head.before[kind] + head.counts[kind];
    }
    if (any) HD_TRY(hd_builder_add_order(e->o->builder, hole, STORE_NO_PLACE, e->o->err));
    return hd_builder_add_order(e->o->builder, head.counts, place, e->o->err);
}

/* How many rows the facts promise and no section tells of. */
static hd_status compare_totals(const store_opening *o)
{
    store *s = o->store;
    uint64_t missing = 0;
    if (!s->totals.known) {
        s->anew |= !s->map.has_footer;
        return HD_OK;
    }
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (s->totals.rows[kind] < s->rows[kind])
            return store_lies(o, HD_OFFSET_NONE, "there are more events than the facts say");
        if (__builtin_add_overflow(missing, s->totals.rows[kind] - s->rows[kind], &missing)) missing = UINT64_MAX;
    }
    if (missing == 0) return HD_OK;
    s->anew = true;
    return store_report(o, "heddle.events-missing", HD_LEDGER_LOSS, missing, HD_OFFSET_NONE);
}

hd_status store_open_events(store_opening *o)
{
    store *s = o->store;
    event_opening e = {.o = o};
    for (size_t i = 0; i < s->map.count; i++) {
        if (s->map.sections[i].type == STORE_BLOCK) HD_TRY(add_block(&e, i));
        if (s->map.sections[i].type == STORE_ORDER) HD_TRY(add_order(&e, i));
    }
    return compare_totals(o);
}
