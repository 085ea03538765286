/* op_figures.h - FLOP and bytes of the operators of a trace, and the activities they launched */
#ifndef HD_REPORT_GPU_OP_FIGURES_H
#define HD_REPORT_GPU_OP_FIGURES_H

#include "report/gpu/gpu.h"
#include "report/gpu/shapes.h"

/* The strings that figures depend on. */
GPU_KEY
typedef struct gpu_op_arguments {
    uint32_t name, dims, types, values;
} gpu_op_arguments;
GPU_KEY_END

typedef struct gpu_op_figure {
    gpu_shape_kind kind;
    uint32_t dtype, dims; /* of the texts; dtype HD_NONE: unknown */
    int64_t flop, bytes;  /* bytes below 0: not known */
    int64_t m, n, k;      /* as gpu_shape_figures has them */
    bool known, is_own;   /* is_own: of own_ops.c */
} gpu_op_figure;

enum { GPU_OP_DIMS, GPU_OP_TYPES, GPU_OP_VALUES, GPU_OP_ARGUMENTS };

typedef struct gpu_op_figures {
    const gpu_scope *scope;
    gpu_arg args[GPU_OP_ARGUMENTS];
    gpu_texts texts;
    gpu_shapes shapes;
    gpu_groups groups;      /* of gpu_op_arguments */
    gpu_op_figure *figures; /* by group */
    size_t capacity;
    gpu_slices ops;  /* known, none within another; user: group */
    uint32_t *op_of; /* by launch; HD_NONE */
    uint64_t named;  /* operators of names that are known, before their arguments are looked at */
    bool failed;     /* no memory */
} gpu_op_figures;

/* Deinit either way. Errors: MEMORY. */
hd_status gpu_op_figures_init(gpu_op_figures *out, const gpu_scope *scope, hd_error *err);
void gpu_op_figures_deinit(gpu_op_figures *figures);

static inline hd_string gpu_op_dtype(const gpu_op_figures *figures, uint32_t dtype)
{
    return dtype == HD_NONE ? (hd_string){NULL, 0} : gpu_text_of(&figures->texts, dtype);
}

#endif
