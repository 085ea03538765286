/* test_arrow_stream.c - streams over a trace: what they hold, who owns it, and allocations that fail */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/arrow.h"
#include "heddle/format.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static atomic_long left = -1; /* allocations until the one that fails; below 0: that was it, or none does */

static bool fails(void)
{
    return atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0;
}
void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static const char text[] =
    "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":10,\"name\":\"outer\",\"cat\":\"op\",\"args\":{\"a\":1,\"b\":"
    "\"x\"}},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":12,\"dur\":3,\"name\":\"inner\",\"args\":{\"c\":2.5,\"d\":[1]}},"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":30,\"dur\":0,\"name\":\"other\"},"
    "{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":40,\"name\":\"open\"},"
    "{\"ph\":\"i\",\"pid\":1,\"tid\":2,\"ts\":41,\"name\":\"inner\"},"
    "{\"ph\":\"C\",\"pid\":1,\"ts\":42,\"name\":\"count\",\"args\":{\"p\":1,\"q\":9007199254740993}},"
    "{\"ph\":\"C\",\"pid\":1,\"ts\":43,\"name\":\"count\"},"
    "{\"ph\":\"s\",\"pid\":1,\"tid\":1,\"ts\":12,\"id\":7,\"name\":\"f\",\"cat\":\"f\"},"
    "{\"ph\":\"f\",\"pid\":1,\"tid\":2,\"ts\":30,\"id\":7,\"name\":\"f\",\"cat\":\"f\",\"bp\":\"e\"}]";

static hd_trace *read_text(const char *json)
{
    hd_byte_source *source;
    hd_trace *trace;
    assert_int_equal(hd_byte_source_new_memory(&source, json, strlen(json), NULL, NULL), HD_OK);
    assert_int_equal(hd_trace_read_from(&trace, source, NULL, NULL), HD_OK);
    hd_byte_source_free(source);
    return trace;
}

static struct ArrowArrayStream open_stream(const hd_trace *trace, const char *table, const hd_arrow_options *options)
{
    struct ArrowArrayStream stream;
    hd_error err = {0};
    assert_int_equal(hd_trace_arrow_stream(&stream, trace, table, options, &err), HD_OK);
    return stream;
}

/* Rows of all batches. */
static int64_t count_rows(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;
    for (;;) {
        struct ArrowArray batch;
        assert_int_equal(stream->get_next(stream, &batch), 0);
        if (!batch.release) break;
        rows += batch.length;
        batch.release(&batch);
    }
    stream->release(stream);
    assert_null(stream->release);
    return rows;
}

static int64_t rows_of(const hd_trace *trace, const char *table, hd_arrow_options options)
{
    struct ArrowArrayStream stream = open_stream(trace, table, &options);
    return count_rows(&stream);
}

static void test_arrow__tables_hold_every_event(void **state)
{
    static const char *const kinds[] = {"slices",  "ends",    "instants",    "flows", "async",
                                        "samples", "objects", "meta_events", "other"};
    hd_trace *trace = read_text(text);
    uint64_t rows = 0;
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        rows += (uint64_t)rows_of(trace, kinds[i], (hd_arrow_options){0});
    assert_int_equal(rows + hd_trace_row_count(trace, HD_KIND_COUNTER), hd_trace_event_count(trace));
    assert_int_equal(rows_of(trace, "counters", (hd_arrow_options){0}), 3); /* two series, and a sample without */
    assert_int_equal(rows_of(trace, "args", (hd_arrow_options){0}), 4);
    assert_int_equal(rows_of(trace, "tracks", (hd_arrow_options){0}), hd_trace_track_count(trace));
    hd_trace_free(trace);
}

static void test_arrow__schema_is_what_the_table_tells(void **state)
{
    hd_trace *trace = read_text(text);
    (void)state;
    for (size_t i = 0; hd_arrow_table_at(i); i++) {
        const hd_arrow_table *table = hd_arrow_table_at(i);
        struct ArrowArrayStream stream = open_stream(trace, table->name, NULL);
        struct ArrowSchema schema;
        assert_ptr_equal(hd_arrow_table_find(table->name), table);
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        assert_string_equal(schema.format, "+s");
        for (int64_t c = 0; c < schema.n_children; c++) {
            const struct ArrowSchema *child = schema.children[c];
            assert_string_equal(child->name, table->columns[c].name);
            bool is_text = strcmp(table->columns[c].format, "u") == 0;
            assert_string_equal(child->format, is_text ? "i" : table->columns[c].format);
            assert_int_equal(child->dictionary != NULL, is_text);
        }
        assert_null(table->columns[schema.n_children].name);
        schema.release(&schema);
        count_rows(&stream);
    }
    hd_trace_free(trace);
}

