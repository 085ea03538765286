/* sync_copy.c - copies and memsets that return only when they are done */
#include "report/findings/finding.h"

static bool is_one(const findings *f, const hd_work *work)
{
    (void)f;
    return work->role == HD_ROLE_COPY || work->role == HD_ROLE_SET;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_copies(f, rule, is_one,
                                "Copies and memsets that return only when they are done hold the host up", err);
}

const finding_rule finding_sync_copy = {
    .about.code = "sync-copy",
    .about.severity = "warning",
    .about.meaning = "copies and memsets that return only when they are done",
    .about.advice = "Use cudaMemcpyAsync and cudaMemsetAsync with pinned memory on a stream of their own.",
    .find = find,
};
