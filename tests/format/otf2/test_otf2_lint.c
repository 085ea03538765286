/* test_otf2_lint.c - what is found wrong with archives that the library wrote, and otf2-print passes */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/otf2/otf2_archive.h"
#include "heddle/report.h"

/* Whether the ledger holds these codes and no others that mend or lose. "" ends the list. */
static void expect_codes(const hd_trace *trace, const char *const *codes)
{
    size_t wanted = 0, found = 0;
    for (; codes[wanted][0]; wanted++) {
        if (!archive_found(trace, codes[wanted])) fail_msg("%s was not found", codes[wanted]);
    }
    for (size_t i = 0; i < hd_trace_ledger_count(trace); i++) {
        const hd_ledger_row *row = hd_trace_ledger_at(trace, i);
        if (row->level == HD_LEDGER_NOTE) continue;
        found++;
        bool listed = false;
        for (size_t k = 0; k < wanted; k++) listed |= strcmp(codes[k], row->code) == 0;
        if (!listed) fail_msg("%s was found too", row->code);
        assert_true(row->detail != HD_STRING_NONE);
    }
    assert_int_equal(wanted, found);
}

#define EXPECT(trace, ...) expect_codes(trace, (const char *const[]){__VA_ARGS__, ""})

static uint64_t warnings_of_check(const hd_trace *trace)
{
    hd_report report;
    hd_error err = {0};
    assert_int_equal(hd_report_check(&report, trace, NULL, &err), HD_OK);
    const hd_table *summary = hd_report_table(&report, "summary");
    uint64_t count = hd_table_get_count(summary, 0, 1) + hd_table_get_count(summary, 0, 2);
    hd_report_free(&report);
    return count;
}

static hd_trace *finish(test_archive *a)
{
    archive_standard(a);
    archive_region(a, 0, "outer");
    archive_region(a, 1, "inner");
    archive_end(a);
    hd_trace *trace = archive_read(a);
    archive_remove(a);
    return trace;
}

static void test_otf2_lint__a_good_archive_has_no_findings(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 1);
    OTF2_EvtWriter_Leave(w, NULL, 30, 1);
    OTF2_EvtWriter_Leave(w, NULL, 30, 0);
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(warnings_of_check(trace), 0);
    hd_trace_free(trace);
}

static hd_event event_at(const hd_trace *trace, hd_kind kind, uint64_t row)
{
    hd_event event;
    uint32_t at;
    hd_block_event(&event, hd_trace_block_of(&at, trace, kind, row), 0);
    hd_block_event(&event, hd_trace_block_of(&at, trace, kind, row), at);
    return event;
}

static void test_otf2_lint__a_leave_without_enter_stays_as_an_end(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Leave(w, NULL, 5, 1);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 30, 0);
    OTF2_EvtWriter_Leave(w, NULL, 40, 0);
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.leave-without-enter");
    assert_int_equal(archive_found(trace, "otf2.leave-without-enter"), 2);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 1);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_END), 2);
    assert_int_equal(event_at(trace, HD_KIND_END, 0).start_ns, 5);
    assert_int_equal(event_at(trace, HD_KIND_END, 1).start_ns, 40);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 0).duration_ns, 20);
    assert_true(warnings_of_check(trace) >= 1);
    hd_trace_free(trace);
}

static void test_otf2_lint__an_unclosed_region_ends_with_its_location(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Enter(w, NULL, 20, 1);
    OTF2_EvtWriter_Leave(w, NULL, 30, 1);
    w = archive_events(&a, 1); /* what is open does not leak into the next location */
    OTF2_EvtWriter_Enter(w, NULL, 15, 0);
    OTF2_EvtWriter_Leave(w, NULL, 16, 0);
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.enter-without-leave");
    assert_int_equal(archive_found(trace, "otf2.enter-without-leave"), 1);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 0).duration_ns, 20);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 2).duration_ns, 1);
    assert_true(warnings_of_check(trace) >= 1);
    hd_trace_free(trace);
}

static void test_otf2_lint__crossing_regions_keep_their_times(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Enter(w, NULL, 20, 1);
    OTF2_EvtWriter_Leave(w, NULL, 30, 0);
    OTF2_EvtWriter_Leave(w, NULL, 40, 1);
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.regions-cross");
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 0).duration_ns, 20);
    assert_int_equal(event_at(trace, HD_KIND_SLICE, 1).duration_ns, 20);
    assert_true(warnings_of_check(trace) >= 2); /* the check of lanes sees it as well */
    hd_trace_free(trace);
}

