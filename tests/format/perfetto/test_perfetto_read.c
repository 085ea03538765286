/* test_perfetto_read.c - the Perfetto reader over packets made here */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io/compress.h"
#include "base/protobuf/read.h"
#include "base/protobuf/write.h"
#include "dump.h"
#include "fixtures.h"
#include "format/perfetto/fields.h"
#include "format/perfetto/perfetto.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

/* A packet of sequence 1, with what `flags` says. */
static size_t begin_packet(hd_bytes *out, uint64_t time, uint64_t flags)
{
    size_t mark = hd_pb_begin(out, PF_TRACE_PACKET);
    hd_pb_put_uint(out, PF_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 1);
    if (time) hd_pb_put_uint(out, PF_PACKET_TIMESTAMP, time);
    if (flags) hd_pb_put_uint(out, PF_PACKET_SEQUENCE_FLAGS, flags);
    return mark;
}

static void put_entry(hd_bytes *out, uint32_t kind, uint64_t iid, const char *text)
{
    size_t mark = hd_pb_begin(out, kind);
    hd_pb_put_uint(out, PF_ENTRY_IID, iid);
    hd_pb_put_text(out, PF_ENTRY_TEXT, text);
    hd_pb_end(out, mark);
}

static void put_event(hd_bytes *out, uint64_t time, uint64_t type, uint64_t track, uint64_t name_iid, uint64_t flow)
{
    size_t packet = begin_packet(out, time, PF_SEQ_NEEDS_INCREMENTAL_STATE);
    size_t event = hd_pb_begin(out, PF_PACKET_TRACK_EVENT);
    hd_pb_put_uint(out, PF_EVENT_TYPE, type);
    hd_pb_put_uint(out, PF_EVENT_TRACK_UUID, track);
    if (name_iid) hd_pb_put_uint(out, PF_EVENT_NAME_IID, name_iid);
    if (flow) hd_pb_put_uint(out, PF_EVENT_FLOW_IDS_OLD, flow);
    if (type == PF_TYPE_COUNTER) hd_pb_put_int(out, PF_EVENT_COUNTER_VALUE, -5);
    hd_pb_end(out, event);
    hd_pb_end(out, packet);
}

static void put_thread(hd_bytes *out, uint64_t uuid, int64_t pid, int64_t tid, const char *name)
{
    size_t packet = begin_packet(out, 0, 0), track = hd_pb_begin(out, PF_PACKET_TRACK_DESCRIPTOR);
    hd_pb_put_uint(out, PF_TRACK_UUID, uuid);
    size_t thread = hd_pb_begin(out, PF_TRACK_THREAD);
    hd_pb_put_int(out, PF_THREAD_PID, pid);
    hd_pb_put_int(out, PF_THREAD_TID, tid);
    hd_pb_put_text(out, PF_THREAD_THREAD_NAME, name);
    hd_pb_end(out, thread);
    hd_pb_end(out, track);
    hd_pb_end(out, packet);
}

static void put_counter(hd_bytes *out, uint64_t uuid, uint64_t parent)
{
    size_t packet = begin_packet(out, 0, 0), track = hd_pb_begin(out, PF_PACKET_TRACK_DESCRIPTOR);
    hd_pb_put_uint(out, PF_TRACK_UUID, uuid);
    hd_pb_put_uint(out, PF_TRACK_PARENT_UUID, parent);
    hd_pb_put_text(out, PF_TRACK_NAME, "memory");
    size_t counter = hd_pb_begin(out, PF_TRACK_COUNTER);
    hd_pb_put_uint(out, PF_COUNTER_UNIT, PF_UNIT_SIZE_BYTES);
    hd_pb_put_int(out, PF_COUNTER_UNIT_MULTIPLIER, 1024);
    hd_pb_end(out, counter);
    hd_pb_end(out, track);
    hd_pb_end(out, packet);
}

