/* test_perfetto_write.c - what a trace becomes as Perfetto protobuf
 *
 * The output is read here by a few lines of their own and shown as text, one line a packet:
 *
 *     track 2 below 1 thread 1/7 "name"              begin @1000 on 2 "name" [category] {key=value} flow 1 ends 2
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/io/compress.h"
#include "base/json/write.h"
#include "heddle/builder.h"
#include "random_trace.h"
#include "read_text.h"

/* ---- a reader of packets ---- */

typedef struct field {
    uint32_t number;
    uint64_t value; /* varint or fixed64 */
    hd_byte_reader inner;
} field;

static bool next_field(field *out, hd_byte_reader *r)
{
    if (!hd_byte_reader_left(r)) return false;
    uint64_t key = hd_byte_reader_varint(r);
    *out = (field){.number = (uint32_t)(key >> 3)};
    if ((key & 7) == 0) {
        out->value = hd_byte_reader_varint(r);
    } else if ((key & 7) == 1) {
        out->value = hd_byte_reader_le(r, 8);
    } else {
        assert_int_equal(key & 7, 2);
        size_t size = hd_byte_reader_varint(r);
        out->inner = hd_byte_reader_of(hd_byte_reader_take(r, size), size);
    }
    assert_false(r->failed);
    return true;
}

enum { TEXTS = 4096, TRACKS = 4096 };

typedef struct shown {
    hd_json_out out;
    char *texts[32][TEXTS]; /* by field of InternedData and iid */
    uint64_t now, default_track;
    int depth[TRACKS]; /* open slices by uuid */
    bool checks_only;
    uint64_t packets, groups;
} shown;

