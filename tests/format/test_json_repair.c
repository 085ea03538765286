/* test_json_repair.c - the repairer of broken JSON events: each repair, the end of the event, random damage, bounds */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "format/chrome/chrome.h"
#include "growth.h"
#include "rounds.h"

static bool has_code(const hd_json_repair *r, const char *code)
{
    for (size_t i = 0; i < r->issue_count; i++) {
        if (strcmp(r->issues[i].code, code) == 0) return true;
    }
    return false;
}

/* Run on text, check what always holds; returns the outcome. */
static hd_repair_outcome repair(hd_json_repair *r, const char *text, size_t size, size_t *out_consumed)
{
    hd_repair_outcome outcome;
    assert_int_equal(hd_json_repair_object(&outcome, out_consumed, r, text, size, true, NULL), HD_OK);
    assert_int_not_equal(outcome, HD_REPAIR_NEED_MORE);
    assert_true(*out_consumed > 0 && *out_consumed <= size);
    if (outcome == HD_REPAIR_DONE) {
        assert_true(r->text[0] == '{');
        assert_true(hd_json_valid(r->text, r->size, HD_JSON_REPAIR_DEPTH));
    }
    return outcome;
}

/* `in` stands before a second event; `out` is what becomes of it; `code` is among its issues. */
static void expect(const char *in, const char *out, const char *code)
{
    static const char next[] = ",\n  {\"ph\": \"i\", \"name\": \"next\"}]";
    char text[4096];
    int size = snprintf(text, sizeof text, "%s%s", in, next);
    hd_json_repair r = {.find_key = chrome_find_event_key};
    size_t consumed = 0;
    hd_repair_outcome outcome = repair(&r, text, (size_t)size, &consumed);
    if (out == NULL) {
        assert_int_equal(outcome, HD_REPAIR_HOPELESS);
    } else {
        assert_int_equal(outcome, HD_REPAIR_DONE);
        char got[8192];
        snprintf(got, sizeof got, "%.*s", (int)r.size, r.text);
        assert_string_equal(got, out);
    }
    while (strchr(" \n", text[consumed]) != NULL) consumed++;
    assert_int_equal(consumed, strlen(in));
    if (code == NULL) assert_int_equal(r.issue_count, 0);
    if (code != NULL && !has_code(&r, code)) fail_msg("no %s for %s", code, in);
    hd_json_repair_deinit(&r);
}

static void test_json_repair__valid_event_is_unchanged(void **state)
{
    (void)state;
    expect("{ }", "{ }", NULL);
    expect("{\"a\" :\t[ ] , \"b\": [[1,2],[\"x\", {\"a\":null}]], \"a\": -1.50e+7}",
           "{\"a\" :\t[ ] , \"b\": [[1,2],[\"x\", {\"a\":null}]], \"a\": -1.50e+7}", NULL);
    expect("{\"a\":\"\\\"\\\\ \\u00e9 \\ud800 \xC3\xA9 {}[],: }, {\"}",
           "{\"a\":\"\\\"\\\\ \\u00e9 \\ud800 \xC3\xA9 {}[],: }, {\"}", NULL);
}

static void test_json_repair__values_that_are_not_json(void **state)
{
    (void)state;
    expect("{\"a\": NaN, \"b\": -nan, \"c\": nan, \"d\": -nan(ind)}",
           "{\"a\": \"NaN\", \"b\": \"NaN\", \"c\": \"NaN\", \"d\": \"NaN\"}", "json.nonfinite");
    expect("{\"a\": [Infinity, -Infinity, inf, -inf, 1.#QNAN, -1.#INF]}",
           "{\"a\": [\"Infinity\", \"-Infinity\", \"Infinity\", \"-Infinity\", \"NaN\", \"-Infinity\"]}",
           "json.nonfinite");
    expect("{\"a\": True, \"b\": False, \"c\": None}", "{\"a\": true, \"b\": false, \"c\": null}", "json.literal");
    expect("{\"a\": 007, \"b\": +5, \"c\": .5, \"d\": 5., \"e\": -.5e3}",
           "{\"a\": 7, \"b\": 5, \"c\": 0.5, \"d\": 5.0, \"e\": -0.5e3}", "json.number");
    expect("{\"a\": 0x1F, \"b\": 1e, \"c\": aten::add, \"d\": 1}",
           "{\"a\": \"0x1F\", \"b\": \"1e\", \"c\": \"aten::add\", \"d\": 1}", "json.bare-text");
    expect("{\"a\": 12,34.5, \"b\": 12]34}", "{\"a\": \"12,34.5\", \"b\": \"12]34\"}", "json.bare-text");
    expect("{\"a\":, \"b\": , \"c\":}", "{\"a\":null, \"b\": null, \"c\":null}", "json.value-missing");
}

