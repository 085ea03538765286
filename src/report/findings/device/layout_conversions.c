/* layout_conversions.c - kernels that only turn NCHW into NHWC, or back */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_name(hd_string name)
{
    static const char *const words[] = {"nchwToNhwc", "nhwcToNchw", "nchw2nhwc",
                                        "nhwc2nchw",  "NCHWToNHWC", "NHWCToNCHW"};
    return FINDINGS_HAS(name, words);
}

static bool is_work(const findings *f, uint32_t node)
{
    return findings_is_work(f, node);
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96];
    HD_TRY(findings_gather_named(&of, f, rule, is_work, is_name, err));
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
