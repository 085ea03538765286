/* Traces with the stacks that launched their work: arguments, frames, samples, flows, in every format. */
#include <dirent.h>
#include <unistd.h>

#include "attribution_text.h"
#include "heddle/report.h"
#include "pass/attribution/annotate.h"
#include "random_trace.h"
#include "rounds.h"

static hd_trace *annotated(const hd_trace *gpu, const hd_trace *cpu, const hd_attribution_options *options)
{
    hd_attribution *a = attribute(gpu, cpu, options);
    hd_trace *out;
    hd_error err = {0};
    if (hd_attribution_annotate(&out, a, gpu, cpu, &err) != HD_OK) fail_msg("%s", err.message);
    hd_attribution_free(a);
    return out;
}

static hd_trace *annotated_text(const char *json)
{
    hd_trace *gpu = trace_of(json), *out = annotated(gpu, NULL, NULL);
    hd_trace_free(gpu);
    return out;
}

/* Frees `got`. Its stackFrames and events must be those of the text. */
static void assert_trace(hd_trace *got, const char *wanted)
{
    hd_trace *expected = trace_of(wanted);
    hd_string x = hd_trace_metadata_find(got, "stackFrames"), y = hd_trace_metadata_find(expected, "stackFrames");
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    hd_trace_free(expected);
    assert_events(got, wanted);
}

static bool work_arg(hd_value *out, const hd_trace *trace, uint64_t row, const char *name, hd_event *event)
{
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
    hd_block_event(event, block, at);
    return hd_event_arg(out, trace, event, hd_trace_find_string(trace, name, strlen(name)));
}

#define STACKED(name, ts, dur, id, sf, stack)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur          \
    ",\"sf\":" #sf ",\"args\":{\"correlation\":" #id ",\"device\":0,\"stream\":7,\"stack\":\"" stack "\"}}"
#define POINT(ph, tid, ts, id)                                                                                         \
    "{\"ph\":\"" ph "\",\"cat\":\"stack\",\"name\":\"stack\",\"id\":" #id ",\"pid\":" tid ",\"ts\":" #ts "}"
#define FLOW_START(ts, id) POINT("s", "1,\"tid\":1", ts, id)
#define FLOW_END(ts, id) POINT("f", "0,\"tid\":7,\"bp\":\"e\"", ts, id)

/* ---- work ---- */

static void test_attribution_annotate__work_gets_frames_text_and_a_flow(NO_STATE)
{
    assert_trace(
        annotated_text("[" SLICE("cpu_op", 1, "op", 10,
                                 50) "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "," WORK("lost", 90, 30, 99) "]"),
        "{\"traceEvents\":[" SLICE("cpu_op", 1, "op", 10, 50) "," CALL(1, 20, 5, 7) "," STACKED(
            "k", 40, 30, 7, 2,
            "op;cudaLaunchKernel") "," WORK("lost", 90, 30,
                                            99) "," FLOW_START(20,
                                                               1) "," FLOW_END(40,
                                                                               1) "],\"stackFrames\":{\"1\":{\"name\":"
                                                                                  "\"op\",\"category\":\"op\"},"
                                                                                  "\"2\":{\"name\":"
                                                                                  "\"cudaLaunchKernel\",\"category\":"
                                                                                  "\"gpu_api\",\"parent\":1}}}");
}

static void test_attribution_annotate__the_ledger_says_what_has_no_stack(NO_STATE)
{
    hd_trace *out = annotated_text(
        "[" CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "," WORK("lost", 90, 30, 99) "," WORK("lost", 190, 30, 100) "]");
    assert_int_equal(ledger_count(out, "attribution.no-stack"), 2);
    assert_int_equal(ledger_count(out, "attribution.pending"), 0);
    hd_trace_free(out);
}

