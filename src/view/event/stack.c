/* stack.c - the stack of an event: its own, its launch's, or the slices that enclose it
 *
 * The first of these that exists: the event's own (model/stacks/event_stacks.h); that of its launch; the slices around
 * the launch on its thread, with the launch; for events other than GPU activities, the slices around it on its thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/roles/frames.h"
#include "model/stacks/event_stacks.h"
#include "trace/event.h"
#include "view/event/event.h"
#include "view/queries/queries.h"

enum { FRAMES = 4096 };

/* ---- frames ---- */

/* The last frame with a file, which is the nearest, of the code that is nearest to the user. */
typedef struct source_place {
    hd_string file;
    int64_t line;
    hd_frame_level level;
    const char *skip; /* as view_event */
} source_place;

static void put_frame(hd_json_out *json, source_place *source, hd_string name, const char *kind)
{
    hd_frame_place place;
    hd_json_put_text(json, json->data[json->size - 1] == '[' ? "{" : ",{");
    view_json_text(json, "name", name);
    view_json_text(json, "kind", (hd_string){kind, strlen(kind)});
    if (hd_frame_place_of(&place, name)) {
        static const char *const levels[] = {[HD_FRAME_LIBRARY] = "library", [HD_FRAME_USER] = "user"};
        hd_frame_level level = hd_frame_level_beside(name, source->skip);
        view_json_text(json, "file", place.file);
        view_json_int(json, "line", place.line);
        if (levels[level]) view_json_text(json, "level", (hd_string){levels[level], strlen(levels[level])});
        if (level >= source->level) *source = (source_place){place.file, place.line, level, source->skip};
    }
    hd_json_put_text(json, "}");
}

/* ---- stacks that the trace has ---- */

/* false: no memory. */
static bool put_node(hd_json_out *json, source_place *source, const hd_stacks *stacks, uint32_t node)
{
    uint32_t count = hd_stacks_at(stacks, node).depth, at = count < FRAMES ? count : FRAMES;
    uint32_t *path = malloc((size_t)at * sizeof *path + 1);
    if (!path) return false;
    for (uint32_t i = at; i-- > 0; node = hd_stacks_at(stacks, node).caller) path[i] = node;
    for (uint32_t i = 0; i < at; i++) { /* of very deep ones, the frames nearest to the event */
        hd_frame frame = hd_stacks_at(stacks, path[i]);
        put_frame(json, source, hd_stacks_text(stacks, frame.name), hd_frame_kind_name(frame.kind));
    }
    free(path);
    return true;
}

/* ---- slices around ---- */

static const char *frame_kind(const view_scene *scene, uint32_t row)
{
    static const char *const kinds[HD_ROLES] = {[HD_ROLE_OP] = "op",
                                                [HD_ROLE_PYTHON] = "python",
                                                [HD_ROLE_ANNOTATION] = "annotation",
                                                [HD_ROLE_RUNTIME] = "api",
                                                [HD_ROLE_DRIVER] = "api"};
    const hd_trace *trace = view_scene_trace(scene);
    hd_event event = hd_event_at(trace, HD_KIND_SLICE, row);
    const char *kind = kinds[hd_role_of(hd_trace_string(trace, event.category), hd_trace_string(trace, event.name))];
    return kind ? kind : "native";
}

/* The slices around a place, outermost first, and itself; before the first that has a stack as text, that stack, unless
 * there are slices of Python functions. */
static bool put_slices(hd_json_out *json, source_place *source, const view_event *e, const hd_event_stacks *stacks,
                       const view_place *place)
{
    bool has_frames = !hd_event_stacks_have_texts(stacks), fine = true;
    size_t count = 0, capacity = (size_t)place->depth + 1;
    view_place *path = malloc(capacity * sizeof *path);
    if (!path) return false;
    path[count++] = *place;
    while (count < capacity && view_place_parent(&path[count], e->scene, &path[count - 1])) count++;
    while (fine && count-- > 0) {
        uint32_t row = path[count].slice.row, node = HD_STACK_NONE;
        const char *kind = frame_kind(e->scene, row);
        if (!has_frames && row < hd_trace_row_count(e->trace, HD_KIND_SLICE)) {
            const hd_event event = hd_event_at(e->trace, HD_KIND_SLICE, row);
            node = hd_event_stacks_of_text(NULL, stacks, &event);
            has_frames = node != HD_STACK_NONE || strcmp(kind, hd_frame_kind_name(HD_FRAME_PYTHON)) == 0;
        }
        if (node != HD_STACK_NONE) fine = put_node(json, source, hd_event_stacks_tree(stacks), node);
        put_frame(json, source, view_scene_text(e->scene, path[count].slice.name), kind);
    }
    free(path);
    return fine;
}

/* The slice that represents the event on its thread: its launch, itself, or the enclosing one. */
static bool find_place(view_place *out, const view_event *e)
{
    if (e->launch) return view_place_of(out, e->scene, HD_KIND_SLICE, e->launch->row);
    if (e->work) return false;
    if (e->event.kind == HD_KIND_SLICE) {
        *out = e->place;
        return e->has_place;
    }
    if (e->event.start_ns == HD_NO_TIME || e->event.track >= hd_trace_track_count(e->trace)) return false;
    uint32_t thread = view_scene_track_of(e->scene, e->event.track, HD_KIND_SLICE);
    return thread != HD_NONE && view_place_at(out, e->scene, thread, e->event.start_ns);
}

static uint32_t own_stack(const char **out_from, const hd_event_stacks *stacks, const view_event *e)
{
    uint32_t node = hd_event_stacks_of(out_from, stacks, &e->event);
    if (node != HD_STACK_NONE || !e->work || !e->launch) return node;
    hd_event launch = hd_event_at(e->trace, HD_KIND_SLICE, e->launch->row);
    node = hd_event_stacks_of(NULL, stacks, &launch);
    *out_from = "launch sf";
    return node;
}

static void put_source(hd_json_out *json, const source_place *source)
{
    view_json_key(json, "source");
    hd_json_out text = {0};
    hd_json_put(&text, source->file.data, source->file.size);
    hd_json_put_text(&text, ":");
    hd_json_put_int(&text, source->line);
    hd_json_put_string(json, text.data ? text.data : "", text.size);
    json->failed |= text.failed;
    free(text.data);
}

hd_status view_event_stack(hd_json_out *json, const view_event *e, hd_error *err)
{
    const hd_event_stacks *stacks;
    const char *from;
    source_place source = {{NULL, 0}, 0, HD_FRAME_OTHER, e->skip};
    view_place place;
    HD_TRY(view_queries_stacks(&stacks, e->scene, err));
    uint32_t node = own_stack(&from, stacks, e);
    if (node == HD_STACK_NONE && !find_place(&place, e)) return HD_OK;
    view_json_key(json, "stack");
    hd_json_put_text(json, "[");
    if (json->failed) return HD_NOMEM(err);
    bool fine = node == HD_STACK_NONE ? put_slices(json, &source, e, stacks, &place)
                                      : put_node(json, &source, hd_event_stacks_tree(stacks), node);
    if (node == HD_STACK_NONE) from = e->launch && e->work ? "launch" : "slices";
    hd_json_put_text(json, "]");
    view_json_text(json, "stack_from", (hd_string){from, strlen(from)});
    if (source.file.size) put_source(json, &source);
    return fine ? HD_OK : HD_NOMEM(err);
}
