/* test_launches.c - roles and launches: each rule by a hand-made trace, all of them against a model that tries all
 * pairs
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/write.h"
#include "heddle/analysis/launches.h"
#include "heddle/builder.h"
#include "model/roles/copy_ways.h"
#include "model/roles/trace_roles.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

static hd_string text(const char *s)
{
    return (hd_string){s, strlen(s)};
}

/* ---- roles ---- */

static void test_roles__every_profilers_categories_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *category;
        hd_role role;
    } all[] = {
        {"kernel", HD_ROLE_KERNEL},
        {"Kernel", HD_ROLE_KERNEL},
        {"GPU_Kernel", HD_ROLE_KERNEL},
        {"gpu_memcpy", HD_ROLE_COPY},
        {"Memcpy", HD_ROLE_COPY},
        {"MemCopy", HD_ROLE_COPY},
        {"CONCURRENT_KERNEL", HD_ROLE_KERNEL},
        {"MEMCPY2", HD_ROLE_COPY},
        {"RUNTIME", HD_ROLE_RUNTIME},
        {"DRIVER", HD_ROLE_DRIVER},
        {"GPU_Memcpy", HD_ROLE_COPY},
        {"gpu_memset", HD_ROLE_SET},
        {"Memset", HD_ROLE_SET},
        {"MemSet", HD_ROLE_SET},
        {"cuda_runtime", HD_ROLE_RUNTIME},
        {"Runtime", HD_ROLE_RUNTIME},
        {"CUDA_Runtime", HD_ROLE_RUNTIME},
        {"xpu_runtime", HD_ROLE_RUNTIME},
        {"mtia_runtime", HD_ROLE_RUNTIME},
        {"hip_api", HD_ROLE_RUNTIME},
        {"cuda_driver", HD_ROLE_DRIVER},
        {"CUDA_Driver", HD_ROLE_DRIVER},
        {"cpu_op", HD_ROLE_OP},
        {"Operator", HD_ROLE_OP},
        {"python_function", HD_ROLE_PYTHON},
        {"user_annotation", HD_ROLE_ANNOTATION},
        {"gpu_user_annotation", HD_ROLE_GPU_ANNOTATION},
        {"cuda_sync", HD_ROLE_SYNC},
        {"overhead", HD_ROLE_OVERHEAD},
        {"Overhead", HD_ROLE_OVERHEAD},
        {"mtia_ccp_events", HD_ROLE_KERNEL},
        {"Trace", HD_ROLE_OTHER},
        {"kernels", HD_ROLE_OTHER},
        {"toplevel", HD_ROLE_OTHER},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (hd_role_of(text(all[i].category), text("Kernel: f")) != all[i].role) fail_msg("%s", all[i].category);
    }
    assert_int_equal(hd_role_of(text("mtia_ccp_events"), text("dma_request")), HD_ROLE_COPY);
}

static void test_roles__without_a_category_the_name_tells(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_role role;
    } all[] = {
        {"Kernel: _Z11DaxpyKernelidPdS_", HD_ROLE_KERNEL},
        {"MemCopy: HtoD", HD_ROLE_COPY},
        {"CopyDeviceToHost", HD_ROLE_COPY},
        {"FillBufferAligned", HD_ROLE_SET},
        {"Runtime: cudaLaunchKernel_v7000", HD_ROLE_RUNTIME},
        {"Driver: cuCtxSetCurrent", HD_ROLE_DRIVER},
        {"Overhead: CUPTI_RESOURCE", HD_ROLE_OVERHEAD},
        {"cudaMalloc", HD_ROLE_RUNTIME},
        {"cuMemAlloc", HD_ROLE_DRIVER},
        {"hipLaunchKernel", HD_ROLE_RUNTIME},
        {"hsa_signal_create", HD_ROLE_DRIVER},
        {"custom", HD_ROLE_OTHER},
        {"hippo", HD_ROLE_OTHER},
        {"mcMalloc", HD_ROLE_RUNTIME},
        {"mcmc_step", HD_ROLE_OTHER},
        {"clEnqueueNDRangeKernel", HD_ROLE_RUNTIME},
        {"cu", HD_ROLE_OTHER},
        {"", HD_ROLE_OTHER},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (hd_role_of(text(""), text(all[i].name)) != all[i].role) fail_msg("%s", all[i].name);
    }
}

static void test_roles__a_copys_name_tells_its_way(void **state)
{
    (void)state;
    static const struct {
        const char *name, *way;
    } all[] = {
        {"Memcpy HtoD (Pageable -> Device)", "HD"},
        {"MemCopy: DtoH", "DH"},
        {"Memcpy DtoA", "DA"},
        {"Memcpy PtoP (Device -> Device)", "PP"},
        {"MemcpyH2D", "HD"},
        {"MemcpyD2H", "DH"},
        {"CopyHostToDevice", "HD"},
        {"CopyDeviceToHost", "DH"},
        {"MEMORY_COPY_DEVICE_TO_DEVICE", "DD"},
        {"HOST_TO_DEVICE", "HD"},
        {"Memcpy (Host -> Device)", "HD"},
        {"hipMemcpyHostToDevice", "HD"},
        {"MemcpyH2Dx", NULL},
        {"PhtoD", NULL},
        {"XHtoD", NULL},
        {"HtoDx", NULL},
        {"Hto", NULL},
        {"HostTo", NULL},
        {"HOST_TO_", NULL},
        {"Host -> ", NULL},
        {"HostToDEVICE", NULL},
        {"Memcpy weird", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint32_t way = all[i].way ? HD_COPY_WAY(all[i].way[0], all[i].way[1]) : 0;
        if (hd_copy_way_of(text(all[i].name)) != way) fail_msg("%s", all[i].name);
        bool is_copy = hd_role_of(text(""), text(all[i].name)) == HD_ROLE_COPY;
        if (is_copy != (way && strchr("MC", *all[i].name) && all[i].name[1] != 'E')) fail_msg("%s", all[i].name);
    }
}

static void test_roles__a_paradigm_as_category_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(hd_role_of(text("HIP"), text("hipLaunchKernel")), HD_ROLE_RUNTIME);
    assert_int_equal(hd_role_of(text("CUDA"), text("cuMemAlloc")), HD_ROLE_DRIVER);
    assert_int_equal(hd_role_of(text("HIP"), text("heavy_kernel(float*)")), HD_ROLE_OTHER);
    assert_int_equal(hd_role_of(text("gpu_op"), text("gemm")), HD_ROLE_OTHER);
}

