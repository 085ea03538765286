/* test_record_parts.c - the folder of captures: what is said and left when it cannot be made */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/impl.h"

FILE *__real_fdopen(int fd, const char *mode);
FILE *__wrap_fdopen(int fd, const char *mode);

static bool fails;

/* As without memory. */
FILE *__wrap_fdopen(int fd, const char *mode)
{
    if (!fails) return __real_fdopen(fd, mode);
    errno = ENOMEM;
    return NULL;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* In a folder of its own, of which nothing may be left. */
static void assert_failure(int problem)
{
    char folder[] = "/tmp/heddle-test-XXXXXX", path[64];
    const char *command[] = {"true", NULL};
    hd_record_result result = {0};
    hd_error err = {0};
    const recording r = {.command = command, .result = &result, .err = &err};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out.heddle.parts", folder);
    result.parts = strdup(path);
    size_t before = open_files();
    errno = 0;
    assert_int_equal(record_parts_make(&r, &err), HD_ERR_IO);
    assert_int_equal(open_files(), before);
    if (!strstr(err.message, strerror(problem))) fail_msg("%s", err.message);
    free(result.parts);
    assert_int_equal(rmdir(folder), 0);
}

static void test_record_parts__without_memory_nothing_is_left_open(void **state)
{
    (void)state;
    fails = true;
    assert_failure(ENOMEM);
    fails = false;
}

static void test_record_parts__a_file_that_cannot_be_written_says_why(void **state)
{
    struct rlimit before, none;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    assert_failure(EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
}

static void test_record_parts__a_number_goes_before_the_extension(void **state)
{
    const char *const pairs[][2] = {{"out.heddle", "out.7.heddle"}, {"a.b/run.json.gz", "a.b/run.7.json.gz"},
                                    {"a.b/run", "a.b/run.7"},       {".gz", ".gz.7"},
                                    {"x.zst", "x.7.zst"},           {"v1.2.heddle", "v1.2.7.heddle"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *name = record_numbered(pairs[i][0], 7);
        assert_string_equal(name, pairs[i][1]);
        free(name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_parts__without_memory_nothing_is_left_open),
        cmocka_unit_test(test_record_parts__a_file_that_cannot_be_written_says_why),
        cmocka_unit_test(test_record_parts__a_number_goes_before_the_extension),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
