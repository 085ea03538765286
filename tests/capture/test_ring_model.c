/* test_ring_model.c - every interleaving of the ring's own code (ring_core.h), two producers and a consumer */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "capture/model.h"

/* What of the ring is data, and what is bookkeeping that decides nothing. */
static bool is_data(const volatile void *address);
static bool is_count(const volatile void *address);

#define HD_RING_LOAD(p, order)                                                                                         \
    __extension__({                                                                                                    \
        before_access(p);                                                                                              \
        __typeof__(atomic_load(p)) value_ = atomic_load(p);                                                            \
        if (is_data(p))                                                                                                \
            model_note_read(p);                                                                                        \
        else                                                                                                           \
            model_note_load(p, order);                                                                                 \
        value_;                                                                                                        \
    })
#define HD_RING_STORE(p, value, order)                                                                                 \
    do {                                                                                                               \
        before_access(p);                                                                                              \
        if (is_data(p))                                                                                                \
            model_note_write(p);                                                                                       \
        else                                                                                                           \
            model_note_store(p, order, false);                                                                         \
        atomic_store(p, value);                                                                                        \
    } while (0)
#define HD_RING_CAS(p, expected, value, order, failed)                                                                 \
    __extension__({                                                                                                    \
        before_access(p);                                                                                              \
        bool swapped_ = atomic_compare_exchange_strong(p, expected, value);                                            \
        model_note_load(p, swapped_ ? acquire_part(order) : failed);                                                   \
        if (swapped_) model_note_store(p, release_part(order), true);                                                  \
        swapped_;                                                                                                      \
    })
#define HD_RING_ADD(p, value, order) atomic_fetch_add(p, value)
#define HD_RING_COPY_IN(slot, event, size) copy_in(slot, event, size)
#define HD_RING_COPY_OUT(out, slot, size) copy_out(out, slot, size)
#define HD_RING_WAIT(n) ((void)(n), model_wait())

static inline void before_access(const volatile void *address)
{
    if (!is_count(address)) model_step();
}

static inline memory_order acquire_part(memory_order order)
{
    return order == memory_order_acq_rel || order == memory_order_acquire ? memory_order_acquire : memory_order_relaxed;
}

static inline memory_order release_part(memory_order order)
{
    return order == memory_order_acq_rel || order == memory_order_release ? memory_order_release : memory_order_relaxed;
}

/* Plain copies need no steps between their words: where they race with nothing, which is checked, nobody could see one.
 */
static inline void copy_in(void *slot, const void *event, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        model_note_write((char *)slot + i);
        memcpy((char *)slot + i, (const char *)event + i, 8);
    }
}

static inline void copy_out(void *out, const void *slot, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        model_note_read((const char *)slot + i);
        memcpy((char *)out + i, (const char *)slot + i, 8);
    }
}

#include "capture/ring_core.h"

enum { CAPACITY_MAX = 16, WORDS = 2, EVENT_BYTES = WORDS * 8, PUSHES_MAX = 8 };

/* ---- the program that is run ---- */

static struct setup {
    hd_ring_options options;
    unsigned producers, pushes, pops, batch;
} setup;

static struct hd_ring ring;
static hd_ring_word words[CAPACITY_MAX * WORDS], seq[CAPACITY_MAX];

/* What happened in this schedule. */
static struct result {
    unsigned accepted[2], refused[2], popped;
    uint64_t next[2], place;
    uint8_t was_accepted[2][PUSHES_MAX];
} result;

static struct totals {
    uint64_t evicted, refused, popped, waits;
} totals;

static bool is_data(const volatile void *address)
{
    return (const volatile char *)address >= (const volatile char *)words &&
           (const volatile char *)address < (const volatile char *)(words + CAPACITY_MAX * WORDS);
}

static bool is_count(const volatile void *address)
{
    return address == (const volatile void *)&ring.popped || address == (const volatile void *)&ring.refused ||
           address == (const volatile void *)&ring.waits || address == (const volatile void *)&ring.closed;
}

static void make_ring(void)
{
    memset(words, 0, sizeof words);
    memset(seq, 0, sizeof seq);
    memset(&result, 0, sizeof result);
    hd_ring_init(&ring, &setup.options, words, seq);
}

