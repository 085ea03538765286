/* launch_bound.c - launches that take the host longer than their work takes the GPU */
#include <stdio.h>
#include <stdlib.h>

#include "model/host/syncs.h"
#include "report/findings/finding.h"

/* It is long since its kernel is: another rule's. */
static bool waits(const findings *f, const hd_launch *launch)
{
    uint32_t sync = findings_sync_of(f, launch->row);
    return sync != HD_NONE && f->gaps.syncs.list[sync].user == HD_SYNC_LAUNCH;
}

typedef struct launching {
    uint8_t *rows; /* bits, by row of the slice table */
} launching;

static bool is_launch(const findings *f, uint32_t node, void *user)
{
    const launching *l = user;
    uint32_t row = f->graph->slices[node];
    return !findings_is_work(f, node) && row != HD_NONE && l->rows[row / 8] >> row % 8 & 1;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    const hd_launches *l = f->scope.launches;
    finding *of = NULL;
    uint64_t all = 0, brief = 0;
    char amount[96];
    launching found = {calloc(hd_trace_row_count(f->scope.trace, HD_KIND_SLICE) / 8 + 1, 1)};
    if (!found.rows) return HD_NOMEM(err);
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *launch = &l->launches[i];
        int64_t work = 0;
        if (!launch->work_count || launch->start_ns < f->from || launch->start_ns >= f->until || waits(f, launch))
            continue;
        for (uint32_t k = 0; k < launch->work_count; k++)
            work = gpu_sum(work, l->works[l->work_order[launch->first_work + k]].duration_ns);
        all++;
        brief += work < launch->duration_ns;
        found.rows[launch->row / 8] |= (uint8_t)(1u << launch->row % 8);
    }
    hd_status status = brief && brief >= all - brief ? findings_gather(&of, f, rule, 0, is_launch, &found, err) : HD_OK;
    free(found.rows);
    if (!of) return status;
    of->is_of_host = true;
    snprintf(of->text, sizeof of->text,
             "Launches take the host %s; %.0f %% of them (%llu of %llu) take longer than what they launch takes the "
             "%s.",
             findings_amount(amount, of), 100.0 * (double)brief / (double)all, (unsigned long long)brief,
             (unsigned long long)all, f->device_kind);
    return HD_OK;
}

const finding_rule finding_launch_bound = {
    .about.code = "launch-bound",
    .about.severity = "warning",
    .about.meaning = "launches take longer on the host than their activities on the GPU",
    .about.advice = "Launch less: CUDA graphs or torch.compile(mode=\"reduce-overhead\"), fused kernels and optimizers "
                    "(fused=True, foreach=True), larger batches.",
    .plain_advice = "Launch less: larger or fused kernels, batched library calls (cublasGemmBatched, cufftPlanMany), "
                    "CUDA or HIP graphs for loops that repeat.",
    .find = find,
};