static void say(shown *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(shown *s, const char *format, ...)
{
    char line[512];
    va_list args;
    if (s->checks_only) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    hd_json_put_text(&s->out, line);
}

static char *text_of(const hd_byte_reader *r)
{
    char *text = malloc(r->size + 1);
    if (r->size) memcpy(text, r->data, r->size);
    text[r->size] = '\0';
    return text;
}

static void say_text(shown *s, const char *before, const hd_byte_reader *r)
{
    char *text = text_of(r);
    say(s, "%s\"%s\"", before, text);
    free(text);
}

static const char *interned(const shown *s, uint32_t space, uint64_t iid)
{
    assert_true(iid < TEXTS && s->texts[space][iid]);
    return s->texts[space][iid];
}

/* Mappings, frames (named by their function) and callstacks (named by their frames, the outermost first). */
static void take_stack_part(shown *s, uint32_t space, hd_byte_reader r)
{
    char text[512] = "";
    uint64_t iid = 0;
    bool has_mapping = false, has_address = false;
    for (field part; next_field(&part, &r);) {
        if (part.number == 1) iid = part.value;
        if (space == 6 && part.number == 2) strcpy(text, interned(s, 5, part.value));
        if (space == 6 && part.number == 3) has_mapping = interned(s, 19, part.value) != NULL;
        if (space == 6 && part.number == 4) has_address = true;
        if (space == 7 && part.number == 2) {
            assert_true(strlen(text) + strlen(interned(s, 6, part.value)) + 2 < sizeof text);
            strcat(strcat(text, *text ? ";" : ""), interned(s, 6, part.value));
        }
    }
    assert_true(space != 6 || (has_mapping && has_address)); /* importers refuse other frames */
    assert_true(iid > 0 && iid < TEXTS);
    assert_null(s->texts[space][iid]);
    s->texts[space][iid] = strdup(text);
}

static void take_interned(shown *s, hd_byte_reader r)
{
    field space, part;
    while (next_field(&space, &r)) {
        uint64_t iid = 0;
        if (space.number == 6 || space.number == 7 || space.number == 19) {
            take_stack_part(s, space.number, space.inner);
            continue;
        }
        while (next_field(&part, &space.inner)) {
            if (part.number == 1) iid = part.value;
            if (part.number != 2) continue;
            assert_true(space.number < 32 && iid > 0 && iid < TEXTS);
            assert_null(s->texts[space.number][iid]);
            s->texts[space.number][iid] = text_of(&part.inner);
        }
    }
}

/* JSON that is not taken apart. */
static void show_nested(shown *s, hd_byte_reader r)
{
    field f;
    assert_true(next_field(&f, &r) && f.number == 8);
    say_text(s, "json ", &f.inner);
    assert_false(next_field(&f, &r));
}

/* legacy_json_value (9) is not among the fields: trace_processor ends at a null in it. */
static void show_value(shown *s, hd_byte_reader r)
{
    field f;
    for (; next_field(&f, &r);) {
        double number;
        memcpy(&number, &f.value, sizeof number);
        switch (f.number) {
        case 1: say(s, "%s=", interned(s, 3, f.value)); break;
        case 2: say(s, f.value ? "true" : "false"); break;
        case 3: say(s, "%" PRIu64 "u", f.value); break;
        case 4: say(s, "%" PRId64, (int64_t)f.value); break;
        case 5: say(s, "%.17gd", number); break;
        case 17: say(s, "'%s'", interned(s, 29, f.value)); break;
        case 8: show_nested(s, f.inner); break;
        case 11:
        case 12:
            say(s, f.number == 11 ? "{" : "[");
            show_value(s, f.inner);
            say(s, f.number == 11 ? "}" : "]");
            break;
        default: fail_msg("field %u of an annotation", f.number);
        }
    }
}

static void show_event(shown *s, hd_byte_reader r)
{
    static const char *const types[] = {"?", "begin", "end", "instant", "counter"};
    uint64_t type = 0, track = s->default_track;
    field f;
    for (hd_byte_reader look = r; next_field(&f, &look);) {
        if (f.number == 9) type = f.value;
        if (f.number == 11) track = f.value;
    }
    assert_true(type >= 1 && type <= 4 && track < TRACKS);
    s->depth[track] += type == 1 ? 1 : type == 2 ? -1 : 0;
    assert_true(s->depth[track] >= 0);
    say(s, "%s @%" PRIu64 " on %" PRIu64, types[type], s->now, track);
    while (next_field(&f, &r)) {
        double number;
        memcpy(&number, &f.value, sizeof number);
        switch (f.number) {
        case 9:
        case 11: break;
        case 3: say(s, " [%s]", interned(s, 1, f.value)); break;
        case 10: say(s, " \"%s\"", interned(s, 2, f.value)); break;
        case 4:
            say(s, " ");
            show_value(s, f.inner);
            break;
        case 30: say(s, " %" PRId64, (int64_t)f.value); break;
        case 44: say(s, " %.17g", number); break;
        case 47: say(s, " flow %" PRIu64, f.value); break;
        case 48: say(s, " ends %" PRIu64, f.value); break;
        default: fail_msg("field %u of an event", f.number);
        }
    }
    say(s, "\n");
}

static void show_sample(shown *s, hd_byte_reader r)
{
    field f;
    say(s, "sample @%" PRIu64, s->now);
    while (next_field(&f, &r)) {
        switch (f.number) {
        case 1: say(s, " cpu %" PRIu64, f.value); break;
        case 2: say(s, " of %" PRIu64, f.value); break;
        case 3: say(s, "/%" PRIu64, f.value); break;
        case 4: say(s, " %s", interned(s, 7, f.value)); break;
        case 5: say(s, f.value == 1 ? " kernel" : " user"); break;
        default: fail_msg("field %u of a sample", f.number);
        }
    }
    say(s, "\n");
}

/* pid, tid and name of a process or thread; the unit of a counter. */
static void show_descriptor(shown *s, const char *what, hd_byte_reader r, bool is_thread)
{
    field f;
    say(s, " %s", what);
    while (next_field(&f, &r)) {
        if (f.inner.data)
            say_text(s, " ", &f.inner);
        else
            say(s, f.number == 2 && is_thread ? "/%" PRIu64 : " %" PRIu64, f.value);
    }
}

static void show_track(shown *s, hd_byte_reader r)
{
    field f;
    while (next_field(&f, &r)) {
        switch (f.number) {
        case 1: say(s, "track %" PRIu64, f.value); break;
        case 5: say(s, " below %" PRIu64, f.value); break;
        case 2: say_text(s, " ", &f.inner); break;
        case 14: say_text(s, " about ", &f.inner); break;
        case 3: show_descriptor(s, "process", f.inner, false); break;
        case 4: show_descriptor(s, "thread", f.inner, true); break;
        case 8: show_descriptor(s, "counter", f.inner, false); break;
        case 12: say(s, " rank %" PRId64, (int64_t)f.value); break;
        case 15: say(s, f.value == 2 ? " alone" : " merged"); break;
        case 17: say(s, " with %" PRIu64, f.value); break;
        default: break;
        }
    }
    say(s, "\n");
}

static void show_snapshot(shown *s, hd_byte_reader r)
{
    field f, part;
    uint64_t clock = 0;
    say(s, "clocks");
    while (next_field(&f, &r)) {
        say(s, " ");
        while (next_field(&part, &f.inner)) {
            if (part.number == 1) say(s, "%" PRIu64 ":", clock = part.value);
            if (part.number == 2) say(s, "%" PRIu64, part.value);
            if (part.number == 2 && clock == 64) s->now = part.value;
        }
    }
    say(s, "\n");
}

static void show_packets(shown *s, hd_byte_reader r);

static void show_packet(shown *s, hd_byte_reader r)
{
    field f, inner, last;
    s->packets++;
    while (next_field(&f, &r)) {
        switch (f.number) {
        case 8:
            s->now += f.value;
            assert_true(s->now <= INT64_MAX && f.value <= INT64_MAX);
            break;
        case 59:
            while (next_field(&inner, &f.inner)) {
                if (inner.number == 11 && next_field(&last, &inner.inner)) s->default_track = last.value;
            }
            break;
        case 6: show_snapshot(s, f.inner); break;
        case 12: take_interned(s, f.inner); break;
        case 60: show_track(s, f.inner); break;
        case 11: show_event(s, f.inner); break;
        case 66: show_sample(s, f.inner); break;
        case 5: say(s, "metadata\n"); break;
        case 50: {
            hd_bytes packets = {0};
            assert_int_equal(hd_zlib_decompress(&packets, f.inner.data, f.inner.size, 64 << 20, NULL), HD_OK);
            s->groups++;
            show_packets(s, hd_byte_reader_of(packets.data, packets.size));
            hd_bytes_deinit(&packets);
            break;
        }
        default: assert_true(f.number == 10 || f.number == 13 || f.number == 87);
        }
    }
}

static void show_packets(shown *s, hd_byte_reader r)
{
    field f;
    while (next_field(&f, &r)) {
        assert_int_equal(f.number, 1);
        show_packet(s, f.inner);
    }
}

static void free_texts(shown *s)
{
    for (int space = 0; space < 32; space++)
        for (int i = 0; i < TEXTS; i++) free(s->texts[space][i]);
}

/* ---- writing ---- */

typedef struct ledger {
    char text[1024];
    uint64_t written, lost;
} ledger;

static void note(void *user, const hd_ledger_row *row)
{
    ledger *l = user;
    size_t size = strlen(l->text);
    if (strcmp(row->code, "perfetto.events-written") == 0) {
        l->written += row->count;
        return;
    }
    if (strncmp(row->code, "perfetto.event-", 15) == 0) {
        assert_int_equal(row->level, HD_LEDGER_LOSS);
        l->lost += row->count;
    }
    assert_string_equal(row->stage, "perfetto");
    snprintf(l->text + size, sizeof l->text - size, "%s %" PRIu64 "\n", row->code + strlen("perfetto."), row->count);
}

static hd_trace *read_json(const char *json, size_t size)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, json, size, NULL, 0, &err) != HD_OK) fail_msg("%s: %.200s", err.message, json);
    return trace;
}