/* unitrace calls commands of a queue as the calls that gave them. */
static void test_roles__commands_on_a_queue_are_what_they_do(void **state)
{
    (void)state;
    assert_int_equal(hd_role_on(text("gpu_op"), text("gemm[SIMD32]"), HD_ROW_QUEUE), HD_ROLE_KERNEL);
    assert_int_equal(hd_role_on(text("gpu_op"), text("zeCommandListAppendMemoryCopy(D2M)[64 bytes]"), HD_ROW_QUEUE),
                     HD_ROLE_COPY);
    assert_int_equal(hd_role_on(text("gpu_op"), text("zeCommandListAppendMemoryFill"), HD_ROW_QUEUE), HD_ROLE_SET);
    assert_int_equal(hd_role_on(text("gpu_op"), text("zeCommandListAppendBarrier"), HD_ROW_QUEUE), HD_ROLE_SYNC);
    assert_int_equal(hd_role_on(text("gpu_op"), text("clEnqueueReadBuffer"), HD_ROW_QUEUE), HD_ROLE_COPY);
    assert_int_equal(hd_role_on(text(""), text("zeCommandListAppendMemoryCopy"), HD_ROW_HOST), HD_ROLE_DRIVER);
}

static void test_roles__a_name_tells_what_it_launches(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        hd_launch_sort sort;
    } all[] = {
        {"cudaLaunchKernel", HD_LAUNCH_KERNEL},
        {"Runtime: cudaLaunchKernel_v7000", HD_LAUNCH_KERNEL},
        {"cudaLaunchKernelExC_v11060", HD_LAUNCH_KERNEL},
        {"cudaLaunchKernel@plt+0x10", HD_LAUNCH_KERNEL},
        {"__cudaLaunchKernel", HD_LAUNCH_KERNEL},
        {"cudaError cudaLaunchKernel<char>(char const*, dim3, dim3, void**, unsigned long, CUstream_st*)",
         HD_LAUNCH_KERNEL},
        {"_ZL16cudaLaunchKernelIcE9cudaErrorPKT_4dim3S4_PPvmP11CUstream_st", HD_LAUNCH_KERNEL},
        {"void hipLaunchKernelGGL<void (*)(int)>(void (*)(int), dim3)", HD_LAUNCH_KERNEL},
        {"cudaLaunch", HD_LAUNCH_KERNEL},
        {"cudaLaunch_v3020", HD_LAUNCH_KERNEL},
        {"cuLaunch", HD_LAUNCH_KERNEL},
        {"cuLaunchKernelEx", HD_LAUNCH_KERNEL},
        {"cudaLaunchCooperativeKernel", HD_LAUNCH_KERNEL},
        {"hipModuleLaunchKernel", HD_LAUNCH_KERNEL},
        {"hipExtModuleLaunchKernel", HD_LAUNCH_KERNEL},
        {"urEnqueueKernelLaunch", HD_LAUNCH_KERNEL},
        {"zeCommandListAppendLaunchKernel", HD_LAUNCH_KERNEL},
        {"mcLaunchKernel", HD_LAUNCH_KERNEL},
        {"mcMemcpyAsync", HD_LAUNCH_COPY},
        {"clEnqueueFillBuffer", HD_LAUNCH_SET},
        {"cudaGraphLaunch", HD_LAUNCH_GRAPH},
        {"hipGraphLaunch", HD_LAUNCH_GRAPH},
        {"Driver: cuGraphLaunch_ptsz", HD_LAUNCH_GRAPH},
        {"Runtime: cudaMemcpyAsync", HD_LAUNCH_COPY},
        {"cuMemcpyHtoD_v2", HD_LAUNCH_COPY},
        {"hipMemcpyWithStream", HD_LAUNCH_COPY},
        {"cudaMemsetAsync", HD_LAUNCH_SET},
        {"cuMemsetD32Async", HD_LAUNCH_SET},
        {"aclrtMemcpyAsync", HD_LAUNCH_COPY},
        {"aclrtSynchronizeStream", HD_LAUNCH_UNKNOWN},
        {"cudaLaunchHostFunc", HD_LAUNCH_UNKNOWN},
        {"cudaGraphAddMemcpyNode", HD_LAUNCH_UNKNOWN},
        {"cudaGraphInstantiate", HD_LAUNCH_UNKNOWN},
        {"cudaLaunchAttributes", HD_LAUNCH_UNKNOWN},
        {"cudaMalloc", HD_LAUNCH_UNKNOWN},
        {"memcpy", HD_LAUNCH_UNKNOWN},
        {"launch", HD_LAUNCH_UNKNOWN},
        {"cuda", HD_LAUNCH_UNKNOWN},
        {"", HD_LAUNCH_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (hd_launch_sort_of(text(all[i].name)) != all[i].sort) fail_msg("%s", all[i].name);
    }
}

/* ---- hand-made traces ---- */