/* The state is cleared, and names 1 and 2 interned. */
static void put_state(hd_bytes *out)
{
    size_t packet = begin_packet(out, 0, PF_SEQ_INCREMENTAL_STATE_CLEARED);
    size_t interned = hd_pb_begin(out, PF_PACKET_INTERNED_DATA);
    put_entry(out, PF_INTERNED_EVENT_NAMES, 1, "outer");
    put_entry(out, PF_INTERNED_EVENT_NAMES, 2, "inner");
    hd_pb_end(out, interned);
    hd_pb_end(out, packet);
}

/* An event before any state, events before their descriptors, a flow, a counter, a packet of no home. */
static hd_bytes sample(void)
{
    hd_bytes out = {0};
    put_event(&out, 50, PF_TYPE_INSTANT, 7, 1, 0);
    put_state(&out);
    put_event(&out, 100, PF_TYPE_SLICE_BEGIN, 7, 1, 0);
    put_event(&out, 110, PF_TYPE_SLICE_BEGIN, 7, 2, 900);
    put_event(&out, 120, PF_TYPE_SLICE_END, 7, 0, 0);
    put_event(&out, 125, PF_TYPE_COUNTER, 8, 0, 0);
    put_event(&out, 130, PF_TYPE_SLICE_END, 7, 0, 900);
    put_thread(&out, 7, 10, 11, "worker");
    put_counter(&out, 8, 7);
    size_t packet = begin_packet(&out, 0, 0);
    hd_pb_put_text(&out, PF_PACKET_SYS_STATS, "");
    hd_pb_end(&out, packet);
    assert_false(out.failed);
    return out;
}

static void expect_text(const char *dump, const char *text)
{
    assert_non_null(dump);
    if (!strstr(dump, text)) fail_msg("expected %s in:\n%s", text, dump);
}

static void test_perfetto_read__events_get_the_names_and_tracks_that_come_behind_them(void **state)
{
    (void)state;
    hd_bytes in = sample();
    char *dump = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_ALL);
    expect_text(dump, "format perfetto");
    expect_text(dump, "thread pid=10 tid=11 name=\"worker\"");
    expect_text(dump, "slice X pid=10 tid=11 start=100 dur=30 name=\"outer\"");
    expect_text(dump, "slice X pid=10 tid=11 start=110 dur=10 name=\"inner\"");
    expect_text(dump, "counter C pid=10 tid=11 start=125 name=\"memory\"");
    expect_text(dump, "\"value\" (int) -5120");
    expect_text(dump, "event.\"unit\" (string) \"bytes\"");
    expect_text(dump, "flow t pid=10 tid=11 start=110");
    expect_text(dump, "flow s pid=10 tid=11 start=100");
    expect_text(dump, "loss perfetto perfetto.packet-before-state 1 at 0");
    free(dump);
    hd_bytes_deinit(&in);
}

static void test_perfetto_read__compressed_packets_give_the_same(void **state)
{
    (void)state;
    hd_bytes in = sample(), inner = {0}, out = {0};
    assert_int_equal(hd_zlib_compress(&inner, in.data, in.size, NULL), HD_OK);
    size_t packet = hd_pb_begin(&out, PF_TRACE_PACKET);
    hd_pb_put_bytes(&out, PF_PACKET_COMPRESSED_PACKETS, inner.data, inner.size);
    hd_pb_end(&out, packet);
    char *plain = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_CONTENT);
    char *packed = dump_text((const char *)out.data, out.size, NULL, 0, DUMP_CONTENT);
    assert_string_equal(plain, packed);
    free(plain);
    free(packed);
    hd_bytes_deinit(&in);
    hd_bytes_deinit(&inner);
    hd_bytes_deinit(&out);
}

enum { GROUP_EVENTS = 60 };

/* An event, a packet of compressed packets (events 100, 101 ... with noise between them), an event. */
static void put_broken_group(hd_bytes *out, uint32_t field, const uint8_t *data, size_t size)
{
    out->size = 0;
    put_state(out);
    put_thread(out, 7, 1, 2, "t");
    put_event(out, 1, PF_TYPE_INSTANT, 7, 0, 0);
    size_t packet = hd_pb_begin(out, PF_TRACE_PACKET);
    hd_pb_put_bytes(out, field, data, size);
    hd_pb_end(out, packet);
    put_event(out, 100000, PF_TYPE_INSTANT, 7, 0, 0);
}

