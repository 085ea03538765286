/* hd_fix_overlaps on files: what comes out byte for byte, and the report. Real and random traces: compare_fix.py,
 * random_fix.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io/output.h"
#include "format/chrome/patch.h"
#include "heddle/fix.h"

#define NO_STATE void **state __attribute__((unused))

static char folder[] = "/tmp/heddle-test-fix-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Through the output layer, so that .gz and .zst are compressed. */
static void put_file(const char *name, const char *text, size_t size)
{
    hd_output *out;
    assert_int_equal(hd_output_create(&out, path_of(name), NULL, NULL), HD_OK);
    assert_int_equal(hd_output_write(out, text, size, NULL), HD_OK);
    assert_int_equal(hd_output_commit(out, NULL), HD_OK);
}

/* NUL-terminated; the caller frees it. */
static char *file_text(const char *path, size_t *out_size)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    char *text = calloc(1, (size_t)info.st_size + 1);
    assert_non_null(text);
    *out_size = fread(text, 1, (size_t)info.st_size, file);
    fclose(file);
    return text;
}

static char *get_file(const char *name)
{
    size_t size;
    return file_text(path_of(name), &size);
}

static hd_status fix_with(hd_fix_report **report, const char *in, const char *out, const hd_fix_options *options)
{
    char from[256];
    snprintf(from, sizeof from, "%s", strcmp(in, "-") == 0 ? in : path_of(in));
    return hd_fix_overlaps(report, from, path_of(out), options, NULL);
}

/* Fix text; the caller frees what comes out. Fixing that again must change nothing. */
static char *fixed_with(hd_fix_report **report, const char *text, const hd_fix_options *options)
{
    put_file("in.json", text, strlen(text));
    assert_int_equal(fix_with(report, "in.json", "out.json", options), HD_OK);
    assert_int_equal(fix_with(NULL, "out.json", "again.json", options), HD_OK);
    char *once = get_file("out.json"), *twice = get_file("again.json");
    assert_string_equal(once, twice);
    free(twice);
    return once;
}

static void expect_with(const char *text, const char *wanted, const hd_fix_options *options)
{
    char *got = fixed_with(NULL, text, options);
    assert_string_equal(got, wanted);
    free(got);
}

static void expect(const char *text, const char *wanted)
{
    expect_with(text, wanted, NULL);
}

/* ---- bytes ---- */

static void test_fix__without_crossings_every_byte_is_kept(NO_STATE)
{
    static const char *const texts[] = {
        "[]",
        "{\"traceEvents\":[]}\r\n",
        " [ ]\n\n",
        ("{\"schemaVersion\": 1, \"traceEvents\": [\n\n{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1} "
         ",\t{\"ph\":\"X\", "
         "\"dur\":0.50,\"ts\":1.000,\"pid\":1,\"tid\":1}], \"a\": {\"traceEvents\": 5}}"),
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"tid\":1},{\"ph\":\"X\",\"ts\":3,\"dur\":5,\"tid\":2}]",
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":-5,\"tid\":1},{\"ph\":\"X\",\"ts\":-3,\"tid\":1},{\"ph\":\"X\",\"dur\":3,"
        "\"tid\":1}]",
        "[{\"ph\":\"X\",\"ts\":1e3,\"dur\":\"5.0\",\"name\":\"\\u00e9\xc3\xa9\"}]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect(texts[i], texts[i]);
    expect("\xef\xbb\xbf[]", "[]"); /* what JSON does not allow is mended */
}

static void test_fix__only_the_values_that_change_are_written(NO_STATE)
{
    expect("[\n"
           " {\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 7, \"ts\": 100, \"dur\": 50},\n"
           " {\"dur\" : 60.250 ,\"args\": {\"ts\": 1, \"tid\": 2},\t\"ph\": \"X\", \"ts\" : 148.5, \"tid\": 7, "
           "\"pid\": 1 }\n"
           "]\n",
           "[\n"
           " {\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 7, \"ts\": 100, \"dur\": 50},\n"
           " {\"dur\" : 58.750 ,\"args\": {\"ts\": 1, \"tid\": 2},\t\"ph\": \"X\", \"ts\" : 150.0, \"tid\": 7, "
           "\"pid\": 1 }\n"
           "]\n");
}

static void test_fix__a_lane_is_named_behind_the_last_event_in_the_layout_of_the_file(NO_STATE)
{
    static const char meta_name[] =
        "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": 7001, \"args\": {\"name\": ";
    static const char meta_sort[] =
        "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": 1, \"tid\": 7001, \"args\": {\"sort_index\": ";
    static const char *const gaps[] = {"\n    ", "", " ", "\r\n\t"};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        char text[1024], wanted[2048];
        const char *gap = gaps[i];
        snprintf(text, sizeof text,
                 "{\"traceEvents\":[%s{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":0,\"dur\":100},%s"
                 "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":50,\"dur\":100}\n], \"last\": 1}",
                 gap, gap);
        snprintf(wanted, sizeof wanted,
                 "{\"traceEvents\":[%s{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":0,\"dur\":100},%s"
                 "{\"ph\":\"X\",\"pid\":1,\"tid\":7001,\"ts\":50,\"dur\":100},%s%s\"tid 7 lane 1\"}},%s%s0}}\n], "
                 "\"last\": 1}",
                 gap, gap, gap, meta_name, gap, meta_sort);
        expect(text, wanted);
    }
}

