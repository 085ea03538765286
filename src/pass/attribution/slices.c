/* slices.c - takes the slices that enclose a launch on its thread as its stack
 *
 * python_function, cpu_op, user_annotation and all other open slices, outermost first, the call itself last. A trace
 * with only API calls gives stacks of one frame, "cudaLaunchKernel", which is correct.
 *
 * A launch in a backward op (options->forward) is placed under the forward op: that op's stack, a mark "[backward]",
 * then its own stack. Of nested backward ops the innermost with a forward op counts. Deep stacks under many forward ops
 * would exceed memory: once BACKWARD_FRAMES per launch, and some millions, are used, launches keep their own stacks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"
#include "base/sorted.h"
#include "model/contexts/contexts.h"
#include "model/flows/forward.h"
#include "pass/attribution/attribution.h"
#include "trace/event.h"
#include "trace/spill.h"

/* A slice whose context is needed. */
typedef struct asked {
    uint64_t row;
    uint32_t launch;   /* index; HD_NONE: none, or one that already has a stack */
    uint32_t backward; /* index in pairs; HD_NONE: none */
    uint32_t node;     /* HD_STACK_NONE until the sweep reaches it */
    uint32_t within;   /* of a launch: index in pairs of the innermost op around it */
} asked;

/* An open backward op. */
typedef struct open_op {
    int64_t end_ns;
    uint32_t pair;
} open_op;

typedef struct slices_join {
    hd_attribution *a;
    asked *list; /* by row, each once */
    uint64_t *rows;
    size_t count, last; /* the last result */
    forward_pair *pairs;
    size_t pair_count;
    open_op *open; /* of the current lane, innermost last; each ends before those below it */
    size_t open_count, open_capacity;
    uint32_t track;
    uint32_t *frames; /* of one stack */
    size_t frame_capacity;
    uint64_t frames_left; /* that may be put upon forward ops */
} slices_join;

/* ---- options ---- */

static int by_row(const void *x, const void *y)
{
    const asked *a = x, *b = y;
    return (a->row > b->row) - (a->row < b->row);
}

static asked plain(uint64_t row)
{
    return (asked){.row = row, .launch = HD_NONE, .backward = HD_NONE, .node = HD_STACK_NONE, .within = HD_NONE};
}

/* Merges entries of the same row. */
static bool unite(slices_join *j, uint64_t large)
{
    size_t kept = 0;
    if (!hd_large_sort(j->list, j->count, sizeof *j->list, by_row, large)) return false;
    for (size_t i = 0; i < j->count; i++) {
        asked *last = kept ? &j->list[kept - 1] : NULL;
        if (!last || last->row != j->list[i].row) {
            j->list[kept++] = j->list[i];
            continue;
        }
        if (j->list[i].launch != HD_NONE) last->launch = j->list[i].launch;
        if (j->list[i].backward != HD_NONE) last->backward = j->list[i].backward;
    }
    j->count = kept;
    for (size_t i = 0; i < kept; i++) j->rows[i] = j->list[i].row;
    return true;
}

static bool ask(slices_join *j, uint64_t large)
{
    const hd_launches *launches = j->a->launches;
    size_t most = launches->launch_count + 2 * j->pair_count + 1;
    j->list = hd_large_new(most, sizeof *j->list, large);
    j->rows = hd_large_new(most, sizeof *j->rows, large);
    if (!j->list || !j->rows) return false;
    for (size_t i = 0; i < launches->launch_count; i++) {
        if (j->a->launch_rule[i] != HD_RULE_NONE) continue;
        j->list[j->count] = plain(launches->launches[i].row);
        j->list[j->count++].launch = (uint32_t)i;
    }
    if (j->count == 0) return true;
    for (size_t i = 0; i < j->pair_count; i++) {
        j->list[j->count] = plain(j->pairs[i].backward);
        j->list[j->count++].backward = (uint32_t)i;
        j->list[j->count++] = plain(j->pairs[i].forward);
    }
    return unite(j, large);
}

/* Rows of a lane are mostly requested in order. */
static asked *find(slices_join *j, uint64_t row)
{
    const asked key = {.row = row};
    if (j->last + 1 < j->count && j->list[j->last + 1].row == row) return &j->list[++j->last];
    asked *found = bsearch(&key, j->list, j->count, sizeof *j->list, by_row);
    if (found) j->last = (size_t)(found - j->list);
    return found;
}

/* ---- contexts ---- */

/* The innermost open backward op that ends at `end` or later. Ends grow downward. */
static uint32_t op_around(const slices_join *j, int64_t end)
{
    size_t low = 0, high = j->open_count;
    HD_PARTITION_POINT(low, high, at, j->open[at].end_ns >= end);
    return low ? j->open[low - 1].pair : HD_NONE;
}

