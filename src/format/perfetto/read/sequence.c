/* sequence.c - packet sequences: data that a writer sends once and refers to later */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/memory/vector.h"
#include "format/perfetto/read/reader.h"

hd_status perfetto_get_sequence(perfetto_sequence **out, perfetto_reader *reader, uint32_t id)
{
    uint32_t index;
    *out = reader->last_sequence;
    if (*out && (*out)->id == id) return HD_OK;
    if (hd_map_get(&index, &reader->sequence_index, id, 0)) {
        *out = reader->last_sequence = reader->sequences[index];
        return HD_OK;
    }
    HD_TRY(perfetto_grow(reader, (void **)&reader->sequences, &reader->sequence_capacity, reader->sequence_count,
                         sizeof *reader->sequences));
    perfetto_sequence *sequence = calloc(1, sizeof *sequence);
    if (!sequence) return HD_NOMEM(reader->err);
    sequence->id = id;
    reader->sequences[reader->sequence_count] = sequence;
    if (!hd_map_set(&reader->sequence_index, id, 0, (uint32_t)reader->sequence_count++)) return HD_NOMEM(reader->err);
    *out = sequence;
    return HD_OK;
}

static void clear_texts(perfetto_sequence *sequence)
{
    for (size_t i = 0; i < PERFETTO_TEXT_KINDS; i++) {
        free(sequence->texts[i].list);
        sequence->texts[i] = (struct perfetto_texts){0};
    }
}

/* Clears the state: interned data is forgotten, counting restarts. */
void perfetto_sequence_reset(perfetto_reader *reader, perfetto_sequence *sequence)
{
    hd_map_deinit(&sequence->interned);
    clear_texts(sequence);
    sequence->valid = true;
    sequence->clears++;
    sequence->generation = ++reader->generation;
    sequence->has_track_uuid = false;
    sequence->clock_id = 0;
    sequence->extra_count = sequence->extra_double_count = 0;
}

void perfetto_sequence_free(perfetto_sequence *sequence)
{
    hd_map_deinit(&sequence->interned);
    clear_texts(sequence);
    free(sequence->extra_tracks);
    free(sequence->extra_double_tracks);
    free(sequence);
}

hd_status perfetto_append_u64(perfetto_reader *reader, uint64_t **list, size_t *count, size_t *capacity, uint64_t value)
{
    HD_TRY(perfetto_grow(reader, (void **)list, capacity, *count, sizeof **list));
    (*list)[(*count)++] = value;
    return HD_OK;
}

/* ---- defaults ---- */

static hd_status read_event_defaults(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    s->has_track_uuid = false;
    s->extra_count = s->extra_double_count = 0;
    while (hd_proto_next(&f, &message)) {
        uint64_t value;
        size_t at = 0;
        switch (hd_proto_number(&f)) {
        case PF_EVENT_DEFAULTS_TRACK_UUID:
            if (f.tag != HD_PROTO_VARINT(PF_EVENT_DEFAULTS_TRACK_UUID)) break;
            s->has_track_uuid = true;
            s->track_uuid = f.value;
            break;
        case PF_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS:
            while (hd_proto_repeated(&value, &f, HD_WIRE_VARINT, &at, &message))
                HD_TRY(perfetto_append_u64(reader, &s->extra_tracks, &s->extra_count, &s->extra_capacity, value));
            break;
        case PF_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS:
            while (hd_proto_repeated(&value, &f, HD_WIRE_VARINT, &at, &message))
                HD_TRY(perfetto_append_u64(reader, &s->extra_double_tracks, &s->extra_double_count,
                                           &s->extra_double_capacity, value));
            break;
        default: break;
        }
    }
    return perfetto_check(reader, &message);
}

hd_status perfetto_read_defaults(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    sequence->clock_id = 0; /* defaults replace those before as a whole */
    sequence->has_track_uuid = false;
    sequence->extra_count = sequence->extra_double_count = 0;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_DEFAULTS_TIMESTAMP_CLOCK_ID)) sequence->clock_id = (uint32_t)f.value;
        if (f.tag == HD_PROTO_BYTES(PF_DEFAULTS_TRACK_EVENT_DEFAULTS))
            HD_TRY(read_event_defaults(reader, sequence, &f));
    }
    return perfetto_check(reader, &message);
}

/* ---- texts ---- */

