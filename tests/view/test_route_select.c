/* test_route_select.c - the table of a range against a count of every event and every nanosecond */
#include "query_maker.h"

#include "rounds.h"
#include "view/select/select.h"

enum { SPAN_US = 400 };

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether a slice is among those that touch [from, until). */
static bool touches(const view_slice *s, int64_t from, int64_t until)
{
    return s->start_ns < until && (s->end_ns > from || s->start_ns >= from);
}

/* What a name has, worked out by hand. */
static void expect_name(view_select_name *out, const view_scene *scene, const uint32_t *tracks, size_t track_count,
                        uint32_t name, int64_t from, int64_t until)
{
    static int64_t lengths[20000];
    double sum = 0;
    *out = (view_select_name){.name = name, .min_ns = INT64_MAX, .max_ns = -1};
    for (size_t t = 0; t < track_count; t++) {
        size_t count;
        view_slice *slices = slices_of(scene, tracks[t], &count);
        for (size_t i = 0; i < count; i++) {
            const view_slice *s = &slices[i];
            int64_t length = s->end_ns - s->start_ns;
            if (s->name != name || !touches(s, from, until)) continue;
            int64_t a = s->start_ns > from ? s->start_ns : from, b = s->end_ns < until ? s->end_ns : until;
            lengths[out->count++] = length;
            sum += (double)length;
            if (b > a) out->total_ns += b - a;
            if (length < out->min_ns) out->min_ns = length;
            if (length > out->max_ns) out->max_ns = length;
        }
        for (int64_t us = from / 1000; us < until / 1000; us++) { /* all times are whole microseconds */
            const view_slice *top = NULL;
            for (size_t i = 0; i < count; i++) {
                if (slices[i].start_ns <= us * 1000 && slices[i].end_ns > us * 1000) top = &slices[i];
            }
            if (top && top->name == name) out->self_ns += 1000;
        }
        free(slices);
    }
    if (!out->count) return;
    qsort(lengths, (size_t)out->count, sizeof *lengths, by_length);
    out->mean_ns = sum / (double)out->count;
    out->p50_ns = lengths[(out->count * 50 + 99) / 100 - 1];
    out->p99_ns = lengths[(out->count * 99 + 99) / 100 - 1];
}

static void expect_union(view_selection *out, const view_scene *scene, const uint32_t *tracks, size_t track_count,
                         int64_t from, int64_t until)
{
    int64_t gap_from = from;
    *out = (view_selection){0};
    for (int64_t us = from / 1000; us <= until / 1000; us++) {
        bool busy = us == until / 1000;
        for (size_t t = 0; t < track_count && !busy; t++) {
            size_t count;
            view_slice *slices = slices_of(scene, tracks[t], &count);
            for (size_t i = 0; i < count && !busy; i++)
                busy = slices[i].start_ns <= us * 1000 && slices[i].end_ns > us * 1000;
            free(slices);
        }
        if (!busy) continue;
        if (us * 1000 > gap_from) {
            out->gap_count++;
            if (us * 1000 - gap_from > out->gaps[0].length_ns)
                out->gaps[0] = (view_gap){gap_from, us * 1000 - gap_from};
        }
        gap_from = (us + 1) * 1000;
        if (us < until / 1000) out->busy_ns += 1000;
    }
}

