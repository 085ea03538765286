/* tracks.c - the tracks of a trace that are known without reading its events
 *
 * Sections   a process with events; below it one for each device, if its streams are of several devices or mixed with
 *            threads. Processes that are none of the program (see is_aside) are below one section, Other
 * Tracks     for each lane (a track of the trace and its twins): its slices, its instants, its samples, if it has
 *            any. Counters and async slices come when their events are read (counters.c, async.c)
 * Order      processes by sort index, rank, pid, those of Other at last; below them threads by sort index,
 *            stream, tid
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sorted.h"
#include "trace/ranks.h"
#include "trace/text.h"
#include "view/scene/impl.h"

/* A lane or a process of the trace, with the data of its twins. */
typedef struct source_track {
    uint32_t source, process; /* process: leader, HD_NONE: none */
    hd_track_kind kind;
    uint32_t name, labels;
    int64_t sort_index, rank, device, stream, number; /* number: pid or tid */
    int64_t start_ns, end_ns;
    uint64_t rows[HD_KIND_COUNT];
    bool has_events, has_more; /* more: than instants */
    bool has_streams;          /* of a process: with GPU activities */
    bool is_aside;             /* of a process: below Other */
    bool shares_name;          /* another process is called the same */
} source_track;

typedef struct track_maker {
    view_scene *scene;
    source_track *sources; /* [source_count] */
    uint32_t count;        /* tracks made so far */
    bool has_ranks;        /* processes are of more than one rank */
    bool has_more;         /* some process is not aside */
    uint32_t other;        /* the section of those that are aside; HD_NONE: not made yet */
} track_maker;

static const hd_kind lane_kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT, HD_KIND_SAMPLE};
static const char *const lane_roles[] = {"", "instants", "samples"};
enum { LANE_KINDS = 3 };

/* ---- sources ---- */

static int64_t number_of(const hd_trace *trace, hd_ident ident)
{
    hd_string text = hd_trace_string(trace, ident.text);
    char copy[24], *end;
    if (ident.type == HD_IDENT_NONE || text.size == 0 || text.size >= sizeof copy) return INT64_MAX;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    long long number = strtoll(copy, &end, 10);
    return *end ? INT64_MAX : number;
}

static void add_source(source_track *s, const hd_trace *trace, uint32_t index)
{
    const hd_track *track = hd_trace_track_at(trace, index);
    static const hd_kind more[] = {HD_KIND_SLICE, HD_KIND_SAMPLE, HD_KIND_COUNTER, HD_KIND_ASYNC};
    if (s->name == HD_STRING_NONE) s->name = track->name;
    if (s->labels == HD_STRING_NONE) s->labels = track->labels;
    if (s->sort_index == HD_NO_NUMBER) s->sort_index = track->sort_index;
    if (s->rank == HD_NO_NUMBER) s->rank = hd_trace_rank_of(trace, index);
    if (s->device == HD_NO_NUMBER) s->device = track->device;
    if (s->stream == HD_NO_NUMBER) s->stream = track->stream;
    if (track->kind == HD_TRACK_STREAM) s->kind = HD_TRACK_STREAM;
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) s->rows[kind] += track->rows[kind];
    for (int k = 0; k < LANE_KINDS; k++) s->has_events |= track->rows[lane_kinds[k]] > 0;
    s->has_events |= track->rows[HD_KIND_COUNTER] || track->rows[HD_KIND_ASYNC];
    for (size_t k = 0; k < sizeof more / sizeof *more; k++) s->has_more |= track->rows[more[k]] > 0;
    if (track->start_ns == HD_NO_TIME) return;
    if (s->start_ns == HD_NO_TIME || track->start_ns < s->start_ns) s->start_ns = track->start_ns;
    if (s->end_ns == HD_NO_TIME || track->end_ns > s->end_ns) s->end_ns = track->end_ns;
}

/* Processes in which no program ran: what a profiler says of itself (Kineto's "Spans", "Traces" and "", and -1 for its
 * overhead), and those with nothing but instants. */
static bool is_aside(const hd_trace *trace, const source_track *process)
{
    static const char *const pids[] = {"Spans", "Traces", "", "-1"};
    hd_ident pid = hd_trace_track_at(trace, process->source)->pid;
    if (!process->has_more) return true;
    if (process->has_streams || pid.type == HD_IDENT_NONE) return false;
    for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) {
        if (hd_string_is(hd_trace_string(trace, pid.text), pids[i])) return true;
    }
    return false;
}

