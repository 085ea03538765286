/* test_cupti.c - CUPTI records: fixtures, names and places as Kineto has them, pieces, hostile text, real files */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "format/cupti/cupti.h"
#include "read_text.h"

#define NO_STATE void **state __attribute__((unused))
#define KERNEL(members)                                                                                                \
    "{\"type\":\"CONCURRENT_KERNEL\",\"start\":10,\"end\":20,\"deviceId\":0,\"streamId\":7" members "}\n"

/* ---- reading ---- */

static hd_status read_in_pieces(hd_trace **out, const char *text, size_t size, const hd_read_options *options,
                                size_t piece_size)
{
    char path[64];
    hd_input *input;
    hd_builder *builder;
    int fd = memfd_create("cupti", 0);
    assert_true(fd >= 0 && write(fd, text, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(hd_input_open(&input, path, NULL, NULL), HD_OK);
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    hd_status status = cupti_read_pieces(builder, input, options, piece_size, NULL);
    hd_builder_facts(builder)->format = "cupti";
    hd_builder_facts(builder)->compression = "none";
    hd_builder_facts(builder)->stored_bytes = size;
    hd_input_close(input);
    close(fd);
    if (status == HD_OK) return hd_builder_finish(out, builder, NULL);
    hd_builder_free(builder);
    return status;
}

static hd_trace *read_fine(const char *text)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, text, strlen(text), NULL, 0, &err) != HD_OK) fail_msg("%s\n%s", err.message, text);
    assert_string_equal(hd_trace_facts_of(trace)->format, "cupti");
    return trace;
}

static hd_event first_slice(const hd_trace *trace)
{
    hd_event event;
    uint32_t at;
    assert_true(hd_trace_row_count(trace, HD_KIND_SLICE) > 0);
    const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, 0);
    hd_block_event(&event, block, at);
    return event;
}

static void assert_text(const hd_trace *trace, uint32_t id, const char *wanted)
{
    hd_string s = hd_trace_string(trace, id);
    if (s.size != strlen(wanted) || memcmp(s.data, wanted, s.size) != 0)
        fail_msg("is \"%.*s\", wanted \"%s\"", (int)s.size, s.data, wanted);
}

static void assert_text_arg(const hd_trace *trace, const hd_event *event, const char *key, const char *wanted)
{
    hd_value value;
    if (!hd_event_arg(&value, trace, event, hd_trace_find_string(trace, key, strlen(key)))) fail_msg("no %s", key);
    assert_text(trace, (uint32_t)value.bits, wanted);
}

static void assert_int_arg(const hd_trace *trace, const hd_event *event, const char *key, int64_t wanted)
{
    int64_t value;
    if (!hd_event_arg_int(&value, trace, event, hd_trace_find_string(trace, key, strlen(key)))) fail_msg("no %s", key);
    assert_int_equal(value, wanted);
}

static const hd_ledger_row *ledger_row(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        if (strcmp(hd_trace_ledger_at(trace, i)->code, code) == 0) return hd_trace_ledger_at(trace, i);
    }
    return NULL;
}

static char *write_expect(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

/* ---- what is told ---- */

static void test_cupti__fixtures_give_their_dumps(void **state)
{
    fixtures_expect(*state, write_expect);
}

static void test_cupti__a_kernel_is_what_kineto_would_have_written(NO_STATE)
{
    hd_trace *trace = read_fine(KERNEL(",\"name\":\"_Z1fPf\",\"correlationId\":9,\"grid\":[1,2,3],\"sharedMemory\":"
                                       "{\"static\":8,\"dynamic\":4},\"graphId\":1,\"graphNodeId\":2"));
    hd_event event = first_slice(trace);
    assert_text(trace, event.name, "f(float*)");
    assert_text(trace, event.category, "kernel");
    assert_text_arg(trace, &event, "mangled", "_Z1fPf");
    assert_text_arg(trace, &event, "grid", "[1,2,3]");
    assert_int_arg(trace, &event, "correlation", 9);
    assert_int_arg(trace, &event, "device", 0);
    assert_int_arg(trace, &event, "stream", 7);
    assert_int_arg(trace, &event, "shared memory", 12);
    assert_int_arg(trace, &event, "dynamic shared memory", 4);
    assert_int_arg(trace, &event, "graph id", 1);
    assert_int_arg(trace, &event, "graph node id", 2);
    assert_int_equal(event.start_ns, 10);
    assert_int_equal(event.duration_ns, 10);
    const hd_track *track = hd_trace_track_at(trace, event.track);
    assert_int_equal(track->kind, HD_TRACK_STREAM);
    assert_int_equal(track->device, 0);
    assert_int_equal(track->stream, 7);
    assert_text(trace, hd_trace_track_at(trace, track->parent)->name, "GPU 0");
    hd_trace_free(trace);
}

static void test_cupti__clocks_are_told_by_their_magnitude(NO_STATE)
{
    hd_trace *trace = read_fine(KERNEL(""));
    assert_true(hd_trace_facts_of(trace)->base_ns == HD_NO_TIME);
    hd_trace_free(trace);
    trace = read_fine("{\"type\":\"KERNEL\",\"start\":1700000000000000000,\"end\":1700000000000000001,\"deviceId\":0}");
    assert_true(hd_trace_facts_of(trace)->base_ns == 0);
    hd_trace_free(trace);
}

static void test_cupti__a_process_numbered_like_a_device_keeps_its_number(NO_STATE)
{
    hd_trace *trace =
        read_fine("{\"type\":\"RUNTIME\",\"start\":1,\"end\":2,\"processId\":0,\"threadId\":3}\n" KERNEL(""));
    const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, 0);
    hd_event call, kernel;
    hd_block_event(&call, block, 0);
    hd_block_event(&kernel, block, 1);
    assert_text(trace, hd_trace_track_at(trace, call.track)->pid.text, "0");
    assert_int_equal(hd_trace_track_at(trace, call.track)->kind, HD_TRACK_THREAD);
    assert_text(trace, hd_trace_track_at(trace, kernel.track)->pid.text, "GPU 0");
    assert_int_equal(hd_trace_track_at(trace, kernel.track)->kind, HD_TRACK_STREAM);
    hd_trace_free(trace);
}

