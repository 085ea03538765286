/* idle.c - names the idle time of devices by its cause, as `heddle report idle` finds it */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/host/syncs.h"
#include "report/gpu/gaps.h"
#include "view/derive/derive.h"

void view_causes_deinit(view_causes *causes)
{
    gpu_gaps_deinit(&causes->gaps);
    gpu_scope_deinit(&causes->scope);
}

hd_status view_causes_init(view_causes *out, view_scene *scene, hd_error *err)
{
    static const gpu_options none = {0};
    const hd_report_input input = {.trace = view_scene_trace(scene), .launches = view_scene_launches(scene)};
    HD_TRY(gpu_scope_init(&out->scope, &input, &none, 0, err));
    HD_TRY(gpu_gaps_init(&out->gaps, &out->scope, err));
    for (int cause = 0; cause < GPU_CAUSES; cause++) {
        char text[32];
        int size = cause == GPU_CAUSE_UNKNOWN ? snprintf(text, sizeof text, "idle")
                                              : snprintf(text, sizeof text, "idle: %s", gpu_cause_names[cause]);
        out->names[cause] = view_scene_name(scene, text, (size_t)size);
        if (out->names[cause] == HD_NONE) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* The device of the scope with the lanes of a device of the view; HD_NONE: none. */
static uint32_t find_device(const view_causes *causes, const view_devices *devices, uint32_t device)
{
    for (uint32_t r = 0; r < causes->scope.row_count; r++) {
        const gpu_row *row = &causes->scope.rows[r];
        if (view_devices_at(devices, row->lane) == device) return row->device;
    }
    return HD_NONE;
}

void view_causes_name(view_slices *idle, const view_causes *causes, const view_devices *devices, uint32_t device)
{
    uint32_t of = find_device(causes, devices, device);
    if (of == HD_NONE) return;
    size_t at = causes->gaps.first[of], end = causes->gaps.first[of + 1];
    for (size_t i = 0; i < idle->count; i++) {
        view_slice *slice = &idle->list[i];
        while (at < end && causes->gaps.list[at].end <= slice->start_ns) at++;
        if (at == end) return;
        const gpu_gap *gap = &causes->gaps.list[at];
        if (gap->start <= slice->start_ns && gap->end >= slice->end_ns) slice->name = causes->names[gap->cause];
    }
}
