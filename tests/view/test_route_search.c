/* test_route_search.c - what matches, how many events, and from one to the next */
#include "query_maker.h"

#include "rounds.h"
#include "view/search/search.h"

/* ---- patterns ---- */

static bool matches(const char *pattern, view_search_mode mode, bool match_case, const char *text)
{
    static view_matcher m;
    hd_error err = {0};
    assert_int_equal(view_matcher_init(&m, pattern, mode, match_case, &err), HD_OK);
    bool found = view_matches(&m, text, strlen(text));
    view_matcher_deinit(&m);
    return found;
}

static void test_search__text_matches_a_part_whatever_the_case_of_ascii(void **state)
{
    char text[5000];
    (void)state;
    assert_true(matches("GEMM", VIEW_SEARCH_TEXT, false, "ampere_sgemm_128"));
    assert_false(matches("GEMM", VIEW_SEARCH_TEXT, true, "ampere_sgemm_128"));
    assert_true(matches("@[`{", VIEW_SEARCH_TEXT, false, "a@[`{b")); /* the neighbours of the letters */
    assert_false(matches("@[", VIEW_SEARCH_TEXT, false, "`{"));
    assert_true(matches("\xc3\xa4\xc3\x9f", VIEW_SEARCH_TEXT, false,
                        "Gr\xc3\xa4\xc3\x9f"
                        "e"));
    assert_false(matches("\xc3\xa4", VIEW_SEARCH_TEXT, false, "\xc3\x84"));
    assert_false(matches("long", VIEW_SEARCH_TEXT, false, "lon"));
    for (size_t at = 2040; at < 2056; at++) { /* over the end of a piece */
        memset(text, 'x', sizeof text);
        memcpy(text + at, "NeEdLe", 6);
        text[4999] = '\0';
        assert_true(matches("needle", VIEW_SEARCH_TEXT, false, text));
    }
}

static void test_search__globs_match_whole_names(void **state)
{
    (void)state;
    assert_true(matches("*gemm*", VIEW_SEARCH_GLOB, false, "ampere_SGEMM_128"));
    assert_false(matches("gemm", VIEW_SEARCH_GLOB, false, "sgemm"));
    assert_true(matches("aten::[a-c]?d", VIEW_SEARCH_GLOB, true, "aten::bad"));
    assert_false(matches("aten::[!a-c]?d", VIEW_SEARCH_GLOB, true, "aten::bad"));
    assert_true(matches("[]x]", VIEW_SEARCH_GLOB, true, "]"));
    assert_true(matches("[x", VIEW_SEARCH_GLOB, true, "[x"));
    assert_true(matches("a\\*b", VIEW_SEARCH_GLOB, true, "a*b"));
    assert_false(matches("a\\*b", VIEW_SEARCH_GLOB, true, "axb"));
    assert_true(matches("*", VIEW_SEARCH_GLOB, true, ""));
    assert_true(matches("a*b*c", VIEW_SEARCH_GLOB, true, "a b b c c"));
    assert_false(matches("a*b*c", VIEW_SEARCH_GLOB, true, "a b b c d"));
}

static void test_search__a_glob_of_many_stars_takes_no_time(void **state)
{
    char text[30001];
    (void)state;
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", VIEW_SEARCH_GLOB, true, text));
}

