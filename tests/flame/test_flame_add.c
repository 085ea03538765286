/* test_flame_add.c - what a trace weighs: everything that can be counted, every group, names, times */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "flame/flame_text.h"

/* Two threads that launch on two queues of two devices; a graph with two kernels; a launch whose kernel is not there,
 * a kernel whose launch is not; steps on one thread. Times in microseconds. */
static const char train[] =
    "{\"deviceProperties\":[{\"id\":0},{\"id\":1}],\"traceEvents\":["
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"args\":{\"name\":\"python\"}},"
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":100,\"tid\":1,\"args\":{\"name\":\"main\"}},"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#5\",\"pid\":100,\"tid\":1,\"ts\":1000,\"dur\":"
    "100},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":100,\"tid\":1,\"ts\":1010,\"dur\":30},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":100,\"tid\":1,\"ts\":1015,\"dur\":5,"
    "\"args\":{\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":100,\"tid\":1,\"ts\":1050,\"dur\":5,"
    "\"args\":{\"correlation\":2}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":100,\"tid\":1,\"ts\":1060,\"dur\":5,"
    "\"args\":{\"correlation\":9}},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"autograd\",\"pid\":100,\"tid\":2,\"ts\":1100,\"dur\":50},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":100,\"tid\":2,\"ts\":1110,\"dur\":10,"
    "\"args\":{\"correlation\":3}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemsetAsync\",\"pid\":100,\"tid\":2,\"ts\":1130,\"dur\":2,"
    "\"args\":{\"correlation\":4}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void gemm<float, 4>(float*, int)\",\"pid\":0,\"tid\":7,\"ts\":1030,"
    "\"dur\":100.5,\"args\":{\"correlation\":1,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pageable -> "
    "Device)\",\"pid\":0,\"tid\":7,\"ts\":1140,"
    "\"dur\":20,\"args\":{\"correlation\":2,\"device\":0,\"stream\":7,\"bytes\":4096}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"relu\",\"pid\":1,\"tid\":9,\"ts\":1120,\"dur\":7,"
    "\"args\":{\"correlation\":3,\"device\":1,\"stream\":9}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void gemm<int, 2>(int*)\",\"pid\":1,\"tid\":9,\"ts\":1130,\"dur\":3,"
    "\"args\":{\"correlation\":3,\"device\":1,\"stream\":9}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset (Device)\",\"pid\":1,\"tid\":9,\"ts\":1140,\"dur\":1,"
    "\"args\":{\"correlation\":4,\"device\":1,\"stream\":9,\"bytes\":100}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"lost\",\"pid\":1,\"tid\":9,\"ts\":1200,\"dur\":50,"
    "\"args\":{\"correlation\":77,\"device\":1,\"stream\":9}}"
    "]}";

typedef struct scene {
    hd_trace *trace;
    hd_attribution *attribution;
    hd_flame *flame;
} scene;

static scene scene_of(const char *text, const hd_flame_options *options)
{
    scene s = {.trace = trace_of_text(text), .flame = flame_new()};
    hd_error err = {0};
    attribute_by_calls(&s.attribution, s.trace);
    if (hd_flame_add(s.flame, s.trace, NULL, s.attribution, options, &err) != HD_OK) fail_msg("%s", err.message);
    return s;
}

static void scene_done(scene *s)
{
    hd_flame_free(s->flame);
    attribution_done(s->attribution);
    hd_trace_free(s->trace);
}

/* The flame of the trace above is this text, and its root is the sum of the lines. */
static void assert_flame(const hd_flame_options *options, int64_t total, const char *expected)
{
    scene s = scene_of(train, options);
    char *text = flame_folded(s.flame);
    assert_string_equal(text, expected);
    assert_int_equal(s.flame->total[0], total);
    assert_int_equal(folded_sum(text, strlen(text), NULL), total);
    free(text);
    scene_done(&s);
}

/* ---- what is counted ---- */

#define MM "ProfilerStep;aten::mm;cudaLaunchKernel"
#define COPY "ProfilerStep;cudaMemcpyAsync;[GPU_Memcpy]Memcpy HtoD (Pageable -> Device)"
#define STEP_MM "ProfilerStep#5;ProfilerStep#5;aten::mm;cudaLaunchKernel"
#define STEP_COPY "ProfilerStep#5;ProfilerStep#5;cudaMemcpyAsync;[GPU_Memcpy]Memcpy HtoD (Pageable -> Device)"
#define GRAPH "autograd;cudaGraphLaunch"

static void test_flame_add__gpu_time_is_that_of_work_under_its_launch(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME};
    assert_flame(&options, 181500,
                 MM ";[GPU_Kernel]gemm 100500\n" COPY " 20000\n"
                    "[no stack];[GPU_Kernel]lost 50000\n" GRAPH ";[GPU_Kernel]gemm 3000\n" GRAPH
                    ";[GPU_Kernel]relu 7000\n"
                    "autograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1000\n");
}

