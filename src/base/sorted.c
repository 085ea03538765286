/* sorted.c - a stable sort by merging */
#include "base/sorted.h"

#include <stdlib.h>

typedef struct sorter {
    size_t size; /* of an element */
    int (*compare)(const void *a, const void *b);
    char *other; /* room for half of the list, and at least one element; NULL: no buffer */
} sorter;

/* Insertion sort of a short list. */
static void sort_few(const sorter *s, char *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        char *item = list + i * s->size;
        if (s->compare(item - s->size, item) <= 0) continue;
        size_t low = 0, high = i - 1;
        HD_PARTITION_POINT(low, high, at, s->compare(list + at * s->size, item) <= 0);
        memcpy(s->other, item, s->size);
        memmove(list + (low + 1) * s->size, list + low * s->size, (i - low) * s->size);
        memcpy(list + low * s->size, s->other, s->size);
    }
}

/* Merges two runs, list[0 … half) and list[half … count). Elements already in place at either end do not move. */
static void merge(const sorter *s, char *list, size_t half, size_t count)
{
    size_t size = s->size, first = 0, last = half;
    HD_PARTITION_POINT(first, last, at, s->compare(list + at * size, list + half * size) <= 0);
    char *to = list + first * size, *left = s->other, *right = list + half * size;
    char *left_end = left + (half - first) * size, *right_end = list + count * size;
    memcpy(left, to, (half - first) * size);
    while (left < left_end && right < right_end) {
        char *from = right;
        while (right < right_end && s->compare(left, right) > 0) right += size;
        memmove(to, from, (size_t)(right - from));
        to += right - from;
        if (right == right_end) break;
        from = left;
        while (left < left_end && s->compare(left, right) <= 0) left += size;
        memcpy(to, from, (size_t)(left - from));
        to += left - from;
    }
    memcpy(to, left, (size_t)(left_end - left));
}

/* ---- without memory ---- */

static void swap_ranges(char *a, char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void reverse(const sorter *s, char *first, char *end)
{
    for (; first + s->size < end; first += s->size) {
        end -= s->size;
        swap_ranges(first, end, s->size);
    }
}

/* Merges list[0 … half) and list[half … count): swaps the elements that belong on the other side of the middle, which
 * leaves two smaller pairs of runs. */
static void merge_in_place(const sorter *s, char *list, size_t half, size_t count)
{
    size_t size = s->size;
    while (half > 0 && half < count && s->compare(list + (half - 1) * size, list + half * size) > 0) {
        size_t left = half / 2, right = half, end = count;
        if (half >= count - half) {
            HD_PARTITION_POINT(right, end, at, s->compare(list + at * size, list + left * size) < 0);
        } else {
            size_t high = half;
            right = half + (count - half - 1) / 2;
            left = 0;
            HD_PARTITION_POINT(left, high, at, s->compare(list + at * size, list + right * size) <= 0);
            right++;
        }
        reverse(s, list + left * size, list + half * size);
        reverse(s, list + half * size, list + right * size);
        reverse(s, list + left * size, list + right * size);
        size_t middle = left + (right - half);
        merge_in_place(s, list, left, middle);
        list += middle * size;
        count -= middle;
        half = right - middle;
    }
}

/* ---- both ---- */

static void sort(const sorter *s, char *list, size_t count)
{
    enum { FEW = 12 };
    if (count < 2) return;
    if (count <= FEW && s->other) {
        sort_few(s, list, count);
        return;
    }
    size_t half = count / 2;
    sort(s, list, half);
    sort(s, list + half * s->size, count - half);
    if (s->compare(list + (half - 1) * s->size, list + half * s->size) <= 0) return;
    (s->other ? merge : merge_in_place)(s, list, half, count);
}

void hd_sort_in(void *list, size_t count, size_t size, int (*compare)(const void *a, const void *b), void *spare)
{
    sort(&(sorter){size, compare, spare}, list, count);
}

void hd_sort(void *list, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
    _Alignas(max_align_t) char few[1024];
    if (count < 2) return;
    bool fits = count / 2 <= sizeof few / size;
    char *spare = fits ? few : malloc(count / 2 * size);
    hd_sort_in(list, count, size, compare, spare);
    if (!fits) free(spare);
}
