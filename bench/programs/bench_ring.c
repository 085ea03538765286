/* bench_ring.c - rings of 64-byte events: what a push costs, and what goes through
 *
 * Usage    bench_ring [EVENTS]
 *
 * For each form, policy and number of producers: the median of what a push costs in batches of 256 (which leaves out
 * the batches in which another program had the processor, and those that waited), and events a second through the
 * whole, by wall time. Floors, on an idle machine: 20 ns a push, which is 50 million a second, for one producer.
 *
 * A consumer that rests a little when it found less than it could take, as that of a session does, leaves the lines of
 * memory to the producer; an eager one asks for each event's line while the next is written. Both are measured.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "heddle/ring.h"

enum { BATCH = 256, PRODUCERS_MAX = 4, FLOOR_NS = 20, TAKE = 1024, REST_NS = 20000 };

typedef struct producer {
    hd_ring *ring;
    size_t batches;
    double *costs; /* of each batch, ns a push */
    atomic_uint *running;
} producer;

static void *produce(void *user)
{
    producer *p = user;
    uint64_t event[8] = {0};
    for (size_t b = 0; b < p->batches; b++) {
        double begin = bench_seconds();
        for (int i = 0; i < BATCH; i++) {
            event[0]++;
            hd_ring_push(p->ring, event);
        }
        p->costs[b] = (bench_seconds() - begin) * 1e9 / BATCH;
    }
    atomic_fetch_sub(p->running, 1);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void consume(hd_ring *ring, atomic_uint *running, bool rests)
{
    static uint64_t events[TAKE][8];
    const struct timespec rest = {0, REST_NS};
    while (atomic_load(running)) {
        if (hd_ring_pop(events, NULL, ring, TAKE) == TAKE) continue;
        if (rests)
            nanosleep(&rest, NULL);
        else
            sched_yield();
    }
    while (hd_ring_pop(events, NULL, ring, TAKE)) {}
}

static int measure(hd_ring_policy policy, unsigned producers, bool rests, size_t events)
{
    static const char *const names[] = {"drop-newest", "drop-oldest", "block"};
    hd_ring_options options = {
        .capacity = 1 << 14, .element_bytes = 64, .policy = policy, .many_producers = producers > 1};
    hd_ring *ring;
    producer p[PRODUCERS_MAX];
    pthread_t threads[PRODUCERS_MAX];
    atomic_uint running = producers;
    size_t batches = events / producers / BATCH;
    double *costs = malloc(batches * producers * sizeof *costs);
    hd_ring_counts counts;
    if (!costs || hd_ring_new(&ring, &options, NULL) != HD_OK) return 1;
    double begin = bench_seconds();
    for (unsigned i = 0; i < producers; i++) {
        p[i] = (producer){ring, batches, costs + i * batches, &running};
        if (pthread_create(&threads[i], NULL, produce, &p[i])) return 1;
    }
    consume(ring, &running, rests);
    for (unsigned i = 0; i < producers; i++) pthread_join(threads[i], NULL);
    double seconds = bench_seconds() - begin;
    hd_ring_count(&counts, ring);
    qsort(costs, batches * producers, sizeof *costs, by_value);
    printf("policy=%s producers=%u consumer=%s push_ns=%.1f floor_ns=%d through_per_s=%.0f pushed=%llu popped=%llu "
           "evicted=%llu "
           "refused=%llu waits=%llu\n",
           names[policy], producers, rests ? "rests" : "eager", costs[batches * producers / 2],
           producers == 1 ? FLOOR_NS : 0, (double)counts.popped / seconds, (unsigned long long)counts.pushed,
           (unsigned long long)counts.popped, (unsigned long long)counts.evicted, (unsigned long long)counts.refused,
           (unsigned long long)counts.waits);
    hd_ring_free(ring);
    free(costs);
    return 0;
}

int main(int argc, char **argv)
{
    size_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000000;
    if (events < BATCH * PRODUCERS_MAX) {
        fprintf(stderr, "usage: bench_ring [EVENTS]\n");
        return 2;
    }
    for (unsigned producers = 1; producers <= PRODUCERS_MAX; producers *= 2) {
        for (int policy = 0; policy <= HD_RING_BLOCK; policy++) {
            if (measure((hd_ring_policy)policy, producers, true, events)) return 1;
            if (measure((hd_ring_policy)policy, producers, false, events)) return 1;
        }
    }
    return 0;
}
