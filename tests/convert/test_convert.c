/* Conversions of files: what comes out, that every event is accounted for, that failures leave no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "heddle/convert.h"

#define NO_STATE void **state __attribute__((unused))

static char folder[] = "/tmp/heddle-convert-XXXXXX";
static char in[2][64], out[64];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(in[0], sizeof in[0], "%s/rank0.json", folder);
    snprintf(in[1], sizeof in[1], "%s/rank1.json", folder);
    snprintf(out, sizeof out, "%s/out.json", folder);
    return 0;
}

static int clear_folder(void **state)
{
    (void)state;
    unlink(in[0]);
    unlink(in[1]);
    unlink(out);
    return rmdir(folder) == 0 || access(folder, F_OK) != 0 ? 0 : 1;
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const char *path, const char *wanted)
{
    size_t size;
    char *text = file_text(path, &size);
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
}

static void assert_accounted(const hd_convert_report *r)
{
    uint64_t at = r->events_in;
    assert_int_equal(r->events_in + r->added, r->events_out + r->removed + r->lost);
    for (size_t i = 0; i < r->step_count; i++) {
        assert_int_equal(r->steps[i].in, at);
        at = r->steps[i].out;
        assert_int_equal(r->steps[i].in + r->steps[i].added, r->steps[i].out + r->steps[i].removed + r->steps[i].lost);
    }
    assert_int_equal(at, r->events_out);
}

static void convert_with(hd_convert_report **report, size_t inputs, const hd_convert_options *options)
{
    const char *const paths[] = {in[0], in[1]};
    hd_error err = {0};
    if (hd_convert(report, paths, inputs, out, options, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    assert_true((*report)->written);
    assert_accounted(*report);
}

#define X(name, pid, ts, dur)                                                                                          \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts ",\"dur\":" dur "}"
#define FLOW(ph, pid, ts) "{\"ph\":\"" ph "\",\"name\":\"f\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts ",\"id\":1}"

static void test_convert__a_trace_is_written_as_it_was_read(NO_STATE)
{
    static const char text[] =
        "{\n\"traceEvents\":[\n" X("a", "1", "1", "2") ",\n" X("b", "1", "5", "1.500") "\n]\n}\n";
    hd_convert_report *report;
    put_file(in[0], text);
    convert_with(&report, 1, NULL);
    assert_int_equal(report->events_in, 2);
    assert_string_equal(report->format, "chrome");
    hd_convert_report_free(report);
    size_t size;
    char *got = file_text(out, &size);
    assert_non_null(strstr(got, "\"name\":\"a\""));
    free(got);
}

static void note_progress(void *user, uint64_t done, uint64_t total)
{
    uint64_t *seen = user; /* calls, done */
    assert_true(done >= seen[1] && done <= total);
    seen[0]++, seen[1] = done;
}

static void test_convert__all_steps_account_for_every_event(NO_STATE)
{
    hd_convert_report *report;
    uint64_t seen[2] = {0};
    const hd_convert_options options = {
        .fix = true,
        .snap_threshold_ps = 5000000,
        .until = {HD_CONVERT_PERCENT, 500000},
        .names = "!gone",
        .progress = note_progress,
        .progress_user = seen,
    };
    put_file(in[0], "[" X("gone", "1", "0", "10") "," X("a", "1", "20", "30") "," X("b", "1", "30", "40") "," FLOW(
                        "s", "1", "5") "," FLOW("f", "1", "25") "," X("z", "1", "900", "100") "]");
    put_file(in[1], "[" X("a", "1", "20", "10") "," X("z", "1", "990", "10") "]");
    convert_with(&report, 2, &options);
    assert_true(seen[0] >= 4 && seen[1] > 0); /* two inputs merged, then three passes */
    assert_int_equal(report->events_in, 8);
    assert_int_equal(report->lost, 2);
    assert_int_equal(report->losses, 2);
    assert_int_equal(report->removed, 3);
    assert_int_equal(report->new_lanes, 1);
    assert_int_equal(report->step_count, 5);
    assert_int_equal(report->inputs[1].rank, 1);
    hd_convert_report_free(report);
}

