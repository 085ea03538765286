/* test_route_event.c - one event with all that hangs on it; steps, snaps, flows, flame graphs and pieces of a trace */
#include "query_maker.h"
#include "rounds.h"
#include "view/queries/queries.h"
#include "view/route/routes_derive.h"

#include <unistd.h>

static const char small[] =
    "[{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"train.py(12): "
    "step\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5,"
    "\"args\":{\"correlation\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"_ZN2at6native3addIfEEvPT_\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":20,"
    "\"args\":{\"z\":1.500,\"correlation\":7,\"big\":18446744073709551615,\"est. achieved occupancy %\":31,"
    "\"list\":[1, {\"a\":2}],\"device\":0,\"stream\":7}},"
    "{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"id\":5,\"name\":\"f\",\"pid\":0,\"tid\":7,\"ts\":41},"
    "{\"ph\":\"f\",\"cat\":\"fwdbwd\",\"id\":5,\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":5,\"bp\":\"e\"},"
    "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":1,\"ts\":12}]";

static void test_event__a_kernel_has_its_arguments_launch_and_stack(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    const char *answer = maker_ask(&m, view_route_event, "kind=slice&row=2");
    has(answer, "\"args\":{\"z\":1.500,\"correlation\":7,\"big\":18446744073709551615,");
    has(answer, "\"list\":[1, {\"a\":2}]");
    has(answer, "\"digits\":{\"big\":\"18446744073709551615\"}");
    has(answer, "\"occupancy\":31");
    has(answer, "\"demangled\":\"void at::native::add<float>(float*)\"");
    has(answer, "\"short\":\"at::native::add<float>\"");
    has(answer, "\"start\":40000,\"duration\":20000");
    has(answer, "\"latency\":30000");
    has(answer, "\"stack_from\":\"launch\",\"source\":\"train.py:12\"");
    has(answer, "\"direction\":\"out\",\"backward\":true");
    has(answer, "\"category\":\"launch\",\"direction\":\"in\",\"backward\":false");
    has(answer, "\"flows_count\":2");
    has(answer, "\"self\":20000");
    maker_close(&m);
}

static void test_event__a_slice_without_length_or_end_says_so(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":0},"
                   "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":2}]");
    has(maker_ask(&m, view_route_event, "kind=slice&row=0"), "\"start\":0,\"duration\":0,");
    has(maker_ask(&m, view_route_event, "kind=slice&row=1"), "\"start\":1000,\"duration\":null,");
    maker_close(&m);
}

static void test_event__frames_of_the_event_itself_are_its_stack(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9,\"sf\":7},"
                   "{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":9,"
                   "\"stack\":[\"main\", \"a \\\"b\\\"\",\"m.py(4): f\"]},"
                   "{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":40,\"dur\":9,\"stack\":[1,\"x\"]},"
                   "{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":60,\"dur\":9,"
                   "\"stack\":[\"f(int) (a b.cc:12)\",\"g (x.c:)\",\"h(a::b:1)\",\"i (:1)\"]}],"
                   "\"stackFrames\":{\"7\":{\"name\":\"leaf\",\"parent\":\"6\"},\"6\":{\"name\":\"root\"}}}");
    const char *answer = maker_ask(&m, view_route_event, "kind=slice&row=0");
    has(answer, "\"members\":{\"sf\":7}");
    has(answer,
        "\"stack\":[{\"name\":\"root\",\"kind\":\"\"},{\"name\":\"leaf\",\"kind\":\"\"}],\"stack_from\":\"sf\"");
    answer = maker_ask(&m, view_route_event, "kind=slice&row=1");
    has(answer, "\"stack\":[{\"name\":\"main\",\"kind\":\"\"},{\"name\":\"a \\\"b\\\"\",\"kind\":\"\"},"
                "{\"name\":\"m.py(4): "
                "f\",\"kind\":\"python\",\"file\":\"m.py\",\"line\":4,\"level\":\"user\"}],\"stack_from\":\"stack\"");
    has(answer, "\"source\":\"m.py:4\"");
    has(maker_ask(&m, view_route_event, "kind=slice&row=2"), "\"stack_from\":\"slices\"");
    answer = maker_ask(&m, view_route_event, "kind=slice&row=3");
    has(answer, "{\"name\":\"f(int) (a b.cc:12)\",\"kind\":\"\",\"file\":\"a b.cc\",\"line\":12},"
                "{\"name\":\"g (x.c:)\",\"kind\":\"\"},{\"name\":\"h(a::b:1)\",\"kind\":\"\"},{\"name\":\"i "
                "(:1)\",\"kind\":\"\"}");
    maker_close(&m);
}

