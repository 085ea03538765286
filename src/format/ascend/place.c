/* place.c - track, name and kind of a row
 *
 * A device is a process "NPU 0" with a track for each stream. Its collectives and MindStudio's analysis have tracks of
 * their own there; these describe the streams' activities and are not activities themselves. Sampled values are in a
 * process "NPU 0 HBM" per table. A task with subtasks (FFTS+: a collective, or a kernel of mixed cores) is the span of
 * these, and not an activity.
 */
#include <stdio.h>
#include <strings.h>

#include "format/ascend/ascend.h"
#include "model/roles/trace_roles.h"

/* ---- tracks ---- */

static int64_t device_of(const sq_worker *w)
{
    int64_t device = sq_field(w, ASCEND_DEVICE);
    return device == HD_NO_NUMBER ? 0 : device;
}

static uint32_t thread_track(sq_worker *w, int64_t global)
{
    if (global == HD_NO_NUMBER) return HD_NONE;
    sq_track *track = sq_track_at(w, (uint64_t)global, ASCEND_THREAD);
    if (track->track == HD_NONE)
        track->track = hd_builder_thread(w->reader->builder, (int64_t)((uint64_t)global >> 32), global & UINT32_MAX);
    return track->track;
}

static uint32_t device_track(sq_worker *w, int64_t device)
{
    sq_track *track = sq_track_at(w, (uint64_t)device, ASCEND_NPU);
    if (track->track == HD_NONE) {
        hd_ident pid = sq_text_ident(w->reader->builder, "NPU %lld", (long long)device);
        *track = (sq_track){hd_builder_track(w->reader->builder, pid, (hd_ident){0}, true), {device}};
    }
    return track->track;
}

static uint32_t stream_track(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    int64_t device = device_of(w), stream = sq_field(w, ASCEND_STREAM), pid = sq_field(w, ASCEND_PID);
    if (stream == HD_NO_NUMBER) stream = 0;
    if (pid == HD_NO_NUMBER) pid = 0;
    sq_track *track = sq_track_at(w, ascend_queue_key(device, stream), ASCEND_QUEUE + (uint64_t)pid);
    if (track->track != HD_NONE) return track->track;
    device_track(w, device);
    hd_ident tid = sq_text_ident(b, "stream %lld of %lld", (long long)stream, (long long)pid);
    track = sq_track_at(w, ascend_queue_key(device, stream), ASCEND_QUEUE + (uint64_t)pid);
    *track = (sq_track){hd_builder_track(b, sq_text_ident(b, "NPU %lld", (long long)device), tid, false),
                        {device, stream, pid}};
    return track->track;
}

/* A track of a device next to its streams. */
static uint32_t told_track(sq_worker *w, int64_t device, uint32_t name)
{
    hd_builder *b = w->reader->builder;
    device_track(w, device);
    sq_track *track = sq_track_at(w, (uint64_t)device << 32 | name, ASCEND_TOLD);
    if (track->track == HD_NONE)
        *track = (sq_track){hd_builder_track(b, sq_text_ident(b, "NPU %lld", (long long)device),
                                             (hd_ident){HD_IDENT_STRING, name}, false),
                            {device, name}};
    return track->track;
}

static uint32_t counter_track(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    int64_t device = sq_field(w, ASCEND_DEVICE);
    const char *table = w->plan->table->name;
    sq_track *track = sq_track_at(w, (uint64_t)device << 32 | w->row.category, ASCEND_COUNTERS);
    if (track->track != HD_NONE) return track->track;
    hd_ident pid = device == HD_NO_NUMBER ? sq_text_ident(b, "%.100s", table)
                                          : sq_text_ident(b, "NPU %lld %.100s", (long long)device, table);
    *track = (sq_track){hd_builder_track(b, pid, (hd_ident){0}, true), {device, pid.text}};
    return track->track;
}

/* ---- arguments ---- */

static void add_id(sq_worker *w, const char *key, int field)
{
    if (ascend_is_id(sq_field(w, field))) sq_add_field(w, key, field);
}

static void add_connection(sq_worker *w, int64_t connection)
{
    if (ascend_is_id(connection)) sq_add(w, ascend_of(w)->text.correlation, HD_ARG_INT, connection);
}

