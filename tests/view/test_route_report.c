/* test_route_report.c - reports over the scene: the list, cells, options, and what is refused */
#include "heddle/report.h"
#include "rounds.h"
#include "view/queries/queries.h"
#include "view/query_maker.h"

static const char text[] =
    "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":1000,\"dur\":5,"
    "\"args\":{"
    "\"correlation\":1}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"<b>gemm\",\"pid\":0,\"tid\":7,\"ts\":1010,\"dur\":10,\"args\":{"
    "\"correlation\":1,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add\",\"pid\":0,\"tid\":7,\"ts\":1030,\"dur\":2.5,\"args\":{"
    "\"device\":0,"
    "\"stream\":7}}]";

static void test_report__all_are_listed(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const char *answer = maker_ask(&m, view_route_reports, "");
    for (size_t i = 0; i < hd_report_count(); i++) {
        char name[80];
        snprintf(name, sizeof name, "\"name\":\"%s\"", hd_report_at(i)->name);
        if (hd_report_at(i)->table_option)
            assert_null(strstr(answer, name));
        else
            has(answer, name);
    }
    maker_close(&m);
}

/* Durations are ns, times count from the start of the trace, what is not known is null. */
static void test_report__cells_are_exact(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const char *answer = maker_ask(&m, view_route_report, "name=kernels");
    has(answer, "\"name\":\"kernels\"");
    has(answer, "\"count\":2");
    has(answer, "{\"name\":\"total\",\"type\":\"duration\"");
    has(answer,
        "[null,0,null,null,null,\"<b>gemm\",null,null,null,null,null,null,null,null,80,10000,1,10000,10000,10000,10000,"
        "null,null,null,null,1,null,null,null]");
    answer = maker_ask(&m, view_route_report, "name=timeline&width=1");
    has(answer, "[0,0,0,32500,12500,\"<b>gemm\",10000]"); /* the cell of stream 7 */
    maker_close(&m);
}

static void test_report__options_are_those_of_the_report(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    has(maker_ask(&m, view_route_report, "name=kernels&linked="), "\"count\":1");
    has(maker_ask(&m, view_route_report, "name=kernels&from=20000ns"), "\"add\"");
    has(maker_ask(&m, view_route_report, "name=kernels&of_steps=0"), "\"count\":0"); /* all are outside of steps */
    has(maker_ask(&m, view_route_report, "name=info&of_steps=-5,12"), "\"name\":\"tracks\"");
    has(maker_ask(&m, view_route_report, "name=kernels&by=stream"), "\"<b>gemm\",null,null,null,null,null,7,");
    maker_close(&m);
}

/* Each page requests the same; by the number of answers that are kept. */
static void test_report__an_answer_is_kept_by_its_options(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    view_queries *queries = view_scene_queries(m.scene);
    uint64_t before = queries->clock;
    char *first = strdup(maker_ask(&m, view_route_report, "name=kernels"));
    assert_int_equal(queries->answers[VIEW_KEPT_LONG][0].used, before + 1);
    assert_string_equal(maker_ask(&m, view_route_report, "name=kernels"), first);
    assert_int_equal(queries->answers[VIEW_KEPT_LONG][0].used, before + 2); /* recalled, not kept again */
    assert_null(queries->answers[VIEW_KEPT_LONG][1].question);
    assert_string_not_equal(maker_ask(&m, view_route_report, "name=kernels&by=stream"), first);
    assert_non_null(queries->answers[VIEW_KEPT_LONG][1].question);
    assert_null(maker_ask(&m, view_route_report, "name=kernels&by=bogus"));
    assert_null(queries->answers[VIEW_KEPT_LONG][2].question);
    free(first);
    maker_close(&m);
}

static void test_report__what_is_not_there_is_refused_in_words(void **state)
{
    (void)state;
    static const char *const queries[][2] = {
        {"name=kernel", "did you mean kernels?"},  {"", "no report"},
        {"name=kernels&bogus=1", "bogus"},         {"name=kernels&by=bogus", "bogus"},
        {"name=kernels&from=x", "is no time"},     {"name=kernels&of_steps=1,x", "a short list"},
        {"name=kernels&of_steps=", "a short list"}};
    maker m;
    maker_open(&m, text);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        assert_null(maker_ask(&m, view_route_report, queries[i][0]));
        assert_int_equal(m.status, HD_ERR_ARGUMENT);
        has(m.error.message, queries[i][1]);
    }
    maker_close(&m);
}

