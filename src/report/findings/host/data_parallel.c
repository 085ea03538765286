/* data_parallel.c - one process drives several GPUs by threads: torch.nn.DataParallel */
#include <stdio.h>
#include <stdlib.h>

#include "report/findings/finding.h"

static bool is_one(hd_string name)
{
    if (hd_string_holds(name, "Distributed")) return false;
    return hd_string_holds(name, "DataParallel.forward") || hd_string_holds(name, "nn.Module: DataParallel_") ||
           (hd_string_holds(name, "nn/parallel/data_parallel.py(") && hd_string_holds(name, ": forward"));
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    bool any;
    gpu_slices slices = {0};
    gpu_reach reach = {.lane = HD_NONE};
    int64_t sum = 0;
    char amount[96], name[72];
    uint8_t *names = findings_choose_names(&any, f, is_one);
    hd_status status = names ? HD_OK : HD_NOMEM(err);
    if (status == HD_OK && any)
        status = gpu_slices_named(
            &slices, &f->scope,
            1u << HD_ROLE_OTHER | 1u << HD_ROLE_OP | 1u << HD_ROLE_PYTHON | 1u << HD_ROLE_ANNOTATION, names, err);
    free(names);
    if (status == HD_OK && slices.count && !findings_add(f, rule)) status = HD_NOMEM(err);
    finding *of = status == HD_OK && slices.count ? &f->list[f->count - 1] : NULL;
    for (size_t i = 0; of && i < slices.count; i++) {
        const gpu_slice *slice = &slices.list[i];
        int64_t from = gpu_reach_add(&reach, slice->lane, slice->start, slice->end), until = slice->end;
        if (from < f->from) from = f->from;
        if (until > f->until) until = f->until;
        if (from >= until) continue;
        of->events++;
        findings_show(f, (int64_t)slice->row, slice->end - slice->start);
        sum = gpu_sum(sum, until - from);
    }
    gpu_slices_deinit(&slices);
    if (!of) return status;
    if (!findings_is_worth(f, sum)) {
        findings_drop(f);
        return HD_OK;
    }
    of->amount = sum < findings_whole(f) ? sum : findings_whole(f);
    of->reason = "how long DistributedDataParallel would take is not in the trace";
    snprintf(of->text, sizeof of->text,
             "torch.nn.DataParallel copies the model to all GPUs and runs them by threads of one process, for %s: %s.",
             findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_data_parallel = {
    .about.code = "data-parallel",
    .about.severity = "warning",
    .about.meaning = "one process drives several GPUs by torch.nn.DataParallel",
    .about.advice = "A process for each GPU: torch.nn.parallel.DistributedDataParallel, started by torchrun.",
    .find = find,
};