static void test_fix__names_of_lanes_are_valid_json(NO_STATE)
{
    expect("[{\"ph\":\"X\",\"pid\":\"a\\\"b\",\"tid\":\"c\\u0001\\\\\",\"ts\":0,\"dur\":100},"
           "{\"ph\":\"X\",\"pid\":\"a\\\"b\",\"tid\":\"c\\u0001\\\\\",\"ts\":50,\"dur\":100},"
           "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":\"a\\\"b\",\"tid\":\"c\\u0001\\\\\",\"args\":{\"name\":"
           "\"q\\\"\\n\"}}]",
           "[{\"ph\":\"X\",\"pid\":\"a\\\"b\",\"tid\":\"c\\u0001\\\\\",\"ts\":0,\"dur\":100},"
           "{\"ph\":\"X\",\"pid\":\"a\\\"b\",\"tid\":\"c\\u0001\\\\ lane 1\",\"ts\":50,\"dur\":100},"
           "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":\"a\\\"b\",\"tid\":\"c\\u0001\\\\\",\"args\":{\"name\":"
           "\"q\\\"\\n\"}},"
           "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": \"a\\\"b\", \"tid\": \"c\\u0001\\\\ lane 1\", "
           "\"args\": {\"name\": "
           "\"q\\\"\\n lane 1\"}},"
           "{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": \"a\\\"b\", \"tid\": \"c\\u0001\\\\ lane 1\", "
           "\"args\": "
           "{\"sort_index\": 0}}]");
}

static void test_fix__an_event_without_tid_gets_one(NO_STATE)
{
    char *got = fixed_with(NULL, "[{\"ph\":\"X\",\"ts\":0,\"dur\":100},{\"ph\":\"X\",\"ts\":50,\"dur\":100}]", NULL);
    assert_non_null(strstr(got, ",{\"tid\": \" lane 1\", \"ph\":\"X\",\"ts\":50,\"dur\":100},"));
    assert_non_null(strstr(
        got,
        "{\"ph\": \"M\", \"name\": \"thread_name\", \"tid\": \" lane 1\", \"args\": {\"name\": \"tid  lane 1\"}}"));
    free(got);
}

