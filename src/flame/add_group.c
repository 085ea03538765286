/* add_group.c - groups weights by rank, device, stream, thread, step or the user's group
 *
 * Ranks    of the track, its process, its name ("rank 3: …"), the trace; else the index of the trace among those added
 * Devices  of the GPU queue's track, else the activity's argument "device"; streams likewise. Stream numbers are unique
 *          only within a device, so if the trace has several devices both are named
 * Steps    slices "ProfilerStep#…" of the launching thread that contain the time of the launch, else those of any
 *          thread of its rank
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory/vector.h"
#include "base/sorted.h"
#include "flame/add.h"
#include "heddle/analysis/launches.h"
#include "model/class/class.h"
#include "model/identity/process.h"
#include "model/roles/trace_roles.h"
#include "trace/event.h"
#include "trace/ranks.h"
#include "trace/text.h"

/* ---- of tracks ---- */

static int64_t rank_of(const flame_adder *a, uint32_t track)
{
    int64_t rank = track == HD_NONE ? HD_NO_NUMBER : hd_trace_rank_of(a->trace, track);
    if (rank == HD_NO_NUMBER) rank = hd_trace_facts_of(a->trace)->rank;
    return rank != HD_NO_NUMBER ? rank : (int64_t)a->flame->traces;
}

/* The device or stream number of a GPU queue, from its track or from the activity's arguments. */
static int64_t number_of(const flame_adder *a, const flame_place *place, bool stream)
{
    int64_t number = HD_NO_NUMBER;
    if (place->gpu_row == UINT64_MAX || place->track == HD_NONE) return number;
    const hd_track *track = hd_trace_track_at(a->trace, place->track);
    if (track->kind == HD_TRACK_STREAM || track->stream != HD_NO_NUMBER)
        number = stream ? track->stream : track->device;
    if (number == HD_NO_NUMBER && !stream) number = hd_process_track(a->trace, track)->device;
    uint32_t key = stream ? a->stream_key : a->device_key;
    if (number != HD_NO_NUMBER || key == HD_NONE) return number;
    hd_event event = hd_event_at(a->trace, HD_KIND_SLICE, place->gpu_row);
    return hd_event_arg_int(&number, a->trace, &event, key) ? number : HD_NO_NUMBER;
}

static void note_devices(flame_adder *a)
{
    int64_t first = HD_NO_NUMBER;
    for (uint32_t i = 0; i < hd_trace_track_count(a->trace); i++) {
        const hd_track *track = hd_trace_track_at(a->trace, i);
        if (track->device == HD_NO_NUMBER || track->stream == HD_NO_NUMBER || !track->rows[HD_KIND_SLICE]) continue;
        if (first == HD_NO_NUMBER) first = track->device;
        a->many_devices |= track->device != first;
    }
}

/* ---- steps ---- */

