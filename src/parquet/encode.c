/* encode.c - Parquet's encodings of integers */
#include "parquet/encode.h"

unsigned parquet_bit_width(uint64_t most)
{
    return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

/* ---- bits ---- */

/* A multiple of 8 values of up to 64 bits, the lowest bit first. */
static void put_packed(hd_bytes *out, const uint64_t *values, size_t count, unsigned width)
{
    __extension__ typedef unsigned __int128 u128;
    uint8_t *p = hd_bytes_room(out, count / 8 * width + 16);
    u128 held = 0;
    unsigned bits = 0;
    if (!p || width == 0) return;
    for (size_t i = 0; i < count; i++) {
        held |= (u128)values[i] << bits;
        bits += width;
        if (bits < 64) continue;
        hd_le_put(p, (uint64_t)held, 8);
        p += 8;
        held >>= 64;
        bits -= 64;
    }
    hd_le_put(p, (uint64_t)held, 8);
    out->size += count / 8 * width;
}

/* ---- runs ---- */

static size_t run_length(const uint32_t *values, size_t count)
{
    size_t n = 1;
    while (n < count && values[n] == values[0]) n++;
    return n;
}

static void put_run(hd_bytes *out, uint32_t value, size_t length, unsigned width)
{
    hd_bytes_put_varint(out, (uint64_t)length << 1);
    hd_bytes_put_le(out, value, (width + 7) / 8);
}

/* The last group is filled up with zeros. */
static void put_groups(hd_bytes *out, const uint32_t *values, size_t count, unsigned width)
{
    uint64_t wide[512];
    if (count == 0) return;
    hd_bytes_put_varint(out, (count + 7) / 8 << 1 | 1);
    for (size_t i = 0; i < count; i += 512) {
        size_t n = count - i < 512 ? count - i : 512;
        for (size_t k = 0; k < n; k++) wide[k] = values[i + k];
        for (; n % 8; n++) wide[n] = 0;
        put_packed(out, wide, n, width);
    }
}

void parquet_put_rle(hd_bytes *out, const uint32_t *values, size_t count, unsigned width)
{
    enum { RUN_LEAST = 16 };
    size_t from = 0, at = 0; /* values from … at are to be packed */
    if (width == 0 && count) {
        put_run(out, 0, count, width);
        return;
    }
    while (at < count) {
        size_t length = run_length(values + at, count - at);
        size_t fill = (8 - (at - from) % 8) % 8; /* a group must be full before a run */
        if (length < RUN_LEAST + fill) {
            at += length;
            continue;
        }
        put_groups(out, values + from, at + fill - from, width);
        put_run(out, values[at], length - fill, width);
        from = at += length;
    }
    put_groups(out, values + from, count - from, width);
}

/* ---- differences ---- */

enum { DELTA_BLOCK = 128, DELTA_MINIBLOCKS = 4, DELTA_MINIBLOCK = DELTA_BLOCK / DELTA_MINIBLOCKS };

static void put_delta_block(hd_bytes *out, uint64_t *deltas, size_t count)
{
    int64_t least = (int64_t)deltas[0];
    uint8_t widths[DELTA_MINIBLOCKS] = {0};
    for (size_t i = 1; i < count; i++) least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (size_t i = 0; i < DELTA_BLOCK; i++) deltas[i] = i < count ? deltas[i] - (uint64_t)least : 0;
    for (size_t m = 0; m < DELTA_MINIBLOCKS; m++) {
        uint64_t all = 0;
        for (size_t i = 0; i < DELTA_MINIBLOCK; i++) all |= deltas[m * DELTA_MINIBLOCK + i];
        widths[m] = (uint8_t)parquet_bit_width(all);
    }
    hd_bytes_put_zigzag(out, least);
    hd_bytes_put(out, widths, sizeof widths);
    for (size_t m = 0; m * DELTA_MINIBLOCK < count; m++)
        put_packed(out, deltas + m * DELTA_MINIBLOCK, DELTA_MINIBLOCK, widths[m]);
}

void parquet_put_delta(hd_bytes *out, const int64_t *values, size_t count)
{
    uint64_t deltas[DELTA_BLOCK];
    hd_bytes_put_varint(out, DELTA_BLOCK);
    hd_bytes_put_varint(out, DELTA_MINIBLOCKS);
    hd_bytes_put_varint(out, count);
    hd_bytes_put_zigzag(out, count ? values[0] : 0);
    for (size_t i = 1; i < count; i += DELTA_BLOCK) {
        size_t n = count - i < DELTA_BLOCK ? count - i : DELTA_BLOCK;
        for (size_t k = 0; k < n; k++) deltas[k] = (uint64_t)values[i + k] - (uint64_t)values[i + k - 1];
        put_delta_block(out, deltas, n);
    }
}

/* ---- as they are ---- */

void parquet_put_plain(hd_bytes *out, const int64_t *values, size_t count, unsigned width)
{
    uint8_t *p = hd_bytes_room(out, count * width + 1);
    if (!p) return;
    for (size_t i = 0; i < count; i++, p += width) hd_le_put(p, (uint64_t)values[i], width);
    out->size += count * width;
}

void parquet_put_split(hd_bytes *out, const int64_t *values, size_t count, unsigned width)
{
    uint8_t *p = hd_bytes_room(out, count * width + 1);
    if (!p) return;
    for (unsigned byte = 0; byte < width; byte++) {
        for (size_t i = 0; i < count; i++) p[byte * count + i] = (uint8_t)((uint64_t)values[i] >> 8 * byte);
    }
    out->size += count * width;
}