static void test_attribution_annotate__semicolons_and_newlines_in_frames_are_replaced_in_the_text(NO_STATE)
{
    hd_trace *out =
        annotated_text("[" SLICE("cpu_op", 1, "a;b\\nc", 10, 50) "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "]");
    hd_value value;
    hd_event event;
    assert_true(work_arg(&value, out, 2, "stack", &event));
    hd_string text = hd_trace_string(out, (uint32_t)value.bits);
    assert_int_equal(text.size, strlen("a,b c;cudaLaunchKernel"));
    assert_memory_equal(text.data, "a,b c;cudaLaunchKernel", text.size);
    assert_non_null(strstr(hd_trace_metadata_find(out, "stackFrames").data, "a;b\\nc")); /* the frame is as it was */
    hd_trace_free(out);
}

static void test_attribution_annotate__an_argument_of_that_name_is_replaced(NO_STATE)
{
    hd_trace *out = annotated_text("[" CALL(
        1, 20, 5, 7) ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":30,"
                     "\"sf\":\"x\",\"args\":{\"stack\":5,\"correlation\":7,\"sf\":3}}]");
    assert_events(
        out, "[" CALL(1, 20, 5, 7) ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":40,"
                                   "\"dur\":30,\"sf\":1099511627777,"
                                   "\"args\":{\"correlation\":7,\"sf\":3,\"stack\":\"cudaLaunchKernel\"}}," FLOW_START(
                                       20, 1) "," FLOW_END(40, 1) "]");
}

static void test_attribution_annotate__texts_end_where_there_is_no_room(NO_STATE)
{
    hd_trace *gpu = trace_of("[" SLICE("cpu_op", 1, "op", 10, 10) "," CALL(1, 12, 2, 7) "," CALL(1, 30, 2, 8) "," CALL(
        1, 14, 2, 9) "," WORK("a", 40, 5, 7) "," WORK("b", 50, 5, 8) "," WORK("c", 60, 5, 9) "]");
    hd_attribution *a = attribute(gpu, NULL, NULL);
    hd_trace *out;
    hd_value value;
    hd_event event;
    assert_int_equal(annotate_within(&out, a, gpu, NULL, 20, NULL), HD_OK);
    assert_true(work_arg(&value, out, 4, "stack", &event));
    assert_false(work_arg(&value, out, 5, "stack", &event));
    assert_true(work_arg(&value, out, 5, "sf", &event) || event.args); /* sf is a key of the event */
    assert_true(work_arg(&value, out, 6, "stack", &event));            /* a text that is there already */
    assert_int_equal(ledger_count(out, "attribution.stack-text"), 1);
    hd_trace_stacks *stacks;
    assert_int_equal(hd_trace_stacks_new(&stacks, out, NULL), HD_OK);
    work_arg(&value, out, 5, "sf", &event);
    char *text = stack_text(hd_trace_stacks_tree(stacks), hd_trace_stacks_of(stacks, &event));
    assert_string_equal(text, "cudaLaunchKernel");
    free(text);
    hd_trace_stacks_free(stacks);
    hd_attribution_free(a);
    hd_trace_free(gpu);
    hd_trace_free(out);
}

/* ---- frames ---- */

#define SAMPLE(sf) "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":1,\"ts\":5,\"sf\":" sf "}"

static void test_attribution_annotate__frames_of_the_trace_keep_their_ids(NO_STATE)
{
    assert_trace(
        annotated_text("{\"traceEvents\":[" SAMPLE("\"x\"") "," SAMPLE("41") "," CALL(1, 20, 5, 7) "," WORK(
            "k", 40, 30, 7) "],\"stackFrames\":{\"x\":{\"name\":\"f\"},\"41\":{\"name\":\"g\"} } }"),
        "{\"traceEvents\":[" SAMPLE("\"x\"") "," SAMPLE("41") "," CALL(1, 20, 5, 7) "," STACKED(
            "k", 40, 30, 7, 42,
            "cudaLaunchKernel") "," FLOW_START(20, 1) "," FLOW_END(40, 1) "],\"stackFrames\":{\"x\":{\"name\":\"f\"},"
                                                                          "\"41\":{\"name\":\"g\"},"
                                                                          "\"42\":{\"name\":\"cudaLaunchKernel\","
                                                                          "\"category\":\"gpu_api\"}}}");
}

