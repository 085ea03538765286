/* test_route_tracks.c - /api/tracks and /api/names: every field, their order, what hostile names become */
#include "base/json/json.h"
#include "view/query_maker.h"
#include "view/route/routes_derive.h"
#include "view/scene/impl.h"

#include <unistd.h>

#define META(pid, tid, what, args)                                                                                     \
    "{\"ph\":\"M\",\"pid\":" pid ",\"tid\":" tid ",\"name\":\"" what "\",\"args\":{" args "}},"
#define SLICE(pid, tid, name, more)                                                                                    \
    "{\"ph\":\"X\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":1,\"dur\":2,\"name\":\"" name "\"" more "}"

/* As PyTorch writes it: a program, its GPU, instants that belong to nothing. */
static const char kineto[] = "{\"deviceProperties\":[{\"id\":0}],\"traceEvents\":[" META(
    "\"Traces\"", "0", "process_sort_index", "\"sort_index\":-9") META("10", "0", "process_name", "\"name\":\"python\"")
    META("10", "0", "process_labels", "\"labels\":\"CPU\"") META("10", "0", "process_sort_index", "\"sort_index\":1")
        META("10", "12", "thread_name", "\"name\":\"main\"") META("10", "11", "thread_sort_index", "\"sort_index\":-1")
            META("0", "0", "process_name", "\"name\":\"python\"")
                META("0", "0", "process_labels", "\"labels\":\"GPU 0\"")
                    META("0", "0", "process_sort_index", "\"sort_index\":2")
                        META("0", "7", "thread_name",
                             "\"name\":\"stream 7 \"") "{\"ph\":\"i\",\"pid\":\"Traces\",\"tid\":\"Trace PyTorch "
                                                       "Profiler\",\"ts\":0,\"name\":\"start\",\"s\":\"g\"},"
                                                       "{\"ph\":\"i\",\"pid\":\"\",\"tid\":\"\",\"ts\":0,"
                                                       "\"name\":\"end\",\"s\":\"g\"}," SLICE(
                                                           "10", "12", "cudaLaunchKernel",
                                                           ",\"cat\":\"cuda_runtime\",\"args\":{\"correlation\":"
                                                           "5}") "," SLICE("10", "11", "op",
                                                                           ",\"cat\":\"cpu_op\"") ","
                                                                                                  "{\"ph\":\"C\","
                                                                                                  "\"pid\":10,"
                                                                                                  "\"ts\":1,"
                                                                                                  "\"name\":"
                                                                                                  "\"Memory\","
                                                                                                  "\"args\":{"
                                                                                                  "\"used\":3}},"
                                                                                                  "{\"ph\":\"C\","
                                                                                                  "\"pid\":10,"
                                                                                                  "\"ts\":9,"
                                                                                                  "\"name\":"
                                                                                                  "\"Memory\","
                                                                                                  "\"args\":{"
                                                                                                  "\"used\":-1.5}"
                                                                                                  "},"
                                                                                                  "{\"ph\":\"X\","
                                                                                                  "\"pid\":0,"
                                                                                                  "\"tid\":7,"
                                                                                                  "\"ts\":5,"
                                                                                                  "\"dur\":4,"
                                                                                                  "\"name\":"
                                                                                                  "\"k\",\"cat\":"
                                                                                                  "\"kernel\","
                                                                                                  "\"args\":{"
                                                                                                  "\"correlation"
                                                                                                  "\":5,"
                                                                                                  "\"device\":0,"
                                                                                                  "\"stream\":7}}"
                                                                                                  "]}";

/* The object of a track by its name, which ends at the line's end. */
static const char *track_named(char out[2048], const char *answer, const char *name)
{
    char part[256];
    snprintf(part, sizeof part, "\"name\":\"%s\"", name);
    const char *at = answer ? strstr(answer, part) : NULL;
    if (!at) fail_msg("no track %s in %s", name, answer ? answer : "(an error)");
    while (at > answer && at[-1] != '\n') at--;
    snprintf(out, 2048, "%.*s", (int)strcspn(at, "\n"), at);
    return out;
}