/* What html.js draws from, the page gets as well. */
static void test_report__a_table_says_how_it_is_drawn(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    has(maker_ask(&m, view_route_report, "name=kernels"), "\"chart\":\"bars\",\"label\":\"name\",\"values\":\"total\"");
    const char *queue = maker_ask(&m, view_route_report, "name=queue&series=");
    has(queue, "\"chart\":\"series\",\"label\":\"rank,device,stream\",\"values\":\"time,length\"");
    has_not(maker_ask(&m, view_route_report, "name=info"), "\"chart\":\"series\"");
    maker_close(&m);
}

/* Files of this machine are not the client's to name. */
static void test_report__no_option_names_a_file(void **state)
{
    (void)state;
    assert_true(view_option_is_allowed(HD_OPTION_FLAG));
    assert_true(view_option_is_allowed(HD_OPTION_TEXTS));
    assert_false(view_option_is_allowed(HD_OPTION_TRACE));
    assert_false(view_option_is_allowed((hd_option_kind)(HD_OPTION_TRACE + 1))); /* one that comes later */
    maker m;
    maker_open(&m, text);
    assert_null(maker_ask(&m, view_route_report, "name=clocks&ntp=/dev/null"));
    has(m.error.message, "ntp names a file");
    assert_null(maker_ask(&m, view_route_report, "name=clocks&mpisync=/dev/null"));
    has(m.error.message, "mpisync names a file");
    has_not(maker_ask(&m, view_route_reports, ""), "\"mpisync\"");
    maker_close(&m);
}

static void test_find__by_name_or_by_time(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const char *answer = maker_ask(&m, view_route_find, "name=<b>gemm");
    has(answer, "{\"count\":1,\"events\":[{\"row\":1,\"kind\":\"slice\"");
    has(answer, "\"start\":10000,\"duration\":10000");
    has(maker_ask(&m, view_route_find, "name=gemm"), "{\"count\":0,\"events\":[]}"); /* a part of a name is none */
    has(maker_ask(&m, view_route_find, "name=add&from=0&until=30000"), "\"count\":0");
    has(maker_ask(&m, view_route_find, "name=add&from=32499&until=40000"), "\"count\":1"); /* it touches */
    has(maker_ask(&m, view_route_find, "start=30000&duration=2500"), "\"row\":2");
    has(maker_ask(&m, view_route_find, "start=30000&duration=2499"), "\"count\":0");
    has(maker_ask(&m, view_route_find, "start=30001"), "\"count\":0");
    has(maker_ask(&m, view_route_find, "start=30000&name=<b>gemm"), "\"count\":0");
    has(maker_ask(&m, view_route_find, "start=20000"), "\"count\":0"); /* derived tracks only if they are named */
    for (uint32_t t = 0; t < view_scene_track_count(m.scene); t++) {
        char query[80];
        if (strcmp(view_scene_track(m.scene, t)->role, "idle") != 0) continue;
        snprintf(query, sizeof query, "name=idle&start=20000&duration=10000&tracks=%u", t);
        has(maker_ask(&m, view_route_find, query), "\"count\":1");
    }
    assert_null(maker_ask(&m, view_route_find, "duration=5"));
    has(m.error.message, "say which events");
    maker_close(&m);
}

/* The first in order of time are told, all are counted. */
static void test_find__tells_the_first(void **state)
{
    (void)state;
    maker m;
    uint64_t seed = hd_test_seed(7);
    char *many =
        random_text(&seed, (random_shape){.events = 4000, .threads = 9, .names = 3, .span = 5000, .longest = 90});
    maker_open(&m, many);
    uint64_t count = 0;
    int64_t first = INT64_MAX;
    for (uint32_t t = 0; t < view_scene_track_count(m.scene); t++) {
        const view_track *track = view_scene_track(m.scene, t);
        size_t size;
        if (track->kind != VIEW_SLICES || track->derived) continue;
        view_slice *slices = slices_of(m.scene, t, &size);
        for (size_t i = 0; i < size; i++) {
            hd_string name = view_scene_text(m.scene, slices[i].name);
            if (name.size != 6 || memcmp(name.data, "Name 1", 6) != 0) continue;
            count++;
            if (slices[i].start_ns < first) first = slices[i].start_ns;
        }
        free(slices);
    }
    const char *answer = maker_ask(&m, view_route_find, "name=Name 1&limit=5");
    assert_int_equal(number_of(answer, "count"), count);
    assert_int_equal(number_of(answer, "start"), first - view_scene_start(m.scene));
    size_t told = 0;
    for (const char *at = answer; (at = strstr(at, "\"row\"")); at++) told++;
    assert_int_equal(told, 5);
    maker_close(&m);
    free(many);
}