/* Of steps that begin together the longer comes first, since it encloses the others. */
static int by_end_and_name(const flame_step *x, const flame_step *y)
{
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

static int by_track(const void *a, const void *b)
{
    const flame_step *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return by_end_and_name(x, y);
}

static int by_rank(const void *a, const void *b)
{
    const flame_step *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    return by_end_and_name(x, y);
}

static hd_status note_step(flame_adder *a, const hd_block *block, uint32_t row)
{
    hd_event event;
    hd_block_event(&event, block, row);
    hd_role role = hd_role_of(hd_trace_string(a->trace, event.category), hd_trace_string(a->trace, event.name));
    bool timed = event.start_ns != HD_NO_TIME && event.duration_ns >= 0;
    if (!hd_marks_step(role, hd_trace_string(a->trace, event.name)) || !timed || event.track == HD_NONE) return HD_OK;
    int64_t end = hd_end_or_last(event.start_ns, event.duration_ns);
    if (!hd_grow((void **)&a->steps.by_track, &a->steps.capacity, a->steps.count, sizeof *a->steps.by_track))
        return HD_NOMEM(a->err);
    uint32_t track = hd_trace_track_at(a->trace, event.track)->same_as;
    a->steps.by_track[a->steps.count++] = (flame_step){track, rank_of(a, event.track), event.start_ns, end, event.name};
    return HD_OK;
}

static hd_status find_steps(flame_adder *a)
{
    uint32_t strings = hd_trace_string_count(a->trace) + 1;
    uint8_t *wanted = calloc(strings, 1);
    hd_status status = wanted ? HD_OK : HD_NOMEM(a->err);
    for (uint32_t i = 0; wanted && i < strings; i++) wanted[i] = hd_is_profiler_step(hd_trace_string(a->trace, i));
    for (size_t b = 0; b < hd_trace_block_count(a->trace, HD_KIND_SLICE) && status == HD_OK; b++) {
        const hd_block *block = hd_trace_block_at(a->trace, HD_KIND_SLICE, b);
        for (uint32_t i = 0; i < block->row_count && status == HD_OK; i++) {
            uint32_t name = (uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i);
            if (name < strings && wanted[name]) status = note_step(a, block, i);
        }
    }
    free(wanted);
    if (status != HD_OK || a->steps.count == 0) return status;
    a->steps.by_rank = malloc(a->steps.count * sizeof *a->steps.by_rank);
    if (!a->steps.by_rank) return HD_NOMEM(a->err);
    memcpy(a->steps.by_rank, a->steps.by_track, a->steps.count * sizeof *a->steps.by_rank);
    hd_sort(a->steps.by_track, a->steps.count, sizeof *a->steps.by_track, by_track);
    hd_sort(a->steps.by_rank, a->steps.count, sizeof *a->steps.by_rank, by_rank);
    return HD_OK;
}

/* The last step that starts at or before `wanted`, if it contains that time. Steps of a thread do not overlap. */
static const flame_step *step_at(const flame_step *list, size_t count, const flame_step *wanted,
                                 int (*compare)(const void *, const void *))
{
    size_t low = 0, high = count;
    HD_PARTITION_POINT(low, high, at, compare(&list[at], wanted) <= 0);
    const flame_step *step = low ? &list[low - 1] : NULL;
    bool same = step && (compare == by_track ? step->track == wanted->track : step->rank == wanted->rank);
    return same && wanted->start_ns < step->end_ns ? step : NULL;
}

static uint32_t step_of(const flame_adder *a, const flame_place *place)
{
    if (place->time_ns == HD_NO_TIME || a->steps.count == 0) return HD_STRING_NONE;
    uint32_t any = place->thread == HD_NONE ? place->track : place->thread;
    flame_step wanted = {UINT32_MAX, rank_of(a, any), place->time_ns, INT64_MIN, UINT32_MAX}; /* after all steps */
    const flame_step *step = NULL;
    if (place->thread != HD_NONE) {
        flame_step own = wanted;
        own.track = hd_trace_track_at(a->trace, place->thread)->same_as;
        step = step_at(a->steps.by_track, a->steps.count, &own, by_track);
    }
    if (!step) step = step_at(a->steps.by_rank, a->steps.count, &wanted, by_rank);
    return step ? step->name : HD_STRING_NONE;
}

/* ---- names of groups ---- */

static hd_status group_node(uint32_t *out, flame_adder *a, const char *text, size_t size)
{
    hd_stacks *stacks = a->flame->stacks;
    *out = hd_stacks_push(stacks, HD_STACK_NONE, hd_stacks_name(stacks, text, size), HD_FRAME_GROUP);
    return *out == HD_NONE ? HD_NOMEM(a->err) : flame_make_room(a->flame, a->err);
}

/* "thread 7 (main)"; Kineto's names say "thread 7 (python)" themselves. */
static hd_status thread_node(uint32_t *out, flame_adder *a, uint32_t thread)
{
    if (thread == HD_NONE) return group_node(out, a, "[no thread]", 11);
    const hd_track *track = hd_trace_track_at(a->trace, thread);
    hd_string tid = hd_trace_string(a->trace, track->tid.text), name = hd_trace_string(a->trace, track->name);
    if (hd_string_begins(name, "thread ")) return group_node(out, a, name.data, name.size);
    char *text = malloc(tid.size + name.size + 16);
    if (!text) return HD_NOMEM(a->err);
    size_t size = 0;
#define PUT(data, bytes) (memcpy(text + size, (data), (bytes)), size += (bytes))
    PUT("thread ", 7);
    if (tid.size) PUT(tid.data, tid.size);
    if (name.size) {
        PUT(" (", 2);
        PUT(name.data, name.size);
        PUT(")", 1);
    }
#undef PUT
    hd_status status = group_node(out, a, text, size);
    free(text);
    return status;
}

static hd_status number_node(uint32_t *out, flame_adder *a, const char *what, int64_t number)
{
    char text[64];
    int size = number == HD_NO_NUMBER ? snprintf(text, sizeof text, "[no %s]", what)
                                      : snprintf(text, sizeof text, "%s %" PRId64, what, number);
    return group_node(out, a, text, (size_t)size);
}

static hd_status stream_node(uint32_t *out, flame_adder *a, const flame_place *place)
{
    char text[80];
    int64_t stream = number_of(a, place, true), device = a->many_devices ? number_of(a, place, false) : HD_NO_NUMBER;
    if (stream == HD_NO_NUMBER || device == HD_NO_NUMBER) return number_node(out, a, "stream", stream);
    int size = snprintf(text, sizeof text, "device %" PRId64 " stream %" PRId64, device, stream);
    return group_node(out, a, text, (size_t)size);
}

static hd_status step_node(uint32_t *out, flame_adder *a, const flame_place *place)
{
    uint32_t step = step_of(a, place);
    hd_string name = hd_trace_string(a->trace, step);
    return step == HD_STRING_NONE ? group_node(out, a, "[no step]", 9) : group_node(out, a, name.data, name.size);
}

/* "model/attention"; each name is looked up once. */
static hd_status own_group_node(uint32_t *out, flame_adder *a, const flame_place *place)
{
    static const char none[] = "[no group]";
    if (place->gpu_row == UINT64_MAX) return group_node(out, a, none, sizeof none - 1);
    uint32_t name = hd_event_at(a->trace, HD_KIND_SLICE, place->gpu_row).name;
    const char *group = a->group_of[name] ? none : gpu_group_path(gpu_group_of_kernel(hd_trace_string(a->trace, name)));
    if (!group) group = none;
    if (!a->group_of[name]) HD_TRY(group_node(&a->group_of[name], a, group, strlen(group)));
    *out = a->group_of[name];
    return HD_OK;
}

static hd_status make_group(uint32_t *out, flame_adder *a, const flame_place *place)
{
    switch (a->options->by) {
    case HD_FLAME_BY_RANK: return number_node(out, a, "rank", rank_of(a, place->track));
    case HD_FLAME_BY_DEVICE: return number_node(out, a, "device", number_of(a, place, false));
    case HD_FLAME_BY_STREAM: return stream_node(out, a, place);
    case HD_FLAME_BY_THREAD: return thread_node(out, a, place->thread);
    case HD_FLAME_BY_STEP: return step_node(out, a, place);
    case HD_FLAME_BY_GROUP: return own_group_node(out, a, place);
    default: *out = 0; return HD_OK;
    }
}

/* ---- groups ---- */

hd_status flame_groups_init(flame_adder *adder)
{
    adder->device_key = hd_trace_find_string(adder->trace, "device", 6);
    adder->stream_key = hd_trace_find_string(adder->trace, "stream", 6);
    bool by_name = adder->options->by == HD_FLAME_BY_GROUP;
    size_t count = by_name ? hd_trace_string_count(adder->trace) : hd_trace_track_count(adder->trace);
    adder->group_of = calloc(count + 1, sizeof *adder->group_of);
    if (!adder->group_of) return HD_NOMEM(adder->err);
    if (adder->options->by == HD_FLAME_BY_STREAM) note_devices(adder);
    return adder->options->by == HD_FLAME_BY_STEP ? find_steps(adder) : HD_OK;
}

void flame_groups_deinit(flame_adder *adder)
{
    free(adder->group_of);
    free(adder->steps.by_track);
    free(adder->steps.by_rank);
}

/* The track that alone determines the group; HD_NONE: none. */
static uint32_t telling_track(const flame_adder *a, const flame_place *place)
{
    const hd_track *track = place->track == HD_NONE ? NULL : hd_trace_track_at(a->trace, place->track);
    switch (a->options->by) {
    case HD_FLAME_BY_RANK: return place->track;
    case HD_FLAME_BY_DEVICE: return track && track->device != HD_NO_NUMBER ? place->track : HD_NONE;
    case HD_FLAME_BY_STREAM: return track && track->stream != HD_NO_NUMBER ? place->track : HD_NONE;
    case HD_FLAME_BY_THREAD:
        return place->thread == HD_NONE ? HD_NONE : hd_trace_track_at(a->trace, place->thread)->same_as;
    default: return HD_NONE;
    }
}

hd_status flame_group_of(uint32_t *out, flame_adder *adder, const flame_place *place)
{
    *out = 0;
    if (adder->options->by == HD_FLAME_BY_NOTHING || adder->options->by == HD_FLAME_BY_NAME) return HD_OK;
    uint32_t track = telling_track(adder, place);
    bool cpu = place->gpu_row == UINT64_MAX; /* such a place has no device, whatever its track says */
    if (track == HD_NONE || (cpu && adder->options->by != HD_FLAME_BY_RANK && adder->options->by != HD_FLAME_BY_THREAD))
        return make_group(out, adder, place);
    if (adder->group_of[track] == 0) HD_TRY(make_group(&adder->group_of[track], adder, place));
    *out = adder->group_of[track];
    return HD_OK;
}