static void test_search__hostile_regular_expressions_are_refused_or_short(void **state)
{
    static view_matcher m;
    hd_error err = {0};
    char text[20001], nested[1000];
    (void)state;
    assert_int_equal(view_matcher_init(&m, "(a{1,200}){1,200}", VIEW_SEARCH_REGEX, false, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "braces"));
    memset(&err, 0, sizeof err);
    assert_int_equal(view_matcher_init(&m, "(a*)\\1", VIEW_SEARCH_REGEX, false, &err), HD_ERR_ARGUMENT);
    memset(&err, 0, sizeof err);
    assert_int_equal(view_matcher_init(&m, "(open", VIEW_SEARCH_REGEX, false, &err), HD_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "no regular expression"));
    memset(&err, 0, sizeof err);
    assert_int_equal(view_matcher_init(&m, "", VIEW_SEARCH_TEXT, false, &err), HD_ERR_ARGUMENT);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memset(&err, 0, sizeof err);
    assert_int_equal(view_matcher_init(&m, text, VIEW_SEARCH_TEXT, false, &err), HD_ERR_ARGUMENT);
    assert_false(matches("(a*)*b", VIEW_SEARCH_REGEX, false, text));
    assert_false(matches("(a|aa)+$b", VIEW_SEARCH_REGEX, false, text));
    memset(nested, '(', 300);
    memset(nested + 300, 'a', 1);
    for (int i = 0; i < 300; i++) memcpy(nested + 301 + 2 * i, ")*", 2);
    nested[901] = '\0';
    assert_true(matches(nested, VIEW_SEARCH_REGEX, false, "aaa"));
}

static void test_search__regular_expressions_find_parts(void **state)
{
    (void)state;
    assert_true(matches("^aten::(add|mul)_?$", VIEW_SEARCH_REGEX, true, "aten::mul_"));
    assert_false(matches("^aten::(add|mul)_?$", VIEW_SEARCH_REGEX, true, "aten::mulx"));
    assert_true(matches("SGEMM", VIEW_SEARCH_REGEX, false, "ampere_sgemm"));
    assert_true(matches("[{}]{2}", VIEW_SEARCH_REGEX, false, "a{}"));
}

/* ---- searches ---- */

static int by_hit(const void *a, const void *b)
{
    return view_hit_compare(a, b);
}

/* Every event whose name ends with a digit, or (in args) whose step is that digit. */
static view_hit *expected_hits(const maker *m, bool names, bool args, unsigned digit, size_t *out_count)
{
    static const hd_kind kinds[] = {HD_KIND_SLICE, HD_KIND_INSTANT};
    view_hit *hits = malloc(((size_t)hd_trace_event_count(m->trace) + 1) * sizeof *hits);
    uint32_t step = hd_trace_find_string(m->trace, "step", 4), word = hd_trace_find_string(m->trace, "Kind", 4);
    *out_count = 0;
    for (int k = 0; k < 2; k++) {
        for (uint64_t row = 0; row < hd_trace_row_count(m->trace, kinds[k]); row++) {
            uint32_t at;
            hd_event e;
            hd_value value = {0};
            const hd_block *block = hd_trace_block_of(&at, m->trace, kinds[k], row);
            hd_block_event(&e, block, at);
            hd_string name = hd_trace_string(m->trace, e.name);
            bool hit = names && name.data[name.size - 1] == (char)('0' + digit);
            if (args && hd_event_arg(&value, m->trace, &e, step) && value.bits == digit) hit = true;
            if (args && hd_event_arg(&value, m->trace, &e, word) &&
                hd_trace_string(m->trace, (uint32_t)value.bits).data[1] == (char)('0' + digit))
                hit = true;
            if (hit) hits[(*out_count)++] = (view_hit){e.start_ns, kinds[k], (uint32_t)row};
        }
    }
    qsort(hits, *out_count, sizeof *hits, by_hit);
    return hits;
}