static void test_cupti__the_ledger_names_the_first_line(NO_STATE)
{
    hd_trace *trace = read_fine(KERNEL("") "\n" KERNEL("") "hello\n{]\n{]\n" KERNEL(""));
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 3);
    const hd_ledger_row *broken = ledger_row(trace, "cupti.line-broken"),
                        *other = ledger_row(trace, "cupti.line-skipped");
    assert_non_null(broken);
    assert_non_null(other);
    assert_int_equal(broken->count, 2);
    assert_int_equal(broken->level, HD_LEDGER_LOSS);
    assert_int_equal(broken->first_offset, 2 * strlen(KERNEL("")) + 1 + 6);
    assert_text(trace, broken->detail, "first in line 5");
    assert_int_equal(other->count, 1);
    assert_int_equal(other->level, HD_LEDGER_NOTE);
    assert_text(trace, other->detail, "first in line 4");
    hd_trace_free(trace);
}

static void test_cupti__strict_refuses_the_first_damage(NO_STATE)
{
    static const hd_read_options strict = {.strict = true};
    const char *text = KERNEL("") "{]\n";
    hd_trace *trace;
    hd_error err = {0};
    assert_int_equal(read_text(&trace, text, strlen(text), &strict, 0, &err), HD_ERR_DAMAGED);
    assert_int_equal(err.offset, strlen(KERNEL("")));
    text = KERNEL("") "hello\n"; /* what a program prints is not damage */
    assert_int_equal(read_text(&trace, text, strlen(text), &strict, 0, NULL), HD_OK);
    hd_trace_free(trace);
}

static void test_cupti__many_members_and_many_shapes_lose_nothing(NO_STATE)
{
    size_t capacity = 1 << 20, size = 0;
    char *text = malloc(capacity);
    assert_non_null(text);
    size += (size_t)snprintf(text, capacity, "{\"type\":\"KERNEL\",\"start\":1,\"end\":2");
    for (int i = 0; i < 100; i++) size += (size_t)snprintf(text + size, capacity - size, ",\"k%d\":%d", i, i);
    size += (size_t)snprintf(text + size, capacity - size, "}\n");
    for (int i = 0; i < HD_SHAPE_LIMIT + 10; i++)
        size += (size_t)snprintf(text + size, capacity - size,
                                 "{\"type\":\"KERNEL\",\"start\":1,\"end\":2,\"x%d\":%d}\n", i, i);
    hd_trace *trace = read_fine(text);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), HD_SHAPE_LIMIT + 11);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    static const hd_write_options chrome = {.format = "chrome"};
    char last[32], *json = write_text(trace, &chrome, &size);
    snprintf(last, sizeof last, "\"x%d\":%d", HD_SHAPE_LIMIT + 9, HD_SHAPE_LIMIT + 9);
    assert_non_null(strstr(json, "\"k99\":99"));
    assert_non_null(strstr(json, last));
    free(json);
    hd_trace_free(trace);
    free(text);
}

