/* legacy.c - track events that carry a phase of the Chrome format */
#include "format/perfetto/read/reader.h"

hd_status perfetto_read_legacy(perfetto_legacy *out, uint32_t *name, perfetto_reader *reader,
                               const perfetto_sequence *sequence, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (perfetto_legacy){0};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_LEGACY_NAME_IID):
            *name = perfetto_interned_text(reader, sequence, PF_INTERNED_EVENT_NAMES, f.value);
            break;
        case HD_PROTO_VARINT(PF_LEGACY_PHASE): out->phase = f.value > ' ' && f.value < 0x7f ? (char)f.value : 0; break;
        case HD_PROTO_VARINT(PF_LEGACY_DURATION_US):
            out->duration_us = (int64_t)f.value;
            out->has_duration = true;
            break;
        case HD_PROTO_VARINT(PF_LEGACY_THREAD_DURATION_US):
            out->thread_duration_us = (int64_t)f.value;
            out->has_thread_duration = true;
            break;
        case HD_PROTO_VARINT(PF_LEGACY_UNSCOPED_ID):
        case HD_PROTO_VARINT(PF_LEGACY_LOCAL_ID):
        case HD_PROTO_VARINT(PF_LEGACY_GLOBAL_ID):
            out->id = f.value;
            out->id_type = HD_ID_INT;
            if (hd_proto_number(&f) == PF_LEGACY_LOCAL_ID) out->id_type |= HD_ID_LOCAL;
            if (hd_proto_number(&f) == PF_LEGACY_GLOBAL_ID) out->id_type |= HD_ID_GLOBAL;
            break;
        case HD_PROTO_BYTES(PF_LEGACY_ID_SCOPE): out->id_scope = perfetto_text(reader, &f); break;
        case HD_PROTO_VARINT(PF_LEGACY_BIND_ID):
            out->bind_id = f.value;
            out->has_bind = true;
            break;
        case HD_PROTO_VARINT(PF_LEGACY_BIND_TO_ENCLOSING): out->bind_enclosing = f.value != 0; break;
        case HD_PROTO_VARINT(PF_LEGACY_FLOW_DIRECTION): out->direction = (uint32_t)f.value; break;
        case HD_PROTO_VARINT(PF_LEGACY_INSTANT_EVENT_SCOPE): out->scope = (uint32_t)f.value; break;
        case HD_PROTO_VARINT(PF_LEGACY_PID_OVERRIDE):
            out->pid = (int32_t)f.value;
            out->has_pid = true;
            break;
        case HD_PROTO_VARINT(PF_LEGACY_TID_OVERRIDE):
            out->tid = (int32_t)f.value;
            out->has_tid = true;
            break;
        default: break;
        }
    }
    return perfetto_check(reader, &message);
}

static hd_kind kind_of(char phase)
{
    switch (phase) {
    case 'B':
    case 'X': return HD_KIND_SLICE;
    case 'E': return HD_KIND_END;
    case 'i':
    case 'I':
    case 'R': return HD_KIND_INSTANT;
    case 'C': return HD_KIND_COUNTER;
    case 's':
    case 't':
    case 'f': return HD_KIND_FLOW;
    case 'b':
    case 'e':
    case 'n':
    case 'S':
    case 'T':
    case 'p':
    case 'F': return HD_KIND_ASYNC;
    case 'P': return HD_KIND_SAMPLE;
    case 'N':
    case 'O':
    case 'D': return HD_KIND_OBJECT;
    case 'M': return HD_KIND_META;
    default: return HD_KIND_OTHER;
    }
}

static hd_status add_members(perfetto_reader *reader, const perfetto_legacy *l, hd_kind kind)
{
    static const char *const scopes[] = {NULL, "g", "p", "t"};
    if (l->id_scope) HD_TRY(perfetto_add_member(reader, "scope", HD_ARG_STRING, l->id_scope));
    if (l->has_thread_duration) HD_TRY(perfetto_add_member(reader, "tdur", HD_ARG_INT, l->thread_duration_us));
    if (kind == HD_KIND_INSTANT && l->scope && l->scope < sizeof scopes / sizeof *scopes)
        HD_TRY(
            perfetto_add_member(reader, "s", HD_ARG_STRING, hd_builder_intern_text(reader->builder, scopes[l->scope])));
    return HD_OK;
}

/* A flow of the second form: the slice itself has its source or destination. */
static hd_status add_bound_flow(perfetto_reader *reader, const perfetto_legacy *l, uint32_t track, int64_t time_ns)
{
    static const char phases[] = {0, 'f', 's', 't'};
    if (!l->has_bind || l->direction == 0 || l->direction >= sizeof phases) return HD_OK;
    return perfetto_add_flow(reader, l->bind_id, phases[l->direction], track, time_ns, HD_NO_TIME);
}

hd_status perfetto_add_legacy(perfetto_reader *reader, perfetto_sequence *sequence, perfetto_event *event,
                              uint32_t track, uint32_t lane)
{
    const perfetto_legacy *l = &event->legacy;
    hd_kind kind = kind_of(l->phase);
    hd_row row = hd_row_of(kind, l->phase);
    row.track = track;
    row.name = event->name;
    row.category = event->category;
    row.start_ns = event->time_ns;
    HD_TRY(add_members(reader, l, kind));
    if (l->id_type != HD_ID_NONE) {
        row.id_type = hd_value_of_unsigned(&row.id, reader->builder, l->id) == HD_ARG_INT ? HD_ID_INT : HD_ID_NUMBER;
        row.id_type |= l->id_type & (HD_ID_LOCAL | HD_ID_GLOBAL);
    } else if (kind == HD_KIND_FLOW && l->has_bind) {
        row.id_type =
            hd_value_of_unsigned(&row.id, reader->builder, l->bind_id) == HD_ARG_INT ? HD_ID_INT : HD_ID_NUMBER;
    }
    if (l->bind_enclosing && kind == HD_KIND_FLOW) row.phase |= HD_FLAG_BIND_ENCLOSING;
    if (kind != HD_KIND_FLOW) HD_TRY(add_bound_flow(reader, l, track, event->time_ns));
    if (l->phase == 'B') {
        row.phase = 'X';
        return perfetto_begin_slice(reader, &row, lane, sequence->id, PF_OPEN_SLICE);
    }
    int64_t point_ns;
    if (l->phase == 'E')
        return perfetto_end_slice(&event->time_ns, &point_ns, reader, lane, event->time_ns, sequence->id);
    if (l->phase == 'X' && l->has_duration && __builtin_mul_overflow(l->duration_us, 1000, &row.duration_ns)) {
        perfetto_note(reader, "perfetto.time-out-of-range", HD_LEDGER_LOSS, 1);
        row.duration_ns = HD_NO_TIME;
    }
    return perfetto_add_row(reader, &row, &reader->args);
}
