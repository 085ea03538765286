/* trace.c - reading a trace */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "base/text/decimal.h"
#include "trace/event.h"
#include "trace/impl.h"
#include "trace/text.h"

const char *hd_kind_name(hd_kind kind)
{
    static const char *const names[HD_KIND_COUNT] = {"slice", "end",    "instant", "counter", "flow",
                                                     "async", "sample", "object",  "meta",    "other"};
    return (unsigned)kind < HD_KIND_COUNT ? names[kind] : "?";
}

uint64_t hd_trace_row_count(const hd_trace *trace, hd_kind kind)
{
    return trace->tables[kind].row_count;
}

uint64_t hd_trace_event_count(const hd_trace *trace)
{
    uint64_t count = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) count += trace->tables[kind].row_count;
    return count;
}

size_t hd_trace_block_count(const hd_trace *trace, hd_kind kind)
{
    return trace->tables[kind].count;
}

const hd_block *hd_trace_block_at(const hd_trace *trace, hd_kind kind, size_t index)
{
    const hd_block *block = trace->tables[kind].blocks[index];
    if (trace->lazy) hd_lazy_load_block(trace, block, false);
    return block;
}

const hd_block *hd_trace_columns_at(const hd_trace *trace, hd_kind kind, size_t index)
{
    const hd_block *block = trace->tables[kind].blocks[index];
    if (trace->lazy) hd_lazy_load_block(trace, block, true);
    return block;
}

const hd_block *hd_trace_extent_at(const hd_trace *trace, hd_kind kind, size_t index)
{
    return trace->tables[kind].blocks[index];
}

static size_t find_block(uint32_t *out_row, const hd_table *table, uint64_t row)
{
    size_t low = 1, high = table->count; /* the first block after the row */
    HD_PARTITION_POINT(low, high, at, table->blocks[at]->first_row <= row);
    *out_row = (uint32_t)(row - table->blocks[low - 1]->first_row);
    return low - 1;
}

const hd_block *hd_trace_block_of(uint32_t *out_row, const hd_trace *trace, hd_kind kind, uint64_t row)
{
    return hd_trace_block_at(trace, kind, find_block(out_row, &trace->tables[kind], row));
}

const hd_block *hd_trace_columns_of(uint32_t *out_row, const hd_trace *trace, hd_kind kind, uint64_t row)
{
    return hd_trace_columns_at(trace, kind, find_block(out_row, &trace->tables[kind], row));
}

/* ---- walks ---- */

static const hd_block *visit(hd_block_room *room, const hd_trace *trace, hd_kind kind, size_t index, bool columns_only)
{
    const hd_block *block = trace->tables[kind].blocks[index];
    if (room->of == block && room->is_here && room->columns_only <= columns_only) return &room->block;
    if (room->of && room->of != block) {
        room->out_of_order |= room->of->kind == kind && room->of->first_row > block->first_row;
        if (!room->is_here) hd_trace_release(trace, room->of);
    }
    room->of = block;
    room->columns_only = columns_only;
    room->is_here = trace->lazy && !room->out_of_order && hd_lazy_visit(room, trace, block, columns_only);
    if (room->is_here) return &room->block;
    if (trace->lazy) hd_lazy_load_block(trace, block, columns_only);
    return block;
}

const hd_block *hd_walk_block(hd_block_room *room, const hd_trace *trace, hd_kind kind, size_t index)
{
    return visit(room, trace, kind, index, false);
}

const hd_block *hd_walk_columns(hd_block_room *room, const hd_trace *trace, hd_kind kind, size_t index)
{
    return visit(room, trace, kind, index, true);
}

const hd_block *hd_walk_row(uint32_t *out_row, hd_block_room *room, const hd_trace *trace, hd_kind kind, uint64_t row)
{
    return visit(room, trace, kind, find_block(out_row, &trace->tables[kind], row), false);
}

void hd_trace_keep_visited(hd_trace *trace)
{
    trace->spill.keeps_visited = true;
}

void hd_walk_end(hd_block_room *room, const hd_trace *trace)
{
    if (room->of && !room->is_here) hd_trace_release(trace, room->of);
    if (room->of && trace->lazy) hd_lazy_free_idle(trace);
    hd_arena_deinit(&room->arena);
    *room = (hd_block_room){0};
}

size_t hd_trace_order_count(const hd_trace *trace)
{
    return trace->chunk_count;
}

const uint8_t *hd_trace_order_at(size_t *out_count, const hd_trace *trace, size_t index)
{
    if (trace->lazy) hd_lazy_load_order(trace, trace->chunk_list[index]);
    *out_count = trace->chunk_list[index]->order_count;
    return trace->chunk_list[index]->order;
}

const hd_arg_group *hd_block_group(const hd_block *block, uint32_t shape)
{
    uint32_t low = 0, high = block->group_count;
    HD_PARTITION_POINT(low, high, at, block->groups[at].shape < shape);
    return low < block->group_count && block->groups[low].shape == shape ? &block->groups[low] : NULL;
}

