/* ring.c - rings as objects of their own; the algorithm is ring_core.h */
#include "heddle/ring.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/options.h"
#include "capture/ring_core.h"

/* Spin, then give the processor away, then sleep, at most a quarter of a millisecond at once. */
void hd_ring_wait(unsigned n)
{
    if (n < 64) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    } else if (n < 96) {
        sched_yield();
    } else {
        struct timespec pause = {.tv_nsec = n < 128 ? 20000 : 250000};
        int kept = errno; /* the program's */
        nanosleep(&pause, NULL);
        errno = kept;
    }
}

static hd_status check_options(const hd_ring_options *options, hd_error *err)
{
    uint32_t capacity = options->capacity, bytes = options->element_bytes;
    if (capacity < 2 || capacity > HD_RING_CAPACITY_MAX || (capacity & (capacity - 1)))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a ring has a power of two of events, from 2 to %d; not %u", (int)HD_RING_CAPACITY_MAX,
                            capacity);
    if (bytes < 8 || bytes > HD_RING_ELEMENT_BYTES_MAX || bytes % 8)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "an event of a ring has a multiple of 8 bytes, up to %d; not %u",
                            (int)HD_RING_ELEMENT_BYTES_MAX, bytes);
    if ((unsigned)options->policy > HD_RING_BLOCK)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "a ring has no policy %d",
                            (int)options->policy);
    return HD_OK;
}

hd_status hd_ring_new(hd_ring **out, const hd_ring_options *options, hd_error *err)
{
    *out = NULL;
    HD_OWN_OPTIONS(hd_ring_options, options, err);
    HD_TRY(check_options(options, err));
    size_t bytes = (size_t)options->capacity * options->element_bytes;
    hd_ring *ring = aligned_alloc(HD_RING_LINE, sizeof *ring);
    hd_ring_word *words = aligned_alloc(HD_RING_LINE, (bytes + HD_RING_LINE - 1) & ~(size_t)(HD_RING_LINE - 1));
    hd_ring_word *seq = options->many_producers ? calloc(options->capacity, sizeof *seq) : NULL;
    if (!ring || !words || (options->many_producers && !seq)) {
        free(ring);
        free(words);
        free(seq);
        return HD_NOMEM(err);
    }
    hd_ring_init(ring, options, words, seq);
    *out = ring;
    return HD_OK;
}

void hd_ring_free(hd_ring *ring)
{
    if (!ring) return;
    free(ring->words);
    free(ring->seq);
    free(ring);
}

bool hd_ring_push(hd_ring *ring, const void *event)
{
    /* The size that a session has: its copies are unrolled. */
    if (ring->element_bytes == 64)
        return ring->seq ? hd_ring_push_many(ring, event, 64) : hd_ring_push_one(ring, event, 64);
    return ring->seq ? hd_ring_push_many(ring, event, ring->element_bytes)
                     : hd_ring_push_one(ring, event, ring->element_bytes);
}

size_t hd_ring_pop(void *out, uint64_t *out_first, hd_ring *ring, size_t max)
{
    uint64_t first = 0;
    size_t count = ring->element_bytes == 64 ? hd_ring_pop_some(ring, out, max, &first, 64)
                                             : hd_ring_pop_some(ring, out, max, &first, ring->element_bytes);
    if (out_first) *out_first = first;
    return count;
}

void hd_ring_finish(hd_ring *ring)
{
    atomic_store_explicit(&ring->closed, true, memory_order_relaxed);
}

void hd_ring_count(hd_ring_counts *out, const hd_ring *ring)
{
    uint64_t popped = atomic_load_explicit(&ring->popped, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    *out = (hd_ring_counts){
        .popped = popped,
        .evicted = head > popped ? head - popped : 0,
        .pushed = atomic_load_explicit(&ring->tail, memory_order_relaxed),
        .refused = atomic_load_explicit(&ring->refused, memory_order_relaxed),
        .waits = atomic_load_explicit(&ring->waits, memory_order_relaxed),
    };
}
