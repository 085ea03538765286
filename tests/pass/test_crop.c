/* A piece of the time of hand-built traces. Times in the texts are microseconds. */
#include "pass/crop/crop.h"
#include "pass_text.h"
#include "random_trace.h"
#include "rounds.h"

static hd_trace *crop(const char *text, int64_t from_us, int64_t until_us, bool clip)
{
    hd_trace *trace = trace_of(text), *out;
    hd_pass_result result;
    hd_error err = {0};
    hd_crop_window window = {from_us * 1000, until_us * 1000, clip};
    if (hd_crop(&out, &result, trace, &window, &err) != HD_OK) fail_msg("%s", err.message);
    assert_accounted(trace, out, result);
    assert_int_equal(result.added + result.lost, 0);
    hd_trace_free(trace);
    return out;
}

#define X(name, ts, dur) "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur "}"
#define P(ph, name, ts) "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":" ts "}"
#define FLOW(ph, id, tid, ts)                                                                                          \
    "{\"ph\":\"" ph "\",\"name\":\"f\",\"cat\":\"f\",\"bp\":\"e\",\"id\":" id ",\"pid\":1,\"tid\":" tid ",\"ts\":" ts  \
    "}"

static void test_crop__slices_that_touch_the_window_stay_whole(NO_STATE)
{
    assert_events(crop("[" X("before", "0", "10") "," X("ends at it", "5", "5") "," X("over its start", "5", "6") "," X(
                           "inside", "12", "3") "," X("over all", "0", "100") "," X("over its end", "19",
                                                                                    "5") "," X("behind", "20", "5") "]",
                       10, 20, false),
                  "[" X("over its start", "5", "6") "," X("inside", "12", "3") "," X("over all", "0", "100") "," X(
                      "over its end", "19", "5") "]");
}

static void test_crop__clip_cuts_them_at_its_ends(NO_STATE)
{
    assert_events(crop("[" X("start", "5.0005", "6") "," X("inside", "12.123456",
                                                           "3") "," X("all", "0", "100") "," X("end", "19", "5.1") "]",
                       10, 20, true),
                  "[" X("start", "10", "1.0005") "," X("inside", "12.123456",
                                                       "3") "," X("all", "10", "10") "," X("end", "19", "1") "]");
}

static void test_crop__slices_without_extent_stay_by_their_time(NO_STATE)
{
    assert_events(crop("[" X("a", "9", "0") "," X("b", "10", "0") "," X("c", "20", "0") "," P("X", "d", "11") "," P(
                           "X", "e", "9") "]",
                       10, 20, true),
                  "[" X("b", "10", "0") "," P("X", "d", "11") "]");
}

static void test_crop__an_end_goes_with_its_begin(NO_STATE)
{
    assert_events(crop("[" P("B", "out", "0") "," P("B", "in", "1") "," P("E", "in", "2") "," P("E", "out", "30") "]",
                       10, 20, false),
                  "[" P("B", "out", "0") "," P("E", "out", "30") "]");
    assert_events(crop("[" P("B", "out", "0") "," P("B", "in", "12") "," P("E", "in", "25") "," P("E", "out", "30") "]",
                       10, 20, true),
                  "[" P("B", "out", "10") "," P("B", "in", "12") "," P("E", "in", "20") "," P("E", "out", "20") "]");
    assert_events(crop("[" P("E", "lone", "5") "," P("E", "lone", "15") "," P("E", "lone", "20") "]", 10, 20, false),
                  "[" P("E", "lone", "15") "]");
}

static void test_crop__a_begin_without_end_lasts_for_ever(NO_STATE)
{
    assert_events(crop("[" P("B", "open", "0") "," P("B", "late", "20") "]", 10, 20, false),
                  "[" P("B", "open", "0") "]");
}

static void test_crop__instants_by_time_and_metadata_always(NO_STATE)
{
    static const char name[] = "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":\"t\"}}";
    char text[512], wanted[512];
    snprintf(text, sizeof text, "[%s,%s,%s,%s,{\"ph\":\"?\",\"name\":\"no time\"}]", name, P("i", "a", "9"),
             P("i", "b", "10"), P("i", "c", "20"));
    snprintf(wanted, sizeof wanted, "[%s,%s,{\"ph\":\"?\",\"name\":\"no time\"}]", name, P("i", "b", "10"));
    assert_events(crop(text, 10, 20, false), wanted);
}

static void test_crop__flow_points_go_with_their_slices(NO_STATE)
{
    /* the first arrow begins in a slice that straddles, the second in one that goes: then its end goes too */
    assert_events(
        crop("[" X("a", "5", "10") "," X("gone", "0", "2") "," X("b", "16", "2") "," FLOW("s", "1", "1", "6") "," FLOW(
                 "f", "1", "1", "17") "," FLOW("s", "2", "1", "1") "," FLOW("f", "2", "1", "16.5") "]",
             10, 20, false),
        "[" X("a", "5", "10") "," X("b", "16", "2") "," FLOW("s", "1", "1", "6") "," FLOW("f", "1", "1", "17") "]");
    assert_events(
        crop("[" X("a", "5", "10") "," X("b", "16", "2") "," FLOW("s", "1", "1", "6") "," FLOW("f", "1", "1", "17") "]",
             10, 20, true),
        "[" X("a", "10", "5") "," X("b", "16", "2") "," FLOW("s", "1", "1", "10") "," FLOW("f", "1", "1", "17") "]");
    /* a flow that had one point only keeps it */
    assert_events(
        crop("[" X("b", "16", "2") "," FLOW("s", "9", "1", "17") "," FLOW("s", "8", "2", "1") "]", 10, 20, false),
        "[" X("b", "16", "2") "," FLOW("s", "9", "1", "17") "]");
}