static void test_otf2_lint__recursion_is_no_crossing(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    for (int i = 0; i < 1000; i++) OTF2_EvtWriter_Enter(w, NULL, (OTF2_TimeStamp)i, (OTF2_RegionRef)(i % 2));
    for (int i = 999; i >= 0; i--) OTF2_EvtWriter_Leave(w, NULL, (OTF2_TimeStamp)(2000 - i), (OTF2_RegionRef)(i % 2));
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    assert_int_equal(hd_trace_ledger_count(trace), 0);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(event_at(trace, HD_KIND_SLICE, i).duration_ns, 2000 - 2 * (int64_t)i);
    hd_trace_free(trace);
}

static void test_otf2_lint__events_outside_the_clock_are_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 2000000000, 0);
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.outside-clock-range");
    assert_int_equal(archive_found(trace, "otf2.outside-clock-range"), 1);
    hd_trace_free(trace);
}

static void test_otf2_lint__decreasing_times_are_found(void **state)
{
    (void)state;
    const int64_t offsets[2][2] = {{10, 0}, {20, -1000}}; /* the writer refuses them; clock offsets make them */
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 15, 0);
    OTF2_EvtWriter_Enter(w, NULL, 5000, 0);
    OTF2_EvtWriter_Leave(w, NULL, 5001, 0);
    archive_definitions(&a, offsets, 2);
    hd_trace *trace = finish(&a);
    assert_true(archive_found(trace, "otf2.time-decreases") >= 1);
    assert_int_equal(archive_found(trace, "otf2.clock-offsets-applied"), 2);
    hd_trace_free(trace);
}

static void test_otf2_lint__wrong_event_counts_are_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 20, 0);
    archive_definitions(&a, NULL, 0);
    a.counts[0] = 3;
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.event-count");
    hd_trace_free(trace);
}

static void test_otf2_lint__undefined_references_of_events_are_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    OTF2_AttributeList_AddUint32(list, 77, 1);
    OTF2_EvtWriter_Enter(w, list, 10, 9);
    OTF2_AttributeList_Delete(list);
    OTF2_EvtWriter_ParameterInt(w, NULL, 10, 5, 1);
    OTF2_MetricValue value = {.unsigned_int = 4};
    OTF2_EvtWriter_Metric(w, NULL, 11, 8, 1, (const OTF2_Type[]){OTF2_TYPE_UINT64}, &value);
    OTF2_EvtWriter_RmaWinCreate(w, NULL, 12, 3);
    OTF2_EvtWriter_MpiSend(w, NULL, 13, 0, 6, 1, 100);
    OTF2_EvtWriter_IoDestroyHandle(w, NULL, 14, 2);
    OTF2_EvtWriter_Leave(w, NULL, 20, 9);
    archive_definitions(&a, NULL, 0);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.undefined-region", "otf2.undefined-attribute", "otf2.undefined-parameter",
           "otf2.undefined-metric", "otf2.undefined-window", "otf2.undefined-communicator", "otf2.undefined-io-handle",
           "otf2.message-unmatched");
    assert_int_equal(archive_found(trace, "otf2.undefined-region"), 2);
    hd_event slice = event_at(trace, HD_KIND_SLICE, 0); /* what is undefined is still there */
    hd_string name = hd_trace_string(trace, slice.name);
    assert_memory_equal(name.data, "region 9 (undefined)", name.size);
    assert_int_equal(slice.duration_ns, 10);
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_COUNTER), 1);
    hd_trace_free(trace);
}

static void test_otf2_lint__undefined_references_of_definitions_are_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 20, 0);
    archive_definitions(&a, NULL, 0);
    OTF2_GlobalDefWriter_WriteLocationGroup(a.defs, 4, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 50, 51);
    OTF2_GlobalDefWriter_WriteRegion(a.defs, 7, 1000, 0, 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER, 0,
                                     OTF2_UNDEFINED_STRING, 0, 0);
    OTF2_GlobalDefWriter_WriteComm(a.defs, 0, 0, 60, OTF2_UNDEFINED_COMM, 0);
    OTF2_GlobalDefWriter_WriteRmaWin(a.defs, 0, 0, 61, 0);
    OTF2_GlobalDefWriter_WriteMetricClass(a.defs, 0, 1, (const OTF2_MetricMemberRef[]){62}, OTF2_METRIC_ASYNCHRONOUS,
                                          OTF2_RECORDER_KIND_ABSTRACT);
    OTF2_GlobalDefWriter_WriteGroup(a.defs, 0, 0, OTF2_GROUP_TYPE_LOCATIONS, OTF2_PARADIGM_NONE, 0, 1,
                                    (const uint64_t[]){63});
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.undefined-string", "otf2.undefined-location-group", "otf2.undefined-system-tree-node",
           "otf2.undefined-group", "otf2.undefined-communicator", "otf2.undefined-metric-member", "otf2.group-member");
    hd_trace_free(trace);
}