static void test_arrow__values_are_the_event_s(void **state)
{
    hd_trace *trace = read_text(text);
    struct ArrowArrayStream stream = open_stream(trace, "slices", &(hd_arrow_options){.columns = "dur,name,parent_id"});
    struct ArrowArray batch;
    (void)state;
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(batch.length, 4);
    const int64_t *dur = batch.children[0]->buffers[1];
    assert_int_equal(dur[0], 10000);
    assert_int_equal(dur[1], 3000);
    assert_int_equal(dur[2], 0);
    assert_int_equal(batch.children[0]->null_count, 1); /* it never ended */
    assert_int_equal(*(const uint8_t *)batch.children[0]->buffers[0], 7);
    const struct ArrowArray *names = batch.children[1]->dictionary;
    const int32_t *index = batch.children[1]->buffers[1], *offsets = names->buffers[1];
    const char *data = names->buffers[2];
    assert_memory_equal(data + offsets[index[1]], "inner", 5);
    assert_int_equal(((const int64_t *)batch.children[2]->buffers[1])[1], 0);
    assert_int_equal(batch.children[2]->null_count, 3);
    batch.release(&batch);
    stream.release(&stream);
    hd_trace_free(trace);
}

static void test_arrow__correlation_is_a_column_and_null_where_there_is_none(void **state)
{
    static const char calls[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"correlationId\":\"7\"}},"
                                "{\"ph\":\"X\",\"name\":\"b\",\"ts\":2,\"dur\":1,\"args\":{\"correlation\":0}},"
                                "{\"ph\":\"X\",\"name\":\"c\",\"ts\":3,\"dur\":1}]";
    hd_trace *trace = read_text(calls);
    struct ArrowArrayStream stream = open_stream(trace, "slices", &(hd_arrow_options){.columns = "correlation"});
    struct ArrowArray batch;
    (void)state;
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    const int64_t *ids = batch.children[0]->buffers[1];
    assert_int_equal(ids[0], 7);
    assert_int_equal(ids[1], 0);
    assert_int_equal(batch.children[0]->null_count, 1);
    assert_int_equal(*(const uint8_t *)batch.children[0]->buffers[0] & 7, 3);
    batch.release(&batch);
    stream.release(&stream);
    hd_trace_free(trace);
}

static void test_arrow__filters_choose_events(void **state)
{
    hd_trace *trace = read_text(text);
    (void)state;
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.has_start = true, .start_ns = 15000}), 3);
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.has_start = true, .start_ns = 100000}), 1); /* open */
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.has_start = true, .start_ns = 14999}), 4);
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.has_end = true, .end_ns = 12000}), 1);
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.has_end = true, .end_ns = 12001}), 2);
    assert_int_equal(
        rows_of(trace, "slices",
                (hd_arrow_options){.has_start = true, .start_ns = 30000, .has_end = true, .end_ns = 30001}),
        1);
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.names = "inner,/^o/,!open"}), 3);
    assert_int_equal(rows_of(trace, "args", (hd_arrow_options){.names = "inner"}), 2);
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.tracks = "1/2"}), 2);
    const uint32_t none = 0;
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){.track_ids = &none}), 0);
    hd_trace_free(trace);
}

