/* roofline_gap.c - operators far below the GPU's roofline: its peak and its bandwidth */
#include <stdio.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"
#include "report/gpu/op_figures.h"
#include "report/gpu/peaks.h"

enum { LEAST_PART = 20 };
static const double SHARE_MAX = 0.5; /* of its roofline: closer is as good as it gets, with launches and edges */

typedef struct gap {
    gpu_op_figures ops;
    gpu_peaks peaks;
    int64_t *times; /* by operator: of its activities */
    double *parts;  /* by operator: the time above its roofline */
} gap;

/* Reading shapes takes time: not where the GPU is not the limit, or the trace has none. */
static bool is_wanted(const findings *f)
{
    int64_t sum = 0;
    for (uint32_t n = f->first_work; n < f->graph->node_count; n++)
        if (findings_is_of_class(f, n, GPU_COMPUTE)) sum += f->on_path[n] < f->left[n] ? f->on_path[n] : f->left[n];
    return sum >= findings_whole(f) / LEAST_PART && hd_trace_find_string(f->scope.trace, "Input Dims", 10) != HD_NONE;
}

/* false: no memory. */
static bool find_parts(gap *g, const findings *f)
{
    const gpu_scope *s = &f->scope;
    size_t count = g->ops.ops.count + 1;
    g->times = hd_large_zeroed(count, sizeof *g->times, s->large);
    g->parts = hd_large_zeroed(count, sizeof *g->parts, s->large);
    if (!g->times || !g->parts) return false;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        uint32_t op = work->launch == HD_NONE ? HD_NONE : g->ops.op_of[work->launch];
        if (op != HD_NONE && work->is_there) g->times[op] = gpu_sum(g->times[op], gpu_duration(work));
    }
    for (size_t i = 0; i < g->ops.ops.count; i++) {
        const gpu_slice *op = &g->ops.ops.list[i];
        const gpu_op_figure *of = &g->ops.figures[op->user];
        gpu_roofline r;
        gpu_shape_figures work = {of->kind, gpu_op_dtype(&g->ops, of->dtype), of->flop, of->bytes};
        if (!g->times[i] || of->bytes < 0) continue;
        if (!gpu_roofline_of(&r, &g->peaks, s->ranks[op->lane], &work)) return false;
        double least = r.compute_ns > r.memory_ns ? r.compute_ns : r.memory_ns;
        if (r.compute_ns < 0 || r.memory_ns < 0 || least <= 0) continue;
        if (least < SHARE_MAX * (double)g->times[i]) g->parts[i] = 1 - least / (double)g->times[i];
    }
    return true;
}

static bool claim_parts(findings *f, const gap *g)
{
    bool fine = true;
    for (uint32_t n = f->first_work; fine && n < f->graph->node_count; n++) {
        const gpu_work *work = findings_work(f, n);
        uint32_t op = work->launch == HD_NONE ? HD_NONE : g->ops.op_of[work->launch];
        if (op == HD_NONE || work->class != GPU_COMPUTE || g->parts[op] <= 0) continue;
        fine = findings_claim(f, n, (int64_t)(g->parts[op] * (double)gpu_duration(work)));
    }
    return fine;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    finding *of = NULL;
    char name[72], amount[96];
    gap g = {0};
    if (!is_wanted(f)) return HD_OK;
    hd_status status = gpu_peaks_init(&g.peaks, &f->scope, f->input->gpus, NULL, false, err);
    if (status == HD_OK) status = gpu_op_figures_init(&g.ops, &f->scope, err);
    if (status == HD_OK && !(find_parts(&g, f) && findings_add(f, rule) && claim_parts(f, &g))) status = HD_NOMEM(err);
    if (status == HD_OK) status = findings_keep(&of, f, err);
    hd_large_free(g.times);
    hd_large_free(g.parts);
    gpu_op_figures_deinit(&g.ops);
    gpu_peaks_deinit(&g.peaks);
    if (!of) return status;
    snprintf(
        of->text, sizeof of->text,
        "Operators of known FLOP and bytes take more than twice what peak and bandwidth of the GPU allow, %s more: "
        "%s, %llu kernels.",
        findings_amount(amount, of), findings_longest(name, f, of), (unsigned long long)of->events);
    return HD_OK;
}

const finding_rule finding_roofline_gap = {
    .about.code = "roofline-gap",
    .about.severity = "warning",
    .about.meaning = "operators take more than twice what peak and bandwidth of the GPU allow",
    .about.advice =
        "heddle report flops lists them: larger or aligned shapes (multiples of 8 or 16), contiguous inputs, a newer "
        "library or max-autotune (torch.compile(mode=\"max-autotune\")), a smaller type.",
    .find = find,
    .least_part = LEAST_PART,
};
