/* test_sbt.c - SBT: the reference file, pairs, recovery, hostile files, what other formats' traces lose */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "dump.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

/* The reference file of the format's description, byte for byte: by its own offsets it has 186 bytes. */
static const uint8_t reference[] = {
    0x53, 0x42, 0x54, 0x00, 0x00, 0x00, 0x01, 0x00, 0x03, 0x00, 0x00, 0x00, 0x48, 0x00, 0x00, 0x00, 0x48, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0xaa, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x5a, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x6d, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 'a',  'p',
    'p',  0x06, 'a',  'p',  'p',  ' ',  '-',  'x',  0x05, 0x06, 0x01, 'h',  0xac, 0x02, 0x03, 0x01, 0x00, 0x03, 'G',
    'P',  'U',  0x02, 'N',  'V',  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x04, 0xe8, 0x07, 0x01, 0x02,
    0x00, 0x00, 0x07, 0xac, 0x02, 0x00, 0x02, 0x01, 0x01, 0x80, 0x02, 0x01, 0x01, 0x00, 0x00, 0x03, 0x0d, 0xc8, 0x01,
    0x32, 0x00, 0x00, 0x00, 0x01, 0x80, 0x20, 0x80, 0x40, 0x80, 0x80, 0x04, 0x09, 0x01, 0x80, 0x80, 0x80, 0x02, 0x02,
    0x03, 0x0c, 0x11, 0x00, 0x9c, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00, 0x00, 0x00, 0x00, 0x02,
    0x04, 0x01, 'k',  0x01, 'c',  0x04, 'm',  'a',  'i',  'n',  0x03, 'a',  '.',  'c',  0xff,
};
enum { EVENTS_AT = 0x6d, STRINGS_AT = 0xaa };

static hd_trace *read_fine(const void *data, size_t size)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, data, size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

static void assert_written(const hd_trace *trace, const void *data, size_t size)
{
    static const hd_write_options options = {.format = "sbt"};
    size_t written_size;
    char *written = write_text(trace, &options, &written_size);
    assert_int_equal(written_size, size);
    assert_memory_equal(written, data, size);
    free(written);
}

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&event, block, at);
    return event;
}

static void assert_name(const hd_trace *trace, const hd_event *event, const char *name)
{
    hd_string s = hd_trace_string(trace, event->name);
    assert_int_equal(s.size, strlen(name));
    assert_memory_equal(s.data, name, s.size);
}

static hd_string text_arg(const hd_trace *trace, const hd_event *event, const char *key)
{
    hd_value value = {0};
    assert_true(hd_event_arg(&value, trace, event, hd_trace_find_string(trace, key, strlen(key))));
    return hd_trace_string(trace, (uint32_t)value.bits);
}

static int64_t int_arg(const hd_trace *trace, const hd_event *event, const char *key)
{
    int64_t value = 0;
    assert_true(hd_event_arg_int(&value, trace, event, hd_trace_find_string(trace, key, strlen(key))));
    return value;
}

static uint64_t ledger_count(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        if (strcmp(hd_trace_ledger_at(trace, i)->code, code) == 0) return hd_trace_ledger_at(trace, i)->count;
    }
    return 0;
}

static void test_sbt__the_reference_file_has_its_three_events(void **state)
{
    (void)state;
    hd_trace *trace = read_fine(reference, sizeof reference);
    assert_int_equal(hd_trace_event_count(trace), 3);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    hd_event launch = event_at(trace, HD_KIND_INSTANT, 0), marker = event_at(trace, HD_KIND_INSTANT, 1);
    hd_event copy = event_at(trace, HD_KIND_SLICE, 0);
    assert_int_equal(launch.start_ns, 1000);
    assert_name(trace, &launch, "k");
    assert_int_equal(int_arg(trace, &launch, "correlation"), 300);
    assert_memory_equal(text_arg(trace, &launch, "grid").data, "[2, 1, 1]", 9);
    assert_memory_equal(text_arg(trace, &launch, "block").data, "[256, 1, 1]", 11);
    const hd_track *track = hd_trace_track_at(trace, launch.track);
    assert_int_equal(track->kind, HD_TRACK_STREAM);
    assert_int_equal(track->device, 0);
    assert_int_equal(track->stream, 7);
    assert_int_equal(copy.start_ns, 1200);
    assert_int_equal(copy.duration_ns, 50);
    assert_name(trace, &copy, "c");
    assert_int_equal(int_arg(trace, &copy, "bytes"), 65536);
    assert_int_equal(int_arg(trace, &copy, "destination address"), 0x2000);
    assert_int_equal(int_arg(trace, &copy, "thread"), 9);
    hd_string stack = text_arg(trace, &copy, "stack");
    assert_int_equal(stack.size, strlen("[[4194304, \"main\", \"a.c\", 12]]"));
    assert_memory_equal(stack.data, "[[4194304, \"main\", \"a.c\", 12]]", stack.size);
    assert_int_equal(marker.start_ns, 1100);
    assert_name(trace, &marker, "k");
    hd_string devices = hd_trace_metadata_find(trace, "deviceProperties");
    assert_non_null(memmem(devices.data, devices.size, "\"name\": \"GPU\"", 13));
    hd_trace_free(trace);
}

