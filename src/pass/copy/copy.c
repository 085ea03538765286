/* copy.c - copies the events of a trace into a builder: maps of ids, order, tracks, metadata and ledger */
#include "pass/copy/copy.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "pass/copy/impl.h"
#include "trace/lazy.h"
#include "trace/watch.h"

/* ---- maps of ids ---- */

static bool map_init(hd_copy_map *map, uint32_t count)
{
    *map = (hd_copy_map){.count = count, .capacity = (size_t)count + 16, .source_count = count};
    map->ids = malloc(map->capacity * sizeof *map->ids);
    if (map->ids) memset(map->ids, 0xff, map->capacity * sizeof *map->ids);
    return map->ids != NULL;
}

static uint32_t map_add(hd_copy_map *map, uint32_t id)
{
    if (map->count >= HD_NONE - 1 || !hd_grow((void **)&map->ids, &map->capacity, map->count, sizeof *map->ids))
        return HD_NONE;
    map->ids[map->count] = id;
    return (uint32_t)map->count++;
}

uint32_t hd_copy_add_track(hd_copy *copy, uint32_t builder_track)
{
    return map_add(&copy->tracks, builder_track);
}

uint32_t hd_copy_add_string(hd_copy *copy, uint32_t builder_string)
{
    return map_add(&copy->strings, builder_string);
}

uint32_t hd_copy_string(hd_copy *copy, uint32_t source_string)
{
    if (source_string == HD_STRING_NONE || source_string >= copy->strings.count) return HD_STRING_NONE;
    uint32_t *id = &copy->strings.ids[source_string];
    if (*id == HD_NONE) {
        hd_string s = hd_trace_string(copy->trace, source_string);
        *id = hd_builder_intern(copy->builder, s.data, s.size);
    }
    return *id;
}

void hd_copy_set_text(hd_copy *copy, hd_copy_text *text, void *user)
{
    copy->text_of = text;
    copy->text_user = user;
}

uint32_t hd_copy_string_at(hd_copy *copy, hd_copy_place place, uint32_t source_string)
{
    bool is_asked = copy->text_of && source_string != HD_STRING_NONE && source_string < copy->strings.source_count;
    return is_asked ? copy->text_of(copy->text_user, place, source_string) : hd_copy_string(copy, source_string);
}

static hd_ident map_ident(hd_copy *copy, hd_ident ident)
{
    if (ident.type != HD_IDENT_NONE)
        ident.text =
            hd_copy_string_at(copy, ident.type == HD_IDENT_NUMBER ? HD_COPY_NUMBER : HD_COPY_TRACK, ident.text);
    return ident;
}

static uint32_t make_track(hd_copy *copy, const hd_track *from)
{
    hd_builder *builder = copy->builder;
    hd_ident pid = copy->pids ? copy->pids[from->id] : map_ident(copy, from->pid);
    uint32_t track = hd_builder_track(builder, pid, map_ident(copy, from->tid), from->kind == HD_TRACK_PROCESS);
    if (track == HD_NONE) return track;
    if (from->name) hd_builder_name_track(builder, track, hd_copy_string_at(copy, HD_COPY_TRACK, from->name));
    if (from->labels) hd_builder_label_track(builder, track, hd_copy_string_at(copy, HD_COPY_TRACK, from->labels));
    if (from->sort_index != HD_NO_NUMBER) hd_builder_sort_track(builder, track, from->sort_index);
    if (from->rank != HD_NO_NUMBER) hd_builder_set_rank(builder, track, from->rank);
    if (from->kind != HD_TRACK_THREAD) hd_builder_set_stream(builder, track, from->device, from->stream);
    return track;
}

uint32_t hd_copy_track(hd_copy *copy, uint32_t source_track)
{
    if (source_track >= copy->tracks.count) return HD_NONE;
    uint32_t *id = &copy->tracks.ids[source_track];
    if (*id == HD_NONE && source_track < copy->tracks.source_count)
        *id = make_track(copy, hd_trace_track_at(copy->trace, source_track));
    return *id;
}

