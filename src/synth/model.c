/* model.c - the tables of the synthetic run: a small transformer, as an eager framework would launch it */
#include "synth/model.h"

#include <stddef.h>

#define SYNTH_TEXT_STRING(id, text) text,
const char *const synth_texts[SYNTH_TEXT_COUNT] = {SYNTH_TEXTS(SYNTH_TEXT_STRING) SYNTH_CALL_TEXTS(SYNTH_TEXT_STRING)};

#define OP_KEYS "External id:i|Record function id:i|"
#define DIMS_KEYS "Concrete Inputs:j|Input type:j|Input Strides:j|Input Dims:j|"
#define GPU_KEYS "device:i|context:i|stream:i|correlation:i|"
#define KERNEL_KEYS                                                                                                    \
    "External id:i|queued:i|" GPU_KEYS "registers per thread:i|shared memory:i|blocks per SM:d|warps per SM:d|"        \
    "grid:j|block:j|est. achieved occupancy %:i"
#define TOLD_KEYS "External id:i|cuda_sync_kind:s|stream:i|correlation:i|device:i|context:i"
#define CUPTI_KEYS "grid:j|block:j|deviceId:i|streamId:i|correlationId:i"
#define COLLECTIVE_KEYS                                                                                                \
    "Collective name:s|In msg nelems:i|Out msg nelems:i|Group size:i|dtype:s|In split size:s|Out split size:s|"        \
    "Process Group Name:s|Process Group Description:s|Process Group Ranks:s"

const char *const synth_shape_keys[SYNTH_SHAPE_COUNT] = {
    [SYNTH_SHAPE_OP] = OP_KEYS "Ev Idx:i",
    [SYNTH_SHAPE_OP_DIMS] = OP_KEYS DIMS_KEYS "Ev Idx:i",
    [SYNTH_SHAPE_OP_SEQUENCE] = OP_KEYS "Sequence number:i|Fwd thread id:i|" DIMS_KEYS "Ev Idx:i",
    [SYNTH_SHAPE_NODE] = OP_KEYS "Sequence number:i|Fwd thread id:i|Ev Idx:i",
    [SYNTH_SHAPE_COMMS] = OP_KEYS COLLECTIVE_KEYS "|Rank:i|Seq:i|Ev Idx:i",
    [SYNTH_SHAPE_PYTHON_ROOT] = "Python parent id:n|Python id:i|Ev Idx:i",
    [SYNTH_SHAPE_PYTHON] = "Python parent id:i|Python id:i|Ev Idx:i",
    [SYNTH_SHAPE_PYTHON_MODULE] = "Python parent id:i|Python id:i|Python module id:i|Ev Idx:i",
    [SYNTH_SHAPE_RUNTIME] = "External id:i|cbid:i|correlation:i",
    [SYNTH_SHAPE_KERNEL] = KERNEL_KEYS,
    [SYNTH_SHAPE_GRAPH_KERNEL] = KERNEL_KEYS "|graph id:i|graph node id:i|graphNodeCreatorCorrelationId:i",
    [SYNTH_SHAPE_COLLECTIVE] = KERNEL_KEYS "|" COLLECTIVE_KEYS,
    [SYNTH_SHAPE_MEMCPY] = "External id:i|" GPU_KEYS "bytes:i|memory bandwidth (GB/s):d",
    [SYNTH_SHAPE_MEMSET] = "External id:i|" GPU_KEYS "bytes:i|memory bandwidth (GB/s):d",
    [SYNTH_SHAPE_GPU_ANNOTATION] = "External id:i",
    [SYNTH_SHAPE_TOLD] = TOLD_KEYS,
    [SYNTH_SHAPE_TOLD_EVENT] =
        TOLD_KEYS "|wait_on_stream:i|wait_on_cuda_event_record_corr_id:i|wait_on_cuda_event_id:i",
    [SYNTH_SHAPE_MEMORY] = "!s:s|Ev Idx:i|Total Allocated:i|Total Reserved:i|Bytes:i|Addr:i|Device Id:i|Device Type:i",
    [SYNTH_SHAPE_INSTANT] = "!s:s",
    [SYNTH_SHAPE_UTILISATION] = "percent:i",
    [SYNTH_SHAPE_GPU_MEMORY] = "allocated:i|reserved:i",
    [SYNTH_SHAPE_BATCH] = "batch:i|samples:i",
    [SYNTH_SHAPE_SPAN] = "Op count:i",
    [SYNTH_SHAPE_NAME] = "name:s",
    [SYNTH_SHAPE_LABELS] = "labels:s",
    [SYNTH_SHAPE_SORT] = "sort_index:i",
    [SYNTH_SHAPE_CUPTI_CALL] = "cbid:s|correlationId:i",
    [SYNTH_SHAPE_CUPTI_KERNEL] = CUPTI_KEYS,
    [SYNTH_SHAPE_CUPTI_GRAPH_KERNEL] = CUPTI_KEYS "|graphId:i|graphNodeId:i|graphNodeCreatorCorrelationId:i",
    [SYNTH_SHAPE_CUPTI_COPY] = "type:s|size:i|deviceId:i|streamId:i|correlationId:i",
    [SYNTH_SHAPE_CUPTI_SET] = "size:i|deviceId:i|streamId:i|correlationId:i",
};

