/* text.h - comparing strings with known texts */
#ifndef HD_TRACE_TEXT_H
#define HD_TRACE_TEXT_H

#include <string.h>

#include "heddle/trace.h"

static inline bool hd_string_is(hd_string string, const char *text)
{
    return string.size == strlen(text) && memcmp(string.data, text, string.size) == 0;
}

/* By bytes; a beginning comes first. As of qsort. */
static inline int hd_string_compare(hd_string a, hd_string b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
