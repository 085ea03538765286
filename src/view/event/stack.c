/* stack.c - the stack of an event: its own, its launch's, or the slices that enclose it
 *
 * The first of these that exists: `sf` of the event; its `stack`, an array of texts; `sf` of its launch; the slices
 * around the launch on its thread, with the launch; for events other than GPU activities, the slices around it on its
 * thread.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "model/roles/python_frames.h"
#include "trace/event.h"
#include "view/event/event.h"
#include "view/queries/queries.h"

enum { FRAMES = 4096 };

/* ---- names ---- */

/* "name (file.c:12)", as heddle symbolize --lines and captures of Python write it. */
static bool place_behind_name(hd_string *out_file, int64_t *out_line, hd_string name)
{
    if (!name.data || name.size < 7 || name.data[name.size - 1] != ')') return false;
    const char *open = memrchr(name.data, '(', name.size);
    if (!open || open < name.data + 2 || open[-1] != ' ') return false;
    const char *end = name.data + name.size - 1, *colon = memrchr(open, ':', (size_t)(end - open));
    int64_t line = 0;
    if (!colon || colon == open + 1 || colon + 1 == end) return false;
    for (const char *p = colon + 1; p < end; p++) {
        if (*p < '0' || *p > '9' || line >= INT32_MAX) return false;
        line = line * 10 + (*p - '0');
    }
    *out_file = (hd_string){open + 1, (size_t)(colon - open) - 1};
    *out_line = line;
    return true;
}

/* "file.py(12): name"; and the above. */
static bool python_name(hd_string *out_file, int64_t *out_line, hd_string name)
{
    if (place_behind_name(out_file, out_line, name)) return true;
    const char *open = name.size ? memchr(name.data, '(', name.size) : NULL;
    if (!open || open == name.data) return false;
    const char *p = open + 1, *end = name.data + name.size;
    int64_t line = 0;
    while (p < end && *p >= '0' && *p <= '9' && line < INT32_MAX) line = line * 10 + (*p++ - '0');
    if (p == open + 1 || p + 1 >= end || p[0] != ')' || p[1] != ':') return false;
    *out_file = (hd_string){name.data, (size_t)(open - name.data)};
    *out_line = line;
    return true;
}

/* The last frame with a file, which is the nearest, of the code that is nearest to the user. */
typedef struct source_place {
    hd_string file;
    int64_t line;
    hd_frame_level level;
} source_place;

