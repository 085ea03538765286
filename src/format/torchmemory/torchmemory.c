/* torchmemory.c - memory snapshots of PyTorch -> events of memory
 *
 * Format   the pickle of torch.cuda.memory._dump_snapshot: traces of each device, and the segments at the end
 * Sniffs   a pickle of a dict with its keys
 * Maps     alloc, free_completed -> the instants [memory] that Kineto writes, with totals; other actions -> instants,
 *          of segments with a counter of reserved and allocated bytes. docs/formats/torchmemory.md
 * Units    µs -> ns         Shapes   n events -> n rows, and a counter for each event of a segment
 * Limits   2 GiB (a timeline 1 GiB); the metadata as large as the input         Errors   DAMAGED: nothing can be read,
 *          strict
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/write.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "format/numbers.h"
#include "format/torchmemory/pickle.h"
#include "format/torchmemory/torchmemory.h"
#include "trace/text.h"

enum { CUDA = 1, JSON_DEPTH = 32, NS_PER_US = 1000, SHARING = 64, DEVICES = 1024 }; /* DEVICES: whose events are read */
enum {
    ESCAPED = 6,
    TEXT_LIMIT = (1 << 30) / ESCAPED
}; /* bytes of JSON for one of a text, at most; of a text in JSON */
enum {
    TRUNCATED,
    DAMAGED,
    OBJECT_SKIPPED,
    EVENT_UNREADABLE,
    METADATA_CUT,
    ARGUMENT_LOST,
    TEXT_UTF8,
    TIME_MISSING,
    EVENT_LOST
};

static const hd_stack_code codes[] = {
    [TRUNCATED] = {"torchmemory.truncated", HD_LEDGER_LOSS, NULL},
    [DAMAGED] = {"torchmemory.pickle-damaged", HD_LEDGER_LOSS, NULL},
    [OBJECT_SKIPPED] = {"torchmemory.object-skipped", HD_LEDGER_LOSS, NULL},
    [EVENT_UNREADABLE] = {"torchmemory.event-unreadable", HD_LEDGER_LOSS, NULL},
    [METADATA_CUT] = {"torchmemory.metadata-cut", HD_LEDGER_NOTE, NULL},
    [ARGUMENT_LOST] = {"torchmemory.argument-lost", HD_LEDGER_LOSS, NULL},
    [TEXT_UTF8] = {"torchmemory.utf8", HD_LEDGER_REPAIR, NULL},
    [TIME_MISSING] = {"torchmemory.time-missing", HD_LEDGER_LOSS, NULL},
    [EVENT_LOST] = {"torchmemory.event-lost", HD_LEDGER_LOSS, NULL},
};

typedef struct totals {
    int64_t allocated, reserved;
    bool known;
} totals;

typedef struct reader {
    hd_stack_samples samples;
    hd_builder *builder;
    hd_error *err;
    pickle pickle;
    hd_map stacks; /* by identity of a list of frames */
    hd_map frames; /* by dict: the name with 0, the kind with 1 */
    pickle_value *list;
    size_t list_capacity;
    uint32_t track, counter;
    int64_t device;
    totals now, ends[DEVICES]; /* ends: of the segments of each device */
    hd_arg_key keys[HD_STACK_MORE];
    int64_t values[HD_STACK_MORE];
    uint32_t arg_count;
    hd_bytes text;
    hd_json_out json;
    bool leaves_frames;  /* out of JSON: blocks share their stacks in the pickle, and would each have a copy */
    uint64_t work, told; /* visited entries, and bytes of JSON: bounds for shared values, which could be visited without
                            end */
} reader;

static hd_status count(reader *r, size_t code, uint64_t n, uint64_t offset)
{
    const hd_line line = {.offset = offset};
    return hd_stack_samples_count(&r->samples, code, n, &line);
}

static bool is_spent(const reader *r)
{
    return r->work / SHARING > r->pickle.in.size;
}

/* Whether one more look at the entries of a value is within SHARING times the input. */
static bool afford(reader *r, pickle_value v)
{
    bool holds = v.type == PICKLE_LIST || v.type == PICKLE_DICT;
    r->work += 1 + (holds ? r->pickle.holders[v.number].count : 0);
    return !is_spent(r);
}