static void check_search(maker *m, view_search_in in, unsigned digit)
{
    char text[] = {(char)('0' + digit), '\0'};
    view_search_query query = {.text = text, .in = in, .track = HD_NONE};
    view_search *search;
    size_t count;
    hd_error err = {0};
    view_hit *hits = expected_hits(m, in != VIEW_IN_ARGS, in != VIEW_IN_NAMES, digit, &count);
    assert_int_equal(view_search_new(&search, m->scene, &query, 3, NULL, &err), HD_OK);
    assert_int_equal(search->count, count);
    assert_false(search->more);
    uint64_t buckets = 0, tracks = 0;
    for (int i = 0; i < VIEW_BUCKETS; i++) buckets += search->buckets[i];
    for (uint32_t t = 0; t < search->tracks; t++) tracks += search->track_hits[t];
    assert_int_equal(buckets, count);
    assert_int_equal(tracks, count);
    view_hit from = {INT64_MIN, HD_KIND_SLICE, 0};
    for (size_t i = 0; i <= count; i++) { /* from hit to hit to the end */
        view_search_step step;
        assert_int_equal(view_search_step_from(&step, search, &from, i > 0, &err), HD_OK);
        assert_int_equal(step.has_next, i < count);
        assert_int_equal(step.has_previous, i > 1);
        if (i > 1) assert_int_equal(view_hit_compare(&step.previous, &hits[i - 2]), 0);
        if (i == count) break;
        assert_int_equal(step.index, i);
        assert_int_equal(view_hit_compare(&step.next, &hits[i]), 0);
        from = step.next;
    }
    view_search_free(search);
    free(hits);
}

static void test_search__every_hit_is_found_and_stepped_through(void **state)
{
    uint64_t seed = hd_test_seed(5);
    (void)state;
    for (int round = 0; round < 4; round++) {
        random_shape shape = {.events = 200, .threads = 3, .names = 9, .span = 300, .longest = 40};
        char *text = random_text(&seed, shape);
        maker m;
        maker_open(&m, text);
        for (int in = VIEW_IN_NAMES; in <= VIEW_IN_ALL; in++) {
            check_search(&m, (view_search_in)in, random_next(&seed) % 9);
            check_search(&m, (view_search_in)in, 1);
        }
        maker_close(&m);
        free(text);
    }
}

static void test_search__steps_over_many_blocks(void **state)
{
    uint64_t seed = hd_test_seed(8);
    (void)state;
    random_shape shape = {.events = 150000, .threads = 2, .names = 40000, .span = 30000000, .longest = 40};
    char *text = random_text(&seed, shape);
    maker m;
    view_search *search;
    hd_error err = {0};
    maker_open(&m, text);
    view_search_query query = {.text = "name 777", .track = HD_NONE};
    assert_int_equal(view_search_new(&search, m.scene, &query, 2, NULL, &err), HD_OK);
    assert_true(search->count > 20);
    view_hit from = {INT64_MIN, HD_KIND_SLICE, 0};
    view_search_step step;
    uint64_t count = 0;
    for (;; count++) {
        assert_int_equal(view_search_step_from(&step, search, &from, count > 0, &err), HD_OK);
        if (!step.has_next) break;
        assert_int_equal(step.index, count);
        if (count) assert_true(view_hit_compare(&step.next, &from) > 0);
        from = step.next;
    }
    assert_int_equal(count, search->count);
    view_search_free(search);
    maker_close(&m);
    free(text);
}

static const char small[] =
    "[{\"ph\":\"X\",\"name\":\"gemm\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5,\"args\":{\"size\":128.50,\"x\":"
    "\"Hello\"}},"
    "{\"ph\":\"X\",\"name\":\"GEMM\",\"pid\":1,\"tid\":2,\"ts\":20,\"dur\":5},"
    "{\"ph\":\"i\",\"name\":\"gemm mark\",\"pid\":1,\"tid\":1,\"ts\":30},"
    "{\"ph\":\"b\",\"name\":\"gemm async\",\"cat\":\"a\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":40},"
    "{\"ph\":\"e\",\"name\":\"gemm async\",\"cat\":\"a\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":50},"
    "{\"ph\":\"C\",\"name\":\"gemm counter\",\"pid\":1,\"ts\":60,\"args\":{\"a\":1}},"
    "{\"ph\":\"X\",\"name\":\"other\",\"pid\":1,\"tid\":2,\"ts\":70,\"dur\":5}]";

