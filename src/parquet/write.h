/* write.h - a Parquet file into an output that is open */
#ifndef HD_PARQUET_WRITE_H
#define HD_PARQUET_WRITE_H

#include "base/io/output.h"
#include "heddle/parquet.h"

/* As hd_parquet_write; the caller ends the output, and options are there. */
hd_status parquet_write(uint64_t *out_rows, hd_output *output, struct ArrowArrayStream *stream,
                        const hd_parquet_options *options, hd_error *err);

#endif
