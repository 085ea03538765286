/* svg_text.c - names and numbers as text of an XML document */
#include <stdlib.h>
#include <string.h>

#include "flame/svg.h"
#include "heddle/names.h"

void svg_put(hd_bytes *out, const char *text)
{
    hd_bytes_put(out, text, strlen(text));
}

void svg_put_int(hd_bytes *out, int64_t value)
{
    char digits[20], *p = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do *--p = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) hd_bytes_put_u8(out, '-');
    hd_bytes_put(out, p, (size_t)(digits + sizeof digits - p));
}

void svg_put_tenths(hd_bytes *out, int64_t tenths)
{
    if (tenths >= 10 || tenths == 0) svg_put_int(out, tenths / 10);
    if (tenths % 10 == 0) return;
    const char text[2] = {'.', (char)('0' + tenths % 10)};
    hd_bytes_put(out, text, 2);
}

/* ---- names ---- */

/* The size of the character at p, which is UTF-8, and its number. */
static size_t character(uint32_t *out, const char *p)
{
    const unsigned char *s = (const unsigned char *)p;
    if (s[0] < 0x80) {
        *out = s[0];
        return 1;
    }
    if (s[0] < 0xe0) {
        *out = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
        return 2;
    }
    if (s[0] < 0xf0) {
        *out = (s[0] & 0xfu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
        return 3;
    }
    *out = (s[0] & 7u) << 18 | (s[1] & 0x3fu) << 12 | (s[2] & 0x3fu) << 6 | (s[3] & 0x3fu);
    return 4;
}

/* East Asian characters and pictures are twice as wide as others. */
static size_t places_of(uint32_t c)
{
    bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) || c >= 0x1f000;
    return wide ? 2 : 1;
}

/* The position to cut a text at so that it has at most `places` columns; its size if it fits. */
static size_t cut_at(const char *text, size_t size, size_t places)
{
    size_t used = 0, cut = 0;
    for (size_t i = 0; i < size;) {
        uint32_t c;
        size_t length = character(&c, text + i);
        used += places_of(c);
        if (used > places) return cut;
        i += length;
        if (used + 1 <= places) cut = i;
    }
    return size;
}

static void put_xml_character(hd_bytes *out, const char *p, size_t size, uint32_t c)
{
    switch (c) {
    case '<': svg_put(out, "&lt;"); return;
    case '>': svg_put(out, "&gt;"); return;
    case '&': svg_put(out, "&amp;"); return;
    case '"': svg_put(out, "&quot;"); return;
    default: hd_bytes_put(out, p, size); return;
    }
}

static void put_json_character(hd_bytes *out, const char *p, size_t size, uint32_t c)
{
    switch (c) {
    case '"': svg_put(out, "\\\""); return;
    case '\\': svg_put(out, "\\\\"); return;
    case '<': svg_put(out, "\\u003c"); return;
    case '>': svg_put(out, "\\u003e"); return;
    case '&': svg_put(out, "\\u0026"); return;
    default: hd_bytes_put(out, p, size); return;
    }
}

/* Characters that XML 1.0 cannot contain, or that change the direction of the surrounding text. */
static bool is_forbidden(uint32_t c)
{
    return c == 0xfffe || c == 0xffff || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

typedef void put_character(hd_bytes *out, const char *p, size_t size, uint32_t c);

static bool put_clean(hd_bytes *out, hd_string text, size_t places, put_character *put)
{
    char few[FLAME_TEXT_BYTES(1024)], *clean = few;
    bool changed = false, cut = text.size > HD_NAME_BYTES;
    if (cut) {
        /* not within a character: its bytes would be invalid */
        text.size = HD_NAME_BYTES;
        while (text.size && ((unsigned char)text.data[text.size] & 0xc0) == 0x80) text.size--;
    }
    if (FLAME_TEXT_BYTES(text.size) > sizeof few) clean = malloc(FLAME_TEXT_BYTES(text.size));
    if (!clean) {
        out->failed = true;
        return false;
    }
    size_t size = flame_text_clean(clean, text, false, &changed), end = cut_at(clean, size, places);
    for (size_t i = 0; i < end;) {
        uint32_t c;
        size_t length = character(&c, clean + i);
        if (is_forbidden(c)) {
            changed = true;
            svg_put(out, "\xef\xbf\xbd");
        } else {
            put(out, clean + i, length, c);
        }
        i += length;
    }
    if (cut || end < size) svg_put(out, "…");
    if (clean != few) free(clean);
    return changed;
}

bool svg_put_text(hd_bytes *out, hd_string text, size_t places)
{
    return put_clean(out, text, places, put_xml_character);
}

bool svg_put_json(hd_bytes *out, hd_string text)
{
    hd_bytes_put_u8(out, '"');
    bool changed = put_clean(out, text, SIZE_MAX, put_json_character);
    hd_bytes_put_u8(out, '"');
    return changed;
}
