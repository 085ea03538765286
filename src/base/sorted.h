/* sorted.h - search in sorted lists */
#ifndef HD_BASE_SORTED_H
#define HD_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A binary search: moves `low` to the first index of [low, high) for which `before`, an expression of the index `at`,
 * is false, or to high; `before` is true up to there. Moves high as well. */
#define HD_PARTITION_POINT(low, high, at, before)                                                                      \
    while ((low) < (high)) {                                                                                           \
        __typeof__(low) at = (low) + ((high) - (low)) / 2;                                                             \
        if (before)                                                                                                    \
            (low) = at + 1;                                                                                            \
        else                                                                                                           \
            (high) = at;                                                                                               \
    }

/* How many elements, of `size` bytes each, begin with a uint64_t up to `key`. They are sorted by it, so that the last
 * of these is the one before the result. Ranges that begin with their start are found so by an address. */
static inline size_t hd_sorted_up_to(uint64_t key, const void *list, size_t count, size_t size)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t here;
        memcpy(&here, (const char *)list + middle * size, sizeof here);
        if (here <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
