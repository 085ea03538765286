/* device.c - how a device spends its time: compute, communication, copies, idle; and exposed communication
 *
 * Compute, communication and copies are the times in which any stream of the device has such an activity: overlaps
 * count once. Idle is time without any activity between the first and the last. Exposed is communication without
 * concurrent compute.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/host/slices.h"
#include "model/host/waits.h"
#include "view/derive/derive.h"

enum { EXPOSED = GPU_CLASSES, IDLE, ROWS };

typedef struct row_about {
    const char *role, *name, *detail;
    int place;
} row_about;

static const row_about abouts[ROWS] = {
    [GPU_COMPUTE] = {"compute", "Compute",
                     "When any stream of the device runs a kernel that computes, or sets memory. Where several do, "
                     "the one that began first is named; overlaps count once.",
                     VIEW_PLACE_COMPUTE},
    [GPU_COMMUNICATION] = {"communication", "Communication",
                           "When any stream of the device runs a kernel of a collective or of a message between "
                           "devices, as its name says (NCCL, RCCL, all_reduce and the like), or a collective of an "
                           "Ascend NPU waits for other ranks. Overlaps count once.",
                           VIEW_PLACE_COMMUNICATION},
    [GPU_COPY] = {"copy", "Copies", "When any stream of the device copies memory. Overlaps count once.",
                  VIEW_PLACE_COPY},
    [EXPOSED] = {"exposed", "Exposed communication",
                 "Communication while nothing computes on the device: the time that it costs.", VIEW_PLACE_EXPOSED},
    [IDLE] =
        {"idle", "Idle",
         "Time between the first and the last activity of the device in which no stream runs one. The name has the "
         "cause, as report idle finds it. Waits that a profiler shows on a stream are no activities, except those "
         "of an Ascend NPU's collectives.",
         VIEW_PLACE_IDLE},
};

/* ---- waits of collectives that are not work: model/host/waits.h ---- */

typedef struct device_waits {
    gpu_scope scope;
    gpu_slices slices;
} device_waits;

static hd_status find_waits(device_waits *out, view_scene *scene, hd_error *err)
{
    static const gpu_options none = {0};
    bool any;
    const hd_report_input input = {.trace = view_scene_trace(scene), .launches = view_scene_launches(scene)};
    HD_TRY(gpu_waits_any(&any, input.trace, input.launches, err));
    if (!any) return HD_OK;
    HD_TRY(gpu_scope_init(&out->scope, &input, &none, 0, err));
    return gpu_waits_slices(&out->slices, &out->scope, err);
}

/* The number of waits of the device; with a list, they are added to it. Their ordinals come after those of the
 * activities. */
static uint32_t list_waits(lane_span *list, const device_waits *waits, const view_devices *devices, uint32_t device)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < waits->scope.row_count; r++) {
        const gpu_row *row = &waits->scope.rows[r];
        if (view_devices_at(devices, row->lane) != device || !gpu_row_waits(&waits->slices, &waits->scope, row))
            continue;
        for (uint32_t i = waits->slices.first[row->lane]; i < waits->slices.first[row->lane + 1]; i++, count++) {
            const gpu_slice *wait = &waits->slices.list[i];
            const gpu_span span = gpu_wait_span(wait, &waits->scope.devices[row->device]);
            if (!list) continue;
            list[count] = (lane_span){.start = span.start,
                                      .end = span.end,
                                      .ordinal = (uint32_t)waits->scope.launches->work_count + i,
                                      .name = wait->name};
        }
    }
    return count;
}

/* The waits of a device, among its works by start. */
static hd_status join_waits(lane_span **spans, uint32_t *count, const device_waits *waits, const view_devices *devices,
                            uint32_t device, hd_error *err)
{
    uint32_t more = list_waits(NULL, waits, devices, device);
    if (!more) return HD_OK;
    if (waits->scope.launches->work_count + waits->slices.count > HD_NONE)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "more than 2^32 activities and waits");
    size_t all = (size_t)*count + more;
    lane_span *both = hd_large_new(all, sizeof *both, devices->large), *scratch = NULL;
    if (both) scratch = hd_large_new(all / 2 + 1, sizeof *scratch, devices->large);
    if (scratch) {
        memcpy(both, *spans, *count * sizeof *both);
        list_waits(both + *count, waits, devices, device);
        lane_sort(both, (uint32_t)all, scratch);
        hd_large_free(*spans);
        *spans = both;
        *count = (uint32_t)all;
    } else {
        hd_large_free(both);
    }
    hd_large_free(scratch);
    return scratch ? HD_OK : HD_NOMEM(err);
}

/* ---- its time ---- */

/* Converts ordinals of spans, which are indices of activities, followed by those of waits, to rows of the slice table;
 * and their kinds. */
