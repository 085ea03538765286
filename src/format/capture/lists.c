/* lists.c - names, arguments, tracks, notes and metadata of a capture (stacks: stacks.c) */
#include "format/capture/lists.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/map.h"
#include "base/memory/arena.h"
#include "base/memory/vector.h"
#include "format/capture/capture.h"
#include "format/capture/stacks.h"
#include "format/numbers.h"
#include "trace/chunk.h"
#include "trace/text.h"

enum { FACTS_MAX = 4096, JSON_DEPTH = 512 };

typedef struct track {
    uint32_t track;
    uint8_t kind; /* CAPTURE_TRACK_…, 0: not there */
} track;

typedef struct fact {
    uint32_t key, value; /* string ids; the value of metadata */
    bool is_note;
    hd_ledger_level level;
    uint64_t count;
} fact;

struct capture_lists {
    hd_builder *builder;
    hd_arena arena;
    uint32_t pid;
    uint64_t id_max;
    uint32_t *names; /* string ids, by id of the file; HD_STRING_NONE: not there */
    size_t name_count, name_capacity;
    capture_args *args;
    size_t args_count, args_capacity;
    track *tracks;
    size_t track_count, track_capacity;
    fact *facts;
    size_t fact_count, fact_capacity;
    capture_stacks *stacks;
    uint32_t lost_name;
    uint64_t lost;
};

hd_status capture_lists_new(capture_lists **out, hd_builder *builder, uint32_t pid, uint64_t file_bytes, hd_error *err)
{
    capture_lists *lists = *out = calloc(1, sizeof *lists);
    if (!lists) return HD_NOMEM(err);
    lists->builder = builder;
    lists->pid = pid;
    lists->id_max = file_bytes < CAPTURE_LIST_MAX ? file_bytes : CAPTURE_LIST_MAX;
    hd_status status = capture_stacks_new(&lists->stacks, builder, err);
    if (status != HD_OK) {
        free(lists);
        *out = NULL;
    }
    return status;
}

void capture_lists_free(capture_lists *lists)
{
    if (!lists) return;
    capture_stacks_free(lists->stacks);
    hd_arena_deinit(&lists->arena);
    free(lists->names);
    free(lists->args);
    free(lists->tracks);
    free(lists->facts);
    free(lists);
}

uint32_t capture_take_text(hd_byte_reader *payload, hd_builder *builder)
{
    uint64_t size = hd_byte_reader_varint(payload);
    const uint8_t *data = size <= hd_byte_reader_left(payload) ? hd_byte_reader_take(payload, (size_t)size) : NULL;
    if (!data) {
        payload->failed = true;
        return HD_STRING_NONE;
    }
    return hd_builder_intern(builder, (const char *)data, (size_t)size);
}

uint32_t capture_number_text(hd_builder *builder, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return hd_builder_intern_text(builder, text);
}

/* Room in a list for entries up to `end`; those that are new are `size` bytes of 0. */
static bool widen(void **list, size_t *count, size_t *capacity, uint64_t end, size_t size)
{
    while (*count < end) {
        if (!hd_grow(list, capacity, *count, size)) return false;
        memset((char *)*list + *count * size, 0, size);
        ++*count;
    }
    return true;
}

/* ---- entries ---- */

static uint32_t known_name(const capture_lists *lists, uint64_t id)
{
    return id && id < lists->name_count ? lists->names[id] : HD_STRING_NONE;
}

static void read_arg(capture_lists *lists, capture_args *args, uint32_t i, hd_byte_reader *b)
{
    double number;
    uint32_t key = capture_lists_name(lists, hd_byte_reader_varint(b)), text;
    unsigned type = hd_byte_reader_u8(b);
    hd_arg_key *out = &args->keys[i];
    *out = (hd_arg_key){.key = key, .scope = HD_SCOPE_ARGS};
    switch (type) {
    case CAPTURE_INT:
        out->type = HD_ARG_INT;
        args->values[i] = hd_byte_reader_zigzag(b);
        break;
    case CAPTURE_DOUBLE: {
        uint64_t bits = hd_byte_reader_le(b, 8);
        memcpy(&number, &bits, sizeof number);
        hd_value value = capture_double(lists->builder, number);
        out->type = (uint8_t)value.type;
        args->values[i] = value.bits;
        break;
    }
    case CAPTURE_TEXT:
    case CAPTURE_JSON: {
        text = capture_lists_name(lists, hd_byte_reader_varint(b));
        hd_string s = hd_builder_string(lists->builder, text);
        bool is_json = type == CAPTURE_JSON && s.size && (*s.data == '[' || *s.data == '{') &&
                       hd_json_valid(s.data, s.size, JSON_DEPTH);
        out->type = is_json ? HD_ARG_JSON : HD_ARG_STRING;
        args->values[i] = text;
        break;
    }
    default: b->failed = true;
    }
}

