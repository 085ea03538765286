/* Traces of several ranks as one. */
#include "pass/merge/merge.h"
#include "trace/ranks.h"

#include "heddle/stacks.h"
#include "trace/stacks/trace_stacks.h"

#include "pass_text.h"
#include "trace/event.h"

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
        inputs[i] = (hd_merge_input){.trace = trace_of(texts[i]), .path = paths[i], .take = true};
        in += hd_trace_event_count(inputs[i].trace);
    }
    if (hd_merge_find_ranks(inputs, count, &by_place, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_merge(&out, &result, inputs, count, false, &err) != HD_OK) fail_msg("%s", err.message);
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

/* One rank of a job whose others are merged elsewhere. */
static void test_merge__ids_of_a_share_are_apart_by_rank_alone(NO_STATE)
{
    static const char *const texts[][2] = {
        {"[" F("s", "5", "1") "," F("f", "\"0xa\"", "1") "," ADDED("1", "rank 3") "]",
         "[" F("s", "30000000005", "1") "," F("f", "\"0x6fc23ac0a\"", "1") "," ADDED("1", "rank 3") "]"},
        {"[" F("s", "9999999999", "1") "," ADDED("1", "rank 3") "]",
         "[" F("s", "39999999999", "1") "," ADDED("1", "rank 3") "]"},
        {"[" F("s", "10000000000", "1") "," F("f", "\"x\"", "1") "," ADDED("1", "rank 3") "]",
         "[" F("s", "\"rank 3: 10000000000\"", "1") "," F("f", "\"rank 3: x\"", "1") "," ADDED("1", "rank 3") "]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hd_merge_input input = {.trace = trace_of(texts[i][0]), .path = "rank3.json", .rank = 3, .take = true};
        hd_pass_result result;
        hd_trace *out;
        assert_int_equal(hd_merge(&out, &result, &input, 1, true, NULL), HD_OK);
        assert_events(out, texts[i][1]);
    }
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
        {"trace_5.json.zst", HD_NO_NUMBER},
        {"5.json", HD_NO_NUMBER},
        {"step10_rank2_final.json", 2},
        {"frank3x.json", HD_NO_NUMBER},
        {"trace.json", HD_NO_NUMBER},
        {"host_4242.1700000000123.pt.trace.json", HD_NO_NUMBER},
        {"model2.json", HD_NO_NUMBER},
        {"", HD_NO_NUMBER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hd_rank_of_path(cases[i].path), cases[i].rank);
}

static hd_status find_ranks(const char *const *texts, const char *const *paths, int64_t *ranks, bool *by_place,
                            hd_error *err)
{
    hd_merge_input inputs[2];
    for (size_t i = 0; i < 2; i++)
        inputs[i] = (hd_merge_input){.trace = trace_of(texts[i]), .path = paths[i], .take = true};
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

static void test_merge__numbers_at_the_ends_of_names_are_ranks_if_none_is_missing(NO_STATE)
{
    static const struct {
        const char *paths[2];
        int64_t ranks[2];
        bool by_place;
    } cases[] = {
        {{"trace_1.json", "trace_0.json.gz"}, {1, 0}, false},   {{"1.json", "0.json"}, {1, 0}, false},
        {{"trace_7605.json", "trace_7606.json"}, {0, 1}, true}, {{"trace_1.json", "trace_2.json"}, {0, 1}, true},
        {{"trace_0.json", "other_0.json"}, {0, 1}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ranks[2];
        bool by_place;
        assert_int_equal(find_ranks((const char *const[]){"[]", "[]"}, cases[i].paths, ranks, &by_place, NULL), HD_OK);
        assert_memory_equal(ranks, cases[i].ranks, sizeof ranks);
        assert_int_equal(by_place, cases[i].by_place);
    }
}

static void test_merge__strangers_are_refused_by_name(NO_STATE)
{
    int64_t ranks[2];
    bool by_place;
    hd_error err = {0};
    assert_int_equal(find_ranks((const char *const[]){RANKED("4"), "[]"}, (const char *const[]){"one", "two"}, ranks,
                                &by_place, &err),
                     HD_ERR_ARGUMENT);
    assert_string_equal(err.path, "two");
}

static void test_merge__twins_are_those_behind_the_first_of_their_rank(NO_STATE)
{
    const hd_merge_input inputs[] = {{.rank = 4}, {.rank = 1}, {.rank = 4}, {.rank = 0}, {.rank = 4}};
    const bool wanted[] = {false, false, true, false, true};
    bool *twins;
    assert_int_equal(hd_merge_find_twins(&twins, inputs, 5, NULL), HD_OK);
    assert_memory_equal(twins, wanted, sizeof wanted);
    free(twins);
}

/* ---- processes of one run ---- */

static hd_trace *merge_processes(const char *a, const char *b)
{
    hd_merge_input inputs[2] = {{.trace = trace_of(a), .path = "a.hdcap", .take = true},
                                {.trace = trace_of(b), .path = "b.hdcap", .take = true}};
    hd_pass_result result;
    hd_trace *out;
    hd_error err = {0};
    uint64_t in = hd_trace_event_count(inputs[0].trace) + hd_trace_event_count(inputs[1].trace);
    if (hd_merge_processes(&out, &result, inputs, 2, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(in + result.added, hd_trace_event_count(out) + result.removed + result.lost);
    return out;
}

#define C(name, pid, id, more)                                                                                         \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":1,\"ts\":1,\"dur\":1" more                            \
    ",\"args\":{\"correlation\":" id "}}"

static void test_merge__processes_keep_their_names_and_gpus_say_whose_they_are(NO_STATE)
{
    assert_events(
        merge_processes("[" X("a", "70", "1") "," N("70", "py") "," X("k", "0", "1") "," N("0", "GPU 0") "]",
                        "[" X("b", "71", "1") "," N("71", "py") "," X("k", "0", "1") "," N("0", "GPU 0") "]"),
        "[" X("a", "70", "1") "," N("70", "py") "," X("k", "0", "1") "," N("0", "GPU 0") "," X("b", "71", "1") "," N(
            "71", "py") "," X("k", "1000", "1") "," N("1000", "GPU 0 (process 71)") "]");
}

static void test_merge__correlation_ids_of_processes_never_meet_and_0_stays_none(NO_STATE)
{
    assert_events(
        merge_processes("[" C("a", "1", "5", "") "," C("b", "1", "0", "") "]",
                        "[" C("c", "2", "5", "") "," C("d", "2", "0", "") "]"),
        "[" C("a", "1", "5", "") "," C("b", "1", "0", "") "," C("c", "2", "10", "") "," C("d", "2", "0", "") "]");
#define I(id) "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{\"correlationId\":" id "}}]"
    hd_trace *out = merge_processes(I("5"), I("5"));
    assert_int_equal(hd_event_at(out, HD_KIND_SLICE, 0).correlation, 5);
    assert_int_equal(hd_event_at(out, HD_KIND_SLICE, 1).correlation, 10);
    hd_trace_free(out);
}

#define FRAMES(list) "{\"stackFrames\":{" list "},\"traceEvents\":["

static void assert_stack(const hd_trace *trace, uint64_t row, const char *leaf, const char *caller)
{
    hd_trace_stacks *stacks;
    hd_error err = {0};
    hd_event event;
    uint32_t at;
    if (hd_trace_stacks_new(&stacks, trace, &err) != HD_OK) fail_msg("%s", err.message);
    const hd_stacks *tree = hd_trace_stacks_tree(stacks);
    const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, row);
    hd_block_event(&event, block, at);
    hd_frame frame = hd_stacks_at(tree, hd_trace_stacks_of(stacks, &event));
    hd_string name = hd_stacks_text(tree, frame.name),
              above = hd_stacks_text(tree, hd_stacks_at(tree, frame.caller).name);
    assert_int_equal(name.size, strlen(leaf));
    assert_memory_equal(name.data, leaf, name.size);
    assert_int_equal(above.size, strlen(caller));
    assert_memory_equal(above.data, caller, above.size);
    hd_trace_stacks_free(stacks);
}

static void test_merge__stacks_of_all_inputs_become_one_tree(NO_STATE)
{
    static const char one[] =
        FRAMES("\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"f\",\"parent\":1}") C("a", "1", "5", ",\"sf\":2") "]}";
    static const char two[] = FRAMES("\"1\":{\"name\":\"g\",\"parent\":\"x\"},\"x\":{\"name\":\"main\"}")
        C("b", "2", "5", ",\"sf\":1") "," C("c", "2", "6", ",\"sf\":\"x\"") "," C("d", "2", "7", ",\"sf\":99") "]}";
    for (int processes = 0; processes < 2; processes++) {
        hd_trace *out = processes ? merge_processes(one, two) : merge_two(one, two);
        assert_stack(out, 0, "f", "main");
        assert_stack(out, 1, "g", "main");
        assert_stack(out, 2, "main", "");
        assert_stack(out, 3, "", "");
        assert_int_equal(ledger_count(out, "merge.frames-missing"), 1);
        assert_int_equal(hd_trace_metadata_find(out, "ranks").size, 0);
        hd_trace_free(out);
    }
}

static hd_trace *with_frames(const char *frames)
{
    hd_builder *b;
    hd_trace *out;
    assert_int_equal(hd_builder_new(&b, NULL), HD_OK);
    hd_builder_metadata(b, hd_builder_intern_text(b, "stackFrames"), hd_builder_intern_text(b, frames), false);
    assert_int_equal(hd_builder_finish(&out, b, NULL), HD_OK);
    return out;
}

/* Whatever the names are; what is not text in them is not JSON, and refused. */
static void test_merge__a_frame_has_one_id_in_all_shares(NO_STATE)
{
    static const char *const frames[] = {"{\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"\\ud83d "
                                         "f\\u0000\",\"parent\":1},\"3\":{\"name\":\"\\ud83d\\ude00\"}}",
                                         "{\"a\":{\"name\":\"g\",\"parent\":\"b\"},\"b\":{\"name\":\"main\"}}"};
    hd_merge_input inputs[2] = {0};
    hd_pass_result result;
    hd_trace *out;
    hd_trace_stacks *whole, *share;
    for (int i = 0; i < 2; i++) {
        hd_merge_input alone = {.trace = with_frames(frames[i]), .rank = i, .take = true};
        inputs[i].rank = i;
        assert_int_equal(hd_merge(&inputs[i].trace, &result, &alone, 1, true, NULL), HD_OK);
    }
    assert_int_equal(hd_merge(&out, &result, inputs, 2, true, NULL), HD_OK);
    assert_int_equal(hd_trace_stacks_new(&whole, out, NULL), HD_OK);
    assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(whole)), 5); /* "main" is one */
    for (int i = 0; i < 2; i++) {
        uint64_t ids[4];
        assert_int_equal(hd_trace_stacks_new(&share, inputs[i].trace, NULL), HD_OK);
        assert_int_equal(hd_stacks_count(hd_trace_stacks_tree(share)), 4 - i);
        hd_trace_stacks_ids(ids, share);
        for (int n = 1; n < 4 - i; n++) assert_true(hd_trace_stacks_has_id(whole, ids[n]));
        hd_trace_stacks_free(share);
        hd_trace_free(inputs[i].trace);
    }
    hd_trace_stacks_free(whole);
    hd_trace_free(out);
    hd_merge_input raw = {.trace = with_frames("{\"1\":{\"name\":\"\xff\"}}"), .take = true};
    assert_int_equal(hd_merge(&out, &result, &raw, 1, true, NULL), HD_ERR_DAMAGED);
    hd_trace_free(raw.trace);
}

#define P(host, base, more)                                                                                            \
    "{\"process\":{\"host\":\"" host "\"},\"baseTimeNanoseconds\":" base more ",\"traceEvents\":["

static void test_merge__processes_of_one_host_have_one_clock(NO_STATE)
{
    /* what they say of it differs by noise; another host's clock is its own */
    assert_events(merge_processes(P("h", "5000", "") X("a", "1", "10") "]}", P("h", "2000", "") X("b", "2", "10") "]}"),
                  "[" X("a", "1", "10") "," X("b", "2", "10") "]");
    assert_events(merge_processes(P("h", "5000", "") X("a", "1", "10") "]}", P("i", "2000", "") X("b", "2", "10") "]}"),
                  "[" X("a", "1", "13") "," X("b", "2", "10") "]");
}

static void test_merge__a_pid_of_one_host_is_one_process_whoever_captured_it(NO_STATE)
{
    assert_events(merge_processes(P("h", "5", "") X("a", "70", "1") "," N("70", "py") "]}",
                                  P("h", "5", "") X("b", "70", "2") "," N("70", "py") "]}"),
                  "[" X("a", "70", "1") "," N("70", "py") "," X("b", "70", "2") "," N("70", "py") "]");
    assert_events(merge_processes(P("h", "5", "") X("a", "70", "1") "]}", P("i", "5", "") X("b", "70", "2") "]}"),
                  "[" X("a", "70", "1") "," X("b", "1070", "2") "," ADDED("1070", "70 (process 1070)") "]");
}

static void assert_key(const hd_trace *trace, const char *key, const char *wanted)
{
    hd_string value = hd_trace_metadata_find(trace, key);
    char *text = strndup(value.data, value.size);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_merge__what_processes_differ_in_stands_by_pid_and_modules_become_one_list(NO_STATE)
{
    hd_trace *out = merge_processes(
        P("h", "5", ",\"modules\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"n\":1") X("a", "70", "1") "]}",
        P("h", "5", ",\"modules\":[{\"name\":\"b\"}, {\"name\":\"c\"}],\"n\":2") X("b", "71", "1") "]}");
    assert_key(out, "process", "{\"host\":\"h\"}");
    assert_key(out, "processes", "{\"70\":{\"n\":1},\"71\":{\"n\":2}}");
    assert_key(out, "modules",
               "[{\"pid\":\"70\",\"name\":\"a\"},\n{\"pid\":\"70\",\"name\":\"b\"},\n"
               "{\"pid\":\"71\",\"name\":\"b\"},\n{\"pid\":\"71\",\"name\":\"c\"}]");
    hd_trace_free(out);
    /* two captures of one process */
    out =
        merge_processes(P("h", "5", ",\"n\":1") X("a", "70", "1") "]}", P("h", "5", ",\"n\":2") X("b", "70", "1") "]}");
    assert_key(out, "processes", "{\"70\":{\"n\":1},\"70 #2\":{\"n\":2}}");
    hd_trace_free(out);
    /* no array: passed over */
    out = merge_processes(P("h", "5", ",\"modules\":7") X("a", "70", "1") "]}", P("h", "5", "") X("b", "71", "1") "]}");
    assert_key(out, "modules", "");
    hd_trace_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge__pids_of_several_ranks_become_distinct),
        cmocka_unit_test(test_merge__pids_that_are_text_get_their_rank),
        cmocka_unit_test(test_merge__arrows_of_ranks_never_meet),
        cmocka_unit_test(test_merge__ids_that_are_text_stay_apart_too),
        cmocka_unit_test(test_merge__ids_of_a_share_are_apart_by_rank_alone),
        cmocka_unit_test(test_merge__ids_of_a_process_stay),
        cmocka_unit_test(test_merge__times_are_put_on_one_clock),
        cmocka_unit_test(test_merge__metadata_that_differ_stand_by_rank),
        cmocka_unit_test(test_merge__every_track_has_its_rank),
        cmocka_unit_test(test_merge__ranks_from_file_names),
        cmocka_unit_test(test_merge__ranks_are_those_of_the_trace_then_of_the_name_then_of_the_place),
        cmocka_unit_test(test_merge__numbers_at_the_ends_of_names_are_ranks_if_none_is_missing),
        cmocka_unit_test(test_merge__strangers_are_refused_by_name),
        cmocka_unit_test(test_merge__twins_are_those_behind_the_first_of_their_rank),
        cmocka_unit_test(test_merge__processes_keep_their_names_and_gpus_say_whose_they_are),
        cmocka_unit_test(test_merge__correlation_ids_of_processes_never_meet_and_0_stays_none),
        cmocka_unit_test(test_merge__stacks_of_all_inputs_become_one_tree),
        cmocka_unit_test(test_merge__a_frame_has_one_id_in_all_shares),
        cmocka_unit_test(test_merge__processes_of_one_host_have_one_clock),
        cmocka_unit_test(test_merge__a_pid_of_one_host_is_one_process_whoever_captured_it),
        cmocka_unit_test(test_merge__what_processes_differ_in_stands_by_pid_and_modules_become_one_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