static void test_json_repair__strings_are_escaped(void **state)
{
    (void)state;
    expect("{\"a\": \"x\ny\t\x01\"}", "{\"a\": \"x\\ny\\t\\u0001\"}", "json.control");
    expect("{\"a\": \"C:\\dir\\x41\\p\"}", "{\"a\": \"C:\\\\dir\\\\x41\\\\p\"}", "json.escape");
    expect("{\"a\": \"C:\\\", \"b\": 1}", "{\"a\": \"C:\\\\\", \"b\": 1}", "json.escape");
    expect("{\"a\": \"\\u12G4\"}", "{\"a\": \"\\\\u12G4\"}", "json.unicode-escape");
    expect("{\"a\": \"\xED\xA0\x80|\xC0\xAF|\xE2\x82|\xF0\x9F\x98\x80\"}",
           "{\"a\": \"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD|\xEF\xBF\xBD\xEF\xBF\xBD|\xEF\xBF\xBD|\xF0\x9F\x98\x80\"}",
           "json.utf8");
}

static void test_json_repair__quotes_in_names(void **state)
{
    (void)state;
    expect("{\"name\": \"operator\"\" _x\", \"b\": 1}", "{\"name\": \"operator\\\"\\\" _x\", \"b\": 1}", "json.quote");
    expect("{\"name\": \"lambda \"foo\"\", \"b\": 1}", "{\"name\": \"lambda \\\"foo\\\"\", \"b\": 1}", "json.quote");
    expect("{\"name\": \"print(\"a\", \"b\")\"}", "{\"name\": \"print(\\\"a\\\", \\\"b\\\")\"}", "json.quote");
    expect("{\"name\": \"f({\"a\": 1, \"b\": 2})\", \"c\": 1}",
           "{\"name\": \"f({\\\"a\\\": 1, \\\"b\\\": 2})\", \"c\": 1}", "json.quote");
    expect("{\"na\"me\": 1}", "{\"na\\\"me\": 1}", "json.quote");
}

static void test_json_repair__lost_quotes(void **state)
{
    (void)state;
    expect("{\"name\": \"aten::add, \"pid\": 1, \"tid\": 2}", "{\"name\": \"aten::add\", \"pid\": 1, \"tid\": 2}",
           "json.quote-lost");
    expect("{\"args\": {\"a\": \"b}, \"pid\": 1}", "{\"args\": {\"a\": \"b\"}, \"pid\": 1}", "json.quote-lost");
    expect("{\"pid\": 1, \"args\": {\"a\": \"b}}", "{\"pid\": 1, \"args\": {\"a\": \"b\"}}", "json.quote-lost");
    expect("{\"name\": f<int, 2>\", \"pid\": 1}", "{\"name\": \"f<int, 2>\", \"pid\": 1}", "json.quote-lost");
    expect("{\"pid: 1, \"name: \"x\", \"tid\": 2}", "{\"pid\": 1, \"name\": \"x\", \"tid\": 2}", "json.quote-lost");
}

static void test_json_repair__keys(void **state)
{
    (void)state;
    expect("{pid\": 1, External id\": 2}", "{\"pid\": 1, \"External id\": 2}", "json.key-bare");
    expect("{pid: 1, tid : 2}", "{\"pid\": 1, \"tid\" : 2}", "json.key-bare");
    expect("{'pid': 'it''s', 'a': '\"'}", "{\"pid\": \"it''s\", \"a\": \"\\\"\"}", "json.single-quote");
    expect("{\"pid\" 1, \"name\" \"x\", \"tid\"; 2, \"s\":: 3}", "{\"pid\":1, \"name\":\"x\", \"tid\":2, \"s\": 3}",
           "json.colon");
}