static hd_status read_args(capture_lists *lists, uint64_t id, hd_byte_reader *b, hd_error *err)
{
    uint64_t count = hd_byte_reader_varint(b);
    if (b->failed || count > CAPTURE_ARGS_MAX) {
        b->failed = true;
        return HD_OK;
    }
    capture_args args = {.count = (uint32_t)count};
    args.keys = hd_arena_alloc(&lists->arena, (count + 1) * sizeof *args.keys);
    args.values = hd_arena_alloc(&lists->arena, (count + 1) * sizeof *args.values);
    if (!args.keys || !args.values) return HD_NOMEM(err);
    for (uint32_t i = 0; i < args.count && !b->failed; i++) read_arg(lists, &args, i, b);
    if (!b->failed) lists->args[id] = args;
    return HD_OK;
}

/* Devices are processes of their own, numbered like the device. If a process has that number, as in containers, it
 * keeps it; the device is then named "GPU 1". */
static uint32_t device_track(capture_lists *lists, uint64_t device, hd_ident tid)
{
    char name[32];
    snprintf(name, sizeof name, "GPU %llu", (unsigned long long)device);
    hd_ident pid = {HD_IDENT_NUMBER, capture_number_text(lists->builder, device)};
    uint32_t text = hd_builder_intern_text(lists->builder, name);
    if (device == lists->pid) pid = (hd_ident){HD_IDENT_STRING, text};
    uint32_t process = hd_builder_track(lists->builder, pid, (hd_ident){0}, true);
    if (process == HD_NONE) return process;
    hd_builder_name_track(lists->builder, process, text);
    hd_sort_numbered(lists->builder, process, HD_SORT_DEVICES, device);
    return tid.type == HD_IDENT_NONE ? process : hd_builder_track(lists->builder, pid, tid, false);
}

static hd_status read_track(capture_lists *lists, uint64_t id, hd_byte_reader *b, hd_error *err)
{
    uint64_t kind = hd_byte_reader_varint(b), device = hd_byte_reader_varint(b), process = hd_byte_reader_varint(b);
    uint64_t number = hd_byte_reader_varint(b);
    uint32_t name = capture_take_text(b, lists->builder), made;
    if (b->failed || device > UINT32_MAX || number > INT64_MAX) {
        b->failed = true;
        return HD_OK;
    }
    hd_ident pid = {HD_IDENT_NUMBER, capture_number_text(lists->builder, process ? process : lists->pid)};
    hd_ident tid = {HD_IDENT_NUMBER, capture_number_text(lists->builder, number)};
    switch (kind) {
    case CAPTURE_TRACK_THREAD: made = hd_builder_track(lists->builder, pid, tid, false); break;
    case CAPTURE_TRACK_PROCESS: made = hd_builder_track(lists->builder, pid, (hd_ident){0}, true); break;
    case CAPTURE_TRACK_DEVICE: made = device_track(lists, device, (hd_ident){0}); break;
    case CAPTURE_TRACK_STREAM: made = device_track(lists, device, tid); break;
    default: b->failed = true; return HD_OK;
    }
    if (made == HD_NONE) return HD_NOMEM(err);
    lists->tracks[id] = (track){made, (uint8_t)kind};
    if (kind == CAPTURE_TRACK_STREAM) hd_builder_set_stream(lists->builder, made, (int64_t)device, (int64_t)number);
    if (hd_builder_string(lists->builder, name).size) {
        hd_builder_name_track(lists->builder, made, name);
    } else if (kind == CAPTURE_TRACK_STREAM) {
        char text[32];
        snprintf(text, sizeof text, "stream %llu", (unsigned long long)number);
        hd_builder_name_track(lists->builder, made, hd_builder_intern_text(lists->builder, text));
    }
    return HD_OK;
}

static hd_status read_entry(capture_lists *lists, unsigned type, uint64_t id, hd_byte_reader *b, hd_error *err)
{
    switch (type) {
    case CAPTURE_NAMES:
        lists->names[id] = hd_builder_intern(lists->builder, (const char *)b->data, b->size);
        return HD_OK;
    case CAPTURE_ARGS: return read_args(lists, id, b, err);
    case CAPTURE_TRACKS: return read_track(lists, id, b, err);
    default: return capture_stacks_read(lists->stacks, type, id, b, err);
    }
}

static bool make_room(capture_lists *lists, unsigned type, uint64_t end)
{
    switch (type) {
    case CAPTURE_NAMES:
        return widen((void **)&lists->names, &lists->name_count, &lists->name_capacity, end, sizeof *lists->names);
    case CAPTURE_ARGS:
        return widen((void **)&lists->args, &lists->args_count, &lists->args_capacity, end, sizeof *lists->args);
    case CAPTURE_TRACKS:
        return widen((void **)&lists->tracks, &lists->track_count, &lists->track_capacity, end, sizeof *lists->tracks);
    default: return capture_stacks_room(lists->stacks, type, end);
    }
}

