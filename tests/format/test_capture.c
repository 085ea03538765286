/* test_capture.c - captures that are cut, damaged, hostile; what their ledger says
 *
 * The fixture is a capture made by hand, byte for byte as docs/formats/capture.md says, not by the writer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/capture_wire.h"
#include "base/checksum.h"
#include "dump.h"
#include "model/roles/trace_roles.h"
#include "read_text.h"

enum { CHUNKS = 7 };

typedef struct made {
    hd_bytes bytes;
    size_t chunks[CHUNKS + 1]; /* where they begin */
    size_t count;
} made;

static void put_header(made *m)
{
    hd_bytes *b = &m->bytes;
    hd_bytes_put(b, "\x89HDCAP\r\n", 8);
    hd_bytes_put_le(b, 1, 2);
    hd_bytes_put_le(b, 0, 2);
    hd_bytes_put_le(b, 4242, 4);
    hd_bytes_put_le(b, 0, 4);
    hd_bytes_put_le(b, 16384, 4);
    hd_bytes_put_le(b, 1000, 8);
    hd_bytes_put_le(b, 1700000000000000000, 8);
    hd_bytes_put_le(b, 0, 8);
    hd_bytes_put_le(b, 0, 8);
    hd_bytes_put_le(b, hd_checksum(b->data, 56), 8);
}

static void put_chunk(made *m, unsigned type, unsigned thread, const void *payload, size_t size)
{
    hd_bytes *b = &m->bytes;
    size_t start = b->size;
    m->chunks[m->count] = start;
    hd_bytes_put_le(b, 0xd7c50ee54b434448u, 8);
    hd_bytes_put_le(b, type, 2);
    hd_bytes_put_le(b, 0, 2);
    hd_bytes_put_le(b, size, 4);
    hd_bytes_put_le(b, thread, 4);
    hd_bytes_put_le(b, m->count++, 4);
    hd_bytes_put_le(b, hd_checksum(payload, size), 8);
    hd_bytes_put_le(b, hd_checksum(b->data + start, 32), 8);
    hd_bytes_put(b, payload, size);
    m->chunks[m->count] = b->size;
}

#define PUT_CHUNK(m, type, thread, text) put_chunk(m, type, thread, text, sizeof(text) - 1)

/* Two threads; thread 1 dropped 3 of the newest, thread 2 lost the events 2 and 3 to eviction. */
static made make(void)
{
    made m = {0};
    put_header(&m);
    PUT_CHUNK(&m, 1, 0, "\x03run\x08/bin/run\x04host\x01");
    PUT_CHUNK(&m, 2, 1, "\x0b\x04main");
    PUT_CHUNK(&m, 3, 0,
              "\x01\x02\x04step\x03"
              "cat");
    /* first 0, count 3, refused 3, evicted 0; slice at 2000 for 500, begin and end */
    PUT_CHUNK(&m, 4, 1,
              "\x00\x03\x03\x00\x0e"
              "\x01\xa0\x1f\x01\x02\xf4\x03"
              "\x32\x64"
              "\x33\x64");
    PUT_CHUNK(&m, 4, 2,
              "\x00\x02\x00\x00\x10"
              "\x24\xa0\x1f\x01"
              "\x34\x02");
    PUT_CHUNK(&m, 4, 2,
              "\x04\x01\x00\x02\x20"
              "\x25\xc8\x01\x01\x00\x00\x00\x00\x00\x00\xf8\x3f");
    PUT_CHUNK(&m, 5, 0, "\x06\x03\x02\x04\x00"); /* 4 of signal handlers */
    return m;
}

static hd_trace *read_made(const made *m, size_t size)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, (const char *)m->bytes.data, size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    return trace;
}

static uint64_t count_of(const hd_trace *trace, const char *code)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (strcmp(row->code, code) == 0) return row->count;
    }
    return 0;
}

