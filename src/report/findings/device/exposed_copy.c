/* exposed_copy.c - copies that nothing hides */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_copy(const findings *f, uint32_t node, void *user)
{
    (void)user;
    return findings_is_of_class(f, node, GPU_COPY);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96], name[72];
    int64_t exposed = 0;
    HD_TRY(findings_gather(&of, f, rule, is_copy, NULL, err));
    if (!of) return HD_OK;
    for (uint32_t d = 0; d < f->scope.device_count; d++) {
        int64_t others = findings_busy(f, d, 1u << GPU_COMPUTE | 1u << GPU_COMMUNICATION);
        if (others < 0) return HD_NOMEM(err);
        if (f->busiest[d] - others <= exposed) continue;
        exposed = f->busiest[d] - others;
        of->device = d;
    }
    if (exposed < of->amount) of->amount = exposed; /* what other findings have of the copies is not here */
    if (!findings_is_worth(f, of->amount)) {
        findings_drop(f);
        return HD_OK;
    }
    snprintf(of->text, sizeof of->text, "Copies that nothing hides take %s; the longest is %s.",
             findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_exposed_copy = {
    .about.code = "exposed-copy",
    .about.severity = "warning",
    .about.meaning = "copies during which the GPU does nothing else",
    .about.advice =
        "Copy on a stream of its own while the step before computes (prefetch), from pinned memory; keep on the GPU "
        "what is needed again.",
    .find = find,
};
