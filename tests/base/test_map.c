/* test_map.c - tables of numbers and of values */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/memory/large.h"
#include "rounds.h"

#define NO_STATE void **state __attribute__((unused))

/* The allocation that fails, by --wrap of the linker; below 0: none does. */
static long left = -1;

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return left >= 0 && left-- == 0 ? NULL : __real_realloc(old, size);
}

static uint32_t find(const hd_slots *slots, uint64_t hash, uint32_t number)
{
    uint32_t out;
    HD_SLOTS_FIND(out, slots, hash, out == number);
    return out;
}

static void test_map__what_is_added_is_found_while_it_grows(NO_STATE)
{
    enum { COUNT = 100000 };
    hd_map map = {0};
    uint32_t value = 7;
    assert_false(hd_map_get(&value, &map, 0, 0));
    assert_int_equal(value, 7);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_null(hd_map_find(&map, i / 3, i % 3));
        assert_true(hd_map_set(&map, i / 3, i % 3, i));
        assert_int_equal(map.count, i + 1);
        assert_true(map.slots.count * 4 <= (map.slots.mask + 1) * 3);
        if (i % 1000) continue;
        for (uint32_t k = 0; k <= i; k++) assert_true(hd_map_get(&value, &map, k / 3, k % 3) && value == k);
    }
    assert_true(hd_map_set(&map, 0, 1, UINT32_MAX));
    assert_true(hd_map_get(&value, &map, 0, 1) && value == UINT32_MAX);
    assert_int_equal(map.count, COUNT);
    assert_true(map.entries[4].a == 1 && map.entries[4].b == 1); /* as they came */
    hd_map_deinit(&map);
    assert_null(hd_map_find(&map, 0, 0));
}

static void test_map__a_new_entry_is_zeros(NO_STATE)
{
    hd_map map = {0};
    hd_map_entry *entry = hd_map_at(&map, UINT64_MAX, 5);
    assert_non_null(entry);
    assert_true(entry->a == UINT64_MAX && entry->b == 5 && entry->pointer == NULL && entry->value == 0);
    entry->pointer = &map;
    assert_ptr_equal(hd_map_at(&map, UINT64_MAX, 5)->pointer, &map);
    hd_map_deinit(&map);
}

/* Against an array, with few hashes, so that runs are long, wrap around and have homes in between. */
static void test_map__removed_numbers_leave_the_others_to_be_found(NO_STATE)
{
    enum { COUNT = 300 };
    for (unsigned first = hd_test_seed(1), seed = first; seed < first + 20; seed++) {
        bool there[COUNT] = {false};
        hd_slots slots = {0};
        size_t count = 0;
        srand(seed);
        for (int round = 0; round < 4000; round++) {
            uint32_t i = (uint32_t)rand() % COUNT;
            uint64_t hash = (UINT64_C(0xffffffff00000000) | (i % 17 * 5 - 20)) & (seed % 2 ? UINT64_MAX : UINT32_MAX);
            if (there[i])
                hd_slots_remove(&slots, hash, i);
            else
                assert_true(hd_slots_add(&slots, hash, i));
            there[i] = !there[i];
            count += there[i] ? 1 : SIZE_MAX;
            assert_int_equal(slots.count, count);
            if (round % 50) continue;
            for (uint32_t k = 0; k < COUNT; k++) {
                hash = k % 17 * 5 - 20;
                assert_int_equal(find(&slots, hash, k), there[k] ? k : HD_SLOTS_NONE);
            }
        }
        hd_slots_remove(&slots, 12345, 1); /* of another hash */
        assert_int_equal(slots.count, count);
        hd_slots_clear(&slots);
        assert_int_equal(find(&slots, 0, 4), HD_SLOTS_NONE);
        hd_slots_deinit(&slots);
    }
}

