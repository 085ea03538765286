/* rust_text.c - reads the elements of Rust names and writes their text */
#include <string.h>

#include "base/demangle/rust.h"
#include "base/text/utf8.h"

enum { PUNYCODE_MAX = 128 };

/* ---- reading ---- */

bool dmr_take(dmr_reader *r, char c)
{
    if (r->failed || dmr_peek(r) != c) return false;
    r->at++;
    return true;
}

char dmr_next(dmr_reader *r)
{
    char c = dmr_peek(r);
    if (!c) r->failed = true;
    r->at += c != '\0';
    return c;
}

bool dmr_enter(dmr_reader *r)
{
    if (++r->steps > DM_STEP_LIMIT || ++r->depth > DM_DEPTH_LIMIT || r->made > DM_TEXT_LIMIT) r->failed = true;
    return !r->failed;
}

/* Reads up to "_": "_" is 0, "0_" is 1. */
uint64_t dmr_base62(dmr_reader *r)
{
    uint64_t value = 0;
    if (dmr_take(r, '_')) return 0;
    while (!dmr_take(r, '_') && !r->failed) {
        char c = dmr_next(r);
        unsigned digit = dm_is_digit(c)         ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || value > (UINT64_MAX - 63) / 62) r->failed = true;
        if (!r->failed) value = value * 62 + digit;
    }
    return value + 1;
}

/* The number after a letter, plus one; 0: the letter is not next. */
uint64_t dmr_optional62(dmr_reader *r, char letter)
{
    return dmr_take(r, letter) ? dmr_base62(r) + 1 : 0;
}

dmr_identifier dmr_read_identifier(dmr_reader *r)
{
    dmr_identifier out = {.is_punycode = dmr_take(r, 'u')};
    if (!dm_is_digit(dmr_peek(r))) r->failed = true;
    if (!dmr_take(r, '0')) {
        while (dm_is_digit(dmr_peek(r)) && out.size < r->size)
            out.size = out.size * 10 + (size_t)(r->name[r->at++] - '0');
    }
    dmr_take(r, '_');
    if (r->failed || out.size > r->size - r->at) {
        r->failed = true;
        return (dmr_identifier){0};
    }
    out.text = r->name + r->at;
    r->at += out.size;
    return out;
}

/* ---- writing ---- */

void dmr_put_bytes(dmr_reader *r, const char *text, size_t size)
{
    if (r->silent || r->failed) return;
    if (r->made < r->capacity) {
        size_t room = r->capacity - r->made;
        memcpy(r->out + r->made, text, size < room ? size : room);
    }
    r->made += size;
}

void dmr_put(dmr_reader *r, const char *text)
{
    dmr_put_bytes(r, text, strlen(text));
}

void dmr_put_number(dmr_reader *r, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    dmr_put_bytes(r, digits + at, sizeof digits - at);
}

void dmr_put_code_point(dmr_reader *r, uint32_t c, char quote)
{
    static const char hex[] = "0123456789abcdef";
    char text[4];
    const char *plain = c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\\' ? "\\\\" : NULL;
    if (plain) {
        dmr_put(r, plain);
    } else if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
        dmr_put(r, "\\u{");
        if (c >> 4) dmr_put_bytes(r, &hex[c >> 4], 1);
        dmr_put_bytes(r, &hex[c & 15], 1);
        dmr_put(r, "}");
    } else {
        if (c == (unsigned char)quote) dmr_put(r, "\\");
        dmr_put_bytes(r, text, hd_utf8_put(text, c));
    }
}

/* ---- punycode ---- */

static unsigned next_bias(uint64_t delta, uint64_t count, bool is_first)
{
    unsigned k = 0;
    delta = is_first ? delta / 700 : delta / 2;
    delta += delta / count;
    for (; delta > 455; k += 36) delta /= 35;
    return k + (unsigned)(36 * delta / (delta + 38));
}

/* The distance to the next insertion, in digits of a base that varies; false: there is none. */
static bool read_delta(uint64_t *out, const dmr_identifier *name, size_t *at, unsigned bias)
{
    uint64_t weight = 1;
    *out = 0;
    for (unsigned k = 36; *at < name->size; k += 36) {
        char c = name->text[(*at)++];
        unsigned digit = dm_is_digit(c) ? (unsigned)(c - '0') + 26 : (unsigned)(c - 'a');
        unsigned least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (digit > 35 || weight > UINT32_MAX) return false;
        *out += digit * weight;
        if (digit < least) return true;
        weight *= 36 - least;
    }
    return false;
}

/* Decodes Punycode: ASCII characters, "_", and other characters with their positions. Returns their number; 0: invalid,
 * or too many. */
static size_t decode(uint32_t out[PUNYCODE_MAX], const dmr_identifier *name)
{
    size_t count = 0, at = name->size;
    uint64_t c = 128, place = 0, delta;
    unsigned bias = 72;
    while (at > 0 && name->text[at - 1] != '_') at--;
    if (at > PUNYCODE_MAX) return 0;
    for (; count + 1 < at; count++) out[count] = (unsigned char)name->text[count];
    for (bool is_first = true; at < name->size; is_first = false) {
        if (count == PUNYCODE_MAX || !read_delta(&delta, name, &at, bias)) return 0;
        place += delta;
        count++;
        c += place / count;
        place %= count;
        bias = next_bias(delta, count, is_first);
        if (c > 0x10ffff) return 0;
        memmove(out + place + 1, out + place, (count - 1 - place) * sizeof *out);
        out[place++] = (uint32_t)c;
    }
    return count;
}

void dmr_put_identifier(dmr_reader *r, const dmr_identifier *name)
{
    uint32_t points[PUNYCODE_MAX];
    char text[4];
    if (r->silent || r->failed) return;
    size_t count = name->is_punycode ? decode(points, name) : 0;
    for (size_t i = 0; i < count; i++) dmr_put_bytes(r, text, hd_utf8_put(text, points[i]));
    if (count) return;
    if (name->is_punycode) dmr_put(r, "punycode{");
    dmr_put_bytes(r, name->text, name->size);
    if (name->is_punycode) dmr_put(r, "}");
}

/* ---- references back ---- */

/* Called after "B". Returns the position to read at; false: output is off, so it need not be read. `*after`: where to
 * return to. */
bool dmr_go_back(dmr_reader *r, size_t *after)
{
    size_t here = r->at - 1;
    uint64_t to = dmr_base62(r);
    if (to >= here) r->failed = true;
    *after = r->at;
    if (r->failed || r->silent) return false;
    r->at = (size_t)to;
    return true;
}