/* The number of items of a list; once the budget is spent, they are counted without visiting each. */
static uint32_t item_count(const reader *r, pickle_value list)
{
    return list.type == PICKLE_LIST ? r->pickle.holders[list.number].count : 0;
}

/* ---- values as arguments, and as JSON ---- */

static hd_status intern(reader *r, uint32_t *out, pickle_value v)
{
    size_t repaired;
    hd_string text = hd_stack_samples_utf8(&r->samples, &repaired, pickle_text(&r->pickle, v));
    *out = hd_builder_intern(r->builder, text.data, text.size);
    return *out == HD_STRING_NONE ? HD_NOMEM(r->err) : count(r, TEXT_UTF8, repaired, v.bits);
}

static void put_json(reader *r, pickle_value v, int depth)
{
    pickle_cursor c = {0};
    pickle_value item, value;
    bool first = true;
    double number;
    uint64_t most = r->pickle.in.size + SHARING;
    if (depth > JSON_DEPTH || r->json.size > most || r->told / SHARING > most) {
        r->json.failed = true;
        return;
    }
    switch (v.type) {
    case PICKLE_BOOL: hd_json_put_text(&r->json, v.bits ? "true" : "false"); return;
    case PICKLE_INT: hd_json_put_int(&r->json, (int64_t)v.bits); return;
    case PICKLE_LARGE: hd_json_put_unsigned(&r->json, v.bits); return;
    case PICKLE_FLOAT:
        memcpy(&number, &v.bits, sizeof number);
        hd_json_put_double(&r->json, number);
        return;
    case PICKLE_TEXT: {
        hd_string text = pickle_text(&r->pickle, v);
        if (text.size > TEXT_LIMIT)
            r->json.failed = true;
        else
            hd_json_put_string(&r->json, text.data, text.size);
        return;
    }
    case PICKLE_LIST:
    case PICKLE_DICT: break;
    default: hd_json_put_text(&r->json, "null"); return;
    }
    bool is_dict = v.type == PICKLE_DICT;
    hd_json_put_text(&r->json, is_dict ? "{" : "[");
    while (!r->json.failed && pickle_next(&item, &c, &r->pickle, v)) {
        if (is_dict) {
            hd_string key = pickle_text(&r->pickle, item);
            if (!pickle_next(&value, &c, &r->pickle, v)) break;
            if (r->leaves_frames && hd_string_is(key, "frames")) continue;
            hd_json_put_text(&r->json, first ? "" : ",");
            hd_json_put_string(&r->json, key.data, key.size);
            hd_json_put_text(&r->json, ":");
            item = value;
        } else {
            hd_json_put_text(&r->json, first ? "" : ",");
        }
        first = false;
        put_json(r, item, depth + 1);
    }
    hd_json_put_text(&r->json, is_dict ? "}" : "]");
}

