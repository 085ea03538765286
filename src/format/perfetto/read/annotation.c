/* annotation.c - debug annotations, and the known typed arguments
 *
 * Numbers, bools and texts become values of their type; dicts, arrays and JSON one JSON text. Messages with a type
 * known only to their producer are counted.
 */
#include <stdio.h>
#include <string.h>

#include "base/json/json.h"
#include "format/perfetto/read/reader.h"

enum { DEPTH_LIMIT = 64 };

/* The fields of a debug annotation: its name, and the last value. */
typedef struct annotation {
    uint32_t name; /* string id */
    bool has_value, is_dict, is_array;
    hd_proto_field value;
    const hd_proto_field *whole;
} annotation;

static void lose(perfetto_reader *reader, const char *code)
{
    perfetto_note(reader, code, HD_LEDGER_LOSS, 1);
}

static hd_status read_fields(annotation *out, perfetto_reader *reader, const perfetto_sequence *sequence,
                             const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (annotation){.whole = field};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_ANNOTATION_NAME_IID):
            out->name = perfetto_interned_text(reader, sequence, PF_INTERNED_DEBUG_ANNOTATION_NAMES, f.value);
            break;
        case HD_PROTO_BYTES(PF_ANNOTATION_NAME): out->name = perfetto_text(reader, &f); break;
        case HD_PROTO_VARINT(PF_ANNOTATION_BOOL_VALUE):
        case HD_PROTO_VARINT(PF_ANNOTATION_UINT_VALUE):
        case HD_PROTO_VARINT(PF_ANNOTATION_INT_VALUE):
        case HD_PROTO_FIXED64(PF_ANNOTATION_DOUBLE_VALUE):
        case HD_PROTO_BYTES(PF_ANNOTATION_STRING_VALUE):
        case HD_PROTO_VARINT(PF_ANNOTATION_POINTER_VALUE):
        case HD_PROTO_BYTES(PF_ANNOTATION_NESTED_VALUE):
        case HD_PROTO_BYTES(PF_ANNOTATION_LEGACY_JSON_VALUE):
        case HD_PROTO_VARINT(PF_ANNOTATION_STRING_VALUE_IID):
        case HD_PROTO_BYTES(PF_ANNOTATION_PROTO_VALUE):
            out->value = f;
            out->has_value = true;
            break;
        case HD_PROTO_BYTES(PF_ANNOTATION_DICT_ENTRIES): out->is_dict = true; break;
        case HD_PROTO_BYTES(PF_ANNOTATION_ARRAY_VALUES): out->is_array = true; break;
        case HD_PROTO_VARINT(PF_ANNOTATION_PROTO_TYPE_NAME_IID):
        case HD_PROTO_BYTES(PF_ANNOTATION_PROTO_TYPE_NAME): break;
        default: lose(reader, "perfetto.unknown-field");
        }
    }
    return perfetto_check(reader, &message);
}

static void put_text(perfetto_reader *reader, uint32_t id)
{
    hd_string s = hd_builder_string(reader->builder, id);
    hd_json_put_string(&reader->json, s.data, s.size);
}

/* "0x7f12", as pointers are shown. */
static uint32_t pointer_text(perfetto_reader *reader, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
    return hd_builder_intern_text(reader->builder, text);
}

static void put_json(perfetto_reader *reader, const hd_proto_field *f)
{
    if (hd_json_valid((const char *)f->data, f->size, HD_JSON_DEPTH_LIMIT)) {
        hd_json_put(&reader->json, (const char *)f->data, f->size);
        return;
    }
    perfetto_note(reader, "perfetto.bad-json", HD_LEDGER_REPAIR, 1);
    put_text(reader, perfetto_text(reader, f));
}

/* ---- the older form of nested values ---- */

static hd_status put_nested(perfetto_reader *reader, const hd_proto_field *field, int depth);