static int64_t instant_time(const hd_trace *trace, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, HD_KIND_INSTANT, row);
    hd_block_event(&event, block, at);
    return event.start_ns;
}

/* How many of the group's events are there; the one before it and the one behind must be. */
static uint64_t group_events(const hd_bytes *in, bool damaged, bool in_order)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, (const char *)in->data, in->size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    uint64_t count = hd_trace_row_count(trace, HD_KIND_INSTANT);
    assert_true(count >= 2);
    assert_int_equal(instant_time(trace, 0), 1);
    assert_int_equal(instant_time(trace, count - 1), 100000);
    for (uint64_t i = 1; i + 1 < count && in_order; i++) assert_int_equal(instant_time(trace, i), 99 + i);
    bool told = false;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++)
        told |= strcmp(hd_trace_ledger_at(trace, i)->code, "perfetto.packet-damaged") == 0;
    if (in_order) assert_int_equal(told, damaged);
    hd_trace_free(trace);
    return count - 2;
}

static void try_broken_group(uint32_t field, const hd_bytes *packed)
{
    hd_bytes in = {0};
    uint64_t kept = 0, most = 0, step = packed->size / 150;
    for (size_t size = 1; size < packed->size; size += step) {
        put_broken_group(&in, field, packed->data, size);
        uint64_t count = group_events(&in, true, true);
        assert_true(count >= kept);
        kept = count;
    }
    assert_true(kept > GROUP_EVENTS / 4);
    put_broken_group(&in, field, packed->data, packed->size);
    assert_int_equal(group_events(&in, false, true), GROUP_EVENTS);
    for (size_t at = 0; at < packed->size; at += step) {
        packed->data[at] ^= 0x24;
        put_broken_group(&in, field, packed->data, packed->size);
        uint64_t count = group_events(&in, true, false);
        if (count > most) most = count;
        packed->data[at] ^= 0x24;
    }
    assert_true(most >= kept);
    hd_bytes_deinit(&in);
}

static void test_perfetto_read__compressed_packets_that_break_keep_what_came_before(void **state)
{
    (void)state;
    hd_bytes plain = {0}, packed = {0};
    hd_compressor *compressor;
    uint64_t seed = hd_test_seed(3);
    uint8_t noise[4000];
    for (uint64_t i = 0; i < GROUP_EVENTS; i++) {
        for (size_t k = 0; k < sizeof noise; k++) noise[k] = (uint8_t)random_next(&seed);
        size_t packet = begin_packet(&plain, 0, 0);
        hd_pb_put_bytes(&plain, PF_PACKET_SYS_STATS, noise, sizeof noise);
        hd_pb_end(&plain, packet);
        put_event(&plain, 100 + i, PF_TYPE_INSTANT, 7, 0, 0);
    }
    assert_int_equal(hd_zlib_compress(&packed, plain.data, plain.size, NULL), HD_OK);
    try_broken_group(PF_PACKET_COMPRESSED_PACKETS, &packed);
    packed.size = 0;
    assert_int_equal(hd_compressor_new(&compressor, 3, NULL), HD_OK);
    assert_int_equal(hd_compress(&packed, compressor, plain.data, plain.size, NULL), HD_OK);
    try_broken_group(PF_PACKET_ZSTD_COMPRESSED_PACKETS, &packed);
    hd_compressor_free(compressor);
    hd_bytes_deinit(&plain);
    hd_bytes_deinit(&packed);
}

