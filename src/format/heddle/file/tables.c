/* tables.c - facts, metadata, ledger, tracks and shapes as bytes, and back with every value checked */
#include "format/heddle/file/tables.h"

#include "trace/lazy.h"

/* Facts are fields: number, size, value. Absent ones are unknown; unknown numbers are skipped. */
enum fact {
    FACT_WRITER = 1,
    FACT_FORMAT,
    FACT_COMPRESSION,
    FACT_STORED_BYTES,
    FACT_INPUT_BYTES,
    FACT_START_NS,
    FACT_END_NS,
    FACT_BASE_NS,
    FACT_RANK,
    FACT_WORLD_SIZE,
    FACT_FLAGS,
    FACT_ROWS,
    FACT_TRACKS,
};
enum { FLAG_HAS_ARGS = 1, FLAG_TOP_LEVEL_ARRAY = 2 };

static void put_text(hd_bytes *out, const char *text)
{
    hd_bytes_put_varint(out, strlen(text));
    hd_bytes_put(out, text, strlen(text));
}

static void put_fact_text(hd_bytes *out, enum fact field, const char *text)
{
    if (!text) return;
    hd_bytes_put_varint(out, field);
    put_text(out, text);
}

static void put_fact_count(hd_bytes *out, enum fact field, uint64_t count)
{
    hd_bytes_put_varint(out, field);
    hd_bytes_put_varint(out, hd_varint_size(count));
    hd_bytes_put_varint(out, count);
}

static void put_fact_int(hd_bytes *out, enum fact field, int64_t value, int64_t none)
{
    if (value != none) put_fact_count(out, field, hd_zigzag(value));
}

void store_put_facts(hd_bytes *out, const hd_trace *trace)
{
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    bool again = facts->origin != NULL; /* a store made from a store */
    put_fact_text(out, FACT_WRITER, "heddle " HD_VERSION);
    put_fact_text(out, FACT_FORMAT, again ? facts->origin : facts->format);
    put_fact_text(out, FACT_COMPRESSION, again ? facts->origin_compression : facts->compression);
    put_fact_count(out, FACT_STORED_BYTES, again ? facts->origin_stored_bytes : facts->stored_bytes);
    put_fact_count(out, FACT_INPUT_BYTES, facts->input_bytes);
    put_fact_int(out, FACT_START_NS, facts->start_ns, HD_NO_TIME);
    put_fact_int(out, FACT_END_NS, facts->end_ns, HD_NO_TIME);
    put_fact_int(out, FACT_BASE_NS, facts->base_ns, HD_NO_TIME);
    put_fact_int(out, FACT_RANK, facts->rank, HD_NO_NUMBER);
    put_fact_int(out, FACT_WORLD_SIZE, facts->world_size, HD_NO_NUMBER);
    put_fact_count(out, FACT_FLAGS,
                   (facts->has_args ? FLAG_HAS_ARGS : 0) | (facts->top_level_array ? FLAG_TOP_LEVEL_ARRAY : 0));
    put_fact_count(out, FACT_TRACKS, hd_trace_track_count(trace));
    size_t size = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) size += hd_varint_size(hd_trace_row_count(trace, (hd_kind)kind));
    hd_bytes_put_varint(out, FACT_ROWS);
    hd_bytes_put_varint(out, size);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) hd_bytes_put_varint(out, hd_trace_row_count(trace, (hd_kind)kind));
}

/* A text of its own that lives as long as the arena. */
static const char *keep_text(hd_builder *builder, hd_arena *arena, const uint8_t *data, size_t size)
{
    char *text = data ? hd_arena_alloc(arena, size + 1) : NULL;
    if (data && !text) hd_builder_fail(builder);
    if (!text) return "";
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void get_rows(store_totals *out, hd_byte_reader *r)
{
    uint64_t sum = 0;
    out->known = true;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        out->rows[kind] = hd_byte_reader_varint(r);
        if (out->rows[kind] > INT64_MAX || __builtin_add_overflow(sum, out->rows[kind], &sum)) r->failed = true;
    }
}

