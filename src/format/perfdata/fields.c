/* fields.c - the fields of samples and of other records, by their event's sample_type */
#include "base/memory/vector.h"
#include "format/perfdata/perfdata.h"

/* sample_type, in the order of the fields, except the identifier, which comes first. */
enum {
    IP = 1 << 0,
    TID = 1 << 1,
    TIME = 1 << 2,
    ADDRESS = 1 << 3,
    READ = 1 << 4,
    CALLCHAIN = 1 << 5,
    ID = 1 << 6,
    CPU = 1 << 7,
    PERIOD = 1 << 8,
    STREAM_ID = 1 << 9,
    RAW = 1 << 10,
    BRANCHES = 1 << 11,
    USER_REGISTERS = 1 << 12,
    USER_STACK = 1 << 13,
    WEIGHT = 1 << 14,
    IDENTIFIER = 1 << 16,
};
enum { READ_ENABLED = 1, READ_RUNNING = 2, READ_ID = 4, READ_GROUP = 8, READ_LOST = 16 };
enum { BRANCH_HARDWARE_INDEX = 1 << 17, BRANCH_BYTES = 24, BRANCH_COUNTERS = 1 << 19 };

bool perfdata_head(perfdata_record *out, const uint8_t *data, bool is_big)
{
    out->data = data;
    out->is_big = is_big;
    out->type = (uint32_t)perfdata_get(is_big, data, 4);
    out->misc = (uint32_t)perfdata_get(is_big, data + 4, 2);
    out->size = (uint32_t)perfdata_get(is_big, data + 6, 2);
    bool is_known =
        (out->type && out->type < PERFDATA_KERNEL_TYPES) || (out->type >= PERFDATA_ATTR && out->type < PERFDATA_TYPES);
    return is_known && out->size >= PERFDATA_HEAD_BYTES;
}

perfdata_event *perfdata_events_add(perfdata_events *events, const uint8_t *attr, size_t size)
{
    enum { FREQUENCY = 10, SAMPLE_ID_ALL = 18 };
    if (size < PERFDATA_ATTR_BYTES ||
        !hd_grow((void **)&events->list, &events->capacity, events->count, sizeof *events->list))
        return NULL;
    uint64_t flags = perfdata_get(events->is_big, attr + 40, 8);
    bool has_frequency = flags >> (events->is_big ? 63 - FREQUENCY : FREQUENCY) & 1;
    perfdata_event *event = &events->list[events->count++];
    *event = (perfdata_event){
        .type = perfdata_get(events->is_big, attr, 4),
        .config = perfdata_get(events->is_big, attr + 8, 8),
        .sample_type = perfdata_get(events->is_big, attr + 24, 8),
        .read_format = perfdata_get(events->is_big, attr + 32, 8),
        .fixed_period = has_frequency ? 0 : perfdata_get(events->is_big, attr + 16, 8),
        .has_all = flags >> (events->is_big ? 63 - SAMPLE_ID_ALL : SAMPLE_ID_ALL) & 1,
        .branch_type = size >= 80 ? perfdata_get(events->is_big, attr + 72, 8) : 0,
        .user_registers = size >= 88 ? perfdata_get(events->is_big, attr + 80, 8) : 0,
    };
    return event;
}

/* ---- which event ---- */

static const perfdata_event *event_by_id(const perfdata_events *events, uint64_t id)
{
    uint32_t index;
    if (hd_map_get(&index, &events->by_id, id, 0)) return &events->list[index];
    return events->count == 1 || (id == 0 && events->count) ? events->list : NULL;
}

/* All events have their id at the same place, as the first one shows. */
static const perfdata_event *event_of_sample(const perfdata_events *events, const perfdata_record *record)
{
    uint64_t type = events->count ? events->list->sample_type : 0, before = type & (IP | TID | TIME | ADDRESS);
    if (events->count <= 1) return events->count ? events->list : NULL;
    if (!(type & (IDENTIFIER | ID))) return events->list;
    size_t at = PERFDATA_HEAD_BYTES + (type & IDENTIFIER ? 0 : 8 * (size_t)__builtin_popcountll(before));
    return at + 8 <= record->size ? event_by_id(events, perfdata_get(events->is_big, record->data + at, 8)) : NULL;
}

static const perfdata_event *event_of_other(const perfdata_events *events, const perfdata_record *record)
{
    uint64_t type = events->count ? events->list->sample_type : 0, behind = type & (CPU | STREAM_ID);
    if (events->count <= 1 || !(type & (IDENTIFIER | ID))) return events->count ? events->list : NULL;
    size_t from_end = 8 + (type & IDENTIFIER ? 0 : 8 * (size_t)__builtin_popcountll(behind));
    if (record->size < PERFDATA_HEAD_BYTES + from_end) return events->list;
    const perfdata_event *event =
        event_by_id(events, perfdata_get(events->is_big, record->data + record->size - from_end, 8));
    return event ? event : events->list; /* of perf itself */
}

/* ---- samples ---- */

static void skip(perfdata_input *in, uint64_t count, unsigned bytes)
{
    if (count > hd_byte_reader_left(&in->bytes) / bytes)
        in->bytes.failed = true;
    else
        hd_byte_reader_take(&in->bytes, (size_t)count * bytes);
}

