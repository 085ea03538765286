/* test_builder.c - src/trace: columns, blocks, strings, shapes, tracks, pairs, batches on several threads */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/builder.h"
#include "trace/lazy.h"

static hd_builder *builder_new(void)
{
    hd_builder *builder;
    assert_int_equal(hd_builder_new(&builder, NULL), HD_OK);
    return builder;
}

static hd_batch *batch_new(hd_builder *builder)
{
    hd_batch *batch;
    assert_int_equal(hd_batch_new(&batch, builder, NULL), HD_OK);
    return batch;
}

static void append(hd_builder *builder, hd_batch *batch)
{
    hd_chunk *chunk;
    assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
    assert_int_equal(hd_builder_append(builder, chunk, NULL), HD_OK);
}

static hd_trace *finish(hd_builder *builder, hd_batch *batch)
{
    hd_trace *trace;
    append(builder, batch);
    hd_batch_free(batch);
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    return trace;
}

static void add(hd_batch *batch, hd_kind kind, char phase, uint32_t track, int64_t start_ns)
{
    hd_row row = hd_row_of(kind, phase);
    row.track = track;
    row.start_ns = start_ns;
    assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
}

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event e;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&e, block, at);
    assert_int_equal(e.row, row);
    return e;
}

/* ---- columns ---- */

static void test_builder__columns_are_as_narrow_as_their_values_and_lose_nothing(void **state)
{
    (void)state;
    static const struct {
        int64_t low, high;
        uint32_t width;
    } cases[] = {
        {7, 7, 0},
        {0, 255, 1},
        {-128, 127, 1},
        {0, 256, 2},
        {-1, 65534, 2},
        {0, 65536, 4},
        {1, 4294967296, 4},
        {0, 4294967296, 8},
        {INT64_MIN, INT64_MAX, 8},
        {INT64_MIN, INT64_MIN, 0},
        {INT64_MAX - 255, INT64_MAX, 1},
        {INT64_MIN, INT64_MIN + 65535, 2},
        {-1, INT64_MAX, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_builder *builder = builder_new();
        hd_batch *batch = batch_new(builder);
        hd_row row = hd_row_of(HD_KIND_OTHER, 'x');
        const int64_t values[] = {cases[i].low, cases[i].high, cases[i].low, cases[i].high};
        for (size_t v = 0; v < 4; v++) {
            row.id = values[v];
            assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
        }
        hd_trace *trace = finish(builder, batch);
        const hd_column *column = &hd_trace_block_at(trace, HD_KIND_OTHER, 0)->columns[HD_COL_ID];
        assert_int_equal(column->width, cases[i].width);
        int64_t decoded[3];
        hd_column_decode(decoded, column, 1, 3);
        for (uint32_t v = 0; v < 4; v++) {
            assert_true(hd_column_at(column, v) == values[v]);
            if (v) assert_true(decoded[v - 1] == values[v]);
        }
        hd_trace_free(trace);
    }
}

static void test_builder__extreme_times_and_negative_ids_survive(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    uint32_t track = hd_builder_thread(builder, INT64_MIN, -12);
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    row.track = track;
    static const int64_t times[][2] = {{INT64_MAX, INT64_MAX}, {INT64_MIN + 1, INT64_MIN + 1}, {0, -1}, {5, INT64_MAX}};
    for (size_t i = 0; i < 4; i++) {
        row.start_ns = times[i][0];
        row.duration_ns = times[i][1];
        assert_int_equal(hd_batch_add(batch, &row, NULL, NULL), HD_OK);
    }
    add(batch, HD_KIND_SLICE, 'B', track, INT64_MIN + 1);
    add(batch, HD_KIND_END, 'E', track, INT64_MAX);
    hd_trace *trace = finish(builder, batch);
    for (size_t i = 0; i < 4; i++) {
        hd_event e = event_at(trace, HD_KIND_SLICE, i);
        assert_true(e.start_ns == times[i][0] && e.duration_ns == times[i][1]);
    }
    assert_true(event_at(trace, HD_KIND_SLICE, 4).duration_ns == INT64_MAX); /* as much as fits */
    const hd_trace_facts *facts = hd_trace_facts_of(trace);
    assert_true(facts->start_ns == INT64_MIN + 1 && facts->end_ns == INT64_MAX);
    hd_string pid = hd_trace_string(trace, hd_trace_track_at(trace, track)->pid.text);
    assert_int_equal(pid.size, 20);
    assert_memory_equal(pid.data, "-9223372036854775808", 20);
    hd_string tid = hd_trace_string(trace, hd_trace_track_at(trace, track)->tid.text);
    assert_int_equal(tid.size, 3);
    assert_memory_equal(tid.data, "-12", 3);
    hd_trace_free(trace);
}

static void test_builder__rows_beyond_a_block_go_on_in_the_next(void **state)
{
    (void)state;
    enum { ROWS = 3 * HD_BLOCK_ROWS + 17 };
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    hd_arg_key keys[2] = {{.key = hd_builder_intern_text(builder, "a"), .type = HD_ARG_INT},
                          {.key = hd_builder_intern_text(builder, "b"), .type = HD_ARG_INT, .scope = HD_SCOPE_EVENT}};
    uint32_t shapes[] = {hd_builder_shape(builder, keys, 2, true), hd_builder_shape(builder, keys, 1, true), 0};
    for (int64_t i = 0; i < ROWS; i++) {
        hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
        row.start_ns = i * 1000;
        row.shape = shapes[i % 3];
        const int64_t values[] = {i, -i * i};
        assert_int_equal(hd_batch_add(batch, &row, values, NULL), HD_OK);
    }
    assert_int_equal(hd_batch_row_count(batch), ROWS);
    hd_trace *trace = finish(builder, batch);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), ROWS);
    assert_int_equal(hd_trace_block_count(trace, HD_KIND_INSTANT), 4);
    for (uint64_t i = 0; i < ROWS; i += 331) {
        hd_event e = event_at(trace, HD_KIND_INSTANT, i);
        assert_int_equal(e.start_ns, i * 1000);
        int64_t value;
        bool found = hd_event_arg_int(&value, trace, &e, keys[0].key);
        assert_int_equal(found, i % 3 != 2);
        if (found) assert_int_equal(value, i);
        if (i % 3 == 0) assert_true(hd_column_at(&e.args->columns[1], e.args_row) == -(int64_t)(i * i));
    }
    assert_int_equal(hd_trace_block_at(trace, HD_KIND_INSTANT, 1)->start_ns, (int64_t)HD_BLOCK_ROWS * 1000);
    hd_trace_free(trace);
}