static void check_range(const view_scene *scene, const uint32_t *tracks, size_t count, int64_t from, int64_t until)
{
    view_selection found, expected;
    hd_error err = {0};
    uint64_t events = 0;
    assert_int_equal(view_select(&found, scene, tracks, count, from, until, 3, NULL, &err), HD_OK);
    assert_int_equal(view_select_union(&found, scene, tracks, count, from, until, 3, NULL, &err), HD_OK);
    for (size_t i = 0; i < found.name_count; i++) {
        view_select_name is = found.names[i], must;
        expect_name(&must, scene, tracks, count, is.name, from, until);
        assert_int_equal(is.count, must.count);
        assert_int_equal(is.total_ns, must.total_ns);
        assert_int_equal(is.self_ns, must.self_ns);
        assert_int_equal(is.min_ns, must.min_ns);
        assert_int_equal(is.max_ns, must.max_ns);
        assert_int_equal(is.p50_ns, must.p50_ns);
        assert_int_equal(is.p99_ns, must.p99_ns);
        assert_true(is.mean_ns > must.mean_ns - 1 && is.mean_ns < must.mean_ns + 1);
        events += is.count;
    }
    assert_int_equal(found.events, events);
    expect_union(&expected, scene, tracks, count, from, until);
    assert_int_equal(found.busy_ns, expected.busy_ns);
    assert_int_equal(found.gap_count, expected.gap_count);
    assert_int_equal(found.gaps[0].start_ns, expected.gaps[0].start_ns);
    assert_int_equal(found.gaps[0].length_ns, expected.gaps[0].length_ns);
    view_selection_deinit(&found);
}

static size_t event_tracks(uint32_t *out, const view_scene *scene)
{
    size_t count = 0;
    for (uint32_t t = 0; t < view_scene_track_count(scene); t++) {
        const view_track *track = view_scene_track(scene, t);
        if (track->kind == VIEW_SLICES && !track->derived) out[count++] = t;
    }
    return count;
}

static void test_select__tables_of_random_traces_are_what_every_event_says(void **state)
{
    uint64_t seed = hd_test_seed(7);
    (void)state;
    for (int round = 0; round < 16; round++) { /* of the last ones, most tracks have slices that all nest */
        random_shape shape = {.events = 1 + random_next(&seed) % 120,
                              .threads = round < 12 ? 1 + random_next(&seed) % 3 : 24,
                              .names = 5,
                              .span = SPAN_US,
                              .longest = round % 3 ? 60 : 300};
        char *text = random_text(&seed, shape);
        maker m;
        uint32_t tracks[64];
        maker_open(&m, text);
        size_t count = event_tracks(tracks, m.scene);
        check_range(m.scene, tracks, count, 0, SPAN_US * 2000);
        for (int i = 0; i < 4; i++) {
            int64_t from = random_next(&seed) % SPAN_US, length = random_next(&seed) % SPAN_US;
            check_range(m.scene, tracks, 1 + random_next(&seed) % count, from * 1000, (from + length) * 1000);
        }
        maker_close(&m);
        free(text);
    }
}

static void test_select__a_track_cut_into_many_pieces_says_the_same(void **state)
{
    uint64_t seed = hd_test_seed(99);
    hd_error err = {0};
    (void)state;
    random_shape shape = {.events = 700000, .threads = 1, .names = 40, .span = 40000000, .longest = 90};
    char *text = random_text(&seed, shape);
    maker m;
    uint32_t tracks[64];
    view_selection one, many;
    maker_open(&m, text);
    size_t count = event_tracks(tracks, m.scene);
    int64_t start = view_scene_start(m.scene), end = start + view_scene_span(m.scene) + 1, middle = start + 17000000;
    assert_int_equal(view_select(&many, m.scene, tracks, count, start, end, 4, NULL, &err), HD_OK);
    assert_int_equal(view_select_union(&many, m.scene, tracks, count, start, end, 4, NULL, &err), HD_OK);
    assert_int_equal(many.events, 700000);
    int64_t self = 0, busy = 0, halves = 0;
    for (size_t i = 0; i < many.name_count; i++) self += many.names[i].self_ns;
    for (size_t t = 0; t < count; t++) busy += view_scene_track(m.scene, tracks[t])->busy_ns;
    assert_int_equal(self, busy);         /* however the pieces were cut */
    assert_int_equal(many.busy_ns, busy); /* instants have no length */
    for (int half = 0; half < 2; half++) {
        assert_int_equal(
            view_select(&one, m.scene, tracks, count, half ? middle : start, half ? end : middle, 1, NULL, &err),
            HD_OK);
        for (size_t i = 0; i < one.name_count; i++) halves += one.names[i].self_ns;
        view_selection_deinit(&one);
    }
    assert_int_equal(halves, busy);
    view_selection_deinit(&many);
    maker_close(&m);
    free(text);
}

