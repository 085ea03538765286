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
#include "format/pickle/values.h"
#include "format/torchmemory/torchmemory.h"
#include "trace/text.h"

enum { CUDA = 1, NS_PER_US = 1000, DEVICES = 1024 }; /* DEVICES: whose events are read */
enum { EVENT_UNREADABLE = PICKLE_CODES, TIME_MISSING, EVENT_LOST };

static const hd_stack_code codes[] = {
    [PICKLE_TRUNCATED] = {"torchmemory.truncated", HD_LEDGER_LOSS, NULL},
    [PICKLE_DAMAGED] = {"torchmemory.pickle-damaged", HD_LEDGER_LOSS, NULL},
    [PICKLE_OBJECT_SKIPPED] = {"torchmemory.object-skipped", HD_LEDGER_LOSS, NULL},
    [PICKLE_METADATA_CUT] = {"torchmemory.metadata-cut", HD_LEDGER_NOTE, NULL},
    [PICKLE_ARGUMENT_LOST] = {"torchmemory.argument-lost", HD_LEDGER_LOSS, NULL},
    [PICKLE_TEXT_UTF8] = {"torchmemory.utf8", HD_LEDGER_REPAIR, NULL},
    [EVENT_UNREADABLE] = {"torchmemory.event-unreadable", HD_LEDGER_LOSS, NULL},
    [TIME_MISSING] = {"torchmemory.time-missing", HD_LEDGER_LOSS, NULL},
    [EVENT_LOST] = {"torchmemory.event-lost", HD_LEDGER_LOSS, NULL},
};

typedef struct totals {
    int64_t allocated, reserved;
    bool known;
} totals;

typedef struct reader {
    pickle_reader in;
    uint32_t track, counter;
    int64_t device;
    totals now, ends[DEVICES]; /* ends: of the segments of each device */
} reader;

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
    r->in.arg_count = 0;
    HD_TRY(pickle_add_arg(&r->in, "allocated", 0, HD_ARG_INT, r->now.allocated));
    HD_TRY(pickle_add_arg(&r->in, "reserved", 0, HD_ARG_INT, r->now.reserved));
    return pickle_add_row(&r->in, &row);
}

/* Members of an event that have no other place. */
static hd_status add_members(reader *r, pickle_value event, bool is_memory)
{
    static const char *const placed[] = {"action", "frames", "time_us"};
    pickle_cursor c = {0};
    pickle_value key, value;
    uint32_t id;
    while (pickle_next(&key, &c, &r->in.pickle, event) && pickle_next(&value, &c, &r->in.pickle, event)) {
        hd_string name = pickle_text(&r->in.pickle, key);
        bool skip = is_memory && (hd_string_is(name, "addr") || hd_string_is(name, "size"));
        for (size_t i = 0; i < sizeof placed / sizeof *placed; i++) skip |= hd_string_is(name, placed[i]);
        if (skip) continue;
        HD_TRY(pickle_intern(&r->in, &id, key));
        HD_TRY(pickle_add_value(&r->in, NULL, id, value));
    }
    return HD_OK;
}

/* Of which device, and its totals after this event. */
static hd_status add_totals(reader *r)
{
    HD_TRY(pickle_add_arg(&r->in, "Device Id", 0, HD_ARG_INT, r->device));
    HD_TRY(pickle_add_arg(&r->in, "Device Type", 0, HD_ARG_INT, CUDA));
    if (!r->now.known) return HD_OK;
    HD_TRY(pickle_add_arg(&r->in, "Total Allocated", 0, HD_ARG_INT, r->now.allocated));
    return pickle_add_arg(&r->in, "Total Reserved", 0, HD_ARG_INT, r->now.reserved);
}

static hd_status add_memory(reader *r, pickle_value event, int64_t bytes)
{
    pickle_value addr = pickle_find(&r->in.pickle, event, "addr");
    if (addr.type != PICKLE_ABSENT) HD_TRY(pickle_add_value(&r->in, "Addr", 0, addr));
    HD_TRY(pickle_add_arg(&r->in, "Bytes", 0, HD_ARG_INT, bytes));
    return add_totals(r);
}

static hd_status add_event(reader *r, pickle_value event)
{
    int allocated, reserved;
    pickle_value found[MEMBERS];
    if (event.type == PICKLE_DICT && pickle_is_open(&r->in, event)) return HD_OK; /* cut off, which is reported */
    if (!pickle_afford(&r->in, event)) return pickle_count(&r->in, EVENT_LOST, 1, HD_OFFSET_NONE);
    pickle_find_all(found, members, MEMBERS, &r->in.pickle, event);
    hd_string action = pickle_text(&r->in.pickle, found[ACTION]);
    if (event.type != PICKLE_DICT || !action.size) return pickle_count(&r->in, EVENT_UNREADABLE, 1, HD_OFFSET_NONE);
    int64_t size = pickle_int_or(found[SIZE], 0), time = pickle_int_or(found[TIME], HD_NO_TIME);
    change_of(action, &allocated, &reserved);
    r->now.allocated = add_clamped(r->now.allocated, times(allocated, size));
    r->now.reserved = add_clamped(r->now.reserved, times(reserved, size));
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    row.track = r->track;
    row.name = allocated ? hd_builder_intern_text(r->in.builder, "[memory]")
                         : hd_builder_intern(r->in.builder, action.data, action.size);
    if (row.name == HD_STRING_NONE) return HD_NOMEM(r->in.err);
    if (time == HD_NO_TIME || __builtin_mul_overflow(time, NS_PER_US, &row.start_ns)) {
        row.start_ns = HD_NO_TIME;
        row.kind = HD_KIND_OTHER;
        HD_TRY(pickle_count(&r->in, TIME_MISSING, 1, HD_OFFSET_NONE));
    }
    r->in.arg_count = 0;
    if (allocated) HD_TRY(add_memory(r, event, times(allocated, size)));
    if (reserved) HD_TRY(add_totals(r));
    HD_TRY(add_members(r, event, allocated != 0));
    HD_TRY(pickle_add_stack(&r->in, found[FRAMES]));
    HD_TRY(pickle_add_row(&r->in, &row));
    return reserved && row.start_ns != HD_NO_TIME ? add_counter(r, row.start_ns) : HD_OK;
}

