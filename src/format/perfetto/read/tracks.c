/* tracks.c - track descriptors, threads and processes by number */
#include <stdlib.h>

#include "base/memory/large.h"
#include "format/perfetto/read/reader.h"
#include "trace/spill.h"
#include "trace/text.h"

enum { ANCESTOR_LIMIT = 32 };

/* ---- threads and processes by number ---- */

hd_ident perfetto_number_ident(perfetto_reader *reader, int64_t number)
{
    reader->text.size = 0;
    hd_json_put_int(&reader->text, number);
    return (hd_ident){HD_IDENT_NUMBER, hd_builder_intern(reader->builder, reader->text.data, reader->text.size)};
}

/* A thread, or with is_process the process itself (tid is 0). */
hd_status perfetto_get_thread(perfetto_thread **out, perfetto_reader *reader, int64_t pid, int64_t tid, bool is_process)
{
    uint32_t index;
    hd_map *map = is_process ? &reader->process_index : &reader->thread_index;
    if (!hd_map_get(&index, map, (uint64_t)pid, (uint64_t)tid)) {
        HD_TRY(perfetto_grow(reader, (void **)&reader->threads, &reader->thread_capacity, reader->thread_count,
                             sizeof *reader->threads));
        index = (uint32_t)reader->thread_count++;
        reader->threads[index] = (perfetto_thread){.pid = pid,
                                                   .tid = tid,
                                                   .track = HD_NONE,
                                                   .is_process = is_process,
                                                   .rank = HD_NO_NUMBER,
                                                   .order = HD_NO_NUMBER,
                                                   .job_rank = HD_NO_NUMBER};
        if (!hd_map_set(map, (uint64_t)pid, (uint64_t)tid, index)) return HD_NOMEM(reader->err);
    }
    *out = &reader->threads[index];
    return HD_OK;
}

hd_status perfetto_thread_track(uint32_t *out, perfetto_reader *reader, int64_t pid, int64_t tid)
{
    perfetto_thread *thread = NULL;
    HD_TRY(perfetto_get_thread(&thread, reader, pid, tid, false));
    if (thread->track == HD_NONE) {
        const hd_ident pid_ident = perfetto_number_ident(reader, pid);
        thread->track = hd_builder_track(reader->builder, pid_ident, perfetto_number_ident(reader, tid), false);
    }
    *out = thread->track;
    return *out == HD_NONE ? HD_NOMEM(reader->err) : HD_OK;
}

/* The track for events on none of a process's threads. */
static hd_status process_events_track(uint32_t *out, perfetto_reader *reader, hd_ident pid)
{
    *out = hd_builder_track(reader->builder, pid, (hd_ident){0}, pid.type != HD_IDENT_NONE);
    return *out == HD_NONE ? HD_NOMEM(reader->err) : HD_OK;
}

/* ---- tracks by uuid ---- */

hd_status perfetto_get_track(uint32_t *out, perfetto_reader *reader, uint64_t uuid)
{
    if (hd_map_get(out, &reader->track_index, uuid, 0)) return HD_OK;
    if (!hd_large_grow((void **)&reader->tracks, &reader->track_capacity, reader->track_count, sizeof *reader->tracks,
                       hd_trace_large_bytes(hd_builder_trace(reader->builder))))
        return HD_NOMEM(reader->err);
    if (reader->track_count >= UINT32_MAX / 2) return HD_NOMEM(reader->err);
    *out = (uint32_t)reader->track_count++;
    reader->tracks[*out] =
        (perfetto_track){.uuid = uuid, .track = HD_NONE, .process_track = HD_NONE, .lane_of = HD_NONE, .multiplier = 1};
    return hd_map_set(&reader->track_index, uuid, 0, *out) ? HD_OK : HD_NOMEM(reader->err);
}

