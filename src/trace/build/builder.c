/* builder.c - a trace under construction */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/chunk.h"
#include "trace/impl.h"
#include "trace/spill.h"

enum { PATCH_LIMIT = 1 << 22 };

hd_status hd_builder_new(hd_builder **out, hd_error *err)
{
    hd_builder *builder = calloc(1, sizeof *builder);
    *out = NULL;
    if (!builder) return HD_NOMEM(err);
    hd_trace *trace = &builder->trace;
    trace->facts = (hd_trace_facts){
        .format = "",
        .compression = "none",
        .start_ns = HD_NO_TIME,
        .end_ns = HD_NO_TIME,
        .base_ns = HD_NO_TIME,
        .rank = HD_NO_NUMBER,
        .world_size = HD_NO_NUMBER,
    };
    hd_spill_init(&trace->spill);
    hd_status status = hd_strings_init(&trace->strings, err);
    if (status == HD_OK) hd_tracks_init(&trace->tracks);
    if (status == HD_OK)
        status = hd_shapes_init(&trace->shapes, &trace->strings, hd_strings_intern(&trace->strings, "", 0), err);
    if (status != HD_OK) {
        hd_builder_free(builder);
        return status;
    }
    *out = builder;
    return HD_OK;
}

void hd_builder_free(hd_builder *builder)
{
    if (builder) hd_trace_free(&builder->trace);
}

uint32_t hd_builder_intern(hd_builder *builder, const char *data, size_t size)
{
    return hd_strings_intern(&builder->trace.strings, data, size);
}

uint32_t hd_builder_intern_text(hd_builder *builder, const char *text)
{
    return hd_builder_intern(builder, text, strlen(text));
}

hd_string hd_builder_string(const hd_builder *builder, uint32_t id)
{
    return hd_trace_string(&builder->trace, id);
}

uint32_t hd_builder_track(hd_builder *builder, hd_ident pid, hd_ident tid, bool process)
{
    uint32_t track = hd_tracks_get(&builder->trace.tracks, pid, tid, process);
    if (track == HD_NONE) atomic_store(&builder->trace.strings.failed, true);
    return track;
}

bool hd_builder_identify_track(hd_builder *builder, uint32_t track, hd_ident pid, hd_ident tid)
{
    bool failed;
    bool done = hd_tracks_identify(&builder->trace.tracks, track, pid, tid, &failed);
    if (failed) atomic_store(&builder->trace.strings.failed, true);
    return done;
}

static hd_ident number_ident(hd_builder *builder, int64_t number)
{
    char text[24];
    char *p = text + sizeof text;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0) *--p = '-';
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern(builder, p, (size_t)(text + sizeof text - p))};
}

uint32_t hd_builder_thread(hd_builder *builder, int64_t pid, int64_t tid)
{
    const hd_ident pid_ident = number_ident(builder, pid);
    return hd_builder_track(builder, pid_ident, number_ident(builder, tid), false);
}

static hd_track *track_at(hd_builder *builder, uint32_t track)
{
    return &builder->trace.tracks.list[track];
}

void hd_builder_name_track(hd_builder *builder, uint32_t track, uint32_t name)
{
    track_at(builder, track)->name = name;
}

void hd_builder_label_track(hd_builder *builder, uint32_t track, uint32_t labels)
{
    track_at(builder, track)->labels = labels;
}

void hd_builder_sort_track(hd_builder *builder, uint32_t track, int64_t sort_index)
{
    track_at(builder, track)->sort_index = sort_index;
}

void hd_builder_set_stream(hd_builder *builder, uint32_t track, int64_t device, int64_t stream)
{
    hd_track *t = track_at(builder, track);
    if (t->kind == HD_TRACK_THREAD) t->kind = HD_TRACK_STREAM;
    t->device = device;
    t->stream = stream;
}

void hd_builder_set_rank(hd_builder *builder, uint32_t track, int64_t rank)
{
    track_at(builder, track)->rank = rank;
}

uint32_t hd_builder_shape(hd_builder *builder, const hd_arg_key *keys, uint32_t key_count, bool has_args)
{
    return hd_shapes_intern(&builder->trace.shapes, &builder->trace.strings, keys, key_count, has_args);
}

uint32_t hd_builder_raw_shape(hd_builder *builder)
{
    (void)builder;
    return HD_SHAPE_RAW;
}

void hd_builder_limit_memory(hd_builder *builder, uint64_t bytes)
{
    hd_spill_limit(&builder->trace.spill, bytes);
    builder->trace.tracks.large = hd_trace_large_bytes(&builder->trace);
}

void hd_chunk_list(hd_trace *trace, const hd_chunk *chunk)
{
    for (size_t i = 0; i < chunk->block_count; i++) {
        hd_block *block = chunk->blocks[i];
        hd_table *table = &trace->tables[block->kind];
        block->first_row = table->row_count;
        table->row_count += block->row_count;
        table->blocks[table->count++] = block;
    }
    trace->chunk_list[trace->chunk_count++] = chunk;
}

static hd_status append(hd_trace *trace, hd_chunk *chunk, hd_error *err)
{
    size_t counts[HD_KIND_COUNT] = {0};
    HD_TRY(hd_spill_chunk(&trace->spill, hd_shapes_list(&trace->shapes), chunk, err));
    for (size_t i = 0; i < chunk->block_count; i++) {
        hd_kind kind = chunk->blocks[i]->kind;
        hd_table *table = &trace->tables[kind];
        size_t count = table->count + counts[kind]++;
        if (!hd_grow((void **)&table->blocks, &table->capacity, count, sizeof *table->blocks)) return HD_NOMEM(err);
    }
    if (!hd_grow((void **)&trace->chunk_list, &trace->chunk_capacity, trace->chunk_count, sizeof chunk))
        return HD_NOMEM(err);
    hd_chunk_list(trace, chunk);
    return trace->head.most ? hd_head_shrink(trace, err) : HD_OK;
}

