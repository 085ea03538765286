/* ring_core.h - the rings themselves, as inline code: for ring.c, for the session, and for the test that runs every
 * interleaving of it
 *
 * `tail` counts the places reserved by pushes, `head` those freed; place i is slot i & mask. Both
 * only grow, so a compare-and-swap of head cannot succeed by accident.
 *
 * One producer
 *   owns tail; storing it publishes the event. It reads head only when it reaches `limit`, which advances by
 *   about half a ring each time, so that the cache lines of head and tail are seldom transferred.
 *
 * Many producers
 *   reserve a place by a compare-and-swap of tail; seq[slot] = place + 1 publishes the event. A place is reserved only
 *   after head has passed the previous place of the slot, which was therefore published: no two producers write
 *   one slot at once, and no slot is written while its published event may still be claimed.
 *
 * Drop oldest
 *   is the case in which producers move head, too. The consumer copies events first and claims them afterwards, by a
 *   compare-and-swap of head: if it succeeds from head = h, no place from h on had been freed, so none of them
 *   had been overwritten, and the copies from h on are intact. If a producer came first, the consumer delivers
 *   the copies from the new head on. Events may be overwritten while they are copied, so they are copied in
 *   relaxed atomic words, and discarded unread when the claim fails. A producer frees an eighth of the ring at
 *   once: the consumer then has that much time to succeed.
 *
 * Else
 *   only the consumer moves head, and copies are plain.
 *
 * Every access to shared memory goes through HD_RING_…, which tests/capture/test_ring_model.c defines otherwise.
 */
#ifndef HD_CAPTURE_RING_CORE_H
#define HD_CAPTURE_RING_CORE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>

#include "heddle/ring.h"

#ifndef HD_RING_LOAD
#define HD_RING_LOAD(p, order) atomic_load_explicit(p, order)
#define HD_RING_STORE(p, value, order) atomic_store_explicit(p, value, order)
#define HD_RING_CAS(p, expected, value, order, failed)                                                                 \
    atomic_compare_exchange_strong_explicit(p, expected, value, order, failed)
#define HD_RING_ADD(p, value, order) atomic_fetch_add_explicit(p, value, order)
#define HD_RING_COPY_IN(slot, event, size) memcpy(slot, event, size)
#define HD_RING_COPY_OUT(out, slot, size) memcpy(out, slot, size)
/* The n-th look at a full ring. */
#define HD_RING_WAIT(n) hd_ring_wait(n)
void hd_ring_wait(unsigned n);
#endif

/* Two lines: processors fetch lines in pairs. */
enum { HD_RING_LINE = 128 };

typedef _Atomic uint64_t hd_ring_word;

struct hd_ring {
    uint64_t mask;
    hd_ring_word *words; /* (mask + 1) * element_bytes */
    hd_ring_word *seq;   /* many producers: for each slot, the place published in it + 1. Else NULL */
    uint32_t element_bytes;
    hd_ring_policy policy;
    atomic_bool closed;
    /* Called by the producer when it finds the ring half full; NULL: not needed. */
    void (*bell)(void *user);
    void *bell_user;

    alignas(HD_RING_LINE) hd_ring_word tail;
    uint64_t limit; /* one producer: where to look at head again */
    hd_ring_word refused, waits;

    alignas(HD_RING_LINE) hd_ring_word head;
    hd_ring_word popped; /* written by the consumer alone */
};

static inline void hd_ring_init(struct hd_ring *ring, const hd_ring_options *options, hd_ring_word *words,
                                hd_ring_word *seq)
{
    memset(ring, 0, sizeof *ring);
    ring->mask = options->capacity - 1;
    ring->element_bytes = options->element_bytes;
    ring->policy = options->policy;
    ring->words = words;
    ring->seq = options->many_producers ? seq : NULL;
}

static inline hd_ring_word *hd_ring_slot(const struct hd_ring *ring, uint64_t place, size_t size)
{
    return ring->words + (place & ring->mask) * (size / sizeof(hd_ring_word));
}

/* ---- copies ---- */

static inline void hd_ring_put(struct hd_ring *ring, uint64_t place, const void *event, size_t size)
{
    hd_ring_word *slot = hd_ring_slot(ring, place, size);
    if (ring->policy != HD_RING_DROP_OLDEST) {
        HD_RING_COPY_IN((void *)slot, event, size);
        return;
    }
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t word;
        memcpy(&word, (const char *)event + 8 * i, 8);
        HD_RING_STORE(&slot[i], word, memory_order_relaxed);
    }
}

