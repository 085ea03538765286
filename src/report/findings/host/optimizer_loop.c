/* optimizer_loop.c - an optimizer that launches kernels for each parameter, and not for all at once */
#include <stdio.h>

#include "report/findings/finding.h"

enum { LEAST_LAUNCHES = 100 }; /* of a step: fused and foreach optimizers launch some tens */

static bool is_one(hd_string name)
{
    return findings_begins(name, "Optimizer.step#");
}

/* How many launches the last finding claims. */
static uint64_t count_launches(const findings *f)
{
    uint64_t count = 0;
    for (size_t i = f->claim_count; i-- > 0 && f->claims[i].of + 1 == f->count;) {
        uint32_t name = findings_name(f, f->claims[i].node);
        count += name != HD_STRING_NONE && findings_contains(hd_trace_string(f->scope.trace, name), "Launch");
    }
    return count;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_within(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint64_t launches = count_launches(f), each = of->events ? launches / of->events : 0;
    if (each < LEAST_LAUNCHES) {
        findings_drop(f);
        return HD_OK;
    }
    of->is_of_host = true;
    snprintf(of->text, sizeof of->text,
             "The optimizer takes the host %s, with %llu launches for each of %llu steps: %s.",
             findings_amount(amount, of), (unsigned long long)each, (unsigned long long)of->events,
             findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_optimizer_loop = {
    .about.code = "optimizer-loop",
    .about.severity = "warning",
    .about.meaning = "the optimizer launches kernels for each parameter",
    .about.advice = "Update all parameters at once: fused=True, or foreach=True, of torch.optim; Apex' or DeepSpeed's "
                    "fused optimizers; zero_grad(set_to_none=True).",
    .find = find,
};
