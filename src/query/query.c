/* query.c - queries and statements over SQLite */
#include "heddle/query.h"
#include "base/error.h"

#include <sqlite3.h>

hd_status hd_query_new(hd_query **out, const hd_query_input *inputs, size_t count, const hd_query_options *options,
                       hd_error *err)
{
    (void)inputs;
    (void)count;
    (void)options;
    *out = NULL;
    return hd_error_set(err, HD_ERR_UNSUPPORTED, NULL, HD_OFFSET_NONE, "not yet: SQLite %s", sqlite3_libversion());
}