/* Kineto's operators: before the operator, as nested ones repeat it, and no Python slice is around. */
static void test_event__the_call_stack_of_an_operator_is_above_it(void **state)
{
    maker m;
    (void)state;
    maker_open(
        &m,
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::linear\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":50,"
        "\"args\":{\"Call stack\":\"torch/nn/linear.py(9): forward;my/net.py(7): step;\"}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::addmm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":40,"
        "\"args\":{\"Call stack\":\"torch/nn/linear.py(9): forward;my/net.py(7): step\"}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
        "\"ts\":2,\"dur\":5,\"args\":{\"correlation\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":40,\"dur\":20,"
        "\"args\":{\"correlation\":7,\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"fusion\",\"pid\":0,\"tid\":8,\"ts\":40,\"dur\":20,"
        "\"args\":{\"source_stack\":\"<embedded module 'x'>:1:2\\nmy/net.py:49:2\\n/lib/python3.12/abc.py:4:6\\n\"}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"compiled\",\"pid\":1,\"tid\":1,\"ts\":90,\"dur\":5,"
        "\"args\":{\"Call stack\":\"/tmp/torchinductor_me/ob/cob.py(132): call;my/net.py(7): step\"}}]");
    const char *answer = maker_ask(&m, view_route_event, "row=3");
    has(answer, "\"stack\":[{\"name\":\"my/net.py(7): step\",\"kind\":\"python\",\"file\":\"my/net.py\",\"line\":7,"
                "\"level\":\"user\"},{\"name\":\"torch/nn/linear.py(9): forward\",\"kind\":\"python\","
                "\"file\":\"torch/nn/linear.py\",\"line\":9},{\"name\":\"aten::linear\",\"kind\":\"op\"},"
                "{\"name\":\"aten::addmm\",\"kind\":\"op\"},{\"name\":\"cudaLaunchKernel\",\"kind\":\"api\"}],"
                "\"stack_from\":\"launch\",\"source\":\"my/net.py:7\"");
    has(maker_ask(&m, view_route_event, "row=3&skip=your, my"), "\"source\":\"torch/nn/linear.py:9\"");
    has(maker_ask(&m, view_route_event, "row=0"), "\"stack_from\":\"Call stack\"");
    answer = maker_ask(&m, view_route_event, "row=4");
    has(answer, "\"file\":\"my/net.py\",\"line\":49,\"level\":\"user\"");
    has(answer, "\"stack_from\":\"source_stack\",\"source\":\"my/net.py:49\"");
    has(maker_ask(&m, view_route_event, "row=5"), "\"source\":\"my/net.py:7\""); /* not what Inductor generated */
    maker_close(&m);
}

