/* launches.c - launch latency, from launch to start of an activity, per device, as a counter
 *
 * While a launch is pending, the counter is the time that its activity has to wait; otherwise 0. Of a call that
 * launched several activities (a graph) the first counts: the others wait for it. An activity that starts before its
 * launch, because of clock differences, is only in the text.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "view/derive/derive.h"
#include "view/write/duration_text.h"

typedef struct latency_sum {
    size_t count;
    int64_t min, max;
    double total;
} latency_sum;

static void add_sample(view_series *series, int64_t time, double value)
{
    series->times_ns[series->count] = time;
    series->values[series->count++] = value;
    if (value > series->max) series->max = value;
}

/* The samples of the activities in start order, at most two each: the latency of the next activity's launch lasts from
 * the launch, or from the previous activity, until its start; then it is 0, unless the next launch is already
 * pending. */
static latency_sum sample(view_series *series, const hd_launches *launches, const lane_span *spans, uint32_t count)
{
    latency_sum sum = {.min = INT64_MAX, .max = INT64_MIN};
    int64_t before = INT64_MIN;
    *series = (view_series){
        .unit = series->unit, .ends = series->ends, .times_ns = series->times_ns, .values = series->values};
    for (uint32_t i = 0; i < count; i++) {
        const hd_work *work = &launches->works[spans[i].ordinal];
        if (work->launch == HD_NONE) continue;
        const hd_launch *launch = &launches->launches[work->launch];
        if (launches->work_order[launch->first_work] != spans[i].ordinal) continue;
        int64_t latency;
        if (__builtin_sub_overflow(work->start_ns, launch->start_ns, &latency)) continue;
        sum.count++;
        sum.total += (double)latency;
        if (latency < sum.min) sum.min = latency;
        if (latency > sum.max) sum.max = latency;
        int64_t from = launch->start_ns > before ? launch->start_ns : before;
        if (from >= work->start_ns) continue;
        if (series->count && from > before) add_sample(series, before, 0);
        add_sample(series, from, (double)latency);
        before = work->start_ns;
    }
    if (series->count) add_sample(series, before, 0);
    return sum;
}

static bool describe(view_track *out, const latency_sum *sum, const view_device *device)
{
    char detail[400], mean[VIEW_DURATION_BYTES], max[VIEW_DURATION_BYTES], min[VIEW_DURATION_BYTES];
    snprintf(detail, sizeof detail,
             "From the start of the call that launched work to the start of the work: the launch itself, and the wait "
             "for the work before it. Of %zu launches: mean %s, least %s, most %s. Of a graph the first work counts.",
             sum->count, view_duration_text(mean, sum->total / (double)sum->count),
             view_duration_text(min, (double)sum->min), view_duration_text(max, (double)sum->max));
    if (!view_derived_track(out, VIEW_COUNTER, "launch", "Time in queue", detail, VIEW_PLACE_LAUNCH)) return false;
    out->device = device->device;
    out->rank = device->rank;
    out->event_count = sum->count;
    return true;
}

/* Allocates the samples; then the track frees them. */
static bool make_series(view_track *track, uint32_t count)
{
    track->series = calloc(1, sizeof *track->series);
    if (!track->series) return false;
    track->series_count = 1;
    track->series->unit = "ns";
    track->series->ends = true;
    track->series->times_ns = malloc((2 * (size_t)count + 1) * sizeof *track->series->times_ns);
    track->series->values = malloc((2 * (size_t)count + 1) * sizeof *track->series->values);
    return track->series->times_ns && track->series->values;
}

/* Memory that was not needed is given back. */
static void shrink(view_series *series)
{
    void *times = realloc(series->times_ns, series->count * sizeof *series->times_ns);
    void *values = realloc(series->values, series->count * sizeof *series->values);
    if (times) series->times_ns = times;
    if (values) series->values = values;
}

static hd_status add_track(view_scene *scene, const view_device *device, view_track *samples, const latency_sum *sum,
                           hd_error *err)
{
    view_track track;
    uint32_t section;
    HD_TRY(view_device_section(&section, scene, device, err));
    if (!describe(&track, sum, device)) return HD_NOMEM(err);
    view_series *series = &samples->series[0];
    shrink(series);
    series->name = view_scene_name(scene, "in queue", 8);
    if (series->name == HD_NONE) {
        view_track_deinit(&track);
        return HD_NOMEM(err);
    }
    track.parent = section;
    track.start_ns = series->times_ns[0];
    track.end_ns = series->times_ns[series->count - 1];
    track.series = samples->series;
    track.series_count = 1;
    *samples = (view_track){0};
    return view_scene_add(scene, &track, 1, err);
}

static hd_status derive_one(view_scene *scene, const view_devices *devices, const view_device *device, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    view_track samples = {.kind = VIEW_COUNTER}; /* owns the series until the track does */
    lane_span *spans;
    HD_TRY(view_device_spans(&spans, launches, devices, device->first, device->count, err));
    hd_status status = make_series(&samples, device->count) ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK) {
        latency_sum sum = sample(&samples.series[0], launches, spans, device->count);
        hd_large_free(spans);
        spans = NULL;
        if (samples.series[0].count) status = add_track(scene, device, &samples, &sum, err);
    }
    hd_large_free(spans);
    view_track_deinit(&samples);
    return status;
}

hd_status view_derive_launches(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    hd_status status = HD_OK;
    HD_TRY(view_devices_find(&devices, scene, err));
    for (size_t i = 0; i < devices.count && status == HD_OK && !atomic_load(stop); i++)
        status = derive_one(scene, &devices, &devices.list[i], err);
    view_devices_deinit(&devices);
    return status;
}
