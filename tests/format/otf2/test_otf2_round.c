/* test_otf2_round.c - what is written as an OTF2 archive comes back as what it was */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixtures.h"
#include "random_trace.h"
#include "read_text.h"
#include "rounds.h"

static char folder[256];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/heddle-otf2-round-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

typedef struct ledger {
    uint64_t lost_events, lost_parts, changed;
} ledger;

static void keep_row(void *user, const hd_ledger_row *row)
{
    ledger *l = user;
    bool event = strcmp(row->code, "otf2.event-without-time") == 0 || strcmp(row->code, "otf2.flow-unmatched") == 0 ||
                 strcmp(row->code, "otf2.metadata-event-lost") == 0;
    if (row->level == HD_LEDGER_LOSS) *(event ? &l->lost_events : &l->lost_parts) += row->count;
    if (row->level == HD_LEDGER_REPAIR) l->changed += row->count;
}

/* A text, by way of an archive. */
static void go_round(hd_trace **before, hd_trace **after, ledger *l, const char *json, size_t size)
{
    char path[512];
    hd_error err = {0};
    *l = (ledger){0};
    hd_write_options options = {.format = "otf2", .clean = true, .ledger = keep_row, .ledger_user = l};
    snprintf(path, sizeof path, "%s/out.otf2", folder);
    if (read_text(before, json, size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_trace_write(*before, path, &options, &err) != HD_OK) fail_msg("%s", err.message);
    if (hd_trace_read(after, path, NULL, &err) != HD_OK) fail_msg("%s", err.message);
    for (size_t i = 0; i < hd_trace_ledger_count(*after); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(*after, i);
        if (row->level != HD_LEDGER_NOTE) fail_msg("the linter finds %s in: %.2000s", row->code, json);
    }
}

/* ---- events as lines ---- */

typedef struct lines {
    char **list;
    size_t count;
} lines;

static void add_line(lines *out, const char *text)
{
    if ((out->count & (out->count - 1)) == 0)
        out->list = realloc(out->list, (out->count ? out->count * 2 : 1) * sizeof *out->list);
    out->list[out->count++] = strdup(text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct text {
    char data[1 << 16];
    size_t size;
} text;

static void put(text *out, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(out->data + out->size, sizeof out->data - out->size, format, list);
    va_end(list);
    assert_true(n >= 0 && (size_t)n < sizeof out->data - out->size);
    out->size += (size_t)n;
}

static void put_string(text *out, const hd_trace *trace, uint32_t id)
{
    hd_string s = hd_trace_string(trace, id);
    put(out, "|");
    for (size_t i = 0; i < s.size; i++) {
        if (s.data[i])
            put(out, "%c", s.data[i]);
        else
            put(out, "\xe2\x90\x80");
    }
}

static void put_track(text *out, const hd_trace *trace, uint32_t index)
{
    if (index == HD_NONE) {
        put(out, "|no track");
        return;
    }
    const hd_track *track = hd_trace_track_at(trace, hd_trace_track_at(trace, index)->same_as);
    put(out, "|%d", track->kind);
    put_string(out, trace, track->pid.text);
    put_string(out, trace, track->tid.text);
}

/* Numbers by value, since 1.50 comes back as 1.5 and samples of a counter have one type. */
static void put_value(text *out, const hd_trace *trace, const hd_event *event, hd_value value)
{
    double number;
    bool numeric = value.type == HD_ARG_INT || value.type == HD_ARG_DECIMAL || value.type == HD_ARG_NUMBER;
    if (numeric && (event->kind == HD_KIND_COUNTER || value.type == HD_ARG_DECIMAL) &&
        hd_value_double(&number, trace, value)) {
        put(out, "=%.17g", number);
        return;
    }
    put(out, ":%d", value.type);
    if (value.type >= HD_ARG_NUMBER)
        put_string(out, trace, (uint32_t)value.bits);
    else
        put(out, "=%lld", (long long)(value.type == HD_ARG_NULL ? 0 : value.bits));
}

/* Arguments of the end of a slice are the slice's. */
static void put_args(lines *args, const hd_trace *trace, const hd_event *event)
{
    if (!event->args) return;
    const hd_shape *shape = hd_trace_shape_at(trace, event->shape);
    for (uint32_t i = 0; i < shape->key_count; i++) {
        text one = {.size = 0};
        put(&one, "%d", shape->keys[i].scope);
        put_string(&one, trace, shape->keys[i].key);
        put_value(
            &one, trace, event,
            (hd_value){(hd_arg_type)shape->keys[i].type, hd_column_at(&event->args->columns[i], event->args_row)});
        add_line(args, one.data);
    }
}

static void put_sorted(text *out, lines *args)
{
    if (args->count) qsort(args->list, args->count, sizeof *args->list, by_text);
    for (size_t i = 0; i < args->count; i++) {
        put(out, " %s", args->list[i]);
        free(args->list[i]);
    }
    free(args->list);
}

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    uint32_t at;
    hd_event event;
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&event, block, at);
    return event;
}

static void add_event(lines *out, const hd_trace *trace, const hd_event *event)
{
    static text line;
    lines args = {0};
    line.size = 0;
    bool slice = event->kind == HD_KIND_SLICE;
    put(&line, "%s %c %u %lld %lld", hd_kind_name(event->kind), slice ? 'X' : event->phase, event->flags,
        (long long)event->start_ns, (long long)event->duration_ns);
    put_track(&line, trace, event->track);
    put_string(&line, trace, event->name);
    put_string(&line, trace, event->category);
    put(&line, "|%u", event->id_type);
    if ((event->id_type & HD_ID_VALUE_MASK) > HD_ID_INT)
        put_string(&line, trace, (uint32_t)event->id);
    else
        put(&line, " %lld", (long long)event->id);
    put_args(&args, trace, event);
    if (slice && event->partner >= 0) {
        hd_event end = event_at(trace, HD_KIND_END, (uint64_t)event->partner);
        put_args(&args, trace, &end);
    }
    put_sorted(&line, &args);
    add_line(out, line.data);
}

static bool names_a_track(const hd_trace *trace, const hd_event *event)
{
    static const char *const names[] = {"process_name", "process_labels", "process_sort_index", "thread_name",
                                        "thread_sort_index"};
    hd_string name = hd_trace_string(trace, event->name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (name.size == strlen(names[i]) && memcmp(name.data, names[i], name.size) == 0) return true;
    }
    return false;
}

static lines lines_of(const hd_trace *trace)
{
    lines out = {0};
    for (int kind = 0; kind < HD_KIND_COUNT; kind++) {
        for (uint64_t row = 0; row < hd_trace_row_count(trace, (hd_kind)kind); row++) {
            hd_event event = event_at(trace, (hd_kind)kind, row);
            bool named = kind == HD_KIND_META && names_a_track(trace, &event);
            if (named || (kind == HD_KIND_END && event.partner >= 0)) continue;
            add_event(&out, trace, &event);
        }
    }
    if (out.count) qsort(out.list, out.count, sizeof *out.list, by_text);
    return out;
}

static void free_lines(lines *l)
{
    for (size_t i = 0; i < l->count; i++) free(l->list[i]);
    free(l->list);
}

/* Both have the same events, but for `lost` of a. */
static void expect_same_events(const hd_trace *before, const hd_trace *after, uint64_t lost, const char *json)
{
    lines a = lines_of(before), b = lines_of(after);
    size_t i = 0, k = 0, gone = 0;
    while (i < a.count || k < b.count) {
        int order = i == a.count ? 1 : k == b.count ? -1 : strcmp(a.list[i], b.list[k]);
        if (order > 0) fail_msg("new: %s\nbefore: %s\nin: %.4000s", b.list[k], i < a.count ? a.list[i] : "", json);
        gone += order < 0;
        if (order < 0 && gone > lost)
            fail_msg("lost: %s\nnow: %s\nin: %.4000s", a.list[i], k < b.count ? b.list[k] : "", json);
        i++;
        k += order == 0;
    }
    assert_int_equal(gone, lost);
    free_lines(&a);
    free_lines(&b);
}

static bool has_rows(const hd_trace *trace, const hd_track *track)
{
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *t = hd_trace_track_at(trace, i);
        uint64_t rows = 0;
        for (int kind = 0; kind < HD_KIND_COUNT; kind++) rows += kind == HD_KIND_META ? 0 : t->rows[kind];
        if (rows && (i == track->id || t->parent == track->id)) return true;
    }
    return false;
}

