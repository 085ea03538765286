/* otlp.c - profiles of OpenTelemetry -> stack samples
 *
 * Format   ProfilesData, or an ExportProfilesServiceRequest, which has the same fields, of
 *          opentelemetry/proto/profiles/v1development (profiles.proto since 1.9), also in gzip
 * Sniffs   the messages down to a Profile by their fields
 * Maps     sample -> one sample per value or time, named by the profile's sample type; stack -> frames; attributes ->
 *          arguments; process and thread -> its track. docs/formats/otlp.md has the mapping
 * Units    values unchanged, times ns        Shapes   a sample of n values or times -> n rows
 * Limits   HD_STACK_MORE attributes a sample
 * Damage   complete parts of an incomplete message are read; missing references are [unknown]
 *
 * The message is walked twice, since the dictionary may come after the profiles.
 */
#include "format/otlp/otlp.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"

enum { DATA_RESOURCE = 1, DATA_DICTIONARY = 2 };

static const hd_stack_code codes[] = {
    [OTLP_TRUNCATED] = {"otlp.truncated", HD_LEDGER_LOSS, NULL},
    [OTLP_DAMAGED] = {"otlp.message-damaged", HD_LEDGER_LOSS, NULL},
    [OTLP_UNKNOWN] = {"otlp.unknown-field", HD_LEDGER_LOSS, NULL},
    [OTLP_MISSING] = {"otlp.reference-missing", HD_LEDGER_LOSS, NULL},
    [OTLP_VALUE_COUNT] = {"otlp.value-count", HD_LEDGER_LOSS, NULL},
    [OTLP_TIME] = {"otlp.time-missing", HD_LEDGER_LOSS, NULL},
    [OTLP_ATTRIBUTE] = {"otlp.attribute-lost", HD_LEDGER_LOSS, NULL},
    [OTLP_STACK_CUT] = {"otlp.stack-cut", HD_LEDGER_LOSS, NULL},
    [OTLP_UTF8] = {"otlp.utf8", HD_LEDGER_REPAIR, NULL},
};

/* ---- damage, entries, texts ---- */

hd_status otlp_count(otlp_reader *r, otlp_code code, uint64_t count, const void *place)
{
    const uint8_t *at = place;
    const bool is_inside = at >= r->data && at <= r->data + r->size;
    const hd_line line = {.offset = is_inside ? (uint64_t)(at - r->data) : HD_OFFSET_NONE};
    return hd_stack_samples_count(&r->samples, code, count, &line);
}

hd_status otlp_check(otlp_reader *r, const hd_proto_reader *message, const hd_proto_head *head)
{
    HD_TRY(otlp_count(r, OTLP_UNKNOWN, head->unknown, message->data));
    if (!message->failed) return HD_OK;
    const bool by_cut = r->is_cut && message->data + message->size == r->data + r->size;
    return by_cut ? HD_OK : otlp_count(r, OTLP_DAMAGED, 1, message->data + message->at);
}

bool otlp_entry(hd_proto_reader *out, otlp_reader *r, otlp_table table, uint64_t index, hd_status *status)
{
    const otlp_list *list = &r->tables[table];
    *status = HD_OK;
    if (index < list->count) {
        *out = hd_proto_reader_of(list->at[index].data, list->at[index].size);
        return true;
    }
    *status = otlp_count(r, OTLP_MISSING, 1, NULL);
    return false;
}

hd_string otlp_string(const otlp_reader *r, uint64_t index)
{
    const otlp_list *strings = &r->tables[OTLP_STRINGS];
    if (index >= strings->count) return (hd_string){"", 0};
    return (hd_string){(const char *)strings->at[index].data, strings->at[index].size};
}

hd_status otlp_intern(uint32_t *out, otlp_reader *r, hd_string text)
{
    size_t repaired;
    const char *place = text.data;
    hd_string fine = hd_stack_samples_utf8(&r->samples, &repaired, text);
    *out = hd_builder_intern(r->builder, fine.data, fine.size);
    if (*out == HD_STRING_NONE && fine.size) return HD_NOMEM(r->err);
    return otlp_count(r, OTLP_UTF8, repaired, place);
}

/* ---- the dictionary ---- */