static hd_status add_arg(reader *r, const char *key, uint32_t key_id, hd_arg_type type, int64_t bits)
{
    if (r->arg_count == HD_STACK_MORE) return count(r, ARGUMENT_LOST, 1, HD_OFFSET_NONE);
    uint32_t id = key ? hd_builder_intern_text(r->builder, key) : key_id;
    r->keys[r->arg_count] = (hd_arg_key){.key = id, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    r->values[r->arg_count++] = bits;
    return id == HD_STRING_NONE ? HD_NOMEM(r->err) : HD_OK;
}

/* false: too large, or without end. */
static bool make_json(reader *r, pickle_value v)
{
    r->json.size = 0;
    put_json(r, v, 0);
    bool fine = !r->json.failed;
    r->told += r->json.size;
    r->json.failed = false;
    return fine;
}

static hd_status add_value(reader *r, const char *key, uint32_t key_id, pickle_value v)
{
    uint32_t id;
    int64_t bits = (int64_t)v.bits;
    switch (v.type) {
    case PICKLE_ABSENT:
    case PICKLE_NONE:
    case PICKLE_OPAQUE: return HD_OK;
    case PICKLE_BOOL: return add_arg(r, key, key_id, HD_ARG_BOOL, bits);
    case PICKLE_INT: return add_arg(r, key, key_id, HD_ARG_INT, bits);
    case PICKLE_LARGE: {
        hd_arg_type type = hd_value_of_unsigned(&bits, r->builder, v.bits);
        return add_arg(r, key, key_id, type, bits);
    }
    case PICKLE_TEXT: HD_TRY(intern(r, &id, v)); return add_arg(r, key, key_id, HD_ARG_STRING, id);
    default: break;
    }
    if (!make_json(r, v)) return count(r, ARGUMENT_LOST, 1, HD_OFFSET_NONE);
    return add_arg(r, key, key_id, HD_ARG_JSON, hd_builder_intern(r->builder, r->json.data, r->json.size));
}

/* ---- stacks ---- */

static int64_t int_or(pickle_value v, int64_t otherwise)
{
    return v.type == PICKLE_INT ? (int64_t)v.bits : otherwise;
}

static int64_t int_of(const reader *r, pickle_value dict, const char *key, int64_t otherwise)
{
    return int_or(pickle_find(&r->pickle, dict, key), otherwise);
}

/* The id of a frame's text; HD_NONE: no memory. Frames are shared by stacks, each is put together once. */
static uint32_t find_frame(reader *r, hd_frame_kind *out_kind, pickle_value f)
{
    size_t repaired;
    const bool is_dict = f.type == PICKLE_DICT;
    const hd_map_entry *known = is_dict ? hd_map_find(&r->frames, f.number, 0) : NULL;
    if (known) {
        *out_kind = (hd_frame_kind)hd_map_find(&r->frames, f.number, 1)->value;
        return known->value;
    }
    hd_string name = pickle_text(&r->pickle, pickle_find(&r->pickle, f, "name"));
    r->text.size = 0;
    hd_text_put_frame(&r->text, name.size ? name : (hd_string){"[unknown]", 9},
                      pickle_text(&r->pickle, pickle_find(&r->pickle, f, "filename")), int_of(r, f, "line", 0), 0);
    hd_string text = {(char *)r->text.data, r->text.size};
    text = hd_stack_samples_utf8(&r->samples, &repaired, text);
    uint32_t id = r->text.failed ? HD_NONE : hd_stack_samples_frame(&r->samples, out_kind, text.data, text.size);
    if (!is_dict || id == HD_NONE) return id;
    bool kept = hd_map_set(&r->frames, f.number, 0, id) && hd_map_set(&r->frames, f.number, 1, *out_kind);
    return kept ? id : HD_NONE;
}

/* Frames are from the innermost to the outermost; equal lists are one stack. */
static hd_status find_stack(reader *r, uint32_t *out, pickle_value frames)
{
    pickle_cursor c = {0};
    pickle_value f;
    uint64_t id[2];
    size_t n = 0;
    *out = HD_STACK_NONE;
    if (frames.type != PICKLE_LIST) return HD_OK;
    pickle_identity(id, &r->pickle, frames);
    const hd_map_entry *known = hd_map_find(&r->stacks, id[0], id[1]);
    if (known) {
        *out = known->value;
        return HD_OK;
    }
    while (pickle_next(&f, &c, &r->pickle, frames)) {
        if (!hd_grow((void **)&r->list, &r->list_capacity, n, sizeof f)) return HD_NOMEM(r->err);
        r->list[n++] = f;
    }
    while (n && *out != HD_NONE) {
        hd_frame_kind kind = HD_FRAME_UNKNOWN;
        f = r->list[--n];
        if (!afford(r, f)) continue;
        uint32_t name = find_frame(r, &kind, f);
        *out = hd_stacks_push(r->samples.stacks, *out, name, kind);
    }
    if (*out == HD_NONE || !hd_map_set(&r->stacks, id[0], id[1], *out)) return HD_NOMEM(r->err);
    return HD_OK;
}

/* ---- events ---- */

enum { ACTION, SIZE, TIME, FRAMES, MEMBERS };
static const char *const members[MEMBERS] = {"action", "size", "time_us", "frames"};

/* The change of allocated and reserved bytes by an action. */
static bool change_of(hd_string action, int *allocated, int *reserved)
{
    *allocated = hd_string_is(action, "alloc") - hd_string_is(action, "free_completed");
    *reserved = hd_string_is(action, "segment_alloc") + hd_string_is(action, "segment_map") -
                hd_string_is(action, "segment_free") - hd_string_is(action, "segment_unmap");
    return *allocated || *reserved;
}

static int64_t times(int sign, int64_t size)
{
    if (sign >= 0) return sign ? size : 0;
    return size == INT64_MIN ? INT64_MAX : -size;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN + 1 : INT64_MAX) : sum;
}

