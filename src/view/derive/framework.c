/* framework.c - name scopes, framework ops and source lines of a device, from its activities' arguments
 *
 * XLA stores with each operation its framework op (tf_op "jit(f)/jit(main)/add:") and source line (source
 * "train.py:29"). As in xprof's Trace Viewer, consecutive operations with equal values are one slice, and each part of
 * the op's name except the last is a level of scopes. After a pause a new slice begins. If the profiler wrote such
 * tracks itself ("TensorFlow Name Scope"), none are derived.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/text/ends.h"
#include "view/derive/derive.h"

enum { SCOPES, OPS, SOURCES, ROWS };
enum { LEVELS = 32, PAUSE_NS = 10000 };

static const struct {
    const char *role, *name, *detail;
    int place;
} abouts[ROWS] = {
    [SCOPES] = {"scopes", "Framework Name Scope",
                "The parts of the names of the framework's ops that the work came from.", VIEW_PLACE_SCOPES},
    [OPS] = {"ops", "Framework Ops", "The ops of the framework that the work came from, as it says itself (tf_op).",
             VIEW_PLACE_OPS},
    [SOURCES] = {"source", "Source code", "The lines of source that the work came from, as it says itself (source).",
                 VIEW_PLACE_SOURCE},
};

/* Slices that are extended by each activity; those of scopes are nested. */
typedef struct grower {
    view_slices slices;
    struct {
        uint32_t name;
        size_t slice;
    } open[LEVELS];
    uint32_t depth, text; /* text: of the work before, string id */
    int64_t end_ns;
} grower;

typedef struct framework {
    view_scene *scene;
    const hd_trace *trace;
    uint32_t key_op, key_source; /* string ids */
    grower rows[ROWS];
} framework;

static uint32_t text_of(const framework *f, const hd_event *event, uint32_t key)
{
    hd_value value;
    bool has = hd_event_arg(&value, f->trace, event, key) && value.type == HD_ARG_STRING;
    return has ? (uint32_t)value.bits : HD_STRING_NONE;
}

/* The levels of a text: all of it, or its parts except the last. */
static bool set_path(framework *f, grower *g, hd_string text, bool is_scopes, view_slice slice)
{
    uint32_t depth = 0;
    for (size_t at = 0; at < text.size && depth < LEVELS;) {
        const char *slash = is_scopes ? memchr(text.data + at, '/', text.size - at) : text.data + text.size;
        if (!slash) break;
        size_t size = (size_t)(slash - text.data) - at;
        slice.name = view_scene_name(f->scene, text.data + at, size);
        if (slice.name == HD_NONE) return false;
        at += size + 1;
        if (depth < g->depth && g->open[depth].name == slice.name) {
            depth++;
            continue;
        }
        g->depth = depth; /* slices open below it end */
        g->open[depth].name = slice.name;
        g->open[depth++].slice = g->slices.count;
        if (!view_slices_add(&g->slices, slice)) return false;
        g->depth = depth;
    }
    g->depth = depth;
    return true;
}

static bool grow(framework *f, int row, uint32_t text, view_slice slice)
{
    grower *g = &f->rows[row];
    hd_string name = hd_trace_string(f->trace, text);
    const char *colon = row == SOURCES || !name.size ? NULL : memrchr(name.data, ':', name.size);
    if (colon) name.size = (size_t)(colon - name.data); /* the type of the op follows */
    int64_t gap;
    bool is_pause = __builtin_sub_overflow(slice.start_ns, g->end_ns, &gap) || gap > PAUSE_NS;
    if (is_pause || !text) g->depth = 0;
    if (text && (text != g->text || !g->depth) && !set_path(f, g, name, row == SCOPES, slice)) return false;
    g->text = text;
    if (slice.end_ns > g->end_ns) g->end_ns = slice.end_ns;
    for (uint32_t i = 0; i < g->depth; i++) {
        view_slice *open = &g->slices.list[g->open[i].slice];
        if (slice.end_ns > open->end_ns) open->end_ns = slice.end_ns;
    }
    return true;
}

static bool add_work(framework *f, const hd_work *work, const lane_span *span)
{
    uint32_t row;
    hd_event event;
    const hd_block *block = hd_trace_block_of(&row, f->trace, HD_KIND_SLICE, work->row);
    view_slice slice = {.start_ns = span->start, .end_ns = span->end, .row = (uint32_t)work->row};
    hd_block_event(&event, block, row);
    uint32_t op = text_of(f, &event, f->key_op), source = text_of(f, &event, f->key_source);
    return grow(f, SCOPES, op, slice) && grow(f, OPS, op, slice) && grow(f, SOURCES, source, slice);
}

/* Rows of the device that the profiler wrote. */
static bool has_own(const framework *f, const view_device *device)
{
    for (uint32_t i = 0; i < hd_trace_track_count(f->trace); i++) {
        const hd_track *track = hd_trace_track_at(f->trace, i);
        hd_string name = hd_trace_string(f->trace, track->name);
        if (track->parent == device->process && hd_ends_with(name.data, name.size, "Name Scope")) return true;
    }
    return false;
}

static hd_status add_tracks(framework *f, const view_device *device, hd_error *err)
{
    view_track tracks[ROWS];
    uint32_t section;
    size_t count = 0;
    HD_TRY(view_device_section(&section, f->scene, device, err));
    hd_status status = HD_OK;
    for (int i = 0; i < ROWS && status == HD_OK; i++) {
        if (!f->rows[i].slices.count) continue;
        if (!view_derived_track(&tracks[count], VIEW_SLICES, abouts[i].role, abouts[i].name, abouts[i].detail,
                                abouts[i].place)) {
            status = HD_NOMEM(err);
            break;
        }
        view_track *track = &tracks[count++];
        track->parent = section;
        track->device = device->device;
        track->rank = device->rank;
        status = view_derived_rows(track, &f->rows[i].slices, err);
    }
    if (status == HD_OK) return count ? view_scene_add(f->scene, tracks, count, err) : HD_OK;
    while (count) view_track_deinit(&tracks[--count]);
    return status;
}

static hd_status derive_one(framework *f, const view_devices *devices, const view_device *device, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(f->scene);
    lane_span *spans;
    bool fine = true;
    if (has_own(f, device)) return HD_OK;
    for (int i = 0; i < ROWS; i++) f->rows[i] = (grower){.slices.large = devices->large, .end_ns = INT64_MIN};
    HD_TRY(view_device_spans(&spans, launches, devices, device->first, device->count, err));
    for (uint32_t i = 0; fine && i < device->count; i++)
        fine = add_work(f, &launches->works[spans[i].ordinal], &spans[i]);
    hd_large_free(spans);
    hd_status status = fine ? add_tracks(f, device, err) : HD_NOMEM(err);
    for (int i = 0; i < ROWS; i++) hd_large_free(f->rows[i].slices.list);
    return status;
}

hd_status view_derive_framework(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    framework f = {.scene = scene, .trace = view_scene_trace(scene)};
    f.key_op = hd_trace_find_string(f.trace, "tf_op", 5);
    f.key_source = hd_trace_find_string(f.trace, "source", 6);
    if (f.key_op == HD_NONE) return HD_OK;
    HD_TRY(view_devices_find(&devices, scene, err));
    hd_status status = HD_OK;
    for (size_t i = 0; i < devices.count && status == HD_OK && !atomic_load(stop); i++)
        status = derive_one(&f, &devices, &devices.list[i], err);
    view_devices_deinit(&devices);
    return status;
}
