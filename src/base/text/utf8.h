/* utf8.h - code points as UTF-8 */
#ifndef HD_BASE_TEXT_UTF8_H
#define HD_BASE_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Writes the 1 to 4 bytes of a code point and returns their number. Surrogates are encoded like other code points. */
static inline size_t hd_utf8_put_any(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* The same, always valid: an invalid code point or a surrogate becomes U+FFFD. */
static inline size_t hd_utf8_put(char *out, uint32_t c)
{
    return hd_utf8_put_any(out, (c >= 0xd800 && c < 0xe000) || c > 0x10ffff ? 0xfffd : c);
}

#endif