static void test_sbt__the_reference_file_is_written_back_identical(void **state)
{
    (void)state;
    hd_trace *trace = read_fine(reference, sizeof reference);
    assert_written(trace, reference, sizeof reference);
    hd_trace_free(trace);
}

static void test_sbt__a_way_over_json_keeps_the_reference_file(void **state)
{
    (void)state;
    size_t size;
    hd_trace *trace = read_fine(reference, sizeof reference);
    char *json = write_text(trace, NULL, &size);
    hd_trace *again = read_fine(json, size);
    assert_written(again, reference, sizeof reference);
    free(json);
    hd_trace_free(again);
    hd_trace_free(trace);
}

/* ---- files made here ---- */

typedef struct made {
    hd_bytes bytes;
    uint64_t time, count;
} made;

static made begin(uint64_t base)
{
    made m = {.time = base};
    hd_bytes_put(&m.bytes, reference, 72);
    for (int i = 16; i < 72; i++) m.bytes.data[i] = 0;
    hd_bytes_put_u8(&m.bytes, 4);
    hd_bytes_put_varint(&m.bytes, base);
    return m;
}

static void record(made *m, uint8_t type, uint64_t time, uint64_t duration, uint64_t correlation, uint64_t name)
{
    hd_bytes_put_u8(&m->bytes, type);
    hd_bytes_put_u8(&m->bytes, duration ? 1 : 0);
    hd_bytes_put_varint(&m->bytes, time - m->time);
    if (duration) hd_bytes_put_varint(&m->bytes, duration);
    hd_bytes_put_varint(&m->bytes, 0);
    hd_bytes_put_varint(&m->bytes, 3);
    hd_bytes_put_varint(&m->bytes, correlation);
    hd_bytes_put_varint(&m->bytes, name);
    m->time = time;
    m->count++;
}

static void put_le(made *m, size_t at, uint64_t value)
{
    for (int i = 0; i < 8; i++) m->bytes.data[at + (size_t)i] = (uint8_t)(value >> 8 * i);
}

static void finish(made *m, const char *const *names, size_t count)
{
    put_le(m, 24, m->bytes.size);
    put_le(m, 40, 72);
    put_le(m, 56, m->count);
    hd_bytes_put_u8(&m->bytes, 2);
    hd_bytes_put_varint(&m->bytes, count);
    for (size_t i = 0; i < count; i++) {
        hd_bytes_put_varint(&m->bytes, strlen(names[i]));
        hd_bytes_put(&m->bytes, names[i], strlen(names[i]));
    }
    hd_bytes_put_u8(&m->bytes, 0xff);
}

static const char *const two_names[] = {"gemm", "relu"};

static made overlapping_kernels(void)
{
    made m = begin(1000);
    record(&m, 1, 1000, 0, 5, 0);
    record(&m, 1, 1010, 0, 6, 1);
    record(&m, 2, 1100, 0, 5, 0);
    record(&m, 17, 1150, 0, 0, 0);
    record(&m, 2, 1200, 0, 6, 1);
    return m;
}

static void test_sbt__launch_and_complete_of_one_correlation_are_one_slice(void **state)
{
    (void)state;
    made m = overlapping_kernels();
    finish(&m, two_names, 2);
    hd_trace *trace = read_fine(m.bytes.data, m.bytes.size);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 2);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), 1);
    hd_event gemm = event_at(trace, HD_KIND_SLICE, 0), relu = event_at(trace, HD_KIND_SLICE, 1);
    assert_int_equal(gemm.start_ns, 1000);
    assert_int_equal(gemm.duration_ns, 100);
    assert_name(trace, &gemm, "gemm");
    assert_int_equal(relu.duration_ns, 190);
    assert_written(trace, m.bytes.data, m.bytes.size); /* each complete at its own place again */
    hd_trace_free(trace);
    hd_bytes_deinit(&m.bytes);
}

