/* roofline_gap.c - operators far below the GPU's roofline, its peak and its bandwidth; and matrix products below it
 * that are not aligned */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/large.h"
#include "report/findings/finding.h"
#include "report/gpu/op_figures.h"
#include "report/gpu/peaks.h"

enum { LEAST_PART = 20 };
static const double SHARE_MAX = 0.5; /* of its roofline: closer is as good as it gets, with launches and edges */

/* Of an operator with its shapes. */
typedef struct group_sum {
    double lost, least; /* ns: above the roofline; that it allows */
    int64_t time, flop, bytes;
    double peak; /* TFLOP/s, that limits it; 0: the bandwidth does */
} group_sum;

typedef struct gap {
    gpu_op_figures ops;
    gpu_peaks peaks;
    int64_t *times;  /* by operator: of its activities */
    double *parts;   /* by operator: the time above its roofline */
    group_sum *sums; /* by group */
    bool of_unaligned, lacks_peaks;
} gap;

/* Reading shapes takes time: not where the GPU is not the limit, or the trace has none. */
static bool is_wanted(const findings *f)
{
    int64_t sum = 0;
    for (uint32_t n = f->first_work; n < f->graph->node_count; n++)
        if (findings_is_of_class(f, n, GPU_COMPUTE)) sum += findings_left_on_path(f, n);
    return sum >= findings_whole(f) / LEAST_PART && hd_trace_find_string(f->scope.trace, "Input Dims", 10) != HD_NONE;
}

static void add_sum(group_sum *sum, int64_t time, const gpu_op_figure *of, const gpu_roofline *r, double least)
{
    sum->lost += (double)time - least;
    sum->least += least;
    sum->time = gpu_sum(sum->time, time);
    sum->flop = gpu_sum(sum->flop, of->flop);
    sum->bytes = gpu_sum(sum->bytes, of->bytes);
    sum->peak = r->compute_ns > r->memory_ns ? r->peak : 0;
}

/* The operator that loses most, as a part of the sentence: "aten::mm, at 31.6 of 1307.4 TFLOP/s (2.4 %)". */
static void name_most(char out[160], const gap *g, const findings *f)
{
    uint32_t best = 0;
    char name[72];
    for (uint32_t i = 1; i < g->ops.groups.count; i++)
        if (g->sums[i].lost > g->sums[best].lost) best = i;
    const group_sum *sum = &g->sums[best];
    const gpu_op_arguments *a = gpu_group_key(&g->ops.groups, best);
    if (g->lacks_peaks) {
        const gpu_op_figure *of = &g->ops.figures[best];
        snprintf(out, 160, "%s of %lld x %lld x %lld", findings_short(name, f->scope.trace, a->name), (long long)of->m,
                 (long long)of->k, (long long)of->n);
        return;
    }
    double share = sum->least / (double)sum->time, rate = (double)(sum->peak > 0 ? sum->flop : sum->bytes);
    rate /= (double)sum->time * (sum->peak > 0 ? 1000 : 1);
    snprintf(out, 160, "%s, at %.1f of %.1f %s (%.1f %%)", findings_short(name, f->scope.trace, a->name), rate,
             rate / share, sum->peak > 0 ? "TFLOP/s" : "GB/s", 100 * share);
}

/* Of products too small to fill Tensor Cores it does not matter. */
static bool is_unaligned(const gpu_op_figures *ops, const gpu_op_figure *of)
{
    static const int64_t elements[REPORT_DTYPES] = {2, 4, 4, 8, 8, 16, 16}; /* in 16 bytes */
    report_dtype dtype = gpu_shapes_dtype(gpu_op_dtype(ops, of->dtype));
    if (dtype == REPORT_DTYPES || of->m < 64 || of->n < 64 || of->k < 64) return false;
    return of->m % elements[dtype] || of->n % elements[dtype] || of->k % elements[dtype];
}

/* false: no memory. */
static bool find_times(gap *g, const findings *f)
{
    const gpu_scope *s = &f->scope;
    size_t count = g->ops.ops.count + 1;
    g->times = hd_large_zeroed(count, sizeof *g->times, s->large);
    g->parts = hd_large_zeroed(count, sizeof *g->parts, s->large);
    g->sums = calloc((size_t)g->ops.groups.count + 1, sizeof *g->sums);
    if (!g->times || !g->parts || !g->sums) return false;
    for (size_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        uint32_t op = work->launch == HD_NONE ? HD_NONE : g->ops.op_of[work->launch];
        if (op != HD_NONE && work->is_there) g->times[op] = gpu_sum(g->times[op], gpu_duration(work));
    }
    return true;
}

