/* test_joined.c - what the summary says of a join */
#include "report/report_tables.h"

#include "pass/attribution_maker.h"

enum { PID = 100, US = 1000 };

static hd_report report_of(maker *gpu, maker *cpu, const hd_attribution_options *options)
{
    hd_attribution *attribution;
    hd_report report;
    hd_trace *gpu_trace = maker_finish(gpu), *cpu_trace = maker_finish(cpu);
    assert_int_equal(hd_attribute(&attribution, gpu_trace, cpu_trace, options, NULL), HD_OK);
    assert_int_equal(hd_report_attribution(&report, attribution, gpu_trace, NULL), HD_OK);
    hd_attribution_free(attribution);
    hd_trace_free(gpu_trace);
    hd_trace_free(cpu_trace);
    return report;
}

static double decimal_at(const hd_table *table, size_t row, const char *name)
{
    return hd_table_get_decimal(table, row, column_named(table, name));
}

static void assert_counts(const hd_table *table, const char *const *names, const uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (count_at(table, 0, names[i]) != counts[i])
            fail_msg("%s: %d, expected %d", names[i], (int)count_at(table, 0, names[i]), (int)counts[i]);
    }
}

/* Two launches of one kernel's instances, of which one has a sample; a graph of two kernels; a copy whose work is not
 * there; a set whose call is not. A sample of no launch, and one without a stack. */
static hd_report small_report(void)
{
    maker gpu = maker_new(), cpu = maker_new();
    maker_slice(&gpu, "cpu_op", "op", PID, 1, 0, 100 * US, 0, 0);
    maker_call(&gpu, "cudaLaunchKernel", PID, 1, 1 * US, 1);
    maker_call(&gpu, "cudaLaunchKernel", PID, 1, 4 * US, 2);
    maker_call(&gpu, "cudaGraphLaunch", PID, 1, 7 * US, 3);
    maker_call(&gpu, "cudaMemcpyAsync", PID, 1, 10 * US, 4);
    maker_slice(&gpu, "kernel", "void k<int>(int)", 0, 7, 10 * US, 1000, 1, 0);
    maker_slice(&gpu, "kernel", "void k<float>(int)", 0, 7, 12 * US, 1001, 2, 0);
    maker_slice(&gpu, "kernel", "g", 0, 7, 20 * US, 1500, 3, 0);
    maker_slice(&gpu, "kernel", "g", 0, 7, 22 * US, 1500, 3, 0);
    maker_slice(&gpu, "gpu_memset", "set", 0, 7, 30 * US, 999, 9, 0);
    maker_sample(&cpu, PID, 1, HD_NO_TIME, "main;cudaLaunchKernel", 1);
    maker_sample(&cpu, PID, 1, HD_NO_TIME, "other;cudaLaunchKernel", 77);
    maker_sample(&cpu, PID, 1, HD_NO_TIME, "", 0);
    return report_of(&gpu, &cpu, NULL);
}

static void test_joined__the_join_is_counted_on_both_sides(void **state)
{
    static const char *const names[] = {"samples",
                                        "samples_without_stack",
                                        "stack_frames",
                                        "launches",
                                        "launches_without_work",
                                        "works",
                                        "kernels",
                                        "kernels_of_graphs",
                                        "works_without_launch",
                                        "works_without_stack",
                                        "pending_stacks",
                                        "forward_joined",
                                        "threads_by_id",
                                        "threads_by_sequence",
                                        "threads_unmatched"};
    static const uint64_t counts[] = {2, 1, 8, 4, 1, 5, 4, 2, 1, 1, 1, 0, 0, 0, 0};
    (void)state;
    hd_report report = small_report();
    const hd_table *join = hd_report_table(&report, "join");
    assert_int_equal(hd_table_row_count(join), 1);
    assert_counts(join, names, counts, sizeof counts / sizeof *counts);
    assert_int_equal(int_at(join, 0, "span"), 20 * US + 999);
    assert_int_equal(int_at(join, 0, "gpu_time"), 6000);
    assert_int_equal(int_at(join, 0, "kernel_time"), 5001);
    assert_int_equal(int_at(join, 0, "gpu_time_without_stack"), 999);
    static const char *const clock[] = {"clock_offset_ns", "clock_spread", "clock_worst", "clock_pairs",
                                        "clock_ambiguous"};
    for (size_t i = 0; i < sizeof clock / sizeof *clock; i++) assert_true(null_at(join, 0, clock[i]));
    hd_report_free(&report);
}

