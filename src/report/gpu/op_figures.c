/* op_figures.c - operators with known FLOP and bytes (shapes.c), from their arguments. Operators nested in another
 * known one are left out, so that each activity is counted once. */
#include "report/gpu/op_figures.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/memory/vector.h"

static const char *const argument_names[GPU_OP_ARGUMENTS] = {"Input Dims", "Input type", "Concrete Inputs"};

static uint32_t json_of(gpu_arg *arg, const hd_block *block, uint32_t row)
{
    hd_value value;
    return gpu_arg_get(&value, arg, block, row) && value.type == HD_ARG_JSON ? (uint32_t)value.bits : HD_STRING_NONE;
}

/* Its group of arguments, with computed figures. HD_NONE: no memory. */
static uint32_t arguments_of(gpu_op_figures *f, const gpu_slice *op)
{
    uint32_t row;
    const hd_trace *trace = f->scope->trace;
    const hd_block *block = hd_trace_block_of(&row, trace, HD_KIND_SLICE, op->row);
    gpu_op_arguments a = {op->name, json_of(&f->args[GPU_OP_DIMS], block, row),
                          json_of(&f->args[GPU_OP_TYPES], block, row), json_of(&f->args[GPU_OP_VALUES], block, row)};
    uint32_t count = f->groups.count, group = gpu_group(&f->groups, &a);
    if (group == HD_NONE || group < count) return group;
    if (!hd_grow((void **)&f->figures, &f->capacity, group, sizeof *f->figures)) return HD_NONE;
    gpu_shape_figures found = {0};
    gpu_op_figure *out = &f->figures[group];
    *out = (gpu_op_figure){0};
    if (!gpu_shapes_find(&out->known, &found, &f->shapes, hd_trace_string(trace, a.name),
                         hd_trace_string(trace, a.dims), hd_trace_string(trace, a.types),
                         hd_trace_string(trace, a.values)))
        return HD_NONE;
    if (!out->known) return group;
    out->kind = found.kind;
    out->is_own = found.is_own;
    out->flop = found.flop;
    out->bytes = found.bytes;
    out->m = found.m, out->n = found.n, out->k = found.k;
    out->dtype = found.dtype.data ? gpu_text(&f->texts, found.dtype.data, found.dtype.size) : HD_NONE;
    out->dims = gpu_text_json(&f->texts, hd_trace_string(trace, a.dims));
    return (found.dtype.data && out->dtype == HD_NONE) || out->dims == HD_NONE ? HD_NONE : group;
}

static bool is_known(void *user, gpu_slice *op)
{
    gpu_op_figures *f = user;
    op->user = arguments_of(f, op);
    f->failed |= op->user == HD_NONE;
    return !f->failed && f->figures[op->user].known;
}

static hd_status find_ops(gpu_op_figures *f, hd_error *err)
{
    const hd_trace *trace = f->scope->trace;
    uint32_t strings = (uint32_t)hd_trace_string_count(trace);
    uint8_t *names = calloc((size_t)strings + 1, 1);
    if (!names) return HD_NOMEM(err);
    for (uint32_t i = 0; i < strings; i++) names[i] = gpu_shapes_know(hd_trace_string(trace, i));
    hd_status status = gpu_slices_named(&f->ops, f->scope, 1u << HD_ROLE_OP, names, err);
    free(names);
    if (status != HD_OK) return status;
    f->named = f->ops.count;
    gpu_slices_keep_outermost(&f->ops, f->scope, is_known, f);
    if (f->failed) return HD_NOMEM(err);
    return gpu_innermost_of_launches(&f->op_of, f->scope, &f->ops, err);
}

hd_status gpu_op_figures_init(gpu_op_figures *out, const gpu_scope *scope, hd_error *err)
{
    *out = (gpu_op_figures){.scope = scope, .groups = {.key_size = sizeof(gpu_op_arguments)}};
    for (int i = 0; i < GPU_OP_ARGUMENTS; i++) {
        if (!gpu_arg_init(&out->args[i], scope->trace, argument_names[i])) return HD_NOMEM(err);
    }
    return find_ops(out, err);
}

void gpu_op_figures_deinit(gpu_op_figures *f)
{
    for (int i = 0; i < GPU_OP_ARGUMENTS; i++) gpu_arg_deinit(&f->args[i]);
    gpu_texts_deinit(&f->texts);
    gpu_shapes_deinit(&f->shapes);
    gpu_groups_deinit(&f->groups);
    free(f->figures);
    gpu_slices_deinit(&f->ops);
    hd_large_free(f->op_of);
}
