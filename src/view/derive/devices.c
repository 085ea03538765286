/* devices.c - the devices of a trace with activities, and the setup common to derived tracks */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/identity/device.h"
#include "trace/event.h"
#include "trace/ranks.h"
#include "trace/spill.h"
#include "view/derive/derive.h"

/* ---- which there are ---- */

typedef struct device_key {
    uint32_t process, track;
    int64_t device;
} device_key;

static int by_key(const void *a, const void *b)
{
    const device_key *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->track > y->track) - (x->track < y->track);
}

static device_key key_of(const hd_trace *trace, uint32_t id)
{
    const hd_track *track = hd_trace_track_at(trace, id);
    uint32_t parent = track->parent;
    if (parent != HD_NONE) parent = hd_trace_track_at(trace, parent)->same_as;
    return (device_key){.process = parent, .track = id, .device = track->device};
}

/* Works of each track. */
static hd_status count_works(uint32_t **out, const hd_launches *launches, uint32_t tracks, hd_error *err)
{
    uint32_t *counts = *out = calloc((size_t)tracks + 1, sizeof *counts);
    if (!counts) return HD_NOMEM(err);
    for (size_t i = 0; i < launches->work_count; i++) {
        if (launches->works[i].track < tracks) counts[launches->works[i].track]++;
    }
    return HD_OK;
}

/* Of all tracks, with or without activities: annotations sometimes have tracks of their own. */
static device_key *list_keys(const hd_trace *trace, uint32_t tracks)
{
    device_key *keys = malloc(((size_t)tracks + 1) * sizeof *keys);
    for (uint32_t i = 0; keys && i < tracks; i++) keys[i] = key_of(trace, i);
    if (keys && tracks) hd_sort(keys, tracks, sizeof *keys, by_key);
    return keys;
}

static bool same_device(const device_key *a, const device_key *b)
{
    return a->process == b->process && a->device == b->device;
}

static bool add_stream(view_devices *out, uint32_t track, uint32_t count, uint32_t *first)
{
    if (!hd_grow((void **)&out->streams, &out->stream_capacity, out->stream_count, sizeof *out->streams)) return false;
    out->streams[out->stream_count++] = (view_stream){.track = track, .first = *first, .count = count};
    *first += count;
    return true;
}

static void describe(view_device *device, const view_scene *scene, uint32_t stream)
{
    uint32_t row = view_scene_track_of(scene, stream, HD_KIND_SLICE);
    device->rank = hd_trace_rank_of(view_scene_trace(scene), stream);
    device->section = row == HD_NONE ? HD_NONE : view_scene_track(scene, row)->parent;
    device->alone = device->section != HD_NONE;
}

static bool add_devices(view_devices *out, const view_scene *scene, const device_key *keys, const uint32_t *counts)
{
    size_t capacity = 0;
    uint32_t placed = 0;
    for (uint32_t i = 0, next; i < out->track_count; i = next) {
        view_device device = {.process = keys[i].process,
                              .device = keys[i].device,
                              .first = placed,
                              .first_stream = (uint32_t)out->stream_count};
        for (next = i; next < out->track_count && same_device(&keys[i], &keys[next]); next++) {
            uint32_t track = keys[next].track;
            if (counts[track] && !add_stream(out, track, counts[track], &placed)) return false;
        }
        device.count = placed - device.first;
        device.stream_count = (uint32_t)out->stream_count - device.first_stream;
        if (!device.count) continue;
        describe(&device, scene, out->streams[device.first_stream].track);
        if (!hd_grow((void **)&out->list, &capacity, out->count, sizeof *out->list)) return false;
        for (uint32_t k = i; k < next; k++) out->of_track[keys[k].track] = (uint32_t)out->count;
        out->list[out->count++] = device;
    }
    return true;
}

