/* steps.c - the steps of a run, on the CPU process that drives a device and on the device itself
 *
 * model/steps decides what is a step (hd_marks_step). A device gets the steps of the processes that launched its
 * activities. A second row shows the device's part: the spans that the profiler wrote (gpu_user_annotation), or else
 * from the first to the last activity launched within a step.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/roles/trace_roles.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "view/derive/derive.h"

typedef struct step {
    int64_t start_ns, end_ns;
    uint32_t name, row;
    uint32_t process; /* same_as; of a device's span HD_NONE */
    uint32_t device;  /* index, HD_NONE: on a CPU */
} step;

typedef struct step_list {
    step *list;
    size_t count, capacity;
} step_list;

/* ---- all steps of the trace ---- */

/* A bit for each string that names a step; NULL: none does, or no memory (*out_failed). */
static uint8_t *mark_names(bool *out_failed, const hd_trace *trace)
{
    uint8_t *marks = NULL;
    uint32_t count = hd_trace_string_count(trace);
    *out_failed = false;
    for (uint32_t id = 1; id < count; id++) {
        if (!hd_is_profiler_step(hd_trace_string(trace, id))) continue;
        if (!marks) marks = calloc((size_t)count / 8 + 1, 1);
        if (!marks) {
            *out_failed = true;
            return NULL;
        }
        marks[id / 8] |= (uint8_t)(1 << id % 8);
    }
    return marks;
}

static bool add_step(step_list *steps, const hd_trace *trace, const view_devices *devices, const hd_block *block,
                     uint32_t row)
{
    hd_event event;
    hd_block_event(&event, block, row);
    if (event.start_ns == HD_NO_TIME || event.track >= devices->track_count) return true;
    hd_role role = hd_role_of(hd_trace_string(trace, event.category), hd_trace_string(trace, event.name));
    if (role != HD_ROLE_GPU_ANNOTATION && !hd_marks_step(role, hd_trace_string(trace, event.name))) return true;
    uint32_t device = view_devices_at(devices, event.track);
    if (role != HD_ROLE_GPU_ANNOTATION) device = HD_NONE;
    if (role == HD_ROLE_GPU_ANNOTATION && device == HD_NONE) return true;
    uint32_t process = hd_trace_track_at(trace, event.track)->parent;
    if (process == HD_NONE) process = event.track;
    if (!hd_grow((void **)&steps->list, &steps->capacity, steps->count, sizeof *steps->list)) return false;
    steps->list[steps->count++] = (step){.start_ns = event.start_ns,
                                         .end_ns = hd_end_or_last(event.start_ns, event.duration_ns),
                                         .name = event.name,
                                         .row = (uint32_t)event.row,
                                         .process = hd_trace_track_at(trace, process)->same_as,
                                         .device = device};
    return true;
}

