/* gather.c - samples and launches as marks: time, thread, kind of launch, the kernel's name
 *
 * The last frame of a stack that is a GPU API call gives the kind of launch; the frame above it gives the kernel:
 * nvcc's __device_stub__Z6kernelPf, or the host function of the kernel's own name, which is a hint only. Both depend on
 * the stack only, so they are computed once per node of the tree, callers first.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "heddle/names.h"
#include "pass/attribution/samples.h"
#include "trace/stacks/trace_stacks.h"
#include "trace/text.h"

enum { SORT_UNSET = 255, SORT_NO_LAUNCH = 254 }; /* an API call that launches nothing */

/* What a stack says. */
typedef struct node_fact {
    uint32_t short_name, full_name;
    uint8_t sort;
    bool hint;
} node_fact;

/* The meaning of a frame's name. */
typedef struct name_fact {
    uint32_t short_name, full_name; /* of the kernel of a stub; of another frame, once it was needed, its own */
    uint8_t sort;
    bool known, stub;
} name_fact;

typedef struct gatherer {
    attribution_join *j;
    hd_trace_stacks *stacks;
    const hd_stacks *tree;
    uint32_t *node_map; /* to nodes of a->stacks */
    node_fact *facts;   /* by node of the CPU side's tree */
    uint32_t *track_places;
    uint8_t *event_sorts; /* by string id of the sample's name */
} gatherer;

/* ---- names ---- */

static hd_string behind(hd_string text, size_t size)
{
    return (hd_string){text.data + size, text.size - size};
}

/* Demanglers differ in their spaces. */
static uint32_t intern_dense(hd_strings *names, char *text, size_t size)
{
    size_t dense = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != ' ') text[dense++] = text[i];
    }
    return dense ? hd_strings_intern(names, text, dense) : HD_STRING_NONE;
}

static bool find_names(attribution_join *j, uint32_t *out_short, uint32_t *out_full, hd_string name)
{
    static const char mark[] = "[GPU_Kernel]";
    char text[HD_NAME_BYTES];
    name = hd_string_begins(name, mark) ? behind(name, sizeof mark - 1) : hd_name_plain(name);
    *out_short = *out_full = HD_STRING_NONE;
    if (name.size == 0) return true;
    *out_short = intern_dense(&j->names, text, hd_name_short(text, name));
    *out_full = intern_dense(&j->names, text, hd_name_demangle(text, name));
    return !j->names.failed;
}

bool attribution_name_mark(attribution_join *j, hd_mark *mark, hd_string name)
{
    return find_names(j, &mark->short_name, &mark->full_name, name);
}

/* A frame's name without "+0x1f" and "@plt". */
static hd_string bare_frame(hd_string name)
{
    for (size_t i = name.size; i-- > 1;) {
        if (name.data[i] == '+' && i + 2 < name.size && name.data[i + 1] == '0' && name.data[i + 2] == 'x') {
            name.size = i;
            break;
        }
        if (!isxdigit((unsigned char)name.data[i]) && name.data[i] != 'x') break;
    }
    if (name.size > 4 && memcmp(name.data + name.size - 4, "@plt", 4) == 0) name.size -= 4;
    return name;
}

/* The kernel's name in "__device_stub__Z6kernelPf", "__device_stub__Z6kernelPf(float*)",
 * "_ZL25__device_stub__Z6kernelPfPf" and HIP's "__device_stub__kernel(float*)"; empty: the frame is not a stub. */
static hd_string stub_kernel(hd_string frame)
{
    static const char word[] = "__device_stub__";
    const size_t size = sizeof word - 1;
    const char *at = frame.size > size ? memmem(frame.data, frame.size, word, size) : NULL;
    if (!at) return (hd_string){"", 0};
    hd_string rest = {at, frame.size - (size_t)(at - frame.data)};
    uint64_t length = 0;
    for (const char *p = frame.data; p < at; p++)
        length = isdigit((unsigned char)*p) ? length * 10 + (uint64_t)(*p - '0') : 0;
    if (hd_string_begins(frame, "_Z") && length > size && length < rest.size) rest.size = length;
    size_t end = size;
    while (end < rest.size && (isalnum((unsigned char)rest.data[end]) || memchr("_$.", rest.data[end], 3))) end++;
    rest.size = end;
    return rest.size > size && rest.data[size] == 'Z' ? behind(rest, size - 1) : behind(rest, size);
}

