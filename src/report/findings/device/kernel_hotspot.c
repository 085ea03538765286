/* kernel_hotspot.c - one kernel that takes much of the critical path */
#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"

enum { LEAST_PART = 4 }; /* a quarter of the whole */

static bool is_name(const findings *f, uint32_t node, void *user)
{
    return findings_is_of_class(f, node, GPU_COMPUTE) && findings_is_untouched(f, node) &&
           findings_name(f, node) == *(const uint32_t *)user;
}

/* The name of the kernels that take most, on the path or in all, and how much. HD_STRING_NONE: there are none; false:
 * no memory. */
static bool find_name(uint32_t *out, int64_t *out_ns, const findings *f, bool is_on_path)
{
    int64_t *sums = calloc(hd_trace_string_count(f->scope.trace) + 1, sizeof *sums);
    *out = HD_STRING_NONE;
    for (uint32_t n = f->first_work; sums && n < f->graph->node_count; n++) {
        const gpu_work *work = findings_work(f, n);
        uint32_t name = findings_name(f, n);
        if (work->class != GPU_COMPUTE || work->device == HD_NONE || name == HD_STRING_NONE ||
            !findings_is_untouched(f, n))
            continue;
        int64_t time = is_on_path ? findings_on_path(f, n) : findings_left(f, n);
        sums[name] = gpu_sum(sums[name], time);
        if (time > 0 && (*out == HD_STRING_NONE || sums[name] > sums[*out])) *out = name;
    }
    *out_ns = sums && *out != HD_STRING_NONE ? sums[*out] : 0;
    free(sums);
    return sums != NULL;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    uint32_t name;
    char amount[96], text[72];
    int64_t ns;
    if (!find_name(&name, &ns, f, true)) return HD_NOMEM(err);
    /* Hidden behind the host it saves nothing, but it will, once the host is faster. */
    if (ns < findings_whole(f) / LEAST_PART && !find_name(&name, &ns, f, false)) return HD_NOMEM(err);
    if (ns < findings_whole(f) / LEAST_PART) return HD_OK;
    HD_TRY(findings_gather(&of, f, rule, f->first_work, is_name, &name, err));
    if (!of) return HD_OK;
    if (of->amount < findings_whole(f) / LEAST_PART) {
        findings_drop(f);
        return HD_OK;
    }
    snprintf(of->text, sizeof of->text, "One kernel runs for %s: %s, %llu call%s.", findings_amount(amount, of),
             findings_short(text, f->scope.trace, name), (unsigned long long)of->events, FINDINGS_S(of->events));
    return HD_OK;
}

const finding_rule finding_kernel_hotspot = {
    .about.code = "kernel-hotspot",
    .about.severity = "note",
    .about.meaning = "one kernel takes more than a quarter of the time",
    .about.advice = "See how near to its peak the kernel is (heddle report flops); then a faster implementation, a "
                    "smaller type, or "
                    "fusion with its neighbours.",
    .find = find,
};
