/* torchmemory.c - memory snapshots of PyTorch -> events of memory
 *
 * Format   the pickle of torch.cuda.memory._dump_snapshot: traces of each device, and the segments at the end
 * Sniffs   a pickle of a dict with its keys
 * Maps     alloc, free_completed -> the instants [memory] that Kineto writes, with totals; other actions -> instants,
 *          of segments with a counter of reserved and allocated bytes. docs/formats/torchmemory.md
 * Units    µs -> ns         Shapes   n events -> n rows, and a counter for each event of a segment
 * Limits   a timeline 1 GiB; the metadata as large as the input, at most 256 MiB a member
 * Errors   DAMAGED: nothing can be read, strict
 *
 * A file may be larger than the memory: it is read twice, and events are a stream. The first time their changes are
 * added up, so that the totals before the first event are known when they become rows. Where lists or events are
 * shared, as PyTorch never writes them, all values are kept instead.
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

typedef struct device {
    totals end, change; /* of its segments; by its events */
    totals now;
    uint64_t taken; /* events */
    uint32_t track, counter;
    bool has_track, is_unknown; /* is_unknown: not all of its events were added up */
} device;

typedef struct reader {
    pickle_reader in;
    bool is_adding; /* the first time */
    bool is_odd;    /* what was streamed is not what the lists have: events, or lists, are there several times */
    int64_t number; /* of the device in hand */
    device *device;
    device *devices; /* DEVICES */
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
    row.track = r->device->track;
    row.name = r->device->counter;
    row.start_ns = time_ns;
    r->in.arg_count = 0;
    HD_TRY(pickle_add_arg(&r->in, "allocated", 0, HD_ARG_INT, r->device->now.allocated));
    HD_TRY(pickle_add_arg(&r->in, "reserved", 0, HD_ARG_INT, r->device->now.reserved));
    return pickle_add_row(&r->in, &row);
}

/* Members of an event that have no other place. */
static hd_status add_members(reader *r, pickle_value event, bool is_memory)
{
    pickle_cursor c = {0};
    pickle_value key, value;
    uint32_t id;
    while (pickle_next(&key, &c, &r->in.pickle, event) && pickle_next(&value, &c, &r->in.pickle, event)) {
        hd_string name = pickle_text(&r->in.pickle, key);
        if (is_memory && (hd_string_is(name, "addr") || hd_string_is(name, "size"))) continue;
        if (hd_string_is(name, "action") || hd_string_is(name, "frames") || hd_string_is(name, "time_us")) continue;
        HD_TRY(pickle_intern(&r->in, &id, key));
        HD_TRY(pickle_add_value(&r->in, NULL, id, value));
    }
    return HD_OK;
}