static void produce(unsigned producer)
{
    for (unsigned i = 0; i < setup.pushes; i++) {
        uint64_t event[WORDS] = {(uint64_t)(producer + 1) << 32 | i, ~((uint64_t)(producer + 1) << 32 | i)};
        bool accepted = setup.options.many_producers ? hd_ring_push_many(&ring, event, EVENT_BYTES)
                                                     : hd_ring_push_one(&ring, event, EVENT_BYTES);
        result.accepted[producer] += accepted;
        result.refused[producer] += !accepted;
        result.was_accepted[producer][i] = accepted;
    }
}

/* An event that the consumer got: whole, of a producer's next ones, at a place that is not before the last. */
static void take(const uint64_t *event, uint64_t place)
{
    unsigned producer = (unsigned)(event[0] >> 32) - 1;
    uint64_t number = event[0] & 0xffffffff;
    model_require(event[1] == ~event[0], "an event is torn");
    model_require(producer < setup.producers && number < setup.pushes, "an event that nobody pushed");
    model_require(number >= result.next[producer], "a producer's events came out of order, or twice");
    model_require(place >= result.place, "a place was taken twice");
    result.next[producer] = number + 1;
    result.place = place + 1;
    result.popped++;
}

static void pop(unsigned batch)
{
    uint64_t events[CAPACITY_MAX][WORDS], first = 0;
    size_t count = hd_ring_pop_some(&ring, events, batch, &first, EVENT_BYTES);
    for (size_t i = 0; i < count; i++) {
        for (unsigned w = 0; w < WORDS; w++) model_count_read(hd_ring_slot(&ring, first + i, EVENT_BYTES) + w);
        take(events[i], first + i);
    }
}

static void consume(unsigned thread)
{
    (void)thread;
    for (unsigned i = 0; i < setup.pops; i++) pop(setup.batch);
}

/* A consumer that goes on until all has come: what a producer that blocks needs. */
static void consume_all(unsigned thread)
{
    (void)thread;
    while (result.popped < setup.producers * setup.pushes) {
        unsigned before = result.popped;
        pop(setup.batch);
        if (result.popped == before) model_wait();
    }
}

static void check_ring(void)
{
    unsigned accepted = result.accepted[0] + result.accepted[1], refused = result.refused[0] + result.refused[1];
    uint64_t evicted = atomic_load(&ring.head) - atomic_load(&ring.popped), capacity = ring.mask + 1;
    uint64_t left = atomic_load(&ring.tail) - atomic_load(&ring.head);
    for (unsigned i = 0; i < left; i++) pop(1);
    pop(1);
    model_require(atomic_load(&ring.tail) == accepted, "pushed is what was accepted");
    model_require(atomic_load(&ring.refused) == refused, "refused is what was refused");
    model_require(accepted + refused == setup.producers * setup.pushes, "every push is accepted or refused");
    model_require(result.popped + evicted == accepted, "what was accepted came out or was evicted");
    model_require(left <= capacity, "more than the ring holds");
    if (setup.options.policy == HD_RING_BLOCK) model_require(refused + evicted == 0, "nothing is lost by waiting");
    if (setup.options.policy == HD_RING_DROP_NEWEST) model_require(evicted == 0, "drop newest evicts nothing");
    if (setup.options.policy == HD_RING_DROP_OLDEST && !ring.seq) model_require(refused == 0, "the newest always fits");
    totals.evicted += evicted;
    totals.refused += refused;
    totals.popped += result.popped;
    totals.waits += atomic_load(&ring.waits);
}

static unsigned fewer = 1; /* preemptions than are asked for: none with the argument "all" */

static uint64_t explore(struct setup s, unsigned preemptions)
{
    if (preemptions != MODEL_ALL) preemptions -= fewer;
    void (*bodies[MODEL_THREADS])(unsigned);
    s.options.element_bytes = EVENT_BYTES;
    setup = s;
    memset(&totals, 0, sizeof totals);
    for (unsigned i = 0; i < s.producers; i++) bodies[i] = produce;
    bodies[s.producers] = s.options.policy == HD_RING_BLOCK ? consume_all : consume;
    uint64_t schedules = model_explore(s.producers + 1, bodies, preemptions, make_ring, check_ring);
    print_message("%8llu schedules: policy %d, %u producers x %u, capacity %u, pop %u x %u, %s %u preemptions\n",
                  (unsigned long long)schedules, (int)s.options.policy, s.producers, s.pushes, s.options.capacity,
                  s.pops, s.batch, preemptions == MODEL_ALL ? "any," : "at most", preemptions);
    return schedules;
}

