/* collect.c - one item of every event that becomes packets */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/conventions.h"
#include "format/perfetto/write/writer.h"
#include "model/flows/bind.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/text.h"

/* Times beyond 146 years from zero are damage; within, sums and shifts cannot overflow. */
#define TIME_LIMIT (INT64_MAX / 2)

bool pf_time_fits(int64_t time)
{
    return time >= -TIME_LIMIT && time <= TIME_LIMIT;
}

bool pf_check_time(pf_writer *w, int64_t start, int64_t end)
{
    if (start == HD_NO_TIME) {
        w->notes[PF_NOTE_NO_TIME]++;
        return false;
    }
    if (!pf_time_fits(start) || (end != PF_OPEN_END && !pf_time_fits(end))) {
        w->notes[PF_NOTE_BEYOND_TIME]++;
        return false;
    }
    return true;
}

hd_status pf_add_item(pf_writer *w, pf_item_kind kind, uint32_t place, uint32_t row, int64_t start, int64_t end,
                      hd_error *err)
{
    if (place == HD_NONE || w->item_count >= UINT32_MAX - 1 ||
        !hd_large_grow((void **)&w->items, &w->item_capacity, w->item_count, sizeof *w->items, w->large))
        return HD_NOMEM(err);
    w->items[w->item_count++] = (pf_item){start, end, row, (uint32_t)kind << PF_PLACE_BITS | place};
    w->places[place].events++;
    return HD_OK;
}

hd_event pf_item_event(const pf_writer *w, const pf_item *item)
{
    static const hd_kind kinds[] = {[PF_ITEM_SLICE] = HD_KIND_SLICE,
                                    [PF_ITEM_INSTANT] = HD_KIND_INSTANT,
                                    [PF_ITEM_COUNTER] = HD_KIND_COUNTER,
                                    [PF_ITEM_ASYNC] = HD_KIND_ASYNC};
    pf_item_kind kind = pf_item_kind_of(item);
    uint32_t row = kind == PF_ITEM_ASYNC ? w->async_pairs[item->row].begin : item->row;
    return hd_event_at(w->trace, kinds[kind], row);
}

uint64_t pf_id_hash(const hd_trace *trace, uint32_t id_type, int64_t id)
{
    hd_point_id point = hd_point_id_of(trace, id_type, id);
    struct {
        uint64_t value, type;
    } key = {(uint64_t)point.value, point.type};
    return hd_hash(&key, sizeof key);
}

/* ---- slices ---- */

/* Start and end of a slice as they will be written. */
static bool slice_span(pf_writer *w, int64_t *out_start, int64_t *out_end, const hd_block *block, uint32_t row)
{
    int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
    int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row), end = start;
    if (duration != HD_NO_TIME) {
        if (start != HD_NO_TIME && __builtin_add_overflow(start, duration, &end))
            end = duration < 0 ? start : PF_OPEN_END - 1;
    } else if ((hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK) == 'B') {
        end = PF_OPEN_END;
    }
    *out_start = start;
    *out_end = end;
    if (!pf_check_time(w, start, end < start ? start : end)) return false;
    if (end < start) {
        w->notes[PF_NOTE_NEGATIVE_DURATION]++;
        *out_end = start;
    }
    return true;
}

static void note_picoseconds(pf_writer *w, const hd_block *block, uint32_t row)
{
    if (hd_column_at(&block->columns[HD_COL_START_PS], row) || hd_column_at(&block->columns[HD_COL_END_PS], row))
        w->notes[PF_NOTE_PICOSECONDS]++;
}

static hd_status collect_slices(pf_writer *w, const hd_block *block, hd_error *err)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t start, end;
        if (!slice_span(w, &start, &end, block, i)) continue;
        note_picoseconds(w, block, i);
        uint32_t place = pf_place_of_track(w, (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i));
        HD_TRY(pf_add_item(w, PF_ITEM_SLICE, place, (uint32_t)(block->first_row + i), start, end, err));
    }
    return HD_OK;
}

/* End events are written with their slices. Ends without a slice, or with a lost one, are lost. */
static hd_status collect_ends(pf_writer *w, const hd_block *block, hd_error *err)
{
    (void)err;
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t partner = hd_column_at(&block->columns[HD_COL_PARTNER], i), start, end;
        if (partner < 0 || (uint64_t)partner >= hd_trace_row_count(w->trace, HD_KIND_SLICE)) {
            w->notes[PF_NOTE_END_UNMATCHED]++;
            continue;
        }
        uint32_t row;
        const hd_block *slices = hd_trace_block_of(&row, w->trace, HD_KIND_SLICE, (uint64_t)partner);
        uint64_t negative = w->notes[PF_NOTE_NEGATIVE_DURATION];
        if (slice_span(w, &start, &end, slices, row)) w->written++;
        w->notes[PF_NOTE_NEGATIVE_DURATION] = negative;
    }
    return HD_OK;
}

static hd_status collect_instants(pf_writer *w, const hd_block *block, hd_error *err)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        int64_t start = hd_column_at(&block->columns[HD_COL_START], i);
        if (!pf_check_time(w, start, start)) continue;
        note_picoseconds(w, block, i);
        uint32_t place = pf_place_of_track(w, (uint32_t)hd_column_at(&block->columns[HD_COL_TRACK], i));
        HD_TRY(pf_add_item(w, PF_ITEM_INSTANT, place, (uint32_t)(block->first_row + i), start, start, err));
    }
    return HD_OK;
}

/* ---- counters ---- */

