/* test_heap.c - what is pushed comes out in order */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/heap.h"

typedef struct item {
    int key, place;
} item;

static bool before(const item *a, const item *b)
{
    return a->key != b->key ? a->key < b->key : a->place > b->place;
}

static int by_order(const void *a, const void *b)
{
    return before(a, b) ? -1 : before(b, a);
}

static item pop(item *heap, size_t *count)
{
    item first = heap[0];
    HD_HEAP_POP(heap, *count, x, y, before(x, y));
    return first;
}

static void test_heap__elements_come_out_in_order(void **state)
{
    enum { MOST = 200 };
    (void)state;
    srand(4);
    for (int length = 0; length <= MOST; length++) {
        item heap[MOST + 1], sorted[MOST + 1];
        size_t count = 0;
        for (int i = 0; i < length; i++) {
            sorted[i] = (item){rand() % 20, i};
            HD_HEAP_PUSH(heap, count, sorted[i], x, y, before(x, y));
        }
        qsort(sorted, (size_t)length, sizeof *sorted, by_order);
        for (int i = 0; i < length; i++) {
            item first = pop(heap, &count);
            assert_memory_equal(&first, &sorted[i], sizeof first);
        }
        assert_int_equal(count, 0);
    }
}

/* The first is replaced by a later one, as merging does: against all that are there. */
static void test_heap__a_replaced_first_sinks(void **state)
{
    enum { WIDTH = 33 };
    item heap[WIDTH];
    size_t count = 0;
    (void)state;
    srand(5);
    for (int i = 0; i < WIDTH; i++) heap[i] = (item){rand() % 100, i};
    for (size_t i = WIDTH; i-- > 0;) HD_HEAP_SINK(heap, (size_t)WIDTH, i, heap[i], x, y, before(x, y));
    for (int round = 0; round < 1000; round++) {
        for (int i = 1; i < WIDTH; i++) assert_false(before(&heap[i], &heap[0]));
        item next = {heap[0].key + rand() % 50, WIDTH + round};
        HD_HEAP_SINK(heap, (size_t)WIDTH, 0, next, x, y, before(x, y));
    }
    HD_HEAP_PUSH(heap, count, heap[0], x, y, before(x, y));
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap__elements_come_out_in_order),
        cmocka_unit_test(test_heap__a_replaced_first_sinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
