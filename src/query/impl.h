/* impl.h - what the files of src/query share
 *
 * query.c opens SQLite and registers the tables; prepare.c makes statements from text, statement.c runs them, hint.c
 * suggests what was probably meant; functions.c and aggregate.c add functions that SQLite does not have, texts.c
 * replaces those of its functions whose time is not bounded by the size of their arguments; watch.c and spill.c limit a
 * statement's time and its temporary files; tables/ has the virtual tables, each a sqlite3_module over traces or
 * reports.
 */
#ifndef HD_QUERY_IMPL_H
#define HD_QUERY_IMPL_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "heddle/query.h"

/* Why the statement that runs has to end. */
typedef enum query_stop { QUERY_RUNS, QUERY_INTERRUPTED, QUERY_LATE } query_stop;

typedef struct query_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const hd_statement *statement; /* the statement whose time runs; used by the caller's thread only */
    int64_t deadline_ns;           /* deadline of that statement, by hd_now_ns, then of the call that should have ended;
                                      INT64_MAX: none */
    atomic_bool is_inside;         /* hd_statement_next */
    bool is_there, is_late, is_ending;
    bool looks;               /* no thread could be started: the statement looks at the clock */
    void (*look)(void *user); /* look.h */
    void *look_user;
} query_watch;

struct hd_query {
    sqlite3 *db;
    hd_query_input *inputs; /* ranks filled in */
    size_t input_count;
    int64_t *shifts; /* by input */
    bool shares_clock;
    hd_query_options options;
    hd_error failure;  /* the error of a virtual table, for the statement that runs; SQLite passes only a text on */
    atomic_int stop;   /* a query_stop */
    query_watch watch; /* where statements have a limit of time */
    sqlite3_vfs vfs;   /* spill.c */
    uint64_t spilled_bytes;
    bool like_skips_blobs; /* SQLite was built so */
    sqlite3 *plain;        /* texts.c: SQLite with its own functions; opened when first needed */
    sqlite3_stmt *patch;
    bool is_authorized; /* the library's own statement, which may do anything */
    bool is_dropping;   /* SQLite's last authorization request was to drop a view */
    void *tables;       /* the data of tables/tables.c */
};

struct hd_statement {
    hd_query *query;
    sqlite3_stmt *stmt;
    enum { STATEMENT_NEW, STATEMENT_RUNS, STATEMENT_ENDED, STATEMENT_FAILED } state;
    int64_t deadline_ns;
    char **names; /* names of the columns; NULL: SQLite's own, since they are all different */
};

/* watch.c. Whether the running statement has to end: it was interrupted, or has run for too long. For loops that take
 * long without SQLite; they then return SQLITE_INTERRUPT. */
bool query_stopped(const hd_query *query);
void query_watch_start(hd_query *query);
/* As query_stopped, from SQLite's progress handler: looks at the clock first if there is no thread that does. */
bool query_look(hd_query *query);
/* The deadline of a statement that begins now, by hd_now_ns; INT64_MAX: none. */
int64_t query_deadline(const hd_query *query);
/* Starts the clock of this statement; NULL: of none. Fast if it already runs. */
void query_watch_set(hd_query *query, const hd_statement *statement);
void query_watch_end(hd_query *query);

/* spill.c: a file system of SQLite for a query's temporary files; close the SQLite connection before
 * query_spill_end. */
hd_status query_spill_start(hd_query *query, hd_error *err);
void query_spill_end(hd_query *query);

/* LIMIT, with a word of why the statement had to end. */
hd_status query_tell_stopped(const hd_query *query, hd_error *err);
/* Converts a SQLite result code to an error; a failure that a virtual table left in query->failure takes precedence. */
hd_status query_failed(hd_query *query, int code, hd_error *err);

/* functions.c */
hd_status query_functions_register(hd_query *query, hd_error *err);
/* texts.c; returns SQLite's code */
int query_texts_register(hd_query *query);
void query_texts_end(hd_query *query);
/* aggregate.c; returns SQLite's code */
int query_aggregates_register(sqlite3 *db);

/* hint.c: the error for a statement that cannot be prepared, from SQLite's last message. */
hd_status query_explain(hd_query *query, const char *sql, size_t size, hd_error *err);

/* tables/tables.c: registers all tables and functions with SQLite. */
hd_status query_tables_register(hd_query *query, hd_error *err);
void query_tables_unregister(hd_query *query); /* frees the data that tables derived from the traces; SQLite is closed
                                                  before */

#endif