#define MARK "{\"ph\":\"i\",\"name\":\"m\",\"pid\":1,\"tid\":1,\"ts\":5,\"sf\":1}"

static void test_attribution_annotate__frames_that_cannot_be_read_are_lost_and_it_is_said(NO_STATE)
{
    hd_trace *out = annotated_text("{\"traceEvents\":[" MARK
                                   "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "],\"stackFrames\":[1]}");
    assert_int_equal(ledger_count(out, "attribution.stack-frames"), 1);
    /* and the mark does not get ours */
    assert_trace(out,
                 "{\"traceEvents\":[" MARK
                 "," CALL(1, 20, 5, 7) "," STACKED("k", 40, 30, 7, 1099511627777, "cudaLaunchKernel") "," FLOW_START(
                     20, 1) "," FLOW_END(40, 1) "],\"stackFrames\":{\"1099511627777\":{\"name\":"
                                                "\"cudaLaunchKernel\",\"category\":\"gpu_api\"}}}");
}

static void test_attribution_annotate__a_second_time_changes_nothing(NO_STATE)
{
    hd_trace *once =
        annotated_text("[" SLICE("cpu_op", 1, "op", 10, 50) "," CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "]");
    hd_trace *twice = annotated(once, NULL, NULL);
    char *x = dump_trace(once, DUMP_ALL), *y = dump_trace(twice, DUMP_ALL);
    assert_string_equal(x, y);
    free(x);
    free(y);
    hd_trace_free(once);
    hd_trace_free(twice);
}

/* ---- flows ---- */

static void test_attribution_annotate__a_flow_that_is_there_is_enough(NO_STATE)
{
    hd_trace *out = annotated_text("[" CALL(1, 20, 5, 7) "," WORK(
        "k", 40, 30,
        7) ",{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":7,\"pid\":1,\"tid\":1,\"ts\":20},"
           "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":7,\"pid\":0,\"tid\":7,\"ts\":40,\"bp\":\"e\"}]");
    assert_int_equal(hd_trace_row_count(out, HD_KIND_FLOW), 2);
    hd_trace_free(out);
}

static void test_attribution_annotate__ids_of_flows_are_new(NO_STATE)
{
    hd_trace *out = annotated_text("[" CALL(1, 20, 5, 7) "," WORK(
        "k", 40, 30, 7) ",{\"ph\":\"b\",\"cat\":\"x\",\"name\":\"x\",\"id\":\"0x30\",\"pid\":1,\"tid\":1,\"ts\":20},"
                        "{\"ph\":\"s\",\"cat\":\"y\",\"name\":\"y\",\"id\":33,\"pid\":1,\"tid\":1,\"ts\":20}]");
    hd_event event;
    hd_block_event(&event, hd_trace_block_at(out, HD_KIND_FLOW, 1), 0);
    assert_int_equal(event.id, 49);
    hd_trace_free(out);
}

static void test_attribution_annotate__no_flow_runs_backward(NO_STATE)
{
    hd_trace *out = annotated_text("[" CALL(1, 20, 5, 7) "," WORK("k", 19, 30, 7) "," WORK("k2", 50, 30, 7) "]");
    assert_int_equal(hd_trace_row_count(out, HD_KIND_FLOW), 2); /* to the second only */
    hd_trace_free(out);
}

/* ---- samples ---- */

#define CPU_SAMPLE(tid, ts, sf, correlation)                                                                           \
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"sf\":" sf                           \
    ",\"args\":{\"correlation\":" #correlation "}}"

