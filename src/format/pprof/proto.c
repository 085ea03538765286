/* proto.c - pprof's protobuf -> samples
 *
 * Format   perftools.profiles.Profile (profile.proto of github.com/google/pprof), mostly in gzip; written by Go, pprof
 *          itself, Rust's and Python's profilers, perf_data_converter. docs/formats/pprof.md has the mapping
 * Sniffs   fields of a Profile, and types of values among them
 * Maps     sample -> one sample for each of its values, named by the value's type; location -> frames, inlined callees
 *          innermost; label -> argument
 * Units    values unchanged         Shapes   n samples of k values -> n * k rows
 * Limits   PPROF_VALUES types, HD_STACK_MORE labels a sample
 * Damage   complete parts of an incomplete message are read; missing references are [unknown]
 *
 * The message is walked twice, since locations, functions and strings come after the samples.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/pprof/pprof.h"

enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING };
enum { PROFILE_PERIOD_TYPE = 11, PROFILE_COMMENT = 13, LAST_FIELD = 15 };

/* Messages by their id, which mostly counts from 1. */
typedef struct ids {
    uint32_t *dense; /* index + 1, 0: none */
    size_t count, capacity;
    hd_map sparse;
} ids;

/* Its frames, from the outermost: frames[first … first + count), made when a sample first has it. */
typedef struct location {
    hd_proto_span message;
    uint32_t first, count;
    bool made;
} location;

typedef struct frame {
    uint32_t name;
    hd_frame_kind kind;
} frame;

typedef struct reader {
    pprof_profile *p;
    hd_proto_span *strings, *functions, *types;
    size_t string_count, string_capacity, function_count, function_capacity, type_count, type_capacity;
    location *locations;
    size_t location_count, location_capacity;
    ids function_ids, location_ids, mapping_ids;
    uint32_t *interned; /* by string, 0: not yet */
    frame *frames;
    size_t frame_count, frame_capacity;
    bool is_cut;
    /* the sample at hand, and the one before */
    uint64_t *at, *before; /* locations, the leaf first */
    uint32_t *nodes;       /* of `before`: behind its n outermost locations */
    size_t at_count, at_capacity, before_count, before_capacity, node_capacity;
    int64_t *values;
    size_t value_count, value_capacity;
    hd_memo stacks; /* bytes of packed locations -> node */
} reader;

/* ---- messages by id ---- */

static bool ids_add(ids *all, uint64_t id, uint32_t index)
{
    if (id >= 2 * (uint64_t)index + 1024) return hd_map_set(&all->sparse, id, 0, index);
    while (all->count <= id) {
        if (!hd_grow((void **)&all->dense, &all->capacity, all->count, sizeof *all->dense)) return false;
        all->dense[all->count++] = 0;
    }
    all->dense[id] = index + 1;
    return true;
}

static inline bool ids_find(uint32_t *out, const ids *all, uint64_t id)
{
    if (id < all->count && all->dense[id]) {
        *out = all->dense[id] - 1;
        return true;
    }
    return all->sparse.count && hd_map_get(out, &all->sparse, id, 0);
}

static void ids_deinit(ids *all)
{
    free(all->dense);
    hd_map_deinit(&all->sparse);
}

/* ---- damage ---- */

/* A message that is cut off by the end of the input is reported once. */
static hd_status check(reader *r, const hd_proto_reader *message, const hd_proto_head *head)
{
    HD_TRY(pprof_count(r->p, PPROF_UNKNOWN, head->unknown, message->data));
    if (!message->failed) return HD_OK;
    bool by_cut = r->is_cut && message->data + message->size == r->p->data + r->p->size;
    return by_cut ? HD_OK : pprof_count(r->p, PPROF_DAMAGED, 1, message->data + message->at);
}

static hd_string string_at(const reader *r, uint64_t index)
{
    if (index >= r->string_count) return (hd_string){"", 0};
    return (hd_string){(const char *)r->strings[index].data, r->strings[index].size};
}