/* The lines of each stream without those of some folders, made once for each list. */
static void test_lines__tracks_skip_folders(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":20,"
                   "\"args\":{\"device\":0,\"stream\":7,\"source_stack\":\"my/net.py:49:2\\nlib/run.py:3:1\"}},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":8,\"ts\":40,\"dur\":20,"
                   "\"args\":{\"device\":0,\"stream\":8,\"source_stack\":\"lib/run.py:4:1\"}}]");
    uint32_t before = view_scene_track_count(m.scene), count = before;
    static const struct {
        const char *query;
        uint32_t tracks;
    } asked[] = {{"skip=my", 2}, {"skip=lib", 1}, {"skip=my, lib", 0}, {"skip=my", 0}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        has(maker_ask(&m, view_route_lines, asked[i].query), "{\"tracks\": [");
        count += asked[i].tracks;
        assert_int_equal(view_scene_track_count(m.scene), count);
    }
    hd_json_out kept = {0}; /* of folders that leave no line; other answers are the tracks */
    assert_false(view_queries_recall(&kept, view_scene_queries(m.scene), VIEW_KEPT_LONG, "lines skipping my"));
    assert_true(view_queries_recall(&kept, view_scene_queries(m.scene), VIEW_KEPT_LONG, "lines skipping my, lib"));
    free(kept.data);
    for (uint32_t t = before; t < count; t++) {
        const view_track *track = view_scene_track(m.scene, t);
        view_slice slice;
        assert_string_equal(track->role, "own_source");
        assert_int_equal(view_row_read(&slice, &track->rows.rows[0], m.trace, 0, 1), 1);
        hd_string name = view_scene_text(m.scene, slice.name);
        bool is_library = strstr(track->detail, "in my is") != NULL;
        assert_true(name.size > 3 && memcmp(name.data, is_library ? "lib" : "my/", 3) == 0);
    }
    assert_null(maker_ask(&m, view_route_lines, "skip="));
    has(m.error.message, "names no folder");
    maker_close(&m);
}

static void test_event__a_launch_has_its_works_and_its_parent(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    const char *answer = maker_ask(&m, view_route_event, "row=1");
    has(answer, "\"works_count\":1");
    has(answer, "\"parent\":{\"row\":0,\"name\":\"train.py(12): step\"}");
    has(maker_ask(&m, view_route_event, "row=0"), "\"self\":95000");
    has(maker_ask(&m, view_route_event, "kind=instant&row=0"), "\"stack_from\":\"slices\"");
    has(m.reply.json.data, "cudaLaunchKernel");
    assert_null(maker_ask(&m, view_route_event, "row=99"));
    assert_int_equal(m.reply.status, 404);
    assert_null(maker_ask(&m, view_route_event, "kind=cow&row=0"));
    maker_close(&m);
}

static void test_flows__lines_of_launches_and_flows_are_counted_and_limited(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    has(maker_ask(&m, view_route_flows, "all=1"), "\"count\":2,\"categories\":[[\"fwdbwd\",1],[\"launch\",1]]");
    has(maker_ask(&m, view_route_flows, "category=launch"), ",0,1,2]],\"count\":1");
    has(maker_ask(&m, view_route_flows, "row=0"), ",1,2,0]],\"count\":1");
    has(maker_ask(&m, view_route_flows, "all=1&limit=0"), "\"flows\":[],\"count\":2");
    has(maker_ask(&m, view_route_flows, "all=1&from=90000&until=99000"), "\"count\":0");
    has(maker_ask(&m, view_route_flows, "from=0"), "\"flows\":[],\"count\":0");
    maker_close(&m);
}

static void test_flows__slices_with_a_bind_id_are_points(void **state)
{
    maker m;
    (void)state;
    maker_open(
        &m, "[{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"bind_id\":\"0x1f\","
            "\"flow_out\":true},{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"b\",\"pid\":2,\"tid\":2,\"ts\":2,\"dur\":1,"
            "\"bind_id\":31,\"flow_in\":true}]");
    has(maker_ask(&m, view_route_flows, "all=1"), "\"count\":1");
    has(maker_ask(&m, view_route_event, "row=0"), "\"id\":\"31\"");
    maker_close(&m);
}