static void test_attribution_annotate__samples_come_to_the_clock_and_thread_of_their_launch(NO_STATE)
{
    hd_trace *gpu = trace_of(
        "{\"traceEvents\":[" CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "],\"stackFrames\":{\"3\":{\"name\":\"x\"}}}");
    hd_trace *cpu = trace_of(
        "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":55,\"args\":{\"name\":\"py\"}},"
        "{\"ph\":\"X\",\"name\":\"not taken\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}," CPU_SAMPLE(
            54, 1019, "9", 7) "," CPU_SAMPLE(55, 1090, "8", 4711) "],\"stackFrames\":{\"8\":{\"name\":\"main\"},\"9\":{"
                                                                  "\"name\":\"train\",\"parent\":8}}}");
    hd_attribution *a = attribute(gpu, cpu, NULL);
    hd_trace *out;
    assert_int_equal(hd_attribution_annotate(&out, a, gpu, cpu, NULL), HD_OK);
    assert_int_equal(a->work_rule[0], HD_RULE_ID);
    assert_int_equal(hd_trace_event_count(out), 2 + 2 + 2 + 1);
    assert_int_equal(ledger_count(out, "attribution.pending"), 1);
    char *text = stack_text(a->stacks, a->work_stack[0]);
    assert_non_null(strstr(text, "main;train"));
    hd_event event;
    hd_trace_stacks *stacks;
    assert_int_equal(hd_trace_stacks_new(&stacks, out, NULL), HD_OK);
    static const struct {
        const char *tid, *stack;
        int64_t ts;
    } wanted[] = {{"1", "main;train", 20000}, {"55", "main", 91000}};
    for (uint32_t i = 0; i < 2; i++) {
        hd_block_event(&event, hd_trace_block_at(out, HD_KIND_SAMPLE, 0), i);
        hd_string tid = hd_trace_string(out, hd_trace_track_at(out, event.track)->tid.text);
        assert_int_equal(event.start_ns, wanted[i].ts);
        assert_int_equal(tid.size, strlen(wanted[i].tid));
        assert_memory_equal(tid.data, wanted[i].tid, tid.size);
        char *stack = stack_text(hd_trace_stacks_tree(stacks), hd_trace_stacks_of(stacks, &event));
        assert_string_equal(stack, wanted[i].stack);
        free(stack);
    }
    hd_string name = hd_trace_string(out, hd_trace_track_at(out, event.track)->name);
    assert_int_equal(name.size, 2);
    assert_memory_equal(name.data, "py", 2);
    assert_int_equal(hd_trace_row_count(out, HD_KIND_META), 1); /* the name of the thread that is new */
    hd_trace_stacks_free(stacks);
    free(text);
    hd_attribution_free(a);
    hd_trace_free(gpu);
    hd_trace_free(cpu);
    hd_trace_free(out);
}

/* The GPU trace may have a frame of that number. */
static void test_attribution_annotate__a_sample_without_a_stack_gets_none(NO_STATE)
{
    hd_trace *gpu = trace_of(
        "{\"traceEvents\":[" CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "],\"stackFrames\":{\"0\":{\"name\":\"x\"}}}");
    hd_trace *cpu = trace_of("{\"traceEvents\":[" CPU_SAMPLE(1, 19, "77", 7) "," CPU_SAMPLE(
        1, 29, "3", 9) "],\"stackFrames\":{\"3\":{\"name\":\"main\"}}}");
    hd_attribution *a = attribute(gpu, cpu, NULL);
    hd_trace *out;
    assert_int_equal(hd_attribution_annotate(&out, a, gpu, cpu, NULL), HD_OK);
    hd_trace_stacks *stacks;
    assert_int_equal(hd_trace_stacks_new(&stacks, out, NULL), HD_OK);
    for (uint32_t i = 0; i < 2; i++) {
        hd_event event;
        hd_block_event(&event, hd_trace_block_at(out, HD_KIND_SAMPLE, 0), i);
        char *stack = stack_text(hd_trace_stacks_tree(stacks), hd_trace_stacks_of(stacks, &event));
        assert_string_equal(stack, i ? "main" : "");
        free(stack);
    }
    hd_trace_stacks_free(stacks);
    hd_attribution_free(a);
    hd_trace_free(gpu);
    hd_trace_free(cpu);
    hd_trace_free(out);
}

