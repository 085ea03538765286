/* sql.h - SQL over all traces of a session: a pool of connections, and statements with a time limit
 *
 * A connection caches data of tables (orders, report results), so it is reused. Concurrent requests have one each; KEPT
 * of them stay open, for the traces that were ready when they were opened.
 *
 * In: a session, the text of a statement. Out: rows. Begin with run.c.
 */
#ifndef HD_VIEW_SQL_SQL_H
#define HD_VIEW_SQL_SQL_H

#include <pthread.h>

#include "heddle/query.h"
#include "view/session/session.h"

/* Ids of slices and tracks in SQL (src/query/tables/slice.h): the place of their trace among the inputs; below it, of
 * slices, the table of their row (0: slices, 1: instants, 2: async slices, which are not rows); below that a number. */
enum { VIEW_SQL_ID_BITS = 40, VIEW_SQL_ROW_BITS = 38 };

typedef struct view_sql_input {
    uint32_t trace; /* of the session */
    view_scene *scene;
    int64_t rank;  /* as the column `rank` has it; HD_NO_NUMBER: null */
    int64_t shift; /* what its times have more than those of the trace: hd_query_shift */
} view_sql_input;

typedef struct view_sql_connection {
    struct view_sql_connection *next;
    hd_query *query;
    hd_query_input *borrowed; /* by the query */
    view_sql_input *inputs;   /* the traces that are ready, by number */
    size_t input_count;
    bool is_own; /* it has a client's views: it is not reused */
} view_sql_connection;

/* ---- pool.c: the connections of a session ---- */

typedef struct view_sql view_sql;
view_sql *view_sql_new(void); /* NULL: no memory */
void view_sql_free(view_sql *sql);
/* Closes the connections that no request uses. */
void view_sql_drop(view_sql *sql);

/* A connection to all traces that are ready now; *out NULL where none is. Errors: those of hd_query_new (UNSUPPORTED:
 * this build has no SQLite). */
hd_status view_sql_take(view_sql_connection **out, view_session *session, hd_error *err);
void view_sql_give(view_sql_connection *connection, view_session *session);

/* The input that a row is of, by an id of a slice or a track; NULL: none. */
const view_sql_input *view_sql_input_of(const view_sql_connection *connection, int64_t id);

/* ---- run.c: a statement under watch ---- */

typedef struct view_sql_run {
    view_session *session;
    view_sql_connection *connection;
    hd_statement *statement;
    const atomic_bool *gone; /* as in view_request; NULL: never */
    int64_t started_ns, timeout_ms;
    pthread_t watch;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_watched, has_thread, is_done, is_late;
} view_sql_run;

/* Prepares the only statement of sql[0 … size) that returns rows, after any that make views; view_sql_next then runs
 * it, for timeout_ms from now on, and only while its client is connected. End it with view_sql_end, also after an
 * error. Errors: those of hd_query_prepare; ARGUMENT: there is no such statement, or more than one; no trace is
 * ready. */
hd_status view_sql_begin(view_sql_run *out, view_session *session, const char *sql, size_t size, int64_t timeout_ms,
                         const atomic_bool *gone, hd_error *err);
/* As hd_statement_next; LIMIT with a message if time ran out. At the end it also calls view_sql_check. */
hd_status view_sql_next(view_sql_run *run, hd_error *err);
/* Whether the rows are those of the files: IO if one has changed meanwhile. For callers that do not read to the end. */
hd_status view_sql_check(const view_sql_run *run, hd_error *err);
void view_sql_end(view_sql_run *run);

#endif
