/* write.c - trace -> SBT
 *
 * The header has the offset of the string table and the number of events, and an output is written sequentially: so the
 * events are walked twice, first to count.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/heap.h"
#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/sbt/write.h"
#include "trace/lazy.h"
#include "trace/text.h"

enum { FLUSH_BYTES = 1 << 20, PROGRESS_EVENTS = 1 << 16 };

/* A complete that waits for its place. */
typedef struct waiting {
    uint64_t number;
    sbt_record record;
} waiting;

typedef struct pass {
    sbt_writer *writer;
    hd_output *output; /* NULL: only count */
    const hd_write_options *options;
    hd_error *err;
    hd_bytes out;
    uint64_t bytes, records, time, base_time;
    waiting *heap; /* the least number first */
    size_t heap_count, heap_capacity;
    size_t blocks[HD_KIND_COUNT];
    uint32_t rows[HD_KIND_COUNT];
} pass;

static hd_status flush(pass *p, size_t limit)
{
    if (p->out.failed || p->writer->frames.failed || p->writer->padded.failed) return HD_NOMEM(p->err);
    if (p->out.size < limit) return HD_OK;
    p->bytes += p->out.size;
    if (p->output) HD_TRY(hd_output_write(p->output, p->out.data, p->out.size, p->err));
    p->out.size = 0;
    return HD_OK;
}

/* ---- completes ---- */

static hd_status push(pass *p, uint64_t number, const sbt_record *record)
{
    if (!hd_grow((void **)&p->heap, &p->heap_capacity, p->heap_count, sizeof *p->heap)) return HD_NOMEM(p->err);
    HD_HEAP_PUSH(p->heap, p->heap_count, ((waiting){number, *record}), x, y, x->number < y->number);
    return HD_OK;
}

static waiting pop(pass *p)
{
    waiting first = p->heap[0];
    HD_HEAP_POP(p->heap, p->heap_count, x, y, x->number < y->number);
    return first;
}

/* ---- records ---- */

static void put_record(pass *p, const sbt_record *record)
{
    if (p->records == 0) {
        p->base_time = p->time = record->time;
        hd_bytes_put_varint(&p->out, p->base_time);
    }
    sbt_record_write(&p->out, record, p->time);
    p->time = record->time;
    p->records++;
}

/* Writes the completes that are due. */
static void put_waiting(pass *p)
{
    while (p->heap_count && p->heap[0].number <= p->records) {
        waiting next = pop(p);
        put_record(p, &next.record);
    }
}

static hd_status put_event(pass *p, const hd_event *event)
{
    sbt_event e;
    put_waiting(p);
    if (!sbt_writer_convert(&e, p->writer, event)) return HD_OK;
    uint64_t place;
    put_record(p, &e.record);
    hd_bytes_put(&p->out, p->writer->frames.data, p->writer->frames.size);
    if (!e.has_complete) return HD_OK;
    if (__builtin_add_overflow(p->records, e.between, &place)) place = UINT64_MAX;
    return push(p, place, &e.complete);
}

static hd_status put_next_of(pass *p, hd_kind kind)
{
    const hd_trace *trace = p->writer->trace;
    const hd_block *block = hd_trace_block_at(trace, kind, p->blocks[kind]);
    while (p->rows[kind] == block->row_count) {
        p->rows[kind] = 0;
        hd_trace_release(trace, block);
        block = hd_trace_block_at(trace, kind, ++p->blocks[kind]);
    }
    hd_event event;
    hd_block_event(&event, block, p->rows[kind]++);
    HD_TRY(put_event(p, &event));
    return flush(p, FLUSH_BYTES);
}

static hd_status put_events(pass *p)
{
    const hd_trace *trace = p->writer->trace;
    uint64_t seen = 0, total = hd_trace_event_count(trace);
    for (size_t run = 0; run < hd_trace_order_count(trace); run++) {
        size_t count;
        const uint8_t *order = hd_trace_order_at(&count, trace, run);
        for (size_t i = 0; i < count; i++) {
            HD_TRY(put_next_of(p, (hd_kind)order[i]));
            if (p->output && p->options->progress && ++seen % PROGRESS_EVENTS == 0)
                p->options->progress(p->options->progress_user, seen, total);
        }
    }
    while (p->heap_count) {
        waiting next = pop(p);
        put_record(p, &next.record);
    }
    return flush(p, 0);
}