static const view_track *made(maker *m, const char *query, size_t count)
{
    const char *answer = maker_ask(m, view_route_report_tracks, query);
    if (!answer) fail_msg("%s: %s", query, m->error.message);
    has(answer, "{\"tracks\": [");
    size_t ids = strstr(answer, "[]") ? 0 : 1;
    for (const char *at = answer; *at != ']'; at++) ids += *at == ',';
    assert_int_equal(ids, count);
    return view_scene_track(m->scene, (uint32_t)strtoul(strchr(answer, '[') + 1, NULL, 10));
}

static void test_tracks__a_table_of_times_is_slices(void **state)
{
    (void)state;
    maker m;
    view_slice slices[3];
    maker_open(&m, text);
    uint64_t revision = view_session_revision(m.session);
    const view_track *track = made(&m, "name=idle&table=gaps", 1);
    assert_true(view_session_revision(m.session) > revision);
    assert_string_equal(track->name, "idle: gaps");
    assert_non_null(strstr(track->detail, "heddle report idle`, table gaps: the longest gaps."));
    assert_true(track->derived && track->device == 0 && track->event_count == 1);
    assert_int_equal(view_row_read(slices, &track->rows.rows[0], m.trace, 0, 3), 1);
    assert_int_equal(slices[0].start_ns - view_scene_start(m.scene), 20000);
    assert_int_equal(slices[0].end_ns - slices[0].start_ns, 10000);
    assert_int_equal(view_scene_text(m.scene, slices[0].name).size, 7); /* its cause: unknown, as nothing launched it */
    assert_ptr_equal(made(&m, "name=idle&table=gaps", 1), track);
    assert_ptr_not_equal(made(&m, "name=idle&table=gaps&until=25000ns", 1), track);
    maker_close(&m);
}

static void test_tracks__a_table_of_values_is_a_counter(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, text);
    const view_track *track = made(&m, "name=queue&table=queue_length&series=", 1);
    const view_series *series = &track->series[0];
    assert_string_equal(track->name, "queue length, stream 7");
    assert_true(track->kind == VIEW_COUNTER && track->stream == 7);
    assert_int_equal(series->count, 2); /* launched at 0, begun at 10 us */
    assert_int_equal(series->times_ns[0] - view_scene_start(m.scene), 0);
    assert_int_equal(series->times_ns[1] - view_scene_start(m.scene), 10000);
    assert_true(series->values[0] == 1 && series->values[1] == 0 && series->max == 1);
    maker_close(&m);
}

static void test_tracks__what_has_no_times_is_none(void **state)
{
    (void)state;
    static const char *const queries[][2] = {{"name=kernels&table=kernels", "it cannot be a track"},
                                             {"name=queue&table=queue_length", "without an option"},
                                             {"name=idle&table=bogus", "no table 'bogus'"},
                                             {"name=idle", "no table ''"},
                                             {"table=idle", "no table"},
                                             {"name=communication&table=collectives", "no row with a time"},
                                             {"name=idle&table=gaps&bogus=1", "bogus"}};
    maker m;
    maker_open(&m, text);
    uint32_t count = view_scene_track_count(m.scene);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        assert_null(maker_ask(&m, view_route_report_tracks, queries[i][0]));
        assert_int_equal(m.status, HD_ERR_ARGUMENT);
        has(m.error.message, queries[i][1]);
    }
    assert_int_equal(view_scene_track_count(m.scene), count);
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report__all_are_listed),
        cmocka_unit_test(test_report__an_answer_is_kept_by_its_options),
        cmocka_unit_test(test_report__cells_are_exact),
        cmocka_unit_test(test_report__options_are_those_of_the_report),
        cmocka_unit_test(test_report__what_is_not_there_is_refused_in_words),
        cmocka_unit_test(test_report__a_table_says_how_it_is_drawn),
        cmocka_unit_test(test_report__no_option_names_a_file),
        cmocka_unit_test(test_find__by_name_or_by_time),
        cmocka_unit_test(test_find__tells_the_first),
        cmocka_unit_test(test_tracks__a_table_of_times_is_slices),
        cmocka_unit_test(test_tracks__a_table_of_values_is_a_counter),
        cmocka_unit_test(test_tracks__what_has_no_times_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
