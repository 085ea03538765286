/* stats.c - the names that a plane gives to numbers, and statistics as arguments */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "format/args.h"
#include "format/numbers.h"
#include "format/stack_text.h"
#include "format/xplane/xplane.h"
#include "trace/text.h"

/* ---- names ---- */

/* An entry of a map: its key, and the message that is its value. */
typedef struct map_entry {
    hd_proto_head head;
    uint64_t key;
    hd_proto_span value;
} map_entry;

static const hd_proto_member entry_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, map_entry, key),
    [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_EACH, map_entry, value),
};

/* The available part of an entry's value that is cut off. */
static hd_status take_value(void *user, const hd_proto_field *field)
{
    *(hd_proto_span *)user = (hd_proto_span){field->data, field->size};
    return HD_OK;
}

static hd_status read_entry(map_entry *out, xplane_reader *r, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {entry_members, HD_PROTO_COUNT(entry_members)};
    *out = (map_entry){0};
    HD_TRY(hd_proto_walk(out, &message, &schema, take_value, &out->value));
    return xplane_check(r, "xplane.name-damaged", &message, &out->head);
}

static xplane_stat_role role_of(hd_string name)
{
    static const struct {
        const char *name;
        xplane_stat_role role;
    } roles[] = {
        {"_pt", XPLANE_PRODUCER_TYPE},   {"_p", XPLANE_PRODUCER},        {"_ct", XPLANE_CONSUMER_TYPE},
        {"_c", XPLANE_CONSUMER},         {"flow", XPLANE_FLOW},          {"kernel_details", XPLANE_KERNEL},
        {"memcpy_details", XPLANE_COPY}, {"memset_details", XPLANE_SET}, {"correlation_id", XPLANE_CORRELATION}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (hd_string_is(name, roles[i].name)) return roles[i].role;
    }
    return XPLANE_PLAIN;
}

static hd_status add_stat(xplane_reader *r, uint64_t id, uint32_t text)
{
    xplane_plane *p = &r->plane;
    if (text == HD_STRING_NONE || !hd_grow((void **)&p->stats, &p->stat_capacity, p->stat_count, sizeof *p->stats) ||
        !hd_map_set(&p->stat_index, id, 0, (uint32_t)p->stat_count))
        return HD_NOMEM(r->err);
    p->stats[p->stat_count++] = (xplane_stat_name){text, role_of(hd_builder_string(r->builder, text))};
    return HD_OK;
}

typedef struct stat_message {
    hd_proto_head head;
    uint64_t id;
    hd_proto_span name, description;
} stat_message;

static const hd_proto_member stat_name_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, stat_message, id),
    [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_SPAN, stat_message, name),
    [HD_PROTO_BYTES(3)] = HD_MEMBER(HD_PUT_SPAN, stat_message, description),
};

hd_status xplane_add_stat_name(xplane_reader *r, const hd_proto_field *field)
{
    map_entry entry;
    stat_message m = {0};
    uint32_t text;
    HD_TRY(read_entry(&entry, r, field));
    hd_proto_reader message = hd_proto_reader_of(entry.value.data, entry.value.size);
    hd_proto_schema schema = {stat_name_members, HD_PROTO_COUNT(stat_name_members)};
    HD_TRY(hd_proto_walk(&m, &message, &schema, NULL, NULL));
    HD_TRY(xplane_check(r, "xplane.name-damaged", &message, &m.head));
    if (m.description.size) HD_TRY(xplane_note(r, "xplane.description-dropped", HD_LEDGER_NOTE, m.description.data));
    HD_TRY(xplane_text(&text, r, m.name));
    return add_stat(r, hd_proto_has(&entry.head, 1) ? entry.key : m.id, text);
}

typedef struct event_message {
    hd_proto_head head;
    uint64_t id;
    hd_proto_span name, extra, display_name;
} event_message;

#define EVENT_NAME_MEMBERS(stats)                                                                                      \
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, event_message, id),                                                 \
    [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_SPAN, event_message, name),                                                 \
    [HD_PROTO_BYTES(3)] = HD_MEMBER(HD_PUT_SPAN, event_message, extra),                                                \
    [HD_PROTO_BYTES(4)] = HD_MEMBER(HD_PUT_SPAN, event_message, display_name), [HD_PROTO_BYTES(5)] = {stats, 0},       \
    [HD_PROTO_VARINT(6)] = {HD_PUT_PASS, 0}, [HD_PROTO_BYTES(6)] = {HD_PUT_PASS, 0}

