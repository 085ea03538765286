/* places.c - the tracks of the output, and their descriptors
 *
 * Process    a nonnegative int32 as pid: a process descriptor; any other: a track without one
 * Thread     a nonnegative tid that is not a stream: a thread descriptor; any other, and streams: a track below the
 *            process, so that no stream looks like a thread
 * Samples    need numbers: a track with samples and any other pid or tid becomes a process or thread with an invented
 *            number, above all numbers of the trace
 * Lanes      siblings of the same name, which Perfetto draws as one because of their merge key
 * Order      sort indexes are ranks among siblings; streams without one are ordered by their number
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/protobuf/write.h"
#include "format/conventions.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/told.h"
#include "format/perfetto/write/writer.h"
#include "trace/text.h"

/* The number of a pid or tid, quoted or not, if it is in [0, limit]. */
static bool ident_number(int64_t *out, const hd_trace *trace, hd_ident ident, int64_t limit)
{
    hd_string text = hd_trace_string(trace, ident.text);
    if (ident.type == HD_IDENT_NONE || text.size == 0 || text.size > 18) return false;
    if (text.size > 1 && text.data[0] == '0') return false;
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned)(unsigned char)text.data[i] - '0';
        if (digit > 9) return false;
        value = value * 10 + digit;
    }
    if (value > (uint64_t)limit) return false;
    *out = (int64_t)value;
    return true;
}

/* The pid or tid of a track, as a descriptor and a sample have it; false: it has none. */
static bool own_number(int64_t *out, const pf_writer *w, const hd_track *track)
{
    bool is_process = track->kind == HD_TRACK_PROCESS;
    *out = w->made_numbers[track->id];
    return *out ||
           ident_number(out, w->trace, is_process ? track->pid : track->tid, is_process ? INT32_MAX : INT64_MAX);
}

static bool process_number(int64_t *out, const pf_writer *w, const hd_track *track)
{
    if (track->kind == HD_TRACK_PROCESS) return own_number(out, w, track);
    *out = track->parent == HD_NONE ? 0 : w->made_numbers[track->parent];
    return *out || ident_number(out, w->trace, track->pid, INT32_MAX);
}

static const hd_track *first_twin(const hd_trace *trace, uint32_t track)
{
    const hd_track *t = hd_trace_track_at(trace, track);
    return t->same_as < track ? hd_trace_track_at(trace, t->same_as) : t;
}

bool pf_numbers_of_track(uint32_t *out_pid, uint32_t *out_tid, const pf_writer *w, uint32_t track)
{
    int64_t pid, tid;
    if (track >= hd_trace_track_count(w->trace)) return false;
    const hd_track *t = first_twin(w->trace, track);
    if (!process_number(&pid, w, t)) return false;
    bool is_process = t->kind == HD_TRACK_PROCESS || t->tid.type == HD_IDENT_NONE; /* its first thread, as in Linux */
    if (!is_process && !own_number(&tid, w, t)) return false;
    if (is_process) tid = pid;
    *out_pid = (uint32_t)pid;
    *out_tid = (uint32_t)tid;
    return tid <= INT32_MAX;
}

/* Assigns numbers to tracks with samples but without a suitable number, as long as there are some left. */
static void make_numbers(pf_writer *w)
{
    int64_t number, next = INT64_C(1) << 30;
    uint32_t count = hd_trace_track_count(w->trace);
    for (uint32_t i = 0; i < count; i++) {
        const hd_track *track = hd_trace_track_at(w->trace, i);
        if (ident_number(&number, w->trace, track->pid, INT32_MAX) && number >= next) next = number + 1;
        if (ident_number(&number, w->trace, track->tid, INT32_MAX) && number >= next) next = number + 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const hd_track *track = first_twin(w->trace, i);
        bool has_samples = hd_trace_track_at(w->trace, i)->rows[HD_KIND_SAMPLE] > 0;
        bool is_process = track->kind == HD_TRACK_PROCESS;
        uint32_t process = is_process ? track->id : track->parent;
        if (!has_samples || next > INT32_MAX - 1) continue;
        if (process != HD_NONE && !process_number(&number, w, track)) w->made_numbers[process] = (int32_t)next++;
        if (is_process || track->tid.type == HD_IDENT_NONE) continue;
        if (!own_number(&number, w, track) || number > INT32_MAX) w->made_numbers[track->id] = (int32_t)next++;
    }
    for (uint32_t i = 0; i < count; i++) w->notes[PF_NOTE_NUMBER_MADE] += w->made_numbers[i] != 0;
}

