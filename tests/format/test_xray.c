/* test_xray.c - XRay logs with the program that wrote them; test_importers.c has their fixtures */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/format.h"

static void test_xray__functions_are_named_by_the_program(void **state)
{
    (void)state;
    static const char *const names[] = {"foo(void*)", "main"};
    char log[1024], program[1024];
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    hd_trace *trace;
    hd_error err = {0};
    snprintf(log, sizeof log, "%s/tests/format/xray/naive.xray", root ? root : ".");
    snprintf(program, sizeof program, "%s/tests/format/xray/program.elf", root ? root : ".");
    hd_read_options options = {.size = sizeof options, .binary = program};
    assert_int_equal(hd_trace_read(&trace, log, &options, &err), HD_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_not_equal(hd_trace_find_string(trace, names[i], strlen(names[i])), HD_NONE);
    assert_int_equal(hd_trace_find_string(trace, "#1", 2), HD_NONE);
    assert_int_not_equal(hd_trace_find_string(trace, "#3", 2), HD_NONE);
    hd_trace_free(trace);
    options.binary = log;
    assert_int_equal(hd_trace_read(&trace, log, &options, &err), HD_ERR_FORMAT);
    options.binary = program;
    snprintf(log, sizeof log, "%s/tests/format/xplane/small.pb", root ? root : ".");
    assert_int_equal(hd_trace_read(&trace, log, &options, &err), HD_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xray__functions_are_named_by_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