static hd_status add_entry(void *user, const hd_proto_field *field)
{
    otlp_reader *r = user;
    otlp_list *list = &r->tables[hd_proto_number(field)];
    if (field->value && hd_proto_number(field) == OTLP_STRINGS) return HD_OK; /* cut off it would be another text */
    if (list->count >= UINT32_MAX - 1 || !hd_grow((void **)&list->at, &list->capacity, list->count, sizeof *list->at))
        return HD_NOMEM(r->err);
    list->at[list->count++] = (hd_proto_span){field->data, field->size};
    return HD_OK;
}

static hd_status read_dictionary(void *user, const hd_proto_field *field)
{
    static const hd_proto_member members[] = {
        [HD_PROTO_BYTES(OTLP_MAPPINGS)] = {HD_PUT_EACH, 0},  [HD_PROTO_BYTES(OTLP_LOCATIONS)] = {HD_PUT_EACH, 0},
        [HD_PROTO_BYTES(OTLP_FUNCTIONS)] = {HD_PUT_EACH, 0}, [HD_PROTO_BYTES(OTLP_LINKS)] = {HD_PUT_EACH, 0},
        [HD_PROTO_BYTES(OTLP_STRINGS)] = {HD_PUT_EACH, 0},   [HD_PROTO_BYTES(OTLP_ATTRIBUTES)] = {HD_PUT_EACH, 0},
        [HD_PROTO_BYTES(OTLP_STACKS)] = {HD_PUT_EACH, 0},
    };
    static const hd_proto_schema schema = {members, HD_PROTO_COUNT(members)};
    otlp_reader *r = user;
    hd_proto_head head = {0};
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    if (hd_proto_number(field) != DATA_DICTIONARY) return HD_OK;
    HD_TRY(hd_proto_walk(&head, &message, &schema, add_entry, r));
    return otlp_check(r, &message, &head);
}

/* ---- samples ---- */

typedef struct profile {
    otlp_reader *r;
    uint32_t type, unit;
    const otlp_thread *process;
    uint64_t *values, *times;
    size_t value_count, value_capacity, time_count, time_capacity;
} profile;

/* Appends the numbers of a field, packed or not. */
static bool take_numbers(uint64_t **list, size_t *count, size_t *capacity, const hd_proto_field *field,
                         hd_proto_wire wire, hd_proto_reader *message)
{
    uint64_t value;
    for (size_t at = 0; hd_proto_repeated(&value, field, wire, &at, message);) {
        if (!hd_grow((void **)list, capacity, *count, sizeof **list)) return false;
        (*list)[(*count)++] = value;
    }
    return true;
}

/* The ids of a trace and a span. */
static hd_status add_link(otlp_reader *r, uint64_t index)
{
    static const char *const names[] = {NULL, "trace_id", "span_id"};
    hd_proto_reader message;
    hd_proto_field f;
    hd_status status;
    if (index == 0 || !otlp_entry(&message, r, OTLP_LINKS, index, &status)) return index ? status : HD_OK;
    while (hd_proto_next(&f, &message)) {
        char hex[2 * 32 + 1];
        if ((f.tag != HD_PROTO_BYTES(1) && f.tag != HD_PROTO_BYTES(2)) || f.size > 32) continue;
        for (size_t i = 0; i < f.size; i++) snprintf(hex + 2 * i, 3, "%02x", f.data[i]);
        uint32_t value;
        HD_TRY(otlp_intern(&value, r, (hd_string){hex, 2 * f.size}));
        HD_TRY(
            otlp_add_argument(r, hd_builder_intern_text(r->builder, names[hd_proto_number(&f)]), HD_ARG_STRING, value));
    }
    return otlp_check(r, &message, &(hd_proto_head){0});
}

