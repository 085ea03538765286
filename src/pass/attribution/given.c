/* given.c - GPU activities, and the calls that launch them, whose slices have their own stacks */
#include "base/error.h"
#include "model/stacks/event_stacks.h"
#include "pass/attribution/attribution.h"
#include "pass/attribution/map.h"
#include "trace/spill.h"

/* The node of a slice's own stack in the attribution's tree: HD_STACK_NONE: no stack, HD_NONE: no memory. `block`: the
 * block of the previous slice. */
static uint32_t node_of(attribution_map *map, const hd_trace *gpu, const hd_event_stacks *stacks,
                        const hd_block **block, uint64_t row)
{
    hd_event event;
    uint32_t at;
    if (!*block || row < (*block)->first_row || row - (*block)->first_row >= (*block)->row_count)
        *block = hd_trace_block_of(&at, gpu, HD_KIND_SLICE, row);
    hd_block_event(&event, *block, (uint32_t)(row - (*block)->first_row));
    uint32_t node = hd_event_stacks_of(NULL, stacks, &event);
    return node == HD_STACK_NONE ? HD_STACK_NONE : attribution_map_node(map, node);
}

static hd_status take_works(hd_attribution *a, attribution_map *map, const hd_trace *gpu, const hd_event_stacks *stacks,
                            hd_error *err)
{
    const hd_block *block = NULL;
    for (size_t i = 0; i < a->launches->work_count; i++) {
        const hd_work *work = &a->launches->works[i];
        if (a->work_rule[i] != HD_RULE_NONE) continue;
        uint32_t node = node_of(map, gpu, stacks, &block, work->row);
        if (node == HD_STACK_NONE) continue;
        if (node == HD_NONE) return HD_NOMEM(err);
        a->work_stack[i] = node;
        a->work_rule[i] = HD_RULE_GIVEN;
        bool is_of_graph = work->graph_launch != HD_NONE ||
                           (work->launch != HD_NONE && a->launches->launches[work->launch].sort == HD_LAUNCH_GRAPH);
        if (work->launch == HD_NONE || is_of_graph || a->launch_rule[work->launch]) continue;
        a->launch_stack[work->launch] = node;
        a->launch_rule[work->launch] = HD_RULE_GIVEN;
    }
    return HD_OK;
}

/* The stack of a call's slice takes precedence over that of its activity. */
static hd_status take_launches(hd_attribution *a, attribution_map *map, const hd_trace *gpu,
                               const hd_event_stacks *stacks, hd_error *err)
{
    const hd_block *block = NULL;
    for (size_t i = 0; i < a->launches->launch_count; i++) {
        uint32_t node = node_of(map, gpu, stacks, &block, a->launches->launches[i].row);
        if (node == HD_STACK_NONE) continue;
        if (node == HD_NONE) return HD_NOMEM(err);
        a->launch_stack[i] = node;
        a->launch_rule[i] = HD_RULE_GIVEN;
    }
    return HD_OK;
}

static hd_status take_all(hd_attribution *a, const hd_trace *gpu, const hd_event_stacks *stacks, hd_error *err)
{
    attribution_map map;
    bool made = attribution_map_init(&map, a->stacks, hd_event_stacks_tree(stacks), hd_trace_large_bytes(gpu));
    hd_status status = made ? take_launches(a, &map, gpu, stacks, err) : HD_NOMEM(err);
    if (status == HD_OK) status = take_works(a, &map, gpu, stacks, err);
    attribution_map_deinit(&map);
    return status;
}

hd_status attribution_from_given(hd_attribution *a, const hd_trace *gpu, const hd_attribution_options *options,
                                 hd_error *err)
{
    hd_event_stacks *stacks;
    (void)options; /* stacks in the trace are used whatever the options */
    if (a->launches->work_count == 0) return HD_OK;
    HD_TRY(hd_event_stacks_new(&stacks, gpu, err));
    bool any = hd_stacks_count(hd_event_stacks_tree(stacks)) > 1;
    hd_status status = any ? take_all(a, gpu, stacks, err) : HD_OK;
    hd_event_stacks_free(stacks);
    return status;
}