/* One step by the library alone, on a trace that is held. */
static hd_trace *pass_over(hd_trace *trace, const char *text)
{
    hd_error err = {0};
    hd_pass *pass;
    hd_pass_report report;
    hd_pass_input input = {.trace = trace, .path = in[0], .take = true};
    hd_trace *made;
    if (hd_pass_new(&pass, text, NULL, 0, &err) != HD_OK) fail_msg("%s: %s", text, err.message);
    if (hd_pass_run(&made, &report, pass, &input, 1, NULL, &err) != HD_OK) fail_msg("%s: %s", text, err.message);
    assert_null(input.trace);
    assert_int_equal(report.in + report.added, report.out + report.removed + report.lost);
    hd_pass_free(pass);
    return made;
}

static void test_convert__passes_in_memory_make_what_a_chain_over_files_makes(NO_STATE)
{
    static const char *const chain[] = {"lanes:snap-threshold-us=1", "crop:from=1%,until=50us,clip",
                                        "filter:names=a,names=b", "merge:ranks"};
    enum { LENGTH = sizeof chain / sizeof *chain };
    hd_pass *passes[LENGTH];
    hd_convert_report *report;
    hd_trace *trace;
    size_t size;
    put_file(in[0], "[" X("gone", "1", "0", "10") "," X("a", "1", "20", "30") "," X("b", "1", "30", "40") "," FLOW(
                        "s", "1", "5") "," FLOW("f", "1", "25") "," X("z", "1", "900", "100") "]");
    for (size_t i = 0; i < LENGTH; i++) assert_int_equal(hd_pass_new(&passes[i], chain[i], NULL, 0, NULL), HD_OK);
    const hd_convert_options options = {.passes = (const hd_pass *const *)passes, .pass_count = LENGTH};
    convert_with(&report, 1, &options);
    assert_int_equal(report->step_count, LENGTH + 1);
    assert_int_equal(report->new_lanes, 1);
    hd_convert_report_free(report);
    for (size_t i = 0; i < LENGTH; i++) hd_pass_free(passes[i]);
    char *wanted = file_text(out, &size);
    assert_int_equal(hd_trace_read(&trace, in[0], NULL, NULL), HD_OK);
    for (size_t i = 0; i < LENGTH; i++) trace = pass_over(trace, chain[i]);
    assert_int_equal(hd_trace_write(trace, out, NULL, NULL), HD_OK);
    hd_trace_free(trace);
    assert_file(out, wanted);
    free(wanted);
}

static void test_convert__a_pass_that_is_none_is_said_with_what_is_known(NO_STATE)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"fliter", "did you mean filter?"},
        {"zzzzqqqq", "there are lanes, crop, filter, merge, attribution, memory"},
        {"crop:form=1s", "did you mean from?"},
        {"filter:names=a,b", "it has tracks, names, category"},
        {"crop:clip", "clip needs from or until"},
        {"crop:clip=1,from=1s", "takes no value"},
        {"crop:from", "needs a value: from=time"},
        {"crop:from=soon", "is no time"},
        {"lanes:snap-threshold-us=-1", "is not a number"},
        {"attribution:clock-offset=5%", "is a time"},
        {"merge:ranks,processes", "not both"},
    };
    hd_pass *pass;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hd_error err = {0};
        assert_int_equal(hd_pass_new(&pass, wrong[i].text, NULL, 0, &err), HD_ERR_ARGUMENT);
        if (!strstr(err.message, wrong[i].why)) fail_msg("%s: %s", wrong[i].text, err.message);
        assert_null(pass);
    }
}

static void test_convert__times_count_from_the_first_event(NO_STATE)
{
    hd_convert_report *report;
    const hd_convert_options options = {
        .from = {HD_CONVERT_NS, 10000}, .until = {HD_CONVERT_PERCENT, 600000}, .clip = true};
    put_file(in[0], "[" X("a", "1", "1000", "5") "," X("b", "1", "1008", "100") "]");
    convert_with(&report, 1, &options);
    hd_convert_report_free(report);
    size_t size;
    char *got = file_text(out, &size);
    assert_non_null(strstr(got, "\"ts\":1010,\"dur\":54.8}"));
    assert_null(strstr(got, "\"a\""));
    free(got);
}

static bool leave_out(void *user, size_t index, const hd_error *why)
{
    assert_non_null(strstr(why->path, "rank0.json"));
    *(size_t *)user = index + 1;
    return true;
}

