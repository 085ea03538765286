/* Names for addresses: what is an address, functions that no file has, what becomes of stacks and events. */
#include "rounds.h"
#include "symbolize/symbolize_text.h"

#include <unistd.h>

#define SYMBOLS                                                                                                        \
    "\"symbols\":[{\"start\":\"0x1000\",\"size\":\"0x100\",\"name\":\"alpha\"},"                                       \
    "{\"start\":8192,\"bytes\":256,\"name\":\"_ZN2ns4betaEi\"},"                                                       \
    "{\"start\":\"0x3000\",\"size\":16,\"name\":\"py::train:/home/me/train.py\"}]"

static void assert_named(const char *json, const char *wanted)
{
    hd_trace *out = named(trace_of(json), NULL, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted);
    hd_trace_free(out);
}

/* ---- names ---- */

static void test_symbolize__symbols_of_the_trace_name_addresses_of_the_process(NO_STATE)
{
    assert_named("{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(2, "2") "," SAMPLE(3, "3") "," SAMPLE(
                     4, "4") "]," SYMBOLS
                             ",\"stackFrames\":{" FRAME(1, "0x1000") "," CALLED(2, "0x20ff", 1) "," CALLED(
                                 3, "0x2100", 1) "," FRAME(4, "0x3004") "}}",
                 "alpha | alpha;ns::beta(int) | alpha;0x2100 | train (/home/me/train.py)");
}

static void test_symbolize__frames_of_pythons_trampoline_become_python_frames(NO_STATE)
{
    hd_trace_stacks *stacks;
    hd_trace *out = named(trace_of("{\"traceEvents\":[" SAMPLE(1, "1") "],\"stackFrames\":{" FRAME(
                              1, "py::Model.forward:/x/model.py") "}}"),
                          NULL, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), "Model.forward (/x/model.py)");
    assert_named("{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(2, "2") "],\"stackFrames\":{" FRAME(
                     1, "py::f (<string>:1)") "," FRAME(2, "py::f:<string>") "}}",
                 "py::f (<string>:1) | py::f (<string>)");
    assert_int_equal(hd_trace_stacks_new(&stacks, out, NULL), HD_OK);
    assert_int_equal(hd_stacks_at(hd_trace_stacks_tree(stacks), 1).kind, HD_FRAME_PYTHON);
    hd_trace_stacks_free(stacks);
    hd_trace_free(out);
}

static void test_symbolize__names_that_only_look_like_addresses_stay(NO_STATE)
{
    hd_symbolize_report *report;
    hd_trace *out = named(
        trace_of("{\"traceEvents\":[" SAMPLE(
            1,
            "7") "],\"modules\":[{\"name\":\"lib.so\"}],"
                 "\"stackFrames\":{" FRAME(1, "main+0x12") "," CALLED(2, "0x", 1) "," CALLED(3, "0xnone", 2) "," CALLED(
                     4, "+0x12", 3) "," CALLED(5, "lib.so+0x",
                                               4) "," CALLED(6, "lib.so+12",
                                                             5) "," CALLED(7, "lib.so+0x11111111111111111", 6) "}}"),
        &report, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE),
                        "main+0x12;0x;0xnone;+0x12;lib.so+0x;lib.so+12;lib.so+0x11111111111111111");
    assert_int_equal(report->frames, 7);
    assert_int_equal(report->others, 7);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
}

/* Of how many addresses no module is known, where the second of two modules is of this process. */
static uint64_t outside(const char *process)
{
    char text[1024];
    hd_symbolize_report *report;
    snprintf(
        text, sizeof text,
        "{\"traceEvents\":[" SAMPLE(
            1,
            "1") "],\"modules\":["
                 "{\"pid\":\"70\",\"name\":\"a.so\",\"path\":\"/none/a.so\",\"start\":\"0x1000\",\"end\":\"0x2000\","
                 "\"bias\":\"0x1000\"},{\"pid\":\"%s\",\"name\":\"b.so\",\"path\":\"/none/b.so\",\"start\":\"0x7000\","
                 "\"end\":\"0x8000\",\"bias\":\"0x7000\"}],\"stackFrames\":{" FRAME(1, "0x7123") "}}",
        process);
    hd_trace *out = named(trace_of(text), &report, NULL);
    uint64_t count = report->no_module;
    hd_symbolize_report_free(report);
    hd_trace_free(out);
    return count;
}