/* Asserts that names stand in an answer in this order. */
static void in_order(const char *answer, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char part[256];
        snprintf(part, sizeof part, "\"name\":\"%s\"", names[i]);
        const char *at = strstr(answer, part);
        if (!at) fail_msg("no %s behind %s in %s", names[i], i ? names[i - 1] : "the start", answer);
        answer = at + 1;
    }
}

static void test_tracks__stand_in_order_and_are_called_what_people_know(void **state)
{
    (void)state;
    maker m;
    char track[2048];
    maker_open(&m, kineto);
    const char *answer = maker_ask(&m, view_route_tracks, "");
    const char *const names[] = {
        "GPU 0", "Compute", "stream 7", "python \xc2\xb7 CPU",    "Memory",          "thread 11",
        "main",  "Other",   "Traces",   "Trace PyTorch Profiler", "unnamed process", "unnamed thread"};
    in_order(answer, names, sizeof names / sizeof *names);
    has(track_named(track, answer, "Other"), "\"role\":\"other\"");
    has(track_named(track, answer, "Other"), "\"collapsed\":true");
    has(track_named(track, answer, "python \xc2\xb7 CPU"), "\"collapsed\":false");
    maker_close(&m);
}

static void test_tracks__every_field_says_what_the_trace_does(void **state)
{
    (void)state;
    maker m;
    char track[2048], parent[32];
    maker_open(&m, kineto);
    const char *answer = maker_ask(&m, view_route_tracks, "");
    const char *device = track_named(track, answer, "GPU 0");
    snprintf(parent, sizeof parent, "\"parent\":%d", (int)number_of(device, "id"));
    has(device, "\"parent\":null,\"kind\":\"section\",\"role\":\"device\"");
    has(device, "\"pid\":\"0\"");
    has(device, "\"device\":0");
    has(device, "\"exact\":true,\"events\":1,\"on_lanes\":0,\"start\":4000,\"end\":8000,\"busy\":4000");
    has(track_named(track, answer, "python \xc2\xb7 CPU"), "\"events\":4,\"on_lanes\":0,\"start\":0,");
    has(track, "\"busy\":2000");
    device = track_named(track, answer, "GPU 0");
    has_not(device, "\"events_kind\"");
    const char *stream = track_named(track, answer, "stream 7");
    has(stream, parent);
    has(stream, "\"kind\":\"slices\",\"role\":\"stream\"");
    has(stream,
        "\"pid\":\"0\",\"tid\":\"7\",\"device\":0,\"stream\":7,\"rows\":1,\"exact\":true,\"events\":1,\"on_lanes\":0");
    has(stream, "\"start\":4000,\"end\":8000,\"busy\":4000,\"events_kind\":\"slice\"");
    has_not(stream, "\"derived\"");
    has_not(stream, "\"rank\"");
    const char *counter = track_named(track, answer, "Memory");
    has(counter, "\"kind\":\"counter\",\"role\":\"counter\"");
    has(counter, "\"events_kind\":\"counter\"");
    has(counter, "\"series\":[{\"name\":\"used\",\"unit\":\"bytes\",\"min\":-1.5,\"max\":3}]");
    has(track_named(track, answer, "Trace PyTorch Profiler"), "\"events_kind\":\"instant\"");
    const char *compute = track_named(track, answer, "Compute");
    has(compute, parent);
    has(compute, "\"role\":\"compute\"");
    has(compute, "\"detail\":\"");
    has(compute, "\"derived\":true");
    has_not(compute, "\"events_kind\"");
    assert_int_equal(number_of(answer, "names"), view_scene_name_count(m.scene));
    assert_int_equal(number_of(answer, "revision"), view_scene_revision(m.scene));
    maker_close(&m);
}

static void test_tracks__processes_of_one_name_tell_their_numbers(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, "[" META("1", "0", "process_name", "\"name\":\"Renderer\"")
                       META("2", "0", "process_name", "\"name\":\"Renderer\"")
                           META("3", "0", "process_name", "\"name\":\"Browser\"")
                               META("3", "0", "process_labels", "\"labels\":\"Browser\"")
                                   SLICE("1", "\"stream 7\"", "a", "") "," SLICE("2", "\"x\"", "a",
                                                                                 "") "," SLICE("3", "-5", "a", "") "]");
    const char *answer = maker_ask(&m, view_route_tracks, "");
    const char *const names[] = {"Renderer (1)", "stream 7", "Renderer (2)", "x", "Browser", "thread -5"};
    in_order(answer, names, sizeof names / sizeof *names);
    maker_close(&m);
}

