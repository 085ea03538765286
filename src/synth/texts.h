/* texts.h - texts that the code of the generator names */
#ifndef HD_SYNTH_TEXTS_H
#define HD_SYNTH_TEXTS_H

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
    X(CPU_INSTANT, "cpu_instant_event")                                                                                \
    X(MEMORY, "[memory]")                                                                                              \
    X(TRACE, "Trace")                                                                                                  \
    X(LOADER, "data_loader")                                                                                           \
    X(GLOBAL, "g")                                                                                                     \
    X(THREAD, "t")                                                                                                     \
    X(FLOAT, "Float")                                                                                                  \
    X(BFLOAT16, "BFloat16")                                                                                            \
    X(EMPTY_LIST, "[]")                                                                                                \
    X(ZERO, "0")                                                                                                       \
    X(DEFAULT_GROUP, "default_pg")                                                                                     \
    X(ALLREDUCE, "allreduce")                                                                                          \
    X(ALLGATHER, "_allgather_base")                                                                                    \
    X(NCCL_ALLREDUCE, "nccl:all_reduce")                                                                               \
    X(NCCL_ALLGATHER, "nccl:_all_gather_base")                                                                         \
    X(RECORD_COMMS, "record_param_comms")                                                                              \
    X(LAUNCH, "cudaLaunchKernel")                                                                                      \
    X(LAUNCH_EX, "cudaLaunchKernelExC")                                                                                \
    X(MEMCPY_ASYNC, "cudaMemcpyAsync")                                                                                 \
    X(MEMSET_ASYNC, "cudaMemsetAsync")                                                                                 \
    X(STREAM_SYNC, "cudaStreamSynchronize")                                                                            \
    X(STREAM_WAIT, "cudaStreamWaitEvent")                                                                              \
    X(EVENT_RECORD, "cudaEventRecord")                                                                                 \
    X(OCCUPANCY, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")                                             \
    X(MEMCPY_HTOD, "Memcpy HtoD (Pinned -> Device)")                                                                   \
    X(MEMCPY_DTOH, "Memcpy DtoH (Device -> Pageable)")                                                                 \
    X(MEMSET_DEVICE, "Memset (Device)")                                                                                \
    X(NEXT_BATCH, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")                                     \
    X(PIN_MEMORY, "pin_memory_batch")                                                                                  \
    X(LOAD_BATCH, "load_batch")                                                                                        \
    X(TO, "aten::to")                                                                                                  \
    X(TO_COPY, "aten::_to_copy")                                                                                       \
    X(COPY, "aten::copy_")                                                                                             \
    X(EMPTY, "aten::empty")                                                                                            \
    X(ZERO_OP, "aten::zero_")                                                                                          \
    X(FILL, "aten::fill_")                                                                                             \
    X(ADD, "aten::add_")                                                                                               \
    X(MUL, "aten::mul")                                                                                                \
    X(ITEM, "aten::item")                                                                                              \
    X(LOCAL_SCALAR, "aten::_local_scalar_dense")                                                                       \
    X(FORWARD, "## forward ##")                                                                                        \
    X(BACKWARD, "## backward ##")                                                                                      \
    X(ZERO_GRAD, "Optimizer.zero_grad#AdamW.zero_grad")                                                                \
    X(OPTIMIZER, "Optimizer.step#AdamW.step")                                                                          \
    X(FUSED_ADAM, "aten::_fused_adamw_")                                                                               \
    X(NORM, "aten::_foreach_norm")                                                                                     \
    X(DETACH, "aten::detach")                                                                                          \
    X(EVALUATE_ACCUMULATE, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad")                     \
    X(ACCUMULATE, "torch::autograd::AccumulateGrad")                                                                   \
    X(PY_STEP, "train/loop.py(88): train_step")                                                                        \
    X(PY_CALL, "torch/nn/modules/module.py(1773): _wrapped_call_impl")                                                 \
    X(PY_BACKWARD, "torch/_tensor.py(638): backward")                                                                  \
    X(PY_RUN_BACKWARD, "<built-in method run_backward of torch._C._EngineBase object at 0x7f41c09b2e30>")              \
    X(PY_OPTIMIZER, "torch/optim/optimizer.py(510): wrapper")                                                          \
    X(PY_MODEL, "nn.Module: SynthTransformer_0")                                                                       \
    X(PY_LOSS, "train/loop.py(61): loss_of")                                                                           \
    X(STEP_DONE, "step done")                                                                                          \
    X(UTILISATION, "GPU utilisation")                                                                                  \
    X(GPU_MEMORY, "GPU memory")                                                                                        \
    X(PREFETCH, "prefetch_next_batch")                                                                                 \
    X(CHECKPOINT, "checkpoint_shard")                                                                                  \
    X(LOG_METRICS, "log_metrics")                                                                                      \
    X(WAIT_QUEUE, "wait_for_queue")                                                                                    \
    X(RECORD_END, "Record Window End")                                                                                 \
    X(ITERATION, "Iteration Start: PyTorch Profiler")                                                                  \
    X(PROFILER, "PyTorch Profiler")                                                                                    \
    X(PROFILER_0, "PyTorch Profiler (0)")                                                                              \
    X(SPANS, "Spans")                                                                                                  \
    X(TRACES, "Traces")                                                                                                \
    X(TRACE_PROFILER, "Trace PyTorch Profiler")                                                                        \
    X(BLANK, "")                                                                                                       \
    X(PROCESS_NAME, "process_name")                                                                                    \
    X(PROCESS_LABELS, "process_labels")                                                                                \
    X(PROCESS_SORT, "process_sort_index")                                                                              \
    X(THREAD_NAME, "thread_name")                                                                                      \
    X(THREAD_SORT, "thread_sort_index")                                                                                \
    X(PYTHON, "python3")                                                                                               \
    X(CPU, "CPU")

/* Those of graphs, of waits, and of a trace such as CUPTI's. */
#define SYNTH_CALL_TEXTS(X)                                                                                            \
    X(LAST_ERROR, "cudaGetLastError")                                                                                  \
    X(GRAPH_LAUNCH, "cudaGraphLaunch")                                                                                 \
    X(BEGIN_CAPTURE, "cudaStreamBeginCapture")                                                                         \
    X(END_CAPTURE, "cudaStreamEndCapture")                                                                             \
    X(INSTANTIATE, "cudaGraphInstantiate")                                                                             \
    X(CAPTURE, "capture_graph")                                                                                        \
    X(REPLAY, "CUDAGraph::replay")                                                                                     \
    X(CUDA_SYNC, "cuda_sync")                                                                                          \
    X(EVENT_SYNC, "cudaEventSynchronize")                                                                              \
    X(DEVICE_SYNC, "cudaDeviceSynchronize")                                                                            \
    X(TOLD_WAIT, "Stream Wait Event")                                                                                  \
    X(TOLD_EVENT, "Event Sync")                                                                                        \
    X(TOLD_STREAM, "Stream Sync")                                                                                      \
    X(TOLD_DEVICE, "Context Sync")                                                                                     \
    X(CUPTI_RUNTIME, "CUDA_Runtime")                                                                                   \
    X(CUPTI_KERNEL, "GPU_Kernel")                                                                                      \
    X(CUPTI_COPY, "MemCopy")                                                                                           \
    X(CUPTI_SET, "Memset")

#endif