static void test_otf2_lint__duplicate_definitions_are_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    OTF2_EvtWriter_Leave(w, NULL, 20, 0);
    archive_definitions(&a, NULL, 0);
    archive_region(&a, 0, "first");
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.duplicate-definition");
    hd_string name = hd_trace_string(trace, event_at(trace, HD_KIND_SLICE, 0).name);
    assert_memory_equal(name.data, "first", name.size);
    hd_trace_free(trace);
}

static void write_communicator(test_archive *a, const uint64_t *members, uint32_t count, uint32_t locations)
{
    const uint64_t all[] = {0, 1, 2, 3};
    OTF2_GlobalDefWriter_WriteGroup(a->defs, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 0, locations,
                                    all);
    OTF2_GlobalDefWriter_WriteGroup(a->defs, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, count, members);
    OTF2_GlobalDefWriter_WriteComm(a->defs, 0, archive_string(a, "world"), 1, OTF2_UNDEFINED_COMM, 0);
}

static void test_otf2_lint__a_rank_beyond_its_communicator_is_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_MpiSend(w, NULL, 10, 5, 0, 1, 100);
    archive_definitions(&a, NULL, 0);
    write_communicator(&a, (const uint64_t[]){0}, 1, 1);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.rank-not-in-communicator", "otf2.message-unmatched");
    hd_trace_free(trace);
}

static void test_otf2_lint__a_member_beyond_the_communication_locations_is_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_MpiSend(w, NULL, 10, 1, 0, 1, 100);
    archive_definitions(&a, NULL, 0);
    write_communicator(&a, (const uint64_t[]){0, 9}, 2, 1);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.group-member", "otf2.message-unmatched");
    hd_trace_free(trace);
}

static void test_otf2_lint__a_group_without_communication_locations_is_found(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_MpiSend(w, NULL, 10, 0, 0, 1, 100);
    OTF2_EvtWriter_MpiRecv(w, NULL, 11, 0, 0, 1, 100);
    archive_definitions(&a, NULL, 0);
    OTF2_GlobalDefWriter_WriteGroup(a.defs, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, 1,
                                    (const uint64_t[]){0});
    OTF2_GlobalDefWriter_WriteComm(a.defs, 0, 0, 1, OTF2_UNDEFINED_COMM, 0);
    hd_trace *trace = finish(&a);
    assert_true(archive_found(trace, "otf2.communication-locations-missing") > 0);
    hd_trace_free(trace);
}

static void test_otf2_lint__who_communicates_must_be_a_member(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 7);
    OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 10);
    OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 11, OTF2_COLLECTIVE_OP_ALLREDUCE, 0, OTF2_COLLECTIVE_ROOT_NONE, 8, 8);
    archive_definitions(&a, NULL, 0);
    OTF2_GlobalDefWriter_WriteLocationGroup(a.defs, 3, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(a.defs, 0, 0, OTF2_LOCATION_TYPE_CPU_THREAD, 0, 3);
    write_communicator(&a, (const uint64_t[]){0}, 1, 1);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.location-not-in-communicator");
    hd_trace_free(trace);
}

static void test_otf2_lint__collectives_begin_and_end_by_turns(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 5; wrong++) {
        test_archive a;
        archive_begin(&a);
        OTF2_EvtWriter *w = archive_events(&a, 0);
        if (wrong != 1) OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 10);
        if (wrong == 2) OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 11);
        OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 12, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
        if (wrong == 3) OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 13);
        if (wrong == 4) OTF2_EvtWriter_RmaCollectiveBegin(w, NULL, 13);
        archive_definitions(&a, NULL, 0);
        write_communicator(&a, (const uint64_t[]){0}, 1, 1);
        hd_trace *trace = finish(&a);
        assert_int_equal(archive_found(trace, "otf2.collective-unbalanced"), wrong != 0);
        hd_trace_free(trace);
    }
}

static void test_otf2_lint__members_of_groups_are_there_once(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 5; wrong++) {
        test_archive a;
        archive_begin(&a);
        archive_events(&a, 0);
        archive_events(&a, 1);
        archive_definitions(&a, NULL, 0);
        const uint64_t locations[] = {0, wrong == 1 ? 0 : 1}, ranks[] = {wrong == 2 ? 1 : 0, wrong == 3 ? 2 : 1};
        const uint64_t global[] = {1, wrong == 4 ? 1 : 0};
        OTF2_GlobalDefWriter_WriteGroup(a.defs, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, 0, 2,
                                        locations);
        OTF2_GlobalDefWriter_WriteGroup(a.defs, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, 0, 2, ranks);
        OTF2_GlobalDefWriter_WriteGroup(a.defs, 2, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_GLOBAL_MEMBERS, 2, global);
        hd_trace *trace = finish(&a);
        assert_int_equal(archive_found(trace, "otf2.group-member"), wrong != 0);
        hd_trace_free(trace);
    }
}