static void test_flame_add__auto_is_gpu_time_where_there_is_gpu_work(void **state)
{
    (void)state;
    const hd_flame_options options = {0};
    scene s = scene_of(train, &options);
    assert_int_equal(s.flame->of, HD_FLAME_GPU_TIME);
    assert_int_equal(s.flame->total[0], s.attribution->launches->work_ns);
    assert_int_equal(s.flame->no_stack, 50000);
    assert_int_equal(s.flame->no_stack_count, 1);
    assert_int_equal(s.flame->pending_count, 1);
    assert_int_equal(s.flame->removed, 0);
    assert_int_equal(s.flame->cut_names, 0);
    scene_done(&s);
}

static void test_flame_add__auto_is_samples_else_and_cpu_time_at_last(void **state)
{
    (void)state;
    hd_flame *flame = flame_new();
    hd_flame *samples = flame_new();
    hd_trace *cpu = trace_of_text("[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]");
    hd_trace *sampled = trace_of_text("{\"stackFrames\":{\"1\":{\"name\":\"main\",\"category\":\"native\"}},"
                                      "\"traceEvents\":[{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":1,\"ts\":1,"
                                      "\"sf\":1},{\"ph\":\"X\",\"name\":\"marker\",\"pid\":1,\"tid\":1,\"ts\":1,"
                                      "\"dur\":9}]}");
    assert_int_equal(hd_flame_add(flame, cpu, NULL, NULL, NULL, NULL), HD_OK);
    assert_int_equal(flame->of, HD_FLAME_CPU_TIME);
    assert_int_equal(flame->total[0], 2000);
    assert_int_equal(hd_flame_add(samples, sampled, NULL, NULL, NULL, NULL), HD_OK);
    assert_int_equal(samples->of, HD_FLAME_SAMPLES);
    assert_int_equal(samples->total[0], 1);
    hd_flame_free(flame);
    hd_flame_free(samples);
    hd_trace_free(cpu);
    hd_trace_free(sampled);
}

static void test_flame_add__weights_have_the_unit_of_their_event(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        /* event, category, weight, unit */
        {"cpu-clock:ppp", "", "5", "ns"},        {"time", "", "5", "ns"},
        {"cycles:u", "", "5", "cycles"},         {"cpu_core/cycles/u", "", "5", "cycles"},
        {"cpu_core/cycles/", "", "5", "cycles"}, {"instructions", "", "5", "instructions"},
        {"page-faults", "", "5", "events"},      {"cpu", "nanoseconds", "5", "ns"},
        {"inuse_space", "bytes", "5", "bytes"},  {"samples", "", "5", "samples"},
        {"cycles", "", "\"x\"", "samples"},      {"cycles/", "", "5", "cycles"},
    };
    const hd_flame_options options = {.of = HD_FLAME_SAMPLES};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "{\"stackFrames\":{\"1\":{\"name\":\"main\"}},\"traceEvents\":[{\"ph\":\"P\",\"name\":\"%s\",\"cat\":"
                 "\"%s\","
                 "\"pid\":1,\"tid\":1,\"ts\":1,\"sf\":1,\"args\":{\"weight\":%s}}]}",
                 cases[i][0], cases[i][1], cases[i][2]);
        hd_trace *trace = trace_of_text(text);
        hd_flame *flame = flame_new();
        assert_string_equal(flame->unit, "");
        assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, &options, NULL), HD_OK);
        assert_string_equal(flame->unit, cases[i][3]);
        hd_flame_free(flame);
        hd_trace_free(trace);
    }
}

static void test_flame_add__weights_of_other_units_cannot_be_added(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_SAMPLES};
    hd_trace *ns =
        trace_of_text("[{\"ph\":\"P\",\"name\":\"time\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"weight\":5}}]");
    hd_trace *plain = trace_of_text("[{\"ph\":\"P\",\"name\":\"time\",\"pid\":1,\"tid\":1,\"ts\":1}]");
    hd_flame *flame = flame_new();
    hd_error err = {0};
    assert_int_equal(hd_flame_add(flame, ns, NULL, NULL, &options, NULL), HD_OK);
    assert_int_equal(hd_flame_add(flame, ns, NULL, NULL, &options, NULL), HD_OK);
    assert_int_equal(flame->total[0], 10);
    assert_int_equal(hd_flame_add(flame, plain, NULL, NULL, &options, &err), HD_ERR_ARGUMENT);
    assert_string_equal(err.message, "weights in samples cannot be added to a flame graph in ns");
    hd_flame_free(flame);
    hd_trace_free(ns);
    hd_trace_free(plain);
}

