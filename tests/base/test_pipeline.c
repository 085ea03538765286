/* test_pipeline.c - what is given is worked on once and taken in order; what is refused can be had back */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pipeline.h"
#include "base/thread.h"

typedef struct item {
    unsigned number, square, times_worked;
} item;

typedef struct line {
    hd_pipeline *pipeline;
    unsigned taken, refused; /* how many; the number that is refused */
    atomic_uint busy[HD_PIPELINE_THREAD_LIMIT];
} line;

static void square(void *user, unsigned worker, void *what)
{
    line *l = user;
    item *it = what;
    assert_true(worker < HD_PIPELINE_THREAD_LIMIT);
    assert_int_equal(atomic_fetch_add(&l->busy[worker], 1), 0);
    volatile unsigned left = it->number * 7919 % 3000; /* items take different times */
    while (left > 0) left--;
    it->square = it->number * it->number;
    it->times_worked++;
    atomic_fetch_sub(&l->busy[worker], 1);
}

static hd_status take(void *user, void *what, hd_error *err)
{
    line *l = user;
    const item *it = what;
    (void)err;
    assert_int_equal(it->number, l->taken);
    assert_int_equal(it->square, it->number * it->number);
    assert_int_equal(it->times_worked, 1);
    if (it->number == l->refused) return HD_END;
    l->taken++;
    return HD_OK;
}

static line *start(unsigned threads, unsigned refused)
{
    line *l = calloc(1, sizeof *l);
    const hd_pipeline_steps steps = {sizeof(item), square, take, NULL, l};
    assert_non_null(l);
    l->refused = refused;
    assert_int_equal(hd_pipeline_new(&l->pipeline, &steps, threads, NULL), HD_OK);
    return l;
}

static void stop(line *l)
{
    hd_pipeline_free(l->pipeline);
    free(l);
}

static hd_status give(line *l, unsigned number)
{
    void *next, *again;
    hd_status status = hd_pipeline_next(&next, l->pipeline, NULL);
    if (status != HD_OK) return status;
    if (l->refused == UINT32_MAX) { /* asking takes what is done meanwhile, and may be refused */
        assert_int_equal(hd_pipeline_next(&again, l->pipeline, NULL), HD_OK);
        assert_ptr_equal(next, again);
    }
    *(item *)next = (item){.number = number};
    hd_pipeline_give(l->pipeline);
    return HD_OK;
}

static void test_pipeline__takes_in_the_order_given(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        line *l = start(threads, UINT32_MAX);
        for (unsigned i = 0; i < 500; i++) {
            assert_int_equal(give(l, i), HD_OK);
            assert_true(i + 1 - l->taken <= 2 * threads);
            if (i % 100 == 99) assert_int_equal(hd_pipeline_drain(l->pipeline, NULL), HD_OK);
            if (i % 100 == 99) assert_int_equal(l->taken, i + 1);
        }
        stop(l);
    }
}

static void test_pipeline__gives_back_what_was_refused_and_goes_on(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        for (unsigned refused = 0; refused < 40; refused++) {
            line *l = start(threads, refused);
            unsigned given = 0, expected = refused;
            hd_status status = HD_OK;
            while (given < 60 && (status = give(l, given)) == HD_OK) given++;
            if (status == HD_OK) status = hd_pipeline_drain(l->pipeline, NULL);
            assert_int_equal(status, HD_END);
            assert_int_equal(l->taken, refused);
            for (item *it; (it = hd_pipeline_recall(l->pipeline)); expected++) {
                assert_int_equal(it->number, expected);
                assert_true(it->times_worked <= 1);
            }
            assert_int_equal(expected, given);
            l->refused = UINT32_MAX;
            for (unsigned i = refused; i < refused + 20; i++) assert_int_equal(give(l, i), HD_OK);
            assert_int_equal(hd_pipeline_drain(l->pipeline, NULL), HD_OK);
            assert_int_equal(l->taken, refused + 20);
            stop(l);
        }
    }
}

static void test_pipeline__ends_with_items_on_their_way(void **state)
{
    (void)state;
    for (unsigned threads = 1; threads <= 8; threads++) {
        line *l = start(threads, UINT32_MAX);
        for (unsigned i = 0; i < 20; i++) assert_int_equal(give(l, i), HD_OK);
        stop(l);
    }
    hd_pipeline_free(NULL);
}

static void add_one(void *state)
{
    atomic_fetch_add((atomic_uint *)state, 1);
}

static void test_threads__each_state_is_worked_on_once(void **state)
{
    atomic_uint counts[HD_THREAD_LIMIT] = {0};
    (void)state;
    for (unsigned count = 1; count <= HD_THREAD_LIMIT; count++) {
        hd_threads_run(add_one, counts, sizeof *counts, count);
        for (unsigned i = 0; i < HD_THREAD_LIMIT; i++) assert_int_equal(atomic_exchange(&counts[i], 0), i < count);
    }
    assert_int_equal(hd_thread_count(5, 3), 3);
    assert_int_equal(hd_thread_count(5, 0), 1);
    assert_int_equal(hd_thread_count(1000, 1000), HD_THREAD_LIMIT);
    assert_true(hd_thread_count(0, 1000) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipeline__takes_in_the_order_given),
        cmocka_unit_test(test_pipeline__gives_back_what_was_refused_and_goes_on),
        cmocka_unit_test(test_pipeline__ends_with_items_on_their_way),
        cmocka_unit_test(test_threads__each_state_is_worked_on_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
