/* attributes.c - attributes: arguments of samples, their threads, members of the metadata */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "format/numbers.h"
#include "format/otlp/otlp.h"
#include "trace/text.h"

enum { DEPTH_LIMIT = 32 }; /* of lists within lists */

/* KeyValue, and KeyValueAndUnit of the table, whose field 1 is an index. */
typedef struct pair_message {
    hd_proto_head head;
    uint64_t key_index, unit;
    hd_proto_span key, value;
} pair_message;

static const hd_proto_member pair_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, pair_message, key_index),
    [HD_PROTO_BYTES(1)] = HD_MEMBER(HD_PUT_SPAN, pair_message, key),
    [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_SPAN, pair_message, value),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, pair_message, unit),
};
static const hd_proto_schema pair_schema = {pair_members, HD_PROTO_COUNT(pair_members)};

/* In a KeyValue field 3 is an index of the key, in an entry of the table its unit. */
static hd_status read_pair(pair_message *out, hd_string *out_key, otlp_reader *r, hd_proto_span span, bool in_table)
{
    hd_proto_reader message = hd_proto_reader_of(span.data, span.size);
    *out = (pair_message){0};
    HD_TRY(hd_proto_walk(out, &message, &pair_schema, NULL, NULL));
    HD_TRY(otlp_check(r, &message, &out->head));
    *out_key = otlp_string(r, in_table ? out->key_index : out->unit);
    if (out->key.data) *out_key = (hd_string){(const char *)out->key.data, out->key.size};
    return HD_OK;
}

/* ---- AnyValue ---- */

enum { STRING = 1, BOOL, INT, DOUBLE, ARRAY, LIST, BYTES, STRING_INDEX };

/* The last field counts, as it is a oneof. false: it has none. */
static bool value_field(hd_proto_field *out, hd_proto_span value)
{
    hd_proto_reader message = hd_proto_reader_of(value.data, value.size);
    hd_proto_field f;
    bool found = false;
    while (value.data && hd_proto_next(&f, &message)) {
        static const uint8_t wires[] = {
            [STRING] = HD_WIRE_BYTES,   [BOOL] = HD_WIRE_VARINT,        [INT] = HD_WIRE_VARINT,
            [DOUBLE] = HD_WIRE_FIXED64, [ARRAY] = HD_WIRE_BYTES,        [LIST] = HD_WIRE_BYTES,
            [BYTES] = HD_WIRE_BYTES,    [STRING_INDEX] = HD_WIRE_VARINT};
        const uint32_t number = hd_proto_number(&f);
        if (number == 0 || number > STRING_INDEX || (f.tag & 7) != wires[number]) continue;
        *out = f;
        found = true;
    }
    return found;
}

static hd_string text_of(const otlp_reader *r, const hd_proto_field *f)
{
    if (hd_proto_number(f) == STRING_INDEX) return otlp_string(r, f->value);
    return (hd_string){(const char *)f->data, f->size};
}

static hd_status put_text(otlp_reader *r, hd_json_out *out, hd_string text)
{
    size_t repaired;
    const char *place = text.data;
    text = hd_stack_samples_utf8(&r->samples, &repaired, text);
    hd_json_put_string(out, text.data, text.size);
    return otlp_count(r, OTLP_UTF8, repaired, place);
}

static void put_hex(hd_json_out *out, const uint8_t *data, size_t size)
{
    char digits[3];
    hd_json_put_text(out, "\"");
    for (size_t i = 0; i < size; i++) {
        snprintf(digits, sizeof digits, "%02x", data[i]);
        hd_json_put_text(out, digits);
    }
    hd_json_put_text(out, "\"");
}

static hd_status put_value(otlp_reader *r, hd_json_out *out, hd_proto_span value, unsigned depth);

/* The values of a list, or the pairs of an object. */
static hd_status put_values(otlp_reader *r, hd_json_out *out, const hd_proto_field *list, unsigned depth)
{
    const bool is_object = hd_proto_number(list) == LIST;
    hd_proto_reader message = hd_proto_reader_of(list->data, list->size);
    hd_proto_field f;
    const char *before = "";
    hd_json_put_text(out, is_object ? "{" : "[");
    while (hd_proto_next(&f, &message)) {
        pair_message pair;
        hd_string key;
        if (f.tag != HD_PROTO_BYTES(1)) continue;
        hd_json_put_text(out, before);
        before = ",";
        hd_proto_span item = {f.data, f.size};
        if (is_object) {
            HD_TRY(read_pair(&pair, &key, r, item, false));
            HD_TRY(put_text(r, out, key));
            hd_json_put_text(out, ":");
            item = pair.value;
        }
        HD_TRY(put_value(r, out, item, depth + 1));
    }
    hd_json_put_text(out, is_object ? "}" : "]");
    return otlp_check(r, &message, &(hd_proto_head){0});
}

static hd_status put_value(otlp_reader *r, hd_json_out *out, hd_proto_span value, unsigned depth)
{
    hd_proto_field f;
    if (!value_field(&f, value)) {
        hd_json_put_text(out, "null");
        return HD_OK;
    }
    switch (hd_proto_number(&f)) {
    case BOOL: hd_json_put_text(out, f.value ? "true" : "false"); return HD_OK;
    case INT: hd_json_put_int(out, (int64_t)f.value); return HD_OK;
    case DOUBLE: hd_json_put_double(out, hd_proto_double(f.value)); return HD_OK;
    case BYTES: put_hex(out, f.data, f.size); return HD_OK;
    case ARRAY:
    case LIST:
        if (depth < DEPTH_LIMIT) return put_values(r, out, &f, depth);
        hd_json_put_text(out, "null");
        return otlp_count(r, OTLP_DAMAGED, 1, f.data);
    default: return put_text(r, out, text_of(r, &f));
    }
}

