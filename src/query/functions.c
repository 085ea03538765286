/* functions.c - functions that SQLite lacks */
#include "query/impl.h"

hd_status query_functions_register(hd_query *query, hd_error *err)
{
    (void)query;
    (void)err;
    return HD_OK;
}