/* The builder's id of a string. */
static hd_status intern_string(reader *r, uint32_t *out, uint64_t index, const void *place)
{
    if (index >= r->string_count) {
        *out = hd_builder_intern_text(r->p->builder, "[unknown]");
        return pprof_count(r->p, PPROF_MISSING, 1, place);
    }
    if (!r->interned[index]) HD_TRY(pprof_intern(&r->interned[index], r->p, string_at(r, index)));
    *out = r->interned[index];
    return HD_OK;
}

/* ---- types ---- */

typedef struct type_message {
    hd_proto_head head;
    uint64_t type, unit;
} type_message;

static const hd_proto_member type_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, type_message, type),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, type_message, unit),
};
static const hd_proto_schema type_schema = {type_members, HD_PROTO_COUNT(type_members)};

static hd_status read_type(reader *r, type_message *out, hd_proto_span span)
{
    hd_proto_reader message = hd_proto_reader_of(span.data, span.size);
    *out = (type_message){0};
    HD_TRY(hd_proto_walk(out, &message, &type_schema, NULL, NULL));
    return check(r, &message, &out->head);
}

static hd_status add_types(reader *r, uint64_t default_type)
{
    pprof_profile *p = r->p;
    char text[32];
    hd_string wanted = string_at(r, default_type);
    p->first_type = r->type_count ? r->type_count - 1 : 0; /* as pprof has it */
    for (size_t i = 0; i < r->type_count; i++) {
        type_message t;
        HD_TRY(read_type(r, &t, r->types[i]));
        hd_string name = string_at(r, t.type), unit = string_at(r, t.unit);
        if (wanted.size && name.size == wanted.size && memcmp(name.data, wanted.data, name.size) == 0)
            p->first_type = i;
        if (t.type >= r->string_count) HD_TRY(pprof_count(p, PPROF_MISSING, 1, r->types[i].data));
        if (!name.size) name = (hd_string){text, (size_t)snprintf(text, sizeof text, "value %zu", i + 1)};
        HD_TRY(pprof_add_type(p, name, unit));
    }
    if (!p->type_count) HD_TRY(pprof_add_type(p, (hd_string){"value 1", 7}, (hd_string){"", 0}));
    if (p->first_type >= p->type_count) p->first_type = p->type_count - 1;
    return HD_OK;
}

/* ---- tables ---- */

typedef struct id_message {
    hd_proto_head head;
    uint64_t id;
} id_message;

static bool add_span(hd_proto_span **list, size_t *count, size_t *capacity, const hd_proto_field *field)
{
    if (*count >= UINT32_MAX - 1 || !hd_grow((void **)list, capacity, *count, sizeof **list)) return false;
    (*list)[(*count)++] = (hd_proto_span){field->data, field->size};
    return true;
}

/* The id of a function or location, which is its first field. */
static uint64_t id_of(const hd_proto_field *message)
{
    hd_proto_reader m = hd_proto_reader_of(message->data, message->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &m)) {
        if (f.tag == HD_PROTO_VARINT(1)) return f.value;
    }
    return 0;
}

typedef struct mapping_message {
    hd_proto_head head;
    uint64_t id, start, end, offset, file, build_id;
} mapping_message;

/* 7 to 10 say how far its addresses were given names. */
static const hd_proto_member mapping_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, id),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, start),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, end),
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, offset),
    [HD_PROTO_VARINT(5)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, file),
    [HD_PROTO_VARINT(6)] = HD_MEMBER(HD_PUT_VALUE, mapping_message, build_id),
    [HD_PROTO_VARINT(7)] = {HD_PUT_PASS, 0},
    [HD_PROTO_VARINT(8)] = {HD_PUT_PASS, 0},
    [HD_PROTO_VARINT(9)] = {HD_PUT_PASS, 0},
    [HD_PROTO_VARINT(10)] = {HD_PUT_PASS, 0},
};

