/* table_out.h - tables as text, without columns that carry no information */
#ifndef HD_CLI_TABLE_OUT_H
#define HD_CLI_TABLE_OUT_H

#include "heddle/table.h"

/* A copy without the column that is named ("": none), and without those that have no value in any row. Times in it
 * count from `start_ns`; a collective's number within a step is that, and the step (`of_step`). The caller frees it. Errors: MEMORY. */
hd_status cli_table_without(hd_table **out, const hd_table *table, const char *name, int64_t start_ns, hd_error *err);

#endif
