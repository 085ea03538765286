/* input.c - bytes of a pickle, from begin to end, and the values that one opcode makes: numbers, texts */
#include <stdlib.h>
#include <string.h>

#include "base/memory/vector.h"
#include "base/text/decimal.h"
#include "base/text/utf8.h"
#include "format/pickle/impl.h"

/* ---- bytes ---- */

enum { CHUNK = 1 << 18, LINE_LIMIT = 1 << 26 };

bool pickle_refill(pickle_input *in, uint64_t size)
{
    uint64_t at = place(in), left = in->size - at, most = in->window.pieces->memory ? left : CHUNK;
    in->truncated |= size > left;
    if (in->truncated) return false;
    if (size < most) size = most < left ? most : left;
    const uint8_t *p = hd_window_at(&in->window, at, (size_t)size, in->err);
    if (!p) {
        in->status = in->err && in->err->status ? in->err->status : HD_ERR_IO;
        in->truncated = true;
        return false;
    }
    in->p = p;
    in->end = p + size;
    in->end_offset = at + size;
    return true;
}

/* ---- texts ---- */

enum { EQUAL_LIMIT = 64 }; /* bytes of a text that is looked for among the others */

static bool is_text(const pickle *p, uint32_t number, const void *bytes, size_t size)
{
    pickle_value v = p->texts[number];
    return v.type == PICKLE_TEXT && v.number == size && memcmp(bytes_of(v), bytes, size) == 0;
}

/* Room for a text at this place of the file; its bytes are the caller's to write. ABSENT: no memory. */
static pickle_value new_text(pickle *p, size_t size, uint64_t offset)
{
    text_head *head = hd_arena_alloc(&p->arena, sizeof *head + size);
    if (!head || p->text_count >= INT32_MAX / 2 ||
        !hd_grow((void **)&p->texts, &p->text_capacity, p->text_count, sizeof *p->texts)) {
        p->no_memory = true;
        return (pickle_value){.type = PICKLE_ABSENT};
    }
    *head = (text_head){offset, (uint32_t)p->text_count};
    pickle_value v = {.type = PICKLE_TEXT, .number = (uint32_t)size, .bits = (uint64_t)(uintptr_t)(head + 1)};
    return p->texts[p->text_count++] = v;
}

static pickle_value add_text(pickle *p, const uint8_t *bytes, size_t size, uint64_t offset)
{
    uint32_t same = HD_SLOTS_NONE;
    uint64_t hash = size <= EQUAL_LIMIT ? hd_hash(bytes, size) : 0;
    if (size <= EQUAL_LIMIT) HD_SLOTS_FIND(same, &p->text_slots, hash, is_text(p, same, bytes, size))
    if (same != HD_SLOTS_NONE) return p->texts[same];
    pickle_value v = new_text(p, size, offset);
    if (v.type == PICKLE_ABSENT) return v;
    memcpy(head_of(v) + 1, bytes, size);
    if (size <= EQUAL_LIMIT) p->no_memory |= !hd_slots_add(&p->text_slots, hash, head_of(v)->number);
    return v;
}

/* A text that is larger than the bytes in hand. */
static pickle_value take_large_text(pickle *p, uint64_t size)
{
    pickle_input *in = &p->in;
    uint64_t at = place(in);
    in->truncated |= size > in->size - at;
    if (in->truncated) return (pickle_value){0};
    in->p = in->end;
    in->end_offset = at + size;
    if (size > UINT32_MAX) return (pickle_value){.type = PICKLE_OPAQUE};
    pickle_value v = new_text(p, (size_t)size, at);
    if (v.type != PICKLE_ABSENT)
        in->status = hd_pieces_read(in->window.pieces, head_of(v) + 1, at, (size_t)size, in->err);
    in->truncated |= in->status != HD_OK;
    return v;
}

static pickle_value take_text(pickle *p, uint64_t size)
{
    pickle_input *in = &p->in;
    if (in->truncated) return (pickle_value){0};
    if (size > CHUNK) return take_large_text(p, size);
    if (!need(in, size)) return (pickle_value){0};
    in->p += size;
    return add_text(p, in->p - size, (size_t)size, place(in) - size);
}

/* ---- values ---- */

/* Two's complement of `size` bytes. */
static pickle_value take_long(pickle_input *in, uint64_t size)
{
    uint64_t left = in->size - place(in);
    in->truncated |= size > left;
    if (in->truncated) return (pickle_value){0};
    if (size > CHUNK) { /* no number of a profiler: it is passed over */
        in->end_offset = place(in) + size;
        in->p = in->end;
        return (pickle_value){.type = PICKLE_OPAQUE};
    }
    if (!need(in, size)) return (pickle_value){0};
    const uint8_t *bytes = in->p;
    in->p += size;
    bool fits = size <= 8, is_address = size == 9 && bytes[8] == 0; /* up to 2^64 - 1 */
    uint64_t value = fits || is_address ? hd_le_get(bytes, size < 8 ? (unsigned)size : 8) : 0;
    if (fits && size && size < 8 && bytes[size - 1] & 0x80) value |= UINT64_MAX << 8 * size;
    return (pickle_value){.type = fits ? PICKLE_INT : is_address ? PICKLE_LARGE : PICKLE_OPAQUE, .bits = value};
}

