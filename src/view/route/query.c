/* query.c - POST /api/query, GET /api/query/tables and /api/query/track: SQL over all traces of the session
 *
 * As JSON the answer is bounded: LIMIT_MOST rows, BYTES_MOST, and cells cut by view_json_cell. As Parquet it has all
 * rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "heddle/arrow.h"
#include "heddle/parquet.h"
#include "view/route/routes_query.h"

enum { SQL_BYTES = 1 << 20, LIMIT_MOST = 10000, BYTES_MOST = 32 << 20, TIMEOUT_MS = 30000, TIMEOUT_MOST_MS = 600000 };

/* ---- requests ---- */

hd_status view_query_text(char **out, size_t *out_size, view_reply *reply, const view_request *request, hd_error *err)
{
    size_t size = 0;
    char *sql = *out = malloc(SQL_BYTES + 1);
    if (!sql) return HD_NOMEM(err);
    while (request->body && size <= SQL_BYTES) {
        ssize_t more = pread(request->body - 1, sql + size, SQL_BYTES + 1 - size, (off_t)size);
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return hd_error_set(err, HD_ERR_IO, NULL, HD_OFFSET_NONE, "the body cannot be read");
        if (more == 0) break;
        size += (size_t)more;
    }
    *out_size = size;
    if (size <= SQL_BYTES) return HD_OK;
    reply->status = 413;
    return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE, "the query is longer than %d bytes", SQL_BYTES);
}

/* By its form: a whole number, a number, else a text. */
static hd_query_value value_of(const char *text)
{
    char *end;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (*text && !*end && !errno) return (hd_query_value){.type = HD_QUERY_INT, .integer = whole};
    double real = strtod(text, &end);
    if (*text && !*end) return (hd_query_value){.type = HD_QUERY_REAL, .real = real};
    return (hd_query_value){.type = HD_QUERY_TEXT, .data = text, .size = strlen(text)};
}

static const char *value_given(const view_request *request, const char *name)
{
    for (size_t i = 0; name && i < request->param_count; i++) {
        const view_param *p = &request->params[i];
        if (p->name[0] == ':' && strcmp(p->name + 1, name) == 0) return p->value;
    }
    return NULL;
}

/* All parameters must be set: a missing one would be null, and match nothing. */
static hd_status set_parameters(hd_statement *statement, const view_request *request, hd_error *err)
{
    for (size_t i = 0; i < hd_statement_parameter_count(statement); i++) {
        const char *name = hd_statement_parameter_name(statement, i), *value = value_given(request, name);
        if (!value)
            return hd_error_set(
                err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                "parameter %s%.60s has no value: the page knows :from and :until, ns of what is looked at",
                name ? ":" : "?", name ? name : "");
        HD_TRY(hd_statement_set(statement, name, value_of(value), err));
    }
    return HD_OK;
}

/* Whether the error is in the SQL, or in what it does. */
static bool is_of_sql(hd_status status)
{
    return status == HD_ERR_ARGUMENT || status == HD_ERR_LIMIT || status == HD_ERR_FORMAT;
}

hd_status view_query_begin(view_sql_run *out, hd_error *out_sql, view_reply *reply, const view_request *request,
                           hd_error *err)
{
    int64_t timeout_ms;
    char *sql = NULL;
    size_t size = 0;
    *out = (view_sql_run){.session = request->session};
    *out_sql = (hd_error){0};
    HD_TRY(view_param_int_or(&timeout_ms, request, "timeout", 1, TIMEOUT_MOST_MS, TIMEOUT_MS, err));
    if (!view_session_count_of(request->session, VIEW_READY)) {
        reply->status = 409;
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "no trace is ready yet: ask again");
    }
    hd_status status = view_query_text(&sql, &size, reply, request, err);
    if (status == HD_OK) {
        status = view_sql_begin(out, request->session, sql, size, timeout_ms, request->gone, out_sql);
        if (status == HD_OK) status = set_parameters(out->statement, request, out_sql);
        if (status == HD_ERR_UNSUPPORTED) reply->status = 501;
        if (is_of_sql(status)) status = HD_OK;
        if (status != HD_OK && err) *err = *out_sql;
    }
    free(sql);
    return status;
}

/* ---- rows ---- */

