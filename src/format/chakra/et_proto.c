/* et_proto.c - .et: a GlobalMetadata, then Nodes, each behind its length as a varint (et_def.proto) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/io/pieces.h"
#include "base/protobuf/read.h"
#include "format/chakra/chakra.h"
#include "format/numbers.h"

enum {
    NODE_ID = 1,
    NODE_NAME,
    NODE_TYPE,
    NODE_CONTROL,
    NODE_DATA,
    NODE_START,
    NODE_DURATION,
    NODE_INPUTS,
    NODE_OUTPUTS,
    NODE_ATTRIBUTE,
    NODE_STORAGE
};
enum { ATTRIBUTE_NAME = 1, FIRST_VALUE = 3, STRING_VALUE = 29, LAST_VALUE = 32 };
enum { LOOK_BYTES = 1 << 20 }; /* of a node that is looked for */
static const uint64_t MESSAGE_LIMIT = (uint64_t)256 << 20;

/* ---- sniffing ---- */

/* Whether a GlobalMetadata begins so: with a version, "0.0.4", or with an attribute, which begins with its name. */
static bool begins_metadata(const unsigned char *p, size_t length, size_t size)
{
    size_t all = p[1], name = 0;
    bool is_version = p[0] == HD_PROTO_BYTES(1);
    if (!is_version && p[0] != HD_PROTO_BYTES(2)) return false;
    if (all == 0 || all + 2 > length || all + 2 > size) return false;
    if (!is_version) {
        name = 2;
        if (all < 3 || p[2] != HD_PROTO_BYTES(ATTRIBUTE_NAME) || p[3] == 0 || p[3] + name > all) return false;
        all = p[3];
    } else if (all > 16) {
        return false;
    }
    for (size_t i = 0; i < all; i++) {
        unsigned char c = p[2 + name + i];
        if (is_version ? (c < '0' || c > '9') && c != '.' : c <= ' ' || c > '~') return false;
    }
    return true;
}

/* The first message has a version and attributes, both optional; it and the start of the next message are valid
 * protobuf. */
bool chakra_is_proto(const unsigned char *head, size_t size)
{
    uint64_t length;
    size_t at = 0;
    if (!hd_proto_varint(&length, head, size, &at) || length < 3 || size - at < 3) return false;
    const unsigned char *p = head + at;
    if (!begins_metadata(p, length < size ? (size_t)length : size, size - at)) return false;
    /* after the metadata comes the first node: a length, then its id or name; or nothing */
    if (length >= size - at) return length == size - at || size == HD_INPUT_PEEK_BYTES;
    at += (size_t)length;
    if (!hd_proto_varint(&length, head, size, &at) || length == 0) return false;
    return at >= size || head[at] == HD_PROTO_VARINT(NODE_ID) || head[at] == HD_PROTO_BYTES(NODE_NAME) ||
           head[at] == HD_PROTO_VARINT(NODE_TYPE);
}

/* ---- attributes ---- */

typedef enum number_sort {
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    UINT,
    ZIGZAG,
    FIXED32,
    FIXED64,
    SFIXED32,
    SFIXED64,
    BOOL,
    TEXT,
    BYTES
} number_sort;

/* By the field number of the value: a value, then a list, of each type. */
static const uint8_t sort_of_value[] = {DOUBLE,  FLOAT,   INT32,    INT64,    UINT, UINT, ZIGZAG, ZIGZAG,
                                        FIXED32, FIXED64, SFIXED32, SFIXED64, BOOL, TEXT, BYTES};