/* A clock of the sequence counts in microseconds, each time from the one before. */
static void test_perfetto_read__incremental_clocks_become_times_of_the_trace(void **state)
{
    (void)state;
    hd_bytes out = {0};
    size_t packet = begin_packet(&out, 0, PF_SEQ_INCREMENTAL_STATE_CLEARED);
    size_t defaults = hd_pb_begin(&out, PF_PACKET_TRACE_PACKET_DEFAULTS);
    hd_pb_put_uint(&out, PF_DEFAULTS_TIMESTAMP_CLOCK_ID, 64);
    hd_pb_end(&out, defaults);
    size_t snapshot = hd_pb_begin(&out, PF_PACKET_CLOCK_SNAPSHOT);
    const uint64_t clocks[][2] = {{PF_CLOCK_BOOTTIME, 5000000}, {64, 7}, {PF_CLOCK_REALTIME, 9000000000}};
    for (size_t i = 0; i < 3; i++) {
        size_t clock = hd_pb_begin(&out, PF_SNAPSHOT_CLOCKS);
        hd_pb_put_uint(&out, PF_CLOCK_CLOCK_ID, clocks[i][0]);
        hd_pb_put_uint(&out, PF_CLOCK_TIMESTAMP, clocks[i][1]);
        if (clocks[i][0] == 64) hd_pb_put_uint(&out, PF_CLOCK_IS_INCREMENTAL, 1);
        if (clocks[i][0] == 64) hd_pb_put_uint(&out, PF_CLOCK_UNIT_MULTIPLIER_NS, 1000);
        hd_pb_end(&out, clock);
    }
    hd_pb_end(&out, snapshot);
    hd_pb_end(&out, packet);
    put_event(&out, 10, PF_TYPE_INSTANT, 7, 0, 0);
    put_event(&out, 5, PF_TYPE_INSTANT, 7, 0, 0);
    put_thread(&out, 7, 1, 2, "t");
    char *dump = dump_text((const char *)out.data, out.size, NULL, 0, DUMP_ALL);
    expect_text(dump, "start=5010000");
    expect_text(dump, "start=5015000");
    expect_text(dump, "base_ns 8995000000");
    free(dump);
    hd_bytes_deinit(&out);
}

static void test_perfetto_read__cut_anywhere_is_read_up_to_there(void **state)
{
    (void)state;
    hd_bytes in = sample();
    for (size_t size = 3; size < in.size; size++) {
        hd_trace *trace;
        hd_error err = {0};
        hd_status status = read_text(&trace, (const char *)in.data, size, NULL, 0, &err);
        if (status == HD_OK)
            hd_trace_free(trace);
        else if (status != HD_ERR_DAMAGED && status != HD_ERR_FORMAT)
            fail_msg("cut at %zu: %s", size, err.message);
        static const hd_read_options strict = {.strict = true};
        if (size > 60 && status == HD_OK && read_text(&trace, (const char *)in.data, size, &strict, 0, NULL) == HD_OK)
            hd_trace_free(trace); /* cut between two packets */
    }
    hd_trace *trace;
    assert_int_equal(read_text(&trace, (const char *)in.data, in.size - 1, NULL, 0, NULL), HD_OK);
    bool found = false;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++)
        found |= strcmp(hd_trace_ledger_at(trace, i)->code, "perfetto.truncated") == 0;
    assert_true(found);
    hd_trace_free(trace);
    hd_bytes_deinit(&in);
}

static void test_perfetto_read__flipped_bits_never_break_it(void **state)
{
    (void)state;
    hd_bytes in = sample();
    for (size_t bit = 0; bit < in.size * 8; bit++) {
        in.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hd_trace *trace;
        hd_error err = {0};
        if (read_text(&trace, (const char *)in.data, in.size, NULL, 0, &err) == HD_OK)
            hd_trace_free(trace);
        else
            assert_true(err.offset <= in.size || err.offset == HD_OFFSET_NONE);
        in.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    hd_bytes_deinit(&in);
}

/* ---- one bad thing costs one thing ---- */

enum { EVENTS = 8, BAD = 3 };

/* Events 0 to EVENTS - 1 of one thread, named by what is interned; out_at: where each packet begins. */
static hd_bytes numbered(size_t out_at[EVENTS + 1])
{
    hd_bytes out = {0};
    char name[16];
    put_thread(&out, 7, 1, 2, "t");
    size_t packet = begin_packet(&out, 0, PF_SEQ_INCREMENTAL_STATE_CLEARED);
    size_t interned = hd_pb_begin(&out, PF_PACKET_INTERNED_DATA);
    for (uint64_t i = 0; i < EVENTS; i++) {
        snprintf(name, sizeof name, "event %d", (int)i);
        put_entry(&out, PF_INTERNED_EVENT_NAMES, i + 1, name);
    }
    hd_pb_end(&out, interned);
    hd_pb_end(&out, packet);
    for (uint64_t i = 0; i < EVENTS; i++) {
        out_at[i] = out.size;
        put_event(&out, 1000 + i, PF_TYPE_INSTANT, 7, i + 1, 0);
    }
    out_at[EVENTS] = out.size;
    return out;
}

/* Whether the ledger says that something was lost, at offset…until. */
static bool is_told(const hd_trace *trace, uint64_t offset, uint64_t until)
{
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_LOSS && row->first_offset >= offset && row->first_offset <= until) return true;
    }
    return false;
}

