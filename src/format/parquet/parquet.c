/* parquet.c - the descriptor of folders of Parquet files, which are written only */
#include "format/parquet/parquet.h"

const hd_format hd_parquet_format = {
    .info = {.name = "parquet",
             .title = "Folder of Apache Parquet files (DuckDB, Polars, Spark, pandas)",
             .extensions = ".parquet",
             .writes = true,
             .keeps = "every event as a row of its table, arguments, counters, flows, tracks, stacks, metadata, ledger",
             .loses = "order of the input across tables, digits of decimals that a double has not, time below 1 ps"},
    .write = parquet_format_write,
    .is_folder = true,
};
