/* event.c - track events */
#include "format/perfetto/read/reader.h"
#include "trace/text.h"

/* ---- fields ---- */

static void add_category(perfetto_reader *reader, perfetto_event *e, uint32_t text)
{
    if (text) e->category = e->category ? perfetto_join(reader, e->category, text) : text;
}

static hd_status read_categories(perfetto_reader *reader, const perfetto_sequence *s, perfetto_event *e,
                                 const hd_proto_field *f, hd_proto_reader *message)
{
    uint64_t iid;
    for (size_t at = 0; hd_proto_repeated(&iid, f, HD_WIRE_VARINT, &at, message);)
        add_category(reader, e, perfetto_interned_text(reader, s, PF_INTERNED_EVENT_CATEGORIES, iid));
    return HD_OK;
}

static hd_status read_flows(perfetto_reader *reader, const hd_proto_field *f, hd_proto_reader *message,
                            hd_proto_wire wire, char phase)
{
    uint64_t id;
    for (size_t at = 0; hd_proto_repeated(&id, f, wire, &at, message);) {
        HD_TRY(perfetto_grow(reader, (void **)&reader->event_flows, &reader->event_flow_capacity,
                             reader->event_flow_count, sizeof *reader->event_flows));
        reader->event_flows[reader->event_flow_count].id = id;
        reader->event_flows[reader->event_flow_count++].phase = phase;
    }
    return HD_OK;
}

static hd_status read_values(perfetto_reader *reader, uint64_t **list, size_t *count, size_t *capacity,
                             const hd_proto_field *f, hd_proto_wire wire, hd_proto_reader *message)
{
    uint64_t value;
    for (size_t at = 0; hd_proto_repeated(&value, f, wire, &at, message);)
        HD_TRY(perfetto_append_u64(reader, list, count, capacity, value));
    return HD_OK;
}

/* Fields that may be packed: any wire type that hd_proto_repeated takes. */
static hd_status read_repeated(bool *out_known, perfetto_reader *reader, const perfetto_sequence *s, perfetto_event *e,
                               const hd_proto_field *f, hd_proto_reader *m)
{
    perfetto_reader *r = reader;
    *out_known = true;
    switch (hd_proto_number(f)) {
    case PF_EVENT_CATEGORY_IIDS: return read_categories(r, s, e, f, m);
    case PF_EVENT_FLOW_IDS_OLD: return read_flows(r, f, m, HD_WIRE_VARINT, 0);
    case PF_EVENT_TERMINATING_FLOW_IDS_OLD: return read_flows(r, f, m, HD_WIRE_VARINT, 'f');
    case PF_EVENT_FLOW_IDS: return read_flows(r, f, m, HD_WIRE_FIXED64, 0);
    case PF_EVENT_TERMINATING_FLOW_IDS: return read_flows(r, f, m, HD_WIRE_FIXED64, 'f');
    case PF_EVENT_EXTRA_COUNTER_TRACK_UUIDS:
        return read_values(r, &r->extra_tracks, &r->extra_track_count, &r->extra_track_capacity, f, HD_WIRE_VARINT, m);
    case PF_EVENT_EXTRA_COUNTER_VALUES:
        return read_values(r, &r->extra_values, &r->extra_value_count, &r->extra_value_capacity, f, HD_WIRE_VARINT, m);
    case PF_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS:
        return read_values(r, &r->extra_double_tracks, &r->extra_double_track_count, &r->extra_double_track_capacity, f,
                           HD_WIRE_VARINT, m);
    case PF_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
        return read_values(r, &r->extra_doubles, &r->extra_double_count, &r->extra_double_capacity, f, HD_WIRE_FIXED64,
                           m);
    default: *out_known = false; return HD_OK;
    }
}