static void get_fact(store_totals *out, hd_builder *builder, hd_arena *arena, uint64_t field, hd_byte_reader *r)
{
    hd_trace_facts *facts = hd_builder_facts(builder);
    switch (field) {
    case FACT_FORMAT: facts->origin = keep_text(builder, arena, r->data, r->size); break;
    case FACT_COMPRESSION: facts->origin_compression = keep_text(builder, arena, r->data, r->size); break;
    case FACT_STORED_BYTES: facts->origin_stored_bytes = hd_byte_reader_varint(r); break;
    case FACT_INPUT_BYTES: facts->input_bytes = hd_byte_reader_varint(r); break;
    case FACT_START_NS: facts->start_ns = hd_byte_reader_zigzag(r); break;
    case FACT_END_NS: facts->end_ns = hd_byte_reader_zigzag(r); break;
    case FACT_BASE_NS: facts->base_ns = hd_byte_reader_zigzag(r); break;
    case FACT_RANK: facts->rank = hd_byte_reader_zigzag(r); break;
    case FACT_WORLD_SIZE: facts->world_size = hd_byte_reader_zigzag(r); break;
    case FACT_FLAGS: {
        uint64_t flags = hd_byte_reader_varint(r);
        facts->has_args = flags & FLAG_HAS_ARGS;
        facts->top_level_array = flags & FLAG_TOP_LEVEL_ARRAY;
        break;
    }
    case FACT_TRACKS: {
        uint64_t count = hd_byte_reader_varint(r);
        out->track_count = count < HD_NONE ? (uint32_t)count : HD_NONE - 1;
        break;
    }
    case FACT_ROWS: get_rows(out, r); break;
    default: break;
    }
}

bool store_get_facts(store_totals *out, hd_builder *builder, hd_arena *arena, hd_byte_reader body)
{
    const hd_trace_facts *facts = hd_builder_facts(builder);
    *out = (store_totals){0};
    while (hd_byte_reader_left(&body)) {
        uint64_t field = hd_byte_reader_varint(&body), size = hd_byte_reader_varint(&body);
        const uint8_t *value = size <= hd_byte_reader_left(&body) ? hd_byte_reader_take(&body, (size_t)size) : NULL;
        if (!value) return false;
        hd_byte_reader r = hd_byte_reader_of(value, (size_t)size);
        get_fact(out, builder, arena, field, &r);
        if (r.failed) return false;
    }
    return out->known && (facts->start_ns == HD_NO_TIME) == (facts->end_ns == HD_NO_TIME);
}

/* ---- metadata and ledger ---- */

void store_put_metadata(hd_bytes *out, store_ids *ids)
{
    size_t count = hd_trace_metadata_count(ids->trace);
    hd_bytes_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        const hd_metadata *m = hd_trace_metadata_at(ids->trace, i);
        hd_bytes_put_varint(out, store_ids_string(ids, m->key));
        hd_bytes_put_varint(out, store_ids_string(ids, m->value));
        hd_bytes_put_varint(out, m->after_events);
    }
}

/* The id of a string in the file. */
static uint32_t get_string(hd_byte_reader *r, uint32_t string_count)
{
    uint64_t id = hd_byte_reader_varint(r);
    if (id < string_count) return (uint32_t)id;
    r->failed = true;
    return HD_STRING_NONE;
}

bool store_get_metadata(hd_builder *builder, uint32_t string_count, hd_byte_reader body)
{
    uint64_t count = hd_byte_reader_varint(&body);
    for (uint64_t i = 0; i < count && !body.failed; i++) {
        uint32_t key = get_string(&body, string_count), value = get_string(&body, string_count);
        uint64_t after = hd_byte_reader_varint(&body);
        if (!body.failed) hd_builder_metadata(builder, key, value, after != 0);
    }
    return !body.failed;
}

void store_put_ledger(hd_bytes *out, const hd_trace *trace)
{
    size_t count = hd_trace_ledger_count(trace);
    hd_bytes_put_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        put_text(out, row->stage);
        put_text(out, row->code);
        hd_bytes_put_varint(out, row->level);
        hd_bytes_put_varint(out, row->count);
        hd_bytes_put_varint(out, row->first_offset + 1); /* none is 0 */
    }
}

static const char *get_text(hd_builder *builder, hd_byte_reader *r, hd_arena *arena)
{
    uint64_t size = hd_byte_reader_varint(r);
    const uint8_t *text = size <= hd_byte_reader_left(r) ? hd_byte_reader_take(r, (size_t)size) : NULL;
    if (!text) r->failed = true;
    return keep_text(builder, arena, text, (size_t)size);
}

bool store_get_ledger(hd_builder *builder, hd_arena *arena, hd_byte_reader body)
{
    enum { ROW_LIMIT = 10000 }; /* they are searched linearly when rows are added */
    uint64_t count = hd_byte_reader_varint(&body);
    if (count > ROW_LIMIT) return false;
    for (uint64_t i = 0; i < count && !body.failed; i++) {
        const char *stage = get_text(builder, &body, arena), *code = get_text(builder, &body, arena);
        uint64_t level = hd_byte_reader_varint(&body), rows = hd_byte_reader_varint(&body);
        uint64_t offset = hd_byte_reader_varint(&body) - 1;
        if (level > HD_LEDGER_LOSS) body.failed = true;
        if (!body.failed) hd_builder_ledger(builder, stage, code, (hd_ledger_level)level, rows, offset);
    }
    return !body.failed;
}