static void test_fix__times_keep_their_type_and_digits(NO_STATE)
{
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":\"0\",\"dur\":\"10.00\"},{\"ph\":\"X\",\"tid\":7,\"ts\":\"8\",\"dur\":\"20."
           "000\"}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":\"0\",\"dur\":\"10.00\"},{\"ph\":\"X\",\"tid\":7,\"ts\":\"10\",\"dur\":"
           "\"18.000\"}]");
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10.000001},{\"ph\":\"X\",\"tid\":7,\"ts\":8,\"dur\":20}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10.000001},{\"ph\":\"X\",\"tid\":7,\"ts\":10.000001,\"dur\":17."
           "999999}]");
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":-20.5,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":-11,\"dur\":10.75}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":-20.5,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":-10.5,\"dur\":10.25}]");
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":1700000000000000.123,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":"
           "1700000000000009,\"dur\":10}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":1700000000000000.123,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":"
           "1700000000000010.123,"
           "\"dur\":8.877}]");
}

static void test_fix__the_last_of_duplicate_keys_counts(NO_STATE)
{
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":500,\"ts\":8,\"dur\":20}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":500,\"ts\":10,\"dur\":18}]");
}

static void test_fix__both_ends_of_a_pair_change(NO_STATE)
{
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"B\",\"tid\":7,\"ts\":8},{\"ph\":\"E\",\"tid\":7,"
           "\"ts\":30}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"B\",\"tid\":7,\"ts\":10},{\"ph\":\"E\",\"tid\":7,"
           "\"ts\":30}]");
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":30},{\"ph\":\"B\",\"tid\":7,\"ts\":8},{\"ph\":\"E\",\"tid\":7,"
           "\"ts\":31}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":30},{\"ph\":\"B\",\"tid\":7,\"ts\":8},{\"ph\":\"E\",\"tid\":7,"
           "\"ts\":30}]");
    char *got = fixed_with(NULL,
                           "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":100},{\"ph\":\"B\",\"tid\":7,\"ts\":50},"
                           "{\"ph\":\"E\",\"tid\":7,\"ts\":150}]",
                           NULL);
    assert_non_null(strstr(got, "{\"ph\":\"B\",\"tid\":7001,\"ts\":50},{\"ph\":\"E\",\"tid\":7001,\"ts\":150}"));
    free(got);
}

static void test_fix__flow_points_are_patched_too(NO_STATE)
{
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":8,\"dur\":20},"
           "{\"ph\":\"s\",\"tid\":7,\"ts\":9.50,\"id\":1},{\"ph\":\"f\",\"bp\":\"e\",\"tid\":7,\"ts\":20,\"id\":1},"
           "{\"ph\":\"i\",\"tid\":7,\"ts\":9}]",
           "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":10,\"dur\":18},"
           "{\"ph\":\"s\",\"tid\":7,\"ts\":10.00,\"id\":1},{\"ph\":\"f\",\"bp\":\"e\",\"tid\":7,\"ts\":20,\"id\":1},"
           "{\"ph\":\"i\",\"tid\":7,\"ts\":9}]");
}

/* ---- broken JSON ---- */

static void test_fix__broken_json_comes_out_valid(NO_STATE)
{
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},\n]", "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10}\n]");
    expect("[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10}\n", "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10}\n]");
    expect("{\"traceEvents\":[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},",
           "{\"traceEvents\":[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10}]}");
}

static void test_fix__an_event_may_be_mended_and_changed(NO_STATE)
{
    expect(
        "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"name\":\"a\nb\",\"tid\":7,\"ts\":8,\"dur\":20,"
        "\"args\":{\"x\":NaN}}]",
        "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"name\":\"a\\nb\",\"tid\":7,\"ts\":10,\"dur\":18,"
        "\"args\":{\"x\":\"NaN\"}}]");
}