/* HD_NONE: no memory. */
static uint32_t add_place(pf_writer *w, pf_place_kind kind, uint32_t parent, uint32_t track)
{
    if (w->place_count >= PF_PLACE_LIMIT ||
        !hd_large_grow((void **)&w->places, &w->place_capacity, w->place_count, sizeof *w->places, w->large))
        return HD_NONE;
    uint32_t index = (uint32_t)w->place_count++;
    w->places[index] = (pf_place){.kind = kind,
                                  .parent = parent,
                                  .track = track,
                                  .first_lane = index,
                                  .next_lane = HD_NONE,
                                  .last_lane = index,
                                  .lane_count = 1};
    return index;
}

uint32_t pf_place_add_lane(pf_writer *w, uint32_t first)
{
    uint32_t lane = add_place(w, PF_PLACE_LANE, HD_NONE, w->places[first].track);
    if (lane == HD_NONE) return lane;
    pf_place *f = &w->places[first], *l = &w->places[lane];
    bool is_below = f->kind == PF_PLACE_PROCESS || f->kind == PF_PLACE_GROUP || f->kind == PF_PLACE_THREAD;
    l->parent = is_below ? first : f->parent;
    l->name = f->name;
    l->first_lane = first;
    w->places[f->last_lane].next_lane = lane;
    f->last_lane = lane;
    f->lane_count++;
    return lane;
}

static pf_place_kind kind_of_track(const pf_writer *w, const hd_track *track)
{
    int64_t number;
    if (track->kind == HD_TRACK_PROCESS) return own_number(&number, w, track) ? PF_PLACE_PROCESS : PF_PLACE_GROUP;
    if (track->kind == HD_TRACK_STREAM || !own_number(&number, w, track) || !process_number(&number, w, track))
        return PF_PLACE_ROW;
    return PF_PLACE_THREAD;
}

/* 7 and "7" are one track in Perfetto as well; name and order are those of the one with a name. It is a stream if
 * either is. */
static void join_twin(pf_writer *w, const hd_track *track)
{
    uint32_t place = w->track_places[track->same_as];
    const hd_track *other = hd_trace_track_at(w->trace, w->places[place].track);
    w->track_places[track->id] = place;
    if (!other->name && track->name) w->places[place].track = track->id;
    if (track->kind == HD_TRACK_STREAM) w->places[place].kind = PF_PLACE_ROW;
}

hd_status pf_places_init(pf_writer *w, hd_error *err)
{
    uint32_t count = hd_trace_track_count(w->trace);
    w->no_track = HD_NONE;
    w->track_places = malloc(((size_t)count + 1) * sizeof *w->track_places);
    w->made_numbers = calloc((size_t)count + 1, sizeof *w->made_numbers);
    if (!w->track_places || !w->made_numbers) return HD_NOMEM(err);
    make_numbers(w);
    HD_TRY(hd_conventions_untold(&w->untold, w->trace, false, err));
    for (int pass = 0; pass < 2; pass++) { /* processes first: they are parents */
        for (uint32_t i = 0; i < count; i++) {
            const hd_track *track = hd_trace_track_at(w->trace, i);
            if ((track->kind == HD_TRACK_PROCESS) != (pass == 0)) continue;
            if (track->same_as < i) {
                const hd_track *first = hd_trace_track_at(w->trace, track->same_as);
                w->notes[PF_NOTE_IDS_MERGED] +=
                    track->pid.type != first->pid.type || track->tid.type != first->tid.type;
                join_twin(w, track);
                continue;
            }
            uint32_t parent = track->parent == HD_NONE ? HD_NONE : w->track_places[track->parent];
            if (parent != HD_NONE && track->tid.type == HD_IDENT_NONE) { /* events of the process itself */
                w->track_places[i] = parent;
                continue;
            }
            w->track_places[i] = add_place(w, kind_of_track(w, track), parent, i);
            if (w->track_places[i] == HD_NONE) return HD_NOMEM(err);
        }
    }
    return HD_OK;
}