typedef struct found {
    hd_trace *trace;
    hd_launches *l;
} found;

static found find_in(const char *events)
{
    found f;
    assert_int_equal(read_text(&f.trace, events, strlen(events), NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_launches_new(&f.l, f.trace, NULL), HD_OK);
    return f;
}

/* The same of events, up to NULL. */
static found find_events(const char *event, ...)
{
    hd_json_out out = {0};
    va_list more;
    va_start(more, event);
    hd_json_put_text(&out, "[");
    for (const char *before = ""; event; event = va_arg(more, const char *), before = ",") {
        hd_json_put_text(&out, before);
        hd_json_put_text(&out, event);
    }
    va_end(more);
    hd_json_put(&out, "]", 2);
    found f = find_in(out.data);
    free(out.data);
    return f;
}

static void done(found *f)
{
    hd_launches_free(f->l);
    hd_trace_free(f->trace);
}

/* Name of the launch of a work; "" has none. */
static const char *launch_name(const found *f, size_t work)
{
    static char name[64];
    uint32_t launch = f->l->works[work].launch;
    hd_string s = launch == HD_NONE ? text("") : hd_trace_string(f->trace, f->l->launches[launch].name);
    snprintf(name, sizeof name, "%.*s", (int)s.size, s.data);
    return name;
}

#define CALL(name, tid, ts, dur, id)                                                                                   \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts              \
    ",\"dur\":" #dur ",\"args\":{\"correlation\":" id "}}"
#define WORK(name, ts, dur, id)                                                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur          \
    ",\"args\":{\"stream\":7,\"correlation\":" id "}}"

static void test_launches__work_belongs_to_the_call_of_its_id(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaLaunchKernel", 1, 10, 2, "5"), CALL("cudaMemcpyAsync", 1, 20, 2, "6"),
                          WORK("a", 30, 4, "5"), WORK("b", 40, 3, "6"), WORK("c", 50, 1, "7"), NULL);
    assert_int_equal(f.l->launch_count, 2);
    assert_int_equal(f.l->work_count, 3);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_string_equal(launch_name(&f, 1), "cudaMemcpyAsync");
    assert_int_equal(f.l->works[2].launch, HD_NONE);
    assert_int_equal(f.l->work_ns, 8000);
    assert_int_equal(f.l->launches[0].sort, HD_LAUNCH_KERNEL);
    assert_int_equal(f.l->launches[0].id, 5);
    assert_int_equal(f.l->launches[1].sort, HD_LAUNCH_COPY);
    assert_int_equal(f.l->works[0].row, 2);
    assert_int_equal(f.l->works[0].start_ns, 30000);
    done(&f);
}

static void test_launches__the_outer_of_two_calls_is_the_launch(void **state)
{
    (void)state;
    /* The driver's call stands first, starts later, and ends with it; the second pair starts together. */
    found f = find_events(CALL("cuLaunchKernel", 1, 11, 9, "5"), CALL("cudaLaunchKernel", 1, 10, 10, "5"),
                          CALL("cuLaunchKernel", 1, 30, 4, "6"), CALL("cudaLaunchKernel", 1, 30, 5, "6"),
                          WORK("a", 50, 4, "5"), WORK("b", 60, 3, "6"), NULL);
    assert_int_equal(f.l->launch_count, 2);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_string_equal(launch_name(&f, 1), "cudaLaunchKernel");
    done(&f);
}

static void test_launches__only_a_name_that_launches_may_lack_work(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaEventRecord", 1, 1, 2, "4"), CALL("cudaLaunchKernel", 1, 10, 2, "5"),
                          CALL("cudaFrobnicate", 1, 20, 2, "6"), WORK("a", 30, 4, "6"), NULL);
    assert_int_equal(f.l->launch_count, 2);
    assert_int_equal(f.l->launches[0].work_count, 0);
    assert_int_equal(f.l->launches[0].sort, HD_LAUNCH_KERNEL);
    assert_int_equal(f.l->launches[1].work_count, 1);
    assert_int_equal(f.l->launches[1].sort, HD_LAUNCH_UNKNOWN);
    done(&f);
}

static void test_launches__id_0_is_none(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaLaunchKernel", 1, 10, 2, "0"), WORK("a", 30, 4, "0"), NULL);
    assert_int_equal(f.l->launch_count, 1);
    assert_int_equal(f.l->works[0].launch, HD_NONE);
    done(&f);
}

static void test_launches__ids_may_be_text(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaLaunchKernel", 1, 10, 2, "\"77\""), WORK("a", 30, 4, "77"),
                          CALL("cudaMemsetAsync", 1, 20, 2, "78"), WORK("b", 40, 4, "\"78\""),
                          WORK("c", 40, 4, "\"x\""), NULL);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_string_equal(launch_name(&f, 1), "cudaMemsetAsync");
    assert_int_equal(f.l->works[2].launch, HD_NONE);
    assert_int_equal(f.l->works[2].id, 0);
    done(&f);
}

static void test_launches__a_graph_has_many_works_in_the_order_of_time(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaGraphLaunch", 1, 10, 2, "5"), WORK("c", 50, 1, "5"), WORK("a", 30, 4, "5"),
                          WORK("b", 40, -4, "5"), NULL);
    assert_int_equal(f.l->launch_count, 1);
    assert_int_equal(f.l->launches[0].sort, HD_LAUNCH_GRAPH);
    assert_int_equal(f.l->launches[0].work_count, 3);
    const uint32_t expected[] = {1, 2, 0};
    assert_memory_equal(f.l->work_order + f.l->launches[0].first_work, expected, sizeof expected);
    assert_int_equal(f.l->works[2].duration_ns, 0);
    assert_int_equal(f.l->work_ns, 5000);
    done(&f);
}

