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

typedef struct item {
    uint32_t key, place;
    char rest[12];
} item;

static int by_key(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* qsort with the place as a second key says what a stable sort has to make. */
static int by_key_and_place(const void *a, const void *b)
{
    const item *x = a, *y = b;
    int order = by_key(a, b);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static uint32_t key_of(int shape, uint32_t i, uint32_t count)
{
    switch (shape) {
    case 0: return (uint32_t)rand();                        /* random */
    case 1: return (uint32_t)rand() % 4;                    /* many alike */
    case 2: return i;                                       /* ascending */
    case 3: return count - i;                               /* descending */
    case 4: return i % (count / 3 + 1);                     /* a few ascending runs */
    case 5: return i ^ 1;                                   /* neighbours swapped */
    default: return i == count - 1 ? 0 : i + (rand() % 3u); /* the smallest at the end */
    }
}

static void test_large__sorting_is_stable_and_as_qsort(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 3, 11, 12, 13, 24, 25, 26, 100, 1001, 20000};
    srand(5);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        for (int shape = 0; shape < 7; shape++) {
            uint32_t count = counts[c];
            item *list = calloc(count + 1, sizeof *list), *wanted = calloc(count + 1, sizeof *wanted);
            assert_true(list && wanted);
            for (uint32_t i = 0; i < count; i++) {
                list[i] = (item){.key = key_of(shape, i, count), .place = i, .rest = "rest"};
                wanted[i] = list[i];
            }
            if (count) qsort(wanted, count, sizeof *wanted, by_key_and_place);
            assert_true(hd_large_sort(list, count, sizeof *list, by_key, c % 2 ? 4096 : UINT64_MAX));
            assert_memory_equal(list, wanted, (count + 1) * sizeof *list);
            free(list);
            free(wanted);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large__lists_grow_from_memory_into_files_and_stay_as_they_are),
        cmocka_unit_test(test_large__freed_lists_leave_no_mapping_and_no_file),
        cmocka_unit_test(test_large__without_a_folder_for_files_it_is_memory),
        cmocka_unit_test(test_large__sizes_that_overflow_are_refused),
        cmocka_unit_test(test_large__sorting_is_stable_and_as_qsort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
