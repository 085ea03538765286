/* write.c - writes JSON text from strings, numbers and other JSON text */
#include "base/json/write.h"

#include <string.h>

#include "base/json/json.h"
#include "base/memory/vector.h"

static char *room(hd_json_out *out, size_t size)
{
    if (out->capacity - out->size < size && !hd_reserve(&out->data, &out->capacity, out->size + size)) {
        out->failed = true;
        return NULL;
    }
    return out->data + out->size;
}

void hd_json_put(hd_json_out *out, const char *data, size_t size)
{
    char *p = size ? room(out, size) : NULL;
    if (!p) return;
    memcpy(p, data, size);
    out->size += size;
}

void hd_json_put_text(hd_json_out *out, const char *text)
{
    hd_json_put(out, text, strlen(text));
}

/* Writes the digits of a number right-aligned in buffer[20]; returns the first one. */
static char *digits_of(char buffer[20], uint64_t value)
{
    char *p = buffer + 20;
    do *--p = (char)('0' + value % 10);
    while (value /= 10);
    return p;
}

void hd_json_put_int(hd_json_out *out, int64_t value)
{
    char buffer[20];
    char *digits = digits_of(buffer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    if (value < 0) hd_json_put(out, "-", 1);
    hd_json_put(out, digits, (size_t)(buffer + 20 - digits));
}

void hd_json_put_decimal(hd_json_out *out, int64_t mantissa, unsigned scale)
{
    char buffer[20];
    char *digits = digits_of(buffer, mantissa < 0 ? 0 - (uint64_t)mantissa : (uint64_t)mantissa);
    size_t count = (size_t)(buffer + 20 - digits);
    if (mantissa < 0) hd_json_put(out, "-", 1);
    if (scale == 0) {
        hd_json_put(out, digits, count);
    } else if (count > scale) {
        hd_json_put(out, digits, count - scale);
        hd_json_put(out, ".", 1);
        hd_json_put(out, digits + count - scale, scale);
    } else {
        hd_json_put(out, "0.", 2);
        for (size_t i = count; i < scale; i++) hd_json_put(out, "0", 1);
        hd_json_put(out, digits, count);
    }
}

/* ---- strings ---- */

static size_t put_hex_escape(char *p, unsigned c)
{
    static const char hex[] = "0123456789abcdef";
    p[0] = '\\';
    p[1] = 'u';
    for (int i = 0; i < 4; i++) p[2 + i] = hex[c >> (12 - 4 * i) & 15];
    return 6;
}

static size_t put_control(char *p, unsigned char c)
{
    static const char short_forms[32] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (!short_forms[c]) return put_hex_escape(p, c);
    p[0] = '\\';
    p[1] = short_forms[c];
    return 2;
}

/* Writes bytes that begin with a non-ASCII one to p: returns how many were read, and *written. */
static size_t put_wide(char *p, size_t *written, const char *data, size_t size)
{
    const unsigned char *s = (const unsigned char *)data;
    for (size_t length = 2; length <= 4 && length <= size; length++) {
        if (hd_utf8_valid(data, length, false)) {
            memcpy(p, data, length);
            *written = length;
            return length;
        }
    }
    if (size >= 3 && s[0] == 0xed && s[1] >= 0xa0 && s[1] <= 0xbf && (s[2] & 0xc0) == 0x80) {
        *written = put_hex_escape(p, 0xd000u | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu));
        return 3;
    }
    memcpy(p, "\xef\xbf\xbd", 3);
    *written = 3;
    return 1;
}

static void put_string_slowly(hd_json_out *out, const char *data, size_t size)
{
    char *begin = room(out, size * 6 + 2), *p = begin;
    if (!p) return;
    *p++ = '"';
    for (size_t i = 0; i < size;) {
        unsigned char c = (unsigned char)data[i];
        size_t used = 1, written = 1;
        if (c == '"' || c == '\\') {
            p[0] = '\\';
            p[1] = (char)c;
            written = 2;
        } else if (c < 0x20) {
            written = put_control(p, c);
        } else if (c < 0x80) {
            *p = (char)c;
        } else {
            used = put_wide(p, &written, data + i, size - i);
        }
        i += used;
        p += written;
    }
    *p++ = '"';
    out->size += (size_t)(p - begin);
}

void hd_json_put_string(hd_json_out *out, const char *data, size_t size)
{
    bool plain = true;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        plain &= (c >= 0x20) & (c < 0x80) & (c != '"') & (c != '\\');
    }
    if (!plain) {
        put_string_slowly(out, data, size);
        return;
    }
    char *p = room(out, size + 2);
    if (!p) return;
    *p = '"';
    if (size) memcpy(p + 1, data, size);
    p[size + 1] = '"';
    out->size += size + 2;
}

/* ---- indentation ---- */

static void put_line(hd_json_out *out, unsigned depth)
{
    char *p = room(out, (size_t)depth * 2 + 1);
    if (!p) return;
    *p = '\n';
    memset(p + 1, ' ', (size_t)depth * 2);
    out->size += (size_t)depth * 2 + 1;
}

static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++) p += *p == '\\';
    return p < end ? p + 1 : end;
}

void hd_json_put_pretty(hd_json_out *out, const char *text, size_t size, unsigned depth)
{
    const char *p = text, *end = text + size;
    while (p < end) {
        char c = *p;
        const char *next = p + 1;
        while (next < end && hd_json_is_space(*next)) next++;
        if (c == '"') {
            const char *behind = string_end(p, end);
            hd_json_put(out, p, (size_t)(behind - p));
            p = behind;
            continue;
        }
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
        if (hd_json_is_space(c)) {
            p = next;
            continue;
        }
        if (opens && next < end && (*next == '}' || *next == ']')) {
            hd_json_put(out, &c, 1);
            hd_json_put(out, next, 1);
            p = next + 1;
            continue;
        }
        if (closes) put_line(out, --depth);
        hd_json_put(out, &c, 1);
        if (opens) depth++;
        if (opens || c == ',') put_line(out, depth);
        if (c == ':') hd_json_put(out, " ", 1);
        p++;
    }
}
