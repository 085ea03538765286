/* test_ring.c - rings: options, policies, and threads that push and pop at full speed */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heddle/ring.h"

enum { PRODUCERS_MAX = 4 };

typedef struct event {
    uint64_t producer, number, check[6];
} event;

static hd_ring *make_ring(uint32_t capacity, hd_ring_policy policy, bool many)
{
    hd_ring *ring;
    hd_ring_options options = {
        .capacity = capacity, .element_bytes = sizeof(event), .policy = policy, .many_producers = many};
    assert_int_equal(hd_ring_new(&ring, &options, NULL), HD_OK);
    return ring;
}

static event event_of(uint64_t producer, uint64_t number)
{
    event e = {.producer = producer, .number = number};
    for (int i = 0; i < 6; i++) e.check[i] = number * 6 + (uint64_t)i + producer;
    return e;
}

static void test_ring__options_out_of_range_are_refused(void **state)
{
    (void)state;
    const hd_ring_options bad[] = {
        {.capacity = 0, .element_bytes = 64},        {.capacity = 1, .element_bytes = 64},
        {.capacity = 3, .element_bytes = 64},        {.capacity = 1u << 31, .element_bytes = 64},
        {.capacity = 16, .element_bytes = 0},        {.capacity = 16, .element_bytes = 12},
        {.capacity = 16, .element_bytes = 1u << 20}, {.capacity = 16, .element_bytes = 64, .policy = 7},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hd_ring *ring;
        hd_error err = {0};
        assert_int_equal(hd_ring_new(&ring, &bad[i], &err), HD_ERR_ARGUMENT);
        assert_null(ring);
        assert_true(err.message[0]);
    }
}

static void test_ring__a_full_ring_refuses_the_newest(void **state)
{
    for (int many = 0; many < 2; many++) {
        hd_ring *ring = make_ring(8, HD_RING_DROP_NEWEST, many);
        hd_ring_counts counts;
        event got[16];
        uint64_t first;
        (void)state;
        for (uint64_t i = 0; i < 11; i++) {
            event e = event_of(0, i);
            assert_int_equal(hd_ring_push(ring, &e), i < 8);
        }
        assert_int_equal(hd_ring_pop(got, &first, ring, 16), 8);
        assert_int_equal(first, 0);
        for (uint64_t i = 0; i < 8; i++) assert_int_equal(got[i].number, i);
        assert_int_equal(hd_ring_pop(got, &first, ring, 16), 0);
        hd_ring_count(&counts, ring);
        assert_int_equal(counts.pushed, 8);
        assert_int_equal(counts.popped, 8);
        assert_int_equal(counts.refused, 3);
        assert_int_equal(counts.evicted, 0);
        hd_ring_free(ring);
    }
}

static void test_ring__a_full_ring_drops_its_oldest_eighth(void **state)
{
    for (int many = 0; many < 2; many++) {
        hd_ring *ring = make_ring(16, HD_RING_DROP_OLDEST, many);
        hd_ring_counts counts;
        event got[16];
        uint64_t first;
        (void)state;
        for (uint64_t i = 0; i < 17; i++) {
            event e = event_of(0, i);
            assert_true(hd_ring_push(ring, &e));
        }
        assert_int_equal(hd_ring_pop(got, &first, ring, 4), 4);
        assert_int_equal(first, 2);
        for (uint64_t i = 0; i < 4; i++) assert_int_equal(got[i].number, i + 2);
        assert_int_equal(hd_ring_pop(got, &first, ring, 16), 11);
        assert_int_equal(got[10].number, 16);
        hd_ring_count(&counts, ring);
        assert_int_equal(counts.pushed, 17);
        assert_int_equal(counts.evicted, 2);
        assert_int_equal(counts.popped, 15);
        hd_ring_free(ring);
    }
}

static void test_ring__events_of_other_sizes_are_whole(void **state)
{
    (void)state;
    for (uint32_t size = 8; size <= 4096; size = size * 3 / 8 * 8) {
        for (int policy = 0; policy <= HD_RING_BLOCK; policy++) {
            hd_ring *ring;
            hd_ring_options options = {
                .capacity = 4, .element_bytes = size, .policy = (hd_ring_policy)policy, .many_producers = policy == 1};
            unsigned char in[4096], out[2 * 4096];
            assert_int_equal(hd_ring_new(&ring, &options, NULL), HD_OK);
            for (int turn = 0; turn < 9; turn++) {
                memset(in, turn + 1, size);
                assert_true(hd_ring_push(ring, in));
                if (turn % 2 == 0) continue;
                assert_int_equal(hd_ring_pop(out, NULL, ring, 2), 2);
                for (uint32_t i = 0; i < 2 * size; i++) assert_int_equal(out[i], i < size ? turn : turn + 1);
            }
            hd_ring_free(ring);
        }
    }
}

