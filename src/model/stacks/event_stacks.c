/* event_stacks.c - stacks that are texts of events, as nodes above the trace's own tree */
#include "model/stacks/event_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/map.h"
#include "base/memory/vector.h"
#include "model/roles/frames.h"
#include "trace/impl.h"
#include "trace/lazy.h"
#include "trace/stacks/trace_stacks.h"

enum { FRAMES = 4096 }; /* of one text, those next to the root */
enum { NO_FORM, JSON, SOURCE_STACK, CALL_STACK, FORMS };

static const struct {
    const char *key;
    hd_arg_scope scope;
    hd_arg_type type;
} forms[FORMS] = {[JSON] = {"stack", HD_SCOPE_EVENT, HD_ARG_JSON},
                  [SOURCE_STACK] = {"source_stack", HD_SCOPE_ARGS, HD_ARG_STRING},
                  [CALL_STACK] = {"Call stack", HD_SCOPE_ARGS, HD_ARG_STRING}};

typedef struct shape_text {
    uint8_t form;
    uint16_t column;
} shape_text;

struct hd_event_stacks {
    const hd_trace *trace;
    hd_trace_stacks *own; /* NULL: damaged */
    hd_stacks *tree;      /* NULL: that of `own` is complete */
    shape_text *shapes;
    uint32_t shape_count;
    hd_map nodes; /* by string and form */
};

/* ---- one text ---- */

static bool push(uint32_t *node, hd_stacks *tree, const char *text, size_t size)
{
    bool is_python = hd_frame_level_of((hd_string){text, size}) > HD_FRAME_OTHER;
    *node =
        hd_stacks_push(tree, *node, hd_stacks_name(tree, text, size), is_python ? HD_FRAME_PYTHON : HD_FRAME_UNKNOWN);
    return *node != HD_NONE;
}

static bool push_lines(uint32_t *node, hd_stacks *tree, hd_string text)
{
    const char *at = text.data, *end = text.data + text.size;
    for (int i = 0; i < FRAMES && at < end; i++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line) line = end;
        if (line > at && !push(node, tree, at, (size_t)(line - at))) return false;
        at = line + 1;
    }
    return true;
}

static bool push_call_stack(uint32_t *node, hd_stacks *tree, hd_string text)
{
    size_t end = text.size;
    for (int i = 0; i < FRAMES && end > 0; i++) {
        const char *before = memrchr(text.data, ';', end);
        size_t at = before ? (size_t)(before - text.data) + 1 : 0;
        if (end > at && !push(node, tree, text.data + at, end - at)) return false;
        end = before ? at - 1 : 0;
    }
    return true;
}

/* `stack` may be an array of other things: addresses, or objects. */
static bool push_json(uint32_t *node, hd_stacks *tree, hd_string json)
{
    hd_json_text text;
    char *copy = json.size && json.data[0] == '[' ? calloc(2, json.size + HD_JSON_PADDING) : NULL;
    bool fine = copy || !json.size || json.data[0] != '[';
    const char *p = copy;
    if (copy) memcpy(copy, json.data, json.size);
    for (int i = 0; fine && p && i < FRAMES && (*p == '[' || *p == ','); i++) {
        char *decoded = copy + json.size + HD_JSON_PADDING;
        size_t size;
        p++;
        p += strspn(p, " \t\r\n");
        if (*p != '"') break;
        p = hd_json_string(&text, p + 1);
        if (!p || !hd_json_decode(decoded, &size, &text)) break;
        if (size) fine = push(node, tree, decoded, size);
        p += strspn(p, " \t\r\n");
    }
    free(copy);
    return fine;
}

/* ---- all texts ---- */

static shape_text text_of_shape(const hd_shape *shape, const uint32_t keys[FORMS])
{
    for (uint8_t form = JSON; form < FORMS; form++) {
        int at = keys[form] == HD_NONE ? -1 : hd_shape_find(shape, keys[form], forms[form].scope);
        if (at >= 0 && at <= UINT16_MAX && shape->keys[at].type == forms[form].type)
            return (shape_text){form, (uint16_t)at};
    }
    return (shape_text){NO_FORM, 0};
}

/* false: no memory. */
static bool find_shapes(bool *out_any, hd_event_stacks *s)
{
    uint32_t keys[FORMS] = {HD_NONE, HD_NONE, HD_NONE, HD_NONE};
    *out_any = false;
    for (int form = JSON; form < FORMS; form++) {
        keys[form] = hd_trace_find_string(s->trace, forms[form].key, strlen(forms[form].key));
        *out_any |= keys[form] != HD_NONE;
    }
    if (!*out_any) return true;
    uint32_t count = hd_trace_shape_count(s->trace);
    s->shapes = calloc((size_t)count + 1, sizeof *s->shapes);
    if (!s->shapes) return false;
    s->shape_count = count;
    *out_any = false;
    for (uint32_t i = 0; i < count; i++) {
        s->shapes[i] = text_of_shape(hd_trace_shape_at(s->trace, i), keys);
        *out_any |= s->shapes[i].form != NO_FORM;
    }
    return true;
}

/* The string of the event's text; HD_STRING_NONE: it has none. */
static uint32_t text_of(uint8_t *out_form, const hd_event_stacks *s, const hd_event *event)
{
    if (event->shape >= s->shape_count || !event->args) return HD_STRING_NONE;
    shape_text text = s->shapes[event->shape];
    *out_form = text.form;
    if (text.form == NO_FORM) return HD_STRING_NONE;
    return (uint32_t)hd_column_at(&event->args->columns[text.column], event->args_row);
}

