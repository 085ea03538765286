/* test_otf2_write.c - OTF2 archives are written whole, account for every event, and never replace what is not theirs
 *
 * What is in them is read with otf2-print where it is installed (also otf2_check.py, on real traces).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

static char folder[256];

typedef struct ledger {
    char text[4096];
    size_t size;
} ledger;

static void keep_row(void *user, const hd_ledger_row *row)
{
    ledger *l = user;
    l->size += (size_t)snprintf(l->text + l->size, sizeof l->text - l->size, "%s %llu\n", row->code,
                                (unsigned long long)row->count);
}

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/heddle-otf2-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Write the trace of a text to out.otf2, or to `name`; the status. */
static hd_status write_to(const char *name, const char *json, size_t size, bool clean, ledger *l, hd_error *err)
{
    hd_trace *trace;
    hd_write_options options = {.format = "otf2", .clean = clean, .ledger = l ? keep_row : NULL, .ledger_user = l};
    if (read_text(&trace, json, size, NULL, 0, err) != HD_OK) fail_msg("%s", err->message);
    hd_status status = hd_trace_write(trace, name[0] == '-' ? name : path_of(name), &options, err);
    hd_trace_free(trace);
    return status;
}

static bool can_print(void)
{
    return system("command -v otf2-print >/dev/null 2>&1") == 0;
}

/* What otf2-print says of out.otf2; malloc'ed. */
static char *printed(const char *options)
{
    char command[1024], *out = calloc(1, 1 << 20);
    snprintf(command, sizeof command, "otf2-print %s '%s/out.otf2/traces.otf2' 2>&1", options, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(out, 1, (1 << 20) - 1, pipe);
    out[size] = '\0';
    if (pclose(pipe) != 0) fail_msg("otf2-print: %.2000s", out);
    return out;
}

static void write_text_ok(const char *json, ledger *l)
{
    hd_error err = {0};
    if (write_to("out.otf2", json, strlen(json), true, l, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
}

/* Each text stands in what was printed, behind the one before. */
static void expect_in_order(const char *text, const char *const *parts)
{
    for (; *parts; parts++) {
        const char *at = strstr(text, *parts);
        if (!at) fail_msg("no \"%s\" in: %.3000s", *parts, text);
        text = at + strlen(*parts);
    }
}

static void test_otf2_write__nanoseconds_and_types_survive(void **state)
{
    (void)state;
    ledger l = {0};
    write_text_ok("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":2,"
                  "\"ts\":4458676522690.655,\"dur\":156.777,\"args\":{\"i\":-7,\"d\":0.25,\"s\":\"text\",\"b\":true,"
                  "\"j\":[1, 2],\"u\":18446744073709551615,\"long\":0.12345678901234567}}]}",
                  &l);
    assert_string_equal(l.text, "");
    if (!can_print()) skip();
    char *text = printed("");
    expect_in_order(text, (const char *const[]){"ENTER", "4458676522690655", "Region: \"op\"", "(\"i\" <0>; INT64; -7)",
                                                "DOUBLE; 0.25", "\"text\"", "UINT8; 1", "\"[1, 2]\"",
                                                "UINT64; 18446744073709551615", "\"long\"", "0.12345678901234567",
                                                "LEAVE", "4458676522847432", NULL});
    free(text);
}

static void test_otf2_write__negative_times_shift_and_say_so(void **state)
{
    (void)state;
    ledger l = {0};
    write_text_ok("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":-5,\"dur\":2}]", &l);
    assert_string_equal(l.text, "otf2.times-shifted 1\n");
    if (!can_print()) skip();
    char *text = printed("");
    expect_in_order(text, (const char *const[]){"ENTER", " 0  Region: \"a\"", "LEAVE", " 2000  Region", NULL});
    free(text);
}

static void test_otf2_write__crossing_slices_go_to_lanes(void **state)
{
    (void)state;
    ledger l = {0};
    write_text_ok("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":10},"
                  "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":10},"
                  "{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":2,\"ts\":6,\"dur\":1}]",
                  &l);
    assert_string_equal(l.text, "otf2.lanes-added 1\n");
    if (!can_print()) skip();
    char *text = printed("-G");
    expect_in_order(text, (const char *const[]){"\"thread 2\"", "\"thread 2 lane 2\"", NULL});
    free(text);
}

static void test_otf2_write__flows_copies_collectives_and_counters(void **state)
{
    (void)state;
    ledger l = {0};
    write_text_ok(
        "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":9,\"tid\":9,\"ts\":1},"
        "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":4},"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":6,\"pid\":9,\"tid\":9,\"ts\":2},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pinned)\",\"pid\":0,\"tid\":7,\"ts\":4,"
        "\"dur\":2,\"args\":{\"device\":0,\"stream\":7,\"bytes\":4096}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7,\"Collective name\":\"allreduce\",\"In msg nelems\":10,"
        "\"Out msg nelems\":10,\"dtype\":\"Float\",\"Process Group Name\":\"3\",\"Process Group Ranks\":\"[0]\"}},"
        "{\"ph\":\"C\",\"name\":\"GPU memory\",\"pid\":9,\"tid\":9,\"ts\":3,\"args\":{\"bytes\":77}}]",
        &l);
    assert_string_equal(l.text, "otf2.flow-unmatched 1\n");
    if (!can_print()) skip();
    char *text = printed("");
    expect_in_order(text, (const char *const[]){"MPI_SEND", "\"CUDA[0:7]\"", "METRIC", "INT64; 77", "RMA_PUT",
                                                "Bytes: 4096", "MPI_RECV", "RMA_OP_COMPLETE_BLOCKING",
                                                "MPI_COLLECTIVE_BEGIN", "ALLREDUCE", "Sent: 40", NULL});
    assert_null(strstr(text, "warning"));
    free(text);
}

