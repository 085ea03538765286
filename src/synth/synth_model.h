/* synth_model.h - the words of the synthetic run: names, shapes of arguments, kernels, ops of the network */
#ifndef HD_SYNTH_SYNTH_MODEL_H
#define HD_SYNTH_SYNTH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/* Argument shapes; their keys stand in synth_model.c. */
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

/* Texts that the code names. */
#define SYNTH_TEXTS(X)                                                                                                 \
    X(CPU_OP, "cpu_op")                                                                                                \
    X(USER_ANNOTATION, "user_annotation")                                                                              \
    X(PYTHON_FUNCTION, "python_function")                                                                              \
    X(CUDA_RUNTIME, "cuda_runtime")                                                                                    \
    X(KERNEL, "kernel")                                                                                                \
    X(GPU_MEMCPY, "gpu_memcpy")                                                                                        \
    X(GPU_MEMSET, "gpu_memset")                                                                                        \
    X(GPU_USER_ANNOTATION, "gpu_user_annotation")                                                                      \
    X(AC2G, "ac2g")                                                                                                    \
    X(FWDBWD, "fwdbwd")                                                                                                \
    X(CPU_INSTANT, "cpu_instant_event") X(MEMORY, "[memory]") X(TRACE, "Trace") X(LOADER, "data_loader") X(            \
        GLOBAL, "g") X(THREAD, "t") X(FLOAT, "Float") X(BFLOAT16, "BFloat16") X(EMPTY_LIST, "[]") X(ZERO, "0")         \
        X(DEFAULT_GROUP, "default_pg") X(ALLREDUCE, "allreduce") X(ALLGATHER, "_allgather_base") X(                    \
            NCCL_ALLREDUCE, "nccl:all_reduce") X(NCCL_ALLGATHER, "nccl:_all_gather_base")                              \
            X(RECORD_COMMS, "record_param_comms") X(LAUNCH, "cudaLaunchKernel") X(LAUNCH_EX, "cudaLaunchKernelExC") X( \
                MEMCPY_ASYNC, "cudaMemcpyAsync") X(MEMSET_ASYNC, "cudaMemsetAsync") X(STREAM_SYNC,                     \
                                                                                      "cudaStreamSynchronize")         \
                X(STREAM_WAIT, "cudaStreamWaitEvent") X(EVENT_RECORD, "cudaEventRecord") X(                            \
                    OCCUPANCY,                                                                                         \
                    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags") X(MEMCPY_HTOD,                           \
                                                                                "Memcpy HtoD (Pinned -> Device)")      \
                    X(MEMCPY_DTOH, "Memcpy DtoH (Device -> Pageable)") X(MEMSET_DEVICE, "Memset (Device)") X(          \
                        NEXT_BATCH,                                                                                    \
                        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")                               \
                        X(PIN_MEMORY, "pin_memory_batch") X(LOAD_BATCH, "load_batch") X(TO, "aten::to") X(             \
                            TO_COPY, "aten::_to_copy") X(COPY,                                                         \
                                                         "aten::copy_") X(EMPTY, "aten::empty")                        \
                            X(ZERO_OP, "aten::zero_") X(FILL, "aten::fill_") X(ADD, "aten::add_") X(MUL, "aten::mul")  \
                                X(ITEM, "aten::item") X(LOCAL_SCALAR, "aten::_local_scalar_dense") X(                  \
                                    FORWARD, "## forward ##") X(BACKWARD, "## backward ##")                            \
                                    X(ZERO_GRAD, "Optimizer.zero_grad#AdamW.zero_"                                     \
                                                 "grad") X(OPTIMIZER, "Optimizer.step#AdamW.step")                     \
                                        X(FUSED_ADAM, "aten::_fused_adamw_") X(NORM, "aten::_foreach_norm")            \
                                            X(DETACH, "aten::detach") X(                                               \
                                                EVALUATE_ACCUMULATE, "autograd::engine::evaluate_function: "           \
                                                                     "torch::autograd::AccumulateGrad")                \
                                                X(ACCUMULATE, "torch::autograd::AccumulateGrad") X(                    \
                                                    PY_STEP, "train/loop.py(88): train_step") X(PY_CALL,               \
                                                                                                "torch/nn/modules/"    \
                                                                                                "module.py(1773): "    \
                                                                                                "_wrapped_call_impl")  \
                                                    X(PY_BACKWARD, "torch/_tensor.py(638): backward") X(               \
                                                        PY_RUN_BACKWARD,                                               \
                                                        "<built-in method run_backward of torch._C._EngineBase "       \
                                                        "object at 0x7f41c09b2e30>") X(PY_OPTIMIZER, "torch/optim/"    \
                                                                                                     "optimizer.py("   \
                                                                                                     "510): wrapper")  \
                                                        X(PY_MODEL, "nn.Module: SynthTransformer_0") X(                \
                                                            PY_LOSS, "train/loop.py(61): loss_of") X(STEP_DONE,        \
                                                                                                     "step done")      \
                                                            X(UTILISATION, "GPU utilisation") X(                       \
                                                                GPU_MEMORY,                                            \
                                                                "GPU memory") X(PREFETCH, "prefetch_next_batch")       \
                                                                X(CHECKPOINT, "checkpoint_shard") X(                   \
                                                                    LOG_METRICS,                                       \
                                                                    "log_metrics") X(WAIT_QUEUE, "wait_for_queue")     \
                                                                    X(RECORD_END, "Record Window End") X(              \
                                                                        ITERATION,                                     \
                                                                        "Iteration Start: PyTorch Profiler")           \
                                                                        X(PROFILER, "PyTorch Profiler") X(             \
                                                                            PROFILER_0,                                \
                                                                            "PyTorch Profiler (0)")                    \
                                                                            X(SPANS, "Spans") X(TRACES, "Traces") X(   \
                                                                                TRACE_PROFILER,                        \
                                                                                "Trace PyTorch "                       \
                                                                                "Profiler") X(BLANK, "")               \
                                                                                X(PROCESS_NAME, "process_name") X(     \
                                                                                    PROCESS_LABELS,                    \
                                                                                    "process_labels")                  \
                                                                                    X(PROCESS_SORT,                    \
                                                                                      "process_sort_index")            \
                                                                                        X(THREAD_NAME, "thread_name")  \
                                                                                            X(THREAD_SORT,             \
                                                                                              "thread_sort_index")     \
                                                                                                X(PYTHON, "python3")   \
                                                                                                    X(CPU, "CPU")

/* Those of graphs, and of a trace such as CUPTI's. */
#define SYNTH_CALL_TEXTS(X)                                                                                            \
    X(LAST_ERROR, "cudaGetLastError")                                                                                  \
    X(GRAPH_LAUNCH, "cudaGraphLaunch")                                                                                 \
    X(BEGIN_CAPTURE, "cudaStreamBeginCapture")                                                                         \
    X(END_CAPTURE, "cudaStreamEndCapture")                                                                             \
    X(INSTANTIATE, "cudaGraphInstantiate")                                                                             \
    X(CAPTURE, "capture_graph")                                                                                        \
    X(REPLAY, "CUDAGraph::replay")                                                                                     \
    X(CUPTI_RUNTIME, "CUDA_Runtime")                                                                                   \
    X(CUPTI_KERNEL, "GPU_Kernel")                                                                                      \
    X(CUPTI_COPY, "MemCopy")                                                                                           \
    X(CUPTI_SET, "Memset")

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
