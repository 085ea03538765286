/* test_pattern.c - globs match as fnmatch(3) says, and no pattern takes much memory or time */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text/pattern.h"
#include "patience.h"
#include "random_trace.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))

static void test_pattern__globs_match_as_fnmatch_says(NO_STATE)
{
    static const char *const pieces[] = {"a",    "b",   "*",   "?",           "[ab]",          "[!a]", "[^b-z]",
                                         "[]a]", "\\*", "\\a", "[[:digit:]]", "[[:alpha:]b1]", "[",    "1"};
    enum { PIECES = sizeof pieces / sizeof *pieces };
    uint64_t seed = hd_test_seed(3);
    int matched = 0;
    for (int i = 0; i < 60000; i++) {
        char pattern[128] = "", text[16] = "";
        for (uint32_t n = random_next(&seed) % 6; n; n--) strcat(pattern, pieces[random_next(&seed) % PIECES]);
        for (uint32_t n = random_next(&seed) % 6, at = 0; at < n; at++) text[at] = "ab1*["[random_next(&seed) % 5];
        bool wanted = fnmatch(pattern, text, 0) == 0;
        if (hd_glob_matches(pattern, text, strlen(text), false) != wanted)
            fail_msg("'%s' and '%s': not %d", pattern, text, wanted);
        matched += wanted;
    }
    assert_true(matched > 3000);
}

static void test_pattern__what_could_take_for_ever_is_refused(NO_STATE)
{
    static const char *const bad[] = {
        "(((a{1,255}){1,255}){1,255})b", "(a*)*\\1b", "(a)\\9", "x{1,2000}", "((a{30}){30}){2}", "(", "[[.a"};
    alarm((unsigned)hd_test_patience(300)); /* what is taken for good takes for ever */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_regex regex;
        hd_error err = {0};
        assert_int_equal(hd_regex_init(&regex, bad[i], true, "--names", &err), HD_ERR_ARGUMENT);
        assert_int_equal(strncmp(err.message, "--names: ", 9), 0);
        hd_regex_deinit(&regex);
    }
    char longer[HD_PATTERN_BYTES + 2];
    memset(longer, '(', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    hd_regex regex;
    assert_int_equal(hd_regex_init(&regex, longer, true, "--names", NULL), HD_ERR_ARGUMENT);
    alarm(0);
}

static void test_pattern__what_is_taken_is_quick(NO_STATE)
{
    static const char *const slow[] = {"(a*)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)c", "(a?){20}a{20}b", "(a+)+[^a]"};
    static char text[20000];
    alarm((unsigned)hd_test_patience(300)); /* what tries all ways takes for ever */
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        hd_regex regex;
        assert_int_equal(hd_regex_init(&regex, slow[i], true, "q", NULL), HD_OK);
        hd_regex_matches(&regex, text, sizeof text / 10);
        hd_regex_deinit(&regex);
    }
    assert_false(hd_glob_matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", text, sizeof text, false));
    alarm(0);
}

static void test_pattern__a_part_of_the_text_matches_and_case_may_not_count(NO_STATE)
{
    hd_regex regex;
    assert_int_equal(hd_regex_init(&regex, "^Gemm[0-9]{1,3}$", false, "q", NULL), HD_OK);
    for (int i = 0; i < 40000; i++) assert_int_equal(hd_regex_matches(&regex, "gEMM12x", i % 2 ? 6 : 7), i % 2);
    hd_regex_deinit(&regex);
    assert_true(hd_glob_matches("ge*12", "GEMM12", 6, true));
    assert_false(hd_glob_matches("ge*12", "GEMM12", 6, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern__globs_match_as_fnmatch_says),
        cmocka_unit_test(test_pattern__what_could_take_for_ever_is_refused),
        cmocka_unit_test(test_pattern__what_is_taken_is_quick),
        cmocka_unit_test(test_pattern__a_part_of_the_text_matches_and_case_may_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