#define ELEMENTWISE(functor, size, arguments)                                                                          \
    "void at::native::vectorized_elementwise_kernel<" size ", " functor ", std::array<char*, " arguments               \
    "> >(int, " functor ", std::array<char*, " arguments ">)"

const synth_kernel_spec synth_kernel_specs[SYNTH_KERNEL_COUNT] = {
    [SYNTH_GEMM_TN] =
        {"synth_gemm_bf16_f32acc_tn_128x256x64_stages3", 61000, {256, 1, 1}, {384, 1, 1}, 168, 18, 213504},
    [SYNTH_GEMM_NN] =
        {"synth_gemm_bf16_f32acc_nn_128x128x64_stages4", 58000, {512, 1, 1}, {384, 1, 1}, 168, 18, 180736},
    [SYNTH_GEMM_NT] =
        {"synth_gemm_bf16_f32acc_nt_128x128x64_stages4", 55000, {512, 1, 1}, {384, 1, 1}, 168, 18, 180736},
    [SYNTH_GEMM_WIDE] =
        {"synth_gemm_bf16_f32acc_tn_256x128x64_stages3", 148000, {1024, 1, 1}, {384, 1, 1}, 168, 18, 213504},
    [SYNTH_NORM] = {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, "
                    "float, c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, "
                    "c10::BFloat16*)",
                    14500,
                    {8192, 1, 1},
                    {32, 4, 1},
                    40,
                    75,
                    32},
    [SYNTH_NORM_GRAD] = {"void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<c10::BFloat16, float>("
                         "c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, int)",
                         21500,
                         {8192, 1, 1},
                         {256, 1, 1},
                         32,
                         100,
                         128},
    [SYNTH_NORM_WEIGHTS] = {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<c10::BFloat16, float, "
                            "128, 1024, 8>(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*)",
                            17000,
                            {64, 8, 1},
                            {32, 16, 1},
                            72,
                            44,
                            4224},
    [SYNTH_FLASH] = {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, true, true>(Flash_fwd_params)",
                     92000,
                     {32, 8, 16},
                     {128, 1, 1},
                     255,
                     12,
                     81920},
    [SYNTH_FLASH_GRAD] = {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8>, "
                          "true, true>(Flash_bwd_params)",
                          231000,
                          {32, 8, 16},
                          {256, 1, 1},
                          255,
                          12,
                          147456},
    [SYNTH_GELU] = {ELEMENTWISE("at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}",
                                "8", "2ul"),
                    19500,
                    {32768, 1, 1},
                    {128, 1, 1},
                    32,
                    100,
                    0},
    [SYNTH_GELU_GRAD] = {ELEMENTWISE("at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&)::{lambda("
                                     "c10::BFloat16, c10::BFloat16)#1}",
                                     "8", "3ul"),
                         29500,
                         {32768, 1, 1},
                         {128, 1, 1},
                         38,
                         94,
                         0},
    [SYNTH_DROPOUT] =
        {"void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned "
         "int, 1, 8, bool>(float, at::PhiloxCudaState)",
         12500,
         {1056, 1, 1},
         {256, 1, 1},
         48,
         62,
         0},
    [SYNTH_MASKED_SCALE] = {ELEMENTWISE("at::native::masked_scale_kernel<bool, c10::BFloat16, float>", "8", "3ul"),
                            13500,
                            {8192, 1, 1},
                            {128, 1, 1},
                            28,
                            100,
                            0},
    [SYNTH_ADD] = {ELEMENTWISE("at::native::CUDAFunctor_add<c10::BFloat16>", "8", "3ul"),
                   11000,
                   {8192, 1, 1},
                   {128, 1, 1},
                   26,
                   100,
                   0},
    [SYNTH_REDUCE] = {"void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
                      "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor> > >(at::native::ReduceOp)",
                      9500,
                      {32, 4, 1},
                      {32, 16, 1},
                      54,
                      50,
                      16},
    [SYNTH_EMBEDDING] = {"void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned "
                         "int, 2, 2, -2, true>(int, unsigned int, long)",
                         10500,
                         {1056, 1, 1},
                         {128, 1, 1},
                         32,
                         97,
                         0},
    [SYNTH_EMBEDDING_GRAD] = {"void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>(long "
                              "const*, c10::BFloat16*, long, long, bool)",
                              47000,
                              {2048, 4, 1},
                              {256, 1, 1},
                              40,
                              71,
                              0},
    [SYNTH_SOFTMAX] = {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, "
                       "LogSoftMaxForwardEpilogue>(float*, c10::BFloat16 const*, int)",
                       84000,
                       {8192, 1, 1},
                       {1024, 1, 1},
                       30,
                       100,
                       128},
    [SYNTH_SOFTMAX_GRAD] = {"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float, "
                            "LogSoftMaxBackwardEpilogue>(c10::BFloat16*, float const*, float const*, long)",
                            97000,
                            {8192, 1, 1},
                            {1024, 1, 1},
                            32,
                            100,
                            128},
    [SYNTH_NLL] = {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>("
                   "float*, float*, float const*, long const*, bool, long)",
                   7500,
                   {1, 1, 1},
                   {32, 1, 1},
                   26,
                   0,
                   256},
    [SYNTH_NLL_GRAD] = {"void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>("
                        "float*, float const*, long const*, float const*, int)",
                        6500,
                        {1, 1, 1},
                        {32, 1, 1},
                        22,
                        0,
                        0},
    [SYNTH_ADAM] = {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, "
                    "float const*, double, double, double>(TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>)",
                    176000,
                    {320, 1, 1},
                    {512, 1, 1},
                    62,
                    47,
                    0},
    [SYNTH_L2_NORM] = {"void at::native::(anonymous namespace)::lpnorm_cleanup<float, (at::native::NormType)1, float>("
                       "float const*, TensorListAddresses, int)",
                       8500,
                       {148, 1, 1},
                       {512, 1, 1},
                       24,
                       56,
                       4096},
    [SYNTH_FILL] =
        {ELEMENTWISE("at::native::FillFunctor<float>", "4", "1ul"), 2600, {64, 1, 1}, {128, 1, 1}, 16, 31, 0},
    [SYNTH_NCCL_ALLREDUCE] = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                              420000,
                              {24, 1, 1},
                              {544, 1, 1},
                              96,
                              0,
                              82240},
    [SYNTH_NCCL_ALLGATHER] = {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                              310000,
                              {16, 1, 1},
                              {512, 1, 1},
                              96,
                              0,
                              82240},
};