static void to_rows(uint8_t *sorts, lane_span *spans, uint32_t count, const hd_launches *launches,
                    const device_waits *waits, gpu_classes *classes)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = spans[i].ordinal;
        bool is_wait = at >= launches->work_count;
        sorts[i] = (uint8_t)(is_wait ? GPU_COMMUNICATION : gpu_class_of(classes, &launches->works[at]));
        spans[i].ordinal =
            is_wait ? waits->slices.list[at - launches->work_count].row : (uint32_t)launches->works[at].row;
    }
}

static bool cover_sorts(view_slices rows[ROWS], const lane_span *spans, const uint8_t *sorts, uint32_t count,
                        uint32_t idle_name)
{
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) end = spans[i].end > end ? spans[i].end : end;
    for (uint8_t sort = 0; sort < GPU_CLASSES; sort++) {
        if (!view_slices_cover(&rows[sort], spans, count, sorts, sort)) return false;
    }
    return view_slices_minus(&rows[EXPOSED], &rows[GPU_COMMUNICATION], &rows[GPU_COMPUTE]) &&
           view_slices_free_time(&rows[IDLE], spans, count, spans[0].start, end, idle_name);
}

static hd_status cover_device(view_slices rows[ROWS], view_scene *scene, const view_devices *devices,
                              const view_device *device, const device_waits *waits, const view_causes *causes,
                              gpu_classes *classes, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    uint32_t count = device->count, idle_name = causes->names[GPU_CAUSE_UNKNOWN];
    lane_span *spans;
    HD_TRY(view_device_spans(&spans, launches, devices, device->first, device->count, err));
    hd_status status = join_waits(&spans, &count, waits, devices, (uint32_t)(device - devices->list), err);
    uint8_t *sorts = malloc((size_t)count + 1);
    if (sorts) to_rows(sorts, spans, count, launches, waits, classes);
    if (status == HD_OK && !(sorts && cover_sorts(rows, spans, sorts, count, idle_name))) status = HD_NOMEM(err);
    if (status == HD_OK) view_causes_name(&rows[IDLE], causes, devices, (uint32_t)(device - devices->list));
    free(sorts);
    hd_large_free(spans);
    return status;
}

/* A track for each kind of activity that occurs; idle always, if it has a length. */
static hd_status add_tracks(view_scene *scene, const view_device *device, view_slices rows[ROWS], hd_error *err)
{
    view_track tracks[ROWS];
    uint32_t section;
    size_t count = 0;
    hd_status status = view_device_section(&section, scene, device, err);
    for (int i = 0; i < ROWS && status == HD_OK; i++) {
        const row_about *about = &abouts[i];
        view_track *track = &tracks[count];
        if (!rows[i].count) continue;
        if (!view_derived_track(track, VIEW_SLICES, about->role, about->name, about->detail, about->place)) {
            status = HD_NOMEM(err);
            break;
        }
        count++;
        track->parent = section;
        track->device = device->device;
        track->rank = device->rank;
        status = view_derived_row(track, &rows[i], err);
    }
    if (status == HD_OK) return count ? view_scene_add(scene, tracks, count, err) : HD_OK;
    while (count) view_track_deinit(&tracks[--count]);
    return status;
}

static hd_status derive_one(view_scene *scene, const view_devices *devices, const view_device *device,
                            const device_waits *waits, const view_causes *causes, gpu_classes *classes, hd_error *err)
{
    view_slices rows[ROWS] = {0};
    for (int i = 0; i < ROWS; i++) rows[i].large = devices->large;
    hd_status status = cover_device(rows, scene, devices, device, waits, causes, classes, err);
    if (status == HD_OK) status = add_tracks(scene, device, rows, err);
    for (int i = 0; i < ROWS; i++) hd_large_free(rows[i].list);
    return status;
}

hd_status view_derive_device(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    gpu_classes classes;
    device_waits waits = {0};
    view_causes causes = {0};
    HD_TRY(view_devices_find(&devices, scene, err));
    if (!devices.count) return HD_OK;
    hd_status status = gpu_classes_init(&classes, view_scene_trace(scene), NULL) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) status = find_waits(&waits, scene, err);
    if (status == HD_OK) status = view_causes_init(&causes, scene, err);
    for (size_t i = 0; i < devices.count && status == HD_OK && !atomic_load(stop); i++)
        status = derive_one(scene, &devices, &devices.list[i], &waits, &causes, &classes, err);
    view_causes_deinit(&causes);
    gpu_slices_deinit(&waits.slices);
    gpu_scope_deinit(&waits.scope);
    gpu_classes_deinit(&classes);
    view_devices_deinit(&devices);
    return status;
}