static void test_step__every_event_of_random_tracks_is_met_once_in_order(void **state)
{
    uint64_t seed = hd_test_seed(21);
    char query[128];
    (void)state;
    random_shape shape = {.events = 150, .threads = 2, .names = 4, .span = 300, .longest = 50};
    char *text = random_text(&seed, shape);
    maker m;
    maker_open(&m, text);
    for (uint32_t t = 0; t < view_scene_track_count(m.scene); t++) {
        if (view_scene_track(m.scene, t)->kind != VIEW_SLICES || view_scene_track(m.scene, t)->derived) continue;
        size_t count;
        view_slice *slices = slices_of(m.scene, t, &count);
        snprintf(query, sizeof query, "track=%u&go=first", t);
        const char *answer = maker_ask(&m, view_route_step, query);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(number_of(answer, "row"), slices[i].row);
            snprintf(query, sizeof query, "track=%u&go=next&time=%lld&row=%u", t,
                     (long long)(slices[i].start_ns - view_scene_start(m.scene)), slices[i].row);
            answer = maker_ask(&m, view_route_step, query);
        }
        assert_string_equal(answer, "{}");
        for (size_t i = count; i-- > 1;) {
            snprintf(query, sizeof query, "track=%u&go=previous&time=%lld&row=%u", t,
                     (long long)(slices[i].start_ns - view_scene_start(m.scene)), slices[i].row);
            assert_int_equal(number_of(maker_ask(&m, view_route_step, query), "row"), slices[i - 1].row);
        }
        free(slices);
    }
    maker_close(&m);
    free(text);
}

/* The longest duration that touches a column, worked out slice by slice. */
static int64_t longest_in(const view_slice *slices, size_t count, int64_t from, int64_t until)
{
    int64_t longest = -1;
    for (size_t i = 0; i < count; i++) {
        const view_slice *s = &slices[i];
        bool touches = s->start_ns < until && (s->end_ns > from || (s->start_ns >= from && s->end_ns == s->start_ns));
        if (touches && s->end_ns - s->start_ns > longest) longest = s->end_ns - s->start_ns;
    }
    return longest;
}

static void test_step__the_longest_of_a_column_is_that_of_all_rows(void **state)
{
    uint64_t seed = hd_test_seed(4);
    char query[128];
    (void)state;
    random_shape shape = {.events = 3000, .threads = 1, .names = 4, .span = 9000, .longest = 40};
    char *text = random_text(&seed, shape);
    maker m;
    maker_open(&m, text);
    for (uint32_t t = 0; t < view_scene_track_count(m.scene); t++) {
        const view_track *track = view_scene_track(m.scene, t);
        if (track->kind != VIEW_SLICES || track->derived) continue;
        size_t count;
        view_slice *slices = slices_of(m.scene, t, &count);
        for (unsigned z = 8; z < 24; z++) {
            for (int n = 0; n < 20; n++) {
                const view_slice *s = &slices[random_next(&seed) % count];
                int64_t column = (s->start_ns - view_scene_start(m.scene)) >> z;
                int64_t from = view_scene_start(m.scene) + (int64_t)((uint64_t)column << z);
                snprintf(query, sizeof query, "track=%u&go=longest&z=%u&column=%lld", t, z, (long long)column);
                assert_int_equal(number_of(maker_ask(&m, view_route_step, query), "duration"),
                                 longest_in(slices, count, from, from + ((int64_t)1 << z)));
            }
        }
        snprintf(query, sizeof query, "track=%u&go=longest&z=10&column=-9000000000000000000", t);
        assert_string_equal(maker_ask(&m, view_route_step, query), "{}");
        snprintf(query, sizeof query, "track=%u&go=longest&z=55&column=0", t);
        assert_null(maker_ask(&m, view_route_step, query));
        snprintf(query, sizeof query, "track=%u&go=longest&column=0", t);
        assert_null(maker_ask(&m, view_route_step, query));
        free(slices);
    }
    maker_close(&m);
    free(text);
}