/* `places` has room for a number per track. */
static bool place_works(view_devices *out, const hd_launches *launches, uint32_t *places)
{
    uint32_t total = 0;
    for (size_t i = 0; i < out->stream_count; i++) {
        places[out->streams[i].track] = out->streams[i].first;
        total += out->streams[i].count;
    }
    out->works = hd_large_new((size_t)total + 1, sizeof *out->works, out->large);
    for (size_t i = 0; out->works && i < launches->work_count; i++) {
        uint32_t track = launches->works[i].track;
        if (track < out->track_count) out->works[places[track]++] = (uint32_t)i;
    }
    return out->works != NULL;
}

/* A section that two devices share is neither's. */
static void find_shared(view_devices *devices)
{
    for (size_t i = 0; i < devices->count; i++) {
        view_device *a = &devices->list[i];
        for (size_t j = i; j-- > 0 && devices->list[j].process == a->process;) {
            if (devices->list[j].section == a->section) a->alone = devices->list[j].alone = false;
        }
    }
}

hd_status view_devices_find(view_devices *out, const view_scene *scene, hd_error *err)
{
    const hd_trace *trace = view_scene_trace(scene);
    const hd_launches *launches = view_scene_launches(scene);
    uint32_t tracks = hd_trace_track_count(trace), *counts;
    *out = (view_devices){.track_count = tracks, .large = hd_trace_large_bytes(trace)};
    if (!launches || !launches->work_count) {
        out->track_count = 0;
        return HD_OK;
    }
    HD_TRY(count_works(&counts, launches, tracks, err));
    device_key *keys = list_keys(trace, tracks);
    out->of_track = malloc(((size_t)tracks + 1) * sizeof *out->of_track);
    bool fine = keys && out->of_track;
    for (uint32_t i = 0; fine && i < tracks; i++) out->of_track[i] = HD_NONE;
    fine = fine && add_devices(out, scene, keys, counts) && place_works(out, launches, counts);
    free(counts);
    free(keys);
    if (!fine) {
        view_devices_deinit(out);
        return HD_NOMEM(err);
    }
    find_shared(out);
    return HD_OK;
}

void view_devices_deinit(view_devices *devices)
{
    free(devices->list);
    free(devices->streams);
    hd_large_free(devices->works);
    free(devices->of_track);
    *devices = (view_devices){0};
}

/* ---- where their tracks come ---- */

static bool is_section_of(const view_track *track, const view_device *device)
{
    return track->derived && track->kind == VIEW_SECTION && track->parent == device->section &&
           track->device == device->device;
}

hd_status view_device_section(uint32_t *out, view_scene *scene, const view_device *device, hd_error *err)
{
    *out = device->section;
    if (device->alone) return HD_OK;
    uint32_t count = view_scene_track_count(scene);
    for (uint32_t i = 0; i < count; i++) {
        *out = i;
        if (is_section_of(view_scene_track(scene, i), device)) return HD_OK;
    }
    char name[64] = "GPU activities";
    view_track track;
    const char *kind = hd_device_kind(view_scene_trace(scene), device->process);
    if (device->device != HD_NO_NUMBER) snprintf(name, sizeof name, "%s %lld", kind, (long long)device->device);
    if (!view_derived_track(&track, VIEW_SECTION, "device", name, NULL, 0)) return HD_NOMEM(err);
    track.parent = device->section;
    track.order = device->device < 0 ? 0 : device->device < VIEW_ORDER_ASYNC ? device->device : VIEW_ORDER_ASYNC - 1;
    track.device = device->device;
    track.rank = device->rank;
    track.event_count = device->count;
    hd_status status = view_scene_add(scene, &track, 1, err);
    *out = count;
    return status;
}

/* ---- their works ---- */

