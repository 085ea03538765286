/* loose.c - syntax around the events that is not quite JSON */
#include "format/chrome/loose.h"

#include <string.h>

#include "base/json/json.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || hd_json_is_digit(c) || c == '_' || c == '$';
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && hd_json_is_space(*p)) p++;
    return p;
}

bool chrome_at_word(const char *p, const char *begin)
{
    return p == begin || !is_word(p[-1]);
}

const char *chrome_loose_events(const char *p, const char *end)
{
    static const char name[] = "traceEvents";
    enum { SIZE = sizeof name - 1 };
    p += p < end && is_quote(*p);
    if ((size_t)(end - p) <= SIZE || memcmp(p, name, SIZE) != 0) return NULL;
    p += SIZE;
    p = skip_space(p + is_quote(*p), end);
    if (p < end && (*p == ':' || *p == '=')) p = skip_space(p + 1, end);
    return p < end && *p == '[' ? p : NULL;
}

bool chrome_loose_key(chrome_loose *out, const char *p, const char *end)
{
    enum { LONGEST = 256 };
    const char *stop = (size_t)(end - p) > LONGEST ? p + LONGEST : end;
    bool quoted = p < end && *p == '\'';
    out->code = quoted ? "json.single-quote" : "json.key-bare";
    out->name = p += quoted;
    if (quoted)
        while (p < stop && *p != '\'' && *p != '\\' && (unsigned char)*p >= ' ') p++;
    else
        while (p < stop && (is_word(*p) || *p == '-' || *p == '.')) p++;
    out->name_size = (size_t)(p - out->name);
    if (p == stop || (quoted && *p != '\'') || !hd_utf8_valid(out->name, out->name_size, false)) return false;
    if (!quoted && out->name_size == 0) return false;
    p = skip_space(p + quoted, end);
    if (p == end || *p != ':') return false;
    out->value = skip_space(p + 1, end);
    return out->value < end;
}

const char *chrome_skip_comment(const char *p, const char *end)
{
    if (end - p < 2 || p[0] != '/') return NULL;
    if (p[1] == '/') {
        const char *line = memchr(p, '\n', (size_t)(end - p));
        return line ? line + 1 : NULL;
    }
    const char *close = p[1] == '*' ? memmem(p + 2, (size_t)(end - p) - 2, "*/", 2) : NULL;
    return close ? close + 2 : NULL;
}

/* The position after the single-quoted string at p, if it is one: a value or key may begin there, and it ends on the
 * same line. Else p. */
static const char *skip_single_quoted(const char *p, const char *begin, const char *end)
{
    const char *before = p;
    while (before > begin && hd_json_is_space(before[-1])) before--;
    if (before > begin && memchr(":,[{", before[-1], 4) == NULL) return p;
    for (const char *q = p + 1; q < end && *q != '\n'; q++) {
        if (*q == '\'') return q;
        q += *q == '\\';
    }
    return p;
}

const char *chrome_probable_end(const char *p, const char *end)
{
    const char *const begin = p, *comma = NULL;
    size_t depth = 0;
    for (; p < end; p++) {
        if (chrome_at_word(p, begin) && (is_quote(*p) || *p == 't') && chrome_loose_events(p, end))
            return comma ? comma : p;
        switch (*p) {
        case '"':
            for (p++; p < end && *p != '"'; p++) p += *p == '\\';
            break;
        case '\'': p = skip_single_quoted(p, begin, end); break;
        case '{':
        case '[': depth++; break;
        case '}':
        case ']':
            if (depth-- == 0) return p;
            break;
        case ',':
            comma = p;
            if (depth == 0) return p;
            break;
        default: break;
        }
    }
    return end;
}
