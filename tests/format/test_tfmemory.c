/* test_tfmemory.c - memory profiles of TensorFlow: values as they stand in tests/format/tfmemory, hostile text */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "read_text.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))
#define PROFILE(snapshots)                                                                                             \
    "{\"memoryProfilePerAllocator\":{\"A\":{\"memoryProfileSnapshots\":[" snapshots "]}},\"numHosts\":1}"

static const fixture *two(void **state)
{
    const fixtures *all = *state;
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->list[i].name, "two.memory_profile") == 0) return &all->list[i];
    }
    fail_msg("tests/format/tfmemory/two.memory_profile.json is missing");
    return NULL;
}

static hd_trace *read_fine(const char *text, size_t size)
{
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, text, size, NULL, 0, &err) != HD_OK) fail_msg("%s", err.message);
    assert_string_equal(hd_trace_facts_of(trace)->format, "tfmemory");
    return trace;
}

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    assert_true(row < hd_trace_row_count(trace, kind));
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&event, block, at);
    return event;
}

static void assert_text(const hd_trace *trace, uint32_t id, const char *wanted)
{
    hd_string s = hd_trace_string(trace, id);
    assert_int_equal(s.size, strlen(wanted));
    assert_memory_equal(s.data, wanted, s.size);
}

static hd_value arg(const hd_trace *trace, const hd_event *event, const char *key)
{
    hd_value value = {0};
    if (!hd_event_arg(&value, trace, event, hd_trace_find_string(trace, key, strlen(key)))) fail_msg("no %s", key);
    return value;
}

static void assert_int_arg(const hd_trace *trace, const hd_event *event, const char *key, int64_t wanted)
{
    hd_value value = arg(trace, event, key);
    assert_int_equal(value.type, HD_ARG_INT);
    assert_int_equal(value.bits, wanted);
}

static void assert_text_arg(const hd_trace *trace, const hd_event *event, const char *key, hd_arg_type type,
                            const char *wanted)
{
    hd_value value = arg(trace, event, key);
    assert_int_equal(value.type, type);
    assert_text(trace, (uint32_t)value.bits, wanted);
}

static const hd_read_options strict = {.strict = true};

static void expect_status(const char *text, hd_status wanted, uint64_t offset)
{
    hd_trace *trace;
    hd_error err = {0};
    hd_status status = read_text(&trace, text, strlen(text), &strict, 0, &err);
    if (status == HD_OK) hd_trace_free(trace);
    if (status != wanted) fail_msg("%s: status %d: %s", text, status, err.message);
    if (offset != HD_OFFSET_NONE && err.offset != offset)
        fail_msg("%s: at %llu: %s", text, (unsigned long long)err.offset, err.message);
}

/* ---- what is told ---- */

static char *dump_fixture(const fixture *f)
{
    return dump_text(f->text, f->size, NULL, 0, DUMP_ALL);
}

static void test_tfmemory__fixtures_give_their_dumps(void **state)
{
    fixtures_expect(*state, dump_fixture);
}

static void test_tfmemory__an_allocation_keeps_every_value_and_its_type(void **state)
{
    const fixture *f = two(state);
    hd_trace *trace = read_fine(f->text, f->size);
    hd_event event = event_at(trace, HD_KIND_SLICE, 0);
    assert_text(trace, event.name, "allocation");
    assert_text(trace, event.category, "memory");
    assert_int_equal(event.start_ns, 1000);
    assert_int_equal(event.start_ps, 1);
    assert_int_equal(event.end_ps, 1);
    assert_int_equal(event.duration_ns, 0);
    assert_text_arg(trace, &event, "memoryActivity", HD_ARG_STRING, "ALLOCATION");
    assert_int_arg(trace, &event, "requestedBytes", 4000);
    assert_int_arg(trace, &event, "stepId", -1);
    assert_text_arg(trace, &event, "address", HD_ARG_NUMBER, "18446744073709551360"); /* above int64 */
    assert_text_arg(trace, &event, "tfOpName", HD_ARG_STRING, "1234"); /* a name, whatever it looks like */
    assert_text_arg(trace, &event, "tensorShape", HD_ARG_STRING, "[10, 100]");
    event = event_at(trace, HD_KIND_SLICE, 1);
    assert_text(trace, event.name, "deallocation");
    assert_text_arg(trace, &event, "newer", HD_ARG_JSON, "{\"x\": [1, null]}");
    hd_trace_free(trace);
}

