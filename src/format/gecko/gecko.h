/* gecko.h - profiles of Firefox: tables in one of two forms
 *
 * In: JSON. Out: samples and markers of a builder. Begin with gecko.c; table.c walks a table row by row.
 */
#ifndef HD_FORMAT_GECKO_GECKO_H
#define HD_FORMAT_GECKO_GECKO_H

#include "format/json_walk.h"

enum { GECKO_COLUMNS = 8, GECKO_CELLS = 64 };

/* Rows `{"schema":{"stack":0,"time":1},"data":[[5,1.25],…]}` or columns `{"stack":[5,…],"time":[1.25,…]}`. */
typedef struct gecko_table {
    hd_json_walk *walk;
    size_t count; /* number of requested columns */
    bool has_rows;
    int places[GECKO_CELLS];       /* of rows: the column at each place, -1: not requested */
    const char *at[GECKO_COLUMNS]; /* of columns, or at[0] of rows: the current position in the list; NULL: absent */
    bool first[GECKO_COLUMNS];
    const char *cells[GECKO_COLUMNS]; /* of the row at hand, NULL: none, or null */
} gecko_table;

/* at: position of the table, NULL: no rows. */
hd_status gecko_table_open(gecko_table *out, hd_json_walk *walk, const char *at, const char *const *names,
                           size_t count);
/* HD_END: no more. */
hd_status gecko_table_next(gecko_table *table);
/* The cell of a column as an integer, from 0 on; -1: it is none. */
int64_t gecko_table_index(const gecko_table *table, size_t column);

#endif