/* New lanes go where a comma is dropped and a bracket is put in. */
static void test_fix__lanes_are_put_into_a_cut_file(NO_STATE)
{
    static const char *const tails[] = {",",      "",      ",\n", "]", ",]", ",{\"ph\":\"X\",\"tid\":9,\"ts\":1,\"na",
                                        "\n,{}]", ",null,"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":100},{\"ph\":\"X\",\"tid\":7,\"ts\":50,\"dur\":100}%s",
                 tails[i]);
        const hd_fix_options strict = {.read = &(hd_read_options){.strict = true}};
        char *got = fixed_with(NULL, text, NULL);
        put_file("mended.json", got, strlen(got));
        assert_int_equal(fix_with(NULL, "mended.json", "strict.json", &strict), HD_OK);
        assert_non_null(strstr(got, "\"tid\":7001"));
        assert_non_null(strstr(got, "thread_sort_index"));
        free(got);
    }
}

static void test_fix__strict_refuses_and_writes_nothing(NO_STATE)
{
    const hd_fix_options strict = {.read = &(hd_read_options){.strict = true}};
    hd_fix_report *report;
    put_file("in.json", "[{\"ph\":\"X\",\"ts\":0,}]", 21);
    unlink(path_of("none.json"));
    assert_int_equal(fix_with(&report, "in.json", "none.json", &strict), HD_ERR_DAMAGED);
    assert_int_equal(access(path_of("none.json"), F_OK), -1);
    assert_null(report);
}

static void test_fix__documents_back_to_back_become_one(NO_STATE)
{
    static const char two[] =
        "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10}]\n[{\"ph\":\"X\",\"tid\":7,\"ts\":8,\"dur\":20}]\n";
    static const char lines[] =
        "{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10}\n{\"ph\":\"X\",\"tid\":7,\"ts\":8,\"dur\":20}\n";
    const char *const texts[] = {two, lines};
    for (int i = 0; i < 2; i++) {
        hd_fix_report *report;
        char *got = fixed_with(&report, texts[i], NULL);
        assert_int_equal(report->slices, 2);
        assert_int_equal(report->snapped_crossings, 1);
        assert_int_equal(report->output_bytes, strlen(got));
        assert_non_null(strstr(got, "18"));
        hd_fix_report_free(report);
        free(got);
    }
}

/* ---- ways in and out ---- */

/* Several MiB with long broken events, crossings and flow points, so that every way of copying and its windows are met.
 */
static char *long_text(size_t *out_size)
{
    size_t capacity = 8 << 20, size = 0;
    char *text = malloc(capacity);
    text[size++] = '[';
    text[size++] = '\n';
    for (int i = 0; size < (5 << 20); i++) {
        size +=
            (size_t)sprintf(text + size, "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"ts\":%d,\"dur\":%d,\"name\":\"", i * 10,
                            i % 9    ? 9
                            : i % 90 ? 12
                                     : 18);
        memset(text + size, 'a' + i % 26, (size_t)(i % 300) * 120);
        size += (size_t)(i % 300) * 120;
        if (i % 3) text[size++] = '\n'; /* a newline in a string: the event is mended */
        size += (size_t)sprintf(text + size, "\"},%s\n", i % 77 ? "" : "garbage ");
    }
    size += (size_t)sprintf(text + size, "{\"ph\":\"s\",\"pid\":1,\"tid\":7,\"ts\":1,\"id\":1},");
    *out_size = size;
    return text;
}

static void test_fix__plain_and_compressed_input_give_the_same_bytes(NO_STATE)
{
    size_t size, plain_size, other_size;
    char *text = long_text(&size);
    put_file("long.json", text, size);
    put_file("long.json.gz", text, size);
    put_file("long.json.zst", text, size);
    free(text);
    assert_int_equal(fix_with(NULL, "long.json", "plain.json", NULL), HD_OK);
    char *plain = file_text(path_of("plain.json"), &plain_size);
    static const char *const inputs[] = {"long.json.gz", "long.json.zst"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fix_with(NULL, inputs[i], "other.json", NULL), HD_OK);
        char *other = file_text(path_of("other.json"), &other_size);
        assert_int_equal(other_size, plain_size);
        assert_memory_equal(other, plain, plain_size);
        free(other);
    }
    static const char *const outputs[] = {"fixed.json.gz", "fixed.json.zst"};
    for (int i = 0; i < 2; i++) { /* and once more: fixed already */
        assert_int_equal(fix_with(NULL, "long.json", outputs[i], NULL), HD_OK);
        assert_int_equal(fix_with(NULL, outputs[i], "other.json", NULL), HD_OK);
        char *other = file_text(path_of("other.json"), &other_size);
        assert_int_equal(other_size, plain_size);
        assert_memory_equal(other, plain, plain_size);
        free(other);
    }
    free(plain);
}