hd_status hd_copy_tracks(hd_copy *copy, const uint8_t *keep, const hd_ident *pids, hd_error *err)
{
    copy->pids = pids;
    for (uint32_t i = 0; i < copy->tracks.source_count; i++) {
        if ((!keep || keep[i]) && hd_copy_track(copy, i) == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* HD_NONE: the builder has too many shapes; the arguments become text. */
uint32_t hd_copy_shape(hd_copy *copy, uint32_t source_shape)
{
    uint32_t *id = &copy->shapes.ids[source_shape];
    if (*id != HD_NONE) return *id;
    const hd_shape *shape = hd_trace_shape_at(copy->trace, source_shape);
    hd_arg_key *keys = malloc(((size_t)shape->key_count + 1) * sizeof *keys);
    if (!keys) {
        copy->no_memory = true;
        return HD_NONE;
    }
    for (uint32_t i = 0; i < shape->key_count; i++) {
        keys[i] = shape->keys[i];
        keys[i].key = hd_copy_string_at(copy, HD_COPY_KEY, keys[i].key);
    }
    *id = hd_builder_shape(copy->builder, keys, shape->key_count, shape->has_args);
    if (*id == HD_NONE && hd_trace_shape_count(hd_builder_trace(copy->builder)) < HD_SHAPE_LIMIT)
        copy->no_memory = true;
    free(keys);
    return *id;
}

/* ---- a copy ---- */

void hd_copy_free(hd_copy *copy)
{
    if (!copy) return;
    for (int c = 0; c < HD_COL_COUNT; c++) free(copy->rows.columns[c]);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) hd_large_free(copy->kept_bits[kind]);
    free(copy->rows.keep);
    free(copy->strings.ids);
    free(copy->tracks.ids);
    free(copy->shapes.ids);
    free(copy->group_of);
    free(copy->picks);
    free(copy->pick_rows);
    free(copy->group_first);
    free(copy->scratch);
    free(copy->added);
    free(copy->added_shapes);
    free(copy->variant_of);
    for (int i = 0; i < HD_COPY_ADDED; i++) free(copy->added_values[i]);
    free(copy->text.data);
    hd_chunk_free(copy->chunk);
    free(copy);
}

/* Rows of the largest possible block: arrays for HD_BLOCK_ROWS take 9 MB, which a small trace does not need. */
static uint32_t most_rows(const hd_trace *trace)
{
    uint64_t most = 1;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        uint64_t count = hd_trace_row_count(trace, (hd_kind)kind);
        if (count > most) most = count;
    }
    return most < HD_BLOCK_ROWS ? (uint32_t)most : HD_BLOCK_ROWS;
}

hd_status hd_copy_new(hd_copy **out, const hd_trace *trace, hd_builder *builder, hd_error *err)
{
    hd_copy *copy = calloc(1, sizeof *copy);
    *out = NULL;
    if (!copy) return HD_NOMEM(err);
    copy->trace = trace;
    copy->builder = builder;
    hd_builder_limit_as(builder, trace, 1);
    bool fine = map_init(&copy->strings, hd_trace_string_count(trace)) &&
                map_init(&copy->tracks, hd_trace_track_count(trace)) &&
                map_init(&copy->shapes, hd_trace_shape_count(trace));
    copy->rows.trace = trace;
    copy->most_rows = most_rows(trace);
    copy->rows.keep = malloc(copy->most_rows);
    copy->group_of = malloc(((size_t)hd_trace_shape_count(trace) + 1) * sizeof *copy->group_of);
    copy->picks = malloc(copy->most_rows * sizeof *copy->picks);
    copy->pick_rows = malloc(copy->most_rows * sizeof *copy->pick_rows);
    copy->scratch = malloc(copy->most_rows * sizeof *copy->scratch);
    for (int c = 0; c < HD_COL_COUNT; c++) {
        copy->rows.columns[c] = malloc(copy->most_rows * sizeof *copy->rows.columns[c]);
        fine = fine && copy->rows.columns[c];
    }
    if (!fine || !copy->rows.keep || !copy->group_of || !copy->picks || !copy->pick_rows || !copy->scratch) {
        hd_copy_free(copy);
        return HD_NOMEM(err);
    }
    *out = copy;
    return HD_OK;
}

uint64_t hd_copy_dropped(const hd_copy *copy)
{
    return copy->dropped;
}

uint64_t hd_copy_not_added(const hd_copy *copy)
{
    return copy->not_added;
}

/* ---- events in their order ---- */

static hd_status flush(hd_copy *copy)
{
    if (!copy->chunk || hd_chunk_order_count(copy->chunk) == 0) return HD_OK;
    hd_chunk *chunk = copy->chunk;
    copy->chunk = NULL;
    return hd_builder_append(copy->builder, chunk, copy->err);
}

/* Copies all blocks with rows before `until`. */
static hd_status copy_blocks(hd_copy *copy, hd_kind kind, uint64_t until)
{
    size_t count = hd_trace_block_count(copy->trace, kind);
    while (copy->next_block[kind] < count) {
        const hd_block *block = hd_trace_block_at(copy->trace, kind, copy->next_block[kind]);
        if (block->first_row >= until) break;
        copy->next_block[kind]++;
        HD_TRY(hd_copy_block(copy, block));
        hd_trace_release(copy->trace, block);
    }
    return HD_OK;
}

/* The kinds of the kept events; returns their number. */
static size_t sieve_order(hd_copy *copy, uint8_t *out, const uint8_t *order, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t kind = order[i];
        uint64_t row = copy->next_row[kind]++;
        const uint64_t *bits = copy->kept_bits[kind];
        out[kept] = kind;
        kept += !bits || (bits[row >> 6] >> (row & 63) & 1);
    }
    return kept;
}