static void expect_same_tracks(const hd_trace *before, const hd_trace *after)
{
    for (int pass = 0; pass < 2; pass++) {
        const hd_trace *one = pass ? after : before, *other = pass ? before : after;
        for (uint32_t i = 0; i < hd_trace_track_count(one); i++) {
            const hd_track *track = hd_trace_track_at(one, i);
            static text a, b;
            bool found = false;
            if (!has_rows(one, track)) continue;
            a.size = 0;
            put_track(&a, one, i);
            put_string(&a, one, track->name);
            put_string(&a, one, track->labels);
            put(&a, " %lld %lld %lld %lld", (long long)track->sort_index, (long long)track->device,
                (long long)track->stream, (long long)track->rank);
            for (uint32_t k = 0; k < hd_trace_track_count(other) && !found; k++) {
                const hd_track *t = hd_trace_track_at(other, k);
                b.size = 0;
                put_track(&b, other, k);
                put_string(&b, other, t->name);
                put_string(&b, other, t->labels);
                put(&b, " %lld %lld %lld %lld", (long long)t->sort_index, (long long)t->device, (long long)t->stream,
                    (long long)t->rank);
                found = strcmp(a.data, b.data) == 0;
            }
            if (!found) fail_msg("%s: no track %s", pass ? "before" : "after", a.data);
        }
    }
}