static void test_attribution_annotate__samples_of_an_unknown_clock_keep_their_times(NO_STATE)
{
    hd_trace *gpu = trace_of("[" CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "]");
    hd_trace *cpu = trace_of("{\"traceEvents\":[" SAMPLE("3") "],\"stackFrames\":{\"3\":{\"name\":\"x\"}}}");
    hd_attribution *a = attribute(gpu, NULL, NULL); /* without the samples, and so without their clock */
    hd_trace *out;
    hd_event event;
    assert_int_equal(hd_attribution_annotate(&out, a, gpu, cpu, NULL), HD_OK);
    assert_int_equal(ledger_count(out, "attribution.clock-unknown"), 1);
    hd_block_event(&event, hd_trace_block_at(out, HD_KIND_SAMPLE, 0), 0);
    assert_int_equal(event.start_ns, 5000);
    hd_attribution_free(a);
    hd_trace_free(gpu);
    hd_trace_free(cpu);
    hd_trace_free(out);
}

/* ---- random: nothing else changes ---- */

static void put_random_args(hd_json_out *out, uint64_t *seed, unsigned keys)
{
    static const char *const values[] = {"1", "2.50", "\"text\"", "true", "null", "[1,{\"a\":2}]", "1e-9"};
    char text[128];
    for (unsigned i = 0, count = random_next(seed) % 4; i < count; i++) {
        snprintf(text, sizeof text, ",\"k%u\":%s", random_next(seed) % keys, values[random_next(seed) % 7]);
        hd_json_put_text(out, text);
    }
    if (random_next(seed) % 8 == 0) hd_json_put_text(out, ",\"stack\":4");
}

/* Launches, their work and others with all kinds of arguments. */
static hd_trace *random_gpu(uint64_t seed, unsigned count, unsigned keys)
{
    hd_json_out json = {0};
    char text[256];
    hd_json_put_text(&json, "[" SLICE("cpu_op", 1, "op", 1, 1000000));
    for (unsigned i = 0; i < count; i++) {
        unsigned pick = random_next(&seed) % 4, id = 1 + i / 2;
        const char *category = pick < 2 ? "kernel" : pick == 2 ? "cuda_runtime" : "other";
        snprintf(text, sizeof text,
                 ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u,\"dur\":1%s,\"args\":{"
                 "\"correlation\":%u",
                 category, pick == 2 ? "cudaLaunchKernel" : "n", pick != 2, pick == 2 ? 1 : 7,
                 (pick == 2 ? 10 : 500000) + 2 * i, random_next(&seed) % 8 ? "" : ",\"sf\":\"odd\"", id);
        hd_json_put_text(&json, text);
        put_random_args(&json, &seed, keys);
        hd_json_put_text(&json, random_next(&seed) % 8 ? "}}" : "},\"cname\":\"good\"}");
    }
    hd_json_put_text(&json, "]");
    hd_json_put(&json, "", 1);
    assert_false(json.failed);
    hd_trace *trace = trace_of(json.data);
    free(json.data);
    return trace;
}