static void test_builder__a_cleared_batch_starts_again(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    for (int64_t i = 0; i < HD_BLOCK_ROWS + 5; i++) add(batch, HD_KIND_INSTANT, 'i', HD_NONE, i);
    hd_batch_clear(batch);
    assert_int_equal(hd_batch_row_count(batch), 0);
    append(builder, batch); /* an empty chunk is fine */
    add(batch, HD_KIND_INSTANT, 'i', HD_NONE, 42);
    hd_trace *trace = finish(builder, batch);
    assert_int_equal(hd_trace_event_count(trace), 1);
    assert_int_equal(event_at(trace, HD_KIND_INSTANT, 0).start_ns, 42);
    hd_trace_free(trace);
}

static void test_builder__an_empty_trace_is_a_trace(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_trace *trace = finish(builder, batch_new(builder));
    assert_int_equal(hd_trace_event_count(trace), 0);
    assert_int_equal(hd_trace_order_count(trace), 0);
    assert_true(hd_trace_facts_of(trace)->start_ns == HD_NO_TIME);
    hd_trace_free(trace);
}

/* ---- shapes ---- */

static void test_builder__shapes_end_at_their_limit(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    uint32_t made = 0;
    for (int i = 0; i < HD_SHAPE_LIMIT + 1000; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        hd_arg_key key = {.key = hd_builder_intern_text(builder, name), .type = HD_ARG_INT};
        uint32_t shape = hd_builder_shape(builder, &key, 1, true);
        if (shape == HD_NONE) continue;
        made++;
        assert_int_equal(hd_builder_shape(builder, &key, 1, true), shape);
    }
    assert_int_equal(made, HD_SHAPE_LIMIT - 2); /* the empty one and the raw one are there already */
    hd_row row = hd_row_of(HD_KIND_OTHER, 0);
    row.shape = hd_builder_raw_shape(builder);
    const int64_t raw = hd_builder_intern_text(builder, "{\"a\":1}");
    assert_int_equal(hd_batch_add(batch, &row, &raw, NULL), HD_OK);
    hd_trace *trace = finish(builder, batch);
    assert_int_equal(hd_trace_shape_count(trace), HD_SHAPE_LIMIT);
    hd_event e = event_at(trace, HD_KIND_OTHER, 0);
    assert_int_equal(hd_column_at(&e.args->columns[0], e.args_row), raw);
    hd_trace_free(trace);
}