static const hd_proto_member event_name_members[] = {EVENT_NAME_MEMBERS(HD_PUT_PASS)};
static const hd_proto_member event_stat_members[] = {EVENT_NAME_MEMBERS(HD_PUT_EACH)};

static hd_status add_event(xplane_reader *r, uint64_t id, const xplane_event_name *name)
{
    xplane_plane *p = &r->plane;
    if (!hd_grow((void **)&p->events, &p->event_capacity, p->event_count, sizeof *p->events) ||
        !hd_map_set(&p->event_index, id, 0, (uint32_t)p->event_count))
        return HD_NOMEM(r->err);
    p->events[p->event_count++] = *name;
    return HD_OK;
}

hd_status xplane_add_event_name(xplane_reader *r, const hd_proto_field *field)
{
    map_entry entry;
    event_message m = {0};
    HD_TRY(read_entry(&entry, r, field));
    hd_proto_reader message = hd_proto_reader_of(entry.value.data, entry.value.size);
    hd_proto_schema schema = {event_name_members, HD_PROTO_COUNT(event_name_members)};
    HD_TRY(hd_proto_walk(&m, &message, &schema, NULL, NULL));
    HD_TRY(xplane_check(r, "xplane.name-damaged", &message, &m.head));
    uint64_t id = hd_proto_has(&entry.head, 1) ? entry.key : m.id;
    xplane_event_name name = {.name = m.name,
                              .display_name = m.display_name,
                              .extra = m.extra,
                              .stats = entry.value,
                              .has_stats = hd_proto_has(&m.head, 5),
                              .has_children = hd_proto_has(&m.head, 6)};
    return add_event(r, id, &name);
}

/* ---- statistics ---- */

typedef struct stat_value {
    hd_proto_head head;
    uint64_t id, real, whole, integer, ref;
    hd_proto_span text, bytes;
} stat_value;

static const hd_proto_member value_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, stat_value, id),
    [HD_PROTO_FIXED64(2)] = HD_MEMBER(HD_PUT_VALUE, stat_value, real),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, stat_value, whole),
    [HD_PROTO_VARINT(4)] = HD_MEMBER(HD_PUT_VALUE, stat_value, integer),
    [HD_PROTO_BYTES(5)] = HD_MEMBER(HD_PUT_SPAN, stat_value, text),
    [HD_PROTO_BYTES(6)] = HD_MEMBER(HD_PUT_SPAN, stat_value, bytes),
    [HD_PROTO_VARINT(7)] = HD_MEMBER(HD_PUT_VALUE, stat_value, ref),
};

/* Bytes that are not text: in base64 (RFC 4648). */
static hd_status base64_of(uint32_t *out, xplane_reader *r, hd_proto_span bytes)
{
    r->text.size = 0;
    hd_bytes_put_base64(&r->text, bytes.data, bytes.size);
    if (r->text.failed) return HD_NOMEM(r->err);
    *out = hd_builder_intern(r->builder, r->text.size ? (const char *)r->text.data : "", r->text.size);
    return HD_OK;
}

/* XLA's scopes: the parent of each, by its number. */
static bool is_of_scopes(const xplane_reader *r)
{
    static const char name[] = "/host:__ScopeRangeCallStack__";
    return r->plane.name.size == sizeof name - 1 && memcmp(r->plane.name.data, name, sizeof name - 1) == 0;
}

/* The name of a statistic; of one that the plane does not name its number. */
static hd_status find_stat_name(xplane_stat_name *out, xplane_reader *r, uint64_t id, const uint8_t *place)
{
    uint32_t index;
    char text[40];
    if (!hd_map_get(&index, &r->plane.stat_index, id, 0)) {
        if (!is_of_scopes(r)) HD_TRY(xplane_note(r, "xplane.name-missing", HD_LEDGER_REPAIR, place));
        index = (uint32_t)r->plane.stat_count;
        snprintf(text, sizeof text, "stat %llu", (unsigned long long)id);
        HD_TRY(add_stat(r, id, hd_builder_intern_text(r->builder, text)));
    }
    *out = r->plane.stats[index];
    return HD_OK;
}

