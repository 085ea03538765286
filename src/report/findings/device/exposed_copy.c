/* exposed_copy.c - copies that nothing hides: on a stream of their own, or on that of compute */
#include <stdio.h>
#include <stdlib.h>

#include "model/roles/copy_ways.h"
#include "report/findings/finding.h"

static bool is_copy(const findings *f, uint32_t node, void *user)
{
    (void)user;
    return findings_is_of_class(f, node, GPU_COPY);
}

/* By lane, whether compute takes as long as copies there, and could hide them. NULL: no memory. */
static uint8_t *find_hiding(const gpu_scope *s)
{
    uint8_t *out = calloc((size_t)hd_trace_track_count(s->trace) + 1, 1);
    for (uint32_t r = 0; out && r < s->row_count; r++) {
        int64_t sums[GPU_CLASSES] = {0};
        for (uint32_t i = 0; i < s->rows[r].count; i++) {
            const gpu_work *work = &s->works[s->by_row[s->rows[r].first + i]];
            sums[work->class] = gpu_sum(sums[work->class], gpu_duration(work));
        }
        out[s->rows[r].lane] = sums[GPU_COMPUTE] >= sums[GPU_COPY];
    }
    return out;
}

/* Between host and device, on the stream of kernels: those after it wait for it. */
static bool is_in_line(const findings *f, uint32_t node, void *user)
{
    const uint8_t *is_hiding = user;
    if (!is_copy(f, node, NULL)) return false;
    const hd_work *work = &f->scope.launches->works[f->works[node - f->first_work]];
    uint32_t way = work->name == HD_STRING_NONE ? 0 : hd_copy_way_of(hd_trace_string(f->scope.trace, work->name));
    bool is_between = way == HD_COPY_WAY('H', 'D') || way == HD_COPY_WAY('D', 'H');
    return is_between && is_hiding[gpu_lane_of(f->scope.trace, work->track)];
}

static hd_status find_in_line(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of = NULL;
    char amount[96], name[72];
    uint8_t *is_hiding = find_hiding(&f->scope);
    hd_status status =
        is_hiding ? findings_gather(&of, f, rule, f->first_work, is_in_line, is_hiding, err) : HD_NOMEM(err);
    free(is_hiding);
    if (!of) return status;
    snprintf(of->text, sizeof of->text,
             "Copies between host and device run on the stream of compute, which waits for them, for %s: %s.",
             findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of;
    char amount[96], name[72];
    int64_t exposed = 0;
    HD_TRY(findings_gather(&of, f, rule, f->first_work, is_copy, NULL, err));
    if (!of) return HD_OK;
    for (uint32_t d = 0; d < f->scope.device_count; d++) {
        int64_t others = findings_busy(f, d, 1u << GPU_COMPUTE | 1u << GPU_COMMUNICATION);
        if (f->busiest[d] - others <= exposed) continue;
        exposed = f->busiest[d] - others;
        of->device = d;
    }
    if (exposed < of->amount) of->amount = exposed; /* other findings already have the rest */
    if (!findings_is_worth(f, of->amount)) {
        findings_drop(f);
        return HD_OK;
    }
    snprintf(of->text, sizeof of->text, "Copies that nothing hides take %s; the longest is %s.",
             findings_amount(amount, of), findings_longest(name, f, of));
    return HD_OK;
}

const finding_rule finding_same_stream_copy = {
    .about.code = "same-stream-copy",
    .about.severity = "warning",
    .about.meaning = "copies between host and device run on the stream of compute",
    .about.advice =
        "Copy on a stream of its own: with torch.cuda.stream(copies): batch.to(device, non_blocking=True), then "
        "wait_stream before it is used, one batch ahead (prefetch); pinned memory.",
    .find = find_in_line,
};

const finding_rule finding_exposed_copy = {
    .about.code = "exposed-copy",
    .about.severity = "warning",
    .about.meaning = "copies during which the GPU does nothing else",
    .about.advice =
        "Copy on a stream of its own while the step before computes (prefetch), from pinned memory; keep on the GPU "
        "what is needed again.",
    .plain_advice = "Copy on a stream of its own while kernels run (double buffering), from pinned memory; keep on the "
                    "GPU what is needed again; GPU-aware MPI sends without a copy to the host.",
    .find = find,
};