static void pass_deinit(pass *p)
{
    hd_bytes_deinit(&p->out);
    free(p->heap);
}

/* ---- metadata and devices ---- */

/* JSON text of a top-level key with padding; NULL: the trace has none, or no memory. */
static char *metadata_text(const hd_trace *trace, const char *key)
{
    hd_string value = hd_trace_metadata_find(trace, key);
    char *text = value.size ? calloc(1, value.size + HD_JSON_PADDING) : NULL;
    if (text) memcpy(text, value.data, value.size);
    return text;
}

static void put_number_member(hd_bytes *out, const char *object, const char *key)
{
    const char *value;
    size_t size;
    hd_json_number number = {0};
    bool found = hd_json_find(&value, &size, object, key) && hd_json_scan_number(&number, value) && number.exact;
    hd_bytes_put_varint(out, found && !number.negative && !number.scale ? number.mantissa : 0);
}

static void put_text_member(hd_bytes *out, const char *object, const char *key)
{
    const char *value;
    size_t size = 0;
    hd_json_text text;
    char *decoded = NULL;
    if (hd_json_find(&value, &size, object, key) && *value == '"' && hd_json_string(&text, value + 1))
        decoded = malloc(text.size + 1);
    if (!decoded || !hd_json_decode(decoded, &size, &text)) size = 0;
    hd_bytes_put_varint(out, size);
    hd_bytes_put(out, decoded, size);
    free(decoded);
}

static void put_metadata(hd_bytes *out, const char *object)
{
    hd_bytes_put_u8(out, SBT_METADATA);
    for (size_t i = 0; i < 6; i++) {
        if (i < 2 || i == 4)
            put_text_member(out, object, sbt_file_members[i]);
        else
            put_number_member(out, object, sbt_file_members[i]);
    }
}

static void put_devices(hd_bytes *out, const char *array)
{
    hd_bytes devices = {0};
    uint64_t count = 0;
    const char *p = hd_json_skip_space(array);
    if (*p == '[') p = hd_json_skip_space(p + 1);
    while (*p == '{') {
        const char *end = hd_json_skip_value(p);
        if (!end) break;
        for (size_t i = 0; i < SBT_DEVICE_MEMBERS; i++) {
            if (sbt_device_member_is_text(i))
                put_text_member(&devices, p, sbt_device_members[i]);
            else
                put_number_member(&devices, p, sbt_device_members[i]);
        }
        count++;
        p = hd_json_skip_space(end);
        if (*p == ',') p = hd_json_skip_space(p + 1);
    }
    hd_bytes_put_u8(out, SBT_DEVICES);
    hd_bytes_put_varint(out, count);
    hd_bytes_put(out, devices.data, devices.size);
    out->failed |= devices.failed;
    hd_bytes_deinit(&devices);
}

/* ---- the file ---- */

static void put_strings(hd_bytes *out, hd_strings *names)
{
    uint32_t count = atomic_load(&names->count);
    hd_bytes_put_u8(out, SBT_STRINGS);
    hd_bytes_put_varint(out, count - 1);
    for (uint32_t id = 1; id < count; id++) {
        hd_string s = hd_strings_at(names, id);
        hd_bytes_put_varint(out, s.size);
        hd_bytes_put(out, s.data, s.size);
    }
    hd_bytes_put_u8(out, SBT_END);
}

/* The header, metadata and devices; *out ends where the events begin. */
static void put_front(hd_bytes *out, sbt_writer *w, uint64_t event_bytes, uint64_t event_count)
{
    char *metadata = metadata_text(w->trace, SBT_META_FILE), *devices = metadata_text(w->trace, SBT_META_DEVICES);
    hd_bytes sections = {0};
    uint64_t metadata_at = metadata ? SBT_HEADER_BYTES : 0, devices_at = 0;
    if (metadata) put_metadata(&sections, metadata);
    if (devices) {
        devices_at = SBT_HEADER_BYTES + sections.size;
        put_devices(&sections, devices);
    }
    uint64_t events_at = SBT_HEADER_BYTES + sections.size, strings_at = events_at + (event_count ? 1 + event_bytes : 0);
    bool has_strings = atomic_load(&w->names.count) > 1;
    hd_bytes_put(out, "SBT", 4);
    hd_bytes_put_le(out, 0, 2);
    hd_bytes_put_le(out, 1, 2);
    hd_bytes_put_le(out, SBT_LITTLE_ENDIAN | (has_strings ? SBT_HAS_STRINGS : 0), 4);
    hd_bytes_put_le(out, SBT_HEADER_BYTES, 4);
    hd_bytes_put_le(out, metadata_at, 8);
    hd_bytes_put_le(out, strings_at, 8);
    hd_bytes_put_le(out, devices_at, 8);
    hd_bytes_put_le(out, event_count ? events_at : 0, 8);
    hd_bytes_put_le(out, 0, 8);
    hd_bytes_put_le(out, event_count, 8);
    hd_bytes_put_le(out, 0, 8);
    hd_bytes_put(out, sections.data, sections.size);
    out->failed |= sections.failed;
    if (event_count) hd_bytes_put_u8(out, SBT_EVENTS);
    hd_bytes_deinit(&sections);
    free(metadata);
    free(devices);
}