static bool add_text(hd_event_stacks *s, uint32_t string, uint8_t form)
{
    uint32_t node = HD_STACK_NONE;
    hd_string text = hd_trace_string(s->trace, string);
    if (hd_map_find(&s->nodes, string, form)) return true;
    bool fine = form == JSON           ? push_json(&node, s->tree, text)
                : form == SOURCE_STACK ? push_lines(&node, s->tree, text)
                                       : push_call_stack(&node, s->tree, text);
    return fine && hd_map_set(&s->nodes, string, form, node);
}

static bool add_texts(hd_event_stacks *s, hd_kind kind)
{
    bool fine = true;
    hd_block_room room = {0};
    for (size_t b = 0; fine && b < hd_trace_block_count(s->trace, kind); b++) {
        const hd_block *block = hd_walk_block(&room, s->trace, kind, b);
        for (uint32_t row = 0; fine && row < block->row_count; row++) {
            hd_event event;
            uint8_t form;
            hd_block_event(&event, block, row);
            uint32_t string = text_of(&form, s, &event);
            if (string != HD_STRING_NONE) fine = add_text(s, string, form);
        }
    }
    hd_walk_end(&room, s->trace);
    return fine;
}

/* The nodes of a tree in an empty one, by the same numbers: equal frames of one caller are one node in both. */
static bool take_tree(hd_stacks *tree, const hd_stacks *from)
{
    if (hd_stacks_stand_upon(tree, from)) return true;
    bool fine = true;
    for (uint32_t node = 1; fine && node < hd_stacks_count(from); node++) {
        hd_frame frame = hd_stacks_at(from, node);
        hd_string name = hd_stacks_text(from, frame.name);
        fine = hd_stacks_push(tree, frame.caller, hd_stacks_name(tree, name.data, name.size), frame.kind) == node;
    }
    return fine;
}

static hd_status make_tree(hd_event_stacks *s, hd_error *err)
{
    HD_TRY(hd_stacks_new(&s->tree, err));
    hd_stacks_set_large(s->tree, hd_trace_large_bytes(s->trace));
    if (s->own && !take_tree(s->tree, hd_trace_stacks_tree(s->own))) return HD_NOMEM(err);
    for (int kind = 0; kind < HD_KIND_COUNT; kind++)
        if (!add_texts(s, (hd_kind)kind)) return HD_NOMEM(err);
    hd_stacks_freeze(s->tree);
    return HD_OK;
}

hd_status hd_event_stacks_new(hd_event_stacks **out, const hd_trace *trace, hd_error *err)
{
    bool any = false;
    hd_event_stacks *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HD_NOMEM(err);
    s->trace = trace;
    hd_status status = hd_trace_stacks_new(&s->own, trace, err);
    if (status == HD_ERR_DAMAGED) status = HD_OK;
    if (status == HD_OK && !find_shapes(&any, s)) status = HD_NOMEM(err);
    if (status == HD_OK && (any || !s->own)) status = make_tree(s, err);
    if (status == HD_OK)
        *out = s;
    else
        hd_event_stacks_free(s);
    return status;
}

void hd_event_stacks_free(hd_event_stacks *stacks)
{
    if (!stacks) return;
    hd_trace_stacks_free(stacks->own);
    hd_stacks_free(stacks->tree);
    hd_map_deinit(&stacks->nodes);
    free(stacks->shapes);
    free(stacks);
}

const hd_stacks *hd_event_stacks_tree(const hd_event_stacks *stacks)
{
    return stacks->tree ? stacks->tree : hd_trace_stacks_tree(stacks->own);
}

bool hd_event_stacks_have_texts(const hd_event_stacks *stacks)
{
    return stacks->nodes.count > 0;
}

uint32_t hd_event_stacks_of(const char **out_from, const hd_event_stacks *stacks, const hd_event *event)
{
    uint32_t node = stacks->own ? hd_trace_stacks_of(stacks->own, event) : HD_STACK_NONE;
    if (out_from) *out_from = "sf";
    return node == HD_STACK_NONE ? hd_event_stacks_of_text(out_from, stacks, event) : node;
}

uint32_t hd_event_stacks_of_text(const char **out_from, const hd_event_stacks *stacks, const hd_event *event)
{
    uint8_t form;
    uint32_t string = text_of(&form, stacks, event);
    const hd_map_entry *known = string == HD_STRING_NONE ? NULL : hd_map_find(&stacks->nodes, string, form);
    if (out_from && known) *out_from = forms[form].key;
    return known ? known->value : HD_STACK_NONE;
}

uint32_t *hd_stack_lines(const hd_stacks *tree, const char *skip)
{
    uint32_t count = hd_stacks_count(tree), names = hd_stacks_name_count(tree);
    uint32_t *lines = calloc((size_t)count + 1, sizeof *lines);
    uint8_t *levels = calloc((size_t)names + 1, sizeof *levels);
    for (uint32_t i = 0; lines && levels && i < names; i++)
        levels[i] = (uint8_t)hd_frame_level_beside(hd_stacks_text(tree, i), skip);
    for (uint32_t node = 1; lines && levels && node < count; node++) {
        hd_frame frame = hd_stacks_at(tree, node);
        uint32_t above = lines[frame.caller];
        uint8_t least = above ? levels[hd_stacks_at(tree, above).name] : HD_FRAME_BELOW;
        lines[node] = levels[frame.name] >= least ? node : above;
    }
    if (!levels) {
        free(lines);
        lines = NULL;
    }
    free(levels);
    return lines;
}