/* The track of a process or thread at or above a track, HD_NONE: none is known; *out_root: where the way up ends. */
static uint32_t process_above(perfetto_reader *reader, uint32_t index, uint32_t *out_root)
{
    for (int depth = 0; depth < ANCESTOR_LIMIT; depth++) {
        const perfetto_track *t = &reader->tracks[index];
        *out_root = index;
        if (t->is_process || t->is_thread) return index;
        if (!t->described) return HD_NONE;
        if (!t->has_parent || !hd_map_get(&index, &reader->track_index, t->parent_uuid, 0)) return HD_NONE;
    }
    return HD_NONE;
}

/* A process without a number, whose pid our writer stored. */
static bool is_told_group(const perfetto_reader *reader, const perfetto_track *t)
{
    const pf_told told = perfetto_told_of(reader, t);
    return t->is_group && !t->has_parent && (told.has_ident || told.no_name || told.no_process);
}

/* The track for events of reader->tracks[index], made where there is none. */
static hd_status track_of(uint32_t *out, perfetto_reader *reader, uint32_t index)
{
    perfetto_track *t = &reader->tracks[index];
    uint32_t parent;
    *out = t->track;
    if (t->track != HD_NONE) return HD_OK;
    if (t->is_async && hd_map_get(&parent, &reader->track_index, t->parent_uuid, 0) &&
        !reader->tracks[parent].is_async) {
        HD_TRY(track_of(out, reader, parent));
    } else if (t->lane_of != HD_NONE) {
        HD_TRY(track_of(out, reader, t->lane_of)); /* which is a lane of none */
    } else if (t->is_thread) {
        HD_TRY(perfetto_thread_track(out, reader, t->pid, t->tid));
    } else if (t->is_process) {
        HD_TRY(process_events_track(out, reader, perfetto_number_ident(reader, t->pid)));
    } else if (is_told_group(reader, t)) {
        hd_ident pid;
        HD_TRY(perfetto_group_ident(&pid, reader, index));
        HD_TRY(process_events_track(out, reader, pid));
        t->is_identified = true;
    } else {
        t->provisional = true;
        uint32_t space = hd_builder_intern_text(reader->builder, "\x01track of a uuid"); /* leaves at the end */
        reader->text.size = 0;
        hd_json_put_unsigned(&reader->text, t->uuid);
        hd_ident tid = {HD_IDENT_STRING, hd_builder_intern(reader->builder, reader->text.data, reader->text.size)};
        *out = hd_builder_track(reader->builder, (hd_ident){HD_IDENT_STRING, space}, tid, false);
        if (*out == HD_NONE) return HD_NOMEM(reader->err);
    }
    reader->tracks[index].track = *out;
    return HD_OK;
}

hd_status perfetto_event_track(uint32_t *out, uint32_t *out_lane, perfetto_reader *reader, uint64_t uuid)
{
    uint32_t index;
    HD_TRY(perfetto_get_track(&index, reader, uuid));
    HD_TRY(track_of(out, reader, index));
    const perfetto_track *t = &reader->tracks[index];
    *out_lane = t->provisional || t->lane_of != HD_NONE || t->is_async ? index << 1 : perfetto_track_lane(*out);
    return HD_OK;
}

hd_status perfetto_counter_track(uint32_t *out, bool *known, perfetto_reader *reader, uint32_t index, bool at_end)
{
    perfetto_track *t = &reader->tracks[index];
    *known = true;
    *out = t->process_track;
    if (t->process_track != HD_NONE) return HD_OK;
    uint32_t root, above = process_above(reader, index, &root);
    *known = at_end || above != HD_NONE || (reader->tracks[root].described && !reader->tracks[root].has_parent);
    if (!*known) return HD_OK;
    if (above != HD_NONE && reader->tracks[above].is_thread) {
        HD_TRY(perfetto_thread_track(out, reader, reader->tracks[above].pid, reader->tracks[above].tid));
    } else {
        hd_ident pid;
        if (above != HD_NONE) {
            pid = perfetto_number_ident(reader, reader->tracks[above].pid);
        } else if (!at_end) { /* a group may still get its name */
            *known = false;
            return HD_OK;
        } else {
            HD_TRY(perfetto_group_ident(&pid, reader, root));
        }
        HD_TRY(process_events_track(out, reader, pid));
    }
    reader->tracks[index].process_track = *out;
    return HD_OK;
}

