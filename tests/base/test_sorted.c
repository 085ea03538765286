/* test_sorted.c - sorting, and search in sorted lists */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sorted.h"
#include "rounds.h"

typedef struct range {
    uint64_t start;
    uint32_t other;
} range;

static void test_sorted__an_empty_list_has_none_up_to_any_key(void **state)
{
    (void)state;
    assert_int_equal(hd_sorted_up_to(0, NULL, 0, sizeof(range)), 0);
    assert_int_equal(hd_sorted_up_to(UINT64_MAX, NULL, 0, sizeof(range)), 0);
}

static void test_sorted__the_result_is_what_a_look_at_all_of_them_counts(void **state)
{
    const uint64_t keys[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, UINT64_MAX - 1, UINT64_MAX};
    unsigned seed = hd_test_seed(1);
    (void)state;
    for (size_t count = 1; count < 40; count++) {
        range list[40] = {{0}};
        uint64_t start = 0;
        for (size_t i = 0; i < count; i++) {
            start += (uint64_t)rand_r(&seed) % 2; /* many are equal */
            list[i] = (range){start, (uint32_t)rand_r(&seed)};
        }
        if (count % 2) list[count - 1].start = UINT64_MAX;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            size_t wanted = 0;
            for (size_t i = 0; i < count; i++) wanted += list[i].start <= keys[k];
            assert_int_equal(hd_sorted_up_to(keys[k], list, count, sizeof *list), wanted);
        }
    }
}

static int by_key_and_place(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Against qsort by key and place, from sorted to random. */
static void test_sorted__runs_are_merged_and_equal_ones_stay_in_order(void **state)
{
    enum { MOST = 70 };
    struct {
        int key, place;
    } list[MOST], spare[MOST], expected[MOST];
    (void)state;
    srand(1);
    for (int round = 0; round < 20000; round++) {
        int count = rand() % (MOST + 1), disorder = rand() % 12;
        for (int i = 0; i < count; i++) {
            list[i].key = i / 2 - (disorder ? rand() % disorder * (rand() % 3) : 0);
            list[i].place = i;
        }
        memcpy(expected, list, sizeof list);
        qsort(expected, (size_t)count, sizeof *expected, by_key_and_place);
        HD_SORT_RUNS(list, spare, (size_t)count, x, y, x->key < y->key);
        assert_memory_equal(list, expected, (size_t)count * sizeof *list);
    }
}

static int by_key(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Against qsort by key and place: lists that need memory, that need none, and where there is none. */
static void test_sorted__equal_ones_stay_in_order_with_memory_and_without(void **state)
{
    enum { MOST = 600 };
    static struct {
        int key, place, more; /* no power of two */
    } list[MOST], other[MOST], expected[MOST];
    unsigned seed = hd_test_seed(2);
    (void)state;
    for (int round = 0; round < 600; round++) {
        int count = rand_r(&seed) % (round % 3 ? 40 : MOST + 1), keys = 1 + rand_r(&seed) % (round % 2 ? 4 : 500);
        for (int i = 0; i < count; i++) {
            list[i].key = (round % 5 ? rand_r(&seed) : i) % keys;
            list[i].place = list[i].more = i;
        }
        memcpy(expected, list, sizeof list);
        memcpy(other, list, sizeof list);
        qsort(expected, (size_t)count, sizeof *expected, by_key_and_place);
        hd_sort(list, (size_t)count, sizeof *list, by_key);
        hd_sort_in(other, (size_t)count, sizeof *other, by_key, NULL);
        assert_memory_equal(list, expected, (size_t)count * sizeof *list);
        assert_memory_equal(other, expected, (size_t)count * sizeof *other);
    }
    hd_sort(NULL, 0, sizeof *list, by_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted__equal_ones_stay_in_order_with_memory_and_without),
        cmocka_unit_test(test_sorted__runs_are_merged_and_equal_ones_stay_in_order),
        cmocka_unit_test(test_sorted__an_empty_list_has_none_up_to_any_key),
        cmocka_unit_test(test_sorted__the_result_is_what_a_look_at_all_of_them_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
