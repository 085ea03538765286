/* test_fidelity.c - what /api/fidelity counts, against `heddle check` and against counting by hand */
#include "heddle/report.h"
#include "report/report_tables.h"
#include "rounds.h"
#include "view/fidelity/fidelity.h"
#include "view/query_maker.h"
#include "view/route/routes_derive.h"

/* The sum of the counts (or of `slices`) of a code of the check. */
static uint64_t checked(const hd_trace *trace, const char *code, const char *column)
{
    hd_report report;
    uint64_t sum = 0;
    assert_int_equal(hd_report_check(&report, trace, NULL, NULL), HD_OK);
    const hd_table *findings = hd_report_table(&report, "findings");
    for (size_t row = 0; row < hd_table_row_count(findings); row++) {
        size_t size;
        const char *text = hd_table_get_string(&size, findings, row, column_named(findings, "code"));
        if (size == strlen(code) && memcmp(text, code, size) == 0) sum += count_at(findings, row, column);
    }
    hd_report_free(&report);
    return sum;
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (; text && (text = strstr(text, part)); text++) count++;
    return count;
}

/* Slices of a track that do not fit into what is open when they start: the longer of those that start together first.
 */
static uint64_t count_crossing(const view_slice *slices, size_t count)
{
    int64_t *ends = malloc((count + 1) * sizeof *ends);
    uint64_t depth = 0, crossing = 0;
    for (size_t i = 0; i < count; i++) {
        while (depth && ends[depth - 1] <= slices[i].start_ns) depth--;
        if (depth && slices[i].end_ns > ends[depth - 1])
            crossing++;
        else if (slices[i].end_ns > slices[i].start_ns)
            ends[depth++] = slices[i].end_ns;
    }
    free(ends);
    return crossing;
}

static void test_fidelity__counts_of_random_traces_are_those_of_the_check_and_of_counting(void **state)
{
    (void)state;
    const uint64_t first = hd_test_seed(1);
    for (uint64_t round = 1; round <= 12; round++) {
        uint64_t seed = first + round - 1, crossing = 0, slices = 0;
        maker m;
        char *text = random_text(
            &seed,
            (random_shape){.events = (unsigned)round * 150, .threads = 3, .names = 5, .span = 4000, .longest = 200});
        maker_open(&m, text);
        for (uint32_t t = 0; t < view_scene_track_count(m.scene); t++) {
            const view_track *track = view_scene_track(m.scene, t);
            size_t count;
            if (track->derived || track->kind != VIEW_SLICES || track->events != HD_KIND_SLICE) continue;
            view_slice *list = slices_of(m.scene, t, &count);
            crossing += count_crossing(list, count);
            slices += count;
            free(list);
        }
        const char *answer = maker_ask(&m, view_route_fidelity, "");
        assert_int_equal(number_of(answer, "read"), slices);
        assert_int_equal(number_of(answer, "shown"), slices);
        assert_int_equal(number_of(answer, "dropped"), 0);
        assert_int_equal(number_of(answer, "on_lanes"), checked(m.trace, "crossing", "slices"));
        assert_int_equal(number_of(answer, "on_lanes"), crossing);
        assert_true(crossing > 0);
        assert_int_equal(number_of(answer, "events"), hd_trace_event_count(m.trace));
        assert_int_equal(number_of(answer, "instants"), hd_trace_row_count(m.trace, HD_KIND_INSTANT));
        maker_close(&m);
        free(text);
    }
}

