/* test_large.c - large arrays keep what is in them, in memory and in files */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory/large.h"

enum { COUNT = 300000 };

/* Mappings of temporary files, whose names are gone; -1 where the system does not tell. */
static long mapped_files(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[4096 + 128];
    long count = file ? 0 : -1;
    while (file && fgets(line, sizeof line, file)) count += strstr(line, "/heddle-") && strstr(line, " (deleted)");
    if (file) fclose(file);
    return count;
}

static void grow_to(uint32_t **list, size_t *capacity, uint64_t least)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(hd_large_grow((void **)list, capacity, i, sizeof **list, least));
        (*list)[i] = i * 7;
    }
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal((*list)[i], i * 7);
}

static void test_large__lists_grow_from_memory_into_files_and_stay_as_they_are(void **state)
{
    (void)state;
    const uint64_t leasts[] = {0, 1, 4096, 100000, 1 << 20, UINT64_MAX};
    for (size_t i = 0; i < sizeof leasts / sizeof *leasts; i++) {
        uint32_t *list = NULL;
        size_t capacity = 0;
        grow_to(&list, &capacity, leasts[i]);
        assert_true(hd_large_resize((void **)&list, 1000, 1000, sizeof *list, leasts[i]));
        for (uint32_t k = 0; k < 1000; k++) assert_int_equal(list[k], k * 7);
        assert_true(hd_large_resize((void **)&list, 1000, 2 * COUNT, sizeof *list, leasts[i]));
        for (uint32_t k = 0; k < 1000; k++) assert_int_equal(list[k], k * 7);
        hd_large_free(list);
    }
}

static void test_large__freed_lists_leave_no_mapping_and_no_file(void **state)
{
    (void)state;
    long before = mapped_files();
    void *lists[20];
    for (int i = 0; i < 20; i++) {
        lists[i] = hd_large_new(COUNT, 8, 4096);
        assert_non_null(lists[i]);
        memset(lists[i], i, (size_t)COUNT * 8);
    }
    assert_true(before < 0 || mapped_files() == before + 20);
    for (int i = 0; i < 20; i++) hd_large_free(lists[i]);
    assert_int_equal(mapped_files(), before);
    hd_large_free(NULL);
}

static void test_large__without_a_folder_for_files_it_is_memory(void **state)
{
    (void)state;
    const char *folder = getenv("TMPDIR");
    char *old = folder ? strdup(folder) : NULL;
    uint32_t *list = NULL;
    size_t capacity = 0;
    setenv("TMPDIR", "/nowhere/at/all", 1);
    grow_to(&list, &capacity, 4096);
    hd_large_free(list);
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

static void test_large__sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    void *list = hd_large_new(10, 8, UINT64_MAX);
    assert_non_null(list);
    assert_null(hd_large_new(SIZE_MAX / 2, 8, UINT64_MAX));
    assert_null(hd_large_new(SIZE_MAX, 1, 1));
    assert_false(hd_large_resize(&list, 10, SIZE_MAX / 4, 8, UINT64_MAX));
    hd_large_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large__lists_grow_from_memory_into_files_and_stay_as_they_are),
        cmocka_unit_test(test_large__freed_lists_leave_no_mapping_and_no_file),
        cmocka_unit_test(test_large__without_a_folder_for_files_it_is_memory),
        cmocka_unit_test(test_large__sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