static const ascend_connection *find_connection(const sq_worker *w, int64_t id)
{
    const ascend_state *s = ascend_of(w);
    uint32_t at;
    return ascend_is_id(id) && hd_map_get(&at, &s->connection_index, (uint64_t)id, 0) ? &s->connections[at] : NULL;
}

/* The end of a flow at an activity that an operator, or range, of the host requested. */
static void end_flow(sq_worker *w, int64_t connection)
{
    const ascend_connection *c = find_connection(w, connection);
    if (!c || c->count != 1) return;
    sq_emit_flow(w, 'f', ascend_of(w)->text.to_device, connection);
    if (w->sf == HD_STACK_NONE) w->sf = c->chain;
}

/* ---- tasks ---- */

static bool begins(hd_string text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && strncasecmp(text.data, word, size) == 0;
}

static bool contains(hd_string text, const char *word)
{
    for (; text.size; text.data++, text.size--) {
        if (begins(text, word)) return true;
    }
    return false;
}

static bool begins_any(hd_string text, const char *const *words)
{
    while (*words && !begins(text, *words)) words++;
    return *words != NULL;
}

/* The category of a task by its type; all other activities are kernels, which already have their category. */
static void set_kind(sq_worker *w, hd_string type, bool is_known)
{
    static const char *const copies[] = {"memcpy", "sdma", "pcie", "rdma", NULL};
    static const char *const kernels[] = {"kernel", "ai_", "aic", "aiv", "mix", "dsa", "dvpp", "ccu", NULL};
    const ascend_state *s = ascend_of(w);
    if (begins(type, "memset"))
        w->row.category = s->text.set;
    else if (!is_known && begins_any(type, copies))
        w->row.category = s->text.copy;
    else if (!is_known && !begins_any(type, kernels))
        w->row.category = s->text.wait;
}

/* Is it the frame of subtasks, which have its number and a context? */
static bool is_frame(const sq_worker *w)
{
    uint32_t found;
    if (ascend_is_id(sq_field(w, ASCEND_CONTEXT))) return false;
    return hd_map_get(&found, &ascend_of(w)->frames, ascend_queue_key(device_of(w), sq_field(w, ASCEND_STREAM)),
                      (uint64_t)sq_field(w, ASCEND_TASK_ID));
}

/* Of a collective only tasks that move or reduce data are activities; records and waits are not. */
static void set_collective_kind(sq_worker *w, int64_t task, hd_string type)
{
    const ascend_state *s = ascend_of(w);
    const struct sq_side_row *row = sq_side_first(&s->collectives, task, 0);
    for (uint32_t i = 0; row && i < row->count; i++) {
        const sq_item *item = &s->collectives.items[row->first + i];
        if (item->key == s->text.operation && item->type == HD_ARG_STRING)
            type = hd_builder_string(w->reader->builder, (uint32_t)item->bits);
    }
    if (contains(type, "wait") || contains(type, "record") || contains(type, "notify")) w->row.category = s->text.wait;
}

const char *ascend_place_task(sq_worker *w)
{
    const ascend_state *s = ascend_of(w);
    int64_t task = sq_field(w, ASCEND_GLOBAL_TASK), connection = sq_field(w, ASCEND_CONNECTION);
    uint32_t type = sq_field_string(w, ASCEND_TYPE);
    w->row.track = stream_track(w);
    w->row.name = type == HD_STRING_NONE ? s->text.unknown : type;
    sq_add(w, s->text.device, HD_ARG_INT, device_of(w));
    sq_add_field(w, "stream", ASCEND_STREAM);
    add_connection(w, connection);
    if (type != HD_STRING_NONE) sq_add(w, s->text.task_type, HD_ARG_STRING, type);
    add_id(w, "task id", ASCEND_TASK_ID);
    add_id(w, "context id", ASCEND_CONTEXT);
    add_id(w, "model id", ASCEND_ID);
    bool is_known = task != HD_NO_NUMBER && sq_side_add(w, &s->tasks, task);
    if (task != HD_NO_NUMBER) sq_side_add(w, &s->copies, task);
    if (task != HD_NO_NUMBER && sq_side_add(w, &s->collectives, task)) {
        set_collective_kind(w, task, hd_builder_string(w->reader->builder, type));
        if (w->row.category != s->text.wait) end_flow(w, connection);
        return NULL;
    }
    if (is_frame(w)) {
        w->row.category = s->text.span;
        return NULL;
    }
    set_kind(w, hd_builder_string(w->reader->builder, type), is_known);
    end_flow(w, connection);
    return NULL;
}