static void test_arrow__what_is_unknown_is_refused(void **state)
{
    hd_trace *trace = read_text(text);
    struct ArrowArrayStream stream;
    hd_error err = {0};
    (void)state;
    assert_int_equal(hd_trace_arrow_stream(&stream, trace, "slice", NULL, &err), HD_ERR_ARGUMENT);
    assert_null(stream.release);
    const hd_arrow_options options[] = {
        {.columns = "ts,nothing"}, {.columns = ""}, {.columns = "ts,"}, {.names = "/(/"}, {.tracks = ","}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        assert_int_equal(hd_trace_arrow_stream(&stream, trace, "slices", &options[i], NULL), HD_ERR_ARGUMENT);
    hd_trace_free(trace);
}

static void add(void *user)
{
    ++*(int *)user;
}
static void take(void *user)
{
    --*(int *)user;
}

static void test_arrow__arrays_outlive_their_stream_and_children_their_parent(void **state)
{
    hd_trace *trace = read_text(text);
    int held = 0;
    struct ArrowArrayStream stream =
        open_stream(trace, "slices", &(hd_arrow_options){.keep = add, .release = take, .user = &held});
    struct ArrowArray batch, child;
    (void)state;
    assert_int_equal(held, 1);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    stream.release(&stream);
    child = *batch.children[4]; /* moved, as the specification has it */
    batch.children[4]->release = NULL;
    batch.release(&batch);
    struct ArrowArray names = *child.dictionary;
    child.dictionary->release = NULL;
    child.release(&child);
    hd_trace_free(trace); /* nothing borrows any more */
    assert_int_equal(held, 0);
    assert_non_null(memchr(names.buffers[2], 'o', 100));
    names.release(&names);
}

static struct ArrowArrayStream one_row(void)
{
    hd_table_builder *builder;
    hd_table *table;
    struct ArrowArrayStream stream;
    assert_int_equal(hd_table_builder_new(&builder, "t", NULL), HD_OK);
    hd_table_add_column(builder, "text", HD_VALUE_STRING);
    hd_table_add_column(builder, "many", HD_VALUE_COUNT);
    hd_table_add_column(builder, "few", HD_VALUE_COUNT);
    hd_table_add_string(builder, "a\xff", 2);
    hd_table_add_count(builder, UINT64_MAX);
    hd_table_add_null(builder);
    assert_int_equal(hd_table_finish(&table, builder, NULL), HD_OK);
    assert_int_equal(hd_table_arrow_stream(&stream, table, NULL), HD_OK);
    hd_table_free(table);
    return stream;
}

static void test_arrow__a_table_is_one_batch(void **state)
{
    struct ArrowArrayStream stream = one_row();
    struct ArrowArray batch;
    struct ArrowSchema schema;
    (void)state;
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.children[0]->format, "u");
    assert_string_equal(schema.children[1]->format, "L");
    assert_string_equal(schema.children[2]->format, "l");
    schema.release(&schema);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(((const int32_t *)batch.children[0]->buffers[1])[1], 4);
    assert_memory_equal(batch.children[0]->buffers[2], "a\xef\xbf\xbd", 4);
    assert_true(((const uint64_t *)batch.children[1]->buffers[1])[0] == UINT64_MAX);
    assert_int_equal(batch.children[2]->null_count, 1);
    batch.release(&batch);
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_null(batch.release);
    stream.release(&stream);
}

/* The bytes of a stream; *out_size 0: it is refused, or there is no memory. The caller frees the sink. */
static const uint8_t *write_bytes(size_t *out_size, hd_byte_sink **sink, struct ArrowArrayStream *stream, hd_error *err)
{
    long failing = atomic_exchange(&left, -1);
    assert_int_equal(hd_byte_sink_new_memory(sink, "bytes", NULL), HD_OK);
    atomic_store(&left, failing);
    hd_status status = hd_arrow_write(*sink, stream, err);
    atomic_store(&left, atomic_load(&left) < 0 ? LONG_MIN : -1);
    const uint8_t *data = hd_byte_sink_get_memory(out_size, *sink);
    if (status != HD_OK) *out_size = 0;
    return data;
}

