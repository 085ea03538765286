/* roofline.c - another GPU: compute activities are scaled by the ratio of the two rooflines
 *
 * An operator with known FLOP and bytes is bound by compute or by memory on each of the two GPUs; activities of other
 * operators count as bound by memory. The efficiency relative to the roofline is assumed to be the same on both.
 * Communication, copies and threads do not change.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "replay/replay.h"
#include "report/gpu/op_figures.h"
#include "report/gpu/peaks.h"

typedef struct exchange {
    replay *r;
    gpu_peaks from, to;
    gpu_op_figures ops;
    gpu_i128 known, bound, rest; /* time of activities: with a known operator; bound by compute on the first GPU; all
                                    others */
    double memory;               /* factor of the rest */
    char told[64];               /* the GPU model in the trace, if it is not the given one */
} exchange;

/* A model of the table by its whole name, or the first that has `text` as a word. Into out, of 64 bytes. */
static hd_status find_model(char *out, const hd_gpus *gpus, const char *text, size_t size, hd_error *err)
{
    const report_gpu *gpu;
    hd_string name;
    snprintf(out, 64, "%.*s", (int)(size < 63 ? size : 63), text);
    if (report_gpu_find(gpus, (hd_string){out, strlen(out)})) return HD_OK;
    if (!report_gpu_with(&name, gpus, (hd_string){out, strlen(out)})) return report_gpu_named(&gpu, gpus, out, err);
    snprintf(out, 64, "%.*s", (int)(name.size < 63 ? name.size : 63), name.data);
    return HD_OK;
}

/* The first GPU model in the trace other than `given`; into out, of 64 bytes, empty if there is none. */
static hd_status find_told(char *out, const exchange *x, const hd_gpus *gpus, hd_error *err)
{
    gpu_peaks told;
    hd_status status = gpu_peaks_init(&told, &x->r->scope, gpus, NULL, false, err);
    *out = '\0';
    for (uint32_t i = 0; status == HD_OK && i < told.texts.count && !*out; i++) {
        hd_string name = gpu_text_of(&told.texts, i);
        if (!x->from.given || report_gpu_find(gpus, name) != x->from.given)
            snprintf(out, 64, "%.*s", (int)(name.size < 63 ? name.size : 63), name.data);
    }
    gpu_peaks_deinit(&told);
    return status;
}

/* "A=>B", "=>B" or "B". */
static hd_status init_peaks(exchange *x, const hd_gpus *gpus, hd_error *err)
{
    replay *r = x->r;
    const char *text = r->options->gpu, *arrow = strstr(text, "=>"), *to = arrow ? arrow + 2 : text;
    char *names[2] = {r->gpu_names[0], r->gpu_names[1]};
    bool is_told = !arrow || arrow == text;
    if (!is_told) HD_TRY(find_model(names[0], gpus, text, (size_t)(arrow - text), err));
    HD_TRY(find_model(names[1], gpus, to, strlen(to), err));
    HD_TRY(gpu_peaks_init(&x->from, &r->scope, gpus, is_told ? NULL : names[0], false, err));
    HD_TRY(gpu_peaks_init(&x->to, &r->scope, gpus, names[1], false, err));
    return find_told(is_told ? names[0] : x->told, x, gpus, err);
}

static bool rooflines(gpu_roofline out[2], exchange *x, int64_t rank, const gpu_shape_figures *work)
{
    return gpu_roofline_of(&out[0], &x->from, rank, work) && gpu_roofline_of(&out[1], &x->to, rank, work);
}

static double least(const gpu_roofline *roofline)
{
    return roofline->compute_ns > roofline->memory_ns ? roofline->compute_ns : roofline->memory_ns;
}

/* Of an activity; 0: the peaks of its GPU are unknown. *failed: no memory. */
static double factor_of(exchange *x, uint32_t node, bool *failed)
{
    const replay *r = x->r;
    const gpu_work *work = replay_gpu_work(r, node);
    int64_t rank = r->scope.ranks[replay_work(r, node)->track], time = r->plan.durations[node];
    uint32_t op = work->launch == HD_NONE ? HD_NONE : x->ops.op_of[work->launch];
    gpu_roofline lines[2];
    if (op != HD_NONE) {
        const gpu_op_figure *f = &x->ops.figures[x->ops.ops.list[op].user];
        const gpu_shape_figures of = {f->kind, gpu_op_dtype(&x->ops, f->dtype), f->flop, f->bytes};
        *failed |= !rooflines(lines, x, rank, &of);
        bool is_known = lines[0].compute_ns >= 0 && lines[0].memory_ns >= 0 && lines[1].compute_ns >= 0;
        if (!*failed && is_known && least(&lines[0]) > 0) {
            x->known += time;
            if (lines[0].compute_ns >= lines[0].memory_ns) x->bound += time;
            return least(&lines[1]) / least(&lines[0]);
        }
    }
    const gpu_shape_figures bytes = {GPU_ELEMENTWISE, {"float", 5}, 0, 1 << 30};
    *failed |= !rooflines(lines, x, rank, &bytes);
    if (*failed || lines[0].memory_ns <= 0) return 0;
    x->rest += time;
    return x->memory = lines[1].memory_ns / lines[0].memory_ns;
}

static hd_status scale_works(exchange *x, hd_error *err)
{
    replay *r = x->r;
    bool failed = false;
    for (uint32_t n = r->first_work; n < r->graph->node_count && !failed; n++) {
        if (replay_gpu_work(r, n)->class != GPU_COMPUTE || r->plan.flags[n] & (PLAN_PINNED | PLAN_GONE)) continue;
        double factor = factor_of(x, n, &failed);
        if (!failed && factor <= 0)
            return hd_error_set(
                err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                "gpu: the trace does not name its GPU, or the table of GPUs does not have it: name it, as in "
                "'H100=>%.40s'",
                r->gpu_names[1]);
        r->plan.durations[n] = replay_scaled(r->plan.durations[n], factor);
    }
    return failed ? HD_NOMEM(err) : HD_OK;
}

static void tell(const exchange *x)
{
    double all = (double)(x->known + x->rest), known = all > 0 ? 100 * (double)x->known / all : 0;
    snprintf(
        x->r->gpu_note, sizeof x->r->gpu_note,
        "gpu: %s%s%s by rooflines%s%s: of %.1f %% of the time of compute work FLOP and bytes are known, of %.1f %% "
        "compute is the bound; the rest takes %.3f of its time, as memory's bandwidth",
        x->r->gpu_names[0], *x->r->gpu_names[0] ? " to " : "", x->r->gpu_names[1],
        *x->told ? ", but the trace says " : "", x->told, known, all > 0 ? 100 * (double)x->bound / all : 0, x->memory);
}

hd_status replay_change_gpu(replay *r, hd_error *err)
{
    exchange x = {.r = r};
    hd_gpus *own = NULL;
    hd_status status = r->gpus ? HD_OK : hd_gpus_new(&own, err);
    if (status == HD_OK) status = init_peaks(&x, r->gpus ? r->gpus : own, err);
    if (status == HD_OK) status = gpu_op_figures_init(&x.ops, &r->scope, err);
    if (status == HD_OK) status = scale_works(&x, err);
    if (status == HD_OK && (x.known || x.rest))
        tell(&x);
    else if (status == HD_OK)
        replay_note_idle(r, "gpu", r->options->gpu);
    gpu_op_figures_deinit(&x.ops);
    gpu_peaks_deinit(&x.from);
    gpu_peaks_deinit(&x.to);
    hd_gpus_free(own);
    return status;
}