/* The state at the end, from segments. */
static void sum_segments(reader *r)
{
    pickle_value segments = pickle_find(&r->in.pickle, r->in.pickle.root, "segments"), item;
    pickle_cursor c = {0};
    bool known = segments.type != PICKLE_ABSENT && !r->in.pickle.in.truncated && !r->in.pickle.in.damaged;
    while (known && pickle_next(&item, &c, &r->in.pickle, segments)) {
        int64_t device = pickle_int_of(&r->in, item, "device", -1);
        known = pickle_afford(&r->in, item);
        if (device < 0 || device >= DEVICES) continue;
        totals *end = &r->ends[device];
        end->reserved = add_clamped(end->reserved, pickle_int_of(&r->in, item, "total_size", 0));
        end->allocated = add_clamped(end->allocated, pickle_int_of(&r->in, item, "active_size", 0));
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
    while (out.known && pickle_next(&item, &c, &r->in.pickle, trace)) {
        if (!pickle_afford(&r->in, item)) return (totals){0};
        pickle_find_all(found, members, TIME, &r->in.pickle, item);
        int64_t size = pickle_int_or(found[SIZE], 0);
        change_of(pickle_text(&r->in.pickle, found[ACTION]), &allocated, &reserved);
        out.allocated = add_clamped(out.allocated, times(-allocated, size));
        out.reserved = add_clamped(out.reserved, times(-reserved, size));
    }
    return out.known ? out : (totals){0};
}

static hd_status make_track(reader *r)
{
    char name[32];
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(r->in.builder, "PyTorch memory")};
    hd_ident tid = {HD_IDENT_NUMBER, 0};
    snprintf(name, sizeof name, "%lld", (long long)r->device);
    tid.text = hd_builder_intern_text(r->in.builder, name);
    r->track = hd_builder_track(r->in.builder, pid, tid, false);
    if (r->track == HD_NONE) return HD_NOMEM(r->in.err);
    snprintf(name, sizeof name, "cuda:%lld", (long long)r->device);
    hd_builder_name_track(r->in.builder, r->track, hd_builder_intern_text(r->in.builder, name));
    snprintf(name, sizeof name, "segments cuda:%lld", (long long)r->device);
    r->counter = hd_builder_intern_text(r->in.builder, name);
    return HD_OK;
}

static hd_status read_traces(reader *r)
{
    pickle_value traces = pickle_find(&r->in.pickle, r->in.pickle.root, "device_traces"), trace, event;
    pickle_cursor c = {0};
    sum_segments(r);
    for (r->device = 0; pickle_next(&trace, &c, &r->in.pickle, traces); r->device++) {
        pickle_cursor e = {0};
        if (!pickle_next(&event, &e, &r->in.pickle, trace)) continue;
        uint32_t left = pickle_item_count(&r->in, trace);
        if (r->device < DEVICES && !pickle_is_spent(&r->in)) {
            HD_TRY(make_track(r));
            r->now = find_start(r, trace);
            for (bool more = true; more && !pickle_is_spent(&r->in);
                 more = pickle_next(&event, &e, &r->in.pickle, trace), left--)
                HD_TRY(add_event(r, event));
        }
        HD_TRY(pickle_count(&r->in, EVENT_LOST, left, HD_OFFSET_NONE));
    }
    return HD_OK;
}

/* Next to the traces: segments with their blocks, settings, annotations. */
static hd_status read_snapshot(reader *r, const hd_bytes *bytes)
{
    HD_TRY(pickle_reader_read(&r->in, bytes, "memory snapshot"));
    HD_TRY(read_traces(r));
    HD_TRY(pickle_add_rest(&r->in, "device_traces"));
    return pickle_reader_finish(&r->in, bytes->size);
}

static hd_status torchmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_bytes bytes = {0};
    reader r = {0};
    const uint8_t *head;
    size_t head_size;
    HD_TRY(hd_input_peek(input, &head, &head_size, err));
    if (torchmemory_is_timeline(head, head_size)) return torchmemory_read_timeline(builder, input, options, err);
    hd_status status = hd_input_all(&bytes, input, 8, PICKLE_SIZE_LIMIT, err);
    if (status == HD_OK) status = pickle_reader_open(&r.in, builder, input, "torchmemory", codes, options, err);
    if (status == HD_OK) status = read_snapshot(&r, &bytes);
    pickle_reader_close(&r.in);
    hd_bytes_deinit(&bytes);
    return status;
}

/* A pickle that begins with a dict, with the name of a key near. */
static int torchmemory_sniff(const unsigned char *head, size_t size)
{
    static const char *const keys[] = {"device_traces", "segments", "allocator_settings"};
    if (torchmemory_is_timeline(head, size)) return 92;
    if (!pickle_begins_dict(head, size)) return 0;
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