static void test_snap__the_nearest_edge_within_reach(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    has(maker_ask(&m, view_route_snap, "time=58000&within=5000"), "\"time\":60000");
    has(m.reply.json.data, "\"row\":2,\"edge\":\"end\"");
    assert_string_equal(maker_ask(&m, view_route_snap, "time=50000&within=10"), "{}");
    maker_close(&m);
}

static void test_flame__gpu_time_stands_under_its_stack_and_is_kept(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    for (int i = 0; i < 2; i++) {
        const char *answer = maker_ask(&m, view_route_flame, "of=gpu-time");
        has(answer, "\"of\":\"gpu-time\",\"unit\":\"ns\",\"total\":20000");
        has(answer, "\"train.py(12): step\"");
        has(answer, "\"left_out\":0");
    }
    has(maker_ask(&m, view_route_flame, "of=gpu-time&from=50000"), "\"total\":10000");
    assert_null(maker_ask(&m, view_route_flame, "of=love"));
    maker_close(&m);
}

static void test_crop__a_piece_is_a_file_without_a_name_on_disk(void **state)
{
    maker m;
    char text[4096] = "";
    (void)state;
    maker_open(&m, small);
    maker_ask(&m, view_route_crop, "from=35000&until=70000&format=json");
    assert_int_equal(m.status, HD_OK);
    assert_true(m.reply.file > 0);
    assert_true(read(m.reply.file - 1, text, sizeof text - 1) > 0);
    has(text, "_ZN2at6native3addIfEEvPT_");
    has_not(text, "cudaLaunchKernel");
    assert_string_equal(m.reply.file_name, "made_by_hand-crop-35000-70000.json");
    /* of one track: what is on another stays out, and its name too */
    char ask[80];
    uint32_t stream = view_scene_track_of_event(m.scene, HD_KIND_SLICE, 2);
    snprintf(ask, sizeof ask, "from=0&until=70000&format=json&tracks=%u", stream);
    memset(text, 0, sizeof text);
    maker_ask(&m, view_route_crop, ask);
    assert_int_equal(m.status, HD_OK);
    assert_true(read(m.reply.file - 1, text, sizeof text - 1) > 0);
    has(text, "_ZN2at6native3addIfEEvPT_");
    has_not(text, "cudaLaunchKernel");
    assert_null(maker_ask(&m, view_route_crop, "from=5&until=5&format=json"));
    assert_int_equal(m.status, HD_ERR_ARGUMENT);
    maker_close(&m);
}

static void test_event__what_it_waited_for_and_how_much_later_it_could_be(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    /* The trace ends with the step, 40 us after the kernel. */
    const char *answer = maker_ask(&m, view_route_event, "row=2");
    has(answer, "\"slack\":40000,\"bound\":{\"by\":\"launch\",\"row\":1,");
    answer = maker_ask(&m, view_route_event, "row=1");
    has(answer, "\"slack\":0,\"bound\":{\"by\":\"thread\",\"row\":0,");
    answer = maker_ask(&m, view_route_event, "row=0");
    has(answer, "\"slack\":0,");
    has_not(answer, "\"bound\"");
    has_not(maker_ask(&m, view_route_event, "kind=instant&row=0"), "\"slack\"");
    maker_close(&m);
}

/* ---- derived slices ---- */

#define ON7(id) "\"args\":{\"device\":0,\"stream\":7,\"correlation\":" #id "}}"

static const char training[] =
    "[{\"ph\":\"X\",\"name\":\"aten::mm\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9,\"args\":{}},"
    "{\"ph\":\"X\",\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,"
    "\"args\":{\"correlation\":5}},"
    "{\"ph\":\"X\",\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\",\"pid\":1,\"tid\":1,\"ts\":4,\"dur\":2,"
    "\"args\":{\"correlation\":6}},"
    "{\"ph\":\"X\",\"name\":\"Memcpy HtoD\",\"cat\":\"gpu_memcpy\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":5," ON7(
        1) ","
           "{\"ph\":\"X\",\"name\":\"gemm\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":30,\"dur\":10," ON7(
               5) ","
                  "{\"ph\":\"X\",\"name\":\"splitk\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":42,\"dur\":8," ON7(
                      6) "]";