static bool is_api_call(hd_string frame)
{
    static const char *const families[] = {"cuda", "cu", "hip"};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t size = strlen(families[i]);
        if (hd_string_begins(frame, families[i]) && frame.size > size && isupper((unsigned char)frame.data[size]))
            return true;
    }
    return false;
}

/* ---- stacks ---- */

/* Computed once per name: many nodes of a tree share it. */
static bool find_name_fact(gatherer *g, name_fact *fact, uint32_t name)
{
    hd_string text = bare_frame(hd_stacks_text(g->tree, name)), kernel = stub_kernel(text);
    fact->known = true;
    fact->sort = (uint8_t)hd_launch_sort_of(text);
    fact->stub = kernel.size > 0;
    if (fact->stub) fact->sort = HD_LAUNCH_KERNEL;
    if (fact->sort == HD_LAUNCH_UNKNOWN && is_api_call(text)) fact->sort = SORT_NO_LAUNCH;
    return !fact->stub || find_names(g->j, &fact->short_name, &fact->full_name, kernel);
}

static bool find_fact(gatherer *g, name_fact *names, uint32_t node)
{
    hd_frame frame = hd_stacks_at(g->tree, node);
    node_fact *fact = &g->facts[node];
    name_fact *own = &names[frame.name];
    if (!own->known && !find_name_fact(g, own, frame.name)) return false;
    *fact = g->facts[frame.caller];
    if (own->sort == HD_LAUNCH_UNKNOWN) return true;
    fact->sort = own->sort;
    if (own->stub) {
        *fact = (node_fact){own->short_name, own->full_name, own->sort, false};
        return true;
    }
    if (own->sort != HD_LAUNCH_KERNEL || fact->short_name || frame.caller == HD_STACK_NONE) return true;
    uint32_t caller_name = hd_stacks_at(g->tree, frame.caller).name;
    name_fact *caller = &names[caller_name];
    if (caller->sort != HD_LAUNCH_UNKNOWN) return true;
    if (!caller->short_name &&
        !find_names(g->j, &caller->short_name, &caller->full_name, bare_frame(hd_stacks_text(g->tree, caller_name))))
        return false;
    *fact = (node_fact){caller->short_name, caller->full_name, own->sort, true};
    return true;
}

static hd_status find_facts(gatherer *g, hd_error *err)
{
    uint32_t count = hd_stacks_count(g->tree);
    name_fact *names = calloc((size_t)hd_stacks_name_count(g->tree) + 1, sizeof *names);
    g->facts = hd_large_zeroed(count, sizeof *g->facts, g->j->large);
    bool done = names && g->facts;
    for (uint32_t i = 1; i < count && done; i++) done = find_fact(g, names, i);
    free(names);
    return done ? HD_OK : HD_NOMEM(err);
}

/* Copies all nodes of another tree: (*out_map)[node of `from`] is the node of `to`. Free with hd_large_free. */
static hd_status copy_tree(uint32_t **out_map, hd_stacks *to, const hd_stacks *from, uint64_t large, hd_error *err)
{
    uint32_t count = hd_stacks_count(from), names = hd_stacks_name_count(from);
    uint32_t *map = hd_large_new(count, sizeof *map, large), *name_map = calloc((size_t)names + 1, sizeof *name_map);
    if (map && hd_stacks_stand_upon(to, from)) {
        for (uint32_t i = 0; i < count; i++) map[i] = i;
        free(name_map);
        *out_map = map;
        return HD_OK;
    }
    bool done = map && name_map;
    for (uint32_t i = 1; i < names && done; i++) {
        hd_string text = hd_stacks_text(from, i);
        name_map[i] = hd_stacks_name(to, text.data, text.size);
        done = name_map[i] != HD_NONE;
    }
    if (done) map[0] = HD_STACK_NONE;
    for (uint32_t i = 1; i < count && done; i++) {
        hd_frame frame = hd_stacks_at(from, i);
        map[i] = hd_stacks_push(to, map[frame.caller], name_map[frame.name], frame.kind);
        done = map[i] != HD_NONE;
    }
    free(name_map);
    if (!done) {
        hd_large_free(map);
        return HD_NOMEM(err);
    }
    *out_map = map;
    return HD_OK;
}

/* ---- places ---- */