/* ---- properties of a device ---- */

const char *ascend_place_collective(sq_worker *w)
{
    const ascend_state *s = ascend_of(w);
    int64_t connection = sq_field(w, ASCEND_CONNECTION);
    uint32_t group = sq_field_string(w, ASCEND_GROUP), device = HD_NONE;
    hd_map_get(&device, &s->devices, (uint64_t)connection, 0);
    hd_string text = hd_builder_string(w->reader->builder, group);
    uint32_t name = group == HD_STRING_NONE
                        ? hd_builder_intern_text(w->reader->builder, "group")
                        : sq_intern(w->reader->builder, "group %.*s", (int)(text.size & 0xff), text.data);
    w->row.track = told_track(w, device == HD_NONE ? device_of(w) : (int64_t)device, name);
    if (group != HD_STRING_NONE) sq_add(w, s->text.group, HD_ARG_STRING, group);
    add_connection(w, connection);
    end_flow(w, connection);
    return NULL;
}

const char *ascend_place_overlap(sq_worker *w)
{
    static const char *const kinds[] = {"Computing", "Communication", "Communication(Not Overlapped)", "Free"};
    int64_t kind = sq_field(w, ASCEND_TYPE);
    bool is_known = kind >= 0 && kind < 4;
    w->row.name = is_known ? hd_builder_intern_text(w->reader->builder, kinds[kind])
                           : sq_intern(w->reader->builder, "overlap %lld", (long long)kind);
    w->row.track = told_track(w, device_of(w), w->row.name);
    return NULL;
}

const char *ascend_place_step(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    int64_t pid = ascend_of(w)->pid, step = sq_field(w, ASCEND_ID);
    uint32_t found;
    if (hd_map_get(&found, &ascend_of(w)->steps, (uint64_t)step, 0)) return SQ_PLACED;
    hd_ident process = pid == HD_NO_NUMBER ? sq_text_ident(b, "steps") : sq_number_ident(b, pid);
    w->row.track = hd_builder_track(b, process, sq_text_ident(b, "steps"), false);
    w->row.name = sq_intern(b, "ProfilerStep#%lld", (long long)step);
    return NULL;
}

/* ---- the host ---- */

const char *ascend_place_any(sq_worker *w)
{
    int64_t thread = sq_field(w, ASCEND_TID);
    bool has_device = sq_field(w, ASCEND_DEVICE) != HD_NO_NUMBER;
    if (w->row.name == HD_STRING_NONE) w->row.name = w->row.category;
    w->row.track =
        thread == HD_NO_NUMBER && has_device ? told_track(w, device_of(w), w->row.category) : thread_track(w, thread);
    add_connection(w, sq_field(w, ASCEND_CONNECTION));
    sq_add_field(w, "stream", ASCEND_STREAM);
    if (w->row.kind != HD_KIND_SLICE || w->end != HD_NO_NUMBER) return NULL;
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    return NULL;
}

const char *ascend_place_call(sq_worker *w)
{
    w->row.track = thread_track(w, sq_field(w, ASCEND_TID));
    if (w->row.name == HD_STRING_NONE) w->row.name = ascend_of(w)->text.unknown;
    add_connection(w, sq_field(w, ASCEND_CONNECTION));
    return NULL;
}

/* Of two operators with a connection the first starts its flow: enqueue and dequeue, forward and backward. */
static void add_flows(sq_worker *w, bool is_queue)
{
    const ascend_state *s = ascend_of(w);
    int64_t id = sq_field(w, ASCEND_CONNECTION);
    const struct sq_side_row *row = id == HD_NO_NUMBER ? NULL : sq_side_first(&s->connections_of, id, 0);
    for (; row; row = sq_side_next(&s->connections_of, row)) {
        if (!row->count) continue;
        int64_t connection = s->connections_of.items[row->first].bits;
        const ascend_connection *c = find_connection(w, connection);
        if (!c) continue;
        char phase = w->row.start_ns > c->first_ns ? 'f' : 's';
        uint32_t category = c->count == 1 ? s->text.to_device : is_queue ? s->text.task_queue : s->text.backward;
        sq_emit_flow(w, phase, category, connection);
    }
}