/* Those that become arguments. */
static hd_status read_argument(bool *out_known, perfetto_reader *reader, const perfetto_sequence *s,
                               const hd_proto_field *f)
{
    *out_known = true;
    uint32_t text;
    switch (f->tag) {
    case HD_PROTO_BYTES(PF_EVENT_DEBUG_ANNOTATIONS): return perfetto_read_annotation(reader, s, f);
    case HD_PROTO_BYTES(PF_EVENT_TASK_EXECUTION): return perfetto_read_task(reader, s, f);
    case HD_PROTO_BYTES(PF_EVENT_LOG_MESSAGE): return perfetto_read_log(reader, s, f);
    case HD_PROTO_BYTES(PF_EVENT_SOURCE_LOCATION): return perfetto_read_location(reader, f);
    case HD_PROTO_VARINT(PF_EVENT_SOURCE_LOCATION_IID): return perfetto_add_location(reader, s, "source", f->value);
    case HD_PROTO_BYTES(PF_EVENT_CALLSTACK): return perfetto_read_callstack(reader, f);
    case HD_PROTO_VARINT(PF_EVENT_CORRELATION_ID): return perfetto_add_unsigned_arg(reader, "correlation_id", f->value);
    case HD_PROTO_BYTES(PF_EVENT_CORRELATION_ID_STR):
        return perfetto_add_text_arg(reader, "correlation_id", perfetto_text(reader, f));
    case HD_PROTO_VARINT(PF_EVENT_CORRELATION_ID_STR_IID):
        text = perfetto_interned_text(reader, s, PF_INTERNED_CORRELATION_ID_STR, f->value);
        return text ? perfetto_add_text_arg(reader, "correlation_id", text) : HD_OK;
    case HD_PROTO_VARINT(PF_EVENT_CALLSTACK_IID):
        perfetto_note(reader, "perfetto.callstack", HD_LEDGER_LOSS, 1);
        return HD_OK;
    default: *out_known = false; return HD_OK;
    }
}

/* Times of the old form are relative to the thread descriptor's. */
static void read_old_time(perfetto_event *e, perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *f)
{
    uint64_t us = f->value;
    int64_t ns;
    if (f->tag == HD_PROTO_VARINT(PF_EVENT_TIMESTAMP_DELTA_US))
        us = (uint64_t)(s->time_us = (int64_t)((uint64_t)s->time_us + us));
    e->has_time = false;
    if (us > INT64_MAX / 1000) {
        perfetto_note(reader, "perfetto.time-out-of-range", HD_LEDGER_LOSS, 1);
        return;
    }
    uint32_t clock = reader->clocks.trace_clock && reader->clocks.count ? PF_CLOCK_MONOTONIC : 0;
    if (!perfetto_trace_time(&ns, reader, s, clock, us * 1000)) return;
    e->time_ns = ns;
    e->has_time = true;
}

static hd_status read_scalar(perfetto_event *e, perfetto_reader *reader, perfetto_sequence *s, const hd_proto_field *f)
{
    switch (f->tag) {
    case HD_PROTO_VARINT(PF_EVENT_TYPE): e->type = (uint32_t)f->value; break;
    case HD_PROTO_VARINT(PF_EVENT_NAME_IID):
        e->name = perfetto_interned_text(reader, s, PF_INTERNED_EVENT_NAMES, f->value);
        break;
    case HD_PROTO_BYTES(PF_EVENT_NAME): e->name = perfetto_text(reader, f); break;
    case HD_PROTO_BYTES(PF_EVENT_CATEGORIES): add_category(reader, e, perfetto_text(reader, f)); break;
    case HD_PROTO_VARINT(PF_EVENT_TRACK_UUID):
        e->track_uuid = f->value;
        e->has_track_uuid = true;
        break;
    case HD_PROTO_VARINT(PF_EVENT_COUNTER_VALUE):
        e->value = (perfetto_number){.integer = (int64_t)f->value};
        e->has_value = true;
        break;
    case HD_PROTO_FIXED64(PF_EVENT_DOUBLE_COUNTER_VALUE):
        e->value = (perfetto_number){.is_double = true, .real = hd_proto_double(f->value)};
        e->has_value = true;
        break;
    case HD_PROTO_VARINT(PF_EVENT_TIMESTAMP_DELTA_US):
    case HD_PROTO_VARINT(PF_EVENT_TIMESTAMP_ABSOLUTE_US): read_old_time(e, reader, s, f); break;
    case HD_PROTO_VARINT(PF_EVENT_THREAD_TIME_DELTA_US):
        e->thread_time_us = s->thread_time_us = (int64_t)((uint64_t)s->thread_time_us + f->value);
        e->has_thread_time = true;
        break;
    case HD_PROTO_VARINT(PF_EVENT_THREAD_TIME_ABSOLUTE_US):
        e->thread_time_us = (int64_t)f->value;
        e->has_thread_time = true;
        break;
    case HD_PROTO_BYTES(PF_EVENT_LEGACY_EVENT): return perfetto_read_legacy(&e->legacy, &e->name, reader, s, f);
    default: perfetto_note(reader, "perfetto.typed-argument", HD_LEDGER_LOSS, 1); break;
    }
    return HD_OK;
}

static hd_status read_fields(perfetto_event *e, perfetto_reader *reader, perfetto_sequence *s,
                             const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    while (hd_proto_next(&f, &message)) {
        bool known;
        HD_TRY(read_argument(&known, reader, s, &f));
        if (!known) HD_TRY(read_repeated(&known, reader, s, e, &f, &message));
        if (!known) HD_TRY(read_scalar(e, reader, s, &f));
    }
    return perfetto_check(reader, &message);
}

