/* Stacks of launches out of slices, and those of backward ops under their forward ops. */
#include "attribution_text.h"
#include "base/json/write.h"
#include "random_trace.h"

static void assert_first_work(const char *json, bool forward, hd_stack_rule rule, const char *stack)
{
    const hd_attribution_options options = {.forward = forward};
    hd_trace *trace = trace_of(json);
    hd_attribution *a = attribute(trace, NULL, &options);
    assert_work(a, 0, rule, stack);
    hd_attribution_free(a);
    hd_trace_free(trace);
}

/* ---- stacks ---- */

static void test_attribution_slices__what_encloses_the_launch_is_its_stack(NO_STATE)
{
    assert_first_work(
        "[" SLICE("python_function", 1, "main", 0, 100) "," SLICE("user_annotation", 1, "step", 1, 90) "," SLICE(
            "cpu_op", 1, "aten::add", 10, 50) "," SLICE("cpu_op", 1, "aten::mul", 70,
                                                        10) "," SLICE("cpu_op", 2, "elsewhere", 0,
                                                                      100) "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30,
                                                                                                          7) "]",
        false, HD_RULE_SLICES, "main;step;aten::add;cudaLaunchKernel");
}

static void test_attribution_slices__calls_alone_are_stacks_of_one_frame(NO_STATE)
{
    assert_first_work("[" CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "]", false, HD_RULE_SLICES, "cudaLaunchKernel");
}

static void test_attribution_slices__work_without_a_launch_has_no_stack(NO_STATE)
{
    assert_first_work("[" SLICE("cpu_op", 1, "aten::add", 10, 50) "," CALL(1, 20, 5, 8) "," WORK("k", 40, 30, 7) "]",
                      false, HD_RULE_NONE, "");
}

static void test_attribution_slices__a_launch_at_the_edges_of_its_op_is_in_it(NO_STATE)
{
    assert_first_work("[" SLICE("cpu_op", 1, "op", 20, 5) "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "]", false,
                      HD_RULE_SLICES, "op;cudaLaunchKernel");
    assert_first_work("[" SLICE("cpu_op", 1, "op", 20, 5) "," CALL(1, 25, 0, 7) "," WORK("k", 40, 30, 7) "]", false,
                      HD_RULE_SLICES, "op;cudaLaunchKernel");
    /* the op ends in the middle of it */
    assert_first_work("[" SLICE("cpu_op", 1, "op", 20, 4) "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "]", false,
                      HD_RULE_SLICES, "cudaLaunchKernel");
}

static void test_attribution_slices__all_work_of_a_launch_has_its_stack(NO_STATE)
{
    hd_trace *trace = trace_of("[" SLICE(
        "cpu_op", 1, "replay", 0,
        50) ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGraphLaunch\",\"pid\":1,\"tid\":1,\"ts\":10,"
            "\"dur\":5,\"args\":{\"correlation\":7}}," WORK("k1", 40, 30, 7) "," WORK("k2", 70, 30, 7) "," WORK(
                "k3", 100, 30, 7) "]");
    hd_attribution *a = attribute(trace, NULL, NULL);
    for (size_t i = 0; i < 3; i++) assert_work(a, i, HD_RULE_SLICES, "replay;cudaGraphLaunch");
    assert_int_equal(a->works_by[HD_RULE_SLICES], 3);
    assert_int_equal(a->launches_by[HD_RULE_SLICES], 1);
    assert_int_equal(a->work_ns_by[HD_RULE_SLICES], 90000);
    hd_attribution_free(a);
    hd_trace_free(trace);
}

static void test_attribution_slices__a_given_stack_stays(NO_STATE)
{
    assert_first_work(
        "{\"traceEvents\":[" SLICE("cpu_op", 1, "op", 10, 50) "," CALL(
            1, 20, 5,
            7) ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":30,\"sf\":12,"
               "\"args\":{\"correlation\":7}}],\"stackFrames\":{\"12\":{\"name\":\"b\",\"parent\":\"x\"},"
               "\"x\":{\"name\":\"a\"}}}",
        false, HD_RULE_GIVEN, "a;b");
    /* the call's own stack goes to all of its work, but not before what the work says */
    assert_first_work(
        "{\"traceEvents\":[" SLICE(
            "cpu_op", 1, "op", 10,
            50) ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\","
                "\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":5,\"sf\":3,\"args\":"
                "{\"correlation\":7}}," WORK("k", 40, 30, 7) "],\"stackFrames\":{\"3\":{\"name\":\"main\"}}}",
        false, HD_RULE_GIVEN, "main");
    /* frames that cannot be read give none */
    assert_first_work(
        "{\"traceEvents\":[" SLICE("cpu_op", 1, "op", 10, 50) "," CALL(
            1, 20, 5,
            7) ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":30,\"sf\":12,"
               "\"args\":{\"correlation\":7}}],\"stackFrames\":[1]}",
        false, HD_RULE_SLICES, "op;cudaLaunchKernel");
}

/* ---- forward ops ---- */

#define OP(tid, name, ts, dur, seq, thread)                                                                            \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur   \
    ",\"args\":{\"Sequence number\":" #seq ",\"Fwd thread id\":" #thread "}}"

