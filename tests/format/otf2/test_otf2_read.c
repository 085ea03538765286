/* test_otf2_read.c - archives into traces: every kind of event and definition, times, ids
 *
 * tests/format/otf2/everything.expect is the dump of an archive that holds each kind of event once or more;
 * `test_format_otf2_read --update` writes it anew: read it before you commit it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "format/otf2/otf2_archive.h"

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    const hd_block *block = hd_trace_block_of(&at, trace, kind, row);
    hd_block_event(&event, block, at);
    return event;
}

static hd_value arg_of(const hd_trace *trace, const hd_event *event, const char *key)
{
    hd_value value;
    uint32_t id = hd_trace_find_string(trace, key, strlen(key));
    if (!hd_event_arg(&value, trace, event, id)) fail_msg("no argument %s", key);
    return value;
}

static void expect_text(const hd_trace *trace, uint32_t id, const char *expected)
{
    hd_string text = hd_trace_string(trace, id);
    if (text.size != strlen(expected) || memcmp(text.data, expected, text.size) != 0)
        fail_msg("\"%.*s\" is not \"%s\"", (int)text.size, text.data, expected);
}

/* ---- everything ---- */

static bool update_wanted;

/* The next `count` hexadecimal digits after `key` become 0. */
static void zero_digits(char *dump, const char *key, int count)
{
    char *at = strstr(dump, key);
    if (!at) return;
    for (at += strlen(key); *at && count; at++)
        if (strchr("0123456789abcdef", *at)) *at = '0', count--;
}

static void test_otf2_read__every_event_and_definition_has_its_place(void **state)
{
    (void)state;
    test_archive a;
    archive_everything(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    char *dump = dump_trace(trace, DUMP_CONTENT);
    zero_digits(dump, "\"version\":\"", 3);   /* of the library that wrote it */
    zero_digits(dump, "\"trace_id\":\"", 16); /* of the time and host */
    fixture f = {.name = "everything"};
    snprintf(f.path, sizeof f.path, "%s/tests/format/otf2/everything", getenv("HEDDLE_SOURCE_ROOT"));
    if (update_wanted) assert_true(fixture_update(&f, dump));
    char *expected = fixture_expect(&f);
    if (!expected) fail_msg("everything.expect is missing: run with --update, and read it");
    size_t at = 0;
    while (expected[at] && expected[at] == dump[at]) at++;
    if (expected[at] != dump[at]) {
        while (at && expected[at - 1] != '\n') at--;
        fail_msg("expected: %.300s\ngot:      %.300s", expected + at, dump + at);
    }
    free(expected);
    free(dump);
    hd_trace_free(trace);
}

static void test_otf2_read__counts_are_those_of_the_archive(void **state)
{
    (void)state;
    test_archive a;
    archive_everything(&a);
    uint64_t events = a.counts[0] + a.counts[1];
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 3);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_COUNTER), 4);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SAMPLE), 1);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_FLOW), 4 + 7 + 5);
    /* 3 leaves and 3 parameters are in slices, a metric has 3 members, 2 markers */
    assert_int_equal(hd_trace_event_count(trace), events - 3 - 3 + 2 + 2);
    assert_int_equal(archive_found(trace, "otf2.message-unmatched"), 0);
    hd_trace_free(trace);
}

