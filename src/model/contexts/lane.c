/* lane.c - the slices of one lane: nesting, and self time
 *
 * One sweep in start order keeps open slices on a stack. While slices nest, the whole stack encloses the next slice,
 * and its node is that of the slice on top plus one frame: a node is made when a slice below it is requested, and
 * cached. If slices cross, only those of the stack that end late enough enclose a slice; they are tested one by one.
 * That costs the depth of the stack each time, and millions of slices that all cross each other have more distinct
 * stacks than fit in memory; so once a lane has used CROSSING_STEPS per slice, each new slice removes those that do not
 * enclose it from the stack for good.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/contexts/impl.h"
#include "trace/spill.h"

enum { CROSSING_STEPS = 16 };

/* ---- roles ---- */

bool context_is_cpu(hd_role role, uint32_t category, uint32_t recording)
{
    return !hd_role_is_work(role) && role != HD_ROLE_SYNC && role != HD_ROLE_GPU_ANNOTATION && category != recording;
}

static hd_frame_kind frame_of(hd_role role)
{
    switch (role) {
    case HD_ROLE_OP: return HD_FRAME_OP;
    case HD_ROLE_PYTHON: return HD_FRAME_PYTHON;
    case HD_ROLE_ANNOTATION: return HD_FRAME_ANNOTATION;
    case HD_ROLE_RUNTIME:
    case HD_ROLE_DRIVER: return HD_FRAME_API;
    default: return HD_FRAME_NATIVE;
    }
}

/* ---- nodes ---- */

/* Whether frames of Python are known already, as slices or of a recorded stack. */
static bool has_frames(const context_sweep *s, uint32_t node)
{
    for (; node != HD_STACK_NONE; node = hd_stacks_at(s->stacks, node).caller) {
        hd_frame frame = hd_stacks_at(s->stacks, node);
        if (frame.kind == HD_FRAME_PYTHON || frame.name >= s->strings) return true;
    }
    return false;
}

/* The frames of a recorded stack above a node; HD_NONE: no memory. */
static uint32_t push_recorded(context_sweep *s, uint32_t caller, uint32_t stack)
{
    enum { FRAMES = 4096 };
    const hd_stacks *tree = hd_event_stacks_tree(s->recorded);
    uint32_t made = caller, path[FRAMES];
    size_t count = 0;
    if (hd_map_get(&made, &s->placed, caller, stack)) return made;
    for (uint32_t at = stack; at != HD_STACK_NONE && count < FRAMES; at = hd_stacks_at(tree, at).caller)
        path[count++] = at;
    while (count-- > 0) {
        hd_frame frame = hd_stacks_at(tree, path[count]);
        made = hd_stacks_push(s->stacks, made, s->strings + frame.name, frame.kind);
    }
    return made != HD_NONE && hd_map_set(&s->placed, caller, stack, made) ? made : HD_NONE;
}

/* The stack that the slice has as text, as Kineto's operators may have: between the slice and those around it. */
static uint32_t push_own(context_sweep *s, uint32_t caller, uint32_t at)
{
    hd_event event;
    hd_block_event(&event, s->block, at);
    uint32_t stack = hd_event_stacks_of_text(NULL, s->recorded, &event);
    return stack == HD_STACK_NONE || has_frames(s, caller) ? caller : push_recorded(s, caller, stack);
}

static uint32_t push_row(context_sweep *s, uint32_t caller, uint32_t row)
{
    uint32_t at;
    if (!s->block || row < s->block->first_row || row - s->block->first_row >= s->block->row_count)
        s->block = hd_trace_block_of(&at, s->trace, HD_KIND_SLICE, row);
    at = row - (uint32_t)s->block->first_row;
    uint32_t name = (uint32_t)hd_column_at(&s->block->columns[HD_COL_NAME], at);
    uint32_t category = (uint32_t)hd_column_at(&s->block->columns[HD_COL_CATEGORY], at);
    if (s->recorded) caller = push_own(s, caller, at);
    return hd_stacks_push(s->stacks, caller, name, frame_of(hd_roles_in(s->roles, s->block, at, category)));
}

/* The node of the stack's first `count` slices. */
static uint32_t node_of(context_sweep *s, size_t count)
{
    size_t known = count;
    while (known > 0 && s->open[known - 1].node == HD_NONE) known--;
    uint32_t node = known ? s->open[known - 1].node : HD_STACK_NONE;
    for (; known < count && node != HD_NONE; known++)
        node = s->open[known].node = push_row(s, node, s->open[known].row);
    return node;
}

/* ---- crossing slices ---- */

/* Whether a slice with this end has ended before the span began. If it ends exactly there, a span of length 0 is still
 * in it, unless another slice began. */
static inline bool has_ended(const context_sweep *s, int64_t end, const lane_span *span)
{
    return end < span->start || (end == span->start && s->latest_start == end);
}

/* How many slices from the bottom on enclose the span all together. least_end never grows. */
static size_t enclosing_prefix(const context_sweep *s, const lane_span *span)
{
    size_t low = 0, high = s->open_count;
    HD_PARTITION_POINT(low, high, at, s->open[at].least_end >= span->end && !has_ended(s, s->open[at].least_end, span));
    return low;
}