/* By operator the part of its time that it loses. false: no memory. */
static bool find_parts(gap *g, const findings *f)
{
    const gpu_scope *s = &f->scope;
    memset(g->sums, 0, (size_t)g->ops.groups.count * sizeof *g->sums);
    g->lacks_peaks = false;
    for (size_t i = 0; i < g->ops.ops.count; i++) {
        const gpu_slice *op = &g->ops.ops.list[i];
        const gpu_op_figure *of = &g->ops.figures[op->user];
        gpu_roofline r;
        gpu_shape_figures work = {
            .kind = of->kind, .dtype = gpu_op_dtype(&g->ops, of->dtype), .flop = of->flop, .bytes = of->bytes};
        g->parts[i] = 0;
        if (!g->times[i] || of->bytes < 0 || (g->of_unaligned && !is_unaligned(&g->ops, of))) continue;
        if (!gpu_roofline_of(&r, &g->peaks, s->ranks[op->lane], &work)) return false;
        double least = r.compute_ns > r.memory_ns ? r.compute_ns : r.memory_ns;
        bool is_known = r.compute_ns >= 0 && r.memory_ns >= 0 && least > 0;
        if (!is_known && !g->of_unaligned) continue;
        g->lacks_peaks |= !is_known;
        if (!is_known) least = 0;
        if (least >= (g->of_unaligned ? 1 : SHARE_MAX) * (double)g->times[i]) continue;
        g->parts[i] = 1 - least / (double)g->times[i];
        add_sum(&g->sums[op->user], g->times[i], of, &r, least);
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
        /* Less what others have claimed: the rest of the time is what the roofline allows. */
        int64_t lost = (int64_t)(g->parts[op] * (double)gpu_duration(work));
        fine = findings_claim(f, n, lost - findings_claimed(f, n));
    }
    return fine;
}

/* Unaligned products, or all operators below half of their roofline. */
static hd_status find_kind(findings *f, const finding_rule *rule, gap *g, hd_error *err)
{
    finding *of;
    char most[160], amount[96];
    if (!find_parts(g, f) || !findings_add(f, rule) || !claim_parts(f, g)) return HD_NOMEM(err);
    HD_TRY(findings_keep(&of, f, err));
    if (!of) return HD_OK;
    name_most(most, g, f);
    if (g->lacks_peaks)
        of->trust_reason = "the peaks of the device are not known (--gpu MODEL names it): this is all of their time";
    snprintf(of->text, sizeof of->text,
             g->of_unaligned
                 ? "Matrix products with a size that is not a multiple of 16 bytes lose %s, in %llu kernel%s: most "
                   "in %s."
                 : "Operators below half of what peak and bandwidth of the device allow lose %s, in %llu "
                   "kernel%s: most in %s.",
             findings_amount(amount, of), (unsigned long long)of->events, FINDINGS_S(of->events), most);
    return HD_OK;
}

static hd_status find(findings *f, const finding_rule *rule, hd_error *err)
{
    gap g = {.of_unaligned = true};
    if (!is_wanted(f)) return HD_OK;
    hd_status status = gpu_peaks_init(&g.peaks, &f->scope, f->input->gpus, f->model, false, err);
    if (status == HD_OK) status = gpu_op_figures_init(&g.ops, &f->scope, err);
    if (status == HD_OK) status = find_times(&g, f) ? find_kind(f, rule, &g, err) : HD_NOMEM(err);
    g.of_unaligned = false;
    if (status == HD_OK) status = find_kind(f, &finding_roofline_gap, &g, err);
    hd_large_free(g.times);
    hd_large_free(g.parts);
    free(g.sums);
    gpu_op_figures_deinit(&g.ops);
    gpu_peaks_deinit(&g.peaks);
    return status;
}

const finding_rule finding_unaligned_matmul = {
    .about.code = "unaligned-matmul",
    .about.severity = "warning",
    .about.meaning = "sizes of matrix products are not multiples of 16 bytes",
    .about.advice = "Pad sizes to multiples of 8 elements (16-bit types; 4 of TF32, 16 of 8-bit types), better of 64: "
                    "the vocabulary, "
                    "hidden sizes, classes, packed sequences; pad_to_multiple_of=8 of Hugging Face's tokenizers and "
                    "resize_token_embeddings.",
    .find = find,
    .least_part = LEAST_PART,
};

/* Found with the products, so that shapes are read once. */
const finding_rule finding_roofline_gap = {
    .about.code = "roofline-gap",
    .about.severity = "warning",
    .about.meaning = "operators take more than twice the time that peak and bandwidth of the GPU allow",
    .about.advice =
        "heddle report flops lists them: larger or aligned shapes (multiples of 8 or 16), contiguous inputs, a newer "
        "library or max-autotune (torch.compile(mode=\"max-autotune\")), a smaller type.",
    .least_part = LEAST_PART,
};
