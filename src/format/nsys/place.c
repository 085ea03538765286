/* place.c - the track and the name of a row
 *
 * Streams are in a process of their own for each GPU and process that uses it: "GPU 0". Waits for a stream have a track
 * of their own in that process, since they overlap the stream's activities.
 */
#include <stdio.h>

#include "format/nsys/nsys.h"

/* ---- tracks ---- */

static const int64_t tid_mask = 0xffffff;

static int64_t pid_of(int64_t global)
{
    return (global >> 24) & tid_mask;
}

static uint64_t process_key(int64_t global, unsigned kind)
{
    return ((uint64_t)global & ~(uint64_t)tid_mask) | kind;
}

static uint32_t thread_track(sq_worker *w, int64_t global)
{
    if (global == HD_NO_NUMBER) return HD_NONE;
    sq_track *track = sq_track_at(w, (uint64_t)global, NSYS_THREAD);
    if (track->track == HD_NONE) {
        track->track = hd_builder_thread(w->reader->builder, pid_of(global), global & tid_mask);
        track->numbers[0] = global;
    }
    return track->track;
}

static uint32_t process_track(sq_worker *w, int64_t global)
{
    if (global == HD_NO_NUMBER) return HD_NONE;
    sq_track *track = sq_track_at(w, process_key(global, 0), NSYS_PROCESS);
    if (track->track == HD_NONE)
        track->track = hd_builder_track(w->reader->builder, sq_number_ident(w->reader->builder, pid_of(global)),
                                        (hd_ident){0}, true);
    return track->track;
}

/* A stream of a process's context, or the track of waits for it. */
static uint32_t stream_track(sq_worker *w, unsigned kind)
{
    hd_builder *b = w->reader->builder;
    int64_t process = sq_field(w, NSYS_PID), device = sq_field(w, NSYS_DEVICE), context = sq_field(w, NSYS_CONTEXT),
            stream = sq_field(w, NSYS_STREAM);
    if (process == HD_NO_NUMBER) process = sq_field(w, NSYS_TID);
    if (process == HD_NO_NUMBER) process = 0;
    if (device == HD_NO_NUMBER) device = 0;
    if (context == HD_NO_NUMBER) context = 0;
    if (stream == HD_NO_NUMBER) stream = 0;
    sq_track *track = sq_track_at(w, process_key(process, kind) | ((uint64_t)device & 0xffff) << 8,
                                  (uint64_t)context << 32 | (uint32_t)stream);
    if (track->track != HD_NONE) return track->track;
    bool is_wait = kind == NSYS_WAITS;
    hd_ident pid = is_wait ? sq_number_ident(b, pid_of(process))
                           : sq_text_ident(b, "GPU %lld of %lld", (long long)device, (long long)pid_of(process));
    hd_ident tid = is_wait ? stream == UINT32_MAX ? sq_text_ident(b, "waits of context %lld", (long long)context)
                                                  : sq_text_ident(b, "waits of context %lld stream %lld",
                                                                  (long long)context, (long long)stream)
                           : sq_text_ident(b, "context %lld stream %lld", (long long)context, (long long)stream);
    *track = (sq_track){hd_builder_track(b, pid, tid, false), {process, device, context, stream}};
    return track->track;
}

static void place_on_thread(sq_worker *w)
{
    int64_t thread = sq_field(w, NSYS_TID);
    w->row.track = thread != HD_NO_NUMBER ? thread_track(w, thread) : process_track(w, sq_field(w, NSYS_PID));
}

/* ---- arguments ---- */

/* Ids of several processes repeat, so each is prefixed with the process; the original id is then `correlationId`. */
static void add_correlation(sq_worker *w)
{
    nsys_state *s = nsys_of(w);
    int64_t id = sq_field(w, NSYS_CORRELATION), process = sq_field(w, NSYS_PID);
    if (id == HD_NO_NUMBER) return;
    if (process == HD_NO_NUMBER) process = sq_field(w, NSYS_TID);
    bool is_small = id > 0 && id <= UINT32_MAX;
    if (!s->is_many || !is_small || process == HD_NO_NUMBER) return sq_add(w, s->text.correlation, HD_ARG_INT, id);
    sq_add(w, s->text.correlation, HD_ARG_INT, pid_of(process) << 32 | id);
    sq_add(w, s->text.correlation_own, HD_ARG_INT, id);
}

static void add_queue(sq_worker *w)
{
    sq_add_field(w, "device", NSYS_DEVICE);
    sq_add_field(w, "context", NSYS_CONTEXT);
    sq_add_field(w, "stream", NSYS_STREAM);
    add_correlation(w);
}