static char *write_trace(const hd_trace *trace, bool raw, unsigned threads, ledger *l, size_t *out_size)
{
    *l = (ledger){0};
    const hd_write_options options = {
        .format = "perfetto", .raw = raw, .threads = threads, .ledger = note, .ledger_user = l};
    char *data = write_text(trace, &options, out_size);
    assert_int_equal(l->written + l->lost, hd_trace_event_count(trace));
    return data;
}

/* The packets of an array of events, without the track that says what ranks mean. Lines that begin with `only`, or all
 * for NULL. */
static char *show(const char *json, const char *only, ledger *l)
{
    size_t size;
    shown *s = calloc(1, sizeof *s);
    hd_trace *trace = read_json(json, strlen(json));
    char *data = write_trace(trace, true, 0, l, &size);
    show_packets(s, hd_byte_reader_of(data, size));
    hd_json_put(&s->out, "", 1);
    char *text = calloc(1, s->out.size + 1);
    for (char *line = strtok(s->out.data, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "track 0", 7) == 0 || (only && strncmp(line, only, strlen(only)) != 0)) continue;
        strcat(strcat(text, line), "\n");
    }
    free_texts(s);
    free(s->out.data);
    free(s);
    free(data);
    hd_trace_free(trace);
    return text;
}

static void assert_shown(const char *json, const char *only, const char *expected, const char *expected_ledger)
{
    ledger l;
    char *text = show(json, only, &l);
    assert_string_equal(text, expected);
    assert_string_equal(l.text, expected_ledger);
    free(text);
}

#define X(name, tid, ts, dur)                                                                                          \
    "{\"ph\":\"X\",\"pid\":1,\"tid\":" #tid ",\"name\":\"" name "\",\"ts\":" #ts ",\"dur\":" #dur "}"

/* ---- slices and tracks ---- */

static void test_perfetto_write__nested_slices_share_a_track(void **state)
{
    (void)state;
    assert_shown("[" X("c", 7, 3, 1) "," X("a", 7, 1, 9) "," X("b", 7, 1, 3.001) "," X("d", 7, 10, 0) "]", NULL,
                 "clocks 6:1000 64:1000\n"
                 "track 1 process 1\n"
                 "track 2 below 1 thread 1/7\n"
                 "begin @1000 on 2 \"a\"\n"
                 "begin @1000 on 2 \"b\"\n"
                 "begin @3000 on 2 \"c\"\n"
                 "end @4000 on 2\n"
                 "end @4001 on 2\n"
                 "end @10000 on 2\n"
                 "begin @10000 on 2 \"d\"\n"
                 "end @10000 on 2\n",
                 "");
}

static void test_perfetto_write__slices_that_cross_go_to_siblings_unchanged(void **state)
{
    (void)state;
    assert_shown(
        "[" X("a", 7, 0, 10) "," X("b", 7, 5, 10) "," X("c", 7, 6, 2) "," X("d", 7, 7, 9) "," X("e", 7, 20, 1) "]",
        NULL,
        "clocks 6:0 64:0\n"
        "track 1 process 1\n"
        "track 2 below 1 thread 1/7\n"
        "track 3 below 2 \"7\" merged with 2\n"
        "track 4 below 2 \"7\" merged with 2\n"
        "begin @0 on 2 \"a\"\n"
        "begin @5000 on 3 \"b\"\n"
        "begin @6000 on 2 \"c\"\n"
        "begin @7000 on 4 \"d\"\n"
        "end @8000 on 2\n"
        "end @10000 on 2\n"
        "end @15000 on 3\n"
        "end @16000 on 4\n"
        "begin @20000 on 2 \"e\"\n"
        "end @21000 on 2\n",
        "slice-on-sibling 2\n");
}

static void test_perfetto_write__a_stream_is_a_row_of_its_device(void **state)
{
    (void)state;
    assert_shown("[{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"python\"}},"
                 "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_labels\",\"args\":{\"labels\":\"GPU 0\"}},"
                 "{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":5000000}},"
                 "{\"ph\":\"M\",\"pid\":0,\"tid\":7,\"name\":\"thread_name\",\"args\":{\"name\":\"stream 7 \"}},"
                 "{\"ph\":\"M\",\"pid\":0,\"tid\":7,\"name\":\"num_things\",\"args\":{}},"
                 "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"cat\":\"kernel\",\"name\":\"k\",\"ts\":0,\"dur\":4,\"args\":{"
                 "\"stream\":7}},"
                 "{\"ph\":\"X\",\"pid\":0,\"tid\":7,\"cat\":\"kernel\",\"name\":\"l\",\"ts\":2,\"dur\":4,\"args\":{"
                 "\"stream\":7}},"
                 "{\"ph\":\"X\",\"pid\":0,\"tid\":\"9\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":0,\"dur\":4,\"args\":{"
                 "\"stream\":9}}]",
                 "track",
                 "track 1 process 0 \"python\" \"GPU 0\" 5000000 rank 5000000\n"
                 "track 3 below 1 \"stream 7 \" about \"tid 7, no order, GPU stream 7\" rank 7 merged with 3\n"
                 "track 4 below 1 \"stream 9\" about \"tid 9, no name, no order, GPU stream 9\" rank 9 alone\n"
                 "track 5 below 1 \"stream 7 \" rank 7 merged with 3\n",
                 "event-metadata 1\nslice-on-sibling 1\n");
}