static void test_select__ranks_are_those_of_sorted_values(void **state)
{
    uint64_t seed = hd_test_seed(3);
    uint32_t values[300], sorted[300];
    (void)state;
    for (int round = 0; round < 200; round++) {
        size_t count = 1 + random_next(&seed) % 300;
        uint32_t distinct = 1 + random_next(&seed) % 400;
        for (size_t i = 0; i < count; i++) values[i] = sorted[i] = random_next(&seed) % distinct;
        for (size_t i = 1; i < count; i++) {
            for (size_t k = i; k > 0 && sorted[k] < sorted[k - 1]; k--) {
                uint32_t swap = sorted[k];
                sorted[k] = sorted[k - 1];
                sorted[k - 1] = swap;
            }
        }
        size_t k = random_next(&seed) % count;
        assert_int_equal(view_select_rank(values, count, k), sorted[k]);
    }
}

static const char small[] = "[{\"ph\":\"X\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100},"
                            "{\"ph\":\"X\",\"name\":\"inner\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":30},"
                            "{\"ph\":\"X\",\"name\":\"long\",\"pid\":1,\"tid\":2,\"ts\":200,\"dur\":10000000},"
                            "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":0,\"args\":{\"a\":4}},"
                            "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":50,\"args\":{\"a\":8}},"
                            "{\"ph\":\"C\",\"name\":\"mem\",\"pid\":1,\"ts\":100,\"args\":{\"a\":1}}]";

static void test_select__the_route_tells_span_gaps_and_self(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    const char *answer = maker_ask(&m, view_route_select, "from=0&until=150000&sort=self");
    has(answer, "\"span\":150000,\"busy\":100000,\"idle\":50000,\"events\":2,\"names\":2");
    has(answer, "\"gaps\":{\"count\":1,\"total\":50000,\"longest\":[{\"start\":100000,\"duration\":50000}]}");
    has(answer, "\"text\":\"outer\",\"count\":1,\"total\":100000,\"mean\":100000,\"p50\":100000,\"p99\":100000,"
                "\"min\":100000,\"max\":100000,");
    has(answer, "\"self\":70000");
    has(answer, "\"series\":\"a\",\"samples\":3,\"min\":1,\"max\":8,\"mean\":4.33");
    answer = maker_ask(&m, view_route_select, "from=0&until=150000&sort=name&limit=1");
    has(answer, "\"text\":\"inner\"");
    has_not(answer, "\"text\":\"outer\"");
    has(answer, "\"names\":2");
    maker_close(&m);
}

static void test_select__what_lies_outside_of_the_trace_is_not_idle(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    const char *answer = maker_ask(&m, view_route_select, "from=-50000&until=150000");
    has(answer, "\"from\":0,\"until\":150000,\"span\":150000,\"busy\":100000,\"idle\":50000");
    has(answer, "\"gaps\":{\"count\":1,\"total\":50000");
    answer = maker_ask(&m, view_route_select, "from=10000200000&until=20000000000");
    has(answer, "\"from\":10000200000,\"until\":10000200000,\"span\":0,\"busy\":0,\"idle\":0");
    answer = maker_ask(&m, view_route_select, "from=10000000000&until=20000000000");
    has(answer, "\"span\":200000,\"busy\":200000,\"idle\":0");
    has(answer, "\"share\":1,");
    maker_close(&m);
}

