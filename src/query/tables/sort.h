/* sort.h - positions sorted by keys */
#ifndef HD_QUERY_TABLES_SORT_H
#define HD_QUERY_TABLES_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

/* An index of a column: ascending keys with their positions; positions of equal keys ascend. */
typedef struct query_index {
    int64_t *keys;
    uint32_t *at;
    size_t count;
} query_index;

/* Sorts both lists by key, stably: radix sort over the digits that differ. `large`: as of base/memory/large.h, by which
 * both lists are made and may be replaced. Errors: MEMORY. */
hd_status query_sort(int64_t **keys, uint32_t **at, size_t count, uint64_t large, hd_error *err);

/* The range of an index with keys in [low, high]. */
void query_index_find(size_t *out_first, size_t *out_count, const query_index *index, int64_t low, int64_t high);
void query_index_deinit(query_index *index);

#endif