static uint32_t place_of(attribution_join *j, const hd_trace *trace, uint32_t track)
{
    hd_string pid = {"", 0}, tid = {"", 0};
    if (track < hd_trace_track_count(trace)) {
        const hd_track *t = hd_trace_track_at(trace, track);
        if (t->pid.type != HD_IDENT_NONE) pid = hd_trace_string(trace, t->pid.text);
        if (t->tid.type != HD_IDENT_NONE) tid = hd_trace_string(trace, t->tid.text);
    }
    char *key = malloc(pid.size + tid.size + 1);
    if (!key) return HD_NONE;
    if (pid.size) memcpy(key, pid.data, pid.size);
    key[pid.size] = 0;
    if (tid.size) memcpy(key + pid.size + 1, tid.data, tid.size);
    uint32_t id = hd_strings_intern(&j->keys, key, pid.size + tid.size + 1);
    free(key);
    if (id == HD_STRING_NONE) return HD_NONE;
    if (id <= j->place_count) return id - 1;
    if (!hd_grow((void **)&j->places, &j->place_capacity, j->place_count, sizeof *j->places)) return HD_NONE;
    uint32_t pid_id = pid.size ? hd_strings_intern(&j->pids, pid.data, pid.size) : HD_STRING_NONE;
    uint32_t tid_id = tid.size ? hd_strings_intern(&j->tids, tid.data, tid.size) : HD_STRING_NONE;
    if (j->pids.failed || j->tids.failed) return HD_NONE;
    j->places[j->place_count++] = (attribution_place){.pid = pid_id, .tid = tid_id};
    return id - 1;
}

uint32_t attribution_gpu_place(attribution_join *j, uint32_t track)
{
    uint32_t count = hd_trace_track_count(j->gpu);
    if (!j->gpu_places) {
        j->gpu_places = malloc(((size_t)count + 1) * sizeof *j->gpu_places);
        if (!j->gpu_places) return HD_NONE;
        for (size_t i = 0; i <= count; i++) j->gpu_places[i] = HD_NONE;
    }
    uint32_t at = track < count ? track : count;
    if (j->gpu_places[at] == HD_NONE) j->gpu_places[at] = place_of(j, j->gpu, track);
    return j->gpu_places[at];
}

/* ---- samples ---- */

/* Whether an event is a clock's or a counter's tick and not a probe: "cycles:u", "cpu_core/cycles/", "cpu-clock". */
static bool is_tick(hd_string event)
{
    static const char *const ticks[] = {
        "cycles",
        "instructions",
        "cpu-clock",
        "task-clock",
        "cpu_clk",
        "ref-cycles",
        "bus-cycles",
        "branches",
        "branch-misses",
        "cache-misses",
        "cache-references",
        "page-faults",
        "context-switches",
        "cpu-migrations",
        "minor-faults",
        "major-faults",
        "stalled-cycles",
        "L1-dcache",
        "LLC-",
        "dTLB-",
        "iTLB-",
        "mem-loads",
        "mem-stores",
        "sched:",
        "profile",
    };
    const char *slash = event.size ? memchr(event.data, '/', event.size) : NULL;
    if (slash) event = behind(event, (size_t)(slash - event.data) + 1);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        if (hd_string_begins(event, ticks[i])) return true;
    }
    return false;
}

/* The kind of launch in a sample's event: "probe_libcudart:cudaLaunchKernel". */
static uint8_t sort_of_event(gatherer *g, uint32_t name)
{
    uint8_t *sort = &g->event_sorts[name];
    if (*sort != SORT_UNSET) return *sort;
    hd_string event = hd_trace_string(g->j->cpu, name);
    *sort = is_tick(event) ? SORT_NO_LAUNCH : HD_LAUNCH_UNKNOWN;
    const char *colon = event.size ? memchr(event.data, ':', event.size) : NULL;
    if (*sort == SORT_NO_LAUNCH || !colon) return *sort;
    event = behind(event, (size_t)(colon - event.data) + 1);
    *sort = (uint8_t)hd_launch_sort_of(event);
    if (*sort == HD_LAUNCH_UNKNOWN && is_api_call(event)) *sort = SORT_NO_LAUNCH;
    return *sort;
}

static bool make_room(attribution_join *j, size_t samples)
{
    j->sample_rows = hd_large_new(samples + 1, sizeof *j->sample_rows, j->large);
    j->sample_stacks = hd_large_new(samples + 1, sizeof *j->sample_stacks, j->large);
    j->sample_places = hd_large_new(samples + 1, sizeof *j->sample_places, j->large);
    j->sample_ids = hd_large_new(samples + 1, sizeof *j->sample_ids, j->large);
    j->unsorted = hd_large_new(samples + 1, sizeof *j->unsorted, j->large);
    j->used = hd_large_zeroed(samples + 1, sizeof *j->used, j->large);
    return j->sample_rows && j->sample_stacks && j->sample_places && j->sample_ids && j->unsorted && j->used;
}

