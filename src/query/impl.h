/* impl.h - what the files of src/query share
 *
 * query.c opens SQLite and gives it the tables; statement.c runs statements; tables/ has the virtual tables, each a
 * sqlite3_module over traces or reports.
 */
#ifndef HD_QUERY_IMPL_H
#define HD_QUERY_IMPL_H

#include <sqlite3.h>

#include "heddle/query.h"

struct hd_query {
    sqlite3 *db;
    hd_query_input *inputs; /* ranks filled in */
    size_t input_count;
    hd_query_options options;
    hd_error failure; /* what a virtual table could not do, for the statement that runs; SQLite knows a text only */
};

/* tables/tables.c: gives SQLite all tables and functions. */
hd_status query_tables_register(hd_query *query, hd_error *err);
void query_tables_unregister(hd_query *query); /* frees what tables keep of the traces */

#endif
