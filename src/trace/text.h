/* text.h - comparing strings with known texts */
#ifndef HD_TRACE_TEXT_H
#define HD_TRACE_TEXT_H

#include <string.h>

#include "base/text/ends.h"
#include "heddle/trace.h"

static inline bool hd_string_is(hd_string string, const char *text)
{
    return string.size == strlen(text) && memcmp(string.data, text, string.size) == 0;
}

static inline bool hd_string_begins(hd_string string, const char *text)
{
    return hd_starts_with(string.data, string.size, text);
}

static inline bool hd_string_holds(hd_string string, const char *part)
{
    return string.size && memmem(string.data, string.size, part, strlen(part)) != NULL;
}

/* Any of a list that ends with NULL. */
static inline bool hd_string_is_any(hd_string string, const char *const *texts)
{
    while (*texts && !hd_string_is(string, *texts)) texts++;
    return *texts != NULL;
}

static inline bool hd_string_holds_any(hd_string string, const char *const *parts)
{
    while (*parts && !hd_string_holds(string, *parts)) parts++;
    return *parts != NULL;
}

#endif