/* Texts follow once all strings were read (name_mappings): until then `size` has their numbers. */
static hd_status add_mapping(reader *r, const hd_proto_field *field)
{
    mapping_message m = {0};
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {mapping_members, HD_PROTO_COUNT(mapping_members)};
    HD_TRY(hd_proto_walk(&m, &message, &schema, NULL, NULL));
    HD_TRY(check(r, &message, &m.head));
    hd_mapping *mapping = hd_mappings_add(&r->p->mappings);
    if (!mapping || !ids_add(&r->mapping_ids, m.id, (uint32_t)r->p->mappings.count - 1)) return HD_NOMEM(r->p->err);
    mapping->id = m.id;
    mapping->start = m.start;
    mapping->end = m.end;
    mapping->offset = m.offset;
    mapping->file.size = (size_t)m.file;
    mapping->build_id.size = (size_t)m.build_id;
    return HD_OK;
}

static void name_mappings(reader *r)
{
    for (size_t i = 0; i < r->p->mappings.count; i++) {
        hd_mapping *m = &r->p->mappings.list[i];
        m->file = string_at(r, m->file.size);
        m->build_id = string_at(r, m->build_id.size);
    }
}

static hd_status each_table_entry(void *user, const hd_proto_field *field)
{
    reader *r = user;
    bool fine = true;
    switch (hd_proto_number(field)) {
    case PROFILE_TYPE: fine = add_span(&r->types, &r->type_count, &r->type_capacity, field); break;
    case PROFILE_STRING:
        if (field->value) break; /* a text that is cut off would be another one */
        fine = add_span(&r->strings, &r->string_count, &r->string_capacity, field);
        break;
    case PROFILE_FUNCTION:
        fine = add_span(&r->functions, &r->function_count, &r->function_capacity, field) &&
               ids_add(&r->function_ids, id_of(field), (uint32_t)r->function_count - 1);
        break;
    case PROFILE_LOCATION:
        fine = r->location_count < UINT32_MAX - 1 &&
               hd_grow((void **)&r->locations, &r->location_capacity, r->location_count, sizeof *r->locations) &&
               ids_add(&r->location_ids, id_of(field), (uint32_t)r->location_count);
        if (fine) r->locations[r->location_count++] = (location){.message = {field->data, field->size}};
        break;
    case PROFILE_MAPPING: return add_mapping(r, field);
    default: break;
    }
    return fine ? HD_OK : HD_NOMEM(r->p->err);
}

/* ---- frames ---- */

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
    uint64_t id, name, system_name, file, line;
} function_message;

/* system_name is the name before it was demangled, start_line where the function begins. */
static const hd_proto_member function_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, function_message, id),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, function_message, name),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, function_message, system_name),
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, function_message, file),
    [HD_PROTO_VARINT(5)] = HD_MEMBER(HD_PUT_VALUE, function_message, line),
};

static hd_status add_frame(reader *r, uint32_t name, hd_frame_kind kind)
{
    if (name == HD_NONE || !hd_grow((void **)&r->frames, &r->frame_capacity, r->frame_count, sizeof *r->frames))
        return HD_NOMEM(r->p->err);
    r->frames[r->frame_count++] = (frame){name, kind};
    return HD_OK;
}

