/* pageable_copy.c - copies of memory that is not pinned, for which the host waits */
#include "model/host/syncs.h"
#include "report/findings/finding.h"

static bool is_one(const findings *f, const hd_work *work)
{
    return hd_is_pageable_copy(f->scope.trace, work);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_copies(f, rule, is_one, "Copies of pageable memory make the host wait", err);
}

const finding_rule finding_pageable_copy = {
    .about.code = "pageable-copy",
    .about.severity = "warning",
    .about.meaning = "copies of memory that is not pinned make the host wait",
    .about.advice = "Pin the memory and do not wait: DataLoader(pin_memory=True), tensor.pin_memory(), .to(device, "
                    "non_blocking=True); cudaHostAlloc elsewhere.",
    .plain_advice = "Pin the memory (cudaMallocHost, cudaHostRegister, hipHostMalloc) and copy with cudaMemcpyAsync on "
                    "a stream of its own while kernels run; one large copy in place of several.",
    .find = find,
};