#ifdef __GLIBC__
static hd_trace *one_event_trace(int64_t number)
{
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    hd_arg_key key = {.key = hd_builder_intern_text(builder, "correlation"), .type = HD_ARG_INT};
    hd_row row = hd_row_of(HD_KIND_SLICE, 'X');
    hd_ident pid = {HD_IDENT_NUMBER, hd_builder_intern_text(builder, "1")};
    row.name = hd_builder_intern_text(builder, "gemm");
    row.track = hd_builder_track(builder, pid, pid, false);
    row.start_ns = number;
    row.duration_ns = 10;
    row.shape = hd_builder_shape(builder, &key, 1, true);
    assert_int_equal(hd_batch_add(batch, &row, &number, NULL), HD_OK);
    return finish(builder, batch);
}

/* A job has 10,000 ranks: what each trace holds at least is what their merge takes. */
#pragma weak mallinfo2 /* of glibc 2.33; archives are linked with the symbols of 2.28 */
static void test_builder__a_trace_of_one_event_takes_under_10_kib(void **state)
{
    enum { TRACES = 100 };
    static hd_trace *traces[TRACES];
    (void)state;
    if (!mallinfo2) skip();
    struct mallinfo2 before = mallinfo2();
    if (!before.uordblks) skip(); /* a sanitizer's allocator */
    for (int i = 0; i < TRACES; i++) traces[i] = one_event_trace(i);
    struct mallinfo2 behind = mallinfo2();
    size_t held = behind.uordblks + behind.hblkhd - before.uordblks - before.hblkhd;
    for (int i = 0; i < TRACES; i++) hd_trace_free(traces[i]);
    if (held / TRACES >= 10240) fail_msg("%zu bytes a trace", held / TRACES);
}
#endif

static void test_builder__decimals_pack_without_loss(void **state)
{
    (void)state;
    static const int64_t mantissas[] = {0, 1, -1, 12500, -12500, ((int64_t)1 << 58) - 1, 1 - ((int64_t)1 << 58)};
    for (size_t i = 0; i < sizeof mantissas / sizeof *mantissas; i++) {
        for (unsigned scale = 0; scale < 32; scale++) {
            int64_t packed = hd_decimal_pack(mantissas[i], scale);
            assert_true(hd_decimal_mantissa(packed) == mantissas[i]);
            assert_int_equal(hd_decimal_scale(packed), scale);
        }
    }
}

/* ---- begin and end ---- */

static void test_builder__ends_close_the_innermost_begin(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    uint32_t a = hd_builder_thread(builder, 1, 1), b = hd_builder_thread(builder, 1, 2);
    add(batch, HD_KIND_SLICE, 'B', a, 10);
    add(batch, HD_KIND_SLICE, 'B', b, 11);
    add(batch, HD_KIND_SLICE, 'B', a, 12);
    append(builder, batch); /* pairs reach across chunks */
    add(batch, HD_KIND_END, 'E', a, 20);
    add(batch, HD_KIND_END, 'E', b, 21);
    add(batch, HD_KIND_END, 'E', a, 22);
    add(batch, HD_KIND_END, 'E', a, 23);
    add(batch, HD_KIND_SLICE, 'B', a, 24);
    hd_trace *trace = finish(builder, batch);
    static const int64_t durations[] = {12, 10, 8, HD_NO_TIME}, partners[] = {2, 1, 0, -1}, slices[] = {2, 1, 0, -1};
    for (uint64_t i = 0; i < 4; i++) {
        assert_true(event_at(trace, HD_KIND_SLICE, i).duration_ns == durations[i]);
        assert_true(event_at(trace, HD_KIND_SLICE, i).partner == partners[i]);
        assert_true(event_at(trace, HD_KIND_END, i).partner == slices[i]);
    }
    hd_trace_free(trace);
}