/* ---- the tests ---- */

static unsigned most = 7; /* preemptions, of one producer's schedules; with the argument "all" in every interleaving */

static void test_ring_model__one_producer_in_many_interleavings(void **state)
{
    (void)state;
    for (hd_ring_policy policy = 0; policy <= HD_RING_BLOCK; policy++) {
        hd_ring_options options = {.capacity = 2, .policy = policy};
        /* Where events may be evicted, copies are steps too: one pop less. */
        unsigned pops = policy == HD_RING_DROP_OLDEST ? 1 : 2;
        explore((struct setup){options, .producers = 1, .pushes = 3, .pops = pops, .batch = 1}, most);
        if (policy == HD_RING_DROP_OLDEST) assert_true(totals.evicted > 0);
        if (policy == HD_RING_DROP_NEWEST) assert_true(totals.refused > 0);
        if (policy == HD_RING_BLOCK) assert_true(totals.waits > 0);
        assert_true(totals.popped > 0);
    }
}

static void test_ring_model__eviction_against_pops_of_several(void **state)
{
    (void)state;
    hd_ring_options options = {.capacity = 2, .policy = HD_RING_DROP_OLDEST};
    explore((struct setup){options, .producers = 1, .pushes = 4, .pops = 2, .batch = 2}, 4);
    assert_true(totals.evicted > 0);
    options.many_producers = true;
    explore((struct setup){options, .producers = 2, .pushes = 2, .pops = 1, .batch = 2}, 4);
    assert_true(totals.evicted > 0);
}

static void test_ring_model__two_producers_that_push_once_in_every_interleaving(void **state)
{
    (void)state;
    hd_ring_options options = {.capacity = 2, .policy = HD_RING_DROP_NEWEST, .many_producers = true};
    explore((struct setup){options, .producers = 2, .pushes = 1, .pops = 1, .batch = 2}, MODEL_ALL);
    assert_true(totals.popped > 0);
}

static void test_ring_model__two_producers_with_few_preemptions(void **state)
{
    (void)state;
    for (hd_ring_policy policy = 0; policy <= HD_RING_BLOCK; policy++) {
        hd_ring_options options = {.capacity = 2, .policy = policy, .many_producers = true};
        /* Waiting is no preemption: where producers wait there are many more schedules. */
        unsigned pushes = policy == HD_RING_BLOCK ? 2 : 3;
        explore((struct setup){options, .producers = 2, .pushes = pushes, .pops = 2, .batch = 2}, 3);
        if (policy == HD_RING_DROP_OLDEST) assert_true(totals.evicted > 0 && totals.refused > 0);
        if (policy == HD_RING_DROP_NEWEST) assert_true(totals.refused > 0);
        if (policy == HD_RING_BLOCK) assert_true(totals.waits > 0);
    }
}

static void test_ring_model__one_producer_with_few_preemptions_and_wider_rings(void **state)
{
    (void)state;
    for (hd_ring_policy policy = 0; policy <= HD_RING_BLOCK; policy++) {
        for (uint32_t capacity = 2; capacity <= 4; capacity *= 2) {
            hd_ring_options options = {.capacity = capacity, .policy = policy};
            explore((struct setup){options, .producers = 1, .pushes = 8, .pops = 3, .batch = 3}, 3);
        }
    }
    /* Sixteen events: two are evicted at once. */
    hd_ring_options options = {.capacity = 16, .policy = HD_RING_DROP_OLDEST, .many_producers = true};
    explore((struct setup){options, .producers = 2, .pushes = 8, .pops = 2, .batch = 3}, 2);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "all") == 0) most = MODEL_ALL, fewer = 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_model__one_producer_in_many_interleavings),
        cmocka_unit_test(test_ring_model__eviction_against_pops_of_several),
        cmocka_unit_test(test_ring_model__two_producers_that_push_once_in_every_interleaving),
        cmocka_unit_test(test_ring_model__two_producers_with_few_preemptions),
        cmocka_unit_test(test_ring_model__one_producer_with_few_preemptions_and_wider_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
