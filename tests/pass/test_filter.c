/* Events of some tracks, names, categories. */
#include "pass/filter/filter.h"

#include "pass_text.h"

static hd_trace *filter(const char *text, hd_filter filter)
{
    hd_trace *trace = trace_of(text), *out;
    hd_pass_result result;
    hd_error err = {0};
    if (hd_filter_trace(&out, &result, trace, &filter, &err) != HD_OK) fail_msg("%s", err.message);
    assert_accounted(trace, out, result);
    assert_int_equal(result.lost, ledger_count(out, "filter.flow-lost"));
    hd_trace_free(trace);
    return out;
}

#define X(name, cat, tid)                                                                                              \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"cat\":\"" cat "\",\"pid\":1,\"tid\":" tid ",\"ts\":5,\"dur\":10}"

#define GEMM X("gemm_128", "kernel", "7")
#define COPY X("copy", "gpu_memcpy", "7")
#define OP X("aten::add", "cpu_op", "1")
#define LIST X("f<int, float>", "kernel", "7")
#define ALL "[" GEMM "," COPY "," OP "," LIST "]"

static void test_filter__globs_match_the_whole_name(NO_STATE)
{
    assert_events(filter(ALL, (hd_filter){.names = "gemm*"}), "[" GEMM "]");
    assert_events(filter(ALL, (hd_filter){.names = "gemm"}), "[]");
    assert_events(filter(ALL, (hd_filter){.names = "copy,aten::???"}), "[" COPY "," OP "]");
    assert_events(filter(ALL, (hd_filter){.names = "f<int\\, float>"}), "[" LIST "]");
}

static void test_filter__regular_expressions_match_anywhere(NO_STATE)
{
    assert_events(filter(ALL, (hd_filter){.names = "/m{2,2}/"}), "[" GEMM "]");
    assert_events(filter(ALL, (hd_filter){.names = "/^c/,/int, /"}), "[" COPY "," LIST "]");
}

static void test_filter__a_bang_leaves_out(NO_STATE)
{
    assert_events(filter(ALL, (hd_filter){.names = "!copy"}), "[" GEMM "," OP "," LIST "]");
    assert_events(filter(ALL, (hd_filter){.names = "*m*,!/^gemm/"}), "[]");
    assert_events(filter(ALL, (hd_filter){.names = "*o*,!/f</,!aten*"}), "[" COPY "]");
}

static void test_filter__all_lists_must_pass(NO_STATE)
{
    assert_events(filter(ALL, (hd_filter){.category = "kernel"}), "[" GEMM "," LIST "]");
    assert_events(filter(ALL, (hd_filter){.category = "kernel", .names = "g*"}), "[" GEMM "]");
    assert_events(filter(ALL, (hd_filter){.tracks = "1/1"}), "[" OP "]");
    assert_events(filter(ALL, (hd_filter){.tracks = "1"}), ALL); /* the pid of them all */
    assert_events(filter(ALL, (hd_filter){.tracks = "1/7", .category = "!kernel"}), "[" COPY "]");
}

#define M(name, tid, value)                                                                                            \
    "{\"ph\":\"M\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"args\":{\"name\":\"" value "\"}}"

static void test_filter__tracks_keep_their_names_and_lose_them(NO_STATE)
{
    static const char text[] = "[" M("process_name", "0", "python") "," M("thread_name", "1", "main") "," M(
        "thread_name", "7", "stream 7") "," GEMM "," OP "]";
    static const char stream[] =
        "[" M("process_name", "0", "python") "," M("thread_name", "7", "stream 7") "," GEMM "]";
    assert_events(filter(text, (hd_filter){.tracks = "stream*"}), stream);
    assert_events(filter(text, (hd_filter){.tracks = "python/stream*"}), stream);
    assert_events(filter(text, (hd_filter){.tracks = "!main"}), stream);
    assert_events(filter(text, (hd_filter){.tracks = "python"}), text);
    assert_events(filter(text, (hd_filter){.tracks = "nothing"}), "[]");
    hd_trace *out = filter(text, (hd_filter){.tracks = "stream*"});
    for (uint32_t i = 0; i < hd_trace_track_count(out); i++)
        assert_false(hd_trace_string(out, hd_trace_track_at(out, i)->name).size == strlen("main"));
    hd_trace_free(out);
}

#define B(ph, name) "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":"

static void test_filter__an_end_goes_with_its_begin(NO_STATE)
{
    assert_events(
        filter("[" B("B", "a") "1}," B("B", "b") "2}," B("E", "") "3}," B("E", "") "4}]", (hd_filter){.names = "a"}),
        "[" B("B", "a") "1}," B("E", "") "4}]");
}

#define FLOW(ph, id, tid, ts)                                                                                          \
    "{\"ph\":\"" ph "\",\"name\":\"f\",\"cat\":\"f\",\"bp\":\"e\",\"id\":" id ",\"pid\":1,\"tid\":" tid ",\"ts\":" ts  \
    "}"

static void test_filter__arrows_of_removed_slices_are_lost(NO_STATE)
{
    static const char text[] = "[" OP "," GEMM "," FLOW("s", "1", "1", "6") "," FLOW("f", "1", "7", "6") "]";
    hd_trace *out = filter(text, (hd_filter){.names = "gemm*"});
    assert_int_equal(ledger_count(out, "filter.flow-lost"), 2);
    assert_events(out, "[" GEMM "]");
    out = filter(text, (hd_filter){.names = "gemm*,aten*"});
    assert_int_equal(ledger_count(out, "filter.flow-lost"), 0);
    assert_events(out, text);
}

static void test_filter__counters_and_async_points_by_their_names(NO_STATE)
{
    static const char c[] = "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":1,\"args\":{\"v\":1}}";
    static const char a[] = "{\"ph\":\"b\",\"name\":\"io\",\"id\":1,\"pid\":1,\"ts\":1}";
    char text[256], wanted[256];
    snprintf(text, sizeof text, "[%s,%s]", c, a);
    snprintf(wanted, sizeof wanted, "[%s]", c);
    assert_events(filter(text, (hd_filter){.names = "mem"}), wanted);
}

static void test_filter__what_is_no_pattern_is_refused(NO_STATE)
{
    static const char *const wrong[] = {"", "a,,b", "/open", "/(/", "/a/b", "!", "a,", "/[/"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hd_error err = {0};
        assert_int_equal(hd_filter_valid(&(hd_filter){.names = wrong[i]}, &err), HD_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, "--names"));
    }
    assert_int_equal(hd_filter_valid(&(hd_filter){.names = "/a\\/b,c/,!d,[a-z]\\,"}, NULL), HD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter__globs_match_the_whole_name),
        cmocka_unit_test(test_filter__regular_expressions_match_anywhere),
        cmocka_unit_test(test_filter__a_bang_leaves_out),
        cmocka_unit_test(test_filter__all_lists_must_pass),
        cmocka_unit_test(test_filter__tracks_keep_their_names_and_lose_them),
        cmocka_unit_test(test_filter__an_end_goes_with_its_begin),
        cmocka_unit_test(test_filter__arrows_of_removed_slices_are_lost),
        cmocka_unit_test(test_filter__counters_and_async_points_by_their_names),
        cmocka_unit_test(test_filter__what_is_no_pattern_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
