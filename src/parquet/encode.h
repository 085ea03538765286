/* encode.h - Parquet's encodings of integers: each appends to `out` */
#ifndef HD_PARQUET_ENCODE_H
#define HD_PARQUET_ENCODE_H

#include "base/bytes.h"

typedef enum parquet_encoding {
    PARQUET_PLAIN = 0,
    PARQUET_RLE = 3,
    PARQUET_DELTA_BINARY_PACKED = 5,
    PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
    PARQUET_RLE_DICTIONARY = 8,
    PARQUET_BYTE_STREAM_SPLIT = 9,
} parquet_encoding;

/* Bits that hold values 0 … most. */
unsigned parquet_bit_width(uint64_t most);

/* Runs and bit-packed groups, without length or width in front. */
void parquet_put_rle(hd_bytes *out, const uint32_t *values, size_t count, unsigned width);
/* DELTA_BINARY_PACKED, of 64-bit integers; of 32-bit ones the same, for their differences wrap at 64 bits. */
void parquet_put_delta(hd_bytes *out, const int64_t *values, size_t count);
/* `width` bytes each, 4 or 8. */
void parquet_put_plain(hd_bytes *out, const int64_t *values, size_t count, unsigned width);
/* First byte of each, second of each … */
void parquet_put_split(hd_bytes *out, const int64_t *values, size_t count, unsigned width);

#endif