static void put_value(hd_json_out *out, chakra_reader *r, number_sort sort, const hd_proto_field *f)
{
    uint64_t v = f->value;
    float single;
    switch (sort) {
    case DOUBLE: hd_json_put_double(out, hd_proto_double(v)); break;
    case FLOAT: {
        uint32_t bits = (uint32_t)v;
        memcpy(&single, &bits, sizeof single);
        hd_json_put_double(out, (double)single);
        break;
    }
    case INT32: hd_json_put_int(out, (int32_t)v); break;
    case INT64:
    case SFIXED64: hd_json_put_int(out, (int64_t)v); break;
    case SFIXED32: hd_json_put_int(out, (int32_t)(uint32_t)v); break;
    case ZIGZAG: hd_json_put_int(out, (int64_t)(v >> 1) ^ -(int64_t)(v & 1)); break;
    case BOOL: hd_json_put_text(out, v ? "true" : "false"); break;
    case TEXT: {
        hd_string text = {(const char *)f->data, f->size};
        if (!hd_utf8_valid(text.data, text.size, false))
            text = hd_builder_string(r->builder, hd_args_intern(&r->args, text.data, text.size));
        hd_json_put_string(out, text.data, text.size);
        break;
    }
    case BYTES: {
        hd_json_put_text(out, "\"");
        for (size_t i = 0; i < f->size; i++) {
            char hex[3];
            snprintf(hex, sizeof hex, "%02x", f->data[i]);
            hd_json_put_text(out, hex);
        }
        hd_json_put_text(out, "\"");
        break;
    }
    default: hd_json_put_unsigned(out, v); break;
    }
}

static unsigned width_of(number_sort sort)
{
    if (sort == DOUBLE || sort == FIXED64 || sort == SFIXED64) return 8;
    return sort == FLOAT || sort == FIXED32 || sort == SFIXED32 ? 4 : 0;
}

/* The values of a list, which are packed unless they are texts. false: they make no sense. */
static bool put_list(hd_json_out *out, chakra_reader *r, number_sort sort, const hd_proto_field *list)
{
    hd_proto_reader message = hd_proto_reader_of(list->data, list->size);
    hd_proto_field f;
    bool is_first = true;
    unsigned width = width_of(sort);
    hd_json_put_text(out, "[");
    while (hd_proto_next(&f, &message)) {
        bool is_packed = sort != TEXT && sort != BYTES && f.tag == HD_PROTO_BYTES(1);
        for (size_t at = 0; is_packed ? at < f.size : is_first || at == 0;) {
            hd_proto_field one = f;
            if (is_packed && width) {
                if (f.size - at < width) return false;
                one.value = hd_le_get(f.data + at, width);
                at += width;
            } else if (is_packed) {
                if (!hd_proto_varint(&one.value, f.data, f.size, &at)) return false;
            }
            if (!is_first) hd_json_put_text(out, ",");
            is_first = false;
            put_value(out, r, sort, &one);
            if (!is_packed) break;
        }
    }
    hd_json_put_text(out, "]");
    return !message.failed;
}

static void take_field(chakra_node *node, hd_json_span name, hd_json_span value)
{
    int64_t number;
    if (hd_json_span_is(name, "comm_type") && hd_json_span_int(&number, value)) node->collective = number;
    if (hd_json_span_is(name, "is_cpu_op")) {
        node->has_is_cpu = true;
        node->is_cpu = hd_json_span_is(value, "true") || hd_json_span_is(value, "1");
    } else if (hd_json_span_is(name, "tid")) {
        if (hd_json_span_int(&number, value)) node->thread = number;
    } else if (hd_json_span_is(name, "stream") || hd_json_span_is(name, "stream_id")) {
        if (hd_json_span_int(&number, value)) node->stream = number;
    } else if (hd_json_span_is(name, "scope")) {
        if (hd_json_span_int(&number, value)) node->scope = number;
    }
}