void hd_block_event(hd_event *out, const hd_block *block, uint32_t row)
{
    const hd_column *c = block->columns;
    uint32_t phase = (uint32_t)hd_column_at(&c[HD_COL_PHASE], row);
    int64_t start = hd_column_at(&c[HD_COL_START_PS], row), end = hd_column_at(&c[HD_COL_END_PS], row);
    *out = (hd_event){
        .kind = block->kind,
        .row = block->first_row + row,
        .start_ns = hd_column_at(&c[HD_COL_START], row),
        .duration_ns = hd_column_at(&c[HD_COL_DURATION], row),
        .start_ps = hd_below_ps(start),
        .end_ps = hd_below_ps(end),
        .start_finer = (uint64_t)(start / 1000),
        .end_finer = (uint64_t)(end / 1000),
        .track = (uint32_t)hd_column_at(&c[HD_COL_TRACK], row),
        .name = (uint32_t)hd_column_at(&c[HD_COL_NAME], row),
        .category = (uint32_t)hd_column_at(&c[HD_COL_CATEGORY], row),
        .phase = (char)(phase & HD_PHASE_MASK),
        .flags = phase & ~(uint32_t)HD_PHASE_MASK,
        .id_type = (uint32_t)hd_column_at(&c[HD_COL_ID_TYPE], row),
        .id = hd_column_at(&c[HD_COL_ID], row),
        .partner = hd_column_at(&c[HD_COL_PARTNER], row),
        .source_offset = (uint64_t)hd_column_at(&c[HD_COL_SOURCE], row),
        .source_size = (uint32_t)hd_column_at(&c[HD_COL_SOURCE_SIZE], row),
        .shape = (uint32_t)hd_column_at(&c[HD_COL_SHAPE], row),
        .args_row = (uint32_t)hd_column_at(&c[HD_COL_ARGS_ROW], row),
    };
    out->args = hd_block_group(block, out->shape);
    out->correlation = hd_column_at(&c[HD_COL_CORRELATION], row);
}

/* ---- strings, shapes, values ---- */

hd_string hd_trace_string(const hd_trace *trace, uint32_t id)
{
    hd_string text;
    if (trace->kept && hd_kept_stacks_text(&text, trace->kept, id)) return text;
    return hd_strings_at(&trace->strings, id);
}
uint32_t hd_trace_string_count(const hd_trace *trace)
{
    return atomic_load(&trace->strings.count);
}

uint32_t hd_trace_find_string(const hd_trace *trace, const char *data, size_t size)
{
    return hd_strings_find(&trace->strings, data, size);
}

uint32_t hd_trace_shape_count(const hd_trace *trace)
{
    return trace->shapes.count;
}
const hd_shape *hd_trace_shape_at(const hd_trace *trace, uint32_t shape)
{
    return &hd_shapes_list(&trace->shapes)[shape];
}

int hd_shape_find(const hd_shape *shape, uint32_t key, hd_arg_scope scope)
{
    for (uint32_t i = shape->key_count; i-- > 0;) {
        if (shape->keys[i].key == key && shape->keys[i].scope == scope) return (int)i;
    }
    return -1;
}

double hd_decimal_double(int64_t packed)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[64];
    long long mantissa = hd_decimal_mantissa(packed), exact = INT64_C(1) << 53;
    unsigned scale = hd_decimal_scale(packed);
    /* Both are doubles without rounding, so that their quotient is rounded once, as strtod's result is. */
    if (scale < sizeof powers / sizeof *powers && mantissa >= -exact && mantissa <= exact)
        return (double)mantissa / powers[scale];
    snprintf(text, sizeof text, "%llde-%u", mantissa, scale);
    return strtod(text, NULL);
}

bool hd_event_arg(hd_value *out, const hd_trace *trace, const hd_event *event, uint32_t key)
{
    if (!event->args || key == HD_NONE) return false;
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    int index = hd_shape_find(shape, key, HD_SCOPE_ARGS);
    if (index < 0) return false;
    out->type = (hd_arg_type)shape->keys[index].type;
    out->bits = hd_column_at(&event->args->columns[index], event->args_row);
    return true;
}

bool hd_value_int(int64_t *out, const hd_trace *trace, hd_value value)
{
    switch (value.type) {
    case HD_ARG_INT: *out = value.bits; return true;
    case HD_ARG_STRING:
    case HD_ARG_NUMBER: {
        hd_string text = hd_trace_string(trace, (uint32_t)value.bits);
        return hd_fixed_parse_whole(out, text.data, text.size);
    }
    case HD_ARG_DECIMAL: {
        int64_t mantissa = hd_decimal_mantissa(value.bits);
        for (unsigned i = hd_decimal_scale(value.bits); i-- > 0; mantissa /= 10) {
            if (mantissa % 10) return false;
        }
        *out = mantissa;
        return true;
    }
    default: return false;
    }
}