static void tell_losses(const sbt_writer *w, const hd_write_options *options)
{
    static const char *const dropped[HD_KIND_COUNT] = {
        [HD_KIND_COUNTER] = "sbt.counter-dropped", [HD_KIND_FLOW] = "sbt.flow-dropped",
        [HD_KIND_ASYNC] = "sbt.async-dropped",     [HD_KIND_SAMPLE] = "sbt.sample-dropped",
        [HD_KIND_OBJECT] = "sbt.object-dropped",   [HD_KIND_META] = "sbt.metadata-event-dropped",
        [HD_KIND_OTHER] = "sbt.event-dropped",
    };
    const sbt_losses *l = &w->losses;
    uint64_t named = 0, keys = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        if (dropped[kind]) hd_write_lost_events(options, SBT_STAGE, dropped[kind], l->kinds[kind]);
    }
    for (uint32_t i = 0; i < hd_trace_track_count(w->trace); i++) {
        const hd_track *track = hd_trace_track_at(w->trace, i);
        named += track->name && track->kind != HD_TRACK_STREAM;
    }
    for (size_t i = 0; i < hd_trace_metadata_count(w->trace); i++) {
        hd_string key = hd_trace_string(w->trace, hd_trace_metadata_at(w->trace, i)->key);
        keys += !hd_string_is(key, SBT_META_FILE) && !hd_string_is(key, SBT_META_DEVICES);
    }
    hd_write_lost_events(options, SBT_STAGE, "sbt.event-without-time", l->no_time);
    hd_write_note(options, SBT_STAGE, "sbt.argument-dropped", HD_LEDGER_LOSS, l->args);
    hd_write_note(options, SBT_STAGE, "sbt.category-dropped", HD_LEDGER_LOSS, l->categories);
    hd_write_note(options, SBT_STAGE, "sbt.thread-dropped", HD_LEDGER_LOSS, l->threads);
    hd_write_note(options, SBT_STAGE, "sbt.track-name-dropped", HD_LEDGER_LOSS, named);
    hd_write_note(options, SBT_STAGE, "sbt.metadata-dropped", HD_LEDGER_LOSS, keys);
    hd_write_note(options, SBT_STAGE, "sbt.time-cut-to-ns", HD_LEDGER_REPAIR, l->picoseconds);
}

static hd_status write_file(sbt_writer *w, hd_output *output, const hd_write_options *options, hd_error *err)
{
    pass count = {.writer = w, .options = options, .err = err};
    hd_status status = put_events(&count);
    pass_deinit(&count);
    HD_TRY(status);
    if (atomic_load(&w->names.failed)) return HD_NOMEM(err);
    w->losses = (sbt_losses){0}; /* the second pass meets all of them again */
    pass p = {.writer = w, .output = output, .options = options, .err = err};
    put_front(&p.out, w, count.bytes, count.records);
    status = flush(&p, 0);
    if (status == HD_OK) status = put_events(&p);
    if (status == HD_OK) {
        put_strings(&p.out, &w->names);
        status = flush(&p, 0);
    }
    pass_deinit(&p);
    if (status == HD_OK) tell_losses(w, options);
    return status;
}

hd_status sbt_write(const hd_trace *trace, hd_output *output, const hd_write_options *options, hd_error *err)
{
    sbt_writer writer;
    hd_status status = sbt_writer_init(&writer, trace, err);
    if (status == HD_OK) status = write_file(&writer, output, options, err);
    sbt_writer_deinit(&writer);
    return status;
}
