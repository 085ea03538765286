/* device_allocation.c - memory of the device is allocated or freed while the program runs */
#include "model/roles/sync_calls.h"
#include "report/findings/finding.h"

static bool is_one(hd_string name)
{
    return hd_is_memory_call(name) && !hd_string_holds(name, "Async");
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    return findings_find_named(f, rule, is_one, "Memory is allocated or freed", "calls", err);
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