static void test_convert__an_input_that_cannot_be_read_is_left_out_and_counted(NO_STATE)
{
    hd_convert_report *report;
    size_t left_out = 0;
    const hd_convert_options options = {.processes = true, .leave_out = leave_out, .user = &left_out};
    put_file(in[0], "no trace");
    put_file(in[1], "[" X("a", "1", "20", "10") "]");
    convert_with(&report, 2, &options);
    assert_int_equal(left_out, 1);
    assert_int_equal(report->input_count, 1);
    assert_int_equal(report->events_out, 1);
    assert_int_equal(report->losses, 1);
    assert_string_equal(report->ledger[0].code, "convert.input-left-out");
    hd_convert_report_free(report);
}

static void test_convert__no_input_that_can_be_read_is_an_error(NO_STATE)
{
    const char *const paths[] = {in[0]};
    size_t left_out = 0;
    hd_error err = {0};
    const hd_convert_options options = {.leave_out = leave_out, .user = &left_out};
    put_file(in[0], "no trace");
    unlink(out);
    assert_int_equal(hd_convert(NULL, paths, 1, out, &options, &err), HD_ERR_DAMAGED);
    assert_int_not_equal(access(out, F_OK), 0);
}

static void test_convert__strict_leaves_an_older_file_as_it_was(NO_STATE)
{
    const char *const paths[] = {in[0]};
    hd_convert_report *report;
    hd_error err = {0};
    hd_convert_options options = {.strict = true, .names = "a"};
    put_file(in[0], "[" X("a", "1", "0", "10") "," X("b", "1", "20", "10") "," FLOW("s", "1", "5") "," FLOW("f", "1",
                                                                                                            "15") "]");
    put_file(out, "older");
    assert_int_equal(hd_convert(&report, paths, 1, out, &options, &err), HD_ERR_DAMAGED);
    assert_non_null(strstr(err.message, "filter.flow-lost"));
    assert_false(report->written);
    assert_int_equal(report->losses, 2);
    assert_int_equal(report->ledger_count, 1);
    hd_convert_report_free(report);
    assert_file(out, "older");
    options.names = NULL;
    convert_with(&report, 1, &options);
    hd_convert_report_free(report);
}

static void test_convert__strict_accepts_repairs_and_refuses_losses_of_reading(NO_STATE)
{
    const char *const paths[] = {in[0]};
    hd_convert_report *report;
    hd_error err = {0};
    const hd_convert_options options = {.strict = true};
    put_file(in[0], "[" X("a", "1", "0", "10") "," X("b", "1", "20", "NaN") ",]");
    convert_with(&report, 1, &options);
    assert_true(report->repairs > 0);
    assert_int_equal(report->losses, 0);
    hd_convert_report_free(report);
    unlink(out);
    put_file(in[0], "[" X("a", "1", "0", "10") "] garbage behind it");
    assert_int_equal(hd_convert(&report, paths, 1, out, &options, &err), HD_ERR_DAMAGED);
    assert_true(report->losses > 0);
    hd_convert_report_free(report);
    assert_int_equal(access(out, F_OK), -1);
}

static void test_convert__strict_refuses_what_the_format_cannot_hold(NO_STATE)
{
    const char *const paths[] = {in[0]};
    hd_convert_report *report;
    hd_error err = {0};
    hd_convert_options options = {.strict = true, .write = &(hd_write_options){.format = "sbt"}};
    if (!hd_format_find("sbt")) skip();
    put_file(in[0], "[" X("a", "1", "0", "10") "," FLOW("s", "1", "5") "," FLOW(
                        "f", "1", "15") ",{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1,\"args\":{\"v\":1}}]");
    put_file(out, "older");
    assert_int_equal(hd_convert(&report, paths, 1, out, &options, &err), HD_ERR_UNSUPPORTED);
    assert_true(report->losses > 0);
    assert_true(report->ledger_count > 0);
    hd_convert_report_free(report);
    assert_file(out, "older");
    options.strict = false;
    convert_with(&report, 1, &options);
    assert_true(report->losses > 0);
    assert_int_equal(report->events_in, 4);
    assert_int_equal(report->events_out, 1); /* two arrows' ends and a counter have no place */
    assert_string_equal(report->steps[report->step_count - 1].name, "write");
    assert_int_equal(report->steps[report->step_count - 1].lost, 3);
    hd_convert_report_free(report);
}