static void skip_values(perfdata_input *in, uint64_t format)
{
    unsigned each = 1 + !!(format & READ_ID) + !!(format & READ_LOST);
    uint64_t count = format & READ_GROUP ? perfdata_take(in, 8) : 1;
    skip(in, (format & READ_ENABLED ? 1 : 0) + (format & READ_RUNNING ? 1 : 0), 8);
    skip(in, count, 8 * each);
}

static void skip_branches(perfdata_input *in, uint64_t branch_type)
{
    uint64_t count = perfdata_take(in, 8);
    if (branch_type & BRANCH_HARDWARE_INDEX) skip(in, 1, 8);
    skip(in, count, BRANCH_BYTES + (branch_type & BRANCH_COUNTERS ? 8 : 0));
}

/* Up to the chain and the raw data; of later fields only their presence. */
static void read_arrays(perfdata_fields *out, perfdata_input *in)
{
    const perfdata_event *event = out->event;
    uint64_t type = event->sample_type;
    if (type & READ) skip_values(in, event->read_format);
    if (type & CALLCHAIN) {
        out->chain_count = perfdata_take(in, 8);
        out->chain = in->bytes.data + in->bytes.at;
        skip(in, out->chain_count, 8);
    }
    if (type & RAW) {
        out->raw_size = (uint32_t)perfdata_take(in, 4);
        out->raw = hd_byte_reader_take(&in->bytes, out->raw_size);
        if (!out->raw) out->raw_size = 0;
    }
    if (type & BRANCHES) skip_branches(in, event->branch_type);
    if ((type & USER_REGISTERS) && perfdata_take(in, 8))
        skip(in, (uint64_t)__builtin_popcountll(event->user_registers), 8);
    if (type & USER_STACK) {
        out->has_user_stack = perfdata_take(in, 8) != 0;
    }
    out->has_others = type & (READ | BRANCHES) || type >= IDENTIFIER << 1 || type & (WEIGHT | WEIGHT << 1);
}

void perfdata_sample_fields(perfdata_fields *out, const perfdata_events *events, const perfdata_record *record)
{
    perfdata_input in = {hd_byte_reader_of(record->data, record->size), record->is_big};
    *out = (perfdata_fields){.event = event_of_sample(events, record)};
    if (!out->event) return;
    uint64_t type = out->event->sample_type;
    in.bytes.at = PERFDATA_HEAD_BYTES;
    if (type & IDENTIFIER) perfdata_take(&in, 8);
    out->has_ip = type & IP;
    out->has_thread = type & TID;
    out->has_time = type & TIME;
    out->has_address = type & ADDRESS;
    out->has_cpu = type & CPU;
    out->has_period = type & PERIOD;
    if (type & IP) out->ip = perfdata_take(&in, 8);
    if (type & TID) out->pid = (uint32_t)perfdata_take(&in, 4), out->tid = (uint32_t)perfdata_take(&in, 4);
    if (type & TIME) out->time = perfdata_take(&in, 8);
    if (type & ADDRESS) out->address = perfdata_take(&in, 8);
    if (type & ID) perfdata_take(&in, 8);
    if (type & STREAM_ID) perfdata_take(&in, 8);
    if (type & CPU) out->cpu = (uint32_t)perfdata_take(&in, 4), perfdata_take(&in, 4);
    if (type & PERIOD) out->period = perfdata_take(&in, 8);
    if (!out->has_period && out->event->fixed_period) {
        out->has_period = true;
        out->period = out->event->fixed_period;
    }
    read_arrays(out, &in);
    out->is_damaged = in.bytes.failed;
}

/* ---- other records ---- */

void perfdata_other_fields(perfdata_fields *out, const perfdata_events *events, const perfdata_record *record)
{
    *out = (perfdata_fields){.event = event_of_other(events, record)};
    if (!out->event || !out->event->has_all) return;
    uint64_t type = out->event->sample_type & (TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER);
    size_t bytes = 8 * (size_t)__builtin_popcountll(type);
    out->is_damaged = record->size < PERFDATA_HEAD_BYTES + bytes;
    if (out->is_damaged) return;
    perfdata_input in = {hd_byte_reader_of(record->data, record->size), record->is_big};
    in.bytes.at = record->size - bytes;
    out->has_thread = type & TID;
    out->has_time = type & TIME;
    out->has_cpu = type & CPU;
    if (type & TID) out->pid = (uint32_t)perfdata_take(&in, 4), out->tid = (uint32_t)perfdata_take(&in, 4);
    if (type & TIME) out->time = perfdata_take(&in, 8);
    if (type & ID) perfdata_take(&in, 8);
    if (type & STREAM_ID) perfdata_take(&in, 8);
    if (type & CPU) out->cpu = (uint32_t)perfdata_take(&in, 4), perfdata_take(&in, 4);
}

bool perfdata_time(uint64_t *out, const perfdata_events *events, const perfdata_record *record)
{
    perfdata_fields fields;
    if (record->type != PERFDATA_SAMPLE) {
        perfdata_other_fields(&fields, events, record);
        *out = fields.time;
        return fields.has_time;
    }
    const perfdata_event *event = event_of_sample(events, record);
    uint64_t type = event ? event->sample_type : 0;
    size_t at = PERFDATA_HEAD_BYTES + 8 * (size_t)__builtin_popcountll(type & (IDENTIFIER | IP | TID));
    if (!(type & TIME) || at + 8 > record->size) return false;
    *out = perfdata_get(events->is_big, record->data + at, 8);
    return true;
}