/* One of everything that must be said. */
static const char doubtful[] =
    "["
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":100,\"dur\":10,\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\","
    "\"args\":{\"correlation\":5}},"
    "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"ts\":90,\"dur\":4,\"name\":\"earliest\",\"cat\":\"kernel\",\"args\":{"
    "\"correlation\":4,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"ts\":97,\"dur\":4,\"name\":\"early\",\"cat\":\"kernel\",\"args\":{"
    "\"correlation\":5,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":200,\"dur\":10,\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\","
    "\"args\":{\"correlation\":6}},"
    "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"ts\":200,\"dur\":4,\"name\":\"at once\",\"cat\":\"kernel\",\"args\":{"
    "\"correlation\":6,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":10,\"name\":\"outer\"},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":15,\"dur\":10,\"name\":\"crossing\"},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":50,\"dur\":-8,\"name\":\"negative\"},"
    "{\"ph\":\"B\",\"pid\":1,\"tid\":4,\"ts\":60,\"name\":\"open\"},"
    "{\"ph\":\"s\",\"pid\":1,\"tid\":5,\"ts\":70,\"id\":1,\"cat\":\"f\",\"name\":\"flow\"},"
    "{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":12,\"id\":1,\"cat\":\"f\",\"name\":\"flow\",\"bp\":\"e\"},"
    "{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":12,\"id\":2,\"cat\":\"f\",\"name\":\"orphan\",\"bp\":\"e\"},"
    "{\"ph\":\"s\",\"pid\":1,\"tid\":2,\"ts\":12,\"id\":3,\"cat\":\"f\",\"name\":\"dangling\"},"
    "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"ts\":300,\"dur\":4,\"name\":\"unlaunched\",\"cat\":\"kernel\",\"args\":{"
    "\"correlation\":77,\"device\":0,\"stream\":7}},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":80,\"dur\":4,\"name\":\"cudaMemcpyAsync\",\"cat\":\"cuda_runtime\","
    "\"args\":{\"correlation\":78}},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":400,\"dur\":4,\"name\":\"cudaMemsetAsync\",\"cat\":\"cuda_runtime\","
    "\"args\":{\"correlation\":79}}]";

static void test_fidelity__every_doubt_is_counted_and_listed_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *what, *key, *code, *column, *name, *note;
    } doubts[] = {
        {"on-lanes", "on_lanes", "crossing", "slices", "crossing", "crosses outer on its track by 5 "},
        {"before-launch", "before_launch", "gpu-before-launch", "count", "early",
         "before cudaLaunchKernel, which launched it"},
        {"no-end", "no_end", "begin-without-end", "count", "open", "begins, and nothing ends it"},
        {"negative", "negative", "negative-duration", "count", "negative", "before it starts"},
        {"unbound-flows", "unbound", "flow-unbound", "count", "flow", "no slice on its track is around it"},
        {"backward-flows", "backward", "flow-backward", "count", "flow", "ends 58 "},
        {"flows-without-start", "without_start", "flow-without-start", "count", "orphan", "nothing starts it"},
        {"flows-without-end", "without_end", "flow-without-end", "count", "dangling", "nothing ends it"},
        {"without-launch", "without_launch", "gpu-without-launch", "count", "unlaunched", "is not in the trace"},
        {"before-recording", "before_recording", "gpu-before-recording", "count", "earliest",
         "its launch is not in it"},
        {"after-recording", "after_recording", "gpu-after-recording", "count", "cudaMemsetAsync",
         "which ends near here"},
        {"without-work", "without_work", "launch-without-gpu", "count", "cudaMemcpyAsync", "is not in the trace"},
    };
    maker m;
    maker_open(&m, doubtful);
    for (size_t i = 0; i < sizeof doubts / sizeof *doubts; i++) {
        char query[64], name[64];
        assert_int_equal(number_of(maker_ask(&m, view_route_fidelity, ""), doubts[i].key), 1);
        assert_int_equal(checked(m.trace, doubts[i].code, doubts[i].column), 1);
        snprintf(query, sizeof query, "what=%s", doubts[i].what);
        snprintf(name, sizeof name, "\"name_text\":\"%s\"", doubts[i].name);
        const char *answer = maker_ask(&m, view_route_fidelity_list, query);
        has(answer, "{\"count\":1,");
        assert_int_equal(occurrences(answer, "\"row\":"), 1);
        has(answer, name);
        has(answer, doubts[i].note);
    }
    has(maker_ask(&m, view_route_fidelity_list, "what=before-launch"), "starts 3 ");
    maker_close(&m);
}

/* Two kernels of one stream, of which the second begins while the first runs. */
#define OVERLAPPING(duration)                                                                                          \
    "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":5,\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\","    \
    "\"args\":{"                                                                                                       \
    "\"correlation\":1}},"                                                                                             \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":6,\"dur\":5,\"name\":\"cudaLaunchKernel\",\"cat\":\"cuda_runtime\","     \
    "\"args\":{"                                                                                                       \
    "\"correlation\":2}},"                                                                                             \
    "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":" duration                                                    \
    ",\"name\":\"a\",\"cat\":\"kernel\",\"args\":{\"correlation\":1,\"device\":0,\"stream\":7}},"                      \
    "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":9,\"name\":\"b\",\"cat\":\"kernel\",\"args\":{"              \
    "\"correlation\":2,\"device\":0,\"stream\":7}}]"

