/* place.c - track, name and arguments of a row
 *
 * Streams are in a process of their own for each GPU and process that uses it, "GPU 0"; a row without a stream is on
 * the track of its queue. pid, tid and all other ids refer to rows of rocpd_info_…, and in schema 4 of a track.
 */
#include <string.h>

#include "format/numbers.h"
#include "format/rocpd/rocpd.h"

/* ---- where ---- */

/* The ids of a row, or those of its track. */
typedef struct rocpd_place {
    int64_t node, process, thread, agent, queue, stream;
} rocpd_place;

static rocpd_place place_of(const sq_worker *w)
{
    const rocpd_info *track = rocpd_info_at(rocpd_of(w), ROCPD_TRACKS, sq_field(w, ROCPD_TRACK), w->scope);
    if (track) {
        const int64_t *n = track->numbers;
        return (rocpd_place){n[0], n[1], n[2], n[3], n[4], n[5]};
    }
    return (rocpd_place){sq_field(w, ROCPD_NODE),  sq_field(w, ROCPD_PROCESS), sq_field(w, ROCPD_THREAD),
                         sq_field(w, ROCPD_AGENT), sq_field(w, ROCPD_QUEUE),   sq_field(w, ROCPD_STREAM)};
}

/* The system's number for it; the row number, if no row has one. */
static int64_t own_id(const sq_worker *w, enum rocpd_kind kind, int64_t id)
{
    const rocpd_info *info = rocpd_info_at(rocpd_of(w), kind, id, w->scope);
    int64_t own = info ? info->numbers[ROCPD_OWN_ID] : HD_NO_NUMBER;
    if (own == HD_NO_NUMBER) own = id;
    return own == HD_NO_NUMBER ? 0 : own;
}

static hd_ident process_ident(sq_worker *w, const rocpd_place *p)
{
    hd_builder *b = w->reader->builder;
    int64_t pid = own_id(w, ROCPD_PROCESSES, p->process);
    const rocpd_info *node = rocpd_info_at(rocpd_of(w), ROCPD_NODES, p->node, w->scope);
    hd_string host = hd_builder_string(b, node ? node->name : HD_STRING_NONE);
    if (!rocpd_of(w)->is_many_nodes || !host.size) return sq_number_ident(b, pid);
    return sq_text_ident(b, "%lld on %.*s", (long long)pid, (int)(host.size & 63), host.data);
}

static uint64_t track_key(const sq_worker *w, unsigned kind)
{
    return w->scope << ROCPD_KIND_BITS | kind;
}

static uint32_t thread_track(sq_worker *w, const rocpd_place *p)
{
    uint64_t key = (uint64_t)p->process << 32 ^ (uint64_t)p->thread;
    sq_track *track = sq_track_at(w, key, track_key(w, ROCPD_ON_THREAD));
    if (track->track != HD_NONE) return track->track;
    hd_ident tid = sq_number_ident(w->reader->builder, own_id(w, ROCPD_THREADS, p->thread));
    *track = (sq_track){hd_builder_track(w->reader->builder, process_ident(w, p), tid, false),
                        {p->process, p->thread, (int64_t)w->scope}};
    return track->track;
}

static uint32_t process_track(sq_worker *w, const rocpd_place *p)
{
    sq_track *track = sq_track_at(w, (uint64_t)p->process, track_key(w, ROCPD_ON_PROCESS));
    if (track->track == HD_NONE)
        *track = (sq_track){hd_builder_track(w->reader->builder, process_ident(w, p), (hd_ident){0}, true),
                            {p->process, HD_NO_NUMBER, (int64_t)w->scope}};
    return track->track;
}

static uint32_t queue_track(sq_worker *w, const rocpd_place *p)
{
    hd_builder *b = w->reader->builder;
    bool has_stream = p->stream != HD_NO_NUMBER;
    int64_t queue = has_stream ? p->stream : p->queue == HD_NO_NUMBER ? 0 : p->queue;
    uint64_t key = (uint64_t)p->agent << 40 ^ (uint64_t)p->process << 20 ^ (uint64_t)queue << 1 ^ has_stream;
    sq_track *track = sq_track_at(w, key, track_key(w, ROCPD_ON_QUEUE));
    if (track->track != HD_NONE) return track->track;
    int64_t device = own_id(w, ROCPD_AGENTS, p->agent);
    hd_string process = hd_builder_string(b, process_ident(w, p).text);
    const rocpd_info *info = rocpd_info_at(rocpd_of(w), has_stream ? ROCPD_STREAMS : ROCPD_QUEUES, queue, w->scope);
    hd_ident pid = sq_text_ident(b, "GPU %lld of %.*s", (long long)device, (int)(process.size & 127), process.data);
    hd_ident tid = sq_text_ident(b, has_stream ? "stream %lld" : "queue %lld", (long long)queue);
    bool is_named = info && info->name != HD_STRING_NONE;
    *track =
        (sq_track){hd_builder_track(b, pid, tid, false), {device, queue, pid.text, is_named ? info->name : tid.text}};
    return track->track;
}

