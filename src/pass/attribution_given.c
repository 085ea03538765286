/* attribution_given.c - GPU work whose slice names its stack itself */
#include "base/error.h"
#include "pass/attribution.h"
#include "pass/attribution_map.h"

static hd_status take_works(hd_attribution *a, attribution_map *map, const hd_trace *gpu, const hd_trace_stacks *stacks,
                            hd_error *err)
{
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
        node = attribution_map_node(map, node);
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
    attribution_map map;
    status = attribution_map_init(&map, a->stacks, hd_trace_stacks_tree(stacks)) ? take_works(a, &map, gpu, stacks, err)
                                                                                 : HD_NOMEM(err);
    attribution_map_deinit(&map);
    hd_trace_stacks_free(stacks);
    return status;
}