typedef struct rows_written {
    int64_t limit;
    uint64_t count, cut; /* rows; shortened cells */
    const char *stopped; /* why there are no more: "rows", "bytes"; NULL: that was all */
} rows_written;

static void put_row(hd_json_out *json, const hd_statement *statement, rows_written *rows)
{
    size_t columns = hd_statement_column_count(statement);
    hd_json_put_text(json, rows->count++ ? ",\n[" : "[");
    for (size_t c = 0; c < columns; c++) {
        if (c) hd_json_put(json, ",", 1);
        rows->cut += view_json_cell(json, hd_statement_at(statement, c));
    }
    hd_json_put(json, "]", 1);
}

static hd_status put_rows(hd_json_out *json, view_sql_run *run, rows_written *rows, hd_error *failure)
{
    hd_status status;
    view_json_key(json, "rows");
    hd_json_put_text(json, "[");
    while ((status = view_sql_next(run, failure)) == HD_OK) {
        if ((int64_t)rows->count == rows->limit) rows->stopped = "rows";
        if (json->size > BYTES_MOST) rows->stopped = "bytes";
        if (rows->stopped || json->failed) break;
        put_row(json, run->statement, rows);
    }
    hd_json_put_text(json, "]");
    if (rows->stopped) return view_sql_check(run, failure);
    return status == HD_END ? HD_OK : status;
}

static void put_inputs(hd_json_out *json, const view_sql_connection *connection)
{
    view_json_key(json, "inputs");
    hd_json_put_text(json, "[");
    for (size_t i = 0; i < connection->input_count; i++) {
        hd_json_put_text(json, i ? ",{" : "{");
        view_json_int(json, "trace", connection->inputs[i].trace);
        if (connection->inputs[i].rank != HD_NO_NUMBER) view_json_int(json, "rank", connection->inputs[i].rank);
        if (connection->inputs[i].shift) view_json_digits(json, "shift_ns", connection->inputs[i].shift);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]");
    view_json_int(json, "id_bits", VIEW_SQL_ID_BITS);
    view_json_int(json, "row_bits", VIEW_SQL_ROW_BITS);
}

static void put_elapsed(hd_json_out *json, int64_t started_ns)
{
    view_json_double(json, "ms", (double)((hd_now_ns() - started_ns) / 1000) / 1000);
}

/* Replaces the partial answer. */
static void put_failure(hd_json_out *json, const hd_error *failure, int64_t started_ns)
{
    free(json->data);
    *json = (hd_json_out){0};
    hd_json_put_text(json, "{\"error\":{");
    view_json_text(json, "message", (hd_string){failure->message, strlen(failure->message)});
    view_json_key(json, "offset");
    if (failure->offset == HD_OFFSET_NONE)
        hd_json_put_text(json, "null");
    else
        hd_json_put_int(json, (int64_t)failure->offset);
    hd_json_put_text(json, "}");
    put_elapsed(json, started_ns);
    hd_json_put_text(json, "}");
}

static hd_status answer(view_reply *reply, view_sql_run *run, int64_t limit, hd_error *failure)
{
    hd_json_out *json = &reply->json;
    rows_written rows = {.limit = limit};
    hd_json_put_text(json, "{");
    view_json_columns(json, run->statement);
    put_inputs(json, run->connection);
    HD_TRY(put_rows(json, run, &rows, failure));
    view_json_key(json, "stopped");
    if (rows.stopped)
        hd_json_put_string(json, rows.stopped, strlen(rows.stopped));
    else
        hd_json_put_text(json, "null");
    view_json_int(json, "cut", (int64_t)rows.cut);
    put_elapsed(json, run->started_ns);
    hd_json_put_text(json, "}");
    return HD_OK;
}