/* A frame of a function, at a line. */
static hd_status add_line(void *user, const hd_proto_field *field)
{
    reader *r = user;
    pprof_profile *p = r->p;
    line_message l = {0};
    function_message f = {0};
    uint32_t index;
    size_t repaired;
    hd_frame_kind kind;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {line_members, HD_PROTO_COUNT(line_members)};
    HD_TRY(hd_proto_walk(&l, &message, &schema, NULL, NULL));
    HD_TRY(check(r, &message, &l.head));
    if (ids_find(&index, &r->function_ids, l.function)) {
        message = hd_proto_reader_of(r->functions[index].data, r->functions[index].size);
        schema = (hd_proto_schema){function_members, HD_PROTO_COUNT(function_members)};
        HD_TRY(hd_proto_walk(&f, &message, &schema, NULL, NULL));
        HD_TRY(check(r, &message, &f.head));
    } else {
        HD_TRY(pprof_count(p, PPROF_MISSING, 1, field->data));
    }
    if (f.name >= r->string_count || f.file >= r->string_count) HD_TRY(pprof_count(p, PPROF_MISSING, 1, message.data));
    const hd_source_line at = {.function = string_at(r, f.name),
                               .mangled = string_at(r, f.system_name),
                               .file = string_at(r, f.file),
                               .line = l.line,
                               .column = l.column};
    uint32_t id = hd_mappings_line(&p->mappings, &kind, &repaired, &p->samples, &at);
    HD_TRY(pprof_count(p, PPROF_UTF8, repaired, message.data));
    return add_frame(r, id, kind);
}

typedef struct location_message {
    hd_proto_head head;
    uint64_t id, mapping, address;
} location_message;

static const hd_proto_member location_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, location_message, id),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, location_message, mapping),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, location_message, address),
    [HD_PROTO_BYTES(4)] = {HD_PUT_EACH, 0},
    [HD_PROTO_VARINT(5)] = {HD_PUT_PASS, 0}, /* is_folded: others had the address, too */
};

/* The frames of a location; its lines are from the callee to its callers. */
static hd_status make_location(reader *r, location *l)
{
    location_message m = {0};
    uint32_t index;
    hd_frame_kind kind;
    hd_proto_reader message = hd_proto_reader_of(l->message.data, l->message.size);
    hd_proto_schema schema = {location_members, HD_PROTO_COUNT(location_members)};
    size_t first = r->frame_count;
    HD_TRY(hd_proto_walk(&m, &message, &schema, add_line, r));
    HD_TRY(check(r, &message, &m.head));
    if (r->frame_count == first) {
        const hd_mapping *mapping = NULL;
        if (m.mapping && ids_find(&index, &r->mapping_ids, m.mapping)) mapping = &r->p->mappings.list[index];
        if (m.mapping && !mapping) HD_TRY(pprof_count(r->p, PPROF_MISSING, 1, l->message.data));
        uint32_t name = hd_mappings_name(&r->p->mappings, &kind, &r->p->samples, m.address, mapping);
        HD_TRY(add_frame(r, name, kind));
    }
    if (r->frame_count > UINT32_MAX) return HD_NOMEM(r->p->err);
    for (size_t i = first, k = r->frame_count - 1; i < k; i++, k--) {
        frame f = r->frames[i];
        r->frames[i] = r->frames[k];
        r->frames[k] = f;
    }
    l->first = (uint32_t)first;
    l->count = (uint32_t)(r->frame_count - first);
    l->made = true;
    return HD_OK;
}

static hd_status push_location(reader *r, uint32_t *node, uint64_t id, const void *place)
{
    uint32_t index;
    hd_stacks *stacks = r->p->samples.stacks;
    if (!ids_find(&index, &r->location_ids, id)) {
        *node = hd_stacks_push(stacks, *node, hd_stacks_name(stacks, "[unknown]", 9), HD_FRAME_NATIVE);
        return *node == HD_NONE ? HD_NOMEM(r->p->err) : pprof_count(r->p, PPROF_MISSING, 1, place);
    }
    location *l = &r->locations[index];
    if (!l->made) HD_TRY(make_location(r, l));
    for (uint32_t i = 0; i < l->count; i++) {
        const frame *f = &r->frames[l->first + i];
        *node = hd_stacks_push(stacks, *node, f->name, f->kind);
    }
    return *node == HD_NONE ? HD_NOMEM(r->p->err) : HD_OK;
}

