/* collect.c - assigns events to locations: two walks over the tables, one that counts and one that fills
 *
 * An event of every table except flows, async slices and names of tracks is one item. Flows and async slices are pairs,
 * which are found before; names are definitions.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "format/otf2/write/write.h"
#include "heddle/analysis/launches.h"
#include "trace/event.h"

typedef struct collector {
    ow_writer *w;
    bool fills; /* the second walk */
    int64_t *start, *duration, *track, *category;
    uint32_t names[5];               /* of metadata events that are definitions */
    uint8_t *calls;                  /* by category: 1 no calls of the GPU's runtime, 2 calls, 0 not looked at */
    uint32_t last_track, last_place; /* rows of one track are usually adjacent */
} collector;

/* ---- places ---- */

static uint32_t group_for(ow_writer *w, uint32_t track, ow_place_type type)
{
    const hd_track *t = track == HD_NONE ? NULL : hd_trace_track_at(w->trace, track);
    uint32_t process = !t || t->kind == HD_TRACK_PROCESS ? track : t->parent;
    int64_t device = t && t->kind == HD_TRACK_STREAM && type == OW_PLACE_ROW ? t->device : HD_NO_NUMBER, rank;
    if (process != HD_NONE) process = hd_trace_track_at(w->trace, process)->same_as;
    bool created;
    uint32_t *slot = ow_map_get(&w->group_of, process, (uint64_t)device, &created);
    if (!slot) return HD_NONE;
    if (!created) return *slot - 1;
    if (!hd_grow((void **)&w->groups, &w->group_capacity, w->group_count, sizeof *w->groups)) return HD_NONE;
    rank = process == HD_NONE ? HD_NO_NUMBER : hd_trace_track_at(w->trace, process)->rank;
    if (rank == HD_NO_NUMBER && t) rank = t->rank;
    w->groups[w->group_count++] =
        (ow_group){.process = process, .device = device, .rank = rank, .main_location = HD_NONE, .creator = HD_NONE};
    return *slot - 1;
}

static uint32_t add_place(ow_writer *w, ow_place_type type, uint32_t track, uint32_t category)
{
    if (!hd_grow((void **)&w->places, &w->place_capacity, w->place_count, sizeof *w->places)) return HD_NONE;
    uint32_t group = group_for(w, track, type);
    if (group == HD_NONE) return HD_NONE;
    w->places[w->place_count] = (ow_place){.track = track, .category = category, .type = type, .group = group};
    return (uint32_t)w->place_count++;
}

uint32_t ow_place_of(ow_writer *w, ow_place_type type, uint32_t track, uint32_t category)
{
    uint32_t index = hd_trace_track_count(w->trace); /* events without a track have the last entry */
    if (track != HD_NONE) index = track = hd_trace_track_at(w->trace, track)->same_as;
    if (type == OW_PLACE_ASYNC) {
        bool created;
        uint32_t *slot = ow_map_get(&w->async_places, index, category, &created);
        if (!slot) return HD_NONE;
        if (created) *slot = add_place(w, type, track, category) + 1; /* HD_NONE becomes 0 */
        return *slot - 1;
    }
    uint32_t *place = type == OW_PLACE_METRICS ? &w->metric_place[index] : &w->row_place[index];
    if (*place == HD_NONE) *place = add_place(w, type, track, HD_STRING_NONE);
    return *place;
}

/* ---- items ---- */

bool ow_clamp(const ow_writer *w, int64_t *ns)
{
    if (*ns > 0 || w->clamp_low <= 0) return false;
    *ns = w->clamp_low;
    return true;
}

static hd_status put(collector *c, uint32_t place, ow_item item)
{
    ow_writer *w = c->w;
    if (place == HD_NONE) return HD_NOMEM(w->err);
    ow_place *p = &w->places[place];
    bool outside = ow_clamp(w, &item.start);
    if (item.end < item.start) item.end = item.start;
    if (c->fills) {
        w->items[p->first + p->count++] = item;
        return HD_OK;
    }
    p->count++;
    w->item_count++;
    w->notes[OW_OUTSIDE] += outside && item.what != OW_MEMORY;
    if (item.start < w->low_ns) w->low_ns = item.start;
    if (item.end > w->high_ns) w->high_ns = item.end;
    return HD_OK;
}

