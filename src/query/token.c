/* token.c - SQL as tokens: blanks and comments, quoted texts, words, and single marks */
#include "query/token.h"

#include <string.h>
#include <strings.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end) {
        if (is_blank(*at)) {
            at++;
        } else if (end - at > 1 && at[0] == '-' && at[1] == '-') {
            const char *line = memchr(at, '\n', (size_t)(end - at));
            at = line ? line + 1 : end;
        } else if (end - at > 1 && at[0] == '/' && at[1] == '*') {
            const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
            at = close ? close + 2 : end;
        } else {
            break;
        }
    }
    return at;
}

/* Skips to after the closing quote; a doubled quote does not close. */
static const char *skip_quoted(const char *at, const char *end)
{
    const char close = *at == '[' ? ']' : *at;
    for (at++; at < end; at++) {
        if (*at != close) continue;
        if (close == ']' || at + 1 == end || at[1] != close) return at + 1;
        at++;
    }
    return end;
}

bool query_token_next(query_token *out, const char **at, const char *end)
{
    const char *start = skip_blanks(*at, end), *behind = start + 1;
    *at = end;
    if (start == end) return false;
    if (strchr("'\"`[", *start) && *start) {
        out->kind = QUERY_QUOTED;
        behind = skip_quoted(start, end);
    } else if (is_word(*start)) {
        out->kind = QUERY_WORD;
        while (behind < end && is_word(*behind)) behind++;
    } else {
        out->kind = QUERY_MARK;
    }
    out->text = start;
    out->size = (size_t)(behind - start);
    *at = behind;
    return true;
}

bool query_token_is(const query_token *token, const char *word)
{
    return token->size == strlen(word) && strncasecmp(token->text, word, token->size) == 0;
}

bool query_token_names(const query_token *token, const char *name, size_t size)
{
    size_t quotes = token->kind == QUERY_QUOTED;
    if (quotes && (token->text[0] == '\'' || token->size < 2)) return false;
    return token->size - 2 * quotes == size && strncasecmp(token->text + quotes, name, size) == 0;
}
