/* sync_item.c - an operator that reads a value of the GPU, for which the host waits */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_one(const findings *f, uint32_t sync)
{
    static const char *const words[] = {"aten::item",         "aten::_local_scalar_dense",
                                        "aten::nonzero",      "aten::is_nonzero",
                                        "aten::equal",        "aten::unique",
                                        "aten::_unique",      "aten::masked_select",
                                        "aten::count_nonzero"};
    if (f->sync_ops[sync] == HD_STRING_NONE) return false;
    hd_string op = hd_trace_string(f->scope.trace, f->sync_ops[sync]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (findings_begins(op, words[i])) return true;
    return false;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char call[72], op[72], amount[96], of_line[96];
    HD_TRY(findings_gather_syncs(&of, f, rule, is_one, err));
    if (!of) return HD_OK;
    HD_TRY(findings_line_of_longest(of_line, f, err));
    uint32_t sync = findings_sync_of(f, (uint64_t)of->ids[0]);
    snprintf(of->text, sizeof of->text, "The host waits for values of the %s for %s, in %llu call%s: %s in %s%s.",
             f->device_kind, findings_amount(amount, of), (unsigned long long)of->events, FINDINGS_S(of->events),
             findings_short(call, f->scope.trace, f->gaps.syncs.list[sync].name),
             findings_short(op, f->scope.trace, f->sync_ops[sync]), of_line);
    return HD_OK;
}

const finding_rule finding_sync_item = {
    .about.code = "sync-item",
    .about.severity = "warning",
    .about.meaning = "operators that read a value of the GPU make the host wait",
    .about.advice =
        "Keep values on the GPU: no .item(), print or `if tensor` in each step, torch.where in place of nonzero and "
        "masks; or read them every N steps.",
    .find = find,
};