static void test_fix__a_pipe_is_read(NO_STATE)
{
    size_t size, wanted_size, got_size;
    char *text = long_text(&size);
    int ends[2], saved = dup(STDIN_FILENO);
    put_file("long.json", text, size);
    assert_int_equal(fix_with(NULL, "long.json", "plain.json", NULL), HD_OK);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        for (size_t done = 0; done < size;) {
            ssize_t put = write(ends[1], text + done, size - done);
            if (put <= 0) _exit(1);
            done += (size_t)put;
        }
        _exit(0);
    }
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    assert_int_equal(fix_with(NULL, "-", "piped.json", NULL), HD_OK);
    dup2(saved, STDIN_FILENO);
    close(saved);
    waitpid(child, NULL, 0);
    free(text);
    char *wanted = file_text(path_of("plain.json"), &wanted_size), *got = file_text(path_of("piped.json"), &got_size);
    assert_int_equal(got_size, wanted_size);
    assert_memory_equal(got, wanted, wanted_size);
    free(wanted);
    free(got);
}

static void test_fix__input_and_output_may_be_one_file(NO_STATE)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":8,\"dur\":20}]";
    put_file("same.json", text, strlen(text));
    assert_int_equal(fix_with(NULL, "same.json", "same.json", NULL), HD_OK);
    char *got = get_file("same.json");
    assert_string_equal(got,
                        "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":10,\"dur\":18}]");
    free(got);
}

