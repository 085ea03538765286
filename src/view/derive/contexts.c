/* contexts.c - the ops and the named ranges around each launch
 *
 * The slices of a thread are on rows by depth. Its launches are walked in start order, with a cursor on every row: each
 * row is read once.
 */
#include "view/derive/contexts.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/host/slices.h"
#include "model/roles/trace_roles.h"
#include "trace/event.h"
#include "trace/lazy.h"
#include "trace/spill.h"

enum { READ_AHEAD = 64, UNKNOWN_SORT = -2, NO_SORT = -1 };

/* One row of the thread. */
typedef struct row_cursor {
    const view_row *row;
    uint64_t next; /* position of the slice after the buffer */
    size_t at, count;
    view_slice buffer[READ_AHEAD]; /* buffer[at] is the first slice that did not start yet */
    view_slice open;               /* the last that did */
    bool is_open;
    int sort;      /* view_context_sort of `open` */
    uint32_t node; /* of `open`, HD_NONE: not made yet */
} row_cursor;

typedef struct context_finder {
    const view_scene *scene;
    const hd_trace *trace;
    view_contexts *out;
    row_cursor *cursors; /* VIEW_CONTEXT_DEPTH */
    uint32_t cursor_count;
    uint64_t large; /* as hd_trace_large_bytes */
    hd_roles *roles;
} context_finder;

/* ---- what a slice is ---- */

static int sort_of(context_finder *f, const view_slice *slice)
{
    uint32_t at;
    hd_string name = view_scene_text(f->scene, slice->name);
    if (slice->row >= hd_trace_row_count(f->trace, HD_KIND_SLICE)) return NO_SORT;
    const hd_block *block = hd_trace_columns_of(&at, f->trace, HD_KIND_SLICE, slice->row);
    switch (hd_roles_in(f->roles, block, at, (uint32_t)hd_column_at(&block->columns[HD_COL_CATEGORY], at))) {
    case HD_ROLE_OP: return hd_is_profiler_step(name) ? NO_SORT : VIEW_CONTEXT_OPS;
    case HD_ROLE_ANNOTATION: return hd_is_profiler_step(name) ? NO_SORT : VIEW_CONTEXT_SCOPES;
    case HD_ROLE_PYTHON: return gpu_is_module(name) ? VIEW_CONTEXT_SCOPES : NO_SORT;
    default: return NO_SORT;
    }
}

/* ---- cursors ---- */

static void fill(row_cursor *cursor, const hd_trace *trace)
{
    cursor->at = 0;
    cursor->count = view_row_read(cursor->buffer, cursor->row, trace, cursor->next, READ_AHEAD);
    cursor->next += cursor->count;
}

static void begin_thread(context_finder *f, uint32_t track, int64_t time_ns)
{
    f->cursor_count = 0;
    if (track == HD_NONE) return;
    const view_track *thread = view_scene_track(f->scene, track);
    if (thread->kind != VIEW_SLICES || !atomic_load_explicit(&thread->ready, memory_order_acquire)) return;
    for (uint32_t i = 0; i < thread->rows.count && f->cursor_count < VIEW_CONTEXT_DEPTH; i++) {
        row_cursor *cursor = &f->cursors[f->cursor_count++];
        cursor->row = &thread->rows.rows[i];
        cursor->is_open = false;
        cursor->next = view_row_find(cursor->row, f->trace, time_ns);
        fill(cursor, f->trace);
    }
}

/* To the last slice that started at or before a time. */
static void advance(row_cursor *cursor, const hd_trace *trace, int64_t time_ns)
{
    while (cursor->at < cursor->count && cursor->buffer[cursor->at].start_ns <= time_ns) {
        cursor->open = cursor->buffer[cursor->at++];
        cursor->is_open = true;
        cursor->sort = UNKNOWN_SORT;
        cursor->node = HD_NONE;
        if (cursor->at == cursor->count) fill(cursor, trace);
    }
}