/* node NULL: of the metadata. false: it makes no sense. */
static bool take_attribute(chakra_reader *r, chakra_node *node, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    hd_json_out out = {0};
    hd_json_span name = {"", 0};
    hd_proto_field text = {0}; /* of one text, which needs no JSON */
    bool fine = true;
    while (hd_proto_next(&f, &message)) {
        unsigned number = hd_proto_number(&f);
        if (f.tag == HD_PROTO_BYTES(ATTRIBUTE_NAME)) name = (hd_json_span){(const char *)f.data, f.size};
        if (number < FIRST_VALUE || number > LAST_VALUE) continue;
        text = f.tag == HD_PROTO_BYTES(STRING_VALUE) && node ? f : (hd_proto_field){0};
        if (text.data) continue;
        number_sort sort = (number_sort)sort_of_value[(number - FIRST_VALUE) / 2];
        out.size = 0;
        if (number % 2)
            put_value(&out, r, sort, &f);
        else
            fine &= put_list(&out, r, sort, &f);
    }
    fine &= !message.failed && !out.failed;
    if (fine && text.data && hd_json_span_is(name, "cat")) {
        node->category = hd_args_intern(&r->args, (const char *)text.data, text.size);
    } else if (fine && text.data) {
        const uint32_t key_id = hd_args_intern(&r->args, name.data, name.size);
        hd_args_add(&r->args, key_id, HD_ARG_STRING, hd_args_intern(&r->args, (const char *)text.data, text.size),
                    HD_SCOPE_ARGS);
    }
    if (text.data) {
        free(out.data);
        return fine;
    }
    static const char padding[HD_JSON_PADDING];
    size_t size = out.size;
    hd_json_put(&out, padding, sizeof padding);
    if (fine && !out.failed && size) {
        hd_json_span value = {out.data, size};
        uint32_t key = hd_args_intern(&r->args, name.data, name.size);
        if (node) {
            take_field(node, name, value);
            hd_args_json(&r->args, key, value);
        } else {
            hd_builder_metadata(r->builder, key, hd_builder_intern(r->builder, value.data, value.size), false);
            if (hd_json_span_is(name, "pid")) hd_json_span_int(&r->pid, value);
        }
    }
    free(out.data);
    return fine;
}

/* ---- nodes ---- */

/* {"values":…,"shapes":…,"types":…}, which are texts. */
static bool take_tensors(chakra_reader *r, const char *key, const hd_proto_field *field)
{
    static const char *const names[] = {"values", "shapes", "types"};
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    hd_json_out out = {0};
    hd_json_put_text(&out, "{");
    while (hd_proto_next(&f, &message)) {
        unsigned number = hd_proto_number(&f);
        if ((f.tag & 7) != HD_WIRE_BYTES || number < 1 || number > 3) continue;
        hd_json_put_text(&out, out.size > 1 ? ",\"" : "\"");
        hd_json_put_text(&out, names[number - 1]);
        hd_json_put_text(&out, "\":");
        put_value(&out, r, TEXT, &f);
    }
    hd_json_put_text(&out, "}");
    if (!out.failed) {
        const uint32_t key_id = hd_builder_intern_text(r->builder, key);
        hd_args_add(&r->args, key_id, HD_ARG_JSON, hd_builder_intern(r->builder, out.data, out.size), HD_SCOPE_ARGS);
    }
    free(out.data);
    return !message.failed && !out.failed;
}

/* Packed, or one alone. */
static hd_status take_edges(chakra_reader *r, chakra_dependency kind, const hd_proto_field *f, bool *fine,
                            hd_error *err)
{
    uint64_t id;
    if ((f->tag & 7) == HD_WIRE_VARINT) return chakra_add_edge(r, kind, f->value, err);
    for (size_t at = 0; at < f->size;) {
        if (!hd_proto_varint(&id, f->data, f->size, &at)) {
            *fine = false;
            return HD_OK;
        }
        HD_TRY(chakra_add_edge(r, kind, id, err));
    }
    return HD_OK;
}

static bool micros(hd_fixed *out, uint64_t value)
{
    *out = (hd_fixed){.whole = value <= INT64_MAX / 1000 ? (int64_t)value * 1000 : INT64_MAX};
    return value > 0;
}

