/* bytes.c - binary data in growing buffers, and read with every bound checked */
#include "base/bytes.h"

#include <stdlib.h>

void hd_bytes_deinit(hd_bytes *bytes)
{
    free(bytes->data);
    *bytes = (hd_bytes){0};
}

uint8_t *hd_bytes_room(hd_bytes *bytes, size_t size)
{
    if (bytes->failed) return NULL;
    if (size > bytes->capacity - bytes->size) {
        size_t wider = bytes->capacity < 128 ? 256 : bytes->capacity * 2; /* of an object: does not wrap */
        if (wider - bytes->size < size) wider = size <= SIZE_MAX - bytes->size ? bytes->size + size : 0;
        uint8_t *p = wider ? realloc(bytes->data, wider) : NULL;
        if (!p) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = p;
        bytes->capacity = wider;
    }
    return bytes->data + bytes->size;
}

void hd_bytes_put(hd_bytes *bytes, const void *data, size_t size)
{
    uint8_t *p = size ? hd_bytes_room(bytes, size) : NULL;
    if (!p) return;
    memcpy(p, data, size);
    bytes->size += size;
}

void hd_bytes_put_u8(hd_bytes *bytes, uint8_t value)
{
    hd_bytes_put(bytes, &value, 1);
}

void hd_bytes_put_le(hd_bytes *bytes, uint64_t value, unsigned width)
{
    uint8_t *p = hd_bytes_room(bytes, width);
    if (!p) return;
    hd_le_put(p, value, width);
    bytes->size += width;
}

uint64_t hd_byte_reader_varint_slow(hd_byte_reader *reader)
{
    uint64_t value = 0;
    if (reader->failed) return 0;
    if (hd_byte_reader_left(reader) >= 8) {
        uint64_t word = hd_le_get(reader->data + reader->at, 8), ends = ~word & HD_VARINT_ENDS;
        if (ends) reader->at += (size_t)__builtin_ctzll(ends) / 8 + 1;
        if (ends) return hd_varint_in_word(word, ends);
    }
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->size) break;
        uint8_t byte = reader->data[reader->at++];
        if (shift == 63 && byte > 1) break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    reader->failed = true;
    return 0;
}

/* Counts the ends of varints in words of 8 bytes; `open` bytes before the next word belong to an unfinished varint.
 * Varints that may be longer than 8 bytes, and the rest for the last word, are read one by one. */
void hd_byte_reader_skip_varints(hd_byte_reader *reader, size_t count)
{
    size_t open = 0;
    while (count && !reader->failed) {
        uint64_t ends = hd_byte_reader_left(reader) < 8 ? 0 : ~hd_le_get(reader->data + reader->at, 8) & HD_VARINT_ENDS;
        size_t in_word = (size_t)((ends >> 7) * 0x0101010101010101u >> 56); /* the sum of its bytes */
        if (ends && in_word <= count && open + (size_t)__builtin_ctzll(ends) / 8 < 8) {
            count -= in_word;
            reader->at += 8;
            open = (size_t)__builtin_clzll(ends) / 8;
        } else {
            reader->at -= open;
            open = 0;
            (void)hd_byte_reader_varint(reader);
            count--;
        }
    }
    reader->at -= reader->failed ? 0 : open;
}

int64_t hd_byte_reader_sleb(hd_byte_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = hd_byte_reader_u8(reader);
        if (reader->failed || (shift == 63 && byte != 0 && byte != 0x7f)) break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        if (byte & 0x40 && shift + 7 < 64) value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    reader->failed = true;
    return 0;
}

void hd_bytes_put_base64(hd_bytes *bytes, const uint8_t *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three =
            (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63], left > 1 ? digits[three >> 6 & 63] : '=',
                        left > 2 ? digits[three & 63] : '='};
        hd_bytes_put(bytes, four, sizeof four);
    }
}
