/* vector.c - growing lists */
#include "base/memory/vector.h"

#include <stdlib.h>

bool hd_grow(void **list, size_t *capacity, size_t count, size_t element_size)
{
    if (count < *capacity) return true;
    size_t wider = *capacity ? *capacity * 2 : 16;
    void *p = realloc(*list, wider * element_size);
    if (!p) return false;
    *list = p;
    *capacity = wider;
    return true;
}

bool hd_renew(void **list, size_t *capacity, size_t count, size_t element_size)
{
    if (count <= *capacity) return true;
    free(*list);
    *list = malloc(count * element_size);
    *capacity = *list ? count : 0;
    return *list != NULL;
}

bool hd_reserve(char **buffer, size_t *capacity, size_t size)
{
    if (size <= *capacity) return true;
    size_t wider = *capacity * 2 > size ? *capacity * 2 : size + 256;
    char *p = realloc(*buffer, wider);
    if (!p) return false;
    *buffer = p;
    *capacity = wider;
    return true;
}

void *hd_keep_first(void **place, void *made)
{
    void *before = NULL;
    if (__atomic_compare_exchange_n(place, &before, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
    free(made);
    return before;
}
