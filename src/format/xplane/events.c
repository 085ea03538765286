/* events.c - lines and events -> tracks and rows */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "format/args.h"
#include "format/numbers.h"
#include "format/stack_text.h"
#include "format/xplane/xplane.h"
#include "heddle/analysis/launches.h"
#include "trace/text.h"

__extension__ typedef __int128 picoseconds;

/* ---- events ---- */

typedef struct event_message {
    hd_proto_head head;
    uint64_t name, offset, duration, occurrences;
    xplane_reader *r;
    xplane_facts facts;
    xplane_arg details; /* role PLAIN: there are none */
} event_message;

static const hd_proto_member event_members[] = {
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, event_message, name),
    [HD_PROTO_VARINT(2)] = HD_MEMBER(HD_PUT_VALUE, event_message, offset),
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, event_message, duration),
    [HD_PROTO_BYTES(4)] = {HD_PUT_EACH, 0},
    [HD_PROTO_VARINT(5)] = HD_MEMBER(HD_PUT_VALUE, event_message, occurrences),
};

static hd_status each_stat(void *user, const hd_proto_field *field)
{
    event_message *m = user;
    xplane_arg arg;
    HD_TRY(xplane_read_stat(&arg, m->r, &m->facts, field));
    if (!arg.key.key) return HD_OK;
    if (arg.role >= XPLANE_KERNEL && arg.key.type == HD_ARG_STRING) m->details = arg;
    return xplane_add_arg(m->r, arg.key.key, (hd_arg_type)arg.key.type, arg.bits);
}

static bool has_arg(const xplane_reader *r, uint32_t key, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (r->keys[i].key == key) return true;
    }
    return false;
}

/* Statistics shared by all events of the name, unless this event has its own. */
static hd_status add_shared(xplane_reader *r, const xplane_event_name *name, event_message *m)
{
    uint32_t own = r->arg_count;
    if (!r->want_args) return HD_OK;
    for (uint32_t i = 0; i < name->arg_count; i++) {
        const xplane_arg *arg = &r->plane.args[name->first_arg + i];
        if (arg->role >= XPLANE_KERNEL && !m->details.role) m->details = *arg;
        if (!has_arg(r, arg->key.key, own))
            HD_TRY(xplane_add_arg(r, arg->key.key, (hd_arg_type)arg->key.type, arg->bits));
    }
    if (m->details.role && r->line_is_queue) HD_TRY(xplane_add_details(r, &m->details));
    if (name->long_text) return xplane_add_arg(r, r->key_long_name, HD_ARG_STRING, name->long_text);
    return HD_OK;
}

/* Floored nanoseconds and the picoseconds above them. false: beyond the range of times. */
static bool split(int64_t *ns, uint32_t *ps, picoseconds time)
{
    picoseconds whole = time / 1000 - (time % 1000 < 0);
    if (whole <= INT64_MIN || whole > INT64_MAX) return false;
    *ns = (int64_t)whole;
    *ps = (uint32_t)(time - whole * 1000);
    return true;
}

/* Times; an event without one is `other`, with its numbers as arguments. */
static hd_status set_times(hd_row *row, xplane_reader *r, const event_message *m, const hd_proto_field *field)
{
    picoseconds start = (picoseconds)r->line_ns * 1000 + (int64_t)m->offset, end = start + (int64_t)m->duration;
    int64_t end_ns;
    *row = hd_row_of(HD_KIND_SLICE, 'X');
    bool several = hd_proto_has(&m->head, 5), fits = split(&row->start_ns, &row->start_ps, start) &&
                                                     split(&end_ns, &row->end_ps, end) && end >= start &&
                                                     !__builtin_sub_overflow(end_ns, row->start_ns, &row->duration_ns);
    if (fits && !several) {
        if (r->first_ns == HD_NO_TIME || row->start_ns < r->first_ns) r->first_ns = row->start_ns;
        if (m->duration || r->plane.is_device) return HD_OK;
        int64_t ns = row->start_ns;
        uint32_t ps = row->start_ps;
        *row = hd_row_of(HD_KIND_INSTANT, 'i');
        row->start_ns = ns;
        row->start_ps = ps;
        return HD_OK;
    }
    *row = hd_row_of(HD_KIND_OTHER, 0);
    if (!several) HD_TRY(xplane_note(r, "xplane.time-out-of-range", HD_LEDGER_REPAIR, field->data));
    if (!r->want_args) return HD_OK;
    if (several) HD_TRY(xplane_add_arg(r, r->key_occurrences, HD_ARG_INT, (int64_t)m->occurrences));
    if (!several) HD_TRY(xplane_add_arg(r, r->key_offset, HD_ARG_INT, (int64_t)m->offset));
    return xplane_add_arg(r, r->key_duration, HD_ARG_INT, (int64_t)m->duration);
}