/* All events but those from `first` on, `count` of them, are there, each with its name and time; and the ledger says
 * where something was lost, in offset…until. */
static void expect_all_but(const hd_bytes *in, int first, int count, uint64_t offset, uint64_t until)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, (const char *)in->data, in->size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    char *dump = dump_trace(trace, DUMP_ALL), line[64];
    for (int i = 0; i < EVENTS; i++) {
        snprintf(line, sizeof line, "start=%d name=\"event %d\"\n", 1000 + i, i);
        if (!strstr(dump, line) != (i >= first && i < first + count)) fail_msg("event %d in\n%s", i, dump);
    }
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), EVENTS - count);
    if (!is_told(trace, offset, until)) fail_msg("nothing of %d in\n%s", (int)offset, dump);
    free(dump);
    hd_trace_free(trace);
}

static void expect_strict_to_refuse(const hd_bytes *in)
{
    static const hd_read_options strict = {.strict = true};
    hd_trace *trace;
    assert_int_equal(read_text(&trace, (const char *)in->data, in->size, &strict, 0, NULL), HD_ERR_DAMAGED);
}

static void test_perfetto_read__a_bad_length_costs_its_packet(void **state)
{
    (void)state;
    size_t at[EVENTS + 1];
    for (int bad = 0; bad < EVENTS; bad++) {
        hd_bytes in = numbered(at);
        uint8_t *packet = in.data + at[bad], good = packet[1];
        /* its own: shorter, longer, longer than the file, no number within ten bytes */
        for (int length = 1; length < 0x100; length++) {
            packet[1] = (uint8_t)length;
            if (length == good) continue;
            if (length > good && bad == EVENTS - 1 && length < 0x80) continue; /* a file that is cut off */
            expect_all_but(&in, bad, 1, at[bad], at[bad + 1]);
        }
        packet[1] = good;
        /* of the event in it */
        uint8_t *event = packet + (at[bad + 1] - at[bad]) - good;
        while (*event != HD_PROTO_BYTES(PF_PACKET_TRACK_EVENT)) event++;
        for (uint8_t longer = event[1] + 1; longer < 0x80; longer++) {
            event[1] = longer;
            expect_all_but(&in, bad, 1, at[bad], at[bad + 1]);
        }
        hd_bytes_deinit(&in);
    }
}

static void test_perfetto_read__bytes_that_are_no_packet_are_passed_over(void **state)
{
    (void)state;
    size_t at[EVENTS + 1];
    hd_bytes noise = {0};
    uint32_t random = 1;
    for (int i = 0; i < 3000; i++) hd_bytes_put_u8(&noise, (uint8_t)((random = random * 1664525 + 1013904223) >> 24));
    noise.data[0] = 0xff;
    for (size_t size = 1; size <= noise.size; size += size < 40 ? 1 : 493) {
        hd_bytes in = numbered(at), out = {0};
        hd_bytes_put(&out, in.data, at[BAD]);
        hd_bytes_put(&out, noise.data, size);
        hd_bytes_put(&out, in.data + at[BAD], in.size - at[BAD]);
        expect_all_but(&out, 0, 0, at[BAD], at[BAD]);
        expect_strict_to_refuse(&out);
        hd_bytes_deinit(&in);
        hd_bytes_deinit(&out);
    }
    hd_bytes_deinit(&noise);
}

