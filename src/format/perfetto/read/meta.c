/* meta.c - top-level keys of a Chrome trace, which a bundle of Chrome events carries, and facts of the trace
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "format/conventions.h"
#include "format/perfetto/read/reader.h"

enum { JSON_DEPTH = 512 };

/* reader->json is the value as JSON text. */
static hd_status put_value(perfetto_reader *reader, const hd_proto_field *f)
{
    const char *data = (const char *)f->data;
    reader->json.size = 0;
    switch (f->tag) {
    case HD_PROTO_VARINT(PF_METADATA_BOOL_VALUE):
        hd_json_put_text(&reader->json, f->value ? "true" : "false");
        return HD_OK;
    case HD_PROTO_VARINT(PF_METADATA_INT_VALUE): hd_json_put_int(&reader->json, (int64_t)f->value); return HD_OK;
    case HD_PROTO_BYTES(PF_METADATA_JSON_VALUE):
        if (hd_json_valid(data, f->size, JSON_DEPTH)) {
            hd_json_put(&reader->json, data, f->size);
            return HD_OK;
        }
        perfetto_note(reader, "perfetto.bad-json", HD_LEDGER_REPAIR, 1);
        break;
    default: break;
    }
    hd_string text = hd_builder_string(reader->builder, perfetto_text(reader, f));
    hd_json_put_string(&reader->json, text.data, text.size);
    return HD_OK;
}

static hd_status read_entry(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f, value = {0};
    uint32_t name = HD_STRING_NONE;
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_BYTES(PF_METADATA_NAME): name = perfetto_text(reader, &f); break;
        case HD_PROTO_BYTES(PF_METADATA_STRING_VALUE):
        case HD_PROTO_VARINT(PF_METADATA_BOOL_VALUE):
        case HD_PROTO_VARINT(PF_METADATA_INT_VALUE):
        case HD_PROTO_BYTES(PF_METADATA_JSON_VALUE): value = f; break;
        default: perfetto_note(reader, "perfetto.unknown-field", HD_LEDGER_LOSS, 1); break;
        }
    }
    HD_TRY(perfetto_check(reader, &message));
    hd_string key = hd_builder_string(reader->builder, name);
    bool is_events = key.size == 11 && memcmp(key.data, "traceEvents", 11) == 0;
    if (name == HD_STRING_NONE || value.tag == 0 || is_events) { /* a document has its events once */
        perfetto_note(reader, "perfetto.metadata-unusable", HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    HD_TRY(put_value(reader, &value));
    if (reader->json.failed) return HD_NOMEM(reader->err);
    uint32_t text = hd_builder_intern(reader->builder, reader->json.data, reader->json.size);
    if (text == HD_STRING_NONE) return HD_NOMEM(reader->err);
    hd_builder_metadata(reader->builder, name, text, false);
    return HD_OK;
}

hd_status perfetto_read_chrome_events(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    bool has_others = false;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(PF_CHROME_EVENTS_METADATA))
            HD_TRY(read_entry(reader, &f));
        else
            has_others = true;
    }
    if (has_others) perfetto_note(reader, "perfetto.packet-chrome-events", HD_LEDGER_LOSS, 1);
    return perfetto_check(reader, &message);
}

/* Tracks whose kind does not depend on their slices. */
static hd_status find_streams(perfetto_reader *reader)
{
    uint8_t *told = calloc((size_t)hd_trace_track_count(hd_builder_trace(reader->builder)) + 1, 1);
    if (!told) return HD_NOMEM(reader->err);
    for (size_t i = 0; i < reader->track_count; i++) {
        const perfetto_track *t = &reader->tracks[i];
        const pf_told of = perfetto_told_of(reader, t);
        uint32_t thread, track = t->track;
        if (t->is_thread && hd_map_get(&thread, &reader->thread_index, (uint64_t)t->pid, (uint64_t)t->tid))
            track = reader->threads[thread].track;
        if (track != HD_NONE && (of.is_thread || of.is_stream)) told[track] = true;
    }
    hd_status status = hd_conventions_find_streams(reader->builder, told, reader->err);
    free(told);
    return status;
}

/* Facts from top-level keys; of the two base times, that of the clocks is right: the file's writer may have moved all
 * times.
 */
hd_status perfetto_find_facts(perfetto_reader *reader)
{
    hd_trace_facts *facts = hd_builder_facts(reader->builder);
    if (reader->want_args) HD_TRY(find_streams(reader));
    HD_TRY(hd_conventions_find_facts(reader->builder, reader->err));
    int64_t said_ns = facts->base_ns;
    perfetto_find_base(reader);
    if (facts->base_ns == HD_NO_TIME)
        facts->base_ns = said_ns;
    else if (said_ns != HD_NO_TIME && said_ns != facts->base_ns)
        perfetto_note(reader, "perfetto.base-time-differs", HD_LEDGER_NOTE, 1);
    return HD_OK;
}