void pf_places_deinit(pf_writer *w)
{
    hd_large_free(w->places);
    free(w->track_places);
    free(w->made_numbers);
    free(w->untold);
    hd_large_slots_deinit(&w->place_slots);
}

uint32_t pf_place_of_track(pf_writer *w, uint32_t track)
{
    if (track < hd_trace_track_count(w->trace)) return w->track_places[track];
    if (w->no_track == HD_NONE) w->no_track = add_place(w, PF_PLACE_GROUP, HD_NONE, HD_NONE);
    return w->no_track;
}

static uint32_t pf_place_of_process(pf_writer *w, uint32_t track)
{
    uint32_t place = pf_place_of_track(w, track);
    if (place == HD_NONE || w->places[place].parent == HD_NONE) return place;
    return w->places[place].parent;
}

/* ---- counters and asynchronous places ---- */

/* The place of a key, and whether it is there already. */
static uint32_t find_place(pf_writer *w, uint64_t key, pf_place_kind kind, uint32_t parent, bool *out_new)
{
    uint32_t place;
    HD_SLOTS_FIND(place, &w->place_slots, key, w->places[place].key == key && w->places[place].kind == kind);
    *out_new = false;
    if (place != HD_SLOTS_NONE) return place;
    place = add_place(w, kind, parent, HD_NONE);
    if (place == HD_NONE || !hd_large_slots_add(&w->place_slots, key, place, w->large)) return HD_NONE;
    w->places[place].key = key;
    *out_new = true;
    return place;
}

uint32_t pf_counter_unit(const pf_writer *w, const hd_event *event)
{
    const hd_shape *shape = hd_trace_shape_at(w->trace, event->shape);
    for (uint32_t k = 0; k < shape->key_count; k++)
        if (pf_is_unit(w, &shape->keys[k])) return (uint32_t)hd_column_at(&event->args->columns[k], event->args_row);
    return HD_STRING_NONE;
}

uint32_t pf_place_counter(pf_writer *w, const hd_event *event, uint32_t series)
{
    uint32_t process = pf_place_of_process(w, event->track);
    struct {
        uint64_t id;
        uint32_t process, name, series, category, kind, unused;
    } key = {.id = pf_id_hash(w->trace, event->id_type, event->id),
             .process = process,
             .name = event->name,
             .series = series,
             .category = event->category,
             .kind = PF_PLACE_COUNTER};
    bool is_new;
    uint32_t place = find_place(w, hd_hash(&key, sizeof key), PF_PLACE_COUNTER, process, &is_new);
    if (place == HD_NONE || !is_new) return place;
    w->places[place].name = event->name;
    w->places[place].series = series;
    w->places[place].category = event->category;
    w->places[place].unit = pf_counter_unit(w, event);
    w->places[place].id_type = event->id_type;
    w->places[place].id = event->id;
    return place;
}

uint32_t pf_place_async(pf_writer *w, const hd_event *event, uint64_t key, bool is_old)
{
    bool is_new;
    uint32_t place = find_place(w, key, PF_PLACE_ASYNC, pf_place_of_process(w, event->track), &is_new);
    if (place == HD_NONE || !is_new) return place;
    w->places[place].name = event->name;
    w->places[place].is_old_async = is_old;
    return place;
}

/* ---- descriptors ---- */

static void put_string(pf_writer *w, hd_bytes *out, uint32_t field, uint32_t id)
{
    hd_string text = hd_trace_string(w->trace, id);
    hd_pb_put_bytes(out, field, text.data, text.size);
}

static int32_t clamp(int64_t rank)
{
    return rank < INT32_MIN ? INT32_MIN : rank > INT32_MAX ? INT32_MAX : (int32_t)rank;
}

/* The rank among its siblings, if the trace has an opinion. */
static bool find_rank(int64_t *out, const hd_track *track)
{
    int64_t rank = track->sort_index;
    if (rank == HD_NO_NUMBER && track->kind == HD_TRACK_STREAM) rank = track->stream;
    if (rank == HD_NO_NUMBER) return false;
    *out = clamp(rank);
    return true;
}