const char *ascend_place_op(sq_worker *w)
{
    enum { OP = 50001, QUEUE, TRACE, MSTX };
    const ascend_state *s = ascend_of(w);
    int64_t type = sq_field(w, ASCEND_TYPE), chain = sq_field(w, ASCEND_CHAIN);
    w->row.track = thread_track(w, sq_field(w, ASCEND_TID));
    if (w->row.name == HD_STRING_NONE) w->row.name = s->text.unknown;
    if (type == QUEUE) w->row.category = s->text.queue;
    if (type == TRACE) w->row.category = s->text.python;
    if (type == MSTX || hd_is_profiler_step(hd_builder_string(w->reader->builder, w->row.name)))
        w->row.category = s->text.annotation;
    if (chain != HD_NO_NUMBER) hd_map_get(&w->sf, &s->chains, (uint64_t)chain, 0);
    add_flows(w, type == QUEUE);
    return NULL;
}

/* A range that may end on another thread, and cross others: two points of an async slice. */
static const char *place_async(sq_worker *w)
{
    int64_t id = sq_field(w, ASCEND_RANGE), thread = sq_field(w, ASCEND_END_TID);
    w->row.kind = HD_KIND_ASYNC;
    w->row.phase = 'b';
    w->row.duration_ns = HD_NO_TIME;
    w->row.id_type = HD_ID_INT;
    w->row.id = ascend_is_id(id) ? id : w->cursor.rowid;
    if (w->end == HD_NO_NUMBER) return NULL;
    sq_emit(w);
    w->row.phase = 'e';
    w->row.start_ns = w->end;
    w->item_count = 0;
    if (thread != HD_NO_NUMBER) w->row.track = thread_track(w, thread);
    return NULL;
}

const char *ascend_place_range(sq_worker *w)
{
    enum { MARKER, PUSH_POP, START_END, MARKER_EX };
    int64_t kind = sq_field(w, ASCEND_TYPE), connection = sq_field(w, ASCEND_CONNECTION);
    uint32_t domain = sq_field_string(w, ASCEND_DOMAIN);
    const ascend_connection *c = find_connection(w, connection);
    w->row.track = thread_track(w, sq_field(w, ASCEND_TID));
    if (w->row.name == HD_STRING_NONE) w->row.name = hd_builder_intern_text(w->reader->builder, "");
    if (domain != HD_STRING_NONE) sq_add(w, ascend_of(w)->text.domain, HD_ARG_STRING, domain);
    if (c && c->count == 1) sq_emit_flow(w, 's', ascend_of(w)->text.to_device, connection);
    if (kind == START_END) return place_async(w);
    if (kind != MARKER && kind != MARKER_EX) return NULL;
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    w->row.duration_ns = HD_NO_TIME;
    return NULL;
}

/* ---- counters, memory ---- */

/* "HBM 0 read", "NPU_MODULE_MEM RUNTIME" */
const char *ascend_place_counter(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    int64_t id = sq_field(w, ASCEND_ID), module = sq_field(w, ASCEND_GROUP), stream = sq_field(w, ASCEND_ADDRESS);
    uint32_t kind = sq_field_string(w, ASCEND_TYPE);
    char number[24] = "";
    w->row.track = counter_track(w);
    if (module != HD_NO_NUMBER && !hd_map_get(&kind, &ascend_of(w)->modules.map, (uint64_t)module, 0)) id = module;
    if (id != HD_NO_NUMBER) snprintf(number, sizeof number, " %lld", (long long)id);
    hd_string text = hd_builder_string(b, kind);
    w->row.name = sq_intern(b, "%.100s%s%s%.*s", w->plan->table->name, number, kind == HD_STRING_NONE ? "" : " ",
                            (int)(text.size < 100 ? text.size : 100), text.data);
    if (stream != HD_NO_NUMBER) {
        const uint32_t key_id = hd_builder_intern_text(b, "stream");
        sq_add(w, key_id, HD_ARG_STRING, sq_intern(b, "0x%llx", (unsigned long long)stream));
    }
    return NULL;
}