/* The thread that the attributes name; HD_NONE: none. */
static uint32_t track_of(otlp_reader *r)
{
    const otlp_thread *t = &r->thread;
    uint64_t hash;
    bool changed;
    if (t->pid == HD_NO_NUMBER && t->tid == HD_NO_NUMBER && !t->name.size) return HD_NONE;
    r->text.size = 0;
    hd_bytes_put_le(&r->text, (uint64_t)t->pid, 8);
    hd_bytes_put_le(&r->text, (uint64_t)t->tid, 8);
    hd_bytes_put(&r->text, t->name.data, t->name.size);
    const hd_string key = {(char *)r->text.data, r->text.size};
    if (r->text.failed) return HD_NONE;
    uint32_t track = hd_stack_samples_known(&r->samples, &hash, &changed, key);
    if (track != HD_NONE) return track;
    const hd_stack_thread thread = {.comm = t->name,
                                    .has_pid = t->pid != HD_NO_NUMBER,
                                    .has_tid = t->tid != HD_NO_NUMBER,
                                    .pid = t->pid,
                                    .tid = t->tid};
    return hd_stack_samples_thread(&r->samples, hash, &changed, key, &thread);
}

/* A row for each value or time; a time without a value counts 1. */
static hd_status add_rows(profile *p, uint32_t node, const void *place)
{
    otlp_reader *r = p->r;
    const size_t most = p->value_count > p->time_count ? p->value_count : p->time_count;
    const bool fits = !p->value_count || !p->time_count || p->value_count == p->time_count;
    if (!fits || !most) HD_TRY(otlp_count(r, OTLP_VALUE_COUNT, 1, place));
    const uint32_t track = track_of(r);
    for (size_t i = 0; i < most; i++) {
        const bool has_time = i < p->time_count && p->times[i] <= INT64_MAX;
        if (i < p->time_count && !has_time) HD_TRY(otlp_count(r, OTLP_TIME, 1, place));
        const hd_stack_sample sample = {.track = track,
                                        .name = p->type,
                                        .category = p->unit,
                                        .node = node,
                                        .time_ns = has_time ? (int64_t)p->times[i] : HD_NO_TIME,
                                        .weight_type = HD_ARG_INT,
                                        .weight = i < p->value_count ? (int64_t)p->values[i] : 1,
                                        .more = r->keys,
                                        .more_values = r->values,
                                        .more_count = r->count};
        HD_TRY(hd_stack_samples_add(&r->samples, &sample));
    }
    return HD_OK;
}

static hd_status read_sample(void *user, const hd_proto_field *field)
{
    profile *p = user;
    otlp_reader *r = p->r;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_head head = {0};
    hd_proto_field f;
    uint64_t stack = 0, link = 0, index;
    uint32_t node;
    bool fine = true;
    if (hd_proto_number(field) != 2) return HD_OK;
    r->count = 0;
    r->thread = *p->process;
    p->value_count = p->time_count = 0;
    while (fine && hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(1): stack = f.value; break;
        case HD_PROTO_VARINT(2):
        case HD_PROTO_BYTES(2):
            for (size_t at = 0; hd_proto_repeated(&index, &f, HD_WIRE_VARINT, &at, &message);)
                HD_TRY(otlp_add_attribute(r, index));
            break;
        case HD_PROTO_VARINT(3): link = f.value; break;
        case HD_PROTO_VARINT(4):
        case HD_PROTO_BYTES(4):
            fine = take_numbers(&p->values, &p->value_count, &p->value_capacity, &f, HD_WIRE_VARINT, &message);
            break;
        case HD_PROTO_FIXED64(5):
        case HD_PROTO_BYTES(5):
            fine = take_numbers(&p->times, &p->time_count, &p->time_capacity, &f, HD_WIRE_FIXED64, &message);
            break;
        default: head.unknown++; break;
        }
    }
    if (!fine) return HD_NOMEM(r->err);
    HD_TRY(otlp_check(r, &message, &head));
    if (field->value && !p->value_count && !p->time_count) return HD_OK; /* cut off before them, which is reported */
    HD_TRY(add_link(r, link));
    HD_TRY(otlp_node_of(&node, r, stack));
    return add_rows(p, node, field->data);
}

/* ---- profiles ---- */

typedef struct profile_message {
    hd_proto_head head;
    uint64_t time, duration, period, dropped;
    hd_proto_span type, period_type, id, payload_format;
} profile_message;

