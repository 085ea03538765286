/* text.c - makes names safe for terminals, browsers and line parsers */
#include "base/json/json.h"
#include "flame/flame.h"

static size_t put(char *out, const char *text, size_t size)
{
    memcpy(out, text, size);
    return size;
}

/* The size of a multi-byte character at data; 0: its first byte is invalid. */
static size_t wide_size(const char *data, size_t size)
{
    for (size_t length = 2; length <= 4 && length <= size; length++) {
        if (hd_utf8_valid(data, length, false)) return length;
    }
    return 0;
}

/* A lone surrogate, as JSON readers keep it: three bytes that are invalid UTF-8. */
static bool is_surrogate(const char *data, size_t size)
{
    const unsigned char *s = (const unsigned char *)data;
    return size >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && (s[2] & 0xc0) == 0x80;
}

/* U+0080 to U+009F: some terminals interpret them. U+2028 and U+2029: line ends in JavaScript. */
static bool is_wide_control(const char *data, size_t size)
{
    const unsigned char *s = (const unsigned char *)data;
    return (size >= 2 && s[0] == 0xc2 && s[1] < 0xa0) ||
           (size >= 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9));
}

static bool is_plain(unsigned char c, bool parted)
{
    return c >= 0x20 && c < 0x7f && !(parted && c == ';');
}

size_t flame_text_clean(char *out, hd_string name, bool parted, bool *changed)
{
    size_t size = 0;
    for (size_t i = 0; i < name.size;) {
        const char *at = name.data + i;
        unsigned char c = (unsigned char)*at;
        size_t used = 1, wide = 0;
        if (is_plain(c, parted)) {
            out[size++] = *at;
        } else if (c < 0x80) {
            out[size++] = c == ';' ? ':' : ' ';
            *changed = true;
        } else if ((wide = wide_size(at, name.size - i)) == 0) {
            used = is_surrogate(at, name.size - i) ? 3 : 1;
            size += put(out + size, "\xef\xbf\xbd", 3);
            *changed = true;
        } else if (is_wide_control(at, name.size - i)) {
            used = wide;
            out[size++] = ' ';
            *changed = true;
        } else {
            used = wide;
            size += put(out + size, at, wide);
        }
        i += used;
    }
    if (size) return size;
    *changed = true;
    return put(out, "[unknown]", 9);
}

bool flame_text_fits(hd_string name, bool parted)
{
    for (size_t i = 0; i < name.size;) {
        const char *at = name.data + i;
        size_t used = is_plain((unsigned char)*at, parted) ? 1 : 0;
        if (!used && (unsigned char)*at >= 0x80)
            used = is_wide_control(at, name.size - i) ? 0 : wide_size(at, name.size - i);
        if (!used) return false;
        i += used;
    }
    return name.size > 0;
}
