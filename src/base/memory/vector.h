/* vector.h - growing lists */
#ifndef HD_BASE_MEMORY_VECTOR_H
#define HD_BASE_MEMORY_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for one more element of a malloc'ed list; false: no memory. */
bool hd_grow(void **list, size_t *capacity, size_t count, size_t element_size);

/* Makes room for `count` elements and discards the old contents; false: no memory. */
bool hd_renew(void **list, size_t *capacity, size_t count, size_t element_size);

/* Make room for `size` bytes in a buffer; false when memory runs out. */
bool hd_reserve(char **buffer, size_t *capacity, size_t size);

/* Stores what a thread made, from malloc, in an empty place. Where another was faster it is freed. Returns what is
 * stored. */
void *hd_keep_first(void **place, void *made);

#endif
