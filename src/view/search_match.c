/* search_match.c - does a text match what is searched for */
#include "view/search_match.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json_write.h"

enum { FOLD_BYTES = 2048, RENEW_AFTER = 1 << 14, REPEAT_LIMIT = 1000, EXPANDED_LIMIT = 20000 };

/* ---- capital letters --------------------------------------------------------------------------------------------- */

static uint64_t fold8(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u, low = x & 0x7f * ones;
    uint64_t from_a = low + (0x80 - 'A') * ones, behind_z = low + (0x80 - 'Z' - 1) * ones;
    return x | ((from_a ^ behind_z) & ~x & 0x80 * ones) >> 2;
}

static char fold1(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static void fold(char *out, const char *data, size_t size)
{
    size_t i = 0;
    for (; i + 8 <= size; i += 8) {
        uint64_t folded = fold8(hd_load64(data + i));
        memcpy(out + i, &folded, 8);
    }
    for (; i < size; i++) out[i] = fold1(data[i]);
}

/* ---- regular expressions ----------------------------------------------------------------------------------------- */

/* What `{m,n}` at text[at] repeats at most; 1 where there is none. */
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

static hd_status check_regex(const char *pattern, hd_error *err)
{
    uint64_t product = 1;
    bool in_class = false;
    for (size_t i = 0; pattern[i]; i++) {
        char c = pattern[i];
        if (c == '\\' && pattern[i + 1] && !in_class) {
            i++;
            if (pattern[i] < '0' || pattern[i] > '9') continue;
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "q: back-references such as \\%c are not taken, since they can take for ever",
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
                                "q: the repetitions in braces multiply to too much; use * or + instead");
    }
    return HD_OK;
}

static hd_status compile(view_matcher *m, hd_error *err)
{
    char problem[128];
    int failed = regcomp(&m->regex, m->pattern, REG_EXTENDED | REG_NOSUB | (m->match_case ? 0 : REG_ICASE));
    m->has_regex = !failed;
    m->until_renewal = RENEW_AFTER;
    if (!failed) return HD_OK;
    regerror(failed, &m->regex, problem, sizeof problem);
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "q: no regular expression: %s", problem);
}

static bool regex_matches(view_matcher *m, const char *data, size_t size)
{
    regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)(size < VIEW_REGEX_TEXT ? size : VIEW_REGEX_TEXT)};
    if (m->until_renewal-- == 0) {
        regfree(&m->regex);
        if (compile(m, NULL) != HD_OK) return false;
    }
    return m->has_regex && regexec(&m->regex, data ? data : "", 1, &range, REG_STARTEND) == 0;
}

/* ---- globs ------------------------------------------------------------------------------------------------------- */

/* Whether a byte is in the class at p, which is behind '['; *out_end is behind its ']', or NULL: it has none. */
static bool in_class(const char *p, unsigned char c, const char **out_end)
{
    bool unwanted = *p == '!' || *p == '^', found = false;
    const char *first = p += unwanted;
    for (; *p && (*p != ']' || p == first); p++) {
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

/* One byte against one piece of the pattern; *out_next is behind the piece. */
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

/* The last star alone is tried again. */
static bool glob_matches(const view_matcher *m, const char *data, size_t size)
{
    const char *p = m->pattern, *star = NULL, *next;
    size_t i = 0, tried = 0;
    while (i < size) {
        char c = m->match_case ? data[i] : fold1(data[i]);
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

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static bool text_matches(const view_matcher *m, const char *data, size_t size)
{
    char folded[FOLD_BYTES];
    if (size < m->size) return false;
    if (m->match_case) return memmem(data, size, m->pattern, m->size) != NULL;
    for (;;) {
        size_t piece = size < FOLD_BYTES ? size : FOLD_BYTES;
        fold(folded, data, piece);
        if (memmem(folded, piece, m->pattern, m->size)) return true;
        if (piece == size) return false;
        data += piece - m->size + 1;
        size -= piece - m->size + 1;
    }
}

bool view_matches(view_matcher *matcher, const char *data, size_t size)
{
    switch (matcher->mode) {
    case VIEW_SEARCH_REGEX: return regex_matches(matcher, data, size);
    case VIEW_SEARCH_GLOB: return glob_matches(matcher, data, size);
    default: return text_matches(matcher, data, size);
    }
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

enum { DIGITS_MOST = 18 }; /* 10^18 fits */

static void read_digits(view_matcher *m)
{
    if (m->mode != VIEW_SEARCH_TEXT || m->size > DIGITS_MOST || strspn(m->pattern, "0123456789") != m->size) return;
    m->modulus = 1;
    for (size_t i = 0; i < m->size; i++) {
        m->digits = m->digits * 10 + (uint64_t)(m->pattern[i] - '0');
        m->modulus *= 10;
    }
}

/* Its last digits are compared with those looked for, then the last is dropped. Zeros in front are no digits. */
static bool has_digits(const view_matcher *m, uint64_t number)
{
    bool zero_first = m->pattern[0] == '0';
    if (number == 0) return m->size == 1 && zero_first;
    for (; number >= UINT32_MAX; number /= 10) {
        if (number % m->modulus == m->digits && (!zero_first || number >= m->modulus)) return true;
    }
    if (m->digits > number) return false;
    uint32_t n = (uint32_t)number, digits = (uint32_t)m->digits;
    if (m->modulus > UINT32_MAX) return n == digits && !zero_first;
    uint32_t modulus = (uint32_t)m->modulus;
    for (; n >= modulus; n /= 10) {
        if (n % modulus == digits) return true;
    }
    return n == digits && !zero_first;
}

bool view_matches_int(view_matcher *m, int64_t number)
{
    char buffer[64];
    hd_json_out text = {.data = buffer, .capacity = sizeof buffer};
    if (m->modulus) return has_digits(m, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
    if (m->mode == VIEW_SEARCH_TEXT && (strpbrk(m->pattern, ".+eE") || strchr(m->pattern + 1, '-'))) return false;
    hd_json_put_int(&text, number);
    return view_matches(m, text.data, text.size);
}

bool view_may_match_numbers(const view_matcher *matcher)
{
    return matcher->mode != VIEW_SEARCH_TEXT || strspn(matcher->pattern, "0123456789.+-eE") == matcher->size;
}

hd_status view_matcher_init(view_matcher *out, const char *pattern, view_search_mode mode, bool match_case,
                            hd_error *err)
{
    size_t size = pattern ? strlen(pattern) : 0;
    memset(out, 0, sizeof *out);
    if (size == 0) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "q: says nothing to look for");
    if (size > VIEW_PATTERN_BYTES)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "q: is longer than %d bytes",
                            VIEW_PATTERN_BYTES);
    out->mode = mode;
    out->match_case = match_case;
    out->size = size;
    if (match_case || mode == VIEW_SEARCH_REGEX)
        memcpy(out->pattern, pattern, size);
    else
        fold(out->pattern, pattern, size);
    read_digits(out);
    if (mode != VIEW_SEARCH_REGEX) return HD_OK;
    HD_TRY(check_regex(pattern, err));
    return compile(out, err);
}

void view_matcher_deinit(view_matcher *matcher)
{
    if (matcher->has_regex) regfree(&matcher->regex);
    matcher->has_regex = false;
}