static hd_status add_counter(reader *r, int64_t time_ns)
{
    hd_row row = hd_row_of(HD_KIND_COUNTER, 'C');
    row.track = r->track;
    row.name = r->counter;
    row.start_ns = time_ns;
    r->arg_count = 0;
    HD_TRY(add_arg(r, "allocated", 0, HD_ARG_INT, r->now.allocated));
    HD_TRY(add_arg(r, "reserved", 0, HD_ARG_INT, r->now.reserved));
    return hd_stack_samples_add_row(&r->samples, &row, r->keys, r->values, r->arg_count);
}

/* Members of an event that have no other place. */
static hd_status add_members(reader *r, pickle_value event, bool is_memory)
{
    static const char *const placed[] = {"action", "frames", "time_us"};
    pickle_cursor c = {0};
    pickle_value key, value;
    uint32_t id;
    while (pickle_next(&key, &c, &r->pickle, event) && pickle_next(&value, &c, &r->pickle, event)) {
        hd_string name = pickle_text(&r->pickle, key);
        bool skip = is_memory && (hd_string_is(name, "addr") || hd_string_is(name, "size"));
        for (size_t i = 0; i < sizeof placed / sizeof *placed; i++) skip |= hd_string_is(name, placed[i]);
        if (skip) continue;
        HD_TRY(intern(r, &id, key));
        HD_TRY(add_value(r, NULL, id, value));
    }
    return HD_OK;
}

/* Of which device, and its totals after this event. */
static hd_status add_totals(reader *r)
{
    HD_TRY(add_arg(r, "Device Id", 0, HD_ARG_INT, r->device));
    HD_TRY(add_arg(r, "Device Type", 0, HD_ARG_INT, CUDA));
    if (!r->now.known) return HD_OK;
    HD_TRY(add_arg(r, "Total Allocated", 0, HD_ARG_INT, r->now.allocated));
    return add_arg(r, "Total Reserved", 0, HD_ARG_INT, r->now.reserved);
}

static hd_status add_memory(reader *r, pickle_value event, int64_t bytes)
{
    pickle_value addr = pickle_find(&r->pickle, event, "addr");
    if (addr.type != PICKLE_ABSENT) HD_TRY(add_value(r, "Addr", 0, addr));
    HD_TRY(add_arg(r, "Bytes", 0, HD_ARG_INT, bytes));
    return add_totals(r);
}

static bool is_open(const reader *r, pickle_value event)
{
    return r->pickle.holders[event.number].is_open;
}

static hd_status add_event(reader *r, pickle_value event)
{
    int allocated, reserved;
    uint32_t node;
    pickle_value found[MEMBERS];
    if (event.type == PICKLE_DICT && is_open(r, event)) return HD_OK; /* cut off, which is reported */
    if (!afford(r, event)) return count(r, EVENT_LOST, 1, HD_OFFSET_NONE);
    pickle_find_all(found, members, MEMBERS, &r->pickle, event);
    hd_string action = pickle_text(&r->pickle, found[ACTION]);
    if (event.type != PICKLE_DICT || !action.size) return count(r, EVENT_UNREADABLE, 1, HD_OFFSET_NONE);
    int64_t size = int_or(found[SIZE], 0), time = int_or(found[TIME], HD_NO_TIME);
    change_of(action, &allocated, &reserved);
    r->now.allocated = add_clamped(r->now.allocated, times(allocated, size));
    r->now.reserved = add_clamped(r->now.reserved, times(reserved, size));
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    row.track = r->track;
    row.name = allocated ? hd_builder_intern_text(r->builder, "[memory]")
                         : hd_builder_intern(r->builder, action.data, action.size);
    if (row.name == HD_STRING_NONE) return HD_NOMEM(r->err);
    if (time == HD_NO_TIME || __builtin_mul_overflow(time, NS_PER_US, &row.start_ns)) {
        row.start_ns = HD_NO_TIME;
        HD_TRY(count(r, TIME_MISSING, 1, HD_OFFSET_NONE));
    }
    r->arg_count = 0;
    if (allocated) HD_TRY(add_memory(r, event, times(allocated, size)));
    if (reserved) HD_TRY(add_totals(r));
    HD_TRY(add_members(r, event, allocated != 0));
    HD_TRY(find_stack(r, &node, found[FRAMES]));
    if (node != HD_STACK_NONE) {
        HD_TRY(add_arg(r, "sf", 0, HD_ARG_INT, node));
        r->keys[r->arg_count - 1].scope = HD_SCOPE_EVENT;
    }
    HD_TRY(hd_stack_samples_add_row(&r->samples, &row, r->keys, r->values, r->arg_count));
    return reserved ? add_counter(r, row.start_ns) : HD_OK;
}