static void test_otf2_write__a_size_beyond_64_bits_is_unknown_and_counted(void **state)
{
    (void)state;
    ledger l = {0};
    write_text_ok(
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7,\"Collective name\":\"allreduce\",\"In msg nelems\":4611686018427387904,"
        "\"Out msg nelems\":10,\"dtype\":\"Float\",\"Process Group Name\":\"3\",\"Process Group Ranks\":\"[0]\"}}]",
        &l);
    assert_string_equal(l.text, "otf2.bytes-beyond-64-bits 1\n");
    if (!can_print()) skip();
    char *text = printed("");
    expect_in_order(text, (const char *const[]){"ALLREDUCE", "Sent: 0", "Received: 40", NULL});
    free(text);
}

/* The busiest thread is another than the one that launched the copy, and a correlation id counts within its process. */
static void test_otf2_write__the_far_side_of_a_copy_launched_it(void **state)
{
    (void)state;
#define CALL(pid, tid, ts, id)                                                                                         \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts   \
    ",\"dur\":1,\"args\":{\"correlation\":" id "}},"
#define COPY(name, ts, id)                                                                                             \
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" ts                        \
    ",\"dur\":2,\"args\":{\"device\":0,\"stream\":7,\"bytes\":8,\"correlation\":" id "}}"
    write_text_ok("[" CALL("5", "50", "1", "77") CALL("9", "90", "1", "1") CALL("9", "90", "3", "2")
                      CALL("9", "91", "5", "77") COPY("MemcpyH2D", "10", "77") "," COPY(
                          "CopyHostToDevice", "20", "78") "," COPY("MemcpyD2H", "30", "79") "]",
                  NULL);
#undef CALL
#undef COPY
    if (!can_print()) skip();
    char *text = printed("");
    expect_in_order(text,
                    (const char *const[]){"RMA_GET", "\"thread 91\"", "RMA_GET", "\"thread 90\"", "RMA_PUT", NULL});
    free(text);
}