bool hd_event_arg_int(int64_t *out, const hd_trace *trace, const hd_event *event, uint32_t key)
{
    hd_value value;
    return hd_event_arg(&value, trace, event, key) && hd_value_int(out, trace, value);
}

bool hd_event_arg_address(uint64_t *out, const hd_trace *trace, const hd_event *event, uint32_t key)
{
    hd_value value;
    char text[32], *end;
    if (!hd_event_arg(&value, trace, event, key)) return false;
    if (value.type == HD_ARG_INT) {
        *out = (uint64_t)value.bits;
        return true;
    }
    if (value.type != HD_ARG_NUMBER && value.type != HD_ARG_STRING) return false;
    hd_string s = hd_trace_string(trace, (uint32_t)value.bits);
    if (s.size == 0 || s.size >= sizeof text || s.data[0] < '0' || s.data[0] > '9') return false;
    memcpy(text, s.data, s.size);
    text[s.size] = '\0';
    errno = 0;
    unsigned long long number = strtoull(text, &end, text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10);
    if (errno || end != text + s.size) return false;
    *out = number;
    return true;
}

bool hd_value_double(double *out, const hd_trace *trace, hd_value value)
{
    if (value.type == HD_ARG_INT)
        *out = (double)value.bits;
    else if (value.type == HD_ARG_DECIMAL)
        *out = hd_decimal_double(value.bits);
    else if (value.type == HD_ARG_NUMBER || value.type == HD_ARG_STRING) {
        hd_string s = hd_trace_string(trace, (uint32_t)value.bits);
        char text[64], *end;
        if (s.size == 0 || s.size >= sizeof text) return false;
        memcpy(text, s.data, s.size);
        text[s.size] = '\0';
        *out = strtod(text, &end);
        return end == text + s.size;
    } else
        return false;
    return true;
}

/* ---- tracks, metadata, ledger ---- */

uint32_t hd_trace_track_count(const hd_trace *trace)
{
    return trace->tracks.count;
}
const hd_track *hd_trace_track_at(const hd_trace *trace, uint32_t index)
{
    return &trace->tracks.list[index];
}
size_t hd_trace_metadata_count(const hd_trace *trace)
{
    return trace->metadata_count;
}
const hd_metadata *hd_trace_metadata_at(const hd_trace *trace, size_t index)
{
    return &trace->metadata[index];
}
size_t hd_trace_ledger_count(const hd_trace *trace)
{
    return trace->ledger_count;
}
const hd_ledger_row *hd_trace_ledger_at(const hd_trace *trace, size_t index)
{
    return &trace->ledger[index];
}
const hd_trace_facts *hd_trace_facts_of(const hd_trace *trace)
{
    return &trace->facts;
}

bool hd_trace_is_made_from(const hd_trace *trace, const char *format)
{
    const hd_trace_facts *facts = &trace->facts;
    return strcmp(facts->origin ? facts->origin : facts->format, format) == 0;
}
size_t hd_trace_patch_count(const hd_trace *trace)
{
    return trace->patch_count;
}
const hd_source_patch *hd_trace_patch_at(const hd_trace *trace, size_t index)
{
    return &trace->patches[index];
}

hd_string hd_trace_metadata_find(const hd_trace *trace, const char *key)
{
    for (size_t i = trace->metadata_count; i-- > 0;) {
        hd_string name = hd_trace_string(trace, trace->metadata[i].key);
        if (hd_string_is(name, key)) return hd_trace_string(trace, trace->metadata[i].value);
    }
    return (hd_string){"", 0};
}

void hd_trace_watch(hd_trace *trace, hd_trace_watcher *watcher, void *user)
{
    trace->watcher = watcher;
    trace->watcher_user = user;
}

void hd_trace_say_copied(const hd_trace *trace, uint64_t events)
{
    if (trace->watcher) trace->watcher(trace->watcher_user, events);
}

void hd_trace_free(hd_trace *trace)
{
    if (!trace) return;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) free(trace->tables[kind].blocks);
    for (hd_chunk *chunk = trace->chunks; chunk;) {
        hd_chunk *next = chunk->next;
        hd_chunk_free(chunk);
        chunk = next;
    }
    hd_lazy_free(trace->lazy);
    hd_kept_stacks_free(trace->kept);
    hd_spill_deinit(&trace->spill);
    free(trace->chunk_list);
    free(trace->metadata);
    free(trace->ledger);
    free(trace->patches);
    hd_index_free(trace->index);
    hd_arena_deinit(&trace->arena);
    hd_shapes_deinit(&trace->shapes);
    hd_tracks_deinit(&trace->tracks);
    hd_strings_deinit(&trace->strings);
    free(trace); /* the first member of its builder */
}
