/* unfused_elementwise.c - elementwise kernels one after the other, each of which reads and writes all of memory */
#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"

/* Kernels of PyTorch and of XLA; kernels of Triton are fused already. */
static bool is_elementwise(hd_string name)
{
    static const char *const words[] = {"elementwise_kernel", "CUDAFunctor", "EigenMetaKernel"};
    return FINDINGS_HAS(name, words);
}

/* Of nodes [from, until), which run one after the other: a kernel fused of them takes no less than the shortest. */
static bool claim_run(findings *f, uint32_t from, uint32_t until)
{
    uint32_t shortest = from;
    for (uint32_t n = from; n < until; n++)
        if (findings_left(f, n) < findings_left(f, shortest)) shortest = n;
    for (uint32_t n = from; until - from > 1 && n < until; n++)
        if (n != shortest && !findings_claim(f, n, INT64_MAX)) return false;
    return true;
}

static bool claim_lane(findings *f, const uint8_t *names, const hd_graph_lane *lane)
{
    uint32_t from = lane->first_node, end = from + lane->node_count;
    for (uint32_t n = from; n < end; n++) {
        uint32_t name = findings_name(f, n);
        if (name != HD_STRING_NONE && names[name] && findings_is_of_class(f, n, GPU_COMPUTE)) continue;
        if (n > from && !claim_run(f, from, n)) return false;
        from = n + 1;
    }
    return from >= end || claim_run(f, from, end);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    const hd_graph *g = f->graph;
    bool any;
    uint8_t *names = findings_choose_names(&any, f, is_elementwise);
    bool fine = names && findings_add(f, rule);
    for (uint32_t l = 0; fine && any && l < g->lane_count; l++)
        if (g->lanes[l].is_queue) fine = claim_lane(f, names, &g->lanes[l]);
    free(names);
    if (!fine) return HD_NOMEM(err);
    HD_TRY(findings_keep(&of, f, err));
    if (!of) return HD_OK;
    snprintf(of->text, sizeof of->text,
             "Elementwise kernels follow one another, and each reads and writes memory again: %llu that could be part "
             "of the one before or after run for %s: %s.",
             (unsigned long long)of->events, findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_unfused_elementwise = {
    .about.code = "unfused-elementwise",
    .about.severity = "warning",
    .about.meaning = "consecutive elementwise kernels could be fused into one",
    .about.advice = "Fuse them: torch.compile, jax.jit, a Triton kernel, or fused variants (FusedLayerNorm, SwiGLU, "
                    "dropout and bias in one, fused optimizers).",
    .find = find,
    .least_part = 20,
};
