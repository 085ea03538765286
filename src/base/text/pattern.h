/* pattern.h - regular expressions and globs that take neither much memory nor much time, whoever wrote them
 *
 * Regex   a part of a text: POSIX extended, as regcomp(3) has it, of the first HD_REGEX_TEXT bytes. Patterns that would
 *         take much memory or time are refused: back-references, repetitions of repetitions beyond a bound, long ones
 * Glob    all of a text: *, ?, [a-z], [!a-z], [[:alpha:]], \ before what is meant as it is; bytes. At most
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

/* One thread's. Zero-initialised it may be freed. */
typedef struct hd_regex {
    const char *pattern; /* the caller's, as long as this lives */
    bool match_case, is_there;
    regex_t regex;
    uint32_t until_renewal; /* texts; what is remembered of texts is bounded so */
    char *text;             /* a copy of the text at hand, terminated: not every regexec takes another */
    size_t capacity;
} hd_regex;

/* Errors: ARGUMENT, with the reason behind "what: ". */
hd_status hd_regex_init(hd_regex *out, const char *pattern, bool match_case, const char *what, hd_error *err);
void hd_regex_deinit(hd_regex *regex);
bool hd_regex_matches(hd_regex *regex, const char *data, size_t size);

/* `lower`: the pattern is in small letters, and ASCII letters of the text are taken as such. */
bool hd_glob_matches(const char *pattern, const char *data, size_t size, bool lower);

#endif