/* ---- times and events ---- */

static int64_t time_at(const sq_worker *w, int field)
{
    const rocpd_state *s = rocpd_of(w);
    int64_t id = sq_field(w, field);
    uint32_t at;
    return id != HD_NO_NUMBER && hd_map_get(&at, &s->time_index, (uint64_t)id, w->scope) ? s->times[at] : HD_NO_NUMBER;
}

void rocpd_take_times(sq_worker *w)
{
    if (w->row.start_ns == HD_NO_TIME) w->row.start_ns = time_at(w, ROCPD_START);
    if (w->end == HD_NO_NUMBER) w->end = time_at(w, ROCPD_END);
}

/* The key of host and GPU is the event's stack_id, in each guid from 1 on; correlation_id is the user's. */
static const rocpd_event *add_event(sq_worker *w)
{
    const rocpd_state *s = rocpd_of(w);
    int64_t id = sq_field(w, ROCPD_EVENT);
    uint32_t at;
    if (id == HD_NO_NUMBER) return NULL;
    hd_map_get(&w->sf, &s->chains, (uint64_t)id, w->scope);
    if (!hd_map_get(&at, &s->event_index, (uint64_t)id, w->scope)) return NULL;
    const rocpd_event *event = &s->events[at];
    if (event->stack > 0 && s->scope_count > 1 && event->stack <= UINT32_MAX) {
        sq_add(w, s->text.correlation, HD_ARG_INT, (int64_t)(w->scope << 32) | event->stack);
        sq_add(w, s->text.correlation_own, HD_ARG_INT, event->stack);
    } else if (event->stack > 0) {
        sq_add(w, s->text.correlation, HD_ARG_INT, event->stack);
    }
    if (event->external > 0) sq_add(w, s->text.external, HD_ARG_INT, event->external);
    for (uint32_t i = 0; i < event->count; i++) {
        const sq_item *item = &s->extras[event->first + i];
        sq_add(w, item->key, (hd_arg_type)item->type, item->bits);
    }
    sq_side_add(w, &s->arguments, id);
    return event;
}

static void set_name(sq_worker *w)
{
    w->row.name = sq_field_string(w, ROCPD_NAME);
    if (w->row.name == HD_STRING_NONE) w->row.name = rocpd_of(w)->text.unknown;
}

/* ---- GPUs ---- */

static void add_queue(sq_worker *w, const rocpd_place *p)
{
    const rocpd_state *s = rocpd_of(w);
    uint32_t region = sq_field_string(w, ROCPD_REGION);
    sq_add(w, s->text.device, HD_ARG_INT, own_id(w, ROCPD_AGENTS, p->agent));
    if (p->stream != HD_NO_NUMBER) sq_add(w, s->text.stream, HD_ARG_INT, p->stream);
    if (p->queue != HD_NO_NUMBER) sq_add(w, hd_builder_intern_text(w->reader->builder, "queue"), HD_ARG_INT, p->queue);
    if (region != HD_STRING_NONE) sq_add(w, s->text.region, HD_ARG_STRING, region);
}

/* The grid is in work-items; all others use workgroups. */
static void add_grid(sq_worker *w)
{
    const rocpd_state *s = rocpd_of(w);
    int64_t grid[3], block[3];
    for (int i = 0; i < 3; i++) {
        grid[i] = sq_field(w, ROCPD_X + i);
        block[i] = sq_field(w, ROCPD_GROUP_X + i);
        if (grid[i] > 0 && block[i] > 0) grid[i] = (grid[i] - 1) / block[i] + 1;
    }
    sq_add_three(w, s->text.grid, grid);
    sq_add_three(w, s->text.block, block);
}