static void test_builder__begins_and_ends_out_of_order_pair_by_time(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    uint32_t track = hd_builder_thread(builder, 1, 1);
    add(batch, HD_KIND_END, 'E', track, 40);
    add(batch, HD_KIND_END, 'E', track, 30);
    add(batch, HD_KIND_SLICE, 'B', track, 20);
    add(batch, HD_KIND_SLICE, 'B', track, 10);
    add(batch, HD_KIND_SLICE, 'B', track, 40); /* at the time of an end that stands before it: after that end */
    hd_trace *trace = finish(builder, batch);
    assert_true(event_at(trace, HD_KIND_SLICE, 0).duration_ns == 10);
    assert_true(event_at(trace, HD_KIND_SLICE, 1).duration_ns == 30);
    assert_true(event_at(trace, HD_KIND_SLICE, 2).duration_ns == HD_NO_TIME);
    hd_trace_free(trace);
}

static void test_builder__a_number_and_a_string_that_read_the_same_are_twins(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    uint32_t seven = hd_builder_intern_text(builder, "7");
    hd_ident number = {HD_IDENT_NUMBER, seven}, string = {HD_IDENT_STRING, seven};
    uint32_t tracks[] = {
        hd_builder_track(builder, number, number, false), hd_builder_track(builder, number, string, false),
        hd_builder_track(builder, string, number, false), hd_builder_track(builder, string, string, false)};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) assert_int_not_equal(tracks[i], tracks[j]);
    }
    assert_int_equal(hd_builder_thread(builder, 7, 7), tracks[0]);
    add(batch, HD_KIND_SLICE, 'B', tracks[1], 1);
    add(batch, HD_KIND_END, 'E', tracks[2], 5); /* to a viewer they are one track */
    hd_trace *trace = finish(builder, batch);
    for (int i = 0; i < 4; i++) assert_int_equal(hd_trace_track_at(trace, tracks[i])->same_as, tracks[0]);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 0).duration_ns, 4);
    hd_trace_free(trace);
}

static void test_builder__unused_tracks_leave_and_the_others_keep_their_events(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    enum { TRACKS = 1000 };
    for (int64_t i = 0; i < TRACKS; i++) {
        uint32_t track = hd_builder_thread(builder, 1, i);
        if (i % 3 == 0) add(batch, i % 2 ? HD_KIND_SLICE : HD_KIND_INSTANT, 'x', track, i);
    }
    add(batch, HD_KIND_INSTANT, 'i', HD_NONE, 5);
    append(builder, batch);
    assert_int_equal(hd_builder_settle_tracks(builder, NULL), HD_OK);
    assert_int_equal(hd_trace_track_count(hd_builder_trace(builder)), 334);
    assert_int_equal(hd_builder_thread(builder, 1, 999), 333); /* found where it is now */
    hd_trace *trace = finish(builder, batch);
    for (uint64_t row = 0; row < hd_trace_row_count(trace, HD_KIND_SLICE); row++) {
        hd_event e = event_at(trace, HD_KIND_SLICE, row);
        char text[24];
        int size = snprintf(text, sizeof text, "%d", (int)e.start_ns);
        hd_string tid = hd_trace_string(trace, hd_trace_track_at(trace, e.track)->tid.text);
        assert_int_equal(tid.size, size);
        assert_memory_equal(tid.data, text, tid.size);
    }
    assert_int_equal(event_at(trace, HD_KIND_INSTANT, hd_trace_row_count(trace, HD_KIND_INSTANT) - 1).track, HD_NONE);
    hd_trace_free(trace);
}