/* ---- descriptors ---- */

typedef struct numbers {
    int64_t pid, tid, rank;
    uint32_t name, command, labels;
    uint32_t type; /* of Chrome */
    bool has_pid, has_tid, has_rank;
    int64_t time_us, thread_time_us, instructions;
} numbers;

static hd_status read_process(numbers *out, perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (numbers){0};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_PROCESS_PID):
            out->pid = (int32_t)f.value;
            out->has_pid = true;
            break;
        case HD_PROTO_VARINT(PF_PROCESS_LEGACY_SORT_INDEX):
            out->rank = (int32_t)f.value;
            out->has_rank = true;
            break;
        case HD_PROTO_VARINT(PF_PROCESS_CHROME_PROCESS_TYPE): out->type = (uint32_t)f.value; break;
        case HD_PROTO_BYTES(PF_PROCESS_PROCESS_NAME): out->name = perfetto_text(reader, &f); break;
        case HD_PROTO_BYTES(PF_PROCESS_CMDLINE):
            if (!out->command) out->command = perfetto_text(reader, &f);
            break;
        case HD_PROTO_BYTES(PF_PROCESS_PROCESS_LABELS):
            out->labels =
                out->labels ? perfetto_join(reader, out->labels, perfetto_text(reader, &f)) : perfetto_text(reader, &f);
            break;
        default: break;
        }
    }
    if (!out->name) out->name = out->command;
    return perfetto_check(reader, &message);
}

static hd_status read_thread(numbers *out, perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (numbers){0};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_THREAD_PID):
            out->pid = (int32_t)f.value;
            out->has_pid = true;
            break;
        case HD_PROTO_VARINT(PF_THREAD_TID):
            out->tid = (int64_t)f.value;
            out->has_tid = true;
            break;
        case HD_PROTO_VARINT(PF_THREAD_LEGACY_SORT_INDEX):
            out->rank = (int32_t)f.value;
            out->has_rank = true;
            break;
        case HD_PROTO_BYTES(PF_THREAD_THREAD_NAME): out->name = perfetto_text(reader, &f); break;
        case HD_PROTO_VARINT(PF_THREAD_REFERENCE_TIMESTAMP_US): out->time_us = (int64_t)f.value; break;
        case HD_PROTO_VARINT(PF_THREAD_REFERENCE_THREAD_TIME_US): out->thread_time_us = (int64_t)f.value; break;
        case HD_PROTO_VARINT(PF_THREAD_REFERENCE_THREAD_INSTRUCTION_COUNT): out->instructions = (int64_t)f.value; break;
        default: break;
        }
    }
    return perfetto_check(reader, &message);
}

/* Chrome's names of its processes. */
static uint32_t chrome_process_name(perfetto_reader *reader, uint64_t type)
{
    static const char *const names[] = {NULL,  "Browser",      "Renderer",    "Utility", "Zygote", "SandboxHelper",
                                        "Gpu", "Ppapi Plugin", "Ppapi Broker"};
    if (type == 0 || type >= sizeof names / sizeof *names) return HD_STRING_NONE;
    return hd_builder_intern_text(reader->builder, names[type]);
}

static hd_status note_process(perfetto_reader *reader, const numbers *n)
{
    perfetto_thread *process = NULL;
    uint32_t name = n->name ? n->name : chrome_process_name(reader, n->type);
    HD_TRY(perfetto_get_thread(&process, reader, n->pid, 0, true));
    if (name) process->name = name;
    if (n->labels) process->labels = n->labels;
    if (n->has_rank) process->rank = n->rank;
    return HD_OK;
}

static hd_status note_thread(perfetto_reader *reader, const numbers *n)
{
    perfetto_thread *thread = NULL;
    HD_TRY(perfetto_get_thread(&thread, reader, n->pid, n->tid, false));
    if (n->name) thread->name = n->name;
    if (n->has_rank) thread->rank = n->rank;
    return HD_OK;
}