#define MB(n) ((int64_t)(n) << 20)
#define HIDDEN "[8, 1024, 4096]"
#define LINEAR(module, source, stream, kernel, width, bytes)                                                           \
    {                                                                                                                  \
        {"aten::linear", "aten::addmm", NULL}, module, source, "AddmmBackward0", {"aten::mm", "aten::mm"}, kernel,     \
            {SYNTH_GEMM_NN, SYNTH_GEMM_NT}, "[" HIDDEN ", [" width ", 4096], [" width "]]",                            \
            "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]", "[[4194304, 4096, 1], [4096, 1], [1]]",       \
            "[\"\", \"\", \"\"]", stream, true, bytes                                                                  \
    }
#define ADD_OP(source)                                                                                                 \
    {                                                                                                                  \
        {"aten::add", NULL, NULL}, NULL, source, "AddBackward0", {"aten::add_", NULL}, SYNTH_ADD,                      \
            {SYNTH_ADD, SYNTH_KERNEL_NONE}, "[" HIDDEN ", " HIDDEN ", []]",                                            \
            "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]", "[[4194304, 4096, 1], [4194304, 4096, 1], []]",      \
            "[\"\", \"\", \"1\"]", 0, false, MB(64)                                                                    \
    }
#define NORM_OP(source)                                                                                                \
    {                                                                                                                  \
        {"aten::layer_norm", "aten::native_layer_norm", NULL}, "nn.Module: LayerNorm_%d", source,                      \
            "NativeLayerNormBackward0", {"aten::native_layer_norm_backward", "aten::sum"}, SYNTH_NORM,                 \
            {SYNTH_NORM_GRAD, SYNTH_NORM_WEIGHTS}, "[" HIDDEN ", [], [4096], [4096], [], []]",                         \
            "[\"c10::BFloat16\", \"ScalarList\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"]",       \
            "[[4194304, 4096, 1], [], [1], [1], [], []]",                                                              \
            "[\"\", \"[4096]\", \"\", \"\", \"1.0000000000000001e-05\", \"True\"]", 0, true, MB(64)                    \
    }
