/* derive.h - shared by the steps that derive tracks: devices, kinds of GPU activities, intervals
 *
 * Device   the streams of one process of the trace with one device number; derived tracks belong to one
 * Kinds    compute, communication, copy: each GPU activity is of one
 *
 * In: a scene with its rows. Out: derived tracks. Begin with devices.c.
 */
#ifndef HD_VIEW_DERIVE_DERIVE_H
#define HD_VIEW_DERIVE_DERIVE_H

#include "model/class/class.h"
#include "report/gpu/gaps.h"
#include "trace/index/lane_index.h"
#include "view/scene/scene.h"

/* ---- intervals (intervals.c) ---- */

/* Slices that do not overlap, in start order. */
typedef struct view_slices {
    view_slice *list; /* to be freed with hd_large_free */
    size_t count, capacity;
    uint64_t large; /* size in bytes from which on the list is in a file (hd_trace_large_bytes), 0: never */
} view_slices;

/* The time covered by spans (in start order, the longer first; ordinal is the row): at every moment by the running one
 * that began first. With sorts[count] only those of one kind. false: no memory. */
bool view_slices_cover(view_slices *out, const lane_span *spans, size_t count, const uint8_t *sorts, uint8_t sort);
/* The parts of [from_ns, until_ns) that `spans` leave free, under one name. */
bool view_slices_free_time(view_slices *out, const lane_span *spans, size_t count, int64_t from_ns, int64_t until_ns,
                           uint32_t name);
/* The time of `slices` that none of `others` covers. */
bool view_slices_minus(view_slices *out, const view_slices *slices, const view_slices *others);
bool view_slices_add(view_slices *slices, view_slice slice);
int64_t view_slices_busy(const view_slices *slices);

/* ---- devices (devices.c) ---- */

typedef struct view_stream {
    uint32_t track; /* of the trace */
    uint32_t first, count;
} view_stream;

typedef struct view_device {
    uint32_t process; /* track of the trace, same_as; HD_NONE: its streams are in no process */
    int64_t device, rank;
    uint32_t first, count; /* in works */
    uint32_t first_stream, stream_count;
    uint32_t section; /* track of the scene below which its derived tracks come, HD_NONE: none */
    bool alone;       /* the section has no other device */
} view_device;

typedef struct view_devices {
    view_device *list; /* by process, then device */
    size_t count;
    view_stream *streams; /* device by device */
    size_t stream_count, stream_capacity;
    uint32_t *works;    /* indices of activities, stream by stream, by row */
    uint32_t *of_track; /* by track of the trace: index, HD_NONE: not of a device with GPU activities */
    uint32_t track_count;
    uint64_t large; /* as hd_trace_large_bytes */
} view_devices;

/* NULL launches, or none with work: no devices. */
hd_status view_devices_find(view_devices *out, const view_scene *scene, hd_error *err);
void view_devices_deinit(view_devices *devices);
static inline uint32_t view_devices_at(const view_devices *devices, uint32_t track)
{
    return track < devices->track_count ? devices->of_track[track] : HD_NONE;
}

/* ---- why a device is idle (idle.c) ---- */

typedef struct view_causes {
    gpu_scope scope;
    gpu_gaps gaps;
    uint32_t names[GPU_CAUSES]; /* of the scene: "idle: CAUSE"; "idle" for an unknown one */
} view_causes;

/* Deinit in any case. */
hd_status view_causes_init(view_causes *out, view_scene *scene, hd_error *err);
void view_causes_deinit(view_causes *causes);
/* Names the idle time of a device; it keeps its name where the report has no gap. */
void view_causes_name(view_slices *idle, const view_causes *causes, const view_devices *devices, uint32_t device);

/* The section for a device's derived tracks, made if it shares that of others. */
hd_status view_device_section(uint32_t *out, view_scene *scene, const view_device *device, hd_error *err);

/* works[first … first + count) in start order, the longer first; ordinal is the index of the work. To be freed with
 * hd_large_free. */
hd_status view_device_spans(lane_span **out, const hd_launches *launches, const view_devices *devices, uint32_t first,
                            uint32_t count, hd_error *err);

/* Order of derived tracks in their section (view_track.order): before all tracks of the trace. */
enum {
    VIEW_PLACE_STEPS,
    VIEW_PLACE_COMPUTE = 10,
    VIEW_PLACE_COMMUNICATION,
    VIEW_PLACE_EXPOSED,
    VIEW_PLACE_COPY,
    VIEW_PLACE_IDLE,
    VIEW_PLACE_SCOPES = 20,
    VIEW_PLACE_OPS,
    VIEW_PLACE_SOURCE,
    VIEW_PLACE_LAUNCH = 30,
    VIEW_PLACE_MEMORY,
    VIEW_PLACE_TABLE = 40,
};

/* A derived track without events; false: no memory. `name` and `detail` are copied. */
bool view_derived_track(view_track *out, view_track_kind kind, const char *role, const char *name, const char *detail,
                        int place);
/* The same for a stream, whose number the name gets where the device has several. */
bool view_stream_track(view_track *out, const view_scene *scene, const view_device *device, const view_stream *stream,
                       const char *role, const char *name, const char *detail, int place);
/* Makes its only row from slices that do not overlap, and all data derived from it. Takes them, also after an error. */
hd_status view_derived_row(view_track *track, view_slices *slices, hd_error *err);
/* Makes its rows by depth from slices in start order, the longer first, which may overlap. Takes them likewise. */
hd_status view_derived_rows(view_track *track, view_slices *slices, hd_error *err);

#endif
