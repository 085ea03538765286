/* bytes.h - binary data: a growing buffer, and a bounds-checked reader
 *
 * Both keep going after a failure and remember it, so that callers check once: hd_bytes.failed (no memory),
 * hd_byte_reader.failed (read past the end, or an invalid varint). A failed reader returns zeros.
 */
#ifndef HD_BASE_BYTES_H
#define HD_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- numbers, little endian, of `width` bytes, 1 to 8 ---- */

static inline void hd_le_put(uint8_t *p, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++) p[i] = (uint8_t)(value >> 8 * i);
}
static inline uint64_t hd_le_get(const uint8_t *p, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}
static inline uint64_t hd_be_get(const uint8_t *p, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value = value << 8 | p[i];
    return value;
}

/* ---- writing ---- */

/* Zero-initialised is empty. */
typedef struct hd_bytes {
    uint8_t *data; /* malloc'ed */
    size_t size, capacity;
    bool failed;
} hd_bytes;

void hd_bytes_deinit(hd_bytes *bytes);

/* Room for `size` more bytes at data + size, NULL: no memory; the caller adds the bytes it used to size. */
uint8_t *hd_bytes_room(hd_bytes *bytes, size_t size);

void hd_bytes_put(hd_bytes *bytes, const void *data, size_t size);
void hd_bytes_put_base64(hd_bytes *bytes, const uint8_t *data, size_t size); /* RFC 4648, of a whole */
void hd_bytes_put_u8(hd_bytes *bytes, uint8_t value);
void hd_bytes_put_le(hd_bytes *bytes, uint64_t value, unsigned width);

enum { HD_VARINT_BYTES = 10 };

/* Unsigned LEB128: returns how many bytes were written at p, 1 to HD_VARINT_BYTES. */
static inline size_t hd_varint_write(uint8_t *p, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7) p[n++] = (uint8_t)(value | 0x80);
    p[n++] = (uint8_t)value;
    return n;
}

static inline unsigned hd_varint_size(uint64_t value)
{
    return value ? (70 - (unsigned)__builtin_clzll(value)) / 7 : 1;
}

static inline void hd_bytes_put_varint(hd_bytes *bytes, uint64_t value)
{
    uint8_t *p = bytes->capacity - bytes->size >= HD_VARINT_BYTES ? bytes->data + bytes->size
                                                                  : hd_bytes_room(bytes, HD_VARINT_BYTES);
    if (p) bytes->size += hd_varint_write(p, value);
}

/* 0, -1, 1, -2 … as 0, 1, 2, 3 … */
static inline uint64_t hd_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}
static inline int64_t hd_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static inline void hd_bytes_put_zigzag(hd_bytes *bytes, int64_t value)
{
    hd_bytes_put_varint(bytes, hd_zigzag(value));
}

/* ---- reading ---- */

/* Borrowed bytes. {data, size} is a reader at the first byte. */
typedef struct hd_byte_reader {
    const uint8_t *data;
    size_t size, at;
    bool failed;
} hd_byte_reader;

static inline hd_byte_reader hd_byte_reader_of(const void *data, size_t size)
{
    return (hd_byte_reader){.data = data, .size = size};
}

static inline size_t hd_byte_reader_left(const hd_byte_reader *reader)
{
    return reader->size - reader->at;
}

/* The next `size` bytes, borrowed; NULL and failed when there are fewer. */
static inline const uint8_t *hd_byte_reader_take(hd_byte_reader *reader, size_t size)
{
    if (reader->failed || size > reader->size - reader->at) {
        reader->failed = true;
        return NULL;
    }
    reader->at += size;
    return reader->data + reader->at - size;
}
static inline uint8_t hd_byte_reader_u8(hd_byte_reader *reader)
{
    if (reader->at < reader->size && !reader->failed) return reader->data[reader->at++];
    reader->failed = true;
    return 0;
}
static inline uint64_t hd_byte_reader_le(hd_byte_reader *reader, unsigned width)
{
    const uint8_t *p = hd_byte_reader_take(reader, width);
    return p ? hd_le_get(p, width) : 0;
}
#define HD_VARINT_ENDS 0x8080808080808080u /* in a word of varints: a byte whose bit is not set ends a varint */
/* The first varint of a word, which must end in it; `ends`: ~word & HD_VARINT_ENDS. Bytes after it are masked out,
 * then its groups of 7 bits are joined in pairs. */
static inline uint64_t hd_varint_in_word(uint64_t word, uint64_t ends)
{
    word &= (ends ^ (ends - 1)) & ~HD_VARINT_ENDS;
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
    return (word & 0x0fffffff) | (word & 0x0fffffff00000000) >> 4;
}
uint64_t hd_byte_reader_varint_slow(hd_byte_reader *reader);
/* Skips this many varints. */
void hd_byte_reader_skip_varints(hd_byte_reader *reader, size_t count);

/* At most HD_VARINT_BYTES; bits beyond 64 are a failure. */
static inline uint64_t hd_byte_reader_varint(hd_byte_reader *reader)
{
    if (reader->at < reader->size && reader->data[reader->at] < 0x80 && !reader->failed)
        return reader->data[reader->at++];
    return hd_byte_reader_varint_slow(reader);
}
static inline int64_t hd_byte_reader_zigzag(hd_byte_reader *reader)
{
    return hd_unzigzag(hd_byte_reader_varint(reader));
}
/* Signed LEB128, likewise. */
int64_t hd_byte_reader_sleb(hd_byte_reader *reader);

#endif