/* A dict lists its keys and its values apart: walk both at once. */
static hd_status put_nested_list(perfetto_reader *reader, const hd_proto_field *field, bool is_dict, int depth)
{
    hd_proto_reader values = hd_proto_reader_of(field->data, field->size), keys = values;
    hd_proto_field f, key;
    bool first = true;
    hd_json_put_text(&reader->json, is_dict ? "{" : "[");
    while (hd_proto_next(&f, &values)) {
        if (f.tag != (is_dict ? HD_PROTO_BYTES(PF_NESTED_DICT_VALUES) : HD_PROTO_BYTES(PF_NESTED_ARRAY_VALUES)))
            continue;
        if (!first) hd_json_put_text(&reader->json, ",");
        first = false;
        if (is_dict) {
            bool found = false;
            while (!found && hd_proto_next(&key, &keys)) found = key.tag == HD_PROTO_BYTES(PF_NESTED_DICT_KEYS);
            if (found)
                put_text(reader, perfetto_text(reader, &key));
            else
                hd_json_put_text(&reader->json, "\"\"");
            hd_json_put_text(&reader->json, ":");
        }
        HD_TRY(put_nested(reader, &f, depth + 1));
    }
    hd_json_put_text(&reader->json, is_dict ? "}" : "]");
    return perfetto_check(reader, &values);
}

static hd_status put_nested(perfetto_reader *reader, const hd_proto_field *field, int depth)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f, value = {0};
    uint64_t type = PF_NESTED_TYPE_UNSPECIFIED;
    if (depth > DEPTH_LIMIT) {
        lose(reader, "perfetto.argument-too-deep");
        hd_json_put_text(&reader->json, "null");
        return HD_OK;
    }
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_NESTED_NESTED_TYPE))
            type = f.value;
        else if (hd_proto_number(&f) >= PF_NESTED_INT_VALUE)
            value = f;
    }
    HD_TRY(perfetto_check(reader, &message));
    if (type == PF_NESTED_TYPE_DICT || type == PF_NESTED_TYPE_ARRAY)
        return put_nested_list(reader, field, type == PF_NESTED_TYPE_DICT, depth);
    switch (value.tag) {
    case HD_PROTO_VARINT(PF_NESTED_INT_VALUE): hd_json_put_int(&reader->json, (int64_t)value.value); break;
    case HD_PROTO_FIXED64(PF_NESTED_DOUBLE_VALUE):
        hd_json_put_double(&reader->json, hd_proto_double(value.value));
        break;
    case HD_PROTO_VARINT(PF_NESTED_BOOL_VALUE): hd_json_put_text(&reader->json, value.value ? "true" : "false"); break;
    case HD_PROTO_BYTES(PF_NESTED_STRING_VALUE): put_text(reader, perfetto_text(reader, &value)); break;
    default: hd_json_put_text(&reader->json, "null"); break;
    }
    return HD_OK;
}

/* Our writer stores JSON without splitting it as a nested value that is a single string. */
static bool put_nested_json(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    if (!hd_proto_next(&f, &message) || f.tag != HD_PROTO_BYTES(PF_NESTED_STRING_VALUE) || !f.size) return false;
    if (f.data + f.size != field->data + field->size || !strchr("{[\"", *f.data)) return false;
    if (!hd_json_valid((const char *)f.data, f.size, HD_JSON_DEPTH_LIMIT)) return false;
    hd_json_put(&reader->json, (const char *)f.data, f.size);
    return true;
}

/* ---- as JSON text ---- */

static hd_status put_annotation(perfetto_reader *reader, const perfetto_sequence *sequence, const annotation *a,
                                int depth);

static hd_status put_entries(perfetto_reader *reader, const perfetto_sequence *sequence, const annotation *a, int depth)
{
    hd_proto_reader message = hd_proto_reader_of(a->whole->data, a->whole->size);
    hd_proto_field f;
    bool first = true;
    uint32_t tag = a->is_dict ? HD_PROTO_BYTES(PF_ANNOTATION_DICT_ENTRIES) : HD_PROTO_BYTES(PF_ANNOTATION_ARRAY_VALUES);
    hd_json_put_text(&reader->json, a->is_dict ? "{" : "[");
    while (hd_proto_next(&f, &message)) {
        annotation entry;
        if (f.tag != tag) continue;
        HD_TRY(read_fields(&entry, reader, sequence, &f));
        if (!first) hd_json_put_text(&reader->json, ",");
        first = false;
        if (a->is_dict) {
            put_text(reader, entry.name);
            hd_json_put_text(&reader->json, ":");
        }
        HD_TRY(put_annotation(reader, sequence, &entry, depth + 1));
    }
    hd_json_put_text(&reader->json, a->is_dict ? "}" : "]");
    return HD_OK;
}