static hd_status read_counter(perfetto_reader *reader, uint32_t index, const hd_proto_field *field)
{
    static const char *const units[] = {NULL, "ns", "count", "bytes"};
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    perfetto_track *t = &reader->tracks[index];
    uint64_t unit = 0, type = 0;
    uint32_t unit_name = HD_STRING_NONE;
    t->is_counter = true;
    t->multiplier = 1;
    t->is_incremental = false;
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_COUNTER_TYPE)) type = f.value;
        if (f.tag == HD_PROTO_VARINT(PF_COUNTER_UNIT)) unit = f.value;
        if (f.tag == HD_PROTO_VARINT(PF_COUNTER_UNIT_MULTIPLIER)) t->multiplier = (int64_t)f.value;
        if (f.tag == HD_PROTO_VARINT(PF_COUNTER_IS_INCREMENTAL)) t->is_incremental = f.value != 0;
        if (f.tag == HD_PROTO_BYTES(PF_COUNTER_UNIT_NAME)) unit_name = perfetto_text(reader, &f);
    }
    if (t->multiplier == 0) t->multiplier = 1;
    if (!unit && type) unit = type == PF_COUNTER_TYPE_THREAD_TIME_NS ? PF_UNIT_TIME_NS : PF_UNIT_COUNT;
    if (unit && unit < sizeof units / sizeof *units) t->unit = hd_builder_intern_text(reader->builder, units[unit]);
    if (unit_name) t->unit = unit_name;
    if (!t->name && type == PF_COUNTER_TYPE_THREAD_TIME_NS)
        t->name = hd_builder_intern_text(reader->builder, "thread_time");
    if (!t->name && type == PF_COUNTER_TYPE_THREAD_INSTRUCTION_COUNT)
        t->name = hd_builder_intern_text(reader->builder, "thread_instruction_count");
    return perfetto_check(reader, &message);
}

/* The name without the series that our writer appended. */
static void split_counter(perfetto_reader *reader, perfetto_track *t)
{
    hd_string name = hd_builder_string(reader->builder, t->name), series, category;
    if (!pf_told_of_counter(&series, &category, hd_builder_string(reader->builder, t->description))) return;
    size_t size = series.size;
    bool is_behind = !hd_string_is(series, "value") && size && size <= name.size &&
                     memcmp(name.data + name.size - size, series.data, size) == 0;
    if (is_behind) {
        size += size < name.size && name.data[name.size - size - 1] == ' ';
        t->name = hd_builder_intern(reader->builder, name.data, name.size - size);
    }
    t->series = hd_builder_intern(reader->builder, series.data, series.size);
    t->category = hd_builder_intern(reader->builder, category.data, category.size);
    t->has_series = true;
}

static hd_status apply_process(perfetto_reader *reader, uint32_t index, const hd_proto_field *field)
{
    numbers n;
    HD_TRY(read_process(&n, reader, field));
    perfetto_track *t = &reader->tracks[index];
    t->is_process = true;
    t->pid = n.pid;
    return note_process(reader, &n);
}

static hd_status apply_thread(perfetto_reader *reader, uint32_t index, const hd_proto_field *field)
{
    numbers n;
    HD_TRY(read_thread(&n, reader, field));
    perfetto_track *t = &reader->tracks[index];
    uint32_t parent;
    if (!n.has_pid && t->has_parent && hd_map_get(&parent, &reader->track_index, t->parent_uuid, 0) &&
        reader->tracks[parent].is_process)
        n.pid = reader->tracks[parent].pid;
    t->is_thread = true;
    t->pid = n.pid;
    t->tid = n.tid;
    return note_thread(reader, &n);
}