static void test_tfmemory__counters_are_named_by_the_allocator_and_stand_on_its_track(void **state)
{
    const fixture *f = two(state);
    hd_trace *trace = read_fine(f->text, f->size);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_COUNTER), 3);
    hd_event event = event_at(trace, HD_KIND_COUNTER, 0);
    const hd_track *track = hd_trace_track_at(trace, event.track);
    assert_text(trace, event.name, "GPU_0_bfc");
    assert_text(trace, track->name, "GPU_0_bfc");
    assert_int_equal(track->tid.type, HD_IDENT_STRING);
    assert_text(trace, hd_trace_track_at(trace, track->parent)->name, "TensorFlow memory");
    assert_int_arg(trace, &event, "heapAllocatedBytes", 4096);
    assert_int_arg(trace, &event, "freeMemoryBytes", 12884901888);
    uint32_t shape = event.shape;
    assert_int_equal(arg(trace, &event, "fragmentation").type, HD_ARG_DECIMAL);
    event = event_at(trace, HD_KIND_COUNTER, 1); /* 0 and 0.125 are of one series */
    assert_int_equal(event.shape, shape);
    event = event_at(trace, HD_KIND_COUNTER, 2); /* before the session began */
    assert_int_equal(event.start_ns, -1);
    assert_int_equal(event.start_ps, 999);
    hd_trace_free(trace);
}

static void test_tfmemory__a_snapshot_of_both_lists_is_one_event(void **state)
{
    const fixture *f = two(state);
    hd_trace *trace = read_fine(f->text, f->size);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 3);
    assert_int_equal(hd_trace_ledger_count(trace), 1);
    assert_string_equal(hd_trace_ledger_at(trace, 0)->code, "tfmemory.snapshot-repeated");
    assert_int_equal(hd_trace_ledger_at(trace, 0)->count, 1);
    hd_trace_free(trace);
    /* the same twice in one list happened twice */
    const char *text = PROFILE("{\"timeOffsetPs\":\"1\"},{\"timeOffsetPs\":\"1\"}");
    trace = read_fine(text, strlen(text));
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 2);
    hd_trace_free(trace);
}

static void test_tfmemory__all_but_snapshots_is_metadata(NO_STATE)
{
    const char *text = PROFILE("{}");
    hd_trace *trace = read_fine(text, strlen(text));
    hd_string s = hd_trace_metadata_find(trace, "memoryProfile");
    const char *wanted = "{\"memoryProfilePerAllocator\":{\"A\":{}},\"numHosts\":1}";
    assert_int_equal(s.size, strlen(wanted));
    assert_memory_equal(s.data, wanted, s.size);
    hd_trace_free(trace);
}

static void test_tfmemory__a_chrome_trace_made_of_one_is_a_chrome_trace(void **state)
{
    static const hd_write_options chrome = {.format = "chrome"};
    const fixture *f = two(state);
    size_t size;
    hd_trace *trace = read_fine(f->text, f->size), *again;
    char *text = write_text(trace, &chrome, &size);
    assert_int_equal(read_text(&again, text, size, NULL, 0, NULL), HD_OK);
    assert_string_equal(hd_trace_facts_of(again)->format, "chrome");
    assert_int_equal(hd_trace_row_count(again, HD_KIND_COUNTER), 3);
    hd_trace_free(again);
    hd_trace_free(trace);
    free(text);
}