static void test_otf2_read__both_ends_of_a_message_have_one_id(void **state)
{
    (void)state;
    test_archive a;
    archive_everything(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    int64_t sent[2] = {0}, received[2] = {0};
    int sends = 0, receives = 0;
    for (uint64_t i = 0; i < hd_trace_row_count(trace, HD_KIND_FLOW); i++) {
        hd_event event = event_at(trace, HD_KIND_FLOW, i);
        hd_string category = hd_trace_string(trace, event.category);
        if (category.size != 7 || memcmp(category.data, "message", 7) != 0) continue;
        if (event.phase == 's' && sends < 2) sent[sends++] = event.id;
        if (event.phase == 'f' && receives < 2) received[receives++] = event.id;
    }
    assert_int_equal(sends, 2);
    assert_int_equal(sent[0], received[0]);
    assert_int_equal(sent[1], received[1]);
    assert_int_not_equal(sent[0], sent[1]);
    hd_trace_free(trace);
}

static void test_otf2_read__tracks_have_exact_ids_ranks_and_streams(void **state)
{
    (void)state;
    test_archive a;
    archive_everything(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    const hd_track *stream = NULL;
    for (uint32_t i = 0; i < hd_trace_track_count(trace); i++) {
        const hd_track *track = hd_trace_track_at(trace, i);
        if (track->kind == HD_TRACK_STREAM) stream = track;
    }
    assert_non_null(stream);
    expect_text(trace, stream->tid.text, "4294967296");
    expect_text(trace, stream->name, "CUDA[5:7]");
    assert_int_equal(stream->device, 5);
    assert_int_equal(stream->stream, 7);
    assert_int_equal(stream->rank, 3);
    assert_int_equal(hd_trace_facts_of(trace)->rank, 3);
    assert_int_equal(hd_trace_facts_of(trace)->base_ns, INT64_C(1700000000000000000) - 5);
    hd_trace_free(trace);
}

static void test_otf2_read__values_are_exact(void **state)
{
    (void)state;
    test_archive a;
    archive_everything(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    hd_event slice = event_at(trace, HD_KIND_SLICE, 0);
    assert_int_equal(arg_of(trace, &slice, "attribute 0").bits, -5);
    hd_value value = arg_of(trace, &slice, "attribute 1");
    assert_int_equal(value.type, HD_ARG_NUMBER);
    expect_text(trace, (uint32_t)value.bits, "18446744073709551615");
    value = arg_of(trace, &slice, "attribute 2");
    assert_int_equal(value.type, HD_ARG_DECIMAL);
    assert_int_equal(value.bits, hd_decimal_pack(1, 1));
    assert_int_equal(arg_of(trace, &slice, "attribute 3").bits, hd_decimal_pack(25, 1));
    expect_text(trace, (uint32_t)arg_of(trace, &slice, "attribute 4").bits, "--fast");
    expect_text(trace, (uint32_t)arg_of(trace, &slice, "attribute 5").bits, "inner");
    assert_int_equal(arg_of(trace, &slice, "int").bits, -7);
    hd_event inner = event_at(trace, HD_KIND_SLICE, 1);
    assert_int_equal(arg_of(trace, &inner, "attribute 1").bits, 4); /* of its leave */
    hd_event counter = event_at(trace, HD_KIND_COUNTER, 0);
    value = arg_of(trace, &counter, "bytes");
    expect_text(trace, (uint32_t)value.bits, "18446744073709551615");
    counter = event_at(trace, HD_KIND_COUNTER, 1);
    assert_int_equal(arg_of(trace, &counter, "2^10 B").bits, INT64_MIN);
    counter = event_at(trace, HD_KIND_COUNTER, 2);
    assert_int_equal(arg_of(trace, &counter, "value").bits, hd_decimal_pack(15, 1));
    hd_trace_free(trace);
}

/* ---- time ---- */

static hd_trace *read_ticks(uint64_t resolution, uint64_t start, uint64_t end)
{
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, start, 0);
    OTF2_EvtWriter_Leave(w, NULL, end, 0);
    archive_definitions(&a, NULL, 0);
    OTF2_GlobalDefWriter_WriteClockProperties(a.defs, resolution, start, end - start, OTF2_UNDEFINED_TIMESTAMP);
    archive_standard(&a); /* its second clock is a finding, and not taken */
    archive_region(&a, 0, "outer");
    archive_end(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    return trace;
}

static void test_otf2_read__ticks_become_nanoseconds_without_rounding_errors(void **state)
{
    (void)state;
    static const struct {
        uint64_t resolution, start, end;
        int64_t start_ns, duration_ns;
        uint32_t start_ps, end_ps;
    } cases[] = {
        {1000000000, 123, 456, 123, 333, 0, 0},
        {1000000, 7, 9, 7000, 2000, 0, 0},
        {3, 1, 2, 333333333, 333333333, 333, 666},
        {UINT64_C(4000000000), 5, 11, 1, 1, 250, 750},
        /* Score-P on an MI300: 6127384857192913 * 10^9 / 3699958577 = 1656068501761746.4… µs */
        {UINT64_C(3699958577), UINT64_C(6127384857192913), UINT64_C(6127384857347795), INT64_C(1656068501761746), 41860,
         0, 0},
        {UINT64_C(10000000000000000000), UINT64_C(10000000000000000001), UINT64_C(18000000000000000000), 1000000000,
         800000000, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hd_trace *trace = read_ticks(cases[i].resolution, cases[i].start, cases[i].end);
        hd_event slice = event_at(trace, HD_KIND_SLICE, 0);
        __extension__ typedef unsigned __int128 u128;
        u128 start = (u128)cases[i].start * 1000000000 / cases[i].resolution;
        u128 end = (u128)cases[i].end * 1000000000 / cases[i].resolution;
        assert_int_equal(slice.start_ns, (int64_t)start);
        assert_int_equal(slice.duration_ns, (int64_t)(end - start));
        if (i != 4) { /* which stands here for its numbers */
            assert_int_equal(slice.start_ns, cases[i].start_ns);
            assert_int_equal(slice.duration_ns, cases[i].duration_ns);
            assert_int_equal(slice.start_ps, cases[i].start_ps);
            assert_int_equal(slice.end_ps, cases[i].end_ps);
        }
        hd_trace_free(trace);
    }
}

static void test_otf2_read__clock_offsets_are_interpolated(void **state)
{
    (void)state;
    const int64_t offsets[2][2] = {{100, 10}, {300, 30}};
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 100, 0);
    OTF2_EvtWriter_Leave(w, NULL, 200, 0);
    w = archive_events(&a, 1); /* which has none */
    OTF2_EvtWriter_Enter(w, NULL, 100, 0);
    OTF2_EvtWriter_Leave(w, NULL, 200, 0);
    archive_definitions(&a, offsets, 2);
    archive_standard(&a);
    archive_region(&a, 0, "outer");
    archive_end(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    hd_event moved = event_at(trace, HD_KIND_SLICE, 0), still = event_at(trace, HD_KIND_SLICE, 1);
    assert_int_equal(moved.start_ns, 110);
    assert_int_equal(moved.duration_ns, 110);
    assert_int_equal(still.start_ns, 100);
    assert_int_equal(still.duration_ns, 100);
    assert_int_equal(archive_found(trace, "otf2.clock-offsets-applied"), 2);
    hd_trace_free(trace);
}

/* ---- where it is ---- */

static void test_otf2_read__a_folder_is_read_by_its_one_archive(void **state)
{
    (void)state;
    test_archive a;
    hd_trace *trace;
    hd_error err = {0};
    char other[160];
    archive_everything(&a);
    assert_int_equal(hd_trace_read(&trace, a.folder, NULL, &err), HD_OK);
    hd_trace_free(trace);
    snprintf(other, sizeof other, "%s/second.otf2", a.folder);
    FILE *file = fopen(other, "w");
    fclose(file);
    assert_int_equal(hd_trace_read(&trace, a.folder, NULL, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "2 archives"));
    err = (hd_error){0};
    snprintf(other, sizeof other, "%s/traces", a.folder);
    assert_int_equal(hd_trace_read(&trace, other, NULL, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "no OTF2 archive (*.otf2)"));
    assert_non_null(strstr(err.message, "no file that is named as a trace"));
    archive_remove(&a);
}

static void test_otf2_read__a_folder_of_other_traces_says_what_to_name(void **state)
{
    static const char *const names[] = {"rank1.json.gz", "rank0.json.gz", "notes.md", ".hidden.json"};
    char folder[] = "/tmp/heddle-folder-XXXXXX", path[96];
    hd_trace *trace;
    hd_error err = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fclose(file);
    }
    assert_int_equal(hd_trace_read(&trace, folder, NULL, &err), HD_ERR_FORMAT);
    assert_non_null(strstr(err.message, "2 files of this folder are traces"));
    snprintf(path, sizeof path, "name the one to read, as %s/rank0.json.gz", folder);
    assert_non_null(strstr(err.message, path));
    snprintf(path, sizeof path, "`heddle report job %s`", folder);
    assert_non_null(strstr(err.message, path));
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void test_otf2_read__arguments_can_be_left_out(void **state)
{
    (void)state;
    test_archive a;
    hd_trace *trace;
    const hd_read_options options = {.args = HD_ARGS_META};
    archive_everything(&a);
    assert_int_equal(hd_trace_read(&trace, a.anchor, &options, NULL), HD_OK);
    archive_remove(&a);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 0).shape, 0);
    assert_false(hd_trace_facts_of(trace)->has_args);
    assert_true(hd_trace_metadata_find(trace, "otf2.regions").size > 0);
    hd_trace_free(trace);
}

static void test_otf2_read__more_sets_of_attributes_than_shapes_are_kept_as_json(void **state)
{
    (void)state;
    enum { SETS = 5000 }; /* shapes end at HD_SHAPE_LIMIT, 4,096 */
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    for (uint32_t i = 0; i < SETS; i++) {
        OTF2_AttributeList *list = OTF2_AttributeList_New();
        OTF2_AttributeList_AddUint32(list, i, i);
        OTF2_EvtWriter_Enter(w, list, i * 2, 0);
        OTF2_EvtWriter_Leave(w, NULL, i * 2 + 1, 0);
        OTF2_AttributeList_Delete(list);
    }
    archive_definitions(&a, NULL, 0);
    archive_standard(&a);
    archive_region(&a, 0, "outer");
    for (uint32_t i = 0; i < SETS; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%u", i);
        OTF2_GlobalDefWriter_WriteAttribute(a.defs, i, archive_string(&a, name), 0, OTF2_TYPE_UINT32);
    }
    archive_end(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    hd_event last = event_at(trace, HD_KIND_SLICE, SETS - 1);
    assert_int_equal(hd_trace_shape_at(trace, last.shape)->keys[0].type, HD_ARG_JSON);
    expect_text(trace, (uint32_t)hd_column_at(&last.args->columns[0], last.args_row), "{\"args\":{\"a4999\":4999}}");
    hd_trace_free(trace);
}

static void test_otf2_read__attributes_of_our_writer_get_their_types_back(void **state)
{
    static const struct {
        const char *description, *text;
        hd_arg_type type;
    } cases[] = {{"args decimal text", "12.500", HD_ARG_DECIMAL},
                 {"args number text", "1e-9", HD_ARG_NUMBER},
                 {"args json", "[1,2]", HD_ARG_JSON},
                 {"args null", "null", HD_ARG_NULL},
                 {"args string", "text", HD_ARG_STRING},
                 {"args json", "[1,", HD_ARG_STRING},
                 {"args decimal text", "1e-99", HD_ARG_STRING},
                 {"args number text", "x", HD_ARG_STRING},
                 {"something else", "[1]", HD_ARG_STRING}};
    enum { CASES = sizeof cases / sizeof *cases };
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    for (uint32_t i = 0; i < CASES; i++) OTF2_AttributeList_AddStringRef(list, i, 1 + i);
    OTF2_EvtWriter_Enter(w, list, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 20, 0);
    OTF2_AttributeList_Delete(list);
    archive_definitions(&a, NULL, 0);
    for (uint32_t i = 0; i < CASES; i++) archive_string(&a, cases[i].text);
    archive_standard(&a);
    archive_region(&a, 0, "outer");
    for (uint32_t i = 0; i < CASES; i++) {
        char name[8];
        snprintf(name, sizeof name, "a%u", i);
        OTF2_GlobalDefWriter_WriteAttribute(a.defs, i, archive_string(&a, name),
                                            archive_string(&a, cases[i].description), OTF2_TYPE_STRING);
    }
    archive_end(&a);
    hd_trace *trace = archive_read(&a);
    archive_remove(&a);
    hd_event slice = event_at(trace, HD_KIND_SLICE, 0);
    for (uint32_t i = 0; i < CASES; i++) {
        char name[8];
        snprintf(name, sizeof name, "a%u", i);
        hd_value value = {0};
        hd_event_arg(&value, trace, &slice, hd_trace_find_string(trace, name, strlen(name)));
        if (value.type != cases[i].type) fail_msg("%s of \"%s\": %d", cases[i].description, cases[i].text, value.type);
        if (i == 0) assert_int_equal(value.bits, hd_decimal_pack(12500, 3));
        if (value.type == HD_ARG_STRING || value.type == HD_ARG_JSON || value.type == HD_ARG_NUMBER)
            expect_text(trace, (uint32_t)value.bits, cases[i].text);
    }
    hd_trace_free(trace);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otf2_read__every_event_and_definition_has_its_place),
        cmocka_unit_test(test_otf2_read__counts_are_those_of_the_archive),
        cmocka_unit_test(test_otf2_read__both_ends_of_a_message_have_one_id),
        cmocka_unit_test(test_otf2_read__tracks_have_exact_ids_ranks_and_streams),
        cmocka_unit_test(test_otf2_read__values_are_exact),
        cmocka_unit_test(test_otf2_read__ticks_become_nanoseconds_without_rounding_errors),
        cmocka_unit_test(test_otf2_read__clock_offsets_are_interpolated),
        cmocka_unit_test(test_otf2_read__a_folder_is_read_by_its_one_archive),
        cmocka_unit_test(test_otf2_read__a_folder_of_other_traces_says_what_to_name),
        cmocka_unit_test(test_otf2_read__arguments_can_be_left_out),
        cmocka_unit_test(test_otf2_read__attributes_of_our_writer_get_their_types_back),
        cmocka_unit_test(test_otf2_read__more_sets_of_attributes_than_shapes_are_kept_as_json),
    };
    update_wanted = argc > 1 && strcmp(argv[1], "--update") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