static void test_launches__equal_ids_belong_to_the_last_call_before(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaLaunchKernel", 1, 10, 2, "5"), CALL("cudaMemcpy", 2, 100, 2, "5"),
                          WORK("a", 99, 4, "5"), WORK("b", 100, 4, "5"), WORK("c", 5, 1, "5"), NULL);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_string_equal(launch_name(&f, 1), "cudaMemcpy");
    assert_string_equal(launch_name(&f, 2), "cudaLaunchKernel"); /* clocks differ a little: the first of all */
    done(&f);
}

static void test_launches__processes_may_be_named_by_their_ranks(void **state)
{
    (void)state;
    found f = find_events("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"rank 0: python\"}}",
                          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"rank 1: GPU\"}}",
                          "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"rank 1\"}}",
                          CALL("cudaLaunchKernel", 1, 10, 2, "5"), WORK("a", 30, 4, "5"),
                          CALL("cudaLaunchKernel", 1, 50, 2, "6"), WORK("b", 60, 4, "6"),
                          "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":2,\"tid\":1,"
                          "\"ts\":20,\"dur\":1,\"args\":{\"correlation\":6}}",
                          NULL);
    assert_int_equal(f.l->works[0].launch, HD_NONE); /* the call was another rank's */
    assert_string_equal(launch_name(&f, 1), "cudaGraphLaunch");
    done(&f);
}

#define CALL_OF(pid, ts, id)                                                                                           \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":" #pid ",\"tid\":1,\"ts\":" #ts      \
    ",\"dur\":1,\"args\":{\"correlation\":" #id "}}"
#define WORK_ON(pid, tid, ts, id)                                                                                      \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":" pid ",\"tid\":" #tid ",\"ts\":" #ts                     \
    ",\"dur\":1,\"args\":{\"correlation\":" #id "}}"