/* The state at the end, from segments. */
static void sum_segments(reader *r)
{
    pickle_value segments = pickle_find(&r->pickle, r->pickle.root, "segments"), item;
    pickle_cursor c = {0};
    bool known = segments.type != PICKLE_ABSENT && !r->pickle.in.truncated && !r->pickle.in.damaged;
    while (known && pickle_next(&item, &c, &r->pickle, segments)) {
        int64_t device = int_of(r, item, "device", -1);
        known = afford(r, item);
        if (device < 0 || device >= DEVICES) continue;
        totals *end = &r->ends[device];
        end->reserved = add_clamped(end->reserved, int_of(r, item, "total_size", 0));
        end->allocated = add_clamped(end->allocated, int_of(r, item, "active_size", 0));
    }
    for (int i = 0; i < DEVICES; i++) r->ends[i].known = known;
}

/* The state before the first event: that at the end minus the changes by the events. */
static totals find_start(reader *r, pickle_value trace)
{
    totals out = r->ends[r->device];
    int allocated, reserved;
    pickle_value item, found[TIME];
    pickle_cursor c = {0};
    while (out.known && pickle_next(&item, &c, &r->pickle, trace)) {
        if (!afford(r, item)) return (totals){0};
        pickle_find_all(found, members, TIME, &r->pickle, item);
        int64_t size = int_or(found[SIZE], 0);
        change_of(pickle_text(&r->pickle, found[ACTION]), &allocated, &reserved);
        out.allocated = add_clamped(out.allocated, times(-allocated, size));
        out.reserved = add_clamped(out.reserved, times(-reserved, size));
    }
    return out.known ? out : (totals){0};
}

static hd_status make_track(reader *r)
{
    char name[32];
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(r->builder, "PyTorch memory")};
    hd_ident tid = {HD_IDENT_NUMBER, 0};
    snprintf(name, sizeof name, "%lld", (long long)r->device);
    tid.text = hd_builder_intern_text(r->builder, name);
    r->track = hd_builder_track(r->builder, pid, tid, false);
    if (r->track == HD_NONE) return HD_NOMEM(r->err);
    snprintf(name, sizeof name, "cuda:%lld", (long long)r->device);
    hd_builder_name_track(r->builder, r->track, hd_builder_intern_text(r->builder, name));
    snprintf(name, sizeof name, "segments cuda:%lld", (long long)r->device);
    r->counter = hd_builder_intern_text(r->builder, name);
    return HD_OK;
}

static hd_status read_traces(reader *r)
{
    pickle_value traces = pickle_find(&r->pickle, r->pickle.root, "device_traces"), trace, event;
    pickle_cursor c = {0};
    sum_segments(r);
    for (r->device = 0; pickle_next(&trace, &c, &r->pickle, traces); r->device++) {
        pickle_cursor e = {0};
        if (!pickle_next(&event, &e, &r->pickle, trace)) continue;
        uint32_t left = item_count(r, trace);
        if (r->device < DEVICES && !is_spent(r)) {
            HD_TRY(make_track(r));
            r->now = find_start(r, trace);
            for (bool more = true; more && !is_spent(r); more = pickle_next(&event, &e, &r->pickle, trace), left--)
                HD_TRY(add_event(r, event));
        }
        HD_TRY(count(r, EVENT_LOST, left, HD_OFFSET_NONE));
    }
    return HD_OK;
}