static hd_status put_annotation(perfetto_reader *reader, const perfetto_sequence *sequence, const annotation *a,
                                int depth)
{
    const hd_proto_field *v = &a->value;
    if (depth > DEPTH_LIMIT) {
        lose(reader, "perfetto.argument-too-deep");
        hd_json_put_text(&reader->json, "null");
        return HD_OK;
    }
    if (a->is_dict || a->is_array) return put_entries(reader, sequence, a, depth);
    if (!a->has_value) {
        hd_json_put_text(&reader->json, "null");
        return HD_OK;
    }
    switch (hd_proto_number(v)) {
    case PF_ANNOTATION_BOOL_VALUE: hd_json_put_text(&reader->json, v->value ? "true" : "false"); break;
    case PF_ANNOTATION_UINT_VALUE: hd_json_put_unsigned(&reader->json, v->value); break;
    case PF_ANNOTATION_INT_VALUE: hd_json_put_int(&reader->json, (int64_t)v->value); break;
    case PF_ANNOTATION_DOUBLE_VALUE: hd_json_put_double(&reader->json, hd_proto_double(v->value)); break;
    case PF_ANNOTATION_STRING_VALUE: put_text(reader, perfetto_text(reader, v)); break;
    case PF_ANNOTATION_POINTER_VALUE: put_text(reader, pointer_text(reader, v->value)); break;
    case PF_ANNOTATION_STRING_VALUE_IID:
        put_text(reader,
                 perfetto_interned_text(reader, sequence, PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES, v->value));
        break;
    case PF_ANNOTATION_LEGACY_JSON_VALUE: put_json(reader, v); break;
    case PF_ANNOTATION_NESTED_VALUE: return put_nested_json(reader, v) ? HD_OK : put_nested(reader, v, depth + 1);
    default:
        lose(reader, "perfetto.argument-of-unknown-type");
        hd_json_put_text(&reader->json, "null");
        break;
    }
    return HD_OK;
}

/* ---- as a value ---- */

/* Our writer stores members of the event outside args as annotations `event.KEY`. Such keys of other fields are left
 * unchanged. */
static hd_arg_scope scope_of(uint32_t *key, perfetto_reader *reader, hd_arg_type type, int64_t bits)
{
    static const char *const held[] = {"ph",  "ts",   "dur", "name", "cat",   "pid",
                                       "tid", "args", "id",  "id2",  "scope", "bp"};
    hd_string s = hd_builder_string(reader->builder, *key);
    if (s.size < 7 || memcmp(s.data, "event.", 6) != 0) return HD_SCOPE_ARGS;
    /* a phase of several letters is not what the kind of the event says */
    bool is_phase = type == HD_ARG_STRING && hd_builder_string(reader->builder, (uint32_t)bits).size > 1;
    for (size_t i = is_phase ? 1 : 0; i < sizeof held / sizeof *held; i++) {
        if (s.size - 6 == strlen(held[i]) && memcmp(s.data + 6, held[i], s.size - 6) == 0) return HD_SCOPE_ARGS;
    }
    *key = hd_builder_intern(reader->builder, s.data + 6, s.size - 6);
    if (s.size == 9 && memcmp(s.data + 6, "tts", 3) == 0) perfetto_know_thread_times(reader);
    return HD_SCOPE_EVENT;
}

static hd_status add_value(perfetto_reader *reader, uint32_t key, hd_arg_type type, int64_t bits)
{
    hd_arg_scope scope = scope_of(&key, reader, type, bits);
    return perfetto_add_arg(reader, &reader->args, key, type, scope, bits);
}