/* Strings of a trace do not end with a NUL. */
static int number_of(hd_string text)
{
    int number = 0;
    for (size_t i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        number = 10 * number + text.data[i] - '0';
    return number;
}

/* The pid of the call that launched a work; 0: none. */
static int pid_of(const found *f, size_t work)
{
    uint32_t launch = f->l->works[work].launch;
    if (launch == HD_NONE) return 0;
    const hd_track *track = hd_trace_track_at(f->trace, f->l->launches[launch].track);
    return number_of(hd_trace_string(f->trace, track->pid.text));
}

/* The pid of the process that the row of a work is of; 0: none. */
static int row_pid(const found *f, size_t work)
{
    uint32_t process = f->l->processes[f->l->works[work].track];
    return process == HD_NONE ? 0
                              : number_of(hd_trace_string(f->trace, hd_trace_track_at(f->trace, process)->pid.text));
}

static void assert_pids(const found *f, const int *pids, size_t count, uint64_t guessed)
{
    assert_int_equal(f->l->work_count, count);
    for (size_t i = 0; i < count; i++) {
        if (pid_of(f, i) != pids[i]) fail_msg("work %zu is of %d, not %d", i, pid_of(f, i), pids[i]);
    }
    assert_int_equal(f->l->guessed_works, guessed);
}

static void test_launches__ids_of_one_process_tell_whose_the_row_is(void **state)
{
    (void)state;
    /* 5 is of both, with the call of 200 nearer to both works; 6 is of 100 alone and 7 of 200. */
    found f = find_events(CALL_OF(100, 10, 5), CALL_OF(200, 12, 5), CALL_OF(100, 20, 6), CALL_OF(200, 20, 7),
                          WORK_ON("0", 7, 15, 5), WORK_ON("0", 7, 25, 6), WORK_ON("1", 7, 15, 5),
                          WORK_ON("1", 7, 25, 7), WORK_ON("1", 8, 40, 5), NULL);
    assert_pids(&f, (int[]){100, 100, 200, 200, 200}, 5, 0);
    assert_int_equal(f.l->process_count, 2);
    assert_int_equal(row_pid(&f, 0), 100);
    assert_int_equal(row_pid(&f, 4), 200);
    done(&f);
}

static void test_launches__where_all_ids_collide_each_process_gets_a_gpu(void **state)
{
    (void)state;
    found f = find_events(CALL_OF(100, 10, 5), CALL_OF(200, 11, 5), CALL_OF(100, 20, 6), CALL_OF(200, 21, 6),
                          WORK_ON("0", 7, 15, 5), WORK_ON("1", 7, 15, 5), WORK_ON("0", 8, 25, 6),
                          WORK_ON("1", 8, 25, 6), NULL);
    assert_pids(&f, (int[]){100, 200, 100, 200}, 4, 4);
    done(&f);
}

static void test_launches__a_work_is_not_of_a_process_that_calls_later(void **state)
{
    (void)state;
    /* Of the first GPU the calls of 200 alone are early enough, of the second those of both. */
    found f = find_events(CALL_OF(100, 30, 5), CALL_OF(200, 10, 5), CALL_OF(100, 40, 6), CALL_OF(200, 20, 6),
                          WORK_ON("0", 7, 15, 5), WORK_ON("0", 7, 25, 6), WORK_ON("1", 7, 50, 5),
                          WORK_ON("1", 7, 60, 6), NULL);
    assert_pids(&f, (int[]){200, 200, 100, 100}, 4, 4);
    done(&f);
}

static void test_launches__the_same_delay_tells_whose_the_row_is(void **state)
{
    (void)state;
    /* Each work of the first GPU starts 4 behind a call of 200, of the second 4 behind one of 100. */
    found f = find_events(CALL_OF(100, 10, 5), CALL_OF(200, 11, 5), CALL_OF(100, 29, 6), CALL_OF(200, 20, 6),
                          CALL_OF(100, 40, 7), CALL_OF(200, 48, 7), WORK_ON("0", 7, 111, 5), WORK_ON("0", 7, 120, 6),
                          WORK_ON("0", 7, 148, 7), WORK_ON("1", 7, 110, 5), WORK_ON("1", 7, 129, 6),
                          WORK_ON("1", 7, 140, 7), NULL);
    assert_pids(&f, (int[]){200, 200, 200, 100, 100, 100}, 6, 6);
    done(&f);
}

static void test_launches__a_row_of_several_processes_takes_the_last_call(void **state)
{
    (void)state;
    found f = find_events(CALL_OF(100, 10, 1), CALL_OF(200, 10, 2), CALL_OF(100, 20, 5), CALL_OF(200, 30, 5),
                          WORK_ON("0", 7, 15, 1), WORK_ON("0", 7, 16, 2), WORK_ON("0", 7, 25, 5),
                          WORK_ON("0", 7, 35, 5), NULL);
    assert_pids(&f, (int[]){100, 200, 100, 200}, 4, 2);
    assert_int_equal(row_pid(&f, 0), 0);
    done(&f);
}

static void test_launches__a_gpu_may_be_named_by_its_process(void **state)
{
    (void)state;
    /* The call of 7 of process 200, a pid written as text, is missing: that of 100 is another one's. */
    found f = find_events(CALL_OF(100, 10, 5), CALL_OF("200", 11, 5), CALL_OF(100, 20, 7),
                          WORK_ON("\"GPU 0 of 100\"", 7, 15, 5), WORK_ON("\"GPU 0 of 200\"", 7, 15, 5),
                          WORK_ON("\"GPU 0 of 200\"", 7, 25, 7), NULL);
    assert_pids(&f, (int[]){100, 200, 0}, 3, 0);
    done(&f);
}

static void test_launches__the_creator_of_a_graphs_node_is_known(void **state)
{
    (void)state;
    found f =
        find_events(CALL("cudaGraphAddKernelNode", 1, 10, 2, "3"), CALL("cudaGraphLaunch", 1, 20, 2, "5"),
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":30,\"dur\":1,\"args\":"
                    "{\"correlation\":5,\"graphNodeCreatorCorrelationId\":3}}",
                    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":1,\"args\":"
                    "{\"correlation\":5,\"graphNodeCreatorCorrelationId\":4}}",
                    NULL);
    assert_int_equal(f.l->launch_count, 2);
    assert_string_equal(launch_name(&f, 0), "cudaGraphLaunch");
    assert_int_equal(f.l->works[0].graph_launch, 0);
    assert_int_equal(f.l->launches[0].work_count, 0);
    assert_int_equal(f.l->works[1].graph_launch, HD_NONE);
    done(&f);
}

#define NODE(ts, args)                                                                                                 \
    "{\"ph\":\"X\",\"cat\":\"cuda_graph_node\",\"name\":\"Graph Node Creation\",\"pid\":1,\"tid\":1,\"ts\":" #ts       \
    ",\"dur\":1,\"args\":{" args "}}"
#define OF_NODE(ts, node)                                                                                              \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":" #ts                                  \
    ",\"dur\":1,\"args\":{\"correlation\":5,\"graph node id\":" #node "}}"

static void test_launches__a_node_is_known_by_its_event_through_clones(void **state)
{
    (void)state;
    /* 12 is a clone of 11, which is one of 10; 20 and 21 are clones of each other; the original of 31 is missing; no
     * call is around the creation of 40. */
    found f = find_events(CALL("cudaLaunchKernel", 1, 10, 4, "3"), NODE(11, "\"graph node id\":10"),
                          NODE(15, "\"graph node id\":11,\"originalGraphNodeId\":10"),
                          NODE(16, "\"graph node id\":12,\"originalGraphNodeId\":11"),
                          NODE(16, "\"graph node id\":20,\"originalGraphNodeId\":21"),
                          NODE(16, "\"graph node id\":21,\"originalGraphNodeId\":20"),
                          NODE(17, "\"graph node id\":31,\"originalGraphNodeId\":30"), NODE(18, "\"graph node id\":40"),
                          CALL("cudaGraphLaunch", 1, 20, 2, "5"), OF_NODE(30, 12), OF_NODE(31, 20), OF_NODE(32, 31),
                          OF_NODE(33, 40), NULL);
    assert_int_equal(f.l->work_count, 4);
    assert_int_equal(f.l->launch_count, 3);
    assert_string_equal(launch_name(&f, 0), "cudaGraphLaunch");
    assert_int_equal(f.l->launches[f.l->works[0].graph_launch].id, 3);
    assert_int_equal(f.l->works[1].graph_launch, HD_NONE);
    assert_int_equal(f.l->works[2].graph_launch, HD_NONE);
    hd_string name = hd_trace_string(f.trace, f.l->launches[f.l->works[3].graph_launch].name);
    assert_int_equal(name.size, strlen("Graph Node Creation"));
    done(&f);
}

static void test_launches__cupti_slices_without_a_thread_are_joined(void **state)
{
    (void)state;
    found f =
        find_in("[{\"ph\":\"X\",\"name\":\"Runtime: cudaLaunchKernel_v7000\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":1,"
                "\"args\":{\"correlationId\":9}},{\"ph\":\"X\",\"name\":\"Kernel: k\",\"ts\":12,\"dur\":3,"
                "\"args\":{\"correlationId\":9}}]");
    assert_int_equal(f.l->work_count, 1);
    assert_int_equal(f.l->works[0].role, HD_ROLE_KERNEL);
    assert_string_equal(launch_name(&f, 0), "Runtime: cudaLaunchKernel_v7000");
    done(&f);
}

static void test_launches__a_trace_without_gpu_work_has_none(void **state)
{
    (void)state;
    found f = find_in("[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":1}]");
    assert_int_equal(f.l->work_count, 0);
    assert_int_equal(f.l->launch_count, 0);
    assert_int_equal(f.l->work_ns, 0);
    done(&f);
    f = find_in("[]");
    assert_int_equal(f.l->work_count, 0);
    done(&f);
}