static void test_tracks__of_instants_alone_are_not_collapsed_when_there_is_nothing_else(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, "[{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":0,\"name\":\"a\"}]");
    has_not(maker_ask(&m, view_route_tracks, ""), "\"collapsed\":true");
    maker_close(&m);
}

/* Ids of texts depend on which thread read what: "late" has a lower one here than what comes before it. */
static void test_tracks__of_async_slices_and_counters_stand_as_they_first_come(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, "[" SLICE("1", "1", "late", "") "," SLICE("1", "1", "2nd", "") "," SLICE(
                       "1", "1", "id2",
                       "") ","
                           "{\"ph\":\"b\",\"pid\":1,\"tid\":1,\"ts\":9,\"id\":\"x\",\"cat\":\"a\",\"name\":\"early\"},"
                           "{\"ph\":\"b\",\"pid\":1,\"tid\":1,\"ts\":5,\"id\":\"y\",\"cat\":\"a\",\"name\":\"late\"},"
                           "{\"ph\":\"C\",\"pid\":1,\"ts\":9,\"name\":\"1st\",\"id\":\"id1\",\"args\":{\"v\":1}},"
                           "{\"ph\":\"C\",\"pid\":1,\"ts\":5,\"name\":\"2nd\",\"args\":{\"v\":1}},"
                           "{\"ph\":\"C\",\"pid\":1,\"ts\":1,\"name\":\"1st\",\"id\":\"id2\",\"args\":{\"v\":1}}]");
    const char *answer = maker_ask(&m, view_route_tracks, "");
    const char *const names[] = {"early", "late", "1st [id1]", "1st [id2]", "2nd"};
    in_order(answer, names, sizeof names / sizeof *names);
    maker_close(&m);
}

static void test_tracks__a_trace_without_events_has_none(void **state)
{
    (void)state;
    maker m;
    maker_open(&m, "[]");
    has(maker_ask(&m, view_route_tracks, ""), "\"tracks\": []");
    assert_null(maker_ask(&m, view_route_names, ""));
    maker_close(&m);
}

/* Quotes, NULs, broken UTF-8, 4 kB: the answer is text in UTF-8 without control characters, and holds them. */
static void test_tracks__hostile_names_stay_text(void **state)
{
    (void)state;
    static const char *const names[] = {"a\\\"b\\\\", "\\u0000\\u0001\\u001f", "\xff\xfe\xc3", "</script><img src=x>",
                                        "\\ud800",    "\xe2\x80\xa8",          "%n%s%p"};
    enum { LONG = 4096, NAMES = sizeof names / sizeof *names };
    hd_json_out text = {0};
    char line[256];
    hd_json_put_text(&text, "[");
    for (unsigned i = 0; i <= NAMES; i++) {
        snprintf(line, sizeof line, "{\"ph\":\"M\",\"pid\":%u,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"",
                 i);
        hd_json_put_text(&text, line);
        for (unsigned c = 0; i == NAMES && c < LONG; c++) hd_json_put_text(&text, "x");
        hd_json_put_text(&text, i < NAMES ? names[i] : "");
        snprintf(line, sizeof line, "\"}},{\"ph\":\"X\",\"pid\":%u,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"e\"},", i);
        hd_json_put_text(&text, line);
    }
    hd_json_put_text(&text, SLICE("99", "\"\\u0000\"", "", "") "]");
    hd_json_put(&text, "", 1);
    maker m;
    maker_open(&m, text.data);
    const char *answer = maker_ask(&m, view_route_tracks, "");
    size_t size = m.reply.json.size;
    assert_non_null(answer);
    assert_int_equal(strlen(answer), size);
    assert_true(hd_utf8_valid(answer, size, false));
    for (size_t i = 0; i < size; i++) assert_true((unsigned char)answer[i] >= 32 || answer[i] == '\n');
    has(answer, "\"name\":\"a\\\"b\\\\\"");
    has(answer, "\\u0000\\u0001\\u001f");
    has(answer, "%n%s%p");
    const char *run = strstr(answer, "xxxx");
    assert_non_null(run);
    assert_int_equal(strspn(run, "x"), LONG);
    free(text.data);
    maker_close(&m);
}

