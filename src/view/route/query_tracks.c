/* query_tracks.c - POST /api/query/tracks: the result of SQL as derived tracks of one trace
 *
 * Time     the first column of each role: ts and dur become slices, else ts and the first number a counter
 * Names    `name`, else the first text
 * Places   rank, device, stream, row and process, which split the rows into tracks (view/derive/table.c)
 * Trace    rows of other traces are left out: the id of a slice or a track gives the trace of a row, else `rank`
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/error.h"
#include "view/queries/queries.h"
#include "view/route/routes_query.h"

enum { ROWS_MOST = 2000000, SQL_SHOWN = 300 };

/* The role of a result column in the table. */
typedef struct kept_column {
    const char *name;
    size_t from;
    hd_value_type type;
    hd_query_type value;
} kept_column;

enum { PLACES = 5, KEPT_MOST = PLACES + 3 };
static const char *const places[PLACES] = {"rank", "device", "stream", "row", "process"};

typedef struct track_maker {
    view_sql_run run;
    const view_sql_input *input; /* whose rows are used */
    hd_table_builder *builder;
    kept_column kept[KEPT_MOST];
    size_t kept_count;
    size_t id, rank;   /* columns that say which trace a row is of; SIZE_MAX: none */
    const char *value; /* the column of a counter; NULL: slices */
    int64_t rows, rows_most;
} track_maker;

/* ---- columns ---- */

static size_t find_role(const hd_statement *statement, hd_query_role role)
{
    size_t count = hd_statement_column_count(statement);
    for (size_t c = 0; c < count; c++) {
        if (hd_statement_column_role(statement, c) == role) return c;
    }
    return SIZE_MAX;
}

static size_t find_name(const hd_statement *statement, const char *name)
{
    for (size_t c = 0; c < hd_statement_column_count(statement); c++) {
        if (strcmp(hd_statement_column_name(statement, c), name) == 0) return c;
    }
    return SIZE_MAX;
}

static bool is_place(const char *name)
{
    for (int i = 0; i < PLACES; i++) {
        if (strcmp(places[i], name) == 0) return true;
    }
    return false;
}

/* The first that is a text, or a number that is not an id, in the row that is there. */
static size_t find_first(const hd_statement *statement, bool text)
{
    for (size_t c = 0; c < hd_statement_column_count(statement); c++) {
        hd_query_type type = hd_statement_at(statement, c).type;
        bool fits = text ? type == HD_QUERY_TEXT : type == HD_QUERY_INT || type == HD_QUERY_REAL;
        if (fits && hd_statement_column_role(statement, c) == HD_QUERY_PLAIN &&
            !is_place(hd_statement_column_name(statement, c)))
            return c;
    }
    return SIZE_MAX;
}

static void keep(track_maker *m, size_t from, const char *name, hd_value_type type, hd_query_type value)
{
    if (from == SIZE_MAX) return;
    m->kept[m->kept_count++] = (kept_column){name, from, type, value};
    hd_table_add_column(m->builder, name, type);
}

/* By the first row, which is there. */
static hd_status choose_columns(track_maker *m, hd_error *err)
{
    const hd_statement *statement = m->run.statement;
    size_t time = find_role(statement, HD_QUERY_TIME), duration = find_role(statement, HD_QUERY_DURATION);
    size_t name = find_name(statement, "name"), value = find_name(statement, "value");
    if (name == SIZE_MAX) name = find_first(statement, true);
    if (value == SIZE_MAX) value = find_first(statement, false);
    if (time == SIZE_MAX || (duration == SIZE_MAX && value == SIZE_MAX))
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "a result becomes a track by its columns ts and dur, or ts and a number");
    keep(m, time, duration == SIZE_MAX ? "time" : "start", HD_VALUE_TIME, HD_QUERY_INT);
    keep(m, duration, "duration", HD_VALUE_DURATION, HD_QUERY_INT);
    if (duration == SIZE_MAX) {
        m->value = "value";
        keep(m, value, "value", HD_VALUE_DECIMAL, HD_QUERY_REAL);
    } else {
        keep(m, name, "name", HD_VALUE_STRING, HD_QUERY_TEXT);
    }
    for (int i = 0; i < PLACES; i++) {
        size_t place = find_name(statement, places[i]);
        bool is_text = place != SIZE_MAX && hd_statement_at(statement, place).type == HD_QUERY_TEXT;
        if (place == name) continue;
        keep(m, place, places[i], is_text ? HD_VALUE_STRING : HD_VALUE_INT, is_text ? HD_QUERY_TEXT : HD_QUERY_INT);
    }
    m->id = find_role(statement, HD_QUERY_SLICE_ID);
    if (m->id == SIZE_MAX) m->id = find_role(statement, HD_QUERY_TRACK_ID);
    m->rank = find_name(statement, "rank");
    return HD_OK;
}