static hd_status copy_run(hd_copy *copy, const uint8_t *order, size_t count)
{
    uint64_t of_kind[256] = {0};
    if (!copy->chunk) HD_TRY(hd_chunk_new(&copy->chunk, copy->err));
    for (size_t i = 0; i < count; i++) of_kind[order[i]]++;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++)
        HD_TRY(copy_blocks(copy, (hd_kind)kind, copy->next_row[kind] + of_kind[kind]));
    uint8_t *out = hd_chunk_order_room(copy->chunk, count);
    if (!out) return HD_NOMEM(copy->err);
    hd_chunk_order_add(copy->chunk, sieve_order(copy, out, order, count));
    return flush(copy);
}

hd_status hd_copy_events(hd_copy *copy, const hd_copy_hooks *hooks, hd_error *err)
{
    static const hd_copy_hooks none = {0};
    copy->hooks = hooks ? hooks : &none;
    copy->err = err;
    for (size_t run = 0; run < hd_trace_order_count(copy->trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, copy->trace, run);
        HD_TRY(copy_run(copy, order, count));
        hd_trace_say_copied(copy->trace, count);
    }
    return HD_OK;
}

/* ---- activities around them ---- */

hd_status hd_copy_ledger(hd_copy *copy, hd_error *err)
{
    for (size_t i = 0; i < hd_trace_ledger_count(copy->trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(copy->trace, i);
        const char *stage = hd_builder_keep_text(copy->builder, row->stage);
        const char *code = hd_builder_keep_text(copy->builder, row->code);
        if (!stage || !code) return HD_NOMEM(err);
        hd_builder_ledger(copy->builder, stage, code, row->level, row->count, row->first_offset);
    }
    return HD_OK;
}

hd_status hd_copy_surroundings(hd_copy *copy, hd_error *err)
{
    for (size_t i = 0; i < hd_trace_metadata_count(copy->trace); i++) {
        const hd_metadata *m = hd_trace_metadata_at(copy->trace, i);
        const uint32_t key_id = hd_copy_string_at(copy, HD_COPY_KEY, m->key);
        const uint32_t value_id = hd_copy_string_at(copy, HD_COPY_METADATA, m->value);
        hd_builder_metadata(copy->builder, key_id, value_id, m->after_events);
    }
    hd_builder_copy_facts(copy->builder, copy->trace);
    return hd_copy_ledger(copy, err);
}

/* ---- names of tracks inside events ---- */

bool hd_names_are_events(const hd_trace *trace)
{
    if (hd_trace_row_count(trace, HD_KIND_META)) return true;
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->name || track->sort_index != HD_NO_NUMBER) return false;
    }
    return true;
}

/* The arguments as text, where there are too many shapes. */
static uint32_t meta_text(hd_builder *builder, const hd_meta_event *event)
{
    hd_json_out text = {0};
    hd_json_put_text(&text, "{\"args\":{");
    hd_json_put_string(&text, event->key, strlen(event->key));
    hd_json_put_text(&text, ":");
    if (event->type == HD_ARG_STRING) {
        hd_string s = hd_builder_string(builder, (uint32_t)event->value);
        hd_json_put_string(&text, s.data, s.size);
    } else {
        hd_json_put_int(&text, event->value);
    }
    hd_json_put_text(&text, "}}");
    uint32_t id = text.failed ? HD_STRING_NONE : hd_builder_intern(builder, text.data, text.size);
    free(text.data);
    return id;
}

hd_status hd_copy_add_meta(hd_builder *builder, hd_batch *batch, const hd_meta_event *event, hd_error *err)
{
    hd_row row = hd_row_of(HD_KIND_META, 'M');
    hd_arg_key key = {.key = hd_builder_intern_text(builder, event->key), .type = (uint8_t)event->type};
    int64_t value = event->value;
    row.track = event->track;
    row.name = hd_builder_intern_text(builder, event->name);
    row.shape = hd_builder_shape(builder, &key, 1, true);
    if (row.shape == HD_NONE) {
        row.shape = hd_builder_raw_shape(builder);
        value = meta_text(builder, event);
        if (value == HD_STRING_NONE) return HD_NOMEM(err);
    }
    return hd_batch_add(batch, &row, &value, err);
}