#define PROFILE_MEMBERS(samples)                                                                                       \
    [HD_PROTO_BYTES(1)] = HD_MEMBER(HD_PUT_SPAN, profile_message, type), [HD_PROTO_BYTES(2)] = {samples, 0},           \
    [HD_PROTO_FIXED64(3)] = HD_MEMBER(HD_PUT_VALUE, profile_message, time),                                            \
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, profile_message, duration),                                         \
    [HD_PROTO_BYTES(5)] = HD_MEMBER(HD_PUT_SPAN, profile_message, period_type),                                        \
    [HD_PROTO_VARINT(6)] = HD_MEMBER(HD_PUT_VALUE, profile_message, period),                                           \
    [HD_PROTO_BYTES(7)] = HD_MEMBER(HD_PUT_SPAN, profile_message, id),                                                 \
    [HD_PROTO_VARINT(8)] = HD_MEMBER(HD_PUT_VALUE, profile_message, dropped),                                          \
    [HD_PROTO_BYTES(9)] = HD_MEMBER(HD_PUT_SPAN, profile_message, payload_format),                                     \
    [HD_PROTO_BYTES(10)] = {HD_PUT_PASS, 0}, [HD_PROTO_VARINT(11)] = {HD_PUT_EACH, 0},                                 \
    [HD_PROTO_BYTES(11)] = {HD_PUT_EACH, 0}

static const hd_proto_member members_of_head[] = {PROFILE_MEMBERS(HD_PUT_PASS)};
static const hd_proto_member members_of_samples[] = {PROFILE_MEMBERS(HD_PUT_EACH)};
static const hd_proto_schema schema_of_head = {members_of_head, HD_PROTO_COUNT(members_of_head)};
static const hd_proto_schema schema_of_samples = {members_of_samples, HD_PROTO_COUNT(members_of_samples)};

static void put_key(otlp_reader *r, const char *key)
{
    const size_t size = r->about.size;
    if (size && r->about.data[size - 1] != '{' && r->about.data[size - 1] != '[') hd_json_put_text(&r->about, ",");
    if (!key) return;
    hd_json_put_text(&r->about, "\"");
    hd_json_put_text(&r->about, key);
    hd_json_put_text(&r->about, "\":");
}

static hd_status put_text(otlp_reader *r, const char *key, hd_string text)
{
    size_t repaired;
    const char *place = text.data;
    if (!text.size) return HD_OK;
    put_key(r, key);
    text = hd_stack_samples_utf8(&r->samples, &repaired, text);
    hd_json_put_string(&r->about, text.data, text.size);
    return otlp_count(r, OTLP_UTF8, repaired, place);
}

static void put_number(otlp_reader *r, const char *key, uint64_t value, bool is_there)
{
    if (!is_there) return;
    put_key(r, key);
    hd_json_put_int(&r->about, (int64_t)value);
}

typedef struct type_message {
    hd_proto_head head;
    uint64_t type, unit;
} type_message;

static hd_status read_type(hd_string *out_name, hd_string *out_unit, otlp_reader *r, hd_proto_span span)
{
    static const hd_proto_member members[] = {
        [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, type_message, type),
        [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, type_message, unit),
    };
    static const hd_proto_schema schema = {members, HD_PROTO_COUNT(members)};
    type_message t = {0};
    hd_proto_reader message = hd_proto_reader_of(span.data, span.size);
    HD_TRY(hd_proto_walk(&t, &message, &schema, NULL, NULL));
    HD_TRY(otlp_check(r, &message, &t.head));
    const size_t strings = r->tables[OTLP_STRINGS].count;
    if (t.type >= strings || t.unit >= strings) HD_TRY(otlp_count(r, OTLP_MISSING, 1, span.data));
    *out_name = otlp_string(r, t.type);
    *out_unit = otlp_string(r, t.unit);
    return HD_OK;
}

/* Its attributes are members of the metadata. */
static hd_status put_attributes(void *user, const hd_proto_field *field)
{
    otlp_reader *r = user;
    uint64_t index;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size), entry;
    if (hd_proto_number(field) != 11) return HD_OK;
    for (size_t at = 0; hd_proto_repeated(&index, field, HD_WIRE_VARINT, &at, &message);) {
        hd_status status;
        if (!otlp_entry(&entry, r, OTLP_ATTRIBUTES, index, &status)) {
            HD_TRY(status);
            continue;
        }
        put_key(r, NULL);
        HD_TRY(otlp_put_member(r, &r->about, (hd_proto_span){entry.data, entry.size}, true, NULL));
    }
    return otlp_check(r, &message, &(hd_proto_head){0});
}