static void test_capture__a_file_made_by_hand_is_read(void **state)
{
    made m = make();
    (void)state;
    hd_trace *trace = read_made(&m, m.bytes.size);
    hd_event e;
    assert_int_equal(hd_trace_event_count(trace), 6);
    hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_SLICE, 0), 0);
    assert_int_equal(e.start_ns, 2000);
    assert_int_equal(e.duration_ns, 500);
    hd_block_event(&e, hd_trace_block_at(trace, HD_KIND_SLICE, 0), 1);
    assert_int_equal(e.start_ns, 2050);
    assert_int_equal(e.duration_ns, 50);
    assert_memory_equal(hd_trace_string(trace, e.name).data, "step", 4);
    assert_memory_equal(hd_trace_string(trace, e.category).data, "cat", 3);
    assert_memory_equal(hd_trace_string(trace, hd_trace_track_at(trace, e.track)->name).data, "main", 4);
    assert_int_equal(count_of(trace, "capture.dropped-newest"), 3);
    assert_int_equal(count_of(trace, "capture.dropped-oldest"), 2);
    assert_int_equal(count_of(trace, "capture.dropped-nested"), 4);
    assert_int_equal(hd_trace_ledger_count(trace), 3);
    assert_int_equal(hd_trace_facts_of(trace)->base_ns, 1700000000000000000);
    static const char process[] = "{\"name\": \"run\", \"executable\": \"/bin/run\", \"host\": \"host\"}";
    hd_string text = hd_trace_metadata_find(trace, "process");
    assert_int_equal(text.size, sizeof process - 1);
    assert_memory_equal(text.data, process, text.size);
    assert_string_equal(hd_producer_of(trace), "Heddle");
    hd_trace_free(trace);
    hd_bytes_deinit(&m.bytes);
}

/* What Heddle adds to a trace of any other format is no sign of who wrote that. */
static void test_capture__no_fact_that_a_writer_adds_names_a_producer(void **state)
{
    (void)state;
    static const struct {
        const char *text, *producer;
    } traces[] = {
        {"{\"baseTimeNanoseconds\":5,\"distributedInfo\":{\"rank\":1},\"deviceProperties\":[{\"id\":0}],"
         "\"traceEvents\":[]}",
         NULL},
        {"{\"heddle.capture\":{},\"schemaVersion\":1,\"traceEvents\":[]}", "Heddle"},
        {"{\"schemaVersion\":1,\"traceEvents\":[]}", "PyTorch (Kineto)"},
        {"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"External id\":1}}]", "PyTorch (Kineto)"},
    };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        hd_trace *trace;
        assert_int_equal(read_text(&trace, traces[i].text, strlen(traces[i].text), NULL, 0, NULL), HD_OK);
        const char *producer = hd_producer_of(trace);
        if (!traces[i].producer)
            assert_null(producer);
        else
            assert_string_equal(producer, traces[i].producer);
        hd_trace_free(trace);
    }
}

/* A thread that there was no memory for has no chunk, and one of a full disk has no last one. */
static void test_capture__what_only_the_end_says_is_in_the_ledger(void **state)
{
    made m = {0};
    (void)state;
    put_header(&m);
    PUT_CHUNK(&m, 4, 1, "\x00\x01\x00\x00\x10\x24\xa0\x1f\x01"); /* an instant of the name 1 */
    PUT_CHUNK(&m, 5, 0, "\x01\x05\x06\x07\x08");
    hd_trace *trace = read_made(&m, m.bytes.size);
    assert_int_equal(hd_trace_event_count(trace), 1);
    assert_int_equal(count_of(trace, "capture.dropped-newest"), 5);
    assert_int_equal(count_of(trace, "capture.dropped-oldest"), 6);
    assert_int_equal(count_of(trace, "capture.dropped-nested"), 7);
    assert_int_equal(count_of(trace, "capture.events-missing"), 8);
    hd_trace_free(trace);
    hd_bytes_deinit(&m.bytes);
}

static void test_capture__a_cut_anywhere_leaves_the_whole_chunks(void **state)
{
    const uint64_t events[CHUNKS + 1] = {0, 0, 0, 0, 3, 5, 6, 6};
    made m = make();
    (void)state;
    for (size_t size = CAPTURE_HEADER_BYTES; size < m.bytes.size; size++) {
        size_t whole = 0;
        while (m.chunks[whole + 1] <= size) whole++;
        hd_trace *trace = read_made(&m, size);
        assert_int_equal(hd_trace_event_count(trace), events[whole]);
        assert_int_equal(count_of(trace, "capture.not-finished"), 1);
        assert_int_equal(count_of(trace, "capture.bytes-skipped"), size - m.chunks[whole]);
        assert_int_equal(count_of(trace, "capture.events-missing"), 0);
        hd_trace_free(trace);
    }
    for (size_t size = 8; size < CAPTURE_HEADER_BYTES; size++) {
        hd_trace *trace;
        assert_int_equal(read_text(&trace, (const char *)m.bytes.data, size, NULL, 0, NULL), HD_ERR_DAMAGED);
    }
    hd_bytes_deinit(&m.bytes);
}

