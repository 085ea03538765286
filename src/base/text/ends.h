/* ends.h - how a text begins and ends, and the name in a path */
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

#endif