static void test_symbolize__addresses_of_merged_processes_are_in_no_module_of_another(NO_STATE)
{
    assert_int_equal(outside("70"), 0);
    assert_int_equal(outside("71"), 1);
}

static void test_symbolize__what_is_no_file_has_addresses_of_the_process(NO_STATE)
{
    assert_named("{\"traceEvents\":[" SAMPLE(
                     1, "1") "]," SYMBOLS ",\"modules\":[{\"name\":\"anon\",\"path\":\"//anon\",\"bias\":\"0xf00\"}],"
                             "\"stackFrames\":{" FRAME(1, "anon+0x123") "}}",
                 "alpha");
}

static void test_symbolize__modules_of_one_name_are_told_apart_by_their_paths_only(NO_STATE)
{
    hd_symbolize_report *report;
    hd_trace *out =
        named(trace_of("{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(
                  2, "2") "],\"modules\":["
                          "{\"name\":\"_C.so\",\"path\":\"/none/a/_C.so\",\"buildId\":\"00aa\"},"
                          "{\"name\":\"_C.so\",\"path\":\"/none/b/_C.so\",\"buildId\":\"00bb\"}],"
                          "\"stackFrames\":{" FRAME(1, "_C.so+0x10") "," FRAME(2, "/none/b/_C.so+0x10") "}}"),
              &report, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), "_C.so+0x10 | /none/b/_C.so+0x10");
    assert_int_equal(report->module_count, 2);
    int ambiguous = report->modules[0].result == HD_SYMBOLIZE_AMBIGUOUS ? 0 : 1;
    assert_int_equal(report->modules[ambiguous].result, HD_SYMBOLIZE_AMBIGUOUS);
    assert_string_equal(report->modules[1 - ambiguous].build_id, "00bb");
    assert_int_equal(ledger_count(out, "symbolize.module-ambiguous"), 1);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
}

/* ---- maps ---- */

static hd_status with_map(hd_trace **out, const char *map, const char *frames, hd_error *err)
{
    char path[] = "/tmp/heddle-map-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, map, strlen(map)) == (ssize_t)strlen(map));
    close(fd);
    const char *maps[] = {path};
    hd_trace *trace = trace_of(frames);
    hd_status status =
        hd_symbolize(out, NULL, trace, &(hd_symbolize_options){.perf_maps = maps, .perf_map_count = 1}, err);
    hd_trace_free(trace);
    unlink(path);
    return status;
}

#define FOUR_ADDRESSES                                                                                                 \
    "{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(2, "2") "," SAMPLE(3, "3") "," SAMPLE(                              \
        4, "4") "],\"stackFrames\":{" FRAME(1, "0x100") "," FRAME(2,                                                   \
                                                                  "0x118") "," FRAME(3,                                \
                                                                                     "0x128") "," FRAME(4,             \
                                                                                                        "0x140") "}}"

static void test_symbolize__of_overlapping_lines_of_a_map_the_last_holds(NO_STATE)
{
    hd_trace *out;
    assert_int_equal(
        with_map(&out, "100 40 LazyCompile:~old file.js:1\n0x110 10 new one\nnot a line\n", FOUR_ADDRESSES, NULL),
        HD_OK);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE),
                        "LazyCompile:~old file.js:1 | new one | LazyCompile:~old file.js:1 | 0x140");
    assert_int_equal(ledger_count(out, "symbolize.symbol-damaged"), 1);
    assert_int_equal(ledger_count(out, "symbolize.address-outside"), 1);
    assert_int_equal(ledger_count(out, "symbolize.frame-unnamed"), 1);
    hd_trace_free(out);
}

