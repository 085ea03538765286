/* test_thread.c - tasks: all run, the first in the caller's thread, and the first failure of the list counts */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/thread.h"

enum { MANY = 100 };

typedef struct piece {
    atomic_int runs;
    pthread_t thread;
    hd_status status;
    int number;
} piece;

static hd_status run(void *user, hd_error *err)
{
    piece *p = user;
    atomic_fetch_add(&p->runs, 1);
    p->thread = pthread_self();
    if (p->status == HD_OK) return HD_OK;
    return hd_error_set(err, p->status, NULL, HD_OFFSET_NONE, "piece %d", p->number);
}

static void make(hd_task *tasks, piece *pieces)
{
    for (int i = 0; i < MANY; i++) {
        pieces[i] = (piece){.number = i};
        tasks[i] = (hd_task){run, &pieces[i]};
    }
}

static void test_all_run_once(void **state)
{
    (void)state;
    hd_task tasks[MANY];
    piece pieces[MANY];
    hd_error err = {0};
    make(tasks, pieces);
    assert_int_equal(hd_tasks_run(tasks, MANY, &err), HD_OK);
    for (int i = 0; i < MANY; i++) assert_int_equal(pieces[i].runs, 1);
    assert_true(pthread_equal(pieces[0].thread, pthread_self()));
    assert_int_equal(err.status, HD_OK);
    assert_int_equal(hd_tasks_run(tasks, 0, &err), HD_OK);
}

static void test_the_first_failure_of_the_list_counts(void **state)
{
    (void)state;
    hd_task tasks[MANY];
    piece pieces[MANY];
    hd_error err = {0};
    make(tasks, pieces);
    pieces[0].status = HD_ERR_LIMIT;
    for (int i = 1; i < MANY; i++) pieces[i].status = HD_ERR_DAMAGED;
    assert_int_equal(hd_tasks_run(tasks, MANY, &err), HD_ERR_LIMIT);
    assert_string_equal(err.message, "piece 0");
}

static void test_none_starts_after_a_failure(void **state)
{
    (void)state;
    hd_task tasks[MANY];
    piece pieces[MANY];
    make(tasks, pieces);
    for (int i = 0; i < MANY; i++) pieces[i].status = HD_ERR_DAMAGED;
    assert_int_equal(hd_tasks_run(tasks, MANY, NULL), HD_ERR_DAMAGED);
    int runs = 0;
    for (int i = 0; i < MANY; i++) runs += pieces[i].runs;
    assert_true(runs >= 1 && runs <= HD_THREAD_LIMIT); /* one a thread */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_run_once),
        cmocka_unit_test(test_the_first_failure_of_the_list_counts),
        cmocka_unit_test(test_none_starts_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
