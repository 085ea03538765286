/* pattern.h - regular expressions and globs with bounded memory and time, also for hostile patterns
 *
 * Regex   matches a part of a text: POSIX extended, as in regcomp(3), in the first HD_REGEX_TEXT bytes. Patterns that
 *         would take much memory or time are rejected: back-references, repetitions of repetitions beyond a bound, long
 *         ones
 * Glob    matches a whole text: *, ?, [a-z], [!a-z], [[:alpha:]], \ before a literal character; by bytes. At most
 *         size * pattern steps
 */
#ifndef HD_BASE_TEXT_PATTERN_H
#define HD_BASE_TEXT_PATTERN_H

#include <regex.h>

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_PATTERN_BYTES = 1024, HD_REGEX_TEXT = 1 << 16 };

/* Used by one thread. A zero-initialised one may be freed. */
typedef struct hd_regex {
    const char *pattern; /* the caller's; must live as long as this */
    bool match_case, is_there;
    regex_t regex;
    uint32_t until_renewal; /* texts until the regex is compiled anew, which bounds the memory that regexec keeps */
    char *text;             /* a NUL-terminated copy of the current text: not every regexec works without */
    size_t capacity;
} hd_regex;

/* Errors: ARGUMENT, with the reason after "what: ". */
hd_status hd_regex_init(hd_regex *out, const char *pattern, bool match_case, const char *what, hd_error *err);
void hd_regex_deinit(hd_regex *regex);
bool hd_regex_matches(hd_regex *regex, const char *data, size_t size);

/* `lower`: the pattern is in lower case, and ASCII letters of the text are compared in lower case. */
bool hd_glob_matches(const char *pattern, const char *data, size_t size, bool lower);

#endif