static void test_perfetto_write__pids_and_tids_that_are_no_numbers_are_rows(void **state)
{
    (void)state;
    assert_shown(
        "[{\"ph\":\"M\",\"pid\":\"Spans\",\"tid\":\"a\",\"name\":\"process_name\",\"args\":{\"name\":\"P\"}},"
        "{\"ph\":\"M\",\"pid\":\"Spans\",\"tid\":\"a\",\"name\":\"process_labels\",\"args\":{\"labels\":\"L\"}},"
        "{\"ph\":\"i\",\"pid\":\"Spans\",\"tid\":\"a\",\"name\":\"x\",\"ts\":1},"
        "{\"ph\":\"i\",\"pid\":-3,\"tid\":4,\"name\":\"x\",\"ts\":1},"
        "{\"ph\":\"i\",\"pid\":5,\"tid\":\"6\",\"name\":\"x\",\"ts\":1},"
        "{\"ph\":\"i\",\"pid\":5,\"tid\":6,\"name\":\"y\",\"ts\":1},"
        "{\"ph\":\"i\",\"pid\":5,\"name\":\"z\",\"ts\":1},{\"ph\":\"i\",\"ts\":1}]",
        NULL,
        "clocks 6:1000 64:1000\n"
        "track 1 process 5\n"
        "track 2 \"P\" about \"pid Spans, labels L\"\n"
        "track 3 \"-3\" about \"pid -3, no name\"\n"
        "track 4 \"without process\" about \"no process, no name\"\n"
        "track 5 below 2 \"a\" about \"no name\" alone\n"
        "track 6 below 3 \"4\" about \"tid 4, no name\" alone\n"
        "track 7 below 1 thread 5/6\n"
        "instant @1000 on 5 \"x\"\n"
        "instant @1000 on 6 \"x\"\n"
        "instant @1000 on 7 \"x\"\n"
        "instant @1000 on 7 \"y\"\n"
        "instant @1000 on 1 \"z\"\n"
        "instant @1000 on 4\n",
        "ids-merged 1\n");
}

static void test_perfetto_write__a_slice_that_is_never_closed_begins_only(void **state)
{
    (void)state;
    assert_shown(
        "[{\"ph\":\"B\",\"pid\":1,\"tid\":7,\"name\":\"open\",\"ts\":1},"
        "{\"ph\":\"B\",\"pid\":1,\"tid\":7,\"name\":\"a\",\"ts\":2,\"args\":{\"x\":1}},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":7,\"name\":\"other\",\"ts\":4,\"args\":{\"y\":2}},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":8,\"ts\":4},{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"name\":\"b\",\"ts\":5}]",
        NULL,
        "clocks 6:1000 64:1000\n"
        "track 1 process 1\n"
        "track 2 below 1 thread 1/7\n"
        "begin @1000 on 2 \"open\"\n"
        "begin @2000 on 2 \"a\" x=1\n"
        "end @4000 on 2 y=2\n"
        "begin @5000 on 2 \"b\" event.dur=\n"
        "end @5000 on 2\n",
        "event-end-unmatched 1\nend-name 1\n");
}

static void test_perfetto_write__times_below_zero_are_shifted_and_real_time_stays(void **state)
{
    (void)state;
    assert_shown("{\"baseTimeNanoseconds\":1000000,\"traceEvents\":[" X("a", 7, -5, 10) "," X("b", 7, 1, -2) "]}", NULL,
                 "clocks 6:0 64:0 1:995000\n"
                 "track 1 process 1\n"
                 "track 2 below 1 thread 1/7\n"
                 "metadata\n"
                 "begin @0 on 2 \"a\"\n"
                 "begin @6000 on 2 \"b\"\n"
                 "end @6000 on 2\n"
                 "end @10000 on 2\n",
                 "duration-negative 1\ntime-shifted 1\n");
}

static void test_perfetto_write__what_is_finer_than_a_nanosecond_is_cut(void **state)
{
    (void)state;
    assert_shown("[" X("a", 7, 1.0005, 2.0006) "]", "begin", "begin @1000 on 2 \"a\"\n", "time-cut-to-ns 1\n");
}

static void test_perfetto_write__six_hundred_levels_take_two_tracks(void **state)
{
    (void)state;
    hd_json_out json = {0};
    char event[128];
    for (int i = 0; i < 600; i++) {
        snprintf(event, sizeof event, "%c{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"name\":\"a\",\"ts\":%d,\"dur\":%d}",
                 i ? ',' : '[', i, 2000 - 2 * i);
        hd_json_put_text(&json, event);
    }
    hd_json_put(&json, "]", 2);
    assert_shown(json.data, "track 3", "track 3 below 2 \"7\" merged with 2\n", "slice-on-sibling 89\n");
    free(json.data);
}

/* ---- arguments ---- */

static void test_perfetto_write__arguments_keep_their_types(void **state)
{
    (void)state;
    assert_shown(
        "[{\"ph\":\"i\",\"s\":\"t\",\"id\":\"0x1f\",\"pid\":1,\"tid\":7,\"cat\":\"k\",\"name\":\"n\",\"ts\":1,\"args\":"
        "{"
        "\"i\":-5,\"b\":true,\"u\":18446744073709551615,\"d\":12.500,\"long\":0.1234567890123456789,"
        "\"e\":1e-9,\"huge\":1e999,\"s\":\"k\",\"empty\":\"\",\"null\":null,\"no\":[],"
        "\"list\":[1,[2.5,\"x\"],{\"y\":false}],\"big\":36893488147419103232}}]",
        "instant",
        "instant @1000 on 2 [k] \"n\" event.id='0x1f' event.s='t' i=-5 b=true u=18446744073709551615u d=12.5d "
        "long='0.1234567890123456789' e=1.0000000000000001e-09d huge='1e999' s='k' empty='' null= "
        "no=json \"[]\" list=[1][[2.5d]['x']][{y=false}] big='36893488147419103232'\n",
        "number-as-text 3\n");
}

static void test_perfetto_write__an_empty_slice_before_a_pair_stays_before_it(void **state)
{
    (void)state;
    assert_shown(
        "[{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"name\":\"empty\",\"ts\":1,\"dur\":0},"
        "{\"ph\":\"B\",\"pid\":1,\"tid\":7,\"name\":\"pair\",\"ts\":1},{\"ph\":\"E\",\"pid\":1,\"tid\":7,\"ts\":3},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"name\":\"within\",\"ts\":5,\"dur\":0},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"name\":\"around\",\"ts\":5,\"dur\":2}]",
        NULL,
        "clocks 6:1000 64:1000\ntrack 1 process 1\ntrack 2 below 1 thread 1/7\n"
        "begin @1000 on 2 \"empty\"\nend @1000 on 2\nbegin @1000 on 2 \"pair\"\nend @3000 on 2\n"
        "begin @5000 on 2 \"around\"\nbegin @5000 on 2 \"within\"\nend @5000 on 2\nend @7000 on 2\n",
        "");
}