static void test_fix__a_dry_run_touches_nothing(NO_STATE)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":8,\"dur\":20}]";
    hd_fix_options options = {0};
    hd_fix_report *report;
    struct stat before, after;
    options.dry_run = true;
    put_file("dry.json", text, strlen(text));
    unlink(path_of("none.json"));
    assert_int_equal(stat(path_of("dry.json"), &before), 0);
    assert_int_equal(fix_with(&report, "dry.json", "none.json", &options), HD_OK);
    assert_int_equal(report->snapped_crossings, 1);
    hd_fix_report_free(report);
    assert_int_equal(fix_with(NULL, "dry.json", "dry.json", &options), HD_OK);
    assert_int_equal(access(path_of("none.json"), F_OK), -1);
    assert_int_equal(stat(path_of("dry.json"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void test_fix__pretty_indents_by_two(NO_STATE)
{
    hd_fix_options options = {0};
    options.write = &(hd_write_options){.pretty = true};
    char *got = fixed_with(NULL,
                           "{\"b\":1,\"traceEvents\":[{\"ph\":\"X\",\"tid\":7,\"ts\":0,\"dur\":10},{\"ph\":\"X\","
                           "\"tid\":7,\"ts\":8,\"dur\":20}]}",
                           &options);
    assert_non_null(strstr(got, "{\n  \"b\": 1,\n  \"traceEvents\": [\n    {\n      \"ph\": \"X\""));
    assert_non_null(strstr(got, "\"dur\": 18"));
    free(got);
}

static void test_fix__what_cannot_be_read_is_an_error_and_the_output_stays(NO_STATE)
{
    static const char *const bad[] = {"", "hello",
                                      ("\x7f"
                                       "ELF\x02\x01"),
                                      "{\"a\":1}", "42"};
    put_file("kept.json", "old", 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file("bad.json", bad[i], strlen(bad[i]));
        assert_int_not_equal(fix_with(NULL, "bad.json", "kept.json", NULL), HD_OK);
        char *kept = get_file("kept.json");
        assert_string_equal(kept, "old");
        free(kept);
    }
    assert_int_not_equal(fix_with(NULL, "absent.json", "kept.json", NULL), HD_OK);
    assert_int_not_equal(fix_with(NULL, ".", "kept.json", NULL), HD_OK);
    put_file("good.json", "[]", 2);
    assert_int_not_equal(fix_with(NULL, "good.json", "no/such/folder.json", NULL), HD_OK);
    assert_int_not_equal(fix_with(NULL, "good.json", ".", NULL), HD_OK);
}

/* Between the two passes over it. */
static void test_fix__an_input_that_changes_meanwhile_is_an_error(NO_STATE)
{
    size_t size;
    char *text = long_text(&size);
    const hd_read_options options = {.sources = true};
    for (int blank = 0; blank < 2; blank++) {
        hd_input *input;
        hd_output *output;
        hd_trace *trace;
        hd_event event;
        put_file("changing.json", text, size);
        assert_int_equal(hd_input_open(&input, path_of("changing.json"), NULL, NULL), HD_OK);
        assert_int_equal(hd_trace_read(&trace, path_of("changing.json"), &options, NULL), HD_OK);
        hd_block_event(&event, hd_trace_block_at(trace, HD_KIND_SLICE, 0), 9);
        const hd_patch_edit edit = {.offset = event.source_offset, .size = event.source_size, .set_start = true};
        FILE *file = fopen(path_of("changing.json"), blank ? "r+" : "w");
        assert_non_null(file);
        for (size_t i = 0; i < size && blank; i++) fputc(' ', file);
        fclose(file);
        assert_int_equal(hd_output_create(&output, path_of("none.json"), NULL, NULL), HD_OK);
        assert_int_equal(chrome_patch(output, input, trace, &(hd_patch){.edits = &edit, .edit_count = 1}, NULL),
                         HD_ERR_IO);
        hd_output_abort(output);
        hd_trace_free(trace);
        hd_input_close(input);
    }
    free(text);
}

/* ---- the report ---- */

static void test_fix__the_report_adds_up(NO_STATE)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":7,\"ts\":0,\"dur\":10},"
        "{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"kernel\",\"pid\":1,\"tid\":7,\"ts\":8,\"dur\":92}," /* pushed by 2 */
        "{\"ph\":\"X\",\"name\":\"c\",\"pid\":1,\"tid\":7,\"ts\":50,\"dur\":51.25}," /* clamped by 1.25 */
        "{\"ph\":\"X\",\"name\":\"m\",\"pid\":1,\"tid\":7,\"ts\":90,\"dur\":100},"   /* moved */
        "{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"kernel\",\"pid\":2,\"tid\":7,\"ts\":0,\"dur\":10},"
        "{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"kernel\",\"pid\":2,\"tid\":7,\"ts\":9.5,\"dur\":10}," /* pushed by 0.5
                                                                                                       */
        "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":7,\"ts\":150,\"id\":1}]";
    hd_fix_report *r;
    free(fixed_with(&r, text, NULL));
    assert_int_equal(r->track_count, 2);
    assert_string_equal(r->tracks[0].pid, "1");
    assert_string_equal(r->tracks[0].tid, "7");
    assert_int_equal(r->tracks[0].lane_count, 2);
    assert_int_equal(r->tracks[0].moved, 1);
    assert_int_equal(r->tracks[0].snapped, 2);
    assert_int_equal(r->tracks[1].snapped, 1);
    assert_int_equal(r->slices, 6);
    assert_int_equal(r->moved, 1);
    assert_int_equal(r->snapped_crossings, 3);
    assert_int_equal(r->updated, 4); /* snapped ones and the one that moved */
    assert_int_equal(r->start_shift_ps, 2500000);
    assert_int_equal(r->end_shift_ps, 1250000);
    assert_int_equal(r->kernel_count, 1);
    assert_int_equal(r->kernels[0].runs, 2);
    assert_int_equal(r->kernels[0].snapped, 2);
    assert_int_equal(r->kernels[0].delayed_ps, 2500000);
    assert_int_equal(r->moved_others, 1);
    assert_int_equal(r->moved_count, 1);
    assert_string_equal(r->moved_list[0].name, "m");
    assert_string_equal(r->moved_list[0].lane_tid, "7001");
    assert_int_equal(r->snapped_others, 1);
    assert_string_equal(r->snapped_list[0].name, "c");
    assert_int_equal(r->snapped_list[0].end_shift_ps, 1250000);
    assert_int_equal(r->flow_endpoints, 1);
    assert_int_equal(r->new_lanes, 1);
    assert_int_equal(r->repairs + r->losses + r->flows_unresolved, 0);
    hd_fix_report_free(r);
}

static void test_fix__lists_hold_the_fifty_largest_unless_asked_for_all(NO_STATE)
{
    char text[16384], *end = text;
    *end++ = '[';
    for (int i = 0; i < 60; i++)
        end += sprintf(
            end, "%s{\"ph\":\"X\",\"tid\":7,\"ts\":%d,\"dur\":10},{\"ph\":\"X\",\"tid\":7,\"ts\":%d.%d,\"dur\":50}",
            i ? "," : "", i * 100, i * 100 + 9, i);
    sprintf(end, "]");
    for (int full = 0; full < 2; full++) {
        hd_fix_options options = {0};
        hd_fix_report *r;
        options.full_lists = full;
        free(fixed_with(&r, text, &options));
        assert_int_equal(r->snapped_others, 60);
        assert_int_equal(r->snapped_count, full ? 60 : HD_FIX_LIST_LIMIT);
        for (size_t i = 1; i < r->snapped_count; i++)
            assert_true(r->snapped_list[i - 1].start_shift_ps >= r->snapped_list[i].start_shift_ps);
        hd_fix_report_free(r);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fix__without_crossings_every_byte_is_kept),
        cmocka_unit_test(test_fix__only_the_values_that_change_are_written),
        cmocka_unit_test(test_fix__a_lane_is_named_behind_the_last_event_in_the_layout_of_the_file),
        cmocka_unit_test(test_fix__names_of_lanes_are_valid_json),
        cmocka_unit_test(test_fix__an_event_without_tid_gets_one),
        cmocka_unit_test(test_fix__times_keep_their_type_and_digits),
        cmocka_unit_test(test_fix__the_last_of_duplicate_keys_counts),
        cmocka_unit_test(test_fix__both_ends_of_a_pair_change),
        cmocka_unit_test(test_fix__flow_points_are_patched_too),
        cmocka_unit_test(test_fix__broken_json_comes_out_valid),
        cmocka_unit_test(test_fix__an_event_may_be_mended_and_changed),
        cmocka_unit_test(test_fix__lanes_are_put_into_a_cut_file),
        cmocka_unit_test(test_fix__strict_refuses_and_writes_nothing),
        cmocka_unit_test(test_fix__documents_back_to_back_become_one),
        cmocka_unit_test(test_fix__plain_and_compressed_input_give_the_same_bytes),
        cmocka_unit_test(test_fix__a_pipe_is_read),
        cmocka_unit_test(test_fix__input_and_output_may_be_one_file),
        cmocka_unit_test(test_fix__a_dry_run_touches_nothing),
        cmocka_unit_test(test_fix__pretty_indents_by_two),
        cmocka_unit_test(test_fix__what_cannot_be_read_is_an_error_and_the_output_stays),
        cmocka_unit_test(test_fix__an_input_that_changes_meanwhile_is_an_error),
        cmocka_unit_test(test_fix__the_report_adds_up),
        cmocka_unit_test(test_fix__lists_hold_the_fifty_largest_unless_asked_for_all),
    };
    return cmocka_run_group_tests_name("fix", tests, make_folder, remove_folder);
}