/* More shapes than a builder keeps: what is beyond stands as text. */
static void test_tfmemory__too_many_shapes_lose_nothing(NO_STATE)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    fputs("{\"memoryProfilePerAllocator\":{\"A\":{\"memoryProfileSnapshots\":[", file);
    for (int i = 0; i < 5000; i++) fprintf(file, "%s{\"activityMetadata\":{\"k%d\":\"%d\"}}", i ? "," : "", i, i);
    fputs("]}}}", file);
    fclose(file);
    hd_trace *trace = read_fine(text, size);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 5000);
    hd_event event = event_at(trace, HD_KIND_SLICE, 4999);
    assert_non_null(event.args);
    assert_text(trace, (uint32_t)hd_column_at(&event.args->columns[0], event.args_row),
                "{\"args\":{\"k4999\":\"4999\"}}");
    hd_trace_free(trace);
    free(text);
}

/* ---- hostile text ---- */

static void test_tfmemory__what_is_no_profile_is_an_error_with_its_place(NO_STATE)
{
    expect_status("{\"memoryProfilePerAllocator\":7}", HD_ERR_DAMAGED, 29);
    expect_status("{\"memoryProfilePerAllocator\":{\"A\":[]}}", HD_ERR_DAMAGED, 34);
    expect_status("{\"memoryProfilePerAllocator\":{\"A\":{}}} x", HD_ERR_DAMAGED, 39);
    expect_status("{\"memoryProfilePerAllocator\":{\"A\":{}},}", HD_ERR_DAMAGED, 38);
    expect_status("{\"memoryProfilePerAllocator\":{},\"b\":01}", HD_ERR_DAMAGED, 36);
    expect_status("{\"memoryProfilePerAllocator\":{\"\xff\":{}}}", HD_ERR_DAMAGED, 31);
    expect_status(PROFILE("7"), HD_ERR_DAMAGED, 61);
    expect_status(PROFILE("{\"timeOffsetPs\":\"1.5\"}"), HD_ERR_DAMAGED, 77);
    expect_status(PROFILE("{\"timeOffsetPs\":\"9223372036854775808\"}"), HD_ERR_DAMAGED, 77);
    expect_status(PROFILE("{\"aggregationStats\":[]}"), HD_ERR_DAMAGED, 81);
    expect_status(PROFILE("{\"activityMetadata\":\"x\"}"), HD_ERR_DAMAGED, 81);
    expect_status(PROFILE("{\"aggregationStats\":null,\"activityMetadata\":null,\"timeOffsetPs\":-7}"), HD_OK, 0);
    expect_status(PROFILE("{\"timeOffsetPs\":\"-9223372036854775807\"}"), HD_OK, 0);
}

static void test_tfmemory__text_that_ends_anywhere_is_an_error(void **state)
{
    const fixture *f = two(state);
    size_t known = (size_t)(strstr(f->text, "PerAllocator\":") - f->text) + 14;
    for (size_t size = 1; size < f->size - 1; size++) { /* the last byte is a line's end */
        hd_trace *trace;
        hd_error err = {0};
        hd_status status = read_text(&trace, f->text, size, &strict, 0, &err);
        if (status == HD_OK) fail_msg("%zu bytes were taken for all of it", size);
        if (err.offset > size) fail_msg("%zu bytes: at %llu", size, (unsigned long long)err.offset);
        if (size >= known) assert_int_equal(status, HD_ERR_DAMAGED);
    }
}

/* ---- damage costs what it is in ---- */

static uint64_t lost(const hd_trace *trace)
{
    uint64_t count = 0;
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_NOTE) continue;
        count += row->count;
        assert_true(row->first_offset != HD_OFFSET_NONE);
    }
    return count;
}

enum { SNAPSHOTS = 7 };

/* Three allocators of SNAPSHOTS snapshots; in one of them, number `at`, stands `bad`. */
static char *profile_with(const char *bad, int allocator, int at)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    fputs("{\"memoryProfilePerAllocator\":{", file);
    for (int a = 0; a < 3; a++) {
        fprintf(file, "%s\"A%d\":{\"profileSummary\":{\"x\":1},\"memoryProfileSnapshots\":[", a ? "," : "", a);
        for (int i = 0; i < SNAPSHOTS; i++) {
            if (a == allocator && i == at)
                fprintf(file, "%s%s", i ? "," : "", bad);
            else
                fprintf(file, "%s{\"timeOffsetPs\":\"%d000\",\"activityMetadata\":{\"stepId\":\"%d\"}}", i ? "," : "",
                        100 * a + i + 1, i);
        }
        fputs("],\"activeAllocations\":[{\"numOccurrences\":\"1\"}]}", file);
    }
    fputs("},\"numHosts\":1}", file);
    fclose(file);
    return text;
}

