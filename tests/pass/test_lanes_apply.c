/* Lane repair as a new trace: what the plan says is done, and nothing crosses then. */
#include "pass/lanes/apply.h"
#include "pass_text.h"
#include "random_trace.h"
#include "rounds.h"

enum { THRESHOLD_PS = 5000000 };

static hd_trace *apply(const hd_trace *trace)
{
    hd_lane_plan plan;
    hd_trace *out;
    hd_pass_result result;
    hd_error err = {0};
    assert_int_equal(hd_lanes_plan(&plan, trace, THRESHOLD_PS, &err), HD_OK);
    if (hd_lanes_apply(&out, &result, trace, &plan, &err) != HD_OK) fail_msg("%s", err.message);
    assert_accounted(trace, out, result);
    assert_int_equal(result.removed + result.lost, 0);
    hd_lane_plan_deinit(&plan);
    return out;
}

static hd_trace *apply_text(const char *text)
{
    hd_trace *trace = trace_of(text), *out = apply(trace);
    hd_trace_free(trace);
    return out;
}

#define X(name, tid, ts, dur)                                                                                          \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur "}"
#define P(ph, name, tid, ts) "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts "}"
#define LANE                                                                                                           \
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":7001,\"args\":{\"name\":\"tid 7 lane 1\"}},"             \
    "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":7001,\"args\":{\"sort_index\":0}}"

static void test_lanes_apply__a_crossing_slice_moves_to_a_new_lane(NO_STATE)
{
    hd_trace *out = apply_text("[" X("a", "7", "0", "100") "," X("b", "7", "50", "100") "]");
    uint32_t named = 0;
    for (uint32_t i = 0; i < hd_trace_track_count(out); i++) {
        hd_string name = hd_trace_string(out, hd_trace_track_at(out, i)->name);
        named += name.size == 12 && memcmp(name.data, "tid 7 lane 1", 12) == 0;
    }
    assert_int_equal(named, 1);
    assert_events(out, "[" X("a", "7", "0", "100") "," X("b", "7001", "50", "100") "," LANE "]");
}

static void test_lanes_apply__noise_is_snapped(NO_STATE)
{
    assert_events(apply_text("[" X("a", "7", "0", "100") "," X("b", "7", "50", "51") "]"),
                  "[" X("a", "7", "0", "100") "," X("b", "7", "50", "50") "]");
    assert_events(apply_text("[" X("a", "7", "0", "100") "," X("b", "7", "99.5", "10.0005") "]"),
                  "[" X("a", "7", "0", "100") "," X("b", "7", "100", "9.5005") "]");
}

static void test_lanes_apply__both_ends_of_a_pair_move(NO_STATE)
{
    assert_events(apply_text("[" X("a", "7", "0", "100") "," P("B", "b", "7", "50") "," P("E", "b", "7", "150") "]"),
                  "[" X("a", "7", "0", "100") "," P("B", "b", "7001", "50") "," P("E", "b", "7001", "150") "," LANE
                                                                                                           "]");
}

static void test_lanes_apply__flow_points_follow(NO_STATE)
{
#define S(tid, ts) "{\"ph\":\"s\",\"name\":\"f\",\"id\":1,\"pid\":1,\"tid\":" tid ",\"ts\":" ts "}"
    assert_events(apply_text("[" X("a", "7", "0", "100") "," X("b", "7", "50", "100") "," S("7", "60") "]"),
                  "[" X("a", "7", "0", "100") "," X("b", "7001", "50", "100") "," S("7001", "60") "," LANE "]");
}

static void test_lanes_apply__without_crossings_nothing_changes(NO_STATE)
{
    static const char text[] = "[" X("a", "7", "0", "100") "," X("b", "7", "50", "50") "]";
    assert_events(apply_text(text), text);
}

/* Planning again finds nothing to do, with and without the byte offsets of events. */
static void test_lanes_apply__nothing_is_left_to_repair(NO_STATE)
{
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 80; seed++) {
        uint64_t at = seed;
        hd_json_out text = {0};
        hd_lane_plan again;
        random_document(&text, &at, 300);
        hd_json_put(&text, "", 1);
        hd_trace *trace = trace_of(text.data), *fixed = apply(trace), *twice;
        assert_int_equal(hd_lanes_plan(&again, fixed, THRESHOLD_PS, NULL), HD_OK);
        assert_int_equal(again.edit_count, 0);
        assert_int_equal(again.lane_count, 0);
        hd_lane_plan_deinit(&again);
        twice = apply(fixed);
        char *x = dump_trace(fixed, DUMP_CONTENT), *y = dump_trace(twice, DUMP_CONTENT);
        assert_string_equal(x, y);
        free(x);
        free(y);
        hd_trace_free(trace);
        hd_trace_free(fixed);
        hd_trace_free(twice);
        free(text.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_apply__a_crossing_slice_moves_to_a_new_lane),
        cmocka_unit_test(test_lanes_apply__noise_is_snapped),
        cmocka_unit_test(test_lanes_apply__both_ends_of_a_pair_move),
        cmocka_unit_test(test_lanes_apply__flow_points_follow),
        cmocka_unit_test(test_lanes_apply__without_crossings_nothing_changes),
        cmocka_unit_test(test_lanes_apply__nothing_is_left_to_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
