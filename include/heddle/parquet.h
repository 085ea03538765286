/* parquet.h - streams of Arrow record batches as Parquet files
 *
 * docs/formats/parquet.md specifies the files. `heddle convert IN OUT.parquet` (format.h) writes a folder with one file
 * per table of a trace.
 */
#ifndef HEDDLE_PARQUET_H
#define HEDDLE_PARQUET_H

#include "heddle/arrow.h"
#include "heddle/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_parquet_options {
    size_t size;               /* of this struct; see "Options" in status.h */
    int level;                 /* of zstd, -100 to 22; 0: 3 */
    unsigned threads;          /* 0: one per core */
    const char *const *keys;   /* of the file's metadata, with `values`; NULL: none */
    const char *const *values; /* likewise */
    size_t key_count;
} hd_parquet_options;

/* Write a whole stream into a sink; the stream is released in any case. options may be NULL. Errors: UNSUPPORTED (a
 * column type that no stream of Heddle has), IO (of the sink or the stream), MEMORY. */
hd_status hd_parquet_write(hd_byte_sink *sink, struct ArrowArrayStream *stream, const hd_parquet_options *options,
                           hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