/* However threads met the tracks: processes are in the order of their threads, those without threads by their ids. */
static void test_builder__processes_are_in_the_order_of_their_threads(void **state)
{
    (void)state;
    static const char *const pids[] = {"7", "10", "9", "100"};
    static const unsigned met[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    for (size_t turn = 0; turn < sizeof met / sizeof *met; turn++) {
        hd_builder *builder = builder_new();
        hd_batch *batch = batch_new(builder);
        for (size_t i = 0; i < 4; i++) {
            hd_ident pid = {HD_IDENT_NUMBER, hd_builder_intern_text(builder, pids[met[turn][i]])};
            hd_builder_track(builder, pid, (hd_ident){0}, true);
        }
        add(batch, HD_KIND_INSTANT, 'i', hd_builder_thread(builder, 100, 1), 0);
        add(batch, HD_KIND_INSTANT, 'i', hd_builder_thread(builder, 7, 1), 1);
        append(builder, batch);
        assert_int_equal(hd_builder_settle_tracks(builder, NULL), HD_OK);
        hd_trace *trace = finish(builder, batch);
        static const char *const wanted[] = {"100", "7", "100", "7", "9", "10"};
        assert_int_equal(hd_trace_track_count(trace), 6);
        for (uint32_t i = 0; i < 6; i++) {
            hd_string pid = hd_trace_string(trace, hd_trace_track_at(trace, i)->pid.text);
            assert_int_equal(pid.size, strlen(wanted[i]));
            assert_memory_equal(pid.data, wanted[i], pid.size);
        }
        hd_trace_free(trace);
    }
}

/* ---- strings and threads ---- */

static void test_builder__strings_may_hold_nul_and_be_empty(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    uint32_t a = hd_builder_intern(builder, "a\0b", 3), b = hd_builder_intern(builder, "a\0c", 3);
    uint32_t c = hd_builder_intern(builder, "a", 1), empty = hd_builder_intern(builder, "", 0);
    assert_true(a != b && a != c && b != c && empty != HD_STRING_NONE);
    assert_int_equal(hd_builder_intern(builder, "a\0b", 3), a);
    assert_int_equal(hd_builder_intern(builder, NULL, 0), empty);
    hd_trace *trace = finish(builder, batch_new(builder));
    assert_memory_equal(hd_trace_string(trace, b).data, "a\0c", 3);
    assert_int_equal(hd_trace_find_string(trace, "a\0b", 3), a);
    assert_int_equal(hd_trace_find_string(trace, "a\0", 2), HD_NONE);
    assert_int_equal(hd_trace_string(trace, 1u << 30).size, 0);
    hd_trace_free(trace);
}

enum { THREADS = 4, STRINGS = 100000 };

typedef struct job {
    hd_builder *builder;
    hd_chunk *chunk;
    unsigned number;
    uint32_t *ids;
    hd_status status;
} job;

static void *work(void *argument)
{
    job *self = argument;
    hd_batch *batch;
    self->status = hd_batch_new(&batch, self->builder, NULL);
    for (uint32_t i = 0; i < STRINGS && self->status == HD_OK; i++) {
        uint32_t n = (i * 7919u + self->number * 25000u) % STRINGS; /* every thread in another order */
        char text[32];
        int size = snprintf(text, sizeof text, "string %u", n);
        self->ids[n] = hd_builder_intern(self->builder, text, (size_t)size);
        hd_arg_key key = {.key = hd_builder_intern_text(self->builder, "key"), .type = (uint8_t)(n % 3 + HD_ARG_INT)};
        hd_row row = hd_row_of(HD_KIND_INSTANT, 'i');
        row.start_ns = (int64_t)self->number * STRINGS + i;
        row.name = self->ids[n];
        row.track = hd_builder_thread(self->builder, n % 10, n % 1000);
        row.shape = hd_builder_shape(self->builder, &key, 1, true);
        const int64_t value = n;
        self->status = hd_batch_add(batch, &row, &value, NULL);
    }
    if (self->status == HD_OK) self->status = hd_batch_take(&self->chunk, batch, NULL);
    hd_batch_free(batch);
    return NULL;
}

static void check_thread_rows(const hd_trace *trace, const job *jobs)
{
    for (uint64_t i = 0; i < (uint64_t)THREADS * STRINGS; i++) {
        hd_event e = event_at(trace, HD_KIND_INSTANT, i);
        uint32_t n = (uint32_t)((i % STRINGS * 7919u + i / STRINGS * 25000u) % STRINGS);
        assert_int_equal(e.start_ns, i);
        assert_int_equal(e.name, jobs[0].ids[n]);
        assert_int_equal(hd_column_at(&e.args->columns[0], e.args_row), n);
    }
}

static void test_builder__threads_intern_the_same_strings_tracks_and_shapes(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    job jobs[THREADS];
    pthread_t threads[THREADS];
    for (unsigned t = 0; t < THREADS; t++) {
        jobs[t] = (job){.builder = builder, .number = t, .ids = calloc(STRINGS, sizeof(uint32_t))};
        assert_non_null(jobs[t].ids);
        assert_int_equal(pthread_create(&threads[t], NULL, work, &jobs[t]), 0);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(jobs[t].status, HD_OK);
        assert_memory_equal(jobs[t].ids, jobs[0].ids, STRINGS * sizeof(uint32_t));
        assert_int_equal(hd_builder_append(builder, jobs[t].chunk, NULL), HD_OK);
    }
    hd_trace *trace;
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    assert_int_equal(hd_trace_track_count(trace), 1000 + 10);
    assert_int_equal(hd_trace_shape_count(trace), 2 + 3);
    check_thread_rows(trace, jobs);
    for (unsigned t = 0; t < THREADS; t++) free(jobs[t].ids);
    hd_trace_free(trace);
}

/* ---- ledger and patches ---- */

static void test_builder__ledger_rows_of_one_code_are_summed(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    hd_builder_ledger(builder, "a", "x", HD_LEDGER_NOTE, 1, HD_OFFSET_NONE);
    hd_builder_ledger(builder, "a", "x", HD_LEDGER_NOTE, 2, 50);
    hd_builder_ledger(builder, "b", "x", HD_LEDGER_LOSS, 4, 10);
    hd_builder_ledger(builder, "a", "x", HD_LEDGER_NOTE, 1, 20);
    hd_trace *trace = finish(builder, batch_new(builder));
    assert_int_equal(hd_trace_ledger_count(trace), 2);
    assert_int_equal(hd_trace_ledger_at(trace, 0)->count, 4);
    assert_int_equal(hd_trace_ledger_at(trace, 0)->first_offset, 20);
    assert_int_equal(hd_trace_ledger_at(trace, 1)->count, 4);
    hd_trace_free(trace);
}

static void test_builder__patches_are_in_order_and_holes_side_by_side_are_one(void **state)
{
    (void)state;
    hd_builder *builder = builder_new();
    uint32_t comma = hd_builder_intern_text(builder, ",");
    hd_builder_patch(builder, 10, 0, comma);
    hd_builder_patch(builder, 20, 2, HD_STRING_NONE);
    hd_builder_patch(builder, 22, 3, HD_STRING_NONE);
    hd_builder_patch(builder, 15, 1, HD_STRING_NONE); /* a comma that turned out to be too many */
    hd_builder_patch(builder, 25, 0, comma);
    hd_builder_patch(builder, 25, 4, comma);
    static const uint64_t expected[][2] = {{10, 0}, {15, 1}, {20, 5}, {25, 0}, {25, 4}};
    hd_trace *trace = finish(builder, batch_new(builder));
    assert_int_equal(hd_trace_patch_count(trace), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(hd_trace_patch_at(trace, i)->offset, expected[i][0]);
        assert_int_equal(hd_trace_patch_at(trace, i)->size, expected[i][1]);
    }
    hd_trace_free(trace);
}

/* ---- the first seconds ---- */

enum { HEAD_CHUNKS = 40, HEAD_ROWS = 100 };

/* Chunks of slices, in an order that is none of time; chunk i has [1000 i, 1000 i + 1000). */
static hd_builder *many_chunks(uint64_t most, char phase)
{
    hd_builder *builder = builder_new();
    hd_batch *batch = batch_new(builder);
    hd_chunk *chunk;
    uint32_t track = hd_builder_thread(builder, 1, 1);
    hd_builder_limit_events(builder, most);
    add(batch, HD_KIND_META, 'M', track, HD_NO_TIME);
    append(builder, batch);
    for (int64_t i = 0; i < HEAD_CHUNKS; i++) {
        int64_t at = i * 17 % HEAD_CHUNKS;
        for (int64_t row = 0; row < HEAD_ROWS; row++) add(batch, HD_KIND_SLICE, phase, track, 1000 * at + 10 * row);
        assert_int_equal(hd_batch_take(&chunk, batch, NULL), HD_OK);
        if (hd_builder_append(builder, chunk, NULL) == HD_OK) continue;
        hd_batch_free(batch);
        hd_builder_free(builder);
        return NULL;
    }
    hd_batch_free(batch);
    return builder;
}

static void test_builder__keeps_the_first_seconds_whatever_the_order(void **state)
{
    static const uint64_t limits[] = {1, 150, 1001, 2000, 3999, 4000, 4001, 5000};
    (void)state;
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        hd_trace *trace;
        int64_t until;
        hd_builder *builder = many_chunks(limits[k], 'X');
        if (limits[k] == 1) { /* no time is early enough */
            assert_null(builder);
            continue;
        }
        assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
        bool is_cut = hd_trace_head(&until, trace, limits[k], NULL) == HD_OK;
        assert_int_equal(is_cut, limits[k] <= HEAD_CHUNKS * HEAD_ROWS);
        uint64_t kept = hd_trace_row_count(trace, HD_KIND_SLICE), early = 0;
        assert_true(kept + 1 <= limits[k]);
        assert_int_equal(hd_trace_row_count(trace, HD_KIND_META), 1);
        assert_int_equal(hd_trace_event_count(trace), kept + 1);
        for (uint64_t row = 0; row < kept; row++) {
            hd_event e = event_at(trace, HD_KIND_SLICE, row);
            early += !is_cut || e.start_ns < until;
        }
        /* every event before it is there: 100 in each 1000 ns */
        assert_int_equal(early, is_cut ? (uint64_t)(until + 9) / 10 : HEAD_CHUNKS * HEAD_ROWS);
        hd_trace_free(trace);
    }
}

