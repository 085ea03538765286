/* attribution_given.c - GPU work whose slice names its stack itself */
#include <stdlib.h>

#include "base/error.h"
#include "base/vector.h"
#include "pass/attribution.h"

typedef struct given {
    hd_attribution *a;
    const hd_stacks *from;
    uint32_t *map; /* by node of `from`: node of a->stacks, HD_NONE: not asked for yet */
    uint32_t *chain;
    size_t chain_capacity;
} given;

/* The stack in a->stacks. HD_NONE: no memory. */
static uint32_t take_over(given *g, uint32_t node)
{
    size_t depth = 0;
    for (; g->map[node] == HD_NONE; node = hd_stacks_at(g->from, node).caller) {
        if (!hd_grow((void **)&g->chain, &g->chain_capacity, depth, sizeof *g->chain)) return HD_NONE;
        g->chain[depth++] = node;
    }
    uint32_t made = g->map[node];
    while (depth-- && made != HD_NONE) {
        hd_frame frame = hd_stacks_at(g->from, g->chain[depth]);
        hd_string text = hd_stacks_text(g->from, frame.name);
        made = hd_stacks_push(g->a->stacks, made, hd_stacks_name(g->a->stacks, text.data, text.size), frame.kind);
        g->map[g->chain[depth]] = made;
    }
    return made;
}

static hd_status take_works(given *g, const hd_trace *gpu, const hd_trace_stacks *stacks, hd_error *err)
{
    hd_attribution *a = g->a;
    const hd_block *block = NULL;
    for (size_t i = 0; i < a->launches.work_count; i++) {
        const hd_work *work = &a->launches.works[i];
        hd_event event;
        uint32_t at;
        if (!block || work->row < block->first_row || work->row - block->first_row >= block->row_count)
            block = hd_trace_block_of(gpu, HD_KIND_SLICE, work->row, &at);
        hd_block_event(&event, block, (uint32_t)(work->row - block->first_row));
        uint32_t node = hd_trace_stacks_of(stacks, &event);
        if (node == HD_STACK_NONE || a->work_rule[i] != HD_RULE_NONE) continue;
        node = take_over(g, node);
        if (node == HD_NONE) return HD_NOMEM(err);
        a->work_stack[i] = node;
        a->work_rule[i] = HD_RULE_GIVEN;
        if (work->launch == HD_NONE || work->graph_launch != HD_NONE || a->launch_rule[work->launch]) continue;
        a->launch_stack[work->launch] = node;
        a->launch_rule[work->launch] = HD_RULE_GIVEN;
    }
    return HD_OK;
}

hd_status attribution_from_given(hd_attribution *a, const hd_trace *gpu, const hd_attribution_options *options,
                                 hd_error *err)
{
    hd_trace_stacks *stacks = NULL;
    (void)options; /* whatever is wanted, what the trace says is so */
    if (a->launches.work_count == 0 || hd_trace_metadata_find(gpu, "stackFrames").size == 0) return HD_OK;
    hd_status status = hd_trace_stacks_open(&stacks, gpu, err);
    if (status == HD_ERR_DAMAGED) return HD_OK; /* stackFrames that cannot be read give no stacks */
    if (status != HD_OK) return status;
    given g = {.a = a, .from = hd_trace_stacks_tree(stacks)};
    uint32_t count = hd_stacks_count(g.from);
    g.map = malloc(count * sizeof *g.map);
    for (uint32_t i = 0; g.map && i < count; i++) g.map[i] = i == HD_STACK_NONE ? HD_STACK_NONE : HD_NONE;
    status = g.map ? take_works(&g, gpu, stacks, err) : HD_NOMEM(err);
    free(g.map);
    free(g.chain);
    hd_trace_stacks_free(stacks);
    return status;
}