/* The JSON text of an event without what annotation may replace. */
static char *event_json(const hd_trace *trace, uint64_t row)
{
    uint32_t at;
    hd_event e;
    hd_json_out out = {0};
    const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
    hd_block_event(&e, block, at);
    const hd_shape *shape = hd_trace_shape_at(trace, e.shape);
    hd_json_put_int(&out, e.start_ns);
    for (uint32_t i = 0; i < shape->key_count; i++) {
        hd_string key = hd_trace_string(trace, shape->keys[i].key);
        bool sf = shape->keys[i].scope == HD_SCOPE_EVENT && key.size == 2 && memcmp(key.data, "sf", 2) == 0;
        bool stack = shape->keys[i].scope == HD_SCOPE_ARGS && key.size == 5 && memcmp(key.data, "stack", 5) == 0;
        int64_t bits = hd_column_at(&e.args->columns[i], e.args_row);
        if (sf || stack) continue;
        hd_json_put_string(&out, key.data, key.size);
        hd_json_put_int(&out, shape->keys[i].type);
        hd_string text = hd_trace_string(trace, (uint32_t)bits);
        if (shape->keys[i].type >= HD_ARG_NUMBER)
            hd_json_put_string(&out, text.data, text.size);
        else
            hd_json_put_int(&out, bits);
    }
    hd_json_put(&out, "", 1);
    return out.data;
}

static void assert_only_annotated(const hd_trace *gpu, const hd_trace *out, const hd_attribution *a)
{
    hd_trace_stacks *stacks;
    size_t work = 0;
    assert_int_equal(hd_trace_stacks_new(&stacks, out, NULL), HD_OK);
    for (uint64_t row = 0; row < hd_trace_row_count(gpu, HD_KIND_SLICE); row++) {
        hd_event event;
        hd_value value;
        char *x = event_json(gpu, row), *y = event_json(out, row);
        assert_string_equal(x, y);
        free(x);
        free(y);
        if (work == a->launches->work_count || a->launches->works[work].row != row) continue;
        uint32_t stack = a->work_stack[work++];
        if (stack == HD_STACK_NONE) continue;
        assert_true(work_arg(&value, out, row, "stack", &event));
        char *wanted = stack_text(a->stacks, stack);
        char *frames = stack_text(hd_trace_stacks_tree(stacks), hd_trace_stacks_of(stacks, &event));
        hd_string text = hd_trace_string(out, (uint32_t)value.bits);
        assert_int_equal(value.type, HD_ARG_STRING);
        assert_int_equal(text.size, strlen(wanted));
        assert_memory_equal(text.data, wanted, text.size);
        assert_string_equal(frames, wanted);
        free(wanted);
        free(frames);
    }
    hd_trace_stacks_free(stacks);
}

static void test_attribution_annotate__all_else_stays_as_it_is(NO_STATE)
{
    uint64_t with = 0;
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 60; seed++) {
        hd_trace *gpu = random_gpu(seed, 20 + 10 * (unsigned)(seed - first), 4), *out;
        hd_attribution *a = attribute(gpu, NULL, NULL);
        assert_int_equal(hd_attribution_annotate(&out, a, gpu, NULL, NULL), HD_OK);
        uint64_t flows = hd_trace_row_count(out, HD_KIND_FLOW);
        assert_int_equal(hd_trace_event_count(out), hd_trace_event_count(gpu) + flows);
        assert_only_annotated(gpu, out, a);
        with += a->works_by[HD_RULE_SLICES];
        hd_attribution_free(a);
        hd_trace_free(gpu);
        hd_trace_free(out);
    }
    assert_true(with > 1000);
}

static void test_attribution_annotate__too_many_shapes_make_text_of_the_arguments(NO_STATE)
{
    hd_trace *gpu = random_gpu(5, 30000, 3000);
    hd_attribution *a = attribute(gpu, NULL, NULL);
    hd_trace *out, *back;
    hd_error err = {0};
    const hd_read_options options = {0};
    assert_int_equal(hd_trace_shape_count(gpu), HD_SHAPE_LIMIT);
    assert_int_equal(hd_attribution_annotate(&out, a, gpu, NULL, NULL), HD_OK);
    size_t size;
    char *json = write_text(out, NULL, &size);
    assert_int_equal(read_text(&back, json, size, &options, 0, &err), HD_OK);
    uint64_t stacks = 0, not_added = ledger_count(out, "attribution.not-added");
    for (char *p = json; (p = strstr(p, "\"stack\":\"")); p++) stacks++;
    assert_int_equal(stacks + not_added, a->works_by[HD_RULE_SLICES]);
    assert_int_equal(hd_trace_event_count(back), hd_trace_event_count(out));
    free(json);
    hd_attribution_free(a);
    hd_trace_free(gpu);
    hd_trace_free(out);
    hd_trace_free(back);
}