static void test_flame_add__the_default_event_is_the_first_that_perf_lists(void **state)
{
    (void)state;
    static const char form[] =
        "{\"perf\":%s,\"traceEvents\":["
        "{\"ph\":\"P\",\"name\":\"slow\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"weight\":1}},"
        "{\"ph\":\"P\",\"name\":\"fast\",\"pid\":1,\"tid\":1,\"ts\":2,\"args\":{\"weight\":2}}]}";
    static const char *const cases[][2] = {{"{\"events\":[\"none\",\"fast\",\"slow\"]}", "fast"},
                                           {"{\"events\":[]}", "slow"},
                                           {"{\"events\":\"fast\"}", "slow"},
                                           {"{\"events\":[{\"a\":\"fa\\\"st\"},1]}", "slow"},
                                           {"7", "slow"}};
    const hd_flame_options options = {.of = HD_FLAME_SAMPLES};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, form, cases[i][0]);
        hd_trace *trace = trace_of_text(text);
        hd_flame *flame = flame_new();
        assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, &options, NULL), HD_OK);
        assert_string_equal(flame->event, cases[i][1]);
        hd_flame_free(flame);
        hd_trace_free(trace);
    }
}

static void test_flame_add__weightless_shows_launches_whose_work_is_not_there(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME, .weightless = true, .names = NULL};
    assert_flame(&options, 181500,
                 MM ";[GPU_Kernel]gemm 100500\n"
                    "ProfilerStep;cudaLaunchKernel;[GPU_Launch_Pending] 0\n" COPY " 20000\n"
                    "[no stack];[GPU_Kernel]lost 50000\n" GRAPH ";[GPU_Kernel]gemm 3000\n" GRAPH
                    ";[GPU_Kernel]relu 7000\n"
                    "autograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1000\n");
}

static void test_flame_add__launches_count_one_each_a_graph_too(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_LAUNCHES};
    assert_flame(&options, 6,
                 MM ";[GPU_Kernel]gemm 1\n"
                    "ProfilerStep;cudaLaunchKernel;[GPU_Launch_Pending] 1\n" COPY " 1\n"
                    "[no stack];[GPU_Kernel]lost 1\n" GRAPH ";[GPU_Graph]cudaGraphLaunch 1\n"
                    "autograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1\n");
}

static void test_flame_add__bytes_are_those_of_copies_and_sets(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_BYTES};
    assert_flame(&options, 4196, COPY " 4096\nautograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 100\n");
}

static void test_flame_add__cpu_time_is_each_slice_s_own_under_those_around_it(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_CPU_TIME};
    assert_flame(&options, 150000,
                 "ProfilerStep 60000\n"
                 "ProfilerStep;aten::mm 25000\n"
                 "ProfilerStep;aten::mm;cudaLaunchKernel 5000\n"
                 "ProfilerStep;cudaLaunchKernel 5000\n"
                 "ProfilerStep;cudaMemcpyAsync 5000\n"
                 "autograd 38000\n"
                 "autograd;cudaGraphLaunch 10000\n"
                 "autograd;cudaMemsetAsync 2000\n");
}

static void test_flame_add__cpu_self_is_by_name_alone(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_CPU_SELF};
    assert_flame(&options, 150000,
                 "ProfilerStep 60000\n"
                 "aten::mm 25000\n"
                 "autograd 38000\n"
                 "cudaGraphLaunch 10000\n"
                 "cudaLaunchKernel 10000\n"
                 "cudaMemcpyAsync 5000\n"
                 "cudaMemsetAsync 2000\n");
}

static void test_flame_add__nothing_in_a_trace_is_no_error(void **state)
{
    (void)state;
    for (int of = 0; of < HD_FLAME_OFS; of++) {
        if (of == HD_FLAME_SAMPLES) continue; /* of stacks in traces */
        const hd_flame_options options = {.of = (hd_flame_of)of};
        scene s = scene_of("[]", &options);
        char *text = flame_folded(s.flame);
        assert_string_equal(text, "");
        assert_int_equal(s.flame->total[0], 0);
        free(text);
        scene_done(&s);
    }
}

static void test_flame_add__other_weights_cannot_be_added(void **state)
{
    (void)state;
    const hd_flame_options time = {.of = HD_FLAME_GPU_TIME}, bytes = {.of = HD_FLAME_BYTES}, any = {0};
    hd_error err = {0};
    scene s = scene_of(train, &time);
    assert_int_equal(hd_flame_add(s.flame, s.trace, NULL, s.attribution, &bytes, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "bytes cannot be added to a flame graph of gpu-time"));
    assert_int_equal(hd_flame_add(s.flame, s.trace, NULL, s.attribution, &any, NULL), HD_OK);
    assert_int_equal(s.flame->total[0], 2 * 181500);
    assert_int_equal(s.flame->traces, 2);
    scene_done(&s);
}