/* As in Kineto; negative `size`: freed. Memory that GE allocates has no stream, and its own totals. */
static void add_memory(sq_worker *w, int64_t address, int64_t size, int allocated, int reserved)
{
    enum { PRIVATEUSE1 = 20 };
    const ascend_state *s = ascend_of(w);
    int64_t total = sq_field(w, allocated), all = sq_field(w, reserved);
    bool is_ge = s->has_op_memory && sq_field(w, ASCEND_STREAM) == HD_NO_NUMBER;
    sq_add(w, s->text.device_type, HD_ARG_INT, PRIVATEUSE1);
    sq_add(w, s->text.device_id, HD_ARG_INT, device_of(w));
    if (address != HD_NO_NUMBER) sq_add(w, s->text.address, HD_ARG_INT, address);
    if (size != HD_NO_NUMBER) sq_add(w, s->text.bytes, HD_ARG_INT, size);
    if (total != HD_NO_NUMBER) sq_add(w, is_ge ? s->text.ge_allocated : s->text.allocated, HD_ARG_INT, total);
    if (all != HD_NO_NUMBER) sq_add(w, is_ge ? s->text.ge_reserved : s->text.reserved, HD_ARG_INT, all);
    sq_add_field(w, "streamPtr", ASCEND_STREAM);
}

void ascend_take_times(sq_worker *w)
{
    if (w->row.start_ns == HD_NO_TIME) w->row.start_ns = sq_field(w, ASCEND_ALLOCATION);
    if (w->row.start_ns == HD_NO_TIME) w->row.start_ns = sq_field(w, ASCEND_RELEASE);
}

/* The table has no addresses: the row number is used instead. */
const char *ascend_place_lifetime(sq_worker *w)
{
    const ascend_state *s = ascend_of(w);
    int64_t size = sq_field(w, ASCEND_SIZE), allocation = sq_field(w, ASCEND_ALLOCATION),
            release = sq_field(w, ASCEND_RELEASE), number = w->cursor.rowid;
    uint32_t name = w->row.name, common = w->item_count;
    w->row.track = device_track(w, device_of(w));
    w->row.name = s->text.memory;
    if (name != HD_STRING_NONE) sq_add(w, s->text.name, HD_ARG_STRING, name);
    if (allocation != HD_NO_NUMBER) {
        w->row.start_ns = allocation;
        add_memory(w, number, size, ASCEND_ALLOCATED, ASCEND_RESERVED);
        if (release == HD_NO_NUMBER) return NULL;
        sq_emit(w);
        w->item_count = common;
        if (name != HD_STRING_NONE) sq_add(w, s->text.name, HD_ARG_STRING, name);
    }
    w->row.start_ns = release;
    add_memory(w, number, size == HD_NO_NUMBER ? size : -size, ASCEND_RELEASE_ALLOCATED, ASCEND_RELEASE_RESERVED);
    return NULL;
}

/* OP_MEMORY has these as well. */
const char *ascend_place_memory(sq_worker *w)
{
    const ascend_state *s = ascend_of(w);
    int64_t size = sq_field(w, ASCEND_SIZE);
    uint32_t name = w->row.name;
    hd_string kind = hd_builder_string(w->reader->builder, sq_field_string(w, ASCEND_TYPE));
    w->row.track = device_track(w, device_of(w));
    w->row.name = s->has_op_memory ? s->text.ge_memory : s->text.memory;
    if (name != HD_STRING_NONE) sq_add(w, s->text.name, HD_ARG_STRING, name);
    if (size != HD_NO_NUMBER && begins(kind, "release") && size > 0) size = -size;
    add_memory(w, sq_field(w, ASCEND_ADDRESS), size, ASCEND_ALLOCATED, ASCEND_RESERVED);
    sq_add_field(w, "globalTid", ASCEND_TID);
    return NULL;
}