static hd_status put_profile(otlp_reader *r, const profile_message *m)
{
    hd_string name, unit;
    put_number(r, "time_unix_nano", m->time, hd_proto_has(&m->head, 3));
    put_number(r, "duration_nano", m->duration, hd_proto_has(&m->head, 4));
    if (m->period_type.data) {
        HD_TRY(read_type(&name, &unit, r, m->period_type));
        HD_TRY(put_text(r, "period_type", name));
        HD_TRY(put_text(r, "period_unit", unit));
    }
    put_number(r, "period", m->period, hd_proto_has(&m->head, 6));
    if (m->id.size) {
        char digits[3];
        put_key(r, "profile_id");
        hd_json_put_text(&r->about, "\"");
        for (size_t i = 0; i < m->id.size; i++) {
            snprintf(digits, sizeof digits, "%02x", m->id.data[i]);
            hd_json_put_text(&r->about, digits);
        }
        hd_json_put_text(&r->about, "\"");
    }
    put_number(r, "dropped_attributes_count", m->dropped, m->dropped > 0);
    return put_text(r, "original_payload_format",
                    (hd_string){(const char *)m->payload_format.data, m->payload_format.size});
}

static hd_status read_profile(otlp_reader *r, const hd_proto_field *field, const otlp_thread *process)
{
    profile p = {.r = r, .process = process};
    profile_message m = {0};
    hd_string name = {"", 0}, unit = name;
    hd_proto_reader head = hd_proto_reader_of(field->data, field->size), samples = head;
    put_key(r, NULL);
    hd_json_put_text(&r->about, "{");
    HD_TRY(hd_proto_walk(&m, &head, &schema_of_head, put_attributes, r));
    HD_TRY(otlp_check(r, &head, &m.head));
    if (m.type.data) HD_TRY(read_type(&name, &unit, r, m.type));
    HD_TRY(otlp_intern(&p.type, r, name.size ? name : (hd_string){"value", 5}));
    if (unit.size) HD_TRY(otlp_intern(&p.unit, r, unit));
    HD_TRY(put_text(r, "sample_type", name));
    HD_TRY(put_text(r, "sample_unit", unit));
    HD_TRY(put_profile(r, &m));
    hd_json_put_text(&r->about, "}");
    hd_status status = hd_proto_walk(&(profile_message){0}, &samples, &schema_of_samples, read_sample, &p);
    free(p.values);
    free(p.times);
    return status;
}

/* ---- resources and scopes ---- */

/* Of a ResourceProfiles and a ScopeProfiles: 1 is what they are of, 2 their parts, 3 the URL of a schema. */
typedef struct part_message {
    hd_proto_head head;
    hd_proto_span of, url;
} part_message;

#define PART_MEMBERS(parts)                                                                                            \
    [HD_PROTO_BYTES(1)] = HD_MEMBER(HD_PUT_SPAN, part_message, of), [HD_PROTO_BYTES(2)] = {parts, 0},                  \
    [HD_PROTO_BYTES(3)] = HD_MEMBER(HD_PUT_SPAN, part_message, url)
static const hd_proto_member members_of_part[] = {PART_MEMBERS(HD_PUT_PASS)};
static const hd_proto_member members_of_parts[] = {PART_MEMBERS(HD_PUT_EACH)};
static const hd_proto_schema schema_of_part = {members_of_part, HD_PROTO_COUNT(members_of_part)};
static const hd_proto_schema schema_of_parts = {members_of_parts, HD_PROTO_COUNT(members_of_parts)};

typedef struct part {
    otlp_reader *r;
    bool is_resource;
    otlp_thread process;
} part;