static hd_status apply_chrome_process(perfetto_reader *reader, uint32_t index, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    perfetto_thread *process = NULL;
    const perfetto_track *t = &reader->tracks[index];
    while (hd_proto_next(&f, &message)) {
        if (f.tag != HD_PROTO_VARINT(1) || !t->is_process) continue; /* process_type */
        HD_TRY(perfetto_get_thread(&process, reader, t->pid, 0, true));
        if (!process->name) process->name = chrome_process_name(reader, f.value);
    }
    return perfetto_check(reader, &message);
}

typedef struct descriptor {
    uint64_t uuid, parent;
    uint32_t name, description;
    int64_t rank;
    uint64_t merge_key;
    bool has_parent, has_rank, has_process, has_thread, has_counter, has_chrome_process, merges, is_group;
    hd_proto_field process, thread, counter, chrome_process;
} descriptor;

static hd_status read_descriptor(descriptor *out, perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    *out = (descriptor){0};
    while (hd_proto_next(&f, &message)) {
        switch (f.tag) {
        case HD_PROTO_VARINT(PF_TRACK_UUID): out->uuid = f.value; break;
        case HD_PROTO_VARINT(PF_TRACK_PARENT_UUID):
            out->parent = f.value;
            out->has_parent = f.value != 0;
            break;
        case HD_PROTO_BYTES(PF_TRACK_NAME):
        case HD_PROTO_BYTES(PF_TRACK_STATIC_NAME):
        case HD_PROTO_BYTES(PF_TRACK_ATRACE_NAME): out->name = perfetto_text(reader, &f); break;
        case HD_PROTO_BYTES(PF_TRACK_DESCRIPTION): out->description = perfetto_text(reader, &f); break;
        case HD_PROTO_VARINT(PF_TRACK_SIBLING_ORDER_RANK):
            out->rank = (int32_t)f.value;
            out->has_rank = true;
            break;
        case HD_PROTO_VARINT(PF_TRACK_CHILD_ORDERING): out->is_group = true; break;
        case HD_PROTO_VARINT(PF_TRACK_SIBLING_MERGE_BEHAVIOR): out->merges = f.value == PF_MERGE_BY_KEY; break;
        case HD_PROTO_VARINT(PF_TRACK_SIBLING_MERGE_KEY_INT): out->merge_key = f.value; break;
        case HD_PROTO_BYTES(PF_TRACK_PROCESS):
            out->process = f;
            out->has_process = true;
            break;
        case HD_PROTO_BYTES(PF_TRACK_THREAD):
            out->thread = f;
            out->has_thread = true;
            break;
        case HD_PROTO_BYTES(PF_TRACK_COUNTER):
            out->counter = f;
            out->has_counter = true;
            break;
        case HD_PROTO_BYTES(PF_TRACK_CHROME_PROCESS):
            out->chrome_process = f;
            out->has_chrome_process = true;
            break;
        default: break;
        }
    }
    return perfetto_check(reader, &message);
}

/* A track whose merge key is the uuid of a sibling, or of its parent, has the slices that cross those of it: our writer
 * makes such tracks. Siblings with any other key stay separate, so that the slices of each nest. */
static void find_lane(perfetto_reader *reader, uint32_t index, const descriptor *d)
{
    perfetto_track *t = &reader->tracks[index];
    uint32_t first;
    if (!d->merges || !t->has_parent || d->merge_key == t->uuid || t->track != HD_NONE) return;
    if (t->has_lanes || t->lane_of != HD_NONE || t->is_process || t->is_thread || t->is_counter) return;
    if (!hd_map_get(&first, &reader->track_index, d->merge_key, 0)) return;
    perfetto_track *other = &reader->tracks[first];
    bool is_near = t->parent_uuid == d->merge_key || (other->has_parent && other->parent_uuid == t->parent_uuid);
    if (!is_near || !other->described || other->lane_of != HD_NONE || other->is_counter) return;
    t->lane_of = first;
    other->has_lanes = true;
}