/* The node of the cursor's slice below another; HD_NONE: no memory. */
static uint32_t node_of(context_finder *f, row_cursor *cursor, uint32_t parent)
{
    view_contexts *out = f->out;
    int sort = cursor->sort;
    view_context_node *nodes = out->of[sort].nodes;
    if (cursor->node != HD_NONE && nodes[cursor->node].parent == parent) return cursor->node;
    uint32_t depth = parent == HD_NONE ? 1 : nodes[parent].depth + 1;
    if (!hd_large_grow((void **)&out->of[sort].nodes, &out->of[sort].capacity, out->of[sort].count, sizeof *nodes,
                       f->large))
        return HD_NONE;
    cursor->node = (uint32_t)out->of[sort].count++;
    out->of[sort].nodes[cursor->node] =
        (view_context_node){.parent = parent, .row = cursor->open.row, .name = cursor->open.name, .depth = depth};
    return cursor->node;
}

static bool find_of_launch(context_finder *f, size_t index, const hd_launch *launch)
{
    uint32_t nodes[VIEW_CONTEXT_SORTS] = {HD_NONE, HD_NONE};
    int64_t start = launch->start_ns, end = hd_end_or_last(start, launch->duration_ns);
    for (uint32_t i = 0; i < f->cursor_count; i++) {
        row_cursor *cursor = &f->cursors[i];
        advance(cursor, f->trace, start);
        if (!cursor->is_open || cursor->open.end_ns < end || cursor->open.row == launch->row) continue;
        if (cursor->sort == UNKNOWN_SORT) cursor->sort = sort_of(f, &cursor->open);
        if (cursor->sort == NO_SORT) continue;
        uint32_t node = node_of(f, cursor, nodes[cursor->sort]);
        if (node == HD_NONE) return false;
        nodes[cursor->sort] = node;
    }
    for (int sort = 0; sort < VIEW_CONTEXT_SORTS; sort++) f->out->of[sort].of_launch[index] = nodes[sort];
    return true;
}

/* ---- the whole ---- */

static bool find_all(context_finder *f, const hd_launches *launches, const atomic_bool *stop)
{
    uint32_t track = HD_NONE, shown = HD_NONE, tracks = hd_trace_track_count(f->trace);
    for (size_t i = 0; i < launches->launch_count; i++) {
        const hd_launch *launch = &launches->launches[i];
        if (i % 4096 == 0 && atomic_load(stop)) return true;
        if (i == 0 || launch->track != track) {
            track = launch->track;
            shown = track < tracks ? view_scene_track_of(f->scene, track, HD_KIND_SLICE) : HD_NONE;
            begin_thread(f, shown, launch->start_ns);
        }
        if (launch->work_count && !find_of_launch(f, i, launch)) return false;
    }
    return true;
}

hd_status view_contexts_find(view_contexts *out, const view_scene *scene, const atomic_bool *stop, hd_error *err)
{
    const hd_launches *launches = view_scene_launches(scene);
    context_finder f = {.scene = scene, .trace = view_scene_trace(scene), .out = out};
    *out = (view_contexts){0};
    if (!launches) return HD_OK;
    f.large = hd_trace_large_bytes(f.trace);
    f.cursors = malloc(VIEW_CONTEXT_DEPTH * sizeof *f.cursors);
    f.roles = view_scene_roles(scene);
    bool fine = f.cursors != NULL;
    for (int sort = 0; sort < VIEW_CONTEXT_SORTS && fine; sort++) {
        uint32_t *nodes = hd_large_new(launches->launch_count + 1, sizeof *nodes, f.large);
        out->of[sort].of_launch = nodes;
        fine = nodes != NULL;
        for (size_t i = 0; fine && i < launches->launch_count; i++) nodes[i] = HD_NONE;
    }
    fine = fine && find_all(&f, launches, stop);
    free(f.cursors);
    if (fine) return HD_OK;
    view_contexts_deinit(out);
    return HD_NOMEM(err);
}

void view_contexts_deinit(view_contexts *contexts)
{
    for (int sort = 0; sort < VIEW_CONTEXT_SORTS; sort++) {
        hd_large_free(contexts->of[sort].nodes);
        hd_large_free(contexts->of[sort].of_launch);
    }
    *contexts = (view_contexts){0};
}