static void test_convert__an_input_may_be_the_output(NO_STATE)
{
    const char *const paths[] = {in[0]};
    hd_error err = {0};
    const hd_convert_options options = {.names = "a"};
    put_file(in[0], "[" X("a", "1", "0", "10") "," X("b", "1", "20", "10") "]");
    assert_int_equal(hd_convert(NULL, paths, 1, in[0], &options, &err), HD_OK);
    size_t size;
    char *got = file_text(in[0], &size);
    assert_non_null(strstr(got, "\"a\""));
    assert_null(strstr(got, "\"b\""));
    free(got);
}

static void test_convert__wrong_options_are_refused_before_anything_is_read(NO_STATE)
{
    const char *const paths[] = {"/nowhere/at all"};
    hd_error err = {0};
    assert_int_equal(hd_convert(NULL, paths, 1, out, &(hd_convert_options){.names = "/("}, &err), HD_ERR_ARGUMENT);
    err = (hd_error){0};
    const hd_write_options nothing = {.format = "nothing"};
    assert_int_equal(hd_convert(NULL, paths, 1, out, &(hd_convert_options){.write = &nothing}, &err), HD_ERR_ARGUMENT);
    err = (hd_error){0};
    assert_int_equal(hd_convert(NULL, paths, 1, out, NULL, &err), HD_ERR_IO);
    err = (hd_error){0};
    hd_convert_report *report;
    assert_int_equal(hd_convert(&report, paths, 0, out, NULL, &err), HD_ERR_ARGUMENT);
    assert_null(report);
    put_file(in[0], "[" X("a", "1", "0", "10") "]");
    const char *const good[] = {in[0]};
    err = (hd_error){0};
    hd_convert_options options = {.from = {HD_CONVERT_NS, 10001}};
    assert_int_equal(hd_convert(NULL, good, 1, out, &options, &err), HD_ERR_ARGUMENT);
    err = (hd_error){0};
    options = (hd_convert_options){.from = {HD_CONVERT_NS, 5}, .until = {HD_CONVERT_NS, 5}};
    assert_int_equal(hd_convert(NULL, good, 1, out, &options, &err), HD_ERR_ARGUMENT);
    assert_int_equal(access(out, F_OK), -1);
}

static hd_status convert_limited(size_t *out_read, size_t inputs, uint64_t limit)
{
    const char *const paths[] = {in[0], in[1]};
    hd_convert_options options = {.read = &(hd_read_options){.memory_limit = limit}};
    hd_convert_report *report;
    hd_status status = hd_convert(&report, paths, inputs, out, &options, NULL);
    *out_read = report->input_count;
    hd_convert_report_free(report);
    return status;
}

/* Where there is no folder for temporary files, going beyond the limit is an error. */
static void test_convert__inputs_share_the_memory_limit(NO_STATE)
{
    char *text = NULL;
    size_t size, count;
    FILE *file = open_memstream(&text, &size);
    for (int i = 0; i < 3000; i++) fprintf(file, "%s" X("a", "1", "%d", "2"), i ? "," : "[", i);
    fputs("]", file);
    fclose(file);
    put_file(in[0], text);
    put_file(in[1], text);
    free(text);
    uint64_t limit = 1024;
    setenv("TMPDIR", "/nonexistent", 1);
    while (convert_limited(&count, 1, limit) != HD_OK && limit < 1 << 30) limit *= 2;
    /* columns of the merged trace are wider */
    hd_status both_with_more = convert_limited(&count, 2, 16 * limit), both = convert_limited(&count, 2, limit);
    unsetenv("TMPDIR");
    assert_in_range(limit, 2048, 1 << 22);
    assert_int_equal(both, HD_ERR_IO);
    assert_int_equal(count, 0); /* a half is too little for the first one */
    assert_int_equal(both_with_more, HD_OK);
}

static void expect_told_of(const char *culprit, const char *output, int level, hd_status status)
{
    static const char *const missing[] = {"/nonexistent/in.json"};
    const hd_convert_options options = {.write = &(hd_write_options){.level = level}};
    hd_error err = {0};
    assert_int_equal(hd_convert(NULL, missing, 1, output, &options, &err), status);
    assert_string_equal(err.path, culprit);
}