static void put_process(pf_writer *w, hd_bytes *out, const hd_track *track)
{
    int64_t pid = 0, rank;
    size_t mark = hd_pb_begin(out, PF_TRACK_PROCESS);
    own_number(&pid, w, track);
    hd_pb_put_int(out, PF_PROCESS_PID, pid);
    if (track->name)
        put_string(w, out, PF_PROCESS_PROCESS_NAME, track->name);
    else if (w->made_numbers[track->id] && track->pid.type != HD_IDENT_NONE)
        put_string(w, out, PF_PROCESS_PROCESS_NAME, track->pid.text);
    if (track->labels) put_string(w, out, PF_PROCESS_PROCESS_LABELS, track->labels);
    if (find_rank(&rank, track)) hd_pb_put_int(out, PF_PROCESS_LEGACY_SORT_INDEX, rank);
    hd_pb_end(out, mark);
}

static void put_thread(pf_writer *w, hd_bytes *out, const hd_track *track)
{
    int64_t pid = 0, tid = 0, rank;
    size_t mark = hd_pb_begin(out, PF_TRACK_THREAD);
    process_number(&pid, w, track);
    own_number(&tid, w, track);
    hd_pb_put_int(out, PF_THREAD_PID, pid);
    hd_pb_put_int(out, PF_THREAD_TID, tid);
    if (track->name || w->made_numbers[track->id])
        put_string(w, out, PF_THREAD_THREAD_NAME, track->name ? track->name : track->tid.text);
    if (find_rank(&rank, track)) hd_pb_put_int(out, PF_THREAD_LEGACY_SORT_INDEX, rank);
    hd_pb_end(out, mark);
}

void pf_put_track_name(pf_writer *w, hd_bytes *out, uint32_t field, uint32_t index)
{
    const hd_track *track = index == HD_NONE ? NULL : hd_trace_track_at(w->trace, index);
    char text[48];
    if (!track || (track->kind == HD_TRACK_PROCESS && !track->name && track->pid.type == HD_IDENT_NONE)) {
        hd_pb_put_text(out, field, "without process");
    } else if (track->name) {
        put_string(w, out, field, track->name);
    } else if (track->kind == HD_TRACK_STREAM && track->stream != HD_NO_NUMBER) {
        snprintf(text, sizeof text, "stream %lld", (long long)track->stream);
        hd_pb_put_text(out, field, text);
    } else {
        put_string(w, out, field, track->kind == HD_TRACK_PROCESS ? track->pid.text : track->tid.text);
    }
}

/* The name and rank that a track of the output has, though that of the trace has none. */
static bool is_made_name(const hd_track *track)
{
    return !track->name && track->kind == HD_TRACK_STREAM && track->stream != HD_NO_NUMBER;
}

/* A track whose name would make it a stream with the number as tid. */
static bool is_called_stream(const pf_writer *w, const pf_place *place, const hd_track *track)
{
    hd_string name = hd_trace_string(w->trace, track->name ? track->name : track->tid.text);
    return place->kind == PF_PLACE_ROW && name.size > 6 && strncasecmp(name.data, "stream", 6) == 0;
}

static void put_told(pf_writer *w, hd_bytes *out, const pf_told *told, bool is_process)
{
    pf_told_put(&w->event, told, is_process);
    if (w->event.size) hd_pb_put_bytes(out, PF_TRACK_DESCRIPTION, w->event.data, w->event.size);
    w->event.size = 0;
}

/* Data of a track that no other field has. */
static void put_description(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    const hd_track *track = place->track == HD_NONE ? NULL : hd_trace_track_at(w->trace, place->track);
    pf_told told = PF_TOLD_NOTHING;
    bool is_process = !track || track->kind == HD_TRACK_PROCESS;
    if (!track || (is_process && track->pid.type == HD_IDENT_NONE)) {
        told.no_process = true;
        told.no_name = !track || !track->name;
    }
    if (track) {
        hd_ident ident = is_process ? track->pid : track->tid;
        bool has_field = place->kind == PF_PLACE_PROCESS || place->kind == PF_PLACE_THREAD;
        bool has_number = has_field && !w->made_numbers[track->id];
        told.ident = hd_trace_string(w->trace, ident.text);
        bool is_called = is_called_stream(w, place, track);
        bool is_name = !has_field && ident.type == HD_IDENT_STRING && told.ident.size && !track->name &&
                       !is_made_name(track) && !is_called;
        told.has_ident = !has_number && ident.type != HD_IDENT_NONE && !is_name;
        if (!has_field) told.labels = hd_trace_string(w->trace, track->labels);
        told.no_name |= !has_number && !track->name && ident.type != HD_IDENT_NONE;
        told.no_order = track->sort_index == HD_NO_NUMBER && track->kind == HD_TRACK_STREAM &&
                        track->stream != HD_NO_NUMBER && !has_field;
        if (track->sort_index != HD_NO_NUMBER && track->sort_index != clamp(track->sort_index))
            told.order = track->sort_index;
        told.is_thread = track->kind == HD_TRACK_THREAD && (w->untold[track->id] == HD_UNTOLD_THREAD || is_called);
        told.is_stream = track->kind == HD_TRACK_STREAM; /* slices of several numbers come in another order */
        told.rank = w->untold[track->id] == HD_UNTOLD_RANK ? track->rank : HD_NO_NUMBER;
        told.device = track->device;
        told.stream = track->stream;
    }
    put_told(w, out, &told, is_process);
}