/* Of which device, and its totals after this event. */
static hd_status add_totals(reader *r)
{
    HD_TRY(pickle_add_arg(&r->in, "Device Id", 0, HD_ARG_INT, r->number));
    HD_TRY(pickle_add_arg(&r->in, "Device Type", 0, HD_ARG_INT, CUDA));
    const totals *now = &r->device->now;
    if (!now->known) return HD_OK;
    HD_TRY(pickle_add_arg(&r->in, "Total Allocated", 0, HD_ARG_INT, now->allocated));
    return pickle_add_arg(&r->in, "Total Reserved", 0, HD_ARG_INT, now->reserved);
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
    totals *now = &r->device->now;
    now->allocated = add_clamped(now->allocated, times(allocated, size));
    now->reserved = add_clamped(now->reserved, times(reserved, size));
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    row.track = r->device->track;
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

static void add_change(reader *r, pickle_value event)
{
    int allocated, reserved;
    pickle_value found[TIME];
    totals *change = &r->device->change;
    r->is_odd |= event.type == PICKLE_DICT && pickle_is_gone(&r->in, event);
    r->device->is_unknown |= !pickle_afford(&r->in, event);
    if (r->device->is_unknown) return;
    pickle_find_all(found, members, TIME, &r->in.pickle, event);
    int64_t size = pickle_int_or(found[SIZE], 0);
    change_of(pickle_text(&r->in.pickle, found[ACTION]), &allocated, &reserved);
    change->allocated = add_clamped(change->allocated, times(allocated, size));
    change->reserved = add_clamped(change->reserved, times(reserved, size));
}

/* ---- devices ---- */

/* The state at the end, from segments; before the first event it was less by the changes of the events. */
static void find_starts(reader *r)
{
    pickle_value segments = pickle_find(&r->in.pickle, r->in.pickle.root, "segments"), item;
    pickle_cursor c = {0};
    bool known = segments.type != PICKLE_ABSENT && !r->in.pickle.in.truncated && !r->in.pickle.in.damaged;
    while (known && pickle_next(&item, &c, &r->in.pickle, segments)) {
        int64_t number = pickle_int_of(&r->in, item, "device", -1);
        known = pickle_afford(&r->in, item);
        if (number < 0 || number >= DEVICES) continue;
        totals *end = &r->devices[number].end;
        end->reserved = add_clamped(end->reserved, pickle_int_of(&r->in, item, "total_size", 0));
        end->allocated = add_clamped(end->allocated, pickle_int_of(&r->in, item, "active_size", 0));
    }
    for (int i = 0; i < DEVICES; i++) {
        device *d = &r->devices[i];
        d->taken = 0;
        if (!known || d->is_unknown) continue;
        d->now = (totals){add_clamped(d->end.allocated, times(-1, d->change.allocated)),
                          add_clamped(d->end.reserved, times(-1, d->change.reserved)), true};
    }
}

static hd_status make_track(reader *r)
{
    char name[32];
    hd_ident pid = {HD_IDENT_STRING, hd_builder_intern_text(r->in.builder, "PyTorch memory")};
    hd_ident tid = {HD_IDENT_NUMBER, 0};
    device *d = r->device;
    snprintf(name, sizeof name, "%lld", (long long)r->number);
    tid.text = hd_builder_intern_text(r->in.builder, name);
    d->track = hd_builder_track(r->in.builder, pid, tid, false);
    if (d->track == HD_NONE) return HD_NOMEM(r->in.err);
    snprintf(name, sizeof name, "cuda:%lld", (long long)r->number);
    hd_builder_name_track(r->in.builder, d->track, hd_builder_intern_text(r->in.builder, name));
    snprintf(name, sizeof name, "segments cuda:%lld", (long long)r->number);
    d->counter = hd_builder_intern_text(r->in.builder, name);
    d->has_track = true;
    return HD_OK;
}

/* ---- events of devices ---- */

/* Some events of a device. Those that are not taken are counted later. */
static hd_status take_events(void *user, uint64_t number, const pickle_value *events, size_t count)
{
    reader *r = user;
    if (number >= DEVICES || pickle_is_spent(&r->in)) return HD_OK;
    r->number = (int64_t)number;
    r->device = &r->devices[number];
    if (!r->is_adding && !r->device->has_track) HD_TRY(make_track(r));
    for (size_t i = 0; i < count && !pickle_is_spent(&r->in); i++, r->device->taken++) {
        if (r->is_adding)
            add_change(r, events[i]);
        else
            HD_TRY(add_event(r, events[i]));
    }
    return HD_OK;
}

/* Events of lists that are no stream, such as tuples. */
static hd_status read_rest(reader *r)
{
    pickle_value traces = pickle_find(&r->in.pickle, r->in.pickle.root, "device_traces"), trace, event;
    pickle_cursor c = {0};
    uint64_t number = 0;
    for (; pickle_next(&trace, &c, &r->in.pickle, traces); number++) {
        pickle_cursor e = {0};
        while (number < DEVICES && !pickle_is_spent(&r->in) && pickle_next(&event, &e, &r->in.pickle, trace))
            HD_TRY(take_events(r, number, &event, 1));
        uint64_t taken = number < DEVICES ? r->devices[number].taken : 0, count = pickle_item_count(&r->in, trace);
        r->is_odd |= number < DEVICES && !pickle_is_spent(&r->in) && count != taken;
        if (!r->is_adding && count > taken) HD_TRY(pickle_count(&r->in, EVENT_LOST, count - taken, HD_OFFSET_NONE));
    }
    for (; number < DEVICES; number++) r->is_odd |= r->devices[number].taken != 0;
    return HD_OK;
}

static hd_status read_pass(reader *r, const hd_pieces *pieces, const pickle_stream *stream)
{
    HD_TRY(pickle_reader_read(&r->in, pieces, stream, "memory snapshot"));
    return read_rest(r);
}

/* Next to the traces: segments with their blocks, settings, annotations. */
static hd_status read_snapshot(reader *r, const hd_pieces *pieces)
{
    pickle_stream events = {"device_traces", take_events, r, true}, *stream = &events;
    r->is_adding = true;
    HD_TRY(read_pass(r, pieces, stream));
    if (r->is_odd) {
        stream = NULL;
        memset(r->devices, 0, DEVICES * sizeof *r->devices);
        HD_TRY(read_pass(r, pieces, stream));
    }
    find_starts(r);
    r->is_adding = events.is_shallow = false;
    r->in.work = r->in.told = 0;
    HD_TRY(stream ? read_pass(r, pieces, stream) : read_rest(r)); /* without a stream all values are there */
    HD_TRY(pickle_reader_check(&r->in));
    HD_TRY(pickle_add_rest(&r->in, "device_traces"));
    return pickle_reader_finish(&r->in, pieces->size);
}

static hd_status torchmemory_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_pieces pieces = {0};
    reader r = {.devices = calloc(DEVICES, sizeof *r.devices)};
    const uint8_t *head;
    size_t head_size;
    hd_status status = r.devices ? hd_input_peek(input, &head, &head_size, err) : HD_NOMEM(err);
    if (status == HD_OK && torchmemory_is_timeline(head, head_size)) {
        free(r.devices);
        return torchmemory_read_timeline(builder, input, options, err);
    }
    if (status == HD_OK) status = hd_pieces_open(&pieces, input, err);
    if (status == HD_OK) status = pickle_reader_open(&r.in, builder, input, "torchmemory", codes, options, err);
    if (status == HD_OK) status = read_snapshot(&r, &pieces);
    pickle_reader_close(&r.in);
    hd_pieces_close(&pieces);
    free(r.devices);
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
