/* shapes.h - FLOP and bytes of an operator from its arguments: see "flops" in docs/reports/definitions.md */
#ifndef HD_REPORT_GPU_SHAPES_H
#define HD_REPORT_GPU_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/trace.h"
#include "report/gpus.h"

typedef enum gpu_shape_kind {
    GPU_GEMM,
    GPU_ATTENTION,
    GPU_CONVOLUTION,
    GPU_ELEMENTWISE,
    GPU_NORM,
    GPU_CUSTOM, /* of --ops, without a kind */
    GPU_SHAPE_KINDS
} gpu_shape_kind;
extern const char *const gpu_shape_kind_names[GPU_SHAPE_KINDS];

/* The last parsed arguments of an operator. Zero-initialised; one thread at a time. */
typedef struct gpu_shapes {
    struct gpu_shape_input {
        size_t first, rank; /* of sizes; rank SIZE_MAX: no shape */
        hd_string type, value;
        int64_t bytes; /* of an element; below 0: of no type that tensors have */
    } * inputs;
    size_t count, capacity;
    int64_t *sizes;
    size_t size_count, size_capacity;
    char *texts; /* padded copies, to which type and value point */
    size_t text_capacity;
    /* Formulas of own_ops.c without a result: how many, and of the first which one, and why */
    uint64_t refused;
    const char *refused_formula, *refused_reason;
} gpu_shapes;

typedef struct gpu_shape_figures {
    gpu_shape_kind kind;
    hd_string dtype;     /* valid until the next call; {NULL, 0}: unknown */
    int64_t flop, bytes; /* INT64_MAX: overflow; bytes below 0: unknown */
    int64_t m, n, k;     /* sizes of a matrix product; 0: of several sizes, or none */
    bool is_own;         /* of own_ops.c */
} gpu_shape_figures;

/* Which peak counts for a type as the trace writes it; REPORT_DTYPES: none. */
report_dtype gpu_shapes_dtype(hd_string type);
/* Whether figures may be known of operators of this name. */
bool gpu_shapes_know(hd_string name);
/* dims, types, values: the JSON of `Input Dims`, `Input type`, `Concrete Inputs`; {NULL, 0}: absent. *known: whether
 * out is set. false: no memory. */
bool gpu_shapes_find(bool *known, gpu_shape_figures *out, gpu_shapes *shapes, hd_string name, hd_string dims,
                     hd_string types, hd_string values);
void gpu_shapes_deinit(gpu_shapes *shapes);

/* ---- own_ops.c: operators of hd_ops_read ---- */

/* Whether an entry has operators of this name. */
bool own_ops_know(hd_string name);
/* Figures by the first entry that fits the inputs, which are read. The reason why they are not known is put into
 * shapes->refused; false then, or if no entry fits. */
bool own_ops_find(gpu_shape_figures *out, gpu_shapes *shapes, hd_string name);
/* The file that was read last; NULL: none. */
const char *own_ops_file(void);

#endif