static void put_async(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    pf_told told = PF_TOLD_NOTHING;
    told.is_async = true;
    told.is_old_async = w->places[place->first_lane].is_old_async;
    put_string(w, out, PF_TRACK_NAME, place->name);
    put_told(w, out, &told, false);
}

/* Name, id if any, and the series unless it is just "value". */
static void put_counter_name(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    hd_string name = hd_trace_string(w->trace, place->name), series = hd_trace_string(w->trace, place->series);
    size_t mark = hd_pb_begin(out, PF_TRACK_NAME);
    hd_bytes_put(out, name.data, name.size);
    if (place->id_type != HD_ID_NONE) {
        hd_bytes_put(out, " id: ", 5);
        if ((place->id_type & HD_ID_VALUE_MASK) == HD_ID_INT) {
            char text[24];
            hd_bytes_put(out, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)place->id));
        } else {
            hd_string id = hd_trace_string(w->trace, (uint32_t)place->id);
            hd_bytes_put(out, id.data, id.size);
        }
    }
    if (series.size && !hd_string_is(series, "value")) {
        if (name.size) hd_bytes_put(out, " ", 1);
        hd_bytes_put(out, series.data, series.size);
    }
    hd_pb_end(out, mark);
}

static void put_counter_description(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    hd_string series = hd_trace_string(w->trace, place->series), category = hd_trace_string(w->trace, place->category);
    if (!category.size && hd_string_is(series, "value")) return; /* as without a description */
    pf_told_put_counter(&w->event, series, category);
    hd_pb_put_bytes(out, PF_TRACK_DESCRIPTION, w->event.data, w->event.size);
    w->event.size = 0;
}

/* "Memory (bytes)", "Clock [MHz]": the content of the last brackets. */
static bool bracketed(hd_string *out, hd_string text)
{
    if (text.size < 3) return false;
    char close = text.data[text.size - 1], open = close == ')' ? '(' : '[';
    if (close != ')' && close != ']') return false;
    size_t at = text.size - 1;
    while (at && text.data[at - 1] != open) at--;
    *out = (hd_string){text.data + at, text.size - 1 - at};
    return at > 0 && out->size > 0 && out->size <= 16;
}

static void put_counter_unit(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    hd_string unit, series = hd_trace_string(w->trace, place->series);
    size_t mark = hd_pb_begin(out, PF_TRACK_COUNTER);
    if (place->unit != HD_STRING_NONE)
        unit = hd_trace_string(w->trace, place->unit);
    else if (!bracketed(&unit, series) && !bracketed(&unit, hd_trace_string(w->trace, place->name)))
        unit = series;
    if (hd_string_is(unit, "bytes") || (place->unit == HD_STRING_NONE && hd_string_is(unit, "Bytes")))
        hd_pb_put_uint(out, PF_COUNTER_UNIT, PF_UNIT_SIZE_BYTES);
    else if (hd_string_is(unit, "ns"))
        hd_pb_put_uint(out, PF_COUNTER_UNIT, PF_UNIT_TIME_NS);
    else if (unit.data != series.data && unit.size)
        hd_pb_put_bytes(out, PF_COUNTER_UNIT_NAME, unit.data, unit.size);
    hd_pb_end(out, mark);
}