static void expect_same_facts(const hd_trace *before, const hd_trace *after)
{
    const hd_trace_facts *a = hd_trace_facts_of(before), *b = hd_trace_facts_of(after);
    assert_int_equal(a->rank, b->rank);
    assert_int_equal(a->world_size, b->world_size);
    assert_int_equal(hd_trace_metadata_count(before), hd_trace_metadata_count(after));
    for (size_t i = 0; i < hd_trace_metadata_count(before); i++) {
        const hd_metadata *m = hd_trace_metadata_at(before, i), *n = hd_trace_metadata_at(after, i);
        hd_string key = hd_trace_string(before, m->key), same = hd_trace_string(after, n->key);
        hd_string value = hd_trace_string(before, m->value), now = hd_trace_string(after, n->value);
        assert_int_equal(key.size, same.size);
        assert_memory_equal(key.data, same.data, key.size);
        assert_int_equal(value.size, now.size);
        assert_memory_equal(value.data, now.data, value.size);
    }
}

static void expect_round(const char *json)
{
    hd_trace *before, *after;
    ledger l;
    go_round(&before, &after, &l, json, strlen(json));
    expect_same_events(before, after, l.lost_events, json);
    expect_same_tracks(before, after);
    expect_same_facts(before, after);
    assert_int_equal(l.lost_parts, 0);
    hd_trace_free(before);
    hd_trace_free(after);
}

/* ---- tests ---- */

static void test_otf2_round__slices_arguments_and_names(void **state)
{
    (void)state;
    expect_round(
        "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0}],\"distributedInfo\":{\"rank\":3,\"world_size\":8},"
        "\"baseTimeNanoseconds\":1711964646000000000,\"traceEvents\":["
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"python\"}},"
        "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":1,\"args\":{\"labels\":\"CPU\"}},"
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"args\":{\"sort_index\":-5}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"main\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":2,\"args\":{\"sort_index\":9}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":2,\"ts\":445867652.655,\"dur\":156.777,"
        "\"tts\":5,\"args\":{\"i\":-7,\"d\":0.25,\"s\":\"text\",\"b\":true,\"n\":null,\"j\":[1, 2],\"\":4,"
        "\"u\":18446744073709551615,\"e\":1e-9,\"long\":0.12345678901234567}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":445867653,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"\",\"cat\":\"c\",\"pid\":\"x\",\"tid\":2,\"ts\":445867653,\"dur\":1},"
        "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":5,\"ts\":445867653,\"args\":{\"at\":\"begin\"}},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":5,\"ts\":445867654,\"args\":{\"at end\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":445867653,\"dur\":10,"
        "\"args\":{\"device\":0,\"stream\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"crosses\",\"pid\":0,\"tid\":7,\"ts\":445867658,\"dur\":10,"
        "\"args\":{\"device\":0,\"stream\":7}}]}");
}