/* A host event with a correlation id is the call that launched an activity; TensorFlow gives it the activity's name. */
static uint32_t category_of_host(const xplane_reader *r, const xplane_event_name *name, const event_message *m)
{
    if (name->is_python) return r->category_python;
    if (!m->facts.has_correlation) return HD_STRING_NONE;
    hd_role role = hd_role_of((hd_string){"", 0}, hd_builder_string(r->builder, name->text));
    return role == HD_ROLE_RUNTIME || role == HD_ROLE_DRIVER ? HD_STRING_NONE : r->category_call;
}

/* For events of a stream, and calls; others are classified by name and track, as in other formats. */
static uint32_t category_of(const xplane_reader *r, const xplane_event_name *name, const event_message *m)
{
    if (!r->plane.is_device) return category_of_host(r, name, m);
    if (!r->line_is_queue || !r->line_is_stream) return HD_STRING_NONE;
    hd_string text = hd_builder_string(r->builder, name->text);
    if (m->facts.kind == XPLANE_COPY || (!m->facts.kind && hd_string_begins(text, "Memcpy"))) return r->category_copy;
    if (m->facts.kind == XPLANE_SET || (!m->facts.kind && hd_string_begins(text, "Memset"))) return r->category_set;
    return r->category_kernel;
}

/* Beyond the limit of shapes: all arguments as one text. */
static hd_status add_raw(xplane_reader *r, hd_row *row)
{
    int64_t text = hd_args_as_text(r->builder, r->keys, r->values, r->arg_count);
    if (text == HD_STRING_NONE) return HD_NOMEM(r->err);
    row->shape = hd_builder_raw_shape(r->builder);
    return hd_rows_out_add(&r->rows, row, &text, r->err);
}

static hd_status read_event(xplane_reader *r, const hd_proto_field *field)
{
    event_message m = {.r = r};
    xplane_event_name *name;
    hd_row row;
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_schema schema = {event_members, HD_PROTO_COUNT(event_members)};
    if (field->value) return xplane_lose(r, "xplane.event-lost", field);
    r->arg_count = 0;
    HD_TRY(hd_proto_walk(&m, &message, &schema, each_stat, &m));
    HD_TRY(xplane_check(r, "xplane.event-lost", &message, &m.head));
    if (message.failed) return HD_OK;
    HD_TRY(xplane_find_event_name(&name, r, m.name, field->data));
    HD_TRY(add_shared(r, name, &m));
    HD_TRY(set_times(&row, r, &m, field));
    row.track = r->track;
    row.name = name->text;
    row.category = category_of(r, name, &m);
    if (r->options->sources && field->size <= UINT32_MAX) {
        row.source_offset = r->base_offset + (uint64_t)(field->data - r->base);
        row.source_size = (uint32_t)field->size;
    }
    if (row.kind != HD_KIND_OTHER) HD_TRY(xplane_note_flows(r, &m.facts, &row));
    row.shape = r->want_args ? xplane_shape_of(r) : 0;
    return row.shape == HD_NONE ? add_raw(r, &row) : hd_rows_out_add(&r->rows, &row, r->values, r->err);
}

/* ---- lines ---- */

typedef struct line_message {
    hd_proto_head head;
    uint64_t id, timestamp, duration, display_id;
    hd_proto_span name, display_name;
} line_message;

#define LINE_MEMBERS(events)                                                                                           \
    [HD_PROTO_VARINT(1)] = HD_MEMBER(HD_PUT_VALUE, line_message, id),                                                  \
    [HD_PROTO_BYTES(2)] = HD_MEMBER(HD_PUT_SPAN, line_message, name),                                                  \
    [HD_PROTO_VARINT(3)] = HD_MEMBER(HD_PUT_VALUE, line_message, timestamp), [HD_PROTO_BYTES(4)] = {events, 0},        \
    [HD_PROTO_VARINT(9)] = HD_MEMBER(HD_PUT_VALUE, line_message, duration),                                            \
    [HD_PROTO_VARINT(10)] = HD_MEMBER(HD_PUT_VALUE, line_message, display_id),                                         \
    [HD_PROTO_BYTES(11)] = HD_MEMBER(HD_PUT_SPAN, line_message, display_name)

