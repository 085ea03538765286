/* memory.c - live bytes of devices and hosts, from the profiler's memory instants
 *
 * Kineto writes an instant "[memory]" for each allocation and each free, with Device Type and Device Id, Bytes
 * (negative when freed) and, in newer versions, Total Allocated and Total Reserved of the allocator after it. Without
 * totals, the sum of Bytes since the start of the recording is shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"
#include "trace/lazy.h"
#include "trace/ranks.h"
#include "trace/spill.h"
#include "view/derive/derive.h"

typedef struct memory_point {
    int64_t time_ns;
    int64_t type, device; /* as c10 numbers them: 0 is the CPU; HD_NO_NUMBER: not said */
    int64_t bytes, allocated, reserved;
    uint32_t process, row, track;
    bool has_totals;
} memory_point;

typedef struct memory_keys {
    uint32_t name; /* string ids, HD_NONE: the trace has none */
    uint32_t type, device, bytes, allocated, reserved;
} memory_keys;

typedef struct memory_points {
    memory_point *list;
    size_t count, capacity;
} memory_points;

/* ---- gathered ---- */

static uint32_t key_of(const hd_trace *trace, const char *text)
{
    return hd_trace_find_string(trace, text, strlen(text));
}

static bool find_keys(memory_keys *out, const hd_trace *trace)
{
    *out = (memory_keys){.name = key_of(trace, "[memory]"),
                         .type = key_of(trace, "Device Type"),
                         .device = key_of(trace, "Device Id"),
                         .bytes = key_of(trace, "Bytes"),
                         .allocated = key_of(trace, "Total Allocated"),
                         .reserved = key_of(trace, "Total Reserved")};
    return out->name != HD_NONE && out->bytes != HD_NONE;
}

static int64_t number_of(const hd_trace *trace, const hd_event *event, uint32_t key)
{
    int64_t value;
    return hd_event_arg_int(&value, trace, event, key) ? value : HD_NO_NUMBER;
}

static bool add_point(memory_points *points, const hd_trace *trace, const memory_keys *keys, const hd_block *block,
                      uint32_t row)
{
    hd_event event;
    hd_block_event(&event, block, row);
    int64_t bytes = number_of(trace, &event, keys->bytes);
    if (event.start_ns == HD_NO_TIME || bytes == HD_NO_NUMBER || event.track >= hd_trace_track_count(trace))
        return true;
    if (!hd_large_grow((void **)&points->list, &points->capacity, points->count, sizeof *points->list,
                       hd_trace_large_bytes(trace)))
        return false;
    const hd_track *track = hd_trace_track_at(trace, event.track);
    uint32_t process = track->parent == HD_NONE ? event.track : track->parent;
    memory_point *point = &points->list[points->count++];
    *point = (memory_point){.time_ns = event.start_ns,
                            .type = number_of(trace, &event, keys->type),
                            .device = number_of(trace, &event, keys->device),
                            .bytes = bytes,
                            .allocated = number_of(trace, &event, keys->allocated),
                            .reserved = number_of(trace, &event, keys->reserved),
                            .process = hd_trace_track_at(trace, process)->same_as,
                            .row = (uint32_t)event.row,
                            .track = event.track};
    point->has_totals = point->allocated != HD_NO_NUMBER;
    return true;
}

static int by_pool(const memory_point *x, const memory_point *y)
{
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->type != y->type) return x->type < y->type ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

static int by_time(const void *a, const void *b)
{
    const memory_point *x = a, *y = b;
    int pool = by_pool(x, y);
    if (pool) return pool;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static hd_status find_points(memory_points *points, const hd_trace *trace, const atomic_bool *stop, hd_error *err)
{
    memory_keys keys;
    bool fine = true;
    if (!find_keys(&keys, trace)) return HD_OK;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_INSTANT) && fine && !atomic_load(stop); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_INSTANT, b);
        for (uint32_t i = 0; i < block->row_count && fine; i++) {
            if ((uint32_t)hd_column_at(&block->columns[HD_COL_NAME], i) == keys.name)
                fine = add_point(points, trace, &keys, block, i);
        }
        hd_trace_release(trace, block);
    }
    if (points->count) hd_sort(points->list, points->count, sizeof *points->list, by_time);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- where it belongs ---- */

