/* test_stragglers.c - jobs whose arrivals are planned: the report, which sees durations alone, finds who came late */
#include "report/report_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "heddle/analysis/job.h"
#include "read_text.h"

enum { RANKS = 8, COLLECTIVES = 60, SLOW = 5, EVENT_BYTES = 400 };
/* What is wrong, and with which of the collectives: none of them is compared, but for the one that a rank skips. */
enum { SKIPPED = 20, SKIPPER = 2, OTHER = 30, OTHER_RANK = 6, DOUBLE = 40, DOUBLE_RANK = 7, STOP = 55, STOP_RANK = 3 };

typedef struct plan {
    int64_t arrival_us[COLLECTIVES][RANKS], transfer_us[COLLECTIVES];
    bool has_defects;
} plan;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make_plan(plan *p, bool has_defects, uint64_t seed)
{
    p->has_defects = has_defects;
    for (int c = 0; c < COLLECTIVES; c++) {
        p->transfer_us[c] = 5 + (int64_t)(next_random(&seed) % 50);
        for (int r = 0; r < RANKS; r++) /* no two the same: 8 residues */
            p->arrival_us[c][r] = c * 10000 + (int64_t)(next_random(&seed) % 20) * RANKS + r + (r == SLOW ? 500 : 0);
    }
}

static bool takes_part(const plan *p, int c, int r)
{
    return !p->has_defects || !((c == SKIPPED && r == SKIPPER) || (c >= STOP && r == STOP_RANK));
}

/* All that come wait for the last of those that come. */
static int last_of(int64_t *out_first, int64_t *out_last, const plan *p, int c)
{
    int last = -1;
    *out_first = *out_last = -1;
    for (int r = 0; r < RANKS; r++) {
        if (!takes_part(p, c, r)) continue;
        if (*out_first < 0 || p->arrival_us[c][r] < *out_first) *out_first = p->arrival_us[c][r];
        if (p->arrival_us[c][r] <= *out_last) continue;
        *out_last = p->arrival_us[c][r];
        last = r;
    }
    return last;
}

static hd_trace *rank_of(const plan *p, int r)
{
    char *text = malloc((2 * COLLECTIVES + 1) * EVENT_BYTES);
    int size =
        sprintf(text, "{\"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, \"traceEvents\": [{}", r, RANKS);
    int64_t first, last, clock = 1000000 + r * 7777777;
    for (int c = 0; c < COLLECTIVES; c++) {
        if (!takes_part(p, c, r)) continue;
        last_of(&first, &last, p, c);
        int times = p->has_defects && c == DOUBLE && r == DOUBLE_RANK ? 2 : 1;
        for (int i = 0; i < times; i++)
            size += sprintf(text + size,
                            ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_x\", \"pid\": 0, "
                            "\"tid\": 7, \"ts\": %" PRId64 ", \"dur\": %" PRId64 ", \"args\": {\"device\": 0, "
                            "\"stream\": 7, \"Collective name\": \"%s\", \"Process Group Name\": \"dp\", \"Seq\": %d}}",
                            clock + p->arrival_us[c][r] + i, last - p->arrival_us[c][r] + p->transfer_us[c],
                            p->has_defects && c == OTHER && r == OTHER_RANK ? "broadcast" : "allreduce", c);
    }
    strcpy(text + size, "]}");
    hd_trace *trace;
    hd_error err = {0};
    if (read_text(&trace, text, (size_t)size + 2, &read_fast, 0, &err) != HD_OK) fail_msg("%s", err.message);
    free(text);
    return trace;
}

/* The ranks are handed over from `first` on, around. The caller frees the report. */
static hd_report report_of(const plan *p, int first)
{
    hd_job *job;
    hd_report report;
    hd_error err = {0};
    assert_int_equal(hd_job_new(&job, &err), HD_OK);
    for (int i = 0; i < RANKS; i++) {
        hd_trace *trace = rank_of(p, (first + i * 3) % RANKS);
        if (hd_job_add_trace(job, trace, "rank.json", &err) != HD_OK) fail_msg("%s", err.message);
        hd_trace_free(trace);
    }
    assert_int_equal(hd_job_finish(job, &err), HD_OK);
    if (hd_report_stragglers(&report, job, &err) != HD_OK) fail_msg("%s", err.message);
    hd_job_free(job);
    return report;
}

static bool is_compared(const plan *p, int c)
{
    return !p->has_defects || (c != OTHER && c != DOUBLE);
}

