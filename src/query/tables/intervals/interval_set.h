/* interval_set.h - the rows of a query as intervals; shared by interval_set.c, which reads them, and intervals.c
 *
 * In: the text of a query whose columns ts and dur are the intervals [ts, ts + dur), or a table's name. Out: intervals
 * by partition, then start. An unfinished interval (dur < 0) reaches to the end of the traces; rows without ts are
 * ignored.
 */
#ifndef HD_QUERY_TABLES_INTERVALS_INTERVAL_SET_H
#define HD_QUERY_TABLES_INTERVALS_INTERVAL_SET_H

#include "base/map.h"
#include "query/tables/rows.h"

typedef struct query_interval {
    int64_t start, end;
    int64_t id;     /* column id, else the index of the row */
    uint32_t group; /* its partition */
    uint32_t set;   /* the query that it is from */
} query_interval;

/* Zero-initialised is empty. */
typedef struct query_interval_set {
    query_interval *list;
    size_t count, capacity;
    sqlite3_value **groups; /* the value of each partition; owned */
    size_t group_count, group_capacity;
    hd_slots slots;
} query_interval_set;

/* Adds the rows of a query. what: prefix for errors, such as "interval_union: the query". partition: a column of it,
 * NULL: none. Errors: ARGUMENT (what is wrong with the query), MEMORY, LIMIT. */
hd_status query_intervals_read(query_interval_set *out, query_tables *tables, const char *what, const char *sql,
                               const char *partition, uint32_t set, hd_error *err);
/* By partition, start, set, and original order. */
hd_status query_intervals_sort(query_interval_set *set, query_tables *tables, hd_error *err);
void query_intervals_deinit(query_interval_set *set);

#endif
