/* run.c - a statement under watch: a thread interrupts it when its time is up or its client has gone; where no thread
 * can be started, the statement itself looks */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "query/look.h"
#include "trace/lazy.h"
#include "view/sql/sql.h"

enum { TICK_NS = 20000000 }; /* the client is looked at */

/* ---- the watch ---- */

static bool is_over(view_sql_run *run)
{
    if (hd_now_ns() - run->started_ns >= run->timeout_ms * 1000000) run->is_late = true;
    return run->is_late || (run->gone && atomic_load(run->gone));
}

/* It interrupts again and again: the first time may be before the statement begins. */
static void *watch(void *user)
{
    view_sql_run *run = user;
    pthread_mutex_lock(&run->lock);
    while (!run->is_done) {
        int64_t at_ns = hd_now_ns() + TICK_NS;
        const struct timespec at = {at_ns / 1000000000, at_ns % 1000000000};
        pthread_cond_timedwait(&run->changed, &run->lock, &at);
        if (!run->is_done && is_over(run)) hd_query_interrupt(run->connection->query);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static void look(void *user)
{
    view_sql_run *run = user;
    if (is_over(run)) hd_query_interrupt(run->connection->query);
}

static void start_watch(view_sql_run *run)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    run->is_watched = true;
    run->has_thread = hd_thread_start(&run->watch, watch, run) == 0;
    if (!run->has_thread) hd_query_on_look(run->connection->query, look, run);
}

static void stop_watch(view_sql_run *run)
{
    if (!run->is_watched) return;
    pthread_mutex_lock(&run->lock);
    run->is_done = true;
    pthread_cond_signal(&run->changed);
    pthread_mutex_unlock(&run->lock);
    if (run->has_thread)
        pthread_join(run->watch, NULL);
    else
        hd_query_on_look(run->connection->query, NULL, NULL);
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    run->is_watched = false;
}

/* ---- the statement ---- */

/* The failure of a statement, or of preparing it: where its time was up, that. */
static hd_status fail(view_sql_run *run, hd_status status, const hd_error *failure, hd_error *err)
{
    pthread_mutex_lock(&run->lock);
    bool is_late = run->is_late;
    pthread_mutex_unlock(&run->lock);
    if (status == HD_ERR_LIMIT && is_late)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "the query was stopped after %" PRId64
                            " ms: select less time (where ts between) or fewer columns, or use heddle query --timeout",
                            run->timeout_ms);
    if (err && err->status == HD_OK) *err = *failure;
    return status;
}

/* Statements that make a view run at once; such a connection is not shared. */
static hd_status run_through(view_sql_run *run, hd_error *err)
{
    hd_status status;
    run->connection->is_own = true;
    while ((status = view_sql_next(run, err)) == HD_OK) continue;
    hd_statement_free(run->statement);
    run->statement = NULL;
    return status == HD_END ? HD_OK : status;
}

/* The statement at *at, which is moved after it; NULL: none. */
static hd_status prepare_next(view_sql_run *run, const char **at, const char *sql, size_t size, hd_error *err)
{
    hd_error failure = {0};
    const char *rest = *at;
    hd_query *query = run->connection->query;
    hd_status status = hd_query_prepare(&run->statement, &rest, query, *at, size - (size_t)(*at - sql), &failure);
    if (status != HD_OK && failure.offset != HD_OFFSET_NONE) failure.offset += (uint64_t)(*at - sql);
    *at = rest;
    return status == HD_OK ? HD_OK : fail(run, status, &failure, err);
}

static hd_status prepare(view_sql_run *run, const char *sql, size_t size, hd_error *err)
{
    const char *at = sql;
    for (;;) {
        HD_TRY(prepare_next(run, &at, sql, size, err));
        if (!run->statement)
            return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                                "there is no statement that gives rows: try select * from heddle_tables");
        if (hd_statement_column_count(run->statement)) break;
        HD_TRY(run_through(run, err));
    }
    hd_statement *first = run->statement;
    uint64_t end = (uint64_t)(at - sql);
    run->statement = NULL;
    hd_status status = prepare_next(run, &at, sql, size, NULL);
    bool is_last = status == HD_OK && !run->statement;
    hd_statement_free(run->statement);
    run->statement = first;
    if (is_last) return HD_OK;
    return hd_error_set(err, HD_ERR_ARGUMENT, NULL, end, "two statements: run one at a time");
}

hd_status view_sql_begin(view_sql_run *out, view_session *session, const char *sql, size_t size, int64_t timeout_ms,
                         const atomic_bool *gone, hd_error *err)
{
    *out = (view_sql_run){.session = session, .gone = gone, .timeout_ms = timeout_ms, .started_ns = hd_now_ns()};
    HD_TRY(view_sql_take(&out->connection, session, err));
    if (!out->connection)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no trace is ready: ask again in a moment");
    start_watch(out);
    return prepare(out, sql, size, err);
}

/* ---- rows ---- */

hd_status view_sql_check(const view_sql_run *run, hd_error *err)
{
    for (size_t i = 0; i < run->connection->input_count; i++)
        HD_TRY(hd_trace_input_status(view_scene_trace(run->connection->inputs[i].scene), err));
    return HD_OK;
}

hd_status view_sql_next(view_sql_run *run, hd_error *err)
{
    hd_error failure = {0};
    hd_status status = hd_statement_next(run->statement, &failure);
    if (status == HD_OK) return HD_OK;
    if (status == HD_END) HD_TRY(view_sql_check(run, err));
    if (status == HD_END) return HD_END;
    return fail(run, status, &failure, err);
}

void view_sql_end(view_sql_run *run)
{
    stop_watch(run);
    hd_statement_free(run->statement);
    view_sql_give(run->connection, run->session);
    *run = (view_sql_run){0};
}