static void test_cupti__times_and_ids_without_a_column_are_arguments(NO_STATE)
{
    hd_trace *trace =
        read_fine("{\"type\":\"RUNTIME\",\"start\":9223372036854775000,\"duration\":900,\"processId\":1}\n"
                  "{\"type\":\"RUNTIME\",\"start\":5,\"timestamp\":7,\"end\":9,\"threadId\":2}\n"
                  "{\"type\":\"KERNEL\",\"start\":0,\"end\":0,\"duration\":8,\"deviceId\":0,"
                  "\"processId\":3,\"threadId\":4}\n");
    const hd_block *block = hd_trace_block_at(trace, HD_KIND_SLICE, 0);
    hd_event event;
    hd_block_event(&event, block, 0);
    assert_true(event.duration_ns == HD_NO_TIME);
    assert_int_arg(trace, &event, "duration", 900);
    hd_block_event(&event, block, 1);
    assert_int_arg(trace, &event, "timestamp", 7);
    assert_int_arg(trace, &event, "threadId", 2);
    hd_block_event(&event, block, 2);
    assert_true(event.start_ns == HD_NO_TIME);
    assert_int_arg(trace, &event, "duration", 8);
    assert_int_arg(trace, &event, "processId", 3);
    assert_int_arg(trace, &event, "threadId", 4);
    hd_trace_free(trace);
}

static void test_cupti__a_name_is_cut_between_characters(NO_STATE)
{
    char text[1024] = "{\"type\":\"MEMCPY\",\"start\":1,\"end\":2,\"deviceId\":0,\"copyKind\":\"x";
    for (int i = 0; i < 100; i++) strcat(text, "\xe2\x82\xac");
    strcat(text, "\"}\n");
    hd_trace *trace = read_fine(text);
    hd_event event;
    hd_block_event(&event, hd_trace_block_at(trace, HD_KIND_SLICE, 0), 0);
    hd_string name = hd_trace_string(trace, event.name);
    assert_int_equal(name.size, strlen("Memcpy x") + 82 * 3);
    hd_trace_free(trace);
}

/* In the text there is no telling what their fields are: but they are records. */
static void test_cupti__records_of_unknown_types_in_text_are_lost_and_counted(NO_STATE)
{
    hd_trace *trace = read_fine("RUNTIME [ 1, 2 ] duration 1, \"cudaMalloc\", cbid 20, processId 1, threadId 2\n"
                                "SYNCHRONIZATION [ 3, 4 ] duration 1, type 2\n"
                                "MARKER  [ 5 ] id 1\n"
                                "INFO: [ 5 ] done\n");
    assert_int_equal(ledger_row(trace, "cupti.record-unknown")->count, 2);
    assert_int_equal(ledger_row(trace, "cupti.record-unknown")->level, HD_LEDGER_LOSS);
    assert_int_equal(ledger_row(trace, "cupti.line-skipped")->count, 1);
    hd_trace_free(trace);
}

/* Values that do not end in their line do not go on in the next ones: each line would be read a thousand times. */
static void test_cupti__a_value_ends_with_its_line(NO_STATE)
{
    hd_trace *trace = read_fine(KERNEL("") "{\"type\":\"RUNTIME\",\"start\":1,\"end\":2,\"a\":[1,\n2]}\n" KERNEL(""));
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 3); /* the second is mended where it is cut */
    assert_int_equal(ledger_row(trace, "cupti.line-skipped")->count, 1);
    hd_trace_free(trace);
}

/* ---- whose it is ---- */

static void test_cupti__other_json_is_not_taken(NO_STATE)
{
    static const char *const others[] = {
        "[\n{\"type\":\"KERNEL\",\"ph\":\"X\"}\n]",
        "{\"traceEvents\":[\n{\"type\":\"KERNEL\"}]}",
        "{\"type\":\"event\",\"name\":\"x\"}\n",
        "{\"ph\":\"X\",\"type\":\"RUNTIME\"}\n",
        "{\"type\":\"KERNEL",
        "RUNTIME of the program\n",
        "comm 1 [000] 1.0: cycles: \n",
        "main;f;g 10\n",
        "",
        "{",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(cupti_sniff((const unsigned char *)others[i], strlen(others[i])), 0);
}

static void test_cupti__what_holds_no_record_is_an_error_that_says_so(NO_STATE)
{
    static const char text[] = "Enabling CUPTI_ACTIVITY_KIND_RUNTIME.\nbye\n";
    hd_trace *trace;
    hd_error err = {0};
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "none of its 2 lines is a CUPTI record: expected"));
}

/* ---- hostile text ---- */