static void put_frame(hd_json_out *json, source_place *source, hd_string name, const char *kind)
{
    hd_string file;
    int64_t line;
    hd_json_put_text(json, json->data[json->size - 1] == '[' ? "{" : ",{");
    view_json_text(json, "name", name);
    view_json_text(json, "kind", (hd_string){kind, strlen(kind)});
    if (python_name(&file, &line, name)) {
        static const char *const levels[] = {[HD_FRAME_LIBRARY] = "library", [HD_FRAME_USER] = "user"};
        hd_frame_level level = hd_frame_level_of(name);
        view_json_text(json, "file", file);
        view_json_int(json, "line", line);
        if (levels[level]) view_json_text(json, "level", (hd_string){levels[level], strlen(levels[level])});
        if (level >= source->level) *source = (source_place){file, line, level};
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

/* ---- the event's own texts ---- */

typedef struct own_texts {
    char *data; /* malloc'ed, NULL: there are none */
    const char *at;
    char *out; /* followed by as much room, for decoded text */
} own_texts;

/* Of its member `stack`, where that is an array of texts. */
static own_texts find_texts(const view_event *e)
{
    own_texts texts = {NULL, NULL, NULL};
    uint32_t key = hd_trace_find_string(e->trace, "stack", 5);
    if (key == HD_NONE || e->event.shape >= hd_trace_shape_count(e->trace) || !e->event.args) return texts;
    const hd_shape *shape = hd_trace_shape_at(e->trace, e->event.shape);
    int at = hd_shape_find(shape, key, HD_SCOPE_EVENT);
    if (at < 0 || shape->keys[at].type != HD_ARG_JSON) return texts;
    hd_string text = hd_trace_string(e->trace, (uint32_t)hd_column_at(&e->event.args->columns[at], e->event.args_row));
    char *copy = text.size && text.data[0] == '[' ? calloc(2, text.size + HD_JSON_PADDING) : NULL;
    if (!copy) return texts;
    memcpy(copy, text.data, text.size);
    if (copy[1 + strspn(copy + 1, " \t\r\n")] == '"')
        texts = (own_texts){copy, copy, copy + text.size + HD_JSON_PADDING};
    else
        free(copy);
    return texts;
}

/* false: no more. */
static bool next_text(hd_string *out, own_texts *texts)
{
    hd_json_text text;
    const char *p = texts->at + strspn(texts->at, " \t\r\n");
    if (*p != '[' && *p != ',') return false;
    p++;
    p += strspn(p, " \t\r\n");
    if (*p != '"') return false;
    texts->at = hd_json_string(&text, p + 1);
    if (!texts->at || !hd_json_decode(texts->out, &out->size, &text)) return false;
    out->data = texts->out;
    texts->out += out->size;
    return true;
}

/* Of very long ones, the first. */
static void put_texts(hd_json_out *json, source_place *source, own_texts *texts)
{
    hd_string text;
    for (int i = 0; i < FRAMES && next_text(&text, texts); i++) put_frame(json, source, text, "");
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

/* The slices around a place, outermost first, and itself. */
static bool put_slices(hd_json_out *json, source_place *source, const view_event *e, const view_place *place)
{
    size_t count = 0, capacity = (size_t)place->depth + 1;
    view_place *path = malloc(capacity * sizeof *path);
    if (!path) return false;
    path[count++] = *place;
    while (count < capacity && view_place_parent(&path[count], e->scene, &path[count - 1])) count++;
    while (count-- > 0)
        put_frame(json, source, view_scene_text(e->scene, path[count].slice.name),
                  frame_kind(e->scene, path[count].slice.row));
    free(path);
    return true;
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

static uint32_t own_stack(const char **out_from, const hd_trace_stacks *stacks, const view_event *e)
{
    uint32_t node = stacks ? hd_trace_stacks_of(stacks, &e->event) : HD_STACK_NONE;
    *out_from = "sf";
    if (node != HD_STACK_NONE || !stacks || !e->work || !e->launch) return node;
    hd_event launch = hd_event_at(e->trace, HD_KIND_SLICE, e->launch->row);
    *out_from = "launch sf";
    return hd_trace_stacks_of(stacks, &launch);
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
    const hd_trace_stacks *stacks;
    const char *from;
    source_place source = {{NULL, 0}, 0, HD_FRAME_BELOW};
    view_place place;
    bool fine = true;
    HD_TRY(view_queries_stacks(&stacks, e->scene, err));
    uint32_t node = own_stack(&from, stacks, e);
    bool is_own = node != HD_STACK_NONE && strcmp(from, "sf") == 0;
    own_texts texts = {NULL, NULL, NULL};
    if (!is_own) texts = find_texts(e);
    bool by_slices = node == HD_STACK_NONE && !texts.data && find_place(&place, e);
    if (node == HD_STACK_NONE && !by_slices && !texts.data) return HD_OK;
    view_json_key(json, "stack");
    hd_json_put_text(json, "[");
    if (json->failed) {
        free(texts.data);
        return HD_NOMEM(err);
    }
    if (texts.data) {
        put_texts(json, &source, &texts);
        from = "stack";
    } else if (by_slices) {
        fine = put_slices(json, &source, e, &place);
        from = e->launch && e->work ? "launch" : "slices";
    } else {
        fine = put_node(json, &source, hd_trace_stacks_tree(stacks), node);
    }
    hd_json_put_text(json, "]");
    view_json_text(json, "stack_from", (hd_string){from, strlen(from)});
    if (source.file.size) put_source(json, &source);
    free(texts.data);
    return fine ? HD_OK : HD_NOMEM(err);
}