/* The section of the memory's device, of the same rank; else that of the process. */
static hd_status section_of(uint32_t *out, view_scene *scene, const view_devices *devices, const memory_point *point,
                            hd_error *err)
{
    const hd_trace *trace = view_scene_trace(scene);
    int64_t rank = hd_trace_rank_of(trace, point->track);
    for (size_t i = 0; point->type > 0 && i < devices->count; i++) {
        const view_device *device = &devices->list[i];
        if (device->device != point->device) continue;
        if (rank == device->rank || rank == HD_NO_NUMBER || device->rank == HD_NO_NUMBER)
            return view_device_section(out, scene, device, err);
    }
    uint32_t track = view_scene_track_of(scene, point->track, HD_KIND_INSTANT);
    *out = track == HD_NONE ? HD_NONE : view_scene_track(scene, track)->parent;
    return HD_OK;
}

/* ---- series ---- */

static bool make_series(view_series *out, view_scene *scene, const char *name, size_t count)
{
    out->name = view_scene_name(scene, name, strlen(name));
    out->unit = "bytes";
    out->count = count;
    out->times_ns = malloc(count * sizeof *out->times_ns);
    out->values = malloc(count * sizeof *out->values);
    return out->name != HD_NONE && out->times_ns && out->values;
}

static void put(view_series *series, size_t at, int64_t time_ns, double value)
{
    series->times_ns[at] = time_ns;
    series->values[at] = value;
    if (at == 0 || value < series->min) series->min = value;
    if (at == 0 || value > series->max) series->max = value;
}

/* Uses totals if all instants have meaningful ones (those of a CPU are often all 0). */
static bool has_totals(const memory_point *points, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!points[i].has_totals) return false;
        any = any || points[i].allocated || points[i].reserved > 0;
    }
    return any;
}

static bool fill_series(view_track *track, view_scene *scene, const memory_point *points, size_t count, bool totals)
{
    int64_t live = 0;
    track->series = calloc(2, sizeof *track->series);
    if (!track->series) return false;
    track->series_count = totals && points[0].reserved != HD_NO_NUMBER ? 2 : 1;
    if (!make_series(&track->series[0], scene, totals ? "allocated" : "change", count)) return false;
    if (track->series_count == 2 && !make_series(&track->series[1], scene, "reserved", count)) return false;
    for (size_t i = 0; i < count; i++) {
        const memory_point *point = &points[i];
        if (__builtin_add_overflow(live, point->bytes, &live)) live = point->bytes < 0 ? INT64_MIN : INT64_MAX;
        put(&track->series[0], i, point->time_ns, (double)(totals ? point->allocated : live));
        if (track->series_count == 2)
            put(&track->series[1], i, point->time_ns, point->reserved == HD_NO_NUMBER ? 0 : (double)point->reserved);
    }
    return true;
}

static bool describe(view_track *out, const memory_point *point, bool totals)
{
    static const char total_detail[] = "Bytes that the framework's allocator has handed out, and those that it holds, "
                                       "after each allocation and each free ([memory] instants).";
    static const char sum_detail[] = "Bytes allocated less bytes freed since the recording began, after each "
                                     "allocation and each free ([memory] instants); what was allocated before is not "
                                     "known.";
    char name[80] = "Memory";
    if (point->type == 0)
        snprintf(name, sizeof name, "Memory of the CPU");
    else if (point->device != HD_NO_NUMBER)
        snprintf(name, sizeof name, "Memory of device %lld", (long long)point->device);
    if (!view_derived_track(out, VIEW_COUNTER, "memory", name, totals ? total_detail : sum_detail, VIEW_PLACE_MEMORY))
        return false;
    if (point->type > 0) out->device = point->device;
    return true;
}

static hd_status add_pool(view_scene *scene, const view_devices *devices, const memory_point *points, size_t count,
                          hd_error *err)
{
    view_track track;
    uint32_t section;
    bool totals = has_totals(points, count);
    HD_TRY(section_of(&section, scene, devices, &points[0], err));
    if (!describe(&track, &points[0], totals)) return HD_NOMEM(err);
    track.parent = section;
    track.rank = hd_trace_rank_of(view_scene_trace(scene), points[0].track);
    track.event_count = count;
    track.start_ns = points[0].time_ns;
    track.end_ns = points[count - 1].time_ns;
    if (fill_series(&track, scene, points, count, totals)) return view_scene_add(scene, &track, 1, err);
    view_track_deinit(&track);
    return HD_NOMEM(err);
}

hd_status view_derive_memory(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    memory_points points = {0};
    HD_TRY(view_devices_find(&devices, scene, err));
    hd_status status = find_points(&points, view_scene_trace(scene), stop, err);
    for (size_t i = 0, next; i < points.count && status == HD_OK && !atomic_load(stop); i = next) {
        for (next = i + 1; next < points.count && by_pool(&points.list[i], &points.list[next]) == 0;) next++;
        status = add_pool(scene, &devices, points.list + i, next - i, err);
    }
    hd_large_free(points.list);
    view_devices_deinit(&devices);
    return status;
}
