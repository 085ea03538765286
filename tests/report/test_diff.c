/* test_diff.c - two sides: what is compared, what adds up, what is refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/analysis/diff.h"
#include "read_text.h"

enum { STEPS = 7 };

/* Steps of two kernels, of which the first takes so many us; each step is longer than the last by a little. */
static hd_diff_side *side_of(int first_us, int steps)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    hd_diff_side *side;
    hd_trace *trace;
    fputs("[", out);
    for (int i = 0, at = 0; i < steps; i++) {
        int length[2] = {first_us + i % 3, 200};
        fprintf(
            out,
            "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":1,\"ts\":%d,"
            "\"dur\":50}",
            i ? "," : "", i, at);
        for (int k = 0, start = at + 20; k < 2; start += length[k++]) {
            fprintf(
                out,
                ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                "\"dur\":5,\"args\":{\"correlation\":%d}}",
                at + 6 * k, 2 * i + k + 1);
            fprintf(out,
                    ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,"
                    "\"args\":{\"correlation\":%d,\"device\":0,\"stream\":7}}",
                    k, start, length[k], 2 * i + k + 1);
        }
        at += 20 + length[0] + length[1];
    }
    fputs("]", out);
    fclose(out);
    assert_int_equal(hd_diff_side_new(&side, NULL, NULL), HD_OK);
    assert_int_equal(read_text(&trace, text, size, &read_fast, 0, NULL), HD_OK);
    assert_int_equal(hd_diff_side_add(side, trace, "rank0.json", NULL), HD_OK);
    hd_trace_free(trace); /* is not needed any more */
    free(text);
    return side;
}

/* Frees the sides. */
static hd_diff *diff_of(hd_diff_side *before, hd_diff_side *after, const hd_diff_options *options)
{
    hd_diff *diff;
    assert_int_equal(hd_diff_new(&diff, before, after, options, NULL), HD_OK);
    hd_diff_side_free(before);
    hd_diff_side_free(after);
    return diff;
}

static int64_t cell(const hd_diff *diff, const char *table, size_t row, const char *column)
{
    const hd_table *t = hd_diff_table(diff, table);
    size_t at = hd_table_find_column(t, column);
    assert_true(row < hd_table_row_count(t) && at != SIZE_MAX && !hd_table_is_null(t, row, at));
    return hd_table_get_int(t, row, at);
}

static void test_diff__parts_add_up_to_the_steps(void **state)
{
    (void)state;
    hd_diff *diff = diff_of(side_of(300, STEPS), side_of(360, STEPS), NULL);
    const char *const totals[] = {"before_total", "after_total"};
    assert_int_equal(hd_diff_verdict_of(diff), HD_DIFF_SLOWER);
    assert_int_equal(cell(diff, "step", 0, "change"), 60000);
    assert_int_equal(cell(diff, "rows", 0, "change"), 60000);
    for (int side = 0; side < 2; side++) {
        int64_t sum = 0;
        for (size_t row = 0; row < hd_table_row_count(hd_diff_table(diff, "parts")); row++)
            sum += cell(diff, "parts", row, totals[side]);
        assert_int_equal(sum, cell(diff, "step", 0, totals[side]));
    }
    hd_diff_free(diff);
}

static void test_diff__a_side_against_itself_is_the_same(void **state)
{
    (void)state;
    hd_diff *diff = diff_of(side_of(300, STEPS), side_of(300, STEPS), NULL);
    assert_int_equal(hd_diff_verdict_of(diff), HD_DIFF_SAME);
    assert_int_equal(hd_diff_gate_of(diff), HD_DIFF_PASSES);
    assert_int_equal(hd_table_row_count(hd_diff_table(diff, "rows")), 0);
    assert_non_null(strstr(hd_diff_sentence(diff), "no change"));
    hd_diff_free(diff);
}

static void test_diff__nothing_is_concluded_from_few_steps_or_none(void **state)
{
    (void)state;
    hd_diff_side *empty;
    const char *const fail_if[] = {"step>3%", NULL};
    assert_int_equal(hd_diff_side_new(&empty, NULL, NULL), HD_OK);
    hd_diff *of_none = diff_of(side_of(300, STEPS), empty, NULL), *of_few;
    of_few = diff_of(side_of(300, 2), side_of(500, 2),
                     &(hd_diff_options){.size = sizeof(hd_diff_options), .fail_if = fail_if});
    assert_int_equal(hd_diff_verdict_of(of_none), HD_DIFF_INCONCLUSIVE);
    assert_int_equal(hd_diff_gate_of(of_none), HD_DIFF_UNSAID);
    assert_int_equal(hd_table_row_count(hd_diff_table(of_none, "rows")), 0);
    assert_int_equal(hd_diff_verdict_of(of_few), HD_DIFF_INCONCLUSIVE);
    assert_int_equal(hd_diff_gate_of(of_few), HD_DIFF_UNSAID);
    hd_diff_free(of_none);
    hd_diff_free(of_few);
}

static void test_diff__a_least_size_makes_a_change_noise(void **state)
{
    (void)state;
    const hd_diff_options least = {.size = sizeof least, .min_ns = 100000},
                          share = {.size = sizeof share, .noise = 0.5};
    const hd_diff_options *const both[] = {&least, &share};
    for (int i = 0; i < 2; i++) {
        hd_diff *diff = diff_of(side_of(300, STEPS), side_of(360, STEPS), both[i]);
        assert_int_equal(hd_diff_verdict_of(diff), HD_DIFF_SAME);
        assert_int_equal(hd_table_row_count(hd_diff_table(diff, "rows")), 0);
        hd_diff_free(diff);
    }
}

static void test_diff__conditions_that_are_none_are_refused(void **state)
{
    (void)state;
    const char *const good[] = {"step>3%", "launches > 0", "idle:host>20us", "compute>0", NULL};
    const char *const bad[] = {"", "step", "step>", "step>x", "step>3", "launches>3us", "steps>3%", ">3%", "step>3%%"};
    assert_int_equal(hd_diff_conditions_valid(good, NULL), HD_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const one[] = {bad[i], NULL};
        assert_int_equal(hd_diff_conditions_valid(one, NULL), HD_ERR_ARGUMENT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diff__parts_add_up_to_the_steps),
        cmocka_unit_test(test_diff__a_side_against_itself_is_the_same),
        cmocka_unit_test(test_diff__nothing_is_concluded_from_few_steps_or_none),
        cmocka_unit_test(test_diff__a_least_size_makes_a_change_noise),
        cmocka_unit_test(test_diff__conditions_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