static void test_convert__an_output_that_cannot_be_is_told_before_anything_is_read(NO_STATE)
{
    char gzip[80];
    snprintf(gzip, sizeof gzip, "%s/out.json.gz", folder);
    expect_told_of(gzip, gzip, 15, HD_ERR_ARGUMENT);
    expect_told_of("/nonexistent/out.json", "/nonexistent/out.json", 0, HD_ERR_IO);
    expect_told_of(folder, folder, 0, HD_ERR_IO);
    expect_told_of("/nonexistent/in.json", out, 0, HD_ERR_IO);
    assert_int_equal(access(out, F_OK), -1); /* looking left nothing, see clear_folder */
}

#define PROFILE                                                                                                        \
    "{\"memoryProfilePerAllocator\":{\"GPU_0_bfc\":{\"memoryProfileSnapshots\":[{\"timeOffsetPs\":\"2500\","           \
    "\"aggregationStats\":{\"peakBytesInUse\":\"8\"},\"activityMetadata\":{\"memoryActivity\":\"ALLOCATION\"}}]}}}"
#define ON_GPU "\"pid\":\"TensorFlow memory\",\"tid\":\"GPU_0_bfc\""
/* What is written of a trace with one slice and the profile: names of tracks are events there, so the new ones are. */
static const char joined[] =
    "{\n\"traceEvents\":[\n{\"ph\":\"X\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},\n"
    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":\"TensorFlow memory\",\"args\":{\"name\":\"TensorFlow "
    "memory\"}},\n"
    "{\"ph\":\"M\",\"name\":\"thread_name\"," ON_GPU ",\"args\":{\"name\":\"GPU_0_bfc\"}},\n"
    "{\"ph\":\"X\",\"cat\":\"memory\",\"name\":\"allocation\"," ON_GPU
    ",\"ts\":0.0025,\"dur\":0,\"args\":{\"memoryActivity\":\"ALLOCATION\"}},\n"
    "{\"ph\":\"C\",\"cat\":\"memory\",\"name\":\"GPU_0_bfc\"," ON_GPU
    ",\"ts\":0.0025,\"args\":{\"peakBytesInUse\":8}}\n"
    "],\n\"memoryProfile\":{\"memoryProfilePerAllocator\":{\"GPU_0_bfc\":{}}}\n}\n";
static const char *const profile_names[] = {"h.trace.json", "h.memory_profile.json", "other.memory_profile.json",
                                            "i.trace.json"};

static const char *in_folder(const char *name)
{
    static char paths[4][96];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static int remove_profiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) unlink(in_folder(profile_names[i]));
    unlink(out);
    return 0;
}

