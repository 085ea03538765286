/* devices.c - the devices: those that the metadata describes, and those that events ran on */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/identity/device.h"
#include "model/identity/process.h"
#include "report/info/info.h"
#include "report/properties.h"
#include "report/report.h"

/* The device of an id, or without one of a process, made if need be; NULL: no memory. */
static info_device *device_of(info_tracks *tracks, int64_t id, uint32_t process)
{
    if (id != HD_NO_NUMBER) process = HD_NONE;
    for (size_t i = 0; i < tracks->device_count; i++) {
        if (tracks->devices[i].id == id && tracks->devices[i].process == process) return &tracks->devices[i];
    }
    if (!hd_grow((void **)&tracks->devices, &tracks->device_capacity, tracks->device_count, sizeof *tracks->devices))
        return NULL;
    info_device *device = &tracks->devices[tracks->device_count++];
    *device = (info_device){.id = id,
                            .kind = hd_device_kinds(tracks->trace), /* where no track is of it */
                            .process = process,
                            .memory_bytes = HD_NO_NUMBER,
                            .major = HD_NO_NUMBER,
                            .minor = HD_NO_NUMBER,
                            .multiprocessors = HD_NO_NUMBER};
    return device;
}

/* ---- metadata ---- */

static bool add_described(void *user, report_properties *p)
{
    info_device *device = p->rank == HD_NO_NUMBER ? device_of(user, p->id, HD_NONE) : NULL;
    if (!device) return p->rank != HD_NO_NUMBER;
    free(device->name);
    device->name = p->name;
    p->name = NULL;
    device->memory_bytes = p->memory_bytes;
    device->major = p->major;
    device->minor = p->minor;
    device->multiprocessors = p->multiprocessors;
    return true;
}

/* ---- events ---- */

static bool read_lanes(info_tracks *tracks)
{
    enum { DEVICE_LIMIT = 1024 };
    for (size_t i = 0; i < tracks->lane_count && tracks->device_count < DEVICE_LIMIT; i++) {
        const hd_track *track = hd_trace_track_at(tracks->trace, tracks->lanes[i].track);
        bool is_queue = track->kind == HD_TRACK_STREAM || tracks->lanes[i].sort == HD_ROW_QUEUE;
        if (!is_queue || (track->device == HD_NO_NUMBER && tracks->lanes[i].busy_ns <= 0)) continue;
        info_device *device = device_of(tracks, track->device, hd_process_of(tracks->trace, track->id));
        if (!device) return false;
        device->kind = hd_device_kind(tracks->trace, track->id);
        device->streams++;
        device->slices += tracks->lanes[i].rows[HD_KIND_SLICE];
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const info_device *x = a, *y = b;
    bool known = x->process == HD_NONE, other_known = y->process == HD_NONE;
    if (known != other_known) return known ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

hd_status info_find_devices(info_tracks *tracks, hd_error *err)
{
    if (!report_properties_read(tracks->trace, add_described, tracks) || !read_lanes(tracks)) return HD_NOMEM(err);
    if (tracks->device_count) hd_sort(tracks->devices, tracks->device_count, sizeof *tracks->devices, by_id);
    return HD_OK;
}

hd_status info_add_devices(hd_report *out, const info_tracks *tracks, hd_error *err)
{
    hd_table_builder *builder;
    HD_TRY(report_builder(&builder, &report_info_about, "devices", err));
    for (size_t i = 0; i < tracks->device_count; i++) {
        const info_device *device = &tracks->devices[i];
        char process[256];
        report_cell_int(builder, device->id);
        if (device->process != HD_NONE) hd_process_text(process, sizeof process, tracks->trace, device->process);
        hd_table_add_text(builder, device->process == HD_NONE ? NULL : process);
        hd_table_add_text(builder, device->kind);
        hd_table_add_text(builder, device->name);
        if (device->memory_bytes < 0)
            hd_table_add_null(builder);
        else
            hd_table_add_count(builder, (uint64_t)device->memory_bytes);
        report_cell_int(builder, device->major);
        report_cell_int(builder, device->minor);
        report_cell_int(builder, device->multiprocessors);
        hd_table_add_count(builder, device->streams);
        hd_table_add_count(builder, device->slices);
    }
    return report_add(out, builder, err);
}