static void test_builder__begins_are_not_dropped_without_their_ends(void **state)
{
    (void)state;
    assert_null(many_chunks(1000, 'B'));
    hd_builder *builder = many_chunks(HEAD_CHUNKS * HEAD_ROWS + 1, 'B');
    assert_non_null(builder);
    hd_builder_free(builder);
}

static void test_builder__a_trace_that_was_read_whole_has_a_head_as_well(void **state)
{
    (void)state;
    hd_trace *trace;
    int64_t until = 0;
    hd_builder *builder = many_chunks(0, 'X'); /* no limit: as a store */
    assert_int_equal(hd_builder_finish(&trace, builder, NULL), HD_OK);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), HEAD_CHUNKS * HEAD_ROWS);
    assert_int_equal(hd_trace_head(&until, trace, HEAD_CHUNKS * HEAD_ROWS + 1, NULL), HD_END);
    assert_int_equal(hd_trace_head(&until, trace, 2000, NULL), HD_OK);
    assert_true(until > 9000 && until < 20000);
    assert_int_equal(hd_trace_head(&until, trace, 50, NULL), HD_ERR_LIMIT);
    hd_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder__columns_are_as_narrow_as_their_values_and_lose_nothing),
        cmocka_unit_test(test_builder__extreme_times_and_negative_ids_survive),
        cmocka_unit_test(test_builder__rows_beyond_a_block_go_on_in_the_next),
        cmocka_unit_test(test_builder__a_cleared_batch_starts_again),
        cmocka_unit_test(test_builder__an_empty_trace_is_a_trace),
        cmocka_unit_test(test_builder__shapes_end_at_their_limit),