/* Groups of two events each, the second of four damaged at one byte after the other. */
static void test_perfetto_read__a_group_that_does_not_decompress_costs_itself(void **state)
{
    (void)state;
    size_t at[EVENTS + 1], start = 0, end = 0;
    hd_bytes in = numbered(at), out = {0};
    hd_bytes_put(&out, in.data, at[0]);
    for (int i = 0; i < EVENTS; i += 2) {
        hd_bytes packed = {0};
        assert_int_equal(hd_zlib_compress(&packed, in.data + at[i], at[i + 2] - at[i], NULL), HD_OK);
        if (i == 2) start = out.size;
        size_t packet = hd_pb_begin(&out, PF_TRACE_PACKET);
        hd_pb_put_bytes(&out, PF_PACKET_COMPRESSED_PACKETS, packed.data, packed.size);
        hd_pb_end(&out, packet);
        if (i == 2) end = out.size;
        hd_bytes_deinit(&packed);
    }
    out.data[start + 5] ^= 0xff; /* the zlib header */
    expect_all_but(&out, 2, 2, start, start);
    expect_strict_to_refuse(&out);
    out.data[start + 5] ^= 0xff;
    out.data[end - 1] ^= 0x10; /* the checksum: what it is of is there */
    expect_all_but(&out, 2, 0, start, start);
    expect_strict_to_refuse(&out);
    out.data[end - 1] ^= 0x10;
    for (size_t i = start + 5; i < end; i++) { /* whatever byte it is: the other groups are there */
        hd_trace *trace;
        out.data[i] ^= 0x55;
        assert_int_equal(read_text(&trace, (const char *)out.data, out.size, NULL, 0, NULL), HD_OK);
        assert_true(hd_trace_row_count(trace, HD_KIND_INSTANT) >= EVENTS - 2);
        hd_trace_free(trace);
        out.data[i] ^= 0x55;
    }
    hd_bytes_deinit(&in);
    hd_bytes_deinit(&out);
}

/* An event between damage and another event, in a packet of that size. */
static void expect_found(size_t packet_bytes, uint64_t count)
{
    hd_trace *trace;
    hd_bytes in = {0}, event = {0}, packet = {0}, interned = {0};
    put_state(&in);
    put_thread(&in, 7, 1, 2, "t");
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    hd_bytes_put(&in, "\xff\xff\xff", 3);
    put_event(&event, 20, PF_TYPE_INSTANT, 7, 0, 0); /* of few bytes: its tag and its size have one each */
    hd_bytes_put(&packet, event.data + 2, event.size - 2);
    enum { UNKNOWN = 99, HEADS = 1 + 4 + 2 + 4 }; /* tags and sizes of both fields */
    size_t rest = packet_bytes - packet.size - HEADS;
    char *zeros = calloc(1, rest);
    assert_non_null(zeros);
    hd_pb_put_bytes(&interned, UNKNOWN, zeros, rest);
    hd_pb_put_bytes(&packet, PF_PACKET_INTERNED_DATA, interned.data, interned.size);
    free(zeros);
    assert_int_equal(packet.size, packet_bytes);
    hd_pb_put_bytes(&in, PF_TRACE_PACKET, packet.data, packet.size);
    put_event(&in, 30, PF_TYPE_INSTANT, 7, 0, 0);
    hd_error err = {0};
    if (read_text(&trace, (const char *)in.data, in.size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_INSTANT), count);
    hd_trace_free(trace);
    hd_bytes_deinit(&in);
    hd_bytes_deinit(&event);
    hd_bytes_deinit(&packet);
    hd_bytes_deinit(&interned);
}

static void test_perfetto_read__behind_damage_packets_up_to_16_mib_are_found(void **state)
{
    (void)state;
    for (size_t more = 0; more <= 2; more++) expect_found((16 << 20) - 1 + more, more < 2 ? 3 : 2);
}