static int by_time(const void *a, const void *b)
{
    const step *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool find_in_block(step_list *steps, const hd_trace *trace, const view_devices *devices, const hd_block *block,
                          const uint8_t *marks, uint32_t name_count)
{
    enum { CHUNK = 1024 };
    int64_t names[CHUNK];
    for (uint32_t first = 0, n; first < block->row_count; first += n) {
        n = block->row_count - first < CHUNK ? block->row_count - first : CHUNK;
        hd_column_decode(names, &block->columns[HD_COL_NAME], first, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t name = (uint32_t)names[i];
            if (name >= name_count || !(marks[name / 8] >> name % 8 & 1)) continue;
            if (!add_step(steps, trace, devices, block, first + i)) return false;
        }
    }
    return true;
}

static hd_status find_steps(step_list *steps, const hd_trace *trace, const view_devices *devices,
                            const atomic_bool *stop, hd_error *err)
{
    bool failed;
    uint8_t *marks = mark_names(&failed, trace);
    if (!marks) return failed ? HD_NOMEM(err) : HD_OK;
    uint32_t name_count = hd_trace_string_count(trace);
    bool fine = true;
    for (size_t b = 0; b < hd_trace_block_count(trace, HD_KIND_SLICE) && fine && !atomic_load(stop); b++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, b);
        fine = find_in_block(steps, trace, devices, block, marks, name_count);
        hd_trace_release(trace, block);
    }
    free(marks);
    if (steps->count) hd_sort(steps->list, steps->count, sizeof *steps->list, by_time);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* ---- those of a device ---- */

/* By track of the trace: 1 for a process that launched activities of the device. false: none did. */
static bool mark_processes(uint8_t *marks, const hd_trace *trace, const hd_launches *launches,
                           const view_devices *devices, const view_device *device)
{
    bool any = false;
    memset(marks, 0, (size_t)devices->track_count + 1);
    for (uint32_t i = device->first; i < device->first + device->count; i++) {
        uint32_t launch = launches->works[devices->works[i]].launch;
        if (launch == HD_NONE || launches->launches[launch].track >= devices->track_count) continue;
        uint32_t track = launches->launches[launch].track, process = hd_trace_track_at(trace, track)->parent;
        marks[hd_trace_track_at(trace, process == HD_NONE ? track : process)->same_as] = 1;
        any = true;
    }
    return any;
}

static bool pick_steps(view_slices *out, const step_list *steps, uint32_t device, const uint8_t *processes)
{
    for (size_t i = 0; i < steps->count; i++) {
        const step *s = &steps->list[i];
        if (processes ? s->device != HD_NONE || !processes[s->process] : s->device != device) continue;
        view_slice slice = {.start_ns = s->start_ns, .end_ns = s->end_ns, .name = s->name, .row = s->row};
        if (!view_slices_add(out, slice)) return false;
    }
    return true;
}

/* Of steps in start order the last that is open at a time; HD_NONE: none. Looks back over a few that ended. */
static size_t step_at(const view_slices *steps, int64_t time_ns)
{
    enum { LOOK_BACK = 16 };
    size_t low = 0, high = steps->count;
    HD_PARTITION_POINT(low, high, at, steps->list[at].start_ns <= time_ns);
    for (size_t i = 0; i < LOOK_BACK && low > 0; i++, low--) {
        if (steps->list[low - 1].end_ns > time_ns) return low - 1;
    }
    return SIZE_MAX;
}

static int slices_by_time(const void *a, const void *b)
{
    const view_slice *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* From the first to the last work that was launched within each step; steps without work are left out. */
static bool project_steps(view_slices *out, const view_slices *steps, const hd_launches *launches,
                          const view_devices *devices, const view_device *device)
{
    for (size_t i = 0; i < steps->count; i++) {
        view_slice none = steps->list[i];
        none.start_ns = INT64_MAX;
        none.end_ns = INT64_MIN;
        if (!view_slices_add(out, none)) return false;
    }
    for (uint32_t i = device->first; i < device->first + device->count; i++) {
        const hd_work *work = &launches->works[devices->works[i]];
        if (work->launch == HD_NONE) continue;
        size_t at = step_at(steps, launches->launches[work->launch].start_ns);
        if (at == SIZE_MAX) continue;
        view_slice *slice = &out->list[at];
        int64_t end = hd_end_or_last(work->start_ns, work->duration_ns);
        if (work->start_ns < slice->start_ns) slice->start_ns = work->start_ns;
        if (end > slice->end_ns) slice->end_ns = end;
    }
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        if (out->list[i].start_ns <= out->list[i].end_ns) out->list[kept++] = out->list[i];
    }
    out->count = kept;
    if (kept) hd_sort(out->list, kept, sizeof *out->list, slices_by_time);
    return true;
}

/* ---- tracks ---- */

typedef struct step_rows {
    view_slices cpu, gpu;
    bool projected; /* gpu: by launches */
} step_rows;

static hd_status add_tracks(view_scene *scene, const view_device *device, step_rows *rows, hd_error *err)
{
    static const char cpu_detail[] = "The steps that the program marked, on the CPU of the processes which launched "
                                     "this device's work.";
    static const char gpu_detail[] = "The steps on the device, as the profiler wrote them (gpu_user_annotation): from "
                                     "the first to the last work of each.";
    static const char projected_detail[] = "The steps on the device: from the first to the last work that was launched "
                                           "within each step.";
    view_track tracks[2];
    view_slices *slices[2] = {&rows->cpu, &rows->gpu};
    const char *names[2] = {"Steps", "Steps on the device"};
    const char *details[2] = {cpu_detail, rows->projected ? projected_detail : gpu_detail};
    uint32_t section;
    size_t count = 0;
    hd_status status = view_device_section(&section, scene, device, err);
    for (int i = 0; i < 2 && status == HD_OK; i++) {
        if (!slices[i]->count) continue;
        if (!view_derived_track(&tracks[count], VIEW_SLICES, "steps", names[i], details[i], VIEW_PLACE_STEPS + i)) {
            status = HD_NOMEM(err);
            break;
        }
        tracks[count].parent = section;
        tracks[count].device = device->device;
        tracks[count].rank = device->rank;
        status = view_derived_rows(&tracks[count++], slices[i], err);
    }
    if (status == HD_OK) return count ? view_scene_add(scene, tracks, count, err) : HD_OK;
    while (count) view_track_deinit(&tracks[--count]);
    return status;
}

static hd_status derive_one(view_scene *scene, const view_devices *devices, uint32_t index, const step_list *steps,
                            hd_error *err)
{
    const view_device *device = &devices->list[index];
    const hd_launches *launches = view_scene_launches(scene);
    step_rows rows = {0};
    uint8_t *processes = malloc((size_t)devices->track_count + 1);
    bool fine = processes != NULL;
    if (fine && mark_processes(processes, view_scene_trace(scene), launches, devices, device))
        fine = pick_steps(&rows.cpu, steps, HD_NONE, processes);
    fine = fine && pick_steps(&rows.gpu, steps, index, NULL);
    if (fine && !rows.gpu.count) {
        rows.projected = true;
        fine = project_steps(&rows.gpu, &rows.cpu, launches, devices, device);
    }
    hd_status status = fine ? add_tracks(scene, device, &rows, err) : HD_NOMEM(err);
    free(processes);
    hd_large_free(rows.cpu.list);
    hd_large_free(rows.gpu.list);
    return status;
}

hd_status view_derive_steps(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    step_list steps = {0};
    HD_TRY(view_devices_find(&devices, scene, err));
    hd_status status = devices.count ? find_steps(&steps, view_scene_trace(scene), &devices, stop, err) : HD_OK;
    for (uint32_t i = 0; i < devices.count && steps.count && status == HD_OK && !atomic_load(stop); i++)
        status = derive_one(scene, &devices, i, &steps, err);
    free(steps.list);
    view_devices_deinit(&devices);
    return status;
}
