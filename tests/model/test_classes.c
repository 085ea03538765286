/* test_classes.c - what kernels do, and which collective a text tells, by names as libraries write them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "model/class/class.h"
#include "model/roles/trace_roles.h"

static hd_string text(const char *data)
{
    return (hd_string){data, strlen(data)};
}

static void test_classes__kernels_of_collectives_are_communication(void **state)
{
    static const char *const names[] = {
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)",
        "ncclSymkDevKernel_AllReduce_RSxLD_AGxST",
        "Kernel: ncclDevKernel_Broadcast_RING_LL",
        "_Z31ncclDevKernel_AllReduce_Sum_f3224ncclDevKernelArgsStorageILm4096EE",
        "rcclGenericKernel<1>(ncclDevComm*)",
        "mscclKernel_Sum_half_LL128_false",
        "oneccl_allreduce_ring",
        "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 8>(c10::BFloat16*, unsigned long)",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "void tensorrt_llm::kernels::twoShotAllReduceKernel<float, 8>(params)",
        "all-gather-start.1",
        "reduce-scatter.12",
        "one_shot_all_to_all",
        "deep_ep::internode::dispatch<true>(int)",
        "userbuffers_fp16_sum_inplace_gpu_rr_rs_oop",
        "oneshotAllreduceFusionKernel",
        "void trtllm::oneShotAllReduceKernel<half, 8>()",
        "lamport_style_all_reduce<4>(int)",
        "void quickreduce::twoshot<8>()",
        "aiter::reduce_scatter_cross_device_store",
        "nvshmem_quiet_kernel",
        "hcom_allReduce__586_0_1",

        "collective-permute-start",
        "async-collective-start.1",
        "send.3",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (gpu_class_of_kernel(text(names[i])) == GPU_COMMUNICATION) continue;
        fail_msg("%s is taken for compute", names[i]);
    }
}

static void test_classes__other_kernels_compute(void **state)
{
    static const char *const names[] = {
        "ampere_sgemm_128x64_tn",
        "volta_scudnn_128x64_relu_small_nn_v1",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)",
        "void small_reduce_kernel<float>(float*)",
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(at::native::ReduceOp<float>)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 4, at::native::_cuda_scatter_gather>(int)",
        "scatter_reduce_kernel",
        "broadcast_add",
        "void takes_a_comm<float>(ncclComm*, all_reduce_params)",
        "occlusion_kernel",
        "triton_poi_fused_all_gather_into_tensor_clone_0",
        "hipAllReduceLike",
        "sender",
        "fusion.1",
        "gather-dtype_Float",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (gpu_class_of_kernel(text(names[i])) == GPU_COMPUTE) continue;
        fail_msg("%s is taken for communication", names[i]);
    }
}

static void test_classes__some_kernels_copy(void **state)
{
    (void)state;
    assert_int_equal(gpu_class_of_kernel(text("__amd_rocclr_copyBuffer")), GPU_COPY);
    assert_int_equal(gpu_class_of_kernel(text("__amd_rocclr_fillBufferAligned")), GPU_COMPUTE);
    assert_int_equal(gpu_class_of_kernel(text("copy-start.12")), GPU_COPY);
    assert_int_equal(gpu_class_of_kernel(text("copy.12")), GPU_COMPUTE);
}

static void test_classes__texts_tell_the_collective(void **state)
{
    static const struct {
        const char *text;
        gpu_collective collective;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)", GPU_ALL_REDUCE},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL", GPU_REDUCE},
        {"void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*)", GPU_ALL_REDUCE},
        {"void quickreduce::twoshot<8>()", GPU_ALL_REDUCE},
        {"reduce-scatter.4", GPU_REDUCE_SCATTER},
        {"all-reduce-scatter.4", GPU_REDUCE_SCATTER},
        {"collective-permute.1", GPU_SEND_RECV},
        {"one_shot_all2all", GPU_ALL_TO_ALL},
        {"_allgather_base", GPU_ALL_GATHER},
        {"broadcast_oop", GPU_BROADCAST},
        {"recv", GPU_SEND_RECV},
        {"barrier", GPU_BARRIER},
        {"scatter", GPU_SCATTER},
        {"mscclKernel_Sum_half_LL128_false", GPU_NO_COLLECTIVE},
        {"", GPU_NO_COLLECTIVE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gpu_collective found = gpu_collective_of(text(cases[i].text));
        if (found != cases[i].collective) fail_msg("%s is taken for kind %d", cases[i].text, (int)found);
    }
}

/* No rule stands behind one that takes all of its names. */
static void test_classes__each_rule_takes_its_own_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < hd_class_rule_count(); i++) {
        hd_class_rule rule = hd_class_rule_at(i);
        gpu_class class = gpu_class_of_kernel(text(rule.pattern));
        if (strcmp(gpu_class_names[class], rule.class_name) != 0)
            fail_msg("%s is not %s", rule.pattern, rule.class_name);
    }
}

/* What waits for an operation of XLA is none; a host's thread does no work of a device, whatever its slices are
 * named. */
static void test_classes__waits_and_threads_do_no_work(void **state)
{
    hd_string none = {"", 0};
    (void)state;
    assert_int_equal(hd_role_on(none, text("copy-done.1"), HD_ROW_QUEUE), HD_ROLE_SYNC);
    assert_int_equal(hd_role_on(none, text("all-reduce-done"), HD_ROW_QUEUE), HD_ROLE_SYNC);
    assert_int_equal(hd_role_on(none, text("all-reduce.1"), HD_ROW_QUEUE), HD_ROLE_KERNEL);
    assert_int_equal(hd_role_on(none, text("-done.x"), HD_ROW_QUEUE), HD_ROLE_KERNEL);
    assert_int_equal(hd_role_on(none, text("MemcpyH2D"), HD_ROW_THREAD), HD_ROLE_OTHER);
    assert_int_equal(hd_role_on(none, text("cudaMalloc"), HD_ROW_THREAD), HD_ROLE_RUNTIME);
    assert_int_equal(hd_role_on(none, text("MemcpyH2D"), HD_ROW_HOST), HD_ROLE_COPY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes__kernels_of_collectives_are_communication),
        cmocka_unit_test(test_classes__other_kernels_compute),
        cmocka_unit_test(test_classes__some_kernels_copy),
        cmocka_unit_test(test_classes__texts_tell_the_collective),
        cmocka_unit_test(test_classes__each_rule_takes_its_own_pattern),
        cmocka_unit_test(test_classes__waits_and_threads_do_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