static void test_otf2_write__memory_instants_are_metrics_too(void **state)
{
    (void)state;
    ledger l = {0};
#define MEMORY(ts, device, allocated)                                                                                  \
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"s\":\"t\",\"pid\":9,\"tid\":9,\"ts\":" ts     \
    ",\"args\":{\"Total Reserved\":1000,\"Total Allocated\":" allocated                                                \
    ",\"Bytes\":50,\"Addr\":1,\"Device Id\":" device ",\"Device Type\":1}},"
    write_text_ok("[" MEMORY("1", "0", "512") MEMORY("2", "3", "777") MEMORY(
                      "3", "0", "0") "{\"ph\":\"C\",\"name\":\"count\",\"pid\":9,\"ts\":2,\"args\":{\"a\":1}},"
                                     "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,"
                                     "\"dur\":1,\"args\":{\"device\":0,\"stream\":7}}]",
                  &l);
#undef MEMORY
    assert_string_equal(l.text, "");
    if (!can_print()) skip();
    char *text = printed("");
    expect_in_order(text, (const char *const[]){"METRIC", "\"GPU 0 Total Allocated\"", "UINT64; 512", "UINT64; 1000",
                                                "\"GPU 3 Total Allocated\"", "UINT64; 777", "UINT64; 0", NULL});
    assert_null(strstr(text, "warning"));
    free(text);
    text = printed("-G");
    expect_in_order(text, (const char *const[]){"METRIC_MEMBER", "\"GPU 0 Total Allocated\"", "ABSOLUTE_POINT",
                                                "METRIC_INSTANCE", NULL});
    assert_non_null(strstr(text, "\"GPU 0\""));
    free(text);
}

static void test_otf2_write__global_instants_are_markers_too(void **state)
{
    (void)state;
    write_text_ok("[{\"ph\":\"i\",\"cat\":\"c\",\"name\":\"everywhere\",\"s\":\"g\",\"pid\":1,\"tid\":2,\"ts\":5},"
                  "{\"ph\":\"i\",\"name\":\"here\",\"s\":\"t\",\"pid\":1,\"tid\":2,\"ts\":6}]",
                  NULL);
    if (!can_print()) skip();
    char command[600];
    snprintf(command, sizeof command, "otf2-marker '%s/out.otf2/traces.otf2' 2>&1 | grep -v '^$'", folder);
    FILE *pipe = popen(command, "r");
    char text[4096] = "";
    assert_non_null(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    pclose(pipe);
    if (strstr(text, "not found")) skip();
    expect_in_order(text, (const char *const[]){"5000", "everywhere", NULL});
    assert_null(strstr(text, "6000"));
}

static void test_otf2_write__an_archive_is_replaced_only_with_clean(void **state)
{
    (void)state;
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2}]";
    hd_error err = {0};
    assert_int_equal(write_to("once.otf2", json, sizeof json - 1, false, NULL, &err), HD_OK);
    assert_int_equal(write_to("once.otf2", json, sizeof json - 1, false, NULL, &err), HD_ERR_IO);
    assert_non_null(strstr(err.message, "--clean"));
    err = (hd_error){0};
    assert_int_equal(write_to("once.otf2/traces.otf2", json, sizeof json - 1, true, NULL, &err), HD_OK);
    assert_int_equal(access(path_of("once.otf2/traces.def"), R_OK), 0);
}

static void test_otf2_write__other_files_are_never_deleted(void **state)
{
    (void)state;
    static const char json[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2}]";
    hd_error err = {0};
    assert_int_equal(mkdir(path_of("mine"), 0777), 0);
    fclose(fopen(path_of("mine/letter.txt"), "w"));
    fclose(fopen(path_of("mine/traces.otf2"), "w"));
    assert_int_equal(write_to("mine", json, sizeof json - 1, true, NULL, &err), HD_ERR_IO);
    assert_int_equal(access(path_of("mine/letter.txt"), R_OK), 0);
    err = (hd_error){0};
    assert_int_equal(write_to("mine/letter.txt", json, sizeof json - 1, true, NULL, &err), HD_ERR_IO);
    err = (hd_error){0};
    assert_int_equal(write_to("-", json, sizeof json - 1, true, NULL, &err), HD_ERR_ARGUMENT);
}

