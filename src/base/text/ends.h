/* ends.h - how a text begins and ends, the name in a path, and the order of texts */
#ifndef HD_BASE_TEXT_ENDS_H
#define HD_BASE_TEXT_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool hd_starts_with(const char *data, size_t size, const char *with)
{
    size_t n = strlen(with);
    return size >= n && memcmp(data, with, n) == 0;
}

static inline bool hd_ends_with(const char *data, size_t size, const char *with)
{
    size_t n = strlen(with);
    return size >= n && memcmp(data + size - n, with, n) == 0;
}

/* The part of a path after the last '/'; the whole path without one. */
static inline const char *hd_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The order of bytes, as a comparison of qsort has it; a beginning of a text comes before the text. */
static inline int hd_text_compare(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t size = a_size < b_size ? a_size : b_size;
    int order = size ? memcmp(a, b, size) : 0;
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

#endif