static void test_search__all_kinds_are_searched_and_ends_do_not_count_twice(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    has(maker_ask(&m, view_route_search, "q=gemm"), "\"count\":5,\"more\":false");
    has(m.reply.json.data, "\"names_count\":5");
    has(m.reply.json.data, "\"next\":{\"row\":0,\"kind\":\"slice\"");
    has(m.reply.json.data, "\"index\":0");
    has_not(m.reply.json.data, "\"previous\"");
    has(maker_ask(&m, view_route_search, "q=gemm&case=1"), "\"count\":4");
    has(maker_ask(&m, view_route_search, "q=gemm&mode=glob"), "\"count\":2");
    has(maker_ask(&m, view_route_search, "q=^g.*m$&mode=regex&case=1"), "\"count\":1");
    has(maker_ask(&m, view_route_search, "q=nothing"), "\"count\":0");
    maker_close(&m);
}

static void test_search__steps_go_on_behind_a_row_and_before_it(void **state)
{
    maker m;
    char query[64];
    (void)state;
    maker_open(&m, small);
    snprintf(query, sizeof query, "q=gemm&from=%d&row=1&kind=slice", 10000); /* relative to the first event */
    const char *answer = maker_ask(&m, view_route_search, query);
    has(answer, "\"next\":{\"row\":0,\"kind\":\"instant\"");
    has(answer, "\"previous\":{\"row\":0,\"kind\":\"slice\"");
    has(answer, "\"index\":2");
    has(maker_ask(&m, view_route_search, "q=gemm&from=999999999"), "\"previous\":{\"row\":0,\"kind\":\"counter\"");
    maker_close(&m);
}

static void test_search__arguments_match_by_key_text_and_number(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    has(maker_ask(&m, view_route_search, "q=128.50&in=args"), "\"count\":1");
    has(maker_ask(&m, view_route_search, "q=128.500&in=args"), "\"count\":0");
    has(maker_ask(&m, view_route_search, "q=hello&in=args"), "\"count\":1");
    has(maker_ask(&m, view_route_search, "q=size&in=args"), "\"count\":1");
    has(maker_ask(&m, view_route_search, "q=size"), "\"count\":0");
    has(maker_ask(&m, view_route_search, "q=e&in=all"), "\"count\":6");
    maker_close(&m);
}

static void test_search__conditions_are_of_durations_and_arguments(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"name\":\"gemm a\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"args\":{\"stream\":7,\"f\":1.50}},"
        "{\"ph\":\"X\",\"name\":\"gemm "
        "b\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":2,\"args\":{\"stream\":77,\"on\":true}},"
        "{\"ph\":\"X\",\"name\":\"copy\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":3,\"args\":{\"stream\":\"Seven\",\"f\":"
        "2}},"
        "{\"ph\":\"B\",\"name\":\"gemm open\",\"pid\":1,\"tid\":2,\"ts\":25},"
        "{\"ph\":\"i\",\"name\":\"gemm mark\",\"pid\":1,\"tid\":1,\"ts\":30,\"args\":{\"stream\":7}}]";
    static const struct {
        const char *query;
        int count, names;
    } asked[] = {
        {"q=dur>0ns", 3, 3},
        {"q=dur>=2us", 2, 2},
        {"q=dur>2us", 1, 1},
        {"q=dur<2us", 1, 1},
        {"q=dur<=2us", 2, 2},
        {"q=dur>=2us dur<3us", 1, 1},
        {"q=gemm dur>=2us", 1, 1},
        {"q=dur>=2us gemm", 1, 1},
        {"q=gemm a dur<1s", 1, 1},
        {"q=dur>1999ns", 2, 2},
        {"q=dur>2000ns", 1, 1},
        {"q=arg:stream=7", 2, 2},
        {"q=arg:stream=7*", 3, 3},
        {"q=arg:stream=seven", 1, 1},
        {"q=arg:stream=seven&case=1", 0, 0},
        {"q=arg:f=1.50", 1, 1},
        {"q=arg:f=1.5", 0, 0},
        {"q=arg:on=true", 1, 1},
        {"q=arg:none=1", 0, 0},
        {"q=arg:stream=7 arg:f=*", 1, 1},
        {"q=gemm arg:stream=7 dur>1ns", 1, 1},
        {"q=^gemm.*b$ dur>1ns&mode=regex", 1, 1},
        {"q=arg:stream", 0, 0},
        {"q=stream dur>1us&in=args", 2, 0},
        {"q=durable", 0, 0},
    };
    maker m;
    char wanted[64];
    (void)state;
    maker_open(&m, text);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        snprintf(wanted, sizeof wanted, "\"count\":%d,", asked[i].count);
        has(maker_ask(&m, view_route_search, asked[i].query), wanted);
        snprintf(wanted, sizeof wanted, "\"names_count\":%d", asked[i].names);
        has(m.reply.json.data, wanted);
    }
    static const char *const refused[] = {"q=dur>1", "q=dur>", "q=dur>=x", "q=dur>5%25",
                                          "q=arg:a=1 arg:b=1 arg:c=1 arg:d=1 arg:e=1"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_null(maker_ask(&m, view_route_search, refused[i]));
        assert_int_equal(m.status, HD_ERR_ARGUMENT);
    }
    maker_close(&m);
}

