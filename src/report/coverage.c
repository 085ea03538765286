/* coverage.c - the share of the GPU time for which the trace has the data of derived figures: see "trust" in
 * definitions.md */
#include "report/coverage.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "model/args/args.h"
#include "model/collectives/collectives.h"
#include "model/host/slices.h"
#include "report/gpu/op_figures.h"
#include "trace/event.h"

const report_coverage_about report_coverage_abouts[COVERAGES] = {
    [COVERAGE_FLOP] = {"coverage-flop", "TFLOP/s, MFU and rooflines", "FLOP are known", "of kernels that compute"},
    [COVERAGE_SHAPES] = {"coverage-shapes", "rows by shape", "shapes of inputs are known", "of all activities"},
    [COVERAGE_STACKS] = {"coverage-stacks", "stacks and flame graphs", "stacks are known", "of all activities"},
    [COVERAGE_BYTES] = {"coverage-bytes", "bandwidths", "bytes are known", "of copies and communication"},
};

typedef struct counter {
    report_coverage *out;
    gpu_scope scope;
    gpu_op_figures flop;
    gpu_arg dims;
    gpu_copy_bytes copies;
    gpu_collectives collectives;
    uint32_t stack_key;
    gpu_slices ops, frames;
    uint32_t *op_of, *frame_of; /* by launch; NULL: there are none */
} counter;

static bool is_stacked(const counter *c, uint64_t slice)
{
    hd_value value;
    if (c->stack_key == HD_NONE) return false;
    hd_event event = hd_event_at(c->scope.trace, HD_KIND_SLICE, slice);
    return hd_event_arg(&value, c->scope.trace, &event, c->stack_key) ||
           (event.args &&
            hd_shape_find(hd_trace_shape_at(c->scope.trace, event.shape), c->stack_key, HD_SCOPE_EVENT) >= 0);
}

static bool has(gpu_arg *arg, const hd_trace *trace, uint64_t slice)
{
    uint32_t row;
    hd_value value;
    const hd_block *block = hd_trace_block_of(&row, trace, HD_KIND_SLICE, slice);
    return gpu_arg_get(&value, arg, block, row) && value.type != HD_ARG_NULL;
}

/* false: no memory. */
static bool cover_bytes(counter *c, uint32_t index, int64_t time)
{
    const gpu_work *work = &c->scope.works[index];
    gpu_collective_facts facts = {.bytes = HD_NO_NUMBER};
    if (work->class == GPU_COPY)
        facts.bytes = gpu_copy_bytes_of(&c->copies, c->scope.launches->works[index].row);
    else if (work->class != GPU_COMMUNICATION)
        return true;
    else if (!gpu_collective_facts_of(&facts, &c->collectives, index))
        return false;
    report_cover(&c->out->list[COVERAGE_BYTES], time, facts.bytes != HD_NO_NUMBER);
    return true;
}

static bool count_works(counter *c)
{
    const gpu_scope *s = &c->scope;
    report_covered *list = c->out->list;
    for (uint32_t i = 0; i < s->launches->work_count; i++) {
        const gpu_work *work = &s->works[i];
        const hd_work *of = &s->launches->works[i];
        int64_t time = gpu_duration(work);
        if (work->device == HD_NONE) continue;
        uint32_t launch = work->launch, origin = work->origin;
        uint32_t op = c->op_of && origin != HD_NONE ? c->op_of[origin] : HD_NONE;
        bool frame = c->frame_of && origin != HD_NONE && c->frame_of[origin] != HD_NONE;
        if (work->role == HD_ROLE_KERNEL && work->class == GPU_COMPUTE)
            report_cover(&list[COVERAGE_FLOP], time,
                         launch != HD_NONE && c->flop.op_of && c->flop.op_of[launch] != HD_NONE);
        report_cover(&list[COVERAGE_SHAPES], time, op != HD_NONE && has(&c->dims, s->trace, c->ops.list[op].row));
        report_cover(&list[COVERAGE_STACKS], time,
                     frame || is_stacked(c, of->row) ||
                         (launch != HD_NONE && is_stacked(c, s->launches->launches[launch].row)));
        if (!cover_bytes(c, i, time)) return false;
    }
    return true;
}

/* By launch the innermost slice of a role around it; *out stays NULL if the trace has no such slices. */
static hd_status find_around(uint32_t **out, gpu_slices *slices, const gpu_scope *s, hd_role role, hd_error *err)
{
    HD_TRY(gpu_slices_init(slices, s, 1u << role, err));
    return slices->count ? gpu_innermost_of_launches(out, s, slices, err) : HD_OK;
}

static bool init_args(counter *c, const hd_trace *trace)
{
    c->stack_key = hd_trace_find_string(trace, "sf", 2);
    return gpu_arg_init(&c->dims, trace, "Input Dims") && gpu_copy_bytes_init(&c->copies, trace);
}

hd_status report_coverage_of(report_coverage *out, const hd_trace *trace, const hd_launches *launches, hd_error *err)
{
    static const gpu_options none = {0};
    const hd_report_input input = {.trace = trace, .launches = launches};
    counter c = {.out = out};
    *out = (report_coverage){0};
    if (!launches->work_count) return HD_OK;
    hd_status status = gpu_scope_init(&c.scope, &input, &none, 0, err);
    if (status == HD_OK && !init_args(&c, trace)) status = HD_NOMEM(err);
    if (status == HD_OK) status = gpu_op_figures_init(&c.flop, &c.scope, err);
    if (status == HD_OK) status = gpu_collectives_init(&c.collectives, &c.scope, err);
    if (status == HD_OK && gpu_arg_is_used(&c.dims)) status = find_around(&c.op_of, &c.ops, &c.scope, HD_ROLE_OP, err);
    if (status == HD_OK) status = find_around(&c.frame_of, &c.frames, &c.scope, HD_ROLE_PYTHON, err);
    if (status == HD_OK && !count_works(&c)) status = HD_NOMEM(err);
    gpu_arg_deinit(&c.dims);
    gpu_copy_bytes_deinit(&c.copies);
    gpu_collectives_deinit(&c.collectives);
    gpu_op_figures_deinit(&c.flop);
    gpu_slices_deinit(&c.ops);
    gpu_slices_deinit(&c.frames);
    hd_large_free(c.op_of);
    hd_large_free(c.frame_of);
    gpu_scope_deinit(&c.scope);
    return status;
}

const char *report_coverage_text(char out[GPU_DOUBT_TEXT], report_coverage_kind kind, const report_covered *covered,
                                 const char *whose)
{
    const report_coverage_about *about = &report_coverage_abouts[kind];
    snprintf(out, GPU_DOUBT_TEXT, "%s for %.1f %% of the GPU time %s", about->known,
             100 * (double)covered->known / (double)covered->of, whose ? whose : about->of);
    return out;
}