/* No legacy_json_value in any of it. */
static void test_perfetto_write__what_is_null_empty_or_deep_has_a_form_that_perfetto_loads(void **state)
{
    (void)state;
    enum { DEPTH = 32 };
    char text[1024], wanted[1024];
    for (int extra = -1; extra <= 1; extra++) {
        char open[64] = "", close[64] = "";
        memset(open, '[', (size_t)(DEPTH + extra - 1));
        memset(close, ']', (size_t)(DEPTH + extra - 1));
        snprintf(text, sizeof text,
                 "[{\"ph\":\"i\",\"pid\":1,\"tid\":7,\"name\":\"n\",\"ts\":1,\"tts\":null,\"args\":"
                 "{\"list\":[1,null,[],{ },{\"a\":null}],\"deep\":%s[null]%s,\"last\":1}}]",
                 open, close);
        snprintf(wanted, sizeof wanted, "%s%s%s", open, extra > 0 ? "json \"[null]\"" : "[]", close);
        char line[2048];
        snprintf(line, sizeof line,
                 "instant @1000 on 2 \"n\" event.tts= list=[1][][json \"[]\"][json \"{}\"][{a=}] deep=%s "
                 "last=1\n",
                 wanted);
        assert_shown(text, "instant", line, "");
    }
}

static void test_perfetto_write__equal_json_is_written_from_memory_and_the_same(void **state)
{
    (void)state;
    assert_shown("[{\"ph\":\"i\",\"pid\":1,\"tid\":7,\"ts\":1,\"args\":{\"a\":[\"x\",1],\"b\":{\"c\":[\"x\",1]}}},"
                 "{\"ph\":\"i\",\"pid\":1,\"tid\":7,\"ts\":2,\"args\":{\"b\":{\"c\":[\"x\",1]},\"a\":[\"x\",1]}}]",
                 "instant",
                 "instant @1000 on 2 a=['x'][1] b={c=['x'][1]}\n"
                 "instant @2000 on 2 b={c=['x'][1]} a=['x'][1]\n",
                 "");
}

/* ---- counters ---- */

static void test_perfetto_write__each_series_of_a_counter_is_a_track(void **state)
{
    (void)state;
    assert_shown("[{\"ph\":\"C\",\"pid\":1,\"tid\":7,\"name\":\"mem\",\"ts\":1,\"args\":{\"bytes\":100,\"peak\":2.5}},"
                 "{\"ph\":\"C\",\"pid\":1,\"tid\":8,\"name\":\"mem\",\"ts\":2,\"args\":{\"bytes\":-1,\"peak\":\"0.25\","
                 "\"what\":\"no number\"}},"
                 "{\"ph\":\"C\",\"pid\":1,\"name\":\"clock (MHz)\",\"id\":\"a\",\"ts\":3,\"args\":{\"value\":true}},"
                 "{\"ph\":\"C\",\"pid\":1,\"name\":\"nothing\",\"ts\":3,\"args\":{\"value\":[1]}}]",
                 NULL,
                 "clocks 6:1000 64:1000\n"
                 "track 1 process 1\n"
                 "track 4 below 1 \"mem bytes\" counter 3 about \"series bytes\"\n"
                 "track 5 below 1 \"mem peak\" counter about \"series peak\"\n"
                 "track 6 below 1 \"clock (MHz) id: a\" counter \"MHz\"\n"
                 "counter @1000 on 4 100\n"
                 "counter @1000 on 5 2.5\n"
                 "counter @2000 on 4 -1\n"
                 "counter @2000 on 5 0.25\n"
                 "counter @3000 on 6 1\n",
                 "event-counter-empty 1\ncounter-value 1\n");
}

/* ---- flows ---- */

#define FLOW(ph, id, tid, ts, more) "{\"ph\":\"" ph "\",\"id\":" #id ",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts more "}"
#define ENCLOSED ",\"bp\":\"e\""

static void test_perfetto_write__flows_are_on_the_slices_they_are_bound_to(void **state)
{
    (void)state;
    assert_shown(
        "[" X("launch", 7, 0, 10) "," X("inner", 7, 2, 2) "," X("kernel", 8, 20, 5) "," X("next", 8, 30, 5) "," FLOW(
            "s", 1, 7, 3, "") "," FLOW("f", 1, 8, 20, ENCLOSED) "," FLOW("s", 2, 7, 10, "") "," FLOW("f", 2, 8, 26,
                                                                                                     "") "]",
        "begin",
        "begin @0 on 2 \"launch\" flow 1\n"
        "begin @2000 on 2 \"inner\" flow 2\n"
        "begin @20000 on 3 \"kernel\" ends 2\n"
        "begin @30000 on 3 \"next\" ends 1\n",
        "");
}

static void test_perfetto_write__one_start_reaches_all_of_its_ends(void **state)
{
    (void)state;
    assert_shown(
        "[" X("a", 7, 0, 1) "," X("step", 7, 2, 1) "," X("b", 8, 4, 1) "," X("c", 8, 6, 1) "," X("d", 8, 8, 1) "," FLOW(
            "s", 1, 7, 0, "") "," FLOW("t", 1, 7, 2, "") "," FLOW("f", 1, 8, 4,
                                                                  ENCLOSED) "," FLOW("f", 1, 8, 6,
                                                                                     ENCLOSED) "," FLOW("s", 1, 8, 8,
                                                                                                        "") "]",
        "begin",
        "begin @0 on 2 \"a\" flow 1\n"
        "begin @2000 on 2 \"step\" flow 1 flow 2\n"
        "begin @4000 on 3 \"b\" ends 1\n"
        "begin @6000 on 3 \"c\" ends 2\n"
        "begin @8000 on 3 \"d\" flow 3\n",
        "");
}

