/* frames.c - stacks of the dictionary as nodes of the tree of frames */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/otlp/otlp.h"

enum { DEPTH_LIMIT = 1 << 16, LINES_LIMIT = 256 }; /* of a stack, of a location: hostile ones would multiply */

/* ---- mappings ---- */

typedef struct mapping_message {
    hd_proto_head head;
    uint64_t start, end, offset, file;
    hd_status status;
    otlp_reader *r;
    hd_string build_id;
} mapping_message;

static const hd_proto_member mapping_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, start),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, end),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, offset),
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, file),
    [HD_PROTO_VARINT(5)] = {HD_PUT_EACH, 0},
    [HD_PROTO_BYTES(5)] = {HD_PUT_EACH, 0},
};
static const hd_proto_schema mapping_schema = {mapping_members, HD_PROTO_COUNT(mapping_members)};

/* The build-id that symbols are found by: the linker's, else the hash that the profiler made of the file. */
static hd_status take_build_id(void *user, const hd_proto_field *field)
{
    mapping_message *m = user;
    uint64_t index;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    for (size_t at = 0; hd_proto_repeated(&index, field, HD_WIRE_VARINT, &at, &message);) {
        hd_string gnu = otlp_attribute_text(m->r, index, "process.executable.build_id.gnu");
        if (gnu.size) m->build_id = gnu;
    }
    return HD_OK;
}

hd_status otlp_read_mappings(otlp_reader *r)
{
    const otlp_list *table = &r->tables[OTLP_MAPPINGS];
    for (size_t i = 0; i < table->count; i++) {
        mapping_message m = {.r = r};
        hd_proto_reader message = hd_proto_reader_of(table->at[i].data, table->at[i].size);
        HD_TRY(hd_proto_walk(&m, &message, &mapping_schema, take_build_id, &m));
        HD_TRY(otlp_check(r, &message, &m.head));
        hd_mapping *mapping = hd_mappings_add(&r->mappings);
        if (!mapping) return HD_NOMEM(r->err);
        *mapping = (hd_mapping){m.start, m.end, m.offset, otlp_string(r, m.file), m.build_id, i};
    }
    return HD_OK;
}

/* ---- locations ---- */

typedef struct line_message {
    hd_proto_head head;
    uint64_t function, line, column;
} line_message;

static const hd_proto_member line_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, line_message, function),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, line_message, line),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, line_message, column),
};

typedef struct function_message {
    hd_proto_head head;
    uint64_t name, system_name, file, line;
} function_message;

static const hd_proto_member function_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, function_message, name),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, function_message, system_name),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, function_message, file),
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, function_message, line),
};

static hd_status add_frame(otlp_reader *r, uint32_t name, hd_frame_kind kind)
{
    if (name == HD_NONE || r->frame_count >= UINT32_MAX ||
        !hd_grow((void **)&r->frames, &r->frame_capacity, r->frame_count, sizeof *r->frames))
        return HD_NOMEM(r->err);
    r->frames[r->frame_count++] = (otlp_frame){name, kind};
    return HD_OK;
}

/* A frame of a function, at a line. */
static hd_status add_line(void *user, const hd_proto_field *field)
{
    otlp_reader *r = user;
    line_message l = {0};
    function_message f = {0};
    size_t repaired;
    hd_frame_kind kind;
    hd_status status;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {line_members, HD_PROTO_COUNT(line_members)};
    if (hd_proto_number(field) != 3) return HD_OK;
    HD_TRY(hd_proto_walk(&l, &message, &schema, NULL, NULL));
    HD_TRY(otlp_check(r, &message, &l.head));
    if (otlp_entry(&message, r, OTLP_FUNCTIONS, l.function, &status)) {
        schema = (hd_proto_schema){function_members, HD_PROTO_COUNT(function_members)};
        HD_TRY(hd_proto_walk(&f, &message, &schema, NULL, NULL));
        HD_TRY(otlp_check(r, &message, &f.head));
    }
    HD_TRY(status);
    if (f.name >= r->tables[OTLP_STRINGS].count || f.file >= r->tables[OTLP_STRINGS].count)
        HD_TRY(otlp_count(r, OTLP_MISSING, 1, field->data));
    const hd_source_line at = {.function = otlp_string(r, f.name),
                               .mangled = otlp_string(r, f.system_name),
                               .file = otlp_string(r, f.file),
                               .line = l.line,
                               .column = l.column};
    uint32_t id = hd_mappings_line(&r->mappings, &kind, &repaired, &r->samples, &at);
    HD_TRY(otlp_count(r, OTLP_UTF8, repaired, field->data));
    return add_frame(r, id, kind);
}

typedef struct location_message {
    hd_proto_head head;
    uint64_t mapping, address;
} location_message;