#define RUNTIME "\"cat\":\"cuda_runtime\","
#define KERNEL "\"cat\":\"kernel\","
#define ENCLOSES "\"bp\":\"e\","
#define SLICE(cat, name, pid, tid, ts, dur)                                                                            \
    "{\"ph\":\"X\"," cat "\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur "}"
#define POINT(ph, more, pid, tid, ts, id)                                                                              \
    "{\"ph\":\"" ph "\"," more "\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts      \
    ",\"id\":" #id "}"

static void test_launches__work_without_an_id_is_joined_by_its_flow(void **state)
{
    (void)state;
    /* The kernel's annotation stands around it; the second end is bound to the next work. */
    found f =
        find_events(SLICE(RUNTIME, "cudaLaunchKernel", 1, 1, 10, 4), SLICE(RUNTIME, "cudaMemcpyAsync", 1, 1, 20, 4),
                    SLICE("\"cat\":\"gpu_user_annotation\",", "note", 0, 7, 50, 40), SLICE(KERNEL, "a", 0, 7, 50, 5),
                    SLICE(KERNEL, "b", 0, 7, 70, 5), SLICE(KERNEL, "c", 0, 7, 80, 5), POINT("s", "", 1, 1, 11, 5),
                    POINT("f", ENCLOSES, 0, 7, 50, 5), POINT("s", "", 1, 1, 21, 6), POINT("f", "", 0, 7, 60, 6), NULL);
    assert_int_equal(f.l->work_count, 3);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_string_equal(launch_name(&f, 1), "cudaMemcpyAsync");
    assert_int_equal(f.l->works[2].launch, HD_NONE);
    assert_int_equal(f.l->launches[f.l->works[0].launch].id, 0);
    done(&f);
}

static void test_launches__an_id_goes_before_a_flow(void **state)
{
    (void)state;
    found f = find_events(CALL("cudaLaunchKernel", 1, 10, 4, "5"), CALL("cudaMemcpyAsync", 1, 20, 4, "6"),
                          WORK("a", 50, 5, "5"), WORK("b", 60, 5, "9"), POINT("s", "", 1, 1, 21, 5),
                          POINT("f", ENCLOSES, 0, 7, 50, 5), POINT("s", "", 1, 1, 21, 6),
                          POINT("f", ENCLOSES, 0, 7, 60, 6), NULL);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_string_equal(launch_name(&f, 1), "cudaMemcpyAsync"); /* 9 has no call */
    done(&f);
}

static void test_launches__a_flow_from_any_slice_of_the_cpu_counts(void **state)
{
    (void)state;
    found f =
        find_events(SLICE("", "submit", 1, 1, 10, 4), SLICE(KERNEL, "a", 0, 7, 50, 5), SLICE(KERNEL, "b", 0, 7, 60, 5),
                    POINT("s", "", 1, 1, 11, 5), POINT("t", "", 0, 7, 51, 5), POINT("f", ENCLOSES, 0, 7, 61, 5),
                    POINT("s", "", 0, 7, 52, 6), POINT("f", ENCLOSES, 0, 7, 62, 6), NULL);
    assert_string_equal(launch_name(&f, 0), "submit");
    assert_string_equal(launch_name(&f, 1), "submit"); /* by way of the step, and never by another kernel */
    assert_int_equal(f.l->launch_count, 1);
    assert_int_equal(f.l->launches[0].work_count, 2);
    assert_int_equal(f.l->launches[0].sort, HD_LAUNCH_UNKNOWN);
    done(&f);
}

static void test_launches__of_several_flows_a_runtimes_call_counts(void **state)
{
    (void)state;
    found f =
        find_events(SLICE("", "submit", 1, 1, 30, 4), SLICE(RUNTIME, "cuFoo", 1, 1, 10, 4),
                    SLICE(KERNEL, "a", 0, 7, 50, 5), POINT("s", "", 1, 1, 31, 5), POINT("f", ENCLOSES, 0, 7, 50, 5),
                    POINT("s", "", 1, 1, 11, 6), POINT("f", ENCLOSES, 0, 7, 50, 6), NULL);
    assert_string_equal(launch_name(&f, 0), "cuFoo");
    assert_int_equal(f.l->launches[f.l->works[0].launch].work_count, 1);
    assert_int_equal(f.l->launch_count, 1); /* "submit" launched nothing */
    done(&f);
}

static void test_launches__a_flow_that_runs_backward_counts(void **state)
{
    (void)state;
    found f = find_events(SLICE(RUNTIME, "cudaLaunchKernel", 1, 1, 60, 4), SLICE(KERNEL, "a", 0, 7, 50, 5),
                          SLICE(KERNEL, "b", 0, 7, 80, 5), POINT("s", "", 1, 1, 61, 5),
                          POINT("f", ENCLOSES, 0, 7, 50, 5), POINT("f", ENCLOSES, 0, 7, 80, 6), NULL);
    assert_string_equal(launch_name(&f, 0), "cudaLaunchKernel");
    assert_int_equal(f.l->works[1].launch, HD_NONE); /* its flow has no start */
    done(&f);
}