static void test_perfetto_write__a_flow_that_runs_backward_is_joined_and_named(void **state)
{
    (void)state;
    assert_shown("[" X("kernel", 8, 0, 1) "," X("launch", 7, 5, 1) "," FLOW("f", 1, 8, 0, ENCLOSED) "," FLOW("s", 1, 7,
                                                                                                             5, "") "]",
                 "begin",
                 "begin @0 on 2 \"kernel\" flow 8391739297446756353\n"
                 "begin @5000 on 3 \"launch\" ends 8391739297446756353\n",
                 "flow-backward 1\n");
}

static void test_perfetto_write__flow_points_without_slice_or_start_are_lost(void **state)
{
    (void)state;
    assert_shown("[" X("a", 7, 0, 1) "," FLOW("f", 1, 7, 0, ENCLOSED) "," FLOW("s", 2, 9, 5, "") "," FLOW(
                     "f", 2, 7, 0, ENCLOSED) "," FLOW("f", 2, 7, 6, "") "]",
                 "begin", "begin @0 on 2 \"a\"\n", "event-flow-unbound 1\nevent-flow-without-start 3\n");
}

static void test_perfetto_write__flow_points_around_which_nothing_is_take_what_was_before(void **state)
{
    (void)state;
    static const char text[] =
        "[" X("a", 7, 0, 1) ",{\"ph\":\"i\",\"pid\":1,\"tid\":8,\"name\":\"i\",\"ts\":3},"
                            "{\"ph\":\"i\",\"pid\":1,\"tid\":8,\"name\":\"j\",\"ts\":6},"
                            "{\"ph\":\"B\",\"pid\":1,\"tid\":9,\"name\":\"b\",\"ts\":1},{\"ph\":\"E\",\"pid\":1,"
                            "\"tid\":9,\"ts\":2}," FLOW("s", 1, 7, 2, "") "," FLOW("f", 1, 8, 4, ENCLOSED) "," FLOW(
                                "f", 1, 8, 5, "") "," FLOW("f", 1, 9, 5, ENCLOSED) "]";
    assert_shown(text, "begin", "begin @0 on 2 \"a\" flow 1 flow 2\nbegin @1000 on 4 \"b\"\n",
                 "event-flow-unbound 1\n");
    assert_shown(text, "instant", "instant @3000 on 3 \"i\" ends 1\ninstant @6000 on 3 \"j\" ends 2\n",
                 "event-flow-unbound 1\n");
}

#define BOUND "{\"ph\":\"X\",\"pid\":1,\"tid\":7,\"dur\":1,"

/* Nothing is lost of those that are not flows; an id of a flow point is another one. */
static void test_perfetto_write__slices_are_points_of_flows_by_their_bind_id(void **state)
{
    (void)state;
    static const char text[] =
        "[" BOUND "\"name\":\"out\",\"ts\":0,\"bind_id\":\"0x5\",\"flow_out\":true,\"flow_in\":false}," BOUND
        "\"name\":\"step\",\"ts\":2,\"bind_id\":5,\"flow_out\":true,\"flow_in\":true}," BOUND
        "\"name\":\"in\",\"ts\":4,\"bind_id\":5,\"flow_in\":true}," BOUND
        "\"name\":\"again\",\"ts\":6,\"bind_id\":5,\"flow_in\":true}," BOUND
        "\"name\":\"lost\",\"ts\":8,\"bind_id\":6,\"flow_in\":true}," BOUND
        "\"name\":\"none\",\"ts\":10,\"bind_id\":5,\"flow_in\":1}," FLOW("s", 5, 7, 10, "") "]";
    assert_shown(text, "begin",
                 "begin @0 on 2 \"out\" flow 1\n"
                 "begin @2000 on 2 \"step\" flow 1 flow 2\n"
                 "begin @4000 on 2 \"in\" ends 1\n"
                 "begin @6000 on 2 \"again\" ends 2\n"
                 "begin @8000 on 2 \"lost\" event.bind_id=6 event.flow_in=true\n"
                 "begin @10000 on 2 \"none\" flow 3 event.bind_id=5 event.flow_in=1\n",
                 "");
}

/* ---- asynchronous slices ---- */

#define ASYNC(ph, name, id, ts)                                                                                        \
    "{\"ph\":\"" ph "\",\"cat\":\"c\",\"name\":\"" name "\",\"id\":" #id ",\"pid\":1,\"tid\":7,\"ts\":" #ts "}"

static void test_perfetto_write__asynchronous_slices_have_tracks_by_id(void **state)
{
    (void)state;
    assert_shown(
        "[" ASYNC("b", "req", 1, 0) "," ASYNC("b", "req", "0x2", 1) "," ASYNC("n", "point", 1, 2) "," ASYNC(
            "b", "part", 1, 3) "," ASYNC("e", "req", 2, 4) "," ASYNC("e", "part", 1,
                                                                     5) "," ASYNC("e", "req", 1,
                                                                                  6) "," ASYNC("e", "req", 1,
                                                                                               7) "," ASYNC("b", "open",
                                                                                                            2, 8) "]",
        NULL,
        "clocks 6:0 64:0\n"
        "track 1 process 1\n"
        "track 2 below 1 thread 1/7\ntrack 3 below 1 \"req\" about \"async\"\n"
        "track 4 below 1 \"req\" about \"async\"\n"
        "begin @0 on 3 [c] \"req\" event.id=1 event.track=2\n"
        "begin @1000 on 4 [c] \"req\" event.id='0x2' event.track=2\n"
        "instant @2000 on 3 [c] \"point\" event.id=1 event.track=2\n"
        "begin @3000 on 3 [c] \"part\" event.id=1 event.track=2\n"
        "end @4000 on 4\n"
        "end @5000 on 3\n"
        "end @6000 on 3\n"
        "begin @8000 on 4 [c] \"open\" event.id=2 event.track=2\n",
        "event-async-unmatched 1\n");
}

