/* ring.h - rings: bounded lock-free queues of events of one size, single-producer (SPSC) or many-producer (MPSC)
 *
 *     hd_ring_new(&ring, &(hd_ring_options){.capacity = 16384, .element_bytes = 64}, err);
 *     producer: hd_ring_push(ring, &event);            consumer: n = hd_ring_pop(events, NULL, ring, 256);
 *
 * Part of libheddle-capture. Producer and consumer use no lock and no system call, except producers that wait
 * under HD_RING_BLOCK. With one producer (SPSC, the default) a push is a copy and a store; with `many_producers`
 * (MPSC) also one compare-and-swap. There is always one consumer.
 *
 * Nothing is reordered: events of one producer come out in the order of its pushes; events of several producers in the
 * order in which the pushes reserved their places. Every lost event is counted: see hd_ring_counts.
 *
 * Threads: push by one thread at a time, or by any number with `many_producers`; pop by one thread at a time; counts by
 * any. A signal handler must not push to a ring of one producer that it may have interrupted in a push.
 */
#ifndef HEDDLE_RING_H
#define HEDDLE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a push into a full ring does. */
typedef enum hd_ring_policy {
    HD_RING_DROP_NEWEST, /* the push is refused: the ring keeps its events */
    HD_RING_DROP_OLDEST, /* the oldest eighth of the ring (at least one event) is dropped */
    HD_RING_BLOCK,       /* the push waits until the consumer has made room, or the ring is finished */
} hd_ring_policy;

enum { HD_RING_CAPACITY_MAX = 1 << 26, HD_RING_ELEMENT_BYTES_MAX = 4096 };

typedef struct hd_ring_options {
    size_t size;            /* of this struct; see "Options" in status.h */
    uint32_t capacity;      /* events: a power of two from 2 to HD_RING_CAPACITY_MAX */
    uint32_t element_bytes; /* of one event: a multiple of 8, from 8 to HD_RING_ELEMENT_BYTES_MAX */
    hd_ring_policy policy;
    bool many_producers;
} hd_ring_options;

/* offered = pushed + refused; pushed = popped + evicted + what is still in the ring. Exact when no thread pushes or
 * pops; otherwise each number is that of a moment close to the call. */
typedef struct hd_ring_counts {
    uint64_t pushed;  /* accepted */
    uint64_t popped;  /* taken by the consumer */
    uint64_t evicted; /* dropped as the oldest to make room: accepted, but never popped */
    uint64_t refused; /* dropped as the newest: never accepted. With several producers also under HD_RING_DROP_OLDEST,
                         when the oldest place is held by a producer that has not finished its push; with
                         HD_RING_BLOCK, after finish */
    uint64_t waits;   /* pushes that had to wait */
} hd_ring_counts;

typedef struct hd_ring hd_ring;

/* The caller frees *out. Errors: ARGUMENT for options out of range, MEMORY. */
hd_status hd_ring_new(hd_ring **out, const hd_ring_options *options, hd_error *err);
/* Only when no thread uses it any more. NULL is fine. */
void hd_ring_free(hd_ring *ring);

/* Push a copy of one event. false: it was refused, and is counted. */
bool hd_ring_push(hd_ring *ring, const void *event);

/* Copy up to `max` of the oldest events to `out`, in order and without gaps between them, and return how many.
 * *out_first, unless NULL, is the number of the first of them among all pushed: a gap since the previous pop is the
 * number of evicted events. A consumer that got fewer than `max` should pause (20 microseconds are enough): busy
 * polling reads the cache line that the producer writes and makes a push three to five times slower. */
size_t hd_ring_pop(void *out, uint64_t *out_first, hd_ring *ring, size_t max);

/* From now on no push waits: one that would have to is refused. */
void hd_ring_finish(hd_ring *ring);

void hd_ring_count(hd_ring_counts *out, const hd_ring *ring);

#ifdef __cplusplus
}
#endif
#endif
