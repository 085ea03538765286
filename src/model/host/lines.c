/* lines.c - frames of users and libraries, and the innermost of them around places */
#include "model/host/lines.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/roles/frames.h"
#include "trace/event.h"

/* A level above frameworks, or 0. */
static uint8_t level_of(const gpu_lines *l, hd_string name)
{
    hd_frame_level level = hd_frame_level_beside(name, l->skip);
    return level > HD_FRAME_BELOW ? (uint8_t)level : 0;
}

/* ---- lines of a trace ---- */

static bool find_levels(gpu_lines *l)
{
    uint32_t strings = hd_trace_string_count(l->trace);
    bool any = false;
    l->levels = calloc((size_t)strings + 1, 1);
    for (uint32_t i = 0; l->levels && i < strings; i++)
        any |= (l->levels[i] = level_of(l, hd_trace_string(l->trace, i))) > 0;
    if (!l->levels) return false;
    if (any) return true;
    free(l->levels);
    l->levels = NULL;
    return true;
}

static bool find_line_nodes(gpu_lines *l)
{
    const hd_stacks *tree = hd_event_stacks_tree(l->stacks);
    bool any = false;
    for (uint32_t i = 0; !any && i < hd_stacks_name_count(tree); i++) any = level_of(l, hd_stacks_text(tree, i)) > 0;
    if (!any) return true;
    l->line_of = hd_stack_lines(tree, l->skip);
    return l->line_of != NULL;
}

hd_status gpu_lines_init(gpu_lines *out, gpu_texts *texts, const hd_trace *trace, const char *skip, hd_error *err)
{
    *out = (gpu_lines){.trace = trace, .texts = texts, .skip = skip};
    HD_TRY(hd_event_stacks_new(&out->stacks, trace, err));
    return find_levels(out) && find_line_nodes(out) ? HD_OK : HD_NOMEM(err);
}

void gpu_lines_deinit(gpu_lines *lines)
{
    free(lines->levels);
    free(lines->line_of);
    hd_event_stacks_free(lines->stacks);
    *lines = (gpu_lines){0};
}

/* The line of a node; empty: none. */
static hd_string line_of_node(const gpu_lines *l, uint32_t node)
{
    const hd_stacks *tree = hd_event_stacks_tree(l->stacks);
    return hd_stacks_text(tree, hd_stacks_at(tree, l->line_of[node]).name);
}

static uint32_t node_of_slice(const gpu_lines *l, uint64_t row)
{
    const hd_event event = hd_event_at(l->trace, HD_KIND_SLICE, row);
    return hd_event_stacks_of(NULL, l->stacks, &event);
}

bool gpu_line_of_slice(uint32_t *out, gpu_lines *lines, uint64_t row)
{
    *out = HD_NONE;
    if (!lines->line_of) return true;
    hd_string line = line_of_node(lines, node_of_slice(lines, row));
    if (!level_of(lines, line)) return true;
    *out = gpu_text(lines->texts, line.data, line.size);
    return *out != HD_NONE;
}

/* ---- around places ---- */

typedef struct finder {
    gpu_lines *lines;
    gpu_slices slices;
    uint32_t *out;
} finder;

static hd_status put(finder *f, uint32_t id, hd_string line, hd_error *err)
{
    f->out[id] = gpu_text(f->lines->texts, line.data, line.size);
    return f->out[id] == HD_NONE ? HD_NOMEM(err) : HD_OK;
}

/* Among slices that are frames. */
static hd_status choose_frame(void *user, uint32_t id, const uint32_t *around, size_t count, hd_error *err)
{
    finder *f = user;
    const uint8_t *levels = f->lines->levels;
    uint32_t best = HD_NONE;
    for (size_t i = count; i-- > 0;) {
        uint32_t name = f->slices.list[around[i]].name;
        if (best == HD_NONE || levels[name] > levels[best]) best = name;
    }
    return best == HD_NONE ? HD_OK : put(f, id, hd_trace_string(f->lines->trace, best), err);
}

/* Among the frames of the stacks of slices. */
static hd_status choose_line(void *user, uint32_t id, const uint32_t *around, size_t count, hd_error *err)
{
    finder *f = user;
    uint8_t level = f->out[id] == HD_NONE ? 0 : level_of(f->lines, gpu_text_of(f->lines->texts, f->out[id]));
    hd_string best = {NULL, 0};
    for (size_t i = count; i-- > 0 && level < HD_FRAME_USER;) {
        gpu_slice *slice = &f->slices.list[around[i]];
        if (slice->user == HD_NONE) slice->user = node_of_slice(f->lines, slice->row);
        hd_string line = line_of_node(f->lines, slice->user);
        if (level_of(f->lines, line) <= level) continue;
        level = level_of(f->lines, line);
        best = line;
    }
    return best.size ? put(f, id, best, err) : HD_OK;
}

static hd_status choose(finder *f, const gpu_place *places, size_t count, gpu_around_found *found, hd_error *err)
{
    hd_status status = f->slices.count ? gpu_around(&f->slices, places, count, found, f, err) : HD_OK;
    gpu_slices_deinit(&f->slices);
    return status;
}

hd_status gpu_lines_around(uint32_t *out, gpu_lines *lines, const gpu_scope *scope, const gpu_place *places,
                           size_t count, size_t ids, hd_error *err)
{
    static const unsigned hosts = 1u << HD_ROLE_OP | 1u << HD_ROLE_ANNOTATION | 1u << HD_ROLE_PYTHON |
                                  1u << HD_ROLE_RUNTIME | 1u << HD_ROLE_DRIVER;
    finder f = {.lines = lines, .out = out};
    for (size_t i = 0; i < ids; i++) out[i] = HD_NONE;
    if (lines->levels) {
        HD_TRY(gpu_slices_named(&f.slices, scope, 1u << HD_ROLE_PYTHON, lines->levels, err));
        HD_TRY(choose(&f, places, count, choose_frame, err));
    }
    if (!lines->line_of) return HD_OK;
    HD_TRY(gpu_slices_around(&f.slices, scope, hosts, places, count, err));
    return choose(&f, places, count, choose_line, err);
}

hd_status gpu_lines_of_launches(uint32_t **out, gpu_lines *lines, const gpu_scope *scope, bool to_forward,
                                hd_error *err)
{
    gpu_place *places = NULL;
    size_t count, launches = scope->launches->launch_count;
    *out = hd_large_new(launches + 1, sizeof **out, scope->large);
    hd_status status = *out ? gpu_launch_places(&places, &count, scope, err) : HD_NOMEM(err);
    if (status == HD_OK && to_forward) status = gpu_places_to_forward(places, count, scope, err);
    if (status == HD_OK) status = gpu_lines_around(*out, lines, scope, places, count, launches, err);
    hd_large_free(places);
    return status;
}
