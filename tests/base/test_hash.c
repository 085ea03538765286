/* test_hash.c - tables are not slowed down by keys that somebody chose */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/map.h"
#include "growth.h"
#include "trace/strings.h"

#define NO_STATE void **state __attribute__((unused))

/* What multiplying and folding made of keys, while its constants stood in the source: whatever is multiplied by the
 * first key that equals the constant is 0. */
#define FIRST UINT64_C(0x9e3779b97f4a7c15)

enum { KEYS = 80000 };

static double intern(void *context, size_t keys)
{
    hd_strings strings;
    (void)context;
    assert_int_equal(hd_strings_init(&strings, NULL), HD_OK);
    double begin = hd_test_cpu_seconds();
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t text[4] = {FIRST, i, 7, 7};
        assert_int_equal(hd_strings_intern(&strings, (const char *)text, sizeof text), i + 1);
    }
    double seconds = hd_test_cpu_seconds() - begin;
    hd_strings_deinit(&strings);
    return seconds;
}

static void test_hash__crafted_strings_are_interned_at_once(NO_STATE)
{
    hd_test_assert_linear("strings", intern, NULL, KEYS / 32);
}

static double map_pairs(void *context, size_t keys)
{
    hd_map map = {0};
    (void)context;
    double begin = hd_test_cpu_seconds();
    for (uint32_t i = 0; i < keys; i++) assert_true(hd_map_set(&map, FIRST, i, i));
    for (uint32_t i = 0, value; i < keys; i++) {
        assert_true(hd_map_get(&value, &map, FIRST, i));
        assert_int_equal(value, i);
    }
    double seconds = hd_test_cpu_seconds() - begin;
    hd_map_deinit(&map);
    return seconds;
}

static void test_hash__crafted_pairs_are_found_at_once(NO_STATE)
{
    hd_test_assert_linear("pairs", map_pairs, NULL, KEYS / 32);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of 32 bits, as a table takes them, of `count` hashes: how many are the same as another's. */
static size_t collisions(const uint64_t *hashes, size_t count)
{
    size_t same = 0;
    uint64_t *low = malloc(count * sizeof *low);
    assert_non_null(low);
    for (size_t i = 0; i < count; i++) low[i] = hashes[i] & UINT32_MAX;
    qsort(low, count, sizeof *low, by_value);
    for (size_t i = 1; i < count; i++) same += low[i] == low[i - 1];
    free(low);
    return same;
}

/* 80,000 of 2^32 collide 0.75 times on average; ids as traces have them are no worse. */
static void test_hash__ids_in_a_row_and_far_apart_are_spread(NO_STATE)
{
    uint64_t *hashes = malloc(KEYS * sizeof *hashes);
    assert_non_null(hashes);
    for (unsigned shift = 0; shift < 48; shift += 8) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            hd_hash_seed_set(seed);
            for (uint64_t i = 0; i < KEYS; i++) hashes[i] = hd_hash_pair(i << shift, 0);
            assert_true(collisions(hashes, KEYS) < 16);
            for (uint64_t i = 0; i < KEYS; i++) hashes[i] = hd_hash_pair(3, i << shift);
            assert_true(collisions(hashes, KEYS) < 16);
        }
    }
    free(hashes);
}

static void test_hash__another_seed_is_another_hash(NO_STATE)
{
    uint64_t text = 0, pair = 0;
    for (uint64_t seed = 0; seed < 4; seed++) {
        hd_hash_seed_set(seed);
        assert_true(hd_hash("kernel", 6) != text);
        assert_true(hd_hash_pair(1, 2) != pair);
        text = hd_hash("kernel", 6);
        pair = hd_hash_pair(1, 2);
        hd_hash_seed_set(seed);
        assert_int_equal(hd_hash("kernel", 6), text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash__crafted_strings_are_interned_at_once),
        cmocka_unit_test(test_hash__crafted_pairs_are_found_at_once),
        cmocka_unit_test(test_hash__ids_in_a_row_and_far_apart_are_spread),
        cmocka_unit_test(test_hash__another_seed_is_another_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