static hd_status take_node_field(chakra_reader *r, chakra_node *node, const hd_proto_field *f, bool *fine,
                                 hd_error *err)
{
    switch (f->tag >> 3) {
    case NODE_ID: node->id = f->value; break;
    case NODE_NAME: node->name = hd_args_intern(&r->args, (const char *)f->data, f->size); break;
    case NODE_TYPE: node->type = f->value; break;
    case NODE_CONTROL: return take_edges(r, CHAKRA_CONTROL, f, fine, err);
    case NODE_DATA: return take_edges(r, CHAKRA_DATA, f, fine, err);
    case NODE_START: node->has_start = micros(&node->start, f->value); break;
    case NODE_DURATION: node->has_duration = micros(&node->duration, f->value); break;
    case NODE_INPUTS: *fine &= take_tensors(r, "inputs", f); break;
    case NODE_OUTPUTS: *fine &= take_tensors(r, "outputs", f); break;
    case NODE_ATTRIBUTE: *fine &= take_attribute(r, node, f); break;
    default: {
        hd_json_out out = {0};
        put_value(&out, r, (f->tag & 7) == HD_WIRE_BYTES ? BYTES : UINT, f);
        uint32_t key = f->tag >> 3 == NODE_STORAGE ? hd_builder_intern_text(r->builder, "storage")
                                                   : hd_intern_format(r->builder, "field %" PRIu32, f->tag >> 3);
        if (!out.failed)
            hd_args_add(&r->args, key, HD_ARG_JSON, hd_builder_intern(r->builder, out.data, out.size), HD_SCOPE_ARGS);
        free(out.data);
        break;
    }
    }
    return HD_OK;
}

/* Fields of another wire type than the one of the schema make no sense. */
static bool is_well_typed(const hd_proto_field *f)
{
    unsigned number = hd_proto_number(f), wire = f->tag & 7;
    bool is_text = number == NODE_NAME || (number >= NODE_INPUTS && number <= NODE_STORAGE);
    if (number == NODE_CONTROL || number == NODE_DATA) return wire == HD_WIRE_BYTES || wire == HD_WIRE_VARINT;
    return number > NODE_STORAGE || wire == (is_text ? HD_WIRE_BYTES : HD_WIRE_VARINT);
}

/* As Kineto has it, so that the node counts as communication. */
static const char *collective_name(const chakra_node *node)
{
    static const char *const names[] = {"allreduce", "reduce",     "allgather",     "gather",        "scatter",
                                        "broadcast", "all_to_all", "reducescatter", "reducescatter", "barrier"};
    if (node->type == CHAKRA_SEND) return "send";
    if (node->type == CHAKRA_RECEIVE) return "recv";
    if (node->type != CHAKRA_COLLECTIVE) return NULL;
    bool is_known = node->collective >= 0 && node->collective < (int64_t)(sizeof names / sizeof *names);
    return is_known ? names[node->collective] : "collective";
}

static void add_edges(chakra_reader *r, chakra_dependency kind)
{
    hd_json_out out = {0};
    for (size_t i = r->first_edge; i < r->edge_count; i++) {
        if (r->edges[i].kind != kind) continue;
        hd_json_put_text(&out, out.size ? "," : "[");
        hd_json_put_unsigned(&out, r->edges[i].from);
    }
    if (out.size) hd_json_put_text(&out, "]");
    if (out.size && !out.failed)
        hd_args_add(&r->args, r->key_edges[kind], HD_ARG_JSON, hd_builder_intern(r->builder, out.data, out.size),
                    HD_SCOPE_ARGS);
    free(out.data);
}