static void test_json_repair__commas_and_comments(void **state)
{
    (void)state;
    expect("{\"a\": [1, 2,], \"b\": 2,}", "{\"a\": [1, 2], \"b\": 2}", "json.comma-extra");
    expect("{\"a\": [1,, 2],, \"b\": 2}", "{\"a\": [1, 2], \"b\": 2}", "json.comma-extra");
    expect("{\"a\": 1 \"b\": \"x\" \"c\": [1 2] \"d\": 1}", "{\"a\": 1 ,\"b\": \"x\" ,\"c\": [1 ,2] ,\"d\": 1}",
           "json.comma-missing");
    expect("{\"a\": /* x */ 1, // y\n \"b\": 2}", "{\"a\":  1, \n \"b\": 2}", "json.comment");
}

static void test_json_repair__brackets(void **state)
{
    (void)state;
    expect("{\"ph\": \"X\", \"args\": {\"a\": [1, [2]}}", "{\"ph\": \"X\", \"args\": {\"a\": [1, [2]]}}",
           "json.close-missing");
    expect("{\"ph\": \"X\", \"args\": {\"a\": [1, \"b\": 2}}", "{\"ph\": \"X\", \"args\": {\"a\": [1 ],\"b\": 2}}",
           "json.close-missing");
    expect("{\"ph\": \"X\", \"args\": {\"a\": 1}", "{\"ph\": \"X\", \"args\": {\"a\": 1}}", "json.close-missing");
    expect("{\"ph\": \"X\", \"args\": {\"a\": 1", "{\"ph\": \"X\", \"args\": {\"a\": 1}}", "json.close-missing");
    expect("{\"args\": \"a\": 1, \"b\": 2}}", "{\"args\": {\"a\": 1, \"b\": 2}}", "json.open-missing");
    expect("\"ph\": \"X\", \"a\": {}}", "{\"ph\": \"X\", \"a\": {}}", "json.open-missing");
    expect("{\"args\": {\"a\": [1, 2}}, \"b\": 1}", "{\"args\": {\"a\": [1, 2]}, \"b\": 1}", "json.close-missing");
    expect("{\"args\": {\"a\": [1, 2}, \"b\": 1}}", "{\"args\": {\"a\": [1, 2], \"b\": 1}}", "json.mismatch");
    expect("{\"args\": {\"a\": 1}}, \"b\": 1}}", "{\"args\": {\"a\": 1}, \"b\": 1}", "json.stray");
    expect("{\"args\": {{\"a\": 1}}", "{\"args\": {\"a\": 1}}", "json.stray");
    expect("{", NULL, "json.close-missing");
    expect("garbage 123", NULL, "json.open-missing");
}

static void test_json_repair__array_end_ends_the_event(void **state)
{
    (void)state;
    hd_json_repair r = {.find_key = chrome_find_event_key};
    size_t consumed = 0;
    static const char text[] = "{\"ph\": \"X\", \"args\": {\"a\": 1\n], \"displayTimeUnit\": \"ms\"}";
    assert_int_equal(repair(&r, text, strlen(text), &consumed), HD_REPAIR_DONE);
    assert_int_equal(text[consumed], ']');
    assert_int_equal(r.size, strlen("{\"ph\": \"X\", \"args\": {\"a\": 1}}"));
    hd_json_repair_deinit(&r);
}

