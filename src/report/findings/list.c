/* list.c - the table of rules, and how findings are ranked */
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "report/findings/finding.h"

/* The first rule that claims some time gets it: specific rules come before general ones. */
const finding_rule *const finding_rules[] = {
    &finding_overhead,
    &finding_data_loading,
    &finding_garbage_collection,
    &finding_recompilation,
    &finding_module_loading,
    &finding_allocator_retries,
    &finding_device_allocation,
    &finding_host_collectives,
    &finding_cpu_starved,
    &finding_sync_item,
    &finding_blocking_launch,
    &finding_pageable_copy,
    &finding_sync_copy,
    &finding_sync_call,
    &finding_small_collectives,
    &finding_uneven_collective,
    &finding_same_stream_communication,
    &finding_exposed_communication,
    &finding_same_stream_copy,
    &finding_exposed_copy,
    &finding_default_stream,
    &finding_event_wait,
    &finding_low_clock,
    &finding_tensor_cores,
    &finding_layout_conversions,
    &finding_data_shuffle,
    &finding_few_blocks,
    &finding_uneven_kernel,
    &finding_unfused_elementwise,
    &finding_unaligned_matmul,
    &finding_roofline_gap,
    &finding_low_occupancy,
    &finding_small_kernels,
    &finding_kernel_hotspot,
    &finding_gpu_bound,
    &finding_optimizer_loop,
    &finding_launch_bound,
    &finding_host_bound,
    &finding_idle_unknown,
    &finding_slow_first_step,
    &finding_slow_step,
    &finding_slow_layer,
    &finding_data_parallel,
    &finding_memory_limit,
    &finding_memory_fragments,
    &finding_memory_growth,
    &finding_missing_data,
    NULL,
};

/* Drops findings that are known to save less than a hundredth, now and later. */
static void keep_worthy(findings *f)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const finding *of = &f->list[i];
        if (of->how == FINDING_NOT_KNOWN || findings_is_worth(f, of->saves) || of->then != HD_NO_TIME)
            f->list[kept++] = *of;
    }
    f->count = kept;
}

static void set_trust(findings *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        finding *of = &f->list[i];
        if (of->trust_reason) continue;
        if (of->is_of_host && f->is_slowed)
            of->trust_reason = "Python's functions were recorded (with_stack), which slows the host";
        else if ((of->is_of_host || of->frees_waits) && !f->is_complete)
            of->trust_reason = "of some activities the launch, or of some waits the cause, is not in the trace";
        else if (of->may_overlap)
            of->trust_reason = "more is saved if the streams of the device overlap more than they did";
    }
}

/* Sort order: findings that save something, then unknown ones, then those that save something only later. What includes
 * waiting for ranks that are not in the trace is ranked by its amount among the first: all of it may be saved. */
enum { SAVES, UNKNOWN, LATER };

static int class_of(const finding *of)
{
    if (of->how == FINDING_NOT_KNOWN) return of->has_other_ranks ? SAVES : UNKNOWN;
    return of->saves > 0 ? SAVES : LATER;
}

static int64_t most_saved(const finding *of)
{
    return of->how == FINDING_NOT_KNOWN ? of->amount : of->saves > 0 ? of->saves : of->then;
}

static int by_rank(const void *a, const void *b)
{
    const finding *x = a, *y = b;
    int c = class_of(x), d = class_of(y);
    if (c != d) return c < d ? -1 : 1;
    int64_t p = most_saved(x), q = most_saved(y);
    if (p != q) return p > q ? -1 : 1;
    if (!x->trust_reason != !y->trust_reason) return x->trust_reason ? 1 : -1;
    return strcmp(x->text, y->text);
}

void findings_rank(findings *f)
{
    if (f->count) hd_sort(f->list, f->count, sizeof *f->list, by_rank);
}

_Static_assert(sizeof finding_rules / sizeof *finding_rules == FINDING_RULES + 1, "FINDING_RULES");

hd_status findings_find(void *user, hd_error *err)
{
    findings *out = user;
    HD_TRY(findings_prepare(out, err));
    if (!out->scope.device_count || out->until <= out->from) return HD_OK;
    for (const finding_rule *const *rule = finding_rules; *rule; rule++) {
        if ((*rule)->find) HD_TRY((*rule)->find(out, *rule, err));
        findings_end_phase(out, 1);
    }
    HD_TRY(findings_bound(out, err));
    findings_end_phase(out, FINDING_BOUNDS);
    keep_worthy(out);
    set_trust(out);
    findings_release(out);
    findings_rank(out);
    return HD_OK;
}
