/* test_options.c - the command line, parsed by tables */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *const levels[] = {"low", "mid", "high", NULL};

struct sample_options {
    bool dry_run, sync;
    const char *report;
    int64_t lane;
    uint64_t events;
    double threshold;
    int level;
    uint64_t damage;
};

#define FIELD(name) .field = offsetof(struct sample_options, name)

static const cli_option sample_table[] = {
    {.name = "dry-run", .letter = 'n', .kind = CLI_FLAG, FIELD(dry_run), .help = "h"},
    {.name = "sync", .letter = 's', .kind = CLI_FLAG, FIELD(sync), .help = "h"},
    {.name = "report", .letter = 'r', .kind = CLI_TEXT, .value = "FILE", FIELD(report), .help = "h"},
    {.name = "lane", .kind = CLI_INTEGER, .value = "N", FIELD(lane), .help = "h"},
    {.name = "events", .kind = CLI_COUNT, .value = "N", FIELD(events), .help = "h"},
    {.name = "threshold", .kind = CLI_DECIMAL, .value = "US", FIELD(threshold), .max = 10, .help = "h"},
    {.name = "level", .kind = CLI_CHOICE, .value = "L", .choices = levels, FIELD(level), .help = "h"},
    {.name = "damage", .kind = CLI_CHOICES, .value = "L", .choices = levels, FIELD(damage), .help = "h"},
    {0},
};

static const cli_command sample_command = {
    .name = "sample", .usage = "IN OUT", .options = sample_table, .operands_min = 1, .operands_max = 2};

/* What one command line gave. */
typedef struct parsed {
    struct sample_options options;
    cli_run run;
    const char *operands[16];
    int used;
} parsed;

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static parsed parse(const char *const *words)
{
    parsed result = {.run = {.command = &sample_command}};
    int count = 0;
    while (words[count]) count++;
    result.run.operands = result.operands;
    result.used = cli_parse(&result.run, &result.options, words, count);
    result.run.operands = NULL;
    return result;
}

static void assert_refused(parsed result, const char *message)
{
    assert_int_equal(result.used, -1);
    assert_int_equal(result.run.err.status, HD_ERR_ARGUMENT);
    assert_string_equal(result.run.err.message, message);
}

static void test_options__values_come_after_a_space_or_an_equals_sign(void **state)
{
    (void)state;
    parsed result = PARSE("in", "--report", "a.txt", "--lane=-3", "--events=10k", "--threshold", ".5", "--level=high",
                          "--damage", "low,high", "out");
    assert_int_equal(result.used, 11);
    assert_string_equal(result.options.report, "a.txt");
    assert_int_equal(result.options.lane, -3);
    assert_int_equal(result.options.events, 10000);
    assert_true(result.options.threshold == 0.5);
    assert_int_equal(result.options.level, 2);
    assert_int_equal(result.options.damage, 5);
    assert_int_equal(result.run.operand_count, 2);
    assert_string_equal(result.operands[1], "out");
}

static void test_options__short_flags_cluster_and_may_end_in_a_value(void **state)
{
    (void)state;
    parsed result = PARSE("-nsq", "-nrfile", "in");
    assert_true(result.options.dry_run && result.options.sync && result.run.global.quiet);
    assert_string_equal(result.options.report, "file");
    result = PARSE("-nr", "file", "in");
    assert_string_equal(result.options.report, "file");
    assert_refused(PARSE("in", "-nr"), "-r needs a value: FILE");
    assert_refused(PARSE("in", "-nz"), "unknown option -z");
}

static void test_options__a_dash_is_an_operand_and_two_end_the_options(void **state)
{
    (void)state;
    parsed result = PARSE("-", "--", "--sync");
    assert_int_equal(result.run.operand_count, 2);
    assert_string_equal(result.operands[0], "-");
    assert_string_equal(result.operands[1], "--sync");
    assert_false(result.options.sync);
}

static void test_options__operands_are_counted(void **state)
{
    (void)state;
    assert_refused(PARSE("--sync"), "too few operands: heddle sample needs IN OUT");
    assert_refused(PARSE("a", "b", "c"), "one operand too many: 'c'");
    assert_int_equal(PARSE("--help").used, 1); /* help needs none */
}

static void test_options__bad_numbers_are_refused(void **state)
{
    (void)state;
    assert_refused(PARSE("a", "--lane", "3x"), "--lane: '3x' is not a whole number");
    assert_refused(PARSE("a", "--lane", ""), "--lane: '' is not a whole number");
    assert_refused(PARSE("a", "--lane", " 3"), "--lane: ' 3' is not a whole number");
    assert_refused(PARSE("a", "--lane", "9223372036854775808"), "--lane: '9223372036854775808' is too large");
    assert_refused(PARSE("a", "--events", "-1"), "--events: '-1' is not a count (such as 20, 10k or 4M)");
    assert_refused(PARSE("a", "--events", "5 M"), "--events: '5 M' is not a count (such as 20, 10k or 4M)");
    assert_refused(PARSE("a", "--events", "99999999999999G"), "--events: '99999999999999G' is too large");
    assert_refused(PARSE("a", "--threshold", "nan"), "--threshold: 'nan' is not a decimal number");
    assert_refused(PARSE("a", "--threshold", "0x1"), "--threshold: '0x1' is not a decimal number");
    assert_refused(PARSE("a", "--threshold", "1e999"), "--threshold: '1e999' is not a decimal number");
    assert_refused(PARSE("a", "--threshold", "-1"), "--threshold: '-1' is not between 0 and 10");
    assert_refused(PARSE("a", "--threshold", "10.5"), "--threshold: '10.5' is not between 0 and 10");
}