/* Bytes that are not UTF-8 become U+FFFD. Lone surrogates, as JSON can have them, stay. */
static uint32_t repaired_text(perfetto_reader *reader, const char *data, size_t size)
{
    size_t used = 0;
    if (size > SIZE_MAX / 3 || !hd_reserve(&reader->utf8, &reader->utf8_capacity, size * 3 + 1)) return HD_STRING_NONE;
    for (size_t i = 0; i < size;) {
        size_t step = 1;
        while (step < 4 && i + step < size && ((unsigned char)data[i + step] & 0xc0) == 0x80) step++;
        while (step > 1 && !hd_utf8_valid(data + i, step, true)) step--;
        if (hd_utf8_valid(data + i, step, true)) {
            memcpy(reader->utf8 + used, data + i, step);
            used += step;
        } else {
            memcpy(reader->utf8 + used, "\xef\xbf\xbd", 3);
            used += 3;
        }
        i += step;
    }
    perfetto_note(reader, "perfetto.utf8", HD_LEDGER_REPAIR, 1);
    return hd_builder_intern(reader->builder, reader->utf8, used);
}

uint32_t perfetto_text(perfetto_reader *reader, const hd_proto_field *field)
{
    const char *data = (const char *)field->data;
    if (hd_utf8_valid(data, field->size, true)) return hd_builder_intern(reader->builder, data, field->size);
    return repaired_text(reader, data, field->size);
}

/* ---- interned data ---- */

hd_status perfetto_add_record(perfetto_reader *reader, uint32_t *out, perfetto_record record)
{
    HD_TRY(perfetto_grow(reader, (void **)&reader->records, &reader->record_capacity, reader->record_count,
                         sizeof record));
    if (reader->record_count >= UINT32_MAX - 1) return HD_NOMEM(reader->err);
    *out = (uint32_t)reader->record_count;
    reader->records[reader->record_count++] = record;
    return HD_OK;
}

/* The table of a field of InternedData; PERFETTO_TEXT_KINDS: it has none. */
static inline size_t table_of(uint32_t kind)
{
    switch (kind) {
    case PF_INTERNED_EVENT_CATEGORIES: return 0;
    case PF_INTERNED_EVENT_NAMES: return 1;
    case PF_INTERNED_DEBUG_ANNOTATION_NAMES: return 2;
    case PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES: return 3;
    default: return PERFETTO_TEXT_KINDS;
    }
}

/* A table grows with the number of its texts: iids far beyond that go to the map. */
static hd_status set_text(perfetto_reader *reader, perfetto_sequence *s, uint32_t kind, uint64_t iid, uint32_t text)
{
    size_t table = table_of(kind);
    struct perfetto_texts *texts = table < PERFETTO_TEXT_KINDS ? &s->texts[table] : NULL;
    if (!texts || (iid >= texts->count && iid > texts->used * 4 + 64))
        return hd_map_set(&s->interned, kind, iid, text) ? HD_OK : HD_NOMEM(reader->err);
    if (iid >= texts->count) {
        size_t count = (size_t)iid * 2 + 16;
        uint32_t *list = realloc(texts->list, count * sizeof *list);
        if (!list) return HD_NOMEM(reader->err);
        memset(list + texts->count, 0, (count - texts->count) * sizeof *list);
        texts->list = list;
        texts->count = count;
    }
    texts->used += texts->list[iid] == 0;
    texts->list[iid] = text + 1;
    return HD_OK;
}

static hd_status read_text_entry(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *entry)
{
    hd_proto_reader message = hd_proto_reader_of(entry->data, entry->size);
    hd_proto_field f;
    uint64_t iid = 0;
    uint32_t text = HD_STRING_NONE;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_ENTRY_IID)) iid = f.value;
        if (f.tag == HD_PROTO_BYTES(PF_ENTRY_TEXT)) text = perfetto_text(reader, &f);
    }
    HD_TRY(perfetto_check(reader, &message));
    if (text == HD_STRING_NONE) text = hd_builder_intern(reader->builder, "", 0);
    return set_text(reader, s, hd_proto_number(entry), iid, text);
}

/* Entries with more fields: texts from field 2 on, at most three, and a number. */
static hd_status read_record_entry(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *entry,
                                   uint32_t number_field)
{
    hd_proto_reader message = hd_proto_reader_of(entry->data, entry->size);
    hd_proto_field f;
    uint64_t iid = 0;
    perfetto_record record = {.number = 0};
    while (hd_proto_next(&f, &message)) {
        uint32_t number = hd_proto_number(&f);
        if (f.tag == HD_PROTO_VARINT(PF_ENTRY_IID))
            iid = f.value;
        else if (f.tag == HD_PROTO_VARINT(number_field))
            record.number = (int64_t)f.value;
        else if ((f.tag & 7) == HD_WIRE_BYTES && number >= 2 && number <= 4)
            record.text[number - 2] = perfetto_text(reader, &f);
    }
    HD_TRY(perfetto_check(reader, &message));
    uint32_t index = 0;
    HD_TRY(perfetto_add_record(reader, &index, record));
    return hd_map_set(&s->interned, hd_proto_number(entry), iid, index) ? HD_OK : HD_NOMEM(reader->err);
}