/* ---- rows ---- */

static hd_status is_of_trace(bool *out, const track_maker *m, hd_error *err)
{
    const view_sql_connection *connection = m->run.connection;
    *out = true;
    if (connection->input_count == 1) return HD_OK;
    if (m->id == SIZE_MAX && m->rank == SIZE_MAX)
        return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE,
                            "there are %zu traces: select rank, or id, as well", connection->input_count);
    hd_query_value value = hd_statement_at(m->run.statement, m->id == SIZE_MAX ? m->rank : m->id);
    *out = value.type == HD_QUERY_INT && (m->id == SIZE_MAX ? value.integer == m->input->rank
                                                            : view_sql_input_of(connection, value.integer) == m->input);
    return HD_OK;
}

/* shift: of times, which become those of the trace. */
static void add_cell(hd_table_builder *builder, const kept_column *kept, hd_query_value value, int64_t shift)
{
    if (kept->value == HD_QUERY_REAL && value.type == HD_QUERY_INT) value.real = (double)value.integer;
    bool fits = value.type == kept->value || (kept->value == HD_QUERY_REAL && value.type == HD_QUERY_INT);
    if (!fits)
        hd_table_add_null(builder);
    else if (kept->value == HD_QUERY_TEXT)
        hd_table_add_string(builder, value.data, value.size);
    else if (kept->value == HD_QUERY_REAL)
        hd_table_add_decimal(builder, value.real);
    else if (kept->type != HD_VALUE_TIME)
        hd_table_add_int(builder, value.integer);
    else if (__builtin_sub_overflow(value.integer, shift, &value.integer))
        hd_table_add_null(builder);
    else
        hd_table_add_int(builder, value.integer);
}

static hd_status add_row(track_maker *m, hd_error *err)
{
    bool is_mine;
    HD_TRY(is_of_trace(&is_mine, m, err));
    if (!is_mine) return HD_OK;
    if (m->rows++ == m->rows_most)
        return hd_error_set(err, HD_ERR_LIMIT, NULL, HD_OFFSET_NONE,
                            "the result has more than %" PRId64 " rows: too many for tracks", m->rows_most);
    for (size_t i = 0; i < m->kept_count; i++)
        add_cell(m->builder, &m->kept[i], hd_statement_at(m->run.statement, m->kept[i].from), m->input->shift);
    return HD_OK;
}

static hd_status read_rows(track_maker *m, hd_error *err)
{
    hd_status status = view_sql_next(&m->run, err);
    if (status == HD_END) return hd_error_set(err, HD_ERR_ARGUMENT, NULL, HD_OFFSET_NONE, "the result has no rows");
    HD_TRY(status);
    HD_TRY(choose_columns(m, err));
    do HD_TRY(add_row(m, err));
    while ((status = view_sql_next(&m->run, err)) == HD_OK);
    return status == HD_END ? HD_OK : status;
}

static hd_status make_table(hd_table **out, track_maker *m, hd_error *err)
{
    *out = NULL;
    HD_TRY(hd_table_builder_new(&m->builder, "query", err));
    hd_status status = read_rows(m, err);
    if (status == HD_OK) return hd_table_finish(out, m->builder, err);
    hd_table_builder_free(m->builder);
    return status;
}

