/* match.c - matches a text against a search */
#include "view/search/match.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/json/write.h"

enum { FOLD_BYTES = 2048 };

/* ---- capital letters ---- */

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

/* ---- all of them ---- */

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
    case VIEW_SEARCH_REGEX: return hd_regex_matches(&matcher->regex, data, size);
    case VIEW_SEARCH_GLOB: return hd_glob_matches(matcher->pattern, data, size, !matcher->match_case);
    default: return text_matches(matcher, data, size);
    }
}

/* ---- integers ---- */

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

/* Its last digits are compared with those looked for, then the last is dropped. Zeros in front are not digits. */
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
    if (size > HD_PATTERN_BYTES)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "q: is longer than %d bytes", HD_PATTERN_BYTES);
    out->mode = mode;
    out->match_case = match_case;
    out->size = size;
    if (match_case || mode == VIEW_SEARCH_REGEX)
        memcpy(out->pattern, pattern, size);
    else
        fold(out->pattern, pattern, size);
    read_digits(out);
    return mode == VIEW_SEARCH_REGEX ? hd_regex_init(&out->regex, out->pattern, match_case, "q", err) : HD_OK;
}

void view_matcher_deinit(view_matcher *matcher)
{
    hd_regex_deinit(&matcher->regex);
}