static void test_otf2_round__every_other_kind(void **state)
{
    (void)state;
    expect_round(
        "[{\"ph\":\"i\",\"name\":\"here\",\"s\":\"g\",\"pid\":1,\"tid\":2,\"ts\":5,\"args\":{\"a\":1}},"
        "{\"ph\":\"I\",\"name\":\"old\",\"pid\":1,\"tid\":2,\"ts\":5},"
        "{\"ph\":\"C\",\"cat\":\"mem\",\"name\":\"memory\",\"pid\":1,\"ts\":6,\"args\":{\"used\":5,\"free\":7.5}},"
        "{\"ph\":\"C\",\"name\":\"memory\",\"pid\":1,\"ts\":7,\"args\":{\"value\":8,\"why\":\"text\"}},"
        "{\"ph\":\"C\",\"name\":\"foo value\",\"pid\":1,\"ts\":7,\"args\":{\"value\":8}},"
        "{\"ph\":\"C\",\"name\":\"used\",\"pid\":1,\"ts\":7,\"id\":\"0x7\",\"args\":{\"used\":8}},"
        "{\"ph\":\"C\",\"name\":\"no numbers\",\"pid\":1,\"ts\":7,\"args\":{\"used\":\"text\"}},"
        "{\"ph\":\"b\",\"cat\":\"a\",\"name\":\"async\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":8,\"args\":{\"k\":1}}"
        ","
        "{\"ph\":\"n\",\"cat\":\"a\",\"name\":\"point\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":9},"
        "{\"ph\":\"e\",\"cat\":\"a\",\"name\":\"async\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":10,\"args\":{\"e\":2}"
        "},"
        "{\"ph\":\"S\",\"cat\":\"a\",\"name\":\"old\",\"id\":\"0x1\",\"pid\":1,\"tid\":2,\"ts\":8},"
        "{\"ph\":\"F\",\"cat\":\"a\",\"name\":\"its end\",\"id\":\"0x1\",\"pid\":1,\"tid\":77,\"ts\":9},"
        "{\"ph\":\"X\",\"name\":\"no end\",\"pid\":1,\"tid\":2,\"ts\":8},"
        "{\"ph\":\"B\",\"name\":\"never ended\",\"pid\":1,\"tid\":3,\"ts\":8},"
        "{\"ph\":\"b\",\"cat\":\"a\",\"name\":\"open\",\"id2\":{\"local\":5},\"pid\":1,\"tid\":2,\"ts\":8},"
        "{\"ph\":\"P\",\"name\":\"sample\",\"id\":1e5,\"pid\":1,\"tid\":2,\"ts\":11,\"sf\":3},"
        "{\"ph\":\"N\",\"name\":\"object\",\"id\":\"0x5\",\"pid\":1,\"tid\":2,\"ts\":12},"
        "{\"ph\":\"E\",\"name\":\"lone end\",\"pid\":1,\"tid\":9,\"ts\":13},"
        "{\"ph\":\"V\",\"name\":\"what\",\"pid\":1,\"tid\":2,\"ts\":14},"
        "{\"ph\":\"X\",\"name\":\"float pid\",\"pid\":1.5,\"tid\":\"t\",\"ts\":14,\"dur\":1},"
        "{\"ph\":\"X\",\"name\":\"no pid\",\"ts\":14,\"dur\":1}]");
}