static void test_tracks__ten_thousand_are_told_quickly(void **state)
{
    (void)state;
    enum { TRACKS = 10000 };
    hd_json_out text = {0};
    hd_json_put_text(&text, "[");
    for (unsigned i = 0; i < TRACKS; i++) { /* streams of many devices: a section for each of these */
        char line[256];
        snprintf(line, sizeof line,
                 "%s{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":1,\"name\":\"k\",\"cat\":\"kernel\","
                 "\"args\":{\"device\":%u,\"stream\":%u,\"correlation\":%u}}",
                 i ? "," : "", i, i, i / 2, i, i + 1);
        hd_json_put_text(&text, line);
    }
    hd_json_put_text(&text, "]");
    hd_json_put(&text, "", 1);
    maker m;
    maker_open(&m, text.data);
    const char *answer = maker_ask(&m, view_route_tracks, "");
    size_t streams = 0;
    for (const char *at = answer, *end; (at = strchr(at, '\n')); at = end) { /* a track a line */
        end = at + 1 + strcspn(at + 1, "\n]");
        streams += memmem(at, (size_t)(end - at), "\"role\":\"stream\"", 15) != NULL;
    }
    assert_int_equal(streams, TRACKS);
    free(text.data);
    maker_close(&m);
}

/* Every track once, in two answers. */
static void test_tracks__more_than_an_answer_holds_are_told_by_pieces(void **state)
{
    (void)state;
    enum { TRACKS = VIEW_TRACKS_TOLD + 3 };
    hd_json_out text = {0};
    for (unsigned i = 0; i < TRACKS; i++) {
        char line[96];
        snprintf(line, sizeof line, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":1}", i ? "," : "[", i + 2,
                 i);
        hd_json_put_text(&text, line);
    }
    hd_json_put(&text, "]", 2);
    maker m;
    maker_open(&m, text.data);
    uint8_t *told = calloc(view_scene_track_count(m.scene), 1);
    assert_non_null(told);
    const char *next = "";
    char query[32] = "";
    size_t pieces = 0, count = 0;
    for (; next; pieces++) {
        const char *answer = maker_ask(&m, view_route_tracks, query);
        assert_non_null(answer);
        for (const char *at = answer; (at = strchr(at, '\n')); at++) { /* a track a line */
            unsigned id = (unsigned)strtoul(at + strlen("\n{\"id\":"), NULL, 10);
            assert_true(id < view_scene_track_count(m.scene));
            assert_int_equal(told[id]++, 0);
            count++;
        }
        assert_true(count <= (pieces + 1) * VIEW_TRACKS_TOLD);
        next = strstr(answer, "\"next\":");
        if (next) snprintf(query, sizeof query, "from=%lu", strtoul(next + 7, NULL, 10));
    }
    assert_int_equal(pieces, 2);
    assert_int_equal(m.scene->orders_made, 1); /* however many answers */
    assert_int_equal(count, view_scene_track_count(m.scene));
    free(told);
    free(text.data);
    maker_close(&m);
}

/* ---- names ---- */

static void test_names__are_told_in_the_order_asked_for(void **state)
{
    (void)state;
    maker m;
    char query[64];
    maker_open(&m, kineto);
    uint32_t kernel = view_scene_name(m.scene, "k", 1), op = view_scene_name(m.scene, "op", 2);
    snprintf(query, sizeof query, "ids=%u,%u,%u", op, kernel, op);
    const char *answer = maker_ask(&m, view_route_names, query);
    has(answer, "{\"final\":true, \"names\": [\n");
    const char *first = strstr(answer, "\"text\":\"op\",\"category\":\"cpu_op\",\"role\":\"op\"");
    const char *second = strstr(answer, "\"text\":\"k\",\"category\":\"kernel\",\"role\":\"kernel\"");
    assert_true(first && second && first < second && strstr(second, "\"text\":\"op\""));
    maker_close(&m);
}