/* The stack of the sample at hand; the outermost locations are mostly those of the sample before. */
static hd_status make_stack(reader *r, uint32_t *out, const void *place)
{
    size_t count = r->at_count, shared = 0, most = count < r->before_count ? count : r->before_count;
    while (shared < most && r->at[count - 1 - shared] == r->before[r->before_count - 1 - shared]) shared++;
    *out = shared ? r->nodes[shared - 1] : HD_STACK_NONE;
    if (r->node_capacity < count) {
        uint32_t *wider = realloc(r->nodes, r->at_capacity * sizeof *wider);
        if (!wider) return HD_NOMEM(r->p->err);
        r->nodes = wider;
        r->node_capacity = r->at_capacity;
    }
    for (size_t i = shared; i < count; i++) {
        HD_TRY(push_location(r, out, r->at[count - 1 - i], place));
        r->nodes[i] = *out;
    }
    uint64_t *at = r->before;
    size_t capacity = r->before_capacity;
    r->before = r->at;
    r->before_count = count;
    r->before_capacity = r->at_capacity;
    r->at = at;
    r->at_capacity = capacity;
    return HD_OK;
}

/* ---- samples ---- */

typedef struct label_message {
    hd_proto_head head;
    uint64_t key, text, number, unit;
} label_message;

static const hd_proto_member label_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, label_message, key),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, label_message, text),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, label_message, number),
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, label_message, unit),
};

/* A number's unit is another argument: "bytes unit". */
static hd_status add_unit(reader *r, uint64_t key, uint64_t unit, const void *place)
{
    pprof_profile *p = r->p;
    uint32_t name, value;
    hd_string text = string_at(r, key);
    hd_bytes words = {0};
    hd_bytes_put(&words, text.data, text.size);
    hd_bytes_put(&words, " unit", 5);
    hd_status status =
        words.failed ? HD_NOMEM(p->err) : pprof_intern(&name, p, (hd_string){(char *)words.data, words.size});
    hd_bytes_deinit(&words);
    HD_TRY(status);
    HD_TRY(intern_string(r, &value, unit, place));
    return pprof_add_label(p, name, HD_ARG_STRING, value);
}

static hd_status add_label(reader *r, const hd_proto_field *field)
{
    label_message l = {0};
    uint32_t key, text;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {label_members, HD_PROTO_COUNT(label_members)};
    HD_TRY(hd_proto_walk(&l, &message, &schema, NULL, NULL));
    HD_TRY(check(r, &message, &l.head));
    HD_TRY(intern_string(r, &key, l.key, field->data));
    if (l.text) {
        HD_TRY(intern_string(r, &text, l.text, field->data));
        return pprof_add_label(r->p, key, HD_ARG_STRING, text);
    }
    HD_TRY(pprof_add_label(r->p, key, HD_ARG_INT, (int64_t)l.number));
    return l.unit ? add_unit(r, l.key, l.unit, field->data) : HD_OK;
}

/* Appends the numbers of a field, packed or not. */
static bool take_numbers(uint64_t **list, size_t *count, size_t *capacity, const hd_proto_field *field,
                         hd_proto_reader *message)
{
    uint64_t value;
    if ((field->tag & 7) == HD_WIRE_BYTES && *capacity - *count < field->size) { /* each is a byte at least */
        size_t wanted = *count + field->size + *capacity;
        uint64_t *wider = realloc(*list, wanted * sizeof **list);
        if (!wider) return false;
        *list = wider;
        *capacity = wanted;
    }
    for (size_t at = 0; hd_proto_repeated(&value, field, HD_WIRE_VARINT, &at, message);) {
        if (!hd_grow((void **)list, capacity, *count, sizeof **list)) return false;
        (*list)[(*count)++] = value;
    }
    return true;
}

static bool take_locations(reader *r, const hd_proto_field *field, hd_proto_reader *message)
{
    return take_numbers(&r->at, &r->at_count, &r->at_capacity, field, message);
}

/* Stacks that occur several times, with other labels or values, are made once. packed: the field with all of its
 * locations; they are in r->at if it is empty. */