static void test_perfetto_write__asynchronous_slices_that_cross_do_not_end_each_other(void **state)
{
    (void)state;
    assert_shown(
        "[" ASYNC("b", "x", 1, 0) "," ASYNC("b", "y", 1, 1) "," ASYNC("e", "x", 1, 2) "," ASYNC("e", "y", 1, 3) "]",
        NULL,
        "clocks 6:0 64:0\n"
        "track 1 process 1\n"
        "track 2 below 1 thread 1/7\ntrack 3 below 1 \"x\" about \"async\"\n"
        "track 4 below 1 \"x\" about \"async\"\n"
        "begin @0 on 3 [c] \"x\" event.id=1 event.track=2\n"
        "begin @1000 on 4 [c] \"y\" event.id=1 event.track=2\n"
        "end @2000 on 3\n"
        "end @3000 on 4\n",
        "slice-on-sibling 1\n");
}

/* ---- stack samples ---- */

#define SAMPLE(tid, ts, sf) "{\"ph\":\"P\",\"pid\":1,\"tid\":" #tid ",\"name\":\"stack\",\"ts\":" #ts ",\"sf\":" #sf "}"
#define FRAMES                                                                                                         \
    "\"stackFrames\":{\"1\":{\"name\":\"main\",\"category\":\"native\"},\"2\":{\"name\":\"work\",\"category\":"        \
    "\"native\","                                                                                                      \
    "\"parent\":1},\"3\":{\"name\":\"sys_read\",\"category\":\"os\",\"parent\":2}}"

static void test_perfetto_write__stack_samples_have_their_stack_and_stand_in_order(void **state)
{
    (void)state;
    assert_shown(
        "{\"traceEvents\":[" SAMPLE(8, 7, 2) "," X("a", 7, 1, 5) "," SAMPLE(7, 3, 3) "," SAMPLE(
            7, 0,
            1) ","
               "{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"name\":\"stack\",\"ts\":4,\"sf\":3,\"args\":{\"cpu\":2}}]," FRAMES
               "}",
        NULL,
        "clocks 6:0 64:0\n"
        "track 1 process 1\n"
        "track 2 below 1 thread 1/8\n"
        "track 3 below 1 thread 1/7\n"
        "metadata\n"
        "sample @0 of 1/7 main user\n"
        "begin @1000 on 3 \"a\"\n"
        "sample @3000 of 1/7 main;work;sys_read kernel\n"
        "sample @4000 cpu 2 of 1/7 main;work;sys_read kernel\n"
        "end @6000 on 3\n"
        "sample @7000 of 1/8 main;work user\n",
        "");
}

static void test_perfetto_write__samples_without_a_home_and_values_without_one_are_counted(void **state)
{
    (void)state;
    assert_shown("{\"traceEvents\":["
                 "{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"name\":\"cycles\",\"ts\":-1,\"sf\":1},"
                 "{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"name\":\"stack\",\"ts\":1,\"sf\":1,\"args\":{\"weight\":2}},"
                 "{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"name\":\"stack\",\"ts\":1},"
                 "{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"sf\":1},"
                 "{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"ts\":1,\"sf\":99}]," FRAMES "}",
                 "sample", "sample @0 of 1/7 main user\nsample @2000 of 1/7 main user\n",
                 "event-sample 3\nsample-values 2\ntime-shifted 1\n");
}

/* As Firefox and samply write them: "12" and "12.1". The numbers are behind all of the trace. */
static void test_perfetto_write__threads_without_numbers_get_some_for_their_samples(void **state)
{
    (void)state;
#define OF(pid, tid, ts) "{\"ph\":\"P\"," pid "\"tid\":" tid ",\"ts\":" ts ",\"sf\":1},"
    assert_shown("{\"traceEvents\":[" OF("\"pid\":\"12\",", "\"12.1\"", "1") OF("\"pid\":\"one\",", "7", "2")
                     OF("\"pid\":4294967296,", "1073741830", "3") OF("", "7", "4") OF("\"pid\":12,", "4294967296", "5")
                         X("a", 7, 1, 2) "," X("b", 8, 1, 2) "]," FRAMES "}",
                 "sample",
                 "sample @1000 of 12/1073741831 main user\nsample @2000 of 1073741832/7 main user\n"
                 "sample @3000 of 1073741833/1073741830 main user\nsample @4000 of 1073741834/7 main user\n"
                 "sample @5000 of 12/1073741835 main user\n",
                 "number-made-up 5\nids-merged 1\n");
    assert_shown("{\"traceEvents\":[" OF("\"pid\":\"one\",", "\"one.1\"", "1") X("a", 7, 1, 2) "]," FRAMES "}", "track",
                 "track 1 process 1073741824 \"one\" about \"pid one, no name\"\ntrack 2 process 1\n"
                 "track 3 below 1 thread 1073741824/1073741825 \"one.1\" about \"tid one.1, no name\"\n"
                 "track 4 below 2 thread 1/7\n",
                 "number-made-up 2\n");
}

/* ---- the whole ---- */

static void test_perfetto_write__what_has_no_home_is_counted(void **state)
{
    (void)state;
    assert_shown(
        "[{\"ph\":\"P\",\"pid\":1,\"tid\":7,\"name\":\"x\",\"ts\":1},{\"ph\":\"N\",\"id\":1,\"pid\":1,\"ts\":1},"
        "{\"ph\":\"v\",\"pid\":1,\"ts\":1},{\"ph\":\"X\",\"pid\":1}," X("a", 7, 5000000000000000, 1) "]",
        "begin", "", "event-beyond-time 1\nevent-sample 1\nevent-object 1\nevent-other 2\n");
}

/* Enough events for several groups. */
static hd_trace *long_trace(void)
{
    hd_json_out json = {0};
    char event[160];
    for (int i = 0; i < 40000; i++) {
        snprintf(event, sizeof event,
                 "%c{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":\"slice %d\",\"ts\":%d,\"dur\":%d}", i ? ',' : '[',
                 i % 7, i % 1000, i, i % 40);
        hd_json_put_text(&json, event);
    }
    hd_json_put_text(&json, "]");
    hd_trace *trace = read_json(json.data, json.size);
    free(json.data);
    return trace;
}