static bool is_series(pf_writer *w, const hd_arg_key *key, int64_t bits)
{
    double number;
    if (key->scope != HD_SCOPE_ARGS || key->type == HD_ARG_NULL || key->type == HD_ARG_JSON) return false;
    if (key->type != HD_ARG_STRING && key->type != HD_ARG_NUMBER) return true;
    return hd_value_double(&number, w->trace, (hd_value){.type = (hd_arg_type)key->type, .bits = bits});
}

/* A place for each series, and one item that represents all of them. */
static hd_status collect_counter(pf_writer *w, const hd_event *event, hd_error *err)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    uint32_t first = HD_NONE;
    for (uint32_t k = 0; k < shape->key_count; k++) {
        if (!is_series(w, &shape->keys[k], hd_column_at(&event->args->columns[k], event->args_row))) continue;
        uint32_t place = pf_place_counter(w, event, shape->keys[k].key);
        if (place == HD_NONE) return HD_NOMEM(err);
        if (first == HD_NONE) first = place;
    }
    if (first == HD_NONE) {
        w->notes[PF_NOTE_COUNTER_EMPTY]++;
        return HD_OK;
    }
    return pf_add_item(w, PF_ITEM_COUNTER, first, (uint32_t)event->row, event->start_ns, event->start_ns, err);
}

static hd_status collect_counters(pf_writer *w, const hd_block *block, hd_error *err)
{
    for (uint32_t i = 0; i < block->row_count; i++) {
        hd_event event;
        hd_block_event(&event, block, i);
        if (!pf_check_time(w, event.start_ns, event.start_ns)) continue;
        note_picoseconds(w, block, i);
        HD_TRY(collect_counter(w, &event, err));
    }
    return HD_OK;
}

/* ---- metadata events ---- */

/* Names and order of tracks are in the descriptors; other metadata events are lost. */
static hd_status collect_meta(pf_writer *w, const hd_block *block, hd_error *err)
{
    static const char *const known[] = {"thread_name",        "thread_sort_index", "process_name", "process_labels",
                                        "process_sort_index", HD_STREAM_EVENT,     HD_RANK_EVENT};
    (void)err;
    for (uint32_t i = 0; i < block->row_count; i++) {
        hd_string name = hd_trace_string(w->trace, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i));
        bool is_known = false;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) is_known |= hd_string_is(name, known[k]);
        if (is_known)
            w->written++;
        else
            w->notes[PF_NOTE_META]++;
    }
    return HD_OK;
}

/* ---- all ---- */

static hd_status collect_kind(pf_writer *w, hd_kind kind,
                              hd_status (*collect)(pf_writer *, const hd_block *, hd_error *), hd_error *err)
{
    if (hd_trace_row_count(w->trace, kind) >= UINT32_MAX)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 events of one kind");
    for (size_t b = 0; b < hd_trace_block_count(w->trace, kind); b++) {
        const hd_block *block = hd_trace_block_at(w->trace, kind, b);
        HD_TRY(collect(w, block, err));
        if (kind != HD_KIND_END) hd_trace_release(w->trace, block);
    }
    return HD_OK;
}

/* In order of time; of those that begin together the longer first, so that nested ones come after. */
static int by_time(const void *a, const void *b)
{
    const pf_item *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    if (pf_item_kind_of(x) != pf_item_kind_of(y)) return pf_item_kind_of(x) < pf_item_kind_of(y) ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Whether a pair of events that comes after an empty slice in the input is not around it: see trace/index/nesting.c. */
static bool follows_empty(const pf_writer *w, const pf_item *pair, const pf_item *empty)
{
    return pair->end > pair->start && pair->row > empty->row && (pf_item_event(w, pair).phase & HD_PHASE_MASK) == 'B';
}

/* Moves empty slices before pairs of events that are not around them. */
static void put_empty_first(pf_writer *w)
{
    enum { LOOKED_AT = 64 };
    for (size_t i = 1; i < w->item_count; i++) {
        pf_item item = w->items[i];
        if (item.end != item.start || pf_item_kind_of(&item) != PF_ITEM_SLICE) continue;
        size_t to = i;
        for (size_t at = i; at-- > 0 && i - at <= LOOKED_AT && w->items[at].start == item.start;) {
            if (w->items[at].place != item.place) continue;
            if (!follows_empty(w, &w->items[at], &item)) break;
            to = at;
        }
        memmove(w->items + to + 1, w->items + to, (i - to) * sizeof item);
        w->items[to] = item;
    }
}

hd_status pf_collect(pf_writer *w, hd_error *err)
{
    w->unit_key = hd_trace_find_string(w->trace, "unit", 4);
    HD_TRY(collect_kind(w, HD_KIND_SLICE, collect_slices, err));
    HD_TRY(collect_kind(w, HD_KIND_END, collect_ends, err));
    HD_TRY(collect_kind(w, HD_KIND_INSTANT, collect_instants, err));
    HD_TRY(collect_kind(w, HD_KIND_COUNTER, collect_counters, err));
    HD_TRY(collect_kind(w, HD_KIND_META, collect_meta, err));
    HD_TRY(pf_collect_async(w, err));
    HD_TRY(pf_collect_samples(w, err));
    w->notes[PF_NOTE_OBJECT] = hd_trace_row_count(w->trace, HD_KIND_OBJECT);
    w->notes[PF_NOTE_OTHER] = hd_trace_row_count(w->trace, HD_KIND_OTHER);
    if (!hd_large_sort(w->items, w->item_count, sizeof *w->items, by_time, w->large)) return HD_NOMEM(err);
    put_empty_first(w);
    int64_t first = w->item_count ? w->items[0].start : 0;
    if (w->sample_count && (!w->item_count || w->samples[0].start < first)) first = w->samples[0].start;
    w->shift = first < 0 ? -first : 0;
    w->notes[PF_NOTE_SHIFTED] = w->shift ? 1 : 0;
    return HD_OK;
}
