/* events.c - gives the builder the blocks and order runs of a store
 *
 * Heads contain a block's position in its table, and the number of events before a run. So holes are known: they are
 * given to the builder as blocks and runs that cannot be loaded.
 */
#include <stdlib.h>

#include "base/error.h"
#include "format/heddle/read/reader.h"
#include "trace/event.h"

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

/* The number of rows in the facts that no section has. */
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

/* ---- sums ---- */

typedef struct track_sum {
    uint64_t rows[HD_KIND_COUNT];
    int64_t start_ns, end_ns;
} track_sum;

static void widen(track_sum *sum, const hd_block *block, uint32_t row)
{
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
    if (start != HD_NO_TIME) hd_span_widen(&sum->start_ns, &sum->end_ns, start, hd_end_or_start(start, duration));
}

static void sum_block(track_sum *sums, const hd_block *block)
{
    for (uint32_t row = 0; row < block->row_count; row++) {
        uint32_t track = (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], row);
        if (track == HD_NONE) continue;
        sums[track].rows[block->kind]++;
        if (block->kind == HD_KIND_SLICE) widen(&sums[track], block, row);
    }
}

static bool sums_agree(const hd_trace *trace, const track_sum *sums)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (memcmp(track->rows, sums[i].rows, sizeof track->rows) != 0 || track->start_ns != sums[i].start_ns ||
            track->end_ns != sums[i].end_ns)
            return false;
    }
    return true;
}

static void forget_sums(hd_builder *builder)
{
    const hd_trace *trace = hd_builder_trace(builder);
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        hd_track track = *hd_trace_track_at(trace, i);
        memset(track.rows, 0, sizeof track.rows);
        track.start_ns = track.end_ns = HD_NO_TIME;
        hd_builder_set_track(builder, i, &track);
    }
}

hd_status store_check_sums(const store_opening *o, bool *out_anew)
{
    const hd_trace *trace = o->store->trace;
    uint32_t count = hd_trace_track_count(trace);
    track_sum *sums = calloc((size_t)count + 1, sizeof *sums);
    if (!sums) return HD_NOMEM(o->err);
    for (uint32_t i = 0; i < count; i++) sums[i].start_ns = sums[i].end_ns = HD_NO_TIME;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (size_t i = 0; i < hd_trace_block_count(trace, (hd_kind)kind); i++)
            sum_block(sums, hd_trace_block_at(trace, (hd_kind)kind, i));
    }
    bool agree = sums_agree(trace, sums);
    free(sums);
    if (agree) return HD_OK;
    *out_anew = true;
    forget_sums(o->builder);
    return store_report(o, "heddle.sums-differ", HD_LEDGER_REPAIR, 1, HD_OFFSET_NONE);
}