/* All rows as a Parquet file, or as Arrow's stream. */
static hd_status answer_all(view_reply *reply, view_sql_run *run, bool is_arrow, hd_error *failure)
{
    struct ArrowArrayStream stream;
    hd_byte_sink *sink = NULL;
    size_t size = 0;
    HD_TRY(hd_statement_arrow_stream(&stream, run->statement, failure));
    run->statement = NULL; /* the stream has it */
    hd_status status = hd_byte_sink_new_memory(&sink, "the answer", failure);
    if (status != HD_OK)
        stream.release(&stream);
    else
        status = is_arrow ? hd_arrow_write(sink, &stream, failure) : hd_parquet_write(sink, &stream, NULL, failure);
    if (status == HD_OK) status = view_sql_check(run, failure);
    if (status == HD_OK) {
        const void *data = hd_byte_sink_get_memory(&size, sink);
        hd_bytes_put(&reply->bytes, data, size);
        if (reply->bytes.failed) status = HD_NOMEM(failure);
        reply->type = is_arrow ? "application/vnd.apache.arrow.stream" : "application/vnd.apache.parquet";
        reply->is_packed = !is_arrow;
    }
    hd_byte_sink_free(sink);
    return status;
}

hd_status view_route_query(view_reply *reply, const view_request *request, hd_error *err)
{
    static const char *const formats[] = {"json", "parquet", "arrow", NULL};
    int64_t limit;
    unsigned format = 0;
    view_sql_run run;
    hd_error failure;
    HD_TRY(view_param_int_or(&limit, request, "limit", 0, LIMIT_MOST, LIMIT_MOST, err));
    if (view_param_text(request, "format")) HD_TRY(view_param_word(&format, request, "format", formats, err));
    hd_status status = view_query_begin(&run, &failure, reply, request, err);
    if (status == HD_OK && failure.status == HD_OK) {
        status = format ? answer_all(reply, &run, format == 2, &failure) : answer(reply, &run, limit, &failure);
        if (is_of_sql(status)) status = HD_OK;
        if (status != HD_OK && err) *err = failure;
    }
    if (status == HD_OK && failure.status != HD_OK) put_failure(&reply->json, &failure, run.started_ns);
    view_sql_end(&run);
    if (status == HD_OK && reply->bytes.size && !reply->json.size) return HD_OK;
    return status == HD_OK ? view_json_done(reply, err) : status;
}

/* ---- tables, for completion ---- */

static void put_text(hd_json_out *json, const char *key, const char *text)
{
    view_json_text(json, key, (hd_string){text, text ? strlen(text) : 0});
}

static void put_table(hd_json_out *json, const hd_query_table_about *about)
{
    hd_json_put_text(json, "{");
    put_text(json, "name", about->name);
    put_text(json, "meaning", about->meaning);
    view_json_key(json, "columns");
    hd_json_put_text(json, "[");
    for (const hd_query_column_about *column = about->columns; column && column->name; column++) {
        hd_json_put_text(json, column == about->columns ? "{" : ", {");
        put_text(json, "name", column->name);
        put_text(json, "type", column->type);
        put_text(json, "meaning", column->meaning);
        if (column->is_argument) view_json_bool(json, "argument", true);
        hd_json_put_text(json, "}");
    }
    hd_json_put_text(json, "]}");
}

hd_status view_route_query_tables(view_reply *reply, const view_request *request, hd_error *err)
{
    view_sql_connection *connection;
    hd_json_out *json = &reply->json;
    hd_status status = view_sql_take(&connection, request->session, err);
    if (status == HD_ERR_UNSUPPORTED) reply->status = 501;
    if (status != HD_OK) return status;
    const hd_query_table_about *about;
    hd_json_put_text(json, "{\"tables\": [");
    for (size_t i = 0; connection && (about = hd_query_table_at(connection->query, i)); i++) {
        if (i) hd_json_put_text(json, ",\n");
        put_table(json, about);
    }
    hd_json_put_text(json, "]}");
    view_sql_give(connection, request->session);
    return view_json_done(reply, err);
}

/* ---- from a track of the file to the page's ---- */

hd_status view_route_query_track(view_reply *reply, const view_request *request, hd_error *err)
{
    int64_t source;
    view_scene *scene;
    uint32_t track = HD_NONE;
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_int(&source, request, "of", 0, UINT32_MAX - 1, err));
    if (source < hd_trace_track_count(view_scene_trace(scene))) {
        for (int kind = 0; kind < HD_KIND_COUNT && track == HD_NONE; kind++)
            track = view_scene_track_of(scene, (uint32_t)source, (hd_kind)kind);
    }
    hd_json_put_text(&reply->json, "{");
    if (track != HD_NONE) view_json_int(&reply->json, "track", track);
    hd_json_put_text(&reply->json, "}");
    return view_json_done(reply, err);
}