static hd_status read_list(capture_lists *lists, unsigned type, hd_byte_reader *b, hd_error *err)
{
    uint64_t first = hd_byte_reader_varint(b), count = hd_byte_reader_varint(b);
    if (first == 0 || first > lists->id_max || count > lists->id_max || first + count - 1 > lists->id_max ||
        count > hd_byte_reader_left(b)) {
        b->failed = true;
        return HD_OK;
    }
    if (!make_room(lists, type, first + count)) return HD_NOMEM(err);
    for (uint64_t i = 0; i < count && !b->failed; i++) {
        uint64_t size = hd_byte_reader_varint(b);
        const uint8_t *data = size <= hd_byte_reader_left(b) ? hd_byte_reader_take(b, (size_t)size) : NULL;
        if (!data) {
            b->failed = true;
            return HD_OK;
        }
        hd_byte_reader entry = hd_byte_reader_of(data, (size_t)size);
        HD_TRY(read_entry(lists, type, first + i, &entry, err));
        b->failed |= entry.failed;
    }
    return HD_OK;
}

/* ---- facts ---- */

/* Facts with equal keys replace each other. There are few: a file with more is damaged. */
static hd_status set_fact(capture_lists *lists, const fact *value, hd_byte_reader *b, hd_error *err)
{
    for (size_t i = 0; i < lists->fact_count; i++) {
        if (lists->facts[i].key != value->key || lists->facts[i].is_note != value->is_note) continue;
        lists->facts[i] = *value;
        return HD_OK;
    }
    if (lists->fact_count == FACTS_MAX) {
        b->failed = true;
        return HD_OK;
    }
    if (!hd_grow((void **)&lists->facts, &lists->fact_capacity, lists->fact_count, sizeof *lists->facts))
        return HD_NOMEM(err);
    lists->facts[lists->fact_count++] = *value;
    return HD_OK;
}

/* As "cuda.dropped". */
static bool is_code(hd_string text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.')) return false;
    }
    return text.size > 0 && text.size < 64;
}

static hd_status read_note(capture_lists *lists, hd_byte_reader *b, hd_error *err)
{
    fact note = {.is_note = true, .level = (hd_ledger_level)hd_byte_reader_u8(b)};
    note.count = hd_byte_reader_varint(b);
    note.key = capture_take_text(b, lists->builder);
    if (note.level > HD_LEDGER_LOSS || !is_code(hd_builder_string(lists->builder, note.key))) b->failed = true;
    return b->failed ? HD_OK : set_fact(lists, &note, b, err);
}

static hd_status read_metadata(capture_lists *lists, hd_byte_reader *b, hd_error *err)
{
    fact data = {.key = capture_take_text(b, lists->builder)};
    data.value = capture_take_text(b, lists->builder);
    hd_string key = hd_builder_string(lists->builder, data.key), text = hd_builder_string(lists->builder, data.value);
    /* Keys that the trace has by itself are not for tracers. */
    static const char *const own[] = {"process", "modules", "stackFrames", "traceEvents"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (hd_string_is(key, own[i])) b->failed = true;
    }
    if (!key.size || !hd_json_valid(text.data, text.size, JSON_DEPTH)) b->failed = true;
    return b->failed ? HD_OK : set_fact(lists, &data, b, err);
}

hd_status capture_lists_read(capture_lists *lists, unsigned type, hd_byte_reader *payload, hd_error *err)
{
    switch (type) {
    case CAPTURE_NOTES: return read_note(lists, payload, err);
    case CAPTURE_METADATA: return read_metadata(lists, payload, err);
    default: return read_list(lists, type, payload, err);
    }
}

/* ---- looking up ---- */

uint32_t capture_lists_name(capture_lists *lists, uint64_t id)
{
    uint32_t name = known_name(lists, id);
    if (id == 0 || name != HD_STRING_NONE) return name;
    lists->lost++;
    if (!lists->lost_name) lists->lost_name = hd_builder_intern_text(lists->builder, "(lost name)");
    return lists->lost_name;
}

const capture_args *capture_lists_args(capture_lists *lists, uint64_t id)
{
    if (id == 0) return NULL;
    if (id < lists->args_count && lists->args[id].keys) return &lists->args[id];
    lists->lost++;
    return NULL;
}

uint32_t capture_lists_track(capture_lists *lists, uint64_t id)
{
    if (id == 0) return HD_NONE;
    if (id < lists->track_count && lists->tracks[id].kind) return lists->tracks[id].track;
    lists->lost++;
    return HD_NONE;
}

