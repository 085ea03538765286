/* test_chrome_read.c - the Chrome JSON reader over its fixtures
 *
 * tests/format/chrome/NAME.json is read and dumped; NAME.expect is what must come out. `test_format_chrome_read
 * --update` writes the .expect files anew: read them before you commit them. `bad-NAME.json` are damaged, all others
 * are not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "dump.h"
#include "fixtures.h"
#include "read_text.h"

static char *dump_fixture(const fixture *f)
{
    const hd_read_options options = {.sources = true, .threads = 1};
    return dump_text(f->text, f->size, &options, 0, DUMP_ALL);
}

static void test_chrome_read__fixtures_give_their_dumps(void **state)
{
    fixtures_expect(*state, dump_fixture);
}

static void test_chrome_read__strict_refuses_damaged_fixtures_and_takes_the_others(void **state)
{
    fixtures_expect_strict(*state);
}

static void test_chrome_read__threads_and_pieces_make_no_difference(void **state)
{
    static const unsigned threads[] = {1, 2, 3, 8};
    static const size_t pieces[] = {1, 64, 100, 150, 200, 256, 333, 1000, 4096, 0};
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        hd_read_options options = {.sources = true, .threads = 1};
        char *expected = dump_text(f->text, f->size, &options, 1 << 22, DUMP_ALL);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
                char name[160];
                options.threads = threads[t];
                char *dump = dump_text(f->text, f->size, &options, pieces[p], DUMP_ALL);
                snprintf(name, sizeof name, "%s, %u threads, pieces of %zu", f->name, threads[t], pieces[p]);
                fixture_expect_same(name, expected, dump);
                free(dump);
            }
        }
        free(expected);
    }
}

/* The input with the reader's patches. */
static char *patched(const char *name, const char *input, size_t input_size, const hd_trace *trace, size_t *out_size)
{
    size_t room = input_size + 1, used = 0;
    uint64_t from = 0;
    for (size_t i = 0; i < hd_trace_patch_count(trace); i++)
        room += hd_trace_string(trace, hd_trace_patch_at(trace, i)->text).size;
    char *text = malloc(room);
    assert_non_null(text);
    for (size_t i = 0; i < hd_trace_patch_count(trace); i++) {
        const hd_source_patch *p = hd_trace_patch_at(trace, i);
        if (p->offset < from || p->offset > input_size)
            fail_msg("%s: patch %zu at %llu is not in order", name, i, (unsigned long long)p->offset);
        memcpy(text + used, input + from, p->offset - from);
        used += p->offset - from;
        hd_string s = hd_trace_string(trace, p->text);
        if (s.size) memcpy(text + used, s.data, s.size);
        used += s.size;
        from = p->size > input_size - p->offset ? input_size : p->offset + p->size;
    }
    memcpy(text + used, input + from, input_size - from);
    *out_size = used + (input_size - from);
    return text;
}

/* Read with sources: the patches make valid text of the input, with the same events. */
static void expect_patches(const char *name, const char *input, size_t input_size, const hd_trace *trace)
{
    size_t size;
    hd_read_options strict = {.strict = true, .sources = true};
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) /* of equal keys one is lost in valid JSON too */
        strict.strict &= strcmp(hd_trace_ledger_at(trace, i)->code, "json.duplicate-key") != 0;
    char *text = patched(name, input, input_size, trace, &size), *before = dump_trace(trace, DUMP_CONTENT);
    if (!hd_trace_facts_of(trace)->needs_rewrite) {
        if (!hd_json_valid(text, size, 2000)) fail_msg("%s: not valid after patching: %.*s", name, (int)size, text);
        char *after = dump_text(text, size, &strict, 0, DUMP_CONTENT);
        fixture_expect_same(name, before, after);
        free(after);
    }
    free(before);
    free(text);
}

static void test_chrome_read__patches_make_the_input_valid_with_the_same_events(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) {
        const fixture *f = &all->list[i];
        const hd_read_options options = {.sources = true};
        hd_trace *trace;
        assert_int_equal(read_text(&trace, f->text, f->size, &options, 0, NULL), HD_OK);
        expect_patches(f->name, f->text, f->size, trace);
        hd_trace_free(trace);
    }
}

