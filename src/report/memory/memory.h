/* memory.h - shared by the tables of memory
 *
 * In: an hd_memory. Out: the tables of `heddle memory`. Begin with memory.c.
 */
#ifndef HD_REPORT_MEMORY_MEMORY_H
#define HD_REPORT_MEMORY_MEMORY_H

#include "report/report.h"

/* Negative is null: unknown, or more freed than allocated. */
void memory_cell_bytes(hd_table_builder *b, int64_t bytes);
/* The process of a pool as in the input, and its device. */
void memory_cells_pool(hd_table_builder *b, const hd_trace *trace, const hd_memory_pool *pool);

/* groups.c */
hd_status memory_add_peak(hd_report *out, const hd_memory *memory, const hd_trace *trace, uint64_t rows, hd_error *err);
hd_status memory_add_leaks(hd_report *out, const hd_memory *memory, const hd_trace *trace, uint64_t rows,
                           hd_error *err);
/* series.c */
hd_status memory_add_series(hd_report *out, const hd_memory *memory, const hd_trace *trace, hd_error *err);

#endif