static void test_launches__gpu_rows_are_known_by_the_name_of_their_process(void **state)
{
    (void)state;
    found f =
        find_events("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":6,\"args\":{\"name\":\"GPU0\"}}",
                    SLICE("", "hipLaunchKernel", 2, 1, 10, 4), SLICE("\"cat\":\"HIP\",", "some_kernel", "6", 1, 20, 4),
                    SLICE("", "CopyHostToDevice", 1, 0, 30, 4), SLICE("", "some_kernel", 5, 1, 20, 4),
                    SLICE("\"cat\":\"toplevel\",", "no_kernel", 6, 1, 40, 4), POINT("s", "", 2, 1, 10, 2),
                    POINT("t", "", 6, 1, 20, 2), NULL);
    assert_int_equal(f.l->work_count, 2);
    assert_int_equal(f.l->works[0].role, HD_ROLE_KERNEL);
    assert_int_equal(f.l->works[1].role, HD_ROLE_COPY);
    assert_string_equal(launch_name(&f, 0), "hipLaunchKernel");
    assert_int_equal(f.l->works[1].launch, HD_NONE);
    done(&f);
}

/* ---- against a model ---- */

enum { MODEL_ROWS = 240 };

typedef struct model_slice {
    int64_t id, start, duration, rank;
    uint32_t track;
    int outer; /* slice that stands for it */
    bool is_work, needed, launches;
} model_slice;