/* ---- tracks ---- */

/* Bits for the rarer values of a track; rows of kind k: TRACK_ROWS << k. */
enum {
    TRACK_NAME = 1,
    TRACK_LABELS = 2,
    TRACK_SORT = 4,
    TRACK_DEVICE = 8,
    TRACK_STREAM = 16,
    TRACK_RANK = 32,
    TRACK_TWIN = 64,
    TRACK_SPAN = 128,
    TRACK_ROWS = 256,
    TRACK_BITS = TRACK_ROWS << HD_KIND_COUNT,
};

static unsigned track_bits(const hd_track *track)
{
    unsigned bits =
        (track->name ? TRACK_NAME : 0) | (track->labels ? TRACK_LABELS : 0) |
        (track->sort_index != HD_NO_NUMBER ? TRACK_SORT : 0) | (track->device != HD_NO_NUMBER ? TRACK_DEVICE : 0) |
        (track->stream != HD_NO_NUMBER ? TRACK_STREAM : 0) | (track->rank != HD_NO_NUMBER ? TRACK_RANK : 0) |
        (track->same_as != track->id ? TRACK_TWIN : 0) | (track->start_ns != HD_NO_TIME ? TRACK_SPAN : 0);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) bits |= track->rows[kind] ? (unsigned)TRACK_ROWS << kind : 0;
    return bits;
}

static void put_track(hd_bytes *out, store_ids *ids, const hd_track *track)
{
    unsigned bits = track_bits(track);
    hd_bytes_put_varint(out, bits);
    hd_bytes_put_varint(out, track->kind);
    hd_bytes_put_varint(out, track->parent == HD_NONE ? 0 : (uint64_t)track->parent + 1);
    hd_bytes_put_varint(out, track->pid.type);
    if (track->pid.type) hd_bytes_put_varint(out, store_ids_string(ids, track->pid.text));
    hd_bytes_put_varint(out, track->tid.type);
    if (track->tid.type) hd_bytes_put_varint(out, store_ids_string(ids, track->tid.text));
    if (bits & TRACK_NAME) hd_bytes_put_varint(out, store_ids_string(ids, track->name));
    if (bits & TRACK_LABELS) hd_bytes_put_varint(out, store_ids_string(ids, track->labels));
    if (bits & TRACK_SORT) hd_bytes_put_zigzag(out, track->sort_index);
    if (bits & TRACK_DEVICE) hd_bytes_put_zigzag(out, track->device);
    if (bits & TRACK_STREAM) hd_bytes_put_zigzag(out, track->stream);
    if (bits & TRACK_RANK) hd_bytes_put_zigzag(out, track->rank);
    if (bits & TRACK_TWIN) hd_bytes_put_varint(out, track->same_as);
    if (bits & TRACK_SPAN) hd_bytes_put_zigzag(out, track->start_ns);
    if (bits & TRACK_SPAN) hd_bytes_put_varint(out, (uint64_t)track->end_ns - (uint64_t)track->start_ns);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (track->rows[kind]) hd_bytes_put_varint(out, track->rows[kind]);
    }
}

void store_put_tracks(hd_bytes *out, store_ids *ids)
{
    uint32_t count = hd_trace_track_count(ids->trace);
    hd_bytes_put_varint(out, count);
    for (uint32_t i = 0; i < count; i++) put_track(out, ids, hd_trace_track_at(ids->trace, i));
}

static hd_ident get_ident(hd_byte_reader *r, uint32_t string_count)
{
    uint64_t type = hd_byte_reader_varint(r);
    if (type > HD_IDENT_STRING) r->failed = true;
    if (type == HD_IDENT_NONE) return (hd_ident){0};
    return (hd_ident){(hd_ident_type)type, get_string(r, string_count)};
}

