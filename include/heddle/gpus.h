/* gpus.h - peak rates of GPUs, by data type, and their memory bandwidth, for shares of the peak and rooflines
 *
 * A table lists GPUs by their names in traces. The library has a built-in table; share/heddle/gpus.toml is a copy of it
 * with the sources of its figures. More tables of the same format can be added. The format is TOML, restricted to:
 * comments, [[gpu]], and below that `names` (an array of strings in double quotes), `bandwidth` (GB/s, needed) and
 * `fp64`, `fp32`, `tf32`, `bf16`, `fp16`, `fp8`, `int8` (TFLOP/s), numbers above 0.
 *
 * While no table is added, any number of threads may use one.
 */
#ifndef HEDDLE_GPUS_H
#define HEDDLE_GPUS_H

#include <stddef.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hd_gpus hd_gpus;

/* The library's own table. The caller frees it. Errors: MEMORY. */
hd_status hd_gpus_new(hd_gpus **out, hd_error *err);
void hd_gpus_free(hd_gpus *gpus); /* NULL is fine */

/* Add a table. A GPU that is in several tables has the figures of the table added last. `name` appears in errors. A
 * failure adds nothing. Errors: FORMAT, with the line and what to write there; LIMIT: over 1 MiB, or over 1000 names;
 * MEMORY. */
hd_status hd_gpus_add_text(hd_gpus *gpus, const char *text, size_t size, const char *name, hd_error *err);
/* The same from a file, plain or compressed. Errors: IO and DAMAGED as well. */
hd_status hd_gpus_add_file(hd_gpus *gpus, const char *path, hd_error *err);

/* Reads FLOP and bytes of custom operators, which precede the built-in formulas for all traces of the process: tables
 * [[op]] in TOML of names, shapes, flop, bytes and kind (docs/reports/definitions.md, "flops"). Call it before any
 * analysis. A failure adds nothing. Errors: IO; DAMAGED; FORMAT, with the line; LIMIT; MEMORY. */
hd_status hd_ops_read(const char *path, hd_error *err);

#ifdef __cplusplus
}
#endif

#endif