static inline void hd_ring_get(const struct hd_ring *ring, uint64_t place, void *out, size_t size)
{
    hd_ring_word *slot = hd_ring_slot(ring, place, size);
    if (ring->policy != HD_RING_DROP_OLDEST) {
        HD_RING_COPY_OUT(out, (const void *)slot, size);
        return;
    }
    for (size_t i = 0; i < size / 8; i++) {
        uint64_t word = HD_RING_LOAD(&slot[i], memory_order_relaxed);
        memcpy((char *)out + 8 * i, &word, 8);
    }
}

/* ---- push ---- */

static inline bool hd_ring_published(const struct hd_ring *ring, uint64_t place)
{
    return HD_RING_LOAD(&ring->seq[place & ring->mask], memory_order_acquire) == place + 1;
}

/* Free the oldest places of a ring that was full at head = h. false: the oldest is not published yet. */
static inline bool hd_ring_evict(struct hd_ring *ring, uint64_t h)
{
    uint64_t count = 1, want = (ring->mask + 1) / 8;
    if (ring->seq && !hd_ring_published(ring, h))
        return HD_RING_LOAD(&ring->head, memory_order_acquire) != h; /* another made room meanwhile */
    while (count < want && (!ring->seq || hd_ring_published(ring, h + count))) count++;
    /* If this fails, another has made room. */
    HD_RING_CAS(&ring->head, &h, h + count, memory_order_acq_rel, memory_order_acquire);
    return true;
}

/* One attempt for a ring that is full at head = h: true if it is worth trying again. */
static inline bool hd_ring_make_room(struct hd_ring *ring, uint64_t h, unsigned looks)
{
    switch (ring->policy) {
    case HD_RING_DROP_OLDEST: return hd_ring_evict(ring, h);
    case HD_RING_BLOCK:
        if (HD_RING_LOAD(&ring->closed, memory_order_relaxed)) return false;
        if (looks == 0) HD_RING_ADD(&ring->waits, 1, memory_order_relaxed);
        HD_RING_WAIT(looks);
        return true;
    default: return false;
    }
}

/* The producer is at its limit: find out how much room there is. */
static inline bool hd_ring_look(struct hd_ring *ring, uint64_t t)
{
    uint64_t capacity = ring->mask + 1;
    for (unsigned looks = 0;; looks++) {
        uint64_t h = HD_RING_LOAD(&ring->head, memory_order_acquire), used = t - h;
        if (ring->bell && used >= capacity / 2) ring->bell(ring->bell_user);
        if (used < capacity) {
            /* The first look after half a ring, the second when it is full. */
            ring->limit = used < capacity / 2 ? h + capacity / 2 : h + capacity;
            return true;
        }
        if (!hd_ring_make_room(ring, h, looks)) return false;
    }
}

static inline bool hd_ring_push_one(struct hd_ring *ring, const void *event, size_t size)
{
    uint64_t t = HD_RING_LOAD(&ring->tail, memory_order_relaxed);
    if (__builtin_expect(t == ring->limit, 0) && !hd_ring_look(ring, t)) {
        uint64_t refused = HD_RING_LOAD(&ring->refused, memory_order_relaxed);
        HD_RING_STORE(&ring->refused, refused + 1, memory_order_relaxed);
        return false;
    }
    hd_ring_put(ring, t, event, size);
    HD_RING_STORE(&ring->tail, t + 1, memory_order_release);
    return true;
}

/* A place for a push of one of many. false: refused. */
static inline bool hd_ring_take_place(struct hd_ring *ring, uint64_t *out)
{
    uint64_t capacity = ring->mask + 1, t = HD_RING_LOAD(&ring->tail, memory_order_relaxed);
    for (unsigned looks = 0;;) {
        uint64_t h = HD_RING_LOAD(&ring->head, memory_order_acquire);
        if (t - h < capacity) {
            if (HD_RING_CAS(&ring->tail, &t, t + 1, memory_order_relaxed, memory_order_relaxed)) {
                *out = t;
                return true;
            }
            continue;
        }
        /* Full, or t is old: head may have passed it. */
        uint64_t now = HD_RING_LOAD(&ring->tail, memory_order_relaxed);
        if (now == t) {
            if (ring->bell) ring->bell(ring->bell_user);
            if (!hd_ring_make_room(ring, h, looks++)) return false;
        }
        t = now;
    }
}