static void test_otf2_lint__metrics_have_as_many_values_as_members(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    const OTF2_MetricValue values[] = {{.unsigned_int = 4}, {.unsigned_int = 5}};
    const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_UINT64};
    OTF2_EvtWriter_Metric(w, NULL, 11, 0, 2, types, values);
    archive_definitions(&a, NULL, 0);
    OTF2_GlobalDefWriter_WriteMetricMember(a.defs, 0, archive_string(&a, "bytes"), 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, 0);
    OTF2_GlobalDefWriter_WriteMetricClass(a.defs, 0, 1, (const OTF2_MetricMemberRef[]){0}, OTF2_METRIC_ASYNCHRONOUS,
                                          OTF2_RECORDER_KIND_ABSTRACT);
    hd_trace *trace = finish(&a);
    EXPECT(trace, "otf2.metric-members");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_COUNTER), 2);
    hd_trace_free(trace);
}

static void test_otf2_lint__events_of_an_undefined_location_are_read_and_missing_files_found(void **state)
{
    (void)state;
    test_archive a;
    char path[160];
    archive_begin(&a);
    for (OTF2_LocationRef location = 0; location < 2; location++) {
        OTF2_EvtWriter *w = archive_events(&a, location);
        OTF2_EvtWriter_Enter(w, NULL, 10, 0);
        OTF2_EvtWriter_Leave(w, NULL, 20, 0);
    }
    archive_definitions(&a, NULL, 0);
    a.locations[1] = 12; /* defined, without a file; 1 has a file and is not defined */
    archive_standard(&a);
    archive_region(&a, 0, "outer");
    archive_end(&a);
    hd_trace *trace = archive_read(&a);
    snprintf(path, sizeof path, "%s/traces/1.evt", a.folder);
    assert_int_equal(access(path, F_OK), 0);
    archive_remove(&a);
    EXPECT(trace, "otf2.undefined-location", "otf2.events-missing", "otf2.location-count",
           "otf2.undefined-location-group");
    assert_int_equal(hd_trace_row_count(trace, HD_KIND_SLICE), 2);
    hd_trace_free(trace);
}

static void test_otf2_lint__strict_refuses_findings(void **state)
{
    (void)state;
    test_archive a;
    archive_begin(&a);
    OTF2_EvtWriter *w = archive_events(&a, 0);
    OTF2_EvtWriter_Enter(w, NULL, 10, 0);
    archive_definitions(&a, NULL, 0);
    archive_standard(&a);
    archive_region(&a, 0, "outer");
    archive_end(&a);
    hd_trace *trace;
    hd_error err = {0};
    const hd_read_options options = {.strict = true};
    assert_int_equal(hd_trace_read(&trace, a.anchor, &options, &err), HD_ERR_DAMAGED);
    assert_non_null(strstr(err.message, "otf2.enter-without-leave"));
    assert_string_equal(err.path, a.anchor);
    archive_remove(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otf2_lint__a_good_archive_has_no_findings),
        cmocka_unit_test(test_otf2_lint__a_leave_without_enter_stays_as_an_end),
        cmocka_unit_test(test_otf2_lint__an_unclosed_region_ends_with_its_location),
        cmocka_unit_test(test_otf2_lint__crossing_regions_keep_their_times),
        cmocka_unit_test(test_otf2_lint__recursion_is_no_crossing),
        cmocka_unit_test(test_otf2_lint__events_outside_the_clock_are_found),
        cmocka_unit_test(test_otf2_lint__decreasing_times_are_found),
        cmocka_unit_test(test_otf2_lint__wrong_event_counts_are_found),
        cmocka_unit_test(test_otf2_lint__undefined_references_of_events_are_found),
        cmocka_unit_test(test_otf2_lint__undefined_references_of_definitions_are_found),
        cmocka_unit_test(test_otf2_lint__duplicate_definitions_are_found),
        cmocka_unit_test(test_otf2_lint__a_rank_beyond_its_communicator_is_found),
        cmocka_unit_test(test_otf2_lint__a_member_beyond_the_communication_locations_is_found),
        cmocka_unit_test(test_otf2_lint__a_group_without_communication_locations_is_found),
        cmocka_unit_test(test_otf2_lint__who_communicates_must_be_a_member),
        cmocka_unit_test(test_otf2_lint__collectives_begin_and_end_by_turns),
        cmocka_unit_test(test_otf2_lint__members_of_groups_are_there_once),
        cmocka_unit_test(test_otf2_lint__metrics_have_as_many_values_as_members),
        cmocka_unit_test(test_otf2_lint__events_of_an_undefined_location_are_read_and_missing_files_found),
        cmocka_unit_test(test_otf2_lint__strict_refuses_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
