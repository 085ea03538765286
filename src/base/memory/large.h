/* large.h - arrays that may be too large for memory: from a size on they lie in nameless temporary files, mapped, so
 * that the system can write them out and take the memory
 *
 * As malloc's in all else; but they are freed here. `least` is the size in bytes from which on a file is taken
 * (hd_trace_large_bytes tells that of a trace); where none can be had, it is memory as well.
 */
#ifndef HD_BASE_MEMORY_LARGE_H
#define HD_BASE_MEMORY_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* NULL: no memory. What is in it is not defined. */
void *hd_large_new(size_t count, size_t element_size, uint64_t least);
/* The same of zeros. */
void *hd_large_zeroed(size_t count, size_t element_size, uint64_t least);
void hd_large_free(void *list);
/* Room for `count` elements in a list, whose first `used` stay; false: no memory, the list is as it was. */
bool hd_large_resize(void **list, size_t used, size_t count, size_t element_size, uint64_t least);
/* As hd_sort, but what it takes is half as large as the list; false: no memory. */
bool hd_large_sort(void *list, size_t count, size_t element_size, int (*compare)(const void *a, const void *b),
                   uint64_t least);
/* Room for one more, as hd_grow. */
bool hd_large_grow(void **list, size_t *capacity, size_t count, size_t element_size, uint64_t least);
/* As hd_slots_add and hd_slots_deinit, for an index whose slots are such an array. */
bool hd_large_slots_add(hd_slots *slots, uint64_t hash, uint32_t number, uint64_t least);
void hd_large_slots_deinit(hd_slots *slots);

#endif