/* ---- rows ---- */

static hd_status add_extra_counters(perfetto_reader *r, const perfetto_sequence *s, const perfetto_event *e)
{
    const uint64_t *tracks = r->extra_track_count ? r->extra_tracks : s->extra_tracks;
    size_t count = r->extra_track_count ? r->extra_track_count : s->extra_count;
    for (size_t i = 0; i < r->extra_value_count; i++) {
        if (i >= count) {
            perfetto_note(r, "perfetto.counter-without-track", HD_LEDGER_LOSS, r->extra_value_count - i);
            break;
        }
        perfetto_number value = {.integer = (int64_t)r->extra_values[i]};
        HD_TRY(perfetto_add_sample(r, tracks[i], e->time_ns, value, s->generation));
    }
    tracks = r->extra_double_track_count ? r->extra_double_tracks : s->extra_double_tracks;
    count = r->extra_double_track_count ? r->extra_double_track_count : s->extra_double_count;
    for (size_t i = 0; i < r->extra_double_count; i++) {
        if (i >= count) {
            perfetto_note(r, "perfetto.counter-without-track", HD_LEDGER_LOSS, r->extra_double_count - i);
            break;
        }
        perfetto_number value = {.is_double = true, .real = hd_proto_double(r->extra_doubles[i])};
        HD_TRY(perfetto_add_sample(r, tracks[i], e->time_ns, value, s->generation));
    }
    return HD_OK;
}

static hd_status find_track(uint32_t *out, uint32_t *out_lane, perfetto_reader *reader, const perfetto_sequence *s,
                            const perfetto_event *e)
{
    uint64_t uuid = e->has_track_uuid ? e->track_uuid : s->has_track_uuid ? s->track_uuid : 0;
    bool numbers = e->legacy.has_pid || (e->legacy.has_tid && s->has_thread) ||
                   (s->has_thread && (!e->has_track_uuid || e->type == PF_TYPE_UNSPECIFIED));
    if (uuid || !numbers) return perfetto_event_track(out, out_lane, reader, uuid);
    int64_t pid = e->legacy.has_pid ? e->legacy.pid : s->pid;
    int64_t tid = e->legacy.has_tid ? e->legacy.tid : e->legacy.has_pid ? e->legacy.pid : s->tid;
    HD_TRY(perfetto_thread_track(out, reader, pid, tid));
    *out_lane = perfetto_track_lane(*out);
    return HD_OK;
}

static hd_status add_flows(perfetto_reader *reader, uint32_t track, int64_t time_ns, int64_t point_ns)
{
    for (size_t i = 0; i < reader->event_flow_count; i++)
        HD_TRY(perfetto_add_flow(reader, reader->event_flows[i].id, reader->event_flows[i].phase, track, time_ns,
                                 point_ns));
    return HD_OK;
}

/* Reads members that our writer stored as arguments: the id of an event, the mark of an unknown duration, and of an
 * asynchronous event its duration and the track of its thread, HD_NONE: none of its own. */
static hd_status take_members(hd_row *row, bool *no_duration, uint32_t *out_track, perfetto_reader *reader)
{
    static const struct {
        const char *key;
        hd_arg_scope scope;
        unsigned flags;
    } ids[] = {{"event.id", HD_SCOPE_ARGS, 0},
               {"id2.local", HD_SCOPE_EVENT, HD_ID_LOCAL},
               {"id2.global", HD_SCOPE_EVENT, HD_ID_GLOBAL}};
    size_t kept = 0;
    for (size_t i = 0; i < reader->args.count; i++) {
        const perfetto_arg arg = reader->args.list[i];
        hd_string key = hd_builder_string(reader->builder, arg.key.key);
        unsigned type = arg.key.type == HD_ARG_INT      ? HD_ID_INT
                        : arg.key.type == HD_ARG_STRING ? HD_ID_STRING
                        : arg.key.type == HD_ARG_NUMBER ? HD_ID_NUMBER
                                                        : HD_ID_NONE;
        bool taken = arg.key.type == HD_ARG_NULL && arg.key.scope == HD_SCOPE_ARGS && hd_string_is(key, "event.dur");
        *no_duration |= taken;
        if (row->kind == HD_KIND_ASYNC && arg.key.type == HD_ARG_INT) {
            uint32_t lane;
            if (arg.key.scope == HD_SCOPE_ARGS && hd_string_is(key, "event.dur")) {
                row->duration_ns = arg.bits;
                taken = true;
            } else if (arg.key.scope == HD_SCOPE_EVENT && hd_string_is(key, "track")) {
                HD_TRY(perfetto_event_track(out_track, &lane, reader, (uint64_t)arg.bits));
                taken = true;
            }
        }
        for (size_t k = 0; type != HD_ID_NONE && row->id_type == HD_ID_NONE && k < sizeof ids / sizeof *ids; k++) {
            if (arg.key.scope != ids[k].scope || !hd_string_is(key, ids[k].key)) continue;
            row->id_type = type | ids[k].flags;
            row->id = arg.bits;
            taken = true;
        }
        if (!taken) reader->args.list[kept++] = arg;
    }
    reader->args.count = kept;
    return HD_OK;
}