static void read_sources(track_maker *m)
{
    const hd_trace *trace = m->scene->trace;
    for (uint32_t i = 0; i < m->scene->source_count; i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        source_track *s = &m->sources[i];
        bool is_process = track->kind == HD_TRACK_PROCESS;
        *s = (source_track){.source = i, .kind = track->kind, .start_ns = HD_NO_TIME, .end_ns = HD_NO_TIME};
        s->sort_index = s->rank = s->device = s->stream = HD_NO_NUMBER;
        s->process = is_process ? i : track->parent == HD_NONE ? HD_NONE : scene_leader(trace, track->parent);
        s->number = number_of(trace, is_process ? track->pid : track->tid);
    }
    for (uint32_t i = 0; i < m->scene->source_count; i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        add_source(&m->sources[track->same_as], trace, i);
    }
    for (uint32_t i = 0; i < m->scene->source_count; i++) { /* a process includes its children */
        source_track *s = &m->sources[i];
        if (hd_trace_track_at(trace, i)->same_as != i || s->kind == HD_TRACK_PROCESS || s->process == HD_NONE) continue;
        m->sources[s->process].has_events |= s->has_events;
        m->sources[s->process].has_more |= s->has_more;
        m->sources[s->process].has_streams |= s->kind == HD_TRACK_STREAM && s->has_events;
        if (s->rank == HD_NO_NUMBER) s->rank = m->sources[s->process].rank;
    }
    for (uint32_t i = 0; i < m->scene->source_count; i++) {
        source_track *s = &m->sources[i];
        s->is_aside = s->kind == HD_TRACK_PROCESS && is_aside(trace, s);
    }
}

static int64_t or_zero(int64_t number)
{
    return number == HD_NO_NUMBER ? 0 : number;
}

static int by_shown_order(const void *a, const void *b)
{
    const source_track *x = *(const source_track *const *)a, *y = *(const source_track *const *)b;
    const int64_t keys[][2] = {
        {x->is_aside, y->is_aside},
        /* of each rank the GPUs first: what they do is looked for before what the host does */
        {x->kind == HD_TRACK_PROCESS ? x->rank : 0, y->kind == HD_TRACK_PROCESS ? y->rank : 0},
        {x->kind == HD_TRACK_PROCESS && !x->has_streams, y->kind == HD_TRACK_PROCESS && !y->has_streams},
        {or_zero(x->sort_index), or_zero(y->sort_index)},
        {x->rank, y->rank},
        {x->kind == HD_TRACK_PROCESS ? INT64_MIN : x->stream, y->kind == HD_TRACK_PROCESS ? INT64_MIN : y->stream},
        {x->number, y->number},
        {x->source, y->source},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    }
    return 0;
}

/* ---- tracks ---- */

static view_track *new_section(track_maker *m, const source_track *s, uint32_t parent, int64_t order)
{
    view_track *track = scene_new_track(m->scene, m->count);
    if (!track) return NULL;
    m->count++;
    track->parent = parent;
    track->kind = VIEW_SECTION;
    track->source = s->source;
    track->rank = s->rank;
    track->device = s->device;
    track->order = order;
    atomic_store(&track->ready, 1);
    return track;
}

static bool fill_lane(track_maker *m, view_track *track, const source_track *s, int k)
{
    const hd_trace *trace = m->scene->trace;
    const hd_track *own = hd_trace_track_at(trace, s->source);
    hd_kind kind = lane_kinds[k];
    bool is_stream = s->kind == HD_TRACK_STREAM, is_process = s->kind == HD_TRACK_PROCESS;
    track->kind = VIEW_SLICES;
    track->role = k ? lane_roles[k] : is_stream ? "stream" : "thread";
    track->source = s->source;
    track->events = kind;
    track->rank = s->rank;
    track->device = s->device;
    track->stream = s->stream;
    track->event_count = s->rows[kind];
    if (kind == HD_KIND_SLICE) {
        const hd_index *index = hd_trace_index(trace);
        const hd_lane *lane = index ? hd_index_lane_of(index, trace, s->source) : NULL;
        track->start_ns = s->start_ns;
        track->end_ns = s->end_ns;
        if (lane && hd_row_is_host(hd_roles_row(&m->scene->roles, s->source))) track->busy_ns = lane->busy_ns;
    }
    m->scene->lane_tracks[kind][s->source] = track->id;
    return scene_name_lane(track, trace, s->name,
                           is_stream    ? "stream"
                           : is_process ? "process"
                                        : "thread",
                           is_process ? own->pid : own->tid);
}

static bool add_lane(track_maker *m, const source_track *s, uint32_t parent, int64_t order)
{
    for (int k = 0; k < LANE_KINDS; k++) {
        if (s->rows[lane_kinds[k]] == 0) continue;
        view_track *track = scene_new_track(m->scene, m->count);
        if (!track) return false;
        m->count++;
        track->parent = parent;
        track->order = order + k;
        if (!fill_lane(m, track, s, k)) return false;
    }
    return true;
}

static bool is_queue(const track_maker *m, const source_track *lane)
{
    return lane->kind == HD_TRACK_STREAM || hd_roles_row(&m->scene->roles, lane->source) == HD_ROW_QUEUE;
}