static void test_capture__a_flipped_bit_costs_its_chunk_and_is_counted(void **state)
{
    /* What later numbers do not tell of, the totals at the end do. */
    made m = make();
    (void)state;
    for (size_t c = 0; c < CHUNKS; c++) {
        for (size_t at = m.chunks[c]; at < m.chunks[c + 1]; at++) {
            m.bytes.data[at] ^= 0x10;
            hd_trace *trace = read_made(&m, m.bytes.size);
            assert_int_equal(hd_trace_event_count(trace), c == 3 ? 3 : c == 4 ? 4 : c == 5 ? 5 : 6);
            assert_int_equal(count_of(trace, "capture.bytes-skipped"), m.chunks[c + 1] - m.chunks[c]);
            assert_int_equal(count_of(trace, "capture.events-missing"), c == 3 ? 3 : c == 4 ? 2 : c == 5 ? 1 : 0);
            assert_int_equal(count_of(trace, "capture.dropped-newest"), 3);
            assert_int_equal(count_of(trace, "capture.not-finished"), c == 6);
            assert_int_equal(count_of(trace, "capture.names-lost"), c == 2 ? 9 : 0);
            hd_trace_free(trace);
            m.bytes.data[at] ^= 0x10;
        }
    }
    hd_bytes_deinit(&m.bytes);
}

static void test_capture__strict_refuses_what_is_cut_and_what_was_dropped(void **state)
{
    static const hd_read_options strict = {.strict = true};
    made m = make();
    hd_trace *trace;
    (void)state;
    hd_error err = {0};
    assert_int_equal(read_text(&trace, (const char *)m.bytes.data, m.bytes.size, &strict, 0, &err), HD_ERR_DAMAGED);
    assert_non_null(strstr(err.message, "capture.dropped-"));
    assert_int_equal(read_text(&trace, (const char *)m.bytes.data, m.bytes.size - 1, &strict, 0, NULL), HD_ERR_DAMAGED);
    hd_bytes_deinit(&m.bytes);
}

static void test_capture__sums_that_are_right_over_nonsense_lose_the_chunk(void **state)
{
    (void)state;
    made m = {0};
    put_header(&m);
    PUT_CHUNK(&m, 4, 1, "\x00\xff\xff\xff\xff\x0f\x00\x00\x10");         /* more events than bytes */
    PUT_CHUNK(&m, 4, 1, "\x00\x02\x00\x00\x10\x04\x02\x00\x00\x0f\x00"); /* an unknown kind behind an instant */
    PUT_CHUNK(&m, 3, 0,
              "\xff\xff\xff\xff\x0f\x01\x01"
              "a"); /* a name beyond what there may be */
    PUT_CHUNK(&m, 2, 1,
              "\x0b\x7f"
              "ab");                         /* a text beyond its chunk */
    PUT_CHUNK(&m, 4, 0, "\x00\x00\x00\x00"); /* of no thread */
    PUT_CHUNK(&m, 77, 1, "what");
    hd_trace *trace = read_made(&m, m.bytes.size);
    assert_int_equal(hd_trace_event_count(trace), 1);
    assert_int_equal(count_of(trace, "capture.chunk-damaged"), 5);
    assert_int_equal(count_of(trace, "capture.chunk-unknown"), 1);
    assert_int_equal(count_of(trace, "capture.events-missing"), 1);
    hd_trace_free(trace);
    m.bytes.data[8] = 2; /* another major version */
    uint64_t sum = hd_checksum(m.bytes.data, 56);
    for (int i = 0; i < 8; i++) m.bytes.data[56 + i] = (uint8_t)(sum >> 8 * i);
    assert_int_equal(read_text(&trace, (const char *)m.bytes.data, m.bytes.size, NULL, 0, NULL), HD_ERR_UNSUPPORTED);
    hd_bytes_deinit(&m.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture__a_file_made_by_hand_is_read),
        cmocka_unit_test(test_capture__no_fact_that_a_writer_adds_names_a_producer),
        cmocka_unit_test(test_capture__what_only_the_end_says_is_in_the_ledger),
        cmocka_unit_test(test_capture__a_cut_anywhere_leaves_the_whole_chunks),
        cmocka_unit_test(test_capture__a_flipped_bit_costs_its_chunk_and_is_counted),
        cmocka_unit_test(test_capture__strict_refuses_what_is_cut_and_what_was_dropped),
        cmocka_unit_test(test_capture__sums_that_are_right_over_nonsense_lose_the_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