static hd_status find_stack(reader *r, uint32_t *out, const hd_proto_field *packed, hd_proto_reader *message)
{
    uint64_t hash;
    const char *bytes = (const char *)packed->data;
    if (!packed->size) return make_stack(r, out, message->data);
    const hd_memo_value *known = hd_memo_find(&hash, &r->stacks, bytes, packed->size);
    if (known) {
        *out = known->a;
        return HD_OK;
    }
    if (!take_locations(r, packed, message)) return HD_NOMEM(r->p->err);
    HD_TRY(make_stack(r, out, message->data));
    hd_memo_add(&r->stacks, hash, bytes, packed->size, (hd_memo_value){.a = *out});
    return HD_OK;
}

typedef struct sample_parts {
    hd_proto_field packed; /* locations */
    uint64_t unknown;
} sample_parts;

static hd_status read_part(reader *r, sample_parts *parts, const hd_proto_field *f, hd_proto_reader *message)
{
    bool fine = true;
    switch (hd_proto_number(f)) {
    case 1:
        if (!parts->packed.size && !r->at_count && (f->tag & 7) == HD_WIRE_BYTES) {
            parts->packed = *f;
            break;
        }
        if (parts->packed.size) fine = take_locations(r, &parts->packed, message);
        parts->packed = (hd_proto_field){0};
        fine = fine && take_locations(r, f, message);
        break;
    case 2: fine = take_numbers((uint64_t **)&r->values, &r->value_count, &r->value_capacity, f, message); break;
    case 3: return add_label(r, f);
    default: parts->unknown++; break;
    }
    return fine ? HD_OK : HD_NOMEM(r->p->err);
}

static hd_status read_sample(void *user, const hd_proto_field *field)
{
    reader *r = user;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    sample_parts parts = {0};
    uint32_t node;
    r->at_count = r->value_count = 0;
    while (hd_proto_next(&f, &message)) HD_TRY(read_part(r, &parts, &f, &message));
    if (!field->value || r->value_count) HD_TRY(find_stack(r, &node, &parts.packed, &message));
    HD_TRY(check(r, &message, &(hd_proto_head){.unknown = parts.unknown}));
    if (field->value && !r->value_count) { /* cut off before its values, which is reported */
        r->p->label_count = 0;
        return HD_OK;
    }
    if (r->value_count != r->p->type_count) HD_TRY(pprof_count(r->p, PPROF_VALUE_COUNT, 1, field->data));
    return pprof_add_sample(r->p, node, r->values, r->value_count);
}

/* ---- the profile ---- */

typedef struct profile_message {
    hd_proto_head head;
    uint64_t drop_frames, keep_frames, time, duration, period, default_type, doc_url;
    hd_proto_span period_type;
} profile_message;

#define PROFILE_MEMBERS(tables, samples)                                                                               \
    [HD_PROTO_BYTES(PROFILE_TYPE)] = {tables, 0}, [HD_PROTO_BYTES(PROFILE_SAMPLE)] = {samples, 0},                     \
    [HD_PROTO_BYTES(PROFILE_MAPPING)] = {tables, 0}, [HD_PROTO_BYTES(PROFILE_LOCATION)] = {tables, 0},                 \
    [HD_PROTO_BYTES(PROFILE_FUNCTION)] = {tables, 0}, [HD_PROTO_BYTES(PROFILE_STRING)] = {tables, 0},                  \
    [HD_PROTO_VARINT(7)] = HD_MEMBER(HD_PUT_VALUE, profile_message, drop_frames),                                      \
    [HD_PROTO_VARINT(8)] = HD_MEMBER(HD_PUT_VALUE, profile_message, keep_frames),                                      \
    [HD_PROTO_VARINT(9)] = HD_MEMBER(HD_PUT_VALUE, profile_message, time),                                             \
    [HD_PROTO_VARINT(10)] = HD_MEMBER(HD_PUT_VALUE, profile_message, duration),                                        \
    [HD_PROTO_BYTES(11)] = HD_MEMBER(HD_PUT_SPAN, profile_message, period_type),                                       \
    [HD_PROTO_VARINT(12)] = HD_MEMBER(HD_PUT_VALUE, profile_message, period),                                          \
    [HD_PROTO_VARINT(13)] = {HD_PUT_PASS, 0}, [HD_PROTO_BYTES(13)] = {HD_PUT_PASS, 0},                                 \
    [HD_PROTO_VARINT(14)] = HD_MEMBER(HD_PUT_VALUE, profile_message, default_type),                                    \
    [HD_PROTO_VARINT(15)] = HD_MEMBER(HD_PUT_VALUE, profile_message, doc_url)