static void expect_joined(const char *input, const hd_convert_options *options)
{
    hd_convert_report *report = NULL;
    hd_error err = {0};
    if (hd_convert(&report, &input, 1, out, options, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    assert_accounted(report);
    assert_int_equal(report->events_in, 3);
    assert_int_equal(report->added, 2);
    assert_int_equal(report->input_count, 2);
    assert_string_equal(report->inputs[1].format, "tfmemory");
    assert_int_equal(report->inputs[1].events, 2);
    hd_convert_report_free(report);
    assert_file(out, joined);
    unlink(out); /* it would be one more trace of the folder */
}

static void expect_without(const char *input, const hd_convert_options *options)
{
    hd_convert_report *report = NULL;
    assert_int_equal(hd_convert(&report, &input, 1, out, options, NULL), HD_OK);
    assert_int_equal(report->input_count, 1);
    assert_int_equal(report->events_out, 1);
    hd_convert_report_free(report);
    unlink(out);
}

static const hd_convert_options finding = {.find_memory_profiles = true};

static void test_convert__a_memory_profile_that_is_named_is_joined_to_the_trace(NO_STATE)
{
    const char *input = in_folder("h.trace.json"), *two[] = {input, input};
    put_file(input, "{\"traceEvents\":[" X("op", "1", "1", "2") "]}");
    put_file(in_folder("other.memory_profile.json"), PROFILE);
    hd_convert_options options = {.memory_profile = in_folder("other.memory_profile.json")};
    expect_joined(input, &options);
    hd_error err = {0};
    assert_int_equal(hd_convert(NULL, two, 2, out, &options, &err), HD_ERR_ARGUMENT); /* which one is it of? */
    options.memory_profile = input;
    err = (hd_error){0};
    assert_int_equal(hd_convert(NULL, &input, 1, out, &options, &err), HD_ERR_ARGUMENT); /* a trace is none */
    assert_int_equal(access(out, F_OK), -1);
}

static void test_convert__a_memory_profile_is_found_by_the_name_of_the_trace(NO_STATE)
{
    const char *input = in_folder("h.trace.json");
    put_file(input, "{\"traceEvents\":[" X("op", "1", "1", "2") "]}");
    put_file(in_folder("h.memory_profile.json"), PROFILE);
    put_file(in_folder("other.memory_profile.json"), "{}");
    expect_joined(input, &finding);
    expect_joined(folder, &finding);
    expect_without(input, NULL);
    expect_without(folder, NULL);
}

static void test_convert__the_only_memory_profile_belongs_to_the_only_trace(NO_STATE)
{
    const char *input = in_folder("h.trace.json"), *directory = folder;
    put_file(input, "{\"traceEvents\":[" X("op", "1", "1", "2") "]}");
    put_file(in_folder("other.memory_profile.json"), PROFILE);
    expect_joined(input, &finding);
    expect_joined(folder, &finding);
    put_file(in_folder("i.trace.json"), "[]");
    expect_without(in_folder("h.trace.json"), &finding); /* of which of the two is it? */
    hd_error err = {0};
    assert_int_equal(hd_convert(NULL, &directory, 1, out, &finding, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "2 traces"));
}

static void test_convert__a_broken_memory_profile_is_told(NO_STATE)
{
    const char *input = in_folder("h.trace.json");
    hd_error err = {0};
    put_file(input, "{\"traceEvents\":[" X("op", "1", "1", "2") "]}");
    put_file(in_folder("h.memory_profile.json"), "{\"memoryProfilePerAllocator\":{\"A\":");
    assert_int_equal(hd_convert(NULL, &input, 1, out, &finding, &err), HD_ERR_DAMAGED);
    assert_non_null(strstr(err.path, "h.memory_profile.json"));
    assert_int_equal(err.cause_count, 1);
    assert_int_equal(access(out, F_OK), -1);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(in[0]);
    unlink(in[1]);
    unlink(out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_convert__a_trace_is_written_as_it_was_read, remove_files),
        cmocka_unit_test_teardown(test_convert__all_steps_account_for_every_event, remove_files),
        cmocka_unit_test_teardown(test_convert__passes_in_memory_make_what_a_chain_over_files_makes, remove_files),
        cmocka_unit_test(test_convert__a_pass_that_is_none_is_said_with_what_is_known),
        cmocka_unit_test_teardown(test_convert__times_count_from_the_first_event, remove_files),
        cmocka_unit_test(test_convert__an_input_that_cannot_be_read_is_left_out_and_counted),
        cmocka_unit_test(test_convert__no_input_that_can_be_read_is_an_error),
        cmocka_unit_test_teardown(test_convert__strict_leaves_an_older_file_as_it_was, remove_files),
        cmocka_unit_test_teardown(test_convert__strict_accepts_repairs_and_refuses_losses_of_reading, remove_files),
        cmocka_unit_test_teardown(test_convert__strict_refuses_what_the_format_cannot_hold, remove_files),
        cmocka_unit_test_teardown(test_convert__an_input_may_be_the_output, remove_files),
        cmocka_unit_test_teardown(test_convert__inputs_share_the_memory_limit, remove_files),
        cmocka_unit_test_teardown(test_convert__an_output_that_cannot_be_is_told_before_anything_is_read, remove_files),
        cmocka_unit_test_teardown(test_convert__wrong_options_are_refused_before_anything_is_read, remove_files),
        cmocka_unit_test_teardown(test_convert__a_memory_profile_that_is_named_is_joined_to_the_trace, remove_profiles),
        cmocka_unit_test_teardown(test_convert__a_memory_profile_is_found_by_the_name_of_the_trace, remove_profiles),
        cmocka_unit_test_teardown(test_convert__the_only_memory_profile_belongs_to_the_only_trace, remove_profiles),
        cmocka_unit_test_teardown(test_convert__a_broken_memory_profile_is_told, remove_profiles),
    };
    return cmocka_run_group_tests(tests, make_folder, clear_folder);
}
