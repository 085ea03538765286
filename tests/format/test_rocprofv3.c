/* test_rocprofv3.c - a folder of rocprofv3's tables is one run; test_importers.c has the other fixtures */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dump.h"
#include "fixtures.h"
#include "heddle/format.h"

static char *dump_folder(const fixture *f)
{
    hd_trace *trace;
    hd_error err = {0};
    (void)f;
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/format/rocprofv3/run", root ? root : ".");
    if (hd_trace_read(&trace, path, NULL, &err) != HD_OK) fail_msg("%s: %s", err.path, err.message);
    char *text = dump_trace(trace, DUMP_ALL);
    hd_trace_free(trace);
    return text;
}

static fixture folder_fixture(void)
{
    const char *root = getenv("HEDDLE_SOURCE_ROOT");
    fixture f = {.name = "folder"};
    snprintf(f.path, sizeof f.path, "%s/tests/format/rocprofv3/folder", root ? root : ".");
    return f;
}

static void test_rocprofv3__a_folder_is_one_run(void **state)
{
    (void)state;
    fixture f = folder_fixture();
    char *expected = fixture_expect(&f), *got = dump_folder(&f);
    assert_non_null(expected);
    fixture_expect_same(f.name, expected, got);
    free(expected);
    free(got);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rocprofv3__a_folder_is_one_run),
    };
    if (argc < 2 || strcmp(argv[1], "--update") != 0) return cmocka_run_group_tests(tests, NULL, NULL);
    fixture f = folder_fixture();
    char *text = dump_folder(&f);
    bool is_written = fixture_update(&f, text);
    free(text);
    return !is_written;
}
