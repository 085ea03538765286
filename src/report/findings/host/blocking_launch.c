/* blocking_launch.c - launches that return only when their kernel is done */
#include <stdio.h>

#include "model/host/syncs.h"
#include "report/findings/finding.h"

static bool is_one(const findings *f, uint32_t sync)
{
    return f->gaps.syncs.list[sync].user == HD_SYNC_LAUNCH;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char call[72], amount[96];
    HD_TRY(findings_gather_syncs(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    snprintf(of->text, sizeof of->text,
             "The host waits in the launch until the kernel is done, for %s, in %llu call%s: %s.",
             findings_amount(amount, of), (unsigned long long)of->events, FINDINGS_S(of->events),
             findings_longest(call, f, of));
    return HD_OK;
}

const finding_rule finding_blocking_launch = {
    .about.code = "blocking-launch",
    .about.severity = "warning",
    .about.meaning = "launches return only when their kernel is done",
    .about.advice = "Unset CUDA_LAUNCH_BLOCKING, HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL; let the runtime launch "
                    "asynchronously, so that the host prepares the next kernel meanwhile.",
    .find = find,
};