static void test_fidelity__figures_of_the_gpu_are_doubted_as_in_reports(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, OVERLAPPING("800"));
    const char *answer = maker_ask(&m, view_route_fidelity, "");
    has(answer, "\"trust\":{\"sentence\":\"1 of 2 GPU activities begin while an earlier one");
    has(answer, "\"code\":\"gpu-overlap\",\"level\":\"error\",\"count\":1");
    has(answer, "\"figures\":\"GPU time, idle time, steps\"");
    maker_close(&m);
    maker_open(&m, OVERLAPPING("80"));
    has(maker_ask(&m, view_route_fidelity, ""), "nothing missing or impossible found in 2 GPU activities");
    maker_close(&m);
}

static void test_fidelity__lists_come_in_pages(void **state)
{
    (void)state;
    enum { SLICES = 1300 };
    hd_json_out text = {0};
    char line[160], query[64];
    hd_json_put_text(&text, "[");
    for (unsigned i = 0; i < SLICES; i++) {
        snprintf(line, sizeof line, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":-1,\"name\":\"n%u\"}",
                 i ? "," : "", i * 5, i);
        hd_json_put_text(&text, line);
    }
    hd_json_put_text(&text, "]");
    hd_json_put(&text, "", 1);
    maker m;
    maker_open(&m, text.data);
    free(text.data);
    size_t told = 0;
    for (unsigned at = 0; at < SLICES + 500; at += 500) {
        snprintf(query, sizeof query, "what=negative&limit=500&at=%u", at);
        const char *answer = maker_ask(&m, view_route_fidelity_list, query);
        size_t here = occurrences(answer, "\"row\":");
        assert_int_equal(number_of(answer, "count"), SLICES);
        assert_int_equal(here, at + 500 <= SLICES ? 500 : at < SLICES ? SLICES - at : 0);
        snprintf(line, sizeof line, "\"name_text\":\"n%u\"", at);
        if (here) has(answer, line);
        told += here;
    }
    assert_int_equal(told, SLICES);
    assert_int_equal(occurrences(maker_ask(&m, view_route_fidelity_list, "what=negative"), "\"row\":"), 200);
    assert_int_equal(occurrences(maker_ask(&m, view_route_fidelity_list, "what=negative&limit=0"), "\"row\":"), 0);
    has(maker_ask(&m, view_route_fidelity_list, "what=negative&at=9223372036854775807"), "\"events\": []");
    const char *const bad[] = {"what=nothing",          "limit=5", "what=negative&limit=1001", "what=negative&at=-1",
                               "what=negative&limit=x", "what="};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(maker_ask(&m, view_route_fidelity_list, bad[i]));
        assert_int_equal(m.status, HD_ERR_ARGUMENT);
    }
    maker_close(&m);
}

static void test_fidelity__a_trace_without_events_has_nothing_to_say(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, "[]");
    const char *answer = maker_ask(&m, view_route_fidelity, "");
    has(answer, "{\"slices\": {\"read\":0,\"shown\":0,\"dropped\":0},\"on_lanes\":0,\"before_launch\":0");
    for (int i = 0; i < VIEW_DOUBTS; i++) {
        char query[64];
        snprintf(query, sizeof query, "what=%s", view_doubt_name((view_doubt)i));
        has(maker_ask(&m, view_route_fidelity_list, query), "{\"count\":0, \"events\": []}");
    }
    maker_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fidelity__counts_of_random_traces_are_those_of_the_check_and_of_counting),
        cmocka_unit_test(test_fidelity__every_doubt_is_counted_and_listed_with_its_reason),
        cmocka_unit_test(test_fidelity__figures_of_the_gpu_are_doubted_as_in_reports),
        cmocka_unit_test(test_fidelity__lists_come_in_pages),
        cmocka_unit_test(test_fidelity__a_trace_without_events_has_nothing_to_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
