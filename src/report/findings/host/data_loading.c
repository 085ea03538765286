/* data_loading.c - the program waits for its data loader */
#include <stdio.h>

#include "report/findings/finding.h"

static bool is_loading(const findings *f, uint32_t node, void *user)
{
    (void)user;
    return f->graph->kinds[node] == HD_NODE_LOADING;
}

static uint32_t name_of_loader(const findings *f)
{
    int64_t most = -1;
    uint32_t found = HD_STRING_NONE;
    for (size_t i = f->claim_count; i-- > 0 && f->claims[i].of + 1 == f->count;) {
        uint32_t name = findings_name(f, f->claims[i].node);
        if (name == HD_STRING_NONE || f->claims[i].ns <= most) continue;
        if (!hd_string_holds(hd_trace_string(f->scope.trace, name), "DataLoader")) continue;
        most = f->claims[i].ns;
        found = name;
    }
    return found;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char name[72], amount[96];
    HD_TRY(findings_gather(&of, f, rule, 0, is_loading, NULL, err));
    if (!of) return HD_OK;
    uint32_t loader = name_of_loader(f);
    of->is_of_host = true;
    snprintf(of->text, sizeof of->text, "The program waits for its data loader for %s, in %s.",
             findings_amount(amount, of),
             loader == HD_STRING_NONE ? "a range of a DataLoader" : findings_short(name, f->scope.trace, loader));
    return HD_OK;
}

const finding_rule finding_data_loading = {
    .about.code = "data-loading",
    .about.severity = "warning",
    .about.meaning = "the program waits for its data loader",
    .about.advice =
        "Load ahead: DataLoader(num_workers=…, pin_memory=True, prefetch_factor=…, persistent_workers=True), and "
        "copies with non_blocking=True.",
    .find = find,
};
