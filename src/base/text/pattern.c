/* pattern.c - regular expressions and globs with bounded memory and time */
#include "base/text/pattern.h"

#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/memory/vector.h"

#ifndef REG_STARTEND /* musl: a text ends at its first NUL */
#define REG_STARTEND 0
#endif

enum { RENEW_AFTER = 1 << 14, REPEAT_LIMIT = 1000, EXPANDED_LIMIT = 20000 };

/* ---- regular expressions ---- */

/* The upper bound of the `{m,n}` at text[at]; 1 if there is none. */
static unsigned repeats(const char *text, size_t at)
{
    unsigned most = 1, number = 0;
    if (text[at] != '{') return 1;
    for (at++; text[at] && text[at] != '}'; at++) {
        if (text[at] == ',')
            number = 0;
        else if (text[at] >= '0' && text[at] <= '9' && number < 100000)
            number = number * 10 + (unsigned)(text[at] - '0');
        if (number > most) most = number;
    }
    return most;
}

static hd_status check_regex(const char *pattern, const char *what, hd_error *err)
{
    uint64_t product = 1;
    bool in_class = false;
    if (strlen(pattern) > HD_PATTERN_BYTES)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: is longer than %d bytes", what,
                            HD_PATTERN_BYTES);
    for (size_t i = 0; pattern[i]; i++) {
        char c = pattern[i];
        if (c == '\\' && pattern[i + 1] && !in_class) {
            i++;
            if (pattern[i] < '0' || pattern[i] > '9') continue;
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "%s: back-references such as \\%c are not taken, since they can take for ever", what,
                                pattern[i]);
        }
        if (c == '[' && !in_class) {
            in_class = true;
            if (pattern[i + 1] == '^') i++;
            if (pattern[i + 1] == ']') i++;
        } else if (c == ']') {
            in_class = false;
        } else if (!in_class) {
            product *= repeats(pattern, i);
        }
        if (product > REPEAT_LIMIT || product * strlen(pattern) > EXPANDED_LIMIT)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "%s: the repetitions in braces multiply to too much; use * or + instead", what);
    }
    return HD_OK;
}

static hd_status compile(hd_regex *r, const char *what, hd_error *err)
{
    char problem[128];
    int failed = regcomp(&r->regex, r->pattern, REG_EXTENDED | REG_NOSUB | (r->match_case ? 0 : REG_ICASE));
    r->is_there = !failed;
    r->until_renewal = RENEW_AFTER;
    if (!failed) return HD_OK;
    regerror(failed, &r->regex, problem, sizeof problem);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "%s: /%.100s/ is no regular expression: %s", what,
                        r->pattern, problem);
}

hd_status hd_regex_init(hd_regex *out, const char *pattern, bool match_case, const char *what, hd_error *err)
{
    *out = (hd_regex){.pattern = pattern, .match_case = match_case};
    HD_TRY(check_regex(pattern, what, err));
    return compile(out, what, err);
}

void hd_regex_deinit(hd_regex *regex)
{
    if (regex->is_there) regfree(&regex->regex);
    free(regex->text);
    *regex = (hd_regex){0};
}

bool hd_regex_matches(hd_regex *r, const char *data, size_t size)
{
    if (size > HD_REGEX_TEXT) size = HD_REGEX_TEXT;
    if (!hd_reserve(&r->text, &r->capacity, size + 1)) return false;
    if (size) memcpy(r->text, data, size);
    r->text[size] = '\0';
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)size};
    if (r->is_there && r->until_renewal-- == 0) {
        regfree(&r->regex);
        if (compile(r, "", NULL) != HD_OK) return false;
    }
    return r->is_there && regexec(&r->regex, r->text, 1, &range, REG_STARTEND) == 0;
}

/* ---- globs ---- */

/* The ":]" that ends the name at p, as in [[:alpha:]]; NULL: there is none. */
static const char *class_end(const char *p)
{
    if (p[0] != '[' || p[1] != ':') return NULL;
    const char *end = p + 2;
    while (*end >= 'a' && *end <= 'z') end++;
    return end[0] == ':' && end[1] == ']' ? end : NULL;
}

static bool is_in_named(const char *p, const char *end, unsigned char c)
{
    char name[16] = "";
    size_t size = (size_t)(end - p) - 2;
    if (size >= sizeof name) return false;
    memcpy(name, p + 2, size);
    wctype_t type = wctype(name);
    return type && c < 0x80 && iswctype(c, type);
}

/* Whether a byte is in the class at p, after '['; *out_end is after its ']', or NULL: unclosed. */
static bool in_class(const char *p, unsigned char c, const char **out_end)
{
    bool unwanted = *p == '!' || *p == '^', found = false;
    const char *first = p += unwanted;
    for (; *p && (*p != ']' || p == first); p++) {
        const char *name_end = class_end(p);
        if (name_end) {
            found |= is_in_named(p, name_end, c);
            p = name_end + 1;
            continue;
        }
        if (*p == '\\' && p[1]) p++;
        unsigned char low = (unsigned char)*p, high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') {
            p += 2;
            if (*p == '\\' && p[1]) p++;
            high = (unsigned char)*p;
        }
        if (c >= low && c <= high) found = true;
    }
    *out_end = *p ? p + 1 : NULL;
    return found != unwanted;
}

/* Matches one byte against one element of the pattern; *out_next is after the element. */
static bool matches_one(const char *p, char c, const char **out_next)
{
    const char *end;
    *out_next = p + 1;
    if (*p == '?') return true;
    if (*p == '[') {
        bool found = in_class(p + 1, (unsigned char)c, &end);
        if (end) {
            *out_next = end;
            return found;
        }
    }
    if (*p == '\\' && p[1]) {
        *out_next = p + 2;
        return p[1] == c;
    }
    return *p == c;
}

static char lower_of(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The last star alone is tried again. */
bool hd_glob_matches(const char *pattern, const char *data, size_t size, bool lower)
{
    const char *p = pattern, *star = NULL, *next;
    size_t i = 0, tried = 0;
    while (i < size) {
        char c = lower ? lower_of(data[i]) : data[i];
        if (*p == '*') {
            star = ++p;
            tried = i;
            if (!*p) return true;
        } else if (*p && matches_one(p, c, &next)) {
            p = next;
            i++;
        } else if (star) {
            p = star;
            i = ++tried;
        } else {
            return false;
        }
    }
    while (*p == '*') p++;
    return *p == '\0';
}