/* As TensorFlow names them. The annotation around both is neither. */
static void test_names__a_name_of_a_launch_and_its_kernel_is_of_the_kernel(void **state)
{
    (void)state;
    maker m;
    maker_open(&m,
               "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"fusion\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},"
               "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9},"
               "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"op\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":5,"
               "\"args\":{\"device\":0,\"stream\":7}},"
               "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"fusion\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":2,"
               "\"args\":{\"device\":0,\"stream\":7}}]");
    char query[64];
    snprintf(query, sizeof query, "ids=%u,%u", view_scene_name(m.scene, "fusion", 6),
             view_scene_name(m.scene, "op", 2));
    const char *answer = maker_ask(&m, view_route_names, query);
    has(answer, "\"text\":\"fusion\",\"category\":\"kernel\",\"role\":\"kernel\",\"class\":\"compute\"");
    has(answer, "\"text\":\"op\",\"category\":\"cpu_op\",\"role\":\"op\",\"class\":\"operator\"");
    maker_close(&m);
}

static void test_names__what_a_flight_recorder_has_is_communication(void **state)
{
    (void)state;
    maker m;
    maker_open(&m,
               "[{\"ph\":\"X\",\"cat\":\"flight_recorder\",\"name\":\"nccl:send 0->1\",\"pid\":1,\"tid\":1,\"ts\":1,"
               "\"dur\":2},{\"ph\":\"X\",\"cat\":\"mine\",\"name\":\"nccl:send "
               "1->0\",\"pid\":1,\"tid\":1,\"ts\":4,\"dur\":2}]");
    char query[64];
    snprintf(query, sizeof query, "ids=%u,%u", view_scene_name(m.scene, "nccl:send 0->1", 14),
             view_scene_name(m.scene, "nccl:send 1->0", 14));
    const char *answer = maker_ask(&m, view_route_names, query);
    has(answer, "\"category\":\"flight_recorder\",\"role\":\"other\",\"class\":\"communication\"");
    has(answer, "\"category\":\"mine\",\"role\":\"other\",\"class\":\"other\"");
    maker_close(&m);
}

/* Rules stay until the process ends: no other test has such kernels. */
static void test_names__a_kernel_has_its_group_with_the_colour_of_the_nearest_parent(void **state)
{
    (void)state;
    static const char rules[] =
        "[[group]]\nname = \"all\"\ncolour = \"#0a0B0c\"\n[[group]]\nname = \"part\"\nparent = \"all\"\n"
        "patterns = [\"own_part*\"]\n[[group]]\nname = \"plain\"\npatterns = [\"own_plain*\"]\n";
    char path[] = "/tmp/heddle-groups-XXXXXX", query[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, rules, sizeof rules - 1) == (ssize_t)(sizeof rules - 1));
    close(fd);
    assert_int_equal(hd_class_rules_read(path, NULL), HD_OK);
    unlink(path);
    maker m;
    maker_open(&m, "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"own_part_1\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":2},"
                   "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"own_plain\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":2},"
                   "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"own_part_2\",\"pid\":1,\"tid\":1,\"ts\":8,\"dur\":2}]");
    snprintf(query, sizeof query, "ids=%u,%u,%u", view_scene_name(m.scene, "own_part_1", 10),
             view_scene_name(m.scene, "own_plain", 9), view_scene_name(m.scene, "own_part_2", 10));
    const char *answer = maker_ask(&m, view_route_names, query);
    has(answer, "\"class\":\"compute\",\"group\":\"all/part\",\"colour\":\"#0a0B0c\"}");
    has(answer, "\"class\":\"compute\",\"group\":\"plain\"}");
    has(answer, "\"class\":\"operator\"}");
    maker_close(&m);
}

static void test_names__lists_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    maker m;
    char query[64];
    maker_open(&m, kineto);
    uint32_t end = view_scene_name_count(m.scene);
    const char *const bad[] = {"ids=",           "ids=-1",  "ids=1-",  "ids=3-1",
                               "ids=1,,2",       "ids=1;2", "ids=0x1", "ids=1,99999999999999999999",
                               "ids=4294967296", "names=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(maker_ask(&m, view_route_names, bad[i]));
        assert_int_equal(m.status, HD_ERR_ARGUMENT);
    }
    snprintf(query, sizeof query, "ids=%u", end);
    assert_null(maker_ask(&m, view_route_names, query));
    snprintf(query, sizeof query, "ids=0-%u", end - 1);
    has(maker_ask(&m, view_route_names, query), "cudaLaunchKernel");
    maker_close(&m);
}