static void test_select__tables_cut_at_their_limit_are_sorted_both_ways(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    has(maker_ask(&m, view_route_select, "sort=total&order=up&limit=1"), "\"text\":\"inner\"");
    has(maker_ask(&m, view_route_select, "sort=total&order=down&limit=1"), "\"text\":\"long\"");
    has(maker_ask(&m, view_route_select, "sort=total&limit=1"), "\"text\":\"long\"");
    has(maker_ask(&m, view_route_select, "sort=name&order=down&limit=1"), "\"text\":\"outer\"");
    has(maker_ask(&m, view_route_select, "sort=name&limit=1"), "\"text\":\"inner\"");
    assert_null(maker_ask(&m, view_route_select, "sort=name&order=left"));
    maker_close(&m);
}

static void test_select__durations_beyond_32_bits_are_exact(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    const char *answer = maker_ask(&m, view_route_select, "from=300000&until=400000");
    has(answer, "\"total\":100000,\"mean\":10000000000,\"p50\":10000000000,\"p99\":10000000000");
    has(answer, "\"busy\":100000,\"idle\":0");
    has(answer, "\"share\":1,\"self\":100000");
    maker_close(&m);
}

static void test_select__nonsense_is_refused_with_a_reason(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    assert_null(maker_ask(&m, view_route_select, "from=0&until=10&sort=beauty"));
    assert_int_equal(m.status, HD_ERR_ARGUMENT);
    assert_non_null(strstr(m.error.message, "beauty"));
    assert_null(maker_ask(&m, view_route_select, "from=10&until=5"));
    assert_null(maker_ask(&m, view_route_select, "tracks=999"));
    assert_null(maker_ask(&m, view_route_select, "limit=-1"));
    has(maker_ask(&m, view_route_select, "from=5&until=5"), "\"span\":0,\"busy\":0,\"idle\":0");
    maker_close(&m);
}

static void test_select__a_trace_without_events_has_an_empty_table(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, "[]");
    has(maker_ask(&m, view_route_select, "limit=5"), "\"events\":0,\"names\":0");
    maker_close(&m);
}

/* ---- rows that are made of other events, or only tell of them ---- */

static const char device[] =
    "[{\"ph\":\"X\",\"name\":\"op\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":100,\"args\":{}},"
    "{\"ph\":\"X\",\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,"
    "\"args\":{\"correlation\":5}},"
    "{\"ph\":\"X\",\"name\":\"AllReduce\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":20,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":5}},"
    "{\"ph\":\"X\",\"name\":\"gemm\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":60,\"dur\":20,"
    "\"args\":{\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"name\":\"step\",\"cat\":\"gpu_user_annotation\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":100,"
    "\"args\":{\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"name\":\"told\",\"cat\":\"gpu_user_annotation\",\"pid\":0,\"tid\":9,\"ts\":0,\"dur\":100,"
    "\"args\":{\"device\":0,\"stream\":9}}]";

/* "tracks=…&from=0&until=100000" of those on which `wanted` says yes. */
static const char *ask_tracks(maker *m, bool (*wanted)(const view_track *track))
{
    static char query[400];
    size_t size = (size_t)snprintf(query, sizeof query, "from=0&until=100000&sort=name&tracks=");
    for (uint32_t t = 0; t < view_scene_track_count(m->scene); t++) {
        const view_track *track = view_scene_track(m->scene, t);
        if (track->kind != VIEW_SLICES || !wanted(track)) continue;
        size += (size_t)snprintf(query + size, sizeof query - size, "%s%u", query[size - 1] == '=' ? "" : ",", t);
    }
    return maker_ask(m, view_route_select, query);
}

static bool is_of_gpu(const view_track *track)
{
    return track->derived || strcmp(track->role, "stream") == 0;
}

static bool is_derived(const view_track *track)
{
    return track->derived;
}

static bool is_idle(const view_track *track)
{
    return track->derived && strcmp(track->role, "idle") == 0;
}

static bool only_tells(const view_track *track)
{
    return track->stream == 9 && !track->derived;
}