static void test_flame_add__attribution_is_asked_for_where_none_is_given(void **state)
{
    (void)state;
    scene given = scene_of(train, NULL);
    hd_flame *asked = flame_new();
    hd_error err = {0};
    if (hd_flame_add(asked, given.trace, NULL, NULL, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    char *texts[] = {flame_folded(given.flame), flame_folded(asked)};
    assert_string_equal(texts[0], texts[1]);
    for (int i = 0; i < 2; i++) free(texts[i]);
    hd_flame_free(asked);
    scene_done(&given);
}

static void test_flame_add__a_launch_of_several_works_is_its_first_one(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_LAUNCHES};
    static const char *const calls[] = {"cudaLaunchKernel", "cudaGraphLaunch", "someLaunch"};
    static const char *const expected[] = {"cudaLaunchKernel;[GPU_Kernel]a 1\n",
                                           "cudaGraphLaunch;[GPU_Graph]cudaGraphLaunch 1\n",
                                           "someLaunch;[GPU_Graph]someLaunch 1\n"};
    for (int i = 0; i < 3; i++) {
        char json[800];
        snprintf(json, sizeof json,
                 "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,"
                 "\"args\":{\"correlation\":5}},"
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":9,\"dur\":1,"
                 "\"args\":{\"correlation\":5}},"
                 "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,"
                 "\"args\":{\"correlation\":5}}]",
                 calls[i]);
        scene s = scene_of(json, &options);
        char *text = flame_folded(s.flame);
        assert_string_equal(text, expected[i]);
        free(text);
        scene_done(&s);
    }
}

/* ---- groups ---- */

static void test_flame_add__by_device_stream_and_thread(void **state)
{
    (void)state;
    const hd_flame_options device = {.of = HD_FLAME_GPU_TIME, .by = HD_FLAME_BY_DEVICE};
    const hd_flame_options stream = {.of = HD_FLAME_GPU_TIME, .by = HD_FLAME_BY_STREAM};
    const hd_flame_options thread = {.of = HD_FLAME_GPU_TIME, .by = HD_FLAME_BY_THREAD};
#define ON_ZERO(group) group MM ";[GPU_Kernel]gemm 100500\n" group COPY " 20000\n"
#define ON_ONE(group)                                                                                                  \
    group GRAPH ";[GPU_Kernel]gemm 3000\n" group GRAPH ";[GPU_Kernel]relu 7000\n" group                                \
                "autograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1000\n"
#define LOST(group) group "[no stack];[GPU_Kernel]lost 50000\n"
    assert_flame(&device, 181500, ON_ZERO("device 0;") LOST("device 1;") ON_ONE("device 1;"));
    assert_flame(&stream, 181500,
                 ON_ZERO("device 0 stream 7;") LOST("device 1 stream 9;") ON_ONE("device 1 stream 9;"));
    assert_flame(&thread, 181500, LOST("[no thread];") ON_ZERO("thread 1 (main);") ON_ONE("thread 2;"));
}

static void test_flame_add__streams_of_one_device_have_no_device(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME, .by = HD_FLAME_BY_STREAM};
    scene s = scene_of("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":2,"
                       "\"args\":{\"device\":0,\"stream\":7}},"
                       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"x\",\"ts\":1,\"dur\":2}]",
                       &options);
    char *text = flame_folded(s.flame);
    assert_string_equal(text, "[no stream];[no stack];[GPU_Kernel]k 2000\nstream 7;[no stack];[GPU_Kernel]k 2000\n");
    free(text);
    scene_done(&s);
}

static void test_flame_add__by_step_is_by_the_time_of_the_launch(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME, .by = HD_FLAME_BY_STEP};
    /* the kernel of the step's launch runs on behind its end; the launches of the other thread begin behind it */
    assert_flame(&options, 181500,
                 STEP_MM ";[GPU_Kernel]gemm 100500\n" STEP_COPY " 20000\n" LOST("[no step];") ON_ONE("[no step];"));
}

static void test_flame_add__by_step_asks_other_threads_where_the_own_has_none(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_CPU_TIME, .by = HD_FLAME_BY_STEP};
    scene s = scene_of("[{\"ph\":\"X\",\"name\":\"ProfilerStep#1\",\"cat\":\"user_annotation\",\"pid\":1,\"tid\":1,"
                       "\"ts\":0,\"dur\":10},"
                       "{\"ph\":\"X\",\"name\":\"ProfilerStep#2\",\"cat\":\"user_annotation\",\"pid\":1,\"tid\":1,"
                       "\"ts\":10,\"dur\":10},"
                       "{\"ph\":\"X\",\"name\":\"f\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":9,\"dur\":1},"
                       "{\"ph\":\"X\",\"name\":\"f\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":2},"
                       "{\"ph\":\"X\",\"name\":\"f\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":4}]",
                       &options);
    char *text = flame_folded(s.flame);
    assert_string_equal(text, "ProfilerStep#1;ProfilerStep#1 10000\nProfilerStep#1;f 1000\n"
                              "ProfilerStep#2;ProfilerStep#2 10000\nProfilerStep#2;f 2000\n[no step];f 4000\n");
    free(text);
    scene_done(&s);
}