#define FORWARD                                                                                                        \
    SLICE("python_function", 1, "model", 0, 100)                                                                       \
    "," OP(1, "aten::linear", 10, 30, 5, 0) "," OP(1, "aten::addmm", 12, 20, 5, 0) "," OP(1, "aten::relu", 50, 20, 6, 0)
#define BACKWARD                                                                                                       \
    OP(2, "evaluate", 200, 50, 5, 1)                                                                                   \
    "," OP(2, "AddmmBackward", 205, 40, 5, 1) "," CALL(2, 210, 5, 7) "," WORK("k", 220, 30, 7)

static void test_attribution_slices__backward_work_stands_under_its_forward_op(NO_STATE)
{
    assert_first_work("[" FORWARD "," BACKWARD "]", false, HD_RULE_SLICES, "evaluate;AddmmBackward;cudaLaunchKernel");
    assert_first_work("[" FORWARD "," BACKWARD "]", true, HD_RULE_SLICES,
                      "model;aten::linear;aten::addmm;[backward];evaluate;AddmmBackward;cudaLaunchKernel");
}

static void test_attribution_slices__flows_tell_the_forward_op_before_numbers_do(NO_STATE)
{
    assert_first_work(
        "[" FORWARD "," BACKWARD
        ",{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":50},"
        "{\"ph\":\"f\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":1,\"pid\":1,\"tid\":2,\"ts\":205,\"bp\":\"e\"}]",
        true, HD_RULE_SLICES, "model;aten::relu;[backward];evaluate;AddmmBackward;cudaLaunchKernel");
}

static void test_attribution_slices__a_forward_op_starts_before_its_backward_op(NO_STATE)
{
    assert_first_work("[" BACKWARD "," OP(1, "later", 300, 10, 5, 0) "]", true, HD_RULE_SLICES,
                      "evaluate;AddmmBackward;cudaLaunchKernel");
}

static void test_attribution_slices__a_number_of_two_threads_needs_the_thread_s_id(NO_STATE)
{
    assert_first_work(
        "[" FORWARD
        "," OP(3, "other", 60, 10, 5,
               0) ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"bwd\",\"pid\":1,"
                  "\"tid\":2,\"ts\":200,\"dur\":50,\"args\":{\"Sequence number\":5,\"Fwd thread id\":9}}," CALL(
                      2, 210, 5, 7) "," WORK("k", 220, 30, 7) "]",
        true, HD_RULE_SLICES, "bwd;cudaLaunchKernel");
    assert_first_work("[" FORWARD "," OP(3, "other", 60, 10, 5, 0) "," OP(2, "bwd", 200, 50, 5, 3) "," CALL(
                          2, 210, 5, 7) "," WORK("k", 220, 30, 7) "]",
                      true, HD_RULE_SLICES, "other;[backward];bwd;cudaLaunchKernel");
}

static void test_attribution_slices__works_under_forward_ops_are_counted(NO_STATE)
{
    const hd_attribution_options options = {.forward = true};
    hd_trace *trace = trace_of("[" FORWARD "," BACKWARD "," WORK("k2", 260, 30, 7) "," CALL(1, 20, 5, 8) "," WORK(
        "k3", 290, 30, 8) "," CALL(2, 246, 2, 9) "," WORK("k4", 320, 30, 9) "]");
    hd_attribution *a = attribute(trace, NULL, &options);
    assert_int_equal(a->forward_joined, 3);
    assert_work(a, 2, HD_RULE_SLICES, "model;aten::linear;aten::addmm;cudaLaunchKernel");
    /* in the outer backward op only */
    assert_work(a, 3, HD_RULE_SLICES, "model;aten::linear;aten::addmm;[backward];evaluate;cudaLaunchKernel");
    hd_attribution_free(a);
    hd_trace_free(trace);
}

/* ---- random, against a quadratic model ---- */

typedef struct model_slice {
    unsigned start, end, lane;
    char name[24];
} model_slice;

static void put_model_slice(hd_json_out *out, const model_slice *s, const char *category, unsigned id)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":%u,\"args\":{"
             "\"correlation\":%u}},",
             category, s->name, s->lane, s->start, s->end - s->start, id);
    hd_json_put_text(out, text);
}

static int outer_first(const void *a, const void *b)
{
    const model_slice *x = *(const model_slice *const *)a, *y = *(const model_slice *const *)b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x < y ? -1 : 1; /* earlier rows have smaller addresses */
}

static void model_stack(char *out, const model_slice *slices, unsigned count, const model_slice *launch)
{
    const model_slice *around[64];
    unsigned depth = 0;
    for (unsigned i = 0; i < count; i++) {
        const model_slice *s = &slices[i];
        if (s->lane == launch->lane && s->start <= launch->start && s->end >= launch->end) around[depth++] = s;
    }
    qsort(around, depth, sizeof *around, outer_first);
    out[0] = '\0';
    for (unsigned i = 0; i < depth; i++) {
        strcat(out, around[i]->name);
        strcat(out, ";");
    }
    strcat(out, launch->name);
}

