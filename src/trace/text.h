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

#endif