static hd_track get_track(hd_byte_reader *r, uint32_t id, uint32_t string_count)
{
    hd_track track = {.id = id, .same_as = id};
    uint64_t bits = hd_byte_reader_varint(r), kind = hd_byte_reader_varint(r);
    uint64_t parent = hd_byte_reader_varint(r);
    if (bits >= TRACK_BITS || kind > HD_TRACK_STREAM || parent > HD_NONE) r->failed = true;
    track.kind = (hd_track_kind)kind;
    track.parent = parent ? (uint32_t)(parent - 1) : HD_NONE;
    track.pid = get_ident(r, string_count);
    track.tid = get_ident(r, string_count);
    if (bits & TRACK_NAME) track.name = get_string(r, string_count);
    if (bits & TRACK_LABELS) track.labels = get_string(r, string_count);
    track.sort_index = bits & TRACK_SORT ? hd_byte_reader_zigzag(r) : HD_NO_NUMBER;
    track.device = bits & TRACK_DEVICE ? hd_byte_reader_zigzag(r) : HD_NO_NUMBER;
    track.stream = bits & TRACK_STREAM ? hd_byte_reader_zigzag(r) : HD_NO_NUMBER;
    track.rank = bits & TRACK_RANK ? hd_byte_reader_zigzag(r) : HD_NO_NUMBER;
    uint64_t same_as = bits & TRACK_TWIN ? hd_byte_reader_varint(r) : id;
    if (same_as > id) r->failed = true; /* the lowest of the twins */
    track.same_as = (uint32_t)same_as;
    track.start_ns = bits & TRACK_SPAN ? hd_byte_reader_zigzag(r) : HD_NO_TIME;
    track.end_ns = bits & TRACK_SPAN ? (int64_t)((uint64_t)track.start_ns + hd_byte_reader_varint(r)) : HD_NO_TIME;
    if (bits & TRACK_SPAN && (track.start_ns == HD_NO_TIME || track.end_ns < track.start_ns)) r->failed = true;
    for (unsigned k = 0; k < HD_KIND_COUNT; k++) {
        if (bits & TRACK_ROWS << k) track.rows[k] = hd_byte_reader_varint(r);
    }
    return track;
}

/* Parents are processes; twins lead to a track that has none before it. */
static bool tracks_agree(const hd_trace *trace)
{
    uint32_t count = hd_trace_track_count(trace);
    for (uint32_t i = 0; i < count; i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        bool process = track->kind == HD_TRACK_PROCESS;
        if (process != (track->parent == HD_NONE)) return false;
        if (!process && (track->parent >= count || hd_trace_track_at(trace, track->parent)->kind != HD_TRACK_PROCESS))
            return false;
        if (track->same_as > i || hd_trace_track_at(trace, track->same_as)->same_as != track->same_as) return false;
    }
    return true;
}

bool store_get_tracks(hd_builder *builder, uint32_t string_count, bool with_sums, hd_byte_reader body)
{
    uint64_t count = hd_byte_reader_varint(&body);
    for (uint64_t i = 0; i < count; i++) {
        hd_track track = get_track(&body, (uint32_t)i, string_count);
        if (body.failed) return false;
        if (hd_builder_track(builder, track.pid, track.tid, track.kind == HD_TRACK_PROCESS) != i) return false;
        if (!with_sums) {
            memset(track.rows, 0, sizeof track.rows);
            track.start_ns = track.end_ns = HD_NO_TIME;
        }
        hd_builder_set_track(builder, (uint32_t)i, &track);
    }
    return !body.failed && tracks_agree(hd_builder_trace(builder));
}

/* ---- shapes ---- */

void store_put_shapes(hd_bytes *out, store_ids *ids, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        const hd_shape *shape = hd_trace_shape_at(ids->trace, ids->shapes[i]);
        hd_bytes_put_varint(out, (uint64_t)shape->key_count << 1 | shape->has_args);
        for (uint32_t k = 0; k < shape->key_count; k++) {
            hd_bytes_put_varint(out, store_ids_string(ids, shape->keys[k].key));
            hd_bytes_put_u8(out, (uint8_t)(shape->keys[k].type << 1 | shape->keys[k].scope));
        }
    }
}

static bool get_shape(hd_builder *builder, uint32_t string_count, uint32_t id, hd_arena *scratch, hd_byte_reader *r)
{
    uint64_t head = hd_byte_reader_varint(r), key_count = head >> 1;
    if (r->failed || key_count > hd_byte_reader_left(r) / 2) return false;
    hd_arg_key *keys = hd_arena_alloc(scratch, (size_t)key_count * sizeof *keys);
    if (!keys) {
        hd_builder_fail(builder);
        return false;
    }
    for (uint64_t k = 0; k < key_count; k++) {
        uint32_t key = get_string(r, string_count);
        unsigned packed = hd_byte_reader_u8(r);
        if (packed >> 1 > HD_ARG_JSON) return false;
        keys[k] = (hd_arg_key){.key = key, .type = (uint8_t)(packed >> 1), .scope = packed & 1};
    }
    uint32_t got = r->failed ? id : hd_builder_shape(builder, keys, (uint32_t)key_count, head & 1);
    if (got == HD_NONE) hd_builder_fail(builder);
    return !r->failed && got == id;
}

bool store_get_shapes(hd_builder *builder, uint32_t string_count, uint32_t first, uint32_t count, hd_byte_reader body)
{
    hd_arena scratch = {0};
    bool fine = true;
    for (uint32_t i = 0; i < count && fine; i++) fine = get_shape(builder, string_count, first + i, &scratch, &body);
    hd_arena_deinit(&scratch);
    return fine;
}