/* What stands around the events is broken; A, B and C are events. */
static const struct {
    const char *text;
    bool loses; /* the ledger says that something went that may have been more than a bracket */
} broken_documents[] = {
    {"{'traceEvents':[A,B,C]}", false},
    {"{traceEvents:[A,B,C]}", false},
    {"{traceEvents:[A],'traceEvents':[B],\"traceEvents\":[C]}", false},
    {"{'a': {'b': True, 'c': 'x, y'}, 'traceEvents': [A, B, C], 'd': None}", false},
    {"{\"\":t\"\"traceEvents:[A],\"traceEvents\":[B,C]}", false},
    {"{\"traceEvents:[A,B,C]}", false},
    {"{traceEvents\":[A,B,C]}", false},
    {"{\"traceEvents\"[A,B,C]}", false},
    {"{\"traceEvents\"=[A,B,C]}", false},
    {"\"traceEvents\":[A,B,C]}", false},
    {"traceEvents:[A,B,C]", false},
    {"{\"traceEvents\":A,B,C]}", false},
    {"{\"traceEvents\":A,B,C}", true}, /* the bracket that is left over is garbage */
    {"{\"traceEvents\":[A,B,C}", true},
    {"{\"traceEvents\":[A,B,C", true}, /* it was cut: what came behind is lost */
    {"{\"traceEvents\":[A,B,C]", true},
    {"{\"traceEvents\":[A,B,C],\"a\":[1,2", true},
    {"[A,B,C", false}, /* the format allows that */
    {"[A,B,C,\n", false},
    {"{\"traceEvents\":[A,\"traceEvents\":[B,C]}", false},
    {"{\"a\":1\"traceEvents\":[A B C]\"b\":2}", false},
    {"{\"a\":,\"traceEvents\":[A,B,C]}", false},
    {"{\"a\":\"traceEvents\":[A,B,C]}", false},
    {"{:1,\"traceEvents\":[A,B,C]}", true},
    {"{xx yy traceEvents:[A],\"traceEvents\":[B,C]}", true},
    {"{,,,;\"traceEvents\":[A],,,\"traceEvents\":[B,C]}", true},
    {"{\"a\":[1,2,\"traceEvents\":[A],\"traceEvents\":[B,C]}", false},
    {"{\"a\":{\"b\":tru,\"c\":\"x,\"traceEvents\":[A],\"traceEvents\":[B,C]}", false},
    {"{\"a\":1},\"traceEvents\":[A,B,C]}", false},
    {"{\"a\":1}},{\"traceEvents\":[A,B,C]}", false},
    {"{{\"traceEvents\":[A,B,C]}}", true},
    {"{\"traceEvents\":[A]]},\"traceEvents\":[B,C]}", true},
    {"{\"traceEvents\":[A]},{\"traceEvents\":[B,C]}", false},
    {"{\"traceEvents\":[A]}\n\xef\xbb\xbf{traceEvents:[B,C]}", false},
    {"[A],\n[B,C]", false},
    {"[A]\n{'traceEvents':[B]}\nC", false},
    {"A,\nB,\nC,\n", false},
    {"\xef\xbb\xbf/* a: [ */ // {\n[A,B,C] // the end", false},
    {"{/* } */traceEvents:[A,B,C]/* { */}", false},
};

/* The caller frees it. */
static char *with_events(const char *text)
{
    char *out = calloc(1, strlen(text) + 300), *p = out;
    assert_non_null(out);
    for (; *text; text++) {
        if (*text >= 'A' && *text <= 'C')
            p += sprintf(p, "{\"ph\":\"X\",\"name\":\"%c\",\"ts\":%d,\"dur\":1}", *text, *text - 'A');
        else
            *p++ = *text;
    }
    return out;
}