#ifdef __GLIBC__
        cmocka_unit_test(test_builder__a_trace_of_one_event_takes_under_10_kib),
#endif
        cmocka_unit_test(test_builder__decimals_pack_without_loss),
        cmocka_unit_test(test_builder__ends_close_the_innermost_begin),
        cmocka_unit_test(test_builder__begins_and_ends_out_of_order_pair_by_time),
        cmocka_unit_test(test_builder__a_number_and_a_string_that_read_the_same_are_twins),
        cmocka_unit_test(test_builder__unused_tracks_leave_and_the_others_keep_their_events),
        cmocka_unit_test(test_builder__processes_are_in_the_order_of_their_threads),
        cmocka_unit_test(test_builder__strings_may_hold_nul_and_be_empty),
        cmocka_unit_test(test_builder__threads_intern_the_same_strings_tracks_and_shapes),
        cmocka_unit_test(test_builder__ledger_rows_of_one_code_are_summed),
        cmocka_unit_test(test_builder__patches_are_in_order_and_holes_side_by_side_are_one),
        cmocka_unit_test(test_builder__keeps_the_first_seconds_whatever_the_order),
        cmocka_unit_test(test_builder__begins_are_not_dropped_without_their_ends),
        cmocka_unit_test(test_builder__a_trace_that_was_read_whole_has_a_head_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
