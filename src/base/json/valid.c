/* valid.c - strict RFC 8259 and UTF-8 validation, the oracle of the repairer's tests
 *
 * Independent of the repairer, without shared code, so that a mistake is not made twice.
 */
#include <string.h>

#include "base/json/json.h"

typedef struct validator {
    const unsigned char *at, *end;
} validator;

static void skip_space(validator *v)
{
    while (v->at < v->end && (*v->at == ' ' || *v->at == '\t' || *v->at == '\n' || *v->at == '\r')) v->at++;
}

static bool take(validator *v, unsigned char c)
{
    if (v->at == v->end || *v->at != c) return false;
    v->at++;
    return true;
}

static bool take_text(validator *v, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(v->end - v->at) < size || memcmp(v->at, text, size) != 0) return false;
    v->at += size;
    return true;
}

static bool take_digits(validator *v)
{
    const unsigned char *from = v->at;
    while (v->at < v->end && *v->at >= '0' && *v->at <= '9') v->at++;
    return v->at > from;
}

static bool take_number(validator *v)
{
    take(v, '-');
    if (!take(v, '0') && !take_digits(v)) return false;
    if (take(v, '.') && !take_digits(v)) return false;
    if (take(v, 'e') || take(v, 'E')) {
        if (!take(v, '+')) take(v, '-');
        if (!take_digits(v)) return false;
    }
    return true;
}

/* Decodes a code point of two to four bytes completely, then checks it. */
static bool take_utf8(validator *v)
{
    unsigned char lead = *v->at;
    size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    uint32_t code = lead & (0x3Fu >> more);
    uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    if (lead < 0xC0 || lead > 0xF7 || (size_t)(v->end - v->at) <= more) return false;
    for (size_t i = 1; i <= more; i++) {
        if ((v->at[i] & 0xC0) != 0x80) return false;
        code = code << 6 | (v->at[i] & 0x3Fu);
    }
    if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    v->at += more + 1;
    return true;
}

static bool take_escape(validator *v)
{
    if (v->at == v->end) return false;
    unsigned char c = *v->at++;
    if (c != 'u') return c != 0 && strchr("\"\\/bfnrt", c) != NULL;
    for (int i = 0; i < 4; i++, v->at++) {
        if (v->at == v->end || *v->at == 0 || strchr("0123456789abcdefABCDEF", *v->at) == NULL) return false;
    }
    return true;
}

static bool take_string(validator *v)
{
    if (!take(v, '"')) return false;
    while (v->at < v->end) {
        if (*v->at < 0x20) return false;
        if (*v->at >= 0x80) {
            if (!take_utf8(v)) return false;
            continue;
        }
        unsigned char c = *v->at++;
        if (c == '"') return true;
        if (c == '\\' && !take_escape(v)) return false;
    }
    return false;
}

static bool take_scalar(validator *v)
{
    if (v->at == v->end) return false;
    switch (*v->at) {
    case '"': return take_string(v);
    case 't': return take_text(v, "true");
    case 'f': return take_text(v, "false");
    case 'n': return take_text(v, "null");
    default: return take_number(v);
    }
}

static bool take_key(validator *v)
{
    skip_space(v);
    if (!take_string(v)) return false;
    skip_space(v);
    return take(v, ':');
}

enum { DEPTH_MOST = 65536 };

/* One bit a level, set: an array. Of fixed size, since the result has no way to report a lack of memory. */
typedef struct levels {
    uint8_t arrays[DEPTH_MOST / 8];
    size_t depth;
} levels;

static void open_level(levels *l, bool is_array)
{
    uint8_t *byte = &l->arrays[l->depth / 8], bit = (uint8_t)(1u << l->depth % 8);
    *byte = is_array ? *byte | bit : (uint8_t)(*byte & ~bit);
    l->depth++;
}

static bool top_is_array(const levels *l)
{
    return l->arrays[(l->depth - 1) / 8] >> (l->depth - 1) % 8 & 1;
}

static unsigned char closer(const levels *l)
{
    return top_is_array(l) ? ']' : '}';
}

/* Closes as many levels as end here. false: invalid. Then, with depth > 0, a value must follow. */
static bool take_closers(validator *v, levels *l)
{
    for (; l->depth > 0; l->depth--) {
        skip_space(v);
        if (take(v, ',')) return top_is_array(l) || take_key(v);
        if (!take(v, closer(l))) return false;
    }
    return true;
}

static bool take_value(validator *v, size_t max_depth)
{
    levels l;
    l.depth = 0;
    do {
        skip_space(v);
        bool is_array = take(v, '[');
        if (is_array || take(v, '{')) {
            if (l.depth == max_depth) return false;
            open_level(&l, is_array);
            skip_space(v);
            if (!take(v, closer(&l))) {
                if (!is_array && !take_key(v)) return false;
                continue;
            }
            l.depth--;
        } else if (!take_scalar(v)) {
            return false;
        }
        if (!take_closers(v, &l)) return false;
    } while (l.depth > 0);
    return true;
}

bool hd_json_valid(const char *text, size_t size, size_t max_depth)
{
    if (text == NULL || max_depth > DEPTH_MOST) return false;
    validator v = {(const unsigned char *)text, (const unsigned char *)text + size};
    bool ok = take_value(&v, max_depth);
    skip_space(&v);
    return ok && v.at == v.end;
}