static void set_facts(xplane_facts *facts, xplane_stat_role role, uint64_t value)
{
    unsigned end = role == XPLANE_CONSUMER || role == XPLANE_CONSUMER_TYPE;
    if (role >= XPLANE_KERNEL) facts->kind = role;
    if (role == XPLANE_PRODUCER_TYPE || role == XPLANE_CONSUMER_TYPE)
        facts->type[end] = value;
    else if (role == XPLANE_PRODUCER || role == XPLANE_CONSUMER)
        facts->id[end] = value, facts->has_id[end] = true;
    else if (role == XPLANE_FLOW)
        facts->flow = value;
    else if (role == XPLANE_CORRELATION)
        facts->has_correlation = value != 0;
}

hd_status xplane_read_stat(xplane_arg *out, xplane_reader *r, xplane_facts *facts, const hd_proto_field *field)
{
    stat_value v = {0};
    xplane_stat_name name;
    uint32_t id = HD_STRING_NONE;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {value_members, HD_PROTO_COUNT(value_members)};
    *out = (xplane_arg){0};
    HD_TRY(hd_proto_walk(&v, &message, &schema, NULL, NULL));
    HD_TRY(xplane_check(r, "xplane.stat-lost", &message, &v.head));
    if (message.failed) return HD_OK; /* without a key */
    HD_TRY(find_stat_name(&name, r, v.id, field->data));
    out->role = name.role;
    if (facts && name.role) set_facts(facts, name.role, hd_proto_has(&v.head, 3) ? v.whole : v.integer);
    if (!r->want_args) return HD_OK;
    hd_arg_type type = HD_ARG_NULL;
    if (hd_proto_has(&v.head, 7)) {
        HD_TRY(find_stat_name(&name, r, v.ref, field->data));
        type = HD_ARG_STRING;
        id = name.text;
        HD_TRY(find_stat_name(&name, r, v.id, field->data));
    } else if (hd_proto_has(&v.head, 5) || hd_proto_has(&v.head, 6)) {
        type = HD_ARG_STRING;
        HD_TRY(hd_proto_has(&v.head, 5) ? xplane_text(&id, r, v.text) : base64_of(&id, r, v.bytes));
    } else if (hd_proto_has(&v.head, 4)) {
        type = HD_ARG_INT;
        out->bits = (int64_t)v.integer;
    } else if (hd_proto_has(&v.head, 3)) {
        type = hd_value_of_unsigned(&out->bits, r->builder, v.whole);
    } else if (hd_proto_has(&v.head, 2)) {
        type = hd_value_of_double(&out->bits, r->builder, hd_proto_double(v.real));
    }
    if (id) out->bits = id;
    out->key = (hd_arg_key){.key = name.text, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    return HD_OK;
}

/* ---- names of events, when one has it ---- */

static hd_status each_shared(void *user, const hd_proto_field *field)
{
    xplane_reader *r = user;
    xplane_plane *p = &r->plane;
    if (!hd_grow((void **)&p->args, &p->arg_capacity, p->arg_count, sizeof *p->args)) return HD_NOMEM(r->err);
    HD_TRY(xplane_read_stat(&p->args[p->arg_count], r, NULL, field));
    p->arg_count += p->args[p->arg_count].key.key != HD_STRING_NONE;
    return HD_OK;
}

hd_status xplane_resolve_event_name(xplane_reader *r, xplane_event_name *name)
{
    event_message m = {0};
    hd_proto_reader message = hd_proto_reader_of(name->stats.data, name->stats.size);
    hd_proto_schema schema = {event_stat_members, HD_PROTO_COUNT(event_stat_members)};
    if (name->is_resolved) return HD_OK;
    name->is_resolved = true;
    name->first_arg = (uint32_t)r->plane.arg_count;
    HD_TRY(xplane_text(&name->text, r, name->display_name.size ? name->display_name : name->name));
    if (name->display_name.size) HD_TRY(xplane_text(&name->long_text, r, name->name));
    name->is_python = name->name.size > 1 && name->name.data[0] == '$';
    if (name->has_stats) HD_TRY(hd_proto_walk(&m, &message, &schema, each_shared, r));
    name->arg_count = (uint32_t)r->plane.arg_count - name->first_arg;
    return HD_OK;
}

hd_status xplane_find_event_name(xplane_event_name **out, xplane_reader *r, uint64_t id, const uint8_t *place)
{
    uint32_t index;
    char text[40];
    if (!hd_map_get(&index, &r->plane.event_index, id, 0)) {
        HD_TRY(xplane_note(r, "xplane.name-missing", HD_LEDGER_REPAIR, place));
        snprintf(text, sizeof text, "event %llu", (unsigned long long)id);
        xplane_event_name name = {.text = hd_builder_intern_text(r->builder, text), .is_resolved = true};
        index = (uint32_t)r->plane.event_count;
        HD_TRY(add_event(r, id, &name));
    }
    *out = &r->plane.events[index];
    HD_TRY(xplane_resolve_event_name(r, *out));
    (*out)->is_used = true;
    return HD_OK;
}

/* ---- the arguments of an event ---- */

hd_status xplane_add_arg(xplane_reader *r, uint32_t key, hd_arg_type type, int64_t bits)
{
    const hd_arg_key whole = {.key = key, .type = (uint8_t)type, .scope = HD_SCOPE_ARGS};
    if (hd_args_has(r->keys, r->values, r->arg_count, whole, bits)) return HD_OK;
    if (r->arg_count == XPLANE_ARGS) return xplane_note(r, "xplane.stat-lost", HD_LEDGER_LOSS, NULL);
    r->keys[r->arg_count] = whole;
    r->values[r->arg_count++] = bits;
    return HD_OK;
}

/* The value of "word:" in details such as "regs:32 grid:16,1,1"; size 0: none. */
static hd_string detail(hd_string text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size < text.size; i++) {
        if ((i && text.data[i - 1] != ' ') || text.data[i + size] != ':' || memcmp(text.data + i, word, size) != 0)
            continue;
        hd_string value = {text.data + i + size + 1, 0};
        while (i + size + 1 + value.size < text.size && value.data[value.size] != ' ') value.size++;
        return value;
    }
    return (hd_string){"", 0};
}