static void test_sbt__what_cannot_be_a_pair_stays_apart(void **state)
{
    (void)state;
    made m = begin(1000);
    record(&m, 1, 1000, 0, 0, 0); /* correlation 0 is none */
    record(&m, 2, 1100, 0, 0, 0);
    record(&m, 2, 1200, 0, 7, 0); /* complete before its launch */
    record(&m, 1, 1300, 0, 7, 0);
    record(&m, 1, 1400, 50, 8, 0); /* has a duration of its own */
    record(&m, 2, 1450, 0, 8, 0);
    record(&m, 1, 1500, 0, 9, 0); /* launched twice: the later one completes */
    record(&m, 1, 1600, 0, 9, 1);
    record(&m, 2, 1700, 0, 9, 1);
    finish(&m, two_names, 2);
    hd_trace *trace = read_fine(m.bytes.data, m.bytes.size);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 2);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), 6);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 1).start_ns, 1600);
    assert_written(trace, m.bytes.data, m.bytes.size);
    hd_trace_free(trace);
    hd_bytes_deinit(&m.bytes);
}

static void test_sbt__ranges_are_begin_and_end(void **state)
{
    (void)state;
    made m = begin(5);
    record(&m, 18, 5, 0, 0, 0);
    record(&m, 18, 10, 0, 0, 1);
    record(&m, 19, 20, 0, 0, 1);
    record(&m, 19, 30, 0, 0, 0);
    record(&m, 255, 31, 4, 0, 0);
    record(&m, 77, 32, 0, 0, 0); /* a type of a later version */
    finish(&m, two_names, 2);
    hd_trace *trace = read_fine(m.bytes.data, m.bytes.size);
    hd_event outer = event_at(trace, HD_KIND_SLICE, 0), inner = event_at(trace, HD_KIND_SLICE, 1);
    assert_int_equal(outer.duration_ns, 25);
    assert_int_equal(inner.duration_ns, 10);
    assert_written(trace, m.bytes.data, m.bytes.size);
    hd_trace_free(trace);
    hd_bytes_deinit(&m.bytes);
}

/* ---- damage ---- */

static void test_sbt__a_header_that_was_not_finished_is_recovered(void **state)
{
    (void)state;
    uint8_t data[sizeof reference];
    memcpy(data, reference, sizeof data);
    memset(data + 8, 0, 64);
    hd_trace *trace = read_fine(data, sizeof data); /* killed before the header was written anew */
    assert_int_equal(hd_trace_event_count(trace), 3);
    assert_int_equal(ledger_count(trace, "sbt.header-unfinished"), 1);
    hd_event copy = event_at(trace, HD_KIND_SLICE, 0);
    assert_name(trace, &copy, "c");
    assert_written(trace, reference, sizeof reference);
    hd_trace_free(trace);
    trace = read_fine(data, STRINGS_AT); /* killed before the names */
    assert_int_equal(hd_trace_event_count(trace), 3);
    assert_int_equal(ledger_count(trace, "sbt.names-missing"), 1);
    hd_trace_free(trace);
    trace = read_fine(data, 0x9e); /* killed within the third record */
    assert_int_equal(hd_trace_event_count(trace), 2);
    assert_int_equal(ledger_count(trace, "sbt.cut-off"), 1);
    hd_trace_free(trace);
}

static void assert_refused(const uint8_t *data, size_t size, hd_status status, uint64_t offset)
{
    hd_trace *trace;
    hd_error err = {0};
    static const hd_read_options strict = {.strict = true};
    assert_int_equal(read_text(&trace, (const char *)data, size, &strict, 0, &err), status);
    assert_int_equal(err.offset, offset);
    assert_true(err.message[0]);
}

/* Strict refuses it at `offset`; else all three events of the reference are there, and `code` says what was wrong. */
static void assert_told(const uint8_t *data, uint64_t offset, const char *code)
{
    assert_refused(data, sizeof reference, HD_ERR_DAMAGED, offset);
    hd_trace *trace = read_fine(data, sizeof reference);
    assert_int_equal(hd_trace_event_count(trace), 3);
    assert_int_equal(ledger_count(trace, code) > 0, 1);
    hd_trace_free(trace);
}

