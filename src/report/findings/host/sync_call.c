/* sync_call.c - calls that wait for a stream, an event or all of a device */
#include <stdio.h>

#include "model/host/syncs.h"
#include "report/findings/finding.h"

static bool is_one(const findings *f, uint32_t sync)
{
    return f->gaps.syncs.list[sync].user != HD_SYNC_COPY && f->gaps.syncs.list[sync].user != HD_SYNC_LAUNCH;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char call[72], op[72], amount[96], of_line[96];
    HD_TRY(findings_gather_syncs(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    HD_TRY(findings_line_of_longest(of_line, f, err));
    uint32_t sync = findings_sync_of(f, (uint64_t)of->ids[0]), around = f->sync_ops[sync];
    snprintf(of->text, sizeof of->text, "The host waits for the %s for %s, in %llu call%s: %s%s%s%s.", f->device_kind,
             findings_amount(amount, of), (unsigned long long)of->events, FINDINGS_S(of->events),
             findings_short(call, f->scope.trace, f->gaps.syncs.list[sync].name),
             around == HD_STRING_NONE ? "" : " in ", findings_short(op, f->scope.trace, around), of_line);
    return HD_OK;
}

const finding_rule finding_sync_call = {
    .about.code = "sync-call",
    .about.severity = "warning",
    .about.meaning = "calls that wait for the GPU keep the host from running ahead",
    .about.advice =
        "Wait for an event only where the result is read; leave out torch.cuda.synchronize() and timers that call it; "
        "order streams by events (cudaStreamWaitEvent).",
    .plain_advice = "Wait only before a result is read or sent: leave out cudaDeviceSynchronize between kernels of one "
                    "stream, order streams by events (cudaStreamWaitEvent), exchange halos while inner points are "
                    "computed; CUDA-aware MPI.",
    .find = find,
};