/* Lanes of a device: its streams, and those that only describe it ("XLA Modules"). */
static bool is_of_device(const track_maker *m, const source_track *lane)
{
    return is_queue(m, lane) || hd_roles_row(&m->scene->roles, lane->source) == HD_ROW_TOLD;
}

/* Whether all lanes are of a device, and some are its streams. */
static bool are_device(const track_maker *m, source_track *const *lanes, uint32_t count)
{
    bool has_queue = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_of_device(m, lanes[i])) return false;
        has_queue |= is_queue(m, lanes[i]);
    }
    return has_queue;
}

/* Whether lanes are of several devices, or of one device together with threads. */
static bool needs_devices(const track_maker *m, source_track *const *lanes, uint32_t count)
{
    int64_t device = HD_NO_NUMBER;
    bool has_stream = false, has_other = false;
    for (uint32_t i = 0; i < count; i++) {
        bool is_stream = lanes[i]->kind == HD_TRACK_STREAM && lanes[i]->device != HD_NO_NUMBER;
        if (is_stream && has_stream && lanes[i]->device != device) return true;
        if (is_stream) device = lanes[i]->device;
        has_stream |= is_stream;
        has_other |= !is_stream && lanes[i]->kind != HD_TRACK_PROCESS && !is_of_device(m, lanes[i]);
    }
    return has_stream && has_other;
}

/* The section of a device of a process: the last one made, or a new one. */
static bool device_section(uint32_t *out, track_maker *m, const source_track *lane, uint32_t first, uint32_t parent,
                           int64_t order)
{
    for (uint32_t i = first; i < m->count; i++) {
        const view_track *track = view_scene_track(m->scene, i);
        *out = i;
        if (track->kind == VIEW_SECTION && track->device == lane->device) return true;
    }
    view_track *section = new_section(m, lane, parent, order);
    char name[48];
    if (!section) return false;
    *out = section->id;
    section->role = "device";
    section->source = HD_NONE;
    section->name_size = (size_t)snprintf(name, sizeof name, "device %lld", (long long)lane->device);
    section->name = strdup(name);
    return section->name != NULL;
}

/* The section around a process; false: no memory. */
static bool parent_of(uint32_t *out, track_maker *m, const source_track *process, int64_t order)
{
    static const char name[] = "Other";
    *out = process->is_aside ? m->other : HD_NONE;
    if (!process->is_aside || !m->has_more || m->other != HD_NONE) return true;
    view_track *section = new_section(m, process, HD_NONE, order);
    if (!section) return false;
    *out = m->other = section->id;
    section->role = "other";
    section->source = HD_NONE;
    section->collapsed = true;
    section->name = strdup(name);
    section->name_size = strlen(name);
    return section->name != NULL;
}

static bool add_process(track_maker *m, source_track *process, source_track *const *lanes, uint32_t count,
                        int64_t order)
{
    uint32_t parent = HD_NONE, first;
    bool devices = needs_devices(m, lanes, count), is_device = !devices && are_device(m, lanes, count);
    if (process && !parent_of(&parent, m, process, order)) return false;
    first = m->count + 1;
    if (process) {
        view_track *section = new_section(m, process, parent, order);
        if (!section) return false;
        const hd_track *own = hd_trace_track_at(m->scene->trace, process->source);
        section->role = is_device ? "device" : "process";
        for (uint32_t i = 0; i < count && is_device && section->device == HD_NO_NUMBER; i++)
            section->device = lanes[i]->device;
        const scene_process_name name = {.name = process->name,
                                         .labels = process->labels,
                                         .pid = own->pid,
                                         .is_device = is_device,
                                         .tell_rank = m->has_ranks,
                                         .tell_pid = process->shares_name};
        if (!scene_name_process(section, m->scene->trace, &name)) return false;
        parent = section->id;
        m->scene->section_of[process->source] = parent;
        if (!add_lane(m, process, parent, VIEW_ORDER_THREADS)) return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t below = parent;
        int64_t at = VIEW_ORDER_THREADS + 4 * ((int64_t)i + 1);
        if (devices && lanes[i]->kind == HD_TRACK_STREAM && lanes[i]->device != HD_NO_NUMBER &&
            !device_section(&below, m, lanes[i], first, parent, at))
            return false;
        m->scene->section_of[lanes[i]->source] = below;
        if (!add_lane(m, lanes[i], below, at)) return false;
    }
    return true;
}

/* ---- all of them ---- */

static int by_process(const void *a, const void *b)
{
    const source_track *x = *(const source_track *const *)a, *y = *(const source_track *const *)b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    return by_shown_order(a, b);
}

static uint32_t find_lanes(source_track *const *lanes, uint32_t count, uint32_t process)
{
    uint32_t low = 0;
    HD_PARTITION_POINT(low, count, at, lanes[at]->process < process);
    return low;
}