/* ---- formats and checks ---- */

static void remove_tree(const char *path)
{
    DIR *folder = opendir(path);
    char inside[4096];
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        remove_tree(inside);
    }
    if (folder) closedir(folder);
    if (rmdir(path) != 0) unlink(path);
}

/* How much work of the trace in a file has the argument. */
static uint64_t stacks_of_file(const char *path)
{
    hd_trace *trace;
    hd_error err = {0};
    uint64_t count = 0;
    hd_launches *launches;
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(hd_launches_new(&launches, trace, &err), HD_OK);
    for (size_t i = 0; i < launches->work_count; i++) {
        hd_event event;
        hd_value value;
        if (!work_arg(&value, trace, launches->works[i].row, "stack", &event)) continue;
        hd_string text = hd_trace_string(trace, (uint32_t)value.bits);
        count += value.type == HD_ARG_STRING && text.size == 19 && memcmp(text.data, "op;cudaLaunchKernel", 19) == 0;
    }
    hd_launches_free(launches);
    hd_trace_free(trace);
    return count;
}

static void test_attribution_annotate__every_format_keeps_the_stack(NO_STATE)
{
    static const struct {
        const char *format, *extension;
    } formats[] = {{"chrome", ".json"}, {"heddle", ".heddle"}, {"perfetto", ".pftrace"}, {"otf2", ".otf2"}};
    hd_trace *out = annotated_text("[" SLICE("cpu_op", 1, "op", 10, 50) "," CALL(1, 20, 5, 7) "," WORK(
        "k", 40, 30, 7) "," CALL(1, 30, 5, 8) "," WORK("k", 80, 30, 8) "]");
    char folder[] = "/tmp/heddle-annotate-XXXXXX", path[128];
    hd_error err = {0};
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!hd_format_find(formats[i].format)) {
            print_message("%s is not built in: skipped\n", formats[i].format);
            continue;
        }
        const hd_write_options options = {.format = formats[i].format};
        snprintf(path, sizeof path, "%s/out%s", folder, formats[i].extension);
        if (hd_trace_write(out, path, &options, &err) != HD_OK) fail_msg("%s", err.message);
        if (strcmp(formats[i].format, "otf2") == 0 && access(path, R_OK) != 0) fail_msg("no %s", path);
        if (stacks_of_file(path) != 2) fail_msg("%s lost stacks", formats[i].format);
    }
    remove_tree(folder);
    hd_trace_free(out);
}

