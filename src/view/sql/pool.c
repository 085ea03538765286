/* pool.c - connections to the traces of a session, kept between requests */
#include <stdlib.h>

#include "base/error.h"
#include "pass/merge/merge.h"
#include "view/sql/sql.h"

enum { KEPT = 2, VALUE_BYTES = 16 << 20, SPILL_BYTES = 512 << 20 };
/* Of all statements: views of views take memory by the power, and time, before there is a statement to be stopped. */
static const uint64_t HEAP_BYTES = (uint64_t)1 << 30;

struct view_sql {
    pthread_mutex_t lock;
    view_sql_connection *idle;
    unsigned idle_count;
};

view_sql *view_sql_new(void)
{
    view_sql *sql = calloc(1, sizeof *sql);
    if (sql) pthread_mutex_init(&sql->lock, NULL);
    return sql;
}

static void close_connection(view_sql_connection *connection)
{
    hd_query_free(connection->query);
    free(connection->borrowed);
    free(connection->inputs);
    free(connection);
}

void view_sql_drop(view_sql *sql)
{
    pthread_mutex_lock(&sql->lock);
    for (view_sql_connection *connection; (connection = sql->idle);) {
        sql->idle = connection->next;
        close_connection(connection);
    }
    sql->idle_count = 0;
    pthread_mutex_unlock(&sql->lock);
}

void view_sql_free(view_sql *sql)
{
    if (!sql) return;
    view_sql_drop(sql);
    pthread_mutex_destroy(&sql->lock);
    free(sql);
}

/* ---- opening ---- */

static hd_status find_ranks(view_sql_connection *connection, view_session *session, hd_error *err)
{
    size_t count = connection->input_count;
    hd_merge_input *list = calloc(count + 1, sizeof *list);
    if (!list) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) { /* which only looks at the traces */
        const view_sql_input *of = &connection->inputs[i];
        list[i] = (hd_merge_input){.trace = (hd_trace *)view_scene_trace(of->scene),
                                   .path = view_session_name(session, of->trace)};
    }
    hd_status status = hd_merge_known_ranks(list, count, err);
    for (size_t i = 0; i < count; i++) connection->inputs[i].rank = list[i].rank;
    free(list);
    return status;
}

static hd_status list_inputs(view_sql_connection *connection, view_session *session, hd_error *err)
{
    uint32_t count = view_session_count(session);
    connection->inputs = malloc(((size_t)count + 1) * sizeof *connection->inputs);
    if (!connection->inputs) return HD_NOMEM(err);
    for (uint32_t trace = 0; trace < count; trace++) {
        view_sql_input *input = &connection->inputs[connection->input_count];
        if (view_session_scene(&input->scene, session, trace) != VIEW_READY) continue;
        input->trace = trace;
        connection->input_count++;
    }
    return find_ranks(connection, session, err);
}

static hd_status open_query(view_sql_connection *connection, view_session *session, hd_error *err)
{
    size_t count = connection->input_count;
    hd_query_input *inputs = connection->borrowed = calloc(count + 1, sizeof *inputs);
    if (!inputs) return HD_NOMEM(err);
    for (size_t i = 0; i < count; i++) {
        const view_sql_input *of = &connection->inputs[i];
        inputs[i] = (hd_query_input){
            .trace = view_scene_trace(of->scene), .path = view_session_name(session, of->trace), .rank = of->rank};
    }
    const hd_query_options options = {.value_bytes = VALUE_BYTES, .spill_bytes = SPILL_BYTES, .heap_bytes = HEAP_BYTES};
    HD_TRY(hd_query_new(&connection->query, inputs, count, &options, err));
    for (size_t i = 0; i < count; i++) (void)hd_query_shift(&connection->inputs[i].shift, connection->query, i);
    return HD_OK;
}

static hd_status open_connection(view_sql_connection **out, view_session *session, hd_error *err)
{
    view_sql_connection *connection = *out = calloc(1, sizeof *connection);
    if (!connection) return HD_NOMEM(err);
    hd_status status = list_inputs(connection, session, err);
    if (status == HD_OK && connection->input_count) status = open_query(connection, session, err);
    if (status == HD_OK && connection->query) return HD_OK;
    close_connection(connection);
    *out = NULL;
    return status;
}

/* ---- taking and giving back ---- */

/* Whether its traces are those that are ready now. */
static bool is_of_all(const view_sql_connection *connection, view_session *session)
{
    bool is = connection->input_count == view_session_count_of(session, VIEW_READY);
    for (size_t i = 0; i < connection->input_count && is; i++) {
        view_scene *scene;
        is = view_session_scene(&scene, session, connection->inputs[i].trace) == VIEW_READY;
    }
    return is;
}

hd_status view_sql_take(view_sql_connection **out, view_session *session, hd_error *err)
{
    view_sql *sql = view_session_sql(session);
    pthread_mutex_lock(&sql->lock);
    view_sql_connection *connection = sql->idle;
    if (connection) {
        sql->idle = connection->next;
        sql->idle_count--;
    }
    pthread_mutex_unlock(&sql->lock);
    *out = connection;
    if (connection && is_of_all(connection, session)) return HD_OK;
    if (connection) close_connection(connection);
    return open_connection(out, session, err);
}

void view_sql_give(view_sql_connection *connection, view_session *session)
{
    view_sql *sql = view_session_sql(session);
    if (!connection) return;
    pthread_mutex_lock(&sql->lock);
    /* Under the lock, so that view_sql_drop finds one with a trace that is closed from now on. */
    bool kept = !connection->is_own && sql->idle_count < KEPT && is_of_all(connection, session);
    if (kept) {
        connection->next = sql->idle;
        sql->idle = connection;
        sql->idle_count++;
    }
    pthread_mutex_unlock(&sql->lock);
    if (!kept) close_connection(connection);
}

const view_sql_input *view_sql_input_of(const view_sql_connection *connection, int64_t id)
{
    uint64_t place = (uint64_t)id >> VIEW_SQL_ID_BITS;
    return place < connection->input_count ? &connection->inputs[place] : NULL;
}