static void assert_collectives(const plan *p, const hd_table *t)
{
    size_t row = 0;
    int64_t first, last;
    for (int c = 0; c < COLLECTIVES; c++) {
        if (!is_compared(p, c)) continue;
        int slowest = last_of(&first, &last, p, c);
        int members = 0;
        for (int r = 0; r < RANKS; r++) members += takes_part(p, c, r);
        assert_int_equal(int_at(t, row, "sequence"), c);
        assert_int_equal(int_at(t, row, "last_rank"), slowest);
        assert_int_equal(int_at(t, row, "late"), (last - first) * 1000);
        assert_int_equal(int_at(t, row, "transfer"), p->transfer_us[c] * 1000);
        assert_int_equal(count_at(t, row, "members"), members);
        assert_text_at(t, row, "group", "dp");
        assert_text_at(t, row++, "operation", "AllReduce");
    }
    assert_int_equal(hd_table_row_count(t), row);
}

static void assert_members(const plan *p, const hd_table *t)
{
    assert_int_equal(hd_table_row_count(t), RANKS);
    for (int r = 0; r < RANKS; r++) {
        int64_t first, last, late = 0, waited = 0, count = 0, came_last = 0;
        for (int c = 0; c < COLLECTIVES; c++) {
            if (!is_compared(p, c) || !takes_part(p, c, r)) continue;
            came_last += last_of(&first, &last, p, c) == r;
            late += p->arrival_us[c][r] - first;
            waited += last - p->arrival_us[c][r];
            count++;
        }
        assert_int_equal(int_at(t, (size_t)r, "rank"), r);
        assert_int_equal(count_at(t, (size_t)r, "collectives"), count);
        assert_int_equal(count_at(t, (size_t)r, "last"), came_last);
        assert_int_equal(int_at(t, (size_t)r, "late"), late * 1000);
        assert_int_equal(int_at(t, (size_t)r, "waited"), waited * 1000);
        double z = hd_table_get_decimal(t, (size_t)r, column_named(t, "z"));
        assert_true(r == SLOW ? z > 3 : z < 3);
    }
}

static void assert_defect(const hd_table *t, size_t row, int sequence, const char *defect, int rank)
{
    assert_int_equal(int_at(t, row, "sequence"), sequence);
    assert_text_at(t, row, "defect", defect);
    assert_int_equal(int_at(t, row, "rank"), rank);
    assert_int_equal(count_at(t, row, "members"), 1);
}

static void test_stragglers__are_who_was_planned_to_come_late(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        plan p;
        make_plan(&p, false, seed);
        hd_report report = report_of(&p, (int)seed % RANKS);
        assert_collectives(&p, hd_report_table(&report, "collectives"));
        assert_members(&p, hd_report_table(&report, "stragglers"));
        assert_int_equal(hd_table_row_count(hd_report_table(&report, "mismatched")), 0);
        hd_report_free(&report);
    }
}

static void test_stragglers__list_what_does_not_match_and_where_a_rank_stopped(void **state)
{
    plan p;
    (void)state;
    make_plan(&p, true, 9);
    hd_report report = report_of(&p, 4);
    assert_collectives(&p, hd_report_table(&report, "collectives"));
    assert_members(&p, hd_report_table(&report, "stragglers"));
    const hd_table *t = hd_report_table(&report, "mismatched");
    assert_int_equal(hd_table_row_count(t), 3 + COLLECTIVES - STOP);
    assert_defect(t, 0, SKIPPED, "missing", SKIPPER);
    assert_defect(t, 1, OTHER, "operation", OTHER_RANK);
    assert_defect(t, 2, DOUBLE, "double", DOUBLE_RANK);
    for (int c = STOP; c < COLLECTIVES; c++) assert_defect(t, (size_t)(3 + c - STOP), c, "missing", STOP_RANK);
    t = hd_report_table(&report, "last");
    assert_int_equal(hd_table_row_count(t), RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(int_at(t, (size_t)r, "sequence"), r == STOP_RANK ? STOP - 1 : COLLECTIVES - 1);
        assert_int_equal(count_at(t, (size_t)r, "behind"), r == STOP_RANK ? COLLECTIVES - STOP : 0);
    }
    hd_report_free(&report);
}

static void test_stragglers__of_no_ranks_are_none(void **state)
{
    hd_report report;
    hd_job *job;
    (void)state;
    assert_int_equal(hd_job_new(&job, NULL), HD_OK);
    assert_int_equal(hd_job_finish(job, NULL), HD_OK);
    assert_int_equal(hd_report_stragglers(&report, job, NULL), HD_OK);
    hd_job_free(job);
    for (size_t i = 0; i < report.table_count; i++) assert_int_equal(hd_table_row_count(report.tables[i]), 0);
    hd_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stragglers__are_who_was_planned_to_come_late),
        cmocka_unit_test(test_stragglers__list_what_does_not_match_and_where_a_rank_stopped),
        cmocka_unit_test(test_stragglers__of_no_ranks_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