static void test_joined__rules_come_in_the_order_of_trust_and_add_up(void **state)
{
    (void)state;
    hd_report report = small_report();
    const hd_table *rules = hd_report_table(&report, "rules");
    assert_int_equal(hd_table_row_count(rules), 3);
    static const struct {
        const char *rule;
        uint64_t launches, works;
        int64_t time;
    } wanted[] = {{"id", 1, 1, 1000}, {"slices", 3, 3, 4001}, {"none", 0, 1, 999}};
    double share = 0;
    for (size_t i = 0; i < 3; i++) {
        assert_text_at(rules, i, "rule", wanted[i].rule);
        assert_int_equal(count_at(rules, i, "launches"), wanted[i].launches);
        assert_int_equal(count_at(rules, i, "works"), wanted[i].works);
        assert_int_equal(int_at(rules, i, "gpu_time"), wanted[i].time);
        assert_true(decimal_at(rules, i, "share") == 100.0 * (double)wanted[i].time / 6000);
        share += decimal_at(rules, i, "share");
    }
    assert_true(share > 99.999 && share < 100.001);
    hd_report_free(&report);
}

static void test_joined__kernels_are_summed_by_short_name(void **state)
{
    (void)state;
    hd_report report = small_report();
    const hd_table *kernels = hd_report_table(&report, "kernels");
    assert_int_equal(hd_table_row_count(kernels), 3);
    static const struct {
        const char *name;
        uint64_t count, without_stack;
        int64_t total, mean;
    } wanted[] = {{"g", 2, 0, 3000, 1500}, {"k", 2, 0, 2001, 1000}, {"set", 1, 1, 999, 999}};
    for (size_t i = 0; i < 3; i++) {
        assert_text_at(kernels, i, "kernel", wanted[i].name);
        assert_int_equal(count_at(kernels, i, "count"), wanted[i].count);
        assert_int_equal(count_at(kernels, i, "without_stack"), wanted[i].without_stack);
        assert_int_equal(int_at(kernels, i, "total"), wanted[i].total);
        assert_int_equal(int_at(kernels, i, "mean"), wanted[i].mean);
        assert_true(decimal_at(kernels, i, "share") == 100.0 * (double)wanted[i].total / 6000);
    }
    hd_report_free(&report);
}

static void test_joined__equal_times_come_by_count_then_name(void **state)
{
    (void)state;
    maker gpu = maker_new(), cpu = maker_new();
    maker_slice(&gpu, "kernel", "b", 0, 7, 0, 10, 1, 0);
    maker_slice(&gpu, "kernel", "ab", 0, 7, 20, 10, 2, 0);
    maker_slice(&gpu, "kernel", "a", 0, 7, 40, 10, 3, 0);
    for (int i = 0; i < 2; i++) maker_slice(&gpu, "kernel", "z", 0, 7, 60 + i * 20, 5, 4 + i, 0);
    maker_slice(&gpu, "kernel", "", 0, 7, 100, 1, 6, 0);
    hd_report report = report_of(&gpu, &cpu, NULL);
    const hd_table *kernels = hd_report_table(&report, "kernels");
    static const char *const names[] = {"z", "a", "ab", "b", "(no name)"};
    assert_int_equal(hd_table_row_count(kernels), 5);
    for (size_t i = 0; i < 5; i++) assert_text_at(kernels, i, "kernel", names[i]);
    hd_report_free(&report);
}