static void test_search__one_track_or_section_alone(void **state)
{
    maker m;
    char query[64];
    (void)state;
    maker_open(&m, small);
    uint32_t row_of = view_scene_track_of_event(m.scene, HD_KIND_SLICE, 1);
    snprintf(query, sizeof query, "q=gemm&track=%u", row_of);
    has(maker_ask(&m, view_route_search, query), "\"count\":1");
    snprintf(query, sizeof query, "q=gemm&track=%u", view_scene_track(m.scene, row_of)->parent);
    has(maker_ask(&m, view_route_search, query), "\"count\":5");
    maker_close(&m);
}

static void test_search__nonsense_is_refused(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    assert_null(maker_ask(&m, view_route_search, "q="));
    assert_null(maker_ask(&m, view_route_search, "mode=text"));
    assert_null(maker_ask(&m, view_route_search, "q=a&mode=magic"));
    assert_non_null(strstr(m.error.message, "magic"));
    assert_null(maker_ask(&m, view_route_search, "q=(&mode=regex"));
    assert_int_equal(m.status, HD_ERR_ARGUMENT);
    assert_null(maker_ask(&m, view_route_search, "q=a&row=1"));
    assert_null(maker_ask(&m, view_route_search, "q=a&track=77"));
    maker_close(&m);
    maker_open(&m, "[]");
    has(maker_ask(&m, view_route_search, "q=a"), "\"count\":0");
    maker_close(&m);
}

/* Adding up what names have gives what a walk over the events of each track gives. */
static void test_search__the_index_of_names_says_what_a_walk_says(void **state)
{
    uint64_t seed = hd_test_seed(2024);
    hd_error err = {0};
    (void)state;
    for (int round = 0; round < 6; round++) {
        random_shape shape = {
            .events = 1 + random_next(&seed) % 3000, .threads = 4, .names = 30, .span = 5000, .longest = 80};
        char *text = random_text(&seed, shape);
        maker m;
        view_search *all, *part;
        view_search_query query = {.text = "3", .track = HD_NONE};
        uint32_t buckets[VIEW_BUCKETS] = {0};
        uint64_t count = 0;
        maker_open(&m, text);
        assert_non_null(view_scene_note(m.scene, VIEW_NOTE_SEARCH));
        assert_int_equal(view_search_new(&all, m.scene, &query, 2, NULL, &err), HD_OK);
        for (uint32_t t = 0; t < view_scene_track_count(m.scene); t++) {
            if (view_scene_track(m.scene, t)->kind == VIEW_SECTION || view_scene_track(m.scene, t)->derived) continue;
            query.track = t; /* walks */
            assert_int_equal(view_search_new(&part, m.scene, &query, 2, NULL, &err), HD_OK);
            for (int i = 0; i < VIEW_BUCKETS; i++) buckets[i] += part->buckets[i];
            assert_int_equal(part->count, all->track_hits[t]);
            count += part->count;
            view_search_free(part);
        }
        assert_int_equal(all->count, count);
        assert_memory_equal(all->buckets, buckets, sizeof buckets);
        view_search_free(all);
        maker_close(&m);
        free(text);
    }
}