/* Realistic events: launch, kernel, op with shapes, NCCL, python; pretty and compact. */
static const char *const events[] = {
    "{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7334, \"tid\": 7334,\n  "
    "  "
    "\"ts\": 1699300000123456.789, \"dur\": 4.250,\n    \"args\": {\n      \"External id\": 1024, \"cbid\": 211, "
    "\"correlation\": 1024\n    }\n  }",
    "{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::vectorized_elementwise_kernel<4, "
    "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
    "at::detail::Array<char*, 3>)\", \"pid\": 0, \"tid\": 7,\n    \"ts\": 1699300000123460.1, \"dur\": 18.4,\n    "
    "\"args\": {\n "
    "     \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": 1024, \"registers per "
    "thread\": 32,\n      \"shared memory\": 0, \"blocks per SM\": 1.5,\n      \"grid\": [64, 1, 1],\n      \"block\": "
    "[128, 1, "
    "1],\n      \"est. achieved occupancy %\": 50\n    }\n  }",
    "{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::convolution\", \"pid\": 7334, \"tid\": 7334,\n    "
    "\"ts\": "
    "-12.5, \"dur\": 100,\n    \"args\": {\n      \"External id\": 3,\"Record function id\": 0, \"Concrete Inputs\": "
    "[\"\", "
    "\"\", \"[1, 1]\", \"False\"], \"Input type\": [\"float\", \"float\", \"ScalarList\", \"Scalar\"], \"Input "
    "Strides\": [[150528, "
    "50176, 224, 1], [147, 49, 7, 1], [], []], \"Input Dims\": [[32, 3, 224, 224], [64, 3, 7, 7], [], []], \"Ev Idx\": "
    "2\n    }\n  "
    "}",
    "{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, "
    "unsigned long, "
    "ncclWork*)\", \"pid\": 0, \"tid\": 20,\n    \"ts\": 1, \"dur\": 2,\n    \"args\": {\n      \"Collective name\": "
    "\"allreduce\", \"In msg nelems\": 25000, \"Out msg nelems\": 25000, \"Group size\": 8, \"dtype\": \"Float\", "
    "\"Process Group "
    "Name\": \"0\", \"Process Group Description\": \"default_pg\", \"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, "
    "7]\"\n    }\n  }",
    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":\"stream 7\",\"args\":{\"name\":\"stream 7 \"}}",
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"torch/nn/modules/module.py(1501): "
    "_call_impl\",\"pid\":7334,\"tid\":7334,\"ts\":1699300000123456.1,\"dur\":5,\"args\":{\"Python id\":12,\"Python "
    "parent "
    "id\":11,\"Python module id\":3}}",
    "{\"ph\":\"s\",\"id\":1024,\"pid\":7334,\"tid\":7334,\"ts\":5.25,\"cat\":\"ac2g\",\"name\":\"ac2g\"}",
    "{\n    \"name\": \"process_labels\", \"ph\": \"M\", \"ts\": 1699300000, \"pid\": 0, \"tid\": 0,\n    \"args\": "
    "{\n      "
    "\"labels\": \"GPU 0\"\n    }\n  }",
};
enum { EVENT_COUNT = sizeof events / sizeof *events };

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

typedef struct sequence {
    char text[8192];
    size_t first, size; /* of E1; of all */
} sequence;

static void make_sequence(sequence *s, size_t kind, uint64_t *seed)
{
    bool compact = kind >= 4 && kind <= 6;
    const char *gap = compact ? "," : ",\n  ";
    size_t base = compact ? 4 : 0, span = compact ? 3 : 4;
    const char *second = events[base + next_random(seed) % span], *third = events[base + next_random(seed) % span];
    int size = snprintf(s->text, sizeof s->text, "%s%s%s%s%s%s]}", events[kind], gap, second, gap, third,
                        compact ? "" : "\n  ");
    s->size = (size_t)size;
    s->first = strlen(events[kind]);
}

/* Damage one byte of E1, not its first. */
static void damage(sequence *s, uint64_t *seed)
{
    static const char marks[] = "\"\"\"{}[],:\\'\n 1x";
    size_t at = 1 + next_random(seed) % (s->first - 1);
    uint64_t how = next_random(seed) % 4;
    char byte = (char)(next_random(seed) % 2 == 0 ? (int)(next_random(seed) & 0xFF)
                                                  : marks[next_random(seed) % (sizeof marks - 1)]);
    if (how == 0) {
        s->text[at] = (char)(s->text[at] ^ (1 << next_random(seed) % 8));
    } else if (how == 1) {
        s->text[at] = byte;
    } else if (how == 2) {
        memmove(s->text + at, s->text + at + 1, s->size - at - 1);
        s->size--;
        s->first--;
    } else {
        memmove(s->text + at + 1, s->text + at, s->size - at);
        s->text[at] = byte;
        s->size++;
        s->first++;
    }
}

/* Does the caller, going on at `consumed`, find the second event at its place? */
static bool next_is_found(const sequence *s, size_t consumed)
{
    size_t p = consumed;
    while (p < s->size && strchr(" \n,", s->text[p]) != NULL && s->text[p] != 0) p++;
    size_t next = s->first + 1;
    while (s->text[next] != '{') next++;
    return p == next;
}

