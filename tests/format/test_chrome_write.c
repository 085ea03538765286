/* test_chrome_write.c - what was read and is written reads the same again */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "dump.h"
#include "fixtures.h"
#include "heddle/builder.h"
#include "random_trace.h"
#include "read_text.h"

static hd_trace *read_whole(const char *text, size_t size)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, text, size, NULL, 0, &err) != HD_OK) fail_msg("%s: %.300s", err.message, text);
    return trace;
}

static void count_losses(void *user, const hd_ledger_row *row)
{
    assert_string_equal(row->code, "json.duplicate-key");
    *(uint64_t *)user += row->count;
}

/* Write, read again, compare, unless a text among the arguments had a key twice; and a second time, byte for byte. The
 * text of the first time. */
static char *round_trip(const char *name, const hd_trace *trace, bool pretty, size_t *out_size)
{
    uint64_t lost = 0;
    const hd_write_options options = {.pretty = pretty, .ledger = count_losses, .ledger_user = &lost};
    const hd_read_options strict = {.strict = true};
    char *text = write_text(trace, &options, out_size);
    if (!hd_json_valid(text, *out_size, 2000)) fail_msg("%s is written as what is not JSON: %.300s", name, text);
    char *before = dump_trace(trace, DUMP_CONTENT), *after = dump_text(text, *out_size, &strict, 0, DUMP_CONTENT);
    if (!lost && strcmp(before, after) != 0) {
        size_t at = 0;
        while (before[at] == after[at]) at++;
        while (at && before[at - 1] != '\n') at--;
        fail_msg("%s:\nbefore: %.200s\nafter:  %.200s", name, before + at, after + at);
    }
    hd_trace *again = read_whole(text, *out_size);
    size_t size;
    lost = 0;
    char *second = write_text(again, &options, &size);
    assert_int_equal(lost, 0);
    assert_int_equal(size, *out_size);
    assert_memory_equal(text, second, size);
    hd_trace_free(again);
    free(second);
    free(before);
    free(after);
    return text;
}

static void test_chrome_write__fixtures_survive(void **state)
{
    (void)state;
    fixtures all = fixtures_load("tests/format/chrome");
    for (size_t i = 0; i < all.count; i++) {
        size_t size;
        hd_trace *trace = read_whole(all.list[i].text, all.list[i].size);
        free(round_trip(all.list[i].name, trace, false, &size));
        free(round_trip(all.list[i].name, trace, true, &size));
        hd_trace_free(trace);
    }
    fixtures_free(&all);
}

static void test_chrome_write__random_documents_survive(void **state)
{
    (void)state;
    hd_json_out out = {0};
    for (unsigned i = 0; i < 400; i++) {
        uint64_t seed = i;
        size_t size;
        char name[32];
        out.size = 0;
        random_document(&out, &seed, 30);
        hd_json_put_text(&out, "    ");
        out.size -= 4;
        for (unsigned d = 0; d < i % 4; d++) {
            size_t end = random_damage(out.data, out.size, out.size / 4, out.size, &seed);
            out.size = end < out.capacity - 4 ? end : out.size;
        }
        snprintf(name, sizeof name, "seed %u", i);
        hd_trace *trace = read_whole(out.data, out.size);
        free(round_trip(name, trace, i & 1, &size));
        hd_trace_free(trace);
    }
    free(out.data);
}

/* Text in, the very same text out: what is already as we would write it. */
static void expect_unchanged(const char *text)
{
    size_t size;
    hd_trace *trace = read_whole(text, strlen(text));
    char *written = write_text(trace, NULL, &size);
    assert_string_equal(written, text);
    free(written);
    hd_trace_free(trace);
}

static void test_chrome_write__numbers_keep_their_digits_and_keys_their_order(void **state)
{
    (void)state;
    expect_unchanged("[\n{\"ph\":\"i\",\"ts\":1.5,\"args\":{\"z\":1e-9,\"a\":12.500,\"m\":18446744073709551616,\"n\":-"
                     "0.0,\"\":0.1234567890123456789}},\n"
                     "{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"n\",\"pid\":1.0,\"tid\":\"7\",\"id\":\"0x1\",\"ts\":\"1."
                     "50\",\"dur\":1e3},\n"
                     "null,\n[1, 2],\n{}\n]\n");
    expect_unchanged("{\n\"a\":1.0,\n\"b\":[ 1 ],\n\"traceEvents\":[\n],\n\"z\":null\n}\n");
}

