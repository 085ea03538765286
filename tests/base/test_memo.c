/* test_memo.c - the cache of what was worked out for texts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory/memo.h"

#define NO_STATE void **state __attribute__((unused))

static void add(hd_memo *memo, const char *text, size_t size, uint32_t a)
{
    uint64_t hash;
    assert_null(hd_memo_find(&hash, memo, text, size));
    hd_memo_add(memo, hash, text, size, (hd_memo_value){a, a + 1, a + 2});
}

static void test_memo__what_was_added_is_found_by_its_text(NO_STATE)
{
    hd_memo memo = {0};
    uint64_t hash;
    char text[32];
    size_t found = 0;
    for (uint32_t i = 0; i < 10000; i++) add(&memo, text, (size_t)snprintf(text, sizeof text, "text %u", i), i);
    for (uint32_t i = 0; i < 10000; i++) {
        const hd_memo_value *v = hd_memo_find(&hash, &memo, text, (size_t)snprintf(text, sizeof text, "text %u", i));
        if (!v) continue;
        assert_int_equal(v->a, i);
        assert_int_equal(v->c, i + 2);
        found++;
    }
    assert_true(found > 9990); /* it may forget, but not much */
    assert_null(hd_memo_find(&hash, &memo, "text", 4));
    hd_memo_deinit(&memo);
}

static void test_memo__the_empty_text_is_one(NO_STATE)
{
    hd_memo memo = {0};
    uint64_t hash;
    add(&memo, "", 0, 7);
    assert_int_equal(hd_memo_find(&hash, &memo, "", 0)->a, 7);
    hd_memo_deinit(&memo);
}

static void test_memo__it_stays_within_its_limit_and_forgets(NO_STATE)
{
    hd_memo memo = {.limit_bytes = 1 << 20};
    char text[1024];
    uint64_t hash;
    memset(text, 'x', sizeof text);
    for (uint32_t i = 0; i < 20000; i++) {
        memcpy(text, &i, sizeof i);
        add(&memo, text, sizeof text, i);
        assert_true(memo.texts.total_bytes <= (1 << 20) + (256 << 10) + 64);
        assert_int_equal(hd_memo_find(&hash, &memo, text, sizeof text)->a, i); /* the newest is there */
    }
    memset(text, 0, 4);
    assert_null(hd_memo_find(&hash, &memo, text, sizeof text));
    hd_memo_deinit(&memo);
}

static void test_memo__a_text_beyond_reason_is_not_kept(NO_STATE)
{
    hd_memo memo = {.limit_bytes = 1 << 12};
    char text[1024] = {0};
    uint64_t hash;
    add(&memo, text, sizeof text, 1);
    assert_null(hd_memo_find(&hash, &memo, text, sizeof text));
    hd_memo_deinit(&memo);
}

/* Equal places, as hostile text could have: the chain is bounded, and what does not fit is forgotten. */
static void test_memo__texts_of_one_place_do_not_make_it_slow_or_wrong(NO_STATE)
{
    hd_memo memo = {0};
    char text[16];
    for (uint32_t i = 0; i < 100; i++)
        hd_memo_add(&memo, 5, text, (size_t)snprintf(text, sizeof text, "%u", i), (hd_memo_value){i, 0, 0});
    assert_true(memo.count <= HD_MEMO_PROBES);
    hd_memo_deinit(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memo__what_was_added_is_found_by_its_text),
        cmocka_unit_test(test_memo__the_empty_text_is_one),
        cmocka_unit_test(test_memo__it_stays_within_its_limit_and_forgets),
        cmocka_unit_test(test_memo__a_text_beyond_reason_is_not_kept),
        cmocka_unit_test(test_memo__texts_of_one_place_do_not_make_it_slow_or_wrong),
    };
    hd_hash_seed_set(1); /* how much is forgotten depends on it a little */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