static bool has_time(const hd_trace *trace, int64_t time)
{
    bool found = false;
    for (uint64_t i = 0; i < hd_trace_row_count(trace, HD_KIND_SLICE); i++)
        found |= event_at(trace, HD_KIND_SLICE, i).start_ns == time;
    return found;
}

static void test_tfmemory__a_bad_snapshot_costs_at_most_itself(NO_STATE)
{
    static const char *const bad[] = {
        "7",
        "\"x\"",
        "nul",
        "[1,2]",
        "",
        "{\"timeOffsetPs\":\"1.5\"}",
        "{\"timeOffsetPs\":\"9223372036854775808\"}",
        "{\"timeOffsetPs\":\"55\",\"activityMetadata\":[]}",
        "{\"timeOffsetPs\":\"55\",\"activityMetadata\":{\"stepId\":01}}",
        "{\"timeOffsetPs\":\"55\",\"activityMetadata\":{\"stepId\":\"\xff\"}}",
        "{\"timeOffsetPs\":\"55\",\"activityMetadata\":{\"stepId:\"1\"}}",
        "{\"timeOffsetPs\":\"55\",\"activityMetadata\":{\"stepId\" \"1\"}}",
        "{\"timeOffsetPs\":\"55\" \"activityMetadata\":{\"stepId\":\"1\"}}",
        "{\"timeOffsetPs\":\"55\",\"activityMetadata\":{\"stepId\":\"1\"}",
        "\"timeOffsetPs\":\"55\",\"activityMetadata\":{\"stepId\":\"1\"}}",
        "{\"timeOffsetPs\":\"5\n5\"}",
        "{\"timeOffsetPs\":NaN}",
        "{\"timeOffsetPs\"}",
        "{\"timeOffsetPs\":\"55\"]",
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        for (int allocator = 0; allocator < 3; allocator++) {
            for (int at = 0; at < SNAPSHOTS; at++) {
                char *text = profile_with(bad[k], allocator, at);
                hd_trace *trace = read_fine(text, strlen(text));
                for (int a = 0; a < 3; a++) {
                    for (int i = 0; i < SNAPSHOTS; i++) {
                        if ((a != allocator || i != at) && !has_time(trace, 100 * a + i + 1))
                            fail_msg("%s at %d of A%d costs %d of A%d", bad[k], at, allocator, i, a);
                    }
                }
                if (!lost(trace)) fail_msg("%s: not a word", bad[k]);
                expect_status(text, HD_ERR_DAMAGED, HD_OFFSET_NONE);
                hd_trace_free(trace);
                free(text);
            }
        }
    }
}

/* Each byte behind the first key is replaced: in a snapshot that costs it and a neighbour at most. */
static void test_tfmemory__a_bad_byte_of_a_snapshot_costs_at_most_two(NO_STATE)
{
    char *text = profile_with("{\"timeOffsetPs\":\"0\"}", 0, 0);
    size_t size = strlen(text), begin = (size_t)(strstr(text, "PerAllocator\":{") - text) + 15;
    bool listed = false;
    for (size_t i = begin; i < size; i++) {
        if (text[i - 1] == '[') listed = strncmp(text + i, "{\"time", 7) == 0;
        if (text[i] == ']') listed = false;
        for (const char *c = "x\",}]{\001"; *c; c++) {
            char kept = text[i];
            hd_trace *trace;
            hd_error err = {0};
            if (kept == *c) continue;
            text[i] = *c;
            hd_status status = read_text(&trace, text, size, NULL, 0, &err);
            if (!listed && status == HD_ERR_DAMAGED) { /* a key or bracket around the lists: nothing is left */
                text[i] = kept;
                continue;
            }
            if (status != HD_OK) fail_msg("%c at %zu: %s", *c, i, err.message);
            size_t rows = (size_t)hd_trace_row_count(trace, HD_KIND_SLICE);
            if (listed && rows + 2 < 3 * SNAPSHOTS) fail_msg("%c at %zu: %zu are left", *c, i, rows);
            if (listed && rows < 3 * SNAPSHOTS && !lost(trace))
                fail_msg("%c at %zu: %zu are left, not a word", *c, i, rows);
            hd_trace_free(trace);
            text[i] = kept;
        }
    }
    free(text);
}