static hd_status add_typed(perfetto_reader *reader, const perfetto_sequence *s, const perfetto_event *e, uint32_t track,
                           uint32_t lane)
{
    hd_row row =
        hd_row_of(e->type == PF_TYPE_INSTANT ? HD_KIND_INSTANT : HD_KIND_SLICE, e->type == PF_TYPE_INSTANT ? 'i' : 'X');
    int64_t at = e->time_ns, point = HD_NO_TIME;
    const perfetto_track *async = perfetto_async_track(reader, lane);
    if (async)
        row = hd_row_of(HD_KIND_ASYNC, e->type == PF_TYPE_INSTANT ? async->is_old_async ? 'T' : 'n'
                                       : async->is_old_async      ? 'S'
                                                                  : 'b');
    row.track = track;
    row.name = e->name;
    row.category = e->category;
    row.start_ns = e->time_ns;
    bool no_duration = false;
    uint32_t own = HD_NONE;
    if (e->type != PF_TYPE_SLICE_END || async) HD_TRY(take_members(&row, &no_duration, &own, reader));
    if (own != HD_NONE) row.track = own;
    reader->end_track = own;
    switch (e->type) {
    case PF_TYPE_SLICE_BEGIN:
        HD_TRY(perfetto_begin_slice(reader, &row, lane, s->id, no_duration ? PF_OPEN_NO_DURATION : PF_OPEN_SLICE));
        break;
    case PF_TYPE_SLICE_END: HD_TRY(perfetto_end_slice(&at, &point, reader, lane, e->time_ns, s->id)); break;
    case PF_TYPE_INSTANT: HD_TRY(perfetto_add_row(reader, &row, &reader->args)); break;
    case PF_TYPE_STATE:
        HD_TRY(perfetto_end_state(reader, lane, e->time_ns));
        if (e->name) HD_TRY(perfetto_begin_slice(reader, &row, lane, s->id, PF_OPEN_STATE));
        break;
    default: perfetto_note(reader, "perfetto.event-of-unknown-type", HD_LEDGER_LOSS, 1); return HD_OK;
    }
    return add_flows(reader, track, at, point);
}

static hd_status add_counter(perfetto_reader *reader, const perfetto_sequence *s, const perfetto_event *e)
{
    if (!e->has_value || (!e->has_track_uuid && !s->has_track_uuid)) {
        perfetto_note(reader, e->has_value ? "perfetto.counter-without-track" : "perfetto.counter-without-value",
                      HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    if (reader->args.count || reader->event_flow_count)
        perfetto_note(reader, "perfetto.counter-arguments", HD_LEDGER_LOSS, 1);
    return perfetto_add_sample(reader, e->has_track_uuid ? e->track_uuid : s->track_uuid, e->time_ns, e->value,
                               s->generation);
}

hd_status perfetto_read_event(perfetto_reader *reader, perfetto_sequence *sequence, const hd_proto_field *field,
                              int64_t time_ns, bool has_time)
{
    perfetto_event e = {.time_ns = time_ns, .has_time = has_time};
    uint32_t track = HD_NONE, lane = 0;
    reader->args.count = reader->event_flow_count = 0;
    reader->extra_track_count = reader->extra_double_track_count = 0;
    reader->extra_value_count = reader->extra_double_count = 0;
    HD_TRY(read_fields(&e, reader, sequence, field));
    if (!e.has_time) {
        perfetto_note(reader, "perfetto.event-without-time", HD_LEDGER_LOSS, 1);
        return HD_OK;
    }
    HD_TRY(add_extra_counters(reader, sequence, &e));
    if (e.has_thread_time) {
        perfetto_know_thread_times(reader);
        HD_TRY(perfetto_add_member(reader, "tts", HD_ARG_INT, e.thread_time_us));
    }
    if (e.type == PF_TYPE_COUNTER) return add_counter(reader, sequence, &e);
    HD_TRY(find_track(&track, &lane, reader, sequence, &e));
    if (e.legacy.phase) {
        HD_TRY(perfetto_add_legacy(reader, sequence, &e, track, lane));
        return add_flows(reader, track, e.time_ns, HD_NO_TIME);
    }
    return add_typed(reader, sequence, &e, track, lane);
}