static void test_otf2_round__flows_copies_and_collectives(void **state)
{
    (void)state;
    expect_round(
        "[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaMemcpyAsync\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":2},"
        "{\"ph\":\"s\",\"cat\":\"ac2g: x\",\"name\":\"ac2g\",\"id\":5,\"pid\":9,\"tid\":9,\"ts\":1,\"args\":{\"a\":1}},"
        "{\"ph\":\"t\",\"cat\":\"ac2g: x\",\"name\":\"ac2g\",\"id\":5,\"pid\":9,\"tid\":9,\"ts\":2},"
        "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"ac2g: x\",\"name\":\"ac2g\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":4},"
        "{\"ph\":\"s\",\"name\":\"no category\",\"id\":\"s\",\"pid\":9,\"tid\":9,\"ts\":1},"
        "{\"ph\":\"f\",\"name\":\"no category\",\"id\":\"s\",\"pid\":0,\"tid\":7,\"ts\":3},"
        "{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"no category\",\"id\":\"s\",\"pid\":0,\"tid\":7,\"ts\":8},"
        "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":6,\"pid\":9,\"tid\":9,\"ts\":2},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy DtoH (Device -> Pinned)\",\"pid\":0,\"tid\":7,\"ts\":4,"
        "\"dur\":2,\"args\":{\"device\":0,\"stream\":7,\"bytes\":4096}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclKernel_AllReduce\",\"pid\":0,\"tid\":7,\"ts\":8,\"dur\":1,"
        "\"args\":{\"device\":0,\"stream\":7,\"Collective name\":\"allreduce\",\"In msg nelems\":10,"
        "\"Out msg nelems\":10,\"dtype\":\"Float\",\"Process Group Name\":\"3\",\"Process Group Ranks\":\"[0]\"}},"
        "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"s\":\"t\",\"pid\":9,\"tid\":9,\"ts\":3,"
        "\"args\":{"
        "\"Total Reserved\":100,\"Total Allocated\":50,\"Bytes\":50,\"Addr\":1,\"Device Id\":0,\"Device Type\":1}}]");
}

static void test_otf2_round__times_below_zero_and_far_outside(void **state)
{
    (void)state;
    expect_round("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":-5,\"dur\":2},"
                 "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":7,\"dur\":2}]");
    expect_round("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1000,\"dur\":2},"
                 "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":0,\"dur\":7},"
                 "{\"ph\":\"i\",\"name\":\"Record Window End\",\"s\":\"g\",\"pid\":1,\"tid\":2,\"ts\":0}]");
}

static unsigned compared; /* of those where the ledger has nothing but whole events */

static void round_of(const char *json, size_t size)
{
    hd_trace *before, *after;
    ledger l;
    go_round(&before, &after, &l, json, size);
    if (!l.lost_parts && !l.changed) {
        expect_same_events(before, after, l.lost_events, json);
        compared++;
    }
    if (!l.lost_parts) expect_same_facts(before, after);
    hd_trace_free(before);
    hd_trace_free(after);
}

static void test_otf2_round__random_documents(void **state)
{
    (void)state;
    hd_json_out out = {0};
    for (unsigned i = 0, count = hd_test_rounds(10); i < count; i++) {
        uint64_t seed = i;
        out.size = 0;
        random_document(&out, &seed, 40);
        hd_json_put(&out, "", 1);
        round_of(out.data, out.size - 1);
    }
    free(out.data);
}

/* ---- random events that an archive can hold whole ---- */

static void put_format(hd_json_out *out, const char *format, ...)
{
    char buffer[512];
    va_list list;
    va_start(list, format);
    vsnprintf(buffer, sizeof buffer, format, list);
    va_end(list);
    hd_json_put_text(out, buffer);
}

static void put_arguments(hd_json_out *out, uint64_t *seed)
{
    static const char *const values[] = {"1",    "-7.25", "\"text\"", "true", "null", "[1,{\"a\":2}]",
                                         "1e30", "{}",    "0.1"};
    unsigned count = random_next(seed) % 4;
    hd_json_put_text(out, ",\"args\":{");
    for (unsigned i = 0; i < count; i++)
        put_format(out, "%s\"key %u\":%s", i ? "," : "", i * 3 + random_next(seed) % 3, values[random_next(seed) % 9]);
    hd_json_put_text(out, "}}");
}

