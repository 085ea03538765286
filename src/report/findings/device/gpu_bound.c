/* gpu_bound.c - the GPU sets the pace, with kernels of which no other rule knows anything */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_compute(const findings *f, uint32_t node, void *user)
{
    (void)user;
    return findings_is_of_class(f, node, GPU_COMPUTE) && findings_is_untouched(f, node);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96];
    HD_TRY(findings_gather(&of, f, rule, f->first_work, is_compute, NULL, err));
    if (!of) return HD_OK;
    snprintf(of->text, sizeof of->text, "The %s sets the pace: it computes for %s, with many kernels.", f->device_kind,
             findings_amount(amount, of));
    return HD_OK;
}

const finding_rule finding_gpu_bound = {
    .about.code = "gpu-bound",
    .about.severity = "note",
    .about.meaning = "the GPU sets the pace, and no single kernel dominates",
    .about.advice =
        "Make kernels faster or fewer: heddle report kernels, operators and flops; lower precision, torch.compile for "
        "fusion, FlashAttention.",
    .plain_advice = "Make kernels faster or fewer: heddle report kernels lists them; fewer bytes (fusion, smaller "
                    "types, better reuse in shared memory), libraries for what they have.",
    .find = find,
    .least_part = 2,
};