/* Against an array. */
static void test_map__keeps_what_is_put_until_it_is_removed(NO_STATE)
{
    enum { KEYS = 500 };
    hd_map map = {0};
    char *model[KEYS] = {NULL}, values[KEYS];
    size_t count = 0;
    srand(9);
    for (int round = 0; round < 50000; round++) {
        uint64_t key = (uint64_t)rand() % KEYS;
        if (rand() % 2) {
            count += !model[key];
            model[key] = &values[rand() % KEYS];
            assert_true(hd_map_set_pointer(&map, key, 0, model[key]));
        } else {
            count -= model[key] != NULL;
            model[key] = NULL;
            hd_map_remove(&map, key, 0);
        }
        key = (uint64_t)rand() % KEYS;
        assert_ptr_equal(hd_map_pointer(&map, key, 0), model[key]);
        assert_int_equal(map.count, count);
    }
    for (uint64_t key = 0; key < KEYS; key++) assert_ptr_equal(hd_map_pointer(&map, key, 0), model[key]);
    for (size_t i = 0; i < map.count; i++) assert_ptr_equal(map.entries[i].pointer, model[map.entries[i].a]);
    hd_map_clear(&map);
    assert_null(hd_map_find(&map, 1, 0));
    assert_true(hd_map_set(&map, 1, 0, 3));
    assert_int_equal(map.count, 1);
    hd_map_deinit(&map);
}

static void test_map__numbers_get_other_numbers(NO_STATE)
{
    hd_slots slots = {0};
    assert_false(hd_slots_renumber(&slots, 9, 1, 2));
    assert_true(hd_slots_add(&slots, 9, 1) && hd_slots_add(&slots, 9, 3));
    assert_true(hd_slots_renumber(&slots, 9, 1, 2));
    assert_false(hd_slots_renumber(&slots, 9, 1, 2));
    assert_int_equal(find(&slots, 9, 1), HD_SLOTS_NONE);
    assert_int_equal(find(&slots, 9, 2), 2);
    assert_int_equal(find(&slots, 9, 3), 3);
    assert_int_equal(find(&slots, 10, 3), HD_SLOTS_NONE);
    hd_slots_deinit(&slots);
}

/* Pairs of one hash under one key of the process are of many under another. */
static void test_map__places_depend_on_the_seed(NO_STATE)
{
    size_t moved = 0;
    uint32_t order[2][64];
    for (uint64_t seed = 0; seed < 2; seed++) {
        hd_map map = {0};
        hd_hash_seed_set(seed);
        for (uint32_t i = 0; i < 32; i++) assert_true(hd_map_set(&map, i, 0, i));
        for (size_t i = 0; i < 64; i++) order[seed][i] = (uint32_t)map.slots.at[i];
        hd_map_deinit(&map);
    }
    for (size_t i = 0; i < 64; i++) moved += order[0][i] != order[1][i];
    assert_true(moved > 16);
}

/* Whatever allocation fails: it says so, what is there stays, and the next attempt goes on. */
static void test_map__without_memory_it_stays_as_it_is(NO_STATE)
{
    hd_map map = {0};
    uint32_t value, failed = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        left = 0;
        bool added = hd_map_set(&map, i, i, i);
        failed += !added;
        left = 1;
        added = added || hd_map_set(&map, i, i, i);
        failed += !added;
        left = -1;
        assert_true(added || hd_map_set(&map, i, i, i));
        assert_int_equal(map.count, i + 1);
    }
    assert_in_range(failed, 10, 30); /* as often as one of both lists grew */
    for (uint32_t i = 0; i < 5000; i++) assert_true(hd_map_get(&value, &map, i, i) && value == i);
    hd_map_deinit(&map);
}

static void test_map__large_ones_lie_in_files(NO_STATE)
{
    enum { COUNT = 5000 };
    hd_slots slots = {0};
    for (uint32_t i = 0; i < COUNT; i++) assert_true(hd_large_slots_add(&slots, hd_hash_pair(i, 1), i, 1 << 14));
    for (uint32_t i = 0; i < COUNT; i++) assert_int_equal(find(&slots, hd_hash_pair(i, 1), i), i);
    hd_large_slots_deinit(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map__what_is_added_is_found_while_it_grows),
        cmocka_unit_test(test_map__a_new_entry_is_zeros),
        cmocka_unit_test(test_map__removed_numbers_leave_the_others_to_be_found),
        cmocka_unit_test(test_map__keeps_what_is_put_until_it_is_removed),
        cmocka_unit_test(test_map__numbers_get_other_numbers),
        cmocka_unit_test(test_map__places_depend_on_the_seed),
        cmocka_unit_test(test_map__without_memory_it_stays_as_it_is),
        cmocka_unit_test(test_map__large_ones_lie_in_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
