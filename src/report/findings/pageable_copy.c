/* pageable_copy.c - copies of memory that is not pinned, for which the host waits */
#include <stdio.h>

#include "model/host/syncs.h"
#include "report/findings/finding.h"
#include "trace/event.h"

static bool is_one(const findings *f, const hd_work *work)
{
    return hd_is_pageable_copy(f->scope.trace, work);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_copies(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint32_t longest = (uint32_t)hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]).name;
    snprintf(of->text, sizeof of->text, "Copies of pageable memory make the host wait for %s: %s.",
             findings_amount(amount, of), findings_short(name, f->scope.trace, longest));
    return HD_OK;
}

const finding_rule finding_pageable_copy = {
    .about.code = "pageable-copy",
    .about.severity = "warning",
    .about.meaning = "copies of memory that is not pinned make the host wait",
    .about.advice = "Pin the memory and do not wait: DataLoader(pin_memory=True), tensor.pin_memory(), .to(device, "
                    "non_blocking=True); cudaHostAlloc elsewhere.",
    .find = find,
};
