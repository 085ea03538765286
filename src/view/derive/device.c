/* device.c - what a device does all the time: compute, communication, copies, nothing; and what is not hidden
 *
 * Compute, communication and copies are the times in which any stream of the device does such work: overlaps count
 * once. Idle is what no work of any sort covers between the first and the last. Exposed is communication while nothing
 * computes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
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
                           "devices, as its name says (NCCL, RCCL, all_reduce and the like). Overlaps count once.",
                           VIEW_PLACE_COMMUNICATION},
    [GPU_COPY] = {"copy", "Copies", "When any stream of the device copies memory. Overlaps count once.",
                  VIEW_PLACE_COPY},
    [EXPOSED] = {"exposed", "Exposed communication",
                 "Communication while nothing computes on the device: the time that it costs.", VIEW_PLACE_EXPOSED},
    [IDLE] = {"idle", "Idle",
              "When no stream of the device does any work, between its first work and its last. Waits that a profiler "
              "shows on a stream are no work.",
              VIEW_PLACE_IDLE},
};

/* The ordinals of spans, which are indices of works, into rows of the slice table. */
static void to_rows(lane_span *spans, uint32_t count, const hd_launches *launches)
{
    for (uint32_t i = 0; i < count; i++) spans[i].ordinal = (uint32_t)launches->works[spans[i].ordinal].row;
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
                              const view_device *device, gpu_classes *classes, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    uint32_t idle_name = view_scene_name(scene, "idle", 4);
    lane_span *spans;
    if (idle_name == HD_NONE) return HD_NOMEM(err);
    HD_TRY(view_device_spans(&spans, launches, devices, device->first, device->count, err));
    uint8_t *sorts = malloc((size_t)device->count + 1);
    for (uint32_t i = 0; sorts && i < device->count; i++)
        sorts[i] = (uint8_t)gpu_class_of(classes, &launches->works[spans[i].ordinal]);
    to_rows(spans, device->count, launches);
    bool fine = sorts && cover_sorts(rows, spans, sorts, device->count, idle_name);
    free(sorts);
    hd_large_free(spans);
    return fine ? HD_OK : HD_NOMEM(err);
}

/* A row for each sort of work that there is; idle always, where it has a length. */
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
                            gpu_classes *classes, hd_error *err)
{
    view_slices rows[ROWS] = {0};
    for (int i = 0; i < ROWS; i++) rows[i].large = devices->large;
    hd_status status = cover_device(rows, scene, devices, device, classes, err);
    if (status == HD_OK) status = add_tracks(scene, device, rows, err);
    for (int i = 0; i < ROWS; i++) hd_large_free(rows[i].list);
    return status;
}

hd_status view_derive_device(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    gpu_classes classes;
    HD_TRY(view_devices_find(&devices, scene, err));
    if (!devices.count) return HD_OK;
    hd_status status = gpu_classes_init(&classes, view_scene_trace(scene)) ? HD_OK : HD_NOMEM(err);
    for (size_t i = 0; i < devices.count && status == HD_OK && !atomic_load(stop); i++)
        status = derive_one(scene, &devices, &devices.list[i], &classes, err);
    gpu_classes_deinit(&classes);
    view_devices_deinit(&devices);
    return status;
}