static void test_symbolize__random_ranges_answer_as_a_look_at_all_of_them_does(NO_STATE)
{
    static char map[65536], frames[65536], wanted[65536];
    unsigned seed = hd_test_seed(1);
    for (int round = 0; round < 50; round++) {
        size_t at = 0, in = 0, made = 0;
        unsigned starts[40], sizes[40];
        for (int i = 0; i < 40; i++) {
            starts[i] = (unsigned)rand_r(&seed) % 200;
            sizes[i] = (unsigned)rand_r(&seed) % 30;
            at += (size_t)sprintf(map + at, "%x %x f%d\n", starts[i], sizes[i], i);
        }
        in += (size_t)sprintf(frames, "{\"traceEvents\":[");
        for (unsigned a = 0; a < 240; a++)
            in += (size_t)sprintf(frames + in, "%s{\"ph\":\"P\",\"name\":\"s\",\"ts\":%u,\"sf\":%u}", a ? "," : "",
                                  a + 1, a + 1);
        in += (size_t)sprintf(frames + in, "],\"stackFrames\":{");
        for (unsigned a = 0; a < 240; a++) {
            int holds = -1;
            in += (size_t)sprintf(frames + in, "%s\"%u\":{\"name\":\"0x%x\"}", a ? "," : "", a + 1, a);
            for (int i = 0; i < 40; i++) holds = a >= starts[i] && a < starts[i] + sizes[i] ? i : holds;
            made += (size_t)(holds < 0 ? sprintf(wanted + made, "%s0x%x", a ? " | " : "", a)
                                       : sprintf(wanted + made, "%sf%d", a ? " | " : "", holds));
        }
        sprintf(frames + in, "}}");
        hd_trace *out;
        assert_int_equal(with_map(&out, map, frames, NULL), HD_OK);
        assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), wanted);
        hd_trace_free(out);
    }
}

static void test_symbolize__a_file_that_is_no_map_is_refused(NO_STATE)
{
    hd_trace *out;
    hd_error err = {0};
    assert_int_equal(with_map(&out, "#!/bin/sh\necho 1 2 3\n", FOUR_ADDRESSES, &err), HD_ERR_FORMAT);
    assert_null(out);
    assert_non_null(strstr(err.message, "START SIZE NAME"));
    err = (hd_error){0};
    const char *maps[] = {"/none/perf-1.map"};
    hd_trace *trace = trace_of(FOUR_ADDRESSES);
    assert_int_equal(
        hd_symbolize(&out, NULL, trace, &(hd_symbolize_options){.perf_maps = maps, .perf_map_count = 1}, &err),
        HD_ERR_IO);
    hd_trace_free(trace);
}

/* ---- stacks ---- */

static void test_symbolize__frames_that_become_equal_under_one_caller_are_one(NO_STATE)
{
    hd_symbolize_report *report;
    hd_trace *out = named(trace_of("{\"traceEvents\":[" SAMPLE(1, "3") "," SAMPLE(2, "4") "," SAMPLE(
                              3, "5") "]," SYMBOLS
                                      ",\"stackFrames\":{" FRAME(1, "0x1000") "," FRAME(2, "0x1001") "," CALLED(
                                          3, "0x2000", 1) "," CALLED(4, "0x2001", 2) "," CALLED(5, "leaf", 4) "}}"),
                          &report, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE),
                        "alpha;ns::beta(int) | alpha;ns::beta(int) | alpha;ns::beta(int);leaf");
    assert_int_equal(report->nodes_in, 5);
    assert_int_equal(report->nodes, 3);
    assert_int_equal(report->named, 4);
    assert_int_equal(report->by_maps, 4);
    assert_int_equal(report->others, 1);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
}

static void test_symbolize__ids_of_any_form_are_followed_and_those_of_no_frame_stay_none(NO_STATE)
{
    assert_named(
        "{\"traceEvents\":[" SAMPLE(1, "1000") "," SAMPLE(2, "\"1000\"") "," SAMPLE(3, "1000.0") "," SAMPLE(
            4, "\"a\"") "," SAMPLE(5,
                                   "1") "," SAMPLE(6,
                                                   "\"1\"") "," SAMPLE(7,
                                                                       "\"b\"") "]," SYMBOLS
                                                                                ",\"stackFrames\":{" FRAME(
                                                                                    1000,
                                                                                    "0x1000") ",\"a\":{\"name\":"
                                                                                              "\"0x2000\",\"parent\":"
                                                                                              "\"1000\"}}}",
        "alpha | alpha | alpha | alpha;ns::beta(int) |  |  | ");
}