static uint32_t name_or(sq_worker *w, uint32_t otherwise)
{
    uint32_t name = sq_field_string(w, NSYS_NAME);
    if (name == HD_STRING_NONE) name = sq_field_text(w, NSYS_TEXT);
    return name == HD_STRING_NONE ? otherwise : name;
}

/* ---- work of GPUs ---- */

/* Of the stream, as Kineto has it; absent: 0. */
static void add_priority(sq_worker *w)
{
    int64_t context = sq_field(w, NSYS_CONTEXT), stream = sq_field(w, NSYS_STREAM);
    uint32_t priority;
    if (hd_map_get(&priority, &nsys_of(w)->priorities, process_key(sq_field(w, NSYS_PID), 0),
                   (uint64_t)context << 32 | (uint32_t)stream))
        sq_add(w, nsys_of(w)->text.priority, HD_ARG_INT, (int32_t)priority);
}

const char *nsys_place_kernel(sq_worker *w)
{
    nsys_state *s = nsys_of(w);
    w->row.track = stream_track(w, NSYS_QUEUE);
    w->row.name = name_or(w, s->text.unknown);
    add_queue(w);
    add_priority(w);
    sq_add_triple(w, s->text.grid, NSYS_X, NSYS_Y, NSYS_Z);
    sq_add_triple(w, s->text.block, NSYS_BLOCK_X, NSYS_BLOCK_Y, NSYS_BLOCK_Z);
    int64_t fixed = sq_field(w, NSYS_STATIC), dynamic = sq_field(w, NSYS_DYNAMIC), sum;
    if (fixed != HD_NO_NUMBER && dynamic != HD_NO_NUMBER && !__builtin_add_overflow(fixed, dynamic, &sum))
        sq_add(w, s->text.shared, HD_ARG_INT, sum); /* as Kineto has it */
    sq_add_field(w, "static shared memory", NSYS_STATIC);
    sq_add_field(w, "dynamic shared memory", NSYS_DYNAMIC);
    return NULL;
}

const char *nsys_place_graph(sq_worker *w)
{
    w->row.track = stream_track(w, NSYS_QUEUE);
    w->row.name = name_or(w, hd_builder_intern_text(w->reader->builder, "CUDA graph"));
    add_queue(w);
    return NULL;
}

static uint32_t kind_of(sq_worker *w, const sq_strings *labels, int field)
{
    int64_t number = sq_field(w, field);
    return number == HD_NO_NUMBER ? HD_STRING_NONE : sq_strings_at(labels, number);
}

static const char *text_or(const sq_worker *w, uint32_t id, const char *otherwise, int *out_size)
{
    hd_string text = hd_builder_string(w->reader->builder, id);
    if (id == HD_STRING_NONE) text = (hd_string){otherwise, strlen(otherwise)};
    *out_size = text.size < 64 ? (int)text.size : 64;
    return text.data;
}

