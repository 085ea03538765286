/* few_blocks.c - kernels with fewer blocks than the GPU has multiprocessors: the others have nothing to do */
#include <stdio.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"

/* With b blocks for each multiprocessor, b < 1, as fast as now on all of them it needs b of its time. */
static bool claim_idle(findings *f, const double *blocks)
{
    bool fine = true;
    for (uint32_t n = f->first_work; fine && n < f->graph->node_count; n++) {
        const gpu_work *work = findings_work(f, n);
        double each = blocks[f->works[n - f->first_work]];
        if (work->class != GPU_COMPUTE || !(each > 0 && each < 1)) continue;
        fine = findings_claim(f, n, (int64_t)((1 - each) * (double)gpu_duration(work)));
    }
    return fine;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    double *blocks;
    char name[72], amount[96];
    HD_TRY(findings_read_numbers(&blocks, f, "blocks per SM", err));
    if (!blocks) return HD_OK;
    bool fine = findings_add(f, rule) && claim_idle(f, blocks);
    hd_large_free(blocks);
    if (!fine) return HD_NOMEM(err);
    HD_TRY(findings_keep(&of, f, err));
    if (!of) return HD_OK;
    snprintf(of->text, sizeof of->text,
             "%llu kernels have fewer blocks than the GPU has multiprocessors, which costs %s: %s.",
             (unsigned long long)of->events, findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_few_blocks = {
    .about.code = "few-blocks",
    .about.severity = "warning",
    .about.meaning = "kernels have fewer blocks than the GPU has multiprocessors",
    .about.advice =
        "Give a kernel more to do at once: larger batches, split-k or stream-k matrix products, batched or "
        "grouped kernels (torch.bmm, foreach), several streams; heddle report kernels --by grid lists them.",
    .find = find,
    .least_part = 20,
};
