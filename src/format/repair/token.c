/* token.c - numbers and literals of the JSON repairer
 *
 * Non-finite   NaN, -nan, Infinity, inf, 1.#QNAN, -nan(ind) ... -> "NaN", "Infinity", "-Infinity" (protobuf's JSON)
 * Literals     True, FALSE, None, NULL, undefined ... -> true, false, null
 * Numbers      +5 007 .5 5. -> 5 7 0.5 5.0 (digits kept); hex, a lost exponent and the like become bare text
 */
#include <string.h>

#include "format/repair/impl.h"

enum { TOKEN_BYTES = 64 };

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_token_char(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c > 0 && strchr("+-.#_()$;!%&*<>=?@^|~`", c) != NULL);
}

static bool is_strict_number(const unsigned char *text, size_t size)
{
    size_t i = size > 0 && text[0] == '-', from = i;
    while (i < size && is_digit(text[i])) i++;
    if (i == from || (text[from] == '0' && i > from + 1)) return false;
    if (i < size && text[i] == '.') {
        from = ++i;
        while (i < size && is_digit(text[i])) i++;
        if (i == from) return false;
    }
    if (i < size && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < size && (text[i] == '+' || text[i] == '-')) i++;
        from = i;
        while (i < size && is_digit(text[i])) i++;
        if (i == from) return false;
    }
    return i == size;
}

static bool is_word(const unsigned char *text, size_t size, const char *word)
{
    if (strlen(word) != size) return false;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = text[i];
        if (c >= 'A' && c <= 'Z') c = (unsigned char)(c + 32);
        if (c != (unsigned char)word[i]) return false;
    }
    return true;
}

static const char *find_nonfinite(const unsigned char *text, size_t size)
{
    static const char *const nan[] = {"nan", "nan(ind)", "nan(snan)", "1.#qnan", "1.#snan", "1.#ind", "1.#nan"};
    static const char *const inf[] = {"inf", "infinity", "1.#inf"};
    bool negative = size > 0 && text[0] == '-';
    if (negative || (size > 0 && text[0] == '+')) {
        text++;
        size--;
    }
    if (size > 4 && memcmp(text, "1.#", 3) == 0) {
        while (size > 6 && text[size - 1] == '0') size--; /* 1.#QNAN00 */
    }
    for (size_t i = 0; i < sizeof nan / sizeof *nan; i++) {
        if (is_word(text, size, nan[i])) return "\"NaN\"";
    }
    for (size_t i = 0; i < sizeof inf / sizeof *inf; i++) {
        if (is_word(text, size, inf[i])) return negative ? "\"-Infinity\"" : "\"Infinity\"";
    }
    return NULL;
}

static const char *find_literal(const unsigned char *text, size_t size)
{
    if (is_word(text, size, "true")) return "true";
    if (is_word(text, size, "false")) return "false";
    if (is_word(text, size, "null") || is_word(text, size, "none") || is_word(text, size, "undefined")) return "null";
    return NULL;
}

/* +5 007 .5 5. as JSON: in `out`, its size, or 0 if it is not such a number. */
static size_t clean_number(char out[TOKEN_BYTES + 4], const unsigned char *text, size_t size)
{
    size_t i = 0, n = 0;
    if (size > 0 && (text[0] == '+' || text[0] == '-') && text[i++] == '-') out[n++] = '-';
    while (i + 1 < size && text[i] == '0' && is_digit(text[i + 1])) i++;
    if (i + 1 < size && text[i] == '.' && is_digit(text[i + 1])) out[n++] = '0';
    for (; i < size; i++) {
        out[n++] = (char)text[i];
        if (text[i] == '.' && (i + 1 == size || !is_digit(text[i + 1]))) out[n++] = '0';
        if (n > TOKEN_BYTES) return 0;
    }
    return is_strict_number((const unsigned char *)out, n) ? n : 0;
}

/* Whether the bytes right after a token end it, rather than being a broken byte in its middle. */
static bool is_delimited(repairer *rp, size_t at)
{
    int c = look_at(rp, at);
    if (c == LOOK_EOF || c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r') return true;
    if (c == '/') return look_comment(rp, at) != 0;
    if (c == '"') return !repair_in_array(rp) && look_member(rp, at);
    if (c != '}' && c != ']') return false;
    int next = look_at(rp, at + 1);
    return !is_digit(next) && next != '.' && next != '-';
}

bool repair_token(repairer *rp)
{
    const unsigned char *text = rp->text + rp->pos;
    size_t size = 0;
    while (rp->pos + size < rp->size && is_token_char(text[size])) size++;
    size_t end = rp->pos + size;
    if (look_at(rp, end) == LOOK_EOF && rp->is_final) {
        rp->pos = rp->size; /* it may be cut: no value */
        return true;
    }
    if (rp->starved || size == 0 || !is_delimited(rp, end)) return false;
    const char *literal = find_literal(text, size);
    const char *word = literal != NULL ? literal : find_nonfinite(text, size);
    char cleaned[TOKEN_BYTES + 4];
    size_t out = rp->r->size, cleaned_size = 0;
    if (is_strict_number(text, size)) {
        repair_put(rp, text, size);
    } else if (word != NULL) {
        if (strlen(word) != size || memcmp(word, text, size) != 0) {
            repair_note(rp, literal != NULL ? ISSUE_LITERAL : ISSUE_NONFINITE, rp->pos);
        }
        repair_put(rp, word, strlen(word));
    } else if (size <= TOKEN_BYTES && (cleaned_size = clean_number(cleaned, text, size)) > 0) {
        repair_note(rp, ISSUE_NUMBER, rp->pos);
        repair_put(rp, cleaned, cleaned_size);
    } else {
        return false;
    }
    rp->token_in = rp->pos;
    rp->token_out = out;
    rp->token_kept = rp->kept[rp->depth];
    rp->pos = end;
    return true;
}
