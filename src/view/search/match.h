/* match.h - matches a text against a search
 *
 * Text    a substring, by bytes; ASCII letters match case-insensitively unless case counts
 * Glob, regex   see base/text/pattern.h
 */
#ifndef HD_VIEW_SEARCH_MATCH_H
#define HD_VIEW_SEARCH_MATCH_H

#include "base/text/pattern.h"
#include "heddle/trace.h"

typedef enum view_search_mode { VIEW_SEARCH_TEXT, VIEW_SEARCH_REGEX, VIEW_SEARCH_GLOB } view_search_mode;

/* Used by one thread, and not moved. Zero-initialised it may be freed. */
typedef struct view_matcher {
    view_search_mode mode;
    bool match_case;
    char pattern[HD_PATTERN_BYTES + 1]; /* in small letters unless case counts; not of a regex */
    size_t size;
    hd_regex regex;
    uint64_t digits;  /* of a text of at most 18 digits: its value … */
    uint64_t modulus; /* … and 10^size; 0: it is none */
} view_matcher;

/* Errors: ARGUMENT, with the reason. */
hd_status view_matcher_init(view_matcher *out, const char *pattern, view_search_mode mode, bool match_case,
                            hd_error *err);
void view_matcher_deinit(view_matcher *matcher);
bool view_matches(view_matcher *matcher, const char *data, size_t size);
/* false: no number's text can match. */
bool view_may_match_numbers(const view_matcher *matcher);
/* Whether the decimal text of an integer matches, without making it where that can be. */
bool view_matches_int(view_matcher *matcher, int64_t number);

#endif