static void test_sbt__counts_and_offsets_that_lie_cost_no_events(void **state)
{
    (void)state;
    uint8_t data[sizeof reference];
    static const size_t offsets[] = {16, 24, 32, 40};
    for (int i = 0; i < 4; i++) {
        for (int bit = 0; bit < 64; bit++) {
            memcpy(data, reference, sizeof data);
            data[offsets[i] + (size_t)bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_told(data, offsets[i], "sbt.offset-wrong");
        }
    }
    for (int count = 0; count < 256; count++) {
        memcpy(data, reference, sizeof data);
        if (count == data[56]) continue;
        data[56] = (uint8_t)count;
        hd_trace *trace = read_fine(data, sizeof data);
        assert_int_equal(hd_trace_event_count(trace), 3);
        assert_int_equal(ledger_count(trace, count < 3 ? "sbt.count-wrong" : "sbt.event-lost"),
                         count < 3 ? 1 : count - 3);
        hd_trace_free(trace);
    }
    memcpy(data, reference, sizeof data);
    data[STRINGS_AT + 1] = 0x7f;
    assert_told(data, STRINGS_AT + 2, "sbt.section-damaged");
    memcpy(data, reference, sizeof data);
    data[64] = 2;
    assert_refused(data, sizeof data, HD_ERR_UNSUPPORTED, 64);
}

enum { RECORDS = 30 };

/* Records of correlation ids 1, 2 ...; where they begin. */
static made many_records(size_t *at, bool finished)
{
    made m = begin(1000);
    for (uint64_t i = 0; i < RECORDS; i++) {
        at[i] = m.bytes.size;
        record(&m, (uint8_t)(3 + i % 4), 1000 + 300 * i, i % 3 ? 40 : 0, i + 1, i % 2);
    }
    at[RECORDS] = m.bytes.size;
    if (finished) finish(&m, two_names, 2);
    return m;
}

static bool has_correlation(const hd_trace *trace, int64_t wanted)
{
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (uint64_t i = 0; i < hd_trace_row_count(trace, (hd_kind)kind); i++) {
            hd_event event = event_at(trace, (hd_kind)kind, i);
            if (int_arg(trace, &event, "correlation") == wanted) return true;
        }
    }
    return false;
}

/* Record `bad` is damaged, in one way of several: the others are there, but for one that a number runs into. */
static void test_sbt__a_bad_record_costs_itself(void **state)
{
    (void)state;
    size_t at[RECORDS + 1];
    static const uint8_t fills[] = {0x80, 0xc1, 0xfe};
    for (int bad = 0; bad < RECORDS; bad++) {
        for (int way = 0; way < 5; way++) {
            made m = many_records(at, true);
            uint8_t *p = m.bytes.data + at[bad];
            size_t size = at[bad + 1] - at[bad];
            if (way < 3) memset(p, fills[way], size);
            if (way == 3) p[size - 1] |= 0x80; /* a number that goes on in the next record */
            if (way == 4) p[0] = 0x60;         /* a type of no version */
            hd_trace *trace = read_fine(m.bytes.data, m.bytes.size);
            for (int i = 0; i < RECORDS; i++) {
                bool runs_on = way == 3 && i == bad + 1; /* the number took a byte of it */
                if (i != bad && !runs_on && !has_correlation(trace, i + 1))
                    fail_msg("way %d at %d costs %d", way, bad, i);
            }
            if (way < 4 && !ledger_count(trace, "sbt.record-damaged") && !ledger_count(trace, "sbt.event-lost"))
                fail_msg("way %d at %d: not a word", way, bad);
            hd_trace_free(trace);
            hd_bytes_deinit(&m.bytes);
        }
    }
}

static void test_sbt__a_count_beyond_the_records_is_a_loss_with_its_number(void **state)
{
    (void)state;
    uint8_t data[sizeof reference];
    memcpy(data, reference, sizeof data);
    data[56] = 9;
    hd_trace *trace = read_fine(data, sizeof data);
    assert_true(hd_trace_event_count(trace) + ledger_count(trace, "sbt.event-lost") == 9);
    hd_trace_free(trace);
    hd_read_options strict = {.strict = true};
    hd_error err = {0};
    assert_int_equal(read_text(&trace, (const char *)data, sizeof data, &strict, 0, &err), HD_ERR_DAMAGED);
}

static void read_anyhow(const uint8_t *data, size_t size)
{
    hd_trace *trace;
    static const hd_write_options options = {.format = "sbt"};
    if (read_text(&trace, (const char *)data, size, NULL, 0, NULL) != HD_OK) return;
    size_t written_size;
    free(write_text(trace, &options, &written_size));
    free(dump_trace(trace, DUMP_ALL));
    hd_trace_free(trace);
}

