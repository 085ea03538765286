/* tables.c - the tables of a query */
#include "query/impl.h"

hd_status query_tables_register(hd_query *query, hd_error *err)
{
    (void)query;
    (void)err;
    return HD_OK;
}

void query_tables_unregister(hd_query *query)
{
    (void)query;
}

const hd_query_table_about *hd_query_table_at(const hd_query *query, size_t index)
{
    (void)query;
    (void)index;
    return NULL;
}