/* "track=…&depth=0&start=…" of the track of a role. */
static const char *ask_derived(maker *m, const char *role, int64_t start)
{
    char query[80];
    for (uint32_t t = 0; t < view_scene_track_count(m->scene); t++) {
        const view_track *track = view_scene_track(m->scene, t);
        if (strcmp(track->role, role) != 0) continue;
        snprintf(query, sizeof query, "track=%u&depth=0&start=%d", t, (int)start);
        return maker_ask(m, view_route_derived, query);
    }
    fail_msg("no track of role %s", role);
    return NULL;
}

static void test_derived__a_slice_has_facts_of_its_own(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, training);
    const char *answer = ask_derived(&m, "idle", 15000);
    has(answer, "\"role\":\"idle\",\"name\":\"idle: device\",\"start\":15000,\"duration\":15000,\"how\":\"Time between "
                "the first");
    has(answer, "\"before\":{\"row\":3,");
    has(answer, "\"after\":{\"row\":4,");
    has(answer, "\"works\":[],\"works_count\":0");
    has_not(answer, "\"of\":");
    answer = ask_derived(&m, "ops", 30000);
    has(answer, "\"name\":\"aten::mm\",\"start\":30000,\"duration\":20000,");
    has(answer, "\"of\":{\"row\":0,");
    has(answer, "\"works_count\":2");
    answer = ask_derived(&m, "compute", 30000);
    has(answer, "\"works\":[{\"row\":4,");
    has(answer, "\"works_count\":1");
    answer = ask_derived(&m, "copy", 10000);
    has(answer, "\"works\":[{\"row\":3,");
    has(answer, "\"works_count\":1");
    maker_close(&m);
}

static void test_derived__only_slices_of_derived_tracks_are_told(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, training);
    assert_null(ask_derived(&m, "idle", 15001));
    assert_int_equal(m.reply.status, 404);
    assert_null(ask_derived(&m, "stream", 10000));
    assert_int_equal(m.reply.status, 404);
    assert_null(ask_derived(&m, "launch", 10000)); /* a counter */
    assert_null(maker_ask(&m, view_route_derived, "track=999&depth=0&start=0"));
    assert_null(maker_ask(&m, view_route_derived, "track=0&depth=0"));
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event__a_kernel_has_its_arguments_launch_and_stack),
        cmocka_unit_test(test_event__a_slice_without_length_or_end_says_so),
        cmocka_unit_test(test_event__frames_of_the_event_itself_are_its_stack),
        cmocka_unit_test(test_event__the_call_stack_of_an_operator_is_above_it),
        cmocka_unit_test(test_lines__tracks_skip_folders),
        cmocka_unit_test(test_event__a_launch_has_its_works_and_its_parent),
        cmocka_unit_test(test_flows__lines_of_launches_and_flows_are_counted_and_limited),
        cmocka_unit_test(test_flows__slices_with_a_bind_id_are_points),
        cmocka_unit_test(test_step__every_event_of_random_tracks_is_met_once_in_order),
        cmocka_unit_test(test_step__the_longest_of_a_column_is_that_of_all_rows),
        cmocka_unit_test(test_snap__the_nearest_edge_within_reach),
        cmocka_unit_test(test_flame__gpu_time_stands_under_its_stack_and_is_kept),
        cmocka_unit_test(test_crop__a_piece_is_a_file_without_a_name_on_disk),
        cmocka_unit_test(test_event__what_it_waited_for_and_how_much_later_it_could_be),
        cmocka_unit_test(test_derived__a_slice_has_facts_of_its_own),
        cmocka_unit_test(test_derived__only_slices_of_derived_tracks_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