/* A kernel without a name to display is called as the linker does. */
static void add_kernel(sq_worker *w, int64_t kernel)
{
    const rocpd_state *s = rocpd_of(w);
    const struct sq_side_row *row = sq_side_first(&s->kernels, kernel, w->scope);
    sq_side_add(w, &s->kernels, kernel);
    for (uint32_t i = 0; row && row->name == HD_STRING_NONE && i < row->count; i++) {
        const sq_item *item = &s->kernels.items[row->first + i];
        if (item->key == s->text.mangled && item->type == HD_ARG_STRING) w->row.name = (uint32_t)item->bits;
    }
}

const char *rocpd_place_kernel(sq_worker *w)
{
    const rocpd_state *s = rocpd_of(w);
    rocpd_place p = place_of(w);
    int64_t kernel = sq_field(w, ROCPD_KERNEL), event = sq_field(w, ROCPD_EVENT);
    w->row.track = queue_track(w, &p);
    w->row.name = s->text.unknown;
    add_queue(w, &p);
    add_event(w);
    add_grid(w);
    if (kernel != HD_NO_NUMBER) add_kernel(w, kernel);
    if (event != HD_NO_NUMBER) sq_side_add(w, &s->counters, event);
    return NULL;
}

/* Who copies is the GPU of the two, of two GPUs the one that is written to. */
const char *rocpd_place_copy(sq_worker *w)
{
    const rocpd_state *s = rocpd_of(w);
    rocpd_place p = place_of(w);
    int64_t to = sq_field(w, ROCPD_TO_AGENT), from = sq_field(w, ROCPD_FROM_AGENT);
    const rocpd_info *agent = rocpd_info_at(s, ROCPD_AGENTS, to, w->scope);
    p.agent = to == HD_NO_NUMBER || (agent && agent->is_cpu && from != HD_NO_NUMBER) ? from : to;
    w->row.track = queue_track(w, &p);
    set_name(w);
    add_queue(w, &p);
    sq_add_field(w, "destination agent", ROCPD_TO_AGENT);
    sq_add_field(w, "source agent", ROCPD_FROM_AGENT);
    add_event(w);
    return NULL;
}

/* As in Kineto. A free usually has no size. */
const char *rocpd_place_memory(sq_worker *w)
{
    enum { CPU, CUDA };
    const rocpd_state *s = rocpd_of(w);
    hd_builder *b = w->reader->builder;
    rocpd_place p = place_of(w);
    const rocpd_info *agent = rocpd_info_at(s, ROCPD_AGENTS, p.agent, w->scope);
    uint32_t type = sq_field_text(w, ROCPD_TYPE);
    hd_string text = hd_builder_string(b, type);
    int64_t size = sq_field(w, ROCPD_SIZE), duration;
    bool is_free = text.size && (text.data[0] == 'F' || memmem(text.data, text.size, "CLAIM", 5));
    w->row.track = process_track(w, &p);
    w->row.name = s->text.memory;
    sq_add(w, s->text.device_type, HD_ARG_INT, agent && agent->is_cpu ? CPU : CUDA);
    if (p.agent != HD_NO_NUMBER)
        sq_add(w, hd_builder_intern_text(b, "Device Id"), HD_ARG_INT, own_id(w, ROCPD_AGENTS, p.agent));
    sq_add_field(w, "Addr", ROCPD_ADDRESS);
    if (size != HD_NO_NUMBER && (!is_free || size)) sq_add(w, s->text.bytes, HD_ARG_INT, is_free ? -size : size);
    if (type != HD_STRING_NONE) sq_add(w, hd_builder_intern_text(b, "type"), HD_ARG_STRING, type);
    if (w->end != HD_NO_NUMBER && !__builtin_sub_overflow(w->end, w->row.start_ns, &duration))
        sq_add(w, hd_builder_intern_text(b, "duration ns"), HD_ARG_INT, duration);
    add_event(w);
    return NULL;
}

/* ---- the host ---- */

static bool begins(hd_string text, const char *word)
{
    return text.size >= strlen(word) && memcmp(text.data, word, strlen(word)) == 0;
}

/* HIP_RUNTIME_API, HSA_CORE_API, MARKER_CORE_RANGE_API …; the file's own name becomes an argument. */
static void set_category(sq_worker *w, uint32_t category)
{
    const rocpd_state *s = rocpd_of(w);
    hd_string text = hd_builder_string(w->reader->builder, category);
    if (!text.size) return;
    w->row.category = begins(text, "HIP_")                               ? s->text.hip
                      : begins(text, "HSA_")                             ? s->text.hsa
                      : begins(text, "MARKER_") || begins(text, "ROCTX") ? s->text.mark
                                                                         : category;
    if (w->row.category != category) sq_add(w, s->text.category, HD_ARG_STRING, category);
}

