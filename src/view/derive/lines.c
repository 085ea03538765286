/* lines.c - the user's own line behind the activities of each stream
 *
 * As `heddle report kernels --by line` has it, but of a backward operator its own line. Activities of a stream that
 * follow each other within PAUSE_NS and have one line are one slice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/host/lines.h"
#include "view/derive/derive.h"
#include "view/derive/table.h"

enum { PAUSE_NS = 10000 };

typedef struct source_lines {
    view_scene *scene;
    const view_devices *devices;
    gpu_scope scope;
    gpu_texts texts;
    gpu_lines lines;
    const char *role, *detail; /* of the tracks */
    uint32_t *of_launch;       /* text */
    uint32_t *names;           /* by text: id of the scene + 1, 0: none yet */
    uint32_t name_count;
} source_lines;

/* The name of a text in the scene; HD_NONE: no memory. */
static uint32_t name_of(source_lines *s, uint32_t text)
{
    if (text >= s->name_count) {
        uint32_t count = s->texts.count + 64;
        uint32_t *names = realloc(s->names, count * sizeof *names);
        if (!names) return HD_NONE;
        memset(names + s->name_count, 0, (count - s->name_count) * sizeof *names);
        s->names = names;
        s->name_count = count;
    }
    if (!s->names[text]) {
        hd_string line = gpu_text_of(&s->texts, text);
        s->names[text] = view_scene_name(s->scene, line.data, line.size) + 1; /* HD_NONE + 1: 0 */
    }
    return s->names[text] - 1;
}

static bool add_work(view_slices *out, source_lines *s, const hd_work *work, const lane_span *span)
{
    uint32_t text;
    if (!gpu_line_of_slice(&text, &s->lines, work->row)) return false;
    if (text == HD_NONE && work->launch != HD_NONE) text = s->of_launch[work->launch];
    if (text == HD_NONE) return true;
    uint32_t name = name_of(s, text);
    view_slice *last = out->count ? &out->list[out->count - 1] : NULL;
    int64_t pause;
    bool follows =
        last && last->name == name && !__builtin_sub_overflow(span->start, last->end_ns, &pause) && pause <= PAUSE_NS;
    if (follows) {
        if (span->end > last->end_ns) last->end_ns = span->end;
        return true;
    }
    const view_slice slice = {.start_ns = span->start, .end_ns = span->end, .name = name, .row = (uint32_t)work->row};
    return name != HD_NONE && view_slices_add(out, slice);
}

static hd_status add_stream(source_lines *s, const view_device *device, const view_stream *stream, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(s->scene);
    view_slices slices = {.large = s->devices->large};
    view_track track;
    lane_span *spans;
    uint32_t section;
    HD_TRY(view_device_section(&section, s->scene, device, err));
    HD_TRY(view_device_spans(&spans, launches, s->devices, stream->first, stream->count, err));
    bool fine = true;
    for (uint32_t i = 0; fine && i < stream->count; i++)
        fine = add_work(&slices, s, &launches->works[spans[i].ordinal], &spans[i]);
    hd_large_free(spans);
    hd_status status = fine ? HD_OK : HD_NOMEM(err);
    bool any = slices.count > 0;
    if (status == HD_OK && any) {
        bool made =
            view_stream_track(&track, s->scene, device, stream, s->role, "Source line", s->detail, VIEW_PLACE_SOURCE);
        if (made) track.parent = section;
        status = made ? view_derived_rows(&track, &slices, err) : HD_NOMEM(err);
        if (made && status != HD_OK) view_track_deinit(&track);
    }
    hd_large_free(slices.list);
    return status == HD_OK && any ? view_scene_add(s->scene, &track, 1, err) : status;
}

static hd_status derive(source_lines *s, const atomic_bool *stop, hd_error *err)
{
    static const gpu_options none = {0};
    const hd_report_input input = {.trace = view_scene_trace(s->scene), .launches = view_scene_launches(s->scene)};
    HD_TRY(gpu_scope_init(&s->scope, &input, &none, 0, err));
    HD_TRY(gpu_lines_of_launches(&s->of_launch, &s->lines, &s->scope, false, err));
    for (size_t i = 0; i < s->devices->count; i++) {
        const view_device *device = &s->devices->list[i];
        for (uint32_t k = 0; k < device->stream_count && !atomic_load(stop); k++)
            HD_TRY(add_stream(s, device, &s->devices->streams[device->first_stream + k], err));
    }
    return HD_OK;
}

static hd_status derive_lines(view_scene *scene, const char *role, const char *skip, const char *detail,
                              const atomic_bool *stop, hd_error *err)
{
    view_devices devices;
    source_lines s = {.scene = scene, .devices = &devices, .role = role, .detail = detail};
    HD_TRY(view_devices_find(&devices, scene, err));
    hd_status status = devices.count ? gpu_lines_init(&s.lines, &s.texts, view_scene_trace(scene), skip, err) : HD_OK;
    if (status == HD_OK && gpu_lines_exist(&s.lines)) status = derive(&s, stop, err);
    hd_large_free(s.of_launch);
    free(s.names);
    gpu_lines_deinit(&s.lines);
    gpu_texts_deinit(&s.texts);
    gpu_scope_deinit(&s.scope);
    view_devices_deinit(&devices);
    return status;
}

#define DETAIL                                                                                                         \
    "The line of the user's own code that launched the activities of the stream: the innermost Python frame that is "  \
    "neither of a framework nor installed, else of a library. A pause of 10 µs ends a slice."

hd_status view_derive_lines(view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    return derive_lines(scene, "source", "", DETAIL, stop, err);
}

/* Makes them, unless there are too many of other folders. */
static hd_status derive_skipping(view_scene *scene, const char *skip, const char *detail, hd_error *err)
{
    enum { TRACKS_MOST = 4096 };
    static const atomic_bool never;
    view_table_tracks all;
    HD_TRY(view_made_tracks_find(&all, scene, VIEW_SKIPPING_ROLE, NULL, err));
    free(all.ids);
    if (all.count < TRACKS_MOST) return derive_lines(scene, VIEW_SKIPPING_ROLE, skip, detail, &never, err);
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "there are %zu tracks with lines already", all.count);
}

hd_status view_derive_lines_skipping(view_table_tracks *out, view_scene *scene, const char *skip, hd_error *err)
{
    char *detail;
    if (asprintf(&detail, DETAIL " Code in %s is skipped.", skip) < 0) return HD_NOMEM(err);
    hd_status status = view_made_tracks_find(out, scene, VIEW_SKIPPING_ROLE, detail, err);
    if (status == HD_OK && !out->count) {
        status = derive_skipping(scene, skip, detail, err);
        if (status == HD_OK) status = view_made_tracks_find(out, scene, VIEW_SKIPPING_ROLE, detail, err);
    }
    free(detail);
    return status;
}