/* ---- arguments ---- */

hd_status otlp_add_argument(otlp_reader *r, uint32_t key, hd_arg_type type, int64_t value)
{
    if (r->count == HD_STACK_MORE) return otlp_count(r, OTLP_ATTRIBUTE, 1, NULL);
    r->keys[r->count] = (hd_arg_key){.key = key, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    r->values[r->count++] = value;
    return HD_OK;
}

/* Semantic conventions of OpenTelemetry. */
static void note_thread(otlp_thread *thread, const otlp_reader *r, hd_string key, hd_proto_span value)
{
    hd_proto_field f;
    if (!value_field(&f, value)) return;
    const bool is_int = hd_proto_number(&f) == INT;
    if (is_int && hd_string_is(key, "process.pid")) thread->pid = (int64_t)f.value;
    if (is_int && hd_string_is(key, "thread.id")) thread->tid = (int64_t)f.value;
    if ((hd_proto_number(&f) == STRING || hd_proto_number(&f) == STRING_INDEX) && hd_string_is(key, "thread.name"))
        thread->name = text_of(r, &f);
}

/* The value as an argument has it; lists and bytes are JSON. */
static hd_status take_value(otlp_reader *r, hd_arg_type *out_type, int64_t *out, hd_proto_span value)
{
    hd_proto_field f = {0};
    uint32_t id;
    hd_json_out json = {0};
    *out_type = HD_ARG_NULL;
    *out = 0;
    if (!value_field(&f, value)) return HD_OK;
    const uint32_t number = hd_proto_number(&f);
    if (number == BOOL || number == INT) {
        *out_type = number == BOOL ? HD_ARG_BOOL : HD_ARG_INT;
        *out = number == BOOL ? f.value != 0 : (int64_t)f.value;
        return HD_OK;
    }
    if (number == DOUBLE) {
        *out_type = hd_value_of_double(out, r->builder, hd_proto_double(f.value));
        return HD_OK;
    }
    hd_string text = text_of(r, &f);
    hd_status status = HD_OK;
    if (number == ARRAY || number == LIST) {
        status = put_value(r, &json, value, 0);
        text = (hd_string){json.data, json.size};
    } else if (number == BYTES) {
        put_hex(&json, f.data, f.size);
        text = (hd_string){json.data + 1, json.size - 2};
    }
    if (json.failed) status = HD_NOMEM(r->err);
    if (status == HD_OK) status = otlp_intern(&id, r, text);
    *out_type = number == ARRAY || number == LIST ? HD_ARG_JSON : HD_ARG_STRING;
    if (status == HD_OK) *out = id;
    free(json.data);
    return status;
}

/* Two attributes of one key: the second has "#2". */
static hd_status key_of(uint32_t *out, otlp_reader *r, hd_string name, const char *more)
{
    char number[16];
    for (unsigned same = 1; same <= HD_STACK_MORE; same++) {
        bool is_there = hd_string_is(name, "weight") && !*more && same == 1;
        r->text.size = 0;
        hd_bytes_put(&r->text, name.data, name.size);
        hd_bytes_put(&r->text, more, strlen(more));
        if (same > 1) hd_bytes_put(&r->text, number, (size_t)snprintf(number, sizeof number, "#%u", same));
        if (r->text.failed) return HD_NOMEM(r->err);
        HD_TRY(otlp_intern(out, r, (hd_string){(char *)r->text.data, r->text.size}));
        for (uint32_t i = 0; i < r->count; i++) is_there |= r->keys[i].key == *out;
        if (!is_there) break;
    }
    return HD_OK;
}

hd_status otlp_add_attribute(otlp_reader *r, uint64_t index)
{
    hd_proto_reader entry;
    hd_status status;
    pair_message pair;
    hd_string key;
    uint32_t id;
    hd_arg_type type;
    int64_t value;
    if (!otlp_entry(&entry, r, OTLP_ATTRIBUTES, index, &status)) return status;
    HD_TRY(read_pair(&pair, &key, r, (hd_proto_span){entry.data, entry.size}, true));
    note_thread(&r->thread, r, key, pair.value);
    HD_TRY(take_value(r, &type, &value, pair.value));
    HD_TRY(key_of(&id, r, key, ""));
    HD_TRY(otlp_add_argument(r, id, type, value));
    hd_string unit = otlp_string(r, pair.unit);
    if (!unit.size) return HD_OK;
    HD_TRY(key_of(&id, r, key, " unit"));
    uint32_t unit_id;
    HD_TRY(otlp_intern(&unit_id, r, unit));
    return otlp_add_argument(r, id, HD_ARG_STRING, unit_id);
}

hd_string otlp_attribute_text(otlp_reader *r, uint64_t index, const char *name)
{
    const otlp_list *table = &r->tables[OTLP_ATTRIBUTES];
    hd_proto_field f;
    pair_message pair;
    hd_string key;
    if (index >= table->count || read_pair(&pair, &key, r, table->at[index], true) != HD_OK ||
        !hd_string_is(key, name) || !value_field(&f, pair.value) ||
        (hd_proto_number(&f) != STRING && hd_proto_number(&f) != STRING_INDEX))
        return (hd_string){"", 0};
    return text_of(r, &f);
}

/* ---- the metadata ---- */

hd_status otlp_put_member(otlp_reader *r, hd_json_out *out, hd_proto_span message, bool in_table, otlp_thread *thread)
{
    pair_message pair;
    hd_string key;
    HD_TRY(read_pair(&pair, &key, r, message, in_table));
    if (thread) note_thread(thread, r, key, pair.value);
    HD_TRY(put_text(r, out, key));
    hd_json_put_text(out, ":");
    return put_value(r, out, pair.value, 0);
}