static void test_chrome_read__damage_around_the_events_costs_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken_documents / sizeof *broken_documents; i++) {
        const char *name = broken_documents[i].text;
        char *text = with_events(name);
        hd_trace *trace;
        hd_error err = {0};
        const hd_read_options strict = {.strict = true}, plain = {.sources = true};
        if (read_text(&trace, text, strlen(text), &plain, 0, &err) != HD_OK) fail_msg("%s: %s", name, err.message);
        if (hd_trace_event_count(trace) != 3 || hd_trace_row_count(trace, HD_KIND_SLICE) != 3)
            fail_msg("%s: %llu events", name, (unsigned long long)hd_trace_event_count(trace));
        bool loses = false;
        for (size_t r = 0; r < hd_trace_ledger_count(trace); r++)
            loses |= hd_trace_ledger_at(trace, r)->level == HD_LEDGER_LOSS;
        if (loses != broken_documents[i].loses) fail_msg("%s: %s", name, loses ? "loses something" : "no loss is told");
        expect_patches(name, text, strlen(text), trace);
        hd_trace_free(trace);
        for (size_t piece = 1; piece < 200; piece += 7) { /* the same wherever the text is cut */
            char *whole = dump_text(text, strlen(text), &plain, 0, DUMP_ALL);
            char *pieces = dump_text(text, strlen(text), &plain, piece, DUMP_ALL);
            fixture_expect_same(name, whole, pieces);
            free(whole);
            free(pieces);
        }
        if (read_text(&trace, text, strlen(text), &strict, 0, NULL) == HD_OK) fail_msg("%s: taken by --strict", name);
        free(text);
    }
}

static void test_chrome_read__without_args_only_metadata_keeps_them(void **state)
{
    (void)state;
    static const char text[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"x\":1,\"args\":{\"a\":1}},"
                               "{\"ph\":\"B\",\"ts\":1,\"dur\":2,\"args\":{\"a\":{}}},"
                               "{\"args\":{\"name\":\"n\"},\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2}]";
    const hd_read_options options = {.args = HD_ARGS_META};
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, &options, 0, NULL), HD_OK);
    assert_false(hd_trace_facts_of(trace)->has_args);
    hd_event e;
    for (uint32_t row = 0; row < 2; row++) {
        hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_SLICE, 0), row);
        assert_int_equal(hd_trace_shape_at(trace, e.shape)->key_count, 0);
    }
    hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_META, 0), 0);
    assert_int_equal(hd_trace_shape_at(trace, e.shape)->key_count, 1);
    assert_int_equal(hd_trace_string(trace, hd_trace_track_at(trace, e.track)->name).size, 1);
    hd_trace_free(trace);
}

static void expect_error(const char *text, hd_status expected)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_status status = read_text(&trace, text, strlen(text), NULL, 0, &err);
    if (status != expected) fail_msg("%s for %s", hd_status_name(status), text);
    assert_null(trace);
    assert_true(err.message[0] != '\0');
}

static void test_chrome_read__what_holds_no_events_is_an_error(void **state)
{
    (void)state;
    expect_error("{}", HD_ERR_FORMAT);
    expect_error("{\"a\":1}", HD_ERR_FORMAT);
    expect_error("{\"traceEvents\":null}", HD_ERR_FORMAT);
    expect_error("{\"traceEvents\":{}}", HD_ERR_FORMAT);
    expect_error("{", HD_ERR_FORMAT);
    expect_error("{\"traceEvents\"", HD_ERR_FORMAT);
    expect_error("   ", HD_ERR_FORMAT);
    expect_error("hello", HD_ERR_FORMAT);
    expect_error("\x7f\x45\x4c\x46", HD_ERR_FORMAT);
    expect_error("\xef\xbb\xbf", HD_ERR_FORMAT);
}

static void test_chrome_read__what_loses_every_event_is_an_error(void **state)
{
    (void)state;
    expect_error("[{\"ph\"", HD_ERR_DAMAGED);
    expect_error("[[[[{]{]", HD_ERR_DAMAGED);
    expect_error("{\"traceEvents\":[{]},{]}]}", HD_ERR_DAMAGED);
}

/* ---- times: in 10^-27 s, which 128 bits hold ---- */

__extension__ typedef __int128 i128;
enum { FINEST = 21 }; /* decimals of a microsecond */