const char *rocpd_place_region(sq_worker *w)
{
    rocpd_place p = place_of(w);
    w->row.track = thread_track(w, &p);
    set_name(w);
    const rocpd_event *event = add_event(w);
    if (event) set_category(w, event->category);
    return NULL;
}

/* A counter with the value at that event; an instant, if there is none. */
const char *rocpd_place_sample(sq_worker *w)
{
    const rocpd_state *s = rocpd_of(w);
    rocpd_place p = place_of(w);
    int64_t event = sq_field(w, ROCPD_EVENT);
    const rocpd_info *track = rocpd_info_at(s, ROCPD_TRACKS, sq_field(w, ROCPD_TRACK), w->scope);
    const struct sq_side_row *counted = event == HD_NO_NUMBER ? NULL : sq_side_first(&s->counters, event, w->scope);
    w->row.name = sq_field_string(w, ROCPD_NAME);
    if (w->row.name == HD_STRING_NONE && track) w->row.name = track->name;
    if (counted && counted->count) {
        if (w->row.name == HD_STRING_NONE) w->row.name = s->counters.items[counted->first].key;
        w->row.track = process_track(w, &p);
        sq_side_add(w, &s->counters, event);
        return NULL;
    }
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    w->row.track = p.thread == HD_NO_NUMBER ? process_track(w, &p) : thread_track(w, &p);
    if (w->row.name == HD_STRING_NONE) w->row.name = w->row.category;
    add_event(w);
    return NULL;
}

const char *rocpd_place_any(sq_worker *w)
{
    rocpd_place p = place_of(w);
    w->row.track = p.thread == HD_NO_NUMBER ? process_track(w, &p) : thread_track(w, &p);
    w->row.name = sq_field_string(w, ROCPD_NAME);
    if (w->row.name == HD_STRING_NONE) w->row.name = w->row.category;
    add_event(w);
    if (w->end != HD_NO_NUMBER) return NULL;
    w->row.kind = HD_KIND_INSTANT;
    w->row.phase = 'i';
    return NULL;
}

/* ---- after events ---- */

static void name_host(sq_reader *reader, const sq_track *t)
{
    const rocpd_state *s = reader->state;
    hd_builder *b = reader->builder;
    const int64_t *n = t->numbers; /* process, thread, scope */
    const rocpd_info *process = rocpd_info_at(s, ROCPD_PROCESSES, n[0], (uint64_t)n[2]);
    const rocpd_info *thread = rocpd_info_at(s, ROCPD_THREADS, n[1], (uint64_t)n[2]);
    const hd_track track = *hd_trace_track_at(hd_builder_trace(b), t->track);
    if (thread && thread->name != HD_STRING_NONE) hd_builder_name_track(b, t->track, thread->name);
    if (!process || process->name == HD_STRING_NONE) return;
    uint32_t at = hd_builder_track(b, track.pid, (hd_ident){0}, true);
    if (at != HD_NONE) hd_builder_name_track(b, at, process->name);
}

static void name_queue(sq_reader *reader, const sq_track *t)
{
    hd_builder *b = reader->builder;
    const int64_t *n = t->numbers; /* device, queue, texts of pid and name */
    uint32_t process = hd_builder_track(b, (hd_ident){HD_IDENT_STRING, (uint32_t)n[2]}, (hd_ident){0}, true);
    hd_builder_set_stream(b, t->track, n[0], n[1]);
    hd_builder_name_track(b, t->track, (uint32_t)n[3]);
    hd_builder_sort_track(b, t->track, n[1]);
    if (process == HD_NONE) return;
    hd_builder_name_track(b, process, sq_intern(b, "GPU %lld", (long long)n[0]));
    hd_sort_numbered(b, process, HD_SORT_DEVICES, n[0]);
}

void rocpd_name_tracks(sq_reader *reader, const sq_worker *w)
{
    for (size_t e = 0; e < w->track_index.count; e++) {
        const hd_map_entry *key = &w->track_index.entries[e];
        const sq_track *t = &w->tracks[key->value];
        if (t->track == HD_NONE) continue;
        if ((key->b & ((1 << ROCPD_KIND_BITS) - 1)) == ROCPD_ON_QUEUE)
            name_queue(reader, t);
        else
            name_host(reader, t);
    }
}