static void test_select__derived_rows_do_not_count_beside_what_they_are_made_of(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, device);
    const char *answer = ask_tracks(&m, is_of_gpu);
    has(answer, "\"busy\":40000,\"idle\":60000,\"events\":4,\"names\":4,\"cut\":0,\"derived\":false");
    has(answer, "\"text\":\"AllReduce\",\"count\":1,\"total\":20000,");
    assert_true(number_of(answer, "left_out") >= 4); /* compute, communication, exposed, idle … */
    maker_close(&m);
}

static void test_select__what_is_derived_is_never_busy(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, device);
    const char *answer = ask_tracks(&m, is_derived);
    has(answer, "\"busy\":null,\"idle\":null,");
    has(answer, "\"derived\":true,\"left_out\":0,\"aside\":0,\"gaps\":{\"count\":0,\"total\":0,\"longest\":[]}");
    has(answer, "\"share\":null");
    has_not(answer, "\"share\":0");
    answer = ask_tracks(&m, is_idle);
    has(answer, "\"busy\":null,\"idle\":null,\"events\":1,\"names\":1");
    has(answer, "\"text\":\"idle\",\"count\":1,\"total\":30000,");
    maker_close(&m);
}

static bool is_any(const view_track *track)
{
    return !track->derived;
}

static bool is_profiler(const view_track *track)
{
    return !track->derived && track->stream == HD_NO_NUMBER;
}

static void test_select__what_a_profiler_says_of_itself_counts_only_alone(void **state)
{
    maker m;
    static const char trace[] =
        "[{\"ph\":\"X\",\"name\":\"gemm\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":40,"
        "\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"name\":\"PyTorch Profiler (0)\",\"cat\":\"Trace\",\"pid\":\"Spans\",\"tid\":\"PyTorch "
        "Profiler\","
        "\"ts\":0,\"dur\":100}]";
    (void)state;
    maker_open(&m, trace);
    const char *answer = ask_tracks(&m, is_any);
    has(answer, "\"busy\":40000,\"idle\":60000,\"events\":1,");
    has(answer, "\"left_out\":0,\"aside\":1,");
    has(ask_tracks(&m, is_profiler), "\"events\":1,\"names\":1");
    maker_close(&m);
}

static void test_select__annotations_on_a_stream_are_not_busy(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, device);
    has(ask_tracks(&m, only_tells), "\"busy\":null,\"idle\":null,\"events\":1,");
    maker_close(&m);
}

static void test_select__events_that_reach_beyond_the_range_are_told(void **state)
{
    maker m;
    (void)state;
    maker_open(&m, small);
    assert_int_equal(number_of(maker_ask(&m, view_route_select, "from=20000&until=150000"), "cut"), 2);
    assert_int_equal(number_of(maker_ask(&m, view_route_select, "from=0&until=150000"), "cut"), 0);
    assert_int_equal(number_of(maker_ask(&m, view_route_select, "from=0&until=99999"), "cut"), 1);
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select__tables_of_random_traces_are_what_every_event_says),
        cmocka_unit_test(test_select__a_track_cut_into_many_pieces_says_the_same),
        cmocka_unit_test(test_select__ranks_are_those_of_sorted_values),
        cmocka_unit_test(test_select__the_route_tells_span_gaps_and_self),
        cmocka_unit_test(test_select__what_lies_outside_of_the_trace_is_not_idle),
        cmocka_unit_test(test_select__tables_cut_at_their_limit_are_sorted_both_ways),
        cmocka_unit_test(test_select__durations_beyond_32_bits_are_exact),
        cmocka_unit_test(test_select__nonsense_is_refused_with_a_reason),
        cmocka_unit_test(test_select__a_trace_without_events_has_an_empty_table),
        cmocka_unit_test(test_select__derived_rows_do_not_count_beside_what_they_are_made_of),
        cmocka_unit_test(test_select__what_is_derived_is_never_busy),
        cmocka_unit_test(test_select__what_a_profiler_says_of_itself_counts_only_alone),
        cmocka_unit_test(test_select__annotations_on_a_stream_are_not_busy),
        cmocka_unit_test(test_select__events_that_reach_beyond_the_range_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