hd_string pickle_take_line(pickle_input *in)
{
    const uint8_t *end = NULL;
    uint64_t left = in->size - place(in), size = (uint64_t)(in->end - in->p);
    while (!(end = size ? memchr(in->p, '\n', size) : NULL) && size < left && size < LINE_LIMIT) {
        uint64_t more = size ? 2 * size : 256;
        if (!need(in, more < left ? more : left)) break;
        size = (uint64_t)(in->end - in->p);
    }
    if (!end) {
        in->truncated = true;
        return (hd_string){"", 0};
    }
    const uint8_t *start = in->p;
    in->p = end + 1;
    return (hd_string){(const char *)start, (size_t)(end - start)};
}

static pickle_value take_number_line(pickle_input *in, bool is_float)
{
    hd_string line = pickle_take_line(in);
    char text[64];
    int64_t value = 0;
    if (line.size && line.data[line.size - 1] == 'L') line.size--;
    if (!is_float && line.size == 2 && (memcmp(line.data, "00", 2) == 0 || memcmp(line.data, "01", 2) == 0))
        return (pickle_value){.type = PICKLE_BOOL, .bits = line.data[1] == '1'};
    if (!is_float) {
        bool fits = hd_fixed_parse_whole(&value, line.data, line.size);
        return (pickle_value){.type = fits ? PICKLE_INT : PICKLE_OPAQUE, .bits = (uint64_t)value};
    }
    size_t size = line.size < sizeof text ? line.size : sizeof text - 1;
    memcpy(text, line.data, size);
    text[size] = '\0';
    double number = strtod(text, NULL);
    pickle_value v = {.type = PICKLE_FLOAT};
    memcpy(&v.bits, &number, sizeof number);
    return v;
}

/* The number behind \u or \U; false: there is none. */
static bool take_escape(uint32_t *out, hd_string line, size_t at)
{
    size_t digits = at + 1 < line.size && line.data[at] == '\\' ? (line.data[at + 1] == 'u'   ? 4
                                                                   : line.data[at + 1] == 'U' ? 8
                                                                                              : 0)
                                                                : 0;
    if (!digits || digits > line.size - at - 2) return false;
    *out = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = line.data[at + 2 + i];
        int digit = c >= '0' && c <= '9'                     ? c - '0'
                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                             : -1;
        if (digit < 0) return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

/* Python's raw-unicode-escape: Latin-1, and \u… for what it has not, line ends and backslashes. */
static hd_string decode_line(pickle *p, hd_string line)
{
    bool is_plain = true;
    for (size_t i = 0; i < line.size; i++) is_plain &= line.data[i] != '\\' && !(line.data[i] & 0x80);
    if (is_plain) return line;
    p->line.size = 0;
    for (size_t i = 0; i < line.size;) {
        uint32_t c;
        char bytes[4];
        bool is_escape = take_escape(&c, line, i);
        if (!is_escape) c = (uint8_t)line.data[i];
        hd_bytes_put(&p->line, bytes, hd_utf8_put(bytes, c));
        i += !is_escape ? 1 : line.data[i + 1] == 'u' ? 6 : 10;
    }
    p->no_memory |= p->line.failed;
    return p->line.failed ? (hd_string){"", 0} : (hd_string){(const char *)p->line.data, p->line.size};
}

static pickle_value take_text_line(pickle *p, bool quoted)
{
    pickle_input *in = &p->in;
    hd_string line = pickle_take_line(in);
    size_t trim = quoted && line.size >= 2 ? 1 : 0;
    if (in->truncated) return (pickle_value){0};
    uint64_t offset = place(in) - line.size - 1 + trim;
    line = quoted ? (hd_string){line.data + trim, line.size - 2 * trim} : decode_line(p, line);
    return add_text(p, (const uint8_t *)line.data, line.size, offset);
}

pickle_value pickle_take_value(pickle *p, uint8_t op)
{
    pickle_input *in = &p->in;
    switch (op) {
    case 'N': return (pickle_value){.type = PICKLE_NONE};
    case 0x88:
    case 0x89: return (pickle_value){.type = PICKLE_BOOL, .bits = op == 0x88};
    case 'J': return (pickle_value){.type = PICKLE_INT, .bits = (uint64_t)(int64_t)(int32_t)take(in, 4)};
    case 'K': return (pickle_value){.type = PICKLE_INT, .bits = take(in, 1)};
    case 'M': return (pickle_value){.type = PICKLE_INT, .bits = take(in, 2)};
    case 'G': return (pickle_value){.type = PICKLE_FLOAT, .bits = __builtin_bswap64(take(in, 8))};
    case 0x8a: return take_long(in, take(in, 1));
    case 0x8b: return take_long(in, take(in, 4));
    case 'I':
    case 'L':
    case 'F': return take_number_line(in, op == 'F');
    case 0x8c:
    case 'U':
    case 'C': return take_text(p, take(in, 1));
    case 'X':
    case 'T':
    case 'B': return take_text(p, take(in, 4));
    case 0x8d:
    case 0x8e: return take_text(p, take(in, 8));
    case 'V':
    case 'S': return take_text_line(p, op == 'S');
    default: return (pickle_value){.type = PICKLE_ABSENT};
    }
}