/* Attributes of a resource, which may name the process, or name, version and attributes of a scope. */
static hd_status put_pairs(part *p, hd_proto_span span)
{
    otlp_reader *r = p->r;
    const uint32_t pairs = p->is_resource ? 1 : 3;
    hd_proto_reader message = hd_proto_reader_of(span.data, span.size);
    hd_proto_field f;
    hd_json_put_text(&r->about, "{");
    while (span.data && hd_proto_next(&f, &message)) {
        const hd_string text = {(const char *)f.data, f.size};
        if (f.tag == HD_PROTO_BYTES(1) && !p->is_resource) HD_TRY(put_text(r, "name", text));
        if (f.tag == HD_PROTO_BYTES(2) && !p->is_resource) HD_TRY(put_text(r, "version", text));
        if (f.tag != HD_PROTO_BYTES(pairs)) continue;
        put_key(r, NULL);
        HD_TRY(otlp_put_member(r, &r->about, (hd_proto_span){f.data, f.size}, false, &p->process));
    }
    hd_json_put_text(&r->about, "}");
    return otlp_check(r, &message, &(hd_proto_head){0});
}

static hd_status read_profile_of(void *user, const hd_proto_field *field)
{
    part *scope = user;
    return read_profile(scope->r, field, &scope->process);
}

/* A ResourceProfiles of its ScopeProfiles, or one of these of its Profiles. */
static hd_status read_part(part *p, const hd_proto_field *field, hd_proto_each *each)
{
    otlp_reader *r = p->r;
    part_message m = {0};
    hd_proto_reader head = hd_proto_reader_of(field->data, field->size), parts = head;
    put_key(r, NULL);
    hd_json_put_text(&r->about, p->is_resource ? "{\"resource\":" : "{\"scope\":");
    HD_TRY(hd_proto_walk(&m, &head, &schema_of_part, NULL, NULL));
    HD_TRY(otlp_check(r, &head, &m.head));
    HD_TRY(put_pairs(p, m.of));
    HD_TRY(put_text(r, "schema_url", (hd_string){(const char *)m.url.data, m.url.size}));
    put_key(r, p->is_resource ? "scopes" : "profiles");
    hd_json_put_text(&r->about, "[");
    HD_TRY(hd_proto_walk(&(part_message){0}, &parts, &schema_of_parts, each, p));
    hd_json_put_text(&r->about, "]}");
    return HD_OK;
}

static hd_status read_scope(void *user, const hd_proto_field *field)
{
    const part *resource = user;
    return read_part(&(part){resource->r, false, resource->process}, field, read_profile_of);
}

static hd_status read_resource(void *user, const hd_proto_field *field)
{
    part resource = {user, true, {.pid = HD_NO_NUMBER, .tid = HD_NO_NUMBER}};
    return hd_proto_number(field) == DATA_RESOURCE ? read_part(&resource, field, read_scope) : HD_OK;
}

/* ---- the whole ---- */

static hd_status read_all(otlp_reader *r)
{
    static const hd_proto_member members[] = {
        [HD_PROTO_BYTES(DATA_RESOURCE)] = {HD_PUT_EACH, 0},
        [HD_PROTO_BYTES(DATA_DICTIONARY)] = {HD_PUT_EACH, 0},
    };
    static const hd_proto_schema schema = {members, HD_PROTO_COUNT(members)};
    hd_proto_head head = {0};
    hd_proto_reader tables = hd_proto_reader_of(r->data, r->size), profiles = tables;
    while (hd_proto_next(&(hd_proto_field){0}, &profiles)) {}
    r->is_cut = profiles.failed;
    profiles = tables;
    HD_TRY(hd_proto_walk(&head, &tables, &schema, read_dictionary, r));
    HD_TRY(otlp_count(r, OTLP_UNKNOWN, head.unknown, r->data));
    if (r->is_cut) HD_TRY(otlp_count(r, OTLP_TRUNCATED, 1, r->data + tables.at));
    r->locations = calloc(r->tables[OTLP_LOCATIONS].count + 1, sizeof *r->locations);
    r->nodes = calloc(r->tables[OTLP_STACKS].count + 1, sizeof *r->nodes);
    if (!r->locations || !r->nodes) return HD_NOMEM(r->err);
    HD_TRY(otlp_read_mappings(r));
    hd_json_put_text(&r->about, "[");
    HD_TRY(hd_proto_walk(&(hd_proto_head){0}, &profiles, &schema, read_resource, r));
    hd_json_put_text(&r->about, "]");
    if (!r->samples.samples && r->is_cut)
        return hd_error_set(r->err, HD_ERR_DAMAGED, NULL, 0, "no sample of the profiles can be read");
    return HD_OK;
}