hd_status view_device_spans(lane_span **out, const hd_launches *launches, const view_devices *devices, uint32_t first,
                            uint32_t count, hd_error *err)
{
    lane_span *spans = *out = hd_large_new((size_t)count + 1, sizeof *spans, devices->large);
    lane_span *scratch = hd_large_new((size_t)count / 2 + 1, sizeof *scratch, devices->large);
    if (!spans || !scratch) {
        hd_large_free(spans);
        hd_large_free(scratch);
        *out = NULL;
        return HD_NOMEM(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = devices->works[first + i];
        const hd_work *work = &launches->works[index];
        spans[i] = (lane_span){.start = work->start_ns,
                               .end = hd_end_or_last(work->start_ns, work->duration_ns),
                               .ordinal = index,
                               .name = work->name};
    }
    lane_sort(spans, count, scratch);
    hd_large_free(scratch);
    return HD_OK;
}

/* ---- tracks ---- */

bool view_derived_track(view_track *out, view_track_kind kind, const char *role, const char *name, const char *detail,
                        int place)
{
    *out = (view_track){.parent = HD_NONE,
                        .kind = kind,
                        .role = role,
                        .name = strdup(name),
                        .name_size = strlen(name),
                        .detail = detail ? strdup(detail) : NULL,
                        .source = HD_NONE,
                        .events = HD_KIND_SLICE,
                        .derived = true,
                        .rank = HD_NO_NUMBER,
                        .device = HD_NO_NUMBER,
                        .stream = HD_NO_NUMBER,
                        .order = place,
                        .start_ns = HD_NO_TIME,
                        .end_ns = HD_NO_TIME,
                        .busy_ns = HD_NO_TIME};
    if (out->name && (!detail || out->detail)) return true;
    view_track_deinit(out);
    return false;
}

bool view_stream_track(view_track *out, const view_scene *scene, const view_device *device, const view_stream *stream,
                       const char *role, const char *name, const char *detail, int place)
{
    char text[128];
    int64_t number = hd_trace_track_at(view_scene_trace(scene), stream->track)->stream;
    if (device->stream_count == 1 || number == HD_NO_NUMBER)
        snprintf(text, sizeof text, "%s", name);
    else
        snprintf(text, sizeof text, "%s, stream %lld", name, (long long)number);
    if (!view_derived_track(out, VIEW_SLICES, role, text, detail, place)) return false;
    out->device = device->device;
    out->rank = device->rank;
    out->stream = number;
    out->collapsed = device->stream_count > 1 && stream->count < device->count / 2;
    return true;
}

/* ---- rows ---- */

static void measure(view_track *track, const view_slices *slices)
{
    track->event_count = slices->count;
    for (size_t i = 0; i < slices->count; i++) {
        const view_slice *slice = &slices->list[i];
        if (i == 0) track->start_ns = slice->start_ns;
        if (i == 0 || slice->end_ns > track->end_ns) track->end_ns = slice->end_ns;
    }
}

hd_status view_derived_row(view_track *track, view_slices *slices, hd_error *err)
{
    view_slice *list = malloc((slices->count + 1) * sizeof *list);
    measure(track, slices);
    track->busy_ns = slices->count ? view_slices_busy(slices) : HD_NO_TIME;
    track->rows.rows = calloc(1, sizeof *track->rows.rows);
    hd_status status = track->rows.rows && list ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        track->rows.count = 1;
        if (slices->count) memcpy(list, slices->list, slices->count * sizeof *list);
        status = view_row_of_slices(&track->rows.rows[0], list, slices->count, err);
    } else {
        free(list);
    }
    hd_large_free(slices->list);
    *slices = (view_slices){0};
    return status;
}

static int64_t busy_of(const view_slices *slices)
{
    int64_t busy = 0, reached = INT64_MIN;
    for (size_t i = 0; i < slices->count; i++) {
        const view_slice *slice = &slices->list[i];
        int64_t start = slice->start_ns > reached ? slice->start_ns : reached, length;
        if (slice->end_ns <= start) continue;
        reached = slice->end_ns;
        if (__builtin_sub_overflow(slice->end_ns, start, &length) || __builtin_add_overflow(busy, length, &busy))
            return INT64_MAX;
    }
    return busy;
}

hd_status view_derived_rows(view_track *track, view_slices *slices, hd_error *err)
{
    measure(track, slices);
    track->busy_ns = slices->count ? busy_of(slices) : HD_NO_TIME;
    uint64_t moved;
    hd_status status = view_rows_lay_out(&track->rows, &moved, slices->list, slices->count, err);
    hd_large_free(slices->list);
    *slices = (view_slices){0};
    track->on_lanes = moved;
    return status;
}