/* Threads and pieces of any size give the same trace. */
static void test_cupti__cuts_into_pieces_do_not_show(void **state)
{
    const fixtures *all = *state;
    static const size_t sizes[] = {1, 7, 64, 200, 500, 1000, 4096};
    static const hd_read_options options = {.threads = 3, .sources = true};
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        hd_trace *trace;
        assert_int_equal(read_in_pieces(&trace, f->text, f->size, &options, 1 << 20), HD_OK);
        char *whole = dump_trace(trace, DUMP_ALL);
        hd_trace_free(trace);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            assert_int_equal(read_in_pieces(&trace, f->text, f->size, &options, sizes[s]), HD_OK);
            char *cut = dump_trace(trace, DUMP_ALL);
            assert_string_equal(cut, whole);
            hd_trace_free(trace);
            free(cut);
        }
        free(whole);
    }
}

static const hd_read_options one_thread = {.threads = 1}; /* to start them costs more than to read so little */

static void test_cupti__text_that_ends_anywhere_is_read_or_refused(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        for (size_t size = 0; size < f->size; size++) {
            hd_trace *trace;
            char *copy = malloc(size ? size : 1);
            assert_non_null(copy);
            memcpy(copy, f->text, size);
            if (read_text(&trace, copy, size, &one_thread, 0, NULL) == HD_OK) hd_trace_free(trace);
            free(copy);
        }
    }
}

static void test_cupti__flipped_bits_are_read_or_refused(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        char *copy = malloc(f->size);
        assert_non_null(copy);
        for (size_t at = 0; at < f->size; at++) {
            hd_trace *trace;
            memcpy(copy, f->text, f->size);
            copy[at] = (char)(copy[at] ^ 1 << at % 8);
            if (read_text(&trace, copy, f->size, &one_thread, 0, NULL) == HD_OK) hd_trace_free(trace);
        }
        free(copy);
    }
}

/* ---- real files ---- */

/* Lines that begin with a word and a blank. */
static uint64_t count_lines(const char *text, const char *word)
{
    uint64_t count = 0;
    size_t size = strlen(word);
    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
        count += strncmp(at, word, size) == 0 && at[size] == ' ';
    return count;
}

static void test_cupti__the_real_trace_has_as_many_records_as_lines_that_begin_one(NO_STATE)
{
    static const char *const types[] = {"RUNTIME", "DRIVER", "OVERHEAD", "CONCURRENT_KERNEL", "MEMCPY", "MEMORY2"};
    char path[1024];
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    size_t size;
    snprintf(path, sizeof path, "%s/../shared/data/cupti/cupti_trace.txt", root ? root : ".");
    char *text = file_text(path, &size);
    if (!text) {
        print_message("skipped: there is no ../shared/data/cupti/cupti_trace.txt\n");
        skip();
    }
    hd_trace *trace = read_fine(text);
    uint64_t wanted = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) wanted += count_lines(text, types[i]);
    assert_int_equal(wanted, 491);
    assert_int_equal(hd_trace_event_count(trace), wanted);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), count_lines(text, "MEMORY2"));
    assert_null(ledger_row(trace, "cupti.line-broken"));
    hd_trace_free(trace);
    free(text);
}

int main(int argc, char **argv)
{
    fixtures all = fixtures_load_as("tests/format/cupti", ".cupti");
    if (argc > 1 && strcmp(argv[1], "--update") == 0) {
        int failed = fixtures_update(&all, write_expect);
        fixtures_free(&all);
        return failed;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_cupti__fixtures_give_their_dumps, &all),
        cmocka_unit_test(test_cupti__a_kernel_is_what_kineto_would_have_written),
        cmocka_unit_test(test_cupti__clocks_are_told_by_their_magnitude),
        cmocka_unit_test(test_cupti__a_process_numbered_like_a_device_keeps_its_number),
        cmocka_unit_test(test_cupti__the_ledger_names_the_first_line),
        cmocka_unit_test(test_cupti__strict_refuses_the_first_damage),
        cmocka_unit_test(test_cupti__many_members_and_many_shapes_lose_nothing),
        cmocka_unit_test(test_cupti__times_and_ids_without_a_column_are_arguments),
        cmocka_unit_test(test_cupti__a_name_is_cut_between_characters),
        cmocka_unit_test(test_cupti__records_of_unknown_types_in_text_are_lost_and_counted),
        cmocka_unit_test(test_cupti__a_value_ends_with_its_line),
        cmocka_unit_test(test_cupti__other_json_is_not_taken),
        cmocka_unit_test(test_cupti__what_holds_no_record_is_an_error_that_says_so),
        cmocka_unit_test_prestate(test_cupti__cuts_into_pieces_do_not_show, &all),
        cmocka_unit_test_prestate(test_cupti__text_that_ends_anywhere_is_read_or_refused, &all),
        cmocka_unit_test_prestate(test_cupti__flipped_bits_are_read_or_refused, &all),
        cmocka_unit_test(test_cupti__the_real_trace_has_as_many_records_as_lines_that_begin_one),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