static const hd_proto_member members_of_tables[] = {PROFILE_MEMBERS(HD_PUT_EACH, HD_PUT_PASS)};
static const hd_proto_member members_of_samples[] = {PROFILE_MEMBERS(HD_PUT_PASS, HD_PUT_EACH)};
static const hd_proto_schema schema_of_tables = {members_of_tables, HD_PROTO_COUNT(members_of_tables)};
static const hd_proto_schema schema_of_samples = {members_of_samples, HD_PROTO_COUNT(members_of_samples)};

static hd_status tell_comments(reader *r)
{
    hd_proto_reader message = hd_proto_reader_of(r->p->data, r->p->size);
    hd_proto_field f;
    hd_bytes all = {0};
    uint64_t index;
    while (hd_proto_next(&f, &message)) {
        if (hd_proto_number(&f) != PROFILE_COMMENT) continue;
        for (size_t at = 0; hd_proto_repeated(&index, &f, HD_WIRE_VARINT, &at, &message);) {
            hd_string text = string_at(r, index);
            if (all.size) hd_bytes_put_u8(&all, '\n');
            hd_bytes_put(&all, text.data, text.size);
        }
    }
    if (all.size) pprof_tell_text(r->p, "comments", (hd_string){(char *)all.data, all.size});
    bool failed = all.failed;
    hd_bytes_deinit(&all);
    return failed ? HD_NOMEM(r->p->err) : HD_OK;
}

/* Functions with mangled names, or with a known start line: data that frames do not have. */
static hd_status tell_functions(reader *r)
{
    hd_json_out json = {0};
    for (size_t i = 0; i < r->function_count; i++) {
        function_message f = {0};
        hd_proto_reader message = hd_proto_reader_of(r->functions[i].data, r->functions[i].size);
        hd_proto_schema schema = {function_members, HD_PROTO_COUNT(function_members)};
        HD_TRY(hd_proto_walk(&f, &message, &schema, NULL, NULL));
        hd_string name = string_at(r, f.name), mangled = string_at(r, f.system_name), file = string_at(r, f.file);
        bool same = mangled.size == name.size && memcmp(mangled.data, name.data, name.size) == 0;
        if ((same || !mangled.size) && !f.line) continue;
        hd_json_put_text(&json, json.size ? ",{\"name\":" : "[{\"name\":");
        hd_json_put_string(&json, name.data, name.size);
        hd_json_put_text(&json, ",\"file\":");
        hd_json_put_string(&json, file.data, file.size);
        hd_json_put_text(&json, ",\"system_name\":");
        hd_json_put_string(&json, mangled.data, mangled.size);
        hd_json_put_text(&json, ",\"start_line\":");
        hd_json_put_int(&json, (int64_t)f.line);
        hd_json_put_text(&json, "}");
    }
    if (json.size) {
        hd_json_put_text(&json, "]");
        pprof_tell_json(r->p, "functions", json.data, json.size);
    }
    bool failed = json.failed;
    free(json.data);
    return failed ? HD_NOMEM(r->p->err) : HD_OK;
}

