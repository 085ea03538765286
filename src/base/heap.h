/* heap.h - binary heaps: priority queues in the caller's arrays
 *
 * `before` is an expression over x and y, names chosen by the caller for pointers to two elements; true if x comes out
 * first. Elements and counts are evaluated more than once.
 */
#ifndef HD_BASE_HEAP_H
#define HD_BASE_HEAP_H

#include <stddef.h>

/* Inserts `added` among the `count` elements of `heap`, which has room, and increments the count. */
#define HD_HEAP_PUSH(heap, count, added, x, y, before)                                                                 \
    do {                                                                                                               \
        __typeof__(*(heap)) added_ = (added);                                                                          \
        size_t at_ = (count)++;                                                                                        \
        for (; at_ > 0; at_ = (at_ - 1) / 2) {                                                                         \
            const __typeof__(added_) *const x = &added_, *const y = &(heap)[(at_ - 1) / 2];                            \
            if (!(before)) break;                                                                                      \
            (heap)[at_] = *y;                                                                                          \
        }                                                                                                              \
        (heap)[at_] = added_;                                                                                          \
    } while (0)

/* Puts `moved` in place of element `at`, whose children are heaps, and sifts it down. */
#define HD_HEAP_SINK(heap, count, at, moved, x, y, before)                                                             \
    do {                                                                                                               \
        __typeof__(*(heap)) moved_ = (moved);                                                                          \
        size_t at_ = (at);                                                                                             \
        for (size_t child_; (child_ = 2 * at_ + 1) < (count); at_ = child_) {                                          \
            if (child_ + 1 < (count)) {                                                                                \
                const __typeof__(moved_) *const x = &(heap)[child_ + 1], *const y = &(heap)[child_];                   \
                child_ += (before) ? 1 : 0;                                                                            \
            }                                                                                                          \
            const __typeof__(moved_) *const x = &(heap)[child_], *const y = &moved_;                                   \
            if (!(before)) break;                                                                                      \
            (heap)[at_] = *x;                                                                                          \
        }                                                                                                              \
        (heap)[at_] = moved_;                                                                                          \
    } while (0)

/* Removes the first element, heap[0], which the caller has read; the heap is not empty. */
#define HD_HEAP_POP(heap, count, x, y, before)                                                                         \
    do {                                                                                                               \
        --(count);                                                                                                     \
        HD_HEAP_SINK(heap, count, 0, (heap)[count], x, y, before);                                                     \
    } while (0)

#endif