static void test_json_repair__damage_in_one_event_leaves_the_next(void **state)
{
    (void)state;
    unsigned rounds = hd_test_rounds(6000);
    uint64_t seed = 88172645463325252u;
    size_t found = 0, broken = 0, broken_found = 0;
    hd_json_repair r = {.find_key = chrome_find_event_key};
    for (unsigned round = 0; round < rounds; round++) {
        sequence s;
        make_sequence(&s, round % EVENT_COUNT, &seed);
        damage(&s, &seed);
        size_t consumed = 0;
        bool is_broken = !hd_json_valid(s.text, s.first, 1000);
        hd_repair_outcome outcome = repair(&r, s.text, s.size, &consumed);
        bool ok = outcome == HD_REPAIR_DONE && next_is_found(&s, consumed);
        found += ok;
        broken += is_broken;
        broken_found += is_broken && ok;
        if (!ok && getenv("HD_TEST_VERBOSE"))
            printf("LOST at %zu of %zu: %.*s\n", consumed, s.first, (int)s.size, s.text);
    }
    print_message("next event intact: %.3f %% of all, %.3f %% of %zu that were not JSON any more\n",
                  100.0 * (double)found / rounds, 100.0 * (double)broken_found / (double)broken, broken);
    assert_true(broken_found * 1000 > broken * 995);
    hd_json_repair_deinit(&r);
}

static void test_json_repair__every_cut_of_an_event(void **state)
{
    (void)state;
    hd_json_repair r = {.find_key = chrome_find_event_key};
    for (size_t kind = 0; kind < EVENT_COUNT; kind++) {
        size_t size = strlen(events[kind]), consumed = 0, done = 0;
        for (size_t cut = 1; cut < size; cut++) {
            char *text = malloc(cut);
            hd_repair_outcome outcome;
            memcpy(text, events[kind], cut);
            assert_int_equal(hd_json_repair_object(&outcome, &consumed, &r, text, cut, false, NULL), HD_OK);
            assert_int_equal(outcome, HD_REPAIR_NEED_MORE);
            done += repair(&r, text, cut, &consumed) == HD_REPAIR_DONE;
            assert_int_equal(consumed, cut);
            assert_true(has_code(&r, "json.truncated"));
            free(text);
        }
        assert_true(done > size / 2);
    }
    hd_json_repair_deinit(&r);
}

static void expect_cut(const char *in, const char *out)
{
    hd_json_repair r = {.find_key = chrome_find_event_key};
    size_t consumed = 0;
    assert_int_equal(repair(&r, in, strlen(in), &consumed), out ? HD_REPAIR_DONE : HD_REPAIR_HOPELESS);
    if (out) {
        assert_int_equal(r.size, strlen(out));
        assert_memory_equal(r.text, out, r.size);
    }
    hd_json_repair_deinit(&r);
}

static void test_json_repair__cut_text_drops_the_last_member(void **state)
{
    (void)state;
    expect_cut("{\"a\": 1, \"b\": 2", "{\"a\": 1}");
    expect_cut("{\"a\": 1, \"b\": \"x", "{\"a\": 1}");
    expect_cut("{\"a\": 1, \"b\"", "{\"a\": 1}");
    expect_cut("{\"a\": 1, \"c\": {\"d\": 1, \"e\": [1, 2", "{\"a\": 1, \"c\": {\"d\": 1}}");
    expect_cut("{\"a\": 1, \"c\": [{\"d\": 1, ", "{\"a\": 1}");
    expect_cut("{\"a\": 12", NULL);
    expect_cut("{\"a\": 1,34", NULL);
}

static void test_json_repair__too_deep_a_value_becomes_null(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    static const char tail[] = "}, {\"ph\": \"X\"}]";
    static char text[2 * DEEP + 64];
    size_t size = (size_t)sprintf(text, "{\"a\": ");
    memset(text + size, '[', DEEP);
    memset(text + size + DEEP, ']', DEEP);
    size += 2 * DEEP;
    size += (size_t)sprintf(text + size, "%s", tail);
    hd_json_repair r = {.find_key = chrome_find_event_key};
    size_t consumed = 0;
    assert_int_equal(repair(&r, text, size, &consumed), HD_REPAIR_DONE);
    assert_true(has_code(&r, "json.depth"));
    assert_int_equal(consumed, size - strlen(tail) + 1);
    hd_json_repair_deinit(&r);
}

