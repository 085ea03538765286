/* Traces of several ranks as one. */
#include "pass/merge.h"

#include "pass_text.h"

enum { MOST = 3 };

static hd_trace *merge(const char *const *texts, size_t count)
{
    static const char *const paths[MOST] = {"rank0.json", "rank1.json", "rank2.json"};
    hd_merge_input inputs[MOST] = {0};
    hd_pass_result result;
    hd_trace *out;
    hd_error err = {0};
    bool by_place;
    uint64_t in = 0;
    for (size_t i = 0; i < count; i++) {
        inputs[i] = (hd_merge_input){.trace = trace_of(texts[i]), .path = paths[i]};
        in += hd_trace_event_count(inputs[i].trace);
    }
    if (hd_merge_find_ranks(inputs, count, &by_place, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_merge(&out, &result, inputs, count, &err) != HD_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < count; i++) assert_null(inputs[i].trace);
    assert_int_equal(in + result.added, hd_trace_event_count(out) + result.removed + result.lost);
    return out;
}

static hd_trace *merge_two(const char *a, const char *b)
{
    return merge((const char *const[]){a, b}, 2);
}

#define X(name, pid, ts) "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts ",\"dur\":1}"
#define N(pid, name)                                                                                                   \
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid ",\"tid\":0,\"args\":{\"name\":\"" name "\"}}"

static void test_merge__pids_of_several_ranks_become_distinct(NO_STATE)
{
    assert_events(
        merge_two("[" X("a", "7", "1") "," X("b", "100", "1") "," N("7", "gpu") "," N("100", "py") "]",
                  "[" X("c", "7", "1") "," X("d", "101", "1") "," N("7", "gpu") "," N("101", "py") "]"),
        "[" X("a", "7", "1") "," X("b", "100", "1") "," N("7", "rank 0: gpu") "," N("100", "rank 0: py") "," X(
            "c", "1007", "1") "," X("d", "101", "1") "," N("1007", "rank 1: gpu") "," N("101", "rank 1: py") "]");
}

/* Of the process itself: what the merge adds. */
#define ADDED(pid, name) "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid ",\"args\":{\"name\":\"" name "\"}}"

static void test_merge__pids_that_are_text_get_their_rank(NO_STATE)
{
    hd_trace *out = merge_two("[" X("a", "\"Spans\"", "1") "]", "[" X("c", "\"Spans\"", "1") "]");
    assert_events(out, "[" X("a", "\"Spans (rank 0)\"", "1") "," ADDED("\"Spans (rank 0)\"", "rank 0: Spans") "," X(
                           "c", "\"Spans (rank 1)\"", "1") "," ADDED("\"Spans (rank 1)\"", "rank 1: Spans") "]");
}

#define F(ph, id, pid)                                                                                                 \
    "{\"ph\":\"" ph "\",\"name\":\"f\",\"cat\":\"f\",\"id\":" id ",\"pid\":" pid ",\"tid\":1,\"ts\":1}"

static void test_merge__arrows_of_ranks_never_meet(NO_STATE)
{
    assert_events(merge_two("[" F("s", "5", "1") "," F("f", "9", "1") "," ADDED("1", "rank 0") "]",
                            "[" F("s", "5", "2") "," F("f", "9", "2") "," ADDED("2", "rank 1") "]"),
                  "[" F("s", "5", "1") "," F("f", "9", "1") "," ADDED("1", "rank 0") "," F("s", "10", "2") "," F(
                      "f", "14", "2") "," ADDED("2", "rank 1") "]");
    /* ranges that lie apart stay */
    assert_events(
        merge_two("[" F("s", "5", "1") "," ADDED("1", "rank 0") "]", "[" F("s", "6", "2") "," ADDED("2", "rank 1") "]"),
        "[" F("s", "5", "1") "," ADDED("1", "rank 0") "," F("s", "6", "2") "," ADDED("2", "rank 1") "]");
}

static void test_merge__ids_that_are_text_stay_apart_too(NO_STATE)
{
    assert_events(merge_two("[" F("s", "\"0xa\"", "1") "," F("s", "\"x\"", "1") "," ADDED("1", "rank 0") "]",
                            "[" F("s", "\"0xa\"", "2") "," F("s", "\"x\"", "2") "," ADDED("2", "rank 1") "]"),
                  "[" F("s", "\"0xa\"", "1") "," F("s", "\"rank 0: x\"", "1") "," ADDED("1", "rank 0") "," F(
                      "s", "\"0xb\"", "2") "," F("s", "\"rank 1: x\"", "2") "," ADDED("2", "rank 1") "]");
    /* numbers too large to be shifted become text */
    assert_events(merge_two("[" F("s", "9007199254740993", "1") "," ADDED("1", "rank 0") "]",
                            "[" F("s", "9007199254740993", "2") "," ADDED("2", "rank 1") "]"),
                  "[" F("s", "9007199254740993", "1") "," ADDED("1", "rank 0") "," F(
                      "s", "\"rank 1: 9007199254740993\"", "2") "," ADDED("2", "rank 1") "]");
}

static void test_merge__ids_of_a_process_stay(NO_STATE)
{
    static const char a[] = "{\"ph\":\"b\",\"name\":\"f\",\"cat\":\"f\",\"id2\":{\"local\":5},\"pid\":1,\"ts\":1}",
                      b[] = "{\"ph\":\"b\",\"name\":\"f\",\"cat\":\"f\",\"id2\":{\"local\":5},\"pid\":2,\"ts\":1}";
    char x[256], y[256], both[512];
    snprintf(x, sizeof x, "[%s,%s]", a, ADDED("1", "rank 0"));
    snprintf(y, sizeof y, "[%s,%s]", b, ADDED("2", "rank 1"));
    snprintf(both, sizeof both, "[%s,%s,%s,%s]", a, ADDED("1", "rank 0"), b, ADDED("2", "rank 1"));
    assert_events(merge_two(x, y), both);
}

static void test_merge__times_are_put_on_one_clock(NO_STATE)
{
    hd_trace *out = merge_two("{\"baseTimeNanoseconds\":5000,\"traceEvents\":[" X("a", "1", "10") "]}",
                              "{\"baseTimeNanoseconds\":2000,\"traceEvents\":[" X("b", "2", "10") "]}");
    assert_int_equal(hd_trace_facts_of(out)->base_ns, 2000);
    hd_string base = hd_trace_metadata_find(out, "baseTimeNanoseconds");
    assert_int_equal(base.size, 4);
    assert_memory_equal(base.data, "2000", 4);
    assert_events(out,
                  "[" X("a", "1", "13") "," ADDED("1", "rank 0") "," X("b", "2", "10") "," ADDED("2", "rank 1") "]");
    /* without a base for all, times stay, and the ledger says so */
    out =
        merge_two("{\"baseTimeNanoseconds\":5000,\"traceEvents\":[" X("a", "1", "10") "]}", "[" X("b", "2", "10") "]");
    assert_int_equal(ledger_count(out, "merge.clocks-differ"), 1);
    assert_events(out,
                  "[" X("a", "1", "10") "," ADDED("1", "rank 0") "," X("b", "2", "10") "," ADDED("2", "rank 1") "]");
}

static void test_merge__metadata_that_differ_stand_by_rank(NO_STATE)
{
    hd_trace *out = merge_two("{\"schema\":1,\"host\":\"a\",\"traceEvents\":[]}",
                              "{\"schema\":1,\"host\":\"b\",\"traceEvents\":[]}");
    static const char wanted[] = "{\"0\":{\"host\":\"a\"},\"1\":{\"host\":\"b\"}}";
    hd_string ranks = hd_trace_metadata_find(out, "ranks"), schema = hd_trace_metadata_find(out, "schema");
    assert_int_equal(ranks.size, sizeof wanted - 1);
    assert_memory_equal(ranks.data, wanted, ranks.size);
    assert_int_equal(schema.size, 1);
    assert_int_equal(hd_trace_metadata_find(out, "host").size, 0);
    hd_trace_free(out);
}

static void test_merge__every_track_has_its_rank(NO_STATE)
{
    hd_trace *out = merge_two("[" X("a", "7", "1") "]", "[" X("c", "7", "1") "]");
    uint64_t of_rank[2] = {0};
    for (uint32_t i = 0; i < hd_trace_track_count(out); i++) {
        int64_t rank = hd_trace_track_at(out, i)->rank;
        assert_in_range(rank, 0, 1);
        of_rank[rank]++;
    }
    assert_int_equal(of_rank[0], of_rank[1]);
    hd_trace_free(out);
}

static void test_merge__ranks_from_file_names(NO_STATE)
{
    static const struct {
        const char *path;
        int64_t rank;
    } cases[] = {
        {"rank3.json", 3},
        {"dir7/rank_12.json.gz", 12},
        {"Rank-03.pt.trace.json", 3},
        {"worker4.trace.json", 4},
        {"trace_5.json.zst", 5},
        {"5.json", 5},
        {"step10_rank2_final.json", 2},
        {"frank3x.json", HD_NO_NUMBER},
        {"trace.json", HD_NO_NUMBER},
        {"host_4242.1700000000123.pt.trace.json", HD_NO_NUMBER},
        {"model2.json", HD_NO_NUMBER},
        {"", HD_NO_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hd_merge_rank_of_path(cases[i].path), cases[i].rank);
}

static hd_status find_ranks(const char *const *texts, const char *const *paths, int64_t *ranks, bool *by_place,
                            hd_error *err)
{
    hd_merge_input inputs[2];
    for (size_t i = 0; i < 2; i++) inputs[i] = (hd_merge_input){.trace = trace_of(texts[i]), .path = paths[i]};
    hd_status status = hd_merge_find_ranks(inputs, 2, by_place, err);
    for (size_t i = 0; i < 2; i++) ranks[i] = inputs[i].rank;
    for (size_t i = 0; i < 2; i++) hd_trace_free(inputs[i].trace);
    return status;
}

#define RANKED(n) "{\"distributedInfo\":{\"rank\":" n "},\"traceEvents\":[]}"

static void test_merge__ranks_are_those_of_the_trace_then_of_the_name_then_of_the_place(NO_STATE)
{
    int64_t ranks[2];
    bool by_place;
    hd_error err = {0};
    assert_int_equal(find_ranks((const char *const[]){RANKED("4"), "[]"},
                                (const char *const[]){"rank9.json", "rank2.json"}, ranks, &by_place, &err),
                     HD_OK);
    assert_int_equal(ranks[0], 4);
    assert_int_equal(ranks[1], 2);
    assert_false(by_place);
    assert_int_equal(
        find_ranks((const char *const[]){"[]", "[]"}, (const char *const[]){"a", "b"}, ranks, &by_place, &err), HD_OK);
    assert_int_equal(ranks[1], 1);
    assert_true(by_place);
}

static void test_merge__twins_and_strangers_are_refused_by_name(NO_STATE)
{
    int64_t ranks[2];
    bool by_place;
    hd_error err = {0};
    assert_int_equal(find_ranks((const char *const[]){RANKED("4"), RANKED("4")}, (const char *const[]){"one", "two"},
                                ranks, &by_place, &err),
                     HD_ERR_ARGUMENT);
    assert_string_equal(err.path, "two");
    assert_non_null(strstr(err.message, "one"));
    err = (hd_error){0};
    assert_int_equal(find_ranks((const char *const[]){RANKED("4"), "[]"}, (const char *const[]){"one", "two"}, ranks,
                                &by_place, &err),
                     HD_ERR_ARGUMENT);
    assert_string_equal(err.path, "two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__pids_of_several_ranks_become_distinct),
        cmocka_unit_test(test_merge__pids_that_are_text_get_their_rank),
        cmocka_unit_test(test_merge__arrows_of_ranks_never_meet),
        cmocka_unit_test(test_merge__ids_that_are_text_stay_apart_too),
        cmocka_unit_test(test_merge__ids_of_a_process_stay),
        cmocka_unit_test(test_merge__times_are_put_on_one_clock),
        cmocka_unit_test(test_merge__metadata_that_differ_stand_by_rank),
        cmocka_unit_test(test_merge__every_track_has_its_rank),
        cmocka_unit_test(test_merge__ranks_from_file_names),
        cmocka_unit_test(test_merge__ranks_are_those_of_the_trace_then_of_the_name_then_of_the_place),
        cmocka_unit_test(test_merge__twins_and_strangers_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
