/* bounds.h - the range of an integer column that a constraint allows, by SQLite's comparison rules */
#ifndef HD_QUERY_TABLES_BOUNDS_H
#define HD_QUERY_TABLES_BOUNDS_H

#include <sqlite3.h>
#include <stdint.h>

/* low > high: none. Null (INT64_MIN) is in no bounds. */
typedef struct query_bounds {
    int64_t low, high;
} query_bounds;

#define QUERY_ALL ((query_bounds){INT64_MIN + 1, INT64_MAX})

/* op: SQLITE_INDEX_CONSTRAINT_EQ, LT, LE, GT or GE. */
void query_bounds_add(query_bounds *bounds, int op, sqlite3_value *value);

#endif