static void put_order(hd_bytes *out, const pf_writer *w, const pf_place *place)
{
    int64_t rank;
    if (place->track != HD_NONE && find_rank(&rank, hd_trace_track_at(w->trace, place->track)))
        hd_pb_put_int(out, PF_TRACK_SIBLING_ORDER_RANK, rank);
}

/* A place that is identified in its parent by name only: its lanes are merged with it, others of its name are not. */
static void put_row(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    const pf_place *first = &w->places[place->first_lane];
    pf_put_track_name(w, out, PF_TRACK_NAME, place->track);
    if (place->kind == PF_PLACE_ROW) put_description(w, out, place);
    put_order(out, w, place);
    if (first->lane_count == 1) {
        hd_pb_put_uint(out, PF_TRACK_SIBLING_MERGE_BEHAVIOR, PF_MERGE_NONE);
    } else {
        hd_pb_put_uint(out, PF_TRACK_SIBLING_MERGE_BEHAVIOR, PF_MERGE_BY_KEY);
        hd_pb_put_uint(out, PF_TRACK_SIBLING_MERGE_KEY_INT, (uint64_t)place->first_lane + 1);
    }
}

static void put_place(pf_writer *w, hd_bytes *out, const pf_place *place)
{
    const hd_track *track = place->track == HD_NONE ? NULL : hd_trace_track_at(w->trace, place->track);
    switch (place->kind) {
    case PF_PLACE_PROCESS:
        put_process(w, out, track);
        put_description(w, out, place);
        break;
    case PF_PLACE_THREAD:
        put_thread(w, out, track);
        put_description(w, out, place);
        break;
    case PF_PLACE_GROUP:
        pf_put_track_name(w, out, PF_TRACK_NAME, place->track);
        put_description(w, out, place);
        break;
    case PF_PLACE_ROW: put_row(w, out, place); return;
    case PF_PLACE_LANE:
        if (w->places[place->first_lane].kind != PF_PLACE_ASYNC) {
            put_row(w, out, place);
            return;
        } /* fall through */
    case PF_PLACE_ASYNC: put_async(w, out, place); return;
    case PF_PLACE_COUNTER:
        put_counter_name(w, out, place);
        put_counter_unit(w, out, place);
        put_counter_description(w, out, place);
        return;
    }
    if (place->kind != PF_PLACE_THREAD) hd_pb_put_uint(out, PF_TRACK_CHILD_ORDERING, PF_ORDERING_EXPLICIT);
    put_order(out, w, place);
}

/* Threads without slices and a name, such as the tid 0 in a process's metadata. A text as tid is a name, if it has
 * counters. */
static bool is_idle(const pf_writer *w, const pf_place *place)
{
    if ((place->kind != PF_PLACE_THREAD && place->kind != PF_PLACE_ROW) || place->events) return false;
    const hd_track *track = hd_trace_track_at(w->trace, place->track);
    uint64_t others = 0;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) others += kind == HD_KIND_META ? 0 : track->rows[kind];
    bool is_named = track->name || (track->tid.type == HD_IDENT_STRING && others);
    return !is_named && track->sort_index == HD_NO_NUMBER;
}

hd_status pf_emit_places(pf_writer *w, hd_error *err)
{
    for (size_t i = 0; i <= w->place_count; i++) {
        if (i && is_idle(w, &w->places[i - 1])) continue;
        hd_bytes *out = pf_packets_buffer(w->packets);
        size_t packet = hd_pb_begin(out, PF_TRACE_PACKET), mark = hd_pb_begin(out, PF_PACKET_TRACK_DESCRIPTOR);
        hd_pb_put_uint(out, PF_TRACK_UUID, i);
        if (i == 0) { /* what ranks mean */
            hd_pb_put_uint(out, PF_TRACK_PROCESS_ORDERING, 1);
            hd_pb_put_uint(out, PF_TRACK_THREAD_ORDERING, 1);
            hd_pb_put_uint(out, PF_TRACK_CHILD_ORDERING, PF_ORDERING_EXPLICIT);
        } else {
            const pf_place *place = &w->places[i - 1];
            if (place->parent != HD_NONE) hd_pb_put_uint(out, PF_TRACK_PARENT_UUID, (uint64_t)place->parent + 1);
            put_place(w, out, place);
        }
        hd_pb_end(out, mark);
        hd_pb_end(out, packet);
        HD_TRY(pf_packets_flush(w->packets, err));
    }
    return HD_OK;
}