static void test_joined__the_clock_is_told_where_it_is_known(void **state)
{
    (void)state;
    maker gpu = maker_new(), cpu = maker_new();
    for (int i = 0; i < 30; i++) {
        int64_t at = (50 * i + i * i % 17) * (int64_t)US;
        maker_call(&gpu, "cudaLaunchKernel", PID, 1, at + 5000 * US, 1 + i);
        maker_kernel(&gpu, "k", at + 5100 * US, 1 + i);
        maker_sample(&cpu, PID, 1, at + (i == 7 ? 3 * US : 0), "main;cudaLaunchKernel", 0);
    }
    hd_report report = report_of(&gpu, &cpu, NULL);
    const hd_table *join = hd_report_table(&report, "join");
    assert_int_equal(int_at(join, 0, "clock_offset_ns"), 5000 * US);
    assert_int_equal(int_at(join, 0, "clock_spread"), 0);
    assert_int_equal(int_at(join, 0, "clock_worst"), 3 * US);
    assert_int_equal(count_at(join, 0, "clock_pairs"), 30);
    assert_false(hd_table_get_bool(join, 0, column_named(join, "clock_ambiguous")));
    assert_int_equal(count_at(join, 0, "threads_by_id"), 1);
    assert_text_at(hd_report_table(&report, "rules"), 0, "rule", "thread");
    hd_report_free(&report);
}

static void test_joined__nothing_makes_zeros_and_no_rows(void **state)
{
    (void)state;
    maker gpu = maker_new(), cpu = maker_new();
    hd_report report = report_of(&gpu, &cpu, NULL);
    const hd_table *join = hd_report_table(&report, "join");
    assert_int_equal(hd_table_row_count(join), 1);
    assert_int_equal(count_at(join, 0, "works"), 0);
    assert_int_equal(count_at(join, 0, "stack_frames"), 0);
    assert_int_equal(int_at(join, 0, "gpu_time"), 0);
    assert_true(null_at(join, 0, "span"));
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "rules")), 0);
    assert_int_equal(hd_table_row_count(hd_report_table(&report, "kernels")), 0);
    hd_report_free(&report);
}

/* Sums and the span stay within 64 bits; a span that does not fit is not told. */
static void test_joined__durations_beyond_all_numbers_saturate(void **state)
{
    (void)state;
    maker gpu = maker_new(), cpu = maker_new();
    maker_slice(&gpu, "kernel", "k", 0, 7, INT64_MIN + 1, INT64_MAX, 1, 0);
    maker_slice(&gpu, "kernel", "k", 0, 7, INT64_MAX, INT64_MAX, 2, 0);
    maker_slice(&gpu, "kernel", "k", 0, 7, 0, INT64_MAX, 3, 0);
    hd_report report = report_of(&gpu, &cpu, NULL);
    const hd_table *join = hd_report_table(&report, "join"), *kernels = hd_report_table(&report, "kernels");
    assert_true(null_at(join, 0, "span"));
    assert_int_equal(int_at(join, 0, "gpu_time"), INT64_MAX);
    assert_int_equal(int_at(join, 0, "gpu_time_without_stack"), INT64_MAX);
    assert_int_equal(int_at(kernels, 0, "total"), INT64_MAX);
    assert_int_equal(int_at(kernels, 0, "mean"), INT64_MAX / 3);
    assert_true(decimal_at(kernels, 0, "share") == 100.0);
    hd_report_free(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined__the_join_is_counted_on_both_sides),
        cmocka_unit_test(test_joined__rules_come_in_the_order_of_trust_and_add_up),
        cmocka_unit_test(test_joined__kernels_are_summed_by_short_name),
        cmocka_unit_test(test_joined__equal_times_come_by_count_then_name),
        cmocka_unit_test(test_joined__the_clock_is_told_where_it_is_known),
        cmocka_unit_test(test_joined__nothing_makes_zeros_and_no_rows),
        cmocka_unit_test(test_joined__durations_beyond_all_numbers_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