static bool meet(slices_join *j, const hd_context *context)
{
    asked *slice = find(j, context->row);
    if (!slice) return true;
    int64_t end = hd_end_or_last(context->start_ns, context->duration_ns);
    slice->node = context->node;
    if (context->track != j->track) j->open_count = 0;
    j->track = context->track;
    while (j->open_count && j->open[j->open_count - 1].end_ns < context->start_ns) j->open_count--;
    if (slice->backward != HD_NONE) {
        /* An op that ends no later than this one is never the innermost again. */
        while (j->open_count && j->open[j->open_count - 1].end_ns <= end) j->open_count--;
        if (!hd_grow((void **)&j->open, &j->open_capacity, j->open_count, sizeof *j->open)) return false;
        j->open[j->open_count++] = (open_op){.end_ns = end, .pair = slice->backward};
    }
    if (slice->launch != HD_NONE) slice->within = op_around(j, end);
    return true;
}

static hd_status take(void *user, const hd_context *contexts, size_t count, hd_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!meet(user, &contexts[i])) return HD_NOMEM(err);
    }
    return HD_OK;
}

/* ---- stacks ---- */

enum { BACKWARD_FRAMES = 256, BACKWARD_FRAMES_LEAST = 1 << 23 };

/* The frames of `node` upon `base`; HD_NONE: no memory. */
static uint32_t put_upon(slices_join *j, uint32_t base, uint32_t node)
{
    hd_stacks *stacks = j->a->stacks;
    size_t depth = 0;
    for (uint32_t at = node; at != HD_STACK_NONE; at = hd_stacks_at(stacks, at).caller) {
        if (!hd_grow((void **)&j->frames, &j->frame_capacity, depth, sizeof *j->frames)) return HD_NONE;
        j->frames[depth++] = at;
    }
    while (depth-- && base != HD_NONE) {
        hd_frame frame = hd_stacks_at(stacks, j->frames[depth]);
        base = hd_stacks_push(stacks, base, frame.name, frame.kind);
    }
    return base;
}

/* The launch's stack on top of that of the forward op, if known. */
static uint32_t under_forward(slices_join *j, const asked *slice)
{
    static const char mark[] = "[backward]";
    if (slice->within == HD_NONE) return slice->node;
    const asked *forward = find(j, j->pairs[slice->within].forward);
    if (!forward || forward->node == HD_STACK_NONE) return slice->node;
    uint32_t depth = hd_stacks_at(j->a->stacks, slice->node).depth;
    if (depth > j->frames_left) return slice->node;
    j->frames_left -= depth;
    uint32_t name = hd_stacks_name(j->a->stacks, mark, sizeof mark - 1);
    uint32_t base = hd_stacks_push(j->a->stacks, forward->node, name, HD_FRAME_MARK);
    j->a->forward_joined += j->a->launches->launches[slice->launch].work_count;
    return put_upon(j, base, slice->node);
}

static hd_status settle(slices_join *j, hd_error *err)
{
    j->frames_left = (uint64_t)j->count * BACKWARD_FRAMES + BACKWARD_FRAMES_LEAST;
    for (size_t i = 0; i < j->count; i++) {
        const asked *slice = &j->list[i];
        if (slice->launch == HD_NONE || slice->node == HD_STACK_NONE) continue;
        uint32_t node = under_forward(j, slice);
        if (node == HD_NONE) return HD_NOMEM(err);
        j->a->launch_stack[slice->launch] = node;
        j->a->launch_rule[slice->launch] = HD_RULE_SLICES;
    }
    return HD_OK;
}

hd_status attribution_from_slices(hd_attribution *a, const hd_trace *gpu, const hd_attribution_options *options,
                                  hd_error *err)
{
    slices_join j = {.a = a, .track = HD_NONE};
    hd_status status = options->forward ? forward_pairs(&j.pairs, &j.pair_count, gpu, err) : HD_OK;
    if (status == HD_OK && !ask(&j, hd_trace_large_bytes(gpu))) status = HD_NOMEM(err);
    if (status == HD_OK && j.count) {
        const hd_context_options wanted = {.rows = j.rows, .row_count = j.count, .threads = options->threads};
        status = hd_contexts_walk(a->stacks, gpu, &wanted, take, &j, err);
        if (status == HD_OK) status = settle(&j, err);
    }
    hd_large_free(j.pairs);
    hd_large_free(j.list);
    hd_large_free(j.rows);
    free(j.open);
    free(j.frames);
    return status;
}
