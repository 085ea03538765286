/* parquet.h - a trace as a folder of Parquet files, one a table; docs/formats/parquet.md
 *
 * In: a trace. Out: FOLDER/slices.parquet and so on: src/arrow makes the tables, src/parquet the files. Begin
 * with write.c.
 */
#ifndef HD_FORMAT_PARQUET_PARQUET_H
#define HD_FORMAT_PARQUET_PARQUET_H

#include "format/format.h"

hd_status parquet_format_write(const hd_trace *trace, hd_output *output, const hd_write_options *options,
                               hd_error *err);

/* losses.c: reports data that the files do not contain to the ledger. */
void parquet_tell_losses(const hd_trace *trace, const hd_write_options *options);

#endif