static hd_status see_node(chakra_reader *r, const uint8_t *data, size_t size, uint64_t offset, hd_error *err)
{
    hd_proto_reader message = hd_proto_reader_of(data, size);
    hd_proto_field f;
    chakra_node node;
    bool fine = true;
    chakra_node_init(&node);
    while (fine && hd_proto_next(&f, &message)) {
        fine = is_well_typed(&f);
        if (fine) HD_TRY(take_node_field(r, &node, &f, &fine, err));
    }
    if (!fine || message.failed || size == 0) {
        r->edge_count = r->first_edge; /* nothing of it */
        r->args.count = 0;
        return chakra_damage(r, offset, err);
    }
    if (node.id <= INT64_MAX) hd_args_add(&r->args, r->key_id, HD_ARG_INT, (int64_t)node.id, HD_SCOPE_ARGS);
    hd_args_add(&r->args, r->key_type, HD_ARG_STRING, node.type < CHAKRA_TYPES ? r->types[node.type] : r->unknown,
                HD_SCOPE_ARGS);
    add_edges(r, CHAKRA_CONTROL);
    add_edges(r, CHAKRA_DATA);
    const char *collective = collective_name(&node);
    if (collective) hd_args_string(&r->args, "Collective name", hd_builder_intern_text(r->builder, collective));
    if (node.name == HD_STRING_NONE) node.name = hd_builder_intern_text(r->builder, "");
    return chakra_add_node(r, &node, err);
}

static hd_status see_metadata(chakra_reader *r, const uint8_t *data, size_t size, hd_error *err)
{
    hd_proto_reader message = hd_proto_reader_of(data, size);
    hd_proto_field f;
    bool fine = true;
    while (hd_proto_next(&f, &message)) {
        hd_json_out out = {0};
        if (f.tag == HD_PROTO_BYTES(2)) fine &= take_attribute(r, NULL, &f);
        if (f.tag != HD_PROTO_BYTES(1)) continue;
        put_value(&out, r, TEXT, &f);
        if (!out.failed) {
            const uint32_t key_id = hd_builder_intern_text(r->builder, "version");
            hd_builder_metadata(r->builder, key_id, hd_builder_intern(r->builder, out.data, out.size), false);
        }
        free(out.data);
    }
    return fine && !message.failed ? HD_OK : chakra_damage(r, 0, err);
}

/* ---- the stream ---- */

/* The begin and end of the message whose length is at `offset`. HD_END: none, or it is cut. */
static hd_status find_message(uint64_t *out_begin, uint64_t *out_end, hd_window *window, uint64_t offset, hd_error *err)
{
    uint64_t size = window->pieces->size, length;
    size_t header = size - offset < HD_PROTO_VARINT_BYTES ? (size_t)(size - offset) : HD_PROTO_VARINT_BYTES, at = 0;
    const uint8_t *data = hd_window_at(window, offset, header, err);
    if (!data) return err->status;
    if (!hd_proto_varint(&length, data, header, &at) || length > size - offset - at || length > MESSAGE_LIMIT)
        return HD_END;
    *out_begin = offset + at;
    *out_end = *out_begin + length;
    return HD_OK;
}

/* Whether a message is a plausible node: its fields have the right types, it begins with an id and has a name. */
static bool is_whole_node(const uint8_t *data, size_t size)
{
    hd_proto_reader message = hd_proto_reader_of(data, size);
    hd_proto_field f;
    bool is_named = false;
    if (!size || *data != HD_PROTO_VARINT(NODE_ID)) return false;
    while (hd_proto_next(&f, &message)) {
        if (!is_well_typed(&f)) return false;
        is_named |= f.tag == HD_PROTO_BYTES(NODE_NAME);
    }
    return is_named && !message.failed;
}

/* Whether such a node is at `offset`, or the file ends there. */
static hd_status looks_like_node(bool *out, chakra_reader *r, hd_window *window, uint64_t offset, hd_error *err)
{
    uint64_t begin = offset, end = offset;
    *out = offset == window->pieces->size;
    if (*out) return HD_OK;
    hd_status status = find_message(&begin, &end, window, offset, err);
    if (status == HD_END || (status == HD_OK && (begin == end || end - begin > LOOK_BYTES))) return HD_OK;
    HD_TRY(status);
    const uint8_t *data = hd_window_at(window, begin, 1, err);
    if (data && *data != HD_PROTO_VARINT(NODE_ID)) return HD_OK;
    if (data) data = hd_window_at(window, begin, (size_t)(end - begin), err);
    if (!data) return err->status;
    r->scanned += end - begin;
    *out = is_whole_node(data, (size_t)(end - begin));
    return HD_OK;
}

