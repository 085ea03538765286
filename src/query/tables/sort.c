/* sort.c - radix sort of keys with their positions */
#include "query/tables/sort.h"

#include <string.h>

#include "base/error.h"
#include "base/memory/large.h"
#include "base/sorted.h"

enum { DIGIT_BITS = 11, DIGITS = 6 };

typedef struct sort_lists {
    int64_t *keys;
    uint32_t *at;
} sort_lists;

static uint64_t digit_of(int64_t key, unsigned digit)
{
    uint64_t ordered = (uint64_t)key ^ (uint64_t)1 << 63;
    return ordered >> digit * DIGIT_BITS & ((1u << DIGIT_BITS) - 1);
}

static void sort_digit(sort_lists to, sort_lists from, size_t count, unsigned digit)
{
    size_t starts[1 << DIGIT_BITS] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++) starts[digit_of(from.keys[i], digit)]++;
    for (size_t i = 0; i < 1u << DIGIT_BITS; i++) {
        size_t here = starts[i];
        starts[i] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        size_t place = starts[digit_of(from.keys[i], digit)]++;
        to.keys[place] = from.keys[i];
        to.at[place] = from.at[i];
    }
}

hd_status query_sort(int64_t **keys, uint32_t **at, size_t count, uint64_t large, hd_error *err)
{
    uint64_t differ = 0;
    bool sorted = true;
    for (size_t i = 1; i < count; i++) {
        differ |= (uint64_t)(*keys)[i] ^ (uint64_t)(*keys)[i - 1];
        sorted &= (*keys)[i] >= (*keys)[i - 1];
    }
    if (sorted) return HD_OK;
    sort_lists from = {*keys, *at};
    sort_lists to = {hd_large_new(count, sizeof *to.keys, large), hd_large_new(count, sizeof *to.at, large)};
    for (unsigned digit = 0; digit < DIGITS && to.keys && to.at; digit++) {
        if (!(differ >> digit * DIGIT_BITS & ((1u << DIGIT_BITS) - 1))) continue;
        sort_digit(to, from, count, digit);
        sort_lists swap = from;
        from = to;
        to = swap;
    }
    bool made = to.keys && to.at;
    *keys = from.keys;
    *at = from.at;
    hd_large_free(to.keys);
    hd_large_free(to.at);
    return made ? HD_OK : HD_NOMEM(err);
}

void query_index_find(size_t *out_first, size_t *out_count, const query_index *index, int64_t low, int64_t high)
{
    size_t first = 0, end = index->count;
    HD_PARTITION_POINT(first, end, at, index->keys[at] < low)
    size_t behind = first;
    end = index->count;
    HD_PARTITION_POINT(behind, end, at, index->keys[at] <= high)
    *out_first = first;
    *out_count = low <= high ? behind - first : 0;
}

void query_index_deinit(query_index *index)
{
    hd_large_free(index->keys);
    hd_large_free(index->at);
    *index = (query_index){0};
}