static void test_tfmemory__text_that_ends_anywhere_is_read_up_to_there(NO_STATE)
{
    char *text = profile_with("{\"timeOffsetPs\":\"0\"}", 0, 0);
    size_t size = strlen(text), most = 0;
    for (size_t end = (size_t)(strstr(text, "{\"stepId") - text); end < size; end++) {
        hd_trace *trace;
        hd_error err = {0};
        if (read_text(&trace, text, end, NULL, 0, &err) != HD_OK) fail_msg("%zu bytes: %s", end, err.message);
        size_t rows = (size_t)hd_trace_row_count(trace, HD_KIND_SLICE);
        if (rows + 1 < most) fail_msg("%zu bytes: %zu of %zu", end, rows, most);
        if (rows > most) most = rows;
        assert_true(lost(trace) > 0);
        hd_trace_free(trace);
    }
    assert_int_equal(most, 3 * SNAPSHOTS);
    free(text);
}

static void test_tfmemory__flipped_bits_are_read_or_refused(void **state)
{
    const fixture *f = two(state);
    char *text = malloc(f->size);
    size_t refused = 0, done = 0, bits = hd_test_rounds(3);
    const hd_read_options options = {.threads = 1, .strict = true};
    assert_non_null(text);
    for (size_t i = 0; i < f->size; i++) {
        for (size_t bit = 0; bit < 8 && bit < bits; bit++, done++) {
            hd_trace *trace;
            hd_error err = {0};
            memcpy(text, f->text, f->size);
            text[i] = (char)(text[i] ^ 1 << (i + bit * 3) % 8);
            if (read_text(&trace, text, f->size, &options, 0, &err) == HD_OK)
                hd_trace_free(trace);
            else
                refused += err.status == HD_ERR_DAMAGED && err.offset <= f->size;
        }
    }
    assert_true(refused * 8 > done); /* quotes, commas, braces, control characters, bytes above 0x7f */
    free(text);
}

int main(int argc, char **argv)
{
    fixtures all = fixtures_load("tests/format/tfmemory");
    if (argc > 1 && strcmp(argv[1], "--update") == 0) {
        int failed = fixtures_update(&all, dump_fixture);
        fixtures_free(&all);
        return failed;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_tfmemory__fixtures_give_their_dumps, &all),
        cmocka_unit_test_prestate(test_tfmemory__an_allocation_keeps_every_value_and_its_type, &all),
        cmocka_unit_test_prestate(test_tfmemory__counters_are_named_by_the_allocator_and_stand_on_its_track, &all),
        cmocka_unit_test_prestate(test_tfmemory__a_snapshot_of_both_lists_is_one_event, &all),
        cmocka_unit_test(test_tfmemory__all_but_snapshots_is_metadata),
        cmocka_unit_test_prestate(test_tfmemory__a_chrome_trace_made_of_one_is_a_chrome_trace, &all),
        cmocka_unit_test(test_tfmemory__too_many_shapes_lose_nothing),
        cmocka_unit_test(test_tfmemory__what_is_no_profile_is_an_error_with_its_place),
        cmocka_unit_test_prestate(test_tfmemory__text_that_ends_anywhere_is_an_error, &all),
        cmocka_unit_test(test_tfmemory__a_bad_snapshot_costs_at_most_itself),
        cmocka_unit_test(test_tfmemory__a_bad_byte_of_a_snapshot_costs_at_most_two),
        cmocka_unit_test(test_tfmemory__text_that_ends_anywhere_is_read_up_to_there),
        cmocka_unit_test_prestate(test_tfmemory__flipped_bits_are_read_or_refused, &all),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fixtures_free(&all);
    return failed;
}