static void test_flame_add__steps_are_one_frame_where_they_are_not_the_groups(void **state)
{
    (void)state;
    static const char steps[] =
        "[{\"ph\":\"X\",\"name\":\"ProfilerStep#8\",\"cat\":\"user_annotation\",\"pid\":1,\"tid\":1,"
        "\"ts\":0,\"dur\":10},"
        "{\"ph\":\"X\",\"name\":\"f\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"X\",\"name\":\"ProfilerStep#9\",\"cat\":\"user_annotation\",\"pid\":1,\"tid\":1,"
        "\"ts\":10,\"dur\":20},"
        "{\"ph\":\"X\",\"name\":\"f\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":11,\"dur\":3}]";
    static const struct {
        hd_flame_options options;
        const char *text;
    } cases[] = {
        {{.of = HD_FLAME_CPU_TIME}, "ProfilerStep 25000\nProfilerStep;f 5000\n"},
        {{.of = HD_FLAME_CPU_SELF}, "ProfilerStep 25000\nf 5000\n"},
        {{.of = HD_FLAME_CPU_TIME, .reverse = true}, "ProfilerStep 25000\nf;ProfilerStep 5000\n"},
        {{.of = HD_FLAME_CPU_TIME, .names = "ProfilerStep#9"}, "ProfilerStep 17000\n"},
        {{.of = HD_FLAME_CPU_TIME, .names = "ProfilerStep"}, "ProfilerStep 25000\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s = scene_of(steps, &cases[i].options);
        char *text = flame_folded(s.flame);
        assert_string_equal(text, cases[i].text);
        free(text);
        scene_done(&s);
    }
}

static void test_flame_add__decimal_weights_are_rounded(void **state)
{
    (void)state;
    hd_trace *trace = trace_of_text("a;b 3.5\na;c 0.5\na;d 2.49\na;e 7.000\na;f 12\n");
    hd_flame *flame = flame_new();
    assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, NULL, NULL), HD_OK);
    char *text = flame_folded(flame);
    assert_string_equal(text, "a;b 4\na;c 1\na;d 2\na;e 7\na;f 12\n");
    free(text);
    hd_flame_free(flame);
    hd_trace_free(trace);
}

static void test_flame_add__by_name_the_work_stands_first(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME, .by = HD_FLAME_BY_NAME};
    assert_flame(&options, 181500,
                 "[GPU_Kernel]gemm;" MM " 100500\n"
                 "[GPU_Kernel]gemm;" GRAPH " 3000\n"
                 "[GPU_Kernel]lost;[no stack] 50000\n"
                 "[GPU_Kernel]relu;" GRAPH " 7000\n"
                 "[GPU_Memcpy]Memcpy HtoD (Pageable -> Device);ProfilerStep;cudaMemcpyAsync 20000\n"
                 "[GPU_Memset]Memset (Device);autograd;cudaMemsetAsync 1000\n");
}

static void test_flame_add__by_name_of_cpu_time_callers_follow(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_CPU_TIME, .by = HD_FLAME_BY_NAME};
    assert_flame(&options, 150000,
                 "ProfilerStep 60000\n"
                 "aten::mm;ProfilerStep 25000\n"
                 "autograd 38000\n"
                 "cudaGraphLaunch;autograd 10000\n"
                 "cudaLaunchKernel;ProfilerStep 5000\n"
                 "cudaLaunchKernel;ProfilerStep;aten::mm 5000\n"
                 "cudaMemcpyAsync;ProfilerStep 5000\n"
                 "cudaMemsetAsync;autograd 2000\n");
}

static void test_flame_add__reverse_is_from_the_leaf_to_the_root(void **state)
{
    (void)state;
    const hd_flame_options gpu = {.of = HD_FLAME_GPU_TIME, .reverse = true, .by = HD_FLAME_BY_DEVICE};
    const hd_flame_options cpu = {.of = HD_FLAME_CPU_TIME, .reverse = true, .names = "cuda*"};
    assert_flame(&gpu, 181500,
                 "device 0;[GPU_Kernel]gemm;cudaLaunchKernel;aten::mm;ProfilerStep 100500\n"
                 "device 0;[GPU_Memcpy]Memcpy HtoD (Pageable -> Device);cudaMemcpyAsync;ProfilerStep 20000\n"
                 "device 1;[GPU_Kernel]gemm;cudaGraphLaunch;autograd 3000\n"
                 "device 1;[GPU_Kernel]lost;[no stack] 50000\n"
                 "device 1;[GPU_Kernel]relu;cudaGraphLaunch;autograd 7000\n"
                 "device 1;[GPU_Memset]Memset (Device);cudaMemsetAsync;autograd 1000\n");
    assert_flame(&cpu, 27000,
                 "cudaGraphLaunch;autograd 10000\n"
                 "cudaLaunchKernel;ProfilerStep 5000\n"
                 "cudaLaunchKernel;aten::mm;ProfilerStep 5000\n"
                 "cudaMemcpyAsync;ProfilerStep 5000\n"
                 "cudaMemsetAsync;autograd 2000\n");
}