static hd_status add_number(xplane_reader *r, hd_string details, const char *word, uint32_t key)
{
    int64_t value;
    hd_string text = detail(details, word);
    return hd_text_int(&value, text.data, text.size) ? xplane_add_arg(r, key, HD_ARG_INT, value) : HD_OK;
}

/* "16,1,1" as [16,1,1]. */
static hd_status add_triple(xplane_reader *r, hd_string details, const char *word, uint32_t key)
{
    char list[48];
    unsigned x, y, z;
    hd_string text = detail(details, word);
    if (!text.size || text.size >= sizeof list - 2) return HD_OK;
    snprintf(list, sizeof list, "%.*s", (int)text.size, text.data);
    if (sscanf(list, "%u,%u,%u", &x, &y, &z) != 3) return HD_OK;
    snprintf(list, sizeof list, "[%u,%u,%u]", x, y, z);
    return xplane_add_arg(r, key, HD_ARG_JSON, hd_builder_intern_text(r->builder, list));
}

hd_status xplane_add_details(xplane_reader *r, const xplane_arg *arg)
{
    int64_t fixed = 0, dynamic = 0;
    hd_string text = hd_builder_string(r->builder, (uint32_t)arg->bits);
    if (arg->role != XPLANE_KERNEL) return add_number(r, text, "size", r->key_bytes);
    HD_TRY(add_triple(r, text, "grid", r->key_grid));
    HD_TRY(add_triple(r, text, "block", r->key_block));
    HD_TRY(add_number(r, text, "regs", r->key_registers));
    hd_string s = detail(text, "static_shared"), d = detail(text, "dynamic_shared");
    if (!s.size) return add_number(r, text, "group_mem", r->key_shared); /* AMD */
    hd_text_int(&fixed, s.data, s.size);
    hd_text_int(&dynamic, d.data, d.size);
    if (__builtin_add_overflow(fixed, dynamic, &fixed)) return HD_OK;
    return xplane_add_arg(r, r->key_shared, HD_ARG_INT, fixed);
}

uint32_t xplane_shape_of(xplane_reader *r)
{
    if (!r->arg_count) return 0;
    size_t bytes = r->arg_count * sizeof *r->keys;
    xplane_shape *s = &r->shapes[hd_hash(r->keys, bytes) % XPLANE_SHAPES];
    if (s->count == r->arg_count && memcmp(s->keys, r->keys, bytes) == 0) return s->shape;
    s->count = r->arg_count;
    memcpy(s->keys, r->keys, bytes);
    s->shape = hd_builder_shape(r->builder, r->keys, r->arg_count, true);
    return s->shape;
}
