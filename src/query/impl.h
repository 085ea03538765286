/* impl.h - what the files of src/query share
 *
 * query.c opens SQLite and gives it the tables; prepare.c makes statements of text, statement.c runs them, hint.c says
 * what was probably meant; functions.c and aggregate.c have what SQLite lacks; tables/ has the virtual tables, each a
 * sqlite3_module over traces or reports.
 */
#ifndef HD_QUERY_IMPL_H
#define HD_QUERY_IMPL_H

#include <sqlite3.h>
#include <stdatomic.h>

#include "heddle/query.h"

struct hd_query {
    sqlite3 *db;
    hd_query_input *inputs; /* ranks filled in */
    size_t input_count;
    hd_query_options options;
    hd_error failure;    /* what a virtual table could not do, for the statement that runs; SQLite knows a text only */
    atomic_bool stop;    /* hd_query_interrupt was called */
    int64_t deadline_ns; /* of the statement that runs, by hd_now_ns; INT64_MAX: none */
    bool is_authorized;  /* statements of our own may do anything */
    bool is_dropping;    /* what SQLite asked for at last was to drop a view */
    void *tables;        /* what tables/tables.c keeps */
};

struct hd_statement {
    hd_query *query;
    sqlite3_stmt *stmt;
    enum { STATEMENT_NEW, STATEMENT_RUNS, STATEMENT_ENDED, STATEMENT_FAILED } state;
    int64_t deadline_ns;
    char **names; /* of the columns; NULL: they are SQLite's own, as no two of these are equal */
};

/* Whether the statement that runs has to end: it was interrupted, or has run for too long. For loops that take long
 * without SQLite, which then return SQLITE_INTERRUPT. It asks for the time: call it every thousand rows or so. */
bool query_stopped(const hd_query *query);

/* What SQLite's code means; a failure that a virtual table left in query->failure goes before it. */
hd_status query_failed(hd_query *query, int code, hd_error *err);

/* functions.c */
hd_status query_functions_register(hd_query *query, hd_error *err);
/* aggregate.c; returns SQLite's code */
int query_aggregates_register(sqlite3 *db);

/* hint.c: the error of a statement that cannot be prepared, which SQLite has told at last. */
hd_status query_explain(hd_query *query, const char *sql, size_t size, hd_error *err);

/* tables/tables.c: gives SQLite all tables and functions. */
hd_status query_tables_register(hd_query *query, hd_error *err);
void query_tables_unregister(hd_query *query); /* frees what tables keep of the traces; SQLite is closed before */

#endif