/* A pair of flow points, of async points, or one event; slices cross. */
static void put_random_event(hd_json_out *out, uint64_t *seed, unsigned number)
{
    unsigned pid = 1 + random_next(seed) % 2, tid = 1 + random_next(seed) % 3, ts = 1 + random_next(seed) % 50;
    unsigned later = ts + random_next(seed) % 20, ns = random_next(seed) % 1000;
    if (number) hd_json_put_text(out, ",\n");
#define WHERE "\"pid\":%u,\"tid\":%u,\"ts\":%u.%03u"
    switch (random_next(seed) % 8) {
    case 0:
        put_format(out, "{\"ph\":\"s\",\"cat\":\"f\",\"name\":\"flow\",\"id\":%u," WHERE, number, pid, tid, ts, ns);
        put_arguments(out, seed);
        put_format(out, ",{\"ph\":\"f\",%s\"cat\":\"f\",\"name\":\"flow\",\"id\":%u," WHERE,
                   number & 1 ? "\"bp\":\"e\"," : "", number, 3 - pid, tid, later, 999);
        put_arguments(out, seed);
        break;
    case 1:
        put_format(out, "{\"ph\":\"b\",\"cat\":\"a%u\",\"name\":\"async\",\"id\":%u," WHERE, tid, number, pid, tid, ts,
                   ns);
        put_arguments(out, seed);
        put_format(out, ",{\"ph\":\"e\",\"cat\":\"a%u\",\"name\":\"async\",\"id\":%u," WHERE, tid, number, pid, tid,
                   later, 999);
        put_arguments(out, seed);
        break;
    case 2:
        put_format(out, "{\"ph\":\"C\",\"name\":\"counter %u\"," WHERE ",\"args\":{\"a\":%u,\"b\":%u.5}}", pid, pid,
                   tid, ts, ns, later, ns);
        break;
    case 3:
        put_format(out, "{\"ph\":\"i\",\"name\":\"instant %u\",\"s\":\"%c\"," WHERE, tid, "gpt"[tid - 1], pid, tid, ts,
                   ns);
        put_arguments(out, seed);
        break;
    default:
        put_format(out, "{\"ph\":\"X\",\"cat\":\"c%u\",\"name\":\"slice %u\",\"dur\":%u.%03u," WHERE, pid, number % 5,
                   later - ts, ns, pid, tid, ts, ns);
        put_arguments(out, seed);
    }
#undef WHERE
}

static void test_otf2_round__random_events(void **state)
{
    (void)state;
    hd_json_out out = {0};
    for (unsigned i = 0, count = hd_test_rounds(15); i < count; i++) {
        uint64_t seed = i;
        out.size = 0;
        hd_json_put_text(&out, "[");
        for (unsigned k = 0; k < 60; k++) put_random_event(&out, &seed, k);
        hd_json_put_text(&out, "]");
        hd_json_put(&out, "", 1);
        expect_round(out.data);
    }
    free(out.data);
}

static void test_otf2_round__fixtures(void **state)
{
    (void)state;
    fixtures all = fixtures_load("tests/format/chrome");
    compared = 0;
    for (size_t i = 0; i < all.count; i++) round_of(all.list[i].text, all.list[i].size);
    fixtures_free(&all);
    assert_true(compared > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otf2_round__slices_arguments_and_names),
        cmocka_unit_test(test_otf2_round__every_other_kind),
        cmocka_unit_test(test_otf2_round__flows_copies_and_collectives),
        cmocka_unit_test(test_otf2_round__times_below_zero_and_far_outside),
        cmocka_unit_test(test_otf2_round__random_documents),
        cmocka_unit_test(test_otf2_round__random_events),
        cmocka_unit_test(test_otf2_round__fixtures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