static hd_trace *random_slices(model_slice *out, uint64_t *seed, uint32_t count)
{
    static const char *const calls[] = {"cudaLaunchKernel", "cudaEventRecord", "cudaGraphLaunch", "cuMemcpyAsync"};
    hd_builder *b;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    uint32_t ids = 1 + random_next(seed) % 40, ranks = random_next(seed) % 3;
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, b, NULL), HD_OK);
    hd_arg_key key = {.key = hd_builder_intern_text(b, "correlation"), .type = HD_ARG_INT};
    uint32_t shape = hd_builder_shape(b, &key, 1, true);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t name = random_next(seed) % 4, tid = random_next(seed) % 5;
        model_slice *s = &out[i];
        *s = (model_slice){.id = random_next(seed) % ids * (random_next(seed) % 9 ? 1 : 0), .outer = (int)i};
        s->start = random_next(seed) % 300;
        s->duration = (int64_t)(random_next(seed) % 30) - 2;
        s->is_work = random_next(seed) % 2;
        s->rank = ranks ? (int64_t)(random_next(seed) % ranks) : HD_NO_NUMBER;
        s->launches = name != 1;
        hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
        s->track = row.track = hd_builder_thread(b, s->rank == 1, tid + (s->is_work ? 10 : 0));
        if (ranks) hd_builder_set_rank(b, row.track, s->rank);
        row.name = hd_builder_intern_text(b, calls[name]);
        row.category = hd_builder_intern_text(b, s->is_work ? "kernel" : "cuda_runtime");
        row.start_ns = s->start;
        row.duration_ns = s->duration;
        row.shape = shape;
        if (s->duration < 0) s->duration = 0;
        assert_int_equal(hd_batch_add(batch, &row, &s->id, NULL), HD_OK);
        if (random_next(seed) % 50) continue;
        assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
        assert_int_equal(hd_builder_append(b, chunk, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(b, chunk, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
    return trace;
}

/* Does call x come before y among those of one id: earlier, then longer, then earlier in the input? */
static bool is_before(const model_slice *all, int x, int y)
{
    if (all[x].start != all[y].start) return all[x].start < all[y].start;
    if (all[x].duration != all[y].duration) return all[x].duration > all[y].duration;
    return x < y;
}

/* Take the first call that has no place yet, again and again: it is within an outer one, or becomes one. */
static void model_outer(model_slice *all, int count)
{
    bool placed[MODEL_ROWS] = {false};
    for (int round = 0; round < count; round++) {
        int first = -1;
        for (int i = 0; i < count; i++) {
            if (!placed[i] && (first < 0 || is_before(all, i, first))) first = i;
        }
        placed[first] = true;
        int latest = -1;
        for (int i = 0; i < count; i++) {
            if (!placed[i] || i == first || all[i].outer != i || all[i].is_work || all[first].is_work) continue;
            if (all[i].id != all[first].id || all[i].id == 0 || all[i].track != all[first].track) continue;
            if (latest < 0 || is_before(all, latest, i)) latest = i;
        }
        if (latest >= 0 &&
            (all[first].start < all[latest].start + all[latest].duration || all[first].start == all[latest].start))
            all[first].outer = latest;
    }
}

static int model_launch(const model_slice *all, int count, int work)
{
    int best = -1, earliest = -1;
    for (int i = 0; i < count && all[work].id; i++) {
        if (all[i].is_work || all[i].outer != i || all[i].id != all[work].id || all[i].rank != all[work].rank) continue;
        if (all[i].start <= all[work].start && (best < 0 || is_before(all, best, i))) best = i;
        if (earliest < 0 || is_before(all, i, earliest)) earliest = i;
    }
    return best >= 0 ? best : earliest;
}

static void check_against_model(model_slice *all, int count, const hd_trace *trace)
{
    hd_launches *l;
    size_t launches = 0, works = 0, ordered = 0;
    model_outer(all, count);
    assert_int_equal(hd_launches_new(&l, trace, NULL), HD_OK);
    for (int i = 0; i < count; i++) {
        if (!all[i].is_work) continue;
        int launch = model_launch(all, count, i);
        const hd_work *work = &l->works[works++];
        assert_int_equal(work->row, i);
        assert_int_equal(work->launch == HD_NONE ? -1 : (int)l->launches[work->launch].row, launch);
        if (launch >= 0) all[launch].needed = true;
    }
    assert_int_equal(works, l->work_count);
    for (int i = 0; i < count; i++) {
        if (all[i].outer == i || !all[i].launches) continue;
        if (!all[all[i].outer].launches) all[all[i].outer].launches = true; /* the inner call's name says it */
    }
    for (int i = 0; i < count; i++)
        launches += !all[i].is_work && (all[i].needed || (all[i].outer == i && all[i].launches));
    assert_int_equal(launches, l->launch_count);
    for (size_t i = 0; i < l->launch_count; i++) {
        const hd_launch *x = &l->launches[i];
        if (i > 0) {
            const hd_launch *before = x - 1;
            assert_true(before->track != x->track         ? before->track < x->track
                        : before->start_ns != x->start_ns ? before->start_ns < x->start_ns
                                                          : before->row < x->row);
        }
        assert_int_equal(x->first_work, ordered);
        for (uint32_t w = 0; w < x->work_count; w++) {
            const hd_work *work = &l->works[l->work_order[x->first_work + w]];
            assert_int_equal(work->launch, i);
            if (w) assert_true(l->works[l->work_order[x->first_work + w - 1]].start_ns <= work->start_ns);
        }
        ordered += x->work_count;
    }
    hd_launches_free(l);
}

static void test_launches__agree_with_a_model_on_random_traces(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(11);
    model_slice all[MODEL_ROWS];
    for (int round = 0; round < 600; round++) {
        uint32_t count = 1 + random_next(&seed) % MODEL_ROWS;
        hd_trace *trace = random_slices(all, &seed, count);
        check_against_model(all, (int)count, trace);
        hd_trace_free(trace);
    }
}

static void test_launches__a_million_equal_ids_take_no_time(void **state)
{
    (void)state;
    hd_builder *b;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    hd_launches *l;
    enum { COUNT = 1000000 };
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, b, NULL), HD_OK);
    hd_arg_key key = {.key = hd_builder_intern_text(b, "correlation"), .type = HD_ARG_INT};
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    uint32_t kernel = hd_builder_intern_text(b, "kernel"), runtime = hd_builder_intern_text(b, "cuda_runtime");
    row.shape = hd_builder_shape(b, &key, 1, true);
    row.name = hd_builder_intern_text(b, "cudaLaunchKernel");
    for (int64_t i = 0; i < COUNT; i++) {
        int64_t id = 1;
        row.category = i % 2 ? kernel : runtime;
        row.track = hd_builder_thread(b, i % 2, i % 3);
        row.start_ns = (COUNT - i) * 4;
        row.duration_ns = 1;
        assert_int_equal(hd_batch_add(batch, &row, &id, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(b, chunk, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, b, NULL), HD_OK);
    assert_int_equal(hd_launches_new(&l, trace, NULL), HD_OK);
    assert_int_equal(l->launch_count, COUNT / 2);
    for (size_t i = 0; i < l->launch_count; i++) assert_true(l->launches[i].work_count <= 2);
    hd_launches_free(l);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles__every_profilers_categories_are_known),
        cmocka_unit_test(test_roles__without_a_category_the_name_tells),
        cmocka_unit_test(test_roles__a_copys_name_tells_its_way),
        cmocka_unit_test(test_roles__a_paradigm_as_category_says_nothing),
        cmocka_unit_test(test_roles__commands_on_a_queue_are_what_they_do),
        cmocka_unit_test(test_roles__a_name_tells_what_it_launches),
        cmocka_unit_test(test_launches__work_belongs_to_the_call_of_its_id),
        cmocka_unit_test(test_launches__the_outer_of_two_calls_is_the_launch),
        cmocka_unit_test(test_launches__only_a_name_that_launches_may_lack_work),
        cmocka_unit_test(test_launches__id_0_is_none),
        cmocka_unit_test(test_launches__ids_may_be_text),
        cmocka_unit_test(test_launches__a_graph_has_many_works_in_the_order_of_time),
        cmocka_unit_test(test_launches__equal_ids_belong_to_the_last_call_before),
        cmocka_unit_test(test_launches__processes_may_be_named_by_their_ranks),
        cmocka_unit_test(test_launches__ids_of_one_process_tell_whose_the_row_is),
        cmocka_unit_test(test_launches__where_all_ids_collide_each_process_gets_a_gpu),
        cmocka_unit_test(test_launches__a_work_is_not_of_a_process_that_calls_later),
        cmocka_unit_test(test_launches__the_same_delay_tells_whose_the_row_is),
        cmocka_unit_test(test_launches__a_row_of_several_processes_takes_the_last_call),
        cmocka_unit_test(test_launches__a_gpu_may_be_named_by_its_process),
        cmocka_unit_test(test_launches__the_creator_of_a_graphs_node_is_known),
        cmocka_unit_test(test_launches__a_node_is_known_by_its_event_through_clones),
        cmocka_unit_test(test_launches__cupti_slices_without_a_thread_are_joined),
        cmocka_unit_test(test_launches__a_trace_without_gpu_work_has_none),
        cmocka_unit_test(test_launches__work_without_an_id_is_joined_by_its_flow),
        cmocka_unit_test(test_launches__an_id_goes_before_a_flow),
        cmocka_unit_test(test_launches__a_flow_from_any_slice_of_the_cpu_counts),
        cmocka_unit_test(test_launches__of_several_flows_a_runtimes_call_counts),
        cmocka_unit_test(test_launches__a_flow_that_runs_backward_counts),
        cmocka_unit_test(test_launches__gpu_rows_are_known_by_the_name_of_their_process),
        cmocka_unit_test(test_launches__agree_with_a_model_on_random_traces),
        cmocka_unit_test(test_launches__a_million_equal_ids_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
