/* layout_conversions.c - kernels that only turn NCHW into NHWC, or back */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_one(const findings *f, uint32_t node, void *user)
{
    static const char *const words[] = {"nchwToNhwc", "nhwcToNchw", "nchw2nhwc",
                                        "nhwc2nchw",  "NCHWToNHWC", "NHWCToNCHW"};
    (void)user;
    if (!findings_is_work(f, node) || findings_name(f, node) == HD_STRING_NONE) return false;
    return FINDINGS_HAS(hd_trace_string(f->scope.trace, findings_name(f, node)), words);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96];
    HD_TRY(findings_gather(&of, f, rule, is_one, NULL, err));
    if (of)
        snprintf(of->text, sizeof of->text, "%llu kernels only convert layouts (NCHW and NHWC), for %s.",
                 (unsigned long long)of->events, findings_amount(amount, of));
    return HD_OK;
}

const finding_rule finding_layout_conversions = {
    .about.code = "layout-conversions",
    .about.severity = "warning",
    .about.meaning = "kernels that only convert between NCHW and NHWC",
    .about.advice = "Keep one layout: model.to(memory_format=torch.channels_last), and the input likewise.",
    .find = find,
};
