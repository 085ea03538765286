/* sync_copy.c - copies and memsets that return only when they are done */
#include <stdio.h>

#include "report/findings/finding.h"
#include "trace/event.h"

static bool is_one(const findings *f, const hd_work *work)
{
    (void)f;
    return work->role == HD_ROLE_COPY || work->role == HD_ROLE_SET;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_copies(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint32_t longest = (uint32_t)hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]).name;
    snprintf(of->text, sizeof of->text,
             "Copies and memsets that return only when they are done hold the host up for %s: %s.",
             findings_amount(amount, of), findings_short(name, f->scope.trace, longest));
    return HD_OK;
}

const finding_rule finding_sync_copy = {
    .about.code = "sync-copy",
    .about.severity = "warning",
    .about.meaning = "copies and memsets that return only when they are done",
    .about.advice = "Use cudaMemcpyAsync and cudaMemsetAsync with pinned memory on a stream of their own.",
    .find = find,
};