static bool add_all(track_maker *m, source_track **processes, uint32_t process_count, source_track **lanes,
                    uint32_t lane_count)
{
    for (uint32_t i = 0; i <= process_count; i++) { /* at last those of no process */
        uint32_t source = i < process_count ? processes[i]->source : HD_NONE;
        uint32_t first = find_lanes(lanes, lane_count, source), count = 0;
        while (first + count < lane_count && lanes[first + count]->process == source) count++;
        if (i == process_count && count == 0) break;
        if (!add_process(m, i < process_count ? processes[i] : NULL, lanes + first, count, 4 * ((int64_t)i + 1)))
            return false;
    }
    return true;
}

/* Events on no track of the trace. */
static bool add_trackless(track_maker *m)
{
    const hd_trace *trace = m->scene->trace;
    for (int k = 0; k < LANE_KINDS; k++) {
        uint64_t count = hd_trace_row_count(trace, lane_kinds[k]);
        for (uint32_t i = 0; i < m->scene->source_count; i++) count -= hd_trace_track_at(trace, i)->rows[lane_kinds[k]];
        if (count == 0) continue;
        view_track *track = scene_new_track(m->scene, m->count);
        if (!track) return false;
        m->count++;
        track->kind = VIEW_SLICES;
        track->role = k ? lane_roles[k] : "thread";
        track->events = lane_kinds[k];
        track->event_count = count;
        track->order = INT64_MAX - LANE_KINDS + k;
        track->name = strdup("no track");
        if (!track->name) return false;
        track->name_size = strlen(track->name);
        m->scene->lane_tracks[lane_kinds[k]][m->scene->source_count] = track->id;
    }
    return true;
}

static bool make_maps(view_scene *scene)
{
    size_t count = (size_t)scene->source_count + 1;
    scene->section_of = malloc(count * sizeof *scene->section_of);
    if (!scene->section_of) return false;
    for (size_t i = 0; i < count; i++) scene->section_of[i] = HD_NONE;
    for (int k = 0; k < LANE_KINDS; k++) {
        uint32_t *map = scene->lane_tracks[lane_kinds[k]] = malloc(count * sizeof *map);
        if (!map) return false;
        for (size_t i = 0; i < count; i++) map[i] = HD_NONE;
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const source_track *x = *(const source_track *const *)a, *y = *(const source_track *const *)b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->labels != y->labels) return x->labels < y->labels ? -1 : 1;
    return 0;
}

/* Finds which facts the names of processes need. Leaves the list in another order. */
static void compare_processes(track_maker *m, source_track **processes, uint32_t count)
{
    hd_sort(processes, count, sizeof *processes, by_name);
    for (uint32_t i = 0; i < count; i++) {
        m->has_ranks |= processes[i]->rank != processes[0]->rank;
        m->has_more |= !processes[i]->is_aside;
        if (i == 0 || by_name(&processes[i - 1], &processes[i]) != 0) continue;
        processes[i - 1]->shares_name = processes[i]->shares_name = true;
    }
}

hd_status scene_make_tracks(view_scene *scene, hd_error *err)
{
    size_t count = (size_t)scene->source_count + 1;
    track_maker m = {.scene = scene, .sources = malloc(count * sizeof *m.sources), .other = HD_NONE};
    source_track **lists = malloc(2 * count * sizeof *lists), **lanes = lists + count;
    uint32_t process_count = 0, lane_count = 0;
    bool fine = m.sources && lists && make_maps(scene);
    if (fine) {
        read_sources(&m);
        for (uint32_t i = 0; i < scene->source_count; i++) {
            source_track *s = &m.sources[i];
            if (hd_trace_track_at(scene->trace, i)->same_as != i || !s->has_events) continue;
            if (s->kind == HD_TRACK_PROCESS)
                lists[process_count++] = s;
            else
                lanes[lane_count++] = s;
        }
        compare_processes(&m, lists, process_count);
        hd_sort(lists, process_count, sizeof *lists, by_shown_order);
        hd_sort(lanes, lane_count, sizeof *lanes, by_process);
        fine = add_all(&m, lists, process_count, lanes, lane_count) && add_trackless(&m);
        scene_publish(scene, m.count);
    }
    free(m.sources);
    free(lists);
    return fine ? HD_OK : HD_NOMEM(err);
}

uint32_t scene_section_of(const view_scene *scene, uint32_t source)
{
    if (source >= scene->source_count) return HD_NONE;
    const hd_track *track = hd_trace_track_at(scene->trace, source);
    uint32_t process = track->kind == HD_TRACK_PROCESS ? source : track->parent;
    return process < scene->source_count ? scene->section_of[scene_leader(scene->trace, process)] : HD_NONE;
}
