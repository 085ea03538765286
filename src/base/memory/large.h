/* large.h - arrays that may be too large for memory: above a size they are in unnamed temporary files, mapped, so that
 * the system can write them out and reuse the memory
 *
 * Otherwise like malloc's; free them with the function here. `least` is the size in bytes from which on a file is used
 * (hd_trace_large_bytes returns that of a trace); if no file can be created, memory is used.
 */
#ifndef HD_BASE_MEMORY_LARGE_H
#define HD_BASE_MEMORY_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* NULL: no memory. The contents are undefined. */
void *hd_large_new(size_t count, size_t element_size, uint64_t least);
/* The same of zeros. */
void *hd_large_zeroed(size_t count, size_t element_size, uint64_t least);
void hd_large_free(void *list);
/* Resizes a list to `count` elements and keeps the first `used`; false: no memory, the list is unchanged. */
bool hd_large_resize(void **list, size_t used, size_t count, size_t element_size, uint64_t least);
/* As hd_sort, with temporary memory of half the list; false: no memory. */
bool hd_large_sort(void *list, size_t count, size_t element_size, int (*compare)(const void *a, const void *b),
                   uint64_t least);
/* Makes room for one more, as hd_grow. */
bool hd_large_grow(void **list, size_t *capacity, size_t count, size_t element_size, uint64_t least);
/* As hd_slots_add and hd_slots_deinit, for slots in such an array. */
bool hd_large_slots_add(hd_slots *slots, uint64_t hash, uint32_t number, uint64_t least);
void hd_large_slots_deinit(hd_slots *slots);

#endif