/* Random microseconds and their text: with a point, an exponent, or in quotes. */
static i128 put_time(char *out)
{
    static const char *const forms[] = {"%s%.*s.%s", "\"%s%.*s.%s\"", "%s%.*s%se-21"};
    char digits[64];
    size_t count = 0, whole = 1 + (size_t)(rand() % 15), decimals = rand() % 3 ? FINEST : (size_t)(rand() % FINEST);
    bool negative = rand() % 4 == 0;
    i128 value = 0;
    for (; count < whole + FINEST; count++) {
        int digit = count >= whole + decimals ? 0 : count == 0 ? 1 + rand() % 8 : rand() % 2 ? 9 : rand() % 10;
        digits[count] = (char)('0' + digit);
        value = value * 10 + digit;
    }
    digits[count] = '\0';
    sprintf(out, forms[rand() % 3], negative ? "-" : "", (int)whole, digits, digits + whole);
    return negative ? -value : value;
}

static void test_chrome_read__the_end_is_the_floor_of_the_exact_sum(void **state)
{
    (void)state;
    enum { EVENTS = 5000 };
    const i128 ns = 1000000000000000000;
    i128 *starts = malloc(EVENTS * sizeof *starts), *ends = malloc(EVENTS * sizeof *ends);
    char *text = malloc(EVENTS * 160), *p = text;
    assert_true(starts && ends && text);
    srand(7);
    for (int i = 0; i < EVENTS; i++) {
        char start[64], duration[64];
        starts[i] = put_time(start);
        ends[i] = starts[i] + put_time(duration);
        p += sprintf(p, "%c{\"ph\":\"X\",\"ts\":%s,\"dur\":%s}\n", i ? ',' : '[', start, duration);
    }
    *p++ = ']';
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, (size_t)(p - text), NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    for (uint32_t i = 0; i < EVENTS; i++) {
        hd_event e;
        uint32_t at;
        const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_SLICE, i);
        hd_block_event(&e, block, at);
        i128 end_ns = ends[i] / ns - (ends[i] % ns < 0), start_ns = starts[i] / ns - (starts[i] % ns < 0);
        if (e.start_ns != start_ns || e.start_ns + e.duration_ns != end_ns)
            fail_msg("event %u: %lld + %lld, should be %lld to %lld", i, (long long)e.start_ns,
                     (long long)e.duration_ns, (long long)start_ns, (long long)end_ns);
        assert_true(start_ns * ns + e.start_ps * (ns / 1000) + e.start_finer == starts[i]);
        assert_true(end_ns * ns + e.end_ps * (ns / 1000) + e.end_finer == ends[i]);
    }
    hd_trace_free(trace);
    free(text);
    free(starts);
    free(ends);
}

/* Captures have waits of threads on the threads, Kineto on the rows of GPUs. */
static void test_chrome_read__a_thread_that_waits_is_no_stream(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":5,\"tid\":5,\"ts\":2,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\",\"pid\":5,\"tid\":5,\"ts\":1,"
        "\"dur\":3},"
        "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Stream Sync\",\"pid\":0,\"tid\":7,\"ts\":2,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7}}]";
    hd_trace *trace;
    int64_t streams = 0;
    (void)state;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, NULL), HD_OK);
    for (uint32_t t = 0; t < hd_trace_track_count(trace); t++) {
        const hd_track *track = hd_trace_track_at(trace, t);
        if (track->kind == HD_TRACK_STREAM) streams += 1 + track->stream;
        if (track->kind == HD_TRACK_THREAD) assert_int_equal(track->stream, HD_NO_NUMBER);
    }
    assert_int_equal(streams, 8);
    hd_trace_free(trace);
}

/* As what is written of a CUPTI activity without times is; what is not work of a GPU is not a slice without one. */
static void test_chrome_read__work_without_a_time_is_work(void **state)
{
    static const char text[] =
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":5,\"tid\":5},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":\"never\"}]";
    hd_trace *trace;
    (void)state;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 1);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_OTHER), 2);
    hd_event event;
    hd_block_event(&event, hd_trace_block_at(trace, HD_KIND_SLICE, 0), 0);
    assert_int_equal(event.start_ns, HD_NO_TIME);
    assert_int_equal(hd_trace_track_at(trace, event.track)->stream, 7);
    hd_trace_free(trace);
}