static void test_ring__a_closed_ring_refuses_instead_of_waiting(void **state)
{
    (void)state;
    hd_ring *ring = make_ring(2, HD_RING_BLOCK, false);
    event e = event_of(0, 0);
    assert_true(hd_ring_push(ring, &e));
    assert_true(hd_ring_push(ring, &e));
    hd_ring_finish(ring);
    assert_false(hd_ring_push(ring, &e));
    hd_ring_free(ring);
}

/* ---- threads ---- */

typedef struct producer {
    hd_ring *ring;
    uint64_t id, events, accepted;
    atomic_uint *running;
} producer;

static void *produce(void *user)
{
    producer *p = user;
    for (uint64_t i = 0; i < p->events; i++) {
        event e = event_of(p->id, i);
        p->accepted += hd_ring_push(p->ring, &e);
    }
    atomic_fetch_sub(p->running, 1);
    return NULL;
}

/* The consumer: events whole, of each producer in order, gaps only where places are missing. */
typedef struct consumer {
    uint64_t next[PRODUCERS_MAX], place, popped, gap, reordered;
} consumer;

static size_t consume(consumer *c, hd_ring *ring, size_t max)
{
    static event got[512];
    uint64_t first;
    size_t count = hd_ring_pop(got, &first, ring, max);
    if (!count) return 0;
    assert_true(first >= c->place);
    c->gap += first - c->place;
    c->place = first + count;
    for (size_t i = 0; i < count; i++) {
        event want = event_of(got[i].producer, got[i].number);
        assert_true(got[i].producer < PRODUCERS_MAX);
        assert_memory_equal(&want, &got[i], sizeof want);
        c->reordered += got[i].number < c->next[got[i].producer];
        c->next[got[i].producer] = got[i].number + 1;
    }
    c->popped += count;
    return count;
}

static void run_threads(hd_ring_policy policy, unsigned producers, uint32_t capacity, uint64_t events)
{
    hd_ring *ring = make_ring(capacity, policy, producers > 1);
    atomic_uint running = producers;
    producer p[PRODUCERS_MAX];
    pthread_t threads[PRODUCERS_MAX];
    consumer c = {0};
    hd_ring_counts counts;
    uint64_t accepted = 0;
    for (unsigned i = 0; i < producers; i++) {
        p[i] = (producer){ring, i, events, 0, &running};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &p[i]), 0);
    }
    for (size_t turn = 1; atomic_load(&running); turn++) {
        if (!consume(&c, ring, 1 + turn % 512)) sched_yield();
    }
    for (unsigned i = 0; i < producers; i++) {
        pthread_join(threads[i], NULL);
        accepted += p[i].accepted;
    }
    while (consume(&c, ring, 512)) {}
    hd_ring_count(&counts, ring);
    assert_int_equal(c.reordered, 0);
    assert_int_equal(counts.pushed, accepted);
    assert_int_equal(counts.pushed + counts.refused, producers * events);
    assert_int_equal(counts.popped, c.popped);
    assert_int_equal(counts.popped + counts.evicted, counts.pushed);
    assert_true(c.gap <= counts.evicted); /* what was evicted behind the last pop is not a gap */
    if (policy == HD_RING_BLOCK) assert_int_equal(c.popped, producers * events);
    if (policy != HD_RING_DROP_OLDEST) assert_int_equal(counts.evicted, 0);
    print_message("policy %d, %u producers: pushed %llu popped %llu evicted %llu refused %llu waits %llu\n",
                  (int)policy, producers, (unsigned long long)counts.pushed, (unsigned long long)counts.popped,
                  (unsigned long long)counts.evicted, (unsigned long long)counts.refused,
                  (unsigned long long)counts.waits);
    hd_ring_free(ring);
}

static void test_ring__one_producer_loses_nothing_that_is_not_counted(void **state)
{
    (void)state;
    for (int policy = 0; policy <= HD_RING_BLOCK; policy++) {
        run_threads((hd_ring_policy)policy, 1, 2, 20000);
        run_threads((hd_ring_policy)policy, 1, 256, 300000);
    }
}

static void test_ring__many_producers_lose_nothing_that_is_not_counted(void **state)
{
    (void)state;
    for (int policy = 0; policy <= HD_RING_BLOCK; policy++) {
        run_threads((hd_ring_policy)policy, 2, 2, 10000);
        run_threads((hd_ring_policy)policy, 4, 64, 100000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring__options_out_of_range_are_refused),
        cmocka_unit_test(test_ring__a_full_ring_refuses_the_newest),
        cmocka_unit_test(test_ring__a_full_ring_drops_its_oldest_eighth),
        cmocka_unit_test(test_ring__events_of_other_sizes_are_whole),
        cmocka_unit_test(test_ring__a_closed_ring_refuses_instead_of_waiting),
        cmocka_unit_test(test_ring__one_producer_loses_nothing_that_is_not_counted),
        cmocka_unit_test(test_ring__many_producers_lose_nothing_that_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