static void test_perfetto_read__without_args_no_event_has_any(void **state)
{
    (void)state;
    fixtures all = fixtures_load_as("tests/format/perfetto", ".pftrace");
    size_t keys[2] = {0};
    for (size_t i = 0; i < all.count; i++) {
        for (int without = 0; without < 2; without++) {
            const hd_read_options options = {.args = without ? HD_ARGS_META : HD_ARGS_ALL};
            hd_trace *trace;
            assert_int_equal(read_text(&trace, all.list[i].text, all.list[i].size, &options, 0, NULL), HD_OK);
            for (uint32_t s = 2; s < hd_trace_shape_count(trace); s++) /* behind those of every trace */
                keys[without] += hd_trace_shape_at(trace, s)->key_count;
            hd_trace_free(trace);
        }
    }
    assert_true(keys[0] > 0);
    assert_int_equal(keys[1], 0);
    fixtures_free(&all);
}

static void put_snapshot(hd_bytes *out, uint64_t boottime)
{
    size_t packet = begin_packet(out, 0, PF_SEQ_INCREMENTAL_STATE_CLEARED);
    size_t defaults = hd_pb_begin(out, PF_PACKET_TRACE_PACKET_DEFAULTS);
    hd_pb_put_uint(out, PF_DEFAULTS_TIMESTAMP_CLOCK_ID, 64);
    hd_pb_end(out, defaults);
    size_t snapshot = hd_pb_begin(out, PF_PACKET_CLOCK_SNAPSHOT);
    for (int i = 0; i < 2; i++) {
        size_t clock = hd_pb_begin(out, PF_SNAPSHOT_CLOCKS);
        hd_pb_put_uint(out, PF_CLOCK_CLOCK_ID, i ? 64 : PF_CLOCK_BOOTTIME);
        hd_pb_put_uint(out, PF_CLOCK_TIMESTAMP, boottime);
        if (i) hd_pb_put_uint(out, PF_CLOCK_IS_INCREMENTAL, 1);
        hd_pb_end(out, clock);
    }
    hd_pb_end(out, snapshot);
    hd_pb_end(out, packet);
}

/* Times that count from a lost one are not made up: they are lost up to the next snapshot. */
static void test_perfetto_read__times_behind_a_lost_one_are_not_guessed(void **state)
{
    (void)state;
    hd_bytes in = {0};
    put_thread(&in, 7, 1, 2, "t");
    put_snapshot(&in, 1000);
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    hd_bytes_put(&in, "\xff\xff\xff", 3);
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    put_snapshot(&in, 2000);
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    char *dump = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_ALL);
    expect_text(dump, "perfetto.time-lost 2 at");
    expect_text(dump, "0 instant i pid=1 tid=2 start=1010");
    expect_text(dump, "1 instant i pid=1 tid=2 start=2010");
    free(dump);
    /* a writer that clears its state now and then may have done so in what is lost */
    hd_bytes_put(&in, "\xff\xff\xff", 3);
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    put_snapshot(&in, 3000);
    put_event(&in, 10, PF_TYPE_INSTANT, 7, 0, 0);
    dump = dump_text((const char *)in.data, in.size, NULL, 0, DUMP_ALL);
    expect_text(dump, "perfetto.packet-damaged 2 at");
    expect_text(dump, "perfetto.packet-before-state 1 at");
    expect_text(dump, "2 instant i pid=1 tid=2 start=3010");
    free(dump);
    hd_bytes_deinit(&in);
}

static void test_perfetto_read__nothing_but_damage_is_an_error(void **state)
{
    (void)state;
    static const unsigned char bad[] = {0x0a, 2, 0x50, 1, 0x0a, 4, 0x50, 1, 0x5a, 9, 0x0a, 2, 0x50, 1};
    static const hd_read_options strict = {.strict = true};
    hd_trace *trace;
    hd_error err = {0};
    assert_int_equal(read_text(&trace, (const char *)bad, sizeof bad, NULL, 0, &err), HD_ERR_DAMAGED);
    assert_int_equal(err.offset, 4);
    assert_null(trace);
    err = (hd_error){0};
    assert_int_equal(read_text(&trace, (const char *)bad, sizeof bad, &strict, 0, &err), HD_ERR_DAMAGED);
    assert_int_equal(err.offset, 8);
}