static void test_symbolize__slices_keep_their_stacks_and_all_else(NO_STATE)
{
    const char *json =
        "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,\"ts\":1,"
        "\"dur\":2,\"sf\":2,\"args\":{\"stream\":7,\"stack\":\"main;0x1000;0x2000\"}},"
        "{\"ph\":\"X\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":4,\"dur\":1,\"sf\":3,"
        "\"args\":{\"stack\":\"main;x\"}},"
        "{\"ph\":\"C\",\"name\":\"c\",\"pid\":0,\"ts\":5,\"args\":{\"v\":1.50}}],\"own\":{\"a\":[1]}," SYMBOLS
        ",\"stackFrames\":{" FRAME(1, "0x1000") "," CALLED(2, "0x2000", 1) "," FRAME(3, "x") "}}";
    hd_symbolize_report *report;
    hd_trace *out = named(trace_of(json), &report, NULL);
    size_t size;
    char *text = write_text(out, NULL, &size);
    assert_string_equal(stacks_text(out, HD_KIND_SLICE), "alpha;ns::beta(int) | x");
    assert_non_null(strstr(text, "\"main;alpha;ns::beta(int)\""));
    assert_non_null(strstr(text, "\"main;x\""));
    assert_non_null(strstr(text, "\"own\""));
    assert_non_null(strstr(text, "1.50"));
    assert_int_equal(hd_trace_event_count(out), 3);
    assert_int_equal(report->texts, 1);
    hd_symbolize_report_free(report);
    free(text);
    hd_trace_free(out);
}

static void test_symbolize__where_ids_cannot_be_followed_the_old_frames_stay(NO_STATE)
{
    hd_trace *out =
        named(trace_of("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"sf\":1,\"esf\":2}]," SYMBOLS
                       ",\"stackFrames\":{" FRAME(1, "0x1000") "," FRAME(2, "0x2000") "}}"),
              NULL, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SLICE), "alpha");
    hd_string frames = hd_trace_metadata_find(out, "stackFrames");
    assert_non_null(memmem(frames.data, frames.size, "\"2\":{\"name\":\"0x2000\"}", 21));
    assert_int_equal(ledger_count(out, "symbolize.old-frames-kept"), 1);
    hd_trace_free(out);
}

static void test_symbolize__a_second_time_changes_nothing_and_tells_nothing_twice(NO_STATE)
{
    const char *json = "{\"traceEvents\":[" SAMPLE(1, "1") "," SAMPLE(
        2, "2") "]," SYMBOLS ",\"modules\":[{\"name\":\"gone.so\",\"path\":\"/none/gone.so\",\"buildId\":\"abcd\"}],"
                "\"stackFrames\":{" FRAME(1, "0x1000") "," CALLED(2, "gone.so+0x10", 1) "}}";
    size_t once_size, twice_size;
    hd_trace *once = named(trace_of(json), NULL, NULL);
    char *once_text = write_text(once, NULL, &once_size);
    assert_int_equal(ledger_count(once, "symbolize.module-not-found"), hd_symbolize_has_files() ? 1 : 0);
    hd_trace *twice = named(once, NULL, NULL);
    char *twice_text = write_text(twice, NULL, &twice_size);
    assert_string_equal(stacks_text(twice, HD_KIND_SAMPLE), "alpha | alpha;gone.so+0x10");
    assert_int_equal(ledger_count(twice, "symbolize.frame-unnamed"), 1);
    assert_string_equal(once_text, twice_text);
    free(once_text);
    free(twice_text);
    hd_trace_free(twice);
}

static void test_symbolize__a_trace_without_stacks_comes_out_as_it_is(NO_STATE)
{
    hd_symbolize_report *report;
    hd_trace *out =
        named(trace_of("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}]}"), &report, NULL);
    assert_int_equal(hd_trace_event_count(out), 1);
    assert_int_equal(report->frames, 0);
    assert_int_equal(hd_trace_ledger_count(out), 0);
    hd_symbolize_report_free(report);
    hd_trace_free(out);
}