#define C(name, ts, value) "{\"ph\":\"C\",\"name\":\"" name "\",\"pid\":1,\"ts\":" ts ",\"args\":{\"v\":" value "}}"

static void test_crop__counters_keep_the_value_they_have_at_the_start(NO_STATE)
{
    hd_trace *out = crop("[" C("m", "1", "1") "," C("n", "2", "7") "," C("m", "3", "2") "," C("m", "12", "3") "," C(
                             "m", "20", "4") "," C("o", "4", "5") "," C("o", "10", "6") "]",
                         10, 20, false);
    assert_int_equal(ledger_count(out, "crop.counter-moved"), 2);
    assert_events(out, "[" C("n", "10", "7") "," C("m", "10", "2") "," C("m", "12", "3") "," C("o", "10", "6") "]");
}

#define A(ph, name, id, ts)                                                                                            \
    "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"cat\":\"c\",\"id\":" id ",\"pid\":1,\"ts\":" ts "}"

static void test_crop__async_begins_and_ends_stay_together(NO_STATE)
{
    assert_events(
        crop("[" A("b", "over", "1", "1") "," A("b", "inner", "1", "2") "," A("e", "inner", "1", "3") "," A(
                 "n", "mark", "1", "12") "," A("e", "over", "1", "40") "," A("b", "open", "2", "0") "," A("e", "lone",
                                                                                                          "3", "5") "]",
             10, 20, false),
        "[" A("b", "over", "1", "1") "," A("n", "mark", "1", "12") "," A("e", "over", "1", "40") "," A("b", "open", "2",
                                                                                                       "0") "]");
    assert_events(crop("[" A("b", "over", "1", "1") "," A("e", "over", "1", "40") "]", 10, 20, true),
                  "[" A("b", "over", "1", "10") "," A("e", "over", "1", "20") "]");
}

static void test_crop__a_window_around_all_changes_nothing(NO_STATE)
{
    static const char text[] = "[" X("a", "5", "10") "," FLOW("s", "1", "1", "6") "," C("n", "2", "7") "]";
    assert_events(crop(text, -1000, 1000, true), text);
}

/* How many begins or ends have no partner. */
static uint64_t unpaired(const hd_trace *trace, hd_kind kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < hd_trace_block_count(trace, kind); i++) {
        const hd_block *block = hd_trace_block_at(trace, kind, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            bool is_begin = (hd_column_at(&block->columns[HD_COL_PHASE], row) & HD_PHASE_MASK) != 'X';
            count += is_begin && hd_column_at(&block->columns[HD_COL_PARTNER], row) < 0;
        }
    }
    return count;
}

static void assert_all_touch(const hd_trace *trace, const hd_crop_window *window)
{
    for (size_t i = 0; i < hd_trace_block_count(trace, HD_KIND_SLICE); i++) {
        const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, i);
        for (uint32_t row = 0; row < block->row_count; row++) {
            int64_t start = hd_column_at(&block->columns[HD_COL_START], row);
            int64_t duration = hd_column_at(&block->columns[HD_COL_DURATION], row);
            assert_true(start < window->until_ns);
            if (duration != HD_NO_TIME) assert_true(start >= window->from_ns || start + duration > window->from_ns);
            if (window->clip) assert_true(start >= window->from_ns);
            if (window->clip && duration > 0) assert_true(start + duration <= window->until_ns);
        }
    }
}

static void test_crop__random_windows_tear_no_pair(NO_STATE)
{
    for (uint64_t first = hd_test_seed(1), seed = first; seed < first + 120; seed++) {
        uint64_t at = seed;
        hd_json_out text = {0};
        hd_pass_result result;
        hd_trace *out;
        random_document(&text, &at, 300);
        hd_json_put(&text, "", 1);
        hd_trace *trace = trace_of(text.data);
        int64_t from = random_next(&at) % 3000000;
        hd_crop_window window = {from, from + 1 + random_next(&at) % 1000000, seed % 2};
        assert_int_equal(hd_crop(&out, &result, trace, &window, NULL), HD_OK);
        assert_accounted(trace, out, result);
        assert_all_touch(out, &window);
        assert_true(unpaired(out, HD_KIND_SLICE) <= unpaired(trace, HD_KIND_SLICE));
        assert_true(unpaired(out, HD_KIND_END) <= unpaired(trace, HD_KIND_END));
        hd_trace_free(out);
        hd_trace_free(trace);
        free(text.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crop__slices_that_touch_the_window_stay_whole),
        cmocka_unit_test(test_crop__clip_cuts_them_at_its_ends),
        cmocka_unit_test(test_crop__slices_without_extent_stay_by_their_time),
        cmocka_unit_test(test_crop__an_end_goes_with_its_begin),
        cmocka_unit_test(test_crop__a_begin_without_end_lasts_for_ever),
        cmocka_unit_test(test_crop__instants_by_time_and_metadata_always),
        cmocka_unit_test(test_crop__flow_points_go_with_their_slices),
        cmocka_unit_test(test_crop__counters_keep_the_value_they_have_at_the_start),
        cmocka_unit_test(test_crop__async_begins_and_ends_stay_together),
        cmocka_unit_test(test_crop__a_window_around_all_changes_nothing),
        cmocka_unit_test(test_crop__random_windows_tear_no_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