/* "Memcpy HtoD (Pageable -> Device)", as Kineto has it. */
const char *nsys_place_copy(sq_worker *w)
{
    static const char *const kinds[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                        "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
    nsys_state *s = nsys_of(w);
    int64_t kind = sq_field(w, NSYS_KIND);
    int from_size, to_size;
    const char *from = text_or(w, kind_of(w, &s->memory_kinds, NSYS_FROM), "Unknown", &from_size);
    const char *to = text_or(w, kind_of(w, &s->memory_kinds, NSYS_TO), "Unknown", &to_size);
    bool is_known = kind >= 0 && kind < (int64_t)(sizeof kinds / sizeof *kinds);
    w->row.track = stream_track(w, NSYS_QUEUE);
    w->row.name = sq_intern(w->reader->builder, "Memcpy %s (%.*s -> %.*s)%s", is_known ? kinds[kind] : "Unknown",
                            from_size, from, to_size, to, is_known && kind > 10 ? " by unified memory" : "");
    add_queue(w);
    sq_add_field(w, "copyKind", NSYS_KIND);
    return NULL;
}

const char *nsys_place_set(sq_worker *w)
{
    int size;
    const char *memory = text_or(w, kind_of(w, &nsys_of(w)->memory_kinds, NSYS_FROM), "Unknown", &size);
    w->row.track = stream_track(w, NSYS_QUEUE);
    w->row.name = sq_intern(w->reader->builder, "Memset (%.*s)", size, memory);
    add_queue(w);
    return NULL;
}

const char *nsys_place_wait(sq_worker *w)
{
    uint32_t name = kind_of(w, &nsys_of(w)->sync_kinds, NSYS_KIND);
    w->row.track = stream_track(w, NSYS_WAITS);
    w->row.name = name == HD_STRING_NONE ? hd_builder_intern_text(w->reader->builder, "Sync") : name;
    add_queue(w);
    return NULL;
}

/* ---- the host ---- */

const char *nsys_place_call(sq_worker *w)
{
    nsys_state *s = nsys_of(w);
    int64_t id = sq_field(w, NSYS_NAME), chain = sq_field(w, NSYS_CHAIN);
    uint32_t is_driver = 0;
    place_on_thread(w);
    if (!hd_map_get(&w->row.name, &s->calls, (uint64_t)id, 0)) w->row.name = name_or(w, s->text.unknown);
    hd_map_get(&is_driver, &s->call_is_driver, (uint64_t)id, 0);
    if (is_driver) w->row.category = s->text.driver;
    if (chain != HD_NO_NUMBER) hd_map_get(&w->sf, &s->calls_of_cuda, (uint64_t)chain, 0);
    add_correlation(w);
    return NULL;
}

const char *nsys_place_thread(sq_worker *w)
{
    nsys_state *s = nsys_of(w);
    int64_t chain = sq_field(w, NSYS_CHAIN);
    place_on_thread(w);
    w->row.name = name_or(w, s->text.unknown);
    if (chain != HD_NO_NUMBER) hd_map_get(&w->sf, &s->calls_of_os, (uint64_t)chain, 0);
    add_correlation(w);
    return NULL;
}

const char *nsys_place_overhead(sq_worker *w)
{
    nsys_state *s = nsys_of(w);
    uint32_t kind = kind_of(w, &s->overhead_kinds, NSYS_KIND);
    place_on_thread(w);
    w->row.name = name_or(w, kind == HD_STRING_NONE ? hd_builder_intern_text(w->reader->builder, "Overhead") : kind);
    sq_add_field(w, "overheadType", NSYS_KIND);
    add_correlation(w);
    return NULL;
}

/* ---- NVTX ---- */

static void add_domain(sq_worker *w, int64_t process)
{
    nsys_state *s = nsys_of(w);
    int64_t domain = sq_field(w, NSYS_DOMAIN), category = sq_field(w, NSYS_CATEGORY);
    uint32_t text = HD_STRING_NONE;
    uint64_t key = (uint64_t)process & ~(uint64_t)tid_mask;
    if (domain != HD_NO_NUMBER && domain) {
        if (hd_map_get(&text, &s->domains, key, (uint64_t)domain))
            sq_add(w, s->text.domain, HD_ARG_STRING, text);
        else
            sq_add(w, s->text.domain, HD_ARG_INT, domain);
    }
    if (category == HD_NO_NUMBER || category == 0) return;
    if (hd_map_get(&text, &s->categories, key, (uint64_t)domain << 32 | (uint32_t)category))
        sq_add(w, s->text.category, HD_ARG_STRING, text);
    else
        sq_add(w, s->text.category, HD_ARG_INT, category);
}

/* A range that may end on another thread, and cross others: two points of an async slice. */
static const char *place_range(sq_worker *w)
{
    int64_t id = sq_field(w, NSYS_FROM), end = w->end;
    w->row.kind = HD_KIND_ASYNC;
    w->row.phase = 'b';
    w->row.duration_ns = HD_NO_TIME;
    w->row.id_type = HD_ID_INT;
    w->row.id = id == HD_NO_NUMBER ? w->cursor.rowid : id;
    if (end == HD_NO_NUMBER) return NULL;
    sq_emit(w);
    int64_t thread = sq_field(w, NSYS_END_TID);
    w->row.phase = 'e';
    w->row.start_ns = end;
    w->item_count = 0;
    if (thread != HD_NO_NUMBER) w->row.track = thread_track(w, thread);
    return NULL;
}

const char *nsys_place_nvtx(sq_worker *w)
{
    enum {
        CATEGORY = 33,
        MARK = 34,
        PUSH_POP = 59,
        START_END = 60,
        PUSH_POP_TEXT = 70,
        START_END_TEXT = 71,
        DOMAIN = 75
    };
    int64_t type = sq_field(w, NSYS_KIND), thread = sq_field(w, NSYS_TID);
    if (type == CATEGORY || type == DOMAIN) return SQ_PLACED; /* a name: lookup.c */
    place_on_thread(w);
    w->row.name = name_or(w, hd_builder_intern_text(w->reader->builder, ""));
    add_domain(w, thread == HD_NO_NUMBER ? 0 : thread);
    const sq_value *payload = w->fields[NSYS_PAYLOAD - SQ_FIELD];
    if (!nsys_add_payload(w, payload))
        sq_add_value(w, hd_builder_intern_text(w->reader->builder, "binaryData"), NULL, payload);
    if (type == START_END || type == START_END_TEXT) return place_range(w);
    if (type == PUSH_POP || type == PUSH_POP_TEXT) return NULL;
    sq_add_field(w, "eventType", NSYS_KIND);
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    w->row.duration_ns = HD_NO_TIME;
    return NULL;
}

/* ---- memory, samples, scheduling, metrics ---- */

const char *nsys_place_memory(sq_worker *w)
{
    enum { PAGEABLE, PINNED, FREE = 1, CPU = 0, CUDA = 1 };
    nsys_state *s = nsys_of(w);
    int64_t bytes = sq_field(w, NSYS_TO), kind = sq_field(w, NSYS_X), operation = sq_field(w, NSYS_KIND);
    w->row.track = process_track(w, sq_field(w, NSYS_PID));
    w->row.name = s->text.memory;
    sq_add(w, s->text.device_type, HD_ARG_INT, kind == PAGEABLE || kind == PINNED ? CPU : CUDA);
    sq_add_field(w, "Device Id", NSYS_DEVICE);
    sq_add_field(w, "Addr", NSYS_FROM);
    if (bytes != HD_NO_NUMBER) sq_add(w, s->text.bytes, HD_ARG_INT, operation == FREE ? -bytes : bytes);
    sq_add_field(w, "memKind", NSYS_X);
    uint32_t name = sq_field_text(w, NSYS_TEXT);
    if (name != HD_STRING_NONE) sq_add(w, hd_builder_intern_text(w->reader->builder, "name"), HD_ARG_STRING, name);
    add_correlation(w);
    return NULL;
}

const char *nsys_place_sample(sq_worker *w)
{
    nsys_state *s = nsys_of(w);
    int64_t id = sq_field(w, NSYS_CHAIN);
    uint32_t state = kind_of(w, &s->thread_states, NSYS_KIND);
    place_on_thread(w);
    w->row.name = hd_builder_intern_text(w->reader->builder, "sample");
    if (id != HD_NO_NUMBER) hd_map_get(&w->sf, &s->samples, (uint64_t)id, 0);
    if (state != HD_STRING_NONE)
        sq_add(w, hd_builder_intern_text(w->reader->builder, "threadState"), HD_ARG_STRING, state);
    return NULL;
}

/* A thread is scheduled on a CPU, or leaves it: begin and end of a slice of the CPU. */
const char *nsys_place_switch(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    nsys_state *s = nsys_of(w);
    int64_t cpu = sq_field(w, NSYS_X), thread = sq_field(w, NSYS_TID);
    sq_track *track = sq_track_at(w, (uint64_t)cpu << 8 | NSYS_CPU, NSYS_CPU);
    if (track->track == HD_NONE) {
        track->track = hd_builder_track(b, (hd_ident){HD_IDENT_STRING, s->text.cpu_process},
                                        sq_text_ident(b, "CPU %lld", (long long)cpu), false);
        track->numbers[0] = cpu;
    }
    w->row.track = track->track;
    if (!hd_map_get(&w->row.name, &s->threads, (uint64_t)thread, 0) &&
        !hd_map_get(&w->row.name, &s->processes, process_key(thread, 0), 0))
        w->row.name = sq_intern(b, "thread %lld", (long long)(thread & tid_mask));
    if (sq_field(w, NSYS_KIND) == 0) {
        w->row.kind = HD_KIND_END;
        w->row.phase = 'E';
    }
    if (thread != HD_NO_NUMBER) {
        sq_add(w, hd_builder_intern_text(b, "pid"), HD_ARG_INT, pid_of(thread));
        sq_add(w, hd_builder_intern_text(b, "tid"), HD_ARG_INT, thread & tid_mask);
    }
    return NULL;
}

const char *nsys_place_metric(sq_worker *w)
{
    hd_builder *b = w->reader->builder;
    nsys_state *s = nsys_of(w);
    int64_t type = sq_field(w, NSYS_FROM), metric = sq_field(w, NSYS_KIND);
    sq_track *track = sq_track_at(w, (uint64_t)type, NSYS_METRICS);
    if (track->track == HD_NONE) {
        track->track = hd_builder_track(b, sq_text_ident(b, "GPU %d metrics", (int)(type & 0xff)), (hd_ident){0}, true);
        track->numbers[0] = type;
    }
    w->row.track = track->track;
    if (!hd_map_get(&w->row.name, &s->metrics, (uint64_t)type, (uint64_t)metric))
        w->row.name = sq_intern(b, "metric %lld", (long long)metric);
    return NULL;
}

/* Tables without a mapping: derived from the names of columns. */
const char *nsys_place_any(sq_worker *w)
{
    place_on_thread(w);
    w->row.name = name_or(w, w->row.category);
    add_queue(w);
    sq_add_field(w, "callchainId", NSYS_CHAIN);
    if (w->row.kind != HD_KIND_SLICE || w->end != HD_NO_NUMBER) return NULL;
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    return NULL;
}