/* Counter specs of the sequence are stored under the iid of their descriptor with the highest bit set. */
static hd_status read_counter_entry(perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *entry)
{
    hd_proto_reader message = hd_proto_reader_of(entry->data, entry->size);
    hd_proto_field f, descriptor = {.data = entry->data};
    uint64_t iid = 0;
    perfetto_record record = {.number = HD_NO_NUMBER};
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_COUNTER_SPEC_INTERNED_IID)) iid = f.value;
        if (f.tag == HD_PROTO_VARINT(PF_COUNTER_SPEC_INTERNED_GPU_ID)) record.number = (int32_t)f.value;
        if (f.tag == HD_PROTO_BYTES(PF_COUNTER_SPEC_INTERNED_DESCRIPTOR)) descriptor = f;
    }
    HD_TRY(perfetto_check(reader, &message));
    uint32_t index = 0;
    HD_TRY(perfetto_add_record(reader, &index, record));
    if (!hd_map_set(&s->interned, PF_INTERNED_GPU_COUNTER_DESCRIPTORS, iid, index)) return HD_NOMEM(reader->err);
    return perfetto_read_counter_specs(reader, &s->interned, iid | UINT64_C(1) << 63, &descriptor);
}

hd_status perfetto_read_interned(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    bool has_stacks = false;
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_BYTES(PF_INTERNED_EVENT_CATEGORIES):
        case HD_PROTO_BYTES(PF_INTERNED_EVENT_NAMES):
        case HD_PROTO_BYTES(PF_INTERNED_DEBUG_ANNOTATION_NAMES):
        case HD_PROTO_BYTES(PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES):
        case HD_PROTO_BYTES(PF_INTERNED_LOG_MESSAGE_BODY):
        case HD_PROTO_BYTES(PF_INTERNED_CORRELATION_ID_STR):
        case HD_PROTO_BYTES(PF_INTERNED_FUNCTION_NAMES):
        case HD_PROTO_BYTES(PF_INTERNED_MAPPING_PATHS):
        case HD_PROTO_BYTES(PF_INTERNED_COMPUTE_ARG_NAMES): HD_TRY(read_text_entry(reader, sequence, &f)); break;
        case HD_PROTO_BYTES(PF_INTERNED_SOURCE_LOCATIONS):
            HD_TRY(read_record_entry(reader, sequence, &f, PF_LOCATION_LINE_NUMBER));
            break;
        case HD_PROTO_BYTES(PF_INTERNED_GPU_SPECIFICATIONS):
            HD_TRY(read_record_entry(reader, sequence, &f, PF_SPECIFICATION_CATEGORY));
            break;
        case HD_PROTO_BYTES(PF_INTERNED_GRAPHICS_CONTEXTS):
            HD_TRY(read_record_entry(reader, sequence, &f, PF_CONTEXT_PID));
            break;
        case HD_PROTO_BYTES(PF_INTERNED_COMPUTE_KERNELS):
            HD_TRY(read_record_entry(reader, sequence, &f, UINT32_MAX >> 3));
            break;
        case HD_PROTO_BYTES(PF_INTERNED_GPU_COUNTER_DESCRIPTORS):
            HD_TRY(read_counter_entry(reader, sequence, &f));
            break;
        case HD_PROTO_BYTES(PF_INTERNED_MAPPINGS):
        case HD_PROTO_BYTES(PF_INTERNED_FRAMES):
        case HD_PROTO_BYTES(PF_INTERNED_CALLSTACKS): has_stacks = true; break;
        default: break; /* of packets that are counted themselves */
        }
    }
    HD_TRY(perfetto_check(reader, &message));
    return has_stacks ? perfetto_read_stacks(reader, sequence, field) : HD_OK;
}

uint32_t perfetto_interned_text(perfetto_reader *reader, const perfetto_sequence *sequence, uint32_t kind, uint64_t iid)
{
    uint32_t value;
    size_t table = table_of(kind);
    if (table < PERFETTO_TEXT_KINDS && iid < sequence->texts[table].count && sequence->texts[table].list[iid])
        return sequence->texts[table].list[iid] - 1;
    if (hd_map_get(&value, &sequence->interned, kind, iid)) return value;
    perfetto_note(reader, "perfetto.iid-unknown", HD_LEDGER_LOSS, 1);
    return HD_STRING_NONE;
}

const perfetto_record *perfetto_interned_record(perfetto_reader *reader, const perfetto_sequence *sequence,
                                                uint32_t kind, uint64_t iid)
{
    uint32_t value;
    if (hd_map_get(&value, &sequence->interned, kind, iid)) return &reader->records[value];
    perfetto_note(reader, "perfetto.iid-unknown", HD_LEDGER_LOSS, 1);
    return NULL;
}