static hd_status finish(otlp_reader *r)
{
    uint32_t id = r->about.failed ? HD_STRING_NONE : hd_builder_intern(r->builder, r->about.data, r->about.size);
    if (id == HD_STRING_NONE) return HD_NOMEM(r->err);
    hd_builder_facts(r->builder)->input_bytes = r->size;
    hd_builder_metadata(r->builder, hd_builder_intern_text(r->builder, "otlp"), id, true);
    HD_TRY(hd_mappings_put(&r->mappings, r->builder, r->err));
    return hd_stack_samples_finish(&r->samples);
}

static hd_status otlp_read(hd_builder *builder, hd_input *input, const hd_read_options *options, hd_error *err)
{
    hd_bytes bytes = {0};
    otlp_reader r = {.builder = builder, .err = err};
    hd_status status = hd_input_all(&bytes, input, 0, INT64_MAX, err);
    if (status == HD_OK) status = hd_stack_samples_open(&r.samples, builder, input, OTLP_STAGE, codes, options, err);
    if (status == HD_OK) {
        r.data = bytes.data;
        r.size = bytes.size;
        status = read_all(&r);
    }
    if (status == HD_OK) status = finish(&r);
    hd_stack_samples_close(&r.samples);
    hd_mappings_deinit(&r.mappings);
    for (size_t i = 0; i < OTLP_TABLES; i++) free(r.tables[i].at);
    hd_bytes_deinit(&r.text);
    hd_bytes_deinit(&bytes);
    free(r.locations);
    free(r.frames);
    free(r.nodes);
    free(r.about.data);
    return status;
}

/* ---- what it is known by ---- */

/* By the field number, the wire types that a message has: a bit for each. */
typedef struct shape {
    uint8_t wires[12], count;
} shape;

enum { IN_DATA, IN_RESOURCE, IN_SCOPE, IN_PROFILE, LEVELS };
#define V (1 << HD_WIRE_VARINT)
#define F (1 << HD_WIRE_FIXED64)
#define B (1 << HD_WIRE_BYTES)
static const shape shapes[LEVELS] = {
    {{0, B, B}, 3}, {{0, B, B, B}, 4}, {{0, B, B, B}, 4}, {{0, B, B, F, V, B, V, B, V, B, B, V | B}, 12}};
#undef V
#undef F
#undef B

/* Whether the fields of a message, which the end of the head may cut off, are those of its level, and those within that
 * lead to a profile; *out_found: there is a profile with a type or samples. */
static bool fits(bool *out_found, const uint8_t *data, size_t size, int level)
{
    static const uint32_t inner[LEVELS] = {DATA_RESOURCE, 2, 2, 0};
    hd_proto_reader m = hd_proto_reader_of(data, size);
    hd_proto_field f;
    for (bool more = true; more;) {
        more = hd_proto_next(&f, &m);
        if (!more && (!m.failed || !hd_proto_take_rest(&f, &m))) return !m.failed || m.at + 1 >= m.size;
        const uint32_t number = hd_proto_number(&f);
        if (number >= shapes[level].count || !(shapes[level].wires[number] >> (f.tag & 7) & 1)) return false;
        *out_found |= level == IN_PROFILE && number <= 2;
        if (number == inner[level] && !fits(out_found, f.data, f.size, level + 1)) return false;
    }
    return true;
}

static int otlp_sniff(const unsigned char *head, size_t size)
{
    bool found = false;
    return fits(&found, head, size, IN_DATA) && found ? 91 : 0;
}

const hd_format hd_otlp_format = {
    .info = {.name = "otlp",
             .title = "Profiles of OpenTelemetry (OTLP), protobuf",
             .extensions = ".otlp",
             .reads = true,
             .keeps =
                 "stacks with all values and times, attributes, resources, inlined functions, files and lines, modules",
             .loses = "payloads in the original format, types of frames"},
    .sniff = otlp_sniff,
    .read = otlp_read,
};