/* Pages of names; more than a request may have are refused, whichever way they are written. */
static void test_names__a_request_has_at_most_8192(void **state)
{
    (void)state;
    enum { NAMES = 20000, LIMIT = 8192 };
    hd_json_out text = {0};
    char line[160];
    hd_json_put_text(&text, "[");
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(line, sizeof line, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":1,\"name\":\"name %u\"}",
                 i ? "," : "", 2 * i, i);
        hd_json_put_text(&text, line);
    }
    hd_json_put_text(&text, "]");
    hd_json_put(&text, "", 1);
    maker m;
    maker_open(&m, text.data);
    free(text.data);
    uint32_t end = view_scene_name_count(m.scene), told = 0;
    assert_true(end > NAMES);
    for (uint32_t first = 0; first < end; first += LIMIT) {
        uint32_t last = end - first < LIMIT ? end - 1 : first + LIMIT - 1;
        snprintf(line, sizeof line, "ids=%u-%u", first, last);
        const char *answer = maker_ask(&m, view_route_names, line);
        for (const char *at = answer; at && (at = strstr(at, "\"text\":\"name ")); at++) told++;
    }
    assert_int_equal(told, NAMES);
    snprintf(line, sizeof line, "ids=0-%u", LIMIT);
    assert_null(maker_ask(&m, view_route_names, line));
    snprintf(line, sizeof line, "ids=0-%u,5", LIMIT - 1);
    assert_null(maker_ask(&m, view_route_names, line));
    assert_int_equal(m.status, HD_ERR_ARGUMENT);
    maker_close(&m);
}

static void test_tracks__counters_of_a_memory_are_bytes_unless_they_measure_something_else(void **state)
{
    (void)state;
    static const struct {
        const char *counter, *series, *unit;
    } cases[] = {
        {"Memory", "used", "bytes"},
        {"memory_busy_percent:device=1", "#", ""},
        {"Memory", "clock", ""},
        {"Allocated Memory", "depth", "bytes"},
        {"GPU memory utilization", "v", ""},
        {"heap", "bytes in account", "bytes"},
        {"allocated ratio", "bytes", "bytes"},
        {"power", "W", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], track[2048], must[64];
        maker m;
        snprintf(text, sizeof text, "[{\"ph\":\"C\",\"pid\":1,\"ts\":1,\"name\":\"%s\",\"args\":{\"%s\":3}}]",
                 cases[i].counter, cases[i].series);
        maker_open(&m, text);
        const char *answer = maker_ask(&m, view_route_tracks, "");
        snprintf(must, sizeof must, "\"unit\":\"%s\"", cases[i].unit);
        has(track_named(track, answer, cases[i].counter), must);
        maker_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tracks__stand_in_order_and_are_called_what_people_know),
        cmocka_unit_test(test_tracks__every_field_says_what_the_trace_does),
        cmocka_unit_test(test_tracks__processes_of_one_name_tell_their_numbers),
        cmocka_unit_test(test_tracks__of_instants_alone_are_not_collapsed_when_there_is_nothing_else),
        cmocka_unit_test(test_tracks__of_async_slices_and_counters_stand_as_they_first_come),
        cmocka_unit_test(test_tracks__counters_of_a_memory_are_bytes_unless_they_measure_something_else),
        cmocka_unit_test(test_tracks__a_trace_without_events_has_none),
        cmocka_unit_test(test_tracks__hostile_names_stay_text),
        cmocka_unit_test(test_tracks__ten_thousand_are_told_quickly),
        cmocka_unit_test(test_tracks__more_than_an_answer_holds_are_told_by_pieces),
        cmocka_unit_test(test_names__are_told_in_the_order_asked_for),
        cmocka_unit_test(test_names__a_name_of_a_launch_and_its_kernel_is_of_the_kernel),
        cmocka_unit_test(test_names__what_a_flight_recorder_has_is_communication),
        cmocka_unit_test(test_names__a_kernel_has_its_group_with_the_colour_of_the_nearest_parent),
        cmocka_unit_test(test_names__lists_that_make_no_sense_are_refused),
        cmocka_unit_test(test_names__a_request_has_at_most_8192),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