static void test_attribution_slices__random_launches_are_as_the_model_says(NO_STATE)
{
    for (uint64_t round = 1; round <= 200; round++) {
        uint64_t seed = round;
        model_slice slices[40], launches[20];
        hd_json_out json = {0};
        hd_json_put_text(&json, "[");
        for (unsigned i = 0; i < 40; i++) {
            model_slice *s = &slices[i];
            s->start = random_next(&seed) % 60;
            s->end = s->start + 1 + random_next(&seed) % 30;
            s->lane = random_next(&seed) % 3;
            snprintf(s->name, sizeof s->name, "op%u", random_next(&seed) % 50);
            put_model_slice(&json, s, i % 2 ? "cpu_op" : "python_function", 0);
        }
        for (unsigned i = 0; i < 20; i++) { /* launches lie apart and at odd times, so that none encloses another */
            model_slice *l = &launches[i];
            *l = (model_slice){
                .start = 3 * i + 1, .end = 3 * i + 2, .lane = random_next(&seed) % 3, .name = "cudaLaunchKernel"};
            put_model_slice(&json, l, "cuda_runtime", i + 1);
        }
        for (unsigned i = 0; i < 20; i++) {
            model_slice k = {.start = 100 + i, .end = 101 + i, .lane = 9, .name = "k"};
            put_model_slice(&json, &k, "kernel", i + 1);
        }
        hd_json_put_text(&json, "{\"ph\":\"i\",\"name\":\"end\",\"pid\":1,\"tid\":1,\"ts\":0}]");
        hd_json_put(&json, "", 1);
        hd_trace *trace = trace_of(json.data);
        const hd_attribution_options options = {.threads = 1 + (unsigned)round % 3};
        hd_attribution *a = attribute(trace, NULL, &options);
        assert_int_equal(a->launches->work_count, 20);
        for (unsigned i = 0; i < 20; i++) {
            char wanted[2048];
            model_stack(wanted, slices, 40, &launches[i]);
            assert_work(a, i, HD_RULE_SLICES, wanted);
        }
        hd_attribution_free(a);
        hd_trace_free(trace);
        free(json.data);
    }
}

/* ---- real traces ---- */

static void test_attribution_slices__real_work_has_stacks(NO_STATE)
{
    /* of so many works; those under forward ops, with `forward` */
    static const struct {
        const char *name;
        uint64_t works, with, forward;
    } traces[] = {
        {"kineto/resnet50_2021.json.gz", 9258, 9258, 2652},
        {"kineto/df_index_resolver.json.gz", 22290, 22290, 11555},
        {"kineto/nccl_data.json.gz", 3774, 3774, 1392},
        {"kineto/particle_transformer_a100.json.gz", 642, 642, 0},
        {"kineto/b200_eager.json.gz", 929, 929, 0},
        {"kineto/normalization_layer_test.json.gz", 173, 173, 70},
        {"kineto/event_sync_multi_stream.json.gz", 6, 6, 0},
        {"kineto/mi250_minitoy.json.gz", 16, 16, 5},
        {"kineto/negative_queue_rank0.json.gz", 7747, 6875, 1125}, /* 872 were launched before the recording began */
        {"kineto/mtia_rank_0.json.gz", 25814, 3453, 281},          /* DMA requests have no launch: 5.5 % of the time */
        {"cupti/cupti_trace.json", 32, 32, 0},
    };
    const hd_attribution_options options = {.forward = true};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        hd_trace *trace = real_trace(traces[i].name);
        if (!trace) continue;
        hd_attribution *a = attribute(trace, NULL, &options);
        assert_int_equal(a->launches->work_count, traces[i].works);
        assert_int_equal(a->works_by[HD_RULE_SLICES], traces[i].with);
        assert_int_equal(a->works_by[HD_RULE_NONE], traces[i].works - traces[i].with);
        assert_int_equal(a->forward_joined, traces[i].forward);
        hd_attribution_free(a);
        hd_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attribution_slices__what_encloses_the_launch_is_its_stack),
        cmocka_unit_test(test_attribution_slices__calls_alone_are_stacks_of_one_frame),
        cmocka_unit_test(test_attribution_slices__work_without_a_launch_has_no_stack),
        cmocka_unit_test(test_attribution_slices__a_launch_at_the_edges_of_its_op_is_in_it),
        cmocka_unit_test(test_attribution_slices__all_work_of_a_launch_has_its_stack),
        cmocka_unit_test(test_attribution_slices__a_given_stack_stays),
        cmocka_unit_test(test_attribution_slices__backward_work_stands_under_its_forward_op),
        cmocka_unit_test(test_attribution_slices__flows_tell_the_forward_op_before_numbers_do),
        cmocka_unit_test(test_attribution_slices__a_forward_op_starts_before_its_backward_op),
        cmocka_unit_test(test_attribution_slices__a_number_of_two_threads_needs_the_thread_s_id),
        cmocka_unit_test(test_attribution_slices__works_under_forward_ops_are_counted),
        cmocka_unit_test(test_attribution_slices__random_launches_are_as_the_model_says),
        cmocka_unit_test(test_attribution_slices__real_work_has_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
