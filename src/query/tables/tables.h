/* tables.h - the virtual tables of a query: shared by their files
 *
 * In: the traces of a query. Out: tables for SQLite, all eponymous and read only. Three kinds of tables:
 *   slice       events in blocks, filtered and ordered without SQLite (slice.h)
 *   row tables  rows accessible by number, and found by any integer column (rows.h): tracks, flows, launches …
 *   functions   reports (reports/) and intervals (intervals/)
 * Begin with tables.c, which lists them.
 *
 * Ids  A row of input i has the id i << 40 | its number, in every table; ids of the first input equal its numbers.
 *      In the slice table bits 38 and 39 are the kind (slice.h). An arg_set_id is id << 4 | query_arg_owner.
 */
#ifndef HD_QUERY_TABLES_H
#define HD_QUERY_TABLES_H

#include "base/error.h"
#include "model/roles/trace_roles.h"
#include "query/impl.h"
#include "trace/index/nesting.h"
#include "trace/lazy.h"

enum { QUERY_INPUT_SHIFT = 40, QUERY_KIND_SHIFT = 38, QUERY_ARG_SHIFT = 4, QUERY_NESTING_MAX = 8 };
#define QUERY_NULL HD_NO_TIME /* in integer columns; the same value as an unknown time */

/* Columns of every table with rows of several inputs. */
#define QUERY_INPUT_COLUMN                                                                                             \
    {                                                                                                                  \
        "input", "INT", "which input of the query it is from, counted from 0", false                                   \
    }

typedef enum query_arg_owner {
    QUERY_ARGS_SLICE,
    QUERY_ARGS_TRACK,
    QUERY_ARGS_COUNTER,
    QUERY_ARGS_FLOW
} query_arg_owner;

typedef struct query_tables query_tables;
typedef struct query_async query_async;
typedef struct query_counters query_counters;

/* An input and data derived from it by the tables: each part is made when a statement first needs it. */
typedef struct query_source {
    query_tables *tables;
    const hd_trace *trace;
    uint32_t index;
    int64_t shift;  /* added to its times: hd_query_shift */
    int64_t rank;   /* of the input; QUERY_NULL: unknown */
    int64_t *ranks; /* by track, where tracks are of several: hd_trace_rank_of; NULL: all are of `rank` */
    hd_roles roles;
    bool has_roles;
    hd_nesting *nesting;
    hd_launches *launches;
    query_async *async;       /* async.h */
    query_counters *counters; /* counters.h */
} query_source;

/* QUERY_NULL: null. */
static inline void query_result_int(sqlite3_context *context, int64_t value)
{
    if (value != QUERY_NULL) sqlite3_result_int64(context, value);
}
/* A time of a trace, on the clock of the query. */
static inline int64_t query_time(const query_source *source, int64_t ns)
{
    return ns == QUERY_NULL ? ns : (int64_t)((uint64_t)ns + (uint64_t)source->shift);
}
/* The rank of an event on a track, or of a track; QUERY_NULL: unknown. */
int64_t query_rank_of(const query_source *source, uint32_t track);

struct query_tables {
    hd_query *query;
    query_source *sources;
    size_t count;
    struct query_rows *rows;       /* rows.c: a list of the row tables */
    struct slice_table *slice;     /* slice.c */
    struct query_reports *reports; /* reports/ */
    hd_query_table_about *abouts;  /* of all tables, ends with {0} */
    size_t about_count, about_capacity;
    unsigned nesting; /* depth of queries passed as function arguments within one another */
};

static inline int64_t query_id(const query_source *source, uint64_t number)
{
    return (int64_t)((uint64_t)source->index << QUERY_INPUT_SHIFT | number);
}

/* ---- tables.c ---- */

/* Reports a failure to SQLite: returns its code, sets the text in `base` and the whole error in the query. */
int query_fail(sqlite3_vtab *base, query_tables *tables, const hd_error *err);
/* Whether the statement must end: long loops call it every few thousand rows, and then query_fail(…) with `err`. */
hd_status query_check_stop(query_tables *tables, hd_error *err);
/* The vtab of all tables, whatever `user` is. */
typedef struct query_vtab {
    sqlite3_vtab base;
    void *user;
    int kind;
} query_vtab;
/* The rest of an xConnect, an xDisconnect, and the rest of an xOpen: a cursor of zeros. */
int query_connect(sqlite3 *db, const hd_query_column_about *columns, void *user, int kind, sqlite3_vtab **out);
int query_disconnect(sqlite3_vtab *base);
int query_cursor_new(sqlite3_vtab_cursor **out, size_t size);
/* The arguments of a function are hidden columns, `columns` from `first` on. Only = can set them; any other comparison
 * is an error, as there is no value to compare. CONSTRAINT: an argument is unknown in this order of a join. */
int query_check_arguments(sqlite3_vtab *base, const sqlite3_index_info *info, const hd_query_table_about *about,
                          int first);
/* Returns the given value of an argument; an error if it was not given. */
void query_argument_result(sqlite3_context *context, const hd_query_table_about *about, int column,
                           const sqlite3_value *given);
hd_status query_add_about(query_tables *tables, const hd_query_table_about *about, hd_error *err);
hd_status query_add_module(query_tables *tables, const char *name, const sqlite3_module *module, void *user,
                           hd_error *err);
/* IO if the input's file can no longer be read. */
hd_status query_source_status(const query_source *source, hd_error *err);
hd_status query_roles(query_source *source, hd_error *err);
hd_status query_nesting(query_source *source, hd_error *err);
hd_status query_launches(query_source *source, hd_error *err);
void query_async_free(query_async *async);
void query_counters_free(query_counters *counters);

/* ---- registered by tables.c ---- */

hd_status query_slice_register(query_tables *tables, hd_error *err);
void query_slice_unregister(query_tables *tables);
hd_status query_rows_register(query_tables *tables, hd_error *err);
void query_rows_unregister(query_tables *tables);
hd_status query_args_register(query_tables *tables, hd_error *err);
hd_status query_reports_register(query_tables *tables, hd_error *err);
void query_reports_unregister(query_tables *tables);
hd_status query_intervals_register(query_tables *tables, hd_error *err);
hd_status query_views_register(query_tables *tables, hd_error *err);

#endif
