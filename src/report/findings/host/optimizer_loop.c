/* optimizer_loop.c - an optimizer that launches kernels for each parameter, and not for all at once */
#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"

enum { LEAST_LAUNCHES = 100 }; /* of a step: fused and foreach optimizers launch some tens */

static bool is_one(hd_string name)
{
    return findings_begins(name, "Optimizer.step#");
}

/* How many launches the last finding claims, by the rows of their calls; UINT64_MAX: no memory. */
static uint64_t count_launches(const findings *f)
{
    const hd_launches *l = f->scope.launches;
    uint64_t count = 0;
    uint8_t *rows = calloc(hd_trace_row_count(f->scope.trace, HD_KIND_SLICE) / 8 + 1, 1);
    if (!rows) return UINT64_MAX;
    for (size_t i = f->claim_count; i-- > 0 && f->claims[i].of + 1 == f->count;) {
        uint32_t row = f->graph->slices[f->claims[i].node];
        if (row != HD_NONE) rows[row / 8] |= (uint8_t)(1u << row % 8);
    }
    for (size_t i = 0; i < l->launch_count; i++) count += rows[l->launches[i].row / 8] >> l->launches[i].row % 8 & 1;
    free(rows);
    return count;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_within(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint64_t launches = count_launches(f), each = of->events ? launches / of->events : 0;
    if (launches == UINT64_MAX) return HD_NOMEM(err);
    if (each < LEAST_LAUNCHES) {
        findings_drop(f);
        return HD_OK;
    }
    of->is_of_host = true;
    snprintf(of->text, sizeof of->text,
             "Without its waits, the optimizer takes the host %s, with %llu launches a step: %s, %llu call%s.",
             findings_amount(amount, of), (unsigned long long)each, findings_longest(name, f, of),
             (unsigned long long)of->events, FINDINGS_S(of->events));
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