static void test_otf2_write__strict_leaves_nothing_and_replaces_nothing(void **state)
{
    (void)state;
    /* a flow point without a partner is lost */
    static const char loss[] = "[{\"ph\":\"s\",\"cat\":\"c\",\"name\":\"f\",\"id\":1,\"pid\":1,\"tid\":2,\"ts\":1}]";
    static const char fine[] = "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":2}]";
    hd_trace *trace;
    hd_error err = {0};
    hd_write_options options = {.format = "otf2", .clean = true, .strict = true};
    assert_int_equal(read_text(&trace, loss, sizeof loss - 1, NULL, 0, &err), HD_OK);
    assert_int_equal(hd_trace_write(trace, path_of("strict.otf2"), &options, &err), HD_ERR_UNSUPPORTED);
    assert_int_equal(access(path_of("strict.otf2"), F_OK), -1);
    assert_int_equal(write_to("strict.otf2", fine, sizeof fine - 1, false, NULL, &err), HD_OK);
    struct stat before, after;
    assert_int_equal(stat(path_of("strict.otf2/traces.def"), &before), 0);
    assert_int_equal(hd_trace_write(trace, path_of("strict.otf2"), &options, &err), HD_ERR_UNSUPPORTED);
    assert_int_equal(stat(path_of("strict.otf2/traces.def"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    hd_trace_free(trace);
    options.strict = true;
    assert_int_equal(read_text(&trace, fine, sizeof fine - 1, NULL, 0, &err), HD_OK);
    assert_int_equal(hd_trace_write(trace, path_of("strict.otf2"), &options, &err), HD_OK);
    hd_trace_free(trace);
}

/* Writing fails when events written and events lost are not all events. */
static void test_otf2_write__every_event_of_random_documents_is_accounted_for(void **state)
{
    (void)state;
    hd_json_out out = {0};
    for (unsigned i = 0, count = hd_test_rounds(30); i < count; i++) {
        uint64_t seed = i;
        hd_error err = {0};
        out.size = 0;
        random_document(&out, &seed, 40);
        if (write_to("out.otf2", out.data, out.size, true, NULL, &err) != HD_OK) fail_msg("%u: %s", i, err.message);
    }
    free(out.data);
}

static void test_otf2_write__every_event_of_the_fixtures_is_accounted_for(void **state)
{
    (void)state;
    fixtures all = fixtures_load("tests/format/chrome");
    for (size_t i = 0; i < all.count; i++) {
        hd_error err = {0};
        if (write_to("out.otf2", all.list[i].text, all.list[i].size, true, NULL, &err) != HD_OK)
            fail_msg("%s: %s", all.list[i].name, err.message);
        if (can_print()) free(printed("--silent"));
    }
    fixtures_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otf2_write__nanoseconds_and_types_survive),
        cmocka_unit_test(test_otf2_write__negative_times_shift_and_say_so),
        cmocka_unit_test(test_otf2_write__crossing_slices_go_to_lanes),
        cmocka_unit_test(test_otf2_write__flows_copies_collectives_and_counters),
        cmocka_unit_test(test_otf2_write__a_size_beyond_64_bits_is_unknown_and_counted),
        cmocka_unit_test(test_otf2_write__the_far_side_of_a_copy_launched_it),
        cmocka_unit_test(test_otf2_write__memory_instants_are_metrics_too),
        cmocka_unit_test(test_otf2_write__global_instants_are_markers_too),
        cmocka_unit_test(test_otf2_write__an_archive_is_replaced_only_with_clean),
        cmocka_unit_test(test_otf2_write__other_files_are_never_deleted),
        cmocka_unit_test(test_otf2_write__strict_leaves_nothing_and_replaces_nothing),
        cmocka_unit_test(test_otf2_write__every_event_of_random_documents_is_accounted_for),
        cmocka_unit_test(test_otf2_write__every_event_of_the_fixtures_is_accounted_for),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