static void expect_written(const char *text, const char *expected, uint64_t expected_losses)
{
    size_t size;
    uint64_t lost = 0;
    const hd_write_options options = {.ledger = count_losses, .ledger_user = &lost};
    hd_trace *trace = read_whole(text, strlen(text));
    char *written = write_text(trace, &options, &size);
    assert_string_equal(written, expected);
    assert_int_equal(lost, expected_losses);
    free(written);
    hd_trace_free(trace);
}

static void test_chrome_write__no_key_is_written_twice(void **state)
{
    (void)state;
    /* top level: the last keeps its name, the events theirs; what says the same stands once */
    expect_written("{\"a\":1,\"b\":0,\"traceEvents\":7,\"a#1\":3,\"traceEvents\":[],\"a\":2,\"b\":0}",
                   "{\n\"a#2\":1,\n\"traceEvents#1\":7,\n\"a#1\":3,\n\"traceEvents\":[\n],\n\"a\":2,\n\"b\":0\n}\n", 0);
    /* an event: the last counts, which the reader's ledger tells; texts among the arguments: the writer's */
    expect_written(
        "[{\"ph\":\"i\",\"ts\":1,\"f\":1,\"id\":1,\"f\":2,\"id\":\"x\",\"args\":{\"a\":1,\"b\":0,\"a\":\"z\"}}]",
        "[\n{\"ph\":\"i\",\"ts\":1,\"id\":\"x\",\"f\":2,\"args\":{\"b\":0,\"a\":\"z\"}}\n]\n", 0);
    expect_written("[{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":{\"x\":1 ,\"y\":[{\"q\":1,\"q\":1},2],\"\\u0078\":2}}}]",
                   "[\n{\"ph\":\"i\",\"ts\":1,\"args\":{\"a\":{\"y\":[{\"q\":1},2],\"\\u0078\":2}}}\n]\n", 2);
}

static void test_chrome_write__more_shapes_than_fit_are_kept_as_text(void **state)
{
    (void)state;
    hd_json_out out = {0};
    enum { EVENTS = 6000 };
    hd_json_put_text(&out, "[");
    for (int i = 0; i < EVENTS; i++) {
        char event[256];
        snprintf(event, sizeof event,
                 "%s\n{\"ph\":\"%s\",\"name\":%s,\"ts\":%s%d%s,\"pid\":null,\"bp\":\"q\",\"id2\":{\"local\":%d},"
                 "\"args\":{\"key %d\":1.50}}",
                 i ? "," : "", i % 2 ? "i" : "XY", i % 3 ? "5" : "\"n\"", i % 5 ? "" : "\"", i, i % 5 ? "" : "\"", i,
                 i);
        hd_json_put_text(&out, event);
    }
    hd_json_put_text(&out, "\n]");
    size_t size;
    hd_trace *trace = read_whole(out.data, out.size);
    assert_int_equal(hd_trace_event_count(trace), EVENTS);
    assert_int_equal(hd_trace_shape_count(trace), HD_SHAPE_LIMIT);
    char *text = round_trip("6000 shapes", trace, false, &size);
    const char *last = strstr(text, "\"key 5999\":1.50");
    assert_non_null(last);
    const char *line = last;
    while (line[-1] != '\n') line--;
    char event[256];
    snprintf(event, sizeof event, "%.*s", (int)strcspn(line, "\n"), line);
    assert_string_equal(event, "{\"ph\":\"i\",\"ts\":5999,\"id2\":{\"local\":5999},\"name\":5,\"pid\":null,\"bp\":"
                               "\"q\",\"args\":{\"key 5999\":1.50}}");
    free(text);
    free(out.data);
    hd_trace_free(trace);
}

static void test_chrome_write__an_event_with_two_thousand_keys_is_kept(void **state)
{
    (void)state;
    for (int in_args = 0; in_args < 2; in_args++) {
        hd_json_out out = {0};
        hd_json_put_text(&out, "[{\"ph\":\"B\",\"ts\":1,\"dur\":2.0,\"name\":\"big\"");
        if (in_args) hd_json_put_text(&out, ",\"args\":{\"first\":1");
        for (int i = 0; i < 2000; i++) {
            char member[64];
            snprintf(member, sizeof member, ",\"key %d\":\"value %d\"", i, i);
            hd_json_put_text(&out, member);
        }
        hd_json_put_text(&out, in_args ? "}},{\"ph\":\"i\",\"ts\":2}]" : "},{\"ph\":\"i\",\"ts\":2}]");
        size_t size;
        hd_trace *trace = read_whole(out.data, out.size);
        assert_int_equal(hd_trace_event_count(trace), 2);
        char *text = round_trip("2000 keys", trace, false, &size);
        assert_non_null(strstr(text, "\"key 1999\":\"value 1999\""));
        assert_non_null(strstr(text, "\"dur\":2.0"));
        free(text);
        free(out.data);
        hd_trace_free(trace);
    }
}

static void test_chrome_write__the_unix_time_of_zero_is_kept_once(void **state)
{
    (void)state;
    hd_builder *builder;
    hd_trace *trace;
    size_t size;
    static const hd_write_options pretty = {.pretty = true};
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    hd_builder_facts(builder)->base_ns = 1700000000000000001;
    hd_builder_facts(builder)->top_level_array = true; /* which has no place for it */
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    char *text = write_text(trace, NULL, &size);
    assert_string_equal(text, "{\n\"baseTimeNanoseconds\":1700000000000000001,\n\"traceEvents\":[\n]\n}\n");
    hd_trace *again = read_whole(text, size);
    assert_int_equal(hd_trace_facts_of(again)->base_ns, 1700000000000000001);
    char *second = write_text(again, NULL, &size), *lines = write_text(trace, &pretty, &size);
    assert_string_equal(text, second);
    assert_non_null(strstr(lines, "\n  \"baseTimeNanoseconds\": 1700000000000000001,\n"));
    free(text);
    free(second);
    free(lines);
    hd_trace_free(trace);
    hd_trace_free(again);
}

/* A store that lost its strings has such, in the place of numbers and objects. */
static void test_chrome_write__what_is_no_json_becomes_a_string(void **state)
{
    (void)state;
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    size_t size;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    uint32_t lost = hd_builder_intern_text(builder, "(lost \"1\")"), half = hd_builder_intern_text(builder, "{\"a\":");
    const hd_arg_key keys[] = {{lost, HD_ARG_NUMBER, HD_SCOPE_ARGS}, {half, HD_ARG_JSON, HD_SCOPE_EVENT}};
    hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
    row.track = hd_builder_track(builder, (hd_ident){HD_IDENT_NUMBER, lost}, (hd_ident){HD_IDENT_NUMBER, half}, false);
    row.start_ns = 0;
    row.shape = hd_builder_shape(builder, keys, 2, true);
    assert_int_equal(hd_batch_add(batch, &row, (const int64_t[]){lost, half}, NULL), HD_OK);
    row.shape = hd_builder_raw_shape(builder);
    assert_int_equal(hd_batch_add(batch, &row, (const int64_t[]){half}, NULL), HD_OK);
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    hd_batch_free(batch);
    hd_builder_metadata(builder, lost, half, false);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    for (int i = 0; i < 2; i++) {
        const hd_write_options options = {.pretty = i};
        char *text = write_text(trace, &options, &size);
        if (!hd_json_valid(text, size, 10)) fail_msg("no JSON: %s", text);
        assert_non_null(strstr(text, i ? "\"pid\": \"(lost \\\"1\\\")\"" : "\"pid\":\"(lost \\\"1\\\")\""));
        free(text);
    }
    hd_trace_free(trace);
}

static void test_chrome_write__a_trace_without_metadata_events_gets_names_for_its_tracks(void **state)
{
    (void)state;
    hd_builder *builder;
    hd_batch *batch;
    hd_chunk *chunk;
    hd_trace *trace;
    size_t size;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.track = hd_builder_thread(builder, 1, 2);
    row.start_ns = -1;
    row.start_ps = 250;
    row.duration_ns = 0;
    row.end_ps = 750;
    hd_builder_name_track(builder, row.track, hd_builder_intern_text(builder, "a \"thread\""));
    hd_builder_sort_track(builder, row.track, -5);
    assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    char *text = write_text(trace, NULL, &size);
    assert_string_equal(
        text, "{\n\"traceEvents\":[\n"
              "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"a \\\"thread\\\"\"}},\n"
              "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":2,\"args\":{\"sort_index\":-5}},\n"
              "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":-0.00075,\"dur\":0.0005}\n]\n}\n");
    free(text);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chrome_write__fixtures_survive),
        cmocka_unit_test(test_chrome_write__random_documents_survive),
        cmocka_unit_test(test_chrome_write__numbers_keep_their_digits_and_keys_their_order),
        cmocka_unit_test(test_chrome_write__no_key_is_written_twice),
        cmocka_unit_test(test_chrome_write__more_shapes_than_fit_are_kept_as_text),
        cmocka_unit_test(test_chrome_write__an_event_with_two_thousand_keys_is_kept),
        cmocka_unit_test(test_chrome_write__the_unix_time_of_zero_is_kept_once),
        cmocka_unit_test(test_chrome_write__what_is_no_json_becomes_a_string),
        cmocka_unit_test(test_chrome_write__a_trace_without_metadata_events_gets_names_for_its_tracks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