static void test_flame_add__ranks_are_the_traces_own_or_their_places(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_CPU_TIME, .by = HD_FLAME_BY_RANK};
    hd_trace *named = trace_of_text("{\"distributedInfo\":{\"rank\":3},\"traceEvents\":["
                                    "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]}");
    hd_trace *plain = trace_of_text("[{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":4}]");
    hd_flame *flame = flame_new();
    assert_int_equal(hd_flame_add(flame, named, NULL, NULL, &options, NULL), HD_OK);
    assert_int_equal(hd_flame_add(flame, plain, NULL, NULL, &options, NULL), HD_OK);
    char *text = flame_folded(flame);
    assert_string_equal(text, "rank 1;f 4000\nrank 3;f 2000\n");
    free(text);
    hd_flame_free(flame);
    hd_trace_free(named);
    hd_trace_free(plain);
}

static void test_flame_add__merged_ranks_are_told_by_the_names_of_processes(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_CPU_TIME, .by = HD_FLAME_BY_RANK};
    scene s = scene_of("{\"distributedInfo\":{\"rank\":7},\"traceEvents\":["
                       "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"rank 12: python\"}},"
                       "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":2,\"args\":{\"name\":\"rank 3\"}},"
                       "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"args\":{\"name\":\"rank 4x\"}},"
                       "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
                       "{\"ph\":\"X\",\"name\":\"f\",\"pid\":2,\"tid\":1,\"ts\":1,\"dur\":2},"
                       "{\"ph\":\"X\",\"name\":\"f\",\"pid\":3,\"tid\":1,\"ts\":1,\"dur\":4}]}",
                       &options);
    char *text = flame_folded(s.flame);
    assert_string_equal(text, "rank 12;f 1000\nrank 3;f 2000\nrank 7;f 4000\n");
    free(text);
    scene_done(&s);
}

/* Traces that were added one way cannot be joined by others that are added the other way. */
static void test_flame_add__all_traces_are_added_in_one_direction(void **state)
{
    (void)state;
    const hd_flame_options down = {.of = HD_FLAME_CPU_TIME}, up = {.of = HD_FLAME_CPU_TIME, .reverse = true};
    scene s = scene_of(train, &down);
    assert_int_equal(hd_flame_add(s.flame, s.trace, NULL, NULL, &up, NULL), HD_ERR_ARGUMENT);
    scene_done(&s);
}

/* ---- names and times ---- */

static void test_flame_add__names_choose_work_and_the_rest_is_removed(void **state)
{
    (void)state;
    const hd_flame_options one = {.of = HD_FLAME_GPU_TIME, .names = "gemm"};
    const hd_flame_options full = {.of = HD_FLAME_GPU_TIME, .names = "/<int/"};
    const hd_flame_options not = {.of = HD_FLAME_LAUNCHES, .names = "!*gemm*,!Memcpy*"};
    assert_flame(&one, 103500, MM ";[GPU_Kernel]gemm 100500\n" GRAPH ";[GPU_Kernel]gemm 3000\n");
    assert_flame(&full, 3000, GRAPH ";[GPU_Kernel]gemm 3000\n");
    assert_flame(&not, 3,
                 "[no stack];[GPU_Kernel]lost 1\n" GRAPH
                 ";[GPU_Graph]cudaGraphLaunch 1\nautograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1\n");
    scene s = scene_of(train, &one);
    assert_int_equal(s.flame->removed, 181500 - 103500);
    assert_int_equal(s.flame->total[0] + s.flame->removed, s.attribution->launches->work_ns);
    scene_done(&s);
    const hd_flame_options bad = {.of = HD_FLAME_GPU_TIME, .names = "/["};
    hd_trace *trace = trace_of_text("[]");
    hd_flame *flame = flame_new();
    assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, &bad, NULL), HD_ERR_ARGUMENT);
    hd_flame_free(flame);
    hd_trace_free(trace);
}

static void test_flame_add__full_names_keep_template_arguments(void **state)
{
    (void)state;
    const hd_flame_options options = {.of = HD_FLAME_GPU_TIME, .names = "gemm,*gemm*", .full_names = true};
    assert_flame(&options, 103500,
                 MM ";[GPU_Kernel]void gemm<float, 4>(float*, int) 100500\n" GRAPH
                    ";[GPU_Kernel]void gemm<int, 2>(int*) 3000\n");
}

static void test_flame_add__work_is_cut_at_the_window_s_ends(void **state)
{
    (void)state;
    /* [1100, 1145) us of the trace, that begins at 1000 us */
    const hd_flame_options time = {
        .of = HD_FLAME_GPU_TIME, .from = {HD_CONVERT_NS, 100000}, .until = {HD_CONVERT_NS, 145000}};
    const hd_flame_options launches = {
        .of = HD_FLAME_LAUNCHES, .from = {HD_CONVERT_NS, 100000}, .until = {HD_CONVERT_NS, 145000}};
    const hd_flame_options bytes = {.of = HD_FLAME_BYTES, .until = {HD_CONVERT_NS, 140001}};
    const hd_flame_options cpu = {
        .of = HD_FLAME_CPU_TIME, .from = {HD_CONVERT_PERCENT, 0}, .until = {HD_CONVERT_NS, 112000}};
    assert_flame(&time, 46500,
                 MM ";[GPU_Kernel]gemm 30500\n" COPY " 5000\n" GRAPH ";[GPU_Kernel]gemm 3000\n" GRAPH
                    ";[GPU_Kernel]relu 7000\nautograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1000\n");
    assert_flame(&launches, 2,
                 GRAPH ";[GPU_Graph]cudaGraphLaunch 1\nautograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 1\n");
    assert_flame(&bytes, 4196, COPY " 4096\nautograd;cudaMemsetAsync;[GPU_Memset]Memset (Device) 100\n");
    assert_flame(&cpu, 112000,
                 "ProfilerStep 60000\nProfilerStep;aten::mm 25000\nProfilerStep;aten::mm;cudaLaunchKernel 5000\n"
                 "ProfilerStep;cudaLaunchKernel 5000\nProfilerStep;cudaMemcpyAsync 5000\nautograd 10000\n"
                 "autograd;cudaGraphLaunch 2000\n");
    scene s = scene_of(train, &cpu);
    assert_int_equal(s.flame->removed, 150000 - 112000);
    scene_done(&s);
    s = scene_of(train, &time);
    assert_int_equal(s.flame->removed, 181500 - s.flame->total[0]);
    scene_done(&s);
}

