/* features.c - data of the header: names of events, build-ids, the machine
 *
 * EVENT_DESC, EVENT_UPDATE and old HEADER_EVENT_TYPE name events; without a name, type and config are used.
 */
#include <stdio.h>

#include "base/error.h"
#include "format/perfdata/perfdata.h"

enum {
    FEATURE_BUILD_ID = 2,
    FEATURE_HOSTNAME = 3,
    FEATURE_CPU_NAME = 8,
    FEATURE_COMMAND = 11,
    FEATURE_EVENTS = 12,
    FEATURE_DIRECTORY = 24,
    FEATURE_CLOCK = 29,
};

/* ---- names of events ---- */

static const char *const hardware[] = {
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const software[] = {"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
                                       "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
                                       "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

static uint32_t standard_name(perfdata_reader *r, const perfdata_event *event)
{
    enum { HARDWARE, SOFTWARE, TRACEPOINT };
    char text[64];
    uint32_t config = (uint32_t)event->config; /* above it the PMU's type, on machines with several kinds of cores */
    if (event->type == HARDWARE && config < sizeof hardware / sizeof *hardware)
        return hd_builder_intern_text(r->samples.builder, hardware[config]);
    if (event->type == SOFTWARE && event->config < sizeof software / sizeof *software)
        return hd_builder_intern_text(r->samples.builder, software[event->config]);
    int size = event->type == TRACEPOINT
                   ? snprintf(text, sizeof text, "tracepoint %llu", (unsigned long long)event->config)
                   : snprintf(text, sizeof text, "type %llu, config 0x%llx", (unsigned long long)event->type,
                              (unsigned long long)event->config);
    return hd_builder_intern(r->samples.builder, text, (size_t)size);
}

hd_status perfdata_add_attr(perfdata_reader *r, const uint8_t *attr, size_t size, const uint8_t *ids, size_t id_bytes,
                            uint64_t offset)
{
    perfdata_event *event = perfdata_events_add(&r->events, attr, size);
    if (!event)
        return size < PERFDATA_ATTR_BYTES ? perfdata_count(r, PERFDATA_HEADER_DAMAGED, 1, offset)
                                          : HD_NOMEM(r->samples.err);
    event->name = standard_name(r, event);
    for (size_t i = 0; i + 8 <= id_bytes; i += 8) {
        if (!hd_map_set(&r->events.by_id, perfdata_get(r->events.is_big, ids + i, 8), 0, (uint32_t)r->events.count - 1))
            return HD_NOMEM(r->samples.err);
    }
    return HD_OK;
}

void perfdata_update_event(perfdata_reader *r, const perfdata_record *record)
{
    enum { NAME = 2, UPDATE_BYTES = 16, OLD_ID_BYTES = 8 };
    const uint8_t *data = record->data + PERFDATA_HEAD_BYTES;
    size_t size = record->size - PERFDATA_HEAD_BYTES, head = UPDATE_BYTES;
    bool is_old = record->type == PERFDATA_EVENT_TYPE;
    uint32_t index;
    if (is_old) head = OLD_ID_BYTES;
    if (size < head) return;
    if (!is_old && (perfdata_get(r->events.is_big, data, 8) != NAME ||
                    !hd_map_get(&index, &r->events.by_id, perfdata_get(r->events.is_big, data + 8, 8), 0)))
        return;
    uint32_t name = perfdata_text(r, data + head, size - head);
    for (size_t i = 0; i < r->events.count; i++) {
        perfdata_event *event = &r->events.list[i];
        if (is_old ? event->config == perfdata_get(r->events.is_big, data, 8) : i == index) event->name = name;
    }
}

/* A text preceded by its size, which includes trailing zeros. */
static uint32_t sized_text(perfdata_reader *r, perfdata_input *in)
{
    size_t size = (size_t)perfdata_take(in, 4);
    const uint8_t *data = hd_byte_reader_take(&in->bytes, size);
    return data ? perfdata_text(r, data, size) : HD_STRING_NONE;
}

static bool name_events(perfdata_reader *r, perfdata_input *in)
{
    uint64_t count = perfdata_take(in, 4), attr_size = perfdata_take(in, 4);
    for (size_t i = 0; i < count && !in->bytes.failed; i++) {
        uint32_t index = (uint32_t)i;
        hd_byte_reader_take(&in->bytes, (size_t)attr_size);
        uint64_t ids = perfdata_take(in, 4);
        uint32_t name = sized_text(r, in);
        if (ids > hd_byte_reader_left(&in->bytes) / 8) return false;
        for (uint64_t n = 0; n < ids; n++) {
            uint64_t id = perfdata_take(in, 8);
            if (n == 0) hd_map_get(&index, &r->events.by_id, id, 0);
        }
        if (!in->bytes.failed && index < r->events.count) r->events.list[index].name = name;
    }
    return !in->bytes.failed;
}

/* ---- build-ids ---- */

static uint32_t hexadecimal(perfdata_reader *r, const uint8_t *data, size_t size)
{
    char text[2 * 24 + 1];
    if (size > 24) size = 24;
    for (size_t i = 0; i < size; i++) snprintf(text + 2 * i, 3, "%02x", data[i]);
    return hd_builder_intern(r->samples.builder, text, 2 * size);
}

/* Header, pid, build-id of 20 bytes or of the size in the byte after them, path. */
void perfdata_add_build_id(perfdata_reader *r, const uint8_t *record, size_t size)
{
    enum { ID = 12, ID_BYTES = 20, ID_SIZE = 32, PATH = 36, HAS_SIZE = 1 << 15 };
    if (size <= PATH) return;
    size_t bytes = perfdata_get(r->events.is_big, record + 4, 2) & HAS_SIZE && record[ID_SIZE] <= ID_BYTES
                       ? record[ID_SIZE]
                       : ID_BYTES;
    uint32_t path = perfdata_text(r, record + PATH, size - PATH), id = hexadecimal(r, record + ID, bytes);
    hd_map_set(&r->build_ids, path, 0, id); /* without memory the reader fails elsewhere, too */
}

static bool add_build_ids(perfdata_reader *r, const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at + PERFDATA_HEAD_BYTES <= size) {
        size_t bytes = (size_t)perfdata_get(r->events.is_big, data + at + 6, 2);
        if (bytes < PERFDATA_HEAD_BYTES || bytes > size - at) return false;
        perfdata_add_build_id(r, data + at, bytes);
        at += bytes;
    }
    return true;
}

/* ---- the machine ---- */

static void put_key(hd_json_out *out, const char *key)
{
    hd_json_put_text(out, out->size ? ", " : "{");
    hd_json_put_string(out, key, strlen(key));
    hd_json_put_text(out, ": ");
}

static void put_texts(perfdata_reader *r, const char *key, perfdata_input *in, uint64_t count)
{
    put_key(&r->about, key);
    r->text.size = 0;
    for (uint64_t i = 0; i < count && !in->bytes.failed; i++) {
        hd_string word = hd_builder_string(r->samples.builder, sized_text(r, in));
        if (i) hd_bytes_put(&r->text, " ", 1);
        hd_bytes_put(&r->text, word.data, word.size);
    }
    hd_json_put_string(&r->about, r->text.size ? (char *)r->text.data : "", r->text.size);
}

enum { LINUX_CLOCK_MONOTONIC = 1 }; /* the number in files of Linux, whatever system reads them */

/* Unix time of the zero of the clock that times are on. */
static bool take_clock(perfdata_reader *r, perfdata_input *in)
{
    perfdata_take(in, 4); /* version */
    uint64_t id = perfdata_take(in, 4);
    uint64_t wall = perfdata_take(in, 8), clock = perfdata_take(in, 8);
    if (id == LINUX_CLOCK_MONOTONIC) {
        put_key(&r->about, "clock");
        hd_json_put_string(&r->about, "monotonic", 9);
    }
    if (!in->bytes.failed && wall <= INT64_MAX && clock <= wall)
        hd_builder_facts(r->samples.builder)->base_ns = (int64_t)(wall - clock);
    return !in->bytes.failed;
}

hd_status perfdata_feature(perfdata_reader *r, uint64_t bit, const uint8_t *data, size_t size, uint64_t offset)
{
    static const char *const texts[] = {"hostname", "release", "version", "architecture"};
    perfdata_input in = {hd_byte_reader_of(data, size), r->events.is_big};
    bool good = true;
    r->place = offset;
    if (bit == FEATURE_BUILD_ID) good = add_build_ids(r, data, size);
    if (bit == FEATURE_EVENTS) good = name_events(r, &in);
    if (bit == FEATURE_CLOCK) good = take_clock(r, &in);
    if (bit >= FEATURE_HOSTNAME && bit < FEATURE_HOSTNAME + 4) put_texts(r, texts[bit - FEATURE_HOSTNAME], &in, 1);
    if (bit == FEATURE_CPU_NAME) put_texts(r, "cpu", &in, 1);
    if (bit == FEATURE_COMMAND) put_texts(r, "command", &in, perfdata_take(&in, 4));
    if (bit == FEATURE_DIRECTORY) HD_TRY(perfdata_count(r, PERFDATA_UNUSED, 1, offset)); /* more files next to it */
    if (r->about.failed || r->text.failed) return HD_NOMEM(r->samples.err);
    return good && !in.bytes.failed ? HD_OK : perfdata_count(r, PERFDATA_HEADER_DAMAGED, 1, offset);
}

void perfdata_put_events(perfdata_reader *r)
{
    put_key(&r->about, "events");
    for (size_t i = 0; i < r->events.count; i++) {
        hd_string name = hd_builder_string(r->samples.builder, r->events.list[i].name);
        hd_json_put_text(&r->about, i ? ", " : "[");
        hd_json_put_string(&r->about, name.data, name.size);
    }
    hd_json_put_text(&r->about, "]");
}