hd_status perfetto_read_descriptor(perfetto_reader *reader, const hd_proto_field *field)
{
    descriptor d;
    uint32_t index, parent;
    HD_TRY(read_descriptor(&d, reader, field));
    HD_TRY(perfetto_get_track(&index, reader, d.uuid));
    if (d.has_parent && d.parent != d.uuid) HD_TRY(perfetto_get_track(&parent, reader, d.parent));
    perfetto_track *t = &reader->tracks[index];
    t->described = true;
    t->is_group |= d.is_group && d.uuid != 0;
    if (d.has_parent && d.parent != d.uuid) {
        t->has_parent = true;
        t->parent_uuid = d.parent;
    }
    if (d.name) t->name = d.name;
    if (d.description) t->description = d.description;
    if (d.has_rank) {
        t->has_rank = true;
        t->rank = d.rank;
    }
    if (d.has_process) HD_TRY(apply_process(reader, index, &d.process));
    if (d.has_thread) HD_TRY(apply_thread(reader, index, &d.thread));
    if (d.has_counter) HD_TRY(read_counter(reader, index, &d.counter));
    t = &reader->tracks[index];
    if (d.has_counter && d.description && !t->has_series) split_counter(reader, t);
    const pf_told told = perfetto_told_of(reader, t);
    if (told.is_async && t->has_parent && t->track == HD_NONE) {
        t->is_async = t->is_identified = true;
        t->is_old_async = told.is_old_async;
    }
    if (d.has_chrome_process) HD_TRY(apply_chrome_process(reader, index, &d.chrome_process));
    find_lane(reader, index, &d);
    return HD_OK;
}

/* ---- older forms, and process trees ---- */

hd_status perfetto_read_thread_descriptor(perfetto_reader *reader, perfetto_sequence *sequence,
                                          const hd_proto_field *field)
{
    numbers n;
    HD_TRY(read_thread(&n, reader, field));
    sequence->has_thread = true;
    sequence->pid = n.pid;
    sequence->tid = n.tid;
    sequence->time_us = n.time_us;
    sequence->thread_time_us = n.thread_time_us;
    sequence->instructions = n.instructions;
    return note_thread(reader, &n);
}

hd_status perfetto_read_process_descriptor(perfetto_reader *reader, const hd_proto_field *field)
{
    numbers n;
    HD_TRY(read_process(&n, reader, field));
    return note_process(reader, &n);
}

static hd_status read_tree_process(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    numbers n = {0};
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_TREE_PROCESS_PID)) n.pid = (int32_t)f.value;
        if (f.tag == HD_PROTO_BYTES(PF_TREE_PROCESS_CMDLINE) && !n.name && f.size) n.name = perfetto_text(reader, &f);
    }
    HD_TRY(perfetto_check(reader, &message));
    return note_process(reader, &n);
}

static hd_status read_tree_thread(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    numbers n = {0};
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_VARINT(PF_TREE_THREAD_TID)) n.tid = (int32_t)f.value;
        if (f.tag == HD_PROTO_VARINT(PF_TREE_THREAD_TGID)) n.pid = (int32_t)f.value;
        if (f.tag == HD_PROTO_BYTES(PF_TREE_THREAD_NAME)) n.name = perfetto_text(reader, &f);
    }
    HD_TRY(perfetto_check(reader, &message));
    if (n.tid > 0 && n.pid >= 0 && !hd_map_set(&reader->kernel_processes, (uint64_t)n.tid, 0, (uint32_t)n.pid))
        return HD_NOMEM(reader->err);
    return note_thread(reader, &n);
}

hd_status perfetto_read_process_tree(perfetto_reader *reader, const hd_proto_field *field)
{
    hd_proto_reader message = hd_proto_reader_of(field->data, field->size);
    hd_proto_field f;
    perfetto_note(reader, "perfetto.packet-process-tree", HD_LEDGER_NOTE, 1);
    while (hd_proto_next(&f, &message)) {
        if (f.tag == HD_PROTO_BYTES(PF_TREE_PROCESSES)) HD_TRY(read_tree_process(reader, &f));
        if (f.tag == HD_PROTO_BYTES(PF_TREE_THREADS)) HD_TRY(read_tree_thread(reader, &f));
    }
    return perfetto_check(reader, &message);
}