/* Above the prefix: removes ended slices, and if `strict` all that do not enclose the span. */
static void sieve(context_sweep *s, size_t prefix, const lane_span *span, bool strict)
{
    size_t kept = prefix;
    for (size_t i = prefix; i < s->open_count; i++) {
        context_open slice = s->open[i];
        if (has_ended(s, slice.end, span) || (strict && slice.end < span->end)) continue;
        int64_t below = kept ? s->open[kept - 1].least_end : INT64_MAX;
        if (kept < i) slice.node = HD_NONE; /* its caller has changed */
        slice.least_end = slice.end < below ? slice.end : below;
        s->open[kept++] = slice;
    }
    s->open_count = kept;
}

/* The node of a span that not all of the stack encloses. */
static uint32_t crossing_node(context_sweep *s, size_t prefix, const lane_span *span)
{
    uint32_t node = node_of(s, prefix);
    for (size_t i = prefix; i < s->open_count && node != HD_NONE; i++) {
        if (s->open[i].end >= span->end) node = push_row(s, node, s->open[i].row);
    }
    return node == HD_NONE ? node : push_row(s, node, span->ordinal);
}

/* ---- the sweep ---- */

/* Pushes the span onto the stack; returns its node if it is requested. */
static bool enter(context_sweep *s, lane_span *span)
{
    bool wanted = span->name == CONTEXT_WANTED, crosses = false;
    uint32_t node = HD_NONE;
    if (span->end > span->start) s->latest_start = span->start;
    while (s->open_count && has_ended(s, s->open[s->open_count - 1].end, span)) s->open_count--;
    size_t prefix = enclosing_prefix(s, span);
    if (prefix < s->open_count) {
        uint64_t steps = s->open_count - prefix;
        sieve(s, prefix, span, steps > s->budget);
        s->budget -= steps < s->budget ? steps : s->budget;
        prefix = enclosing_prefix(s, span);
        crosses = prefix < s->open_count;
        if (crosses && wanted) node = crossing_node(s, prefix, span);
    }
    if (!hd_grow((void **)&s->open, &s->open_capacity, s->open_count, sizeof *s->open)) return false;
    int64_t below = s->open_count ? s->open[s->open_count - 1].least_end : INT64_MAX;
    s->open[s->open_count++] = (context_open){
        .end = span->end, .least_end = span->end < below ? span->end : below, .row = span->ordinal, .node = HD_NONE};
    if (!wanted) return true;
    if (!crosses) node = node_of(s, s->open_count);
    span->name = node;
    return node != HD_NONE;
}

/* The part of [now, until) in the window, in ns. */
static int64_t in_window(const context_sweep *s, int64_t now, int64_t until)
{
    int64_t from = lane_floor(s->units, now), to = lane_floor(s->units, until), length;
    from = from > s->from ? from : s->from;
    to = to < s->until ? to : s->until;
    if (to <= from) return 0;
    return __builtin_sub_overflow(to, from, &length) ? INT64_MAX : length;
}

static void give(int64_t *self, int64_t length)
{
    if (__builtin_add_overflow(*self, length, self)) *self = INT64_MAX;
}

/* Assigns the time from `now` until `until` to slices; removes ended ones from the top. */
static void advance(context_sweep *s, int64_t *self, int64_t now, int64_t until)
{
    while (s->running_count) {
        struct context_running *top = &s->running[s->running_count - 1];
        int64_t stop = top->end < until ? top->end : until;
        if (stop > now) {
            give(&self[top->at], in_window(s, now, stop));
            now = stop;
        }
        if (top->end > until) return;
        s->running_count--;
    }
}

static bool sweep_time(context_sweep *s, int64_t *self, const lane_span *spans, uint32_t count)
{
    s->running_count = 0;
    memset(self, 0, count * sizeof *self);
    for (uint32_t i = 0; i < count; i++) {
        if (i) advance(s, self, spans[i - 1].start, spans[i].start);
        if (spans[i].end == spans[i].start) continue;
        if (!hd_grow((void **)&s->running, &s->running_capacity, s->running_count, sizeof *s->running)) return false;
        s->running[s->running_count++] = (struct context_running){.end = spans[i].end, .at = i};
    }
    if (count) advance(s, self, spans[count - 1].start, INT64_MAX);
    return true;
}

hd_status context_sweep_lane(context_sweep *sweep, hd_stacks *stacks, lane_span *spans, int64_t *self, uint32_t count,
                             hd_error *err)
{
    if (count > sweep->capacity) {
        hd_large_free(sweep->scratch);
        sweep->scratch =
            hd_large_new((size_t)count / 2 + 32, sizeof *sweep->scratch, hd_trace_large_bytes(sweep->trace));
        sweep->capacity = sweep->scratch ? count : 0;
        if (!sweep->scratch) return HD_NOMEM(err);
    }
    lane_sort(spans, count, sweep->scratch);
    sweep->open_count = 0;
    sweep->latest_start = INT64_MIN;
    sweep->budget = (uint64_t)count * CROSSING_STEPS;
    sweep->stacks = stacks;
    hd_map_clear(&sweep->placed);
    if (self && !sweep_time(sweep, self, spans, count)) return HD_NOMEM(err);
    for (uint32_t i = 0; i < count; i++) {
        if (!enter(sweep, &spans[i])) return HD_NOMEM(err);
    }
    return HD_OK;
}

void context_sweep_deinit(context_sweep *sweep)
{
    hd_large_free(sweep->scratch);
    free(sweep->open);
    free(sweep->running);
    hd_map_deinit(&sweep->placed);
}