static uint32_t number_at(const uint8_t *at)
{
    return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

/* tests/wasm/run.py reads such bytes with pyarrow; here are the limits of messages, and the one row's values. */
static void test_arrow__a_stream_is_written_as_messages(void **state)
{
    static const uint8_t body[] = {0, 0, 0,   0,   4,   0,   0,   0,   'a', 0xef, 0xbf, 0xbd, 0, 0,
                                   0, 0, 255, 255, 255, 255, 255, 255, 255, 255,  0,    0,    0, 0,
                                   0, 0, 0,   0,   0,   0,   0,   0,   0,   0,    0,    0};
    struct ArrowArrayStream stream = one_row();
    hd_byte_sink *sink;
    size_t size, at = 0;
    (void)state;
    const uint8_t *data = write_bytes(&size, &sink, &stream, NULL);
    for (int message = 0; message < 2; message++) {
        assert_int_equal(number_at(data + at), UINT32_MAX);
        assert_int_equal(number_at(data + at + 4) % 8, 0);
        at += 8 + number_at(data + at + 4);
    }
    assert_int_equal(size, at + sizeof body + 8);
    assert_memory_equal(data + at, body, sizeof body);
    assert_int_equal(number_at(data + size - 8), UINT32_MAX);
    assert_int_equal(number_at(data + size - 4), 0);
    hd_byte_sink_free(sink);
}

static void test_arrow__dictionaries_are_not_written(void **state)
{
    hd_trace *trace = read_text(text);
    struct ArrowArrayStream stream = open_stream(trace, "slices", NULL);
    hd_byte_sink *sink;
    hd_error err = {0};
    size_t size;
    (void)state;
    write_bytes(&size, &sink, &stream, &err);
    assert_int_equal(err.status, HD_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "dictionary"));
    hd_byte_sink_free(sink);
    hd_trace_free(trace);
}

static void test_arrow__bytes_without_memory_are_an_error(void **state)
{
    (void)state;
    for (long n = 0, size = 0; size == 0; n++) {
        struct ArrowArrayStream stream = one_row();
        hd_byte_sink *sink;
        size_t written;
        atomic_store(&left, n);
        write_bytes(&written, &sink, &stream, NULL);
        bool was_reached = atomic_load(&left) == LONG_MIN;
        atomic_store(&left, -1);
        assert_int_equal(written == 0, was_reached);
        hd_byte_sink_free(sink);
        size = (long)written;
        assert_true(n < 1000);
    }
}

/* true: all was given. */
static bool use_table(const hd_trace *trace, const char *table)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    if (hd_trace_arrow_stream(&stream, trace, table, NULL, NULL) != HD_OK) return false;
    bool fine = stream.get_schema(&stream, &schema) == 0;
    if (fine) schema.release(&schema);
    while (fine && (fine = stream.get_next(&stream, &batch) == 0) && batch.release) batch.release(&batch);
    stream.release(&stream);
    return fine;
}

static void test_arrow__an_allocation_that_fails_is_told(void **state)
{
    hd_trace *trace = read_text(text);
    (void)state;
    for (size_t i = 0; hd_arrow_table_at(i); i++) {
        bool fine = false;
        for (long n = 0; !fine; n++) {
            atomic_store(&left, n);
            fine = use_table(trace, hd_arrow_table_at(i)->name);
            bool was_reached = atomic_load(&left) < 0;
            atomic_store(&left, -1);
            assert_true(fine || was_reached);
            if (fine && was_reached) fine = false; /* what failed was done without */
            assert_true(n < 10000);
        }
    }
    hd_trace_free(trace);
}

static void test_arrow__no_events_are_no_batches(void **state)
{
    hd_trace *trace = read_text("{\"traceEvents\":[]}");
    (void)state;
    assert_int_equal(rows_of(trace, "slices", (hd_arrow_options){0}), 0);
    assert_int_equal(rows_of(trace, "args", (hd_arrow_options){0}), 0);
    assert_int_equal(rows_of(trace, "launches", (hd_arrow_options){0}), 0);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrow__tables_hold_every_event),
        cmocka_unit_test(test_arrow__schema_is_what_the_table_tells),
        cmocka_unit_test(test_arrow__values_are_the_event_s),
        cmocka_unit_test(test_arrow__correlation_is_a_column_and_null_where_there_is_none),
        cmocka_unit_test(test_arrow__filters_choose_events),
        cmocka_unit_test(test_arrow__what_is_unknown_is_refused),
        cmocka_unit_test(test_arrow__arrays_outlive_their_stream_and_children_their_parent),
        cmocka_unit_test(test_arrow__a_table_is_one_batch),
        cmocka_unit_test(test_arrow__a_stream_is_written_as_messages),
        cmocka_unit_test(test_arrow__dictionaries_are_not_written),
        cmocka_unit_test(test_arrow__bytes_without_memory_are_an_error),
        cmocka_unit_test(test_arrow__an_allocation_that_fails_is_told),
        cmocka_unit_test(test_arrow__no_events_are_no_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