/* ---- bad input ---- */

static void test_symbolize__entries_that_are_none_are_counted(NO_STATE)
{
    hd_trace *out =
        named(trace_of("{\"traceEvents\":[" SAMPLE(
                  1, "1") "],"
                          "\"modules\":[1,{},{\"name\":\"a\\u0000b\"},{\"name\":\"x\",\"buildId\":\"abc\"},"
                          "{\"name\":\"y\",\"buildId\":\"zz\"},[],null,{\"name\":7}],"
                          "\"symbols\":[{\"name\":\"f\"},{\"start\":-1,\"size\":1,\"name\":\"g\"},"
                          "{\"start\":1,\"size\":0,\"name\":\"h\"},{\"start\":1.5,\"size\":1,\"name\":\"h\"}],"
                          "\"stackFrames\":{" FRAME(1, "x+0x1") "}}"),
              NULL, NULL);
    assert_string_equal(stacks_text(out, HD_KIND_SAMPLE), "x+0x1");
    assert_int_equal(ledger_count(out, "symbolize.module-damaged"), 8);
    assert_int_equal(ledger_count(out, "symbolize.symbol-damaged"), 4);
    hd_trace_free(out);
}

static void test_symbolize__modules_that_are_no_array_are_an_error(NO_STATE)
{
    hd_error err = {0};
    hd_trace *out, *trace = trace_of("{\"traceEvents\":[" SAMPLE(
                       1, "1") "],\"modules\":{\"a\":1},\"stackFrames\":{" FRAME(1, "0x1") "}}");
    assert_int_equal(hd_symbolize(&out, NULL, trace, NULL, &err), HD_ERR_DAMAGED);
    assert_null(out);
    assert_non_null(strstr(err.message, "modules"));
    hd_trace_free(trace);
}

static void test_symbolize__debuginfod_without_a_server_is_an_error(NO_STATE)
{
    hd_error err = {0};
    hd_trace *out, *trace = trace_of("{\"traceEvents\":[]}");
    unsetenv("DEBUGINFOD_URLS");
    hd_status status = hd_symbolize(&out, NULL, trace, &(hd_symbolize_options){.debuginfod = true}, &err);
    assert_int_equal(status, hd_symbolize_has_files() ? HD_ERR_ARGUMENT : HD_ERR_UNSUPPORTED);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symbolize__symbols_of_the_trace_name_addresses_of_the_process),
        cmocka_unit_test(test_symbolize__frames_of_pythons_trampoline_become_python_frames),
        cmocka_unit_test(test_symbolize__names_that_only_look_like_addresses_stay),
        cmocka_unit_test(test_symbolize__addresses_of_merged_processes_are_in_no_module_of_another),
        cmocka_unit_test(test_symbolize__what_is_no_file_has_addresses_of_the_process),
        cmocka_unit_test(test_symbolize__modules_of_one_name_are_told_apart_by_their_paths_only),
        cmocka_unit_test(test_symbolize__of_overlapping_lines_of_a_map_the_last_holds),
        cmocka_unit_test(test_symbolize__random_ranges_answer_as_a_look_at_all_of_them_does),
        cmocka_unit_test(test_symbolize__a_file_that_is_no_map_is_refused),
        cmocka_unit_test(test_symbolize__frames_that_become_equal_under_one_caller_are_one),
        cmocka_unit_test(test_symbolize__ids_of_any_form_are_followed_and_those_of_no_frame_stay_none),
        cmocka_unit_test(test_symbolize__slices_keep_their_stacks_and_all_else),
        cmocka_unit_test(test_symbolize__where_ids_cannot_be_followed_the_old_frames_stay),
        cmocka_unit_test(test_symbolize__a_second_time_changes_nothing_and_tells_nothing_twice),
        cmocka_unit_test(test_symbolize__a_trace_without_stacks_comes_out_as_it_is),
        cmocka_unit_test(test_symbolize__entries_that_are_none_are_counted),
        cmocka_unit_test(test_symbolize__modules_that_are_no_array_are_an_error),
        cmocka_unit_test(test_symbolize__debuginfod_without_a_server_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