#define DROPOUT_OP(source)                                                                                             \
    {                                                                                                                  \
        {"aten::dropout", "aten::native_dropout", NULL}, "nn.Module: Dropout_%d", source, "NativeDropoutBackward0",    \
            {"aten::native_dropout_backward", NULL}, SYNTH_DROPOUT, {SYNTH_MASKED_SCALE, SYNTH_KERNEL_NONE},           \
            "[" HIDDEN ", [], []]", "[\"c10::BFloat16\", \"Scalar\", \"Scalar\"]", "[[4194304, 4096, 1], [], []]",     \
            "[\"\", \"0.10000000000000001\", \"True\"]", 0, false, MB(96)                                              \
    }

const synth_op_spec synth_op_specs[SYNTH_OP_COUNT] = {
    {{"aten::embedding", "aten::index_select", NULL},
     "nn.Module: Embedding_%d",
     "model/transformer.py(52): forward",
     "EmbeddingBackward0",
     {"aten::embedding_dense_backward", NULL},
     SYNTH_EMBEDDING,
     {SYNTH_EMBEDDING_GRAD, SYNTH_KERNEL_NONE},
     "[[50304, 4096], [8, 1024], [], [], []]",
     "[\"c10::BFloat16\", \"long int\", \"Scalar\", \"Scalar\", \"Scalar\"]",
     "[[4096, 1], [1024, 1], [], [], []]",
     "[\"\", \"\", \"-1\", \"False\", \"False\"]",
     0,
     true,
     MB(64)},
    NORM_OP("model/block.py(31): forward"),
    LINEAR("nn.Module: QueryProjection_%d", "model/attention.py(44): forward", 0, SYNTH_GEMM_TN, "4096", MB(64)),
    LINEAR("nn.Module: KeyProjection_%d", "model/attention.py(45): forward", 1, SYNTH_GEMM_TN, "1024", MB(16)),
    LINEAR("nn.Module: ValueProjection_%d", "model/attention.py(46): forward", 2, SYNTH_GEMM_TN, "1024", MB(16)),
    {{"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
      "aten::_flash_attention_forward"},
     NULL,
     "model/attention.py(50): forward",
     "ScaledDotProductFlashAttentionBackward0",
     {"aten::_flash_attention_backward", NULL},
     SYNTH_FLASH,
     {SYNTH_FLASH_GRAD, SYNTH_KERNEL_NONE},
     "[[8, 32, 1024, 128], [8, 8, 1024, 128], [8, 8, 1024, 128], [], [], [], []]",
     "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"\", \"Scalar\", \"Scalar\", \"\"]",
     "[[4194304, 128, 4096, 1], [1048576, 128, 1024, 1], [1048576, 128, 1024, 1], [], [], [], []]",
     "[\"\", \"\", \"\", \"\", \"0.\", \"True\", \"\"]",
     0,
     false,
     MB(66)},
    LINEAR("nn.Module: OutputProjection_%d", "model/attention.py(57): forward", 0, SYNTH_GEMM_TN, "4096", MB(64)),
    DROPOUT_OP("model/block.py(34): forward"),
    ADD_OP("model/block.py(35): forward"),
    NORM_OP("model/block.py(36): forward"),
    LINEAR("nn.Module: UpProjection_%d", "model/mlp.py(18): forward", 0, SYNTH_GEMM_WIDE, "14336", MB(224)),
    {{"aten::gelu", NULL, NULL},
     "nn.Module: GELU_%d",
     "model/mlp.py(19): forward",
     "GeluBackward0",
     {"aten::gelu_backward", NULL},
     SYNTH_GELU,
     {SYNTH_GELU_GRAD, SYNTH_KERNEL_NONE},
     "[[8, 1024, 14336], []]",
     "[\"c10::BFloat16\", \"\"]",
     "[[14680064, 14336, 1], []]",
     "[\"\", \"'none'\"]",
     0,
     false,
     MB(224)},
    LINEAR("nn.Module: DownProjection_%d", "model/mlp.py(20): forward", 0, SYNTH_GEMM_WIDE, "4096", MB(64)),
    DROPOUT_OP("model/block.py(37): forward"),
    ADD_OP("model/block.py(38): forward"),
    {{"aten::log_softmax", "aten::_log_softmax", NULL},
     NULL,
     "train/loop.py(63): loss_of",
     "LogSoftmaxBackward0",
     {"aten::_log_softmax_backward_data", NULL},
     SYNTH_SOFTMAX,
     {SYNTH_SOFTMAX_GRAD, SYNTH_KERNEL_NONE},
     "[[8192, 50304], [], []]",
     "[\"c10::BFloat16\", \"Scalar\", \"Scalar\"]",
     "[[50304, 1], [], []]",
     "[\"\", \"1\", \"6\"]",
     0,
     false,
     MB(1572)},
    {{"aten::nll_loss_nd", "aten::nll_loss", "aten::nll_loss_forward"},
     NULL,
     "train/loop.py(64): loss_of",
     "NllLossBackward0",
     {"aten::nll_loss_backward", NULL},
     SYNTH_NLL,
     {SYNTH_NLL_GRAD, SYNTH_KERNEL_NONE},
     "[[8192, 50304], [8192], [], [], []]",
     "[\"float\", \"long int\", \"\", \"Scalar\", \"SymInt\"]",
     "[[50304, 1], [1], [], [], []]",
     "[\"\", \"\", \"\", \"1\", \"-100\"]",
     0,
     false,
     512},
};