static uint32_t row_place(collector *c, uint32_t track)
{
    if (track != c->last_track || c->last_place == HD_NONE) {
        c->last_track = track;
        c->last_place = ow_place_of(c->w, OW_PLACE_ROW, track, HD_STRING_NONE);
    }
    return c->last_place;
}

static void count_note(collector *c, ow_note note, uint64_t count)
{
    if (!c->fills) c->w->notes[note] += count;
}

static bool is_one_of(const uint32_t *list, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == id) return true;
    }
    return false;
}

static bool is_call(collector *c, uint32_t category)
{
    if (category == HD_STRING_NONE) return false;
    if (!c->calls[category]) {
        hd_role role = hd_role_of(hd_trace_string(c->w->trace, category), (hd_string){"", 0});
        c->calls[category] = role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER ? 2 : 1;
    }
    return c->calls[category] == 2;
}

static hd_status put_slice(collector *c, uint32_t i, ow_item item)
{
    uint32_t place = row_place(c, (uint32_t)c->track[i]);
    item.what = OW_SLICE;
    item.end = item.start;
    if (c->duration[i] == HD_NO_TIME)
        count_note(c, OW_NO_END, 1);
    else if (c->duration[i] < 0)
        count_note(c, OW_NEGATIVE, 1);
    else if (__builtin_add_overflow(item.start, c->duration[i], &item.end))
        item.end = INT64_MAX;
    if (!c->fills && place != HD_NONE) {
        ow_group *group = &c->w->groups[c->w->places[place].group];
        group->slices++;
        group->launches += is_call(c, (uint32_t)c->category[i]);
    }
    return put(c, place, item);
}

static hd_status put_row(collector *c, const hd_block *block, uint32_t i)
{
    ow_writer *w = c->w;
    ow_item item = {.start = c->start[i], .end = c->start[i], .what = OW_POINT, .kind = (uint8_t)block->kind};
    uint32_t track = (uint32_t)c->track[i];
    item.row = (uint32_t)(block->first_row + i);
    if (block->kind == HD_KIND_META &&
        is_one_of(c->names, 5, (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i))) {
        if (!c->fills) w->written++; /* a definition */
        return HD_OK;
    }
    if (block->kind == HD_KIND_END && hd_column_at(&block->columns[HD_COL_PARTNER], i) >= 0) {
        if (!c->fills) w->written++; /* the Leave of its slice */
        return HD_OK;
    }
    if (item.start == HD_NO_TIME) {
        count_note(c, block->kind == HD_KIND_META ? OW_META_LOST : OW_NO_TIME, 1);
        return HD_OK;
    }
    if (block->kind == HD_KIND_SLICE) return put_slice(c, i, item);
    if (block->kind == HD_KIND_INSTANT && (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i) == w->keys.memory) {
        ow_item memory = item; /* next to the instant, which has all other data */
        memory.what = OW_MEMORY;
        HD_TRY(put(c, ow_place_of(w, OW_PLACE_METRICS, track, HD_STRING_NONE), memory));
    }
    if (block->kind == HD_KIND_COUNTER && w->has_series[hd_column_at(&block->columns[HD_COL_SHAPE], i)]) {
        item.what = OW_METRIC;
        return put(c, ow_place_of(w, OW_PLACE_METRICS, track, HD_STRING_NONE), item);
    }
    return put(c, row_place(c, track), item);
}

static bool has_picoseconds(const hd_block *block, uint32_t i)
{
    return hd_column_at(&block->columns[HD_COL_START_PS], i) || hd_column_at(&block->columns[HD_COL_END_PS], i);
}

static hd_status walk_block(collector *c, const hd_block *block)
{
    hd_column_decode(c->start, &block->columns[HD_COL_START], 0, block->row_count);
    hd_column_decode(c->duration, &block->columns[HD_COL_DURATION], 0, block->row_count);
    hd_column_decode(c->track, &block->columns[HD_COL_TRACK], 0, block->row_count);
    hd_column_decode(c->category, &block->columns[HD_COL_CATEGORY], 0, block->row_count);
    for (uint32_t i = 0; i < block->row_count; i++) {
        HD_TRY(put_row(c, block, i));
        if (!c->fills && has_picoseconds(block, i)) c->w->notes[OW_PICOSECONDS]++;
    }
    return HD_OK;
}