static void test_options__count_suffixes_are_powers_of_1000_or_1024(void **state)
{
    (void)state;
    assert_int_equal(PARSE("a", "--events", "4M").options.events, 4000000);
    assert_int_equal(PARSE("a", "--events", "2Gi").options.events, UINT64_C(2) << 30);
    assert_true(PARSE("a", "--events", "18446744073709551615").options.events == UINT64_MAX);
}

static void test_options__choices_are_named_when_one_is_wrong(void **state)
{
    (void)state;
    assert_refused(PARSE("a", "--level", "hi"), "--level: 'hi' is not one of: low, mid, high");
    assert_refused(PARSE("a", "--damage", "low,,mid"),
                   "--damage: 'low,,mid' is not a list of: all, none, low, mid, high");
    assert_int_equal(PARSE("a", "--damage", "all").options.damage, 7);
    assert_int_equal(PARSE("a", "--damage", "none").options.damage, 0);
}

static void test_options__flags_take_no_value(void **state)
{
    (void)state;
    assert_refused(PARSE("a", "--sync=1"), "--sync takes no value");
}

static void test_options__an_unknown_one_gets_the_nearest_name(void **state)
{
    (void)state;
    assert_refused(PARSE("a", "--treshold=1"), "unknown option --treshold; did you mean --threshold?");
    assert_refused(PARSE("a", "--dryrun"), "unknown option --dryrun; did you mean --dry-run?");
    assert_refused(PARSE("a", "--thr", "1"), "unknown option --thr; did you mean --threshold?");
    assert_refused(PARSE("a", "--nothing-like-it"), "unknown option --nothing-like-it");
    assert_refused(PARSE("a", "--json"), "unknown option --json");
}

static void test_options__suggestions_know_swapped_letters(void **state)
{
    (void)state;
    const char *best = NULL;
    unsigned distance = UINT_MAX;
    hd_name_suggest("chekc", "fix", &best, &distance);
    assert_null(best);
    hd_name_suggest("chekc", "check", &best, &distance);
    assert_string_equal(best, "check");
    assert_int_equal(distance, 1);
}

/* Standard error is a file meanwhile, so no terminal. */
static void test_options__progress_in_lines_is_told_by_tenths(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    int before = dup(STDERR_FILENO);
    char text[1024] = {0};
    cli_run run = {0};
    cli_progress progress;
    assert_true(file && before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    cli_progress_init(&progress, &run, "summarising");
    cli_progress_update(&progress, 1, 2); /* no terminal */
    cli_progress_in_lines(&progress, &run);
    cli_progress_update(&progress, 50, 1000); /* less than a second */
    progress.started_ns -= UINT64_C(5000000000);
    for (uint64_t done = 1; done <= 1000; done += 37) cli_progress_update(&progress, done * 1000000, 1000000000);
    cli_progress_deinit(&progress);
    cli_progress_init(&progress, &run, "reading");
    cli_progress_in_lines(&progress, &run);
    progress.files = true;
    progress.started_ns -= UINT64_C(5000000000);
    cli_progress_update(&progress, 3, 4);
    run.global.quiet = true;
    cli_progress_init(&progress, &run, "summarising");
    cli_progress_in_lines(&progress, &run);
    progress.started_ns -= UINT64_C(5000000000);
    cli_progress_update(&progress, 1, 2);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    size_t size = fread(text, 1, sizeof text - 1, file), lines = 0;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    assert_int_equal(lines, 10);
    assert_non_null(strstr(text, "\nheddle: reading  75%  3 of 4 files  "));
    assert_memory_equal(text, "heddle: summarising  11%  112.0 MB  22 MB/s  40 s left\n", 48);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options__progress_in_lines_is_told_by_tenths),
        cmocka_unit_test(test_options__values_come_after_a_space_or_an_equals_sign),
        cmocka_unit_test(test_options__short_flags_cluster_and_may_end_in_a_value),
        cmocka_unit_test(test_options__a_dash_is_an_operand_and_two_end_the_options),
        cmocka_unit_test(test_options__operands_are_counted),
        cmocka_unit_test(test_options__bad_numbers_are_refused),
        cmocka_unit_test(test_options__count_suffixes_are_powers_of_1000_or_1024),
        cmocka_unit_test(test_options__choices_are_named_when_one_is_wrong),
        cmocka_unit_test(test_options__flags_take_no_value),
        cmocka_unit_test(test_options__an_unknown_one_gets_the_nearest_name),
        cmocka_unit_test(test_options__suggestions_know_swapped_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