unsigned capture_lists_track_kind(const capture_lists *lists, uint64_t id)
{
    return id < lists->track_count ? lists->tracks[id].kind : 0;
}

uint32_t capture_lists_stack(capture_lists *lists, uint64_t id)
{
    bool is_lost = false;
    uint32_t node = capture_stacks_node(lists->stacks, id, &is_lost);
    lists->lost += is_lost;
    return node;
}

uint64_t capture_lists_lost(const capture_lists *lists)
{
    return lists->lost;
}

/* ---- priorities ---- */

/* [{"context": 1, "stream": 7, "priority": -5}, …] by context and stream; those of 0 are left out. */
static bool read_streams(hd_map *out, const char *p)
{
    bool fine = true;
    for (p = hd_json_skip_space(p); fine && (*p == '[' || *p == ',');) {
        int64_t context, stream, priority;
        p = hd_json_skip_space(p + 1);
        if (*p == '{' && hd_json_find_whole(&context, p, "context") && hd_json_find_whole(&stream, p, "stream") &&
            hd_json_find_whole(&priority, p, "priority") && priority)
            fine = hd_map_set(out, (uint64_t)context, (uint64_t)stream, (uint32_t)priority);
        p = *p == ']' ? p : hd_json_skip_space(hd_json_skip_value(p));
    }
    return fine;
}

static bool int_of(int64_t *out, const capture_args *args, uint32_t key)
{
    uint32_t i = 0;
    while (i < args->count && (args->keys[i].key != key || args->keys[i].type != HD_ARG_INT)) i++;
    if (i < args->count) *out = args->values[i];
    return i < args->count;
}

/* Kernels, which alone have a grid, get the priority of their stream, as Kineto has it. */
static void add_priorities(capture_lists *lists, const hd_map *priorities)
{
    uint32_t context_key = hd_builder_intern_text(lists->builder, "context"),
             stream_key = hd_builder_intern_text(lists->builder, "stream"),
             grid_key = hd_builder_intern_text(lists->builder, "grid"),
             key = hd_builder_intern_text(lists->builder, "priority");
    for (size_t i = 0; i < lists->args_count; i++) {
        capture_args *args = &lists->args[i];
        int64_t context, stream;
        uint32_t priority, at = 0;
        while (at < args->count && args->keys[at].key != grid_key) at++;
        if (at == args->count || args->count == CAPTURE_ARGS_MAX || int_of(&context, args, key)) continue;
        if (!int_of(&context, args, context_key) || !int_of(&stream, args, stream_key)) continue;
        if (!hd_map_get(&priority, priorities, (uint64_t)context, (uint64_t)stream)) continue;
        args->keys[args->count] = (hd_arg_key){.key = key, .type = HD_ARG_INT, .scope = HD_SCOPE_ARGS};
        args->values[args->count++] = (int32_t)priority;
    }
}

/* The metadata heddle.capture lists the streams. */
static hd_status find_priorities(capture_lists *lists, hd_error *err)
{
    hd_map priorities = {0};
    const char *streams;
    size_t size, at = 0;
    uint32_t key = hd_builder_intern_text(lists->builder, "heddle.capture");
    while (at < lists->fact_count && (lists->facts[at].key != key || lists->facts[at].is_note)) at++;
    if (at == lists->fact_count) return HD_OK;
    hd_string json = hd_builder_string(lists->builder, lists->facts[at].value);
    char *text = calloc(1, json.size + HD_JSON_PADDING);
    if (!text) return HD_NOMEM(err);
    memcpy(text, json.data, json.size);
    bool fine = *hd_json_skip_space(text) != '{' || !hd_json_find(&streams, &size, text, "streams") ||
                read_streams(&priorities, streams);
    free(text);
    if (fine && priorities.count) add_priorities(lists, &priorities);
    hd_map_deinit(&priorities);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- the end ---- */

hd_status capture_lists_settle(capture_lists *lists, hd_error *err)
{
    HD_TRY(find_priorities(lists, err));
    return capture_stacks_settle(lists->stacks, lists, err);
}

hd_status capture_lists_finish(capture_lists *lists, hd_error *err)
{
    for (size_t i = 0; i < lists->fact_count; i++) {
        const fact *f = &lists->facts[i];
        hd_string key = hd_builder_string(lists->builder, f->key);
        char code[64];
        if (!f->is_note) {
            hd_builder_metadata(lists->builder, f->key, f->value, false);
            continue;
        }
        snprintf(code, sizeof code, "%.*s", (int)key.size, key.data);
        const char *kept = hd_builder_keep_text(lists->builder, code);
        if (!kept) return HD_NOMEM(err);
        if (f->count) hd_builder_ledger(lists->builder, CAPTURE_STAGE, kept, f->level, f->count, HD_OFFSET_NONE);
    }
    return capture_stacks_finish(lists->stacks, err);
}