/* ---- pairs ---- */

static hd_status put_messages(collector *c)
{
    ow_writer *w = c->w;
    for (size_t i = 0; i < w->message_count; i++) {
        for (int side = 0; side < 2; side++) {
            uint32_t row = side ? w->messages[i].to_row : w->messages[i].from_row;
            hd_event point = hd_event_at(w->trace, HD_KIND_FLOW, row);
            ow_item item = {.start = point.start_ns, .end = point.start_ns, .row = (uint32_t)i};
            item.what = side ? OW_RECEIVE : OW_SEND;
            item.kind = point.phase == 'f' && !(point.flags & HD_FLAG_BIND_ENCLOSING); /* binds to the next slice */
            HD_TRY(put(c, row_place(c, point.track), item));
        }
    }
    return HD_OK;
}

static hd_status put_pairs(collector *c)
{
    ow_writer *w = c->w;
    for (size_t i = 0; i < w->pair_count; i++) {
        hd_event begin = hd_event_at(w->trace, HD_KIND_ASYNC, w->pairs[i].begin);
        ow_item item = {.start = begin.start_ns, .end = begin.start_ns, .row = (uint32_t)i, .what = OW_ASYNC};
        if (w->pairs[i].end != HD_NONE) {
            hd_event end = hd_event_at(w->trace, HD_KIND_ASYNC, w->pairs[i].end);
            item.end = end.start_ns;
            /* its Leave names the location of its own track, so there must be one */
            if (end.track != begin.track && row_place(c, end.track) == HD_NONE) return HD_NOMEM(w->err);
        }
        HD_TRY(put(c, ow_place_of(w, OW_PLACE_ASYNC, begin.track, begin.category), item));
    }
    return HD_OK;
}

/* ---- both walks ---- */

static hd_status walk(collector *c)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (kind == HD_KIND_FLOW || kind == HD_KIND_ASYNC) continue;
        for (size_t b = 0; b < hd_trace_block_count(c->w->trace, (hd_kind)kind); b++)
            HD_TRY(walk_block(c, hd_trace_block_at(c->w->trace, (hd_kind)kind, b)));
    }
    HD_TRY(put_messages(c));
    return put_pairs(c);
}

static hd_status make_room(ow_writer *w)
{
    size_t first = 0;
    w->items = hd_large_new(w->item_count + 1, sizeof *w->items, w->large);
    if (!w->items) return HD_NOMEM(w->err);
    for (size_t i = 0; i < w->place_count; i++) {
        w->places[i].first = first;
        first += w->places[i].count;
        w->places[i].count = 0;
    }
    return HD_OK;
}

static uint32_t find(const ow_writer *w, const char *text)
{
    return hd_trace_find_string(w->trace, text, strlen(text));
}

hd_status ow_collect(ow_writer *w)
{
    int64_t *columns = malloc(4 * HD_BLOCK_ROWS * sizeof *columns);
    uint8_t *calls = calloc((size_t)hd_trace_string_count(w->trace) + 1, 1);
    if (!columns || !calls) {
        free(columns);
        free(calls);
        return HD_NOMEM(w->err);
    }
    collector c = {
        .w = w,
        .start = columns,
        .duration = columns + HD_BLOCK_ROWS,
        .track = columns + 2 * HD_BLOCK_ROWS,
        .category = columns + 3 * HD_BLOCK_ROWS,
        .names = {find(w, "process_name"), find(w, "process_labels"), find(w, "process_sort_index"),
                  find(w, "thread_name"), find(w, "thread_sort_index")},
        .calls = calls,
        .last_place = HD_NONE,
    };
    hd_status status = walk(&c);
    if (status == HD_OK) status = make_room(w);
    c.fills = true;
    if (status == HD_OK) status = walk(&c);
    free(columns);
    free(calls);
    return status;
}
