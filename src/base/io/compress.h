/* compress.h - compression of memory blocks; streams are input.h and output.h
 *
 * A compressor is used by one thread at a time.
 */
#ifndef HD_BASE_IO_COMPRESS_H
#define HD_BASE_IO_COMPRESS_H

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/error.h"

typedef struct hd_compressor hd_compressor;

/* zstd, level -100 to 22. */
hd_status hd_compressor_new(hd_compressor **out, int level, hd_error *err);
void hd_compressor_free(hd_compressor *compressor); /* NULL is fine */

/* Append one zstd frame without checksum and with its content size to `out`. Errors: MEMORY. */
hd_status hd_compress(hd_bytes *out, hd_compressor *compressor, const void *data, size_t size, hd_error *err);

/* Decompresses the one zstd frame in data[0 … size), which must fill out[0 … out_size) exactly. Any thread.
 * `decompressor` keeps state between calls: start with NULL, end with hd_decompressor_free. Errors: DAMAGED (also if it
 * does not fill `out`), MEMORY. */
typedef struct hd_decompressor hd_decompressor;
hd_status hd_decompress(void *out, size_t out_size, hd_decompressor **decompressor, const void *data, size_t size,
                        hd_error *err);
void hd_decompressor_free(hd_decompressor *decompressor); /* NULL is fine */

/* Appends the content of the one zstd frame in `data`, at most `limit` bytes. Errors: DAMAGED (also if there is more;
 * `out` then has the bytes before), MEMORY. */
hd_status hd_zstd_decompress(hd_bytes *out, const void *data, size_t size, size_t limit, hd_error *err);

/* Appends the content of the next bytes of a zstd stream, whose frames may continue across calls, at most `limit`
 * bytes. Errors: the same; after DAMAGED the next call must begin with a frame. */
hd_status hd_zstd_continue(hd_bytes *out, hd_decompressor **decompressor, const void *data, size_t size, size_t limit,
                           hd_error *err);

/* zlib streams (RFC 1950). Appends `data`, compressed or decompressed. */
hd_status hd_zlib_compress(hd_bytes *out, const void *data, size_t size, hd_error *err);
/* The same as hd_zstd_decompress, for a zlib stream. */
hd_status hd_zlib_decompress(hd_bytes *out, const void *data, size_t size, size_t limit, hd_error *err);

/* The same for one gzip member (RFC 1952), at the fastest level. */
hd_status hd_gzip_compress(hd_bytes *out, const void *data, size_t size, hd_error *err);
hd_status hd_gzip_decompress(hd_bytes *out, const void *data, size_t size, size_t limit, hd_error *err);

#endif