/* More names than are told one by one: the ranges have all of them, and no other. */
static void test_search__ranges_of_names_have_all_that_match(void **state)
{
    (void)state;
    enum { NAMES = 4000, TOLD = 1000 };
    hd_json_out text = {0};
    char line[160];
    uint64_t seed = hd_test_seed(6);
    hd_json_put_text(&text, "[");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(line, sizeof line, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":1,\"name\":\"%s %u\"}",
                 i ? "," : "", 2 * i, random_next(&seed) % 3 ? "wanted" : "other", i);
        hd_json_put_text(&text, line);
    }
    hd_json_put_text(&text, "]");
    hd_json_put(&text, "", 1);
    maker m;
    maker_open(&m, text.data);
    free(text.data);
    const char *answer = maker_ask(&m, view_route_search, "q=wanted"), *at = strstr(answer, "\"name_ranges\":\"");
    assert_non_null(at);
    uint32_t end = view_scene_name_count(m.scene), matching = 0, told = 0;
    uint8_t *in_ranges = calloc(end + 1, 1);
    for (at += 15; *at != '"'; at += *at == ',') {
        char *behind;
        uint32_t first = (uint32_t)strtoul(at, &behind, 10), last = first;
        if (*behind == '-') last = (uint32_t)strtoul(behind + 1, &behind, 10);
        assert_true(behind > at && first <= last && last < end);
        for (uint32_t name = first; name <= last; name++) in_ranges[name]++;
        at = behind;
    }
    for (uint32_t name = 0; name < end; name++) {
        hd_string of = view_scene_text(m.scene, name);
        bool matches_it = of.size > 6 && memcmp(of.data, "wanted", 6) == 0;
        assert_int_equal(in_ranges[name], matches_it);
        matching += matches_it;
    }
    assert_true(matching > 2 * TOLD);
    assert_int_equal(number_of(answer, "names_count"), matching);
    assert_int_equal(number_of(answer, "count"), matching);
    for (at = strstr(answer, "\"names\":["); at && *at && *at != ']'; at++) told += *at == ',' || *at == '[';
    assert_int_equal(told, TOLD);
    free(in_ranges);
    has_not(maker_ask(&m, view_route_search, "q=wanted 12"), "name_ranges");
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search__text_matches_a_part_whatever_the_case_of_ascii),
        cmocka_unit_test(test_search__globs_match_whole_names),
        cmocka_unit_test(test_search__a_glob_of_many_stars_takes_no_time),
        cmocka_unit_test(test_search__hostile_regular_expressions_are_refused_or_short),
        cmocka_unit_test(test_search__regular_expressions_find_parts),
        cmocka_unit_test(test_search__every_hit_is_found_and_stepped_through),
        cmocka_unit_test(test_search__steps_over_many_blocks),
        cmocka_unit_test(test_search__all_kinds_are_searched_and_ends_do_not_count_twice),
        cmocka_unit_test(test_search__steps_go_on_behind_a_row_and_before_it),
        cmocka_unit_test(test_search__arguments_match_by_key_text_and_number),
        cmocka_unit_test(test_search__conditions_are_of_durations_and_arguments),
        cmocka_unit_test(test_search__one_track_or_section_alone),
        cmocka_unit_test(test_search__nonsense_is_refused),
        cmocka_unit_test(test_search__the_index_of_names_says_what_a_walk_says),
        cmocka_unit_test(test_search__ranges_of_names_have_all_that_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
