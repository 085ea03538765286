/* device_allocation.c - memory of the device is allocated or freed while the program runs */
#include <stdio.h>

#include "report/findings/finding.h"
#include "trace/event.h"

static bool is_one(hd_string name)
{
    static const char *const words[] = {"cudaMalloc",    "cudaFree",    "cudaHostAlloc", "cudaHostRegister",
                                        "cuMemAlloc",    "cuMemFree",   "hipMalloc",     "hipFree",
                                        "hipHostMalloc", "cuMemCreate", "cuMemRelease",  "cuMemMap"};
    if (findings_contains(name, "Async")) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (findings_contains(name, words[i])) return true;
    return false;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather_named(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    uint32_t longest = (uint32_t)hd_event_at(f->scope.trace, HD_KIND_SLICE, (uint64_t)of->ids[0]).name;
    snprintf(of->text, sizeof of->text, "Memory is allocated or freed for %s: %s, %llu calls.",
             findings_amount(amount, of), findings_short(name, f->scope.trace, longest),
             (unsigned long long)of->events);
    return HD_OK;
}

const finding_rule finding_device_allocation = {
    .about.code = "device-allocation",
    .about.severity = "warning",
    .about.meaning = "memory of the device is allocated or freed while the program runs",
    .about.advice =
        "Allocate once: PyTorch's caching allocator does after warm-up; if it still calls cudaMalloc, set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True or free memory. Elsewhere use cudaMallocAsync or a pool.",
    .find = find,
};
