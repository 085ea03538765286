/* model.h - the words of the synthetic run: names, shapes of arguments, kernels, ops of the network */
#ifndef HD_SYNTH_MODEL_H
#define HD_SYNTH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "synth/texts.h"

/* Argument shapes; their keys are in model.c. */
typedef enum synth_shape {
    SYNTH_SHAPE_NONE,
    SYNTH_SHAPE_OP,
    SYNTH_SHAPE_OP_DIMS,
    SYNTH_SHAPE_OP_SEQUENCE,
    SYNTH_SHAPE_NODE,
    SYNTH_SHAPE_COMMS,
    SYNTH_SHAPE_PYTHON_ROOT,
    SYNTH_SHAPE_PYTHON,
    SYNTH_SHAPE_PYTHON_MODULE,
    SYNTH_SHAPE_RUNTIME,
    SYNTH_SHAPE_KERNEL,
    SYNTH_SHAPE_GRAPH_KERNEL,
    SYNTH_SHAPE_COLLECTIVE,
    SYNTH_SHAPE_MEMCPY,
    SYNTH_SHAPE_MEMSET,
    SYNTH_SHAPE_GPU_ANNOTATION,
    SYNTH_SHAPE_TOLD,
    SYNTH_SHAPE_TOLD_EVENT,
    SYNTH_SHAPE_MEMORY,
    SYNTH_SHAPE_INSTANT,
    SYNTH_SHAPE_UTILISATION,
    SYNTH_SHAPE_GPU_MEMORY,
    SYNTH_SHAPE_BATCH,
    SYNTH_SHAPE_SPAN,
    SYNTH_SHAPE_NAME,
    SYNTH_SHAPE_LABELS,
    SYNTH_SHAPE_SORT,
    SYNTH_SHAPE_CUPTI_CALL,
    SYNTH_SHAPE_CUPTI_KERNEL,
    SYNTH_SHAPE_CUPTI_GRAPH_KERNEL,
    SYNTH_SHAPE_CUPTI_COPY,
    SYNTH_SHAPE_CUPTI_SET,
    SYNTH_SHAPE_COUNT
} synth_shape;

/* Keys of a shape: "name:type|…", the type i int, d decimal, s string, j JSON, n null; '!' before the name for a
 * key of the event itself. */
extern const char *const synth_shape_keys[SYNTH_SHAPE_COUNT];

#define SYNTH_TEXT_ENUM(id, text) SYNTH_TEXT_##id,
typedef enum synth_text_id {
    SYNTH_TEXTS(SYNTH_TEXT_ENUM) SYNTH_CALL_TEXTS(SYNTH_TEXT_ENUM) SYNTH_TEXT_COUNT
} synth_text_id;
extern const char *const synth_texts[SYNTH_TEXT_COUNT];

typedef enum synth_kernel_id {
    SYNTH_GEMM_TN,
    SYNTH_GEMM_NN,
    SYNTH_GEMM_NT,
    SYNTH_GEMM_WIDE,
    SYNTH_NORM,
    SYNTH_NORM_GRAD,
    SYNTH_NORM_WEIGHTS,
    SYNTH_FLASH,
    SYNTH_FLASH_GRAD,
    SYNTH_GELU,
    SYNTH_GELU_GRAD,
    SYNTH_DROPOUT,
    SYNTH_MASKED_SCALE,
    SYNTH_ADD,
    SYNTH_REDUCE,
    SYNTH_EMBEDDING,
    SYNTH_EMBEDDING_GRAD,
    SYNTH_SOFTMAX,
    SYNTH_SOFTMAX_GRAD,
    SYNTH_NLL,
    SYNTH_NLL_GRAD,
    SYNTH_ADAM,
    SYNTH_L2_NORM,
    SYNTH_FILL,
    SYNTH_NCCL_ALLREDUCE,
    SYNTH_NCCL_ALLGATHER,
    SYNTH_KERNEL_COUNT,
    SYNTH_KERNEL_NONE = SYNTH_KERNEL_COUNT
} synth_kernel_id;

typedef struct synth_kernel_spec {
    const char *name;
    int64_t duration_ns;
    uint16_t grid[3], block[3];
    uint8_t registers, occupancy;
    int32_t shared;
} synth_kernel_spec;

extern const synth_kernel_spec synth_kernel_specs[SYNTH_KERNEL_COUNT];

/* An op of the network: a chain of names, each within the one before; the innermost launches the kernel. */
enum { SYNTH_CHAIN = 3, SYNTH_GRADS = 2 };

typedef struct synth_op_spec {
    const char *names[SYNTH_CHAIN];
    const char *module; /* of the python frame around it, with %d for a number; NULL for none */
    const char *source;
    const char *node;               /* of the backward */
    const char *grads[SYNTH_GRADS]; /* its ops, each of one kernel */
    synth_kernel_id kernel, grad_kernels[SYNTH_GRADS];
    const char *dims, *types, *strides, *concrete;
    uint8_t stream; /* modulo the streams there are */
    bool parameter; /* has a weight whose gradient is accumulated */
    int64_t out_bytes;
} synth_op_spec;

/* The embedding, the ops of a block, the two of the loss. */
enum {
    SYNTH_OP_EMBEDDING,
    SYNTH_OP_BLOCK,
    SYNTH_BLOCK_OPS = 14,
    SYNTH_OP_LOSS = SYNTH_OP_BLOCK + SYNTH_BLOCK_OPS,
    SYNTH_LOSS_OPS = 2,
    SYNTH_OP_COUNT = SYNTH_OP_LOSS + SYNTH_LOSS_OPS
};
extern const synth_op_spec synth_op_specs[SYNTH_OP_COUNT];

#endif