static inline bool hd_ring_push_many(struct hd_ring *ring, const void *event, size_t size)
{
    uint64_t t;
    if (!hd_ring_take_place(ring, &t)) {
        HD_RING_ADD(&ring->refused, 1, memory_order_relaxed);
        return false;
    }
    hd_ring_put(ring, t, event, size);
    HD_RING_STORE(&ring->seq[t & ring->mask], t + 1, memory_order_release);
    return true;
}

/* ---- pop ---- */

/* Number of published events from place h on, at most `max`. With eviction h may be outdated, and so may the result. */
static inline size_t hd_ring_ready(const struct hd_ring *ring, uint64_t h, size_t max)
{
    if (!ring->seq) {
        uint64_t count = HD_RING_LOAD(&ring->tail, memory_order_acquire) - h;
        if (count > ring->mask + 1) count = ring->mask + 1;
        return count < max ? (size_t)count : max;
    }
    size_t count = 0;
    if (max > ring->mask + 1) max = (size_t)ring->mask + 1;
    while (count < max && hd_ring_published(ring, h + count)) count++;
    return count;
}

/* `out` has copies of places h to h + count: claims them, or those that were not evicted. Returns how many, moved to
 * the front of `out`; *h is the first of them. */
static inline size_t hd_ring_claim(struct hd_ring *ring, void *out, uint64_t *h, size_t count, size_t size)
{
    uint64_t first = *h, end = first + count;
    while (!HD_RING_CAS(&ring->head, h, end, memory_order_acq_rel, memory_order_acquire)) {
        if (*h >= end) return 0;
    }
    size_t gone = (size_t)(*h - first);
    if (gone) memmove(out, (char *)out + gone * size, (count - gone) * size);
    return count - gone;
}

static inline size_t hd_ring_pop_evicting(struct hd_ring *ring, void *out, size_t max, uint64_t *out_first, size_t size)
{
    for (;;) {
        uint64_t h = HD_RING_LOAD(&ring->head, memory_order_acquire);
        size_t count = hd_ring_ready(ring, h, max);
        if (count == 0 && HD_RING_LOAD(&ring->head, memory_order_acquire) == h) return 0;
        if (count == 0) continue;
        for (size_t i = 0; i < count; i++) hd_ring_get(ring, h + i, (char *)out + i * size, size);
        count = hd_ring_claim(ring, out, &h, count, size);
        *out_first = h;
        if (count) return count;
        if (max > 1) max /= 2; /* producers are faster: take less at once */
    }
}

static inline void hd_ring_count_popped(struct hd_ring *ring, size_t count)
{
    uint64_t popped = HD_RING_LOAD(&ring->popped, memory_order_relaxed);
    HD_RING_STORE(&ring->popped, popped + count, memory_order_relaxed);
}

/* Copies events, which stay in the ring until hd_ring_pass; where producers evict, they are claimed at once. */
static inline size_t hd_ring_peek_some(struct hd_ring *ring, void *out, size_t max, uint64_t *out_first, size_t size)
{
    if (max == 0) return 0;
    if (ring->policy == HD_RING_DROP_OLDEST) {
        size_t claimed = hd_ring_pop_evicting(ring, out, max, out_first, size);
        if (claimed) hd_ring_count_popped(ring, claimed);
        return claimed;
    }
    uint64_t h = HD_RING_LOAD(&ring->head, memory_order_relaxed);
    size_t count = hd_ring_ready(ring, h, max);
    for (size_t i = 0; i < count; i++) hd_ring_get(ring, h + i, (char *)out + i * size, size);
    *out_first = h;
    return count;
}

/* The consumer is done with these. */
static inline void hd_ring_pass(struct hd_ring *ring, uint64_t first, size_t count)
{
    if (ring->policy == HD_RING_DROP_OLDEST) return;
    HD_RING_STORE(&ring->head, first + count, memory_order_release);
    hd_ring_count_popped(ring, count);
}

static inline size_t hd_ring_pop_some(struct hd_ring *ring, void *out, size_t max, uint64_t *out_first, size_t size)
{
    size_t count = hd_ring_peek_some(ring, out, max, out_first, size);
    if (count) hd_ring_pass(ring, *out_first, count);
    return count;
}

#endif