static void test_flame_add__a_window_with_nothing_in_it_is_refused(void **state)
{
    (void)state;
    const hd_flame_options late = {.of = HD_FLAME_CPU_TIME, .from = {HD_CONVERT_NS, 1000000000}};
    const hd_flame_options none = {
        .of = HD_FLAME_CPU_TIME, .from = {HD_CONVERT_PERCENT, 500000}, .until = {HD_CONVERT_PERCENT, 500000}};
    hd_trace *trace = trace_of_text(train);
    hd_flame *flame = flame_new();
    assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, &late, NULL), HD_ERR_ARGUMENT);
    assert_int_equal(hd_flame_add(flame, trace, NULL, NULL, &none, NULL), HD_ERR_ARGUMENT);
    hd_flame_free(flame);
    hd_trace_free(trace);
}

/* ---- samples ---- */

/* Three stacks on two threads, one without a stack, one without a thread or a time; weights of some. */
static const char sampled[] =
    "{\"stackFrames\":{\"1\":{\"name\":\"main\",\"category\":\"native\"},"
    "\"2\":{\"name\":\"work\",\"category\":\"native\",\"parent\":1},"
    "\"3\":{\"name\":\"train.py(7): step\",\"category\":\"python\",\"parent\":1}},\"traceEvents\":["
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":5,\"args\":{\"name\":\"thread 5 (python)\"}},"
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":5,\"ts\":10,\"sf\":2},"
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":5,\"ts\":20,\"sf\":2,\"args\":{\"weight\":40}},"
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":6,\"ts\":30,\"sf\":3,\"args\":{\"weight\":300}},"
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":6,\"ts\":40,\"sf\":1,\"args\":{\"weight\":0}},"
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":6,\"ts\":50,\"sf\":1,\"args\":{\"weight\":-9}},"
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":6,\"ts\":60,\"args\":{\"weight\":7}}]}";

static void assert_samples(const hd_flame_options *options, int64_t removed, const char *expected)
{
    hd_trace *trace = trace_of_text(sampled);
    hd_flame *flame = flame_new();
    hd_error err = {0};
    if (hd_flame_add(flame, trace, NULL, NULL, options, &err) != HD_OK) fail_msg("%s", err.message);
    char *text = flame_folded(flame);
    assert_string_equal(text, expected);
    assert_int_equal(folded_sum(text, strlen(text), NULL), flame->total[0]);
    assert_int_equal(flame->total[0] + flame->removed, 348);
    assert_int_equal(flame->negative, -9);
    assert_int_equal(flame->negative_count, 1);
    assert_int_equal(flame->removed, removed);
    free(text);
    hd_flame_free(flame);
    hd_trace_free(trace);
}

static void test_flame_add__samples_count_by_their_weight(void **state)
{
    (void)state;
    const hd_flame_options all = {.of = HD_FLAME_SAMPLES};
    const hd_flame_options weightless = {.of = HD_FLAME_SAMPLES, .weightless = true, .names = "main"};
    const hd_flame_options reverse = {.of = HD_FLAME_SAMPLES, .reverse = true};
    const hd_flame_options by_thread = {.of = HD_FLAME_SAMPLES, .by = HD_FLAME_BY_THREAD};
    const hd_flame_options early = {.of = HD_FLAME_SAMPLES, .until = {HD_CONVERT_NS, 20000}};
    const hd_flame_options none = {.of = HD_FLAME_SAMPLES, .by = HD_FLAME_BY_DEVICE, .names = "!main"};
    assert_samples(&all, 0, "[no stack] 7\nmain;train.py(7): step 300\nmain;work 41\n");
    assert_samples(&weightless, 348, "");
    assert_samples(&reverse, 0, "[no stack] 7\ntrain.py(7): step;main 300\nwork;main 41\n");
    assert_samples(&by_thread, 0,
                   "thread 5 (python);main;work 41\nthread 6;[no stack] 7\n"
                   "thread 6;main;train.py(7): step 300\n");
    assert_samples(&early, 307, "main;work 41\n");
    assert_samples(&none, 0,
                   "[no device];[no stack] 7\n[no device];main;train.py(7): step 300\n[no device];main;work 41\n");
}

