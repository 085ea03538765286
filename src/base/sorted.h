/* sorted.h - sorting lists that are mostly sorted, and search in sorted lists */
#ifndef HD_BASE_SORTED_H
#define HD_BASE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For hd_sort and hd_large_sort: the lowest first. */
#define HD_COMPARE(type)                                                                                               \
    static inline int hd_compare_##type(const void *a, const void *b)                                                  \
    {                                                                                                                  \
        const type x = *(const type *)a, y = *(const type *)b;                                                         \
        return (x > y) - (x < y);                                                                                      \
    }
HD_COMPARE(int64_t)
HD_COMPARE(uint64_t)
HD_COMPARE(double)
#undef HD_COMPARE

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

/* The end of the ascending run of list[first … count); sets `end`, a size_t. */
#define HD_RUN_END(end, list, first, count, x, y, before)                                                              \
    for ((end) = (first) + 1; (end) < (count); (end)++) {                                                              \
        const __typeof__(*(list)) *x = &(list)[end], *y = x - 1;                                                       \
        if (before) break;                                                                                             \
    }

/* A stable sort that merges adjacent ascending runs. `spare` has room for as many elements, and is not touched if the
 * list is sorted. `before` is an expression over x and y, names chosen by the caller for pointers to two elements; true
 * if x has to come first. */
#define HD_SORT_RUNS(list, spare, count, x, y, before)                                                                 \
    do {                                                                                                               \
        __typeof__(*(list)) *from_ = (list), *to_ = (spare);                                                           \
        size_t count_ = (count), middle_;                                                                              \
        HD_RUN_END(middle_, from_, 0, count_, x, y, before)                                                            \
        for (bool sorted_ = middle_ >= count_; !sorted_;) {                                                            \
            size_t written_ = 0;                                                                                       \
            while (written_ < count_) {                                                                                \
                size_t left_ = written_, high_;                                                                        \
                HD_RUN_END(middle_, from_, left_, count_, x, y, before)                                                \
                size_t right_ = high_ = middle_;                                                                       \
                if (middle_ < count_) HD_RUN_END(high_, from_, middle_, count_, x, y, before)                          \
                sorted_ = left_ == 0 && high_ == count_;                                                               \
                while (left_ < middle_ && right_ < high_) {                                                            \
                    const __typeof__(*from_) *x = &from_[right_], *y = &from_[left_];                                  \
                    const bool takes_right_ = (before);                                                                \
                    to_[written_++] = takes_right_ ? from_[right_++] : from_[left_++];                                 \
                }                                                                                                      \
                for (; left_ < middle_; left_++) to_[written_++] = from_[left_];                                       \
                for (; right_ < high_; right_++) to_[written_++] = from_[right_];                                      \
            }                                                                                                          \
            __typeof__(*(list)) *swap_ = from_;                                                                        \
            from_ = to_;                                                                                               \
            to_ = swap_;                                                                                               \
        }                                                                                                              \
        if (from_ != (list)) memcpy((list), from_, count_ * sizeof *from_);                                            \
    } while (0)

/* As qsort, but stable: the order of equal elements in qsort depends on the C library, and results must not. Slower
 * without memory. */
void hd_sort(void *list, size_t count, size_t size, int (*compare)(const void *a, const void *b));
/* The same with room for count / 2 elements at `spare`, NULL: none. */
void hd_sort_in(void *list, size_t count, size_t size, int (*compare)(const void *a, const void *b), void *spare);

/* How many elements, of `size` bytes each, begin with a uint64_t up to `key`. The list is sorted by it, so the element
 * before the result is the last such one. This finds the range that contains an address, in ranges that begin with
 * their start. */
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