static void test_perfetto_sniff__text_and_other_formats_are_none(void **state)
{
    (void)state;
    const char *texts[] = {"\n{\"traceEvents\":[]}", "{}", "\n\n\n\n[]", "SBT\0\1\0", "\x28\xb5\x2f\xfd", "\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(perfetto_sniff((const unsigned char *)texts[i], strlen(texts[i])), 0);
    hd_bytes in = sample();
    assert_int_equal(perfetto_sniff(in.data, in.size), 90);
    hd_bytes_deinit(&in);
}

static void test_proto__groups_are_passed_over_and_bad_ones_refused(void **state)
{
    (void)state;
    static const uint8_t good[] = {0x0b, 0x10, 5, 0x13, 0x14, 0x0c, 0x18, 7}, open[] = {0x0b, 0x10, 5}, end[] = {0x0c};
    hd_proto_reader r = hd_proto_reader_of(good, sizeof good);
    hd_proto_field f;
    assert_true(hd_proto_next(&f, &r));
    assert_true(hd_proto_next(&f, &r));
    assert_int_equal(f.value, 7);
    assert_false(hd_proto_next(&f, &r));
    assert_false(r.failed);
    r = hd_proto_reader_of(open, sizeof open);
    assert_false(hd_proto_next(&f, &r));
    assert_true(r.failed);
    r = hd_proto_reader_of(end, sizeof end);
    assert_false(hd_proto_next(&f, &r));
    assert_true(r.failed);
}

/* The way for short fields and the one for all must see the same in any bytes. */
static void test_proto__short_fields_are_read_as_all_others(void **state)
{
    (void)state;
    uint64_t seed = hd_test_seed(7);
    for (int round = 0; round < 20000; round++) {
        uint8_t data[24];
        size_t size = random_next(&seed) % sizeof data;
        for (size_t i = 0; i < size; i++) data[i] = (uint8_t)(random_next(&seed) % (round % 2 ? 256 : 48));
        hd_proto_reader a = hd_proto_reader_of(data, size), b = a;
        hd_proto_field f = {0}, g = {0};
        for (;;) {
            bool more = hd_proto_next(&f, &a);
            assert_int_equal(more, hd_proto_next_any(&g, &b));
            assert_int_equal(a.at, b.at);
            assert_int_equal(a.failed, b.failed);
            if (!more) break;
            assert_int_equal(f.tag, g.tag);
            assert_int_equal(f.value, g.value);
            assert_ptr_equal(f.data, g.data);
            assert_int_equal(f.size, g.size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfetto_read__events_get_the_names_and_tracks_that_come_behind_them),
        cmocka_unit_test(test_perfetto_read__compressed_packets_give_the_same),
        cmocka_unit_test(test_perfetto_read__compressed_packets_that_break_keep_what_came_before),
        cmocka_unit_test(test_perfetto_read__incremental_clocks_become_times_of_the_trace),
        cmocka_unit_test(test_perfetto_read__cut_anywhere_is_read_up_to_there),
        cmocka_unit_test(test_perfetto_read__flipped_bits_never_break_it),
        cmocka_unit_test(test_perfetto_read__a_bad_length_costs_its_packet),
        cmocka_unit_test(test_perfetto_read__bytes_that_are_no_packet_are_passed_over),
        cmocka_unit_test(test_perfetto_read__a_group_that_does_not_decompress_costs_itself),
        cmocka_unit_test(test_perfetto_read__behind_damage_packets_up_to_16_mib_are_found),
        cmocka_unit_test(test_perfetto_read__without_args_no_event_has_any),
        cmocka_unit_test(test_perfetto_read__times_behind_a_lost_one_are_not_guessed),
        cmocka_unit_test(test_perfetto_read__nothing_but_damage_is_an_error),
        cmocka_unit_test(test_perfetto_sniff__text_and_other_formats_are_none),
        cmocka_unit_test(test_proto__groups_are_passed_over_and_bad_ones_refused),
        cmocka_unit_test(test_proto__short_fields_are_read_as_all_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