/* ---- what it is called ---- */

/* The query in one line, and everything else that determines the rows; equal for equal questions. */
static bool describe(hd_json_out *out, const char *sql, size_t size, const view_request *request)
{
    hd_json_put_text(out, "Of the query ");
    for (size_t i = 0; i < size && i < SQL_SHOWN; i++) hd_json_put(out, (unsigned char)sql[i] < ' ' ? " " : &sql[i], 1);
    if (size > SQL_SHOWN) {
        hd_json_put_text(out, " ..., checksum ");
        hd_json_put_int(out, (int64_t)hd_checksum(sql, size));
    }
    for (size_t i = 0; i < request->param_count; i++) {
        if (request->params[i].name[0] != ':') continue;
        hd_json_put_text(out, "; ");
        hd_json_put_text(out, request->params[i].name);
        hd_json_put_text(out, " = ");
        hd_json_put_text(out, request->params[i].value);
    }
    hd_json_put(out, ".", 2);
    return !out->failed;
}

static hd_status derive(view_table_tracks *out, view_scene *scene, const hd_table *table, const view_table_about *about,
                        hd_error *err)
{
    view_queries *queries = view_scene_queries(scene);
    pthread_mutex_lock(&queries->lock_tables);
    hd_status status = view_made_tracks_find(out, scene, VIEW_TABLE_ROLE, about->detail, err);
    if (status == HD_OK && !out->count) status = view_derive_table(out, scene, table, about, err);
    pthread_mutex_unlock(&queries->lock_tables);
    return status;
}

static hd_status find_input(const view_sql_input **out, const view_sql_connection *connection, const view_scene *scene,
                            hd_error *err)
{
    for (size_t i = 0; i < connection->input_count; i++) {
        *out = &connection->inputs[i];
        if ((*out)->scene == scene) return HD_OK;
    }
    return hd_error_set(err, HD_ERR_INTERNAL, NULL, HD_OFFSET_NONE, "the trace is not an input of the query");
}

static hd_status make_tracks(view_table_tracks *out, track_maker *m, view_scene *scene, view_reply *reply,
                             const view_request *request, hd_error *err)
{
    hd_table *table;
    hd_json_out detail = {0};
    char *sql;
    size_t size;
    HD_TRY(find_input(&m->input, m->run.connection, scene, err));
    HD_TRY(make_table(&table, m, err));
    const char *title = view_param_text(request, "title");
    hd_status status = view_query_text(&sql, &size, reply, request, err);
    if (status == HD_OK && !describe(&detail, sql, size, request)) status = HD_NOMEM(err);
    const view_table_about about = {
        .title = title && *title ? title : "query", .detail = detail.data, .value = m->value};
    if (status == HD_OK) status = derive(out, scene, table, &about, err);
    free(detail.data);
    free(sql);
    hd_table_free(table);
    return status;
}

hd_status view_route_query_tracks(view_reply *reply, const view_request *request, hd_error *err)
{
    view_scene *scene;
    hd_error failure;
    track_maker m = {0};
    view_table_tracks tracks = {0};
    HD_TRY(view_param_scene(&scene, reply, request, err));
    HD_TRY(view_param_int_or(&m.rows_most, request, "limit", 1, ROWS_MOST, ROWS_MOST, err));
    HD_TRY(view_need_laid_out(reply, scene, err));
    hd_status status = view_query_begin(&m.run, &failure, reply, request, err);
    if (status == HD_OK && failure.status == HD_OK) {
        status = make_tracks(&tracks, &m, scene, reply, request, err);
    } else if (status == HD_OK) {
        status = failure.status;
        if (err) *err = failure;
    }
    view_sql_end(&m.run);
    if (status != HD_OK) return status;
    view_session_tell(request->session);
    view_json_made_tracks(&reply->json, &tracks);
    free(tracks.ids);
    return view_json_done(reply, err);
}