/* All but the traces: segments with their blocks, settings, annotations. */
static hd_status tell_rest(reader *r)
{
    pickle_cursor c = {0};
    pickle_value key, value;
    while (pickle_next(&key, &c, &r->pickle, r->pickle.root) && pickle_next(&value, &c, &r->pickle, r->pickle.root)) {
        hd_string name = pickle_text(&r->pickle, key);
        if (hd_string_is(name, "device_traces") || !name.size) continue;
        uint32_t id;
        HD_TRY(intern(r, &id, key));
        bool fine = make_json(r, value);
        if (!fine) {
            r->leaves_frames = true;
            fine = make_json(r, value);
            r->leaves_frames = false;
            HD_TRY(count(r, fine ? METADATA_CUT : ARGUMENT_LOST, 1, key.bits));
        }
        if (fine) hd_builder_metadata(r->builder, id, hd_builder_intern(r->builder, r->json.data, r->json.size), true);
    }
    return HD_OK;
}

static hd_status read_snapshot(reader *r, const hd_bytes *bytes)
{
    if (!pickle_read(&r->pickle, bytes->data, bytes->size)) return HD_NOMEM(r->err);
    const pickle *p = &r->pickle;
    if (p->root.type != PICKLE_DICT)
        return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, p->in.at, "the pickle is no memory snapshot: no dict");
    HD_TRY(count(r, TRUNCATED, p->in.truncated, p->in.at));
    HD_TRY(count(r, DAMAGED, p->in.damaged, p->in.at));
    HD_TRY(count(r, OBJECT_SKIPPED, p->opaque, p->opaque_at));
    HD_TRY(read_traces(r));
    return tell_rest(r);
}

static hd_status torchmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_bytes bytes = {0};
    reader r = {.builder = builder, .err = err};
    const uint8_t *head;
    size_t head_size;
    HD_TRY(hd_input_peek(input, &head, &head_size, err));
    if (torchmemory_is_timeline(head, head_size)) return torchmemory_read_timeline(builder, input, options, err);
    hd_status status = hd_input_all(&bytes, input, 8, PICKLE_SIZE_LIMIT, err);
    if (status == HD_OK) status = hd_stack_samples_open(&r.samples, builder, input, "torchmemory", codes, options, err);
    if (status == HD_OK) status = read_snapshot(&r, &bytes);
    if (status == HD_OK) {
        hd_trace_facts *facts = hd_builder_facts(builder);
        facts->input_bytes = bytes.size;
        facts->base_ns = 0; /* Unix time */
        status = hd_stack_samples_finish(&r.samples);
    }
    hd_stack_samples_close(&r.samples);
    pickle_deinit(&r.pickle);
    hd_map_deinit(&r.stacks);
    hd_map_deinit(&r.frames);
    free(r.list);
    hd_bytes_deinit(&r.text);
    hd_bytes_deinit(&bytes);
    free(r.json.data);
    return status;
}

/* A pickle of any protocol: where its dict begins, as PROTO, FRAME, EMPTY_DICT have it, or without a header MARK DICT
 * (protocol 0) and EMPTY_DICT with its place in the memo (protocol 1). */
static bool begins_dict(const unsigned char *head, size_t size)
{
    if (size < 16) return false;
    if (head[0] == '(') return head[1] == 'd' && head[2] == 'p' && head[3] >= '0' && head[3] <= '9';
    if (head[0] == '}') return head[1] == 'q' && head[3] == '(';
    return head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 && head[head[2] == 0x95 ? 11 : 2] == '}';
}

/* A pickle that begins with a dict, with the name of a key near. */
static int torchmemory_sniff(const unsigned char *head, size_t size)
{
    static const char *const keys[] = {"device_traces", "segments", "allocator_settings"};
    if (torchmemory_is_timeline(head, size)) return 92;
    if (!begins_dict(head, size)) return 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (memmem(head, size, keys[i], strlen(keys[i]))) return 92;
    }
    return 0;
}

const hd_format hd_torchmemory_format = {
    .info = {.name = "torchmemory",
             .title = "Memory snapshots and timelines of PyTorch",
             .extensions = ".pickle .raw.json",
             .reads = true,
             .keeps = "allocations, frees, segments and other events of each device, with stacks; all else as JSON",
             .loses = "nothing, as nothing writes it here"},
    .sniff = torchmemory_sniff,
    .read = torchmemory_read,
};
