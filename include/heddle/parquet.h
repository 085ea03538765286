/* parquet.h - streams of Arrow record batches as Parquet files
 *
 * docs/formats/parquet.md defines what is written. `heddle convert IN OUT.parquet` (format.h) writes a folder with a
 * file of each table of a trace.
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

/* All of a stream, which is released in any case, into a sink. options may be NULL. Errors: UNSUPPORTED (a type of
 * column that no stream of Heddle has), IO (of the sink, and what the stream says), MEMORY. */
hd_status hd_parquet_write(hd_byte_sink *sink, struct ArrowArrayStream *stream, const hd_parquet_options *options,
                           hd_error *err);

#ifdef __cplusplus
}
#endif
#endif
