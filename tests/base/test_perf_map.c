/* test_perf_map.c - lines of maps that JIT compilers write for perf */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/unwind/perf_map.h"

/* From memory that ends where the line does, so that a sanitizer sees a look behind it. */
static bool read_line(hd_perf_symbol *out, char name[64], const char *line, size_t size)
{
    char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, line, size);
    bool is_one = hd_perf_map_line(out, size ? exact : exact + 1, size);
    if (is_one) {
        assert_in_range(out->name_size, 1, 63);
        assert_true(out->name >= exact && out->name + out->name_size <= exact + size);
        memcpy(name, out->name, out->name_size);
        name[out->name_size] = 0;
    }
    free(exact);
    return is_one;
}

static void assert_line(const char *line, uint64_t start, uint64_t size, const char *name)
{
    hd_perf_symbol symbol;
    char text[64];
    assert_true(read_line(&symbol, text, line, strlen(line)));
    assert_true(symbol.start == start && symbol.size == size);
    assert_string_equal(text, name);
}

static void assert_no_line(const char *line, size_t size)
{
    hd_perf_symbol symbol;
    char text[64];
    assert_false(read_line(&symbol, text, line, size));
}

static void test_perf_map__a_line_is_start_size_and_name(void **state)
{
    (void)state;
    assert_line("7f0012340000 40 py::work", 0x7f0012340000, 0x40, "py::work");
    assert_line("7F0012340000 aB fn", 0x7f0012340000, 0xab, "fn");
    assert_line("0x10 0x20 fn", 0x10, 0x20, "fn");
    assert_line("0 0 nothing", 0, 0, "nothing");
    assert_line("10 20 3", 0x10, 0x20, "3");
}

static void test_perf_map__the_name_may_hold_blanks_and_ends_before_those_at_the_end(void **state)
{
    (void)state;
    assert_line("10 20 LazyCompile:~old file.js:1", 0x10, 0x20, "LazyCompile:~old file.js:1");
    assert_line("10 20 py::f:/home/me/a b.py\n", 0x10, 0x20, "py::f:/home/me/a b.py");
    assert_line("10\t20  fn \t\r\n", 0x10, 0x20, "fn");
}

static void test_perf_map__numbers_have_64_bits_and_no_more(void **state)
{
    (void)state;
    assert_line("ffffffffffffffff ffffffffffffffff fn", UINT64_MAX, UINT64_MAX, "fn");
    assert_line("0x00000000000000ff 1 fn", 0xff, 1, "fn");
    assert_no_line("10000000000000000 1 fn", 22);
    assert_no_line("1 fffffffffffffffff fn", 22);
}

static void test_perf_map__what_is_no_line_is_refused(void **state)
{
    static const char *const none[] = {
        "",           " ",         "\n",           "0x",        "10",        "10 ",       "10 20",
        "10 20 ",     "10 20\n",   "10 20 \t\r\n", "nonsense",  "10 zz fn",  "zz 10 fn",  "0x 10 fn",
        "10 0x fn",   " 10 20 fn", "-10 20 fn",    "+10 20 fn", "10 -20 fn", "10 +20 fn", "0x0x10 20 fn",
        "0X10 20 fn", "10,20,fn",  "10\n20 fn",    "10 20\nfn", "10 20fn",   "10h 20 fn", "@0 10 fn",
        "`0 10 fn",   "g0 10 fn",  "\xe1 10 fn",   "#!/bin/sh"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_no_line(none[i], strlen(none[i]));
    assert_no_line("\0 10 fn", 7);
    assert_no_line("10\0 20 fn", 9);
    assert_no_line("10 20\0 fn", 9);
}

static void test_perf_map__a_line_that_is_cut_anywhere_is_refused_or_has_less_name(void **state)
{
    static const char line[] = "0x7f00 0x40 fn";
    (void)state;
    for (size_t size = 0; size < sizeof line - 1; size++) {
        hd_perf_symbol symbol;
        char text[64];
        bool is_one = read_line(&symbol, text, line, size);
        assert_true(is_one == (size > 12));
        if (is_one) assert_string_equal(text, "f");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perf_map__a_line_is_start_size_and_name),
        cmocka_unit_test(test_perf_map__the_name_may_hold_blanks_and_ends_before_those_at_the_end),
        cmocka_unit_test(test_perf_map__numbers_have_64_bits_and_no_more),
        cmocka_unit_test(test_perf_map__what_is_no_line_is_refused),
        cmocka_unit_test(test_perf_map__a_line_that_is_cut_anywhere_is_refused_or_has_less_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