static hd_status tell_profile(reader *r, const profile_message *m)
{
    static const char *const names[] = {"drop_frames", "keep_frames", "default_sample_type", "doc_url"};
    const uint64_t texts[] = {m->drop_frames, m->keep_frames, m->default_type, m->doc_url};
    pprof_profile *p = r->p;
    type_message t;
    if (hd_proto_has(&m->head, 9)) pprof_tell_int(p, "time_nanos", (int64_t)m->time);
    if (hd_proto_has(&m->head, 10)) pprof_tell_int(p, "duration_nanos", (int64_t)m->duration);
    if (m->period_type.data) {
        HD_TRY(read_type(r, &t, m->period_type));
        pprof_tell_text(p, "period_type", string_at(r, t.type));
        pprof_tell_text(p, "period_unit", string_at(r, t.unit));
    }
    if (hd_proto_has(&m->head, 12)) pprof_tell_int(p, "period", (int64_t)m->period);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i]) pprof_tell_text(p, names[i], string_at(r, texts[i]));
    }
    HD_TRY(tell_functions(r));
    return tell_comments(r);
}

static hd_status read_all(reader *r)
{
    pprof_profile *p = r->p;
    profile_message m = {0};
    hd_proto_reader tables = hd_proto_reader_of(p->data, p->size), samples = tables;
    while (hd_proto_next(&(hd_proto_field){0}, &samples)) {}
    r->is_cut = samples.failed;
    samples = tables;
    HD_TRY(hd_proto_walk(&m, &tables, &schema_of_tables, each_table_entry, r));
    HD_TRY(pprof_count(p, PPROF_UNKNOWN, m.head.unknown, p->data));
    if (r->is_cut) HD_TRY(pprof_count(p, PPROF_TRUNCATED, 1, p->data + tables.at));
    r->interned = calloc(r->string_count + 1, sizeof *r->interned);
    if (!r->interned) return HD_NOMEM(p->err);
    name_mappings(r);
    HD_TRY(add_types(r, m.default_type));
    HD_TRY(tell_profile(r, &m));
    return hd_proto_walk(&(profile_message){0}, &samples, &schema_of_samples, read_sample, r);
}

hd_status pprof_read_proto(pprof_profile *p)
{
    reader r = {.p = p};
    hd_status status = read_all(&r);
    if (status == HD_OK && !p->samples.samples && r.is_cut)
        status = hd_error_set(p->err, HD_ERR_DAMAGED, NULL, 0, "no sample of the profile can be read");
    hd_memo_deinit(&r.stacks);
    ids_deinit(&r.function_ids);
    ids_deinit(&r.location_ids);
    ids_deinit(&r.mapping_ids);
    free(r.strings);
    free(r.functions);
    free(r.types);
    free(r.locations);
    free(r.interned);
    free(r.frames);
    free(r.at);
    free(r.before);
    free(r.nodes);
    free(r.values);
    return status;
}

/* ---- what it is known by ---- */

static bool is_type(const hd_proto_field *field)
{
    hd_proto_reader m = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &m)) {
        if (f.tag != HD_PROTO_VARINT(1) && f.tag != HD_PROTO_VARINT(2)) return false;
    }
    return !m.failed && field->size > 0;
}

bool pprof_is_proto(const unsigned char *head, size_t size)
{
    hd_proto_reader m = hd_proto_reader_of(head, size);
    hd_proto_field f;
    unsigned types = 0, others = 0;
    while (hd_proto_next(&f, &m)) {
        uint32_t number = hd_proto_number(&f);
        bool is_bytes = (f.tag & 7) == HD_WIRE_BYTES;
        bool wants_bytes = number <= PROFILE_STRING || number == PROFILE_PERIOD_TYPE;
        if (number > LAST_FIELD) continue; /* of a time to come */
        if ((f.tag & 7) > HD_WIRE_BYTES || (f.tag & 7) == HD_WIRE_FIXED64) return false;
        if (is_bytes != wants_bytes && number != PROFILE_COMMENT) return false;
        if (number == PROFILE_TYPE && !is_type(&f)) return false;
        types += number == PROFILE_TYPE;
        others += number != PROFILE_TYPE;
    }
    return types > 0 && (others > 0 || m.failed);
}