/* A process' events are on its own track, of which metadata without a tid makes no thread. */
static void test_chrome_read__events_without_a_tid_are_of_the_process(void **state)
{
    static const char text[] = "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"args\":{\"name\":\"p\"}},"
                               "{\"ph\":\"M\",\"name\":\"process_rank\",\"pid\":5,\"args\":{\"rank\":3}},"
                               "{\"ph\":\"C\",\"name\":\"c\",\"pid\":5,\"ts\":1,\"args\":{\"value\":1}}]";
    hd_trace *trace;
    (void)state;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, NULL), HD_OK);
    assert_int_equal(hd_trace_track_count(trace), 1);
    const hd_track *process = hd_trace_track_at(trace, 0);
    assert_int_equal(process->kind, HD_TRACK_PROCESS);
    assert_int_equal(process->rank, 3);
    assert_int_equal(process->rows[HD_KIND_COUNTER], 1);
    hd_trace_free(trace);
}

static void test_chrome_read__an_exponent_moves_all_digits(void **state)
{
    (void)state;
    static const char text[] = "[{\"ph\":\"X\",\"ts\":1.7123456789012345e+15,\"dur\":25e-1},"
                               "{\"ph\":\"X\",\"ts\":\" +0012.5 \",\"dur\":1},"
                               "{\"ph\":\"X\",\"ts\":1.0000000000000000000001,\"dur\":1}," /* 22 decimals */
                               "{\"ph\":\"X\",\"ts\":1e16,\"dur\":1}]";
    static const int64_t starts[] = {1712345678901234500, 12500, 1000};
    hd_trace *trace;
    assert_int_equal(read_text(&trace, text, sizeof text - 1, NULL, 0, NULL), HD_OK);
    for (uint32_t i = 0; i < 3; i++) {
        hd_event e;
        hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_SLICE, 0), i);
        assert_int_equal(e.start_ns, starts[i]);
        assert_int_equal(e.start_ps, 0);
    }
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_OTHER), 1); /* beyond the range of time */
    assert_int_equal(hd_trace_ledger_count(trace), 2);
    for (size_t i = 0; i < 2; i++) {
        const char *code = hd_trace_ledger_at(trace, i)->code;
        assert_true(strcmp(code, "chrome.time-cut") == 0 || strcmp(code, "chrome.event-without-time") == 0);
    }
    hd_trace_free(trace);
}

int main(int argc, char **argv)
{
    fixtures all = fixtures_load("tests/format/chrome");
    if (argc > 1 && strcmp(argv[1], "--update") == 0) {
        int failed = fixtures_update(&all, dump_fixture);
        fixtures_free(&all);
        return failed;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_chrome_read__fixtures_give_their_dumps, &all),
        cmocka_unit_test_prestate(test_chrome_read__strict_refuses_damaged_fixtures_and_takes_the_others, &all),
        cmocka_unit_test_prestate(test_chrome_read__threads_and_pieces_make_no_difference, &all),
        cmocka_unit_test_prestate(test_chrome_read__patches_make_the_input_valid_with_the_same_events, &all),
        cmocka_unit_test(test_chrome_read__damage_around_the_events_costs_none),
        cmocka_unit_test(test_chrome_read__without_args_only_metadata_keeps_them),
        cmocka_unit_test(test_chrome_read__what_holds_no_events_is_an_error),
        cmocka_unit_test(test_chrome_read__the_end_is_the_floor_of_the_exact_sum),
        cmocka_unit_test(test_chrome_read__a_thread_that_waits_is_no_stream),
        cmocka_unit_test(test_chrome_read__work_without_a_time_is_work),
        cmocka_unit_test(test_chrome_read__events_without_a_tid_are_of_the_process),
        cmocka_unit_test(test_chrome_read__an_exponent_moves_all_digits),
        cmocka_unit_test(test_chrome_read__what_loses_every_event_is_an_error),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