static void test_perfetto_write__groups_hold_the_raw_packets_whatever_the_threads(void **state)
{
    (void)state;
    hd_trace *trace = long_trace();
    size_t raw_size, size;
    ledger l;
    char *raw = write_trace(trace, true, 1, &l, &raw_size);
    hd_bytes inner = {0};
    for (unsigned threads = 1; threads < 5; threads++) {
        char *data = write_trace(trace, false, threads, &l, &size);
        hd_byte_reader file = hd_byte_reader_of(data, size);
        field packet, group;
        unsigned groups = 0;
        inner.size = 0;
        for (; next_field(&packet, &file); groups++) {
            assert_true(packet.number == 1 && next_field(&group, &packet.inner) && group.number == 50);
            assert_int_equal(hd_zlib_decompress(&inner, group.inner.data, group.inner.size, 1 << 20, NULL), HD_OK);
            assert_int_equal(hd_byte_reader_left(&packet.inner), 0);
        }
        assert_true(groups > 2);
        assert_int_equal(inner.size, raw_size);
        assert_memory_equal(inner.data, raw, raw_size);
        free(data);
    }
    hd_bytes_deinit(&inner);
    free(raw);
    hd_trace_free(trace);
}

static void test_perfetto_write__random_documents_are_accounted_for(void **state)
{
    (void)state;
    hd_json_out out = {0};
    for (unsigned i = 0; i < 300; i++) {
        uint64_t seed = i;
        size_t size;
        ledger l;
        out.size = 0;
        random_document(&out, &seed, 60);
        hd_json_put_text(&out, "            "); /* room for damage */
        out.size -= 12;
        for (unsigned d = 0; d < i % 4; d++) {
            size_t end = random_damage(out.data, out.size, out.size / 4, out.size, &seed);
            out.size = end < out.capacity - 4 ? end : out.size;
        }
        hd_trace *trace;
        if (read_text(&trace, out.data, out.size, NULL, 0, NULL) != HD_OK) continue;
        shown *s = calloc(1, sizeof *s);
        char *data = write_trace(trace, i % 2, 0, &l, &size);
        s->checks_only = true;
        show_packets(s, hd_byte_reader_of(data, size));
        free_texts(s);
        free(s);
        free(data);
        hd_trace_free(trace);
    }
    free(out.data);
}

static void test_perfetto_write__a_full_disk_is_an_error(void **state)
{
    (void)state;
    hd_trace *trace = long_trace();
    for (int raw = 0; raw < 2; raw++) {
        hd_error err = {0};
        const hd_write_options options = {.format = "perfetto", .raw = raw};
        hd_status status = hd_trace_write(trace, "/dev/full", &options, &err);
        assert_int_equal(status, HD_ERR_IO);
    }
    hd_trace_free(trace);
}

static void test_perfetto_write__an_empty_trace_is_a_file_all_the_same(void **state)
{
    (void)state;
    assert_shown("[]", NULL, "clocks 6:0 64:0\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perfetto_write__nested_slices_share_a_track),
        cmocka_unit_test(test_perfetto_write__slices_that_cross_go_to_siblings_unchanged),
        cmocka_unit_test(test_perfetto_write__a_stream_is_a_row_of_its_device),
        cmocka_unit_test(test_perfetto_write__pids_and_tids_that_are_no_numbers_are_rows),
        cmocka_unit_test(test_perfetto_write__a_slice_that_is_never_closed_begins_only),
        cmocka_unit_test(test_perfetto_write__times_below_zero_are_shifted_and_real_time_stays),
        cmocka_unit_test(test_perfetto_write__what_is_finer_than_a_nanosecond_is_cut),
        cmocka_unit_test(test_perfetto_write__six_hundred_levels_take_two_tracks),
        cmocka_unit_test(test_perfetto_write__an_empty_slice_before_a_pair_stays_before_it),
        cmocka_unit_test(test_perfetto_write__arguments_keep_their_types),
        cmocka_unit_test(test_perfetto_write__what_is_null_empty_or_deep_has_a_form_that_perfetto_loads),
        cmocka_unit_test(test_perfetto_write__equal_json_is_written_from_memory_and_the_same),
        cmocka_unit_test(test_perfetto_write__each_series_of_a_counter_is_a_track),
        cmocka_unit_test(test_perfetto_write__flows_are_on_the_slices_they_are_bound_to),
        cmocka_unit_test(test_perfetto_write__one_start_reaches_all_of_its_ends),
        cmocka_unit_test(test_perfetto_write__a_flow_that_runs_backward_is_joined_and_named),
        cmocka_unit_test(test_perfetto_write__flow_points_without_slice_or_start_are_lost),
        cmocka_unit_test(test_perfetto_write__flow_points_around_which_nothing_is_take_what_was_before),
        cmocka_unit_test(test_perfetto_write__slices_are_points_of_flows_by_their_bind_id),
        cmocka_unit_test(test_perfetto_write__asynchronous_slices_have_tracks_by_id),
        cmocka_unit_test(test_perfetto_write__asynchronous_slices_that_cross_do_not_end_each_other),
        cmocka_unit_test(test_perfetto_write__stack_samples_have_their_stack_and_stand_in_order),
        cmocka_unit_test(test_perfetto_write__samples_without_a_home_and_values_without_one_are_counted),
        cmocka_unit_test(test_perfetto_write__threads_without_numbers_get_some_for_their_samples),
        cmocka_unit_test(test_perfetto_write__what_has_no_home_is_counted),
        cmocka_unit_test(test_perfetto_write__groups_hold_the_raw_packets_whatever_the_threads),
        cmocka_unit_test(test_perfetto_write__random_documents_are_accounted_for),
        cmocka_unit_test(test_perfetto_write__a_full_disk_is_an_error),
        cmocka_unit_test(test_perfetto_write__an_empty_trace_is_a_file_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