/* Where to continue after an invalid message at *offset: at `end`, if a node is there, else at the next place with a
 * node, or at the end of the file. end 0: unknown. */
static hd_status find_next(uint64_t *offset, uint64_t end, chakra_reader *r, hd_window *window, hd_error *err)
{
    uint64_t place = *offset, size = window->pieces->size;
    bool fits = false;
    if (end) HD_TRY(looks_like_node(&fits, r, window, end, err));
    for (*offset = end; !fits; *offset = place) {
        bool is_much = r->scanned / 8 > size + LOOK_BYTES; /* the rest is lost */
        place = is_much ? size : place + 1;
        r->is_cut |= is_much;
        HD_TRY(looks_like_node(&fits, r, window, place, err));
    }
    return HD_OK;
}

/* *offset: of a message; out, of the next. */
static hd_status read_message(chakra_reader *r, hd_window *window, uint64_t *offset, hd_error *err)
{
    uint64_t begin = *offset, end = 0, damaged = r->damaged;
    hd_status status = find_message(&begin, &end, window, *offset, err);
    if (status == HD_END) {
        HD_TRY(find_next(offset, 0, r, window, err));
        r->is_cut |= *offset == window->pieces->size;
        return r->is_cut ? HD_OK : chakra_damage(r, begin, err);
    }
    HD_TRY(status);
    size_t length = (size_t)(end - begin);
    const uint8_t *data = length ? hd_window_at(window, begin, length, err) : (const uint8_t *)"";
    if (!data) return err->status;
    HD_TRY(*offset == 0 ? see_metadata(r, data, length, err) : see_node(r, data, length, begin, err));
    if (r->damaged > damaged) return find_next(offset, end, r, window, err);
    *offset = end;
    return HD_OK;
}

static hd_status read_messages(chakra_reader *r, hd_window *window, hd_input *input, hd_error *err)
{
    for (uint64_t offset = 0; offset < window->pieces->size;) {
        HD_TRY(read_message(r, window, &offset, err));
        if (r->options->progress && r->seen_count % 65536 == 0)
            r->options->progress(r->options->progress_user, offset, hd_input_size_bytes(input));
    }
    r->is_cut |= !r->seen_count && !r->damaged; /* every trace has a root */
    return HD_OK;
}

static void intern_texts(chakra_reader *r)
{
    static const char *const types[CHAKRA_TYPES] = {
        "INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
        "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",  "BATCH_NODE",     "CHECKPOINT_NODE"};
    for (size_t i = 0; i < CHAKRA_TYPES; i++) r->types[i] = hd_builder_intern_text(r->builder, types[i]);
    r->unknown = hd_builder_intern_text(r->builder, "unknown");
    r->key_id = hd_builder_intern_text(r->builder, "id");
    r->key_type = hd_builder_intern_text(r->builder, "type");
    r->key_edges[CHAKRA_CONTROL] = hd_builder_intern_text(r->builder, "ctrl_deps");
    r->key_edges[CHAKRA_DATA] = hd_builder_intern_text(r->builder, "data_deps");
}

hd_status chakra_read_proto(chakra_reader *r, hd_input *input, hd_error *err)
{
    hd_pieces pieces = {0};
    hd_error own = {0};
    if (!err) err = &own;
    intern_texts(r);
    HD_TRY(hd_pieces_open(&pieces, input, err));
    hd_window window = {.pieces = &pieces};
    hd_status status = read_messages(r, &window, input, err);
    r->read_bytes = pieces.size;
    hd_window_deinit(&window);
    hd_pieces_close(&pieces);
    return status;
}