static bool add_sample(gatherer *g, const hd_event *event)
{
    attribution_join *j = g->j;
    uint32_t node = hd_trace_stacks_of(g->stacks, event), place = HD_NONE;
    const node_fact *fact = &g->facts[node];
    int64_t id = event->correlation == HD_NO_CORRELATION ? 0 : event->correlation;
    if (node == HD_STACK_NONE) {
        j->a->without_stack++;
    } else {
        j->a->sample_count++;
    }
    uint8_t sort = sort_of_event(g, event->name);
    if (sort != SORT_NO_LAUNCH && fact->sort) sort = fact->sort;
    bool launches = id || (sort != SORT_NO_LAUNCH && (!j->own || sort != HD_LAUNCH_UNKNOWN));
    if (!launches) {
        j->a->not_launches += node != HD_STACK_NONE;
        return true;
    }
    uint32_t track = event->track < hd_trace_track_count(j->cpu) ? event->track : hd_trace_track_count(j->cpu);
    if (g->track_places[track] == HD_NONE) g->track_places[track] = place_of(j, j->cpu, track);
    if ((place = g->track_places[track]) == HD_NONE) return false;
    size_t at = j->sample_count++;
    j->sample_rows[at] = event->row;
    j->sample_stacks[at] = g->node_map[node];
    j->sample_places[at] = place;
    j->sample_ids[at] = id;
    j->has_ids |= id != 0;
    j->unsorted[at] =
        (hd_mark){.time_ns = event->start_ns == HD_NO_TIME ? HD_NO_TIME : hd_mark_shift(event->start_ns, 0),
                  .short_name = fact->short_name,
                  .full_name = fact->full_name,
                  .index = (uint32_t)at,
                  .sort = sort == SORT_NO_LAUNCH ? HD_LAUNCH_UNKNOWN : sort,
                  .hint = fact->hint};
    return true;
}

static hd_status add_samples(gatherer *g, hd_error *err)
{
    const hd_trace *cpu = g->j->cpu;
    if (hd_trace_row_count(cpu, HD_KIND_SAMPLE) >= HD_NONE)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 - 2 stack samples");
    if (!make_room(g->j, hd_trace_row_count(cpu, HD_KIND_SAMPLE))) return HD_NOMEM(err);
    for (size_t b = 0; b < hd_trace_block_count(cpu, HD_KIND_SAMPLE); b++) {
        const hd_block *block = hd_trace_block_at(cpu, HD_KIND_SAMPLE, b);
        for (uint32_t i = 0; i < block->row_count; i++) {
            hd_event event;
            hd_block_event(&event, block, i);
            if (!add_sample(g, &event)) return HD_NOMEM(err);
        }
    }
    return HD_OK;
}

static hd_status gather(gatherer *g, hd_error *err)
{
    const hd_trace *cpu = g->j->cpu;
    size_t tracks = (size_t)hd_trace_track_count(cpu) + 1, strings = (size_t)hd_trace_string_count(cpu) + 1;
    hd_status status = hd_trace_stacks_new(&g->stacks, cpu, err);
    if (status == HD_ERR_DAMAGED && g->j->own) { /* slices may still have stacks */
        g->j->a->without_stack += hd_trace_row_count(cpu, HD_KIND_SAMPLE);
        return HD_OK;
    }
    if (status != HD_OK) return status;
    g->tree = hd_trace_stacks_tree(g->stacks);
    HD_TRY(copy_tree(&g->node_map, g->j->a->stacks, g->tree, g->j->large, err));
    HD_TRY(find_facts(g, err));
    g->track_places = malloc(tracks * sizeof *g->track_places);
    g->event_sorts = malloc(strings);
    if (!g->track_places || !g->event_sorts) return HD_NOMEM(err);
    for (size_t i = 0; i < tracks; i++) g->track_places[i] = HD_NONE;
    memset(g->event_sorts, SORT_UNSET, strings);
    return add_samples(g, err);
}

hd_status attribution_gather_samples(attribution_join *j, hd_error *err)
{
    gatherer g = {.j = j};
    HD_TRY(hd_strings_init(&j->pids, err));
    HD_TRY(hd_strings_init(&j->tids, err));
    HD_TRY(hd_strings_init(&j->names, err));
    HD_TRY(hd_strings_init(&j->keys, err));
    hd_status status = gather(&g, err);
    hd_trace_stacks_free(g.stacks);
    hd_large_free(g.node_map);
    hd_large_free(g.facts);
    free(g.track_places);
    free(g.event_sorts);
    return status;
}