/* An event with a value of so many levels (with the event's own), in which something else is broken. */
static void expect_depth(int levels, char open, bool with_member)
{
    static const char next[] = ", {\"ph\": \"X\", \"ts\": 1}]";
    static char text[16 * HD_JSON_REPAIR_DEPTH];
    size_t size = (size_t)sprintf(text, "{\"ph\": \"X\", \"ts\": 007, \"deep\": ");
    for (int i = 1; i < levels; i++) size += (size_t)sprintf(text + size, "%s", open == '[' ? "[" : "{\"a\":");
    size += (size_t)sprintf(text + size, "%s", open == '[' ? "" : "1");
    for (int i = 1; i < levels; i++) text[size++] = open == '[' ? ']' : '}';
    size += (size_t)sprintf(text + size, "%s}", with_member ? ", \"behind\": 5" : "");
    size_t end = size, consumed = 0;
    size += (size_t)sprintf(text + size, "%s", next);
    hd_json_repair r = {.find_key = chrome_find_event_key};
    assert_int_equal(repair(&r, text, size, &consumed), HD_REPAIR_DONE);
    assert_int_equal(consumed, end);
    assert_int_equal(has_code(&r, "json.depth"), levels > HD_JSON_REPAIR_DEPTH);
    assert_false(has_code(&r, "json.stray"));
    assert_int_equal(r.issue_count, levels > HD_JSON_REPAIR_DEPTH ? 2 : 1);
    bool behind = r.size > 12 && memcmp(r.text + r.size - 12, "\"behind\": 5}", 12) == 0;
    assert_int_equal(behind, with_member);
    hd_json_repair_deinit(&r);
}

static void test_json_repair__a_value_at_the_depth_limit_leaves_its_neighbours(void **state)
{
    (void)state;
    for (int more = -2; more <= 5; more++) {
        for (int i = 0; i < 4; i++) expect_depth(HD_JSON_REPAIR_DEPTH + more, i & 1 ? '[' : '{', i & 2);
    }
}

static double seconds_of(void *context, size_t size)
{
    const char *unit = context;
    char *text = malloc(size);
    size_t unit_size = strlen(unit), consumed = 0;
    text[0] = '{';
    for (size_t i = 1; i < size; i++) text[i] = unit[(i - 1) % unit_size];
    hd_json_repair r = {.find_key = chrome_find_event_key};
    double start = hd_test_cpu_seconds();
    repair(&r, text, size, &consumed);
    double seconds = hd_test_cpu_seconds() - start;
    hd_json_repair_deinit(&r);
    free(text);
    return seconds;
}

static void test_json_repair__hostile_text_takes_linear_time(void **state)
{
    (void)state;
    static char *const units[] = {
        "\"",
        "\\",
        "\"a\":",
        "\"a\":{",
        "[",
        "]",
        "}",
        "{",
        "\"a\":[}",
        ",",
        ":",
        "'",
        "\n",
        " ",
        "/*",
        "//",
        "/",
        "a",
        "\xE2",
        "1",
        "\"\\",
        "\", ",
        "1 ",
        "\"a\":\"b\"c,\"d\":1,",
        "},{",
        "},{\"ph\":",
        "\"a\":\"x, \"b\":1",
        "\"a\":x\n\n\n\n\n\n\n\n\n",
        ", \"a\":1",
        "\"a\":[1,\"b\":",
        "]]]]]]]]}}}}[[[[[[{{{{{",
        "\"a\":\", \"b\":1, \"c\":1, \"d\":1, \"e\":1, \"f\": 1 ",
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        hd_test_assert_linear(units[i], seconds_of, units[i], 1 << 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_repair__valid_event_is_unchanged),
        cmocka_unit_test(test_json_repair__values_that_are_not_json),
        cmocka_unit_test(test_json_repair__strings_are_escaped),
        cmocka_unit_test(test_json_repair__quotes_in_names),
        cmocka_unit_test(test_json_repair__lost_quotes),
        cmocka_unit_test(test_json_repair__keys),
        cmocka_unit_test(test_json_repair__commas_and_comments),
        cmocka_unit_test(test_json_repair__brackets),
        cmocka_unit_test(test_json_repair__array_end_ends_the_event),
        cmocka_unit_test(test_json_repair__damage_in_one_event_leaves_the_next),
        cmocka_unit_test(test_json_repair__every_cut_of_an_event),
        cmocka_unit_test(test_json_repair__cut_text_drops_the_last_member),
        cmocka_unit_test(test_json_repair__too_deep_a_value_becomes_null),
        cmocka_unit_test(test_json_repair__a_value_at_the_depth_limit_leaves_its_neighbours),
        cmocka_unit_test(test_json_repair__hostile_text_takes_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
