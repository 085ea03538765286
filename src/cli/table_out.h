/* table_out.h - tables as text, without columns that carry no information */
#ifndef HD_CLI_TABLE_OUT_H
#define HD_CLI_TABLE_OUT_H

#include "heddle/table.h"

/* A copy without the column that is named ("": none), and without those that have no value in any row. Times in it
 * count from `start_ns`; a collective's number within a step is that, and the step (`of_step`). The caller frees it.
 * Errors: MEMORY. */
hd_status cli_table_without(hd_table **out, const hd_table *table, const char *name, int64_t start_ns, hd_error *err);
/* The same of these rows alone; NULL: the first ones. */
hd_status cli_table_rows(hd_table **out, const hd_table *table, const char *name, int64_t start_ns, const size_t *rows,
                         size_t row_count, hd_error *err);

/* How many groups of rows the table has, each of one device (or rank) and step; 0: it is not by these. Returns words
 * for a heading: ", for each step". */
const char *cli_table_groups(size_t *out_count, const hd_table *table);
/* Whether each step of a device has a name of its own, so that a column with its start adds nothing. false: there are
 * very many. */
bool cli_table_names_steps(const hd_table *table);
/* The rows that text shows, at most `most`: the first of each group, else of the table. Returns their number. */
size_t cli_table_pick(size_t *picked, const hd_table *table, size_t most);

#endif