static const hd_proto_member location_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, location_message, mapping),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, location_message, address),
    [HD_PROTO_BYTES(3)] = {HD_PUT_EACH, 0},
    [HD_PROTO_VARINT(4)] = {HD_PUT_PASS, 0}, /* the type of the frame: native, kernel, CPython … */
    [HD_PROTO_BYTES(4)] = {HD_PUT_PASS, 0},
};

/* The lines of a location are from the callee to its callers. */
static hd_status make_location(otlp_reader *r, uint64_t index, otlp_location *out)
{
    location_message m = {0};
    hd_frame_kind kind;
    const hd_proto_span span = r->tables[OTLP_LOCATIONS].at[index];
    hd_proto_reader message = hd_proto_reader_of(span.data, span.size);
    hd_proto_schema schema = {location_members, HD_PROTO_COUNT(location_members)};
    const size_t first = r->frame_count;
    HD_TRY(hd_proto_walk(&m, &message, &schema, add_line, r));
    HD_TRY(otlp_check(r, &message, &m.head));
    if (r->frame_count - first > LINES_LIMIT) {
        r->frame_count = first + LINES_LIMIT;
        HD_TRY(otlp_count(r, OTLP_STACK_CUT, 1, span.data));
    }
    if (r->frame_count == first) {
        const bool has_mapping = m.mapping && m.mapping < r->mappings.count;
        if (m.mapping && !has_mapping) HD_TRY(otlp_count(r, OTLP_MISSING, 1, span.data));
        uint32_t name = hd_mappings_name(&r->mappings, &kind, &r->samples, m.address,
                                         has_mapping ? &r->mappings.list[m.mapping] : NULL);
        HD_TRY(add_frame(r, name, kind));
    }
    for (size_t i = first, k = r->frame_count - 1; i < k; i++, k--) {
        otlp_frame f = r->frames[i];
        r->frames[i] = r->frames[k];
        r->frames[k] = f;
    }
    *out = (otlp_location){(uint32_t)first, (uint32_t)(r->frame_count - first), true};
    return HD_OK;
}

/* ---- stacks ---- */

static hd_status push_location(otlp_reader *r, uint32_t *node, uint64_t index, const void *place)
{
    hd_stacks *stacks = r->samples.stacks;
    if (index >= r->tables[OTLP_LOCATIONS].count) {
        *node = hd_stacks_push(stacks, *node, hd_stacks_name(stacks, "[unknown]", 9), HD_FRAME_NATIVE);
        return *node == HD_NONE ? HD_NOMEM(r->err) : otlp_count(r, OTLP_MISSING, 1, place);
    }
    if (hd_stacks_at(stacks, *node).depth >= DEPTH_LIMIT) return otlp_count(r, OTLP_STACK_CUT, 1, place);
    otlp_location *l = &r->locations[index];
    if (!l->made) HD_TRY(make_location(r, index, l));
    for (uint32_t i = 0; i < l->count; i++) {
        const otlp_frame *f = &r->frames[l->first + i];
        *node = hd_stacks_push(stacks, *node, f->name, f->kind);
    }
    return *node == HD_NONE ? HD_NOMEM(r->err) : HD_OK;
}

/* location_indices has the leaf first. */
static hd_status make_stack(otlp_reader *r, uint32_t *out, hd_proto_reader *message)
{
    uint64_t *list = NULL, index;
    size_t count = 0, capacity = 0;
    hd_proto_head head = {0};
    hd_proto_field f;
    bool fine = true;
    while (hd_proto_next(&f, message) && fine) {
        const bool is_list = hd_proto_number(&f) == 1;
        head.unknown += !is_list;
        for (size_t at = 0; is_list && fine && hd_proto_repeated(&index, &f, HD_WIRE_VARINT, &at, message);) {
            fine = hd_grow((void **)&list, &capacity, count, sizeof *list);
            if (fine) list[count++] = index;
        }
    }
    hd_status status = fine ? otlp_check(r, message, &head) : HD_NOMEM(r->err);
    *out = HD_STACK_NONE;
    for (size_t i = count; i-- > 0 && status == HD_OK;) status = push_location(r, out, list[i], message->data);
    free(list);
    return status;
}

hd_status otlp_node_of(uint32_t *out, otlp_reader *r, uint64_t stack)
{
    hd_proto_reader message;
    hd_status status;
    *out = HD_STACK_NONE;
    if (stack == 0) return HD_OK; /* no stack */
    if (stack < r->tables[OTLP_STACKS].count && r->nodes[stack]) {
        *out = r->nodes[stack] - 1;
        return HD_OK;
    }
    if (!otlp_entry(&message, r, OTLP_STACKS, stack, &status)) return status;
    HD_TRY(make_stack(r, out, &message));
    r->nodes[stack] = *out + 1;
    return HD_OK;
}