/* Adds reader->json as the value: an object or array, or a scalar. */
static hd_status add_json(perfetto_reader *reader, uint32_t key)
{
    const char *data = reader->json.data;
    size_t size = reader->json.size;
    hd_arg_type type = HD_ARG_JSON;
    if (reader->json.failed) return HD_NOMEM(reader->err);
    while (size && strchr(" \t\r\n", *data)) data++, size--;
    while (size && strchr(" \t\r\n", data[size - 1])) size--;
    if (size == 0 || *data == '{' || *data == '[') {
        type = size ? HD_ARG_JSON : HD_ARG_NULL;
    } else if (*data == 't' || *data == 'f') {
        return add_value(reader, key, HD_ARG_BOOL, *data == 't');
    } else if (*data == 'n') {
        type = HD_ARG_NULL;
    } else if (*data == '"') {
        type = HD_ARG_STRING;
        if (memchr(data, '\\', size)) type = HD_ARG_JSON; /* stays as it is written */
        if (type == HD_ARG_STRING) data++, size -= 2;
    } else {
        type = HD_ARG_NUMBER;
    }
    int64_t bits = type == HD_ARG_NULL ? 0 : hd_builder_intern(reader->builder, data, size);
    return add_value(reader, key, type, bits);
}

static hd_status add_scalar(perfetto_reader *reader, const perfetto_sequence *sequence, const annotation *a)
{
    const hd_proto_field *v = &a->value;
    hd_arg_type type = HD_ARG_INT;
    int64_t bits = (int64_t)v->value;
    switch (hd_proto_number(v)) {
    case PF_ANNOTATION_BOOL_VALUE:
        type = HD_ARG_BOOL;
        bits = v->value != 0;
        break;
    case PF_ANNOTATION_UINT_VALUE: type = hd_value_of_unsigned(&bits, reader->builder, v->value); break;
    case PF_ANNOTATION_INT_VALUE: break;
    case PF_ANNOTATION_DOUBLE_VALUE:
        type = hd_value_of_double(&bits, reader->builder, hd_proto_double(v->value));
        break;
    case PF_ANNOTATION_STRING_VALUE:
        type = HD_ARG_STRING;
        bits = perfetto_text(reader, v);
        break;
    case PF_ANNOTATION_POINTER_VALUE:
        type = HD_ARG_STRING;
        bits = pointer_text(reader, v->value);
        break;
    case PF_ANNOTATION_STRING_VALUE_IID:
        type = HD_ARG_STRING;
        bits = perfetto_interned_text(reader, sequence, PF_INTERNED_DEBUG_ANNOTATION_STRING_VALUES, v->value);
        if (bits == HD_STRING_NONE) type = HD_ARG_NULL;
        break;
    default: lose(reader, "perfetto.argument-of-unknown-type"); return HD_OK;
    }
    return add_value(reader, a->name, type, bits);
}

hd_status perfetto_read_annotation(perfetto_reader *reader, const perfetto_sequence *sequence,
                                   const hd_proto_field *field)
{
    annotation a;
    if (!reader->want_args) return HD_OK;
    HD_TRY(read_fields(&a, reader, sequence, field));
    if (a.name == HD_STRING_NONE) a.name = hd_builder_intern(reader->builder, "", 0);
    bool is_text = a.is_dict || a.is_array ||
                   (a.has_value && (hd_proto_number(&a.value) == PF_ANNOTATION_NESTED_VALUE ||
                                    hd_proto_number(&a.value) == PF_ANNOTATION_LEGACY_JSON_VALUE));
    if (!a.has_value && !is_text) return add_value(reader, a.name, HD_ARG_NULL, 0);
    if (!is_text) return add_scalar(reader, sequence, &a);
    reader->json.size = 0;
    HD_TRY(put_annotation(reader, sequence, &a, 0));
    return add_json(reader, a.name);
}

/* ---- typed arguments ---- */

static hd_status add_location(perfetto_reader *reader, const char *prefix, const perfetto_record *location)
{
    static const char *const parts[] = {"file_name", "function_name"};
    char key[80];
    for (int i = 0; i < 2; i++) {
        if (!location->text[i]) continue;
        snprintf(key, sizeof key, "%s.%s", prefix, parts[i]);
        HD_TRY(perfetto_add_text_arg(reader, key, location->text[i]));
    }
    if (location->number == 0) return HD_OK;
    snprintf(key, sizeof key, "%s.line_number", prefix);
    return perfetto_add_int_arg(reader, key, location->number);
}

