/* small_kernels.c - a GPU that is the limit, with kernels too short to fill it */
#include <stdio.h>

#include "report/findings/finding.h"

enum { SHORT_NS = 10000 };

static bool is_one(const findings *f, uint32_t node, void *user)
{
    (void)user;
    return findings_is_of_class(f, node, GPU_COMPUTE) && gpu_duration(findings_work(f, node)) < SHORT_NS;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96];
    HD_TRY(findings_gather(&of, f, rule, f->first_work, is_one, NULL, err));
    if (!of) return HD_OK;
    snprintf(of->text, sizeof of->text, "The %s runs %llu kernels shorter than 10us one after the other, for %s.",
             f->device_kind, (unsigned long long)of->events, findings_amount(amount, of));
    return HD_OK;
}

const finding_rule finding_small_kernels = {
    .about.code = "small-kernels",
    .about.severity = "warning",
    .about.meaning = "kernels shorter than 10 us take a fifth of the critical path",
    .about.advice =
        "Fuse them: torch.compile, fused optimizers (fused=True), larger batches; streams side by side where they "
        "do not need one another.",
    .plain_advice = "Fuse them, or give each more to do (batches, larger tiles of the domain); CUDA or HIP graphs; "
                    "streams side by side where they do not need one another.",
    .find = find,
    .least_part = 5,
};