hd_status hd_builder_append(hd_builder *builder, hd_chunk *chunk, hd_error *err)
{
    hd_trace *trace = &builder->trace;
    if (chunk->order_count == 0 || (trace->head.most && !hd_head_takes(&trace->head, chunk))) {
        hd_chunk_free(chunk);
        return HD_OK;
    }
    chunk->next = trace->chunks; /* a chunk that append rejects is still freed with the builder */
    trace->chunks = chunk;
    return append(trace, chunk, err);
}

static bool add_ledger(hd_trace *trace, const char *stage, const char *code, hd_ledger_level level, uint64_t count,
                       uint64_t offset, uint32_t detail)
{
    for (size_t i = 0; i < trace->ledger_count; i++) {
        hd_ledger_row *row = &trace->ledger[i];
        if (strcmp(row->stage, stage) != 0 || strcmp(row->code, code) != 0) continue;
        row->count += count;
        if (offset < row->first_offset) {
            row->first_offset = offset;
            row->detail = detail;
        }
        return true;
    }
    if (!hd_grow((void **)&trace->ledger, &trace->ledger_capacity, trace->ledger_count, sizeof *trace->ledger))
        return false;
    trace->ledger[trace->ledger_count++] = (hd_ledger_row){
        .stage = stage, .code = code, .level = level, .count = count, .first_offset = offset, .detail = detail};
    return true;
}

void hd_builder_ledger_detail(hd_builder *builder, const char *stage, const char *code, hd_ledger_level level,
                              uint64_t count, uint64_t offset, uint32_t detail)
{
    if (!add_ledger(&builder->trace, stage, code, level, count, offset, detail)) builder->trace.failed = true;
}

hd_status hd_trace_add_ledger(hd_trace *trace, const char *stage, const char *code, hd_ledger_level level,
                              uint64_t count, hd_error *err)
{
    return add_ledger(trace, stage, code, level, count, HD_OFFSET_NONE, HD_STRING_NONE) ? HD_OK : HD_NOMEM(err);
}

void hd_builder_ledger(hd_builder *builder, const char *stage, const char *code, hd_ledger_level level, uint64_t count,
                       uint64_t offset)
{
    hd_builder_ledger_detail(builder, stage, code, level, count, offset, HD_STRING_NONE);
}

void hd_builder_metadata(hd_builder *builder, uint32_t key, uint32_t value, bool after_events)
{
    hd_trace *trace = &builder->trace;
    if (!hd_grow((void **)&trace->metadata, &trace->metadata_capacity, trace->metadata_count,
                 sizeof *trace->metadata)) {
        trace->failed = true;
        return;
    }
    trace->metadata[trace->metadata_count++] = (hd_metadata){key, value, after_events};
}

void hd_builder_patch(hd_builder *builder, uint64_t offset, uint64_t size, uint32_t text)
{
    hd_trace *trace = &builder->trace;
    if (text == HD_STRING_NONE && trace->patch_count && trace->patches[trace->patch_count - 1].text == HD_STRING_NONE) {
        hd_source_patch *last = &trace->patches[trace->patch_count - 1];
        if (last->offset + last->size == offset) { /* extends the same hole */
            last->size += size;
            return;
        }
    }
    if (trace->patch_count == PATCH_LIMIT) { /* to write all anew is cheaper than to patch */
        trace->facts.needs_rewrite = true;
        return;
    }
    if (!hd_grow((void **)&trace->patches, &trace->patch_capacity, trace->patch_count, sizeof *trace->patches)) {
        trace->failed = true;
        return;
    }
    size_t at = trace->patch_count++;
    for (; at && trace->patches[at - 1].offset > offset; at--) trace->patches[at] = trace->patches[at - 1];
    trace->patches[at] = (hd_source_patch){offset, size, text};
}

const hd_trace *hd_builder_trace(const hd_builder *builder)
{
    return &builder->trace;
}

hd_trace_facts *hd_builder_facts(hd_builder *builder)
{
    return &builder->trace.facts;
}

hd_trace_facts *hd_builder_copy_facts(hd_builder *builder, const hd_trace *trace)
{
    hd_trace_facts *facts = hd_builder_facts(builder);
    *facts = *hd_trace_facts_of(trace);
    facts->start_ns = facts->end_ns = HD_NO_TIME;
    facts->has_sources = facts->needs_rewrite = false;
    if (facts->origin) facts->origin = hd_builder_keep_text(builder, facts->origin);
    if (facts->origin_compression) facts->origin_compression = hd_builder_keep_text(builder, facts->origin_compression);
    return facts;
}

void hd_builder_fail(hd_builder *builder)
{
    builder->trace.failed = true;
}

bool hd_builder_failed(const hd_builder *builder)
{
    return builder->trace.failed || atomic_load(&builder->trace.strings.failed) ||
           atomic_load(&builder->trace.shapes.failed);
}

hd_status hd_builder_finish(hd_trace **out, hd_builder *builder, hd_error *err)
{
    hd_trace *trace = &builder->trace;
    *out = NULL;
    hd_status status = HD_OK;
    if (builder->stored) return hd_lazy_finish(out, builder, err);
    if (hd_builder_failed(builder)) status = HD_NOMEM(err);
    if (status == HD_OK) status = hd_tracks_finish(&trace->tracks, err);
    if (status == HD_OK) status = hd_pair_begin_end(trace, err);
    if (status != HD_OK) {
        hd_trace_free(trace);
        return status;
    }
    hd_count_tracks(trace);
    hd_find_span(trace);
    hd_strings_freeze(&trace->strings);
    *out = trace;
    return HD_OK;
}