static void test_flame_add__samples_of_launches_that_are_not_there_are_pending(void **state)
{
    (void)state;
    const hd_flame_options launches = {.of = HD_FLAME_LAUNCHES};
    const hd_flame_options time = {.of = HD_FLAME_GPU_TIME, .weightless = true};
    for (int i = 0; i < 2; i++) {
        hd_trace *trace = trace_of_text("[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,"
                                        "\"dur\":2}]");
        hd_trace *cpu = trace_of_text(sampled);
        hd_attribution *attribution;
        hd_flame *flame = flame_new();
        attribute_by_calls(&attribution, trace);
        uint32_t name = hd_stacks_name(attribution->stacks, "cudaLaunchKernel", 16);
        uint32_t stack = hd_stacks_push(attribution->stacks, HD_STACK_NONE, name, HD_FRAME_API);
        attribution->pending = calloc(2, sizeof *attribution->pending);
        attribution->pending[0] = (hd_pending_stack){1, stack};
        attribution->pending[1] = (hd_pending_stack){2, stack};
        attribution->pending_count = 2;
        assert_int_equal(hd_flame_add(flame, trace, cpu, attribution, i ? &time : &launches, NULL), HD_OK);
        char *text = flame_folded(flame);
        assert_string_equal(text, i ? "[no stack];[GPU_Kernel]k 2000\ncudaLaunchKernel;[GPU_Launch_Pending] 0\n"
                                    : "[no stack];[GPU_Kernel]k 1\ncudaLaunchKernel;[GPU_Launch_Pending] 2\n");
        assert_int_equal(flame->pending_count, 2);
        free(text);
        hd_flame_free(flame);
        attribution_done(attribution);
        hd_trace_free(trace);
        hd_trace_free(cpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flame_add__gpu_time_is_that_of_work_under_its_launch),
        cmocka_unit_test(test_flame_add__auto_is_gpu_time_where_there_is_gpu_work),
        cmocka_unit_test(test_flame_add__auto_is_samples_else_and_cpu_time_at_last),
        cmocka_unit_test(test_flame_add__weights_have_the_unit_of_their_event),
        cmocka_unit_test(test_flame_add__weights_of_other_units_cannot_be_added),
        cmocka_unit_test(test_flame_add__the_default_event_is_the_first_that_perf_lists),
        cmocka_unit_test(test_flame_add__weightless_shows_launches_whose_work_is_not_there),
        cmocka_unit_test(test_flame_add__launches_count_one_each_a_graph_too),
        cmocka_unit_test(test_flame_add__bytes_are_those_of_copies_and_sets),
        cmocka_unit_test(test_flame_add__cpu_time_is_each_slice_s_own_under_those_around_it),
        cmocka_unit_test(test_flame_add__cpu_self_is_by_name_alone),
        cmocka_unit_test(test_flame_add__nothing_in_a_trace_is_no_error),
        cmocka_unit_test(test_flame_add__other_weights_cannot_be_added),
        cmocka_unit_test(test_flame_add__attribution_is_asked_for_where_none_is_given),
        cmocka_unit_test(test_flame_add__a_launch_of_several_works_is_its_first_one),
        cmocka_unit_test(test_flame_add__by_device_stream_and_thread),
        cmocka_unit_test(test_flame_add__streams_of_one_device_have_no_device),
        cmocka_unit_test(test_flame_add__by_step_is_by_the_time_of_the_launch),
        cmocka_unit_test(test_flame_add__by_step_asks_other_threads_where_the_own_has_none),
        cmocka_unit_test(test_flame_add__steps_are_one_frame_where_they_are_not_the_groups),
        cmocka_unit_test(test_flame_add__decimal_weights_are_rounded),
        cmocka_unit_test(test_flame_add__by_name_the_work_stands_first),
        cmocka_unit_test(test_flame_add__by_name_of_cpu_time_callers_follow),
        cmocka_unit_test(test_flame_add__reverse_is_from_the_leaf_to_the_root),
        cmocka_unit_test(test_flame_add__ranks_are_the_traces_own_or_their_places),
        cmocka_unit_test(test_flame_add__merged_ranks_are_told_by_the_names_of_processes),
        cmocka_unit_test(test_flame_add__all_traces_are_added_in_one_direction),
        cmocka_unit_test(test_flame_add__names_choose_work_and_the_rest_is_removed),
        cmocka_unit_test(test_flame_add__full_names_keep_template_arguments),
        cmocka_unit_test(test_flame_add__work_is_cut_at_the_window_s_ends),
        cmocka_unit_test(test_flame_add__a_window_with_nothing_in_it_is_refused),
        cmocka_unit_test(test_flame_add__samples_count_by_their_weight),
        cmocka_unit_test(test_flame_add__samples_of_launches_that_are_not_there_are_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