/* A store numbers the arguments of each shape by rows. */
static void test_attribution_annotate__rows_that_become_alike_keep_their_arguments_in_a_store(NO_STATE)
{
    hd_trace *out = annotated_text("[" CALL(1, 20, 5, 7) "," WORK("k", 40, 5, 7) "," CALL(1, 30, 5, 8) "," STACKED(
                 "k", 50, 5, 8, 9, "x") "," CALL(1, 40, 5, 9) "," WORK("k", 60, 5, 9) "]"),
             *read;
    char path[] = "/tmp/heddle-annotate-XXXXXX";
    const hd_write_options options = {.format = "heddle"};
    int fd = mkstemp(path);
    hd_error err = {0};
    if (hd_trace_write(out, path, &options, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_trace_read(&read, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    char *x = dump_trace(out, DUMP_CONTENT), *y = dump_trace(read, DUMP_CONTENT);
    assert_string_equal(strstr(x, "\nevents\n"), strstr(y, "\nevents\n"));
    free(x);
    free(y);
    hd_trace_free(read);
    hd_trace_free(out);
    close(fd);
    unlink(path);
}

/* Sum of the findings, those of the ledger left out. */
static uint64_t findings(const hd_trace *trace)
{
    hd_report report;
    const hd_check_options options = {
        .only = "crossing,negative-duration,merged-track,begin-without-end,end-without-begin,no-time,"
                "flow-without-start,flow-without-end,flow-backward,flow-unbound,gpu-before-launch,"
                "gpu-without-launch,launch-without-gpu,out-of-order,mixed-ids,time-outlier"};
    hd_error err = {0};
    uint64_t sum = 0;
    if (hd_report_check(&report, trace, &options, &err) != HD_OK) fail_msg("%s", err.message);
    const hd_table *table = report.tables[0];
    size_t column = 0;
    while (strcmp(hd_table_get_column(table, column)->name, "count") != 0) column++;
    for (size_t row = 0; row < hd_table_row_count(table); row++) sum += hd_table_get_count(table, row, column);
    hd_report_free(&report);
    return sum;
}

static void test_attribution_annotate__check_finds_nothing_new(NO_STATE)
{
    static const char *const names[] = {"kineto/b200_eager.json.gz",  "kineto/negative_queue_rank0.json.gz",
                                        "kineto/nccl_data.json.gz",   "kineto/resnet50_2021.json.gz",
                                        "kineto/mtia_rank_0.json.gz", "cupti/cupti_trace.json"};
    hd_trace *gpu =
        trace_of("[" CALL(1, 20, 5, 7) "," WORK("k", 40, 30, 7) "," CALL(1, 50, 0, 8) "," WORK("k", 80, 0, 8) "]");
    hd_trace *out = annotated(gpu, NULL, NULL);
    assert_int_equal(hd_trace_row_count(out, HD_KIND_FLOW), 4);
    assert_int_equal(findings(out), 0);
    hd_trace_free(gpu);
    hd_trace_free(out);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gpu = real_trace(names[i]);
        if (!gpu) continue;
        out = annotated(gpu, NULL, NULL);
        if (findings(gpu) != findings(out)) fail_msg("%s", names[i]);
        hd_trace_free(gpu);
        hd_trace_free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attribution_annotate__work_gets_frames_text_and_a_flow),
        cmocka_unit_test(test_attribution_annotate__the_ledger_says_what_has_no_stack),
        cmocka_unit_test(test_attribution_annotate__semicolons_and_newlines_in_frames_are_replaced_in_the_text),
        cmocka_unit_test(test_attribution_annotate__an_argument_of_that_name_is_replaced),
        cmocka_unit_test(test_attribution_annotate__texts_end_where_there_is_no_room),
        cmocka_unit_test(test_attribution_annotate__frames_of_the_trace_keep_their_ids),
        cmocka_unit_test(test_attribution_annotate__frames_that_cannot_be_read_are_lost_and_it_is_said),
        cmocka_unit_test(test_attribution_annotate__a_second_time_changes_nothing),
        cmocka_unit_test(test_attribution_annotate__a_flow_that_is_there_is_enough),
        cmocka_unit_test(test_attribution_annotate__ids_of_flows_are_new),
        cmocka_unit_test(test_attribution_annotate__no_flow_runs_backward),
        cmocka_unit_test(test_attribution_annotate__samples_come_to_the_clock_and_thread_of_their_launch),
        cmocka_unit_test(test_attribution_annotate__a_sample_without_a_stack_gets_none),
        cmocka_unit_test(test_attribution_annotate__samples_of_an_unknown_clock_keep_their_times),
        cmocka_unit_test(test_attribution_annotate__all_else_stays_as_it_is),
        cmocka_unit_test(test_attribution_annotate__too_many_shapes_make_text_of_the_arguments),
        cmocka_unit_test(test_attribution_annotate__every_format_keeps_the_stack),
        cmocka_unit_test(test_attribution_annotate__rows_that_become_alike_keep_their_arguments_in_a_store),
        cmocka_unit_test(test_attribution_annotate__check_finds_nothing_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