static const hd_proto_member members_of_line[] = {LINE_MEMBERS(HD_PUT_PASS)};
static const hd_proto_member members_of_events[] = {LINE_MEMBERS(HD_PUT_EACH)};

static hd_status each_event(void *user, const hd_proto_field *field)
{
    return read_event(user, field);
}

/* The number of "Stream #13(Kernel)"; HD_NO_NUMBER: it is none. */
static int64_t stream_of(hd_string name)
{
    static const char word[] = "Stream #";
    size_t digits = 0, at = sizeof word - 1;
    int64_t number;
    if (!hd_string_begins(name, word)) return HD_NO_NUMBER;
    while (at + digits < name.size && hd_is_digit(name.data[at + digits])) digits++;
    return hd_text_int(&number, name.data + at, digits) ? number : HD_NO_NUMBER;
}

static hd_ident number_ident(xplane_reader *r, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern_text(r->builder, text)};
}

static hd_status name_process(xplane_reader *r)
{
    uint32_t process = hd_builder_track(r->builder, number_ident(r, (int64_t)r->plane.number), (hd_ident){0}, true);
    if (process == HD_NONE) return HD_NOMEM(r->err);
    hd_builder_name_track(r->builder, process, r->plane.text);
    return HD_OK;
}

/* Lines of one number and different names are tracks of their own. */
static hd_status find_track(xplane_reader *r, uint64_t id, uint32_t name)
{
    xplane_plane *p = &r->plane;
    char text[64];
    hd_ident pid = number_ident(r, (int64_t)p->number), tid = number_ident(r, (int64_t)id);
    hd_map_entry *known = hd_map_at(&p->lines, id, 0);
    if (!known) return HD_NOMEM(r->err);
    if (known->value && known->value != name) {
        snprintf(text, sizeof text, "%lld (line %llu)", (long long)id, (unsigned long long)p->line_count);
        tid = (hd_ident){HD_IDENT_STRING, hd_builder_intern_text(r->builder, text)};
    }
    if (!known->value) known->value = name;
    r->track = hd_builder_track(r->builder, pid, tid, false);
    return r->track == HD_NONE ? HD_NOMEM(r->err) : HD_OK;
}

static hd_status begin_line(xplane_reader *r, const line_message *m)
{
    uint32_t text;
    HD_TRY(xplane_text(&text, r, m->display_name.size ? m->display_name : m->name));
    HD_TRY(find_track(r, m->id, text));
    hd_string name = hd_builder_string(r->builder, text);
    int64_t stream = r->plane.is_device ? stream_of(name) : HD_NO_NUMBER;
    r->line_ns = (int64_t)m->timestamp;
    if (r->line_ns < XPLANE_UNIX_NS && __builtin_add_overflow(r->line_ns, r->shift_ns, &r->line_ns))
        r->line_ns = (int64_t)m->timestamp;
    r->line_is_stream = stream != HD_NO_NUMBER;
    r->line_is_queue = r->line_is_stream || (r->plane.is_device && !r->plane.is_gpu && name.size == 7 &&
                                             memcmp(name.data, "XLA Ops", 7) == 0);
    if (name.size) hd_builder_name_track(r->builder, r->track, text);
    if (!r->plane.line_count) HD_TRY(name_process(r));
    if (r->line_is_queue) hd_builder_set_stream(r->builder, r->track, r->plane.device, stream);
    if (r->plane.is_device) hd_builder_sort_track(r->builder, r->track, (int64_t)r->plane.line_count);
    r->plane.line_count++;
    return HD_OK;
}

hd_status xplane_read_line(xplane_reader *r, const hd_proto_field *field)
{
    line_message m = {0}, again = {0};
    hd_proto_reader about = hd_proto_reader_of(field->data, field->size), events = about;
    hd_proto_schema schema = {members_of_line, HD_PROTO_COUNT(members_of_line)};
    HD_TRY(hd_proto_walk(&m, &about, &schema, NULL, NULL));
    HD_TRY(begin_line(r, &m));
    schema.members = members_of_events;
    HD_TRY(hd_proto_walk(&again, &events, &schema, each_event, r));
    return xplane_check(r, "xplane.line-damaged", &events, &again.head);
}