hd_status perfetto_add_location(perfetto_reader *reader, const perfetto_sequence *sequence, const char *prefix,
                                uint64_t iid)
{
    const perfetto_record *location = perfetto_interned_record(reader, sequence, PF_INTERNED_SOURCE_LOCATIONS, iid);
    return location ? add_location(reader, prefix, location) : HD_OK;
}

hd_status perfetto_read_location(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    perfetto_record location = {.number = 0};
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(PF_LOCATION_FILE_NAME)) location.text[0] = perfetto_text(reader, &f);
        if (f.tag == HD_PROTO_BYTES(PF_LOCATION_FUNCTION_NAME)) location.text[1] = perfetto_text(reader, &f);
        if (f.tag == HD_PROTO_VARINT(PF_LOCATION_LINE_NUMBER)) location.number = (int64_t)f.value;
    }
    HD_TRY(perfetto_check(reader, &message));
    return add_location(reader, "source", &location);
}

hd_status perfetto_read_task(perfetto_reader *reader, const perfetto_sequence *sequence, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &message)) {
        if (f.tag != HD_PROTO_VARINT(1)) continue; /* posted_from_iid */
        HD_TRY(perfetto_add_location(reader, sequence, "task.posted_from", f.value));
    }
    return perfetto_check(reader, &message);
}

hd_status perfetto_read_log(perfetto_reader *reader, const perfetto_sequence *sequence, const hd_proto_field *field)
{
    static const char *const priorities[] = {NULL, "unused", "verbose", "debug", "info", "warn", "error", "fatal"};
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_LOG_SOURCE_LOCATION_IID):
            HD_TRY(perfetto_add_location(reader, sequence, "source", f.value));
            break;
        case HD_PROTO_VARINT(PF_LOG_BODY_IID): {
            uint32_t body = perfetto_interned_text(reader, sequence, PF_INTERNED_LOG_MESSAGE_BODY, f.value);
            if (body) HD_TRY(perfetto_add_text_arg(reader, "message", body));
            break;
        }
        case HD_PROTO_VARINT(PF_LOG_PRIO):
            if (f.value == 0 || f.value >= sizeof priorities / sizeof *priorities) break;
            HD_TRY(perfetto_add_text_arg(reader, "priority",
                                         hd_builder_intern_text(reader->builder, priorities[f.value])));
            break;
        default: break;
        }
    }
    return perfetto_check(reader, &message);
}

/* "function (file:line)" for a frame of an inline call stack. */
static hd_status put_frame(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    hd_string function = {"", 0}, file = {"", 0};
    uint64_t line = 0;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(1)) function = hd_builder_string(reader->builder, perfetto_text(reader, &f));
        if (f.tag == HD_PROTO_BYTES(2)) file = hd_builder_string(reader->builder, perfetto_text(reader, &f));
        if (f.tag == HD_PROTO_VARINT(3)) line = f.value;
    }
    HD_TRY(perfetto_check(reader, &message));
    reader->text.size = 0;
    hd_json_put(&reader->text, function.data, function.size);
    if (file.size) {
        hd_json_put_text(&reader->text, " (");
        hd_json_put(&reader->text, file.data, file.size);
        if (line) hd_json_put_text(&reader->text, ":");
        if (line) hd_json_put_unsigned(&reader->text, line);
        hd_json_put_text(&reader->text, ")");
    }
    hd_json_put_string(&reader->json, reader->text.data ? reader->text.data : "", reader->text.size);
    return HD_OK;
}

hd_status perfetto_read_callstack(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    reader->json.size = 0;
    hd_json_put_text(&reader->json, "[");
    while (hd_proto_next(&f, &message)) {
        if (f.tag != HD_PROTO_BYTES(1)) continue; /* frames */
        if (reader->json.size > 1) hd_json_put_text(&reader->json, ",");
        HD_TRY(put_frame(reader, &f));
    }
    hd_json_put_text(&reader->json, "]");
    HD_TRY(perfetto_check(reader, &message));
    return add_json(reader, hd_builder_intern_text(reader->builder, "callstack"));
}