static void test_sbt__truncated_and_flipped_files_are_read_or_refused(void **state)
{
    (void)state;
    uint8_t data[sizeof reference];
    for (int killed = 0; killed < 2; killed++) {
        memcpy(data, reference, sizeof data);
        if (killed) memset(data + 8, 0, 64);
        for (size_t size = 1; size < sizeof data; size++) read_anyhow(data, size);
        for (size_t bit = 32; bit < 8 * sizeof data; bit++) {
            data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            read_anyhow(data, sizeof data);
            data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

/* ---- traces of other formats ---- */

static uint64_t losses[2];

static void collect(void *user, const hd_ledger_row *row)
{
    (void)user;
    if (strcmp(row->code, "sbt.flow-dropped") == 0) losses[0] += row->count;
    if (strcmp(row->code, "sbt.argument-dropped") == 0) losses[1] += row->count;
}

static void test_sbt__a_kineto_trace_keeps_its_gpu_work_and_names_its_losses(void **state)
{
    (void)state;
    static const char json[] =
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1.5,\"dur\":2,\"args\":"
        "{\"device\":0,\"stream\":7,\"correlation\":9,\"grid\":[1,2,3],\"block\":[4,5,6],\"queued\":3}},"
        "{\"ph\":\"f\",\"id\":1,\"pid\":0,\"tid\":7,\"ts\":1.5,\"cat\":\"ac2g\",\"name\":\"ac2g\"},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaStreamSynchronize\",\"pid\":100,\"tid\":42,\"ts\":1,"
        "\"dur\":4}]";
    const hd_write_options options = {.format = "sbt", .ledger = collect};
    hd_trace *trace = read_fine(json, sizeof json - 1);
    size_t size;
    memset(losses, 0, sizeof losses);
    char *sbt = write_text(trace, &options, &size);
    assert_int_equal(losses[0], 1);
    assert_int_equal(losses[1], 1); /* queued */
    hd_trace *again = read_fine(sbt, size);
    assert_int_equal(hd_trace_row_count(again, HD_KIND_SLICE), 2);
    hd_event kernel = event_at(again, HD_KIND_SLICE, 0), sync = event_at(again, HD_KIND_SLICE, 1);
    assert_int_equal(kernel.start_ns, 1500);
    assert_int_equal(kernel.duration_ns, 2000);
    assert_memory_equal(text_arg(again, &kernel, "block").data, "[4, 5, 6]", 9);
    assert_memory_equal(text_arg(again, &sync, "type").data, "StreamSync", 10);
    assert_int_equal(int_arg(again, &sync, "thread"), 42);
    free(sbt);
    hd_trace_free(again);
    hd_trace_free(trace);
}

/* What SBT keeps of a trace it keeps for good: a second way through it changes nothing. */
static void test_sbt__writing_what_was_read_gives_the_same_bytes(void **state)
{
    (void)state;
    static const hd_write_options options = {.format = "sbt"};
    for (uint64_t from = hd_test_seed(1), seed = from; seed < from + 40; seed++) {
        hd_json_out text = {0};
        uint64_t state_of = seed;
        size_t size;
        random_document(&text, &state_of, 80);
        hd_trace *trace = read_fine(text.data, text.size);
        char *first = write_text(trace, &options, &size);
        hd_trace *again = read_fine(first, size);
        assert_written(again, first, size);
        free(first);
        free(text.data);
        hd_trace_free(again);
        hd_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sbt__the_reference_file_has_its_three_events),
        cmocka_unit_test(test_sbt__the_reference_file_is_written_back_identical),
        cmocka_unit_test(test_sbt__a_way_over_json_keeps_the_reference_file),
        cmocka_unit_test(test_sbt__launch_and_complete_of_one_correlation_are_one_slice),
        cmocka_unit_test(test_sbt__what_cannot_be_a_pair_stays_apart),
        cmocka_unit_test(test_sbt__ranges_are_begin_and_end),
        cmocka_unit_test(test_sbt__a_header_that_was_not_finished_is_recovered),
        cmocka_unit_test(test_sbt__counts_and_offsets_that_lie_cost_no_events),
        cmocka_unit_test(test_sbt__a_bad_record_costs_itself),
        cmocka_unit_test(test_sbt__a_count_beyond_the_records_is_a_loss_with_its_number),
        cmocka_unit_test(test_sbt__truncated_and_flipped_files_are_read_or_refused),
        cmocka_unit_test(test_sbt__a_kineto_trace_keeps_its_gpu_work_and_names_its_losses),
        cmocka_unit_test(test_sbt__writing_what_was_read_gives_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
